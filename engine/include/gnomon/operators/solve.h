// engine/include/gnomon/operators/solve.h -- linear systems: the x with A x = b.
//
//   auto step = jit(rt, [](const operators::Dense& a, const Array& b) {
//     return operators::solve(a, b, operators::Gmres{.rtol = 1e-8});
//   });
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gnomon/operators/krylov.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// Cholesky's factors of the matrix, for positive or negative semidefinite operators: n^3 / 3
/// multiplications. Not finite where the matrix is singular.
struct Cholesky {};
/// Gauss' elimination with partial pivoting: 2 n^3 / 3 multiplications. Not finite where the matrix
/// is singular.
struct Lu {};
/// Least squares of a matrix with at least as many rows as columns, the shortest solution where it
/// has fewer, by Householder's reflections. Unchecked: full rank; else the result is not finite.
struct Qr {};
/// Forward or backward substitution, for operators with the tag of a triangular one.
struct TriangularSolve {};
/// Elimination without pivoting, for operators with the tag `tridiagonal`; three products where the
/// bands are not stored. See linalg::tridiagonal_solve.
struct TridiagonalSolve {};
/// A division, for operators with the tag `diagonal`; one product where the diagonal is not stored.
struct DiagonalSolve {};

/// By the tags: diagonal, tridiagonal, triangular. Else, up to `largest_matrix` unknowns, Cholesky
/// (positive or negative semidefinite) or Lu of the matrix, which takes as many products as there
/// are columns where it is not stored; Qr where it is not square. Beyond: Cg (semidefinite), Minres
/// (symmetric), Gmres, Lsmr (not square), with the options below.
struct Automatic {
  Dim largest_matrix = 1024;
  double rtol = 1e-6, atol = 0;
  Dim max_steps = 0;
  std::optional<Operator> preconditioner = {};
};

using Method = std::variant<Automatic, DiagonalSolve, TridiagonalSolve, TriangularSolve, Cholesky,
                            Lu, Qr, Cg, Minres, Gmres, BiCgStab, Lsmr>;

namespace detail {

struct Solved {
  std::vector<Array> x;
  Array steps, result, residual;
};
/// `start`: arrays of x, or nothing. `block`: b has one more axis, the last.
Solved solve(const Operator&, const std::vector<Array>& b, const std::vector<Array>& start,
             const Method&, bool block, Loc);
/// Throws UsageError unless one array goes in and one comes out, or trees of one kind do.
void require_same_trees(const Operator&, bool one_array, Loc);

template <class X>
Solution<X> solution(const Operator& a, const X& b, const std::vector<Array>& start,
                     const Method& method, bool block, Loc loc) {
  if constexpr (!std::is_same_v<X, std::vector<Array>>)
    require_same_trees(a, std::is_same_v<X, Array>, loc);
  Solved s = solve(a, tree::leaves(b), start, method, block, loc);
  if constexpr (std::is_same_v<X, std::vector<Array>>)
    return {std::move(s.x), s.steps, s.result, s.residual};
  else
    return {tree::with_leaves(b, s.x), s.steps, s.result, s.residual};
}

}  // namespace detail

/// The x with A x = b; of least squares by Qr and Lsmr.
///
/// b: a tree of the space the operator gives; x is one of the space it takes. Derivatives are those
/// of the solution, in what `a` is made of and in b, in both modes and of any order: each takes one
/// more solve by the same method, with the same matrix (forward) or its transpose (reverse), and
/// the same options; nothing of an iteration is kept or differentiated. Of least squares, which
/// have to be of full rank then, it takes two. `steps`, `result`, `residual`, a start and a
/// preconditioner have no derivative. Unchecked: tags; that preconditioners are what the method
/// needs; that the solves of derivatives converge. Throws UsageError for b of another space, a
/// method that needs other tags, an operator that is not square (Qr and Lsmr apart), a
/// preconditioner of other vectors.
template <class X>
Solution<X> solve(const Operator& a, const X& b, const Method& method = Automatic{},
                  Loc loc = Loc::here()) {
  return detail::solution(a, b, {}, method, false, loc);
}
/// The same from `start`, a tree like x, where the method is an iterative one.
template <class X>
Solution<X> solve(const Operator& a, const X& b, const Method& method,
                  const std::type_identity_t<X>& start, Loc loc = Loc::here()) {
  return detail::solution(a, b, tree::leaves(start), method, false, loc);
}

/// The same for a block of right sides along a last axis of each array: [n, k] for vectors [n].
///
/// Direct methods share the factors. Iterative ones step all columns together, each until it has
/// converged: steps, result and residual are [k]. Their product is that of the operator under vmap,
/// a product of matrices for a Dense.
template <class X>
Solution<X> solve_block(const Operator& a, const X& b, const Method& method = Automatic{},
                        Loc loc = Loc::here()) {
  return detail::solution(a, b, {}, method, true, loc);
}

}  // namespace gnomon::operators
#pragma GCC visibility pop
