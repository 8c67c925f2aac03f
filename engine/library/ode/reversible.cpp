// engine/library/ode/reversible.cpp -- methods whose steps can be undone.
#include "gnomon/ode/reversible.h"

#include "engine/library/ode/sde.h"
#include "gnomon/ops.h"

namespace gnomon::ode {
namespace detail {
namespace {

/// Carries what the paths remember, the second state, and all fields there: the sum of those that
/// time drives, then each driven one.
class ReversibleHeunMethod final : public DrivenMethod {
 public:
  enum class Driver { time, path, brownian };
  explicit ReversibleHeunMethod(Driver driver)
      : DrivenMethod("ReversibleHeun", 2, driver == Driver::brownian ? 1 : 2,
                     Calculus::stratonovich, false),
        driver_(driver) {}

  bool is_driven() const override { return driver_ != Driver::time; }
  bool is_reversible() const override { return true; }
  int evaluations_to_begin() const override { return 1; }
  int evaluations_per_step() const override { return 1; }

  std::shared_ptr<const Method> driven(const Request& r) const override {
    bool brownian = false;
    for (const Driven& d : r.drives) brownian = brownian || (d.drive && d.drive->is_brownian());
    return std::make_shared<ReversibleHeunMethod>(brownian ? Driver::brownian : Driver::path);
  }
  void check_terms(const Request& r) const override {
    if (is_driven())
      DrivenMethod::check_terms(r);
    else
      Method::check_terms(r);
  }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    Carried c{DrivenMethod::begin(f, t, y), y, {}, {}};
    look(f, t, c);
    return joined(c);
  }
  Arrays first_slope(const Fields& f, const Array&, const Arrays& y,
                     const Arrays& begun) const override {
    return split(f, y, begun).slope;
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    const Carried here = split(f, y, state);
    auto [noise, end] = noise_of(f, span, here.paths);
    const Arrays before = moves(f, span, here, noise, y);
    Carried there{std::move(end), plus_weighted(before, -1, here.second), {}, {}};
    there.second = plus_weighted(std::move(there.second), 2, y);
    look(f, span.t1, there);
    const Arrays behind = moves(f, span, there, noise, y);

    Stepped result;
    for (std::size_t i = 0; i < y.size(); ++i) {
      result.y1.push_back(y[i] + 0.5 * (before[i] + behind[i]));
      result.error.push_back(0.5 * (behind[i] - before[i]));
    }
    result.state = joined(there);
    result.slopes = {before};
    return result;
  }

  Polynomial interpolant(const Span& span, const Arrays& y, const Stepped& s) const override {
    if (is_driven()) return DrivenMethod::interpolant(span, y, s);
    // With the slopes of both ends: the cubic through these is of degree 2.
    return {s.slopes[0], s.error};
  }

  Begun undone(const Fields& f, const Span& span, const Array&, const Arrays& y1,
               const Arrays& state1) const override {
    const Carried there = split(f, y1, state1);
    Carried here{DrivenMethod::begin(f, span.t0, y1), {}, {}, {}};
    auto [noise, end] = noise_of(f, span, here.paths);
    const Arrays behind = moves(f, span, there, noise, y1);
    for (std::size_t i = 0; i < y1.size(); ++i)
      here.second.push_back(2 * y1[i] - there.second[i] - behind[i]);
    look(f, span.t0, here);
    const Arrays before = moves(f, span, here, noise, y1);
    Arrays y;
    for (std::size_t i = 0; i < y1.size(); ++i) y.push_back(y1[i] - 0.5 * (before[i] + behind[i]));
    return {std::move(y), joined(here)};
  }

 private:
  struct Carried {
    Arrays paths, second;
    Arrays slope;                 // of all that time drives; nothing where that is nothing
    std::vector<Arrays> factors;  // of the driven parts, in order
  };

  static void look(const Fields& f, const Array& t, Carried& c) {
    c.slope = drift(f, t, c.second);
    for (std::size_t part = 0; part < f.size(); ++part)
      if (f.drive(part)) c.factors.push_back(f.factor(part, t, c.second));
  }

  static Arrays joined(const Carried& c) {
    Arrays all = c.paths;
    for (const Arrays* more : {&c.second, &c.slope})
      all.insert(all.end(), more->begin(), more->end());
    for (const Arrays& more : c.factors) all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Carried split(const Fields& f, const Arrays& y, const Arrays& state) {
    std::size_t driven = 0;
    for (std::size_t part = 0; part < f.size(); ++part) driven += f.drive(part) != nullptr;
    const bool drifts = driven < f.size();
    const auto groups = static_cast<std::ptrdiff_t>((1 + (drifts ? 1 : 0) + driven) * y.size());
    auto at = state.end() - groups;
    const auto next = [&] {
      const auto from = at;
      at += static_cast<std::ptrdiff_t>(y.size());
      return Arrays(from, at);
    };
    Carried c;
    c.paths.assign(state.begin(), at);
    c.second = next();
    if (drifts) c.slope = next();
    for (std::size_t i = 0; i < driven; ++i) c.factors.push_back(next());
    return c;
  }

  /// How far the fields move in a step.
  static Arrays moves(const Fields& f, const Span& span, const Carried& c,
                      const std::vector<Noise>& noise, const Arrays& y) {
    Arrays all = c.slope.empty() ? Arrays{} : weighted(span.h, {1}, {c.slope});
    std::size_t at = 0;
    for (std::size_t part = 0; part < f.size(); ++part) {
      if (!f.drive(part)) continue;
      Arrays by = product(c.factors[at++], noise[part].w, y);
      all = all.empty() ? std::move(by) : plus_weighted(std::move(all), 1, by);
    }
    return all;
  }

  Driver driver_;
};

/// Carries where the step before began and the state there.
class Leapfrog final : public Method {
 public:
  Leapfrog() : Method("LeapfrogMidpoint", 2, 0) {}

  bool looks_back() const override { return true; }
  bool is_reversible() const override { return true; }
  int evaluations_to_begin() const override { return 0; }
  int evaluations_per_step() const override { return 1; }

  Arrays begin(const Fields&, const Array& t, const Arrays& y) const override {
    return joined(t, y);
  }
  Arrays first_slope(const Fields& f, const Array& t, const Arrays& y,
                     const Arrays&) const override {
    return f.all(t, y);
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    Stepped result;
    result.slopes = {f(0, span.t0, y)};
    const Arrays before(state.begin() + 1, state.end());
    result.y1 = advance(before, span.t1 - state[0], {1}, result.slopes);
    result.state = joined(span.t0, y);
    return result;
  }

  Polynomial interpolant(const Span& span, const Arrays& y, const Stepped& s) const override {
    Arrays first = weighted(span.h, {1}, s.slopes), rest;
    for (std::size_t i = 0; i < y.size(); ++i) rest.push_back(s.y1[i] - y[i] - first[i]);
    return {std::move(first), std::move(rest)};
  }

  Begun undone(const Fields& f, const Span& span, const Array& before, const Arrays& y1,
               const Arrays& state1) const override {
    Arrays y(state1.begin() + 1, state1.end());
    Arrays back = advance(y1, span.t1 - before, {-1}, {f(0, span.t0, y)});
    return {std::move(y), joined(before, back)};
  }

 private:
  static Arrays joined(const Array& t, const Arrays& y) {
    Arrays all{t};
    all.insert(all.end(), y.begin(), y.end());
    return all;
  }
};

}  // namespace
}  // namespace detail

ReversibleHeun::ReversibleHeun()
    : Solver(std::make_shared<detail::ReversibleHeunMethod>(
          detail::ReversibleHeunMethod::Driver::time)) {}
LeapfrogMidpoint::LeapfrogMidpoint() : Solver(std::make_shared<detail::Leapfrog>()) {}

}  // namespace gnomon::ode
