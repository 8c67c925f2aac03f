// engine/library/estimate/leave_one_out.cpp -- what all leave-one-out estimators share.
#include "engine/library/estimate/leave_one_out.h"

#include <limits>
#include <string>

#include "gnomon/linalg.h"
#include "gnomon/ops.h"

namespace gnomon::estimate::detail {

void require_independent(std::string_view method, const Source& source, Dim k, Loc loc) {
  if (source.together() == 1 || k == 1) return;
  usage_error("estimate::" + std::string(method),
              "OrthogonalBlocks makes " + std::to_string(source.together()) +
                  " probes at a time at right angles to each other, and each probe of this method "
                  "is left out of the others, which must not depend on it: the estimate would be "
                  "biased; take Sphere, or the probes with Hutchinson, HutchPlusPlus or Bekas",
              loc);
}

LeaveOneOut::LeaveOneOut(const Array& y, bool fixed) {
  const linalg::Qr f = linalg::qr(y);
  const DType dtype = y.dtype();
  const Dim m = f.r.dim(0);
  const double eps = dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                         : std::numeric_limits<float>::epsilon();
  // Scaled, so that no power of a small matrix underflows; what is below rounding becomes that, so
  // that R can be inverted: a change of y that no one can tell from its rounding.
  const Array largest = stop_gradient(max(abs(f.r)));
  const Array r = f.r / where(largest > 0, largest, 1);
  const Array unit = eye(m, dtype), diagonal = sum(r * unit, {1});
  const Array lifted = where(abs(diagonal) < eps, eps, diagonal);
  const Array inverse = linalg::triangular_solve(r + unit * expand_dims(lifted - diagonal, 1), unit,
                                                 {.lower = false, .transposed = true});
  s_ = inverse * rsqrt(sum(square(inverse), {0}));
  q_ = f.q;
  if (fixed) {
    q_ = stop_gradient(q_);
    s_ = stop_gradient(s_);
  }
}

Array LeaveOneOut::without(const Array& w) const { return w - s_ * sum(s_ * w, {0}); }

}  // namespace gnomon::estimate::detail
