// codegen/base/tree.cpp -- paths, and the text and bytes of static values.
#include "gnomon/tree.h"

#include <charconv>

#include "codegen/primitives/lax.h"

namespace gnomon::tree {

std::size_t Path::push(std::string_view field, std::size_t index) {
  const std::size_t mark = text_.size();
  if (field.empty()) {
    text_ += '[';
    text_ += std::to_string(index);
    text_ += ']';
  } else {
    text_ += '.';
    text_ += field;
  }
  return mark;
}

namespace detail {

void append_count(std::string& bytes, std::size_t n) {
  append_bytes(bytes, static_cast<std::uint64_t>(n));
}

void append_text(std::string& bytes, std::string_view text) {
  append_count(bytes, text.size());
  bytes += text;
}

std::string text_of(double x) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), x).ptr};
}
std::string text_of(float x) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), x).ptr};
}

void check_same_count(std::size_t first, std::size_t other) {
  if (first == other) return;
  usage_error("tree::map",
              "the trees have " + std::to_string(first) + " and " + std::to_string(other) +
                  " arrays; their lists need equal lengths",
              {});
}

void check_leaf_count(std::size_t needed, std::size_t given) {
  GNOMON_CHECK(given >= needed,
               std::to_string(given) + " arrays for a tree of " + std::to_string(needed));
}

Arrays add(const Arrays& a, const Arrays& b, Loc loc) {
  check_same_count(a.size(), b.size());
  Arrays result;
  result.reserve(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_hole() || b[i].is_hole()) {
      result.push_back(a[i].is_hole() ? b[i] : a[i]);
      continue;
    }
    if (a[i].aval() != b[i].aval()) {
      usage_error("tree::add",
                  "array " + std::to_string(i) + " is " + to_string(a[i].aval()) +
                      " in one tree and " + to_string(b[i].aval()) +
                      " in the other; trees are added without promotion",
                  loc);
    }
    result.push_back(lax::add(a[i], b[i], loc));
  }
  return result;
}

Arrays scale(const Operand& factor, const Arrays& a, Loc loc) {
  Arrays result;
  result.reserve(a.size());
  for (const Array& x : a) {
    if (!factor.is_array()) {
      if (factor.scalar().kind == Scalar::Kind::floating && !is_float(x.dtype())) {
        usage_error("tree::scale",
                    "a factor with a fraction does not scale " + to_string(x.aval()) +
                        "; cast the array first",
                    loc);
      }
      result.push_back(lax::mul(x, factor.scalar(), loc));
      continue;
    }
    const Array& f = factor.array();
    if (f.aval() != Aval{x.dtype(), {}}) {
      usage_error("tree::scale",
                  "the factor is " + to_string(f.aval()) + " and " + to_string(x.aval()) +
                      " needs a " + to_string(x.dtype(), {}),
                  loc);
    }
    result.push_back(lax::mul(x, lax::broadcast(f, x.shape(), {}, loc), loc));
  }
  return result;
}

Arrays zeros_like(const Arrays& a, Loc loc) {
  Arrays result;
  result.reserve(a.size());
  for (const Array& x : a) result.push_back(lax::zeros_like(x, loc));
  return result;
}

}  // namespace detail
}  // namespace gnomon::tree
