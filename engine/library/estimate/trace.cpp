// engine/library/estimate/trace.cpp -- traces by the four methods.
//
// All but XNysTrace are linear functions of A once the basis that they draw from A is held fixed,
// as are their derivatives: with the basis a constant, differentiating the computation estimates
// tr V with the same probes.
#include "gnomon/estimate/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/library/estimate/blocks.h"
#include "engine/library/estimate/leave_one_out.h"
#include "gnomon/arrange.h"
#include "gnomon/custom.h"
#include "gnomon/linalg.h"

namespace gnomon::estimate {
namespace {

using detail::Arrays;
using detail::Mean;
using detail::Source;
using operators::Operator;
using operators::Space;

/// A computation of one trace: what the methods have in common.
struct Task {
  const Operator& a;
  const Source& source;
  Dim k;
  const TraceOptions& options;
  Loc loc;

  Dim n() const { return a.columns(); }
  bool fixed() const { return options.derivative != Derivative::through_estimator; }
  /// What has no derivative unless that through the estimator is wanted.
  Array held(const Array& x) const { return fixed() ? stop_gradient(x) : x; }
};

double epsilon(DType t) {
  return t == DType::f64 ? std::numeric_limits<double>::epsilon()
                         : std::numeric_limits<float>::epsilon();
}

Trace as_trace(const Mean& m, Dim products) { return {m.value, m.standard_error, products}; }

Array forms(const Task& t, const Arrays& z) {
  return detail::dots(z, t.a.mm(z, t.loc), t.a.in().dtype());
}

Trace hutchinson(const Task& t) {
  const Dim k = t.source.given() ? t.k : std::min(t.k, std::max<Dim>(t.n(), 1));
  const Dim together = t.source.together();
  const auto b = detail::batches(k, t.a.in(), t.options.batch, together);
  const auto f = [&](const Arrays& z) { return forms(t, z); };
  return as_trace(detail::mean_of(detail::samples(t.source, b, f, t.loc), together), k);
}

Trace hutch_plus_plus(const Task& t) {
  const Dim n = t.n();
  // s probes for the range, s products with its basis, the rest for what is left.
  const Dim k = t.source.given() ? t.k : std::min(t.k, 3 * n);
  const Dim s = t.source.given() ? std::min(k / 2, n) : k / 3;
  const Dim g = t.source.given() ? k - s : k - 2 * s;
  if (s == 0) return hutchinson(t);
  // What is left is looked at with probes that the range does not depend on: those of other blocks.
  const Dim together = t.source.together(), first = (s + together - 1) / together * together;
  const Array omega = detail::flat(t.source.all(first + g, t.loc), t.a.in());
  const Array sketch = slice_axis(omega, 1, 0, s), rest = slice_axis(omega, 1, first, first + g);
  const Array q = t.held(linalg::qr(t.held(detail::product(t.a, sketch, t.loc))).q);
  const Array u = rest - matmul(q, matmul(transpose(q), rest));
  // One product with both: the operator is read once.
  const Array both = detail::product(t.a, concatenate(Arrays{q, u}, 1), t.loc);
  const Array exact = sum(q * slice_axis(both, 1, 0, s));
  const Mean left = detail::mean_of(detail::dots(u, slice_axis(both, 1, s, s + g)), together);
  return {exact + left.value, left.standard_error, 2 * s + g};
}

Trace x_trace(const Task& t) {
  const Dim n = t.n();
  const Dim m = t.source.given() ? t.k : std::clamp<Dim>(t.k / 2, 1, n);
  detail::require_independent("XTrace", t.source, m, t.loc);
  const Array omega = detail::flat(t.source.all(m, t.loc), t.a.in());
  const Array y = detail::product(t.a, omega, t.loc);
  const detail::LeaveOneOut range(t.held(y), t.fixed());
  const Array &q = range.q(), &s = range.s();
  const Array z = detail::product(t.a, q, t.loc);
  const Array w = matmul(transpose(q), omega), h = matmul(transpose(q), z);
  // u_i = (1 - P_i) omega_i, P_i the projection on the range without probe i, and A u_i.
  const Array c = range.without(w);
  const Array u = omega - matmul(q, c), au = y - matmul(z, c);
  Array residual = detail::dots(u, au);
  // The part of such a probe outside the range has a direction of equal probability: its length
  // adds nothing but variance.
  if (t.source.rotation_invariant())
    residual = residual * (static_cast<double>(n - m + 1) / detail::dots(u, u));
  const Array inside = sum(q * z) - detail::dots(s, matmul(h, s));
  const Array e = inside + residual;
  const auto two_left_out = [&] {
    // Of the range without probes i (rows) and j (columns) the complement in that without i is the
    // direction (s_j - c s_i) / sqrt(1 - c^2), c = s_i . s_j.
    const Array st = transpose(s), angle = matmul(st, s);
    const Array sine2 = maximum(1 - square(angle), epsilon(y.dtype()));
    const auto row = [](const Array& v) { return expand_dims(v, 1); };
    const Array hs = matmul(st, matmul(h, s)), diagonal = gnomon::diagonal(hs);
    const Array both = hs + transpose(hs);
    const Array gone = (diagonal - angle * both + square(angle) * row(diagonal)) / sine2;
    const Array ws = matmul(st, w);                                          // s_a . w_b
    const Array part = (transpose(ws) - angle * row(gnomon::diagonal(ws)));  // times the sine
    const Array ua = matmul(matmul(transpose(u), z), s) + matmul(matmul(transpose(au), q), s);
    const Array cross = ua - angle * row(gnomon::diagonal(ua));
    Array rest = row(detail::dots(u, au)) + part * cross / sine2 + square(part) * gone / sine2;
    if (t.source.rotation_invariant())
      rest = rest *
             (static_cast<double>(n - m + 2) / (row(detail::dots(u, u)) + square(part) / sine2));
    return row(inside) - gone + rest;
  };
  return as_trace(detail::mean_of_exchangeable(e, two_left_out), 2 * m);
}

/// What Nystroem's approximation of a positive semidefinite A from y = A Q says of its trace for
/// each probe left out, Q the basis of the probes' range.
///
/// With H = Q^T A Q, G = A Q H^-1 and d_i = s_i^T H^-1 s_i the approximation without probe i has
/// the trace tr(A Q H^-1 Q^T A) - |G s_i|^2 / d_i, and what it leaves of A is 1 / d_i at Q s_i. A
/// basis in place of the probes themselves makes the factorisation as stable as A allows.
class Nystroem {
 public:
  Nystroem(const detail::LeaveOneOut& probes, const Array& y, const Array& scale)
      : q_(probes.q()), s_(probes.s()), scale_(scale) {
    const DType dtype = y.dtype();
    const double tiny = dtype == DType::f64 ? 1e-200 : 1e-30;
    // The smallest shift at which the factor exists in spite of rounding.
    shift_ = stop_gradient(maximum(8 * epsilon(dtype) * sqrt(sum(square(y))), tiny));
    y_ = y + shift_ * q_;
    const Array h = matmul(transpose(q_), y_);
    const Array l = linalg::cholesky(0.5 * (h + transpose(h)));
    inverse_ = linalg::triangular_solve(l, eye(y.dim(1), dtype));  // L^-1, H = L L^T
    d_ = sum(square(matmul(inverse_, s_)), {0});
  }
  Array estimates() const {
    const Array e = matmul(y_, transpose(inverse_));  // |e|_F^2: the trace of the approximation
    const Array gs = matmul(e, matmul(inverse_, s_));
    const double n = static_cast<double>(q_.dim(0));
    return sum(square(e)) - n * shift_ + (scale_ - sum(square(gs), {0})) / d_;
  }
  /// The same for each pair of probes left out, [k, k], of which the first one is looked at; of
  /// `scale`, a factor for each.
  Array two_left_out(const Array& scale) const {
    const Array e = matmul(y_, transpose(inverse_));
    const Array ls = matmul(inverse_, s_) * rsqrt(d_), gs = matmul(e, ls);
    const Array gg = matmul(transpose(gs), gs), g2 = gnomon::diagonal(gg);
    const Array cosine = matmul(transpose(ls), ls);
    const Array sine2 = maximum(1 - square(cosine), epsilon(y_.dtype()));
    const Array gone = expand_dims(g2, 1) + g2 - 2 * gg * cosine;
    const double n = static_cast<double>(q_.dim(0));
    return sum(square(e)) - n * shift_ + (scale / expand_dims(d_, 1) - gone) / sine2;
  }
  /// The derivative of the mean for a change of y, the projection held.
  Array derivative(const Array& dy) const {
    const Array p = matmul(transpose(inverse_), inverse_), g = matmul(y_, p);
    const Array ps = matmul(p, s_), gs = matmul(g, s_);
    const Array dh = matmul(transpose(q_), dy), dhps = matmul(dh, ps);
    const Array trace = 2 * sum(dy * g) - sum(dh * matmul(transpose(g), g));
    const Array moved = matmul(dy, ps) - matmul(g, dhps);  // of G s_i
    const Array parts =
        (scale_ - sum(square(gs), {0})) * sum(ps * dhps, {0}) / d_ - 2 * sum(gs * moved, {0});
    return trace + mean(parts / d_, {0});
  }

 private:
  Array q_, s_, scale_, shift_, y_, inverse_, d_;
};

Trace x_nys_trace(const Task& t) {
  const auto& tags = t.a.tags();
  if (!tags.positive_semidefinite && !tags.negative_semidefinite)
    usage_error("estimate::XNysTrace",
                "the operator " + t.a.map().name() + " is tagged " + operators::to_string(tags) +
                    "; Nystroem's approximation needs a semidefinite one: add "
                    "{.positive_semidefinite = true} if it is, or take XTrace",
                t.loc);
  const Dim n = t.n(), k = t.source.given() ? t.k : std::min(t.k, n);
  detail::require_independent("XNysTrace", t.source, k, t.loc);
  const double sign = tags.positive_semidefinite ? 1 : -1;
  const Array omega = detail::flat(t.source.all(k, t.loc), t.a.in());
  const detail::LeaveOneOut probes(omega, true);
  const Array y = sign * detail::product(t.a, probes.q(), t.loc);
  // The square of the length of a probe's part at right angles to all others, or its mean.
  const Array scale = t.source.rotation_invariant()
                          ? full({k}, static_cast<double>(n - k + 1), y.dtype())
                          : square(detail::dots(probes.s(), matmul(transpose(probes.q()), omega)));
  const auto found = [&](const Array& products) {
    const Nystroem a(probes, products, scale);
    const auto two_left_out = [&] {
      const Array angle = matmul(transpose(probes.s()), probes.s());
      return a.two_left_out(t.source.rotation_invariant()
                                ? static_cast<double>(n - k + 2) * (1 - square(angle))
                                : expand_dims(scale, 1));
    };
    const Mean m = detail::mean_of_exchangeable(a.estimates(), two_left_out);
    return Arrays{m.value, m.standard_error};
  };
  Arrays result;
  if (t.fixed()) {
    // The approximation is quadratic in A: what is held is its projection, at the A it was made at.
    const auto rule = [&](const Array& at, const Arrays&, const Array& change) {
      return Arrays{Nystroem(probes, stop_gradient(at), scale).derivative(change), Array::hole()};
    };
    result = custom_jvp(found, rule, t.loc)(y);
  } else {
    result = found(y);
  }
  return {sign * result[0], stop_gradient(result[1]), k};
}

/// The value with the derivative of another one.
Array with_derivative_of(const Array& value, const Array& exact) {
  return stop_gradient(value) + (exact - stop_gradient(exact));
}

Trace estimated(const Task& t, const TraceMethod& method) {
  operators::require_square("estimate::trace", t.a, t.loc);
  const auto& tags = t.a.tags();
  const Space& space = t.a.in();
  if ((tags.diagonal && tags.unit_diagonal) || t.n() == 0) {
    const DType dtype = space.dtype();
    return {full({}, static_cast<double>(t.n()), dtype), zeros({}, dtype), 0};
  }
  const auto run = [&](const auto& m) {
    using M = std::remove_cvref_t<decltype(m)>;
    if constexpr (std::is_same_v<M, Hutchinson>)
      return hutchinson(t);
    else if constexpr (std::is_same_v<M, HutchPlusPlus>)
      return hutch_plus_plus(t);
    else if constexpr (std::is_same_v<M, XTrace>)
      return x_trace(t);
    else
      return x_nys_trace(t);
  };
  Trace result = std::visit(run, method);
  if (t.options.derivative == Derivative::exact) {
    const std::optional<Array> diagonal = t.a.map().diagonal(t.loc);
    if (!diagonal)
      usage_error("estimate::trace",
                  "the operator " + t.a.map().name() +
                      " does not store its diagonal, which an exact derivative is made of; take "
                      "Derivative::same_probes",
                  t.loc);
    result.value = with_derivative_of(result.value, sum(*diagonal));
  }
  return result;
}

}  // namespace

Trace trace(Key key, const Operator& a, Dim k, const TraceMethod& method,
            const TraceOptions& options, Loc loc) {
  detail::require_positive("estimate::trace", "k", k, loc);
  const auto sampler = std::visit([](const auto& m) { return m.sampler; }, method);
  const Source source(sampler, std::move(key), a.in());
  return estimated({a, source, k, options, loc}, method);
}

Trace trace(const Probes& probes, const Operator& a, const TraceMethod& method,
            const TraceOptions& options, Loc loc) {
  const Source source("estimate::trace", probes, a.in(), loc);
  const Dim k = *source.given();
  const Dim most =
      std::holds_alternative<XTrace>(method) || std::holds_alternative<XNysTrace>(method)
          ? a.columns()
          : k;
  if (k > most)
    usage_error("estimate::trace",
                "there are " + std::to_string(k) + " probes of " + std::to_string(most) +
                    " numbers; this method takes no more probes than that",
                loc);
  return estimated({a, source, k, options, loc}, method);
}

TraceTo trace_to(Key key, const Operator& a, const ToleranceOptions& o, Loc loc) {
  operators::require_square("estimate::trace_to", a, loc);
  const char* op = "estimate::trace_to";
  if (!(o.rtol > 0 || o.atol > 0))
    usage_error(op, "both tolerances are 0; give .rtol or .atol", loc);
  detail::require_positive(op, "max_probes", o.max_probes, loc);
  detail::require_positive(op, "batch", o.batch, loc);
  const DType dtype = a.in().dtype();
  const Source source(o.sampler, std::move(key), a.in());
  const Dim together = source.together();
  const Dim size = std::max(o.batch / together, Dim{1}) * together;
  const Dim groups = size / together;
  const Dim most = std::max<Dim>((o.max_probes + size - 1) / size, 2);
  struct State {
    Array batches, mean, squares;  // squares: of the distances from the mean
  };
  const auto error = [&](const State& s) {
    const Array count = cast(s.batches, dtype) * static_cast<double>(groups);
    return sqrt(s.squares / (maximum(count - 1, 1) * count));
  };
  const auto small_enough = [&](const State& s) {
    return o.deviations * error(s) <= maximum(o.rtol * abs(s.mean), o.atol);
  };
  const auto step = [&](const State& s) {
    const Arrays z = source.block(s.batches, size, loc);
    Array q = detail::dots(z, a.mm(z, loc), dtype);
    if (together > 1) q = mean(reshape(q, {groups, together}), {1});
    // Two samples become one: Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm
    // for computing sample variances (1979), equation 2.1.
    const Array here = mean(q, {0}), before = cast(s.batches, dtype);
    const Array apart = here - s.mean;
    const Array both = stop_gradient(sum(square(q - here)) +
                                     square(apart) * (before / (before + 1)) * double(groups));
    return State{s.batches + 1, s.mean + apart / (before + 1), s.squares + both};
  };
  const auto more = [&](const State& s) { return s.batches < 2 || !small_enough(s); };
  const State start{zeros({}, DType::i32), zeros({}, dtype), zeros({}, dtype)};
  const State end = while_loop(more, step, start, {.max_steps = most}, loc);
  return {end.mean, stop_gradient(error(end)), end.batches * static_cast<std::int32_t>(size),
          small_enough(end)};
}

Norm frobenius_norm(Key key, const Operator& a, Dim k, const Sampler& sampler,
                    const TraceOptions& options, Loc loc) {
  detail::require_positive("estimate::frobenius_norm", "k", k, loc);
  const Source source(sampler, std::move(key), a.in());
  const Dim together = source.together();
  const Dim used = std::min(k, std::max<Dim>(a.columns(), 1));
  const auto b = detail::batches(used, a.in(), options.batch, together);
  const auto squares = [&](const Arrays& z) {
    const Arrays y = a.mm(z, loc);
    return detail::dots(y, y, a.out().dtype());
  };
  const Mean m = detail::mean_of(detail::samples(source, b, squares, loc), together);
  const Array value = sqrt(m.value);
  return {value, m.standard_error / stop_gradient(2 * value), used};
}

}  // namespace gnomon::estimate
