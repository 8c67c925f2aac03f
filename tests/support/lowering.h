// tests/support/lowering.h -- compiles a graph for several targets and holds the host execution
// against the reference.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/graph/evaluate.h"
#include "codegen/graph/text.h"
#include "codegen/lower/pipeline.h"
#include "codegen/trace/function.h"
#include "tests/support/host_program.h"

namespace gnomon::testing {

/// Elements of any dtype from a seed: floats in (-2, 2), integers small, both signs.
inline HostArray random_array(const Aval& a, std::uint32_t seed) {
  HostArray r(a);
  std::mt19937 g(seed);
  for (Dim i = 0; i < r.size(); ++i) {
    const double u = static_cast<double>(g() >> 8) / (1 << 24);
    if (is_float(a.dtype))
      r.set_number(i, 4 * u - 2);
    else if (a.dtype == DType::boolean)
      r.set_integer(i, u < 0.5);
    else
      r.set_integer(i, static_cast<std::int64_t>(u * 10) - (is_signed(a.dtype) ? 4 : 0));
  }
  return r;
}

/// Where two arrays disagree; empty when they do not. Element k of floats may differ by allowed(k);
/// NaN equals NaN; everything else is exact.
template <class Allowed>
requires std::is_invocable_v<Allowed, Dim> std::string difference(const HostArray& got,
                                                                  const HostArray& want,
                                                                  const Allowed& allowed) {
  if (!(got.aval == want.aval))
    return "type " + to_string(got.aval.dtype, got.aval.shape) + " instead of " +
           to_string(want.aval.dtype, want.aval.shape);
  for (Dim i = 0; i < want.size(); ++i) {
    if (!is_float(want.aval.dtype)) {
      if (got.integer(i) != want.integer(i))
        return "element " + std::to_string(i) + " is " + std::to_string(got.integer(i)) + ", not " +
               std::to_string(want.integer(i));
      continue;
    }
    const double a = got.number(i), b = want.number(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    if (!(std::abs(a - b) <= allowed(i)))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", not " +
             std::to_string(b);
  }
  return "";
}
/// Floats may differ by `tolerance` relative to the larger of 1 and the reference.
inline std::string difference(const HostArray& got, const HostArray& want, double tolerance) {
  return difference(got, want,
                    [&](Dim k) { return tolerance * std::max(1.0, std::abs(want.number(k))); });
}

struct NamedTarget {
  const char* name;
  Target target;
};
inline std::vector<NamedTarget> targets() {
  return {{"minimum", Target::minimum()},
          {"gpu_like", Target::gpu_like()},
          {"cpu_like", Target::cpu_like()}};
}

/// How loops run, and whether kernels are fused.
struct Way {
  const char* name;
  bool fuse;
  LoopMapping loops;
};
inline std::vector<Way> ways_of_running() {
  return {{"fused", true, LoopMapping::automatic},
          {"unfused", false, LoopMapping::automatic},
          {"sequential", true, LoopMapping::sequential},
          {"loops on the device", true, LoopMapping::device},
          {"loops by one workgroup", true, LoopMapping::workgroup}};
}

/// The graph means the same compiled for every target, fused or not, as evaluated literally.
inline void expect_lowering(const Graph& g, const std::vector<HostArray>& inputs,
                            double tolerance = 2e-5) {
  const auto want = evaluate(g, inputs);
  for (const auto& [name, target] : targets())
    for (const Way& way : ways_of_running()) {
      if (way.loops == LoopMapping::sequential) continue;  // may take longer than a driver allows
      const Program p = compile(
          g, target, {.name = "test", .fuse = way.fuse, .loops = way.loops, .keep_text = true});
      const auto got = run_on_host(p, inputs);
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(difference(got[i], want[i], tolerance), "")
            << "output " << i << " on " << name << ", " << way.name << "\n"
            << print(g) << p.fusion_text << print(p);
    }
}

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

inline Aval f32(Shape s) { return {DType::f32, s}; }
inline Aval i32(Shape s) { return {DType::i32, s}; }

}  // namespace gnomon::testing
