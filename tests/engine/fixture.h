// tests/engine/fixture.h -- a Runtime with validation; any message and any memory left over fails
// the test.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/program/program.h"
#include "engine/runtime/executable.h"
#include "engine/runtime/state.h"
#include "gnomon/runtime.h"
#include "tests/support/platform.h"

namespace gnomon::testing {

/// Options of device tests: validation on, messages collected instead of printed.
inline RuntimeOptions validated() {
  RuntimeOptions options;
  options.validate = shows_layers;
  options.print_messages = false;
  return options;
}

/// Sets a variable for the life of an object, for the Runtimes made in it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set_variable(name, value.c_str());
  }
  ~Variable() { set_variable(name_, before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Fails for every message of the validation layer and every range that is still taken from the
/// pool.
void expect_clean(Runtime&);

/// What the UsageError says that f throws.
template <class F>
std::string usage_message(F f) {
  try {
    f();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no UsageError";
}

class DeviceTest : public ::testing::Test {
 protected:
  explicit DeviceTest(const RuntimeOptions& options = validated()) : rt(options) {}
  void TearDown() override {
    rt.clear_programs();
    expect_clean(rt);
  }

  std::shared_ptr<Context> context() { return rt.state()->context; }
  /// Runs a program on a fresh executable.
  std::vector<Array> run(const Program& program, std::vector<Array> inputs,
                         const ExecutableOptions& options = {});

  Runtime rt;
};

// ---- programs made by hand

/// out[i] = a[i] + b[i] for i < n, one element per invocation, f32.
kernel::Kernel add_kernel(std::uint32_t group_size = 64);
/// out[i] = 2 * in[i].
kernel::Kernel double_kernel(bool texel);
/// out[i] = the sum of in_k[i] over `count` arrays.
kernel::Kernel sum_kernel(std::uint32_t count);
Place input(std::uint32_t index, std::uint64_t offset = 0);
Place output(std::uint32_t index, std::uint64_t offset = 0);
Place arena(std::uint64_t offset);
/// A dispatch that covers `n` invocations and passes `n` as the only parameter.
Step dispatch(const Program&, std::uint32_t kernel, std::uint32_t n, std::vector<Place> operands,
              bool barrier = false);
Aval f32(Dim n);

}  // namespace gnomon::testing
