// engine/library/operators/lsmr.cpp -- least squares by bidiagonalisation.
#include <algorithm>
#include <utility>

#include "engine/library/operators/iteration.h"
#include "gnomon/loops.h"

namespace gnomon::operators::detail {
namespace {

class Lsmr {
 public:
  // Names are those of the paper, section 2.8 and, of the norm of the residual, 3.1: d is
  // beta-double-dot, tau and theta with a tilde.
  struct State {
    Arrays x, u, v, h, h_bar;
    Array alpha, alpha_bar, zeta, zeta_bar, rho, rho_bar, c_bar, s_bar;
    Array beta_dd, beta_d, rho_d, tau, theta, size;
    Array rr, code;
  };

  Lsmr(const System& s, Begin first, double rtol)
      : s_(s),
        rtol_(std::max(rtol, epsilon_of(s.dtype()))),
        first_(std::move(first)),
        zero_(zeros({}, dtype_)),
        one_(ones({}, dtype_)) {}

  State start(const Arrays& b) const {
    const Array beta = sqrt(first_.rr);
    const Arrays u = normalised(b, beta);
    const Arrays at_u = s_.at(u);
    const Array alpha_squared = dot(at_u, at_u, dtype_), alpha = sqrt(alpha_squared);
    const Arrays v = normalised(at_u, alpha);
    // b that is orthogonal to all columns: x = 0 is it.
    const Array none =
        where((first_.code < 0) && (alpha == 0), code(SolveResult::converged), first_.code);
    return {zero_vector(s_.in),
            u,
            v,
            v,
            zero_vector(s_.in),
            alpha,
            alpha,
            zero_,
            alpha * beta,
            one_,
            one_,
            one_,
            zero_,
            beta,
            zero_,
            one_,
            zero_,
            zero_,
            alpha_squared,
            first_.rr,
            where(isfinite(alpha), none, code(SolveResult::nonfinite))};
  }

  State step(const State& t) const {
    const Arrays u_long = plus(s_.a(t.v), -t.alpha, t.u);
    const Array beta_squared = dot(u_long, u_long, dtype_), beta = sqrt(beta_squared);
    State next;
    next.u = normalised(u_long, beta);
    const Arrays v_long = plus(s_.at(next.u), -beta, t.v);
    const Array alpha_now = dot(v_long, v_long, dtype_);
    next.alpha = sqrt(alpha_now);
    next.v = normalised(v_long, next.alpha);
    // The bidiagonal matrix to a triangle, and that one once more.
    next.rho = sqrt(t.alpha_bar * t.alpha_bar + beta_squared);
    const Array c = ratio(t.alpha_bar, next.rho), sn = ratio(beta, next.rho);
    const Array theta_new = sn * next.alpha;
    next.alpha_bar = c * next.alpha;
    const Array theta_bar = t.s_bar * next.rho, rho_before = t.c_bar * next.rho;
    next.rho_bar = sqrt(rho_before * rho_before + theta_new * theta_new);
    next.c_bar = ratio(rho_before, next.rho_bar);
    next.s_bar = ratio(theta_new, next.rho_bar);
    next.zeta = next.c_bar * t.zeta_bar;
    next.zeta_bar = -next.s_bar * t.zeta_bar;
    next.h_bar = plus(t.h, -ratio(theta_bar * next.rho, t.rho * t.rho_bar), t.h_bar);
    next.x = plus(t.x, ratio(next.zeta, next.rho * next.rho_bar), next.h_bar);
    next.h = plus(next.v, -ratio(theta_new, next.rho), t.h);
    residual(t, next, c, sn, theta_bar);
    const Array size = t.size + beta_squared;
    next.size = size + alpha_now;
    const Array least = next.zeta_bar * next.zeta_bar <= rtol_ * rtol_ * size * next.rr;
    const Array reached = code_of(next.rr, first_.target);
    next.code = where((reached < 0) && least, code(SolveResult::converged), reached);
    return next;
  }

 private:
  Arrays normalised(const Arrays& v, const Array& length) const {
    return scaled(ratio(one_, length), v);
  }

  /// The norm of the residual. `c`, `sn`: the rotation that makes the bidiagonal matrix triangular;
  /// `theta_bar`: of the one behind it.
  static void residual(const State& t, State& next, const Array& c, const Array& sn,
                       const Array& theta_bar) {
    const Array beta_hat = c * t.beta_dd;
    next.beta_dd = -sn * t.beta_dd;
    const Array rho_tilde = sqrt(t.rho_d * t.rho_d + theta_bar * theta_bar);
    const Array c_tilde = ratio(t.rho_d, rho_tilde), s_tilde = ratio(theta_bar, rho_tilde);
    next.theta = s_tilde * next.rho_bar;
    next.rho_d = c_tilde * next.rho_bar;
    next.beta_d = -s_tilde * t.beta_d + c_tilde * beta_hat;
    next.tau = ratio(t.zeta - t.theta * t.tau, rho_tilde);
    const Array tau_d = ratio(next.zeta - next.theta * next.tau, next.rho_d);
    const Array apart = next.beta_d - tau_d;
    next.rr = apart * apart + next.beta_dd * next.beta_dd;
  }

  const System& s_;
  const DType dtype_ = s_.dtype();
  const double rtol_;
  const Begin first_;
  const Array zero_, one_;
};

}  // namespace

Solved lsmr(const System& s, const Arrays& b, const Stop& stop, Loc loc) {
  using State = Lsmr::State;
  const Lsmr method(s, begin(s, b, {}, stop), stop.rtol);
  const auto loop = while_loop_counted([](const State& t) { return t.code < 0; },
                                       [&](const State& t) { return method.step(t); },
                                       method.start(b), {.max_steps = stop.max_steps}, loc);
  const State& end = loop.state;
  return {end.x, loop.steps, ended(end.code), sqrt(end.rr)};
}

}  // namespace gnomon::operators::detail
