// codegen/include/gnomon/detail/signature.h -- what a traced function was specialised on, and which
// part of it changed.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Equal when one trace serves both calls. Cheap to make: no text.
struct Signature {
  std::vector<Aval> avals;  // of all arrays of all arguments
  std::string statics;      // see tree::append_static_key; valid within one process
  bool operator==(const Signature&) const = default;
  std::uint64_t hash() const;
};

/// The same in words, made when a signature is new.
struct SignatureText {
  struct Entry {
    std::string place;  // "argument 0 `.layers[0].weight`"
    std::string text;   // "f32[784,128]", "true"
  };
  std::vector<Entry> entries;
};

namespace detail {
std::string place_text(std::size_t argument, const std::string& path);
void append_texts(tree::detail::AnyTree argument, std::size_t index, SignatureText& out);
}  // namespace detail

template <class... A>
Signature signature_of(const A&... args) {
  Signature result;
  auto append = [&](const Array& a) { result.avals.push_back(a.aval()); };
  (tree::for_each_leaf(args, append), ...);
  (tree::append_static_key(args, result.statics), ...);
  return result;
}

template <class... A>
SignatureText describe_signature(const A&... args) {
  SignatureText result;
  std::size_t index = 0;
  (detail::append_texts(tree::detail::AnyTree::of(args), index++, result), ...);
  return result;
}

/// The first difference: "argument 0 `.layers[0].weight` was f32[784,128], is f32[784,256]".
/// "argument types differ" when the texts are equal (two types with the same fields).
std::string explain(const SignatureText& before, const SignatureText& now);

}  // namespace gnomon
#pragma GCC visibility pop
