// engine/library/roots/systems.cpp -- Newton, chord and Broyden.
#include <limits>
#include "engine/library/roots/search.h"
#include "engine/library/roots/solvers.h"
#include "gnomon/loops.h"

#include "gnomon/ops.h"

namespace gnomon::roots::detail {
namespace {

struct State {
  Arrays x, more;  // more: a method's own
  Array size, code;
};

Array not_finite(const Array& size) { return !isfinite(size); }

/// Repeats `step` until a code says how it ended.
template <class Step>
Found search(const State& start, const Step& step, const Search& s, const Options& o, Loc loc) {
  const auto loop = while_loop_counted([](const State& at) { return at.code < 0; }, step, start,
                                       {.max_steps = o.max_steps}, loc);
  return {s.layout().leaves(loop.state.x), loop.steps, ended(loop.state.code)};
}

Array endless(DType dtype) { return full({}, std::numeric_limits<double>::infinity(), dtype); }

/// Where steps shrink linearly: what is left to go follows from two of them.
Array arrived(const Array& size, const Array& rate) {
  return (size < 1e-3) || ((rate < 1) && (size * rate < 1 - rate));
}

}  // namespace

Found newton(const Search& f, const Options& o, Loc loc) {
  const auto step = [&](const State& s) {
    const Factors factors(f.layout(), f.jacobian(s.x));
    const Arrays change = factors.solve(f(s.x));
    State next;
    next.x = minus(s.x, change);
    next.size = f.size(change, next.x);
    next.code = where(not_finite(next.size), code(Result::nonfinite),
                      where(next.size < 1, code(Result::converged), running()));
    return next;
  };
  return search({f.start(), {}, endless(f.layout().dtype()), running()}, step, f, o, loc);
}

Found chord(const Search& f, const Options& o, Loc loc) {
  const Layout& layout = f.layout();
  const auto factored = [&](const Arrays& x) { return Factors(layout, f.jacobian(x)).state(); };
  const auto step = [&](const State& s) {
    const Arrays change = Factors::of_state(layout, s.more).solve(f(s.x));
    State next;
    next.x = minus(s.x, change);
    next.size = f.size(change, next.x);
    const Array rate = next.size / s.size;
    next.code = where(not_finite(next.size), code(Result::nonfinite),
                      where(arrived(next.size, where(isinf(s.size), 1, rate)),
                            code(Result::converged), running()));
    const Array slow = (rate > 0.5) && (next.code < 0);
    next.more = cond(
        slow, [&] { return factored(next.x); }, [&] { return tree::clone(s.more); });
    // Steps by other factors say nothing of these.
    next.size = where(slow, endless(layout.dtype()), next.size);
    return next;
  };
  return search({f.start(), factored(f.start()), endless(layout.dtype()), running()}, step, f, o,
                loc);
}

Found broyden(const Search& f, const Options& o, Loc loc) {
  const Layout& layout = f.layout();
  // Carried: f(x), then the inverse of the Jacobian.
  const auto joined = [](Arrays value, const Arrays& matrix) {
    value.insert(value.end(), matrix.begin(), matrix.end());
    return value;
  };
  const auto step = [&](const State& s) {
    const auto middle = s.more.begin() + static_cast<Dim>(s.x.size());
    const Arrays value(s.more.begin(), middle), inverse_of(middle, s.more.end());
    const Arrays change = times(-1, product(inverse_of, value));
    State next;
    next.x = plus(s.x, change);
    const Arrays here = f(next.x);
    const Arrays moved = product(inverse_of, minus(here, value));
    const Array length = dot(change, moved);
    const Array usable = length != 0;
    const Arrays left = times(where(usable, 1 / where(usable, length, 1), 0), minus(change, moved));
    next.more = joined(here, with_outer(inverse_of, left, product_transposed(inverse_of, change)));
    next.size = f.size(change, next.x);
    const Array rate = where(isinf(s.size), 1, next.size / s.size);
    next.code = where(not_finite(next.size), code(Result::nonfinite),
                      where(arrived(next.size, rate), code(Result::converged), running()));
    return next;
  };
  const Arrays inverse_at = inverse(layout, f.jacobian(f.start()));
  return search({f.start(), joined(f(f.start()), inverse_at), endless(layout.dtype()), running()},
                step, f, o, loc);
}

}  // namespace gnomon::roots::detail
