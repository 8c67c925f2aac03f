// tests/support/closed_forms.h -- derivatives of loops that say how many steps they took, and of
// rows that are picked out, as formulas.
#pragma once
#include <cmath>
#include <vector>

#include "gnomon/loops.h"
#include "gnomon/masks.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::testing {

/// x grows by p until it is 10 or took `most` steps; its end and the number of steps.
struct Grown {
  Array end, steps;
};
inline Grown grown(const Array& x, const Array& p, const WhileOptions& options) {
  const auto r = while_loop_counted([](const Array& v) { return v < 10.0f; },
                                    [&](const Array& v) { return v * p; }, x, options);
  return {r.state, r.steps};
}
/// x p^k: the end, its derivatives in x and p, and the second one in p.
struct GrownForms {
  double end, of_x, of_p, of_p_twice;
};
inline GrownForms grown_forms(double x, double p, int most) {
  int k = 0;
  for (double v = x; v < 10 && k < most; v *= p) ++k;
  return {x * std::pow(p, k), std::pow(p, k), k * x * std::pow(p, k - 1),
          k * (k - 1) * x * std::pow(p, k - 2)};
}
inline std::vector<WhileOptions> grown_options(Dim most) {
  return {{.max_steps = most},
          {.max_steps = most, .kind = LoopKind::stored},
          {.max_steps = most, .kind = LoopKind::bounded},
          {.max_steps = most, .kind = LoopKind::checkpointed, .checkpoints = 3}};
}

/// The sum of (j + 1) r_j^2 over the rows that are left of x where the mask holds.
inline Array weighted_rows(const Array& x, const Array& mask, Dim size) {
  const auto r = compact(x, mask, {.size = size, .fill = 7});
  const Array weights = reshape(arange(static_cast<int>(size)) + 1.0f, {size, 1});
  return sum(weights * square(r.rows));
}
/// Its derivative; rows of two elements.
inline std::vector<double> weighted_rows_form(const std::vector<float>& x,
                                              const std::vector<bool>& mask, Dim size) {
  std::vector<double> d(x.size(), 0.0);
  Dim j = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i] || j++ >= size) continue;
    for (const std::size_t e : {2 * i, 2 * i + 1}) d[e] = 2.0 * static_cast<double>(j) * x[e];
  }
  return d;
}

}  // namespace gnomon::testing
