// tests/support/subnormals.h -- what a device does with numbers below the smallest normal one.
#pragma once
#include <limits>
#include <vector>

#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/runtime.h"

namespace gnomon::testing {

/// Whether every operation tried keeps subnormal operands and results of type T (float or double).
/// Vulkan lets each operation do as it likes where a module asks for nothing, and NVIDIA's driver
/// offers nothing to ask for: it multiplies subnormals and finds their absolute values to be 0.
template <class T>
bool keeps_subnormals(Runtime& rt) {
  const auto operations = jit(rt, [](const Array& x, const Array& y) {
    return std::vector<Array>{x * y, x + x, abs(x), sqrt(x), where(x > 0.0, y, zeros_like(y))};
  });
  constexpr T least = std::numeric_limits<T>::min();
  const Array y = rt.from_host(std::vector<T>{8, T(0.5)});
  for (const T x : {least * T(0.5), least * T(1.5)})
    for (const Array& a : operations(rt.from_host(std::vector<T>{x, x}), y))
      for (const T kept : rt.to_host<T>(a))
        if (kept == 0) return false;
  return true;
}

}  // namespace gnomon::testing
