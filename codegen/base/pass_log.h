// codegen/base/pass_log.h -- which passes run, and what each did: the same for passes over
// graphs and over kernels.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon {

struct PassOptions {
  /// Passes that do not run, by name, of those that no other relies on. For tests: a program means
  /// the same without any of them.
  std::vector<std::string> left_out = {};
  bool verify = false;  // what each pass made, not only what the last one did
  bool record = false;  // what each pass did (GNOMON_DUMP=passes)
};

/// Forms of graphs or kernels that passes rely on or bring about: a bit each.
using Forms = std::uint32_t;

/// Whether every pass of a table finds the forms that it needs, of which some are `given`.
template <typename Pass, std::size_t n>
constexpr bool finds_what_it_needs(const Pass (&passes)[n], Forms given) {
  for (const Pass& p : passes) {
    if ((p.needs & ~given) != 0) return false;
    given |= p.makes;
  }
  return true;
}

/// Whether a pass brings about nothing that others rely on.
template <typename Pass>
constexpr bool may_be_left_out(const Pass& p) {
  return p.makes == 0;
}

/// What passes did, in order, as text.
class PassLog {
 public:
  explicit PassLog(PassOptions options = {}) : options_(std::move(options)) {}

  bool runs(std::string_view pass) const;
  bool verifies() const { return options_.verify; }
  bool records() const { return options_.record; }

  /// Notes what a pass made of a graph or kernel, `of`: its size before and now, and its text if it
  /// is another one.
  void add(std::string_view pass, std::string_view of, std::size_t before, std::size_t after,
           double microseconds, std::string_view text);
  /// "pass vectorize: f_0, 120 -> 96 instructions, 31 us", and what it changed below.
  const std::string& text() const { return text_; }

 private:
  PassOptions options_;
  std::string text_;
};

/// Microseconds since it was made, for a log that records them: reading a clock at each pass takes
/// some hundredths of the time of small programs.
class PassClock {
 public:
  explicit PassClock(const PassLog& log) {
    if (log.records()) begin_ = std::chrono::steady_clock::now();
  }
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace gnomon
