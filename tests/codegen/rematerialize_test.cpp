// tests/codegen/rematerialize_test.cpp -- checkpoint, its policies and optimization_barrier: the
// same numbers, fewer values kept.
#include "gnomon/checkpoint.h"

#include "codegen/compile/pipeline.h"
#include "codegen/optimize/expand.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/custom.h"
#include "gnomon/debug.h"
#include "gnomon/jacobian.h"
#include "gnomon/linalg.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

/// What is compiled.
template <class F, class... H>
Graph compiled_graph(F&& f, const H&... inputs) {
  return simplify(expand(graph_of(f, inputs...), Target{}));
}

const HostArray weights = f32({2, 2}, {0.5, -0.3, 0.8, 0.2});
const HostArray scaled_point = f32({0.3, -0.8});

Array layer(const Array& w, const Array& x) {
  return tanh(checkpoint_name(matmul(w, x), "product"));
}
Array chain(const Array& w, const Array& x) { return sum(sin(layer(w, layer(w, layer(w, x))))); }

const std::vector<CheckpointOptions>& policies() {
  static const std::vector<CheckpointOptions> all{{},
                                                  {.keep = Keep::products},
                                                  {.keep = Keep::everything},
                                                  {.names = {"product"}},
                                                  {.keep = Keep::products, .names = {"other"}}};
  return all;
}

TEST(Checkpoint, ChangesNoNumber) {
  const Numbers value = run(chain, weights, scaled_point);
  const auto by_grad = [](const auto& f) {
    return [&](const Array& w, const Array& x) { return grad(f)(w, x); };
  };
  const Numbers gradient = run(by_grad(chain), weights, scaled_point);
  const auto second = [](const auto& f) {
    return [&](const Array& w, const Array& x) {
      const auto of_w = [&](const Array& v) { return f(v, x); };
      return std::tuple{hessian(of_w)(w), jacrev(jacrev(of_w))(w), jvp(of_w, w, w).second,
                        vmap(grad(of_w))(stack({w, 2 * w}))};
    };
  };
  const auto plain = run_all(second(chain), weights, scaled_point);
  for (const CheckpointOptions& o : policies()) {
    const auto whole = checkpoint(chain, o);
    const auto parts = [&](const Array& w, const Array& x) {
      const auto one = checkpoint(layer, o);
      return checkpoint(
          [&](const Array& v, const Array& y) { return sum(sin(one(v, one(v, one(v, y))))); }, o)(
          w, x);
    };
    EXPECT_EQ(run(whole, weights, scaled_point), value);
    expect_near(run(by_grad(whole), weights, scaled_point), gradient);
    expect_near(run(by_grad(parts), weights, scaled_point), gradient);
    const auto again = run_all(second(whole), weights, scaled_point);
    for (std::size_t i = 0; i < plain.size(); ++i) expect_near(again[i], plain[i], 1e-4);
    const auto nested = run_all(second(parts), weights, scaled_point);
    for (std::size_t i = 0; i < plain.size(); ++i) expect_near(nested[i], plain[i], 1e-4);
  }
}

TEST(Checkpoint, ComputesAgainWhatItDoesNotKeep) {
  const auto counts = [](const CheckpointOptions& o) {
    const Graph g = compiled_graph(
        [&](const Array& w, const Array& x) { return grad(checkpoint(chain, o))(w, x); }, weights,
        scaled_point);
    return std::pair{count_equations(g, "tanh"), count_equations(g, "dot_general")};
  };
  const Graph plain = compiled_graph(
      [](const Array& w, const Array& x) { return grad(chain)(w, x); }, weights, scaled_point);
  const int products = count_equations(plain, "dot_general");
  EXPECT_EQ(count_equations(plain, "tanh"), 3);
  // A gradient needs no value, so what is kept is all that the forward pass is there for.
  EXPECT_EQ(counts({.keep = Keep::everything}), (std::pair{3, products}));
  EXPECT_EQ(counts({.keep = Keep::products}), (std::pair{2 + 3, products}));
  EXPECT_EQ(counts({.names = {"product"}}), (std::pair{2 + 3, products}));
  const auto value_too = [](const Array& w, const Array& x) {
    return value_and_grad(checkpoint(chain))(w, x).grad +
           value_and_grad(checkpoint(chain))(w, x).value;
  };
  EXPECT_EQ(count_equations(compiled_graph(value_too, weights, scaled_point), "tanh"), 3 + 3);
}

// A backward pass names gradients of weights at its end. If they were computed there, what they
// read, an activation and a cotangent each, would be kept until then.
TEST(FreeEarly, GradientsOfWeightsDoNotWaitForTheEnd) {
  constexpr Dim rows = 256, width = 64, layers = 6;
  const auto f = [](const Array& x, const Array& a, const Array& b, const Array& c, const Array& d,
                    const Array& e, const Array& g) {
    return grad([&](const std::vector<Array>& all) {
      Array v = x;
      for (const Array& w : all) v = tanh(matmul(v, w));
      return mean(square(v));
    })(std::vector<Array>{a, b, c, d, e, g});
  };
  const HostArray w(Aval{DType::f32, {width, width}});
  const Graph graph = graph_of(f, HostArray(Aval{DType::f32, {rows, width}}), w, w, w, w, w, w);
  constexpr std::uint64_t activation = rows * width * 4;
  // Six activations, and two cotangents; CPU drivers put products of few elements together.
  EXPECT_LT(compile(graph, Target::gpu()).arena_bytes, (layers + 3) * activation);
  EXPECT_LT(compile(graph, Target::lavapipe()).arena_bytes, 2 * layers * activation);
}

TEST(Checkpoint, GoesThroughLoopsBranchesAndVmap) {
  const auto f = [](const auto& step) {
    return [&](const Array& w, const Array& x) {
      return grad([&](const Array& v) {
        const Array end = scan(
                              [&](Array c, const Array& s) {
                                return std::pair{step(v, c) * s, None{}};
                              },
                              x, x)
                              .first;
        return sum(vmap([&](const Array& e) {
          return cond(
              e > 0,
              [&] {
                return sum(step(v, stack({e, e})));
              },
              [&] { return e * e; });
        })(end));
      })(w);
    };
  };
  const Numbers plain = run(f(layer), weights, scaled_point);
  for (const CheckpointOptions& o : policies())
    expect_near(run(f(checkpoint(layer, o)), weights, scaled_point), plain);
}

TEST(Checkpoint, SpeaksOnce) {
  const auto f = [](const Array& x) {
    return grad(checkpoint([](const Array& v) {
      debug::print("{}", v);
      return sin(sin(v));
    }))(x);
  };
  EXPECT_EQ(count_equations(graph_of(f, f32(1)), "print"), 1);
  EXPECT_NEAR(run(f, f32(1))[0], std::cos(std::sin(1)) * std::cos(1), 1e-6);
}

TEST(Checkpoint, HoldsCustomRulesAndCaptures) {
  const auto f = [](const Array& x, const Array& k) {
    const auto inner = custom_vjp([](const Array& v) { return sin(v); },
                                  [](const Array& v) {
                                    return std::pair{sin(v), v};
                                  },
                                  [](const Array& v, const Array& dy) { return 10 * v * dy; });
    return std::pair{grad(checkpoint([&](const Array& v) { return inner(v * k); }))(x),
                     grad([&](const Array& c) {
                       return checkpoint([&](const Array& v) { return inner(v * c); })(x);
                     })(k)};
  };
  EXPECT_EQ(run_all(f, f32(2), f32(3)), (std::vector<Numbers>{{180}, {120}}));
}

TEST(OptimizationBarrier, KeepsTwoComputationsApart) {
  const auto f = [](const Array& x) { return sin(x) + sin(optimization_barrier(x)); };
  EXPECT_EQ(count_equations(compiled_graph(f, scaled_point), "sin"), 2);
  expect_near(
      run([&](const Array& x) { return grad([&](const Array& v) { return sum(f(v)); })(x); },
          scaled_point),
      {2 * std::cos(0.3), 2 * std::cos(0.8)});
  const auto both = [](const Array& x) {
    const auto [a, b] = optimization_barrier(std::pair{x, sum(x)});
    return std::pair{a * 2, b};
  };
  EXPECT_EQ(run_all(both, f32({1, 2})), (std::vector<Numbers>{{2, 4}, {3}}));
  expect_near(run([&](const Array& x) { return jacfwd(f)(x); }, scaled_point),
              run([&](const Array& x) { return jacrev(f)(x); }, scaled_point));
}

}  // namespace
}  // namespace gnomon::test
