// engine/library/optim/lbfgs.cpp -- limited-memory BFGS with a zoom line search.
#include <cmath>
#include <string>

#include "engine/library/optim/rules.h"
#include "gnomon/control.h"
#include "gnomon/error.h"
#include "gnomon/optim/optimisers.h"
#include "gnomon/tree_ops.h"

namespace gnomon::optim {
namespace {

/// Loss and directional derivative at a step length, f[] each.
struct Point {
  Array length, value, slope;
};
Point choose(const Array& condition, const Point& a, const Point& b) {
  return {where(condition, a.length, b.length), where(condition, a.value, b.value),
          where(condition, a.slope, b.slope)};
}

/// A step length that meets the strong Wolfe conditions, or, where the decrease is lost in
/// rounding, the approximate ones (W. Hager, H. Zhang, SIAM J. Optim. 16 (2005), equation 4.1).
/// After the last step the best length of sufficient decrease, 0 if there is none.
template <class F>
Array line_search(const F& at, const Point& start, const LbfgsOptions& o) {
  struct Search {
    Point low, high;  // low: sufficient decrease, smallest loss so far; high: the other end
    Array trial, bracketed, done, steps;
  };
  const auto body = [&](const Search& s) {
    const Point p = at(s.trial);
    const Array enough = p.value <= start.value + o.sufficient_decrease * p.length * start.slope;
    const Array rounded = p.value <= start.value + 1e-6 * abs(start.value) &&
                          p.slope <= (2 * o.sufficient_decrease - 1) * start.slope;
    const Array flat = abs(p.slope) <= -o.curvature * start.slope;
    const Array down = enough && (p.value < s.low.value);
    const Array done = isfinite(p.value) && flat && (down || rounded);
    // A minimum lies between p and low, unless p is the new low and descends towards high.
    const Array beyond = down && p.slope * (s.high.length - s.low.length) < 0;
    Search next;
    next.bracketed = s.bracketed || !down || (p.slope >= 0);
    const Array onward = down && !next.bracketed;
    next.low = choose(down || done, p, s.low);
    next.high = choose(!down, p, choose(beyond || onward, s.high, s.low));
    next.done = done;
    next.steps = s.steps + 1;
    // Quadratic interpolation of low's value and slope and high's value, safeguarded.
    const Array width = next.high.length - next.low.length;
    const Array bend = next.high.value - next.low.value - next.low.slope * width;
    const Array part = -0.5 * next.low.slope * width / where(bend > 0, bend, 1);
    const Array usable = isfinite(part) && (bend > 0);
    const Array inside = next.low.length + width * where(usable, gnomon::clip(part, 0.1, 0.9), 0.5);
    next.trial = where(next.bracketed, inside, 2 * p.length);
    return next;
  };
  const auto more = [&](const Search& s) { return !s.done; };
  const Array far = full({}, INFINITY, start.value.dtype());
  const Search first{start,
                     {far, start.value, start.slope},
                     ones_like(start.value),
                     full({}, false),
                     full({}, false),
                     zeros({}, DType::i32)};
  return while_loop(more, body, first, {.max_steps = o.max_line_search_steps}).low.length;
}

class Lbfgs : public Rule {
 public:
  explicit Lbfgs(LbfgsOptions o) : o_(o) {
    if (o.memory < 1 || o.max_line_search_steps < 1)
      usage_error("optim::lbfgs",
                  "a memory of " + std::to_string(o.memory) + " and " +
                      std::to_string(o.max_line_search_steps) +
                      " steps of a line search; both must be 1 or more",
                  {});
  }

  Memory init(const Slots& params, const std::vector<std::string>&) const override {
    const Array flat = tree::ravel(learned(params, params)).flat;
    const Array rows = zeros({o_.memory, flat.size()}, flat.dtype());
    return {{zeros({}, DType::i32), zeros_like(flat), zeros_like(flat), rows, rows,
             zeros({o_.memory}, flat.dtype())},
            {}};
  }

  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    if (!step.value)
      usage_error("optim::lbfgs",
                  "a line search needs the loss: update(grads, state, params, value, loss)", {});
    const auto raveled = tree::ravel(learned(step.params, step.params));
    const Array& x = raveled.flat;
    const DType dtype = x.dtype();
    const Array g = tree::ravel(learned(updates, step.params)).flat;
    if (g.size() != x.size())
      usage_error("optim::lbfgs",
                  "gradients of " + std::to_string(g.size()) + " of " + std::to_string(x.size()) +
                      " numbers; all are needed",
                  {});
    const Array count = memory.arrays.at(0);
    struct Pair {
      Array s, y, scale;  // change of x and of the gradient; 1 / (s y), or 0: no such pair
    };
    const auto push = [](const Array& rows, const Array& row) {
      return concatenate({slice_axis(rows, 0, 1, rows.dim(0)), expand_dims(row, 0)});
    };
    const Array s = x - memory.arrays.at(1), y = g - memory.arrays.at(2);
    const Array product = sum(s * y);
    const Array fits = count > 0 && product > 0;
    const Pair pairs{push(memory.arrays.at(3), s), push(memory.arrays.at(4), y),
                     push(memory.arrays.at(5), where(fits, 1 / where(fits, product, 1), 0))};

    // The two-loop recursion, algorithm 7.4.
    const auto down = [](const Array& q, const Pair& p) {
      const Array a = p.scale * sum(p.s * q);
      return std::pair{q - a * p.y, a};
    };
    const auto [q, weights] = scan(down, g, pairs, {.reverse = true});
    const Array first_scale = minimum(1, 1 / sqrt(sum(square(g))));
    const Array scale = where(fits, product / where(fits, sum(square(y)), 1), first_scale);
    const auto up = [](const Array& r, const std::pair<Pair, Array>& at) {
      const Pair& p = at.first;
      return std::pair{r + p.s * (at.second - p.scale * sum(p.y * r)), none};
    };
    Array direction = -scan(up, scale * q, std::pair{pairs, weights}).first;
    const Array descends = sum(direction * g) < 0;
    direction = where(descends, direction, -g);

    const auto at = [&](const Array& length) {
      const Slots moved = raveled.unravel(x + length * direction);
      const auto [value, slope] = step.value_and_grad(placed(moved, step.params));
      const Array flat = tree::ravel(learned(slope, step.params)).flat;
      return Point{length, cast(value, dtype), sum(flat * direction)};
    };
    const Point start{zeros({}, dtype), cast(*step.value, dtype), sum(g * direction)};
    const Array length = line_search(at, start, o_);
    memory.arrays = {count + 1, x, g, pairs.s, pairs.y, pairs.scale};
    const Slots moves = raveled.unravel(length * direction);
    return placed(moves, Slots(step.params.size(), Array::hole()), step.params);
  }

 private:
  static Slots learned(const Slots& all, const Slots& params) {
    Slots some;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (detail::is_learned(params[i]) && !all[i].is_hole()) some.push_back(all[i]);
    return some;
  }
  static Slots placed(const Slots& some, Slots rest, const Slots& params) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < params.size(); ++i)
      if (detail::is_learned(params[i])) rest[i] = some[next++];
    return rest;
  }
  static Slots placed(const Slots& some, const Slots& params) {
    return placed(some, params, params);
  }
  LbfgsOptions o_;
};

}  // namespace

Optimiser lbfgs(LbfgsOptions o) { return Optimiser(std::make_shared<const Lbfgs>(o)); }

}  // namespace gnomon::optim
