// tests/codegen/write_once_test.cpp -- gradients of loops that write into buffers: right, and no
// buffer is kept or gone over by a step.
#include <algorithm>

#include "codegen/simplify/simplify.h"
#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

/// Elements of the largest array in the graph, those in loops included.
Dim largest(const Graph& g) {
  Dim n = 0;
  for (const Aval& a : g.avals) n = std::max(n, a.shape.size());
  for (const Equation& e : g.equations)
    for (const GraphPtr& inner : e.params.graphs()) n = std::max(n, largest(*inner));
  return n;
}

/// Elements that the steps of all loops compute beyond slices: what they read or write of arrays
/// of `n` elements and more is in place.
bool touches_whole(const Graph& g, Dim n, bool inside = false) {
  for (const Equation& e : g.equations) {
    const std::string_view op = e.primitive->name;
    const bool loop = op == "while" || op == "scan" || op == "cond";
    if (inside && !loop && op != "dynamic_update_slice")
      for (ValueId v : e.outputs)
        if (g.avals[v].shape.size() >= n) return true;
    for (const GraphPtr& inner : e.params.graphs())
      if (touches_whole(*inner, n, true)) return true;
  }
  return false;
}

using History = std::pair<Array, Array>;

/// Element i of a history follows from the two before it and x.
Array recurrence(const Array& x, Dim n, const ForiOptions& options) {
  const Array start = buffer({n + 2}).at(0).set(x[0]).at(1).set(x[1]);
  const auto step = [&](const Array& i, const Array& h) {
    return h.at(i + 2).set(0.9f * sin(h.at(i).get() * x[2]) + 0.2f * h.at(i + 1).get());
  };
  const Array end = fori_loop(0, n, step, start, options);
  return sum(end * end) + end.at(n).get();
}

const std::vector<ForiOptions> kinds{{},
                                     {.kind = LoopKind::stored},
                                     {.kind = LoopKind::bounded},
                                     {.kind = LoopKind::checkpointed},
                                     {.kind = LoopKind::checkpointed, .checkpoints = 2}};
const HostArray point = f32({0.3, -0.8, 1.1});

TEST(WriteOnce, RecurrencesHaveTheirGradients) {
  for (const Dim n : {1, 7, 70, 150})
    for (const ForiOptions& options : kinds)
      expect_gradient([&](const Array& x) { return recurrence(x, n, options); }, point);
}

TEST(WriteOnce, AndThoseOfTheirGradients) {
  for (const Dim n : {5, 40})
    for (const ForiOptions& options : kinds)
      expect_gradient(
          [&](const Array& x) {
            const auto f = [&](const Array& v) { return recurrence(v, n, options); };
            return sum(grad(f)(x) * sin(arange(3) + 1.0f));
          },
          point);
}

TEST(WriteOnce, NoStepKeepsABufferOrGoesOverIt) {
  constexpr Dim n = 4000;
  for (const ForiOptions& options : kinds) {
    const Graph g = simplify(graph_of(
        [&](const Array& x) {
          return grad([&](const Array& v) { return recurrence(v, n, options); })(x);
        },
        point));
    EXPECT_LE(largest(g), n + 2);
    EXPECT_FALSE(touches_whole(g, n)) << print(g);
  }
}

TEST(WriteOnce, RowsOnlyWrittenHaveConstantCotangents) {
  const auto f = [](const Array& x) {
    const History end = fori_loop(
        0, 90,
        [](const Array& i, const History& s) {
          return History{s.first.at(i).set(s.second), sin(s.second) * 1.1f};
        },
        History{buffer({90, 3}), x});
    return sum(end.first * end.first * 0.1f);
  };
  expect_gradient(f, point);
  const Graph g = simplify(graph_of([&](const Array& x) { return grad(f)(x); }, point));
  EXPECT_FALSE(touches_whole(g, 90 * 3)) << print(g);
}

TEST(WriteOnce, WhatComesBackToItsPlaceUnchangedIsNoWrite) {
  const auto f = [](const Array& x) {
    const auto step = [&](const Array& i, const History& s) {
      const Array here = s.first.at(i % 7).get();
      const Array next = where(i < 7, s.second * x[1], here);
      const Array old = where(i < 7, 0.0f, here);
      return History{s.first.at(i % 7).set(next), sin(s.second) + old * x[2]};
    };
    const History end = fori_loop(0, 12, step, History{buffer({7}), x[0]});
    return sum(end.first * arange(7)) + end.second;
  };
  expect_gradient(f, point);
}

TEST(WriteOnce, ValuesThatChangePlacesAreNoBuffers) {
  const auto f = [](const Array& x) {
    const auto step = [&](const Array& i, const History& s) {
      return History{s.second, s.first.at(i).set(sin(x[1] * cast(i, DType::f32)) + x[0])};
    };
    const History end = fori_loop(0, 6, step, History{buffer({6}), buffer({6}) + x[2]});
    return sum(end.first * arange(6) + end.second * end.second);
  };
  expect_gradient(f, point);
}

TEST(WriteOnce, LanesHaveBuffersOfTheirOwn) {
  for (const Dim bound : {20, 200}) {
    const auto one = [&](const Array& v) {
      struct S {
        Array i, h;
      };
      const S end = while_loop(
          [&](const S& s) { return s.h.at(s.i).get() < 6.0f; },
          [&](S s) {
            const Array last = s.h.at(s.i).get();
            return S{s.i + 1, s.h.at(s.i + 1).set(last + v * v * 0.3f + 0.1f * sin(last) + 0.4f)};
          },
          S{full({}, 0, DType::i32), buffer({bound + 1}).at(0).set(v)}, {.max_steps = bound});
      return sum(end.h * end.h);
    };
    const auto outside = [&](const Array& x) {
      return grad([&](const Array& v) { return sum(vmap(one)(v)); })(x);
    };
    const auto inside = [&](const Array& x) { return vmap(grad(one))(x); };
    const auto forward = [&](const Array& x) {
      return vmap([&](const Array& u) { return jvp(one, u, ones({})).second; })(x);
    };
    const HostArray x = f32({1.9, 0.2, 3.0, 9.0});
    const Numbers want = run(forward, x);
    expect_near(run(outside, x), want);
    expect_near(run(inside, x), want);
  }
}

TEST(WriteOnce, CompiledTheyMeanTheSame) {
  using namespace gnomon::testing;
  for (const ForiOptions& options : kinds)
    expect_function_lowers(
        [&](const Array& x) {
          return grad([&](const Array& v) { return recurrence(v, 20, options); })(x);
        },
        gnomon::testing::f32({3}));
  expect_function_lowers(
      [&](const Array& x) {
        return vmap(grad([&](const Array& v) { return recurrence(v, 12, {}); }))(x);
      },
      gnomon::testing::f32({33, 3}));
  expect_function_lowers(
      [&](const Array& x) {
        return grad([&](const Array& w) {
          return sum(vmap([&](const Array& v) { return recurrence(v, 12, {}); })(w));
        })(x);
      },
      gnomon::testing::f32({33, 3}));
}

}  // namespace
}  // namespace gnomon::test
