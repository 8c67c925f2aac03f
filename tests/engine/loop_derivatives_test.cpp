// tests/engine/loop_derivatives_test.cpp -- derivatives of while_loop_counted and compact against
// closed forms, on the device.
#include "gnomon/jit.h"
#include "tests/engine/fixture.h"
#include "tests/support/closed_forms.h"

namespace gnomon::testing {
namespace {

class LoopDerivatives : public DeviceTest {};

void expect_close(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 2e-4 * (1 + std::fabs(want[i]))) << i;
}

TEST_F(LoopDerivatives, OfCountedLoopsAreThoseOfTheirSteps) {
  const std::vector<float> starts{0.2f, 1.5f, 9.0f, 11.0f, 3.3f};
  std::vector<double> of_x, of_p;
  for (const float x : starts) {
    const GrownForms want = grown_forms(x, 1.3, 30);
    of_x.push_back(want.of_x);
    of_p.push_back(want.of_p);
  }
  for (const WhileOptions& options : grown_options(30)) {
    struct Slopes {
      Array of_x, of_p, steps;
    };
    auto f = jit(rt, [&](const Array& x, const Array& p) {
      return vmap([&](const Array& v) {
        const auto end = [&](const Array& a, const Array& b) { return grown(a, b, options).end; };
        return Slopes{grad([&](const Array& a) { return end(a, p); })(v),
                      grad([&](const Array& b) { return end(v, b); })(p),
                      grown(v, p, options).steps};
      })(x);
    });
    const Slopes got = f(rt.from_host(starts), rt.from_host(std::vector<float>{1.3f}, Shape{}));
    expect_close(rt.to_host<float>(got.of_x), of_x);
    expect_close(rt.to_host<float>(got.of_p), of_p);
    EXPECT_EQ(rt.to_host<std::int32_t>(got.steps)[2], 1);
  }
}

TEST_F(LoopDerivatives, OfCompactAreThoseOfTheRowsThatAreLeft) {
  const std::vector<float> x{1, -2, 3, 0.5f, -1, 2, 4, -3};
  for (const Dim size : {1, 3, 6}) {
    auto f = jit(rt, [size](const Array& a, const Array& keep) {
      return grad([&](const Array& v) { return weighted_rows(v, keep > 0, size); })(a);
    });
    const Array got = f(rt.from_host(x, {4, 2}), rt.from_host(std::vector<float>{1, 0, 1, 1}));
    expect_close(rt.to_host<float>(got), weighted_rows_form(x, {true, false, true, true}, size));
  }
}

}  // namespace
}  // namespace gnomon::testing
