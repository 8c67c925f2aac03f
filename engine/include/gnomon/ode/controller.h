// engine/include/gnomon/ode/controller.h -- how long the steps of a solve are.
#pragma once
#include <optional>
#include <variant>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/handler.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Times that a program knows when it is written, or an array of them, in the order of integration.
class Times {
 public:
  Times() = default;
  Times(std::vector<double> values) : values_(std::move(values)) {}  // NOLINT: implicit on purpose
  Times(std::initializer_list<double> values) : values_(values) {}
  Times(const Array& array) : array_(array) {}  // NOLINT: likewise

  bool empty() const { return !array_ && values_.empty(); }
  const std::optional<Array>& array() const { return array_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::optional<Array> array_;
  std::vector<double> values_;
};

/// A tolerance, which has to be said.
class Tolerance {
 public:
  template <class T = void>
  Tolerance() {
    static_assert(always_false<T>,
                  "gnomon::ode: a controller needs both tolerances; write {.rtol = 1e-5, .atol = "
                  "1e-7}");
  }
  Tolerance(Operand value) : value_(value) {}       // NOLINT: implicit on purpose
  Tolerance(const Array& value) : value_(value) {}  // NOLINT: likewise
  template <class T>
  requires std::is_arithmetic_v<T> Tolerance(T value) : value_(value) {}  // NOLINT: likewise
  const Operand& value() const { return value_; }

 private:
  Operand value_ = 0;
};

/// Equal steps of about dt0: as many as are needed, all but the first equal, the last one ending at
/// t1. (The first is dt0 as given; where t1 is infinite all are.)
struct ConstantStepSize {};

/// Steps from each of these times to the next one. The first is t0 and the last t1; dt0 is `none`.
struct StepTo {
  Times ts;
};

/// The size of a tree of numbers (given as its arrays) as one number; all in one dtype.
using Norm = Handler<Array(const std::vector<Array>&)>;
/// sqrt(mean x^2) over all elements of all arrays: what PidController uses.
Array rms_norm(const std::vector<Array>&);
/// The largest |x|.
Array max_norm(const std::vector<Array>&);

/// Steps that keep the estimated error of each of them near the tolerances:
///   e = norm(error / (atol + rtol max(|y0|, |y1|))), the step is kept where e < 1,
///   h' = h safety e_n^-(p + i + d)/k e_(n-1)^(p + 2 d)/k e_(n-2)^-(d/k), k the order of the error,
/// changed by a factor in [factormin, safety] behind a rejected step and [1, factormax] behind one
/// that was kept. An error that is not finite rejects the step.
///
/// With pcoeff = dcoeff = 0 (the default) this is the usual controller; (0.4, 0.3, 0) is smoother
/// where stability limits the steps. Derivatives take step sizes for constants.
/// Source: G. Soederlind, Digital filters in adaptive time-stepping, ACM Trans. Math. Softw. 29
/// (2003).
struct PidController {
  Tolerance rtol, atol;
  double pcoeff = 0, icoeff = 1, dcoeff = 0;
  std::optional<double> dtmin = {}, dtmax = {};
  bool force_dtmin = true;  // a step of dtmin is kept whatever its error; else the solve ends there
  double factormin = 0.2, factormax = 10, safety = 0.9;
  Norm norm = {};
  int error_order = 0;  // 0: the solver's
};

/// A PidController whose steps end at each of `step_ts`; and in front of each of `jump_ts`,
/// where the field jumps, and begin again behind it. Both ascend in the direction of integration.
///
/// rejected_ends: how many ends of rejected steps are remembered until a step has ended there; a
/// solve that has more of them at once ends with Result::too_many_rejected. Steps of a stochastic
/// equation that look at a path and shorten their step for what they saw would prefer calm paths
/// otherwise: what was seen has to be seen again. O(rejected_ends) per step.
/// Source of that: J. Foster, A. Jelincic, On the convergence of adaptive approximations for
/// stochastic differential equations, 2023.
struct ClipStepSize {
  PidController controller;
  Times step_ts = {}, jump_ts = {};
  Dim rejected_ends = 0;
};

using Controller = std::variant<ConstantStepSize, StepTo, PidController, ClipStepSize>;

}  // namespace gnomon::ode
#pragma GCC visibility pop
