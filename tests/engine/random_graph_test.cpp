// tests/engine/random_graph_test.cpp -- random programs on the device against the host reference.
#include <gtest/gtest.h>

#include "codegen/graph/evaluate.h"
#include "codegen/lower/pipeline.h"
#include "tests/engine/fixture.h"
#include "tests/support/lowering.h"
#include "tests/support/random_check.h"

namespace gnomon::testing {
namespace {

class RandomGraphs : public DeviceTest {
 protected:
  explicit RandomGraphs(const RuntimeOptions& options = validated()) : DeviceTest(options) {}

  std::vector<HostArray> on_device(const Program& program, const std::vector<HostArray>& inputs) {
    std::vector<Array> in;
    for (const HostArray& a : inputs) in.push_back(rt.from_bytes(a.aval, a.bytes));
    std::vector<HostArray> result;
    for (const Array& a : run(program, in)) {
      HostArray host(a.aval());
      rt.to_bytes(a, host.bytes);
      result.push_back(std::move(host));
    }
    return result;
  }

  std::string check(const RandomGraph& r) {
    const auto want = evaluate(r.graph, r.inputs);
    for (const LoopMapping loops : {LoopMapping::automatic, LoopMapping::device})
      if (std::string what = check(r, want, loops); !what.empty()) return what;
    return "";
  }

  std::string check(const RandomGraph& r, const std::vector<HostArray>& want, LoopMapping loops) {
    const std::size_t messages = rt.validation_messages().size();
    const Program p = compile(r.graph, rt.target(), {.loops = loops, .keep_text = true});
    // Most programs have no loop that comes apart.
    if (loops == LoopMapping::device && p.loops.empty()) return "";
    const auto got = on_device(p, r.inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (const std::string d = difference(got[i], want[i], 1e-4); !d.empty())
        return "output " + std::to_string(i) + ": " + d + "\n" + p.fusion_text + print(p);
    const auto said = rt.validation_messages();
    return said.size() > messages ? said.back() : "";
  }
};

// Four tests, so that a machine with several cores may run them side by side.
constexpr std::uint64_t parts = 4;
class RandomGraphsPart : public RandomGraphs,
                         public ::testing::WithParamInterface<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, RandomGraphsPart, ::testing::Range(std::uint64_t{0}, parts));

TEST_P(RandomGraphsPart, MeanOnTheDeviceWhatTheReferenceSays) {
  int refused = 0;
  const auto checked = [&](const RandomGraph& r) -> std::string {
    if (r.seed % parts != GetParam()) return "";
    try {
      return check(r);
    } catch (const UsageError& e) {
      if (!beyond_budget(e)) throw;
      ++refused;
      return "";
    }
  };
  expect_all(200, checked, 300);
  EXPECT_LT(refused, 5) << "too many programs take too many loop trips to be tested";
}

// Every array is larger than a window: kernels reach all they write, and what they do not read as
// texels, by address.
class RandomGraphsByAddress : public RandomGraphs {
 protected:
  RandomGraphsByAddress()
      : RandomGraphs([] {
          RuntimeOptions options = validated();
          options.window_bytes = 256;
          return options;
        }()) {}
};

TEST_F(RandomGraphsByAddress, MeanTheSame) {
  if (!rt.target().features.addresses) GTEST_SKIP() << rt.device_name() << " has no addresses";
  const auto checked = [&](const RandomGraph& r) -> std::string {
    try {
      return check(r);
    } catch (const UsageError& e) {
      if (!beyond_budget(e)) throw;
      return "";
    }
  };
  expect_all(30, checked, 5000);
}

}  // namespace
}  // namespace gnomon::testing
