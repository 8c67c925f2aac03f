// engine/runtime/milliseconds.h -- durations as numbers.
#pragma once
#include <chrono>

namespace gnomon {

inline double milliseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace gnomon
