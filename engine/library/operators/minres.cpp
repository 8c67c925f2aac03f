// engine/library/operators/minres.cpp -- the method of minimal residuals.
#include "engine/library/operators/iteration.h"
#include "gnomon/loops.h"

namespace gnomon::operators::detail {

Solved minres(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Loc loc) {
  const DType dtype = s.dtype();
  // v: Lanczos' vectors, of length 1 in the norm of M; z: M v, where there is an M. w: directions
  // of x. gamma: the element of the tridiagonal matrix beside v. c, sn: the last two rotations,
  // eta: what is left of the right side in the norm of M. size: of the tridiagonal matrix, squared.
  // Without M |eta| is the norm of the residual; with one, r is carried for it.
  struct State {
    Arrays x, v_before, v, z, w_before, w;
    Array gamma, c_before, c, sn_before, sn, eta, size;
    Arrays r;
    Array rr, code;
  };
  const Begin first = begin(s, b, start, stop);
  const auto normalised = [&](const Arrays& v, const Array& length) {
    return scaled(ratio(full_like(length, 1), length), v);
  };
  const Arrays none = zero_vector(s.in);
  const Array zero = zeros({}, dtype), one = ones({}, dtype);
  Arrays z0;
  Array gamma0;
  if (s.m) {
    z0 = s.m(first.r);
    gamma0 = sqrt(dot(first.r, z0, dtype));
  } else {
    gamma0 = sqrt(first.rr);
  }
  State init{first.x,   none, normalised(first.r, gamma0),
             {},        none, none,
             gamma0,    one,  one,
             zero,      zero, gamma0,
             zero,      {},   first.rr,
             first.code};
  if (s.m) {
    init.z = normalised(z0, gamma0);
    init.r = first.r;
    // M is not definite where r is not zero and r M r is not above it.
    init.code = where((init.code < 0) && !(gamma0 > 0), code(SolveResult::breakdown), init.code);
  }
  const double rounding = rounding_of(dtype);
  const auto step = [&](const State& t) {
    const Arrays& z = s.m ? t.z : t.v;
    // v_0 is zero, so what gamma is at first does not matter here.
    const Arrays q = plus(s.a(z), -t.gamma, t.v_before);
    const Array delta = dot(q, z, dtype);
    const Arrays v = plus(q, -delta, t.v);
    Arrays mz;
    if (s.m) mz = s.m(v);
    const Array vv = dot(v, s.m ? mz : v, dtype);
    const Array gamma = sqrt(vv);
    const Array a0 = t.c * delta - t.c_before * t.sn * t.gamma;
    const Array a1 = sqrt(a0 * a0 + vv);
    const Array a2 = t.sn * delta + t.c_before * t.c * t.gamma;
    const Array a3 = t.sn_before * t.gamma;
    // |A r| of the residual before this step: zero against |A| |r| where that is one of least
    // squares.
    const Array beside = t.c * gamma;
    const Array size = t.size + delta * delta + vv;
    const Array least = a0 * a0 + beside * beside <= rounding * rounding * (size + vv);
    const Array c = ratio(a0, a1), sn = ratio(gamma, a1);
    State next;
    next.gamma = gamma;
    next.size = size + vv;
    next.c_before = t.c;
    next.c = c;
    next.sn_before = t.sn;
    next.sn = sn;
    next.v_before = t.v;
    next.v = normalised(v, gamma);
    if (s.m) next.z = normalised(mz, gamma);
    next.w_before = t.w;
    next.w = scaled(ratio(one, a1), plus(plus(z, -a3, t.w_before), -a2, t.w));
    const Array length = where(least, 0, c * t.eta);
    next.x = plus(t.x, length, next.w);
    next.eta = -sn * t.eta;
    if (s.m) {
      // r = sn^2 r + (what is left) c v, in terms of vectors before M.
      next.r = plus(scaled(sn * sn, t.r), next.eta * c, next.v);
      next.rr = dot(next.r, next.r, dtype);
    } else {
      next.rr = next.eta * next.eta;
    }
    next.rr = where(least, t.rr, next.rr);
    next.code = where(least, code(SolveResult::stagnated), code_of(next.rr, first.target));
    if (s.m)
      next.code =
          where((next.code < 0) && !(vv > 0),
                where(isfinite(vv), code(SolveResult::breakdown), code(SolveResult::nonfinite)),
                next.code);
    return next;
  };
  const auto loop = while_loop_counted([](const State& t) { return t.code < 0; }, step, init,
                                       {.max_steps = stop.max_steps}, loc);
  const State& end = loop.state;
  return {end.x, loop.steps, ended(end.code), sqrt(end.rr)};
}

}  // namespace gnomon::operators::detail
