// engine/library/ode/control.h -- where steps end: the controllers, without their public types.
#pragma once
#include <memory>
#include <optional>

#include "engine/library/ode/method.h"

namespace gnomon::ode::detail {

/// What a controller knows before the first step. Times grow.
struct Setup {
  const Request& request;
  const Method& method;
  const Fields& fields;
  const Arrays& y0;
  const Arrays& begun;         // what the method begins with
  Array t0, t1;                // of the dtype of time
  std::optional<Array> dt0;    // absent: automatic
  std::optional<double> span;  // t1 - t0 and dt0, where they are C++ numbers
  std::optional<double> first;
  const SolverState* resumed = nullptr;  // of the solve that this one goes on with
};

/// A step that was taken.
struct Taken {
  Array t0, t1, h;
  const Arrays& y0;
  const Stepped& step;
};

struct Decision {
  std::optional<Array> keep;  // bool[]; absent: always
  Array t;                    // where the next step begins
  Array next;                 // and where it would end
  Arrays state;
  std::optional<Array> failed = {};  // bool[]: the solve ends with Result::dt_min_reached
  std::optional<Array> jumped = {};  // bool[]: the field may be another one at t
  std::optional<Array> full = {};    // bool[]: the solve ends with Result::too_many_rejected
};

class StepControl {
 public:
  virtual ~StepControl() = default;
  virtual bool can_reject() const { return false; }
  virtual bool can_fail() const { return false; }
  virtual bool can_jump() const { return false; }
  /// Whether no step goes beyond t1.
  virtual bool ends_at_t1() const { return false; }
  /// Steps at most, where that is known.
  virtual std::optional<Dim> steps() const { return {}; }
  struct Start {
    Array next;
    Arrays state;
  };
  virtual Start start() const = 0;
  /// The number of the next step, where the steps do not depend on what they lead to.
  virtual std::optional<Array> index(const Arrays&) const { return {}; }
  virtual Decision decide(const Taken&, const Arrays& state) const = 0;
  /// What of a state means something to a solve of other times.
  virtual Arrays lasting(const Arrays&) const { return {}; }
};

/// Equal steps that are known when tracing.
struct EqualSteps {
  double t0, t1, first;  // in the direction of integration
  Dim count;
  DType dtype;
  /// Where step number `n`, i32[], ends. Its operations are those of the controller.
  Array end(const Array& n) const;
};
/// Those of ConstantStepSize between times that are numbers.
std::optional<EqualSteps> equal_steps(const Request&, DType time);

/// The controller of a request. Throws UsageError when it does not go with the method or the times.
std::unique_ptr<StepControl> make_control(const Setup&);

/// Times as an array of rank 1 in `dtype`, with all their digits.
Array array_of(const Times&, DType dtype);

}  // namespace gnomon::ode::detail
