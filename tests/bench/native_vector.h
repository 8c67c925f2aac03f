// tests/bench/native_vector.h -- vectors and the two threads of the native variants. Only for files
// compiled for this very processor.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>

#include "native.h"

namespace bench::native {

constexpr int width = 16;
using V = float __attribute__((vector_size(width * 4)));
using I = int32_t __attribute__((vector_size(width * 4)));
using LooseV = float __attribute__((vector_size(width * 4), aligned(4), may_alias));

inline V load(const float* p) { return *reinterpret_cast<const LooseV*>(p); }
inline void store(float* p, V v) { *reinterpret_cast<LooseV*>(p) = v; }
inline V all(float s) { return V{} + s; }
inline V vmin(V a, V b) { return a < b ? a : b; }
inline V vmax(V a, V b) { return a > b ? a : b; }
inline V vabs(V a) { return a < 0.0f ? -a : a; }
inline bool any(I mask) {
  int32_t seen = 0;
  for (int i = 0; i < width; i++) seen |= mask[i];
  return seen != 0;
}
inline float sum(V v) {
  float total = 0.0f;
  for (int i = 0; i < width; i++) total += v[i];
  return total;
}

/// 2^x for x in [-126, 126], relative error below 1e-7: Cephes' exp2f polynomial.
inline V exp2_of(V x) {
  const V magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const V shifted = x + magic;
  I bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  const I whole = bits - 0x4B400000;
  const V f = x - __builtin_convertvector(whole, V);
  V p = all(1.535336188319500e-4f);
  p = p * f + 1.339887440266574e-3f;
  p = p * f + 9.618437357674640e-3f;
  p = p * f + 5.550332471162809e-2f;
  p = p * f + 2.402264791363012e-1f;
  p = p * f + 6.931472028550421e-1f;
  p = p * f + 1.0f;
  const I scale = (whole + 127) << 23;
  V power;
  std::memcpy(&power, &scale, sizeof power);
  return p * power;
}

inline V sqrt_of(V x) {
  for (int i = 0; i < width; i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

using U = uint32_t __attribute__((vector_size(width * 4)));

template <class To, class From>
inline To bits_of(From x) {
  To to;
  std::memcpy(&to, &x, sizeof to);
  return to;
}

struct Words {
  U first, second;
};

/// Threefry-2x32 with 20 rounds.
inline Words threefry(Words key, Words x) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const U k[3] = {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAu};
  x.first += k[0];
  x.second += k[1];
#pragma GCC unroll 5
  for (uint32_t i = 0; i < 5; i++) {
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
      const int n = rotations[i % 2][r];
      x.first += x.second;
      x.second = (x.second << n | x.second >> (32 - n)) ^ x.first;
    }
    x.first += k[(i + 1) % 3];
    x.second += k[(i + 2) % 3] + (i + 1);
  }
  return x;
}

class Pair {
 public:
  Pair() : helper_([this] { serve(); }) {}

  ~Pair() {
    {
      std::lock_guard lock(mutex_);
      quit_ = true;
    }
    wake_.notify_one();
    helper_.join();
  }

  /// Calls work(0) here and work(1) on the helper; returns when both are done.
  template <class Work>
  void both(const Work& work) {
    {
      std::lock_guard lock(mutex_);
      context_ = &work;
      call_ = [](const void* context, int half) { (*static_cast<const Work*>(context))(half); };
      busy_ = true;
    }
    wake_.notify_one();
    work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return !busy_; });
  }

  /// Splits [0, n) in two at a multiple of `grain`.
  template <class Work>
  void halves(size_t n, size_t grain, const Work& work) {
    const size_t middle = (n / 2 + grain - 1) / grain * grain;
    both([&](int half) { half == 0 ? work(size_t{0}, middle) : work(middle, n); });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return quit_ || busy_; });
      if (quit_) return;
      lock.unlock();
      call_(context_, 1);
      lock.lock();
      busy_ = false;
      done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  void (*call_)(const void*, int) = nullptr;
  const void* context_ = nullptr;
  bool busy_ = false;
  bool quit_ = false;
  std::thread helper_;
};

}  // namespace bench::native
