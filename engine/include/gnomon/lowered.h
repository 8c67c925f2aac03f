// engine/include/gnomon/lowered.h -- Lowered: a jitted function for certain arguments, compiled and
// not run.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/memory_report.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)

namespace gnomon {

namespace detail {
struct LoweredFunction;
}

namespace aot {

/// One array among arguments or results.
struct Leaf {
  std::string path;  // "argument 0 `.layers[0].weight`", "result"
  Aval aval;
  bool operator==(const Leaf&) const = default;
};

namespace detail {
/// The arrays of an argument, and its static values as text.
struct Described {
  std::vector<Leaf> leaves;
  std::vector<std::string> statics;
  std::vector<std::string> empty;  // paths of leaves that hold nothing, whose types mean nothing
};
void describe(tree::detail::AnyTree, const std::string& place, Described&);
}  // namespace detail

}  // namespace aot

/// What `Jitted::lower` gives: to look at, and to save (gnomon/aot.h). Copies share.
class Lowered {
 public:
  explicit Lowered(std::shared_ptr<const detail::LoweredFunction> function)
      : function_(std::move(function)) {}

  /// What the function was called when it was jitted.
  const std::string& name() const;
  const std::vector<aot::Leaf>& arguments() const;
  const std::vector<aot::Leaf>& results() const;
  /// A stage of the compiler for the Runtime's device as text: passes, graph, fusion, kernel,
  /// spirv, memory or plan. Compiles for it. Throws UsageError for another stage.
  std::string text(std::string_view stage) const;
  /// Device memory that a call needs there, and for what.
  MemoryReport memory_report() const;
  /// Dispatches in a call, loops counted once.
  int kernel_count() const;

  const std::shared_ptr<const detail::LoweredFunction>& function() const { return function_; }

 private:
  std::shared_ptr<const detail::LoweredFunction> function_;
};

}  // namespace gnomon
#pragma GCC visibility pop
