// tests/oracle/check.cpp -- rows of functions element by element.
#include "check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <map>
#include <span>
#include <sstream>

#include "check_general.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace oracle {

Array or_zero(const Array& a, const Array& like) {
  return a.is_hole() ? gnomon::zeros_like(like) : a;
}

namespace {

/// How many rows share a program: drivers take more than linear time for long kernels.
constexpr std::size_t rows_together = 6;

std::string text(double x, DType t) {
  std::ostringstream s;
  s << std::setprecision(t == DType::f64 ? 17 : 9) << x;
  return s.str();
}

/// Complaints about one row, of which only the first are said.
class Row {
 public:
  Row(Complaints& all, std::string name) : all_(all), name_(std::move(name)) {}
  ~Row() {
    if (count_ > lines_per_row)
      all_.push_back(name_ + ": " + std::to_string(count_ - lines_per_row) + " more");
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  void say(const std::string& what) {
    if (++count_ <= lines_per_row) all_.push_back(name_ + ": " + what);
  }

 private:
  Complaints& all_;
  std::string name_;
  std::size_t count_ = 0;
};

bool subnormal(double x, DType t) {
  return x != 0 && std::fabs(x) < std::ldexp(1.0, format_of(t).least);
}
bool nearly_subnormal(const Real& x, DType t) {
  return x.finite() && !x.zero() &&
         abs(x) < power_of_two(format_of(t).least) * (Real(1) + power_of_two(-20));
}

/// A result of a device that flushes: a subnormal number that it hands through, as maximum does, is
/// a zero to it.
double result_of(double got, DType t, bool flushes) {
  return flushes && subnormal(got, t) ? std::copysign(0.0, got) : got;
}

/// The ways in which a device that flushes may take arguments.
std::vector<std::vector<double>> readings(const std::vector<double>& x, DType t, bool flushes) {
  std::vector<std::vector<double>> all{x};
  if (!flushes) return all;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!subnormal(x[k], t)) continue;
    for (std::size_t i = all.size(); i-- > 0;) {
      all.push_back(all[i]);
      all.back()[k] = std::copysign(0.0, x[k]);
    }
  }
  return all;
}

Reals reals(const std::vector<double>& x) {
  Reals r;
  for (const double v : x) r.emplace_back(v);
  return r;
}

/// Digits in which differences of a function at x show its derivative to more than any dtype has.
mpfr_prec_t digits_at(const std::vector<double>& x) {
  int most = 0;
  for (const double v : x)
    if (std::isfinite(v) && v != 0) {
      const int e = std::ilogb(v);
      most = std::max(most, e < 0 ? -2 * e : e);
    }
  return 330 + most;
}

struct Slope {
  bool known = false;
  Real value;
  Real second;  // argument times second derivative
};

/// The derivative of a row in argument k. Not known where the function has none.
Slope slope_of(const Elementwise& row, const std::vector<double>& x, std::size_t k, DType t) {
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); })) return {};
  if (row.bounds.normal_slope &&
      std::any_of(x.begin(), x.end(), [&](double v) { return subnormal(v, t); }))
    return {};
  if (row.bounds.flat) return {true, Real(0), Real(0)};
  if (k < row.slopes.size() && row.slopes[k]) {
    const Real value = row.slopes[k](reals(x));
    Slope s{!value.nan(), value, Real(0)};
    for (std::size_t j = 0; s.known && row.bounds.spread > 0 && j < x.size(); ++j) {
      // How the derivative moves with the relative size of each argument.
      Reals near = reals(x);
      const Real step = near[j] * power_of_two(-60);
      near[j] += step;
      const Real other = row.slopes[k](near);
      if (!other.nan()) s.second += abs(other - value) * power_of_two(60);
    }
    return s;
  }
  const auto differences = [&](long small) {
    const double size = std::fmin(std::fabs(x[k]), 1);
    const Real h = size == 0 ? power_of_two(-1200 - small)
                             : power_of_two(std::ilogb(size)) * power_of_two(-small);
    Reals up = reals(x), down = reals(x);
    up[k] += h;
    down[k] = down[k] - h;
    const Real middle = row.exact(reals(x)), above = row.exact(up), below = row.exact(down);
    Slope s{true, (above - below) / (h * Real(2)),
            (above - middle - middle + below) / square(h) * Real(x[k])};
    s.known = s.value.finite() && middle.finite();
    return s;
  };
  if (x[k] == 0) {
    const auto before = Real::digits;
    Real::digits += 2600;
    Slope s = differences(0);
    const Slope wider = differences(40);
    Real::digits = before;
    s.known =
        s.known && wider.known && abs(s.value - wider.value) <= abs(s.value) * power_of_two(-30);
    return s;
  }
  Slope s = differences(120);
  // Not near a pole, a jump or a corner that differences smear.
  const Slope wider = differences(100);
  s.known =
      s.known && wider.known && abs(s.value - wider.value) <= (abs(s.value)) * power_of_two(-60);
  return s;
}

double largest_of(const std::vector<double>& x) {
  double most = 0;
  for (const double v : x)
    if (std::isfinite(v)) most = std::fmax(most, std::fabs(v));
  return most;
}

/// Whether `got` is right for any reading of the arguments; else the exact value for the message.
bool value_is_right(const Elementwise& row, const std::vector<double>& x, double got, DType t,
                    bool flushes, std::string& why) {
  const Bounds& b = row.bounds;
  got = result_of(got, t, flushes);
  // f16 and bf16 are computed in f32 and rounded once more.
  const double allowed = t == DType::f16 || t == DType::bf16 ? 0.51 + b.ulps / 256 : b.ulps;
  const bool some_flushed =
      flushes && std::any_of(x.begin(), x.end(), [&](double v) { return subnormal(v, t); });
  for (const std::vector<double>& y : readings(x, t, flushes)) {
    const Real want = row.exact(reals(y));
    const double off = units(got, want, t, b.least, b.unsigned_zero);
    if (off <= allowed) return true;
    if (b.operand > 0 && std::isfinite(got) && want.finite() &&
        abs(Real(got) - want) <= Real(b.operand) * Real(largest_of(y)))
      return true;
    const Format f = format_of(t);
    if (flushes && got == 0 && nearly_subnormal(want, t)) return true;
    // A device may take a subnormal number for zero where it compares, and multiply it all the
    // same.
    const Real little = power_of_two(f.least + 2);
    if (some_flushed && abs(want) < little && std::isfinite(got) && abs(Real(got)) < little)
      return true;
    if (b.tiny > 0 && want.finite() && std::isfinite(got) &&
        abs(Real(got) - want) <=
            (b.tiny < infinity ? Real(b.tiny) : power_of_two(f.digits - 1)) *
                power_of_two(flushes && b.tiny < infinity ? f.least : f.least + 1 - f.digits))
      return true;
    if (b.shift > 0 && want.finite() && std::isfinite(got)) {
      Reals near = reals(y);
      Real slack = 0;
      for (std::size_t k = 0; k < y.size(); ++k) {
        near[k] = Real(y[k]) * (Real(1) + power_of_two(-60));
        slack += abs(row.exact(near) - want) * power_of_two(60);
        near[k] = Real(y[k]);
      }
      if (abs(Real(got) - want) <= slack * Real(b.shift) * power_of_two(1 - f.digits)) return true;
    }
    if (why.empty()) {
      std::ostringstream s;
      s << "got " << text(got, t) << ", want " << text(want.number(), t) << ", off by " << off
        << " units";
      why = s.str();
    }
  }
  return false;
}

bool slope_is_right(const Elementwise& row, const std::vector<double>& x, std::size_t k,
                    double factor, double got, DType t, bool flushes, std::string& why) {
  const Bounds& b = row.bounds;
  for (const std::vector<double>& y : readings(x, t, flushes)) {
    const Slope s = slope_of(row, y, k, t);
    if (!s.known) return true;
    const Real want = s.value * Real(factor);
    double size = b.slope_least;
    if (b.slope_value > 0)
      size = std::fmax(size, std::fabs(row.exact(reals(y)).number()) * b.slope_value);
    if (!(size < std::ldexp(1.0, format_of(t).most))) size = 0;
    const double off = units(got, want, t, size * std::fabs(factor), true);
    if (off <= b.slope) return true;
    // What is subnormal may come of intermediate results that vanish or leave the range.
    const Real smallest = power_of_two(format_of(t).least),
               largest = power_of_two(format_of(t).most - 3);
    if (abs(want) < smallest && std::fabs(got) <= smallest.number()) return true;
    if (abs(s.value) > largest && std::isinf(got) && (got > 0) == (want > Real(0))) return true;
    // On a device that flushes: also where a factor of the derivative vanishes, or the value that
    // it is made of. The sign of a subnormal number may be that number.
    const Real little = power_of_two(format_of(t).least + 2);
    if (flushes && abs(Real(got)) < little &&
        (abs(want) < little || nearly_subnormal(s.value, t) ||
         nearly_subnormal(row.exact(reals(y)), t)))
      return true;
    const Real slack = s.second * Real(b.spread) * power_of_two(1 - format_of(t).digits);
    if (b.spread > 0 && std::isfinite(got) && abs(Real(got) - want) <= abs(slack * Real(factor)))
      return true;
    if (why.empty()) {
      std::ostringstream o;
      o << "got " << text(got, t) << ", want " << text(want.number(), t) << ", off by " << off
        << " units";
      why = o.str();
    }
  }
  return false;
}

std::string at(const std::vector<double>& x, DType t) {
  std::string s = " at ";
  for (std::size_t k = 0; k < x.size(); ++k) s += (k == 0 ? "" : ", ") + text(x[k], t);
  return s;
}

std::vector<double> arguments_at(std::span<const HostArray> columns, Dim i) {
  std::vector<double> x;
  for (const HostArray& c : columns) x.push_back(c.number(i));
  return x;
}

/// Powers of two, so that they do not round.
HostArray factors(const HostArray& like, std::uint64_t seed) {
  HostArray h(like.aval);
  constexpr double some[] = {1, -1, 0.5, 2, -2};
  for (Dim i = 0; i < h.size(); ++i)
    h.set_number(i, some[random_bits(seed + static_cast<std::uint64_t>(i)) % 5]);
  return h;
}

/// One program for several rows: of each the value, the tangent, the cotangents.
void check_rows(std::span<const Elementwise> rows, DType t, const Machine& machine,
                Complaints& complaints) {
  const auto arity = static_cast<std::size_t>(rows[0].arity);
  std::vector<HostArray> inputs = float_arguments(t, rows[0].arity, rows[0].bounds);
  const std::vector<HostArray> columns = inputs;
  const bool half = t == DType::f16 || t == DType::bf16;
  if (!half)
    for (std::size_t k = 0; k <= arity; ++k) inputs.push_back(factors(columns[0], 100 * k + 1));

  std::vector<std::size_t> first;  // output of each row
  const auto program = [&](const Arrays& in) {
    Arrays out;
    first.clear();
    const Arrays x(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(arity));
    for (const Elementwise& row : rows) {
      first.push_back(out.size());
      if (half || row.bounds.no_slope) {
        out.push_back(row.apply(x));
        continue;
      }
      const Arrays tangents(in.begin() + static_cast<std::ptrdiff_t>(arity), in.end() - 1);
      const auto f = [&](const Arrays& v) { return row.apply(v); };
      const auto [value, tangent] = gnomon::jvp(f, x, tangents);
      out.push_back(value);
      out.push_back(or_zero(tangent, value));
      const Arrays back = gnomon::vjp(f, x)(in.back());
      for (std::size_t k = 0; k < arity; ++k) out.push_back(or_zero(back[k], value));
    }
    return out;
  };
  const std::vector<HostArray> got = machine.run(program, inputs);

  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Elementwise& row = rows[r];
    const std::string title = std::string(row.names) + " " + std::string(name(t));
    Row values(complaints, title), tangents(complaints, title + ", forward derivative"),
        cotangents(complaints, title + ", backward derivative");
    const bool slopes = !half && !row.bounds.no_slope;
    for (Dim i = 0; i < columns[0].size(); ++i) {
      const std::vector<double> x = arguments_at(columns, i);
      Real::digits = 160;
      std::string why;
      if (!value_is_right(row, x, got[first[r]].number(i), t, machine.flushes, why))
        values.say(why + at(x, t));
      if (!slopes) continue;
      Real::digits = row.bounds.flat || row.slopes.size() == arity ? 200 : digits_at(x);
      bool all_right = true;
      for (std::size_t k = 0; k < arity; ++k) {
        why.clear();
        const double w = inputs.back().number(i);
        const bool right =
            slope_is_right(row, x, k, w, got[first[r] + 2 + k].number(i), t, machine.flushes, why);
        if (!right)
          cotangents.say(why + at(x, t) + (arity > 1 ? " in argument " + std::to_string(k) : ""));
        all_right = all_right && right;
      }
      if (!all_right || arity > 1) {
        // Forward derivatives are sums of what reverse mode gives one by one.
        if (!all_right) continue;
        double sum = 0, size = 0;
        bool finite = std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
        for (std::size_t k = 0; k < arity && finite; ++k) {
          const double part = got[first[r] + 2 + k].number(i) / inputs.back().number(i) *
                              inputs[arity + k].number(i);
          finite = std::isfinite(part);
          sum += part;
          size += std::fabs(part);
        }
        const double forward = got[first[r] + 1].number(i);
        const double unit = std::ldexp(std::fmax(size, std::ldexp(1.0, format_of(t).least)),
                                       1 - format_of(t).digits);
        const double largest = t == DType::f64 ? 0x1p1022 : 0x1p126;
        // On a device that flushes each of the parts may vanish, and what it was made of.
        const double vanishes = machine.flushes ? std::ldexp(1.0, format_of(t).least + 2) : 0;
        if (finite && size < largest &&
            !(std::fabs(forward - sum) <= (4 + 4 * row.bounds.slope) * unit + vanishes)) {
          std::vector<double> known;
          for (std::size_t k = 0; k < arity; ++k)
            if (!slope_of(row, x, k, t).known) finite = false;
          if (finite) tangents.say("got " + text(forward, t) + ", want " + text(sum, t) + at(x, t));
        }
      } else {
        why.clear();
        if (!slope_is_right(row, x, 0, inputs[1].number(i), got[first[r] + 1].number(i), t,
                            machine.flushes, why))
          tangents.say(why + at(x, t));
      }
    }
  }
}

bool same_float(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want && std::signbit(got) == std::signbit(want);
}

double exact_value(const Exact& row, DType t, const std::vector<double>& x) {
  if (t == DType::f64) return row.arity == 1 ? row.one64(x[0]) : row.two64(x[0], x[1]);
  const auto a = static_cast<float>(x[0]);
  return row.arity == 1 ? row.one32(a) : row.two32(a, static_cast<float>(x[1]));
}

void compare_exact(const Exact& row, DType t, const std::vector<HostArray>& columns,
                   const HostArray& got, const Machine& machine, Complaints& complaints) {
  Row said(complaints, std::string(row.names) + " " + std::string(name(t)));
  const DType result = row.result == DType::f32 ? t : row.result;
  if (got.aval.dtype != result)
    said.say("gives " + std::string(name(got.aval.dtype)) + " instead of " +
             std::string(name(result)));
  const std::span operands(columns.begin(), columns.begin() + row.arity);
  for (Dim i = 0; i < got.size(); ++i) {
    const std::vector<double> x = arguments_at(operands, i);
    const double y = result_of(got.number(i), t, machine.flushes);
    bool right = false;
    for (const std::vector<double>& z : readings(x, t, machine.flushes)) {
      const double want = exact_value(row, t, z);
      right = right || same_float(y, want) || (row.unsigned_zero && y == 0 && want == 0) ||
              (machine.flushes && y == 0 && std::fabs(want) <= std::ldexp(1.0, format_of(t).least));
    }
    if (!right)
      said.say("got " + text(y, t) + ", want " + text(exact_value(row, t, x), t) + at(x, t));
  }
}

void check_rows(std::span<const Exact> rows, DType t, const Machine& machine,
                Complaints& complaints) {
  const std::vector<HostArray> columns = float_arguments(t, rows[0].arity, {});
  const auto program = [&](const Arrays& in) {
    Arrays out;
    for (const Exact& row : rows) out.push_back(row.apply(in));
    return out;
  };
  const std::vector<HostArray> got = machine.run(program, columns);
  for (std::size_t r = 0; r < rows.size(); ++r)
    compare_exact(rows[r], t, columns, got[r], machine, complaints);
}

std::string text(Int x) {
  if (x == 0) return "0";
  std::string s;
  for (Int rest = x < 0 ? -x : x; rest > 0; rest /= 10)
    s.insert(s.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return x < 0 ? "-" + s : s;
}

Int integer_of(const HostArray& a, Dim i) {
  if (a.aval.dtype == DType::u64) return static_cast<std::uint64_t>(a.integer(i));
  return a.integer(i);
}

void check_rows(std::span<const Whole> rows, DType t, const Machine& machine,
                Complaints& complaints) {
  const std::vector<HostArray> columns = whole_arguments(t, rows[0].arity);
  const auto program = [&](const Arrays& in) {
    Arrays out;
    for (const Whole& row : rows) out.push_back(row.apply(in));
    return out;
  };
  const std::vector<HostArray> got = machine.run(program, columns);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Whole& row = rows[r];
    Row said(complaints, std::string(row.names) + " " + std::string(name(t)));
    const DType result = row.result == DType::f32 ? t : row.result;
    if (got[r].aval.dtype != result) {
      said.say("gives " + std::string(name(got[r].aval.dtype)) + " instead of " +
               std::string(name(result)));
      continue;
    }
    for (Dim i = 0; i < got[r].size(); ++i) {
      Int x[2] = {};
      std::string where = " at ";
      for (std::size_t k = 0; k < columns.size(); ++k) {
        x[k] = integer_of(columns[k], i);
        where += (k > 0 ? ", " : "") + text(x[k]);
      }
      const Int want = type_of(result).wrapped(row.exact(x, type_of(t)));
      if (integer_of(got[r], i) != want)
        said.say("got " + text(integer_of(got[r], i)) + ", want " + text(want) + where);
    }
  }
}

/// Rows that get the same arguments, a few at a time. A program that does not run is taken apart to
/// name the row.
template <class R, class Same>
void in_groups(const std::vector<R>& rows, DType t, const Machine& machine, Complaints& complaints,
               Same same) {
  std::vector<R> left = rows;
  while (!left.empty()) {
    std::vector<R> group{left.front()};
    left.erase(left.begin());
    for (std::size_t i = 0; i < left.size() && group.size() < rows_together;) {
      if (!same(group.front(), left[i])) {
        ++i;
        continue;
      }
      group.push_back(left[i]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
    try {
      check_rows(std::span<const R>(group), t, machine, complaints);
    } catch (const std::exception& together) {
      for (const R& row : group) try {
          check_rows(std::span<const R>(&row, 1), t, machine, complaints);
        } catch (const std::exception& e) {
          complaints.push_back(std::string(row.names) + " " + std::string(name(t)) +
                               " throws: " + e.what());
        }
    }
  }
}

}  // namespace

double units(double got, const Real& want, DType t, double least, bool unsigned_zero) {
  const Format f = format_of(t);
  if (want.nan() || std::isnan(got)) return want.nan() && std::isnan(got) ? 0 : infinity;
  if (!want.finite()) return got == want.number() ? 0 : infinity;
  if (want.zero() && got == 0)
    return unsigned_zero || std::signbit(got) == want.negative() ? 0 : infinity;
  long e = want.zero() ? f.least : std::max<long>(want.exponent(), f.least);
  if (least > 0) e = std::max<long>(e, std::ilogb(least));
  e = std::min<long>(e, f.most);
  // Infinity stands where the next number would.
  const Real end = power_of_two(f.most + 1);
  Real value = got;
  if (std::isinf(got)) value = got > 0 ? end : -end;
  if (std::isinf(got) && abs(want) >= end) return (want > Real(0)) == (got > 0) ? 0 : infinity;
  return (abs(value - want) / power_of_two(e - (f.digits - 1))).number();
}

Type type_of(DType t) {
  if (t == DType::boolean) return {t, 1, false, 0, 1};
  const int bits = static_cast<int>(gnomon::bits_of(t));
  const bool s = gnomon::is_signed(t);
  return {t, bits, s, s ? -(Int{1} << (bits - 1)) : 0, (Int{1} << (s ? bits - 1 : bits)) - 1};
}
Int Type::wrapped(Int x) const {
  if (dtype == DType::boolean) return x != 0;
  const Int m = Int{1} << bits;
  x = ((x % m) + m) % m;
  return x > high ? x - m : x;
}

Complaints check(const Family& family, const Machine& machine) {
  Complaints complaints;
  const auto types = [&] {
    return machine.float64 ? Types{DType::f32, DType::f64} : Types{DType::f32};
  }();
  const auto together = [](const Elementwise& a, const Elementwise& b) {
    return a.arity == b.arity && a.bounds.low == b.bounds.low && a.bounds.high == b.bounds.high &&
           a.bounds.every == b.bounds.every;
  };
  for (const DType t : types) {
    in_groups(family.elementwise, t, machine, complaints, together);
    in_groups(family.exact, t, machine, complaints,
              [](const Exact& a, const Exact& b) { return a.arity == b.arity; });
  }
  std::vector<Elementwise> halves;
  for (const Elementwise& row : family.elementwise)
    if (row.bounds.halves) halves.push_back(row);
  for (const DType t : {DType::f16, DType::bf16})
    in_groups(halves, t, machine, complaints, together);
  Types integers = all_integers;
  integers.push_back(DType::boolean);
  for (const DType t : integers) {
    std::vector<Whole> rows;
    for (const Whole& row : family.whole)
      if (t != DType::boolean || row.booleans) rows.push_back(row);
    in_groups(rows, t, machine, complaints,
              [](const Whole& a, const Whole& b) { return a.arity == b.arity; });
  }
  check_general(family.general, machine, complaints);
  check_drawn(family.drawn, machine, complaints);
  return complaints;
}

Complaints check_exact(const Exact& row, DType t, std::uint64_t count, const Machine& machine) {
  Complaints complaints;
  constexpr std::uint64_t chunk = 1 << 20;
  for (std::uint64_t first = 0; first < count && complaints.empty(); first += chunk) {
    const std::vector<HostArray> columns = random_pairs(t, first, std::min(chunk, count - first));
    const auto program = [&](const Arrays& in) { return Arrays{row.apply(in)}; };
    compare_exact(row, t, columns, machine.run(program, columns)[0], machine, complaints);
  }
  return complaints;
}

}  // namespace oracle
