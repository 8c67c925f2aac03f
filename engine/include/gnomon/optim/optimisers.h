// engine/include/gnomon/optim/optimisers.h -- the optimisers by name, and what they are made of.
//
// Formulas and defaults are those of optax (DeepMind, "optax", release 0.2) under the same names;
// the papers are cited with each. g is the gradient, p the parameter, t the step from 1, m and v
// the first and second moment. Updates have the dtype of their parameter. All are differentiable.
// Unchecked: that decay rates lie in [0, 1).
#pragma once
#include <optional>

#include "gnomon/optim/optimiser.h"
#include "gnomon/optim/schedules.h"

#pragma GCC visibility push(default)
namespace gnomon::optim {

// ---- parts

/// -rate times the update: the last transformation of every optimiser.
Optimiser scale_by_learning_rate(Schedule rate);
/// factor times the update.
Optimiser scale(Schedule factor);
/// Heavy-ball momentum: trace = g + decay trace, which is the update; with `nesterov`
/// g + decay trace of the new trace.
Optimiser momentum(double decay, bool nesterov = false);
/// Elementwise clipping to [-limit, limit].
Optimiser clip(double limit);
/// All updates times min(1, limit / norm), where norm is the global norm: that of all of them
/// together.
Optimiser clip_by_global_norm(double limit);
/// update + weight p for the parameters that the mask selects; all without one.
Optimiser add_decayed_weights(Schedule weight, Mask mask = {});
/// Layer-wise adaptation: each array times |p| / |update|, and unchanged where either norm is 0.
Optimiser scale_by_trust_ratio();

struct AdamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
  double eps_root = 0;  // inside the square root: derivatives through the step at v = 0
  bool nesterov = false;
};
/// m_hat / (sqrt(v_hat + eps_root) + eps) with bias-corrected moments; with `nesterov` the first
/// one is b1 m / (1 - b1^(t + 1)) + (1 - b1) g / (1 - b1^t).
Optimiser scale_by_adam(AdamOptions = {});

// ---- optimisers

struct SgdOptions {
  std::optional<double> momentum = {};
  bool nesterov = false;
};
Optimiser sgd(Schedule rate, SgdOptions = {});
/// Source: D. Kingma, J. Ba, "Adam", ICLR 2015.
Optimiser adam(Schedule rate, AdamOptions = {});
/// Adam with Nesterov momentum. Source: T. Dozat, "Incorporating Nesterov momentum into Adam", ICLR
/// 2016 workshop.
Optimiser nadam(Schedule rate, AdamOptions = {});
/// Adam by the infinity norm: v = max(b2 v, |g| + eps). Source: the same, section 7.1.
Optimiser adamax(Schedule rate, AdamOptions = {});
struct AdamwOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  double weight_decay = 1e-4;
  Mask mask = {};  // parameters that decay; all without one
  bool nesterov = false;
};
/// Source: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
Optimiser adamw(Schedule rate, AdamwOptions = {});
struct RadamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  double threshold = 5;  // length of the approximated average from which the variance is rectified
};
/// Source: L. Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020.
Optimiser radam(Schedule rate, RadamOptions = {});
struct AdagradOptions {
  double initial = 0.1;  // value of the accumulator
  double eps = 1e-7;     // inside the square root
};
/// Source: J. Duchi, E. Hazan, Y. Singer, JMLR 12 (2011).
Optimiser adagrad(Schedule rate, AdagradOptions = {});
struct AdadeltaOptions {
  double rho = 0.9, eps = 1e-6, weight_decay = 0;
};
/// Source: M. Zeiler, "Adadelta", arXiv:1212.5701.
Optimiser adadelta(Schedule rate = 1.0, AdadeltaOptions = {});
struct RmspropOptions {
  double decay = 0.9, eps = 1e-8;
  double initial = 0;       // value of the second moment
  bool eps_in_sqrt = true;  // else added to the square root
  bool centered = false;    // divide by the standard deviation: v - m^2 in place of v
  std::optional<double> momentum = {};
  bool nesterov = false;
};
/// Source: T. Tieleman, G. Hinton, lecture 6.5 of "Neural Networks for Machine Learning", 2012.
Optimiser rmsprop(Schedule rate, RmspropOptions = {});
struct LionOptions {
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
  Mask mask = {};
};
/// Source: X. Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023.
Optimiser lion(Schedule rate, LionOptions = {});
struct LambOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0, weight_decay = 0;
  Mask mask = {};
};
/// Source: Y. You et al., "Large batch optimization for deep learning", ICLR 2020.
Optimiser lamb(Schedule rate, LambOptions = {});

struct LbfgsOptions {
  int memory = 10;
  int max_line_search_steps = 20;
  double sufficient_decrease = 1e-4, curvature = 0.9;  // of the strong Wolfe conditions
};
/// Limited-memory BFGS with a zoom line search for the strong Wolfe conditions; needs the form of
/// `update` with the value and the loss. There is no learning rate.
///
/// Deterministic losses only. O(memory n) numbers; one evaluation of loss and gradient per step of
/// the line search, usually one. Pairs without positive curvature are skipped.
/// Source: J. Nocedal, S. Wright, "Numerical Optimization", 2nd ed., algorithms 7.4, 3.5 and 3.6;
/// W. Hager, H. Zhang, SIAM J. Optim. 16 (2005), equation 4.1, where values are lost in rounding.
Optimiser lbfgs(LbfgsOptions = {});

}  // namespace gnomon::optim
#pragma GCC visibility pop
