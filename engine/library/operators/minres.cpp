// engine/library/operators/minres.cpp -- the method of minimal residuals.
#include <utility>

#include "engine/library/operators/iteration.h"
#include "gnomon/loops.h"

namespace gnomon::operators::detail {
namespace {

class Minres {
 public:
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

  Minres(const System& s, Begin first)
      : s_(s),
        first_(std::move(first)),
        none_(zero_vector(s.in)),
        zero_(zeros({}, dtype_)),
        one_(ones({}, dtype_)) {}

  State start() const {
    Arrays z;
    Array gamma;
    if (s_.m) {
      z = s_.m(first_.r);
      gamma = sqrt(dot(first_.r, z, dtype_));
    } else {
      gamma = sqrt(first_.rr);
    }
    State init{first_.x,   none_, normalised(first_.r, gamma),
               {},         none_, none_,
               gamma,      one_,  one_,
               zero_,      zero_, gamma,
               zero_,      {},    first_.rr,
               first_.code};
    if (s_.m) {
      init.z = normalised(z, gamma);
      init.r = first_.r;
      // M is not definite where r is not zero and r M r is not above it.
      init.code = where((init.code < 0) && !(gamma > 0), code(SolveResult::breakdown), init.code);
    }
    return init;
  }

  State step(const State& t) const {
    const Arrays& z = s_.m ? t.z : t.v;
    // v_0 is zero, so what gamma is at first does not matter here.
    const Arrays q = plus(s_.a(z), -t.gamma, t.v_before);
    const Array delta = dot(q, z, dtype_);
    const Arrays v = plus(q, -delta, t.v);
    Arrays mz;
    if (s_.m) mz = s_.m(v);
    const Array vv = dot(v, s_.m ? mz : v, dtype_);
    const Array gamma = sqrt(vv);
    const Array a0 = t.c * delta - t.c_before * t.sn * t.gamma;
    const Array a1 = sqrt(a0 * a0 + vv);
    const Array a2 = t.sn * delta + t.c_before * t.c * t.gamma;
    const Array a3 = t.sn_before * t.gamma;
    // |A r| of the residual before this step: zero against |A| |r| where that is one of least
    // squares.
    const double rounding = rounding_of(dtype_);
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
    if (s_.m) next.z = normalised(mz, gamma);
    next.w_before = t.w;
    next.w = scaled(ratio(one_, a1), plus(plus(z, -a3, t.w_before), -a2, t.w));
    const Array length = where(least, 0, c * t.eta);
    next.x = plus(t.x, length, next.w);
    next.eta = -sn * t.eta;
    if (s_.m) {
      // r = sn^2 r + (what is left) c v, in terms of vectors before M.
      next.r = plus(scaled(sn * sn, t.r), next.eta * c, next.v);
      next.rr = dot(next.r, next.r, dtype_);
    } else {
      next.rr = next.eta * next.eta;
    }
    next.rr = where(least, t.rr, next.rr);
    next.code = code_behind(next, least, vv);
    return next;
  }

 private:
  static Arrays normalised(const Arrays& v, const Array& length) {
    return scaled(ratio(full_like(length, 1), length), v);
  }

  /// `least`: the residual is one of least squares. `vv`: the square of the norm of v.
  Array code_behind(const State& next, const Array& least, const Array& vv) const {
    const Array c = where(least, code(SolveResult::stagnated), code_of(next.rr, first_.target));
    if (!s_.m) return c;
    return where((c < 0) && !(vv > 0),
                 where(isfinite(vv), code(SolveResult::breakdown), code(SolveResult::nonfinite)),
                 c);
  }

  const System& s_;
  const DType dtype_ = s_.dtype();
  const Begin first_;
  const Arrays none_;
  const Array zero_, one_;
};

}  // namespace

Solved minres(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Loc loc) {
  using State = Minres::State;
  const Minres method(s, begin(s, b, start, stop));
  const auto loop = while_loop_counted([](const State& t) { return t.code < 0; },
                                       [&](const State& t) { return method.step(t); },
                                       method.start(), {.max_steps = stop.max_steps}, loc);
  const State& end = loop.state;
  return {end.x, loop.steps, ended(end.code), sqrt(end.rr)};
}

}  // namespace gnomon::operators::detail
