// engine/library/ode/fields.cpp -- vector fields as the loop calls them: checked, and always
// forward in time.
#include "engine/library/ode/method.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {

Array Fields::time(const Array& t) const { return sign_ ? *sign_ * t : t; }

Arrays Fields::operator()(std::size_t part, const Array& t, const Arrays& y) const {
  Arrays slope = request_.fields[part](time(t), y);
  const auto text = [](const Array& a) { return to_string(a.aval()); };
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (slope[i].aval() != y[i].aval())
      usage_error("diffeqsolve",
                  "`" + request_.paths[i] + "` is " + text(y[i]) + " and the vector field gives " +
                      text(slope[i]) + " for it; both have to be the same",
                  request_.loc);
    if (sign_) {
      const Array sign =
          sign_->dtype() == slope[i].dtype() ? *sign_ : cast(*sign_, slope[i].dtype());
      slope[i] = sign * slope[i];
    }
  }
  return slope;
}

Arrays Fields::all(const Array& t, const Arrays& y) const {
  Arrays sum = (*this)(0, t, y);
  for (std::size_t part = 1; part < size(); ++part) {
    const Arrays more = (*this)(part, t, y);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + more[i];
  }
  return sum;
}

}  // namespace gnomon::ode::detail
