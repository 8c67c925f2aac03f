// tests/vulkan/adopted.h -- a Runtime on an application's device, for tests.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "gnomon/gnomon.h"
#include "tests/vulkan/app.h"

namespace gnomon::testing {

inline RuntimeOptions watched() {
  RuntimeOptions options;
  options.validate = true;  // the application's layer looks on
  return options;
}

class Adopted : public ::testing::Test {
 protected:
  explicit Adopted(const AppOptions& options = {})
      : app(options), rt(Runtime::adopt(app.described(), watched())) {}
  void TearDown() override {
    rt->clear_programs();
    EXPECT_EQ(rt->memory().live_ranges, 0u);
    rt.reset();
    for (const std::string& m : app.messages()) ADD_FAILURE() << m;
  }
  /// A buffer of the application's whose first n floats are f(i).
  template <class F>
  VulkanBuffer floats(std::uint64_t n, F f) {
    const VulkanBuffer b = app.buffer(4 * n, buffer_usage(*rt));
    for (std::uint64_t i = 0; i < n; ++i) static_cast<float*>(b.mapped)[i] = f(i);
    return b;
  }

  App app;
  std::optional<Runtime> rt;
};

inline float* elements(const VulkanBuffer& b) { return static_cast<float*>(b.mapped); }
inline const Aval f32_1024{DType::f32, Shape(1024)};

}  // namespace gnomon::testing
