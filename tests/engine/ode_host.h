// tests/engine/ode_host.h -- solves on the host reference, in f64, and what they are compared with.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "gnomon/ode.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {

using Numbers = std::vector<double>;

inline HostArray f64(double x) { return test::host(DType::f64, {}, {x}); }
inline HostArray f64(const Numbers& v) { return test::host(DType::f64, Shape(v.size()), v); }

/// y' = -y, of which everything is known.
inline ode::OdeTerm decay{[](const Array&, const Array& y, const auto&) { return negative(y); }};

/// The slope of the straight line through (log2 h, log2 error): the measured order.
inline double slope(const std::vector<std::pair<double, double>>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [h, error] : points) {
    const double x = std::log2(h), y = std::log2(error);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace gnomon::testing
