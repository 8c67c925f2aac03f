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
  bool retries;  // the controller takes a step again whose equation was not solved
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

/// The equations slope = f(t, base + length slope) of one step, and what they have in common: the
/// Jacobian, and factors for each length.
class Newton {
 public:
  /// `t`, `y`: where the Jacobian is taken, and the size of the state.
  Newton(const NewtonSetup&, const Fields&, std::size_t part, const Array& t, const Arrays& y);

  /// Factors are made for it; `key` tells one length from another.
  void begin(const Array& length, double key);
  /// The slope that solves the equation of base = y + length `moved` where the field is as at the
  /// start, linear with the Jacobian there and `slope`. Costs no evaluation.
  Arrays guess(const Arrays& slope, const Arrays& moved) const;
  /// The slope that solves the equation; `guess` to begin with. Differentiable by the equation.
  Arrays solve(const Array& t, const Arrays& base, const Arrays& guess);

  /// What became of the equations so far.
  struct Progress {
    Array rate;        // what iterations shrink by, as far as is known
    Array failed;      // bool[]
    Array iterations;  // i32[]
  };
  const Progress& progress() const { return progress_; }
  void go_on_from(const Progress& p) { progress_ = p; }
  /// i32[]: of the field, Jacobians included.
  Array evaluations() const;

  const roots::detail::Layout& layout() const { return frozen_.layout(); }

 private:
  const NewtonSetup& setup_;
  const Fields& fields_;
  std::size_t part_;
  Frozen frozen_;
  Arrays jacobian_, scale_;  // scale: 1 / (atol + rtol |y|)
  Array small_;              // what is rounding, scaled
  Array length_;
  double key_ = 0;
  roots::detail::Factors factors_;
  Progress progress_;
};

}  // namespace gnomon::ode::detail
