// engine/library/roots/minima.cpp -- least squares and minima.
#include <cmath>
#include <limits>

#include "engine/library/roots/solvers.h"
#include "gnomon/arrange.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/sorting.h"

namespace gnomon::roots::detail {
namespace {

Array half_square(const Arrays& leaves, DType dtype) {
  std::optional<Array> total;
  for (const Array& a : leaves) {
    const Array x = a.dtype() == dtype ? a : cast(a, dtype);
    const Array part = a.rank() == 0 ? x * x : sum(x * x);
    total = total ? *total + part : part;
  }
  return 0.5 * *total;
}

/// A change that is not finite leads nowhere.
Array all_finite(const Arrays& x) {
  Array yes = full({}, true);
  for (const Array& a : x) yes = yes && all(isfinite(a));
  return yes;
}

/// Near a minimum values say nothing any more, and steps do: what rounding may change of a value
/// that is made of larger numbers.
Array noise_of(const Array& value) { return std::pow(epsilon(value.dtype()), 0.75) * abs(value); }

Array inner_product(const Arrays& a, const Arrays& b, DType dtype) {
  std::optional<Array> total;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Array p = cast(a[i], dtype) * cast(b[i], dtype);
    const Array part = p.rank() == 0 ? p : sum(p);
    total = total ? *total + part : part;
  }
  return *total;
}

/// J^T J and J^T r of residuals r.
struct NormalEquations {
  Arrays matrix, right;
};

NormalEquations normal_equations(const Search& f, const Arrays& x) {
  const Layout& layout = f.layout();
  const DType dtype = layout.dtype();
  const Arrays leaves = layout.leaves(x);
  const auto all = [&](const Arrays& v) { return f.leaves_at(layout.flat(v)); };
  const Arrays r = all(leaves);
  NormalEquations n;
  if (layout.written_out()) {
    // A column of J for each number of x, as residuals are.
    std::vector<Arrays> columns;
    for (Dim j = 0; j < layout.size(); ++j)
      columns.push_back(jvp(all, leaves, layout.unit(j, true)).second);
    const std::size_t size = columns.size();
    n.matrix.resize(size * size);
    for (std::size_t i = 0; i < size; ++i) {
      n.right.push_back(inner_product(columns[i], r, dtype));
      for (std::size_t j = 0; j <= i; ++j)
        n.matrix[i * size + j] = n.matrix[j * size + i] =
            inner_product(columns[i], columns[j], dtype);
    }
    return n;
  }
  const auto residuals = [&](const Array& v) {
    Arrays parts;
    for (const Array& a : all(layout.leaves({v})))
      parts.push_back(cast(reshape(a, {a.size()}), dtype));
    return concatenate(parts);
  };
  const auto row = [&](const Array& d) { return jvp(residuals, x[0], d).second; };
  const Array rows = vmap(row)(eye(layout.size(), dtype));
  n.right = {matmul(rows, residuals(x[0]))};
  n.matrix = {matmul(rows, transpose(rows))};
  return n;
}

/// Adds to the diagonal of J^T J, where there is a damping, that many times the weights it gives:
/// each number is damped as much as it counts.
Arrays add_damping(const Layout& layout, const std::optional<Array>& damping, Arrays& matrix) {
  Arrays weights;
  if (layout.written_out()) {
    const auto n = static_cast<std::size_t>(layout.size());
    for (std::size_t i = 0; i < n; ++i) {
      const Array d = matrix[i * n + i];
      weights.push_back(where(d > 0, d, 1));
      if (damping) matrix[i * n + i] = d + *damping * weights[i];
    }
  } else {
    const Array d = diag(matrix[0]);
    weights = {where(d > 0, d, 1)};
    if (damping) matrix = {matrix[0] + *damping * diag(weights[0])};
  }
  return weights;
}

struct LeastSquaresState {
  Arrays x;
  Array value, damping, growth, code;
};

/// Where a damped step leads: it is taken if it makes the value smaller, and the damping follows
/// how much of what the linear model has promised came true (Nielsen).
/// `change`: to `x`, where the value is `value`. `size`: of the change, below 1 at the end.
LeastSquaresState judged(const LeastSquaresState& s, const NormalEquations& system,
                         const Arrays& weights, const Arrays& change, const Arrays& x,
                         const Array& value, const Array& size) {
  Arrays pull;
  for (std::size_t i = 0; i < change.size(); ++i)
    pull.push_back(s.damping * weights[i] * change[i] - system.right[i]);
  const Array promised = 0.5 * dot(change, pull);
  const Array noise = noise_of(s.value);
  const Array quiet = promised <= noise;
  const Array ratio = where(quiet, 1, (s.value - value) / where(quiet, 1, promised));
  const Array better = isfinite(value) && (value <= s.value + noise) && all_finite(change);
  LeastSquaresState next;
  next.x = choose(better, x, s.x);
  next.value = where(better, value, s.value);
  const Array good = where(better, ratio, 0);
  const Array cube = 1 - (2 * good - 1) * (2 * good - 1) * (2 * good - 1);
  next.damping = s.damping * where(better, maximum(cube, 1.0 / 3), s.growth);
  next.growth = where(better, 2, 2 * s.growth);
  next.code = where(!isfinite(s.value), code(Result::nonfinite),
                    where(isfinite(size) && (size < 1), code(Result::converged),
                          where(isfinite(next.damping), running(), code(Result::stagnated))));
  return next;
}

}  // namespace

FoundMinimum least_squares(const Search& f, bool damped, const Options& o, Loc loc) {
  using State = LeastSquaresState;
  const Layout& layout = f.layout();
  const DType dtype = layout.dtype();
  const auto step = [&](const State& s) {
    const NormalEquations system = normal_equations(f, s.x);
    Arrays matrix = system.matrix;
    const Arrays weights =
        add_damping(layout, damped ? std::optional(s.damping) : std::nullopt, matrix);
    const Arrays change = times(-1, Factors(layout, matrix).solve(system.right));
    const Arrays x = plus(s.x, change);
    const Array value = half_square(f.leaves_at(x), dtype);
    const Array size = f.size(change, s.x);
    if (damped) return judged(s, system, weights, change, x, value, size);
    State next{x, value, s.damping, s.growth, {}};
    next.code = where(!isfinite(size + value), code(Result::nonfinite),
                      where(size < 1, code(Result::converged), running()));
    return next;
  };
  const State start{f.start(), half_square(f.leaves_at(f.start()), dtype), full({}, 1e-3, dtype),
                    full({}, 2.0, dtype), running()};
  const auto loop = while_loop_counted([](const State& s) { return s.code < 0; }, step, start,
                                       {.max_steps = o.max_steps}, loc);
  return {{layout.leaves(loop.state.x), loop.steps, ended(loop.state.code)}, loop.state.value};
}

FoundMinimum bfgs(const Search& f, const Options& o, Loc loc) {
  const Layout& layout = f.layout();
  const DType dtype = layout.dtype();
  struct State {
    Arrays x, slope, inverse_of, direction;
    Array value, length, first, code;
  };
  const auto number = [&](const Arrays& leaves) {
    return cast(f.leaves_at(layout.flat(leaves))[0], dtype);
  };
  const auto with_slope = [&](const Arrays& x) {
    const auto both = value_and_grad(number)(layout.leaves(x));
    return std::pair{both.value, layout.flat(both.grad)};
  };
  const auto begun = with_slope(f.start());
  Arrays identity;
  if (layout.written_out()) {
    for (Dim i = 0; i < layout.size(); ++i)
      for (Dim j = 0; j < layout.size(); ++j)
        identity.push_back(full({}, i == j ? 1.0 : 0.0, dtype));
  } else {
    identity = {eye(layout.size(), dtype)};
  }
  const auto step = [&](const State& s) {
    const Arrays change = times(s.length, s.direction);
    const Arrays x = plus(s.x, change);
    const auto here = with_slope(x);
    const Array downhill = dot(s.slope, change);
    const Array noise = noise_of(s.value);
    const Array quiet = (abs(downhill) <= noise) && (here.first <= s.value + noise);
    const Array better = quiet || (here.first <= s.value + 1e-4 * downhill);
    // The inverse of the second derivative takes the newest change of the slope in.
    const Arrays bent = minus(here.second, s.slope);
    const Array bend = dot(change, bent);
    const Array usable = better && (bend > 0);
    const Array rho = where(usable, 1 / where(usable, bend, 1), 0);
    // Before the first correction it has the scale of the function.
    const Array scale = where(s.first && usable, bend / where(usable, dot(bent, bent), 1), 1);
    const Arrays matrix = times(scale, s.inverse_of);
    const Arrays image = product(matrix, bent);
    const Array factor = rho * (1 + rho * dot(bent, image));
    Arrays corrected = with_outer(matrix, times(factor, change), change);
    corrected = with_outer(corrected, times(negative(rho), image), change);
    corrected = with_outer(corrected, times(negative(rho), change), image);
    State next;
    next.x = choose(better, x, s.x);
    next.slope = choose(better, here.second, s.slope);
    next.value = where(better, here.first, s.value);
    next.inverse_of = choose(better, corrected, s.inverse_of);
    next.first = s.first && !usable;
    const Arrays wanted = times(-1, product(corrected, here.second));
    next.direction = choose(better, wanted, s.direction);
    // The parabola through both values and the slope has its minimum there.
    const Array parabola = -0.5 * s.length * downhill / (here.first - s.value - downhill);
    const Array shorter =
        where(isfinite(parabola), clip(parabola, 0.1 * s.length, 0.5 * s.length), 0.1 * s.length);
    next.length = where(better, 1, shorter);
    const Array size = f.size(next.direction, next.x);
    next.code =
        where(!isfinite(s.value), code(Result::nonfinite),
              where(better && (size < 1), code(Result::converged),
                    where(next.length < epsilon(dtype), code(Result::stagnated), running())));
    return next;
  };
  // A first step of length 1 at most.
  const Array steep = sqrt(dot(begun.second, begun.second));
  const State start{f.start(),      begun.second,
                    identity,       times(-1, begun.second),
                    begun.first,    1 / maximum(steep, 1),
                    full({}, true), where(steep == 0, code(Result::converged), running())};
  const auto loop = while_loop_counted([](const State& s) { return s.code < 0; }, step, start,
                                       {.max_steps = o.max_steps}, loc);
  return {{layout.leaves(loop.state.x), loop.steps, ended(loop.state.code)}, loop.state.value};
}

FoundMinimum nelder_mead(const Search& f, const Options& o, Loc loc) {
  const Layout& layout = f.layout();
  const DType dtype = layout.dtype();
  const Dim n = layout.size();
  const bool apart = layout.written_out();
  const auto vector = [&](const Arrays& x) { return apart ? stack(x) : x[0]; };
  const auto flat = [&](const Array& v) {
    if (!apart) return Arrays{v};
    Arrays x;
    for (Dim i = 0; i < n; ++i) x.push_back(v[i]);
    return x;
  };
  const auto at = [&](const Array& v) {
    const Array y = cast(f.leaves_at(flat(v))[0], dtype);
    return where(isnan(y), std::numeric_limits<double>::infinity(), y);
  };
  struct State {
    Array points, values;  // [n + 1, n], [n + 1], the best first
    Array code;
  };
  const auto sorted = [&](const Array& points, const Array& values, const Array& c) {
    const Array order = argsort(values);
    return State{take(points, order), take(values, order), c};
  };
  const double size_of = static_cast<double>(n), many = std::max(size_of, 2.0);
  const double expand = 1 + 2 / many, contract = 0.75 - 1 / (2 * many), shrink = 1 - 1 / many;
  const auto step = [&](const State& s) {
    const Array best = s.points[0], worst = s.points[n], at_worst = s.values[n];
    const Array middle = (sum(s.points, 0) - worst) * (1 / size_of);
    const Array way = middle - worst;
    const Array reflected = middle + way, at_reflected = at(reflected);
    const Array lowest = at_reflected < s.values[0], well = at_reflected < s.values[n - 1];
    const Array outside = at_reflected < at_worst;
    // Further on, or less far, or on the other side.
    const Array factor = where(lowest, expand, where(outside, contract, -contract));
    const Array second = middle + factor * way, at_second = at(second);
    const Array take_first = well && !(lowest && (at_second < at_reflected));
    const Array take_second = !take_first && (at_second < where(outside, at_reflected, at_worst));
    const Array point = where(take_first, reflected, second);
    const Array here = where(take_first, at_reflected, at_second);
    State next;
    const auto replaced = [&] {
      return std::pair{concatenate({slice(s.points, {0, 0}, {n, n}), reshape(point, {1, n})}),
                       concatenate({slice(s.values, {0}, {n}), reshape(here, {1})})};
    };
    const auto shrunk = [&] {
      const Array points = best + shrink * (s.points - best);
      return std::pair{points, vmap(at)(points)};
    };
    const auto all = cond(take_first || take_second, replaced, shrunk);
    next = sorted(all.first, all.second, running());
    const Array spread = next.points - next.points[0];
    Array size = f.size(flat(spread[1]), flat(next.points[0]));
    for (Dim i = 2; i <= n; ++i)
      size = maximum(size, f.size(flat(spread[i]), flat(next.points[0])));
    next.code = where(!isfinite(next.values[0]), code(Result::nonfinite),
                      where(size < 1, code(Result::converged), running()));
    return next;
  };
  // A corner 5 % away along each axis.
  const Array start = vector(f.start());
  const Array away = where(start == 0, 0.00025, 0.05 * start);
  const Array corners = concatenate({reshape(start, {1, n}), start + diag(away)});
  const auto loop = while_loop_counted([](const State& s) { return s.code < 0; }, step,
                                       sorted(corners, vmap(at)(corners), running()),
                                       {.max_steps = o.max_steps}, loc);
  const State& s = loop.state;
  return {{layout.leaves(flat(s.points[0])), loop.steps, ended(s.code)}, s.values[0]};
}

}  // namespace gnomon::roots::detail
