// tests/engine/axes_loops_test.cpp -- derivatives of loops whose elements meet along a named axis
// and stop apart, against differences of the same loops written for all elements, on the device.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "gnomon/axes.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/indexing.h"
#include "gnomon/jacobian.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using Doubles = std::vector<double>;
using Ends = std::function<Doubles(Doubles)>;

constexpr LoopKind kinds[] = {LoopKind::automatic, LoopKind::stored, LoopKind::checkpointed,
                              LoopKind::bounded};
/// Where no step of any loop here begins close to where it stops.
const Doubles at{0.52, 7.03, 1.04, 3.07};

double squares(const Doubles& x) {
  double r = 0;
  for (const double v : x) r += v * v;
  return r;
}

double mean_of(const Doubles& x) {
  double r = 0;
  for (const double v : x) r += v;
  return r / static_cast<double>(x.size());
}

/// Of the sum of the squares of the ends.
Doubles slopes(const Ends& ends, const Doubles& x, double h = 1e-6) {
  Doubles r;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Doubles more = x, less = x;
    more[i] += h;
    less[i] -= h;
    r.push_back((squares(ends(more)) - squares(ends(less))) / (2 * h));
  }
  return r;
}

/// v -> v + 0.3 mean(v^2) / (1 + v) + 0.2 while v < 10.
Array spread(const Array& x, const WhileOptions& options) {
  return while_loop([](const Array& v) { return v < 10; },
                    [](Array v) { return v + 0.3f * pmean(v * v, "i") / (1 + v) + 0.2f; }, x,
                    options);
}
Ends spread_for(int steps) {
  return [steps](Doubles v) {
    for (int k = 0; k < steps; ++k) {
      const double m = squares(v) / static_cast<double>(v.size());
      for (double& q : v)
        if (q < 10) q += 0.3 * m / (1 + q) + 0.2;
    }
    return v;
  };
}

class AxesInLoops : public DeviceTest {
 protected:
  Array of(const Doubles& x) {
    return rt.from_host(std::vector<float>(x.begin(), x.end()), {static_cast<Dim>(x.size())});
  }
  void expect_close(const Array& found, const Doubles& want, const std::string& what) {
    const std::vector<float> got = rt.to_host<float>(found);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-3 * (1 + std::fabs(want[i]))) << what << " " << i;
  }
  /// Values and derivatives of both modes, of the whole and inside of the vmap.
  template <class F>
  void expect_derivatives(const F& one, const Ends& ends, const std::string& what) {
    const auto all = vmap(one, {.axis_name = "i"});
    const auto loss = [&](const Array& x) { return sum(square(all(x))); };
    const Doubles want = slopes(ends, at);
    const Array x = of(at);
    expect_close(jit(rt, all)(x), ends(at), what + " value");
    expect_close(jit(rt, grad(loss))(x), want, what + " grad");
    expect_close(jit(rt, jacfwd(loss))(x), want, what + " jacfwd");
    const auto inside = [&](const Array& v) { return square(one(v)); };
    expect_close(jit(rt, vmap(grad(inside), {.axis_name = "i"}))(x), want, what + " grad inside");
  }
};

TEST_F(AxesInLoops, OfMeans) {
  for (const LoopKind kind : kinds)
    for (const int steps : {3, 20})
      expect_derivatives(
          [=](const Array& x) { return spread(x, {.max_steps = steps, .kind = kind}); },
          spread_for(steps), std::string(name(kind)) + " " + std::to_string(steps));
}

TEST_F(AxesInLoops, WithoutABound) {
  expect_derivatives(
      [](const Array& x) {
        return spread(x,
                      {.max_steps = unbounded, .kind = LoopKind::checkpointed, .checkpoints = 3});
      },
      spread_for(60), "unbounded");
}

TEST_F(AxesInLoops, OfExtremesAndOfOneAmongAll) {
  const auto one = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 10; },
                      [](Array v) {
                        return v + 0.5f * pmax(sin(v) * v, "i") +
                               0.01f * square(all_gather(v, "i")[1]) + 1;
                      },
                      x, {.max_steps = 20});
  };
  const auto ends = [](Doubles v) {
    for (int k = 0; k < 20; ++k) {
      double most = -1e9;
      for (const double q : v) most = std::max(most, std::sin(q) * q);
      const double step = 0.5 * most + 0.01 * v[1] * v[1] + 1;
      for (double& q : v)
        if (q < 10) q += step;
    }
    return v;
  };
  expect_derivatives(one, ends, "pmax");
}

// Only the condition looks at others; what has stopped does not go on when it holds again.
TEST_F(AxesInLoops, WhoseConditionsMeet) {
  using State = std::pair<Array, Array>;
  for (const LoopKind kind : kinds)
    expect_derivatives(
        [=](const Array& x) {
          return x *
                 while_loop(
                     [](const State& s) { return s.first < pmean(s.first, "i") + 2; },
                     [&](State s) {
                       return State{s.first + 0.3f + 0.05f * s.second * sin(x), 0.9f * s.second};
                     },
                     State{x, cos(x)}, {.max_steps = 70, .kind = kind})
                     .first;
        },
        [](Doubles x) {
          Doubles v = x, w;
          for (const double q : x) w.push_back(std::cos(q));
          std::vector<bool> goes(x.size(), true);
          for (int k = 0; k < 70; ++k) {
            const double bound = mean_of(v) + 2;
            for (std::size_t i = 0; i < x.size(); ++i) {
              goes[i] = goes[i] && v[i] < bound;
              if (!goes[i]) continue;
              v[i] += 0.3 + 0.05 * w[i] * std::sin(x[i]);
              w[i] *= 0.9;
            }
          }
          for (std::size_t i = 0; i < x.size(); ++i) v[i] *= x[i];
          return v;
        },
        std::string(name(kind)));
}

TEST_F(AxesInLoops, OfAsManyStepsAsEachElementSays) {
  const auto steps = [](const Array& x) { return cast(stop_gradient(x), DType::i32); };
  const auto step = [](const Array& v) { return sin(v) + 0.4f * pmean(v, "i"); };
  const auto ends = [](bool rows) -> Ends {
    return [rows](Doubles v) {
      const Doubles n = v;
      Doubles sum(v.size(), 0);
      for (int k = 0; k < 9; ++k) {
        const double m = mean_of(v);
        for (std::size_t i = 0; i < v.size(); ++i)
          if (k < static_cast<int>(n[i])) {
            sum[i] += v[i] * v[i];
            v[i] = std::sin(v[i]) + 0.4 * m;
          }
      }
      for (std::size_t i = 0; rows && i < v.size(); ++i) v[i] += sum[i];
      return v;
    };
  };
  for (const LoopKind kind : kinds) {
    expect_derivatives(
        [=](const Array& x) {
          return fori_loop(0, steps(x), [&](const Array&, Array v) { return step(v); }, x,
                           {.max_steps = 9, .kind = kind});
        },
        ends(false), "fori " + std::string(name(kind)));
    expect_derivatives(
        [=](const Array& x) {
          const auto r = scan(
              [&](Array v, const Array&) {
                const Array next = step(v);
                return std::pair{next, v * v};
              },
              x, zeros({9}), {.length = steps(x), .kind = kind});
          return r.carry + sum(r.rows);
        },
        ends(true), "scan " + std::string(name(kind)));
  }
}

TEST_F(AxesInLoops, SecondDerivatives) {
  const Doubles along{0.3, -0.7, 0.2, 0.5};
  const double h = 1e-4;
  Doubles more = at, less = at, want;
  for (std::size_t i = 0; i < at.size(); ++i) {
    more[i] += h * along[i];
    less[i] -= h * along[i];
  }
  const Doubles above = slopes(spread_for(20), more, h), below = slopes(spread_for(20), less, h);
  for (std::size_t i = 0; i < at.size(); ++i) want.push_back((above[i] - below[i]) / (2 * h));
  for (const LoopKind kind : {LoopKind::stored, LoopKind::checkpointed}) {
    const auto one = [=](const Array& v) {
      return square(spread(v, {.max_steps = 20, .kind = kind}));
    };
    const auto slope = grad([&](const Array& x) { return sum(vmap(one, {.axis_name = "i"})(x)); });
    const auto inside = vmap(grad(one), {.axis_name = "i"});
    const Array x = of(at), v = of(along);
    const auto forward = [&](const Array& a, const Array& d) { return jvp(slope, a, d).second; };
    const auto back = [&](const Array& a, const Array& d) {
      return grad([&](const Array& b) { return sum(inside(b) * d); })(a);
    };
    expect_close(jit(rt, forward)(x, v), want, "jvp of grad");
    expect_close(jit(rt, back)(x, v), want, "grad of grad inside");
  }
}

// Elements meet along the rows of what has 3 x 2, whichever vmap is around the other.
TEST_F(AxesInLoops, UnderAnotherVmap) {
  const Doubles x{0.52, 7.03, 1.04, 3.07, 2.05, 6.51};
  const auto in_columns = [](const Doubles& all) {
    Doubles ends(6);
    for (std::size_t c = 0; c < 2; ++c) {
      const Doubles end = spread_for(20)({all[c], all[2 + c], all[4 + c]});
      for (std::size_t r = 0; r < 3; ++r) ends[2 * r + c] = end[r];
    }
    return ends;
  };
  const Doubles want = slopes(in_columns, x);
  const Array start = rt.from_host(std::vector<float>(x.begin(), x.end()), {3, 2});
  const VmapOptions named{.axis_name = "i"};
  for (const LoopKind kind : kinds) {
    const auto one = [=](const Array& v) {
      return square(spread(v, {.max_steps = 20, .kind = kind}));
    };
    const std::string what(name(kind));
    const auto of_rows = [&](const Array& row) { return sum(vmap(one)(row)); };
    expect_close(jit(rt, grad([&](const Array& a) {
                       return sum(vmap([&](const Array& row) { return vmap(one)(row); }, named)(a));
                     }))(start),
                 want, what + " grad outside");
    expect_close(jit(rt, vmap(grad(of_rows), named))(start), want, what + " grad between");
    expect_close(jit(rt, vmap(vmap(grad(one)), named))(start), want, what + " grad inside");
    const auto of_columns = [&](const Array& column) { return sum(vmap(one, named)(column)); };
    expect_close(
        jit(rt,
            [&](const Array& a) { return transpose(vmap(grad(of_columns))(transpose(a))); })(start),
        want, what + " named inside");
  }
}

TEST_F(AxesInLoops, StoppedElementsMakeNoStatements) {
  std::string lines;
  rt.on_print([&](std::string_view line) { lines += std::string(line) + ";"; });
  const auto one = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 10; },
                      [](Array v) {
                        debug::print("{}", v);
                        return v + psum(v, "i");
                      },
                      x, {.max_steps = 20});
  };
  const auto all = vmap(one, {.axis_name = "i"});
  const std::string want = "0.5;8.0;7.0;";
  jit(rt, all)(of({0.5, 7}));
  EXPECT_EQ(std::exchange(lines, ""), want);
  jit(rt, grad([&](const Array& x) { return sum(all(x)); }))(of({0.5, 7}));
  EXPECT_EQ(std::exchange(lines, ""), want);
  jit(rt, vmap(grad(one), {.axis_name = "i"}))(of({0.5, 7}));
  EXPECT_EQ(lines, want);
}

}  // namespace
}  // namespace gnomon::testing
