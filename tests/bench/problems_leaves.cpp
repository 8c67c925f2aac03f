// tests/bench/problems_leaves.cpp -- checks of workloads with many arrays.
#include "problems_leaves.h"

#include <cmath>

#include "checking.h"

namespace bench {

using P = AdamUpdate;

Check adam_update_check() {
  return [](std::span<const float> result) {
    constexpr double b1 = P::beta1, b2 = P::beta2;
    const auto wanted = [](size_t at) {
      const size_t i = at % P::n;
      const double g = P::gradient(i), m = (1 - b1 * b1) * g, v = (1 - b2 * b2) * g * g;
      if (at < P::n)  // both moments are those of the gradient itself, unbiased
        return double{P::parameter(i)} - double{P::rate} * g / (std::abs(g) + double{P::epsilon});
      return at < 2 * P::n ? m : v;
    };
    return compare(result, size_t{3} * P::n, wanted,
                   [&](size_t at) { return 1e-6 + 2e-5 * std::abs(wanted(at)); });
  };
}

Check adam_copy_check() {
  return [](std::span<const float> result) {
    constexpr double b1 = P::beta1, b2 = P::beta2;
    const auto wanted = [](size_t at) {
      const size_t i = at % P::n;
      const double g = P::gradient(i);
      if (at < P::n) return double{P::parameter(i)} + g;
      return g + (at < 2 * P::n ? (1 - b1) * g : (1 - b2) * g * g);
    };
    return compare(result, size_t{3} * P::n, wanted,
                   [&](size_t at) { return 1e-6 + 1e-5 * std::abs(wanted(at)); });
  };
}

Check call_100_check() {
  std::vector<double> reference(Call::elements);
  for (size_t i = 0; i < reference.size(); i++)
    reference[i] =
        Call100::arrays * static_cast<double>(i) + Call100::arrays * (Call100::arrays - 1) / 2.0;
  return against(std::move(reference), 0.0, 0.0);
}

}  // namespace bench
