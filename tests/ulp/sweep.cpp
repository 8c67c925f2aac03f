// tests/ulp/sweep.cpp -- f32: chunks of arguments, of which the device computes the next one while
// the host's threads check the last.
#include "sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "arguments.h"
#include "sweeping.h"

namespace ulp {
namespace {

using gnomon::Array;
using gnomon::DType;
using gnomon::Runtime;
using gnomon::Shape;

constexpr std::uint64_t all_floats = std::uint64_t{1} << 32;
constexpr std::uint64_t block_patterns = std::uint64_t{1} << 20;
constexpr float smallest_normal = std::numeric_limits<float>::min();

bool subnormal(float x) { return x != 0 && std::fabs(x) < smallest_normal; }
/// Or so near that the last rounding decides.
bool nearly_subnormal(double x) { return x != 0 && std::fabs(x) < smallest_normal * (1 + 0x1p-21); }

/// On a device that flushes subnormals they may count as zeros of their sign or not.
class Flushing : public SecondChance {
 public:
  Flushing(Reference unary, PairReference binary) : unary_(unary), binary_(binary) {}
  double error(float x, float y, float got, double, double error) const override {
    const float xs[] = {x, std::copysign(0.0f, x)}, ys[] = {y, std::copysign(0.0f, y)};
    double best = error;
    for (int i = 0; i <= (subnormal(x) ? 1 : 0); ++i)
      for (int j = 0; j <= (subnormal(y) ? 1 : 0); ++j) {
        double exact = 0;
        if (unary_ != nullptr) unary_(&xs[i], &exact, 1);
        if (binary_ != nullptr) binary_(&xs[i], &ys[j], &exact, 1);
        consider(best, ulp::error(got, exact));
        if (subnormal(got)) consider(best, ulp::error(std::copysign(0.0f, got), exact));
        if (nearly_subnormal(exact)) consider(best, ulp::error(got, std::copysign(0.0, exact)));
      }
    return best;
  }

 private:
  static void consider(double& best, double error) {
    if (error <= best || best != best) best = error;
  }
  Reference unary_;
  PairReference binary_;
};

/// On a function's left side zeros are differences of large terms: no finer unit than that of
/// `least`.
class LeftSide : public SecondChance {
 public:
  LeftSide(const Unary& f, const SecondChance* next)
      : least_(f.least_left), bar_(f.bar), next_(next) {}
  double error(float x, float y, float got, double exact, double error) const override {
    if (x < 0 && std::fabs(exact) < least_ && std::isfinite(got))
      error = std::fmin(error, std::fabs(got - exact) / std::ldexp(1, std::ilogb(least_) - 23));
    const bool missed = !(error <= bar_);
    return missed && next_ != nullptr ? next_->error(x, y, got, exact, error) : error;
  }

 private:
  double least_, bar_;
  const SecondChance* next_;
};

/// What a function may lose where its result is a small difference.
class Cancelling : public SecondChance {
 public:
  Cancelling(double share, const SecondChance* next) : share_(share), next_(next) {}
  double error(float x, float y, float got, double exact, double error) const override {
    const double larger = std::fmax(std::fabs(x), std::fabs(y));
    if (std::fabs(got - exact) <= share_ * larger) return 0;
    return next_ != nullptr ? next_->error(x, y, got, exact, error) : error;
  }

 private:
  double share_;
  const SecondChance* next_;
};

std::uint64_t mixed(std::uint64_t pattern, float result) {
  const std::uint32_t bits = result != result ? 0x7fc00000 : std::bit_cast<std::uint32_t>(result);
  return random_bits(pattern << 32 | bits);
}

bool agree(double quick, double plain) {
  if (quick != quick || plain != plain) return quick != quick && plain != plain;
  if (quick == plain) return std::signbit(quick) == std::signbit(plain);
  // Beyond the range of f32 only the direction counts.
  if (std::fabs(quick) > 1e40 && std::fabs(plain) > 1e40) return (quick > 0) == (plain > 0);
  if (std::fabs(quick) < 1e-60 && std::fabs(plain) < 1e-60)
    return std::signbit(quick) == std::signbit(plain);
  return std::fabs(quick - plain) <= 1e-11 * std::fabs(plain);
}

}  // namespace

void check_reference(const Unary& f) {
  constexpr std::uint64_t count = 1 << 14;
  std::vector<float> x(special_values.begin(), special_values.end());
  for (std::uint64_t i = 0; x.size() < count; ++i)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random_bits(i))));
  std::vector<double> quick(count), plain(count);
  f.reference(x.data(), quick.data(), count);
  f.plain(x.data(), plain.data(), count);
  for (std::size_t i = 0; i < count; ++i)
    if (!agree(quick[i], plain[i]) &&
        !(x[i] < 0 && std::fabs(quick[i] - plain[i]) <= 1e-11 * f.least_left))
      disagree(f.name, x[i], 0, quick[i], plain[i]);
}

void check_reference(const Binary& f) {
  constexpr std::uint64_t count = 1 << 14;
  std::vector<float> x(count), y(count);
  std::vector<double> quick(count), plain(count);
  for (std::uint64_t i = 0; i < count; ++i) std::tie(x[i], y[i]) = pair(f.pairs, i);
  f.reference(x.data(), y.data(), quick.data(), count);
  f.plain(x.data(), y.data(), plain.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool close = f.absolute > 0 && std::fabs(quick[i] - plain[i]) < 1e-13;
    if (!close && !agree(quick[i], plain[i])) disagree(f.name, x[i], y[i], quick[i], plain[i]);
  }
}

Result sweep(Runtime& rt, const Unary& f, const Options& options) {
  const double start = now();
  const std::uint64_t stride = options.stride;
  const std::uint64_t total = (all_floats + stride - 1) / stride;
  // A chunk spans whole blocks, so that a block's results come together.
  const std::uint64_t chunk =
      std::min(std::uint64_t{1} << 24, (total + block_patterns - 1) & ~(block_patterns - 1));
  const std::uint64_t chunks = (total + chunk - 1) / chunk;
  const auto compute = gnomon::jit(
      rt,
      [&](const Array& first) {
        const Array number = gnomon::iota(Shape{static_cast<gnomon::Dim>(chunk)}, 0, DType::u32);
        return f.function(gnomon::bitcast(first + number * stride, DType::f32));
      },
      {.name = std::string(f.name)});
  const auto launch = [&](std::uint64_t k) {
    return compute(rt.from_host(static_cast<std::uint32_t>(k * chunk * stride)));
  };

  Result result{std::string(f.name), f.bar, {}, 0, {}};
  const std::uint64_t blocks = all_floats / block_patterns;
  if (options.hash) result.hashes.resize(blocks);
  const Flushing flushing(f.plain, nullptr);
  const SecondChance* const flushed = options.flush ? &flushing : nullptr;
  const LeftSide left_side(f, flushed);
  const SecondChance* const second = f.least_left > 0 ? &left_side : flushed;
  // Its unit is another one also where the error passes.
  const double bar = f.least_left > 0 ? 0.25 : f.bar;
  const Progress progress(f.name, options.progress);
  std::vector<float> got(chunk);

  struct Own {
    Tally tally;
    std::vector<float> x = std::vector<float>(4096);
    std::vector<double> exact = std::vector<double>(4096);
  };
  const auto check_block = [&](std::uint64_t block, std::uint64_t chunk_first, Own& own) {
    const std::uint64_t begin = (block * block_patterns + stride - 1) / stride;
    const std::uint64_t end = ((block + 1) * block_patterns + stride - 1) / stride;
    BlockHash hash;
    for (std::uint64_t first = begin; first < end; first += own.x.size()) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(own.x.size(), end - first));
      const float* const results = got.data() + (first - chunk_first);
      for (std::size_t i = 0; i < n; ++i)
        own.x[i] = std::bit_cast<float>(static_cast<std::uint32_t>((first + i) * stride));
      if (options.judge) {
        f.reference(own.x.data(), own.exact.data(), n);
        add(own.tally, own.x.data(), nullptr, results, own.exact.data(), n, bar, second);
      }
      if (!options.hash) continue;
      for (std::size_t i = 0; i < n; ++i) hash.hash += mixed(first + i, results[i]);
      if (!options.judge) continue;
      for (std::size_t i = 0; i < n; ++i)
        hash.subnormal = hash.subnormal || subnormal(own.x[i]) || nearly_subnormal(own.exact[i]);
    }
    if (options.hash) result.hashes[block] = hash;
  };

  Array next = launch(0);
  for (std::uint64_t k = 0; k < chunks; ++k) {
    progress.show(static_cast<double>(k) / static_cast<double>(chunks));
    rt.to_bytes(next, bytes_of(got));
    if (k + 1 < chunks) next = launch(k + 1);
    const std::uint64_t first = k * chunk;
    const std::uint64_t first_block = first * stride / block_patterns;
    const std::uint64_t last_block = std::min(blocks, (first + chunk) * stride / block_patterns);
    in_parallel(
        options.threads, last_block - first_block, [] { return Own(); },
        [&](std::uint64_t i, Own& own) { check_block(first_block + i, first, own); },
        [&](const Own& own) { result.tally.merge(own.tally); });
  }
  result.seconds = now() - start;
  return result;
}

Result sweep(Runtime& rt, const Binary& f, const Options& options) {
  const double start = now();
  constexpr std::uint64_t chunk = std::uint64_t{1} << 22, piece = 4096;
  const std::uint64_t chunks = std::max<std::uint64_t>(1, (options.pairs + chunk - 1) / chunk);
  const auto compute =
      gnomon::jit(rt, [&](const Array& x, const Array& y) { return f.function(x, y); },
                  {.name = std::string(f.name)});
  Result result{std::string(f.name), f.bar, {}, 0, {}};
  const Flushing flushing(nullptr, f.plain);
  const SecondChance* const flushed = options.flush ? &flushing : nullptr;
  const Cancelling cancelling(f.absolute, flushed);
  const SecondChance* const second = f.absolute > 0 ? &cancelling : flushed;
  const Progress progress(f.name, options.progress);
  std::vector<float> x(chunk), y(chunk), got(chunk);
  for (std::uint64_t k = 0; k < chunks; ++k) {
    progress.show(static_cast<double>(k) / static_cast<double>(chunks));
    const auto nothing = [] { return 0; };
    in_parallel(
        options.threads, chunk / piece, nothing,
        [&](std::uint64_t p, int) {
          for (std::uint64_t i = p * piece; i < (p + 1) * piece; ++i)
            std::tie(x[i], y[i]) = pair(f.pairs, k * chunk + i);
        },
        [](int) {});
    rt.to_bytes(compute(rt.from_host(x), rt.from_host(y)), bytes_of(got));
    struct Own {
      Tally tally;
      std::vector<double> exact = std::vector<double>(piece);
    };
    in_parallel(
        options.threads, chunk / piece, [] { return Own(); },
        [&](std::uint64_t p, Own& own) {
          const std::size_t first = p * piece;
          f.reference(&x[first], &y[first], own.exact.data(), piece);
          add(own.tally, &x[first], &y[first], &got[first], own.exact.data(), piece, f.bar, second);
        },
        [&](const Own& own) { result.tally.merge(own.tally); });
  }
  result.seconds = now() - start;
  return result;
}

}  // namespace ulp
