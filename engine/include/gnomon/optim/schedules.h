// engine/include/gnomon/optim/schedules.h -- numbers that change with the step: learning rates.
#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include "gnomon/array.h"

namespace gnomon::optim {

/// A number for each step, counted from 0. A C++ number and a traced array f[] are schedules that
/// do not change. Formulas below are optax's; Source: DeepMind, "optax", release 0.2.
class Schedule {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Schedule(T value)  // NOLINT: implicit on purpose
      : Schedule(static_cast<double>(value), true) {}
  Schedule(const Array& value);  // NOLINT: likewise
  /// Array(const Array& count): of i32[], the step, to f[].
  template <class F>
  requires std::is_invocable_r_v<Array, const F&, const Array&> Schedule(F f)  // NOLINT: likewise
      : at_([f = std::move(f)](const Array& count, DType) { return f(count); }) {}
  /// Array(const Array& count, DType): computed in that dtype.
  template <class F>
  requires std::is_invocable_r_v<Array, const F&, const Array&, DType> Schedule(F f)  // NOLINT
      : at_(std::move(f)) {}

  /// The number at a step i32[], as an f[] of `dtype`.
  Array operator()(const Array& count, DType dtype = DType::f32) const;
  /// Whether it is the same at each step, so that nobody has to count.
  bool constant() const { return constant_; }

 private:
  Schedule(double value, bool constant);
  std::function<Array(const Array&, DType)> at_;
  bool constant_ = false;
};

/// init (1 - t)^power + end t^power ... with t = (count - begin) / steps between 0 and 1; linear by
/// default.
Schedule polynomial(double init, double end, double power, Dim steps, Dim begin = 0);
Schedule linear(double init, double end, Dim steps, Dim begin = 0);

struct ExponentialOptions {
  Dim begin = 0;           // no decay before this step
  bool staircase = false;  // falls every `steps` steps, and not between
  double end_value = NAN;  // where it stops; NAN: nowhere
};
/// init rate^((count - begin) / steps).
Schedule exponential_decay(double init, Dim steps, double rate, ExponentialOptions = {});

/// From init to alpha init along half a cosine, to the power `exponent`.
/// Source: I. Loshchilov, F. Hutter, "SGDR", ICLR 2017.
Schedule cosine_decay(double init, Dim steps, double alpha = 0, double exponent = 1);

/// From init to peak in `warmup` steps, then by a cosine to `end` at step `steps`.
Schedule warmup_cosine_decay(double init, double peak, Dim warmup, Dim steps, double end = 0,
                             double exponent = 1);

struct OneCycleOptions {
  double peak_at = 0.3;  // of all steps
  double div = 25, final_div = 1e4;
};
/// From peak / div to peak and down to peak / final_div, each along half a cosine.
/// Source: L. Smith, N. Topin, "Super-Convergence", arXiv:1708.07120.
Schedule cosine_one_cycle(Dim steps, double peak, OneCycleOptions = {});

/// init, multiplied by `scales[i]` from step `boundaries[i]` on.
Schedule piecewise_constant(double init, const std::vector<Dim>& boundaries,
                            const std::vector<double>& scales);

/// schedules[i] from step boundaries[i - 1] on, each counting from where it begins. Throws
/// UsageError unless there is one boundary less than schedules, each above the one before.
Schedule join(std::vector<Schedule> schedules, const std::vector<Dim>& boundaries);

}  // namespace gnomon::optim
