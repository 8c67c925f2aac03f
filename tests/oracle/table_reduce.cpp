// tests/oracle/table_reduce.cpp -- sums over axes, statistics, what runs along an axis, products of
// arrays.
#include <numbers>
#include <numeric>

#include "gnomon/activations.h"
#include "gnomon/cumulative.h"
#include "gnomon/masks.h"
#include "gnomon/numeric.h"
#include "gnomon/sorting.h"
#include "gnomon/statistics.h"
#include "rows.h"

namespace oracle {
namespace {

using Line = std::vector<Number>;

constexpr Number nan = std::numeric_limits<Number>::quiet_NaN();

/// Integers narrower than 32 bits and bool add up in 32.
DType summed(DType t) {
  if (t == DType::boolean || t == DType::i8 || t == DType::i16) return DType::i32;
  return t == DType::u8 || t == DType::u16 ? DType::u32 : t;
}
Number wrapped(DType t, Number x) {
  return gnomon::is_integer(t) ? static_cast<Number>(type_of(t).wrapped(static_cast<Int>(x))) : x;
}
Line ascending(Line v) {
  std::stable_sort(v.begin(), v.end(), before);
  return v;
}
Line numbers_of(const Line& v) {
  Line r;
  for (const Number x : v)
    if (!std::isnan(x)) r.push_back(x);
  return r;
}
Number product(const Line& v) {
  return std::accumulate(v.begin(), v.end(), Number{1}, [](Number a, Number b) { return a * b; });
}
Number largest(const Line& v) {
  Number m = -std::numeric_limits<Number>::infinity();
  for (const Number x : v) m = std::isnan(m) || std::isnan(x) ? nan : std::max(m, x);
  return m;
}
Number smallest(const Line& v) {
  Line negated;
  for (const Number x : v) negated.push_back(-x);
  return -largest(negated);
}
Number variance(const Line& v, Number less = 0) {
  const auto n = static_cast<Number>(v.size());
  const Number m = total(v) / n;
  Number s = 0;
  for (const Number x : v) s += (x - m) * (x - m);
  return s / (n - less);
}
Number log_sum(const Line& v) {
  const Number m = largest(v);
  if (!std::isfinite(m)) return m;
  Number s = 0;
  for (const Number x : v) s += std::exp(x - m);
  return m + std::log(s);
}
Number quantile_of(Line v, Number q, int between) {
  if (v.empty() || std::isnan(largest(v))) return nan;
  v = ascending(v);
  const Number at = q * static_cast<Number>(v.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at)),
             high = static_cast<std::size_t>(std::ceil(at));
  const Number f = at - std::floor(at);
  switch (between) {
    case 0:
      return (1 - f) * v[low] + f * v[high];
    case 1:
      return v[low];
    case 2:
      return v[high];
    case 3:
      return f <= 0.5L ? v[low] : v[high];
    default:
      return (v[low] + v[high]) / 2;
  }
}
/// Of all elements.
Tensor whole_of(T x, const std::function<Number(const Line&)>& f) {
  return like(x, {}, [&](I) { return f(x[0].v); });
}
Tensor kept(Tensor t, const Shape& s) {
  t.shape = s;
  return t;
}
Line running(const Line& v, bool reverse, const std::function<Number(Number, Number)>& f) {
  Line r = v;
  if (reverse) std::reverse(r.begin(), r.end());
  for (std::size_t i = 1; i < r.size(); ++i) r[i] = f(r[i - 1], r[i]);
  if (reverse) std::reverse(r.begin(), r.end());
  return r;
}
Number plus(Number a, Number b) { return a + b; }
Number times(Number a, Number b) { return a * b; }
Number more(Number a, Number b) { return std::isnan(a) || std::isnan(b) ? nan : std::max(a, b); }
Number less(Number a, Number b) { return std::isnan(a) || std::isnan(b) ? nan : std::min(a, b); }

constexpr Rule sums{.ulps = 4, .differentiate = true};

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family reductions() {
  return {.name = "Reductions", .general = {
      {"sum(Operand,Axes,ReduceOptions)", any, {in({3, 4})}, [](A x) -> Results { return {gn::sum(x[0]), gn::sum(x[0], 1), gn::sum(x[0], 0, {.keepdims = true})}; },
       [](T x) -> Exacts { const DType t = summed(x[0].dtype); const auto s = [&](const Line& v) { return wrapped(t, total(v)); };
                           return {scaled(made(t, {}, [&](I) { return s(x[0].v); }), magnitude(x[0].v)), scaled(along(t, x[0], 1, s), along(t, x[0], 1, magnitude)),
                                   scaled(kept(along(t, x[0], 0, s), {1, 4}), along(t, x[0], 0, magnitude))}; }, sums},
      {"prod", numbers, {in({3, 4})}, [](A x) -> Results { return {gn::prod(x[0]), gn::prod(x[0], 1)}; },
       [](T x) -> Exacts { const DType t = summed(x[0].dtype); const auto p = [&](const Line& v) { return wrapped(t, product(v)); };
                           return {made(t, {}, [&](I) { return p(x[0].v); }), along(t, x[0], 1, p)}; }, {.ulps = 12, .differentiate = true}},
      {"mean(Operand,Axes,ReduceOptions)", floats, {in({3, 4})}, [](A x) -> Results { return {gn::mean(x[0]), gn::mean(x[0], 0)}; },
       [](T x) -> Exacts { return {scaled(whole_of(x, [](const Line& v) { return total(v) / 12; }), magnitude(x[0].v) / 12), scaled(along(x[0].dtype, x[0], 0, [](const Line& v) { return total(v) / 3; }), along(x[0].dtype, x[0], 0, [](const Line& v) { return magnitude(v) / 3; }))}; }, sums},
      {"max(Operand,Axes,ReduceOptions) min(Operand,Axes,ReduceOptions) ptp", numbers, {in({3, 4}, Draw::distinct)}, [](A x) -> Results { return {gn::max(x[0], 1), gn::min(x[0]), gn::max(x[0], {0, 1}), gn::ptp(x[0], 0)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; return {along(t, x[0], 1, largest), whole_of(x, smallest), whole_of(x, largest), along(t, x[0], 0, [t](const Line& v) { return wrapped(t, largest(v) - smallest(v)); })}; }, {.ulps = 0.5, .differentiate = true}},
      {"max(Operand,Axes,ReduceOptions) min(Operand,Axes,ReduceOptions) ptp", floats, {in({6, 5}, Draw::special)}, [](A x) -> Results { return {gn::max(x[0], 1), gn::min(x[0], 1)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; return {along(t, x[0], 1, largest), along(t, x[0], 1, smallest)}; }, {.unsigned_zero = true}},
      {"any all", any, {in({6, 2}, Draw::few)}, [](A x) -> Results { return {gn::any(x[0], 1), gn::all(x[0], 1), gn::any(x[0]), gn::all(x[0])}; },
       [](T x) -> Exacts { const auto some = [](const Line& v) { return Number(std::any_of(v.begin(), v.end(), [](Number a) { return a != 0; })); };
                           const auto every = [](const Line& v) { return Number(std::all_of(v.begin(), v.end(), [](Number a) { return a != 0; })); };
                           return {along(DType::boolean, x[0], 1, some), along(DType::boolean, x[0], 1, every), truth({}, [&](I) { return some(x[0].v); }), truth({}, [&](I) { return every(x[0].v); })}; }},
      {"argmax argmin", numbers, {in({4, 6}, Draw::few)}, [](A x) -> Results { return {gn::argmax(x[0], 1), gn::argmin(x[0], 0), gn::argmax(x[0])}; },
       [](T x) -> Exacts { const auto most = [](const Line& v) { return Number(std::max_element(v.begin(), v.end()) - v.begin()); };
                           return {along(DType::i32, x[0], 1, most), along(DType::i32, x[0], 0, [](const Line& v) { return Number(std::min_element(v.begin(), v.end()) - v.begin()); }), i32({}, [&](I) { return most(x[0].v); })}; }},
      {"argmax argmin", floats, {in({6, 5}, Draw::special)}, [](A x) -> Results { return {gn::argmax(x[0], 1), gn::argmin(x[0], 1)}; },
       [](T x) -> Exacts { const auto first = [](const Line& v, Number m) { for (std::size_t i = 0; i < v.size(); ++i) if (std::isnan(m) ? std::isnan(v[i]) : v[i] == m) return Number(i); return Number(-1); };
                           return {along(DType::i32, x[0], 1, [&](const Line& v) { return first(v, largest(v)); }), along(DType::i32, x[0], 1, [&](const Line& v) { return first(v, smallest(v)); })}; }},
      {"var standard_deviation", floats, {in({3, 4})}, [](A x) -> Results { return {gn::var(x[0]), gn::var(x[0], 1, {.ddof = 1}), gn::standard_deviation(x[0], 0)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; return {whole_of(x, [](const Line& v) { return variance(v); }), along(t, x[0], 1, [](const Line& v) { return variance(v, 1); }), along(t, x[0], 0, [](const Line& v) { return std::sqrt(variance(v)); })}; }, {.ulps = 12, .differentiate = true, .slope = 64}},
      {"norm", floats, {in({3, 4})}, [](A x) -> Results { return {gn::norm(x[0]), gn::norm(x[0], 1)}; },
       [](T x) -> Exacts { const auto n = [](const Line& v) { Number s = 0; for (const Number a : v) s += a * a; return std::sqrt(s); }; return {whole_of(x, n), along(x[0].dtype, x[0], 1, n)}; }, {.ulps = 6, .differentiate = true}},
      {"logsumexp", floats, {in({3, 4}, Draw::numbers, -60, 60)}, [](A x) -> Results { return {gn::logsumexp(x[0]), gn::logsumexp(x[0], 1)}; },
       [](T x) -> Exacts { return {scaled(whole_of(x, log_sum), 4), scaled(along(x[0].dtype, x[0], 1, log_sum), 4)}; }, {.ulps = 4, .differentiate = true, .slope = 200}},
      {"logsumexp", floats, {in({8, 2}, Draw::special)}, [](A x) -> Results { return gn::logsumexp(x[0], 1); },
       [](T x) -> Exacts { return scaled(along(x[0].dtype, x[0], 1, log_sum), 4); }, {.ulps = 4}},
      {"softmax(Operand) softmax(Operand,int) log_softmax(Operand) log_softmax(Operand,int)", floats, {in({3, 4})}, [](A x) -> Results { return {gn::softmax(x[0]), gn::log_softmax(x[0], 0), gn::softmax(x[0], 0), gn::log_softmax(x[0])}; },
       [](T x) -> Exacts { const DType t = x[0].dtype;
                           const auto logs = [](const Line& v) { Line r; const Number s = log_sum(v); for (const Number a : v) r.push_back(a - s); return r; };
                           const auto shares = [&](const Line& v) { Line r = logs(v); for (Number& a : r) a = std::exp(a); return r; };
                           return {lines(t, x[0], 1, shares), scaled(lines(t, x[0], 0, logs), 4), lines(t, x[0], 0, shares), scaled(lines(t, x[0], 1, logs), 4)}; }, {.ulps = 8, .differentiate = true, .slope = 64}},
      {"glu", floats, {in({2, 6})}, [](A x) -> Results { return gn::glu(x[0]); },
       [](T x) -> Exacts { return like(x, {2, 3}, [&](I i) { return x[0].at(i) / (1 + std::exp(-x[0](i[0], i[1] + 3))); }); }, {.ulps = 4, .differentiate = true}},
      {"valid_count count_nonzero", any, {in({4, 3}, Draw::few), mask({4, 3})}, [](A x) -> Results { return {gn::count_nonzero(x[0]), gn::count_nonzero(x[0], 1), gn::valid_count(x[1]), gn::valid_count(x[1], 0)}; },
       [](T x) -> Exacts { const auto n = [](const Line& v) { return Number(std::count_if(v.begin(), v.end(), [](Number a) { return a != 0; })); };
                           return {i32({}, [&](I) { return n(x[0].v); }), along(DType::i32, x[0], 1, n), i32({}, [&](I) { return n(x[1].v); }), along(DType::i32, x[1], 0, n)}; }},
  }};
}

Family statistics() {
  return {.name = "Statistics", .general = {
      {"quantile", floats, {in({3, 6}, Draw::distinct)}, [](A x) -> Results { using gn::Between; return {gn::quantile(x[0], 0.3), gn::quantile(x[0], gn::array({0.125, 0.75}), 1), gn::quantile(x[0], 0.37, 1, {Between::lower}), gn::quantile(x[0], 0.37, 1, {Between::higher}), gn::quantile(x[0], 0.37, 1, {Between::nearest}), gn::quantile(x[0], 0.37, 1, {Between::midpoint})}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto one = [&](int b) { return along(t, x[0], 1, [b](const Line& v) { return quantile_of(v, 0.37L, b); }); };
                           return {scaled(whole_of(x, [](const Line& v) { return quantile_of(v, 0.3L, 0); }), 32), scaled(like(x, {2, 3}, [&](I i) { return quantile_of(line(x[0], {i[1]}, 1), i[0] == 0 ? 0.125L : 0.75L, 0); }), 32), one(1), one(2), one(3), one(4)}; }, {.ulps = 2, .differentiate = true, .slope = 64}},
      {"nanquantile percentile nanpercentile median nanmedian", floats, {in({4, 5}, Draw::special), in({4, 5}, Draw::distinct)},
       [](A x) -> Results { return {gn::nanquantile(x[0], 0.5, 1), gn::percentile(x[1], 40, 1), gn::nanpercentile(x[1], 25, 0), gn::median(x[1], 1), gn::nanmedian(x[0], 1), gn::median(x[0], 1)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto q = [t](const Tensor& a, int axis, Number p, bool leave) { return scaled(along(t, a, axis, [=](const Line& v) { return quantile_of(leave ? numbers_of(v) : v, p, 0); }), 8); };
                           return {q(x[0], 1, 0.5L, true), q(x[1], 1, 0.4L, false), q(x[1], 0, 0.25L, true), q(x[1], 1, 0.5L, false), q(x[0], 1, 0.5L, true), q(x[0], 1, 0.5L, false)}; }, {.ulps = 4}},
      {"nansum nanprod nanmean nanmax nanmin nanargmax nanargmin", floats, {in({8, 3}, Draw::special)},
       [](A x) -> Results { return {gn::nansum(x[0], 1), gn::nanprod(x[0], 1), gn::nanmean(x[0], 1), gn::nanmax(x[0], 1), gn::nanmin(x[0], 1), gn::nanargmax(x[0], 1), gn::nanargmin(x[0], 1)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto r = [&](auto f) { return along(t, x[0], 1, [f](const Line& v) { return f(numbers_of(v)); }); };
                           const auto arg = [](const Line& v, bool most) { const Line n = numbers_of(v); if (n.empty()) return Number(-1); const Number m = most ? largest(n) : smallest(n); for (std::size_t i = 0; i < v.size(); ++i) if (v[i] == m) return Number(i); return Number(-1); };
                           const auto or_nan = [](auto f) { return [f](const Line& v) { return v.empty() ? nan : f(v); }; };
                           return {r(total), r(product), r(or_nan([](const Line& v) { return total(v) / static_cast<Number>(v.size()); })), r(or_nan(largest)), r(or_nan(smallest)),
                                   along(DType::i32, x[0], 1, [&](const Line& v) { return arg(v, true); }), along(DType::i32, x[0], 1, [&](const Line& v) { return arg(v, false); })}; }, {.ulps = 4, .unsigned_zero = true}},
      {"nansum nanprod nanmean nanvar nanstd", floats, {in({3, 4})}, [](A x) -> Results { return {gn::nansum(x[0], 1), gn::nanprod(x[0], 1), gn::nanmean(x[0], 0), gn::nanvar(x[0], 1), gn::nanstd(x[0], 1, {.ddof = 1})}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; return {scaled(along(t, x[0], 1, total), 8), along(t, x[0], 1, product), scaled(along(t, x[0], 0, [](const Line& v) { return total(v) / 3; }), 4), along(t, x[0], 1, [](const Line& v) { return variance(v); }), along(t, x[0], 1, [](const Line& v) { return std::sqrt(variance(v, 1)); })}; }, {.ulps = 12, .differentiate = true, .slope = 64}},
      {"average", floats, {in({3, 4}), positive({4})}, [](A x) -> Results { return gn::average(x[0], x[1], 1); },
       [](T x) -> Exacts { return scaled(like(x, {3}, [&](I i) { Number s = 0, w = 0; for (Dim k = 0; k < 4; ++k) { s += x[0](i[0], k) * x[1](k); w += x[1](k); } return s / w; }), 2); }, {.ulps = 8, .differentiate = true, .slope = 64}},
      {"cov corrcoef", floats, {in({3, 6})}, [](A x) -> Results { return {gn::cov(x[0]), gn::corrcoef(x[0])}; },
       [](T x) -> Exacts { const auto c = [&](Dim a, Dim b) { const Line u = line(x[0], {a}, 1), v = line(x[0], {b}, 1); Number s = 0; for (std::size_t k = 0; k < 6; ++k) s += (u[k] - total(u) / 6) * (v[k] - total(v) / 6); return s / 5; };
                           return {scaled(like(x, {3, 3}, [&](I i) { return c(i[0], i[1]); }), 4), scaled(like(x, {3, 3}, [&](I i) { return c(i[0], i[1]) / std::sqrt(c(i[0], i[0]) * c(i[1], i[1])); }), 1)}; }, {.ulps = 8, .slope = 100}},
      {"bincount(Operand,Dim)", single, {whole({12}, -2, 7)}, [](A x) -> Results { return gn::bincount(x[0], 5); },
       [](T x) -> Exacts { return i32({5}, [&](I i) { Number n = 0; for (const Number v : x[0].v) n += std::max(v, 0.0L) == i[0]; return n; }); }},
      {"bincount(Operand,Dim,Operand)", floats, {whole({12}, -2, 7), in({12})}, [](A x) -> Results { return gn::bincount(x[0], 5, x[1]); },
       [](T x) -> Exacts { return scaled(made(x[1].dtype, {5}, [&](I i) { Number n = 0; for (Dim k = 0; k < 12; ++k) if (std::max(x[0](k), 0.0L) == i[0]) n += x[1](k); return n; }), 8); }, sums},
      {"histogram(Operand,Dim,optional<pair<double,double>>) histogram(Operand,Array) histogram(Operand,Array,Operand)", floats, {in({20}, Draw::distinct), in({20})},
       [](A x) -> Results { const auto a = gn::histogram(x[0], 4, std::pair{-1.5, 1.0}); const Array edges = gn::cast(gn::array({-1.0, 0.0, 0.25, 1.5}), x[0].dtype()); return {a.counts, a.edges, gn::histogram(x[0], edges).counts, gn::histogram(x[0], edges, x[1]).counts}; },
       [](T x) -> Exacts { const auto h = [&](const Line& e, bool weights) { return scaled(like(x, {static_cast<Dim>(e.size()) - 1}, [&](I i) { const auto k = static_cast<std::size_t>(i[0]); Number n = 0; for (Dim j = 0; j < 20; ++j) if (x[0](j) >= e[k] && (x[0](j) < e[k + 1] || (k + 2 == e.size() && x[0](j) == e[k + 1]))) n += weights ? x[1](j) : 1; return n; }), 16); };
                           const Line even{-1.5, -0.875, -0.25, 0.375, 1}, given{-1, 0, 0.25, 1.5};
                           return {h(even, false), like(x, {5}, [&](I i) { return even[static_cast<std::size_t>(i[0])]; }), h(given, false), h(given, true)}; }, {.ulps = 2}},
      {"histogram(Operand,Dim,optional<pair<double,double>>)", {DType::f64}, {}, [](A) -> Results { const auto row = [](double u, double v, double w) { return gn::concatenate({gn::full({1}, u, DType::f64), gn::full({1}, v, DType::f64), gn::full({1}, w, DType::f64)}); }; const auto a = gn::histogram(row(0.1, 0.3001, 0.7), 3, std::pair{0.1, 0.7}), b = gn::histogram(row(1, 1 + 0x1p-50, 1 + 0x1p-48), 4); return {a.counts, a.edges, b.counts, b.edges}; },
       [](T) -> Exacts { const auto row = [](const Line& v) { return made(DType::f64, {static_cast<Dim>(v.size())}, [v](I i) { return v[static_cast<std::size_t>(i[0])]; }); };
                         return {row({1, 1, 1}), row({0.1L, 0.3L, 0.5L, 0.7L}), row({1, 1, 0, 1}), row({1, 1 + 0x1p-50L, 1 + 0x1p-49L, 1 + 0x3p-50L, 1 + 0x1p-48L})}; }, {.ulps = 2}},
  }};
}

Family running_along() {
  return {.name = "Running", .general = {
      {"cumsum", numbers, {in({3, 5})}, [](A x) -> Results { return {gn::cumsum(x[0], 1), gn::cumsum(x[0], 0, {.reverse = true}), gn::cumsum(x[0])}; },
       [](T x) -> Exacts { const DType t = summed(x[0].dtype); const auto c = [&](bool r) { return [=](const Line& v) { Line s = running(v, r, plus); for (Number& a : s) a = wrapped(t, a); return s; }; };
                           const Line flat = c(false)(x[0].v); return {scaled(lines(t, x[0], 1, c(false)), 8), scaled(lines(t, x[0], 0, c(true)), 8), scaled(made(t, {15}, [&](I i) { return flat[static_cast<std::size_t>(i[0])]; }), 16)}; }, sums},
      {"cumprod", floats, {in({2, 5})}, [](A x) -> Results { return {gn::cumprod(x[0], 1), gn::cumprod(x[0], 1, {.reverse = true})}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; return {lines(t, x[0], 1, [](const Line& v) { return running(v, false, times); }), lines(t, x[0], 1, [](const Line& v) { return running(v, true, times); })}; }, {.ulps = 6, .differentiate = true}},
      {"cummax cummin", numbers, {in({3, 5}, Draw::distinct)}, [](A x) -> Results { return {gn::cummax(x[0], 1), gn::cummin(x[0], 0), gn::cummin(x[0], 1, {.reverse = true})}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; return {lines(t, x[0], 1, [](const Line& v) { return running(v, false, more); }), lines(t, x[0], 0, [](const Line& v) { return running(v, false, less); }), lines(t, x[0], 1, [](const Line& v) { return running(v, true, less); })}; }, moves},
      {"cummax cummin nancumsum nancumprod", floats, {in({6, 5}, Draw::special)}, [](A x) -> Results { return {gn::cummax(x[0], 1), gn::cummin(x[0], 1), gn::nancumsum(x[0], 1), gn::nancumprod(x[0], 1)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto put = [](Number by) { return [by](const Line& v) { Line r; for (const Number a : v) r.push_back(std::isnan(a) ? by : a); return running(r, false, by == 0 ? plus : times); }; };
                           return {lines(t, x[0], 1, [](const Line& v) { return running(v, false, more); }), lines(t, x[0], 1, [](const Line& v) { return running(v, false, less); }), lines(t, x[0], 1, put(0)), lines(t, x[0], 1, put(1))}; }, {.ulps = 2, .unsigned_zero = true}},
      {"cumlogsumexp", floats, {in({2, 6})}, [](A x) -> Results { return gn::cumlogsumexp(x[0], 1); },
       [](T x) -> Exacts { return scaled(lines(x[0].dtype, x[0], 1, [](const Line& v) { Line r; for (std::size_t k = 1; k <= v.size(); ++k) r.push_back(log_sum(Line(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(k)))); return r; }), 4); }, {.ulps = 8, .differentiate = true, .slope = 64}},
      {"linear_recurrence", floats, {in({5, 2}), in({5, 2})}, [](A x) -> Results { return {gn::linear_recurrence(x[0], x[1]), gn::linear_recurrence(x[0], x[1], 0, {.reverse = true})}; },
       [](T x) -> Exacts { const auto r = [&](bool back) { Tensor y = x[1]; for (Dim j = 0; j < 2; ++j) for (Dim k = 1; k < 5; ++k) { const Dim i = back ? 4 - k : k, b = back ? i + 1 : i - 1; y.at({i, j}) = x[0](i, j) * y(b, j) + x[1](i, j); } return scaled(y, 32); }; return {r(false), r(true)}; }, {.ulps = 4, .differentiate = true, .slope = 64}},
      {"associative_scan", floats, {in({6, 2})}, [](A x) -> Results { return gn::associative_scan([](const Array& a, const Array& b) -> Array { return a + b + a * b; }, x[0], {.axis = 0}); },
       [](T x) -> Exacts { return scaled(lines(x[0].dtype, x[0], 0, [](const Line& v) { return running(v, false, [](Number a, Number b) { return a + b + a * b; }); }), 64); }, {.ulps = 8, .differentiate = true, .slope = 200}},
      {"diff ediff1d", floats, {in({2, 5})}, [](A x) -> Results { return {gn::diff(x[0]), gn::diff(x[0], 2), gn::ediff1d(x[0])}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto d = [](const Line& v) { Line r; for (std::size_t k = 1; k < v.size(); ++k) r.push_back(v[k] - v[k - 1]); return r; };
                           const Line flat = d(x[0].v); return {lines(t, x[0], 1, d), scaled(lines(t, x[0], 1, [&](const Line& v) { return d(d(v)); }), 8), like(x, {9}, [&](I i) { return flat[static_cast<std::size_t>(i[0])]; })}; }, {.ulps = 1, .differentiate = true}},
      {"gradient(Operand,double,int) gradient(Operand,Operand,int)", floats, {in({2, 5})}, [](A x) -> Results { return {gn::gradient(x[0], 0.5, 1), gn::gradient(x[0], gn::array({0.0, 1.0, 1.5, 3.0, 3.25}), 1)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto g = [t, &x](const Line& p) { return scaled(lines(t, x[0], 1, [p](const Line& v) { Line r(5); r[0] = (v[1] - v[0]) / (p[1] - p[0]); r[4] = (v[4] - v[3]) / (p[4] - p[3]);
                             for (std::size_t k = 1; k < 4; ++k) { const Number a = p[k] - p[k - 1], b = p[k + 1] - p[k]; r[k] = (a * a * v[k + 1] + (b * b - a * a) * v[k] - b * b * v[k - 1]) / (a * b * (a + b)); } return r; }), 16); };
                           return {g({0, 0.5, 1, 1.5, 2}), g({0, 1, 1.5, 3, 3.25})}; }, {.ulps = 4, .differentiate = true, .slope = 64}},
      {"trapezoid(Operand,double,int) trapezoid(Operand,Operand,int)", floats, {in({2, 4})}, [](A x) -> Results { return {gn::trapezoid(x[0], 0.5), gn::trapezoid(x[0], gn::array({0.0, 1.0, 1.5, 3.0}))}; },
       [](T x) -> Exacts { const auto s = [&](const Line& p) { return scaled(along(x[0].dtype, x[0], 1, [p](const Line& v) { Number r = 0; for (std::size_t k = 1; k < v.size(); ++k) r += (p[k] - p[k - 1]) * (v[k] + v[k - 1]) / 2; return r; }), 8); }; return {s({0, 0.5, 1, 1.5}), s({0, 1, 1.5, 3})}; }, sums},
      {"unwrap", floats, {in({8}, Draw::numbers, -9, 9)}, [](A x) -> Results { return gn::unwrap(x[0]); },
       [](T x) -> Exacts { Tensor y = x[0]; const Number p = 2 * std::numbers::pi_v<Number>; for (std::size_t k = 1; k < 8; ++k) { const Number d = y.v[k] - y.v[k - 1]; y.v[k] -= p * std::round(d / p); } return scaled(y, 64); }, {.ulps = 4}},
      {"polyval", floats, {in({4}), in({5})}, [](A x) -> Results { return gn::polyval(x[0], x[1]); },
       [](T x) -> Exacts { return scaled(like(x, {5}, [&](I i) { Number y = 0; for (Dim k = 0; k < 4; ++k) y = y * x[1].at(i) + x[0](k); return y; }), 16); }, {.ulps = 4, .differentiate = true, .slope = 64}},
      {"interp", floats, {in({9}, Draw::distinct, -3, 3), in({5})}, [](A x) -> Results { const Array at = gn::array({-2.0, -0.5, 0.25, 1.0, 2.5}); return {gn::interp(x[0], at, x[1]), gn::interp(x[0], at, x[1], -7.0, 9.0)}; },
       [](T x) -> Exacts { const Line p{-2, -0.5, 0.25, 1, 2.5}; const auto f = [&](bool given) { return scaled(like(x, {9}, [&, given](I i) { const Number v = x[0].at(i); if (v < p[0]) return given ? -7.0L : x[1](0); if (v > p[4]) return given ? 9.0L : x[1](4);
                             std::size_t k = 1; while (v > p[k]) ++k; const auto d = static_cast<Dim>(k); return x[1](d - 1) + (x[1](d) - x[1](d - 1)) * (v - p[k - 1]) / (p[k] - p[k - 1]); }), 4); }; return {f(false), f(true)}; }, {.ulps = 4, .differentiate = true, .slope = 64}},
      {"convolve correlate", floats, {in({6}), in({3})}, [](A x) -> Results { using gn::Overlap; return {gn::convolve(x[0], x[1]), gn::convolve(x[0], x[1], Overlap::same), gn::convolve(x[0], x[1], Overlap::valid), gn::correlate(x[0], x[1]), gn::correlate(x[0], x[1], Overlap::full)}; },
       [](T x) -> Exacts { const auto c = [&](Dim n, Dim from) { return scaled(like(x, {n}, [&, from](I i) { Number s = 0; for (Dim k = 0; k < 6; ++k) { const Dim j = i[0] + from - k; if (j >= 0 && j < 3) s += x[0](k) * x[1](j); } return s; }), 8); };
                           const auto r = [&](Dim n, Dim from) { return scaled(like(x, {n}, [&, from](I i) { Number s = 0; for (Dim k = 0; k < 3; ++k) { const Dim j = i[0] + from + k; if (j >= 0 && j < 6) s += x[0](j) * x[1](k); } return s; }), 8); };
                           return {c(8, 0), c(6, 1), c(4, 2), r(4, 0), r(8, -2)}; }, sums},
      {"cross", floats, {in({2, 3}), in({2, 3})}, [](A x) -> Results { return gn::cross(x[0], x[1]); },
       [](T x) -> Exacts { return scaled(like(x, {2, 3}, [&](I i) { const Dim a = (i[1] + 1) % 3, b = (i[1] + 2) % 3; return x[0](i[0], a) * x[1](i[0], b) - x[0](i[0], b) * x[1](i[0], a); }), 8); }, {.ulps = 2, .differentiate = true}},
      {"isclose allclose array_equal", floats, {in({6}, Draw::special), in({6}, Draw::special)}, [](A x) -> Results { return {gn::isclose(x[0], x[1]), gn::isclose(x[0], x[0], {.equal_nan = true}), gn::isclose(x[0], x[0] * 1.001, {.rtol = 0.01}), gn::allclose(x[0], x[1]), gn::array_equal(x[0], x[0]), gn::array_equal(x[1] * 0 == x[1] * 0, x[1] == x[1])}; },
       [](T x) -> Exacts { const auto equal = [](Number a, Number b) { return a == b; };
                           const bool same = std::none_of(x[0].v.begin(), x[0].v.end(), [](Number a) { return std::isnan(a); });
                           bool all = true, pairs = true; for (std::size_t k = 0; k < 6; ++k) { all = all && equal(x[0].v[k], x[1].v[k]); pairs = pairs && (std::isfinite(x[1].v[k]) == !std::isnan(x[1].v[k])); }
                           return {truth({6}, [&](I i) { return equal(x[0].at(i), x[1].at(i)); }), truth({6}, [](I) { return 1; }), truth({6}, [&](I i) { return !std::isnan(x[0].at(i)); }), truth({}, [&](I) { return all; }), truth({}, [&](I) { return same; }), truth({}, [&](I) { return pairs; })}; }},
  }};
}

Family products() {
  return {.name = "Products", .general = {
      {"dot(Operand,Operand)", numbers, {in({2, 3}), in({3, 4}), in({3})}, [](A x) -> Results { return {gn::dot(x[0], x[1]), gn::dot(x[2], x[2]), gn::dot(x[0], x[2])}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto sum = [t](Dim n, auto f) { Number s = 0; for (Dim k = 0; k < n; ++k) s += f(k); return wrapped(t, s); };
                           return {scaled(like(x, {2, 4}, [&](I i) { return sum(3, [&](Dim k) { return x[0](i[0], k) * x[1](k, i[1]); }); }), 8), scaled(like(x, {}, [&](I) { return sum(3, [&](Dim k) { return x[2](k) * x[2](k); }); }), 8), scaled(like(x, {2}, [&](I i) { return sum(3, [&](Dim k) { return x[0](i[0], k) * x[2](k); }); }), 8)}; }, sums},
      {"matmul(Operand,Operand)", floats, {in({2, 2, 3}), in({3, 4}), in({3})}, [](A x) -> Results { return {gn::matmul(x[0], x[1]), gn::matmul(x[0], x[2])}; },
       [](T x) -> Exacts { return {scaled(like(x, {2, 2, 4}, [&](I i) { Number s = 0; for (Dim k = 0; k < 3; ++k) s += x[0](i[0], i[1], k) * x[1](k, i[2]); return s; }), 8), scaled(like(x, {2, 2}, [&](I i) { Number s = 0; for (Dim k = 0; k < 3; ++k) s += x[0](i[0], i[1], k) * x[2](k); return s; }), 8)}; }, sums},
      {"dot_general", floats, {in({2, 3, 4}), in({4, 2, 3})}, [](A x) -> Results { return gn::dot_general(x[0], x[1], {.a_contracting = {2}, .b_contracting = {0}, .a_batch = {0}, .b_batch = {1}}); },
       [](T x) -> Exacts { return scaled(like(x, {2, 3, 3}, [&](I i) { Number s = 0; for (Dim k = 0; k < 4; ++k) s += x[0](i[0], i[1], k) * x[1](k, i[0], i[2]); return s; }), 8); }, sums},
      {"tensordot", floats, {in({2, 3, 4}), in({4, 3, 2})}, [](A x) -> Results { return gn::tensordot(x[0], x[1], {2, 1}, {0, 1}); },
       [](T x) -> Exacts { return scaled(like(x, {2, 2}, [&](I i) { Number s = 0; for (Dim a = 0; a < 3; ++a) for (Dim b = 0; b < 4; ++b) s += x[0](i[0], a, b) * x[1](b, a, i[1]); return s; }), 16); }, sums},
      {"outer vdot(Operand,Operand) inner", floats, {in({3}), in({3}), in({2, 3})}, [](A x) -> Results { return {gn::outer(x[0], x[1]), gn::vdot(x[0], x[1]), gn::inner(x[2], x[0])}; },
       [](T x) -> Exacts { const auto dot = [&](auto f) { Number s = 0; for (Dim k = 0; k < 3; ++k) s += f(k) * x[0](k); return s; };
                           return {like(x, {3, 3}, [&](I i) { return x[0](i[0]) * x[1](i[1]); }), scaled(like(x, {}, [&](I) { return dot([&](Dim k) { return x[1](k); }); }), 8), scaled(like(x, {2}, [&](I i) { return dot([&](Dim k) { return x[2](i[0], k); }); }), 8)}; }, sums},
      {"einsum(string_view,Operand)", floats, {in({3, 3})}, [](A x) -> Results { return {gn::einsum("ii->i", x[0]), gn::einsum("ij->j", x[0]), gn::einsum("ij->ji", x[0])}; },
       [](T x) -> Exacts { return {like(x, {3}, [&](I i) { return x[0](i[0], i[0]); }), scaled(along(x[0].dtype, x[0], 0, total), 8), like(x, {3, 3}, [&](I i) { return x[0](i[1], i[0]); })}; }, sums},
      {"einsum(string_view,Operand,Operand)", floats, {in({2, 3, 4}), in({2, 4, 2})}, [](A x) -> Results { return gn::einsum("bij,bjk->bik", x[0], x[1]); },
       [](T x) -> Exacts { return scaled(like(x, {2, 3, 2}, [&](I i) { Number s = 0; for (Dim k = 0; k < 4; ++k) s += x[0](i[0], i[1], k) * x[1](i[0], k, i[2]); return s; }), 8); }, sums},
      {"einsum(string_view,Operand,Operand,Operand) einsum(string_view,vector<Operand>)", floats, {in({2, 3}), in({3, 4}), in({4, 2})}, [](A x) -> Results { return {gn::einsum("ij,jk,kl->il", x[0], x[1], x[2]), gn::einsum("ij,jk,kl", {x[0], x[1], x[2]})}; },
       [](T x) -> Exacts { const Tensor y = scaled(like(x, {2, 2}, [&](I i) { Number s = 0; for (Dim j = 0; j < 3; ++j) for (Dim k = 0; k < 4; ++k) s += x[0](i[0], j) * x[1](j, k) * x[2](k, i[1]); return s; }), 32); return {y, y}; }, {.ulps = 4, .differentiate = true, .slope = 64}},
  }};
}

Family sorting() {
  return {.name = "Sorting", .general = {
      {"sort partition", any, {in({3, 7}, Draw::distinct)}, [](A x) -> Results { return {gn::sort(x[0]), gn::sort(x[0], 0, {.descending = true}), gn::sort(x[0], 1, {.descending = true}), gn::partition(x[0], 2)}; },
       [](T x) -> Exacts { const DType t = x[0].dtype; const auto down = [](const Line& v) { Line r = ascending(v); std::reverse(r.begin(), r.end()); return r; }; return {lines(t, x[0], 1, ascending), lines(t, x[0], 0, down), lines(t, x[0], 1, down), lines(t, x[0], 1, ascending)}; }, moves},
      {"sort argsort argpartition", floats, {in({4, 9}, Draw::special)}, [](A x) -> Results { return {gn::sort(x[0]), gn::argsort(x[0]), gn::argpartition(x[0], 3)}; },
       [](T x) -> Exacts { const auto arg = [](const Line& v) { Line r(v.size()); std::iota(r.begin(), r.end(), 0.0L); std::stable_sort(r.begin(), r.end(), [&](Number a, Number b) { return before(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]); }); return r; };
                           return {lines(x[0].dtype, x[0], 1, ascending), lines(DType::i32, x[0], 1, arg), lines(DType::i32, x[0], 1, arg)}; }},
      {"argsort", any, {in({2, 9}, Draw::few)}, [](A x) -> Results { return {gn::argsort(x[0]), gn::argsort(x[0], 1, {.descending = true})}; },
       [](T x) -> Exacts { const auto arg = [](bool down) { return [down](const Line& v) { Line r(v.size()); std::iota(r.begin(), r.end(), 0.0L); std::stable_sort(r.begin(), r.end(), [&](Number a, Number b) { const Number p = v[static_cast<std::size_t>(a)], q = v[static_cast<std::size_t>(b)]; return down ? before(q, p) : before(p, q); }); return r; }; };
                           return {lines(DType::i32, x[0], 1, arg(false)), lines(DType::i32, x[0], 1, arg(true))}; }},
      {"lexsort sort_together", numbers, {in({8}, Draw::few), in({8}, Draw::few)}, [](A x) -> Results { Arrays r = gn::sort_together({x[0], x[1]}, 2); r.push_back(gn::lexsort({x[0], x[1]})); return r; },
       [](T x) -> Exacts { const auto arg = [&](std::size_t major, std::size_t minor) { Line r(8); std::iota(r.begin(), r.end(), 0.0L); std::stable_sort(r.begin(), r.end(), [&](Number a, Number b) { const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b); return x[major].v[i] != x[major].v[j] ? x[major].v[i] < x[major].v[j] : x[minor].v[i] < x[minor].v[j]; }); return r; };
                           const Line first = arg(0, 1), last = arg(1, 0); const auto at = [&](std::size_t k) { return like(x, {8}, [&, k](I i) { return x[k].v[static_cast<std::size_t>(first[static_cast<std::size_t>(i[0])])]; }); };
                           return {at(0), at(1), i32({8}, [&](I i) { return last[static_cast<std::size_t>(i[0])]; })}; }},
      {"top_k", numbers, {in({2, 7}, Draw::distinct)}, [](A x) -> Results { const auto k = gn::top_k(x[0], 3); return {k.values, k.indices}; },
       [](T x) -> Exacts { const auto arg = [](const Line& v) { Line r(v.size()); std::iota(r.begin(), r.end(), 0.0L); std::stable_sort(r.begin(), r.end(), [&](Number a, Number b) { return v[static_cast<std::size_t>(b)] < v[static_cast<std::size_t>(a)]; }); r.resize(3); return r; };
                           return {lines(x[0].dtype, x[0], 1, [&](const Line& v) { Line r = ascending(v); std::reverse(r.begin(), r.end()); r.resize(3); return r; }), lines(DType::i32, x[0], 1, arg)}; }, moves},
      {"searchsorted digitize", numbers, {in({9}, Draw::few), in({6}, Draw::few)}, [](A x) -> Results { const Array s = gn::sort(x[0]); return {gn::searchsorted(s, x[1]), gn::searchsorted(s, x[1], gn::Side::right), gn::digitize(x[1], s), gn::digitize(x[1], s, true)}; },
       [](T x) -> Exacts { const auto n = [&](bool equal) { return i32({6}, [&, equal](I i) { Number c = 0; for (const Number v : x[0].v) c += equal ? v <= x[1].at(i) : v < x[1].at(i); return c; }); }; return {n(false), n(true), n(true), n(false)}; }},
      {"unique", numbers, {in({3, 4}, Draw::few)}, [](A x) -> Results { const auto u = gn::unique(x[0], 6, 9.0); return {u.values, u.indices, u.inverse, u.counts, u.number}; },
       [](T x) -> Exacts { Line u = ascending(x[0].v); u.erase(std::unique(u.begin(), u.end()), u.end()); const auto first = [&](Number v) { return Number(std::find(x[0].v.begin(), x[0].v.end(), v) - x[0].v.begin()); };
                           const auto n = static_cast<Dim>(u.size()); const auto at = [&](I i) { return u[static_cast<std::size_t>(i[0])]; };
                           return {like(x, {6}, [&](I i) { return i[0] < n ? at(i) : 9; }), i32({6}, [&](I i) { return first(i[0] < n ? at(i) : u[0]); }), i32({3, 4}, [&](I i) { return Number(std::find(u.begin(), u.end(), x[0].at(i)) - u.begin()); }), i32({6}, [&](I i) { return i[0] < n ? Number(std::count(x[0].v.begin(), x[0].v.end(), at(i))) : 0; }), i32({}, [&](I) { return n; })}; }},
      {"isin union1d intersect1d setdiff1d", numbers, {in({7}, Draw::few), in({5}, Draw::few)}, [](A x) -> Results { return {gn::isin(x[0], x[1]), gn::union1d(x[0], x[1], 8, 9.0), gn::intersect1d(x[0], x[1], 8, 9.0), gn::setdiff1d(x[0], x[1], 8, 9.0)}; },
       [](T x) -> Exacts { const auto has = [](const Line& v, Number a) { return std::find(v.begin(), v.end(), a) != v.end(); }; Line both = x[0].v; both.insert(both.end(), x[1].v.begin(), x[1].v.end()); both = ascending(both); both.erase(std::unique(both.begin(), both.end()), both.end());
                           const auto some = [&](auto keep) { Line r; for (const Number v : both) if (keep(v)) r.push_back(v); r.resize(8, 9); return like(x, {8}, [r](I i) { return r[static_cast<std::size_t>(i[0])]; }); };
                           return {truth({7}, [&](I i) { return has(x[1].v, x[0].at(i)); }), some([](Number) { return true; }), some([&](Number v) { return has(x[0].v, v) && has(x[1].v, v); }), some([&](Number v) { return has(x[0].v, v) && !has(x[1].v, v); })}; }},
      {"nonzero argwhere flatnonzero", any, {in({3, 4}, Draw::few)}, [](A x) -> Results { Arrays r = gn::nonzero(x[0], 13, -1); r.push_back(gn::argwhere(x[0], 13, -1)); r.push_back(gn::flatnonzero(x[0], 13, -1)); return r; },
       [](T x) -> Exacts { std::vector<Dim> at; for (std::size_t k = 0; k < 12; ++k) if (x[0].v[k] != 0) at.push_back(static_cast<Dim>(k)); const auto get = [&](Dim i, int axis) { if (i >= static_cast<Dim>(at.size())) return Number(-1); const Dim f = at[static_cast<std::size_t>(i)]; return Number(axis == 0 ? f / 4 : axis == 1 ? f % 4 : f); };
                           return {i32({13}, [&](I i) { return get(i[0], 0); }), i32({13}, [&](I i) { return get(i[0], 1); }), i32({13, 2}, [&](I i) { return get(i[0], static_cast<int>(i[1])); }), i32({13}, [&](I i) { return get(i[0], 2); })}; }},
  }};
}
// clang-format on

}  // namespace oracle
