// tests/ulp/sweep_doubles.cpp -- f64: errors by references in long double, and by MPFR where those
// do not decide.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>

#include "arguments.h"
#include "sweep.h"
#include "sweeping.h"

namespace ulp {
namespace {

constexpr bool long_is_wide = LDBL_MANT_DIG >= 64;
/// What the quick references may be off, in units of f64.
constexpr double margin = 1.0 / 64;

/// Judges results of one function, and keeps the tally.
class Judge {
 public:
  Judge(const Double& f, Tally start) : f_(f), tally_(start) {
    mpfr_inits2(160, at_, exact_, difference_, static_cast<mpfr_ptr>(nullptr));
  }
  ~Judge() { mpfr_clears(at_, exact_, difference_, static_cast<mpfr_ptr>(nullptr)); }
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  void judge(double at, double got) {
    ++tally_.count;
    const double quick = quick_error(at, got);
    // Neither the largest error so far nor near the border between counted and not.
    if (quick < tally_.worst - margin && std::fabs(quick - 1) > margin) {
      tally_.above_one += quick > 1;
      return;
    }
    const double e = exact_error(at, got);
    tally_.above_one += !(e <= 1);
    if (!tally_.better_than(e)) return;
    tally_.worst = e;
    tally_.x = at, tally_.got = static_cast<float>(got);
    tally_.exact = mpfr_get_d(exact_, MPFR_RNDN);
  }
  const Tally& tally() const { return tally_; }

  /// NaN where the quick reference does not decide.
  double quick_error(double at, double got) const {
    if (!long_is_wide || !std::isfinite(got) || got == 0) return NAN;
    const long double exact = f_.quick(at);
    if (!std::isfinite(exact) || exact == 0) return NAN;
    const long double distance = std::fabs(exact - static_cast<long double>(got));
    return static_cast<double>(std::scalbn(distance, 52 - exponent(at, std::ilogb(exact))));
  }
  double exact_error(double at, double got) {
    mpfr_set_d(at_, at, MPFR_RNDN);
    f_.reference(exact_, at_, MPFR_RNDN);
    if (mpfr_nan_p(exact_) != 0) return got != got ? 0.0 : NAN;
    if (mpfr_inf_p(exact_) != 0 || mpfr_zero_p(exact_) != 0 || std::isinf(got)) {
      const double nearest = mpfr_get_d(exact_, MPFR_RNDN);
      const bool same = nearest == got && std::signbit(nearest) == std::signbit(got);
      return same ? 0.0 : std::numeric_limits<double>::infinity();
    }
    mpfr_sub_d(difference_, exact_, got, MPFR_RNDN);
    const int e = exponent(at, static_cast<int>(mpfr_get_exp(exact_)) - 1);
    mpfr_mul_2si(difference_, difference_, 52 - e, MPFR_RNDN);
    return std::fabs(mpfr_get_d(difference_, MPFR_RNDN));
  }

 private:
  /// Of the results in whose units errors are, where `own` is that of the exact one.
  int exponent(double at, int own) const {
    const int least = at < 0 && f_.least_left > 0 ? std::ilogb(f_.least_left) : -1022;
    return std::max({own, least, -1022});
  }

  const Double& f_;
  Tally tally_;
  mpfr_t at_, exact_, difference_;
};

}  // namespace

void check_reference(const Double& f) {
  Judge judge(f, {});
  for (std::uint64_t i = 0; i < 1 << 11; ++i) {
    const double x = argument(f.low, f.high, i);
    const auto got = static_cast<double>(f.quick(x));
    const double quick = judge.quick_error(x, got);
    if (quick == quick && !(std::fabs(quick - judge.exact_error(x, got)) <= margin / 2))
      disagree(f.name, x, 0, quick, judge.exact_error(x, got));
  }
}

Result sweep(gnomon::Runtime& rt, const Double& f, const Options& options) {
  const double start = now();
  constexpr std::uint64_t chunk = std::uint64_t{1} << 16, piece = 1024;
  const std::uint64_t chunks = std::max<std::uint64_t>(1, (options.doubles + chunk - 1) / chunk);
  const auto compute = gnomon::jit(rt, [&](const gnomon::Array& x) { return f.function(x); },
                                   {.name = std::string(f.name)});
  Result result{std::string(f.name) + " f64", f.bar, {}, 0, {}};
  const Progress progress(f.name, options.progress);
  std::vector<double> x(chunk), got(chunk);
  for (std::uint64_t k = 0; k < chunks; ++k) {
    progress.show(static_cast<double>(k) / static_cast<double>(chunks));
    for (std::uint64_t i = 0; i < chunk; ++i) x[i] = argument(f.low, f.high, k * chunk + i);
    rt.to_bytes(compute(rt.from_host(x)), bytes_of(got));
    // What is known of the worst spares MPFR most results.
    Tally known = result.tally;
    known.count = known.above_one = 0;
    in_parallel(
        options.threads, chunk / piece, [&] { return std::make_unique<Judge>(f, known); },
        [&](std::uint64_t p, const std::unique_ptr<Judge>& own) {
          for (std::uint64_t i = p * piece; i < (p + 1) * piece; ++i) own->judge(x[i], got[i]);
        },
        [&](const std::unique_ptr<Judge>& own) { result.tally.merge(own->tally()); });
  }
  result.seconds = now() - start;
  return result;
}

}  // namespace ulp
