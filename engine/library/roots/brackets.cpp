// engine/library/roots/brackets.cpp -- bisection and Brent's method.
#include <algorithm>

#include "engine/library/roots/solvers.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"

namespace gnomon::roots::detail {
namespace {

Array value(const Search& f, const Array& x) { return f.leaves_at({x})[0]; }

/// Below which two numbers near x are one.
Array width(const Options& o, const Array& x) {
  return o.atol + std::max(o.rtol, 4 * epsilon(x.dtype())) * abs(x);
}

/// What a bracket is before the first step.
Array begun(const Array& at_low, const Array& at_high) {
  const Array finite = isfinite(at_low) && isfinite(at_high);
  const Array apart = (at_low <= 0 && at_high >= 0) || (at_low >= 0 && at_high <= 0);
  return where(!finite, code(Result::nonfinite), where(apart, running(), code(Result::no_bracket)));
}

}  // namespace

Found bisection(const Search& f, const Array& low, const Array& high, const Options& o, Loc loc) {
  struct State {
    Array low, high, at_low, code;
  };
  const Array at_low = value(f, low), at_high = value(f, high);
  // An end that is a root already is both ends.
  const State start{where(at_high == 0, high, low), where(at_low == 0, low, high), at_low,
                    begun(at_low, at_high)};
  const auto loop = while_loop_counted(
      [](const State& s) { return s.code < 0; },
      [&](const State& s) {
        const Array middle = s.low + 0.5 * (s.high - s.low);
        const Array at = value(f, middle);
        const Array left = (at > 0) != (s.at_low > 0);
        State next;
        next.low = where(left && (at != 0), s.low, middle);
        next.high = where(left || (at == 0), middle, s.high);
        next.at_low = where(left && (at != 0), s.at_low, at);
        next.code = where(isnan(at), code(Result::nonfinite),
                          where(abs(next.high - next.low) <= 2 * width(o, middle),
                                code(Result::converged), running()));
        return next;
      },
      start, {.max_steps = o.max_steps}, loc);
  const State& s = loop.state;
  return {{s.low + 0.5 * (s.high - s.low)}, loop.steps, ended(s.code)};
}

Found brent(const Search& f, const Array& low, const Array& high, const Options& o, Loc loc) {
  // b: the best point; the root is between b and c; a: the one before b.
  struct State {
    Array a, fa, b, fb, c, fc, moved, before, code;
  };
  const Array at_low = value(f, low), at_high = value(f, high);
  const Array length = high - low;
  const State start{
      low,     at_low, high,
      at_high, low,    at_low,
      length,  length, where(at_high == 0, code(Result::converged), begun(at_low, at_high))};
  const auto loop = while_loop_counted(
      [](const State& s) { return s.code < 0; },
      [&](State s) {
        // c is on the other side of the root, and b at least as good as it.
        const Array same = (s.fb > 0) == (s.fc > 0);
        s.c = where(same, s.a, s.c);
        s.fc = where(same, s.fa, s.fc);
        s.moved = where(same, s.b - s.a, s.moved);
        s.before = where(same, s.moved, s.before);
        const Array worse = abs(s.fc) < abs(s.fb);
        const Array a = where(worse, s.b, s.a), fa = where(worse, s.fb, s.fa);
        const Array b = where(worse, s.c, s.b), fb = where(worse, s.fc, s.fb);
        const Array c = where(worse, a, s.c), fc = where(worse, fa, s.fc);
        const Array tolerance = 0.5 * width(o, b), half = 0.5 * (c - b);
        const Array done = (abs(half) <= tolerance) || (fb == 0);
        // The secant, or the quadratic through three points as a function of f.
        const Array ratio = fb / fa;
        const Array two = a == c;
        const Array q1 = fa / fc, r1 = fb / fc;
        Array p =
            where(two, 2 * half * ratio, ratio * (2 * half * q1 * (q1 - r1) - (b - a) * (r1 - 1)));
        Array q = where(two, 1 - ratio, (q1 - 1) * (r1 - 1) * (ratio - 1));
        q = where(p > 0, negative(q), q);
        p = abs(p);
        const Array try_it = (abs(s.before) >= tolerance) && (abs(fa) > abs(fb));
        const Array good =
            try_it && (2 * p < minimum(3 * half * q - abs(tolerance * q), abs(s.before * q)));
        const Array moved = where(good, p / where(good, q, 1), half);
        State next;
        next.before = where(good, s.moved, half);
        next.moved = moved;
        next.a = b;
        next.fa = fb;
        const Array least = where(half > 0, tolerance, negative(tolerance));
        next.b = where(done, b, b + where(abs(moved) > tolerance, moved, least));
        next.fb = value(f, next.b);
        next.c = c;
        next.fc = fc;
        next.code = where(done, code(Result::converged),
                          where(isnan(next.fb), code(Result::nonfinite), running()));
        return next;
      },
      start, {.max_steps = o.max_steps}, loc);
  return {{loop.state.b}, loop.steps, ended(loop.state.code)};
}

}  // namespace gnomon::roots::detail
