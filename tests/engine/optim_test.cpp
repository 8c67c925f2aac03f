// tests/engine/optim_test.cpp -- optimisers and schedules on the host reference, against plain
// loops over numbers.
#include "gnomon/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gnomon/indexing.h"
#include "gnomon/random.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using optim::Optimiser;
using test::Numbers;
using ::testing::HasSubstr;

/// Two arrays to learn, with one between that is not of floats.
struct Model {
  Array a, steps, b;
};
constexpr int a_size = 3, b_size = 2, steps = 6;
const Numbers first_a{0.5, -1.25, 2.0}, first_b{-0.75, 0.3};

double gradient(int step, int i) { return std::sin(1.7 * step + 0.9 * i * i) + 0.2 * i; }

Array constants(const Numbers& values, DType dtype) {
  std::vector<Array> all;
  for (double x : values) all.push_back(full({}, x, dtype));
  return stack(all);
}

/// The numbers of a and b after some steps with the gradients above.
Numbers learned(const Optimiser& opt, DType dtype) {
  const auto all = [&](const Array& zero) {
    Model m{constants(first_a, dtype) + zero, zeros({4}, DType::i32), constants(first_b, dtype)};
    auto state = opt.init(m);
    for (int t = 0; t < steps; ++t) {
      Numbers a, b;
      for (int i = 0; i < a_size; ++i) a.push_back(gradient(t, i));
      for (int i = 0; i < b_size; ++i) b.push_back(gradient(t, a_size + i));
      const Model g{constants(a, dtype), Array::hole(), constants(b, dtype)};
      auto [updates, next] = opt.update(g, state, m);
      m = optim::apply_updates(m, updates);
      state = std::move(next);
    }
    return concatenate({m.a, m.b});
  };
  return test::run(all, test::host(dtype, {}, {0}));
}

/// One number: its gradient, itself, what is remembered of it, the step from 1: its update before
/// the learning rate.
using Formula = double (*)(double g, double p, double* m, int t);
constexpr double rate = 0.1;
Numbers looped(Formula f, double initial = 0, double at_rate = rate) {
  Numbers p = first_a;
  p.insert(p.end(), first_b.begin(), first_b.end());
  for (std::size_t i = 0; i < p.size(); ++i) {
    double memory[3] = {initial, 0, 0};
    for (int t = 0; t < steps; ++t) p[i] -= at_rate * f(gradient(t, int(i)), p[i], memory, t + 1);
  }
  return p;
}

struct Case {
  const char* name;
  Optimiser opt;
  Formula formula;
  double initial = 0;
};

std::vector<Case> cases() {
  return {
      {"sgd", optim::sgd(rate), [](double g, double, double*, int) { return g; }},
      {"sgd with momentum", optim::sgd(rate, {.momentum = 0.8}),
       [](double g, double, double* m, int) { return m[0] = g + 0.8 * m[0]; }},
      {"sgd with Nesterov's", optim::sgd(rate, {.momentum = 0.8, .nesterov = true}),
       [](double g, double, double* m, int) { return g + 0.8 * (m[0] = g + 0.8 * m[0]); }},
      {"adam", optim::adam(rate, {.b1 = 0.7, .b2 = 0.95}),
       [](double g, double, double* m, int t) {
         m[0] = 0.7 * m[0] + 0.3 * g;
         m[1] = 0.95 * m[1] + 0.05 * g * g;
         return m[0] / (1 - std::pow(0.7, t)) / (std::sqrt(m[1] / (1 - std::pow(0.95, t))) + 1e-8);
       }},
      {"nadam", optim::nadam(rate, {.b1 = 0.7, .b2 = 0.95}),
       [](double g, double, double* m, int t) {
         m[0] = 0.7 * m[0] + 0.3 * g;
         m[1] = 0.95 * m[1] + 0.05 * g * g;
         const double mean =
             0.7 * m[0] / (1 - std::pow(0.7, t + 1)) + 0.3 * g / (1 - std::pow(0.7, t));
         return mean / (std::sqrt(m[1] / (1 - std::pow(0.95, t))) + 1e-8);
       }},
      {"adamax", optim::adamax(rate, {.b1 = 0.7, .b2 = 0.95}),
       [](double g, double, double* m, int t) {
         m[0] = 0.7 * m[0] + 0.3 * g;
         m[1] = std::max(std::fabs(g) + 1e-8, 0.95 * m[1]);
         return m[0] / (1 - std::pow(0.7, t)) / m[1];
       }},
      {"adamw", optim::adamw(rate, {.b1 = 0.7, .b2 = 0.95, .weight_decay = 0.3}),
       [](double g, double p, double* m, int t) {
         m[0] = 0.7 * m[0] + 0.3 * g;
         m[1] = 0.95 * m[1] + 0.05 * g * g;
         return m[0] / (1 - std::pow(0.7, t)) / (std::sqrt(m[1] / (1 - std::pow(0.95, t))) + 1e-8) +
                0.3 * p;
       }},
      {"radam", optim::radam(rate, {.b1 = 0.7, .b2 = 0.95, .threshold = 4.5}),
       [](double g, double, double* m, int t) {
         m[0] = 0.7 * m[0] + 0.3 * g;
         m[1] = 0.95 * m[1] + 0.05 * g * g;
         const double mean = m[0] / (1 - std::pow(0.7, t)), limit = 2 / 0.05 - 1;
         const double b = std::pow(0.95, t), n = limit - 2 * t * b / (1 - b);
         if (n < 4.5) return mean;
         const double r = std::sqrt((n - 4) * (n - 2) * limit / ((limit - 4) * (limit - 2) * n));
         return r * mean / (std::sqrt(m[1] / (1 - b)) + 1e-8);
       }},
      {"adagrad", optim::adagrad(rate),
       [](double g, double, double* m, int) {
         m[0] += g * g;
         return g / std::sqrt(m[0] + 1e-7);
       },
       0.1},
      {"adadelta", optim::adadelta(rate, {.rho = 0.8, .weight_decay = 0.05}),
       [](double g, double p, double* m, int) {
         g += 0.05 * p;
         m[0] = 0.8 * m[0] + 0.2 * g * g;
         const double u = std::sqrt(m[1] + 1e-6) / std::sqrt(m[0] + 1e-6) * g;
         m[1] = 0.8 * m[1] + 0.2 * u * u;
         return u;
       }},
      {"rmsprop", optim::rmsprop(rate),
       [](double g, double, double* m, int) {
         m[0] = 0.9 * m[0] + 0.1 * g * g;
         return g / std::sqrt(m[0] + 1e-8);
       }},
      {"centered rmsprop", optim::rmsprop(rate, {.decay = 0.8, .centered = true, .momentum = 0.5}),
       [](double g, double, double* m, int) {
         m[0] = 0.8 * m[0] + 0.2 * g * g;
         m[1] = 0.8 * m[1] + 0.2 * g;
         return m[2] = g / std::sqrt(m[0] - m[1] * m[1] + 1e-8) + 0.5 * m[2];
       }},
      {"rmsprop, eps outside",
       optim::rmsprop(rate, {.eps = 0.1, .initial = 0.5, .eps_in_sqrt = false}),
       [](double g, double, double* m, int) {
         m[0] = 0.9 * m[0] + 0.1 * g * g;
         return g / (std::sqrt(m[0]) + 0.1);
       },
       0.5},
      {"lion", optim::lion(rate, {.b1 = 0.7, .b2 = 0.9, .weight_decay = 0.2}),
       [](double g, double p, double* m, int) {
         const double u = 0.3 * g + 0.7 * m[0];
         m[0] = 0.9 * m[0] + 0.1 * g;
         return double(u > 0) - double(u < 0) + 0.2 * p;
       }},
      {"clipped", optim::chain({optim::clip(0.4), optim::sgd(rate)}),
       [](double g, double, double*, int) { return std::min(std::max(g, -0.4), 0.4); }},
      {"accumulated", optim::accumulate(optim::sgd(rate), 3),
       [](double g, double, double* m, int t) {
         m[0] += g / 3;
         return t % 3 == 0 ? std::exchange(m[0], 0) : 0;
       }},
      {"scheduled", optim::sgd(optim::linear(rate, 0, 5)),
       [](double g, double, double*, int t) { return g * (1 - (t - 1) / 5.0); }},
  };
}

TEST(Optim, EveryOptimiserIsItsFormula) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Numbers want = looped(c.formula, c.initial);
    test::expect_near(learned(c.opt, DType::f64), want, 1e-12);
    test::expect_near(learned(c.opt, DType::f32), want, 4e-6);
  }
}

TEST(Optim, LookaheadGoesBackToSlowParameters) {
  const Numbers got = learned(optim::lookahead(optim::sgd(rate), 2, 0.25), DType::f64);
  Numbers fast = first_a;
  fast.insert(fast.end(), first_b.begin(), first_b.end());
  Numbers slow = fast;
  for (int t = 0; t < steps; ++t) {
    for (std::size_t i = 0; i < fast.size(); ++i) {
      fast[i] -= rate * gradient(t, int(i));
      if (t % 2 == 1) fast[i] = slow[i] += 0.25 * (fast[i] - slow[i]);
    }
  }
  test::expect_near(got, fast, 1e-13);
}

// The learning rate is an argument of the function that makes the optimiser; the derivative of what
// was learned in it is that of the formula, by differences of the host's.
TEST(Optim, TheRateMayBeTracedAndDifferentiated) {
  constexpr double step = 1e-5;
  const auto trained = [](const Array& at, Optimiser (*make)(optim::Schedule)) {
    const Optimiser opt = make(at);
    Array p = constants({0.5, -1.25}, DType::f64);
    auto state = opt.init(p);
    for (int t = 0; t < steps; ++t) {
      auto [u, next] =
          opt.update(constants({gradient(t, 0), gradient(t, 1)}, DType::f64), state, p);
      p = p + u;
      state = std::move(next);
    }
    return p[1];
  };
  const std::pair<const char*, Optimiser (*)(optim::Schedule)> makers[] = {
      {"sgd with momentum", [](optim::Schedule r) { return optim::sgd(r, {.momentum = 0.8}); }},
      {"adamw", [](optim::Schedule r) {
         return optim::adamw(r, {.b1 = 0.7, .b2 = 0.95, .weight_decay = 0.3});
       }}};
  for (const auto& [name, make] : makers) {
    SCOPED_TRACE(name);
    const auto all = cases();
    const std::string wanted = name;
    const auto c =
        std::find_if(all.begin(), all.end(), [&](const Case& one) { return one.name == wanted; });
    const auto at = [&](double r) { return looped(c->formula, 0, r)[1]; };
    const auto f = [trained, m = make](const Array& r) { return trained(r, m); };
    const HostArray r = test::host(DType::f64, {}, {rate});
    test::expect_near(test::run(f, r), {at(rate)}, 1e-12);
    test::expect_near(test::run([&](const Array& x) { return grad(f)(x); }, r),
                      {(at(rate + step) - at(rate - step)) / (2 * step)}, 1e-8);
  }
}

TEST(Optim, TheTrustRatioIsOneWhereANormIsZero) {
  const auto scaled = [](const Array& p, const Array& u) {
    const Optimiser opt = optim::scale_by_trust_ratio();
    return opt.update(u, opt.init(p), p).first;
  };
  const auto h = [](const Numbers& v) { return test::host(DType::f64, Shape(v.size()), v); };
  test::expect_near(test::run(scaled, h({3, 4}), h({0, 0.5})), {0, 5}, 1e-15);
  test::expect_near(test::run(scaled, h({0, 0}), h({0.25, 0.5})), {0.25, 0.5}, 0);
  test::expect_near(test::run(scaled, h({3, 4}), h({0, 0})), {0, 0}, 0);
  // Its derivative at parameters of zeros is that of the identity.
  const auto slope = [&](const Array& p, const Array& u) {
    return grad([&](const Array& at) { return sum(scaled(p, at)); })(u);
  };
  test::expect_near(test::run(slope, h({0, 0}), h({0.25, 0.5})), {1, 1}, 0);
}

TEST(Optim, LambScalesByNormsOfArrays) {
  const Numbers got =
      learned(optim::lamb(rate, {.b1 = 0.7, .b2 = 0.95, .weight_decay = 0.1}), DType::f64);
  Numbers p = first_a, m(5, 0), v(5, 0), u(5);
  p.insert(p.end(), first_b.begin(), first_b.end());
  for (int t = 1; t <= steps; ++t) {
    for (std::size_t i = 0; i < 5; ++i) {
      const double g = gradient(t - 1, int(i));
      m[i] = 0.7 * m[i] + 0.3 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      u[i] = m[i] / (1 - std::pow(0.7, t)) / (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-6) +
             0.1 * p[i];
    }
    for (const auto& [from, to] : {std::pair{0, 3}, {3, 5}}) {
      double pp = 0, uu = 0;
      for (int i = from; i < to; ++i) {
        pp += p[std::size_t(i)] * p[std::size_t(i)];
        uu += u[std::size_t(i)] * u[std::size_t(i)];
      }
      for (int i = from; i < to; ++i)
        p[std::size_t(i)] -= rate * std::sqrt(pp / uu) * u[std::size_t(i)];
    }
  }
  test::expect_near(got, p, 1e-12);
}

TEST(Optim, TheGlobalNormIsOfAllArrays) {
  const Numbers got =
      learned(optim::chain({optim::clip_by_global_norm(0.9), optim::sgd(rate)}), DType::f64);
  Numbers p = first_a;
  p.insert(p.end(), first_b.begin(), first_b.end());
  int clipped = 0;
  for (int t = 0; t < steps; ++t) {
    double square = 0;
    for (int i = 0; i < 5; ++i) square += gradient(t, i) * gradient(t, i);
    clipped += square > 0.81;
    for (int i = 0; i < 5; ++i)
      p[std::size_t(i)] -= rate * gradient(t, i) * std::min(1.0, 0.9 / std::sqrt(square));
  }
  EXPECT_GT(clipped, 0);
  test::expect_near(got, p, 1e-13);
}

TEST(Optim, MasksAndGroupsAreByPath) {
  const auto is_b = [](const Array&, const std::string& path) { return path == ".b"; };
  const auto rest = [](const Array&, const std::string&) { return true; };
  // By group: b by Adam, the rest by gradient descent.
  const Numbers got =
      learned(optim::by_group({{is_b, optim::adam(rate)}, {rest, optim::sgd(rate)}}), DType::f64);
  const Numbers sgd = learned(optim::sgd(rate), DType::f64),
                adam = learned(optim::adam(rate), DType::f64);
  test::expect_near({got.begin(), got.begin() + 3}, {sgd.begin(), sgd.begin() + 3}, 1e-15);
  test::expect_near({got.begin() + 3, got.end()}, {adam.begin() + 3, adam.end()}, 1e-15);
  // What no group means stays; what a mask does not mean passes.
  const Numbers only = learned(optim::by_group({{is_b, optim::sgd(rate)}}), DType::f64);
  test::expect_near({only.begin(), only.begin() + 3}, first_a, 0);
  test::expect_near({only.begin() + 3, only.end()}, {sgd.begin() + 3, sgd.end()}, 1e-15);
  const Numbers masked =
      learned(optim::chain({optim::masked(optim::scale(0), is_b), optim::sgd(rate)}), DType::f64);
  test::expect_near({masked.begin(), masked.begin() + 3}, {sgd.begin(), sgd.begin() + 3}, 1e-15);
  test::expect_near({masked.begin() + 3, masked.end()}, first_b, 0);
  // Weights decay where the mask says.
  const Numbers decayed =
      learned(optim::chain({optim::add_decayed_weights(0.5, is_b), optim::sgd(rate)}), DType::f64);
  test::expect_near({decayed.begin(), decayed.begin() + 3}, {sgd.begin(), sgd.begin() + 3}, 1e-15);
  EXPECT_GT(std::fabs(decayed[3] - sgd[3]), 1e-3);
}

TEST(Optim, AveragesOfParametersAreUnbiased) {
  const auto averaged = [](const Array& x) {
    const auto average = optim::ema(0.9);
    auto state = average.init(x);
    Array result;
    for (int t = 0; t < 3; ++t) {
      auto [mean, next] = average.update(x * (1.0 + t), state, x);
      result = mean;
      state = std::move(next);
    }
    return result;
  };
  const double want = (0.81 * 1 + 0.9 * 2 + 3) * 0.1 / (1 - 0.729);
  test::expect_near(test::run(averaged, test::host(DType::f64, {}, {2.0})), {2 * want}, 1e-13);
}

TEST(Optim, SchedulesAreTheirFormulas) {
  using std::numbers::pi;
  struct Row {
    const char* name;
    optim::Schedule schedule;
    double (*want)(int);
  };
  const std::vector<Row> rows{
      {"constant", 0.3, [](int) { return 0.3; }},
      {"linear", optim::linear(1, 3, 8, 2),
       [](int t) { return 1 + 2 * std::min(std::max((t - 2) / 8.0, 0.0), 1.0); }},
      {"polynomial", optim::polynomial(1, 0.5, 2, 10),
       [](int t) { return 0.5 + 0.5 * std::pow(1 - std::min(t, 10) / 10.0, 2); }},
      {"exponential", optim::exponential_decay(2, 4, 0.5),
       [](int t) { return 2 * std::pow(0.5, t / 4.0); }},
      {"staircase",
       optim::exponential_decay(2, 4, 0.5, {.begin = 3, .staircase = true, .end_value = 0.6}),
       [](int t) { return std::max(0.6, 2 * std::pow(0.5, std::max(t - 3, 0) / 4)); }},
      {"cosine", optim::cosine_decay(2, 10, 0.1),
       [](int t) { return 2 * (0.9 * 0.5 * (1 + std::cos(pi * std::min(t, 10) / 10.0)) + 0.1); }},
      {"warm-up", optim::warmup_cosine_decay(0.1, 1, 4, 12, 0.2),
       [](int t) {
         if (t < 4) return 0.1 + 0.9 * t / 4.0;
         return 0.2 + 0.8 * 0.5 * (1 + std::cos(pi * std::min(t - 4, 8) / 8.0));
       }},
      {"no warm-up", optim::warmup_cosine_decay(0.1, 1, 0, 8, 0.2),
       [](int t) { return 0.2 + 0.8 * 0.5 * (1 + std::cos(pi * std::min(t, 8) / 8.0)); }},
      {"one cycle", optim::cosine_one_cycle(10, 1, {.peak_at = 0.4, .div = 5, .final_div = 20}),
       [](int t) {
         if (t < 4) return 0.2 + 0.8 * 0.5 * (1 - std::cos(pi * t / 4.0));
         return 1 + (0.01 - 1) * 0.5 * (1 - std::cos(pi * std::min(t - 4, 6) / 6.0));
       }},
      {"piecewise", optim::piecewise_constant(8, {3, 7}, {0.5, 0.25}),
       [](int t) { return t < 3   ? 8.0
                          : t < 7 ? 4.0
                                  : 1.0; }},
      {"joined", optim::join({0.5, optim::linear(0, 1, 5)}, {6}),
       [](int t) { return t < 6 ? 0.5 : std::min((t - 6) / 5.0, 1.0); }},
      {"own", [](const Array& count) { return 1.0f / (1.0f + cast(count, DType::f32)); },
       [](int t) { return double(1.0f / (1.0f + float(t))); }},
  };
  for (const Row& r : rows) {
    SCOPED_TRACE(r.name);
    Numbers want, counts;
    for (int t = 0; t < 15; ++t) {
      counts.push_back(t);
      want.push_back(r.want(t));
    }
    const auto all = [&](const Array& count) {
      return vmap([&](const Array& t) { return r.schedule(t, DType::f64); })(count);
    };
    test::expect_near(test::run(all, test::i32(counts)), want, 1e-14);
    const auto single = [&](const Array& count) {
      return vmap([&](const Array& t) { return r.schedule(t); })(count);
    };
    test::expect_near(test::run(single, test::i32(counts)), want, 1e-6);
  }
  EXPECT_THAT(usage_message([] { optim::join({1, 2}, {3, 4}); }), HasSubstr("one boundary fewer"));
  EXPECT_THAT(usage_message([] { optim::linear(1, 2, 0); }), HasSubstr("of 0 steps; give 1"));
  EXPECT_THAT(usage_message([] { optim::warmup_cosine_decay(0, 1, 5, 5); }),
              HasSubstr("a warm-up of 5 of 5 steps"));
  EXPECT_THAT(usage_message([] {
                optim::piecewise_constant(1, {3, 4}, {1});
              }),
              HasSubstr("2 boundaries, but 1 scales"));
  EXPECT_THAT(usage_message([] { optim::cosine_one_cycle(3, 1); }), HasSubstr("of 3 steps"));
}

TEST(Optim, WhatDoesNotFitIsNamed) {
  const auto wrong = [](auto f) { return test::usage_error_of(f, test::f32(Numbers{1, 2})); };
  EXPECT_THAT(wrong([](const Array& x) {
                const auto opt = optim::adam(0.1);
                const Model m{x, zeros({4}, DType::i32), x};
                return opt.update(Model{x, Array::hole(), zeros({3})}, opt.init(m), m).first;
              }),
              HasSubstr("the gradient of `.b` is f32[3], the parameter f32[2]"));
  EXPECT_THAT(wrong([](const Array& x) {
                return optim::adam(0.1).update(x, optim::sgd(0.1).init(x), x).first;
              }),
              HasSubstr("the state is that of another optimiser"));
  EXPECT_THAT(wrong([](const Array& x) {
                const std::vector<Array> two{x, x}, three{x, x, x};
                const auto opt = optim::adam(0.1);
                return opt.update(three, opt.init(two), three).first;
              }),
              HasSubstr("the state is of 2 parameters, but there are 3"));
  EXPECT_THAT(wrong([](const Array& x) { return optim::sgd(x).update(x, {}, x).first; }),
              HasSubstr("a rate is one number, not f32[2]"));
}

}  // namespace
}  // namespace gnomon::testing
