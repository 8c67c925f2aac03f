// engine/library/optim/schedules.cpp -- hyperparameters as functions of the step.
#include "gnomon/optim/schedules.h"

#include <cmath>
#include <numbers>
#include <string>

#include "engine/library/optim/rules.h"
#include "gnomon/error.h"

namespace gnomon::optim {
namespace {

void check_steps(const char* op, Dim steps) {
  if (steps < 1)
    usage_error(op, "a schedule of " + std::to_string(steps) + " steps; give 1 or more", {});
}

/// (count - begin) / steps clipped to [0, 1].
Array fraction(const Array& count, Dim begin, Dim steps, DType dtype) {
  return clip(cast(count - begin, dtype) / double(steps), 0, 1);
}

/// Cosine interpolation: `from` at x = 0, `to` at x = 1.
Array along_cosine(double from, double to, const Array& x) {
  return from + (to - from) * 0.5 * (1 - cos(std::numbers::pi * x));
}

}  // namespace

Schedule::Schedule(double value, bool constant)
    : at_([value](const Array&, DType dtype) { return full({}, value, dtype); }),
      constant_(constant) {}

Schedule::Schedule(const Array& value)
    : at_([value](const Array&, DType) { return value; }), constant_(true) {
  if (value.rank() != 0)
    usage_error("optim::Schedule",
                "a rate is one number, not " + to_string(value.aval()) +
                    "; rates by parameter go into by_group",
                {});
}

Array Schedule::operator()(const Array& count, DType dtype) const {
  return cast(at_(count, detail::computed_in(dtype)), dtype);
}

Schedule polynomial(double init, double end, double power, Dim steps, Dim begin) {
  check_steps("optim::polynomial", steps);
  return [=](const Array& count, DType dtype) {
    const Array left = 1 - fraction(count, begin, steps, dtype);
    return end + (init - end) * (power == 1 ? left : pow(left, power));
  };
}

Schedule linear(double init, double end, Dim steps, Dim begin) {
  return polynomial(init, end, 1, steps, begin);
}

Schedule exponential_decay(double init, Dim steps, double rate, ExponentialOptions o) {
  check_steps("optim::exponential_decay", steps);
  if (!(rate > 0))
    usage_error("optim::exponential_decay",
                "a decay rate of " + std::to_string(rate) + "; give one above 0", {});
  return [=](const Array& count, DType dtype) {
    Array x = cast(maximum(count - o.begin, 0), dtype) / double(steps);
    if (o.staircase) x = floor(x);
    const Array value = init * pow(full({}, rate, dtype), x);
    if (std::isnan(o.end_value)) return value;
    return rate < 1 ? maximum(value, o.end_value) : minimum(value, o.end_value);
  };
}

Schedule cosine_decay(double init, Dim steps, double alpha, double exponent) {
  check_steps("optim::cosine_decay", steps);
  return [=](const Array& count, DType dtype) {
    const Array half = 0.5 * (1 + cos(std::numbers::pi * fraction(count, 0, steps, dtype)));
    return init * ((1 - alpha) * (exponent == 1 ? half : pow(half, exponent)) + alpha);
  };
}

Schedule warmup_cosine_decay(double init, double peak, Dim warmup, Dim steps, double end,
                             double exponent) {
  if (warmup < 0 || warmup >= steps)
    usage_error("optim::warmup_cosine_decay",
                "a warm-up of " + std::to_string(warmup) + " of " + std::to_string(steps) +
                    " steps leaves none to decay in; give fewer",
                {});
  Schedule decay = cosine_decay(peak, steps - warmup, peak == 0 ? 0 : end / peak, exponent);
  if (warmup == 0) return decay;
  return join({linear(init, peak, warmup), std::move(decay)}, {warmup});
}

Schedule cosine_one_cycle(Dim steps, double peak, OneCycleOptions o) {
  const double turn = std::floor(o.peak_at * double(steps));
  if (turn < 1 || turn >= double(steps))
    usage_error("optim::cosine_one_cycle",
                "of " + std::to_string(steps) + " steps the peak is at " +
                    std::to_string(int(turn)) + "; there must be one or more on either side",
                {});
  return [=](const Array& count, DType dtype) {
    const Array at = cast(count, dtype);
    const Array up = along_cosine(peak / o.div, peak, clip(at / turn, 0, 1));
    const Array down = along_cosine(peak, peak / (o.div * o.final_div),
                                    clip((at - turn) / (double(steps) - turn), 0, 1));
    return where(at < turn, up, down);
  };
}

Schedule piecewise_constant(double init, const std::vector<Dim>& boundaries,
                            const std::vector<double>& scales) {
  if (boundaries.size() != scales.size())
    usage_error("optim::piecewise_constant",
                std::to_string(boundaries.size()) + " boundaries, but " +
                    std::to_string(scales.size()) + " scales",
                {});
  return [=](const Array& count, DType dtype) {
    Array value = full({}, init, dtype);
    for (std::size_t i = 0; i < scales.size(); ++i)
      value = value * where(count >= boundaries[i], full({}, scales[i], dtype), 1);
    return value;
  };
}

Schedule join(std::vector<Schedule> schedules, const std::vector<Dim>& boundaries) {
  bool rises = schedules.size() == boundaries.size() + 1;
  for (std::size_t i = 1; i < boundaries.size(); ++i)
    rises = rises && boundaries[i] > boundaries[i - 1];
  if (!rises)
    usage_error("optim::join",
                std::to_string(schedules.size()) +
                    " schedules need one boundary fewer, in ascending order; there are " +
                    std::to_string(boundaries.size()),
                {});
  return [=](const Array& count, DType dtype) {
    Array value = schedules[0](count, dtype);
    for (std::size_t i = 0; i < boundaries.size(); ++i)
      value = where(count < boundaries[i], value, schedules[i + 1](count - boundaries[i], dtype));
    return value;
  };
}

}  // namespace gnomon::optim
