// engine/include/gnomon/operators/derivative.h -- derivatives of functions as operators: nobody
// forms a Jacobian or a Hessian here.
//
//   auto step = jit(rt, [](const Params& p, const Batch& batch) {
//     const auto loss = [&](const Params& q) { return mean_loss(q, batch); };
//     const operators::Operator h = operators::hessian(loss, p, {.positive_semidefinite = true});
//     return operators::solve(h + 1e-3 * operators::identity(p), grad(loss)(p), operators::Cg{});
//   });
#pragma once
#include <concepts>

#include "gnomon/jacobian.h"
#include "gnomon/operators/algebra.h"
#include "gnomon/operators/kinds.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// The Jacobian of `f` at `x`, trees of floats both: products in forward mode, those of its
/// transpose in reverse mode. f is computed once, whatever the number of products.
///
/// Tags are promised, of square ones. Derivatives of products are those of the Jacobian, of any
/// order.
template <class F, class X>
Operator jacobian(const F& f, const X& x, Tags tags = {}, Loc loc = Loc::here()) {
  const auto linear = linearize(f, x, loc);
  return function([linear](const X& v) { return linear(v); }, x, tags, loc);
}

/// The Hessian of a scalar `f` at `x`: symmetric; products are forward mode over reverse mode, a
/// few times the cost of f each. A convex f promises `positive_semidefinite`.
template <class F, class X>
Operator hessian(const F& f, const X& x, Tags tags = {}, Loc loc = Loc::here()) {
  tags.symmetric = true;
  return jacobian(grad(f, loc), x, tags, loc);
}

/// J^T J of the Jacobian J of the residuals `f` at `x`: the Hessian of |f|^2 / 2 without its second
/// derivatives, positive semidefinite.
template <class F, class X>
Operator gauss_newton(const F& f, const X& x, Loc loc = Loc::here()) {
  return gram(Term(jacobian(f, x, {}, loc), loc));
}

/// J^T H J, with the Hessian H of the scalar `loss` at f(x): the Hessian of loss(f(x)) without the
/// second derivatives of f. Positive semidefinite for a convex loss, which `tags` promises.
/// Source: N. N. Schraudolph, Fast curvature matrix-vector products for second-order gradient
/// descent, Neural Computation 14, 2002, section 3.
template <class F, class L, class X>
requires std::invocable<const F&, const X&> Operator gauss_newton(const F& f, const L& loss,
                                                                  const X& x, Tags tags = {},
                                                                  Loc loc = Loc::here()) {
  const auto linear = linearize(f, x, loc);
  const Operator j = function([linear](const X& v) { return linear(v); }, x, {}, loc);
  return gram(Term(j, loc), Term(hessian(loss, linear.value, tags, loc), loc));
}

}  // namespace gnomon::operators
#pragma GCC visibility pop
