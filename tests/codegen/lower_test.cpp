// tests/codegen/lower_test.cpp -- compiled programs mean what their graphs mean, kernel by kernel
// on the host.
#include "tests/support/lowering.h"

#include <gmock/gmock.h>

#include "gnomon/control.h"
#include "gnomon/cumulative.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/sorting.h"
#include "gnomon/sparse.h"
#include "gnomon/transform.h"

namespace gnomon::testing {
namespace {

Program compiled(const Graph& g, const Target& t = Target::lavapipe()) {
  return compile(g, t, {.keep_text = true});
}

template <class F, class... A>
Graph graph_of(F f, const A&... avals) {
  Trace outer;
  return make_graph(f, outer.input(avals)...).graph;
}

TEST(Lower, ComputesAnElementwiseChainInOneKernel) {
  const auto f = [](const Array& x) { return sin(x) * exp(-square(x)) + x / 2; };
  expect_function_lowers(f, f32({1000}));
  EXPECT_EQ(compiled(graph_of(f, f32({1000}))).kernels.size(), 1u);
}

TEST(Lower, BroadcastsAndPermutes) {
  expect_function_lowers([](const Array& x, const Array& y) { return transpose(x) + y * 2; },
                         f32({5, 7}), f32({5}));
  expect_function_lowers([](const Array& x) { return x + 1; }, f32({}));
  expect_function_lowers(
      [](const Array& x) {
        return concatenate({x, flip(x, 0), x * 2}, 0);
      },
      f32({3, 4}));
}

// The position within the view is known in the branch that asks, the same as a flat one outside.
TEST(Lower, ComputesViewsOutsideTheBranchesThatAskForThem) {
  const Graph g = parse_graph(R"(graph(%0: f32[6,5], %1: f32[6,5,3], %2: f32[6]) {
    %3: f32[6,5] = broadcast[shape=[6,5] axes=(0)] %2
    %4: f32[6,5] = min %3 %0
    %5: f32[6,5,3] = broadcast[shape=[6,5,3] axes=(0,1)] %4
    %6: f32[6,5,3] = linear_recurrence[axis=2 reverse=true] %1 %5
    return %6
  })");
  std::vector<HostArray> inputs;
  for (const Aval& a : g.input_avals()) inputs.push_back(random_array(a, 7));
  expect_lowering(g, inputs);
}

TEST(Lower, ReducesShortAndLongAxes) {
  expect_function_lowers([](const Array& x) { return sum(x, 1) + max(x); }, f32({6, 40}));
  // Whole numbers: stages add in another order, and f32 adds these exactly in any.
  expect_function_lowers([](const Array& x) { return sum(round(x * x)); }, f32({20000}));
  expect_function_lowers(
      [](const Array& x) {
        return sum(round(x * 4), {0, 2});
      },
      f32({30, 2, 400}));
}

TEST(Lower, MultipliesMatrices) {
  expect_function_lowers([](const Array& a, const Array& b) { return matmul(sin(a), b) - 1; },
                         f32({17, 9}), f32({9, 16}));
}

TEST(Lower, RunsAScalarLoop) {
  expect_function_lowers(
      [](const Array& x) {
        return while_loop([](const Array& v) { return v < 100.0f; },
                          [](Array v) { return v * 1.5f + 1; }, abs(x), {.max_steps = 50});
      },
      f32({}));
}

TEST(Lower, RunsAVmappedLoopInOneKernelWithAnEpilogue) {
  const auto f = [](const Array& xs) {
    const Array n = vmap([](const Array& x) {
      return while_loop([](const Array& v) { return v < 100.0f; },
                        [](Array v) { return v * 1.5f + 1; }, abs(x), {.max_steps = 50});
    })(xs);
    return n * 2 + xs;
  };
  expect_function_lowers(f, f32({37}));
  const Program p = compiled(graph_of(f, f32({256})));
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
}

struct Pair {
  Array a, b;
};

TEST(Lower, KeepsSmallVectorsOfALaneInScalars) {
  const auto f = [](const Array& xs) {
    return vmap([](const Array& x) {
      return fori_loop(
          0, 5,
          [](const Array& i, Array v) {
            return stack({v[1] + cast(i, DType::f32), v[2] * 0.5f, v[0] - v[1]}, 0);
          },
          x);
    })(xs);
  };
  expect_function_lowers(f, f32({10, 3}));
  const Program p = compiled(graph_of(f, f32({256, 3})));
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  EXPECT_EQ(p.kernels[0].privates.size(), 0u);
}

TEST(Lower, StacksRowsOfAScan) {
  const auto f = [](const Array& xs) {
    auto [last, rows] = scan(
        [](Array c, const Array& x) {
          const Array n = c + x;
          return std::pair{n, n * 2};
        },
        Array(zeros({})), xs);
    return Pair{last, rows};
  };
  expect_function_lowers(f, f32({20}));
  expect_function_lowers([&](const Array& xs) { return vmap(f)(xs); }, f32({6, 20}));
}

TEST(Lower, RunsALoopThatMixesItsLanesSequentially) {
  expect_function_lowers(
      [](const Array& a, const Array& x) {
        return fori_loop(
            0, 4, [&](const Array&, Array v) { return matmul(a, v) / 3; }, x);
      },
      f32({5, 5}), f32({5}));
  expect_function_lowers(
      [](const Array& x) {
        return while_loop([](const Array& v) { return sum(v) < 1000.0f; },
                          [](Array v) { return v + sum(abs(v)) + 1; }, x, {.max_steps = 30});
      },
      f32({100}));
}

TEST(Lower, MixesLoopsReductionsAndProducts) {
  const auto f = [](const Array& rho) {
    const auto decay = [](const Array& r) {
      return fori_loop(
          0, 10, [&](const Array&, Array v) { return v - 0.1f * r * v; }, Array(ones({})));
    };
    const Array first = vmap(decay)(rho);
    const Array m = mean(first);
    const Array second = vmap([&](const Array& x) {
      return fori_loop(
          0, 6, [&](const Array&, Array v) { return v + 0.1f * (m - v); }, x);
    })(first);
    const Array a = reshape(second, {16, 16});
    return matmul(a, a);
  };
  expect_function_lowers(f, f32({256}));
  const Program p = compiled(graph_of(f, f32({256})));
  EXPECT_LE(p.kernels.size(), 5u) << p.fusion_text;
}

TEST(Lower, BranchesPerElementAndPerLane) {
  expect_function_lowers(
      [](const Array& p, const Array& x) {
        return cond(
            sum(p) > 0, [](const Array& v) { return sin(v); }, [](const Array& v) { return v * 2; },
            x);
      },
      f32({3}), f32({50}));
  expect_function_lowers(
      [](const Array& xs) {
        return vmap([](const Array& x) {
          return cond(
              x > 0, [](const Array& v) { return sqrt(v); }, [](const Array& v) { return -v; }, x);
        })(xs);
      },
      f32({40}));
}

TEST(Lower, GathersAndScatters) {
  expect_function_lowers([](const Array& x, const Array& i) { return take(x, i); }, f32({8, 3}),
                         i32({11}));
  expect_function_lowers([](const Array& x, const Array& i) { return segment_sum(x * 2, i, 5); },
                         f32({60}), i32({60}));
  expect_function_lowers(
      [](const Array& z, const Array& from, const Array& to) {
        return vmap([&](const Array& v) { return segment_sum(take(v, from), to, 9); })(z);
      },
      f32({7, 9}), i32({50}), i32({50}));
}

TEST(Lower, WritesAHistoryInPlace) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 200,
        [](const Array& i, Pair c) {
          const Array next = c.a * 0.99f + 1;
          return Pair{next, dynamic_update_slice(c.b, reshape(next, {1}), {i})};
        },
        Pair{x, zeros({200})});
  };
  expect_function_lowers(f, f32({}));
  expect_function_lowers([&](const Array& xs) { return vmap(f)(xs); }, f32({5}));
}

std::size_t largest_kernel(const Program& p) {
  std::size_t n = 0;
  for (const kernel::Kernel& k : p.kernels) n = std::max(n, k.types.size());
  return n;
}

/// Element i is the composition of the maps x -> a x + b up to i.
Array composed(const Array& a, const Array& b) {
  using Maps = std::pair<Array, Array>;
  const auto after = [](const Maps& p, const Maps& q) {
    return Maps{p.first * q.first, q.first * p.second + q.second};
  };
  return associative_scan(after, Maps{a, b}).second;
}

// Every stage reads the one before at two positions: what is not stored doubles.
TEST(Lower, StoresTheStagesOfARunningResult) {
  const auto f = [](const Array& a, const Array& b) { return composed(a, flip(b, 0)); };
  expect_function_lowers(f, f32({63}), f32({63}));
  for (const auto& [name, target] : targets())
    EXPECT_LT(largest_kernel(compiled(graph_of(f, f32({1000}), f32({1000})), target)), 6000u)
        << name;
}

TEST(Lower, CutsABodyThatIsTooLargeForOneKernel) {
  const auto f = [](const Array& x) {
    const auto step = [](const Array& carried, const Array& row) {
      const Array slope = grad([](const Array& a) { return sum(prod(a, 1)); })(row);
      return std::pair{carried + sum(slope), row + row * slope};
    };
    const auto [last, rows] = scan(step, sum(x), x);
    return std::tuple{last, rows};
  };
  expect_function_lowers(f, f32({1, 4, 207}));
  for (const auto& [name, target] : targets())
    EXPECT_LT(largest_kernel(compiled(graph_of(f, f32({1, 4, 207})), target)), 20000u) << name;
}

// What a branch by lanes computes has no memory of its own, unless it becomes part of the graph.
TEST(Lower, OpensABranchOfTooManyTrips) {
  const auto f = [](const Array& which, const Array& x) {
    const auto places = [](const Array& v) {
      const Array counts = segment_sum(v, cast(abs(v) * 9, DType::i32), v.shape()[0]);
      return cast(searchsorted(sort(counts), v), DType::f32);
    };
    return cond(
        which > 0, places, [](const Array& v) { return v * 2; }, x);
  };
  const auto lanes = [&](const Array& which, const Array& x) { return vmap(f)(which, x); };
  const Graph g = graph_of(lanes, f32({4}), f32({4, 40}));
  Target target = Target::lavapipe();
  EXPECT_EQ(compiled(g, target).kernels.size(), 1u);
  target.loop_budget = 150;
  const Program p = compiled(g, target);
  EXPECT_GT(p.kernels.size(), 1u);
  const std::vector<HostArray> inputs{random_array(f32({4}), 1), random_array(f32({4, 40}), 2)};
  EXPECT_EQ(difference(run_on_host(p, inputs)[0], evaluate(g, inputs)[0], 0), "");
}

// A sum over the sums of sparse rows is one kernel as long as the driver lets it walk them all.
TEST(Lower, SumsOverSumsOfTooManyTripsGoThroughMemory) {
  constexpr Dim rows = 200, longest = 8;
  std::vector<HostArray> inputs{
      HostArray({DType::i32, {rows + 1}}), HostArray({DType::i32, {rows * longest}}),
      random_array(f32({rows * longest}), 1), random_array(f32({rows, 16}), 2)};
  for (Dim i = 0; i <= rows; ++i) inputs[0].set_integer(i, i * longest);
  for (Dim e = 0; e < rows * longest; ++e) inputs[1].set_integer(e, e * 7 % rows);
  using Use = Array (*)(const Array&);
  // By itself, written into an array, added to elements of one.
  for (const Use use :
       {Use([](const Array& s) { return s; }), Use([](const Array& s) {
          return dynamic_update_slice(ones({3, 16}), reshape(s, {1, 16}), {1, 0});
        }),
        Use([](const Array& s) { return segment_sum(s, cast(floor(s), DType::i32) % 4, 4); })}) {
    const auto f = [&](const Array& offsets, const Array& columns, const Array& v, const Array& x) {
      return use(sum(square(csr_matmul({offsets, columns, rows, longest}, v, x)), {0}));
    };
    const Graph g = graph_of(f, inputs[0].aval, inputs[1].aval, inputs[2].aval, inputs[3].aval);
    Target target = Target::lavapipe();
    const std::size_t together = compiled(g, target).kernels.size();
    target.loop_budget = 300;
    const Program p = compiled(g, target);
    EXPECT_GT(p.kernels.size(), together);
    EXPECT_EQ(difference(run_on_host(p, inputs)[0], evaluate(g, inputs)[0], 1e-5), "");
  }
}

TEST(Lower, CopiesInputsThatAreOutputs) {
  expect_function_lowers([](const Array& x) { return Pair{x, x}; }, f32({4}));
}

TEST(Lower, ALoopBeyondTheDriversBudgetIsNotOneKernel) {
  const Graph g = graph_of(
      [](const Array& x) {
        return while_loop([](const Array& v) { return v < 1e9f; }, [](Array v) { return v + 1; }, x,
                          {.max_steps = 100000});
      },
      f32({}));
  EXPECT_TRUE(compiled(g, Target::gpu()).gated.empty());
  EXPECT_FALSE(compiled(g, Target::lavapipe()).gated.empty());
}

}  // namespace
}  // namespace gnomon::testing
