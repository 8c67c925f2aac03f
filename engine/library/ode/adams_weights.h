// engine/library/ode/adams_weights.h -- what differences of slopes weigh in a step of an Adams
// method.
//
// Names as in the source, which counts differences from 1: with psi_i the length of the last i
// steps and phi_i the difference of i slopes times psi_1 .. psi_(i - 1), the polynomial through the
// last k slopes is the sum of c_i(theta) beta_i phi_i over i <= k, and g_i the integral of c_i.
// Source: L. Shampine and M. Gordon, Computer Solution of Ordinary Differential Equations, 1975,
// chapter 5.
#pragma once
#include <vector>

#include "engine/library/ode/method.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {

/// Numbers where all steps are equal, else arrays; [0] is number 1.
template <class Number>
struct Weights {
  std::vector<Number> g, beta, alpha, sigma;
};

/// g_1 .. g_(count), of alpha_1 .. alpha_(count - 1): by c_iq = c_(i-1)q - alpha_(i-1)
/// c_(i-1)(q+1). `like`: makes a Number of a double.
template <class Number, class Like>
std::vector<Number> integrals(const std::vector<Number>& alpha, std::size_t count,
                              const Like& like) {
  std::vector<Number> g{like(1), like(0.5)};
  // alpha_1 is 1, so the first two rows are 1 / q and 1 / (q (q + 1)).
  std::vector<double> first;
  for (std::size_t q = 1; q + 1 <= count; ++q)
    first.push_back(1.0 / (static_cast<double>(q) * static_cast<double>(q + 1)));
  std::vector<Number> c;
  for (std::size_t i = 3; i <= count; ++i) {
    std::vector<Number> next;
    for (std::size_t q = 0; q + i <= count; ++q) {
      if (i == 3)
        next.push_back(first[q] - alpha[i - 2] * first[q + 1]);
      else
        next.push_back(c[q] - alpha[i - 2] * c[q + 1]);
    }
    c = std::move(next);
    g.push_back(c[0]);
  }
  return g;
}

/// c_1 .. c_(count), as the coefficients of their powers, lowest first: c_1 = 1, c_2 = theta,
/// c_(i + 1)(theta) = c_i(theta) (1 - alpha_i + alpha_i theta).
std::vector<Arrays> polynomials(const Arrays& alpha, std::size_t count);

/// The errors of predictors of 1, 2, .. slopes where steps are equal, or of correctors of as many,
/// in differences.
std::vector<double> error_constants(std::size_t count, bool corrects);

}  // namespace gnomon::ode::detail
