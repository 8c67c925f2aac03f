// tests/oracle/arguments.cpp -- what rows are tried with: special numbers, and random ones of all
// exponents.
#include <algorithm>
#include <bit>
#include <cmath>

#include "check.h"

namespace oracle {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// In [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

double rounded(double x, DType t) {
  HostArray one(gnomon::Aval{t, {}});
  one.set_number(0, x);
  return one.number(0);
}
double next(double x, DType t) {
  return t == DType::f64
             ? std::nextafter(x, infinity)
             : std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
}
double before(double x, DType t) { return -next(-x, t); }

/// Every exponent as often.
double any_float(DType t, std::uint64_t i) {
  const Format f = format_of(t);
  const std::uint64_t r = random_bits(3 * i + 11), s = random_bits(5 * i + 7);
  const int e =
      f.least - f.digits + static_cast<int>(r % static_cast<unsigned>(f.most - f.least + f.digits));
  const double x = std::ldexp(1 + unit(s), e);
  return rounded((r >> 40) % 2 == 0 ? x : -x, t);
}

/// The extremes and the ordinary corners: few, for all pairs of them.
std::vector<double> corners(DType t) {
  const Format f = format_of(t);
  const double smallest = std::ldexp(1.0, f.least), ulp = std::ldexp(1.0, 1 - f.digits);
  const double largest = std::ldexp(2 - ulp, f.most),
               tiny = std::ldexp(1.0, f.least + 1 - f.digits);
  std::vector<double> x{0,   tiny,    smallest - tiny, smallest,     largest, infinity,
                        1,   1 + ulp, 1 - ulp / 2,     0.5,          2,       3,
                        0.1, 2.5,     1 / ulp,         1 / ulp - 0.5};
  for (std::size_t i = x.size(); i-- > 0;) x.push_back(-x[i]);
  x.push_back(nan);
  for (double& v : x) v = rounded(v, t);
  return x;
}

std::vector<double> unary(DType t, const Bounds& b) {
  const Format f = format_of(t);
  std::vector<double> x = corners(t);
  const auto both = [&](double v) {
    x.push_back(v);
    x.push_back(-v);
  };
  // clang-format off
  for (const double v : {0.25, 0.75, 1.0 / 3, 1.5, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 10.0, 20.5, 100.0,
                         1e5, 1e10, 1e20, 1e30, 0.01, 1e-5, 1e-10, 1e-20, 1e-30, 2.718281828459045,
                         0.7853981633974483, 1.5707963267948966, 3.141592653589793,
                         4.71238898038469, 6.283185307179586, 314.1592653589793})
    // clang-format on
    both(v);
  for (const int e : {f.digits - 2, f.digits - 1, f.digits, f.digits + 1, 31, 32, 63, 64})
    for (const double d : {-1.0, -0.5, 0.0, 0.5, 1.0}) both(std::ldexp(1.0, e) + d);
  // Where exponentials and the gamma function leave the range.
  for (const double v : {88.0,   88.72,  88.73,  87.33, 103.9, 104.0, 89.4,  35.04, 34.5,
                         709.7,  709.79, 745.1,  745.2, 708.3, 710.4, 128.0, 149.0, 150.0,
                         1024.0, 1074.0, 1075.0, 38.5,  45.0,  308.0, 323.5, 91.0,  714.0})
    both(v);
  for (int k = 1; k < f.digits + 4; k += 3)
    for (const double at : {0.5, 1.0, 2.0, 3.0}) {
      both(at + std::ldexp(1.0, -k));
      both(at - std::ldexp(1.0, -k));
    }
  for (double& v : x) v = rounded(v, t);
  if (b.low > -infinity || b.high < infinity)
    std::erase_if(x, [&](double v) { return v < b.low || v > b.high; });
  const double low = std::fmax(b.low, -1e300), high = std::fmin(b.high, 1e300);
  const auto add = [&](double v) {
    if (!(v < low || v > high)) x.push_back(rounded(v, t));
  };
  for (std::uint64_t i = 0; i < 250; ++i) add(any_float(t, i));
  for (std::uint64_t i = 0; i < 120; ++i) {
    const double u = unit(random_bits(900 + i));
    for (const double range : {1.0, 10.0, t == DType::f64 ? 760.0 : 110.0})
      add((2 * u - 1) * range);
  }
  if (b.low > -infinity && b.high < infinity)
    for (std::uint64_t i = 0; i < 200; ++i)
      add(b.low + (b.high - b.low) * unit(random_bits(7000 + i)));
  return x;
}

std::vector<std::vector<double>> binary(DType t, const Bounds& b) {
  std::vector<double> x, y;
  const std::vector<double> c = corners(t);
  const auto add = [&](double p, double q) {
    p = rounded(p, t), q = rounded(q, t);
    if (p < b.low || p > b.high || q < b.low || q > b.high) return;
    x.push_back(p);
    y.push_back(q);
  };
  for (const double p : c)
    for (const double q : c) add(p, q);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const double p = any_float(t, 2 * i), u = unit(random_bits(i)), v = unit(random_bits(i + 1000));
    add(p, any_float(t, 2 * i + 1));
    if (b.low == 0) add(std::fabs(p), std::fabs(any_float(t, 2 * i + 1)));
    add(20 * u - 10, 20 * v - 10);
    add(4 * u, 4 * v - 2);
    add(p, p * (4 * u - 2));
    if (b.high < infinity)
      add(std::exp2(24 * u - 20) * b.high / 16, std::exp2(24 * v - 20) * b.high / 16);
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    const double p = any_float(t, 7 * i + 3);
    for (const double q : {p, -p, next(p, t), before(p, t), 2 * p, p / 2}) add(p, q);
    add(static_cast<double>(static_cast<int>(i) - 20) / 2, static_cast<double>(i % 7) - 3);
  }
  return {x, y};
}

std::vector<std::vector<double>> ternary(DType t, const Bounds& b) {
  std::vector<std::vector<double>> x(3);
  const auto add = [&](double p, double q, double r) {
    if (p < b.low || p > b.high || q < b.low || q > b.high || r < b.low || r > b.high) return;
    x[0].push_back(rounded(p, t));
    x[1].push_back(rounded(q, t));
    x[2].push_back(rounded(r, t));
  };
  const std::vector<double> few{0,    -0.0,     1,         -1,  0.5,
                                2,    infinity, -infinity, nan, std::ldexp(1.0, format_of(t).least),
                                1e30, -3};
  for (const double p : few)
    for (const double q : few)
      for (const double r : few) add(p, q, r);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const double u = unit(random_bits(i)), v = unit(random_bits(i + 500)),
                 w = unit(random_bits(i + 1000));
    add(any_float(t, i), any_float(t, i + 400), any_float(t, i + 800));
    add(8 * u - 4, 8 * v - 4, 8 * w - 4);
    add(std::exp2(12 * u - 6), std::exp2(12 * v - 6), w);
  }
  return x;
}

HostArray column(DType t, const std::vector<double>& x) {
  HostArray h(gnomon::Aval{t, Shape(static_cast<Dim>(x.size()))});
  for (std::size_t i = 0; i < x.size(); ++i) h.set_number(static_cast<Dim>(i), x[i]);
  return h;
}

}  // namespace

Format format_of(DType t) {
  switch (t) {
    case DType::f16:
      return {11, -14, 15};
    case DType::bf16:
      return {8, -126, 127};
    case DType::f64:
      return {53, -1022, 1023};
    default:
      return {24, -126, 127};
  }
}

std::uint64_t random_bits(std::uint64_t i) {
  // Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014), SplitMix64.
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::vector<HostArray> float_arguments(DType t, int arity, const Bounds& b) {
  std::vector<std::vector<double>> x;
  if (arity == 1) x = {unary(t, b)};
  if (arity == 2) x = binary(t, b);
  if (arity == 3) x = ternary(t, b);
  std::vector<HostArray> columns;
  for (std::vector<double>& c : x) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < c.size(); i += static_cast<std::size_t>(b.every)) c[kept++] = c[i];
    c.resize(kept);
    columns.push_back(column(t, c));
  }
  return columns;
}

std::vector<HostArray> random_pairs(DType t, std::uint64_t first, std::uint64_t count) {
  std::vector<HostArray> columns(2, HostArray(gnomon::Aval{t, Shape(static_cast<Dim>(count))}));
  static const std::vector<double> extremes32 = corners(DType::f32),
                                   extremes64 = corners(DType::f64);
  const std::vector<double>& extremes = t == DType::f64 ? extremes64 : extremes32;
  const auto bits = [&](HostArray& h, std::uint64_t i, std::uint64_t r) {
    // NaNs are quiet, as those are that come out of f32: what signalling ones do is nobody's
    // promise, and the C library's fmax has them win.
    const bool is_nan = t == DType::f64 && (r << 1) > 0xffe0000000000000;
    if (t == DType::f64)
      h.as<std::uint64_t>()[i] = is_nan ? r | 0x0008000000000000 : r;
    else
      h.as<std::uint32_t>()[i] = static_cast<std::uint32_t>(r);
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t k = first + i, r = random_bits(2 * k), s = random_bits(2 * k + 1);
    const auto at = static_cast<Dim>(i);
    bits(columns[0], i, r);
    bits(columns[1], i, s);
    switch (k % 8) {
      case 0:  // an extreme, or two
        columns[k / 8 % 2].set_number(at, extremes[s % extremes.size()]);
        if (k % 64 == 0) columns[1 - k / 8 % 2].set_number(at, extremes[r % extremes.size()]);
        break;
      case 1:  // of nearly the same size
      case 2:
        bits(columns[1], i,
             t == DType::f64 ? (r ^ (s & 0x803fffffffffffff)) : (r ^ (s & 0x803fffff)));
        break;
      case 3:  // nearly or quite equal
        bits(columns[1], i, r + (s % 8) - 4);
        break;
      case 4:  // small whole and half numbers
        columns[0].set_number(at,
                              static_cast<double>(static_cast<std::int64_t>(r % 4001) - 2000) / 2);
        columns[1].set_number(at,
                              static_cast<double>(static_cast<std::int64_t>(s % 401) - 200) / 2);
        break;
      case 5:  // halves and what is next to them, up to the end of the fractions
        columns[0].set_number(
            at, std::ldexp(static_cast<double>(static_cast<std::int64_t>(r % (1u << 24))) + 0.5,
                           static_cast<int>(s % 20) - 16));
        break;
      default:
        break;
    }
  }
  return columns;
}

std::vector<HostArray> whole_arguments(DType t, int arity) {
  std::vector<std::int64_t> c{0,
                              1,
                              2,
                              3,
                              5,
                              7,
                              8,
                              15,
                              16,
                              31,
                              32,
                              33,
                              63,
                              64,
                              65,
                              100,
                              127,
                              128,
                              255,
                              256,
                              32767,
                              32768,
                              65535,
                              65536,
                              2147483647,
                              2147483648,
                              4294967295,
                              4294967296,
                              std::numeric_limits<std::int64_t>::max(),
                              1000000007};
  for (std::size_t i = c.size(); i-- > 0;) {
    c.push_back(-c[i]);
    c.push_back(-c[i] - 1);
  }
  std::vector<std::vector<std::int64_t>> x(2);
  if (arity == 1) x[0] = c;
  if (arity == 2)
    for (const std::int64_t p : c)
      for (const std::int64_t q : c) {
        x[0].push_back(p);
        x[1].push_back(q);
      }
  for (std::uint64_t i = 0; i < 600; ++i)
    for (std::uint64_t k = 0; k < 2; ++k)
      x[k].push_back(static_cast<std::int64_t>(random_bits(2 * i + k)) >>
                     (random_bits(i + 77 * k) % 64));
  std::vector<HostArray> columns;
  for (int k = 0; k < arity; ++k) {
    const auto& from = x[static_cast<std::size_t>(k)];
    const auto n = arity == 1 ? x[0].size() : std::min(x[0].size(), x[1].size());
    HostArray h(gnomon::Aval{t, Shape(static_cast<Dim>(n))});
    for (std::size_t i = 0; i < n; ++i)
      h.set_integer(static_cast<Dim>(i), t == DType::boolean ? from[i] & 1 : from[i]);
    columns.push_back(std::move(h));
  }
  return columns;
}

HostArray drawn(const Input& input, DType row, std::uint64_t seed) {
  const DType t = input.own ? input.dtype : row;
  HostArray h(gnomon::Aval{t, input.shape});
  const auto n = static_cast<std::uint64_t>(h.size());
  const auto random = [&](std::uint64_t i) { return unit(random_bits(1000003 * seed + i)); };
  const double width = input.high - input.low;
  const auto put = [&](std::uint64_t i, double x) {
    const auto at = static_cast<Dim>(i);
    if (t == DType::boolean)
      h.set_integer(at, std::floor(x) != 0 ? 1 : 0);
    else if (gnomon::is_unsigned(t) && x < 0)
      h.set_number(at, std::floor(-x));
    else
      h.set_number(at, gnomon::is_integer(t) ? std::floor(x) : x);
  };
  switch (input.draw) {
    case Draw::numbers: {
      const double factor = gnomon::is_integer(t) && !input.own ? 4 : 1;
      for (std::uint64_t i = 0; i < n; ++i)
        put(i, t == DType::boolean ? 2 * random(i) : factor * (input.low + width * random(i)));
      break;
    }
    case Draw::distinct: {
      std::vector<std::uint64_t> order(n);
      for (std::uint64_t i = 0; i < n; ++i) order[i] = i;
      for (std::uint64_t i = n; i-- > 1;)
        std::swap(order[i], order[random_bits(seed + 31 * i) % (i + 1)]);
      for (std::uint64_t i = 0; i < n; ++i) {
        const double place =
            (static_cast<double>(order[i]) + 0.25 + 0.5 * random(i)) / static_cast<double>(n);
        put(i, gnomon::is_float(t) ? input.low + width * place
                                   : static_cast<double>(order[i]) - static_cast<double>(n / 2));
      }
      break;
    }
    case Draw::special: {
      const double values[] = {nan, infinity, -infinity, 0.0, -0.0, 1, -1, 2.5, 2.5, -3};
      for (std::uint64_t i = 0; i < n; ++i) {
        const double x = values[random_bits(seed + 17 * i) % 10];
        if (gnomon::is_float(t))
          h.set_number(static_cast<Dim>(i), x);
        else
          put(i, std::isfinite(x) ? x : 5);
      }
      break;
    }
    case Draw::few:
      for (std::uint64_t i = 0; i < n; ++i) put(i, std::floor(4 * random(i)) - 1);
      break;
    case Draw::definite:
    case Draw::dominant: {
      const int rank = input.shape.rank();
      const Dim rows = input.shape[rank - 2], columns = input.shape[rank - 1];
      for (std::uint64_t i = 0; i < n; ++i) {
        const Dim c = static_cast<Dim>(i) % columns, r = static_cast<Dim>(i) / columns % rows;
        const auto block = static_cast<std::uint64_t>(static_cast<Dim>(i) / (rows * columns));
        const Dim p = std::min(r, c), q = std::max(r, c);
        const std::uint64_t at = input.draw == Draw::definite
                                     ? 997 * block + static_cast<std::uint64_t>(p * columns + q)
                                     : i;
        double x = 2 * random(at) - 1;
        if (r == c) x += static_cast<double>(columns) * (1 + 0.1 * static_cast<double>(r));
        put(i, x);
      }
      break;
    }
  }
  return h;
}

}  // namespace oracle
