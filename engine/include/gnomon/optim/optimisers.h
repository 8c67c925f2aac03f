// engine/include/gnomon/optim/optimisers.h -- the optimisers by name, and what they are made of.
//
// Formulas are those of optax (DeepMind, "optax", release 0.2) for the same names and numbers; the
// papers stand with each. g is the gradient, p the parameter, t the step from 1. Updates are in the
// dtype of their parameter. Unchecked: that rates of decay lie in [0, 1).
#pragma once
#include <optional>

#include "gnomon/optim/optimiser.h"
#include "gnomon/optim/schedules.h"

namespace gnomon::optim {

// ---- parts

/// Minus the rate times the update: the last part of every optimiser.
Optimiser scale_by_learning_rate(Schedule rate);
/// The factor times the update.
Optimiser scale(Schedule factor);
/// trace = g + decay trace; `nesterov`: g + decay trace of the new one.
Optimiser momentum(double decay, bool nesterov = false);
/// Clipped to [-limit, limit], number by number.
Optimiser clip(double limit);
/// Scaled down so that the norm of all updates together is at most `limit`.
Optimiser clip_by_global_norm(double limit);
/// update + weight p, for the parameters that the mask means (all without one).
Optimiser add_decayed_weights(Schedule weight, Mask mask = nullptr);
/// Every array times |p| / |update|, by 1 where one of them is 0.
Optimiser scale_by_trust_ratio();

struct AdamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
  double eps_root = 0;  // under the root, for derivatives through the step
  bool nesterov = false;
};
Optimiser scale_by_adam(AdamOptions = {});

// ---- optimisers

struct SgdOptions {
  std::optional<double> momentum = {};
  bool nesterov = false;
};
Optimiser sgd(Schedule rate, SgdOptions = {});
/// Source: D. Kingma, J. Ba, "Adam", ICLR 2015.
Optimiser adam(Schedule rate, AdamOptions = {});
/// With T. Dozat's Nesterov momentum, ICLR 2016 workshop.
Optimiser nadam(Schedule rate, AdamOptions = {});
/// Adam with the largest of decayed gradients in place of the mean square, section 7.1 there.
Optimiser adamax(Schedule rate, AdamOptions = {});
struct AdamwOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  double weight_decay = 1e-4;
  Mask mask = nullptr;  // what decays; all without one
  bool nesterov = false;
};
/// Source: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
Optimiser adamw(Schedule rate, AdamwOptions = {});
struct RadamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, threshold = 5;
};
/// Source: L. Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020.
Optimiser radam(Schedule rate, RadamOptions = {});
struct AdagradOptions {
  double initial = 0.1, eps = 1e-7;
};
/// Source: J. Duchi, E. Hazan, Y. Singer, JMLR 12 (2011).
Optimiser adagrad(Schedule rate, AdagradOptions = {});
struct AdadeltaOptions {
  double rho = 0.9, eps = 1e-6, weight_decay = 0;
};
/// Source: M. Zeiler, "Adadelta", arXiv:1212.5701.
Optimiser adadelta(Schedule rate = 1.0, AdadeltaOptions = {});
struct RmspropOptions {
  double decay = 0.9, eps = 1e-8, initial = 0;
  bool centered = false;  // divides by the deviation, not by the root mean square
  std::optional<double> momentum = {};
  bool nesterov = false;
};
/// Source: T. Tieleman, G. Hinton, lecture 6.5 of "Neural Networks for Machine Learning", 2012.
Optimiser rmsprop(Schedule rate, RmspropOptions = {});
struct LionOptions {
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
  Mask mask = nullptr;
};
/// Source: X. Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023.
Optimiser lion(Schedule rate, LionOptions = {});
struct LambOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0, weight_decay = 0;
  Mask mask = nullptr;
};
/// Source: Y. You et al., "Large batch optimization for deep learning", ICLR 2020.
Optimiser lamb(Schedule rate, LambOptions = {});

struct LbfgsOptions {
  int memory = 10;
  int max_line_search_steps = 20;
  double sufficient_decrease = 1e-4, curvature = 0.9;  // of the strong Wolfe conditions
};
/// Limited-memory BFGS with a zoom line search; needs `update` with the value and the loss. No
/// learning rate: the search finds it.
/// Source: J. Nocedal, S. Wright, "Numerical Optimization", 2nd ed., algorithms 7.4, 3.5 and 3.6.
Optimiser lbfgs(LbfgsOptions = {});

}  // namespace gnomon::optim
