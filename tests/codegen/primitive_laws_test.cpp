// tests/codegen/primitive_laws_test.cpp -- what must hold of every operation, on the cases of the
// whole table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/graph/evaluate.h"
#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vjp.h"
#include "codegen/transforms/vmap.h"
#include "tests/codegen/primitive_cases.h"

namespace gnomon {
namespace {

using test::Case;
using test::Domain;
using HostArrays = std::vector<HostArray>;

/// Inputs that can be differentiated in that many times.
std::vector<bool> float_inputs(const Case& c, int times = 1) {
  std::vector<bool> r;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    r.push_back(c.inputs[i].dtype == DType::f64 && (c.orders.empty() || c.orders[i] >= times));
  return r;
}
bool any(const std::vector<bool>& v) { return std::find(v.begin(), v.end(), true) != v.end(); }

/// Random directions for the flagged inputs.
HostArrays directions(const std::vector<Aval>& avals, const std::vector<bool>& flagged,
                      std::uint64_t seed) {
  std::vector<Aval> chosen;
  for (std::size_t i = 0; i < avals.size(); ++i)
    if (flagged[i]) chosen.push_back(avals[i]);
  return test::sample(chosen, std::vector<Domain>(chosen.size(), Domain{-1, 1}), seed);
}

HostArray moved(const HostArray& x, const HostArray& d, double h) {
  HostArray r = x;
  for (Dim i = 0; i < r.size(); ++i) r.set_number(i, x.number(i) + h * d.number(i));
  return r;
}
HostArrays moved(HostArrays x, const std::vector<bool>& flagged, const HostArrays& d, double h) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < flagged.size(); ++i)
    if (flagged[i]) x[i] = moved(x[i], d[n++], h);
  return x;
}

double inner(const HostArray& a, const HostArray& b) {
  double s = 0;
  for (Dim i = 0; i < a.size(); ++i) s += a.number(i) * b.number(i);
  return s;
}

HostArrays joined(HostArrays a, const HostArrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Compares f64 outputs `dy` with central differences of `graph` along `d`.
void expect_differences(const Graph& graph, const HostArrays& x, const std::vector<bool>& active,
                        const HostArrays& d, const HostArrays& dy, const std::string& label) {
  const double h = 1e-6;
  const HostArrays up = evaluate(graph, moved(x, active, d, h)),
                   down = evaluate(graph, moved(x, active, d, -h));
  for (std::size_t o = 0; o < up.size(); ++o) {
    if (up[o].aval.dtype != DType::f64) continue;
    for (Dim i = 0; i < up[o].size(); ++i) {
      const double difference = (up[o].number(i) - down[o].number(i)) / (2 * h);
      EXPECT_NEAR(dy[o].number(i), difference,
                  1e-6 * (1 + std::fabs(difference) + std::fabs(up[o].number(i))))
          << label << " output " << o << " element " << i;
    }
  }
}

TEST(PrimitiveLaws, EveryOperationHasCases) {
  for (const Primitive* p : primitives()) EXPECT_FALSE(test::cases_of(*p).empty()) << p->name;
}

TEST(PrimitiveLaws, NamesAreSortedAndFound) {
  std::string_view before;
  for (const Primitive* p : primitives()) {
    EXPECT_LT(before, p->name);
    EXPECT_EQ(find_primitive(p->name), p);
    before = p->name;
  }
  EXPECT_EQ(find_primitive("no_such_operation"), nullptr);
}

TEST(PrimitiveLaws, TextComesBack) {
  for (const Case& c : test::all_cases()) {
    const Graph graph = test::graph_of(c);
    verify(graph);
    const std::string text = print(graph);
    const Graph back = parse_graph(text);
    EXPECT_TRUE(structurally_equal(graph, back)) << text;
    EXPECT_EQ(print(back), text);
  }
}

TEST(PrimitiveLaws, ReferenceGivesWhatTheShapeRulePromises) {
  for (const Case& c : test::all_cases()) {
    const Graph graph = test::graph_of(c);
    const HostArrays y = evaluate(graph, test::sample(c, 1));
    ASSERT_EQ(y.size(), graph.outputs.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i].aval, graph.avals[graph.outputs[i]]) << test::label(c);
      EXPECT_EQ(y[i].bytes.size(), HostArray(y[i].aval).bytes.size()) << test::label(c);
    }
  }
}

TEST(PrimitiveLaws, JvpAgreesWithDifferences) {
  for (const Case& c : test::all_cases()) {
    const std::vector<bool> active = float_inputs(c);
    if (!c.differentiable || !any(active)) continue;
    const Graph graph = test::graph_of(c), derivative = jvp(graph, active);
    verify(derivative);
    const HostArrays x = test::sample(c, 2), d = directions(c.inputs, active, 3);
    HostArrays y = evaluate(derivative, joined(x, d));
    const HostArrays dy(y.begin() + static_cast<std::ptrdiff_t>(graph.outputs.size()), y.end());
    expect_differences(graph, x, active, d, dy, test::label(c));
  }
}

TEST(PrimitiveLaws, JvpOfJvpAgreesWithDifferences) {
  for (const Case& c : test::all_cases()) {
    std::vector<bool> active = float_inputs(c);
    if (!c.differentiable || !any(active)) continue;
    const Graph first = jvp(test::graph_of(c), active);
    const HostArrays x = joined(test::sample(c, 4), directions(c.inputs, active, 5));
    active = float_inputs(c, 2);
    active.resize(x.size(), false);  // the direction of the first derivative stays
    if (!any(active)) continue;
    const Graph second = jvp(first, active);
    const HostArrays d = directions(first.input_avals(), active, 6);
    HostArrays y = evaluate(second, joined(x, d));
    const HostArrays dy(y.begin() + static_cast<std::ptrdiff_t>(first.outputs.size()), y.end());
    expect_differences(first, x, active, d, dy, test::label(c) + " (second)");
  }
}

TEST(PrimitiveLaws, TransposeIsTheAdjoint) {
  for (const Case& c : test::all_cases()) {
    for (const std::vector<bool>& linear : c.linear) {
      bool floats = true;
      for (std::size_t i = 0; i < linear.size(); ++i)
        floats &= !linear[i] || is_float(c.inputs[i].dtype);
      if (!floats) continue;
      const Graph graph = test::graph_of(c);
      Trace t;
      Arrays in, cotangents_in;
      for (const Aval& a : c.inputs) in.push_back(t.input(a));
      Tangents cotangents;
      for (const Aval& a : graph.output_avals()) cotangents.push_back(t.input(a));
      const Tangents back = transpose_linear(graph, in, linear, cotangents);
      Arrays out;
      for (std::size_t i = 0; i < linear.size(); ++i) {
        if (!linear[i]) continue;
        ASSERT_TRUE(back[i].has_value()) << test::label(c);
        out.push_back(*back[i]);
        EXPECT_EQ(out.back().aval(), c.inputs[i]) << test::label(c);
      }
      const Graph adjoint = t.finish(out);
      verify(adjoint);

      // <T x, y> = <x, T' y>, where T x is the difference to the value at zero.
      HostArrays x = test::sample(c, 7), zero = x;
      for (std::size_t i = 0; i < linear.size(); ++i)
        if (linear[i]) zero[i] = HostArray(c.inputs[i]);
      const HostArrays at_x = evaluate(graph, x), at_zero = evaluate(graph, zero);
      const HostArrays y = test::sample(
          graph.output_avals(), std::vector<Domain>(graph.outputs.size(), Domain{-1, 1}), 8);
      const HostArrays ty = evaluate(adjoint, joined(x, y));
      double forward = 0, backward = 0;
      for (std::size_t o = 0; o < y.size(); ++o)
        forward += inner(moved(at_x[o], at_zero[o], -1), y[o]);
      std::size_t n = 0;
      for (std::size_t i = 0; i < linear.size(); ++i)
        if (linear[i]) backward += inner(x[i], ty[n++]);
      EXPECT_NEAR(forward, backward,
                  (any(float_inputs(c)) ? 1e-6 : 1e-4) * (1 + std::fabs(forward)))
          << test::label(c);
    }
  }
}

TEST(PrimitiveLaws, ReverseModeIsTheAdjointOfForwardMode) {
  for (const Case& c : test::all_cases()) {
    const std::vector<bool> active = float_inputs(c);
    if (!any(active)) continue;
    const Graph graph = test::graph_of(c);
    Trace t;
    Arrays in;
    for (const Aval& a : c.inputs) in.push_back(t.input(a));
    Tangents cotangents;
    HostArrays y;
    for (const Aval& a : graph.output_avals()) {
      if (!is_float(a.dtype)) {
        cotangents.emplace_back();
        continue;
      }
      cotangents.push_back(t.input(a));
      y.push_back(test::sample({a}, {Domain{-1, 1}}, 9)[0]);
    }
    if (y.empty()) continue;
    const Tangents back = pull_back(run_forward(graph, in, active), cotangents);
    Arrays out;
    for (std::size_t i = 0; i < active.size(); ++i)
      if (active[i] && back[i]) out.push_back(*back[i]);
    const Graph reverse = t.finish(out);
    verify(reverse);

    const HostArrays x = test::sample(c, 10), d = directions(c.inputs, active, 11);
    const HostArrays forward = evaluate(jvp(graph, active), joined(x, d)),
                     gradient = evaluate(reverse, joined(x, y));
    double left = 0, right = 0;
    std::size_t n = 0;
    for (std::size_t o = 0; o < graph.outputs.size(); ++o)
      if (cotangents[o]) left += inner(forward[graph.outputs.size() + o], y[n++]);
    n = 0;
    std::size_t direction = 0;
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (!active[i]) continue;
      if (back[i]) right += inner(gradient[n++], d[direction]);
      ++direction;
    }
    const bool narrow = graph.avals[graph.outputs[0]].dtype != DType::f64;
    EXPECT_NEAR(left, right, (narrow ? 1e-4 : 1e-10) * (1 + std::fabs(left))) << test::label(c);
  }
}

/// Row `i` along `axis`.
HostArray row(const HostArray& a, int axis, Dim i) {
  const Shape& s = a.aval.shape;
  HostArray r(Aval{a.aval.dtype, s.without(axis)});
  const Dim inside = s.part(axis + 1, s.rank()).size();
  const std::size_t bytes = static_cast<std::size_t>(inside) * size_of(a.aval.dtype);
  for (Dim o = 0; o < s.part(0, axis).size() && bytes > 0; ++o)
    std::memcpy(r.bytes.data() + static_cast<std::size_t>(o) * bytes,
                a.bytes.data() + static_cast<std::size_t>(o * s[axis] + i) * bytes, bytes);
  return r;
}

void expect_vmap_is_a_loop(const Case& c, const BatchAxes& axes) {
  constexpr Dim size = 3;
  std::string where = test::label(c) + " axes";
  std::vector<Aval> avals = c.inputs;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    where += axes[i] ? " " + std::to_string(*axes[i]) : " -";
    if (axes[i]) avals[i].shape.insert(*axes[i], size);
  }
  const Graph graph = test::graph_of(c), batched = vmap(graph, axes, size);
  verify(batched);
  const HostArrays x = test::sample(avals, c.domains, 12), y = evaluate(batched, x);
  for (Dim n = 0; n < size; ++n) {
    HostArrays one;
    for (std::size_t i = 0; i < axes.size(); ++i)
      one.push_back(axes[i] ? row(x[i], *axes[i], n) : x[i]);
    const HostArrays expected = evaluate(graph, one);
    for (std::size_t o = 0; o < y.size(); ++o) {
      const HostArray mine = row(y[o], 0, n);
      EXPECT_EQ(mine.aval, expected[o].aval) << where;
      EXPECT_EQ(mine.bytes, expected[o].bytes) << where << " row " << n;
    }
  }
}

TEST(PrimitiveLaws, VmapIsALoop) {
  for (const Case& c : test::all_cases()) {
    const std::size_t n = c.inputs.size();
    if (n == 0) continue;
    BatchAxes first(n, 0), last, mixed;
    for (std::size_t i = 0; i < n; ++i) {
      last.emplace_back(c.inputs[i].shape.rank());
      mixed.emplace_back(i % 2 == 0 ? 0 : c.inputs[i].shape.rank());
    }
    expect_vmap_is_a_loop(c, first);
    expect_vmap_is_a_loop(c, last);
    expect_vmap_is_a_loop(c, mixed);
    for (std::size_t i = 0; n > 1 && i < n; ++i) {
      BatchAxes only(n), without(n, 0);
      only[i] = c.inputs[i].shape.rank();
      without[i].reset();
      expect_vmap_is_a_loop(c, only);
      expect_vmap_is_a_loop(c, without);
    }
  }
}

TEST(PrimitiveLaws, WhatIsNotLinearSaysSo) {
  for (const Case& c : test::all_cases()) {
    if (!c.linear.empty() || c.inputs.empty() || !any(float_inputs(c))) continue;
    const std::string_view name = c.primitive->name;
    if (name == "while" || name == "scan" || name == "cond") continue;
    Trace t;
    Arrays in;
    for (const Aval& a : c.inputs) in.push_back(t.input(a));
    Tangents cotangents;
    for (const Array& y : emit(*c.primitive, c.params, in, {})) cotangents.push_back(y);
    const std::vector<bool> all(in.size(), true);
    try {
      c.primitive->transpose(TransposeArgs{c.params, in, all, cotangents});
      ADD_FAILURE() << test::label(c)
                    << " has a transpose and no case that says in what it is linear";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(std::string(name)));
      EXPECT_THAT(e.what(), ::testing::HasSubstr("not linear"));
    }
  }
}

}  // namespace
}  // namespace gnomon
