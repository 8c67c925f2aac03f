// codegen/trace/signature.cpp -- hashing signatures and telling them apart in words.
#include "gnomon/detail/signature.h"

#include "codegen/base/hash.h"

namespace gnomon {

std::uint64_t Signature::hash() const {
  Hasher hasher;
  for (const Aval& aval : avals) {
    hasher.add(static_cast<std::uint64_t>(aval.dtype));
    hasher.add(static_cast<std::uint64_t>(aval.shape.rank()));
    for (Dim d : aval.shape) hasher.add(static_cast<std::uint64_t>(d));
  }
  hasher.add(statics);
  return hasher.value();
}

std::string detail::place_text(std::size_t argument, const std::string& path) {
  return "argument " + std::to_string(argument) + (path.empty() ? "" : " `" + path + "`");
}

void detail::append_texts(tree::detail::AnyTree argument, std::size_t index, SignatureText& out) {
  const auto array = [&](const Array& a, const std::string& path) {
    out.entries.push_back({place_text(index, path), to_string(a.aval())});
  };
  tree::detail::visit_arrays(argument, false, "", array);
  const auto fixed = [&](const std::string& path, const std::string& text) {
    out.entries.push_back({place_text(index, path), text});
  };
  tree::detail::visit_statics(argument, "", fixed);
}

std::string explain(const SignatureText& before, const SignatureText& now) {
  // By place, not by position: a longer list shifts everything after it.
  auto find = [](const SignatureText& in, const std::string& place,
                 std::size_t near) -> const SignatureText::Entry* {
    if (near < in.entries.size() && in.entries[near].place == place) return &in.entries[near];
    for (const auto& entry : in.entries) {
      if (entry.place == place) return &entry;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < before.entries.size(); ++i) {
    const auto& old = before.entries[i];
    const auto* current = find(now, old.place, i);
    if (current && current->text != old.text) {
      return old.place + " was " + old.text + ", is " + current->text;
    }
  }
  for (const auto& old : before.entries) {
    if (!find(now, old.place, 0)) return old.place + " was " + old.text + ", is absent";
  }
  for (const auto& entry : now.entries) {
    if (!find(before, entry.place, 0)) return entry.place + " was absent, is " + entry.text;
  }
  return "argument types differ";
}

}  // namespace gnomon
