// tests/support/lowering.h -- compiles a graph for several targets and holds the host execution
// against the reference.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "codegen/graph/text.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/function.h"
#include "tests/support/host_program.h"

namespace gnomon::testing {

/// Elements of any dtype from a seed: floats in (-2, 2), integers small, both signs.
HostArray random_array(const Aval&, std::uint32_t seed);

/// Where two arrays disagree; empty when they do not. Element k of floats may differ by allowed(k);
/// NaN equals NaN; everything else is exact.
std::string difference(const HostArray& got, const HostArray& want,
                       const std::function<double(Dim)>& allowed);
/// Floats may differ by `tolerance` relative to the larger of 1 and the reference.
std::string difference(const HostArray& got, const HostArray& want, double tolerance);

struct NamedTarget {
  const char* name;
  Target target;
};
std::vector<NamedTarget> targets();
/// The same; all of them have f64 where `doubles` says so.
std::vector<NamedTarget> targets_with(bool doubles);

/// How loops run, and whether kernels are fused.
struct Way {
  const char* name;
  bool fuse;
  LoopMapping loops;
};
std::vector<Way> ways_of_running();

/// The graph means the same compiled for every target, fused or not, as evaluated literally.
void expect_lowering(const Graph&, const std::vector<HostArray>& inputs, double tolerance = 2e-5);

/// Traces `f` on random inputs of these types and checks its lowering.
template <class F, class... A>
void expect_function_lowers(F f, const A&... inputs) {
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  const auto traced = [&] {
    Trace outer;
    return make_graph(f, outer.input(inputs)...);
  }();
  ASSERT_TRUE(traced.captures.empty());
  expect_lowering(traced.graph, host);
}

/// The simplified graph of `f` of arrays like these.
template <class F, class... A>
Graph simplified(F f, const A&... avals) {
  Trace outer;
  return simplify(make_graph(f, outer.input(avals)...).graph);
}

inline Aval f32(Shape s) { return {DType::f32, s}; }
inline Aval f64(Shape s) { return {DType::f64, s}; }
inline Aval i32(Shape s) { return {DType::i32, s}; }

}  // namespace gnomon::testing
