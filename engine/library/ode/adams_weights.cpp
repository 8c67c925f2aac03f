// engine/library/ode/adams_weights.cpp -- polynomials between the steps of Adams methods, and their
// error constants.
#include "engine/library/ode/adams_weights.h"

#include <cmath>

namespace gnomon::ode::detail {

std::vector<Arrays> polynomials(const Arrays& alpha, std::size_t count) {
  const Array zero = zeros_like(alpha[0]), one = ones_like(alpha[0]);
  std::vector<Arrays> rows{{one}, {zero, one}};
  for (std::size_t i = 2; i < count; ++i) {
    const Arrays& c = rows.back();
    const Array &slope = alpha[i - 1], constant = 1 - slope;
    Arrays next{zero, constant * c[1]};
    for (std::size_t p = 2; p < c.size(); ++p) next.push_back(constant * c[p] + slope * c[p - 1]);
    next.push_back(slope * c.back());
    rows.push_back(std::move(next));
  }
  return rows;
}

std::vector<double> error_constants(std::size_t count, bool corrects) {
  std::vector<double> alpha, result;
  for (std::size_t i = 1; i <= count + 1; ++i) alpha.push_back(1.0 / static_cast<double>(i));
  const std::vector<double> g = integrals(alpha, count + 1, [](double x) { return x; });
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(std::fabs(g[i + 1] - (corrects ? g[i] : 0)));
  return result;
}

}  // namespace gnomon::ode::detail
