// engine/library/ode/newton.h -- the equations of implicit steps: tolerances, Jacobians and the
// iteration of one stage.
#pragma once
#include "engine/library/ode/method.h"
#include "engine/library/roots/linear_system.h"
#include "gnomon/custom.h"
#include "gnomon/ode/implicit.h"

namespace gnomon::ode::detail {

/// How exactly equations are solved, as a request and the options of a method have it.
struct NewtonSetup {
  Operand rtol, atol;
  Norm norm;
  double kappa;
  int max_iterations;
};
/// Throws UsageError where nobody says how exactly.
NewtonSetup newton_setup(const Request&, const std::string& method, const NewtonOptions&);

/// One term of the field at a step, as a function that nobody differentiates: what searches look
/// at.
class Frozen {
 public:
  Frozen(const Fields&, std::size_t part, const Array& t, const Arrays& y);

  Arrays operator()(const Array& t, const Arrays& y) const { return f_(fixed_, t, y); }
  const Arrays& y() const { return y_; }
  const roots::detail::Layout& layout() const { return layout_; }
  /// df/dy at the step's start.
  Arrays jacobian() const;

 private:
  Converted<Arrays> f_;
  Arrays fixed_, y_;
  Array t_;
  roots::detail::Layout layout_;
};

/// The equations of the stages of one step, slope = f(t, base + h diagonal slope), and what they
/// have in common.
class Newton {
 public:
  Newton(const NewtonSetup&, const Fields&, std::size_t part, const Span&, const Arrays& y);

  /// The slope that solves the equation of base = y + h diagonal `moved` where the field is as at
  /// the start, linear with the Jacobian there and `slope`. Costs no evaluation.
  Arrays guess(const Arrays& slope, const Arrays& moved, double diagonal);
  /// The slope that solves the equation; `guess` to begin with. Differentiable by the equation.
  Arrays solve(const Array& t, const Arrays& base, double diagonal, const Arrays& guess);

  const Array& failed() const { return *failed_; }
  /// i32[]: of the field, Jacobians included.
  Array evaluations() const;

 private:
  void factor(double diagonal);

  const NewtonSetup& setup_;
  const Fields& fields_;
  std::size_t part_;
  const Span& span_;
  Frozen frozen_;
  Arrays jacobian_, scale_;  // scale: 1 / (atol + rtol |y|)
  Array h_;                  // without derivative
  double factored_ = 0;      // the diagonal of the factors
  roots::detail::Factors factors_;
  std::optional<Array> rate_, failed_, iterations_;
  int jacobians_ = 1;
};

}  // namespace gnomon::ode::detail
