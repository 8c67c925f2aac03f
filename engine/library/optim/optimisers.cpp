// engine/library/optim/optimisers.cpp -- transformations by formula, and the optimisers made of
// them.
#include "gnomon/optim/optimisers.h"

#include <cmath>

#include "engine/library/optim/rules.h"
#include "gnomon/tree_ops.h"

namespace gnomon::optim {
namespace {

using detail::is_learned;

/// 1 / (1 - b^t), the factor of bias correction: a number for whole arrays, whose elements would
/// each be divided otherwise.
Array bias_correction(double b, const Array& count) {
  return 1 / (1 - pow(full({}, b, count.dtype()), count));
}

/// Updates times a factor or minus a rate; has a count only where the schedule is not constant.
class Scaled : public Rule {
 public:
  Scaled(Schedule factor, bool negative) : factor_(std::move(factor)), negative_(negative) {}
  Memory init(const Slots&, const std::vector<std::string>&) const override {
    if (factor_.constant()) return {};
    return {{zeros({}, DType::i32)}, {}};
  }
  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    const Array count = factor_.constant() ? zeros({}, DType::i32) : memory.arrays.at(0);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      if (updates[i].is_hole() || !is_learned(step.params[i])) continue;
      const DType kept = step.params[i].dtype(), wide = detail::computed_in(kept);
      const Array by = factor_(count, wide);
      updates[i] = cast((negative_ ? -by : by) * cast(cast(updates[i], kept), wide), kept);
    }
    if (!factor_.constant()) memory.arrays[0] = count + 1;
    return updates;
  }

 private:
  Schedule factor_;
  bool negative_;
};

class DecayedWeights : public Rule {
 public:
  DecayedWeights(Schedule weight, Mask mask) : weight_(std::move(weight)), mask_(std::move(mask)) {}
  Memory init(const Slots&, const std::vector<std::string>&) const override {
    if (weight_.constant()) return {};
    return {{zeros({}, DType::i32)}, {}};
  }
  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    const Array count = weight_.constant() ? zeros({}, DType::i32) : memory.arrays.at(0);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const Array& p = step.params[i];
      if (updates[i].is_hole() || !is_learned(p) || (mask_ && !mask_(p, step.paths[i]))) continue;
      const DType kept = p.dtype(), wide = detail::computed_in(kept);
      const Array given = cast(cast(updates[i], kept), wide);
      updates[i] = cast(given + weight_(count, wide) * cast(p, wide), kept);
    }
    if (!weight_.constant()) memory.arrays[0] = count + 1;
    return updates;
  }

 private:
  Schedule weight_;
  Mask mask_;
};

class ClipByGlobalNorm : public Rule {
 public:
  explicit ClipByGlobalNorm(double limit) : limit_(limit) {}
  Memory init(const Slots&, const std::vector<std::string>&) const override { return {}; }
  Slots update(Slots updates, Memory&, const Step&) const override {
    const Array norm = tree::norm(updates);
    const Array factor = where(norm < limit_, 1, limit_ / norm);
    for (Array& u : updates)
      if (!u.is_hole()) u = u * cast(factor, u.dtype());
    return updates;
  }

 private:
  double limit_;
};

/// First and second moment with bias correction.
struct Moments {
  Array mean, square;
};
Moments moments(Pointwise& at, double b1, double b2) {
  const Array& g = at.update;
  at.memory[0] = b1 * at.memory[0] + (1 - b1) * g;
  at.memory[1] = b2 * at.memory[1] + (1 - b2) * square(g);
  return {at.memory[0] * bias_correction(b1, at.count),
          at.memory[1] * bias_correction(b2, at.count)};
}

Optimiser with_rate(Optimiser first, Schedule rate) {
  return chain({std::move(first), scale_by_learning_rate(std::move(rate))});
}

}  // namespace

Optimiser scale_by_learning_rate(Schedule rate) {
  return Optimiser(std::make_shared<const Scaled>(std::move(rate), true));
}

Optimiser scale(Schedule factor) {
  return Optimiser(std::make_shared<const Scaled>(std::move(factor), false));
}

Optimiser momentum(double decay, bool nesterov) {
  return pointwise(
      [=](Pointwise at) {
        at.memory[0] = at.update + decay * at.memory[0];
        return nesterov ? at.update + decay * at.memory[0] : at.memory[0];
      },
      {.memory = {0}});
}

Optimiser clip(double limit) {
  return pointwise([=](Pointwise at) { return gnomon::clip(at.update, -limit, limit); });
}

Optimiser clip_by_global_norm(double limit) {
  return Optimiser(std::make_shared<const ClipByGlobalNorm>(limit));
}

Optimiser add_decayed_weights(Schedule weight, Mask mask) {
  return Optimiser(std::make_shared<const DecayedWeights>(std::move(weight), std::move(mask)));
}

Optimiser scale_by_trust_ratio() {
  return pointwise([](Pointwise at) {
    const Array p = sum(square(at.param)), u = sum(square(at.update));
    const Array none = p == 0 || u == 0;
    // The root of a quotient that is not 0 or infinite either way, for the sake of derivatives.
    return at.update * sqrt(where(none, 1, p) / where(none, 1, u));
  });
}

Optimiser scale_by_adam(AdamOptions o) {
  return pointwise(
      [=](Pointwise at) {
        auto [mean, square] = moments(at, o.b1, o.b2);
        if (o.nesterov)
          mean = o.b1 * at.memory[0] * bias_correction(o.b1, at.count + 1) +
                 (1 - o.b1) * at.update * bias_correction(o.b1, at.count);
        return mean / (sqrt(square + o.eps_root) + o.eps);
      },
      {.memory = {0, 0}, .counts = true});
}

Optimiser sgd(Schedule rate, SgdOptions o) {
  if (!o.momentum) return scale_by_learning_rate(std::move(rate));
  return with_rate(momentum(*o.momentum, o.nesterov), std::move(rate));
}

Optimiser adam(Schedule rate, AdamOptions o) {
  return with_rate(scale_by_adam(o), std::move(rate));
}

Optimiser nadam(Schedule rate, AdamOptions o) {
  o.nesterov = true;
  return adam(std::move(rate), o);
}

Optimiser adamax(Schedule rate, AdamOptions o) {
  return with_rate(pointwise(
                       [=](Pointwise at) {
                         at.memory[0] = o.b1 * at.memory[0] + (1 - o.b1) * at.update;
                         at.memory[1] = maximum(abs(at.update) + o.eps, o.b2 * at.memory[1]);
                         return at.memory[0] * bias_correction(o.b1, at.count) / at.memory[1];
                       },
                       {.memory = {0, 0}, .counts = true}),
                   std::move(rate));
}

Optimiser adamw(Schedule rate, AdamwOptions o) {
  return chain({scale_by_adam({o.b1, o.b2, o.eps, o.eps_root, o.nesterov}),
                add_decayed_weights(o.weight_decay, o.mask),
                scale_by_learning_rate(std::move(rate))});
}

Optimiser radam(Schedule rate, RadamOptions o) {
  return with_rate(
      pointwise(
          [=](Pointwise at) {
            const auto [mean, square] = moments(at, o.b1, o.b2);
            const double limit = 2 / (1 - o.b2) - 1;
            const Array power = pow(full({}, o.b2, at.count.dtype()), at.count);
            const Array length = limit - 2 * at.count * power / (1 - power);
            const Array known = length >= o.threshold;
            // Up to 4 the variance is not tractable, and the root would be of a negative number.
            const Array safe = where(known, length, o.threshold);
            const Array factor =
                sqrt((safe - 4) * (safe - 2) * limit / ((limit - 4) * (limit - 2) * safe));
            return where(known, factor * mean / (sqrt(square + o.eps_root) + o.eps), mean);
          },
          {.memory = {0, 0}, .counts = true}),
      std::move(rate));
}

Optimiser adagrad(Schedule rate, AdagradOptions o) {
  return with_rate(pointwise(
                       [=](Pointwise at) {
                         at.memory[0] = at.memory[0] + square(at.update);
                         const Array& all = at.memory[0];
                         return where(all > 0, rsqrt(where(all > 0, all, 1) + o.eps), 0) *
                                at.update;
                       },
                       {.memory = {o.initial}}),
                   std::move(rate));
}

Optimiser adadelta(Schedule rate, AdadeltaOptions o) {
  return chain({add_decayed_weights(o.weight_decay),
                pointwise(
                    [=](Pointwise at) {
                      at.memory[0] = o.rho * at.memory[0] + (1 - o.rho) * square(at.update);
                      const Array move =
                          sqrt(at.memory[1] + o.eps) / sqrt(at.memory[0] + o.eps) * at.update;
                      at.memory[1] = o.rho * at.memory[1] + (1 - o.rho) * square(move);
                      return move;
                    },
                    {.memory = {0, 0}}),
                scale_by_learning_rate(std::move(rate))});
}

Optimiser rmsprop(Schedule rate, RmspropOptions o) {
  const auto formula = [=](Pointwise at) {
    at.memory[0] = o.decay * at.memory[0] + (1 - o.decay) * square(at.update);
    Array v = at.memory[0];
    if (o.centered) {
      at.memory[1] = o.decay * at.memory[1] + (1 - o.decay) * at.update;
      v = v - square(at.memory[1]);
    }
    return o.eps_in_sqrt ? at.update * rsqrt(v + o.eps) : at.update / (sqrt(v) + o.eps);
  };
  PointwiseOptions options{.memory = {o.initial}};
  if (o.centered) options.memory.push_back(0);
  std::vector<Optimiser> parts{pointwise(formula, options),
                               scale_by_learning_rate(std::move(rate))};
  if (o.momentum) parts.push_back(momentum(*o.momentum, o.nesterov));
  return chain(std::move(parts));
}

Optimiser lion(Schedule rate, LionOptions o) {
  return chain({pointwise(
                    [=](Pointwise at) {
                      const Array move = sign((1 - o.b1) * at.update + o.b1 * at.memory[0]);
                      at.memory[0] = o.b2 * at.memory[0] + (1 - o.b2) * at.update;
                      return move;
                    },
                    {.memory = {0}}),
                add_decayed_weights(o.weight_decay, o.mask),
                scale_by_learning_rate(std::move(rate))});
}

Optimiser lamb(Schedule rate, LambOptions o) {
  return chain({scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}),
                add_decayed_weights(o.weight_decay, o.mask), scale_by_trust_ratio(),
                scale_by_learning_rate(std::move(rate))});
}

}  // namespace gnomon::optim
