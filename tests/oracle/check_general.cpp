// tests/oracle/check_general.cpp -- rows of arrays: values, and derivatives from extrapolated
// differences of the oracle.
#include "check_general.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace oracle {

const Types single{DType::f32};
const Types floats{DType::f32, DType::f64};
const Types numbers{DType::f32, DType::f64, DType::i32, DType::i64, DType::u8};
const Types any{DType::f32, DType::f64, DType::i32, DType::u8, DType::boolean};
const Types all_integers{DType::i8,  DType::u8,  DType::i16, DType::u16,
                         DType::i32, DType::u32, DType::i64, DType::u64};

namespace {

constexpr std::size_t general_rows_together = 12;

std::size_t flat(const Shape& shape, const Index& i) {
  std::size_t at = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    at = at * static_cast<std::size_t>(shape[axis]) +
         static_cast<std::size_t>(i[static_cast<std::size_t>(axis)]);
  return at;
}

Index unflat(const Shape& shape, std::size_t at) {
  Index i(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0;) {
    i[static_cast<std::size_t>(axis)] = static_cast<Dim>(at) % shape[axis];
    at /= static_cast<std::size_t>(shape[axis]);
  }
  return i;
}

std::string text(const Index& i) {
  std::string s = "[";
  for (std::size_t k = 0; k < i.size(); ++k) s += (k > 0 ? "," : "") + std::to_string(i[k]);
  return s + "]";
}

long double element(const HostArray& a, Dim i) {
  const DType t = a.aval.dtype;
  if (t == DType::u64) return static_cast<long double>(static_cast<std::uint64_t>(a.integer(i)));
  if (gnomon::is_float(t)) return a.number(i);
  return static_cast<long double>(a.integer(i));
}

Tensor tensor(const HostArray& a) {
  Tensor t(a.aval.dtype, a.aval.shape);
  for (Dim i = 0; i < a.size(); ++i) t.v[static_cast<std::size_t>(i)] = element(a, i);
  return t;
}

double unit_at(long double size, DType t) {
  const Format f = format_of(t);
  const int e = size == 0 || !std::isfinite(size) ? f.least : std::max(std::ilogb(size), f.least);
  return std::ldexp(1.0, e - (f.digits - 1));
}

/// As that dtype has it.
long double rounded(long double x, DType t) {
  if (!gnomon::is_float(t)) return x;
  HostArray one(gnomon::Aval{t, {}});
  one.set_number(0, static_cast<double>(x));
  return one.number(0);
}

std::vector<std::size_t> moving(const Tensors& x) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (gnomon::is_float(x[i].dtype)) which.push_back(i);
  return which;
}

/// Derivatives of all outputs in one element of an input, with an estimate of their error: central
/// differences extrapolated to step 0.
/// Source: C. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)" (1982).
struct Column {
  std::vector<std::vector<long double>> slope, error;  // [output][element]
};
Column column(const General& row, const Tensors& x, std::size_t input, std::size_t i) {
  constexpr int levels = 4;
  std::vector<Tensors> table(levels);
  for (int level = 0; level < levels; ++level) {
    const long double h = std::ldexp(1.0L, -6 - level);
    Tensors up = x, down = x;
    up[input].v[i] += h;
    down[input].v[i] -= h;
    table[static_cast<std::size_t>(level)] = row.exact(up).all;
    const Tensors below = row.exact(down).all;
    for (std::size_t k = 0; k < below.size(); ++k)
      for (std::size_t e = 0; e < below[k].v.size(); ++e) {
        long double& v = table[static_cast<std::size_t>(level)][k].v[e];
        v = (v - below[k].v[e]) / (2 * h);
      }
  }
  Column c;
  for (std::size_t k = 0; k < table[0].size(); ++k) {
    c.slope.emplace_back();
    c.error.emplace_back();
    for (std::size_t e = 0; e < table[0][k].v.size(); ++e) {
      long double t[levels];
      for (std::size_t l = 0; l < levels; ++l) t[l] = table[l][k].v[e];
      long double before = 0;
      for (int order = 1; order < levels; ++order) {
        const long double factor = std::ldexp(1.0L, 2 * order) - 1;
        before = t[levels - 1];
        for (int l = levels - 1; l >= order; --l) t[l] += (t[l] - t[l - 1]) / factor;
      }
      c.slope.back().push_back(t[levels - 1]);
      c.error.back().push_back(std::fabs(t[levels - 1] - before) +
                               std::ldexp(row.rule.noise, 9) * std::fabs(t[levels - 1]));
    }
  }
  return c;
}

struct Prepared {
  const General* row = nullptr;
  std::vector<HostArray> inputs;
  Tensors x, want;
  std::vector<std::size_t> floating;            // inputs with derivatives
  std::vector<HostArray> tangents, cotangents;  // one per such input; one per output
  std::size_t first = 0;                        // of its outputs
};

HostArray directions(const gnomon::Aval& aval, std::uint64_t seed) {
  HostArray h(aval);
  for (Dim i = 0; i < h.size(); ++i)
    h.set_number(i,
                 static_cast<double>(
                     static_cast<int>(random_bits(seed + static_cast<std::uint64_t>(i)) % 7) - 3) /
                     2);
  return h;
}

Prepared prepare(const General& row, DType t) {
  Prepared p;
  p.row = &row;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    p.inputs.push_back(drawn(row.inputs[i], t, 7 * i + 1));
    p.x.push_back(tensor(p.inputs.back()));
  }
  p.want = row.exact(p.x).all;
  if (!row.rule.differentiate || !gnomon::is_float(t)) return p;
  p.floating = moving(p.x);
  for (const std::size_t i : p.floating) p.tangents.push_back(directions(p.inputs[i].aval, 50 + i));
  for (std::size_t k = 0; k < p.want.size(); ++k)
    p.cotangents.push_back(directions({p.want[k].dtype, p.want[k].shape}, 90 + k));
  return p;
}

void compare_values(const Prepared& p, DType, const std::vector<HostArray>& got,
                    const std::function<void(const std::string&)>& say) {
  const Rule& rule = p.row->rule;
  for (std::size_t k = 0; k < p.want.size(); ++k) {
    const HostArray& g = got[p.first + k];
    const Tensor& w = p.want[k];
    const std::string which = p.want.size() > 1 ? "result " + std::to_string(k) + " " : "";
    if ((g.aval.dtype != w.dtype && !rule.any_dtype) || g.aval.shape != w.shape) {
      say(which + "is " + to_string(g.aval) + " instead of " + to_string(w.dtype, w.shape));
      continue;
    }
    const DType t = g.aval.dtype;
    for (Dim i = 0; i < g.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const long double y = element(g, i), exact = w.v[at], want = rounded(exact, t);
      bool right = false;
      if (std::isnan(want) || std::isnan(y)) {
        right = std::isnan(want) && std::isnan(y);
      } else if (y == want) {
        right = rule.unsigned_zero || !gnomon::is_float(t) ||
                std::signbit(y) == std::signbit(want) || rule.ulps > 0;
      } else if (rule.ulps > 0 && std::isfinite(want) && gnomon::is_float(t)) {
        const long double scale = w.scale.empty() ? 0 : w.scale[at];
        const long double size = std::max(std::fabs(exact), std::fabs(scale));
        right = std::fabs(y - exact) <= rule.ulps * unit_at(size, t);
      }
      if (right) continue;
      std::ostringstream s;
      s.precision(17);
      s << which << "at " << text(unflat(w.shape, at)) << " got " << static_cast<double>(y)
        << ", want " << static_cast<double>(exact);
      if (gnomon::is_float(t) && std::isfinite(want))
        s << ", off by " << static_cast<double>(std::fabs(y - exact) / unit_at(std::fabs(exact), t))
          << " units";
      say(s.str());
    }
  }
}

void compare_slope(long double got, long double want, long double size, long double error, DType t,
                   const Rule& rule, const std::string& where,
                   const std::function<void(const std::string&)>& say) {
  if (!std::isfinite(want)) return;
  const long double eps = std::ldexp(1.0L, 1 - format_of(t).digits);
  const long double allowed =
      rule.slope * eps * size + std::min(4 * error, 1e-6L * std::max(size, 1.0L)) + eps * 1e-3L;
  if (std::fabs(got - want) <= allowed) return;
  std::ostringstream s;
  s.precision(12);
  s << where << " got " << static_cast<double>(got) << ", want " << static_cast<double>(want)
    << " (" << static_cast<double>(std::fabs(got - want) / (eps * std::max(size, 1e-30L)))
    << " units of its terms)";
  say(s.str());
}

void compare_slopes(const Prepared& p, DType t, const std::vector<HostArray>& got,
                    const std::function<void(const std::string&)>& say) {
  const std::size_t outputs = p.want.size();
  // Tangents of outputs, summed over all elements that move.
  std::vector<std::vector<long double>> sum(outputs), size(outputs), error(outputs);
  for (std::size_t k = 0; k < outputs; ++k)
    for (auto* v : {&sum[k], &size[k], &error[k]}) v->assign(p.want[k].v.size(), 0);
  for (std::size_t f = 0; f < p.floating.size(); ++f) {
    const std::size_t input = p.floating[f];
    for (std::size_t i = 0; i < p.x[input].v.size(); ++i) {
      const Column c = column(*p.row, p.x, input, i);
      const long double direction = p.tangents[f].number(static_cast<Dim>(i));
      long double back = 0, back_size = 0, back_error = 0;
      for (std::size_t k = 0; k < outputs; ++k) {
        if (!gnomon::is_float(p.want[k].dtype)) continue;
        for (std::size_t e = 0; e < p.want[k].v.size(); ++e) {
          const long double w = p.cotangents[k].number(static_cast<Dim>(e));
          const long double scale = p.want[k].scale.empty() ? 0 : std::fabs(p.want[k].scale[e]);
          sum[k][e] += c.slope[k][e] * direction;
          size[k][e] += std::fabs(c.slope[k][e] * direction) + scale;
          error[k][e] += c.error[k][e] * std::fabs(direction);
          back += c.slope[k][e] * w;
          back_size += std::fabs(c.slope[k][e] * w) + scale;
          back_error += c.error[k][e] * std::fabs(w);
        }
      }
      const long double cotangent = element(got[p.first + 2 * outputs + f], static_cast<Dim>(i));
      compare_slope(cotangent, back, back_size, back_error, t, p.row->rule,
                    "backward derivative in input " + std::to_string(input) + " at " +
                        text(unflat(p.x[input].shape, i)),
                    say);
    }
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    if (!gnomon::is_float(p.want[k].dtype)) continue;
    for (std::size_t e = 0; e < p.want[k].v.size(); ++e)
      compare_slope(element(got[p.first + outputs + k], static_cast<Dim>(e)), sum[k][e], size[k][e],
                    error[k][e], t, p.row->rule,
                    "forward derivative of result " + std::to_string(k) + " at " +
                        text(unflat(p.want[k].shape, e)),
                    say);
  }
}

void check_rows(std::span<const General* const> rows, DType t, const Machine& machine,
                Complaints& complaints) {
  std::vector<Prepared> all;
  std::vector<HostArray> inputs;
  for (const General* row : rows) {
    all.push_back(prepare(*row, t));
    for (const auto* part : {&all.back().inputs, &all.back().tangents, &all.back().cotangents})
      inputs.insert(inputs.end(), part->begin(), part->end());
  }
  const auto program = [&](const Arrays& in) {
    Arrays out;
    auto next = in.begin();
    const auto take = [&](std::size_t n) {
      Arrays a(next, next + static_cast<std::ptrdiff_t>(n));
      next += static_cast<std::ptrdiff_t>(n);
      return a;
    };
    for (Prepared& p : all) {
      p.first = out.size();
      const Arrays x = take(p.inputs.size()), tangents = take(p.tangents.size()),
                   cotangents = take(p.cotangents.size());
      const Arrays values = p.row->program(x).all;
      if (values.size() != p.want.size())
        throw std::runtime_error("gives " + std::to_string(values.size()) + " results instead of " +
                                 std::to_string(p.want.size()));
      out.insert(out.end(), values.begin(), values.end());
      if (p.floating.empty()) continue;
      const auto f = [&](const Arrays& moved) {
        Arrays v = x;
        for (std::size_t i = 0; i < moved.size(); ++i) v[p.floating[i]] = moved[i];
        return p.row->program(v).all;
      };
      Arrays start;
      for (const std::size_t i : p.floating) start.push_back(x[i]);
      const Arrays forward = gnomon::jvp(f, start, tangents).second;
      for (std::size_t k = 0; k < values.size(); ++k) out.push_back(or_zero(forward[k], values[k]));
      const Arrays back = gnomon::vjp(f, start)(cotangents);
      for (std::size_t i = 0; i < back.size(); ++i) out.push_back(or_zero(back[i], start[i]));
    }
    return out;
  };
  const std::vector<HostArray> got = machine.run(program, inputs);
  for (const Prepared& p : all) {
    std::size_t count = 0;
    const auto say = [&](const std::string& what) {
      if (++count <= lines_per_row)
        complaints.push_back(std::string(p.row->names) + " " + std::string(name(t)) + ": " + what);
    };
    compare_values(p, t, got, say);
    if (!p.floating.empty()) compare_slopes(p, t, got, say);
    if (count > lines_per_row)
      complaints.push_back(std::string(p.row->names) + ": " +
                           std::to_string(count - lines_per_row) + " more");
  }
}

}  // namespace

long double& Tensor::at(const Index& i) { return v[flat(shape, i)]; }
long double Tensor::at(const Index& i) const { return v[flat(shape, i)]; }

Tensor made(DType t, const Shape& shape, const std::function<long double(const Index&)>& f) {
  Tensor r(t, shape);
  for (std::size_t i = 0; i < r.v.size(); ++i) r.v[i] = f(unflat(shape, i));
  return r;
}
void each(const Shape& shape, const std::function<void(const Index&)>& f) {
  for (Dim i = 0; i < shape.size(); ++i) f(unflat(shape, static_cast<std::size_t>(i)));
}

void check_general(std::span<const General> rows, const Machine& machine, Complaints& complaints) {
  for (int d = 0; d <= static_cast<int>(DType::f64); ++d) {
    const auto t = static_cast<DType>(d);
    if (t == DType::f64 && !machine.float64) continue;
    std::vector<const General*> chosen;
    for (const General& row : rows)
      if (std::find(row.types.begin(), row.types.end(), t) != row.types.end())
        chosen.push_back(&row);
    for (std::size_t first = 0; first < chosen.size(); first += general_rows_together) {
      const std::size_t n = std::min(general_rows_together, chosen.size() - first);
      const std::span<const General* const> group(chosen.data() + first, n);
      try {
        check_rows(group, t, machine, complaints);
      } catch (const std::exception&) {
        for (const General* row : group) try {
            check_rows(std::span<const General* const>(&row, 1), t, machine, complaints);
          } catch (const std::exception& e) {
            complaints.push_back(std::string(row->names) + " " + std::string(name(t)) +
                                 " throws: " + e.what());
          }
      }
    }
  }
}

// Kolmogorov and Smirnov's test: the largest distance between the two distribution functions,
// times the root of the number of draws, is above 2.2 once in 8,000 times; of discrete ones less
// often. Keys are fixed, so that the verdict is.
void check_drawn(std::span<const Drawn> rows, const Machine& machine, Complaints& complaints) {
  constexpr std::size_t together = 4;
  for (std::size_t first = 0; first < rows.size(); first += together) {
    const std::span<const Drawn> group =
        rows.subspan(first, std::min(together, rows.size() - first));
    const auto program = [&](const Arrays&) {
      Arrays out;
      for (const Drawn& row : group)
        out.push_back(gnomon::cast(row.draw(gnomon::random::key(2024)), DType::f32));
      return out;
    };
    std::vector<HostArray> got;
    try {
      got = machine.run(program, {});
    } catch (const std::exception& e) {
      complaints.push_back(std::string(group[0].names) + " and those behind it throw: " + e.what());
      continue;
    }
    for (std::size_t r = 0; r < group.size(); ++r) {
      std::vector<double> x;
      for (Dim i = 0; i < got[r].size(); ++i) x.push_back(got[r].number(i));
      std::sort(x.begin(), x.end());
      const auto n = static_cast<double>(x.size());
      double most = x.size() == static_cast<std::size_t>(draws) ? 0 : infinity, where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        // Of equal draws the last one counts: both functions are continuous from the right.
        if (i + 1 < x.size() && x[i + 1] == x[i]) continue;
        const double f = group[r].distribution(x[i]);
        const auto up = static_cast<double>(i + 1) / n;
        double distance = std::fabs(up - f);
        if (!group[r].discrete)
          distance = std::fmax(distance, std::fabs(static_cast<double>(i) / n - f));
        if (!(distance <= most)) most = distance, where = x[i];
      }
      if (!(most * std::sqrt(n) < 2.2))
        complaints.push_back(
            std::string(group[r].names) + ": " + std::to_string(most * std::sqrt(n)) +
            " standard distances from its distribution, at " + std::to_string(where));
    }
  }
}

}  // namespace oracle
