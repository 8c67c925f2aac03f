// tests/codegen/custom_test.cpp -- custom_jvp, custom_vjp, closure_convert and values without
// derivatives, through every transform.
#include "gnomon/custom.h"

#include "codegen/graph/text.h"
#include "codegen/optimize/expand.h"
#include "codegen/program/target.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/checkpoint.h"
#include "gnomon/jacobian.h"
#include "gnomon/partition.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

struct P {
  Array a, b;
  Array n;  // an integer
  int power = 2;
};

// Rules that are wrong on purpose show that they are used: ten times the derivative.
Array tenfold(const Array& x) {
  return custom_jvp([](const Array& v) { return sin(v); },
                    [](const Array& v, const Array& dv) {
                      return std::pair{sin(v), 10 * cos(v) * dv};
                    })(x);
}
Array tenfold_back(const Array& x) {
  return custom_vjp([](const Array& v) { return sin(v); },
                    [](const Array& v) {
                      return std::pair{sin(v), v};
                    },
                    [](const Array& v, const Array& dy) { return 10 * cos(v) * dy; })(x);
}

const HostArray point = f32({0.3, -0.8});
Numbers at_point(double factor, double (*f)(double)) {
  return {factor * f(0.3f), factor * f(-0.8f)};
}
double cosine(double x) { return std::cos(x); }
double minus_sine(double x) { return -std::sin(x); }

/// Every way to the derivative of an elementwise function.
template <class F>
void expect_everywhere(F f, const Numbers& first, const Numbers& second) {
  const auto total = [&](const Array& v) { return sum(f(v)); };
  const auto slope = [&](const Array& v) { return jvp(f, v, ones_like(v)).second; };
  expect_near(run(f, point), {std::sin(0.3f), std::sin(-0.8f)});
  expect_near(run(slope, point), first);
  expect_near(run([&](const Array& v) { return grad(total)(v); }, point), first);
  expect_near(run([&](const Array& v) { return vmap(grad(f))(v); }, point), first);
  expect_near(
      run([&](const Array& v) { return grad([&](const Array& u) { return sum(vmap(f)(u)); })(v); },
          point),
      first);
  expect_near(run(
                  [&](const Array& v) {
                    return vmap([&](const Array& u) { return jvp(f, u, ones({})).second; })(v);
                  },
                  point),
              first);
  const auto in_loop = [&](const Array& v) {
    return sum(scan(
                   [&](Array c, const Array& s) {
                     return std::pair{c + f(s), s};
                   },
                   full({}, 0.0f), v)
                   .first);
  };
  expect_near(run([&](const Array& v) { return grad(in_loop)(v); }, point), first);
  const auto in_while = [&](const Array& v) {
    return sum(while_loop([](const P& p) { return p.n < 1; },
                          [&](P p) {
                            return P{p.a, f(p.a), p.n + 1};
                          },
                          P{v, zeros_like(v), full({}, 0)}, {.max_steps = 3})
                   .b);
  };
  expect_near(run([&](const Array& v) { return grad(in_while)(v); }, point), first);
  const auto in_branch = [&](const Array& v) {
    return cond(
        v > 0, [&] { return f(v); }, [&] { return f(v) + 1; });
  };
  expect_near(run([&](const Array& v) { return vmap(grad(in_branch))(v); }, point), first);
  // Second derivatives are those of the rule.
  expect_near(run([&](const Array& v) { return vmap(grad(grad(f)))(v); }, point), second);
  expect_near(run([&](const Array& v) { return hvp(total, v, ones_like(v)); }, point), second);
  expect_near(
      run([&](const Array& v) { return grad([&](const Array& u) { return sum(slope(u)); })(v); },
          point),
      second);
  expect_near(run(
                  [&](const Array& v) {
                    return grad([&](const Array& u) { return sum(grad(in_loop)(u)); })(v);
                  },
                  point),
              second);
}

TEST(CustomJvp, IsTheDerivativeEverywhere) {
  expect_everywhere(tenfold, at_point(10, cosine), at_point(10, minus_sine));
}

TEST(CustomJvp, TheFunctionsOwnResultHasTheRulesDerivative) {
  // dy = 2 y dx, so the second derivative is 4 y.
  const auto f = [](const Array& x) {
    return custom_jvp([](const Array& v) { return exp(v); },
                      [](const Array&, const Array& y, const Array& dv) { return 2 * y * dv; })(x);
  };
  expect_near(run([&](const Array& v) { return grad(f)(v); }, f32(0.5)), {2 * std::exp(0.5)});
  expect_near(run([&](const Array& v) { return grad(grad(f))(v); }, f32(0.5)), {4 * std::exp(0.5)});
  expect_near(run([&](const Array& v) { return jacfwd(jacfwd(f))(v); }, f32(0.5)),
              {4 * std::exp(0.5)});
}

TEST(CustomJvp, TakesTreesSeveralArgumentsAndStaticValues) {
  const auto f = custom_jvp(
      [](const P& p, const Array& x) {
        return std::pair{p.a * p.b * x * static_cast<float>(p.power), p.n + 1};
      },
      [](const std::tuple<P, Array>& in, const std::pair<Array, Array>&,
         const std::tuple<P, Array>& d) {
        const auto& [p, x] = in;
        const auto& [dp, dx] = d;
        EXPECT_TRUE(dp.n.is_hole());
        EXPECT_EQ(p.power, 5);
        return std::pair{100 * (dp.a * p.b * x + p.a * dp.b * x) + p.a * p.b * dx, Array::hole()};
      });
  const auto g = [&](const Array& a, const Array& b, const Array& n, const Array& x) {
    const P at{a, b, n, 5};
    const auto loss = [&](const std::pair<P, Array>& all) {
      return sum(f(all.first, all.second).first);
    };
    const auto [dp, dx] = grad(loss)(std::pair{at, x});
    EXPECT_TRUE(dp.n.is_hole());
    return std::tuple{f(at, x).first, f(at, x).second, dp.a, dp.b, dx};
  };
  const auto out = run_all(g, f32({1, 2}), f32(3), i32(7), f32({1, 10}));
  EXPECT_EQ(out, (std::vector<Numbers>{{15, 300}, {8}, {300, 3000}, {2100}, {3, 6}}));
}

TEST(CustomJvp, SaysWhatMoves) {
  const auto f =
      custom_jvp([](const Array& x, const Array& y) { return x * y; },
                 [](const std::tuple<Array, Array>& in, const Array&,
                    const std::tuple<Array, Array>& d, const std::tuple<Array, Array>& perturbed) {
                   const auto& [x, y] = in;
                   return std::get<0>(d) * y + std::get<1>(d) * x +
                          where(std::get<1>(perturbed), full({}, 1000.0f), full({}, 0.0f));
                 });
  const auto only_x = [&](const Array& x, const Array& y) {
    return jvp([&](const Array& v) { return f(v, y); }, x, ones({})).second;
  };
  const auto both = [&](const Array& x) {
    return jvp([&](const Array& v) { return f(v, v); }, x, ones({})).second;
  };
  EXPECT_EQ(run(only_x, f32(2), f32(3)), Numbers{3});
  EXPECT_EQ(run(both, f32(2)), Numbers{1004});
}

TEST(CustomJvp, MayCaptureWhatDoesNotMove) {
  const auto f = [](const Array& x, const Array& k) {
    const auto scaled = custom_jvp([&](const Array& v) { return v * k; },
                                   [&](const Array& v, const Array& dv) {
                                     return std::pair{v * k, 7 * k * dv};
                                   });
    return std::pair{grad([&](const Array& v) { return scaled(v); })(x),
                     vmap([&](const Array& v) { return grad(scaled)(v); })(stack({x, x}))};
  };
  EXPECT_EQ(run_all(f, f32(2), f32(3)), (std::vector<Numbers>{{21}, {21, 21}}));
  const auto captured = [](const Array& x) {
    return grad([](const Array& k) {
      return custom_jvp([&](const Array& v) { return v * k; },
                        [&](const Array& v, const Array& dv) {
                          return std::pair{v * k, k * dv};
                        })(full({}, 2.0f));
    })(x);
  };
  const std::string message = usage_error_of(captured, f32(2));
  EXPECT_THAT(message, HasSubstr("gnomon::custom_jvp: the function or a rule of it captured an "
                                 "array that is differentiated in"));
  EXPECT_THAT(message, HasSubstr("(custom_test.cpp:"));
}

TEST(CustomJvp, ShowsBothStructures) {
  const auto f = [](const Array& x) {
    return custom_jvp(
        [](const Array& v) {
          return P{v, sum(v), full({}, 1)};
        },
        [](const Array&, const P& y, const Array& dv) {
          return P{dv, dv, y.n};
        })(x);
  };
  const std::string message = usage_error_of(f, f32({1, 2}));
  EXPECT_THAT(message, HasSubstr("gnomon::custom_jvp: the function gives `y.a` f32[2], `y.b` "
                                 "f32[], `y.n` i32[] and the rule's tangent `y.a` f32[2], `y.b` "
                                 "f32[2], `y.n` i32[]; they need the same arrays"));
  EXPECT_THAT(message, HasSubstr("(custom_test.cpp:"));
}

TEST(CustomJvp, ARuleThatIsNotLinearHasNoReverseMode) {
  const auto f = [](const Array& x) {
    return grad(custom_jvp([](const Array& v) { return v; },
                           [](const Array&, const Array&, const Array& dv) { return sin(dv); }))(x);
  };
  EXPECT_THAT(usage_error_of(f, f32(1)), HasSubstr("`sin` is not linear"));
}

TEST(CustomJvp, VmapOfSomeArguments) {
  const auto f = custom_jvp(
      [](const Array& x, const Array& w) { return x * w; },
      [](const std::tuple<Array, Array>& in, const Array&, const std::tuple<Array, Array>& d) {
        return 10 * (std::get<0>(d) * std::get<1>(in) + std::get<0>(in) * std::get<1>(d));
      });
  const auto loss = [&](const Array& w, const Array& x) {
    return sum(vmap(f, {.in_axes = {0, unmapped}})(x, w));
  };
  EXPECT_EQ(
      run([&](const Array& w, const Array& x) { return grad(loss)(w, x); }, f32(3), f32({1, 2, 4})),
      Numbers{70});
}

// ---- custom_vjp

TEST(CustomVjp, IsTheDerivativeEverywhere) {
  expect_everywhere(tenfold_back, at_point(10, cosine), at_point(10, minus_sine));
}

TEST(CustomVjp, TheFunctionsOwnResultHasTheRulesDerivative) {
  const auto straight_through =
      custom_vjp([](const Array& v) { return round(v); },
                 [](const Array& v) {
                   return std::pair{round(v), std::tuple<>{}};
                 },
                 [](const std::tuple<>&, const Array& dy) { return 1 * dy; });
  const auto expect_two = [](const auto& f, const char* where) {
    SCOPED_TRACE(where);
    const auto square = [&](const Array& v) {
      const Array y = f(v);
      return sum(y * y);
    };
    const auto second = [&](const Array& v) {
      return grad([&](const Array& u) { return sum(grad(square)(u)); })(v);
    };
    expect_near(run(second, point), {2, 2});
  };
  expect_two(straight_through, "a call");
  expect_two(vmap(straight_through), "each element's");
  expect_two(checkpoint(straight_through), "a checkpoint");
  expect_two(
      [&](const Array& v) { return cond(sum(v) < 9, straight_through, straight_through, v); },
      "a branch");
  for (const int unroll : {0, 1})
    expect_two(
        [&](const Array& v) {
          return fori_loop(0, 2, [&](const Array&, const Array& u) { return straight_through(u); },
                           v, {.unroll = unroll});
        },
        "a loop");
}

TEST(CustomVjp, TheForwardPassRunsOnce) {
  const auto doubled = custom_vjp(
      [](const Array& v) {
        return fori_loop(
            0, 9, [](const Array&, Array u) { return 2 * u; }, v);
      },
      [](const Array& v) {
        const auto end = fori_loop(
            0, 9,
            [](const Array& i, P p) {
              return P{2 * p.a, p.b + cos(p.a), p.n + i};
            },
            P{v, v, full({}, 0)});
        return std::pair{end.a, end.b};
      },
      [](const Array& seen, const Array& dy) { return dy * seen; });
  const auto both = [&](const Array& v) {
    return value_and_grad([&](const Array& u) { return sum(sin(doubled(u))); })(v);
  };
  const Graph g = simplify(expand(graph_of(both, point), Target{}));
  EXPECT_EQ(count_equations(g, "scan") + count_equations(g, "while"), 1) << print(g);
}

TEST(CustomVjp, ClipsAGradientInLoopsToo) {
  const auto clipped = custom_vjp([](const Array& v) { return v; },
                                  [](const Array& v) {
                                    return std::pair{v, None{}};
                                  },
                                  [](const None&, const Array& dy) { return clip(dy, -1, 1); });
  const auto f = [&](const Array& x) {
    return grad([&](const Array& v) { return sum(clipped(v) * 5 + v); })(x);
  };
  EXPECT_EQ(run(f, f32({1, 2})), (Numbers{2, 2}));
  const auto looped = [&](const Array& x) {
    return grad([&](const Array& v) {
      return fori_loop(
          0, 3, [&](const Array&, Array c) { return clipped(c) * 5; }, v);
    })(x);
  };
  EXPECT_EQ(run(looped, f32(1)), Numbers{1});
  const auto forward = [&](const Array& x) { return jvp(clipped, x, x).second; };
  const std::string message = usage_error_of(forward, f32(1));
  EXPECT_THAT(message, HasSubstr("gnomon::custom_vjp: forward mode is the transpose of the "
                                 "backward pass, which has to be linear"));
  EXPECT_THAT(message, HasSubstr("(custom_test.cpp:"));
}

TEST(CustomVjp, SharedArgumentsGetTheSumOverElements) {
  // Residuals, a part without one, and a cotangent that does not depend on the element.
  const auto f =
      custom_vjp([](const Array& x, const Array& w, const Array& b) { return x * w + b; },
                 [](const Array& x, const Array& w, const Array& b) {
                   return std::pair{x * w + b, std::pair{x, w}};
                 },
                 [](const std::pair<Array, Array>& kept, const Array& dy) {
                   return std::tuple{dy * kept.second, dy * kept.first, dy};
                 });
  const auto loss = [&](const std::tuple<Array, Array>& wb, const Array& x) {
    const auto& [w, b] = wb;
    return sum(vmap(f, {.in_axes = {0, unmapped, unmapped}})(x, w, b));
  };
  const auto g = [&](const Array& x, const Array& w, const Array& b) {
    return grad(loss)(std::tuple{w, b}, x);
  };
  EXPECT_EQ(run_all(g, f32({1, 2, 4}), f32(3), f32(5)), (std::vector<Numbers>{{7}, {3}}));
}

TEST(CustomVjp, SaysWhatMoves) {
  const auto f = custom_vjp(
      [](const P& p) { return p.a * p.b; },
      [](const P& p, const P& perturbed) {
        EXPECT_TRUE(perturbed.n.is_hole());
        return std::pair{p.a * p.b, p};
      },
      [](const P& p, const Array& dy, const P& perturbed) {
        return P{dy * p.b, where(perturbed.a, 100 * dy, dy * p.a), Array::hole(), p.power};
      });
  const auto g = [&](const Array& a, const Array& b, const Array& n) {
    const Array only_b = grad([&](const Array& v) { return f(P{a, v, n}); })(b);
    const P both = grad(f)(P{a, b, n});
    return std::tuple{only_b, both.a, both.b};
  };
  EXPECT_EQ(run_all(g, f32(2), f32(3), i32(0)), (std::vector<Numbers>{{2}, {3}, {100}}));
}

TEST(CustomVjp, ShowsBothStructures) {
  const auto wrong_back = [](const Array& x) {
    return custom_vjp([](const Array& v) { return sum(v); },
                      [](const Array& v) {
                        return std::pair{sum(v), None{}};
                      },
                      [](const None&, const Array& dy) { return dy; })(x);
  };
  EXPECT_THAT(usage_error_of(wrong_back, f32({1, 2})),
              HasSubstr("gnomon::custom_vjp: the argument is `x` f32[2] and the backward pass's "
                        "cotangent `x` f32[]"));
  const auto wrong_forward = [](const Array& x) {
    return custom_vjp([](const Array& v) { return sum(v); },
                      [](const Array& v) {
                        return std::pair{v, None{}};
                      },
                      [](const None&, const Array& dy) { return dy; })(x);
  };
  EXPECT_THAT(usage_error_of(wrong_forward, f32({1, 2})),
              HasSubstr("the function gives `y` f32[] and the forward pass `y` f32[2]"));
}

TEST(StopGradient, HoldsInSecondDerivativesOfLoops) {
  // d/dx of (3 x stop(x)^2) is 3 stop(x)^2; of that again 0.
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, Array c) { return c + x * square(stop_gradient(x)); },
        full({}, 0.0f));
  };
  EXPECT_EQ(run([&](const Array& x) { return grad(f)(x); }, f32(2)), Numbers{12});
  EXPECT_EQ(run([&](const Array& x) { return grad(grad(f))(x); }, f32(2)), Numbers{0});
}

// ---- values without derivatives

TEST(Nondifferentiable, SaysItsName) {
  const auto f = [](const Array& x) { return nondifferentiable(x * x, "the seed") + x; };
  EXPECT_EQ(run(f, f32(3)), Numbers{12});
  EXPECT_EQ(run([&](const Array& x) { return vmap(f)(x); }, f32({3, 1})), (Numbers{12, 2}));
  for (const bool forward : {true, false}) {
    const auto g = [&](const Array& x) { return forward ? jvp(f, x, x).second : grad(f)(x); };
    const std::string message = usage_error_of(g, f32(3));
    EXPECT_THAT(message, HasSubstr("gnomon::nondifferentiable: `the seed` is not differentiable, "
                                   "and is differentiated here"));
    EXPECT_THAT(message, HasSubstr("(custom_test.cpp:"));
  }
  const auto stopped = [&](const Array& x) {
    return grad([&](const Array& v) { return nondifferentiable(stop_gradient(v)) * v; })(x);
  };
  EXPECT_EQ(run(stopped, f32(3)), Numbers{3});
}

TEST(NondifferentiableBackward, LetsForwardModePass) {
  const auto f = [](const Array& x) { return nondifferentiable_backward(x * x, "w"); };
  EXPECT_EQ(run([&](const Array& x) { return jvp(f, x, x).second; }, f32(3)), Numbers{18});
  EXPECT_THAT(
      usage_error_of([&](const Array& x) { return grad(f)(x); }, f32(3)),
      HasSubstr("gnomon::nondifferentiable_backward: `w` has no derivative in reverse mode"));
}

// ---- custom_vmap

TEST(CustomVmap, TheRuleIsAsked) {
  const auto f = custom_vmap(
      [](const P& p, const Array& x) {
        return std::pair{p.a * x * static_cast<float>(p.power), p.n};
      },
      [](Dim size, const std::vector<bool>& batched, const P& p, const Array& x) {
        EXPECT_EQ(size, 3);
        EXPECT_EQ(batched, (std::vector<bool>{false, false, true, true}));
        EXPECT_EQ(p.power, 7);
        return std::pair{p.a * x * 1000, p.n};
      });
  const auto g = [&](const Array& a, const Array& n, const Array& x) {
    const auto one = [&](const Array& m, const Array& y) { return f(P{a, a, m, 7}, y); };
    return std::tuple{
        one(n[0], x[0]).first, vmap(one)(n, x),
        vmap(grad([&](const Array& y, const Array& m) { return one(m, y).first; }))(x, n)};
  };
  EXPECT_EQ(run_all(g, f32(2), i32({1, 2, 3}), f32({1, 2, 4})),
            (std::vector<Numbers>{{14}, {2000, 4000, 8000}, {1, 2, 3}, {14, 14, 14}}));
}

TEST(CustomVmap, ItsResultIsVmappedFurther) {
  const auto f =
      custom_vmap([](const Array& x) { return x * x; },
                  [](Dim, const std::vector<bool>&, const Array& x) { return x * x + sum(x); });
  const auto g = [&](const Array& x) { return vmap(vmap(f))(x); };
  EXPECT_EQ(run(g, f32({2, 2}, {1, 2, 3, 4})), (Numbers{4, 7, 16, 23}));
}

TEST(CustomVmap, ExplainsMisuse) {
  const auto wrong = [](const Array& x) {
    return vmap(custom_vmap([](const Array& v) { return v; },
                            [](Dim, const std::vector<bool>&, const Array& v) { return sum(v); }))(
        x);
  };
  EXPECT_THAT(usage_error_of(wrong, f32({1, 2})),
              HasSubstr("gnomon::custom_vmap: array 0 of the rule's result is f32[] and 2 elements "
                        "of the function's are f32[2]"));
  const auto captures = [](const Array& x, const Array& k) {
    return custom_vmap([&](const Array& v) { return v * k; },
                       [](Dim, const std::vector<bool>&, const Array& v) { return v; })(x);
  };
  EXPECT_THAT(usage_error_of(captures, f32(1), f32(2)), HasSubstr("the function captured a f32[]"));
}

// ---- closure_convert

TEST(ClosureConvert, MakesCapturesAnArgument) {
  const auto f = [](const Array& x, const Array& k) {
    const auto scaled = [&](const P& p) { return p.a * k + p.b; };
    const auto converted = closure_convert(scaled, P{x, x, full({}, 0)});
    EXPECT_EQ(converted.captures.size(), 1u);
    const P at{x, x + 1, full({}, 1)};
    const Array direct = converted(converted.captures, at);
    const std::vector<Array> g =
        grad([&](const std::vector<Array>& c) { return converted(c, at); })(converted.captures);
    return std::tuple{direct, g[0]};
  };
  EXPECT_EQ(run_all(f, f32(2), f32(5)), (std::vector<Numbers>{{13}, {2}}));
  const auto wrong = [](const Array& x, const Array& k) {
    const auto converted = closure_convert([&](const Array& v) { return v * k; }, x);
    return converted(converted.captures, stack({x, x}));
  };
  EXPECT_THAT(usage_error_of(wrong, f32(2), f32(5)),
              HasSubstr("gnomon::closure_convert: argument 0 had f32[] and has f32[2]"));
}

}  // namespace
}  // namespace gnomon::test
