// engine/library/operators/cg.cpp -- conjugate gradients.
#include "engine/library/operators/iteration.h"
#include "gnomon/loops.h"

namespace gnomon::operators::detail {

Solved cg(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Loc loc) {
  const DType dtype = s.dtype();
  // rz: r by M r. rr: of the residual itself; empty where that is the same.
  struct State {
    Arrays x, r, p;
    Array rz;
    Arrays rr;
    Array code;
  };
  const Begin first = begin(s, b, start, stop);
  const Arrays z0 = s.m ? s.m(first.r) : first.r;
  State init{first.x, first.r, z0, first.rr, {}, first.code};
  if (s.m) {
    init.rz = dot(first.r, z0, dtype);
    init.rr = {first.rr};
  }
  const auto step = [&](const State& t) {
    const Arrays q = s.a(t.p);
    const Array pq = dot(t.p, q, dtype);
    // Where p A p is not above zero x stays as it is: r is not zero, so A or M is not definite.
    const Array good = pq > 0;
    const Array alpha = where(good, t.rz / pq, 0);
    State next;
    next.x = plus(t.x, alpha, t.p);
    next.r = plus(t.r, -alpha, q);
    const Array rr = dot(next.r, next.r, dtype);
    Arrays z = next.r;
    next.rz = rr;
    if (s.m) {
      z = s.m(next.r);
      next.rz = dot(next.r, z, dtype);
      next.rr = {rr};
    }
    next.p = plus(z, next.rz / t.rz, t.p);
    const Array failed =
        where(isfinite(pq), code(SolveResult::breakdown), code(SolveResult::nonfinite));
    next.code = where(good, code_of(rr, first.target), failed);
    return next;
  };
  const auto loop = while_loop_counted([](const State& t) { return t.code < 0; }, step, init,
                                       {.max_steps = stop.max_steps}, loc);
  const State& end = loop.state;
  return {end.x, loop.steps, ended(end.code), sqrt(end.rr.empty() ? end.rz : end.rr[0])};
}

}  // namespace gnomon::operators::detail
