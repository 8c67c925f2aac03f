// tests/codegen/checkpoint_test.cpp -- checkpointed loops: which steps they take again in which
// order, what their derivatives are, and what the kinds of loops refuse.
#include <algorithm>

#include "codegen/operations/table.h"
#include "codegen/primitives/control/reverse_steps.h"
#include "codegen/primitives/families.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/checkpoint_model.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using gnomon::testing::CheckpointModel;
using ::testing::HasSubstr;
using Steps = std::vector<int>;

constexpr LoopKind checkpointed = LoopKind::checkpointed;

Steps steps_of(const std::vector<CheckpointModel::Visit>& visits) {
  Steps r;
  for (const auto& v : visits) r.push_back(v.step);
  return r;
}

struct Order {
  int checkpoints, steps;
  Steps want;
};
/// The published orders of equinox's checkpointed while loop.
const std::vector<Order> orders{
    {1, 3, {0, 1, 2, 0, 1, 0}},
    {2, 8, {7, 0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 3, 4, 3, 0, 1, 2, 1, 0}},
    {3, 11, {10, 4, 5, 6, 7, 8, 9, 7, 8, 7, 4, 5, 6, 5, 4, 0, 1, 2, 3, 2, 1, 0}},
    {9, 5, {4, 3, 2, 1, 0}},
    {4, 6, {5, 2, 3, 4, 3, 2, 1, 0}},
    {4, 10, {9, 6, 7, 8, 7, 6, 5, 0, 1, 2, 3, 4, 3, 2, 1, 0}}};

TEST(CheckpointModel, KeepsTheGoldenOrders) {
  for (const Order& o : orders) {
    EXPECT_EQ(steps_of(CheckpointModel{o.checkpoints}.backward(o.steps)), o.want);
    EXPECT_EQ(steps_of(CheckpointModel{o.checkpoints, o.steps}.backward(o.steps)), o.want);
  }
}

TEST(CheckpointModel, GoesBackOverEveryStepOnce) {
  for (int c = 1; c < 9; ++c)
    for (int n = 0; n < 120; ++n) {
      Steps back;
      for (const auto& v : CheckpointModel{c}.backward(n))
        if (v.back) back.push_back(v.step);
      ASSERT_EQ(static_cast<int>(back.size()), n);
      for (int i = 0; i < n; ++i) ASSERT_EQ(back[static_cast<std::size_t>(i)], n - 1 - i);
    }
}

TEST(Checkpoints, AreAsManyAsNoStepNeedsMoreThanTwice) {
  const std::vector<std::pair<Dim, Dim>> table{
      {0, 1},       {1, 1},       {2, 1},       {3, 2},        {5, 2},         {8, 3},
      {10, 4},      {16, 5},      {32, 7},      {50, 9},       {64, 10},       {100, 13},
      {128, 15},    {256, 22},    {500, 31},    {1000, 44},    {2048, 63},     {4096, 90},
      {10000, 140}, {16384, 180}, {65536, 361}, {100000, 446}, {1000000, 1413}};
  for (const auto& [n, c] : table) EXPECT_EQ(default_checkpoints(n), c) << n;
  EXPECT_EQ(
      steps_of(CheckpointModel{static_cast<int>(default_checkpoints(10000)), 10000}.backward(10000))
          .size(),
      19860u);
}

// ---- the order in which a loop's steps are taken, as the reference meets them

Steps seen;

/// Its first operand; the reference writes the second down.
const Primitive seen_p{
    .name = "seen",
    .parse = no_params,
    .shape = [](const Params&, std::span<const Aval> in, Loc) { return std::vector<Aval>{in[0]}; },
    .jvp = [](const Params&, const Arrays&, const Arrays&, const Tangents& d) -> Tangents {
      return {d[0]};
    },
    .transpose = rules::not_linear<seen_p>,
    .batch = [](const Params&, const Arrays& x, const BatchAxes& axes, Dim) -> Batched {
      return {emit(seen_p, {}, x, {}), {axes[0]}};
    },
    .lower = Lowering::expanded(
        [](const Params&, const Arrays& x, const Target&, Loc) { return Arrays{x[0]}; }),
    .reference =
        [](const Params&, std::span<const Aval>, std::span<const HostArray> in) {
          seen.push_back(static_cast<int>(in[1].number(0)));
          return std::vector<HostArray>{in[0]};
        },
};

struct Counted {
  Array i, x;
};

/// Steps of the forward and of the backward pass of a loop of `steps` steps.
std::pair<Steps, Steps> steps_taken(int steps, WhileOptions options) {
  const auto f = [&](const Array& x, const Array& n) {
    return while_loop([&](const Counted& s) { return s.i < n; },
                      [](Counted s) {
                        // The derivative looks at what was seen: no step is left out. Of two
                        // numbers, since a single one is kept where that is cheaper.
                        const Array y = emit1(seen_p, {}, {s.x, s.i}, {});
                        return Counted{s.i + 1, sin(y) * 1.01f};
                      },
                      Counted{full({}, 0, DType::i32), stack(std::vector<Array>{x, x})}, options)
        .x[0];
  };
  const Graph g =
      graph_of([&](const Array& x, const Array& n) { return grad(f)(x, n); }, f32(0.4), i32(steps));
  seen.clear();
  const double got = evaluate(simplify(g), {f32(0.4), i32(steps)})[0].number(0);
  const Steps all = seen;
  double x = 0.4, slope = 1;
  for (int i = 0; i < steps; ++i) {
    slope *= std::cos(x) * 1.01;
    x = std::sin(x) * 1.01;
  }
  EXPECT_NEAR(got, slope, 1e-4 * std::max(1.0, std::fabs(slope)));
  const auto middle = all.begin() + std::min<std::ptrdiff_t>(steps, std::ssize(all));
  return {Steps(all.begin(), middle), Steps(middle, all.end())};
}

Steps first(int n) {
  Steps r(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) r[static_cast<std::size_t>(i)] = i;
  return r;
}

TEST(Checkpointed, TakesStepsInTheGoldenOrders) {
  for (const Order& o : orders)
    for (const StepBound bound : {StepBound(o.steps), StepBound(unbounded)}) {
      const auto [forward, backward] = steps_taken(
          o.steps, {.max_steps = bound, .kind = checkpointed, .checkpoints = o.checkpoints});
      EXPECT_EQ(forward, first(o.steps));
      EXPECT_EQ(backward, o.want) << o.checkpoints << " checkpoints, " << o.steps << " steps";
    }
}

TEST(Checkpointed, TakesStepsAsTheModelDoes) {
  for (const int c : {1, 2, 3, 5, 8})
    for (const int n : {0, 1, 2, 3, 4, 5, 9, 14, 15, 20, 33, 46, 100}) {
      const auto [forward, backward] =
          steps_taken(n, {.max_steps = unbounded, .kind = checkpointed, .checkpoints = c});
      EXPECT_EQ(forward, first(n));
      EXPECT_EQ(backward, steps_of(CheckpointModel{c}.backward(n))) << c << " " << n;
      // A bound that is not reached.
      const auto bounded =
          steps_taken(n, {.max_steps = n + 7, .kind = checkpointed, .checkpoints = c});
      EXPECT_EQ(bounded.second, steps_of(CheckpointModel{c, n + 7}.backward(n))) << c << " " << n;
    }
}

TEST(Checkpointed, TakesStepsAsTheModelDoesLongAfterTheFirstSchedule) {
  // Whose 14, 35 and 90 steps are over several times, until levels have risen to three and four.
  for (const int c : {4, 7, 12})
    for (const int n : {200, 701}) {
      const auto found =
          steps_taken(n, {.max_steps = unbounded, .kind = checkpointed, .checkpoints = c});
      EXPECT_EQ(found.second, steps_of(CheckpointModel{c}.backward(n))) << c << " " << n;
    }
}

TEST(Checkpointed, TakesStepsAsTheModelDoesWhereSearchesAreLong) {
  // More steps than one search takes at once.
  for (const int c : {1, 2, 80})
    for (const StepBound bound : {StepBound(300), StepBound(unbounded)}) {
      const int n = 290;
      const auto found =
          steps_taken(n, {.max_steps = bound, .kind = checkpointed, .checkpoints = c});
      EXPECT_EQ(found.second, steps_of(CheckpointModel{c}.backward(n))) << c;
    }
}

TEST(Checkpointed, TakesTenThousandStepsTwiceAtMost) {
  const auto [forward, backward] = steps_taken(10000, {.max_steps = 10000, .kind = checkpointed});
  EXPECT_EQ(forward, first(10000));
  EXPECT_EQ(backward.size(), 19860u);
}

TEST(Checkpointed, KindsDifferInStepsTakenAgain) {
  const auto again = [](int n, LoopKind kind) {
    return steps_taken(n, {.max_steps = n, .kind = kind}).second.size();
  };
  EXPECT_EQ(again(64, LoopKind::automatic), 64u);
  EXPECT_EQ(again(200, LoopKind::stored), 200u);
  EXPECT_EQ(again(200, LoopKind::automatic), 400u);
  EXPECT_EQ(again(16, LoopKind::bounded), 16u);
  EXPECT_EQ(again(256, LoopKind::bounded), 512u);
  const auto every =
      steps_taken(40, {.max_steps = 40, .kind = checkpointed, .checkpoints = every_step});
  EXPECT_EQ(every.second.size(), 40u);
}

// ---- derivatives

const std::vector<WhileOptions> kinds(Dim n) {
  return {{.max_steps = n},
          {.max_steps = n, .kind = LoopKind::stored},
          {.max_steps = n, .kind = LoopKind::bounded},
          {.max_steps = n, .kind = checkpointed},
          {.max_steps = n, .kind = checkpointed, .checkpoints = 3},
          {.max_steps = unbounded, .kind = checkpointed, .checkpoints = 4},
          {.max_steps = n, .kind = checkpointed, .checkpoints = every_step}};
}

struct Moving {
  Array i, x, v;
};
/// A pendulum pushed by p[2], as long as it has taken fewer than n steps.
Array swing(const Array& p, const Array& n, const WhileOptions& options) {
  const Moving end = while_loop([&](const Moving& s) { return s.i < n; },
                                [&](Moving s) {
                                  const Array v = s.v - 0.1f * sin(s.x) + 0.01f * p[2];
                                  return Moving{s.i + 1, s.x + 0.1f * v, v};
                                },
                                Moving{full({}, 0, DType::i32), p[0], p[1]}, options);
  return end.x * end.x + end.v;
}
const HostArray start = f32({0.7, -0.4, 0.9});

TEST(Checkpointed, EveryKindGivesTheGradientOfForwardMode) {
  for (const WhileOptions& options : kinds(100))
    for (const int n : {0, 1, 37, 100}) {
      const auto f = [&](const Array& p, const Array& steps) { return swing(p, steps, options); };
      const auto back = [&](const Array& p, const Array& steps) { return grad(f)(p, steps); };
      const auto forward = [&](const Array& p, const Array& steps) {
        return vmap([&](const Array& d) {
          return jvp([&](const Array& q) { return f(q, steps); }, p, d).second;
        })(eye(3));
      };
      expect_near(run(back, start, i32(n)), run(forward, start, i32(n)));
    }
}

TEST(Checkpointed, HessiansOfEveryKindAreTheClosedForm) {
  // x^(2^5) and p x^31 ... : f(p, x) = x_5, x' = x^2 p; x_5 = x^32 p^31.
  const double x = 1.02, p = 0.97;
  const Numbers want{
      32 * 31 * std::pow(x, 30) * std::pow(p, 31), 32 * 31 * std::pow(x, 31) * std::pow(p, 30),
      32 * 31 * std::pow(x, 31) * std::pow(p, 30), 31 * 30 * std::pow(x, 32) * std::pow(p, 29)};
  for (const WhileOptions& options : kinds(5)) {
    const auto f = [&](const Array& at) {
      return while_loop([](const Counted& s) { return s.i < 5; },
                        [&](Counted s) {
                          return Counted{s.i + 1, s.x * s.x * at[1]};
                        },
                        Counted{full({}, 0, DType::i32), at[0]}, options)
          .x;
    };
    const auto back_over_back = [&](const Array& at) {
      return vmap([&](const Array& d) {
        return grad([&](const Array& q) { return sum(grad(f)(q) * d); })(at);
      })(eye(2));
    };
    const auto forward_over_back = [&](const Array& at) {
      return vmap([&](const Array& d) { return jvp(grad(f), at, d).second; })(eye(2));
    };
    const HostArray at = f32({x, p});
    expect_near(run(forward_over_back, at), want);
    expect_near(run(back_over_back, at), want);
  }
}

TEST(Checkpointed, GradientsOfGradientsOfLongerLoops) {
  for (const WhileOptions& options : kinds(60)) {
    const auto slope = [&](const Array& p, const Array& n) {
      const auto f = [&](const Array& q) { return swing(q, n, options); };
      return sum(grad(f)(p) * sin(arange(3) + 1.0f));
    };
    const auto back = [&](const Array& p, const Array& n) { return grad(slope)(p, n); };
    const auto forward = [&](const Array& p, const Array& n) {
      return vmap([&](const Array& d) {
        return jvp([&](const Array& q) { return slope(q, n); }, p, d).second;
      })(eye(3));
    };
    expect_near(run(back, start, i32(41)), run(forward, start, i32(41)));
  }
}

TEST(Checkpointed, ScansOfAnyDirectionAndLength) {
  const auto f = [](const Array& x, const ScanOptions& options) {
    const auto [end, rows] = scan(
        [&](Array c, const Array& s) {
          const Array next = c + 0.1f * sin(c * s + x[1]);
          return std::pair{next, next * next};
        },
        x[0], sin(arange(50) * 0.3f) * x[3], options);
    return end + mean(rows * x[2]) + rows.at(7).get();
  };
  const HostArray x = f32({0.3, -0.8, 1.1, 0.5});
  for (const bool reverse : {false, true}) {
    const auto gradient = [&](LoopKind kind, Checkpoints c) {
      return run(
          [&](const Array& v) {
            return grad([&](const Array& u) {
              return f(u, {.reverse = reverse, .kind = kind, .checkpoints = c});
            })(v);
          },
          x);
    };
    const Numbers want = gradient(LoopKind::stored, {});
    for (const Checkpoints c : {Checkpoints(), Checkpoints(1), Checkpoints(3), Checkpoints(49),
                                Checkpoints(50), Checkpoints(every_step)})
      expect_near(gradient(checkpointed, c), want, 1e-5);
    expect_near(gradient(LoopKind::bounded, {}), want, 1e-5);
  }
  const auto dynamic = [](const Array& v, const Array& n) {
    return grad([&](const Array& u) {
      const auto r = scan(
          [&](Array c, const Array& s) {
            return std::pair{c + sin(c * s), c * u[1]};
          },
          u[0], arange(20) * u[2], {.length = n, .kind = checkpointed, .checkpoints = 3});
      return r.carry + sum(r.rows);
    })(v);
  };
  const auto fixed = [](const Array& v) {
    return grad([&](const Array& u) {
      const auto [end, rows] = scan(
          [&](Array c, const Array& s) {
            return std::pair{c + sin(c * s), c * u[1]};
          },
          u[0], (arange(20) * u[2]).at(Slice{{}, 11}).get());
      return end + sum(rows);
    })(v);
  };
  expect_near(run(dynamic, x, i32(11)), run(fixed, x));
}

TEST(Checkpointed, LanesGoBackOnTheirOwn) {
  for (const WhileOptions& options : kinds(40)) {
    const auto one = [&](const Array& v) {
      return while_loop([](const Array& u) { return u < 5; },
                        [&](Array u) { return u + v * v * 0.05f + 0.1f + 0.05f * sin(u); }, v * v,
                        options);
    };
    const auto outside = [&](const Array& x) {
      return grad([&](const Array& v) { return sum(vmap(one)(v)); })(x);
    };
    const auto inside = [&](const Array& x) { return vmap(grad(one))(x); };
    const auto forward = [&](const Array& x) {
      return vmap([&](const Array& u) { return jvp(one, u, ones({})).second; })(x);
    };
    const HostArray x = f32({1.9, 1.2, 3.0, 2.5, -2.0});
    const Numbers want = run(forward, x);
    expect_near(run(inside, x), want);
    expect_near(run(outside, x), want);
    // A constant that all lanes share.
    const auto shared = [&](const Array& x0) {
      return sum(vmap([&](const Array& v) {
        return while_loop([](const Array& u) { return u < 2; },
                          [&](Array u) { return u * (1 + x0[3] * x0[3]) + 0.2f; }, v, options);
      })(x0));
    };
    const HostArray y = f32({0.3, 0.8, 2.1, 0.5});
    expect_near(run([&](const Array& v) { return grad(shared)(v); }, y),
                run(
                    [&](const Array& v) {
                      return vmap([&](const Array& d) { return jvp(shared, v, d).second; })(eye(4));
                    },
                    y));
  }
}

TEST(Checkpointed, CompiledItMeansTheSame) {
  using namespace gnomon::testing;
  for (const int c : {1, 3, 30})
    expect_function_lowers(
        [c](const Array& x) {
          return grad([&](const Array& v) {
            return sum(while_loop([](const Array& u) { return sum(u * u) < 20; },
                                  [&](Array u) { return u * 1.1f + sin(v) * v[0]; }, v,
                                  {.max_steps = 30, .kind = checkpointed, .checkpoints = c}));
          })(x);
        },
        gnomon::testing::f32({4}));
  const auto one = [](const Array& u) {
    return while_loop([](const Array& w) { return w < 5; },
                      [&](Array w) { return w * 1.2f + u * u; }, u,
                      {.max_steps = 20, .kind = checkpointed, .checkpoints = 3});
  };
  expect_function_lowers([&](const Array& x) { return vmap(grad(one))(x); },
                         gnomon::testing::f32({37}));
  expect_function_lowers(
      [&](const Array& x) { return grad([&](const Array& v) { return sum(vmap(one)(v)); })(x); },
      gnomon::testing::f32({37}));
  expect_function_lowers(
      [](const Array& w, const Array& x) {
        return grad([&](const Array& m) {
          return sum(fori_loop(0, 7, [&](const Array&, Array c) { return tanh(matmul(m, c)); }, x,
                               {.kind = checkpointed, .checkpoints = 2}));
        })(w);
      },
      gnomon::testing::f32({9, 9}), gnomon::testing::f32({9}));
}

// ---- errors

TEST(LoopKinds, RefuseWhatTheyCannotKeep) {
  const auto loop = [](const WhileOptions& options) {
    return usage_error_of(
        [&](const Array& x) {
          return grad([&](const Array& v) {
            return while_loop([](const Array& u) { return u < 10; }, [](Array u) { return u * u; },
                              v, options);
          })(x);
        },
        f32(2.0));
  };
  const std::string lax = loop({.max_steps = 5, .kind = LoopKind::lax});
  EXPECT_THAT(lax, HasSubstr("this while_loop is of kind `lax`, which has no reverse mode"));
  EXPECT_THAT(lax, HasSubstr("or use jvp"));
  EXPECT_THAT(lax, HasSubstr("(checkpoint_test.cpp:"));
  EXPECT_THAT(loop({.max_steps = unbounded, .kind = checkpointed}),
              HasSubstr("has neither a bound nor a number of checkpoints"));
  EXPECT_THAT(loop({.max_steps = unbounded, .kind = checkpointed, .checkpoints = every_step}),
              HasSubstr("has neither a bound nor a number of checkpoints"));
  EXPECT_THAT(loop({.max_steps = 7, .kind = checkpointed, .checkpoints = 0}),
              HasSubstr("`checkpoints` is 0 and must be at least 1"));
  EXPECT_THAT(loop({.max_steps = 7, .checkpoints = 2}),
              HasSubstr("a loop of kind `automatic` takes no `checkpoints`"));
  EXPECT_THAT(loop({.max_steps = unbounded, .kind = LoopKind::bounded}),
              HasSubstr("a loop of kind `bounded` needs a bound"));
  EXPECT_THAT(loop({.max_steps = unbounded, .kind = LoopKind::stored}),
              HasSubstr("a loop of kind `stored` needs a bound"));
  EXPECT_THAT(loop({.max_steps = unbounded}), HasSubstr("give it {.max_steps = n}, or use jvp"));
  EXPECT_EQ(loop({.max_steps = 7, .kind = checkpointed}), "");
}

TEST(LoopKinds, LaxLoopsHaveValuesAndForwardMode) {
  const auto f = [](const Array& x) {
    return fori_loop(0, 3, [](const Array&, Array c) { return c * c; }, x, {.kind = LoopKind::lax});
  };
  EXPECT_EQ(run([&](const Array& x) { return jvp(f, x, ones({})).second; }, f32(1)), Numbers{8});
  EXPECT_THAT(usage_error_of([&](const Array& x) { return grad(f)(x); }, f32(1)),
              HasSubstr("this scan or fori_loop is of kind `lax`"));
  // One that the result does not depend on is no hindrance.
  const auto behind = [&](const Array& x) {
    return grad([&](const Array& v) { return v * stop_gradient(f(v)); })(x);
  };
  EXPECT_EQ(run(behind, f32(1)), Numbers{1});
}

}  // namespace
}  // namespace gnomon::test
