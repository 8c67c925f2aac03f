// engine/include/gnomon/optim/schedules.h -- hyperparameters as functions of the step: learning
// rate schedules.
#pragma once
#include <limits>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/handler.h"

#pragma GCC visibility push(default)
namespace gnomon::optim {

/// A value for each step, counted from 0. A C++ number and an array f[] are constant schedules; the
/// array may be traced, so a learning rate can be an argument of the compiled step:
///   jit(rt, [](Model p, State s, Model g, Array rate) { return optim::adam(rate).update(...); })
/// Source of names and formulas: DeepMind, "optax", release 0.2.
class Schedule {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Schedule(T value)  // NOLINT: implicit on purpose
      : Schedule(static_cast<double>(value), true) {}
  Schedule(const Array& value);  // NOLINT: likewise
  /// Array(const Array& count): step i32[] -> f[].
  template <class F>
  requires std::is_invocable_r_v<Array, const F&, const Array&> Schedule(F f)  // NOLINT: likewise
      : at_([f = std::move(f)](const Array& count, DType) { return f(count); }) {}
  /// Array(const Array& count, DType): step i32[] -> f[], computed in that dtype, f32 or f64.
  template <class F>
  requires std::is_invocable_r_v<Array, const F&, const Array&, DType> Schedule(F f)  // NOLINT
      : at_(std::move(f)) {}

  /// The number at a step i32[], as an f[] of `dtype`; for f16 and bf16 it is computed in f32.
  Array operator()(const Array& count, DType dtype = DType::f32) const;
  /// Whether it is independent of the step, so that no step count is needed.
  bool constant() const { return constant_; }

 private:
  Schedule(double value, bool constant);
  Handler<Array(const Array&, DType)> at_;
  bool constant_ = false;
};

/// (init - end) (1 - x)^power + end with x = (count - begin) / steps clipped to [0, 1].
///
/// Throws UsageError, as all schedules of `steps` do, unless steps >= 1.
Schedule polynomial(double init, double end, double power, Dim steps, Dim begin = 0);
/// polynomial with power 1.
Schedule linear(double init, double end, Dim steps, Dim begin = 0);

struct ExponentialOptions {
  Dim begin = 0;           // no decay before this step
  bool staircase = false;  // round the exponent down: decay at discrete intervals
  // Bound of the decay: below for rates < 1, else above; NaN: none.
  double end_value = std::numeric_limits<double>::quiet_NaN();
};
/// init rate^((count - begin) / steps). Throws UsageError unless steps >= 1 and rate > 0.
Schedule exponential_decay(double init, Dim steps, double rate, ExponentialOptions = {});

/// init ((1 - alpha) c^exponent + alpha) with c = (1 + cos(pi count / steps)) / 2: from init to
/// alpha init.
/// Source: I. Loshchilov, F. Hutter, "SGDR", ICLR 2017.
Schedule cosine_decay(double init, Dim steps, double alpha = 0, double exponent = 1);

/// Linear warm-up from init to peak in `warmup` steps, then cosine decay to `end` at step `steps`.
/// Throws UsageError unless 0 <= warmup < steps.
Schedule warmup_cosine_decay(double init, double peak, Dim warmup, Dim steps, double end = 0,
                             double exponent = 1);

struct OneCycleOptions {
  double peak_at = 0.3;    // fraction of all steps that the rise takes
  double div = 25;         // initial value: peak / div
  double final_div = 1e4;  // final value: peak / (div final_div)
};
/// One cycle: cosine interpolation from peak / div to peak, then to peak / (div final_div).
/// Throws UsageError unless rise and fall have one step each at least.
/// Source: L. Smith, N. Topin, "Super-Convergence", arXiv:1708.07120.
Schedule cosine_one_cycle(Dim steps, double peak, OneCycleOptions = {});

/// init, multiplied by `scales[i]` from step `boundaries[i]` on. Throws UsageError unless there are
/// as many of one as of the other.
Schedule piecewise_constant(double init, const std::vector<Dim>& boundaries,
                            const std::vector<double>& scales);

/// schedules[i] from step boundaries[i - 1] on, counting from that step. Throws UsageError unless
/// there is one boundary fewer than schedules, in ascending order.
Schedule join(std::vector<Schedule> schedules, const std::vector<Dim>& boundaries);

}  // namespace gnomon::optim
#pragma GCC visibility pop
