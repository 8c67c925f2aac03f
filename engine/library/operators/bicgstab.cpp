// engine/library/operators/bicgstab.cpp -- stabilised biconjugate gradients.
#include "engine/library/operators/iteration.h"
#include "gnomon/loops.h"

namespace gnomon::operators::detail {

Solved bicgstab(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Loc loc) {
  const DType dtype = s.dtype();
  // shadow: what residuals are made orthogonal to; rho: their inner product.
  struct State {
    Arrays x, r, shadow, p;
    Array rho, shadow_size, rr, code;
  };
  const Begin first = begin(s, b, start, stop);
  const State init{first.x, first.r, first.r, first.r, first.rr, first.rr, first.rr, first.code};
  const double epsilon = epsilon_of(dtype);
  const auto step = [&](const State& t) {
    const Arrays y = s.m ? s.m(t.p) : t.p;
    const Arrays v = s.a(y);
    const Array along = dot(t.shadow, v, dtype);
    const Array alpha = ratio(t.rho, along);
    const Arrays half = plus(t.r, -alpha, v);
    const Arrays z = s.m ? s.m(half) : half;
    const Arrays u = s.a(z);
    const Array uh = dot(u, half, dtype), uu = dot(u, u, dtype);
    const Array omega = ratio(uh, uu);
    State next;
    next.x = plus(plus(t.x, alpha, y), omega, z);
    next.r = plus(half, -omega, u);
    next.rr = dot(next.r, next.r, dtype);
    const Array rho = dot(t.shadow, next.r, dtype);
    const Array again = rho * rho <= epsilon * epsilon * next.rr * t.shadow_size;
    const Array beta = where(again, 0, ratio(rho, t.rho) * ratio(alpha, omega));
    next.shadow = choose(again, next.r, t.shadow);
    next.shadow_size = where(again, next.rr, t.shadow_size);
    next.rho = where(again, next.rr, rho);
    next.p = plus(next.r, beta, plus(t.p, -omega, v));
    const Array reached = code_of(next.rr, first.target);
    // Without alpha or omega there is no way on; a last half of a step may have been all it took.
    const Array stuck = (reached < 0) && ((along == 0) || (omega == 0));
    next.code = where(stuck, code(SolveResult::breakdown), reached);
    return next;
  };
  const auto loop = while_loop_counted([](const State& t) { return t.code < 0; }, step, init,
                                       {.max_steps = stop.max_steps}, loc);
  const State& end = loop.state;
  return {end.x, loop.steps, ended(end.code), sqrt(end.rr)};
}

}  // namespace gnomon::operators::detail
