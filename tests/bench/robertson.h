// tests/bench/robertson.h -- Robertson's kinetics, for compilers of C++17 as well.
#pragma once
#include <cstdint>

namespace bench {

/// Robertson's kinetics from (1, 0, 0), y0' = -rate y0 + k3 y1 y2, y2' = k2 y1^2, the sum constant.
///
/// Input f64[n] rate; result f32[3, n].
struct Robertson {
  static constexpr uint32_t systems = 10000;
  static constexpr double k2 = 3e7, k3 = 1e4, end = 1e5, relative = 1e-6, absolute = 1e-10,
                          first_step = 1e-6;
};
}  // namespace bench
