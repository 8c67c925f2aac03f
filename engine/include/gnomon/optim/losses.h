// engine/include/gnomon/optim/losses.h -- loss functions, without reduction: one value per element,
// or per example where the last axis holds the classes.
//
// Shapes broadcast. All are differentiable in predictions and targets.
// Source of names and formulas: DeepMind, "optax", release 0.2.
#pragma once
#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon::optim {

/// (prediction - target)^2; l2_loss is half of it.
Array squared_error(Operand prediction, Operand target = 0);
Array l2_loss(Operand prediction, Operand target = 0);
/// |prediction - target|.
Array absolute_error(Operand prediction, Operand target = 0);
/// d^2 / 2 for d = |prediction - target| <= delta, and delta (d - delta / 2) beyond.
Array huber_loss(Operand prediction, Operand target = 0, double delta = 1);
/// log cosh(prediction - target), evaluated without overflow.
Array log_cosh(Operand prediction, Operand target = 0);

/// -sum(labels log softmax(logits)) over the last axis: f[..., classes] -> f[...].
Array softmax_cross_entropy(Operand logits, Operand labels);
/// The same for class indices, i32[...]. Unchecked: that they are in [0, classes).
Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels);
/// -labels log sigmoid(logits) - (1 - labels) log sigmoid(-logits), elementwise.
/// Unchecked: that labels are in [0, 1].
Array sigmoid_binary_cross_entropy(Operand logits, Operand labels);
/// Kullback-Leibler divergence sum(target (log target - log_prediction)) over the last axis:
/// f[..., classes] -> f[...]. Terms with target 0 are 0.
Array kl_divergence(Operand log_prediction, Operand target);

/// Connectionist temporal classification: the negative log-likelihood of a label sequence, summed
/// over its alignments to the frames. An alignment repeats each label one or more times, with
/// blanks in between; equal neighbours need one at least.
///
/// logits f[b, t, classes], logit_paddings f[b, t] (1 at padded frames), labels i32[b, n],
/// label_paddings f[b, n] (1 at padded labels) -> f[b].
/// Differentiable in the logits. O(b t n) work in t steps, in the log domain. A sequence without
/// any alignment has a loss of about 1e5, which is finite for the sake of derivatives.
/// Unchecked: that labels are classes other than the blank, and paddings a suffix of each row.
/// Throws UsageError for other shapes.
/// Source: A. Graves et al., "Connectionist temporal classification", ICML 2006, section 4.1.
Array ctc_loss(const Array& logits, const Array& logit_paddings, const Array& labels,
               const Array& label_paddings, int blank = 0, Loc loc = Loc::here());

}  // namespace gnomon::optim
#pragma GCC visibility pop
