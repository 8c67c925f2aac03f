// tests/engine/special_test.cpp -- f64 elementary functions and special functions on the device
// against their references on the host.
#include <cmath>
#include <functional>
#include <random>

#include "codegen/graph/evaluate.h"
#include "codegen/trace/function.h"
#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using Unary = Array (*)(Operand);
using Binary = Array (*)(Operand, Operand);

/// Enough lanes that several go together, with a remainder.
constexpr std::size_t count = 4099;

template <class T>
std::vector<T> numbers(double low, double high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> x{static_cast<T>(low), static_cast<T>(high)};
  while (x.size() < count) {
    x.push_back(static_cast<T>(low + (high - low) * unit(random)));
    const double small = high * std::exp2(-30 * unit(random));
    x.push_back(static_cast<T>(low < 0 && random() % 2 == 0 ? -small : std::fmax(low, small)));
  }
  x.resize(count);
  return x;
}

template <class T>
HostArray host_array(const std::vector<T>& x) {
  HostArray h(Aval{sizeof(T) == 8 ? DType::f64 : DType::f32, Shape{static_cast<Dim>(x.size())}});
  for (std::size_t i = 0; i < x.size(); ++i) h.set_number(static_cast<Dim>(i), x[i]);
  return h;
}

/// The largest error of got[i], as a multiple of max(least, |want[i]|).
template <class T>
double worst(const std::vector<T>& got, const HostArray& want, double least) {
  double error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double exact = want.number(static_cast<Dim>(i));
    if (std::isnan(exact) && std::isnan(got[i])) continue;
    if (exact == got[i]) continue;
    error = std::fmax(error, std::fabs(got[i] - exact) / std::fmax(least, std::fabs(exact)));
  }
  return error;
}

class SpecialOnDevice : public DeviceTest {
 protected:
  template <class T>
  double error(Unary f, double low, double high, double least) {
    const std::vector<T> x = numbers<T>(low, high, 1);
    const HostArray in = host_array(x);
    const auto traced = make_graph(f, placeholder(in.aval));
    auto compiled = jit(rt, [f](const Array& a) { return f(a); });
    return worst(rt.to_host<T>(compiled(rt.from_host(x))), evaluate(traced.graph, {in})[0], least);
  }
  template <class T>
  double error(Binary f, double low, double high, double least) {
    const std::vector<T> x = numbers<T>(low, high, 2), y = numbers<T>(low, high, 3);
    const HostArray in = host_array(x), in2 = host_array(y);
    const auto traced = make_graph(f, placeholder(in.aval), placeholder(in2.aval));
    auto compiled = jit(rt, [f](const Array& a, const Array& b) { return f(a, b); });
    return worst(rt.to_host<T>(compiled(rt.from_host(x), rt.from_host(y))),
                 evaluate(traced.graph, {in, in2})[0], least);
  }
  bool has_f64() { return rt.target().features.float64; }
};

TEST_F(SpecialOnDevice, ElementaryFunctionsOfDoublesAreThoseOfTheHost) {
  if (!has_f64()) GTEST_SKIP() << rt.device_name() << " has no f64";
  const struct {
    const char* name;
    Unary f;
    double low, high;
  } cases[] = {
      {"exp", exp, -746, 710},     {"exp2", exp2, -1076, 1025},
      {"expm1", expm1, -40, 700},  {"log", log, 0, 1e300},
      {"log2", log2, 0, 1e300},    {"log10", log10, 0, 1e300},
      {"log1p", log1p, -1, 1e10},  {"cbrt", cbrt, -1e300, 1e300},
      {"sin", sin, -10, 10},       {"large sin", sin, -1e300, 1e300},
      {"cos", cos, -1e8, 1e8},     {"tan", tan, -1e8, 1e8},
      {"asin", asin, -1, 1},       {"acos", acos, -1, 1},
      {"atan", atan, -100, 100},   {"sinh", sinh, -710, 710},
      {"cosh", cosh, -710, 710},   {"tanh", tanh, -20, 20},
      {"asinh", asinh, -1e9, 1e9}, {"acosh", acosh, 1, 1e9},
      {"atanh", atanh, -1, 1},     {"sigmoid", sigmoid, -700, 700},
      {"erf", erf, -6, 6},         {"erfc", erfc, -6, 27},
      {"erfinv", erfinv, -1, 1},
  };
  // Two units here and one or two of the host's library.
  for (const auto& c : cases) EXPECT_LE(error<double>(c.f, c.low, c.high, 1e-300), 8e-16) << c.name;
  EXPECT_LE(error<double>(atan2, -100, 100, 1e-300), 8e-16);
  EXPECT_LE(error<double>(Binary{pow}, 0, 30, 1e-300), 8e-16);
}

TEST_F(SpecialOnDevice, SpecialFunctionsAreThoseOfTheHost) {
  const struct {
    const char* name;
    Unary f;
    double low, high, least;
  } unary[] = {
      {"lgamma", lgamma, 0, 1e10, 1},
      {"lgamma of negative numbers", lgamma, -30, 30, 1},
      {"digamma", digamma, 0, 1e10, 1},
      {"digamma of negative numbers", digamma, -30, 30, 4},
      {"trigamma", [](Operand x) { return polygamma(1, x); }, 1e-5, 100, 0},
  };
  for (const auto& c : unary) {
    EXPECT_LE(error<float>(c.f, c.low, c.high, c.least), 6e-7) << c.name;
    if (has_f64()) {
      EXPECT_LE(error<double>(c.f, c.low, c.high, c.least), 2e-15) << c.name;
    }
  }
  const struct {
    const char* name;
    Binary f;
    double least;
  } binary[] = {{"gammainc", gammainc, 1e-30},
                {"gammaincc", gammaincc, 1e-30},
                {"igamma_grad_a", igamma_grad_a, 1e-20}};
  for (const auto& c : binary) {
    EXPECT_LE(error<float>(c.f, 0.01, 60, c.least), 1e-5) << c.name;
    if (has_f64()) {
      EXPECT_LE(error<double>(c.f, 0.01, 60, c.least), 1e-12) << c.name;
    }
  }
}

}  // namespace
}  // namespace gnomon::testing
