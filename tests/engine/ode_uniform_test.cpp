// tests/engine/ode_uniform_test.cpp -- solves whose steps are known when tracing: scans over steps,
// or over stages where the field is large.
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

constexpr Dim width = 16;

/// A network of one hidden layer: large enough for a loop over stages.
struct Network {
  Array in, out;
};
const ode::OdeTerm network{[](const Array& t, const Array& y, const Network& n) {
  return matmul(tanh(matmul(y, n.in) + 0.1 * t), n.out);
}};

Numbers waves(std::size_t n, double scale, double phase) {
  Numbers r;
  for (std::size_t i = 0; i < n; ++i)
    r.push_back(scale * std::sin(phase + 1.7 * static_cast<double>(i)));
  return r;
}
const Numbers in_weights = waves(2 * width, 0.8, 0.3), out_weights = waves(2 * width, 0.6, 1.1);
HostArray matrix(const Numbers& x, Dim rows, Dim columns) {
  return test::host(DType::f64, {rows, columns}, x);
}

using PlanePoint = std::vector<double>;

PlanePoint slope_at(double t, const PlanePoint& y) {
  PlanePoint k(2, 0.0);
  for (std::size_t j = 0; j < width; ++j) {
    const double x = y[0] * in_weights[j] + y[1] * in_weights[width + j] + 0.1 * t;
    for (std::size_t i = 0; i < 2; ++i) k[i] += std::tanh(x) * out_weights[2 * j + i];
  }
  return k;
}

/// The states at the ends of steps, straight from the table.
std::vector<PlanePoint> by_hand(const ode::Tableau& table, const std::vector<double>& ends,
                                PlanePoint y) {
  std::vector<PlanePoint> all;
  double t = 0;
  for (double end : ends) {
    const double h = end - t;
    std::vector<PlanePoint> k;
    for (std::size_t i = 0; i < table.b.size(); ++i) {
      PlanePoint at = y;
      for (std::size_t j = 0; j < i; ++j)
        for (std::size_t c = 0; c < 2; ++c) at[c] += h * table.a[i - 1][j] * k[j][c];
      k.push_back(slope_at(t + (i == 0 ? 0 : table.c[i - 1]) * h, at));
    }
    for (std::size_t i = 0; i < k.size(); ++i)
      for (std::size_t c = 0; c < 2; ++c) y[c] += h * table.b[i] * k[i][c];
    all.push_back(y);
    t = end;
  }
  return all;
}

const ode::Tableau* const tables[] = {&ode::tableaus::midpoint(), &ode::tableaus::rk4(),
                                      &ode::tableaus::bosh3(),    &ode::tableaus::tsit5(),
                                      &ode::tableaus::vern7(),    &ode::tableaus::dopri8()};

TEST(OdeUniform, StagesInALoopAreThoseOfTheTable) {
  for (const ode::Tableau* table : tables) {
    SCOPED_TRACE(table->name);
    const auto all = test::run_all(
        [&](const Array& start, const Array& in, const Array& out) {
          const auto s = diffeqsolve(network, ode::RungeKutta(*table), 0.0, 1.0, 0.25, start,
                                     Network{in, out}, {.saveat = {.steps = 1}, .max_steps = 4});
          return std::tuple{s.ys, s.y1, s.ts};
        },
        f64(Numbers{0.5, -0.25}), matrix(in_weights, 2, width), matrix(out_weights, width, 2));
    const std::vector<PlanePoint> want = by_hand(*table, {0.25, 0.5, 0.75, 1.0}, {0.5, -0.25});
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t c = 0; c < 2; ++c)
        EXPECT_NEAR(all[0][2 * row + c], want[row][c], 2e-15) << "row " << row;
    EXPECT_EQ(all[1], (Numbers{all[0][6], all[0][7]}));
    EXPECT_EQ(all[2], (Numbers{0.25, 0.5, 0.75, 1.0}));
  }
}

TEST(OdeUniform, RowsAreThoseOfStepsThatAreDecidedOneByOne) {
  const auto both = [](const ode::Solver& solver, const ode::SaveAt& at) {
    return [&](const Array& start) {
      const auto solve = [&](ode::FirstStep first, const ode::Controller& controller) {
        const auto s = diffeqsolve(decay, solver, 0.0, 2.5, first, start, None{},
                                   {.saveat = at, .controller = controller, .max_steps = 5},
                                   ode::save(
                                       [](const Array& t, const Array& y, const None&) {
                                         return std::pair{t, sum(y)};
                                       },
                                       at));
        return std::tuple{s.ts,
                          s.ys,
                          s.count,
                          s.t1,
                          s.y1,
                          s.stats.steps,
                          s.stats.accepted,
                          s.stats.evaluations,
                          s.result,
                          std::get<0>(s.subs).ys};
      };
      return std::pair{solve(1.0, ode::ConstantStepSize{}),
                       solve(none, ode::StepTo{.ts = {0.0, 1.0, 2.5 * (2 / 3.0), 2.5}})};
    };
  };
  for (const ode::Solver& solver : {ode::Solver(ode::RK4()), ode::Solver(ode::Tsit5())})
    for (const ode::SaveAt& at :
         {ode::SaveAt{.steps = 1}, ode::SaveAt{.t0 = true, .t1 = true, .steps = 1},
          ode::SaveAt{.t0 = true, .steps = 1, .fill_infinity = true}, ode::SaveAt{.t1 = true}}) {
      const auto all = test::run_all(both(solver, at), f64(Numbers{1, 2}));
      ASSERT_EQ(all.size() % 2, 0u);
      const std::size_t half = all.size() / 2;
      for (std::size_t i = 0; i < half; ++i) {
        ASSERT_EQ(all[i].size(), all[half + i].size()) << i;
        for (std::size_t j = 0; j < all[i].size(); ++j)
          if (std::isinf(all[half + i][j]))
            EXPECT_EQ(all[i][j], all[half + i][j]);
          else
            EXPECT_DOUBLE_EQ(all[i][j], all[half + i][j]) << i << ", " << j;
      }
    }
}

TEST(OdeUniform, DerivativesAreThoseOfTheSteps) {
  const auto loss = [](const ode::Solver& solver, const ode::Adjoint& adjoint) {
    return [&](const Array& start, const Array& in, const Array& out) {
      const auto s = diffeqsolve(network, solver, 0.0, 1.0, 0.125, start, Network{in, out},
                                 {.saveat = {.steps = 1}, .adjoint = adjoint, .max_steps = 10});
      return sum(square(s.ys)) + sum(s.y1);
    };
  };
  const HostArray out = matrix(out_weights, width, 2);
  for (const ode::Solver& solver : {ode::Solver(ode::RK4()), ode::Solver(ode::Tsit5())}) {
    const auto value = [&](double y, double w) {
      Numbers moved = in_weights;
      moved[3] += w;
      return test::run(loss(solver, ode::StoredAdjoint{}), f64(Numbers{0.5 + y, -0.25}),
                       matrix(moved, 2, width), out)[0];
    };
    const double d = 1e-5, by_start = (value(d, 0) - value(-d, 0)) / (2 * d),
                 by_weight = (value(0, d) - value(0, -d)) / (2 * d);
    for (const ode::Adjoint& adjoint :
         {ode::Adjoint(ode::RecursiveCheckpointAdjoint{}), ode::Adjoint(ode::StoredAdjoint{}),
          ode::Adjoint(ode::DirectAdjoint{}),
          ode::Adjoint(ode::RecursiveCheckpointAdjoint{.checkpoints = 3})}) {
      const auto f = loss(solver, adjoint);
      const auto all = test::run_all(
          [&](const Array& start, const Array& in, const Array& w) {
            return grad([&](const std::pair<Array, Array>& x) { return f(x.first, x.second, w); })(
                std::pair{start, in});
          },
          f64(Numbers{0.5, -0.25}), matrix(in_weights, 2, width), out);
      EXPECT_NEAR(all[0][0], by_start, 1e-8 * (1 + std::fabs(by_start))) << solver.name();
      EXPECT_NEAR(all[1][3], by_weight, 1e-8 * (1 + std::fabs(by_weight))) << solver.name();
    }
    EXPECT_THAT(usage_message([&] {
                  test::run_all(
                      [&](const Array& start, const Array& in, const Array& w) {
                        const auto f = loss(solver, ode::ForwardMode{});
                        return grad([&](const Array& y) { return f(y, in, w); })(start);
                      },
                      f64(Numbers{0.5, -0.25}), matrix(in_weights, 2, width), out);
                }),
                ::testing::HasSubstr("lax"));
  }
}

class OdeUniformDevice : public DeviceTest {};

// A training step by the library: no more kernels than one that walks the stages by hand.
TEST_F(OdeUniformDevice, ANetworksBatchIsOneKernelForwardAndOneBack) {
  constexpr Dim lanes = 64;
  const auto loss = [](const Array& start, const Array& in, const Array& out) {
    const auto s = diffeqsolve(network, ode::RK4(), 0.0f, 1.0f, 0.125f, start, Network{in, out},
                               {.adjoint = ode::StoredAdjoint{}, .max_steps = 8});
    return mean(square(s.y1));
  };
  const auto floats = [](const Numbers& x) { return std::vector<float>(x.begin(), x.end()); };
  const Array start = rt.from_host(floats(waves(2 * lanes, 0.7, 0.2)), {lanes, 2}),
              in = rt.from_host(floats(in_weights), {2, width}),
              out = rt.from_host(floats(out_weights), {width, 2});
  const auto value = jit(rt, loss);
  const float got = rt.item<float>(value(start, in, out));
  double want = 0;
  const Numbers starts = waves(2 * lanes, 0.7, 0.2);
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes); ++i) {
    const PlanePoint end = by_hand(ode::tableaus::rk4(), {.125, .25, .375, .5, .625, .75, .875, 1},
                                   {starts[2 * i], starts[2 * i + 1]})
                               .back();
    want += end[0] * end[0] + end[1] * end[1];
  }
  want /= 2 * lanes;
  EXPECT_NEAR(got, want, 1e-5 * want);
  const auto gradient = jit(rt, [&](const Array& y, const Array& m, const Array& w) {
    return grad([&](const Array& a) { return loss(y, a, w); })(m);
  });
  const std::vector<float> g = rt.to_host<float>(gradient(start, in, out));
  const float d = 1e-2f;
  const auto moved = [&](float by) {
    std::vector<float> m = floats(in_weights);
    m[3] += by;
    return rt.item<float>(value(start, rt.from_host(m, {2, width}), out));
  };
  EXPECT_NEAR(g[3], (moved(d) - moved(-d)) / (2 * d), 2e-3);
}

}  // namespace
}  // namespace gnomon::testing
