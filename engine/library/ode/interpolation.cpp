// engine/library/ode/interpolation.cpp -- piecewise polynomials: which piece, and its value.
#include "gnomon/ode/interpolation.h"

#include <limits>

#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/sorting.h"

namespace gnomon::ode::detail {

std::vector<Array> evaluate(const Pieces& p, const Operand& t, bool derivative) {
  const Array at =
      p.sign * (t.is_array() ? cast(t.array(), p.ends.dtype()) : cast(t, p.ends.dtype()));
  const Dim pieces = p.powers[0][0].dim(0);
  const Array piece = clip(searchsorted(p.ends, at) - 1, 0, pieces - 1);
  const Array length = p.lengths[piece], to = p.ends[piece + 1];
  const Array theta = (at - p.starts[piece]) / length;
  const double infinity = std::numeric_limits<double>::infinity();
  const Array inside = at >= p.ends[0] && to < infinity && at <= to;
  std::vector<Array> result;
  for (std::size_t i = 0; i < p.powers[0].size(); ++i) {
    const auto power = [&](std::size_t k) { return p.powers[k][i][piece]; };
    const DType dtype = p.powers[0][i].dtype();
    const Array x = theta.dtype() == dtype ? theta : cast(theta, dtype);
    Array value = power(p.powers.size() - 1);
    if (derivative) {
      value = static_cast<double>(p.powers.size() - 1) * value;
      for (std::size_t k = p.powers.size() - 1; k-- > 1;)
        value = static_cast<double>(k) * power(k) + x * value;
      const Array rate = p.sign / length;
      value = value * (rate.dtype() == dtype ? rate : cast(rate, dtype));
    } else {
      for (std::size_t k = p.powers.size() - 1; k-- > 0;) value = power(k) + x * value;
    }
    result.push_back(where(inside, value, std::numeric_limits<double>::quiet_NaN()));
  }
  return result;
}

}  // namespace gnomon::ode::detail
