// tests/codegen/reverse_test.cpp -- reverse mode of loops and branches: against closed forms, and
// against forward mode in every direction.
#include "codegen/operations/buffer.h"
#include "codegen/operations/control.h"
#include "codegen/trace/trace.h"
#include "gnomon/debug.h"
#include "gnomon/loops.h"
#include "gnomon/special.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

/// The same for its gradient in one fixed direction.
template <class F>
void expect_two_gradients(F f, const HostArray& x) {
  expect_gradient(f, x);
  expect_gradient([&](const Array& v) { return sum(sin(arange(v.size()) + 1.0f) * grad(f)(v)); },
                  x);
}

const HostArray point = f32({0.3, -0.8, 1.1, 0.5});

struct Both {
  Array a, b;
};

// Segments hold segments, and steps loops of their own. The pullbacks of all levels below, made
// anew on each, were 25,000 traces where stored loops took 56.
TEST(ReverseScan, OfManyLevelsTracesEachOnce) {
  const auto traces = [](LoopKind kind) {
    const auto f = [=](const Array& x) {
      return sum(scan(
                     [&](const Array& c, const Array& b) {
                       const Array y =
                           fori_loop(0, 70, [&](const Array&, const Array& z) { return z * b; }, c,
                                     {.kind = kind});
                       return std::pair{y, c * b};
                     },
                     ones({}), x, {.kind = kind})
                     .second);
    };
    const HostArray x(Aval{DType::f32, {10003}});
    const std::uint64_t before = Trace().serial();
    graph_of([&](const Array& v) { return grad(f)(v); }, x);
    return Trace().serial() - before;
  };
  EXPECT_LT(traces(LoopKind::automatic), 25 * traces(LoopKind::stored));
}

TEST(ReverseScan, CarriesSequencesConstantsAndRows) {
  const auto f = [](const Array& x) {
    const auto [end, rows] = scan(
        [&](Both c, const Array& s) {
          const Array next = sin(c.a * s) + c.b * x[0];
          return std::pair{Both{next, c.b + c.a * c.a}, next * x[3]};
        },
        Both{x[1], x[2]}, x * x);
    return end.a * end.b + sum(rows * rows);
  };
  expect_two_gradients(f, point);
}

TEST(ReverseScan, BackwardsAndOfLengthZero) {
  expect_two_gradients(
      [](const Array& x) {
        const auto [end, rows] = scan(
            [](Array c, const Array& s) {
              return std::pair{c * s, c};
            },
            x[0], x, {.reverse = true});
        return end + sum(rows * x);
      },
      point);
  expect_gradient(
      [](const Array& x) {
        return fori_loop(
                   0, 0, [](const Array&, Array c) { return c * c; }, x[0]) *
               x[1];
      },
      point);
}

TEST(ReverseScan, OfPowersIsTheClosedForm) {
  // d/dx x^(2^5)
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 5, [](const Array&, Array c) { return c * c; }, x);
  };
  EXPECT_NEAR(run([&](const Array& x) { return grad(f)(x); }, f32(1.01))[0],
              32 * std::pow(1.01, 31), 1e-4);
  EXPECT_NEAR(run([&](const Array& x) { return grad(grad(f))(x); }, f32(1.01))[0],
              32 * 31 * std::pow(1.01, 30), 1e-1);
}

Array until_large(const Array& x) {
  return while_loop([](const Array& v) { return sum(v * v) < 20; },
                    [&](Array v) { return v * 1.3f + sin(x) * x[0]; }, x, {.max_steps = 40});
}

TEST(ReverseWhile, AsManyStepsAsItTook) {
  expect_two_gradients([](const Array& x) { return sum(until_large(x) * x); }, point);
}

TEST(ReverseWhile, TheBoundEndsItToo) {
  expect_two_gradients(
      [](const Array& x) {
        return sum(while_loop([](const Array& v) { return sum(v * v) < 1e9f; },
                              [&](Array v) { return v + sin(v * x[1]); }, x, {.max_steps = 5}));
      },
      point);
}

TEST(ReverseWhile, CarriesNumbersAndArraysThatDoNotMove) {
  expect_two_gradients(
      [](const Array& x) {
        struct S {
          Array i, v, fixed;
        };
        const S end = while_loop(
            [](const S& s) { return s.i < 6; },
            [](S s) {
              return S{s.i + 1, s.v * s.fixed + cast(s.i, DType::f32) * s.v * s.v, s.fixed};
            },
            S{full({}, 0), x * 0.1f, x[3]}, {.max_steps = 100});
        return sum(end.v) + end.fixed;
      },
      point);
}

struct Trial {
  Array t, h, x, v;
};

/// Steps of halving and doubling length of an oscillator, of which those that turn too far are not
/// taken: x and v stay, and so does t.
Trial tried(const Array& x, Dim max_steps) {
  return while_loop([](const Trial& s) { return s.t < 2; },
                    [&](Trial s) {
                      const Array v = s.v - s.h * sin(s.x) * x[2], at = s.x + s.h * v * x[3];
                      const Array keep = stop_gradient(abs(at - s.x) + abs(v - s.v)) < 0.25f;
                      return Trial{where(keep, s.t + s.h, s.t),
                                   minimum(where(keep, 1.6f * s.h, 0.5f * s.h), 2.1f - s.t),
                                   where(keep, at, s.x), where(keep, v, s.v)};
                    },
                    Trial{zeros({}), full({}, 0.9f, DType::f32), x[0], x[1]},
                    {.max_steps = max_steps});
}

TEST(ReverseWhile, StepsThatChangeNothingLeaveNoTrace) {
  // With every step kept, in segments, and cut short where the last ones were not taken.
  for (const Dim most : {60, 500, 3})
    expect_two_gradients(
        [&](const Array& x) {
          const Trial end = tried(x, most);
          return end.x * end.v + end.x;
        },
        point);
  // By lane, each with trials of its own, and a parameter that all share.
  expect_gradient(
      [](const Array& x) {
        const Trial end =
            vmap([&](const Array& scale) { return tried(scale * x, 60); })(arange(3) * 0.4f + 0.5f);
        return sum(end.x * end.v);
      },
      point);
}

TEST(ReverseWhile, WhatAStepDecidesIsNotDecidedAgain) {
  // Behind the loop forward only the one backward may look at where a step was in time, and the
  // pullback takes the step's length, one number, from the loop forward.
  const auto traced = make_graph(
      [](const Array& x) { return grad([](const Array& y) { return tried(y, 60).x; })(x); },
      abstract_array(DType::f32, {4}));
  int histories = 0;
  for (const Equation& e : traced.graph->equations)
    histories += e.primitive == &unwritten_p ? 1 : 0;
  EXPECT_EQ(histories, 3);  // h, x, v
}

TEST(ReverseWhile, NeedsABound) {
  const auto f = [](const Array& x) {
    return grad([](const Array& v) {
      return while_loop([](const Array& u) { return u < 10; }, [](Array u) { return u * u; }, v,
                        {.max_steps = unbounded});
    })(x);
  };
  const std::string message = usage_error_of(f, f32(2.0));
  EXPECT_THAT(message, HasSubstr("give it {.max_steps = n}, or use jvp"));
  EXPECT_THAT(message, HasSubstr("(reverse_test.cpp:"));
}

TEST(ReverseSegments, LongLoopsOfAnyLength) {
  for (const Dim n : {65, 100, 131, 5000}) {
    const auto f = [n](const Array& x) {
      const auto [end, rows] = scan(
          [&](Array c, const Array& s) {
            const Array next = c + 0.01f * sin(c * s + x[1]);
            return std::pair{next, next * next};
          },
          x[0], sin(cast(arange(n), DType::f32) * x[3]), {.reverse = n % 2 == 1});
      return end + mean(rows * x[2]);
    };
    expect_gradient(f, point);
    const auto g = [n](const Array& x) {
      return sum(while_loop([](const Array& v) { return sum(v) < 30; },
                            [&](Array v) { return v + 0.1f * cos(v * x[1]) * x; }, x,
                            {.max_steps = n}));
    };
    expect_gradient(g, point);
  }
}

TEST(ReverseSegments, LanesEndInSegmentsOfTheirOwn) {
  const auto one = [](const Array& v) {
    return while_loop([](const Array& u) { return u < 5; },
                      [&](Array u) { return u + v * v * 0.05f; }, v * v, {.max_steps = 2000});
  };
  const auto outside = [&](const Array& x) {
    return grad([&](const Array& v) { return sum(vmap(one)(v)); })(x);
  };
  const auto inside = [&](const Array& x) { return vmap(grad(one))(x); };
  const HostArray x = f32({0.9, 1.2, 3.0, 2.5, -1.0});
  expect_near(run(outside, x), run(inside, x));
  const Numbers back = run(inside, x),
                forward = run(
                    [&](const Array&v) {
                      return vmap([&](const Array& u) { return jvp(one, u, ones({})).second; })(v);
                    },
                    x);
  expect_near(back, forward);
}

TEST(ReverseCond, OnlyTheBranchThatIsTaken) {
  const auto f = [](const Array& x) {
    return cond(
        sum(x) > 0, [&] { return sum(x * x * x); }, [&] { return x[0] * x[1]; });
  };
  expect_two_gradients(f, point);
  expect_two_gradients(f, f32({-1, -2, 0.5, 0.1}));
  // log of what is negative is never touched.
  const auto safe = [](const Array& x) {
    return cond(
        x > 0, [&] { return log(x); }, [&] { return x * 2; });
  };
  EXPECT_EQ(run([&](const Array& x) { return grad(safe)(x); }, f32(-3)), Numbers{2});
  EXPECT_EQ(run([&](const Array& x) { return vmap(grad(safe))(x); }, f32({-3, 4})),
            (Numbers{2, 0.25}));
}

TEST(ReverseCond, ByLane) {
  expect_two_gradients(
      [](const Array& x) {
        return sum(vmap([&](const Array& v) {
          return cond(
              v > 0, [&] { return v * v * x[0]; }, [&] { return sin(v) * x[3]; });
        })(x));
      },
      point);
}

/// Neither NaN nor infinite, and as vmap(grad) has it: there each lane has a branch of its own.
template <class F>
void expect_safe(F one, const HostArray& x) {
  const auto outside = [&](const Array& v) {
    return grad([&](const Array& u) { return sum(vmap(one)(u)); })(v);
  };
  const Numbers got = run(outside, x);
  for (double v : got) EXPECT_TRUE(std::isfinite(v)) << v;
  expect_near(got, run([&](const Array& v) { return vmap(grad(one))(v); }, x));
}

TEST(ReverseCond, ABranchThatALaneDoesNotTakeHasNoSlope) {
  const HostArray x = f32({0, -3, 4, 0, 0.25});
  expect_safe(
      [](const Array& v) {
        return cond(
            v < 1e-3f, [&] { return v * 0 + 1e-3f; }, [&] { return sqrt(v); });
      },
      x);
  expect_safe(
      [](const Array& v) {
        return cond(
            v > 0, [&] { return log(v) * v; }, [&] { return v * 2; });
      },
      x);
  expect_safe(
      [](const Array& v) {
        return switch_(cast(v, DType::i32), std::tuple{[&] { return v + 1; }, [&] { return 1 / v; },
                                                       [&] { return pow(v, -1.5f); }});
      },
      x);
  // All lanes take the first branch.
  expect_safe(
      [](const Array& v) {
        return cond(
            v * v < 100, [&] { return sin(v); }, [&] { return sqrt(v - 100); });
      },
      x);
}

TEST(ReverseCond, NorHasItOnesInWhatLanesShare) {
  const auto f = [](const Array& x) {
    return sum(vmap([&](const Array& v) {
      return cond(
          v > 0, [&] { return sqrt(v) * x[0] + log(v * x[1]); }, [&] { return v * x[2]; });
    })(x - 0.4f));
  };
  const HostArray x = f32({0.4, 0.9, 0.3, 0.7});
  const Numbers got = run([&](const Array& v) { return grad(f)(v); }, x);
  const auto lane = [](double v, int i, const Numbers& at) -> double {
    const double slope = v > 0 ? 0.5 / std::sqrt(v) * at[0] + 1 / v : at[2];
    const double shared[]{v > 0 ? std::sqrt(v) : 0, v > 0 ? 1 / at[1] : 0, v > 0 ? 0 : v, 0};
    return i < 0 ? slope : shared[i];
  };
  const Numbers at = numbers(x);
  Numbers want(4, 0);
  for (int j = 0; j < 4; ++j) {
    const double v = at[static_cast<std::size_t>(j)] - 0.4f;
    want[static_cast<std::size_t>(j)] += lane(v, -1, at);
    for (int i = 0; i < 4; ++i) want[static_cast<std::size_t>(i)] += lane(v, i, at);
  }
  expect_near(got, want);
}

TEST(ReverseNests, ScanOfCondOfWhile) {
  const auto f = [](const Array& x) {
    const auto [end, rows] = scan(
        [&](Array c, const Array& s) {
          const Array next = cond(
              s > 0,
              [&] {
                return while_loop([](const Array& v) { return v < 3; },
                                  [&](Array v) { return v * 1.5f + s * s; }, c * c,
                                  {.max_steps = 10});
              },
              [&] { return c * s + x[0]; });
          return std::pair{next * 0.3f, next};
        },
        x[1], x);
    return end + sum(rows);
  };
  expect_two_gradients(f, point);
}

TEST(ReverseNests, CommuteWithVmap) {
  // Every lane takes its own number of steps.
  const auto one = [](const Array& v) {
    return while_loop([](const Array& u) { return u < 5; }, [&](Array u) { return u * u + v; },
                      v * v + 1.1f, {.max_steps = 20});
  };
  const auto outside = [&](const Array& x) {
    return grad([&](const Array& v) { return sum(vmap(one)(v)); })(x);
  };
  const auto inside = [&](const Array& x) { return vmap(grad(one))(x); };
  expect_near(run(outside, point), run(inside, point));
  // A constant that lanes share, and a lane that takes no step.
  const auto shared = [](const Array& x) {
    return sum(vmap([&](const Array& v) {
      return while_loop([](const Array& u) { return u < 2; }, [&](Array u) { return u * x[3] + 1; },
                        v, {.max_steps = 9});
    })(x * 2));
  };
  expect_two_gradients(shared, point);
}

TEST(ReverseNests, FourthDerivative) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, Array c) { return c * x; }, x * x);  // x^5
  };
  const auto fourth = [&](const Array& x) { return grad(grad(grad(grad(f))))(x); };
  EXPECT_NEAR(run(fourth, f32(0.9))[0], 120 * 0.9, 1e-3);
}

TEST(ReverseNests, FourthDerivativesOfEveryKind) {
  for (const ForiOptions& options :
       {ForiOptions{.kind = LoopKind::stored}, ForiOptions{.kind = LoopKind::bounded},
        ForiOptions{.kind = LoopKind::checkpointed},
        ForiOptions{.kind = LoopKind::checkpointed, .checkpoints = 1}}) {
    const auto f = [&](const Array& x) {
      return fori_loop(
          0, 3, [&](const Array&, Array c) { return c * x; }, x * x, options);
    };
    const auto fourth = [&](const Array& x) { return grad(grad(grad(grad(f))))(x); };
    EXPECT_NEAR(run(fourth, f32(0.9))[0], 120 * 0.9, 1e-3);
  }
}

TEST(ReverseNests, VmapOfGradOfScanOfVmap) {
  const auto one = [](const Array& x, const Array& s) {
    const auto [end, rows] = scan(
        [&](Array c, const Array& u) {
          const Array next = vmap([&](const Array& v) {
            return while_loop([](const Array& w) { return w < 2; },
                              [&](Array w) { return w * 1.4f + u * u; }, v * v + 0.2f,
                              {.max_steps = 9});
          })(c);
          return std::pair{next * 0.4f + x[0], sum(next)};
        },
        sin(x), s);
    return sum(end * end) + sum(rows * s);
  };
  const HostArray x = f32({2, 3}, {0.3, -0.8, 1.1, 0.5, 0.9, -0.2}), s = f32({0.4, 1.2, -0.7});
  const auto back = [&](const Array& v, const Array& u) {
    return vmap(grad(one), {.in_axes = {0, unmapped}})(v, u);
  };
  const auto forward = [&](const Array& v, const Array& u) {
    return vmap([&](const Array& row) {
      return vmap([&](const Array& d) {
        return jvp([&](const Array& q) { return one(q, u); }, row, d).second;
      })(eye(3));
    })(v);
  };
  expect_near(run(back, x, s), run(forward, x, s));
}

// ---- what has no cotangent

TEST(ReverseActivity, WhatDoesNotMoveMayDoAnything) {
  struct S {
    Array x, still;
  };
  const auto f = [](const Array& x) {
    const S end = fori_loop(
        0, 5,
        [](const Array&, S s) {
          // A loop without a bound has no reverse mode.
          const Array next =
              while_loop([](const Array& v) { return v < 50; }, [](Array v) { return v * 2; },
                         s.still + 1, {.max_steps = unbounded});
          return S{sin(s.x) * next * 0.01f, next * 0.1f};
        },
        S{x, full({}, 1.0f)});
    return sum(end.x);
  };
  expect_gradient(f, point);
}

TEST(ReverseActivity, WhatTheResultDoesNotDependOnHasNoCotangent) {
  const auto cotangents = [](bool second) {
    const Graph g = graph_of(
        [&](const Array& x) {
          return grad([&](const Array& v) {
            const Both end = fori_loop(0, 9,
                                       [](const Array&, Both s) {
                                         return Both{sin(s.a), s.b * s.a};
                                       },
                                       Both{v, v * v}, {.kind = LoopKind::stored});
            return sum(second ? end.b : end.a);
          })(x);
        },
        point);
    int carried = 0;
    for (const Equation& e : g.equations)
      if (e.primitive->name == "scan") carried = e.params.as<ScanParams>().carried;
    return carried;
  };
  EXPECT_EQ(cotangents(true), 2);
  EXPECT_EQ(cotangents(false), 1);
}

TEST(ReverseNests, StatementsAreMadeOnce) {
  const auto f = [](const Array& x) {
    return grad([](const Array& v) {
      return fori_loop(
          0, 3,
          [](const Array&, Array c) {
            debug::print("{}", c);
            return c * c;
          },
          v);
    })(x);
  };
  const std::string text = print(graph_of(f, f32(1.1)));
  std::size_t statements = 0;
  for (std::size_t at = 0; (at = text.find(" print[", at)) != std::string::npos; ++at) ++statements;
  EXPECT_EQ(statements, 1u) << text;
}

TEST(ReverseNests, CompiledTheyMeanTheSame) {
  using namespace gnomon::testing;
  expect_function_lowers(
      [](const Array& x) { return grad([](const Array& v) { return sum(until_large(v)); })(x); },
      gnomon::testing::f32({4}));
  expect_function_lowers(
      [](const Array& x) {
        return grad([](const Array& v) {
          return sum(vmap([](const Array& u) {
            return while_loop([](const Array& w) { return w < 5; },
                              [&](Array w) { return w * 1.5f + u * u; }, u, {.max_steps = 12});
          })(v));
        })(x);
      },
      gnomon::testing::f32({37}));
  expect_function_lowers(
      [](const Array& x) {
        return grad([](const Array& v) {
          return sum(vmap([&](const Array& u) {
            return cond(
                u > 0, [&] { return sqrt(u) * v[3]; }, [&] { return u * u; });
          })(v));
        })(x);
      },
      gnomon::testing::f32({37}));
  expect_function_lowers(
      [](const Array& w, const Array& x) {
        return grad([&](const Array& m) {
          return sum(fori_loop(
              0, 5, [&](const Array&, Array c) { return tanh(matmul(m, c)); }, x));
        })(w);
      },
      gnomon::testing::f32({9, 9}), gnomon::testing::f32({9}));
}

}  // namespace
}  // namespace gnomon::test
