// codegen/ops/rejection.cpp -- distributions drawn by rejection: gamma, what is made of
// gamma draws, and poisson. Every element runs its own loop.
#include <cmath>
#include <limits>

#include "codegen/lax/align.h"
#include "codegen/operations/special.h"
#include "codegen/ops/random_draws.h"
#include "codegen/trace/eager.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/special.h"
#include "gnomon/transform.h"

namespace gnomon::random {
namespace {

// A round is repeated with probability below 0.05, a proposal with probability below 0.01: that
// these bounds are ever reached has odds of 1 to 10^30 and less.
constexpr Dim most_rounds = 64, most_proposals = 16, most_products = 128;

struct Proposal {
  Key key;
  Array x, v;
};

struct Round {
  Key key;
  Array square, v, u;
};

struct GammaDraw {
  bool logarithm;
  Loc loc;

  /// One draw. Splits and decides in JAX's order, so that draws agree.
  Array operator()(const Key& start, const Array& a) const {
    const DType t = a.dtype();
    const auto number = [&](double x) { return lax::scalar(t, x, loc); };
    // Shapes below 1 are drawn as a + 1 and scaled by u^(1/a).
    const Array boosted = lax::lt(a, number(1), loc);
    const Array shape = lax::select(boosted, lax::add(a, 1, loc), a, loc);
    const Array d = lax::add(shape, -1.0 / 3, loc);
    const Array c = lax::div(number(1.0 / 3), lax::unary(sqrt_p, d, loc), loc);

    const auto rejected = [&](const Round& r) -> Array {
      const Array squeezed =
          lax::sub_from(1, lax::mul(lax::mul(r.square, r.square, loc), 0.0331, loc), loc);
      const Array inner = lax::add(lax::sub_from(1, r.v, loc), lax::unary(log_p, r.v, loc), loc);
      const Array bound = lax::add(lax::mul(r.square, 0.5, loc), lax::mul(d, inner, loc), loc);
      const auto at_least = [&](const Array& x, const Array& y) {
        return emit1(ge_p, {}, {x, y}, loc);
      };
      return lax::logical_and(at_least(r.u, squeezed), at_least(lax::unary(log_p, r.u, loc), bound),
                              loc);
    };
    const auto propose = [&](Proposal p) {
      auto keys = split<2>(std::move(p.key), loc);
      const Array x = normal(std::move(keys[1]), {}, t, loc);
      return Proposal{std::move(keys[0]), x, lax::add(lax::mul(x, c, loc), 1, loc)};
    };
    const auto round = [&](Round r) {
      auto keys = split<3>(std::move(r.key), loc);
      const Proposal p = while_loop(
          [&](const Proposal& q) -> Array {
            return emit1(le_p, {}, {q.v, number(0)}, loc);
          },
          propose, Proposal{std::move(keys[1]), number(0), number(-1)},
          {.max_steps = most_proposals}, loc);
      return Round{std::move(keys[0]), lax::mul(p.x, p.x, loc),
                   lax::mul(lax::mul(p.v, p.v, loc), p.v, loc),
                   uniform(std::move(keys[2]), {}, {0.0, loc}, {1.0, loc}, t)};
    };

    auto keys = split<2>(start.clone(), loc);
    // The first state is one that gets rejected.
    const Round last =
        while_loop(rejected, round, Round{std::move(keys[0]), number(0), number(1), number(2)},
                   {.max_steps = most_rounds}, loc);
    const Array root = lax::div(number(1), a, loc);
    if (!logarithm) {
      const Array u =
          lax::sub_from(1, uniform(std::move(keys[1]), {}, {0.0, loc}, {1.0, loc}, t), loc);
      const Array boost = emit1(pow_p, {}, {u, root}, loc);
      return lax::mul(lax::mul(d, last.v, loc), lax::select(boosted, boost, number(1), loc), loc);
    }
    const Array log_u = lax::neg(exponential(std::move(keys[1]), {}, t, loc), loc);
    const Array zero = number(0);
    const Array boost = lax::select(lax::logical_and(boosted, lax::lt(log_u, zero, loc), loc),
                                    lax::mul(log_u, root, loc), zero, loc);
    return lax::add(lax::add(lax::unary(log_p, d, loc), lax::unary(log_p, last.v, loc), loc), boost,
                    loc);
  }
};

struct PoissonState {
  Key key;
  Array count, log_product;
};
struct PoissonRound {
  Key key;
  Array count, accepted;
};

/// One draw at `position` of an array of `size`, all of which share the chain of keys.
struct PoissonDraw {
  const Key& start;
  Dim size;
  Loc loc;

  Array operator()(const Array& position, const Array& rate) const {
    const DType t = rate.dtype();
    const auto number = [&](double x) { return lax::scalar(t, x, loc); };
    const Array few = lax::unary(not_p, emit1(ge_p, {}, {rate, number(10)}, loc), loc);
    const Array small = lax::select(few, rate, number(0), loc);
    const Array large = lax::select(few, number(1e5), rate, loc);
    const auto uniform_here = [&](const Key& key) {
      return draws::uniform_at(key, position, size, t, loc);
    };

    // Products of uniform numbers until they fall below exp(-rate).
    const Array end = lax::neg(small, loc);
    const PoissonState product = while_loop(
        [&](const PoissonState& s) -> Array { return lax::lt(end, s.log_product, loc); },
        [&](PoissonState s) {
          auto keys = split<2>(std::move(s.key), loc);
          const Array log_u = lax::unary(log_p, uniform_here(keys[1]), loc);
          return PoissonState{std::move(keys[0]), lax::add(s.count, 1, loc),
                              lax::add(s.log_product, log_u, loc)};
        },
        PoissonState{start.clone(), number(-1), number(0)}, {.max_steps = most_products}, loc);

    // Hörmann's constants.
    const Array b = lax::add(lax::mul(lax::unary(sqrt_p, large, loc), 2.53, loc), 0.931, loc);
    const Array a = lax::add(lax::mul(b, 0.02483, loc), -0.059, loc);
    const Array inverse_alpha =
        lax::add(lax::div(number(1.1328), lax::add(b, -3.4, loc), loc), 1.1239, loc);
    const Array v_r =
        lax::sub_from(0.9277, lax::div(number(3.6224), lax::add(b, -2, loc), loc), loc);
    const Array log_rate = lax::unary(log_p, large, loc);
    const PoissonRound rejection = while_loop(
        [&](const PoissonRound& r) -> Array { return lax::unary(not_p, r.accepted, loc); },
        [&](PoissonRound r) {
          auto keys = split<3>(std::move(r.key), loc);
          const Array u = lax::add(uniform_here(keys[1]), -0.5, loc), v = uniform_here(keys[2]);
          const Array edge = lax::sub_from(0.5, lax::unary(abs_p, u, loc), loc);
          const Array slope = lax::add(lax::div(lax::mul(a, 2, loc), edge, loc), b, loc);
          const Array k = lax::unary(
              floor_p, lax::add(lax::add(lax::mul(slope, u, loc), large, loc), 0.43, loc), loc);
          const Array hat = lax::add(lax::div(a, lax::mul(edge, edge, loc), loc), b, loc);
          const Array s =
              lax::unary(log_p, lax::div(lax::mul(v, inverse_alpha, loc), hat, loc), loc);
          const Array log_k = lgamma({lax::add(k, 1, loc), loc});
          const Array limit =
              lax::sub(lax::sub(lax::mul(k, log_rate, loc), large, loc), log_k, loc);
          const auto at_least = [&](const Array& x, const Array& y) {
            return emit1(ge_p, {}, {x, y}, loc);
          };
          const auto either = [&](const Array& x, const Array& y) {
            return emit1(or_p, {}, {x, y}, loc);
          };
          const Array quick = lax::logical_and(at_least(edge, number(0.07)), at_least(v_r, v), loc);
          const Array outside = either(
              lax::lt(k, number(0), loc),
              lax::logical_and(lax::lt(edge, number(0.013), loc), lax::lt(edge, v, loc), loc));
          const Array below =
              lax::logical_and(lax::unary(not_p, outside, loc), at_least(limit, s), loc);
          return PoissonRound{std::move(keys[0]), k, either(quick, below)};
        },
        PoissonRound{start.clone(), number(-1), few}, {.max_steps = most_rounds}, loc);
    const Array count = lax::select(few, product.count, rejection.count, loc);
    // Nothing was drawn where nothing is expected.
    return draws::counted(emit1(max_p, {}, {count, number(0)}, loc), loc);
  }
};

Array gamma_draws(std::string_view op, Key key, const Operand& a, const Shape& shape, DType dtype,
                  bool logarithm) {
  const Loc loc = a.loc();
  return at_once(op, loc, [&]() -> Array {
    draws::require_float(op, dtype, loc);
    const Array full = draws::parameter(op, a, shape, dtype);
    if (full.size() == 0) return full;
    const Array alphas = lax::reshape(lax::unary(stop_gradient_p, full, loc), {full.size()}, loc);
    const Keys keys = split(std::move(key), full.size(), loc);
    const Array drawn =
        lax::reshape(vmap(GammaDraw{logarithm, loc}, {}, loc)(keys, alphas), shape, loc);
    return emit1(logarithm ? loggamma_draw_p : gamma_draw_p, {}, {drawn, full}, loc);
  });
}

}  // namespace

Array gamma(Key key, Operand a, const Shape& shape, DType dtype) {
  return gamma_draws("random::gamma", std::move(key), a, shape, dtype, false);
}
Array loggamma(Key key, Operand a, const Shape& shape, DType dtype) {
  return gamma_draws("random::loggamma", std::move(key), a, shape, dtype, true);
}

Array poisson(Key key, Operand rate, const Shape& shape) {
  const Loc loc = rate.loc();
  constexpr std::string_view op = "random::poisson";
  return at_once(op, loc, [&]() -> Array {
    const Array rates = align::broadcast(op, align::as_float(op, rate), shape, loc);
    if (rates.size() == 0) return lax::full({DType::i32, shape}, 0, loc);
    const Shape flat{rates.size()};
    const Array positions = lax::iota(DType::u32, flat, 0, loc);
    const Array expected = lax::reshape(lax::unary(stop_gradient_p, rates, loc), flat, loc);
    const PoissonDraw draw{key, rates.size(), loc};
    return lax::reshape(vmap(draw, {}, loc)(positions, expected), shape, loc);
  });
}

Array beta(Key key, Operand a, Operand b, const Shape& shape, DType dtype) {
  const Loc loc = a.loc();
  return at_once("random::beta", loc, [&]() -> Array {
    auto keys = split<2>(std::move(key), loc);
    const Array x = gamma_draws("random::beta", std::move(keys[0]), a, shape, dtype, true);
    const Array y = gamma_draws("random::beta", std::move(keys[1]), b, shape, dtype, true);
    const Array top = emit1(max_p, {}, {x, y}, loc);
    const Array ex = lax::unary(exp_p, lax::sub(x, top, loc), loc);
    const Array ey = lax::unary(exp_p, lax::sub(y, top, loc), loc);
    return lax::div(ex, lax::add(ex, ey, loc), loc);
  });
}

Array dirichlet(Key key, Operand alpha, const Shape& shape, DType dtype) {
  const Loc loc = alpha.loc();
  return at_once("random::dirichlet", loc, [&]() -> Array {
    const Array a = align::as_array("random::dirichlet", alpha);
    if (a.rank() == 0)
      usage_error("random::dirichlet", "alpha is a vector of weights, got " + to_string(a.aval()),
                  loc);
    const Shape drawn = shape.with_inserted(shape.rank(), a.dim(-1));
    const Array x = gamma_draws("random::dirichlet", std::move(key), {a, loc}, drawn, dtype, true);
    return softmax({x, loc}, -1);
  });
}

Array chisquare(Key key, Operand df, const Shape& shape, DType dtype) {
  const Loc loc = df.loc();
  constexpr std::string_view op = "random::chisquare";
  return at_once(op, loc, [&]() -> Array {
    const Array half = lax::mul(draws::parameter(op, df, shape, dtype), 0.5, loc);
    const Array x = gamma_draws(op, std::move(key), {half, loc}, shape, dtype, true);
    return lax::mul(lax::unary(exp_p, x, loc), 2, loc);
  });
}

Array student_t(Key key, Operand df, const Shape& shape, DType dtype) {
  const Loc loc = df.loc();
  constexpr std::string_view op = "random::student_t";
  return at_once(op, loc, [&]() -> Array {
    const Array half = lax::mul(draws::parameter(op, df, shape, dtype), 0.5, loc);
    auto keys = split<2>(std::move(key), loc);
    const Array z = normal(std::move(keys[0]), shape, dtype, loc);
    const Array g = gamma_draws(op, std::move(keys[1]), {half, loc}, shape, dtype, false);
    return lax::mul(z, lax::unary(sqrt_p, lax::div(half, g, loc), loc), loc);
  });
}

Array fisher_f(Key key, Operand dfnum, Operand dfden, const Shape& shape, DType dtype) {
  const Loc loc = dfnum.loc();
  constexpr std::string_view op = "random::fisher_f";
  return at_once(op, loc, [&]() -> Array {
    auto keys = split<2>(std::move(key), loc);
    const auto mean_square = [&](Key k, const Operand& df) {
      return lax::div(chisquare(std::move(k), df, shape, dtype),
                      draws::parameter(op, df, shape, dtype), loc);
    };
    const Array above = mean_square(std::move(keys[0]), dfnum);
    return lax::div(above, mean_square(std::move(keys[1]), dfden), loc);
  });
}

Array generalized_normal(Key key, double p, const Shape& shape, DType dtype, Loc loc) {
  if (!(p > 0))
    usage_error("random::generalized_normal", "p = " + std::to_string(p) + " is not positive", loc);
  auto keys = split<2>(std::move(key), loc);
  const Array g = gamma(std::move(keys[0]), {1 / p, loc}, shape, dtype);
  const Array sign = rademacher(std::move(keys[1]), shape, dtype, loc);
  return lax::mul(sign, emit1(pow_p, {}, {g, lax::full_like(g, 1 / p, loc)}, loc), loc);
}

Array ball(Key key, Dim dimension, double p, const Shape& shape, DType dtype, Loc loc) {
  if (dimension < 1)
    usage_error("random::ball", "in " + std::to_string(dimension) + " dimensions", loc);
  auto keys = split<2>(std::move(key), loc);
  const Shape drawn = shape.with_inserted(shape.rank(), dimension);
  const Array g = generalized_normal(std::move(keys[0]), p, drawn, dtype, loc);
  const Array e = exponential(std::move(keys[1]), shape, dtype, loc);
  const Array size = lax::unary(abs_p, g, loc);
  const Array powers = emit1(pow_p, {}, {size, lax::full_like(size, p, loc)}, loc);
  const Array total = lax::add(lax::sum(powers, {shape.rank()}, loc), e, loc);
  const Array radius = emit1(pow_p, {}, {total, lax::full_like(total, 1 / p, loc)}, loc);
  return lax::div(g, lax::insert_axis(radius, shape.rank(), dimension, loc), loc);
}

}  // namespace gnomon::random
