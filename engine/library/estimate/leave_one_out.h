// engine/library/estimate/leave_one_out.h -- the range of a block, and that range without one of
// its columns.
#pragma once
#include <string_view>

#include "engine/library/estimate/blocks.h"
#include "gnomon/array.h"

namespace gnomon::estimate::detail {

/// Throws UsageError, in the name of `method`, where the source's `k` probes depend on each other:
/// what others say of a probe that is left out is no estimate then.
void require_independent(std::string_view method, const Source&, Dim k, Loc);

/// y = Q R, and for each column i of y the unit vector Q s_i of its range that is at right angles
/// to all other columns: Q Q^T - Q s_i s_i^T Q^T projects on the range without column i.
///
/// Where columns depend on each other, as many others as rounding gives fill Q up.
/// Source: Epperly, Tropp, Webber (2024), equation 2.2.
class LeaveOneOut {
 public:
  /// y[n, m]; `fixed`: without derivatives.
  LeaveOneOut(const Array& y, bool fixed);
  const Array& q() const { return q_; }  // [n, m]
  const Array& s() const { return s_; }  // [m, m], s_i in column i
  /// Of coordinates w_i = Q^T x_i those in the range without column i.
  Array without(const Array& w) const;

 private:
  Array q_, s_;
};

}  // namespace gnomon::estimate::detail
