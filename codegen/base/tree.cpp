// codegen/base/tree.cpp -- paths, and the text and bytes of static values.
#include "gnomon/tree.h"

#include <charconv>

#include "codegen/base/path_visitor.h"
#include "shaders/support/check.h"

namespace gnomon::tree {

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

void visit_arrays(AnyTree tree, bool holes, ArrayVisit visit) {
  struct Each final : Visitor {
    Each(bool h, ArrayVisit v) : holes(h), visit(v) {}
    void leaf(const Array& a) override {
      if (holes || !a.is_hole()) visit(a);
    }
    bool holes;
    ArrayVisit visit;
  } each(holes, visit);
  tree.walk_by(each);
}

void visit_arrays(AnyTree tree, bool holes, std::string prefix, PathVisit visit) {
  struct Each final : PathVisitor {
    Each(bool h, std::string p, PathVisit v) : PathVisitor(std::move(p)), holes(h), visit(v) {}
    void leaf(const Array& a) override {
      if (holes || !a.is_hole()) visit(a, path_);
    }
    bool holes;
    PathVisit visit;
  } each(holes, std::move(prefix), visit);
  tree.walk_by(each);
}

void visit_statics(AnyTree tree, std::string prefix, StaticVisit visit) {
  struct Each final : PathVisitor {
    Each(std::string p, StaticVisit v) : PathVisitor(std::move(p)), visit(v) {}
    void leaf(const Array& a) override {
      if (a.is_hole()) visit(path_, "a hole");
    }
    void value(const StaticValue& x) override { visit(path_, x.text(x.value)); }
    void count(std::size_t n) override {
      visit(path_, std::to_string(n) + (n == 1 ? " element" : " elements"));
    }
    /// What is present speaks for itself, under the same path.
    void presence(bool present) override {
      if (!present) visit(path_, "absent");
    }
    StaticVisit visit;
  } each(std::move(prefix), visit);
  tree.walk_by(each);
}

void visit_values(AnyTree tree, const void* type, std::string prefix, ValueVisit visit) {
  struct Each final : PathVisitor {
    Each(const void* t, std::string p, ValueVisit v)
        : PathVisitor(std::move(p)), type(t), visit(v) {}
    void leaf(const Array&) override {}
    void value(const StaticValue& x) override {
      if (x.type == type) visit(x.value, path_);
    }
    const void* type;
    ValueVisit visit;
  } each(type, std::move(prefix), visit);
  tree.walk_by(each);
}

void append_key(AnyTree tree, const void* type, std::string& bytes) {
  struct Each final : Visitor {
    explicit Each(std::string& b) : bytes(b) {}
    void leaf(const Array& a) override { bytes.push_back(a.is_hole() ? '\1' : '\0'); }
    void value(const StaticValue& x) override { x.append_key(x.value, bytes); }
    void count(std::size_t n) override { append_count(bytes, n); }
    void presence(bool present) override { append_bytes(bytes, present); }
    std::string& bytes;
  } each(bytes);
  append_bytes(bytes, type);
  tree.walk_by(each);
}

std::vector<Array> arrays(AnyTree tree, bool holes) {
  std::vector<Array> result;
  const auto add = [&](const Array& a) { result.push_back(a); };
  visit_arrays(tree, holes, add);
  return result;
}

void append_arrays(AnyTree tree, std::vector<Array>& result) {
  const auto add = [&](const Array& a) { result.push_back(a); };
  visit_arrays(tree, false, add);
}

std::size_t leaf_count(AnyTree tree) {
  std::size_t n = 0;
  const auto count = [&](const Array&) { ++n; };
  visit_arrays(tree, false, count);
  return n;
}

std::vector<std::string> leaf_paths(AnyTree tree, std::string prefix) {
  std::vector<std::string> paths;
  const auto add = [&](const Array&, const std::string& path) { paths.push_back(path); };
  visit_arrays(tree, false, std::move(prefix), add);
  return paths;
}

void replace(AnyTree tree, bool holes, std::span<const Array> arrays) {
  std::size_t i = 0;
  const auto put = [&](const Array& a) {
    GNOMON_CHECK(i < arrays.size(), std::to_string(arrays.size()) + " arrays for a tree of more");
    const_cast<Array&>(a) = arrays[i++];
  };
  visit_arrays(tree, holes, put);
}

}  // namespace detail
}  // namespace gnomon::tree
