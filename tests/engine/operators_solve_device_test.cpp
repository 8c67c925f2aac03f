// tests/engine/operators_solve_device_test.cpp -- linear systems on the device: what a step costs,
// lanes that stop on their own, derivatives.
#include <algorithm>
#include <cmath>

#include "gnomon/arrange.h"
#include "gnomon/debug.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/engine/operators_systems.h"

namespace gnomon::testing {
namespace {

using namespace systems;
using operators::Dense;
using operators::Map;
using operators::Method;
using operators::Operator;
using operators::Tags;

std::vector<float> floats(const Numbers& v) { return {v.begin(), v.end()}; }

/// A matrix that says when it is multiplied with.
class Spoken final : public Map {
 public:
  Spoken(const Array& m, const char* word, const Tags& t)
      : Map({{{m.dtype(), {m.dim(1)}}}}, {{{m.dtype(), {m.dim(0)}}}}, t, "Spoken"),
        m_(m),
        word_(word) {}
  Arrays mv(const Arrays& x, Loc) const override {
    debug::print(word_);
    return {matmul(m_, x[0])};
  }
  std::shared_ptr<const Map> transpose(Loc) const override {
    return std::make_shared<Spoken>(gnomon::transpose(m_), "transposed", tags());
  }

 private:
  Array m_;
  const char* word_;
};

class LinearSolves : public DeviceTest {
 protected:
  struct Count {
    int products, transposed, steps;
  };
  /// How often the operator and its transpose are applied on the way to the solution.
  Count count(const Numbers& a, const Method& method, bool started = false) {
    Count c{};
    rt.on_print([&](std::string_view line) {
      ++(line.find("transposed") == std::string_view::npos ? c.products : c.transposed);
    });
    const Numbers b = right_side(size_of(a));
    const auto n = static_cast<Dim>(b.size());
    const bool definite = std::holds_alternative<operators::Cg>(method) ||
                          std::holds_alternative<operators::Minres>(method);
    auto solve = jit(rt, [&](const Array& m, const Array& v) {
      const Operator op(
          std::make_shared<Spoken>(m, "product", Tags{.positive_semidefinite = definite}));
      const auto s =
          started ? operators::solve(op, v, method, 0.5f * v) : operators::solve(op, v, method);
      return std::pair{s.x, s.steps};
    });
    const auto found = solve(rt.from_host(floats(a), {n, n}), rt.from_host(floats(b)));
    c.steps = rt.to_host<std::int32_t>(found.second)[0];
    rt.on_print({});
    return c;
  }
};

TEST_F(LinearSolves, TakeTheProductsThatTheMethodNeeds) {
  const Numbers even = graph_laplacian(30, 7, 0.2), wind = grid({6, 5}, 0.3);
  const auto expect = [](const char* what, const Count& c, int products, int transposed) {
    EXPECT_GT(c.steps, 5) << what;
    EXPECT_EQ(c.products, products) << what;
    EXPECT_EQ(c.transposed, transposed) << what;
  };
  Count c = count(even, operators::Cg{});
  expect("cg", c, c.steps, 0);
  c = count(even, operators::Cg{}, true);
  expect("cg from a start", c, c.steps + 1, 0);
  c = count(even, operators::Minres{});
  expect("minres", c, c.steps, 0);
  c = count(wind, operators::Gmres{.restart = 7});
  expect("gmres", c, c.steps, 0);
  c = count(wind, operators::BiCgStab{});
  expect("bicgstab", c, 2 * c.steps, 0);
  c = count(wind, operators::Lsmr{});
  expect("lsmr", c, c.steps, c.steps + 1);
}

TEST_F(LinearSolves, ConjugateGradientsCostWhatTheyCostByHand) {
  struct State {
    Array x, r, p, rr;
  };
  const auto by_hand = [](const Array& a, const Array& b) {
    const Array bb = sum(b * b);
    const auto loop =
        while_loop_counted([&](const State& s) { return s.rr > 1e-10f * bb; },
                           [&](const State& s) {
                             const Array q = matmul(a, s.p);
                             const Array alpha = s.rr / sum(s.p * q);
                             const Array r = s.r - alpha * q, rr = sum(r * r);
                             return State{s.x + alpha * s.p, r, r + rr / s.rr * s.p, rr};
                           },
                           State{zeros({b.size()}), b, b, bb}, {.max_steps = 1000});
    return std::pair{loop.state.x, loop.steps};
  };
  const auto by_library = [](const Array& a, const Array& b) {
    const auto s = operators::solve(Dense{a, {.positive_semidefinite = true}}, b,
                                    operators::Cg{.rtol = 1e-5, .max_steps = 1000});
    return std::pair{s.x, s.steps};
  };
  const Numbers a = graph_laplacian(256, 7, 0.1), b = right_side(256);
  auto hand = jit(rt, by_hand, {.name = "cg_by_hand"});
  auto library = jit(rt, by_library, {.name = "cg_by_library"});
  const Array m = rt.from_host(floats(a), {256, 256}), v = rt.from_host(floats(b));
  const auto want = hand(m, v), got = library(m, v);
  EXPECT_LE(library.kernel_count(), hand.kernel_count()) << library.text("fusion");
  EXPECT_EQ(rt.to_host<std::int32_t>(got.second), rt.to_host<std::int32_t>(want.second));
  const auto x = rt.to_host<float>(got.first), y = rt.to_host<float>(want.first);
  const Numbers exact = dense_solution(a, b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], exact[i], 1e-3) << i;
    EXPECT_NEAR(x[i], y[i], 1e-4) << i;
  }
}

TEST_F(LinearSolves, LanesStopOnTheirOwnAndHaveGradients) {
  // The sum of the solution with a ridge that every lane has its own: 1 A^-1 1 is n / ridge.
  const Numbers ring = graph_laplacian(12, 5, 0);
  const std::vector<float> ridges{0.5f, 1, 2, 100};
  const Array m = rt.from_host(floats(ring), {12, 12}), b = rt.from_host(floats(right_side(12)));
  for (const Method& method : {Method(operators::Cg{}), Method(operators::Gmres{})}) {
    const auto total = [&](const Array& ridge) {
      const Dense a{m + ridge * eye(12), {.positive_semidefinite = true}};
      return sum(operators::solve(a, ones({12}) + b - mean(b), method).x);
    };
    auto run = jit(rt, vmap([&](const Array& ridge) {
                     const Dense a{m + ridge * eye(12), {.positive_semidefinite = true}};
                     const auto s = operators::solve(a, b, method);
                     return std::tuple{total(ridge), grad(total)(ridge), s.steps, s.result};
                   }));
    const auto found = run(rt.from_host(ridges));
    const auto value = rt.to_host<float>(std::get<0>(found)),
               slope = rt.to_host<float>(std::get<1>(found));
    const auto steps = rt.to_host<std::int32_t>(std::get<2>(found));
    for (std::size_t k = 0; k < ridges.size(); ++k) {
      EXPECT_NEAR(value[k], 12 / ridges[k], 1e-4f * 12 / ridges[k]) << k;
      EXPECT_NEAR(slope[k], -12 / ridges[k] / ridges[k], 3e-4f * 12 / ridges[k] / ridges[k]) << k;
    }
    EXPECT_GT(steps[0], steps[3] + 3);
    struct Solved {
      Array result;
    };
    operators::throw_if_failed(rt, Solved{std::get<3>(found)});
  }
}

TEST_F(LinearSolves, FailedOnesAreCounted) {
  auto solve =
      jit(rt, vmap([](const Array& d) {
            return operators::solve(operators::Diagonal{d}, ones({2}), operators::Gmres{}).result;
          }));
  struct Found {
    Array result;
  };
  const Found found{solve(rt.from_host(std::vector<float>{1, 2, 0, 3, 4, 5}, {3, 2}))};
  try {
    operators::throw_if_failed(rt, found);
    FAIL();
  } catch (const operators::SolveFailed& e) {
    EXPECT_NE(std::string(e.what()).find("1 of 3 solves failed, first number 1: the method divided "
                                         "by zero"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace gnomon::testing
