// engine/library/ode/sde.h -- methods for equations with driven parts, as the other ones make them.
#pragma once
#include <memory>
#include <utility>

#include "engine/library/ode/method.h"

namespace gnomon::ode::detail {

/// A Runge-Kutta method whose slopes go along paths.
std::shared_ptr<const Method> driven_runge_kutta(const Tableau&, const Request&);

/// y + weight x.
Arrays plus_weighted(Arrays y, double weight, const Arrays& x);

/// What methods for driven parts share: paths are looked up at the ends of steps, once each. The
/// state that a method carries begins with what the paths remember of that time.
class DrivenMethod : public Method {
 public:
  DrivenMethod(std::string name, int order, double error_order, Calculus calculus, bool needs_area)
      : Method(std::move(name), order, error_order), calculus_(calculus), needs_area_(needs_area) {}

  bool is_driven() const override { return true; }
  int evaluations_to_begin() const override { return 0; }
  void check_terms(const Request&) const override;
  Arrays begin(const Fields&, const Array& t, const Arrays& y) const override;
  Polynomial interpolant(const Span&, const Arrays& y, const Stepped&) const override;

 protected:
  /// What the paths do in a step, part by part, and what they remember of its end.
  static std::pair<std::vector<Noise>, Arrays> noise_of(const Fields&, const Span&,
                                                        const Arrays& start);
  /// The sum of the parts that time drives; nothing where there are none.
  static Arrays drift(const Fields&, const Array& t, const Arrays& y);

 private:
  Calculus calculus_;
  bool needs_area_;
};

}  // namespace gnomon::ode::detail
