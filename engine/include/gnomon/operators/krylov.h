// engine/include/gnomon/operators/krylov.h -- methods for linear systems by products alone, when
// they stop, and how they did.
//
// All methods stop when the 2-norm of the residual b - A x is at most max(rtol |b|, atol), as the
// recursion of the method has it: no product is spent on checking. An `rtol` below what the dtype
// can tell apart is raised to that. Under vmap every lane stops on its own. A right side of zeros
// has the solution 0, in no steps. Squares of norms are taken as they are: right sides with norms
// beyond 1e19 or below 1e-19 (f32) want to be scaled first.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gnomon/error.h"
#include "gnomon/operators/operator.h"
#include "gnomon/runtime.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// Conjugate gradients, for positive or negative semidefinite operators. One product a step, and
/// one for a start that is given; four vectors.
///
/// `preconditioner`: an operator near A^-1, symmetric and positive definite (of a negative
/// semidefinite A, negative definite).
/// Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, 2003, algorithms 6.18
/// and 9.1.
struct Cg {
  double rtol = 1e-6, atol = 0;
  Dim max_steps = 0;  // 0: ten for every unknown
  std::optional<Operator> preconditioner = {};
};

/// MINRES, for symmetric operators, indefinite ones too: the smallest residual of all in the Krylov
/// space. One product a step, and one for a start that is given; six vectors.
///
/// Of a singular system without a solution it finds a solution of least squares, and says
/// `stagnated`. `preconditioner`: an operator near A^-1, symmetric and positive definite; with one
/// the residual is smallest in the norm that it makes, and the 2-norm still decides.
/// Source: C. Paige and M. Saunders, SIAM J. Numer. Anal. 12 (1975); H. Elman, D. Silvester and
/// A. Wathen, Finite Elements and Fast Iterative Solvers, 2005, algorithm 6.1; the test for least
/// squares is that of S.-C. Choi, C. Paige and M. Saunders, SIAM J. Sci. Comput. 33 (2011).
struct Minres {
  double rtol = 1e-6, atol = 0;
  Dim max_steps = 0;
  std::optional<Operator> preconditioner = {};
};

/// GMRES with restarts, for any square operator. One product a step and one for each restart;
/// `restart` + 3 vectors.
///
/// The basis is made orthogonal twice (classical Gram-Schmidt), which is as good as Householder's
/// reflections and consists of products with the basis. Preconditioned from the right: the residual
/// is that of the system. Steps are those of the basis, of all cycles. `stagnated` where a whole
/// cycle gained nothing.
/// Source: Y. Saad, 2003 (as above), algorithms 6.9, 6.11 and 9.5; L. Giraud, J. Langou,
/// M. Rozloznik and J. van den Eshof, Numer. Math. 101 (2005), on doing it twice.
struct Gmres {
  double rtol = 1e-6, atol = 0;
  Dim max_steps = 0;
  Dim restart = 30;
  std::optional<Operator> preconditioner = {};
};

/// BiCGStab, for any square operator. Two products a step, one for a start that is given; seven
/// vectors. Preconditioned from the right. Begins again from where it is, once its shadow residual
/// is orthogonal to the residual.
/// Source: H. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).
struct BiCgStab {
  double rtol = 1e-6, atol = 0;
  Dim max_steps = 0;
  std::optional<Operator> preconditioner = {};
};

/// LSMR, for operators of any shape: the x that minimises |A x - b|, of all of them the shortest.
/// One product with A and one with A^T a step, and one with A^T to begin with.
///
/// Stops as the others do, or when |A^T r| <= rtol |A| |r|, with the Frobenius norm of what is
/// known of A: both are `converged`. Source: D. Fong and M. Saunders, SIAM J. Sci. Comput. 33
/// (2011).
struct Lsmr {
  double rtol = 1e-6, atol = 0;
  Dim max_steps = 0;  // 0: ten for every row or column, whichever are fewer
};

/// The end of one solve: an i32.
enum class SolveResult : std::int32_t {
  converged = 0,
  max_steps_reached,
  breakdown,
  nonfinite,
  stagnated,
};
/// "the solve took `max_steps` steps; ..."
std::string_view message(SolveResult);

template <class X>
struct Solution {
  X x;
  Array steps;     // i32[]: 0 of direct methods
  Array result;    // i32[]: a SolveResult
  Array residual;  // |b - A x|: as the recursion has it; of direct methods by a product
};

/// Thrown by throw_if_failed.
class SolveFailed : public Error {
 public:
  using Error::Error;
};

namespace detail {
void throw_if_failed(const std::vector<std::int32_t>& codes, Loc);
}  // namespace detail

/// Throws SolveFailed when a solve did not converge: how many of them, which one first, and why.
/// Waits for the device.
template <class S>
void throw_if_failed(const Runtime& rt, const S& solution, Loc loc = Loc::here()) {
  detail::throw_if_failed(rt.to_host<std::int32_t>(solution.result), loc);
}

}  // namespace gnomon::operators
#pragma GCC visibility pop
