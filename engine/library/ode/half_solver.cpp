// engine/library/ode/half_solver.cpp -- a method as two halves of each step beside the whole.
#include "gnomon/ode/half_solver.h"

#include "engine/library/ode/method.h"
#include "engine/library/roots/linear_system.h"
#include "gnomon/ops.h"

namespace gnomon::ode {
namespace detail {
namespace {

using roots::detail::minus;
using roots::detail::plus;

class HalfMethod final : public Method {
 public:
  explicit HalfMethod(std::shared_ptr<const Method> inner)
      : Method("HalfSolver(" + inner->name() + ")", inner->order(),
               inner->is_driven() ? 1 : inner->order() + 1),
        inner_(std::move(inner)) {}

  std::size_t fields() const override { return inner_->fields(); }
  bool can_fail() const override { return inner_->can_fail(); }
  int evaluations_to_begin() const override { return inner_->evaluations_to_begin(); }
  int evaluations_per_step() const override { return 3 * inner_->evaluations_per_step(); }
  bool counts_evaluations() const override { return inner_->counts_evaluations(); }
  bool is_driven() const override { return inner_->is_driven(); }

  std::shared_ptr<const Method> prepared(const Request& r) const override {
    if (inner_->looks_back())
      usage_error("diffeqsolve",
                  name() + ": " + inner_->name() +
                      " looks back at earlier steps, which are not those of the halves, and has an "
                      "estimate of its own; take it as it is",
                  r.loc);
    return around(inner_->prepared(r));
  }
  std::shared_ptr<const Method> with_interpolant() const override {
    return around(inner_->with_interpolant());
  }
  std::shared_ptr<const Method> without_slopes() const override {
    return around(inner_->without_slopes());
  }
  std::shared_ptr<const Method> driven(const Request& r) const override {
    return around(inner_->driven(r));
  }
  void check_terms(const Request& r) const override { inner_->check_terms(r); }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    return inner_->begin(f, t, y);
  }
  Arrays first_slope(const Fields& f, const Array& t, const Arrays& y,
                     const Arrays& begun) const override {
    return inner_->first_slope(f, t, y, begun);
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    const Stepped whole = inner_->step(f, span, y, state);
    const Array half = 0.5 * span.h, middle = span.t0 + half;
    const Stepped first = inner_->step(f, {span.t0, middle, half}, y, state);
    const Stepped second = inner_->step(f, {middle, span.t1, half}, first.y1, first.state);

    Stepped result;
    result.error = minus(second.y1, whole.y1);
    result.y1 = second.y1;
    result.state = second.state;
    for (const Stepped* s : {&whole, &first, &second}) {
      if (s->failed) result.failed = result.failed ? *result.failed || *s->failed : *s->failed;
      if (s->evaluations)
        result.evaluations =
            result.evaluations ? *result.evaluations + *s->evaluations : *s->evaluations;
    }
    // What the interpolant is made of.
    result.slopes = whole.slopes;
    result.slopes.push_back(whole.y1);
    return result;
  }

  Polynomial interpolant(const Span& span, const Arrays& y, const Stepped& s) const override {
    Stepped whole;
    whole.y1 = s.slopes.back();
    whole.slopes.assign(s.slopes.begin(), s.slopes.end() - 1);
    Polynomial powers = inner_->interpolant(span, y, whole);
    powers[0] = plus(powers[0], minus(s.y1, whole.y1));
    return powers;
  }

 private:
  static std::shared_ptr<const Method> around(std::shared_ptr<const Method> inner) {
    return inner ? std::make_shared<HalfMethod>(std::move(inner)) : nullptr;
  }

  std::shared_ptr<const Method> inner_;
};

}  // namespace
}  // namespace detail

HalfSolver::HalfSolver(const Solver& solver)
    : Solver([&] {
        const auto kept = std::make_shared<const Solver>(solver);
        return std::make_shared<detail::HalfMethod>(
            std::shared_ptr<const detail::Method>(kept, &kept->method()));
      }()) {}

}  // namespace gnomon::ode
