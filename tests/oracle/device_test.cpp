// tests/oracle/device_test.cpp -- the table on a device.
#include <gtest/gtest.h>

#include "check.h"
#include "codegen/program/target.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/runtime.h"
#include "tests/support/subnormals.h"

namespace oracle {
namespace {

using gnomon::Runtime;

/// Whether a row is a jitted function, or its operations run one by one.
enum class Mode { jitted, at_once };

/// A device as a machine.
class Device {
 public:
  Machine machine(Mode mode = Mode::jitted) {
    return {[this, mode](const Program& f, const std::vector<HostArray>& inputs) {
              Arrays arguments;
              for (const HostArray& h : inputs)
                arguments.push_back(rt_.from_bytes(h.aval, h.bytes));
              std::vector<HostArray> results;
              // Without an argument nothing says on which device a row would run.
              const bool jitted = mode == Mode::jitted || arguments.empty();
              const Arrays outputs = jitted ? gnomon::jit(rt_, f)(arguments) : f(arguments);
              for (const Array& a : outputs) {
                results.emplace_back(a.aval());
                rt_.to_bytes(a, results.back().bytes);
              }
              return results;
            },
            rt_.target().features.float64, !gnomon::testing::keeps_subnormals<float>(rt_)};
  }

 private:
  Runtime rt_;
};

class OnTheDevice : public Device, public ::testing::TestWithParam<Family> {};

TEST_P(OnTheDevice, EveryRowIsRight) {
  for (const std::string& complaint : check(GetParam(), machine())) ADD_FAILURE() << complaint;
}
INSTANTIATE_TEST_SUITE_P(Oracle, OnTheDevice, ::testing::ValuesIn(table()),
                         [](const auto& at) { return std::string(at.param.name); });

class SlowOperations : public Device, public ::testing::TestWithParam<Family> {};
TEST_P(SlowOperations, AreRightAtOnce) {
  for (const std::string& complaint : check(GetParam(), machine(Mode::at_once)))
    ADD_FAILURE() << complaint;
}
INSTANTIATE_TEST_SUITE_P(Oracle, SlowOperations, ::testing::ValuesIn(table()),
                         [](const auto& at) { return std::string(at.param.name); });

class SlowExactnessOnTheDevice : public Device, public ::testing::TestWithParam<Exact> {};
TEST_P(SlowExactnessOnTheDevice, HoldsForTenMillionPairs) {
  const Machine device = machine();
  for (const DType t : {DType::f32, DType::f64})
    if (t == DType::f32 || device.float64)
      for (const std::string& complaint : check_exact(GetParam(), t, 10'000'000, device))
        ADD_FAILURE() << complaint;
}
INSTANTIATE_TEST_SUITE_P(Oracle, SlowExactnessOnTheDevice, ::testing::ValuesIn(ieee().exact));

}  // namespace
}  // namespace oracle
