// codegen/base/path_visitor.h -- a walk over a tree that knows where it is.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/detail/tree_walk.h"

namespace gnomon::tree {

/// Where a walk is, as text: `.layers[0].weight`.
class PathVisitor : public Visitor {
 public:
  explicit PathVisitor(std::string prefix) : Visitor(true), path_(std::move(prefix)) {}
  void enter(std::string_view field, std::size_t index) final {
    marks_.push_back(path_.size());
    if (field.empty()) {
      path_ += '[';
      path_ += std::to_string(index);
      path_ += ']';
    } else {
      path_ += '.';
      path_ += field;
    }
  }
  void leave() final {
    path_.resize(marks_.back());
    marks_.pop_back();
  }

 protected:
  std::string path_;

 private:
  std::vector<std::size_t> marks_;
};

}  // namespace gnomon::tree
