// codegen/operations/calls.h -- operations that hold a function as a graph and say how transforms
// treat it, and identities that only transforms look at.
//
// Semantics
//   All of them compute what their first graph computes, which takes their place when kernels are
//   made (transforms/inline_calls.h); a batch rule gives the same call of batched graphs, so rules
//   outlive vmap, loops and derivatives.
//
//   custom_jvp: inputs are arguments, then constants (what body and rule captured).
//   `body(inputs...) -> y...`; `rule(inputs..., y..., a tangent of each float argument..., a bool[]
//   per float argument: whether it moves...) -> a tangent of each float y...`, linear in the
//   tangents. Constants may not move.
//
//   custom_vjp: inputs as above. `forward(inputs..., flags...) -> y..., residuals...` and
//   `backward(residuals..., a cotangent of each float y..., constants..., flags...) -> a cotangent
//   of each float argument...`. Forward mode is the transpose of `backward` in the cotangents.
//
//   checkpoint: inputs are those of the body. The forward pass of reverse mode keeps the results of
//   some equations of the body (`keep`, and checkpoint_name with one of `names`); its backward pass
//   computes the others again, from barriers.
//
//   custom_linear_solve: inputs are `size` right-hand sides b, then constants. `matvec(x...,
//   constants...) -> A x`, `solve(b..., constants...) -> x` with A x = b, `transpose_solve` the
//   same for A'. Linear in b.
//
//   optimization_barrier(x, others...) -> x: comes after all of its operands, and nothing computed
//   from it is merged with what is computed from x.
#pragma once
#include <string>
#include <vector>

#include "codegen/graph/primitive.h"
#include "gnomon/checkpoint.h"

namespace gnomon {

struct CustomJvpParams {
  GraphPtr body, rule;
  int arguments = 0;
};

struct CustomVjpParams {
  GraphPtr body, forward, backward;
  int arguments = 0;
};

std::string_view name(Keep);

struct CheckpointParams {
  GraphPtr body;
  Keep keep = Keep::nothing;
  std::vector<std::string> names;
};

/// Of checkpoint_name and the markers that forbid derivatives.
struct NameParams {
  std::string name;
};

struct LinearSolveParams {
  GraphPtr solve, matvec;
  std::vector<GraphPtr> transpose_solve;  // one or none
  int size = 0;
};

extern const Primitive custom_jvp_p, custom_vjp_p, checkpoint_p, custom_linear_solve_p;
extern const Primitive optimization_barrier_p, checkpoint_name_p, nondifferentiable_p,
    nondifferentiable_backward_p;

namespace calls {

/// One flag per array of floats among the first `count` inputs of `graph`.
std::vector<bool> float_flags(const std::vector<Aval>&);
/// Those of `arrays` that are of floats.
Arrays only_floats(const Arrays& arrays, std::size_t count);
/// bool[] constants.
Arrays flag_constants(const std::vector<bool>& flags, const Arrays& arguments);
/// Batches a graph whose outputs shall be batched where `outputs` says so, at least; sets what is
/// batched then.
Graph batch(const Graph&, const std::vector<bool>& inputs, std::vector<bool>& outputs, Dim size);
/// `x` behind a barrier that waits for `others`.
Array behind(const Array& x, const Arrays& others);
/// Throws UsageError when a constant behind `arguments` arguments moves.
void check_constants(std::string_view op, std::size_t arguments, const std::vector<bool>& moves);

}  // namespace calls
}  // namespace gnomon
