// engine/include/gnomon/optim/losses.h -- what is minimised. Losses are not averaged: each gives
// one number per element, or per example where a last axis holds the classes.
//
// Shapes broadcast. Source of names and formulas: DeepMind, "optax", release 0.2.
#pragma once
#include "gnomon/ops.h"

namespace gnomon::optim {

/// (prediction - target)^2, and half of it.
Array squared_error(Operand prediction, Operand target = 0);
Array l2_loss(Operand prediction, Operand target = 0);
/// |prediction - target|.
Array absolute_error(Operand prediction, Operand target = 0);
/// Half the square up to `delta`, then as steep as there.
Array huber_loss(Operand prediction, Operand target = 0, double delta = 1);
/// log cosh of the difference, without overflow.
Array log_cosh(Operand prediction, Operand target = 0);

/// - sum labels log softmax(logits) over the last axis: f[..., classes] to f[...].
Array softmax_cross_entropy(Operand logits, Operand labels);
/// The same for labels that are numbers of classes, i32[...]. Unchecked: that they are within.
Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels);
/// Of labels in [0, 1], element by element.
Array sigmoid_binary_cross_entropy(Operand logits, Operand labels);
/// sum target (log target - log_prediction) over the last axis; a target of 0 counts 0.
Array kl_divergence(Operand log_prediction, Operand target);

/// Minus the log of the probability that frames say a sequence of labels: each label once or more
/// in a row, blanks anywhere, one at least between equal labels.
///
/// logits f[b, t, classes], logit_paddings f[b, t] (1 where there is no frame), labels i32[b, n],
/// label_paddings f[b, n] (1 behind the last label): f[b]. About 1e5 for a sequence that cannot be
/// said in so many frames. Throws UsageError for other shapes.
/// Source: A. Graves et al., "Connectionist temporal classification", ICML 2006, section 4.
Array ctc_loss(const Array& logits, const Array& logit_paddings, const Array& labels,
               const Array& label_paddings, int blank = 0, Loc loc = Loc::here());

}  // namespace gnomon::optim
