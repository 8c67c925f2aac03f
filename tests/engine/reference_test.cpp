// tests/engine/reference_test.cpp -- GNOMON_JIT=off and GNOMON_CHECK=nan: jitted functions on the
// host, and who made a NaN.
#include <gmock/gmock.h>

#include <cmath>

#include "gnomon/buffer.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

template <class F>
std::string failure_of(F&& f) {
  try {
    f();
  } catch (const CheckFailed& e) {
    return e.what();
  }
  return "";
}

TEST(JitOff, RunsFunctionsAsTheReferenceDefinesThem) {
  const Variable variable("GNOMON_JIT", "off");
  Runtime rt(validated());
  {
    std::string said;
    rt.on_print([&](std::string_view line) { (said += line) += "\n"; });
    auto f = jit(rt, [](const Array& x) {
      debug::print("x is {}", x);
      return while_loop([](const Array& v) { return sum(v) < 10; },
                        [](const Array& v) { return v + v; }, x, {.max_steps = 20});
    });
    const Array x = rt.from_host(std::vector<float>{0.25f, 0.5f});
    EXPECT_EQ(rt.to_host<float>(f(x)), (std::vector<float>{4, 8}));
    EXPECT_EQ(rt.to_host<float>(f(x)), (std::vector<float>{4, 8}));
    EXPECT_THAT(said, HasSubstr("x is [0.25"));
    EXPECT_EQ(f.cache_info().traces, 1u);
    EXPECT_EQ(f.cache_info().hits, 1u);
    Array given = rt.from_host(std::vector<float>{1, 1});
    EXPECT_EQ(rt.to_host<float>(f(std::move(given))), (std::vector<float>{8, 8}));
    EXPECT_THAT(f.text("graph"), HasSubstr("while"));
    EXPECT_THROW(f.text("spirv"), UsageError);
    auto g = jit(rt, [](const Array& v) { return error_if(v, v > 1, "too much"); });
    EXPECT_THAT(failure_of([&] { g(rt.from_host(2.0f)); }), HasSubstr("too much"));
  }
  rt.clear_programs();
  expect_clean(rt);
}

Array slopes(const Array& x) {
  return grad([](const Array& v) {
    return sum(
        fori_loop(0, 4, [&](const Array& i, const Array& w) { return w * sqrt(v - i); }, v, {}));
  })(x);
}

TEST(CheckNan, NamesTheOperationAndItsLine) {
  const Variable variable("GNOMON_CHECK", "nan");
  Runtime rt(validated());
  {
    auto f = jit(rt, [](const Array& x) { return exp(log(x) * 0.5f) + 1.0f; }, {.name = "roots"});
    const Array good = rt.from_host(std::vector<float>{1, 4});
    EXPECT_EQ(rt.to_host<float>(f(good)).size(), 2u);
    EXPECT_THAT(failure_of([&] {
                  f(rt.from_host(std::vector<float>{1, -4}));
                }),
                AllOf(HasSubstr("result 0 of `roots` has a NaN: `log` is the first to make a NaN"),
                      HasSubstr("(reference_test.cpp:")));
    // Moved in as well, and everything goes on.
    EXPECT_THAT(failure_of([&] {
                  f(rt.from_host(std::vector<float>{-1, 1}));
                }),
                HasSubstr("`log`"));
    EXPECT_EQ(rt.to_host<float>(f(good)).size(), 2u);
    EXPECT_THAT(failure_of([&] {
                  f(rt.from_host(std::vector<float>{1, NAN}));
                }),
                HasSubstr("array 0 of its arguments and captures has a NaN already"));
  }
  rt.clear_programs();
  expect_clean(rt);
}

TEST(CheckNan, SeesLoopsAndBackwardPasses) {
  const Variable variable("GNOMON_CHECK", "nan");
  Runtime rt(validated());
  {
    auto f = jit(rt, slopes);
    EXPECT_EQ(failure_of([&] { f(rt.from_host(std::vector<float>{5, 9})); }), "");
    // sqrt(3 - 3): its slope is not finite. Four steps are written out: there is no loop to name.
    EXPECT_THAT(failure_of([&] {
                  f(rt.from_host(std::vector<float>{5, 3}));
                }),
                AllOf(HasSubstr("`div` is the first to make an infinity of finite operands"),
                      HasSubstr("(reference_test.cpp:")));
  }
  rt.clear_programs();
  expect_clean(rt);
}

TEST(CheckNan, GoesWithOtherChecks) {
  const Variable variable("GNOMON_CHECK", "nan,buffers");
  Runtime rt(validated());
  {
    auto f = jit(rt, [](const Array& x, const Array& i) {
      return buffer({3}).at(0).set(log(x)).at(i).set(x);
    });
    const Array one = rt.from_host(1.0f), minus = rt.from_host(-1.0f);
    EXPECT_EQ(failure_of([&] { f(one, rt.from_host(1)); }), "");
    EXPECT_THAT(failure_of([&] { f(one, rt.from_host(0)); }), HasSubstr("written a second time"));
    EXPECT_THAT(failure_of([&] { f(minus, rt.from_host(1)); }), HasSubstr("`log`"));
  }
  rt.clear_programs();
  expect_clean(rt);
}

class Unchecked : public DeviceTest {};

TEST_F(Unchecked, ResultsMayBeAnything) {
  auto f = jit(rt, [](const Array& x) { return log(x); });
  EXPECT_TRUE(std::isnan(rt.to_host<float>(f(rt.from_host(std::vector<float>{-1})))[0]));
}

}  // namespace
}  // namespace gnomon::testing
