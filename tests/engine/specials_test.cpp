// tests/engine/specials_test.cpp -- what functions make of NaN, infinities and numbers far out, in
// the host reference and on the device: values and derivatives known in closed form.
#include <cmath>

#include "codegen/graph/evaluate.h"
#include "codegen/trace/function.h"
#include "gnomon/activations.h"
#include "gnomon/gnomon.h"
#include "gnomon/special.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using Unary = Array (*)(Operand);
using Pairs = std::vector<std::pair<double, double>>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class Specials : public DeviceTest {
 protected:
  /// Every y is what f gives at x, in f32 and f64, on the host and on the device.
  template <class F>
  void expect(const char* name, F f, const Pairs& pairs) {
    expect_in<float>(name, f, pairs);
    if (rt.target().features.float64) expect_in<double>(name, f, pairs);
  }
  void expect_slopes(const char* name, Unary f, const Pairs& pairs) {
    expect(
        name, [f](const Array& x) { return grad([f](const Array& v) { return sum(f(v)); })(x); },
        pairs);
  }

 private:
  template <class T, class F>
  void expect_in(const char* name, F f, const Pairs& pairs) {
    std::vector<T> x;
    for (const auto& [at, value] : pairs) x.push_back(static_cast<T>(at));
    HostArray in(Aval{sizeof(T) == 8 ? DType::f64 : DType::f32, {static_cast<Dim>(x.size())}});
    std::copy(x.begin(), x.end(), in.as<T>().begin());
    const auto apply = [&](const Array& a) { return f(a); };
    const HostArray host = evaluate(make_graph(apply, placeholder(in.aval)).graph, {in})[0];
    const std::vector<T> device = rt.to_host<T>(jit(rt, apply)(rt.from_host(x)));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const T want = static_cast<T>(pairs[i].second);
      const auto agrees = [&](T got) {
        if (std::isnan(want)) return std::isnan(got);
        return got == want ||
               std::fabs(got - want) <= 16 * std::numeric_limits<T>::epsilon() * std::fabs(want);
      };
      EXPECT_TRUE(agrees(host.as<T>()[i]))
          << name << "(" << x[i] << ") of " << sizeof(T) << " bytes is " << host.as<T>()[i]
          << " on the host, not " << want;
      EXPECT_TRUE(agrees(device[i])) << name << "(" << x[i] << ") of " << sizeof(T) << " bytes is "
                                     << device[i] << " on the device, not " << want;
    }
  }
};

TEST_F(Specials, ErfinvIsNaNOutsideOfItsDomain) {
  expect("erfinv", erfinv,
         {{1, inf},
          {-1, -inf},
          {2, nan},
          {-2, nan},
          {inf, nan},
          {-inf, nan},
          {nan, nan},
          {1.0000002, nan},
          {1e30, nan},
          {0, 0}});
}

TEST_F(Specials, ActivationsPropagateNaN) {
  expect("relu", relu, {{nan, nan}, {-inf, 0}, {inf, inf}, {-3, 0}, {2, 2}});
  expect("relu6", relu6, {{nan, nan}, {-inf, 0}, {inf, 6}});
  expect("leaky_relu", [](Operand x) { return leaky_relu(x, 0.5); },
         {{nan, nan}, {-inf, -inf}, {inf, inf}, {-3, -1.5}});
  expect("elu", [](Operand x) { return elu(x); }, {{nan, nan}, {-inf, -1}, {inf, inf}});
  expect("celu", [](Operand x) { return celu(x, 2); }, {{nan, nan}, {-inf, -2}, {inf, inf}});
  expect("selu", selu, {{nan, nan}, {-inf, -1.758099340847377}, {inf, inf}});
  expect("gelu", [](Operand x) { return gelu(x); }, {{nan, nan}, {inf, inf}, {-1e30, 0}});
  expect("exact gelu", [](Operand x) { return gelu(x, false); },
         {{nan, nan}, {inf, inf}, {-1e30, 0}});
  expect("silu", silu, {{nan, nan}, {inf, inf}, {-1e30, 0}});
  expect("softplus", softplus, {{nan, nan}, {-inf, 0}, {inf, inf}});
  expect("sigmoid", sigmoid, {{nan, nan}, {-inf, 0}, {inf, 1}});
  expect("log_sigmoid", log_sigmoid, {{nan, nan}, {-inf, -inf}, {inf, 0}});
  expect("mish", mish, {{nan, nan}, {inf, inf}});
  expect("hard_tanh", hard_tanh, {{nan, nan}, {-inf, -1}, {inf, 1}});
  expect("hard_sigmoid", hard_sigmoid, {{nan, nan}, {-inf, 0}, {inf, 1}});
  expect("soft_sign", soft_sign, {{nan, nan}, {-1e30, -1}, {1e30, 1}});
  expect("sign", sign, {{nan, nan}, {-inf, -1}, {inf, 1}});
  expect("clip", [](Operand x) { return clip(x, -2, 3); }, {{nan, nan}, {-inf, -2}, {inf, 3}});
}

TEST_F(Specials, SlopesOfActivationsAreFinite) {
  expect_slopes("relu", relu, {{nan, 0}, {0, 0}, {-1, 0}, {1, 1}, {inf, 1}});
  expect_slopes("relu6", relu6, {{0, 0}, {6, 0}, {1, 1}, {-inf, 0}, {inf, 0}});
  expect_slopes("elu", [](Operand x) { return elu(x); }, {{-1e30, 0}, {1e30, 1}, {-inf, 0}});
  expect_slopes("silu", silu, {{1e30, 1}, {-1e30, 0}});
  expect_slopes("softplus", softplus, {{inf, 1}, {-inf, 0}, {nan, nan}});
  expect_slopes("mish", mish, {{1e30, 1}, {-1e30, 0}});
}

TEST_F(Specials, BesselFunctionsReachTheEndsOfTheRange) {
  expect("i0", i0, {{inf, inf}, {-inf, inf}, {nan, nan}, {0, 1}});
  expect("i1", i1, {{inf, inf}, {-inf, -inf}, {nan, nan}, {0, 0}});
  expect("i0e", i0e, {{inf, 0}, {-inf, 0}, {nan, nan}});
  expect("i1e", i1e, {{inf, 0}, {-inf, 0}, {nan, nan}});
  expect_slopes("i0", i0, {{inf, inf}, {-inf, -inf}, {0, 0}});
  expect_slopes("i1", i1, {{inf, inf}, {-inf, inf}, {0, 0.5}});
  // Where e^x is beyond the largest float already.
  const auto ratio = [](const Array& x) { return i0(x) / i0(x - 1); };
  expect("i0 of about 90", ratio, {{90, 2.703095416037574}, {-89, 0.3699462453552175}});
}

// Mesa takes a choice between 0 and 1 for the condition as a number, whatever the sign of the zero.
TEST_F(Specials, ZerosThatAreChosenKeepTheirSign) {
  const auto expect_signs = [&](auto one) {
    using T = decltype(one);
    const auto f = jit(rt, [](const Array& x) {
      std::vector<Array> chosen;
      for (const double zero : {0.0, -0.0})
        for (const double other : {1.0, -1.0}) {
          chosen.push_back(where(x > 0, full_like(x, zero), full_like(x, other)));
          chosen.push_back(where(x > 0, full_like(x, other), full_like(x, zero)));
        }
      chosen.push_back(array({0.0, -0.0, 1.0, -0.0, -1.0, 0.0}, x.dtype()));
      return chosen;
    });
    const std::vector<Array> chosen = f(rt.from_host(std::vector<T>{1, -1}));
    std::size_t at = 0;
    for (const T zero : {T(0.0), T(-0.0)})
      for (const T other : {T(1), T(-1)})
        for (const std::vector<T>& want : {std::vector<T>{zero, other}, {other, zero}}) {
          const std::vector<T> got = rt.to_host<T>(chosen[at++]);
          for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(got[i], want[i]) << at;
            EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i])) << at << ", " << i;
          }
        }
    const std::vector<T> listed = rt.to_host<T>(chosen[at]);
    EXPECT_TRUE(std::signbit(listed[1]) && std::signbit(listed[3]) && !std::signbit(listed[5]));
  };
  expect_signs(1.0f);
  if (rt.target().features.float64) expect_signs(1.0);
}

}  // namespace
}  // namespace gnomon::testing
