// tests/engine/estimate_device_test.cpp -- estimates over many keys and on the spectra of the
// literature, on the device.
#include <array>
#include <cmath>
#include <cstdio>

#include "gnomon/estimate.h"
#include "gnomon/jit.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using estimate::TraceMethod;
using operators::Dense;
using operators::Diagonal;
using operators::Operator;

class Estimates : public DeviceTest {};

struct Named {
  const char* name;
  TraceMethod method;
};
const std::vector<Named>& methods() {
  static const std::vector<Named> all{{"Hutchinson", estimate::Hutchinson{}},
                                      {"Hutch++", estimate::HutchPlusPlus{}},
                                      {"XTrace", estimate::XTrace{}},
                                      {"XNysTrace", estimate::XNysTrace{}}};
  return all;
}

struct Spread {
  double off = 0;      // of the mean of all keys, in its standard errors
  double covered = 0;  // share of keys whose 1.96 standard errors hold the truth
};
Spread spread(const std::vector<float>& values, const std::vector<float>& errors, double want) {
  const double keys = double(values.size());
  double mean = 0, squares = 0, covered = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - want;
    mean += off / keys;
    squares += off * off / keys;
    covered += std::abs(off) <= 1.96 * errors[i];
  }
  return {mean / std::sqrt((squares - mean * mean) / keys), covered / keys};
}

/// A symmetric positive definite matrix with eigenvalues all over [0.1, 4].
std::vector<float> wishart(std::size_t n) {
  std::vector<double> u(n * n);
  unsigned x = 7;
  for (double& v : u) {
    x = x * 1664525u + 1013904223u;
    v = double(x >> 8) / double(1 << 23) - 1;
  }
  std::vector<float> a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double s = i == j ? 0.1 : 0;
      for (std::size_t l = 0; l < n; ++l) s += u[i * n + l] * u[j * n + l] / double(n);
      a[i * n + j] = float(s);
    }
  return a;
}

/// Means and intervals of 1,000 keys.
template <class F>
void check_keys(Runtime& rt, const char* name, double want, const F& estimate) {
  const auto one = [&](Key key) {
    const auto t = estimate(std::move(key));
    return std::pair{t.value, t.standard_error};
  };
  const auto all = [&](const Array& seed) {
    return vmap(one)(random::split(random::key(seed), 1000));
  };
  auto f = jit(rt, all, {.name = "keys"});
  const auto [values, errors] = f(rt.from_host(std::vector<std::int32_t>{11}, {}));
  const Spread s = spread(rt.to_host<float>(values), rt.to_host<float>(errors), want);
  std::printf("%-16s off %5.2f standard errors, 95 %% intervals hold %.1f %%\n", name, s.off,
              100 * s.covered);
  EXPECT_LT(std::abs(s.off), 5) << name;
  EXPECT_GT(s.covered, 0.93) << name;
  EXPECT_LT(s.covered, 0.97) << name;
}

class EstimatesBy : public Estimates, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EstimatesBy, MeansAndIntervalsHoldOverAThousandKeys) {
  constexpr Dim n = 100;
  const std::vector<float> a = wishart(n);
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += double(a[i * n + i]);
  const Array matrix = rt.from_host(a, {n, n});
  const std::array<Dim, 4> products{60, 120, 60, 40};
  const auto& [name, method] = methods()[GetParam()];
  const TraceMethod by = method;
  check_keys(rt, name, trace, [&](Key key) {
    return estimate::trace(std::move(key), Dense{matrix, {.positive_semidefinite = true}},
                           products[GetParam()], by);
  });
}
INSTANTIATE_TEST_SUITE_P(Methods, EstimatesBy, ::testing::Range(std::size_t{0}, methods().size()));

TEST_F(Estimates, NormsAndIntervalsHoldOverAThousandKeys) {
  // Of a diagonal matrix with probes that are not exact for it.
  constexpr Dim n = 64;
  std::vector<float> d;
  double squares = 0, logs = 0;
  for (Dim i = 0; i < n; ++i) {
    d.push_back(0.5f + 3.5f * float(i) / float(n));
    squares += double(d.back()) * double(d.back());
    logs += std::log(double(d.back()));
  }
  const Array values = rt.from_host(d);
  check_keys(rt, "Frobenius", std::sqrt(squares), [&](Key key) {
    return estimate::frobenius_norm(std::move(key), Diagonal{values}, n, estimate::Normal{});
  });
  check_keys(rt, "log-determinant", logs, [&](Key key) {
    return estimate::log_determinant(
        std::move(key), Operator(Diagonal{values}).tagged({.positive_semidefinite = true}), n, 12,
        {.sampler = estimate::Normal{}});
  });
}

TEST_F(Estimates, DiagonalsAndIntervalsHoldOverAThousandKeys) {
  constexpr Dim n = 100;
  const std::vector<float> a = wishart(n);
  const Array matrix = rt.from_host(a, {n, n});
  constexpr int i = 17;
  const auto by = [&](const char* name, Dim k, const estimate::DiagonalMethod& method) {
    check_keys(rt, name, double(a[i * n + i]), [&](Key key) {
      const auto d = estimate::diagonal(std::move(key), Dense{matrix}, k, method);
      struct {
        Array value, standard_error;
      } one{d.value[i], d.standard_error[i]};
      return one;
    });
  };
  by("Bekas", 60, estimate::Bekas{});
  by("XDiag of 40", 40, estimate::XDiag{});
  by("XDiag of 80", 80, estimate::XDiag{});
  double trace = 0;
  for (std::size_t j = 0; j < n; ++j) trace += double(a[j * n + j]);
  check_keys(rt, "to a tolerance", trace, [&](Key key) {
    return estimate::trace_to(std::move(key), Dense{matrix}, {.rtol = 0.02, .batch = 32});
  });
}

// Section 4.1 of Epperly, Tropp and Webber (2024): mean relative errors of 10 keys at n = 1,000.
// To probes of no preferred direction all matrices with these eigenvalues are alike.
class SlowEstimates : public DeviceTest {};

TEST_F(SlowEstimates, ErrorsFallAsPublished) {
  constexpr Dim n = 1000, keys = 10;
  const std::vector<Dim> products{30, 60, 120, 240};
  const auto spectrum = [&](std::size_t which, Dim i) {
    const double x = double(i);
    switch (which) {
      case 0:
        return 3 - 2 * x / (n - 1);
      case 1:
        return 1 / ((x + 1) * (x + 1));
      case 2:
        return std::pow(0.7, x);
      default:
        return i < 50 ? 1.0 : 1e-3;
    }
  };
  const std::array<const char*, 4> names{"flat", "poly", "exp", "step"};
  const std::vector<TraceMethod> rotated{estimate::Hutchinson{estimate::Sphere{}},
                                         estimate::HutchPlusPlus{estimate::Sphere{}},
                                         estimate::XTrace{}, estimate::XNysTrace{}};
  std::array<Array, 4> eigenvalues;
  std::array<double, 4> traces{};
  for (std::size_t w = 0; w < 4; ++w) {
    std::vector<double> d;
    for (Dim i = 0; i < n; ++i) {
      d.push_back(spectrum(w, i));
      traces[w] += d.back();
    }
    eigenvalues[w] = rt.from_host(d);
  }
  double error[4][4][4];  // spectrum, method, products
  for (std::size_t m = 0; m < 4; ++m)
    for (std::size_t p = 0; p < 4; ++p) {
      const auto run = [&](const Array& seed, const Array& lambda) {
        const Operator op = Operator(Diagonal{lambda}).tagged({.positive_semidefinite = true});
        const auto one = [&](Key key) {
          return estimate::trace(std::move(key), op, products[p], rotated[m]).value;
        };
        return vmap(one)(random::split(random::key(seed), keys));
      };
      auto f = jit(rt, run, {.name = "spectrum"});
      const Array seed = rt.from_host(std::vector<std::int32_t>{5}, {});
      for (std::size_t w = 0; w < 4; ++w) {
        double mean = 0;
        for (double v : rt.to_host<double>(f(seed, eigenvalues[w])))
          mean += std::abs(v - traces[w]) / traces[w] / double(keys);
        error[w][m][p] = mean;
      }
    }
  for (std::size_t w = 0; w < 4; ++w) {
    std::printf("%-5s %-12s", names[w], "products");
    for (Dim k : products) std::printf(" %9d", int(k));
    for (std::size_t m = 0; m < 4; ++m) {
      std::printf("\n      %-12s", methods()[m].name);
      for (std::size_t p = 0; p < products.size(); ++p) std::printf(" %9.2e", error[w][m][p]);
    }
    std::printf("\n");
  }

  const auto slope = [&](std::size_t w, std::size_t m) {
    return std::log(error[w][m][3] / error[w][m][0]) / std::log(8.0);
  };
  enum { flat, poly, exp, step };
  enum { hutchinson, hutch, x_trace, x_nys };
  for (std::size_t w : {flat, poly, exp, step}) {
    EXPECT_LT(slope(w, hutchinson), -0.25) << names[w];
    EXPECT_GT(slope(w, hutchinson), -0.9) << names[w];
  }
  // Nothing helps where eigenvalues are alike, and the best methods lose nothing there.
  for (std::size_t m : {hutch, x_trace, x_nys}) {
    EXPECT_LT(slope(flat, m), -0.1);
    EXPECT_LT(error[flat][m][3], 4 * error[flat][hutchinson][3]);
    EXPECT_LT(slope(poly, m), -1.5);
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t w : {poly, exp})
        EXPECT_LT(error[w][m][p], 0.3 * error[w][hutchinson][p]) << names[w] << m << p;
  }
  // On falling spectra XNysTrace before XTrace before Hutch++, down to rounding.
  for (std::size_t p : {0, 1, 2}) {
    EXPECT_LT(error[exp][x_trace][p], 0.5 * error[exp][hutch][p]);
    EXPECT_LT(error[exp][x_nys][p], 0.5 * error[exp][x_trace][p]);
    EXPECT_LT(error[poly][x_trace][p], error[poly][hutch][p]);
  }
  EXPECT_LT(error[exp][hutch][3], 1e-12);
  EXPECT_LT(error[exp][x_trace][2], 1e-9);
  EXPECT_LT(error[exp][x_nys][2], 1e-12);
  // The step is found once there are more than 50 probes for the range: 60, 120 and 180 products.
  EXPECT_LT(error[step][x_nys][2], 1e-3);
  EXPECT_LT(error[step][x_trace][2], 1e-4);
  EXPECT_GT(error[step][hutch][2], 1e-3);
  EXPECT_LT(error[step][hutch][3], 1e-4);
}

TEST_F(SlowEstimates, TenMillionRowsKeepWithinAMemoryLimit) {
  // Ten entries a row, as a band around the diagonal and farther away; all of a row alike, so that
  // traces are known. Of 16 probes 4 are in memory at a time.
  constexpr Dim n = 10'000'000, per_row = 10, probes = 16;
  std::vector<std::int32_t> offsets(n + 1), columns(n * per_row);
  std::vector<float> values(n * per_row);
  constexpr std::array<Dim, per_row> apart{0,     1,      2,       100,     1000,
                                           99999, 500000, 1234567, 3000000, 4999999};
  for (Dim i = 0; i < n; ++i) {
    offsets[std::size_t(i) + 1] = std::int32_t((i + 1) * per_row);
    for (Dim e = 0; e < per_row; ++e) {
      columns[std::size_t(i * per_row + e)] = std::int32_t((i + apart[std::size_t(e)]) % n);
      values[std::size_t(i * per_row + e)] = e == 0 ? 2.0f : 0.1f;
    }
  }
  const operators::Csr a{{rt.from_host(offsets), rt.from_host(columns), n, per_row},
                         rt.from_host(values)};
  constexpr std::uint64_t limit = std::uint64_t{2} << 30;
  auto f = jit(rt,
               [](const operators::Csr& m, const Array& seed) {
                 const auto t = estimate::trace(random::key(seed), m, probes,
                                                estimate::Hutchinson{}, {.batch = 4});
                 return std::pair{t.value, t.standard_error};
               },
               {.name = "ten_million", .memory_limit = limit});
  const auto [value, error] = f(a, rt.from_host(std::vector<std::int32_t>{5}, {}));
  const double estimated = rt.to_host<float>(value)[0], off = rt.to_host<float>(error)[0];
  std::printf("trace %.8g +- %.2g of 10^7 rows and 10^8 entries, %.2f GB\n", estimated, off,
              double(f.memory_report().peak()) * 1e-9);
  EXPECT_LE(f.memory_report().peak(), limit);
  EXPECT_NEAR(estimated, 2.0 * double(n), 6 * off + 20);
  // The root of 2 sum S_ij^2 / 16 with S = (A + A^T) / 2: sqrt(9 n 0.1^2 / 16).
  EXPECT_NEAR(off, std::sqrt(9 * double(n) * 0.01 / probes), 0.6 * off);
}

}  // namespace
}  // namespace gnomon::testing
