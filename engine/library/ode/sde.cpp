// engine/library/ode/sde.cpp -- methods for equations that paths drive: Runge-Kutta tables with
// weights for what a path does in a step, and Milstein's.
#include "gnomon/ode/sde.h"

#include <algorithm>
#include <cmath>

#include "engine/library/ode/sde.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode {
namespace detail {

void Method::check_terms(const Request& r) const {
  if (fields() != r.fields.size())
    usage_error("diffeqsolve",
                name() + " takes " + std::to_string(fields()) + " terms, not " +
                    std::to_string(r.fields.size()) +
                    (r.first_half > 0 ? "; ode::to_ode makes one of a PartitionedTerm" : ""),
                r.loc);
}

Arrays product(const Arrays& g, const Arrays& w, const Arrays& y) {
  const auto fail = [](const std::string& what) { usage_error("ode::ControlTerm", what, {}); };
  if (w.size() != 1 && w.size() != y.size())
    fail("the path has " + std::to_string(w.size()) + " arrays and the state " +
         std::to_string(y.size()) + "; a path has as many, or one for all of them");
  Arrays result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Array& x = w[w.size() == 1 ? 0 : i];
    const Shape &to = y[i].shape(), &of = g[i].shape();
    const Array change = x.dtype() == g[i].dtype() ? x : cast(x, g[i].dtype());
    std::optional<Array> moved;
    if (of == to && (x.rank() == 0 || x.shape() == to)) {
      moved = g[i] * change;
    } else if (of.rank() == to.rank() + x.rank()) {
      bool fits = true;
      for (int k = 0; k < of.rank(); ++k)
        fits = fits && of[k] == (k < to.rank() ? to[k] : x.shape()[k - to.rank()]);
      std::vector<int> axes;
      for (int k = to.rank(); k < of.rank(); ++k) axes.push_back(k);
      if (fits) moved = sum(g[i] * change, axes);
    }
    if (!moved)
      fail("array " + std::to_string(i) + " of the state is " + to_string(y[i].aval()) +
           ", that of the path " + to_string(x.aval()) + ", and the field gives " +
           to_string(g[i].aval()) +
           " for them; it has the shape of the state (a noise for each element, or one number for "
           "all), or that of the state followed by that of the path");
    if (moved->dtype() != y[i].dtype()) moved = cast(*moved, y[i].dtype());
    result.push_back(*moved);
  }
  return result;
}

Arrays plus_weighted(Arrays y, double weight, const Arrays& x) {
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = weight == 1 ? y[i] + x[i] : weight == -1 ? y[i] - x[i] : y[i] + weight * x[i];
  return y;
}

void DrivenMethod::check_terms(const Request& r) const {
  const auto fail = [&](const std::string& what) { usage_error("diffeqsolve", what, r.loc); };
  bool any = false;
  for (const Driven& d : r.drives) {
    if (!d.drive) continue;
    any = true;
    if (d.calculus != Calculus::unsaid && d.calculus != calculus_)
      fail(name() + (calculus_ == Calculus::ito
                         ? " solves Ito equations, and the term is of Stratonovich's; take "
                           "EulerHeun, Heun or SPaRK, or add the correction to the drift: -(1/2) "
                           "g' g"
                         : " solves Stratonovich equations, and the term is of Ito's; take "
                           "EulerMaruyama or ItoMilstein, or take (1/2) g' g off the drift"));
    if (needs_area_ && !d.drive->has_area())
      fail(name() +
           " needs space-time areas, which the path has not; give it LevyArea::space_time");
  }
  if (!any)
    fail(name() +
         " solves stochastic equations, and no term has a path; write MultiTerm(OdeTerm{f}, "
         "ControlTerm(g, VirtualBrownianTree(..)))");
}

Arrays DrivenMethod::begin(const Fields& f, const Array& t, const Arrays& y) const {
  const Request& r = f.request();
  // The solve begins, and not another stretch of it behind a jump.
  const bool first = &y == &r.y0 && !r.t0.is_array();
  Arrays all;
  for (std::size_t part = 0; part < f.size(); ++part) {
    const Drive* d = f.drive(part);
    if (!d) continue;
    const auto range = d->range();
    const bool known = first && range && r.t0.scalar().floating == range->first;
    for (const Array& a : known ? d->at_start() : d->at(f.time(t))) all.push_back(a);
  }
  return all;
}

Polynomial DrivenMethod::interpolant(const Span&, const Arrays& y, const Stepped& s) const {
  return {plus_weighted(s.y1, -1, y)};
}

std::pair<std::vector<Noise>, Arrays> DrivenMethod::noise_of(const Fields& f, const Span& span,
                                                             const Arrays& start) {
  std::vector<Noise> all(f.size());
  Arrays end;
  for (std::size_t part = 0; part < f.size(); ++part) {
    const Drive* d = f.drive(part);
    if (!d) continue;
    const Array t0 = f.time(span.t0), t1 = f.time(span.t1);
    const Arrays there = d->at(t1);
    const auto from = start.begin() + static_cast<std::ptrdiff_t>(end.size());
    const Arrays here(from, from + static_cast<std::ptrdiff_t>(there.size()));
    all[part] = d->between({t0, t1, span.index}, here, there);
    for (const Array& a : there) end.push_back(a);
  }
  return {std::move(all), std::move(end)};
}

Arrays DrivenMethod::drift(const Fields& f, const Array& t, const Arrays& y) {
  Arrays all;
  for (std::size_t part = 0; part < f.size(); ++part) {
    if (f.drive(part)) continue;
    Arrays slope = f(part, t, y);
    all = all.empty() ? std::move(slope) : plus_weighted(std::move(all), 1, slope);
  }
  return all;
}

namespace {

/// weight_w w + weight_h h; nothing where both weights are 0.
Arrays mixed(double weight_w, double weight_h, const Noise& noise) {
  Arrays all;
  for (std::size_t i = 0; i < noise.w.size(); ++i) {
    const auto scaled = [](double weight, const Array& x) { return weight == 1 ? x : weight * x; };
    if (weight_h == 0)
      all.push_back(scaled(weight_w, noise.w[i]));
    else if (weight_w == 0)
      all.push_back(scaled(weight_h, noise.h[i]));
    else
      all.push_back(scaled(weight_w, noise.w[i]) + scaled(weight_h, noise.h[i]));
  }
  return all;
}

/// A Runge-Kutta method in which stage i is at
///   y + h sum_j a_ij f_j + sum_j (aw_ij g_j W + ah_ij g_j H).
struct Table {
  std::string name;
  int order = 0;
  double error_order = 0;
  Calculus calculus = Calculus::stratonovich;
  std::vector<double> c;                    // of all stages, as the rest
  std::vector<std::vector<double>> a;       // drift
  std::vector<double> b, error = {};        // b less the weights of the embedded method
  std::vector<std::vector<double>> aw, ah;  // of increments and of areas
  std::vector<double> bw, bh = {}, error_w = {}, error_h = {};
  /// g depends on t alone: it is taken for linear in a step.
  bool additive = false;
};

double weight(const std::vector<double>& row, std::size_t i) { return i < row.size() ? row[i] : 0; }

class DrivenRungeKutta final : public DrivenMethod {
 public:
  explicit DrivenRungeKutta(Table t)
      : DrivenMethod(t.name, t.order, t.error_order, t.calculus, uses_area(t)), t_(std::move(t)) {}

  int evaluations_per_step() const override {
    int count = 0;
    for (std::size_t i = 0; i < t_.c.size(); ++i) count += uses_drift(i);
    return count;
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    Stepped result;
    auto [noise, end] = noise_of(f, span, state);
    std::vector<Arrays>& slopes = result.slopes;
    std::vector<Moved> moved;
    for (std::size_t i = 0; i < t_.c.size(); ++i) {
      const bool drifts = uses_drift(i), moves = uses_noise(i);
      slopes.emplace_back();
      moved.emplace_back();
      if (!drifts && !moves) continue;
      const Arrays at = sum_of(y, span, t_.a[i], t_.aw[i], row(t_.ah, i), slopes, moved);
      const double c = t_.c[i];
      const Array t = c == 1 ? span.t1 : c == 0 ? span.t0 : span.t0 + c * span.h;
      if (drifts) slopes.back() = drift(f, t, at);
      if (moves) moved.back() = move(f, t, at, noise, y, i);
    }
    result.y1 = sum_of(y, span, t_.b, t_.bw, t_.bh, slopes, moved);
    if (t_.additive) {
      // The integral of a linear function along the path.
      for (std::size_t part = 0; part < f.size(); ++part) {
        if (!f.drive(part)) continue;
        const Arrays change =
            plus_weighted(f.factor(part, span.t1, y), -1, f.factor(part, span.t0, y));
        result.y1 = plus_weighted(result.y1, 1, product(change, mixed(0.5, -1, noise[part]), y));
      }
    }
    if (error_order() > 0) {
      Arrays zero;
      for (const Array& a : y) zero.push_back(zeros_like(a));
      result.error = sum_of(zero, span, t_.error, t_.error_w, t_.error_h, slopes, moved);
    }
    result.state = std::move(end);
    return result;
  }

 private:
  /// What the diffusion of a stage makes of W and of H.
  struct Moved {
    Arrays w, h;
  };

  static const std::vector<double>& row(const std::vector<std::vector<double>>& rows,
                                        std::size_t i) {
    static const std::vector<double> none;
    return i < rows.size() ? rows[i] : none;
  }
  static bool has_weight(const std::vector<double>& row) {
    for (double x : row)
      if (x != 0) return true;
    return false;
  }
  static bool uses_area(const Table& t) {
    bool any = t.additive || has_weight(t.bh);
    for (const auto& r : t.ah) any = any || has_weight(r);
    return any;
  }
  static bool looks_at(std::size_t i, const std::vector<std::vector<double>>& rows,
                       const std::vector<double>& b, const std::vector<double>& error) {
    bool used = weight(b, i) != 0 || weight(error, i) != 0;
    for (const auto& r : rows) used = used || weight(r, i) != 0;
    return used;
  }
  bool uses_drift(std::size_t i) const { return looks_at(i, t_.a, t_.b, t_.error); }
  bool uses_w(std::size_t i) const { return looks_at(i, t_.aw, t_.bw, t_.error_w); }
  bool uses_h(std::size_t i) const { return looks_at(i, t_.ah, t_.bh, t_.error_h); }
  bool uses_noise(std::size_t i) const { return uses_w(i) || uses_h(i); }

  /// y + h sum_j a_j f_j + sum_j (w_j g_j W + h_j g_j H).
  static Arrays sum_of(const Arrays& y, const Span& span, const std::vector<double>& a,
                       const std::vector<double>& w, const std::vector<double>& h,
                       const std::vector<Arrays>& slopes, const std::vector<Moved>& moved) {
    std::vector<double> weights;
    std::vector<Arrays> used;
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      if (weight(a, j) == 0 || slopes[j].empty()) continue;
      weights.push_back(a[j]);
      used.push_back(slopes[j]);
    }
    Arrays all = weights.empty() ? y : advance(y, span.h, weights, used);
    for (std::size_t j = 0; j < moved.size(); ++j) {
      if (weight(w, j) != 0) all = plus_weighted(std::move(all), w[j], moved[j].w);
      if (weight(h, j) != 0) all = plus_weighted(std::move(all), h[j], moved[j].h);
    }
    return all;
  }

  Moved move(const Fields& f, const Array& t, const Arrays& at, const std::vector<Noise>& noise,
             const Arrays& y, std::size_t stage) const {
    Moved all;
    for (std::size_t part = 0; part < f.size(); ++part) {
      if (!f.drive(part)) continue;
      const Arrays g = f.factor(part, t, at);
      const auto add = [&](Arrays& to, const Arrays& x) {
        Arrays by = product(g, x, y);
        to = to.empty() ? std::move(by) : plus_weighted(std::move(to), 1, by);
      };
      if (uses_w(stage)) add(all.w, noise[part].w);
      if (uses_h(stage)) add(all.h, noise[part].h);
    }
    return all;
  }

  Table t_;
};

class Milstein final : public DrivenMethod {
 public:
  Milstein(std::string name, Calculus calculus)
      : DrivenMethod(std::move(name), 1, 0, calculus, false), ito_(calculus == Calculus::ito) {}
  int evaluations_per_step() const override { return 1; }

  void check_terms(const Request& r) const override {
    DrivenMethod::check_terms(r);
    if (std::count_if(r.drives.begin(), r.drives.end(),
                      [](const Driven& d) { return d.drive != nullptr; }) > 1)
      usage_error("diffeqsolve",
                  name() + " takes one diffusion, and there are more; make them one with a matrix",
                  r.loc);
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    Stepped result;
    auto [all, end] = noise_of(f, span, state);
    std::size_t part = 0;
    while (!f.drive(part)) ++part;
    const Noise& noise = all[part];
    const auto along = [&](const Arrays& w) {
      return [&f, &span, &y, part, w](const Arrays& at) {
        return product(f.factor(part, span.t0, at), w, y);
      };
    };
    // D g(y) w in the direction g(y) w.
    const auto twice = [&](const Arrays& w) {
      const auto move = along(w);
      return jvp(move, y, move(y)).second;
    };
    const Arrays slope = drift(f, span.t0, y);
    result.y1 = slope.empty() ? y : advance(y, span.h, {1}, {slope});
    result.y1 = plus_weighted(std::move(result.y1), 1, along(noise.w)(y));
    result.y1 = plus_weighted(std::move(result.y1), 0.5, twice(noise.w));
    if (ito_)
      for (const Arrays& unit : units(noise.w, y, f.factor(part, span.t0, y))) {
        const Arrays d = twice(unit);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const Array h = span.h.dtype() == d[i].dtype() ? span.h : cast(span.h, d[i].dtype());
          result.y1[i] = result.y1[i] - 0.5 * h * d[i];
        }
      }
    result.state = std::move(end);
    return result;
  }

 private:
  /// Directions of the noise that add up to what W W^T is on average: all elements of an array that
  /// moves element by element at once, else one after the other.
  static std::vector<Arrays> units(const Arrays& w, const Arrays& y, const Arrays& g) {
    std::vector<Arrays> all;
    Arrays zero;
    for (const Array& a : w) zero.push_back(zeros_like(a));
    for (std::size_t i = 0; i < w.size(); ++i) {
      bool by_element = true;
      for (std::size_t k = 0; k < y.size(); ++k)
        if (w.size() == 1 || k == i) by_element = by_element && g[k].shape() == y[k].shape();
      if (by_element || w[i].rank() == 0) {
        all.push_back(zero);
        all.back()[i] = ones_like(w[i]);
        continue;
      }
      for (Dim k = 0; k < w[i].size(); ++k) {
        all.push_back(zero);
        const Array number = reshape(iota({w[i].size()}, 0), w[i].shape());
        all.back()[i] = cast(number == k, w[i].dtype());
      }
    }
    return all;
  }

  bool ito_;
};

Solver of(Table table) { return Solver(std::make_shared<DrivenRungeKutta>(std::move(table))); }

Table euler_maruyama() {
  return {.name = "EulerMaruyama",
          .order = 1,
          .calculus = Calculus::ito,
          .c = {0},
          .a = {{}},
          .b = {1},
          .aw = {{}},
          .ah = {},
          .bw = {1}};
}

}  // namespace

std::shared_ptr<const Method> driven_runge_kutta(const Tableau& t, const Request& r) {
  bool brownian = false;
  for (const Driven& d : r.drives) brownian = brownian || (d.drive && d.drive->is_brownian());
  Table all{.name = t.name,
            .order = t.order,
            .calculus = t.order == 1 ? Calculus::ito : Calculus::stratonovich,
            .c = {0},
            .a = {{}},
            .b = t.b,
            .error = t.error,
            .aw = {},
            .ah = {},
            .bw = t.b,
            .error_w = t.error};
  all.c.insert(all.c.end(), t.c.begin(), t.c.end());
  all.a.insert(all.a.end(), t.a.begin(), t.a.end());
  all.aw = all.a;
  if (!t.error.empty()) all.error_order = brownian ? 1 : t.error_order ? t.error_order : t.order;
  return std::make_shared<DrivenRungeKutta>(std::move(all));
}

}  // namespace detail

using detail::Calculus;
using detail::of;

EulerMaruyama::EulerMaruyama() : Solver(of(detail::euler_maruyama())) {}
ItoMilstein::ItoMilstein()
    : Solver(std::make_shared<detail::Milstein>("ItoMilstein", detail::Calculus::ito)) {}
StratonovichMilstein::StratonovichMilstein()
    : Solver(std::make_shared<detail::Milstein>("StratonovichMilstein",
                                                detail::Calculus::stratonovich)) {}

EulerHeun::EulerHeun()
    : Solver(of({.name = "EulerHeun",
                 .order = 1,
                 .c = {0, 1},
                 .a = {{}, {0}},
                 .b = {1, 0},
                 .aw = {{}, {1}},
                 .ah = {},
                 .bw = {0.5, 0.5}})) {}

SEA::SEA()
    : Solver(of({.name = "SEA",
                 .order = 1,
                 .c = {0, 0.5},
                 .a = {{}, {0}},
                 .b = {0, 1},
                 .aw = {{}, {0.5}},
                 .ah = {{}, {1}},
                 .bw = {1, 0},
                 .additive = true})) {}

SRA1::SRA1()
    : Solver(of({.name = "SRA1",
                 .order = 2,
                 .error_order = 2,
                 .c = {0, 0.75},
                 .a = {{}, {0.75}},
                 .b = {1.0 / 3, 2.0 / 3},
                 .error = {-2.0 / 3, 2.0 / 3},
                 .aw = {{}, {0.75}},
                 .ah = {{}, {1.5}},
                 .bw = {1, 0},
                 .additive = true})) {}

ShARK::ShARK()
    : Solver(of({.name = "ShARK",
                 .order = 2,
                 .error_order = 2,
                 .c = {0, 0, 5.0 / 6},
                 .a = {{}, {0}, {0, 5.0 / 6}},
                 .b = {0, 0.4, 0.6},
                 .error = {0, -0.6, 0.6},
                 .aw = {{}, {0}, {5.0 / 6}},
                 .ah = {{}, {1}, {1}},
                 .bw = {1},
                 .additive = true})) {}

SPaRK::SPaRK()
    : Solver([] {
        const double root = std::sqrt(3.0), x = (3 - root) / 6, y = root / 3;
        return of({.name = "SPaRK",
                   .order = 2,
                   .error_order = 1,
                   .c = {0, 0.5, 1},
                   .a = {{}, {0.5}, {0, 1}},
                   .b = {x, y, x},
                   .error = {x - 0.5, y, x - 0.5},
                   .aw = {{}, {0.5}, {0, 1}},
                   .ah = {{}, {root}, {0, 0}},
                   .bw = {x, y, x},
                   .bh = {1, 0, -1},
                   .error_w = {x - 0.5, y, x - 0.5},
                   .error_h = {1, 0, -1}});
      }()) {}

GeneralShARK::GeneralShARK()
    : Solver(of({.name = "GeneralShARK",
                 .order = 2,
                 .c = {0, 0, 5.0 / 6},
                 .a = {{}, {0}, {0, 5.0 / 6}},
                 .b = {0, 0.4, 0.6},
                 .aw = {{}, {0}, {0, 5.0 / 6}},
                 .ah = {{}, {1}, {1, 0}},
                 .bw = {0, 0.4, 0.6},
                 .bh = {0, 1.2, -1.2}})) {}

SlowRK::SlowRK()
    : Solver(of({.name = "SlowRK",
                 .order = 2,
                 .c = {0, 0.5, 0.5, 0.5, 0.5, 0.75, 1},
                 .a = {{}, {0.5}, {0.5}, {0.5}, {0.5}, {0.75}, {1}},
                 .b = {1.0 / 3, 0, 0, 0, 0, 2.0 / 3, 0},
                 .aw = {{}, {}, {0, 0.5}, {0, 0, 0.5}, {0, 0, 0, 1}, {0, 0, 0, 0.75}, {0, 0, 0.5}},
                 .ah = {{}, {}, {}, {}, {}, {0, 0, 0, 1.5}, {}},
                 .bw = {0, 1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6},
                 .bh = {0, 0, 0, 2, 0, 0, -2}})) {}

}  // namespace gnomon::ode
