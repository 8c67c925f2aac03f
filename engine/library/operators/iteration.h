// engine/library/operators/iteration.h -- what iterative methods have in common: vectors of arrays,
// the system, when to stop.
#pragma once
#include <optional>
#include <vector>

#include "gnomon/handler.h"
#include "gnomon/operators/solve.h"
#include "gnomon/ops.h"

namespace gnomon::operators::detail {

using Arrays = std::vector<Array>;
using Product = Handler<Arrays(const Arrays&)>;

/// A system by its products. `at` is of LSMR alone; `m` may be empty.
struct System {
  Product a, at, m;
  Space in, out;
  /// Of inner products: the widest of the vectors', f32 at least.
  DType dtype() const { return out.dtype() == DType::f64 ? DType::f64 : DType::f32; }
};

/// When to stop, all steps counted.
struct Stop {
  double rtol, atol;
  Dim max_steps;
};

/// Inner products are numbers of the system's dtype; vectors keep their own.
Array dot(const Arrays& a, const Arrays& b, DType);
/// x + factor y.
Arrays plus(const Arrays& x, const Array& factor, const Arrays& y);
Arrays scaled(const Array& factor, const Arrays& x);
Arrays minus(const Arrays& a, const Arrays& b);
Arrays choose(const Array& condition, const Arrays& yes, const Arrays& no);
Arrays zero_vector(const Space&);
/// a / b, and 0 where b is 0.
Array ratio(const Array& a, const Array& b);

Array running();
Array code(SolveResult);
/// `code`, and max_steps_reached where the method was still going on.
Array ended(const Array& code);
/// The distance from 1 to the next number.
double epsilon_of(DType);
/// What counts as zero of a number that is a difference of ones of size 1, a Krylov space long:
/// rounding grows with the steps, and a singular matrix shows no better than that.
double rounding_of(DType);
/// The square of the norm a residual has to reach.
Array target(const Stop&, const Array& bb);

/// Where a method begins: x, b - A x, the squares of the norms of that and of b, and what has
/// happened already. Without a start x is 0 and takes no product.
struct Begin {
  Arrays x, r;
  Array rr, target, code;
};
Begin begin(const System&, const Arrays& b, const Arrays& start, const Stop&);
/// The code behind a step: from the square of the norm of the residual.
Array code_of(const Array& rr, const Array& target);

Solved cg(const System&, const Arrays& b, const Arrays& start, const Stop&, Loc);
Solved minres(const System&, const Arrays& b, const Arrays& start, const Stop&, Loc);
Solved gmres(const System&, const Arrays& b, const Arrays& start, const Stop&, Dim restart, Loc);
Solved bicgstab(const System&, const Arrays& b, const Arrays& start, const Stop&, Loc);
Solved lsmr(const System&, const Arrays& b, const Stop&, Loc);

}  // namespace gnomon::operators::detail
