// tests/codegen/graph_host.h -- traced functions on the host reference, for tests of the graph
// layer.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "codegen/graph/evaluate.h"
#include "codegen/graph/primitive.h"
#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"
#include "codegen/trace/function.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::test {

using Numbers = std::vector<double>;

inline HostArray host(DType dtype, const Shape& shape, const Numbers& values) {
  HostArray h(Aval{dtype, shape});
  EXPECT_EQ(static_cast<std::size_t>(h.size()), values.size());
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, values[static_cast<std::size_t>(i)]);
  return h;
}
inline HostArray f32(const Numbers& v) { return host(DType::f32, Shape(v.size()), v); }
inline HostArray f32(const Shape& s, const Numbers& v) { return host(DType::f32, s, v); }
inline HostArray f32(double x) { return host(DType::f32, {}, {x}); }
inline HostArray i32(const Numbers& v) { return host(DType::i32, Shape(v.size()), v); }
inline HostArray i32(const Shape& s, const Numbers& v) { return host(DType::i32, s, v); }
inline HostArray i32(double x) { return host(DType::i32, {}, {x}); }
/// 0, 1, 2, ...
inline HostArray counting(const Shape& shape, DType t = DType::f32) {
  HostArray h(Aval{t, shape});
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, static_cast<double>(i));
  return h;
}

inline Numbers numbers(const HostArray& a) {
  Numbers r;
  for (Dim i = 0; i < a.size(); ++i) r.push_back(a.number(i));
  return r;
}

/// The graph of `f` on arrays of the inputs' types.
template <class F, class... H>
Graph graph_of(F&& f, const H&... inputs) {
  auto traced = make_graph(f, placeholder(inputs.aval)...);
  EXPECT_TRUE(traced.captures.empty());
  verify(traced.graph);
  return traced.graph;
}

/// All arrays that `f` returns.
template <class F, class... H>
std::vector<HostArray> run_arrays(F&& f, const H&... inputs) {
  return evaluate(graph_of(f, inputs...), {inputs...});
}
template <class F, class... H>
std::vector<Numbers> run_all(F&& f, const H&... inputs) {
  std::vector<Numbers> r;
  for (const HostArray& a : run_arrays(f, inputs...)) r.push_back(numbers(a));
  return r;
}
template <class F, class... H>
Numbers run(F&& f, const H&... inputs) {
  return run_all(f, inputs...).at(0);
}

/// Relative to the larger of 1 and what is wanted, or nearly.
inline void expect_near(const Numbers& got, const Numbers& want, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
}

/// The gradient of f[n] -> f[] in reverse mode is what forward mode gives for every direction.
template <class F>
void expect_gradient(F f, const HostArray& x) {
  const Numbers back = run([&](const Array& v) { return grad(f)(v); }, x);
  const Dim n = x.size();
  const auto forward = [&](const Array& v) {
    return vmap([&](const Array& d) { return jvp(f, v, d).second; })(eye(n));
  };
  expect_near(back, run(forward, x), 1e-4);
}

/// What tracing `f` throws, or "".
template <class F, class... H>
std::string usage_error_of(F&& f, const H&... inputs) {
  try {
    graph_of(f, inputs...);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

/// Equations of one operation, those in sub-graphs included.
inline int count_equations(const Graph& graph, std::string_view name) {
  int n = 0;
  for (const Equation& e : graph.equations) {
    n += e.primitive->name == name;
    for (const GraphPtr& inner : e.params.graphs()) n += count_equations(*inner, name);
  }
  return n;
}
inline const Equation& only_equation(const Graph& graph, std::string_view name) {
  const Equation* found = nullptr;
  for (const Equation& e : graph.equations) {
    if (e.primitive->name == name) found = &e;
  }
  if (!found) throw InternalError("no " + std::string(name) + " in " + print(graph));
  return *found;
}

}  // namespace gnomon::test
