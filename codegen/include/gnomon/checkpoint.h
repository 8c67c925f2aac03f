// codegen/include/gnomon/checkpoint.h -- what reverse mode keeps of a function: checkpoint,
// checkpoint_name, optimization_barrier.
#pragma once
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/detail/function.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Which results of its operations a checkpoint keeps for the backward pass.
enum class Keep : std::uint8_t {
  nothing,   // computes all again from the arguments
  products,  // of matrix products (matmul, tensordot, einsum), which cost most to compute again
  everything,
};

struct CheckpointOptions {
  Keep keep = Keep::nothing;
  /// And what checkpoint_name gave one of these names.
  std::vector<std::string> names = {};
};

namespace detail {
Arrays emit_checkpoint(const Graph&, const Arrays& inputs, const CheckpointOptions&, Loc);
std::vector<Array> emit_barriers(const std::vector<Array>&, Loc);
Array named(const Array&, const std::string& name, Loc);
}  // namespace detail

/// The function `f`, of which reverse mode keeps the arguments and what `options` say; the backward
/// pass computes the rest again, once cotangents have come to it. Values are those of `f`.
///
/// Saves memory for time: a chain of n functions that are checkpointed one by one keeps n arguments
/// and the inside of one. Forward mode, vmap and higher derivatives are those of `f`. Of loops in
/// `f`, which have their own ways (gnomon/control.h), options keep everything or nothing.
/// Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, chapter 12.
template <class F>
auto checkpoint(F f, CheckpointOptions options = {}, Loc loc = Loc::here()) {
  return detail::wrapped<F>(
      [f = std::move(f), options = std::move(options), loc](const auto&... args) {
        auto traced = trace_at(loc, f, args...);
        Arrays inputs = all_leaves(args...);
        inputs.insert(inputs.end(), traced.captures.begin(), traced.captures.end());
        return tree::with_leaves(traced.result,
                                 detail::emit_checkpoint(traced.graph, inputs, options, loc));
      });
}

namespace detail {
/// f(args...), outside of a trace as one program: its operations would be one each, and what it
/// makes of numbers alone would be nowhere. `loc`: of the call.
template <class F, class... A>
auto as_one_program(const F& f, Loc loc, const A&... args) {
  const Arrays leaves = all_leaves(args...);
  const bool traced = std::any_of(leaves.begin(), leaves.end(),
                                  [](const Array& a) { return !a.empty() && !a.concrete(); });
  return traced ? f(args...) : checkpoint(f, {}, loc)(args...);
}
}  // namespace detail

/// `tree` as it is, its arrays with a name for CheckpointOptions::names.
template <class T>
T checkpoint_name(const T& tree, const std::string& name, Loc loc = Loc::here()) {
  return tree::map([&](const Array& a) { return detail::named(a, name, loc); }, tree);
}

/// `tree` as it is, but none of its arrays is there before all of them are, and nothing that is
/// computed from the result is merged with the same computed from `tree`.
///
/// What a compiler would find out to be the same is computed again: the way to save memory that
/// checkpoint uses. Derivatives have barriers in their place.
template <class T>
T optimization_barrier(const T& tree, Loc loc = Loc::here()) {
  return tree::with_leaves(tree, detail::emit_barriers(tree::leaves(tree), loc));
}

}  // namespace gnomon
#pragma GCC visibility pop
