// tests/codegen/graph_host.h -- traced functions on the host reference, for tests of the graph
// layer.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
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

HostArray host(DType dtype, const Shape& shape, const Numbers& values);
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

inline HostArray f32(const Numbers& v) { return host(DType::f32, Shape(v.size()), v); }
inline HostArray f32(const Shape& s, const Numbers& v) { return host(DType::f32, s, v); }
inline HostArray f32(double x) { return host(DType::f32, {}, {x}); }
inline HostArray i32(const Numbers& v) { return host(DType::i32, Shape(v.size()), v); }
inline HostArray i32(const Shape& s, const Numbers& v) { return host(DType::i32, s, v); }
inline HostArray i32(double x) { return host(DType::i32, {}, {x}); }
/// 0, 1, 2, ...
HostArray counting(const Shape& shape, DType t = DType::f32);

Numbers numbers(const HostArray&);
std::vector<Numbers> numbers(const std::vector<HostArray>&);

/// Nothing was captured, and the graph verifies.
void check_complete(const Graph&, const Arrays& captures);

/// The graph of `f` on arrays of the inputs' types.
template <class F, class... H>
Graph graph_of(F&& f, const H&... inputs) {
  auto traced = make_graph(f, placeholder(inputs.aval)...);
  check_complete(traced.graph, traced.captures);
  return std::move(traced.graph);
}

/// All arrays that `f` returns.
template <class F, class... H>
std::vector<HostArray> run_arrays(F&& f, const H&... inputs) {
  return evaluate(test::graph_of(f, inputs...), {inputs...});
}
template <class F, class... H>
std::vector<Numbers> run_all(F&& f, const H&... inputs) {
  return numbers(run_arrays(f, inputs...));
}
template <class F, class... H>
Numbers run(F&& f, const H&... inputs) {
  return run_all(f, inputs...).at(0);
}

/// Relative to the larger of 1 and what is wanted, or nearly.
void expect_near(const Numbers& got, const Numbers& want, double tolerance = 1e-5);

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
    test::graph_of(f, inputs...);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

/// Equations of one operation, those in sub-graphs included.
int count_equations(const Graph&, std::string_view name);
const Equation& only_equation(const Graph&, std::string_view name);

}  // namespace gnomon::test
