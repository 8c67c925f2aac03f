// codegen/ops/binomial.cpp -- the binomial distribution, drawn by waiting times where
// few successes are expected and by rejection elsewhere. Every element runs its own loop.
#include <limits>

#include "codegen/lax/align.h"
#include "codegen/ops/random_draws.h"
#include "codegen/trace/eager.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::random {
namespace {

// A round is repeated with probability below 0.35; more than 127 successes where fewer than 10 are
// expected have odds of 1 to 10^80.
constexpr Dim most_rounds = 64, most_waits = 128;

struct Waiting {
  Key key;
  Array successes, trials;
};
struct Round {
  Key key;
  Array count, accepted;
};

struct BinomialDraw {
  Loc loc;

  Array add(const Array& x, const Array& y) const { return lax::add(x, y, loc); }
  Array sub(const Array& x, const Array& y) const { return lax::sub(x, y, loc); }
  Array mul(const Array& x, const Array& y) const { return lax::mul(x, y, loc); }
  Array div(const Array& x, const Array& y) const { return lax::div(x, y, loc); }
  Array at_least(const Array& x, const Array& y) const { return emit1(ge_p, {}, {x, y}, loc); }
  Array log(const Array& x) const { return lax::unary(log_p, x, loc); }
  Array log1p(const Array& x) const { return lax::unary(log1p_p, x, loc); }
  Array uniform_of(Key key, DType t) const {
    return uniform(std::move(key), {}, {0.0, loc}, {1.0, loc}, t);
  }

  /// Trials up to the next success are geometric; successes are counted until the n trials are
  /// over. `n` below 0 gives -1 at once.
  Array by_waiting(const Key& start, const Array& n, const Array& p) const {
    const DType t = p.dtype();
    const Array failure = log1p(lax::neg(p, loc));
    return while_loop([&](const Waiting& w) -> Array { return at_least(n, w.trials); },
                      [&](Waiting w) {
                        auto keys = split<2>(std::move(w.key), loc);
                        const Array u = uniform_of(std::move(keys[1]), t);
                        const Array wait = lax::unary(ceil_p, div(log(u), failure), loc);
                        return Waiting{std::move(keys[0]), lax::add(w.successes, 1, loc),
                                       add(w.trials, wait)};
                      },
                      Waiting{start.clone(), lax::scalar(t, -1, loc), lax::scalar(t, 0, loc)},
                      {.max_steps = most_waits}, loc)
        .successes;
  }

  /// log(k!) - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2) for whole k >= 0: Stirling's series
  /// in 1 / (k + 1).
  Array stirling_tail(const Array& k) const {
    const Array w = lax::add(k, 1, loc);
    const auto number = [&](double x) { return lax::full_like(k, x, loc); };
    const Array inverse = div(number(1), w), z = mul(inverse, inverse);
    Array sum = number(-1.0 / 1680);
    for (const double c : {1.0 / 1260, -1.0 / 360, 1.0 / 12}) sum = lax::add(mul(sum, z), c, loc);
    const Array first = lax::lt(k, number(0.5), loc);
    return lax::select(first, number(0.081061466795327258), mul(sum, inverse), loc);
  }

  /// Hörmann's transformed rejection with squeeze, p <= 1/2 and n p >= 10.
  Array by_rejection(const Key& start, const Array& n, const Array& p, const Array& done) const {
    const DType t = p.dtype();
    const auto number = [&](double x) { return lax::scalar(t, x, loc); };
    const Array failure = lax::sub_from(1, p, loc), mean = mul(n, p);
    const Array deviation = lax::unary(sqrt_p, mul(mean, failure), loc);
    const Array b = lax::add(lax::mul(deviation, 2.53, loc), 1.15, loc);
    const Array a = add(lax::add(lax::mul(b, 0.0248, loc), -0.0873, loc), lax::mul(p, 0.01, loc));
    const Array centre = lax::add(mean, 0.5, loc);
    const Array v_r = lax::sub_from(0.92, div(number(4.2), b), loc);
    const Array alpha = mul(lax::add(div(number(5.1), b), 2.83, loc), deviation);
    const Array mode = lax::unary(floor_p, mul(lax::add(n, 1, loc), p), loc);
    const Array mode_1 = lax::add(mode, 1, loc), rest_1 = lax::add(sub(n, mode), 1, loc);
    const Array tilt = log(div(mul(p, rest_1), mul(failure, mode_1)));
    const Array mode_tails = add(stirling_tail(mode), stirling_tail(sub(n, mode)));

    // log of the probability of k over that of the mode. Logarithms of factorials by Stirling's
    // series, with the large parts that cancel taken out: only quotients near 1 are left.
    const auto log_ratio = [&](const Array& k) {
      const Array d = sub(k, mode), others = sub(n, k);
      const auto part = [&](const Array& x, const Array& off, const Array& of) {
        return mul(lax::add(x, 0.5, loc), log1p(div(off, of)));
      };
      const Array tails = sub(mode_tails, add(stirling_tail(k), stirling_tail(others)));
      const Array bend = add(part(k, d, mode_1), part(others, lax::neg(d, loc), rest_1));
      return add(sub(mul(d, tilt), bend), tails);
    };
    const auto inside = [&](const Array& k) {
      return lax::logical_and(at_least(k, number(0)), at_least(n, k), loc);
    };
    return while_loop([&](const Round& r) -> Array { return lax::unary(not_p, r.accepted, loc); },
                      [&](Round r) {
                        auto keys = split<3>(std::move(r.key), loc);
                        const Array u = lax::add(uniform_of(std::move(keys[1]), t), -0.5, loc);
                        const Array v = uniform_of(std::move(keys[2]), t);
                        const Array edge = lax::sub_from(0.5, lax::unary(abs_p, u, loc), loc);
                        const Array slope = add(div(lax::mul(a, 2, loc), edge), b);
                        const Array k = lax::unary(floor_p, add(mul(slope, u), centre), loc);
                        const Array hat = add(div(a, mul(edge, edge)), b);
                        const Array height = log(div(mul(v, alpha), hat));
                        const Array within = inside(k);
                        const Array safe = lax::select(within, k, mode, loc);
                        const Array quick =
                            lax::logical_and(at_least(edge, number(0.07)), at_least(v_r, v), loc);
                        const Array below =
                            lax::logical_and(within, at_least(log_ratio(safe), height), loc);
                        return Round{std::move(keys[0]), k, emit1(or_p, {}, {quick, below}, loc)};
                      },
                      Round{start.clone(), number(0), done}, {.max_steps = most_rounds}, loc)
        .count;
  }

  Array operator()(const Key& key, const Array& n, const Array& p) const {
    const auto number = [&](double x) { return lax::full_like(n, x, loc); };
    // Successes are the rarer outcome.
    const Array swapped = lax::lt(number(0.5), p, loc);
    const Array rare = lax::select(swapped, lax::sub_from(1, p, loc), p, loc);
    const Array few = lax::lt(mul(n, rare), number(10), loc);
    const Array waited = by_waiting(key, lax::select(few, n, number(-1), loc), rare);
    const Array rejected = by_rejection(key, lax::select(few, number(100), n, loc),
                                        lax::select(few, number(0.25), rare, loc), few);
    const Array count = lax::select(few, waited, rejected, loc);
    return lax::select(swapped, sub(n, count), count, loc);
  }
};

}  // namespace

Array binomial(Key key, Operand n, Operand p, const Shape& shape, DType dtype) {
  const Loc loc = n.loc();
  constexpr std::string_view op = "random::binomial";
  return at_once(op, loc, [&]() -> Array {
    draws::require_float(op, dtype, loc);
    const Array trials = draws::parameter(op, n, shape, dtype);
    const Array chance = draws::parameter(op, p, shape, dtype);
    const Dim size = trials.size();
    if (size == 0) return trials;
    const auto flat = [&](const Array& x) {
      return lax::reshape(lax::unary(stop_gradient_p, x, loc), {size}, loc);
    };
    const Array zero = lax::zeros_like(trials, loc);
    const auto at_least = [&](const Array& x, const Array& y) {
      return emit1(ge_p, {}, {x, y}, loc);
    };
    const Array finite = lax::unary(isfinite_p, trials, loc);
    const Array possible =
        lax::logical_and(lax::logical_and(finite, at_least(trials, zero), loc),
                         lax::logical_and(at_least(chance, zero),
                                          at_least(lax::full_like(chance, 1, loc), chance), loc),
                         loc);
    const Array whole = lax::unary(floor_p, lax::select(possible, trials, zero, loc), loc);
    const Array likely = lax::select(possible, chance, zero, loc);
    const Array drawn =
        lax::reshape(vmap(BinomialDraw{loc}, {}, loc)(split(std::move(key), size, loc), flat(whole),
                                                      flat(likely)),
                     shape, loc);
    constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
    return lax::select(possible, drawn, lax::full_like(drawn, no_number, loc), loc);
  });
}

}  // namespace gnomon::random
