// tests/codegen/sink_accumulations_test.cpp -- sums over lanes leave loops, and give what they gave
// inside.
#include "codegen/optimize/sink_accumulations.h"

#include "codegen/operations/control.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

constexpr Dim lanes = 20, units = 3, trips = 6;

struct Layer {
  Array w, b;
};

/// A layer applied again and again to a batch. Reverse mode takes the steps one by one.
Array loss(const Layer& l, const Array& x) {
  const auto states = scan(
      [&](const Array& y, None) {
        const Array next = y + 0.1f * tanh(matmul(y, l.w) + l.b);
        return std::pair{next, next};
      },
      x, none, {.length = trips, .kind = LoopKind::stored});
  return mean(square(states.second));
}

HostArray swings(const Shape& shape, double from) {
  HostArray h(Aval{DType::f32, shape});
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, std::sin(from + 0.7 * static_cast<double>(i)));
  return h;
}

const Equation& last_scan(const Graph& g) {
  const Equation* found = nullptr;
  for (const Equation& e : g.equations)
    if (e.primitive == &scan_p) found = &e;
  EXPECT_NE(found, nullptr);
  return *found;
}

/// Shapes of what the last scan carries.
std::vector<Shape> carried(const Graph& g) {
  const auto& p = last_scan(g).params.as<ScanParams>();
  std::vector<Shape> r;
  for (int i = 0; i < p.carried; ++i)
    r.push_back(p.body->avals[p.body->inputs[static_cast<std::size_t>(i)]].shape);
  return r;
}

void expect_same(const Graph& a, const Graph& b, const std::vector<HostArray>& x) {
  verify(b);
  const auto before = evaluate(a, x), after = evaluate(b, x);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    for (Dim j = 0; j < before[i].size(); ++j)
      EXPECT_NEAR(after[i].number(j), before[i].number(j),
                  1e-5 * (1 + std::fabs(before[i].number(j))));
}

TEST(SumsOut, GradientsOfWeightsAreOneProductOverStepsAndLanes) {
  const HostArray w = swings({units, units}, 0), b = swings({units}, 1),
                  x = swings({lanes, units}, 2);
  const Graph g = simplify(graph_of(
      [](const Array& weights, const Array& bias, const Array& start) {
        return grad(loss)(Layer{weights, bias}, start);
      },
      w, b, x));
  const Graph out = sink_accumulations(g);
  expect_same(g, out, {w, b, x});
  EXPECT_THAT(carried(g), ::testing::Contains(Shape({units, units})));
  EXPECT_THAT(carried(out), ::testing::Each(Shape({lanes, units})));
  int products = 0;
  for (const Equation& e : out.equations) {
    if (e.primitive != &dot_general_p) continue;
    ++products;
    EXPECT_EQ(e.params.as<DotParams>().lhs_contracting.size(), 2u);
    // Rows lie as the trips had them.
    EXPECT_EQ(out.avals[e.inputs[0]].shape, Shape({trips, lanes, units}));
    EXPECT_EQ(out.avals[e.inputs[1]].shape, Shape({trips, lanes, units}));
  }
  EXPECT_EQ(products, 1);
}

/// A loop over `x` that adds what `step` makes of the state to a sum.
template <class F>
Graph adding(const F& step, Dim length, const HostArray& x) {
  return simplify(graph_of(
      [&](const Array& start) {
        struct S {
          Array state, sum;
        };
        const Array first = step(start, start) * 0.0f;
        return fori_loop(
            0, length,
            [&](const Array&, S s) {
              return S{sin(s.state) + 0.1f * s.state, step(s.state, s.sum)};
            },
            S{start, first});
      },
      x));
}

TEST(SumsOut, WhatTheyDoNotUnderstandStays) {
  const HostArray x = swings({lanes, units}, 3);
  const auto product = [](const Array& s) { return matmul(transpose(s), s); };
  const auto stays = [&](const auto& step, Dim length, const HostArray& start) {
    const Graph g = adding(step, length, start);
    const std::size_t before = carried(g).size();
    const Graph out = sink_accumulations(g);
    if (length == trips) expect_same(g, out, {start});
    return carried(out).size() == before;
  };
  const auto sum_of = [&](const Array& s, const Array& was) {
    return was.shape() == s.shape() ? product(s) : was + product(s);
  };
  EXPECT_FALSE(stays(sum_of, trips, x));
  // Few lanes; rows of more than 256 MiB; a sum that is looked at.
  EXPECT_TRUE(stays(sum_of, trips, swings({4, units}, 3)));
  EXPECT_TRUE(stays(sum_of, 1 << 21, x));
  EXPECT_TRUE(stays(
      [&](const Array& s, const Array& was) {
        return was.shape() == s.shape() ? product(s) : was * 0.5f + product(s);
      },
      trips, x));
}

TEST(SumsOut, OnlyTheSumsOfAStepLeave) {
  const HostArray x = swings({lanes, units}, 3);
  const Graph g = adding(
      [](const Array& s, const Array& was) {
        const Array both = sum(s * s, {0}) + cos(s[0]);
        return was.shape() == s.shape() ? both : was + both;
      },
      trips, x);
  const Graph out = sink_accumulations(g);
  expect_same(g, out, {x});
  EXPECT_EQ(carried(out).size(), carried(g).size());
  const auto& body = *last_scan(out).params.as<ScanParams>().body;
  for (const Equation& e : body.equations) EXPECT_NE(e.primitive, &sum_p);
}

HostArray ids_below(Dim count, Dim some) {
  HostArray ids(Aval{DType::i32, {some, trips}});
  for (Dim i = 0; i < ids.size(); ++i) ids.set_integer(i, i * 7 % count);
  return ids;
}

/// The gradient of lanes, each of which adds up rows of one table.
Graph of_rows(const HostArray& table, const HostArray& ids) {
  const auto lane = [](const Array& t, const Array& own) {
    return scan(
               [&](const Array& s, const Array& i) {
                 const Array next = sin(s) + t[i];
                 return std::pair{next, next};
               },
               zeros({units}), own, {.kind = LoopKind::stored})
        .second;
  };
  return simplify(graph_of(
      [&](const Array& whole, const Array& all) {
        return grad([&](const Array& t) {
          return sum(square(vmap([&](const Array& own) { return lane(t, own); })(all)));
        })(whole);
      },
      table, ids));
}

TEST(SumsOut, RowsAddedToATableAreOneScatter) {
  for (const auto& [count, some] : {std::pair<Dim, Dim>{5, lanes}, {1000, lanes}, {1000, 1}}) {
    const HostArray table = swings({count, units}, 4), ids = ids_below(count, some);
    const Graph g = of_rows(table, ids), out = sink_accumulations(g);
    expect_same(g, out, {table, ids});
    EXPECT_THAT(carried(g), ::testing::Contains(Shape({count, units})));
    EXPECT_THAT(carried(out), ::testing::Each(Shape({some, units})));
    for (const Aval& a : out.avals)
      EXPECT_LE(a.shape.size(), std::max(count, trips * some) * units);
  }
  // A lane adds to a small table where it has it.
  const Graph g = of_rows(swings({5, units}, 4), ids_below(5, 1));
  EXPECT_EQ(carried(sink_accumulations(g)), carried(g));
}

}  // namespace
}  // namespace gnomon::test
