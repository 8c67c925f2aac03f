// engine/library/ode/symplectic.cpp -- methods that move the halves of a state in turn.
#include "gnomon/ode/symplectic.h"

#include <algorithm>
#include <cmath>

#include "engine/library/ode/control.h"
#include "engine/library/ode/method.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode {
namespace detail {
namespace {

/// One half moves by `length` steps along the other one; `time`: where its field is looked at. Both
/// in steps.
struct Move {
  std::size_t half;
  double length, time;
};

/// Steps of VelocityVerlet of these lengths, one behind the other. What moves the first half at the
/// end of one and at the start of the next is one move.
std::vector<Move> verlet(const std::vector<double>& lengths) {
  std::vector<Move> moves;
  double p = 0, q = 0, before = 0;  // the time of each half
  for (double length : lengths) {
    const double half = (before + length) / 2;
    moves.push_back({0, half, q});
    moves.push_back({1, length, p + half});
    p += half, q += length, before = length;
  }
  moves.push_back({0, before / 2, 1});
  return moves;
}

/// Operations of the fields in a step, for each number of the state, from which on moves are a
/// loop. (Of 4,096 pendulums, on two cores by lavapipe: Yoshida8, 105 operations, takes 1.8 times
/// as long written out as by a loop, Yoshida6, 49, 1.3 times, and Yoshida4, 21, three quarters.)
constexpr double looped_moves = 40;

std::vector<double> there_and_back(std::vector<double> lengths) {
  for (std::size_t i = lengths.size() - 1; i-- > 0;) lengths.push_back(lengths[i]);
  return lengths;
}

class SymplecticMethod final : public Method {
 public:
  struct Options {
    bool reuses;  // the last field of a step is the first of the next
    bool dense = false;
    std::size_t first_half = 0;
  };

  SymplecticMethod(std::string name, int order, std::vector<Move> moves, Options o)
      : Method(std::move(name), order, 0), moves_(std::move(moves)), o_(o) {}

  std::size_t fields() const override { return 2; }
  int evaluations_to_begin() const override { return (o_.reuses ? 1 : 0) + (o_.dense ? 1 : 0); }
  int evaluations_per_step() const override {
    return static_cast<int>(moves_.size()) - (o_.reuses ? 1 : 0) + (o_.dense ? 1 : 0);
  }

  std::shared_ptr<const Method> prepared(const Request& r) const override {
    Options o = o_;
    o.first_half = r.first_half;
    return std::make_shared<SymplecticMethod>(name(), order(), moves_, o);
  }
  void check_terms(const Request& r) const override {
    if (r.first_half == 0)
      usage_error("diffeqsolve",
                  name() +
                      " moves the halves of a state in turn, and the terms do not say what moves "
                      "which; write PartitionedTerm(OdeTerm{f}, OdeTerm{g}) for a state {p, q}",
                  r.loc);
  }
  std::shared_ptr<const Method> with_interpolant() const override {
    if (!o_.reuses) return nullptr;
    Options o = o_;
    o.dense = true;
    return std::make_shared<SymplecticMethod>(name(), order(), moves_, o);
  }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    return slopes_at(f, t, y);
  }
  Arrays first_slope(const Fields& f, const Array& t, const Arrays& y,
                     const Arrays&) const override {
    return f.all(t, y);
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    Stepped result;
    result.y1 = y;
    if (o_.reuses && moves_.size() > 3 && is_large(f, span, y)) {
      by_a_loop(result, f, span, state);
      add_last_slopes(result, f, span, state);
      return result;
    }
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const Move& m = moves_[i];
      const Array t = m.time == 1 ? span.t1 : m.time == 0 ? span.t0 : span.t0 + m.time * span.h;
      const bool last = o_.reuses && i + 1 == moves_.size();
      if (last) result.state = half_of(m.half, f(m.half, t, result.y1));
      const Arrays slope = last                  ? result.state
                           : i == 0 && o_.reuses ? half_of(0, state, o_.first_half)
                                                 : half_of(m.half, f(m.half, t, result.y1));
      Arrays own = half_of(m.half, result.y1);
      own = advance(own, m.length == 1 ? span.h : m.length * span.h, {1}, {slope});
      for (std::size_t k = 0; k < own.size(); ++k)
        result.y1[k + (m.half == 0 ? 0 : o_.first_half)] = own[k];
    }
    add_last_slopes(result, f, span, state);
    return result;
  }

  Polynomial interpolant(const Span& span, const Arrays& y, const Stepped& s) const override {
    Arrays way;
    for (std::size_t i = 0; i < y.size(); ++i) way.push_back(s.y1[i] - y[i]);
    if (!o_.dense) return {way};
    // The cubic with the slopes at both ends.
    const Arrays first = weighted(span.h, {1}, {s.slopes[0]}),
                 last = weighted(span.h, {1}, {s.slopes[1]});
    return {first, combined({3, -2, -1}, {way, first, last}),
            combined({-2, 1, 1}, {way, first, last})};
  }

 private:
  void add_last_slopes(Stepped& result, const Fields& f, const Span& span,
                       const Arrays& state) const {
    if (!o_.dense) return;
    for (const Array& a : half_of(1, f(1, span.t1, result.y1))) result.state.push_back(a);
    result.slopes = {state, result.state};
  }

  /// Whether the fields are too large to stand there once for each move.
  bool is_large(const Fields& f, const Span& span, const Arrays& y) const {
    double numbers = 0;
    for (const Array& a : y) numbers += static_cast<double>(a.size());
    const auto both = [&](const Array& t, const Arrays& at) {
      Arrays all = f(0, t, at);
      for (const Array& a : f(1, t, at)) all.push_back(a);
      return all;
    };
    const double fields = static_cast<double>(moves_.size() / 2);
    return fields * count_operations(both, span.t0, y) > looped_moves * std::max(1.0, numbers);
  }

  /// The moves as a loop over those of both halves, with the field of the first one behind them.
  void by_a_loop(Stepped& result, const Fields& f, const Span& span, const Arrays& state) const {
    struct Row {
      Array p, q, time_p, time_q, last;
    };
    struct Carry {
      Arrays y, slope;
    };
    std::vector<double> p, q, time_p, time_q, last;
    for (std::size_t i = 0; i + 2 < moves_.size(); i += 2) {
      p.push_back(moves_[i].length);
      q.push_back(moves_[i + 1].length);
      time_p.push_back(moves_[i + 1].time);
      time_q.push_back(moves_[i + 2].time);
      last.push_back(i + 3 == moves_.size());
    }
    const DType dtype = span.h.dtype();
    const auto numbers = [&](const std::vector<double>& x) { return array_of(Times(x), dtype); };
    const auto move = [&](Arrays y, std::size_t half, const Array& length, const Arrays& slope) {
      const Arrays own = advance(half_of(half, y), length, {1}, {slope});
      std::copy(own.begin(), own.end(),
                y.begin() + static_cast<std::ptrdiff_t>(half == 0 ? 0 : o_.first_half));
      return y;
    };
    const auto both = [&](const Carry& c, const Row& row) {
      Arrays y = move(c.y, 0, row.p * span.h, c.slope);
      const Arrays slope = half_of(1, f(1, span.t0 + row.time_p * span.h, y));
      y = move(y, 1, row.q * span.h, slope);
      const Array t = where(row.last != 0, span.t1, span.t0 + row.time_q * span.h);
      Arrays next = half_of(0, f(0, t, y));
      return std::pair{Carry{std::move(y), std::move(next)}, none};
    };
    const Carry end =
        scan(both, Carry{result.y1, half_of(0, state, o_.first_half)},
             Row{numbers(p), numbers(q), numbers(time_p), numbers(time_q), numbers(last)})
            .first;
    result.y1 = move(end.y, 0, moves_.back().length * span.h, end.slope);
    result.state = end.slope;
  }

  Arrays half_of(std::size_t which, const Arrays& all, std::size_t of_first) const {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(of_first);
    return which == 0 ? Arrays(all.begin(), middle) : Arrays(middle, all.end());
  }
  Arrays half_of(std::size_t which, const Arrays& all) const {
    return half_of(which, all, o_.first_half);
  }
  /// What is carried from step to step.
  Arrays slopes_at(const Fields& f, const Array& t, const Arrays& y) const {
    if (!o_.reuses) return {};
    Arrays all = half_of(0, f(0, t, y));
    if (o_.dense)
      for (const Array& a : half_of(1, f(1, t, y))) all.push_back(a);
    return all;
  }

  std::vector<Move> moves_;
  Options o_;
};

std::shared_ptr<const Method> composed(std::string name, int order,
                                       const std::vector<double>& lengths) {
  return std::make_shared<SymplecticMethod>(std::move(name), order, verlet(lengths),
                                            SymplecticMethod::Options{.reuses = true});
}

}  // namespace
}  // namespace detail

using detail::composed;
using detail::there_and_back;

SemiImplicitEuler::SemiImplicitEuler()
    : Symplectic(std::make_shared<detail::SymplecticMethod>(
          "SemiImplicitEuler", 1, std::vector<detail::Move>{{0, 1, 0}, {1, 1, 0}},
          detail::SymplecticMethod::Options{.reuses = false})) {}
VelocityVerlet::VelocityVerlet() : Symplectic(composed("VelocityVerlet", 2, {1})) {}
Yoshida4::Yoshida4()
    : Symplectic([] {
        const double root = std::cbrt(2.0), outer = 1 / (2 - root);
        return composed("Yoshida4", 4, {outer, -root * outer, outer});
      }()) {}
Yoshida6::Yoshida6()
    : Symplectic(composed("Yoshida6", 6,
                          there_and_back({0.78451361047755726382, 0.23557321335935813368,
                                          -1.17767998417887100695, 1.31518632068391121889}))) {}
Yoshida8::Yoshida8()
    : Symplectic(composed(
          "Yoshida8", 8,
          there_and_back({0.74167036435061295344822780, -0.40910082580003159399730010,
                          0.19075471029623837995387626, -0.57386247111608226665638773,
                          0.29906418130365592384446354, 0.33462491824529818378495798,
                          0.31529309239676659663205666, -0.79688793935291635401978884}))) {}

}  // namespace gnomon::ode
