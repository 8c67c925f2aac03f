// tests/ulp/sweeping.h -- what sweeps over arguments share: threads, progress, a clock.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace ulp {

/// Seconds.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Calls work(i) for 0 <= i < count on several threads; `finish` once per thread, one at a time.
template <class Start, class Work, class Finish>
void in_parallel(unsigned threads, std::uint64_t count, Start start, Work work, Finish finish) {
  std::atomic<std::uint64_t> next{0};
  std::mutex finishing;
  const auto run = [&] {
    auto own = start();
    for (std::uint64_t i = next++; i < count; i = next++) work(i, own);
    const std::lock_guard lock(finishing);
    finish(own);
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(run);
  run();
  for (std::thread& t : others) t.join();
}

class Progress {
 public:
  Progress(std::string_view name, bool wanted) : name_(name), wanted_(wanted) {}
  ~Progress() {
    if (wanted_) std::fprintf(stderr, "\r%*s\r", 40, "");
  }
  void show(double part) const {
    if (wanted_)
      std::fprintf(stderr, "\r%-16.*s %5.1f %%", static_cast<int>(name_.size()), name_.data(),
                   100 * part);
  }

 private:
  std::string_view name_;
  bool wanted_;
};

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& v) {
  return std::as_writable_bytes(std::span(v));
}

[[noreturn]] inline void disagree(std::string_view name, double x, double y, double quick,
                                  double plain) {
  char text[200];
  std::snprintf(text, sizeof text,
                "ulp: the reference of %.*s gives %.17g at (%.9g, %.9g), not %.17g",
                static_cast<int>(name.size()), name.data(), quick, x, y, plain);
  throw std::runtime_error(text);
}

}  // namespace ulp
