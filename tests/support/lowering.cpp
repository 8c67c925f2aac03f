// tests/support/lowering.cpp -- arrays at random, and graphs compiled for several targets.
#include "tests/support/lowering.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/host_program.h"

namespace gnomon::testing {

HostArray random_array(const Aval& a, std::uint32_t seed) {
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

std::string difference(const HostArray& got, const HostArray& want,
                       const std::function<double(Dim)>& allowed) {
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
std::string difference(const HostArray& got, const HostArray& want, double tolerance) {
  return difference(got, want,
                    [&](Dim k) { return tolerance * std::max(1.0, std::abs(want.number(k))); });
}

std::vector<NamedTarget> targets() {
  return {{"minimum", Target::minimum()}, {"gpu", Target::gpu()}, {"lavapipe", Target::lavapipe()}};
}

std::vector<NamedTarget> targets_with(bool doubles) {
  std::vector<NamedTarget> all = targets();
  for (auto& [name, target] : all) target.features.float64 |= doubles;
  return all;
}

std::vector<Way> ways_of_running() {
  return {{"fused", true, LoopMapping::automatic},
          {"unfused", false, LoopMapping::automatic},
          {"sequential", true, LoopMapping::sequential},
          {"loops on the device", true, LoopMapping::device},
          {"loops by one workgroup", true, LoopMapping::workgroup}};
}

void expect_lowering(const Graph& g, const std::vector<HostArray>& inputs, double tolerance) {
  const auto want = evaluate(g, inputs);
  const bool doubles = std::any_of(g.avals.begin(), g.avals.end(),
                                   [](const Aval& a) { return a.dtype == DType::f64; });
  for (auto& [name, target] : targets_with(doubles))
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

}  // namespace gnomon::testing
