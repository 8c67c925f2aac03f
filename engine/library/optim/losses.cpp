// engine/library/optim/losses.cpp -- loss functions.
#include "gnomon/optim/losses.h"

#include <numbers>
#include <string>

#include "gnomon/activations.h"
#include "gnomon/checkpoint.h"
#include "gnomon/control.h"
#include "gnomon/error.h"
#include "gnomon/indexing.h"
#include "gnomon/numeric.h"

namespace gnomon::optim {

Array squared_error(Operand prediction, Operand target) { return square(prediction - target); }
Array l2_loss(Operand prediction, Operand target) { return 0.5 * square(prediction - target); }
Array absolute_error(Operand prediction, Operand target) { return abs(prediction - target); }

Array huber_loss(Operand prediction, Operand target, double delta) {
  const Array off = abs(prediction - target);
  const Array near = minimum(off, delta);
  return 0.5 * square(near) + delta * (off - near);
}

Array log_cosh(Operand prediction, Operand target) {
  const Array off = prediction - target;
  return logaddexp(off, -off) - std::numbers::ln2;
}

Array softmax_cross_entropy(Operand logits, Operand labels) {
  return -sum(labels * log_softmax(logits), {-1});
}

Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels) {
  const Array chosen = take_along_axis(logits, expand_dims(labels, -1), -1);
  return logsumexp(logits, {-1}) - squeeze(chosen, {-1});
}

Array sigmoid_binary_cross_entropy(Operand logits, Operand labels) {
  return -labels * log_sigmoid(logits) - (1 - labels) * log_sigmoid(-logits);
}

Array kl_divergence(Operand log_prediction, Operand target) {
  const Array said = target > 0;
  const Array known = where(said, target, 1);
  return sum(where(said, known * (log(known) - log_prediction), 0), {-1});
}

namespace {

/// Of operands that fit.
Array ctc(const Array& logits, const Array& logit_paddings, const Array& labels,
          const Array& label_paddings, int blank) {
  const Dim batch = logits.dim(0), frames = logits.dim(1), count = labels.dim(1);
  // The extended label sequence: blank, label 0, blank, label 1, ..., blank.
  const double never = -1e5;  // log 0, finite for the sake of derivatives
  const DType dtype = logits.dtype();
  const Dim states = 2 * count + 1;
  const Array blanks = full({batch, count}, blank, labels.dtype());
  const Array said = concatenate({reshape(stack({blanks, labels}, 2), {batch, 2 * count}),
                                  full({batch, 1}, blank, labels.dtype())},
                                 1);
  const Array per_frame = take_along_axis(
      log_softmax(logits), broadcast_to(expand_dims(said, 1), {batch, frames, states}), 2);
  const auto shifted = [&](const Array& x, Dim by) {
    const Array front = full({batch, std::min(by, states)}, never, dtype);
    if (by >= states) return front;
    return concatenate({front, slice_axis(x, 1, 0, states - by)}, 1);
  };
  // The blank between two labels may be skipped unless they are equal.
  const Array odd = iota({batch, states}, 1) % 2 == 1;
  Array may_skip = full({batch, states}, false);
  if (count > 1) {
    const Array other = slice_axis(said, 1, 2, states) != slice_axis(said, 1, 0, states - 2);
    may_skip = odd && concatenate({full({batch, 2}, false), other}, 1);
  }
  struct Frame {
    Array log_p, padding;
  };
  const auto step = [&](const Array& alpha, const Frame& frame) {
    Array next = logaddexp(alpha, shifted(alpha, 1));
    next = logaddexp(next, where(may_skip, shifted(alpha, 2), never)) + frame.log_p;
    return std::pair{where(expand_dims(frame.padding, 1) > 0, alpha, next), none};
  };
  // Forward variables before the first frame: at the first blank.
  const Array before = where(iota({batch, states}, 1) == 0, full({}, 0, dtype), never);
  const Array last =
      scan(step, before, Frame{moveaxis(per_frame, 1, 0), transpose(cast(logit_paddings, dtype))})
          .first;
  const Array lengths =
      cast(sum(1 - cast(label_paddings, dtype), {1}, {.keepdims = true}), DType::i32);
  const Array at_blank = take_along_axis(last, 2 * lengths, 1);
  const Array at_label =
      where(lengths > 0, take_along_axis(last, maximum(2 * lengths - 1, 0), 1), never);
  return -squeeze(logaddexp(at_blank, at_label), {1});
}

}  // namespace

Array ctc_loss(const Array& logits, const Array& logit_paddings, const Array& labels,
               const Array& label_paddings, int blank, Loc loc) {
  const auto fail = [&](const std::string& what) { usage_error("optim::ctc_loss", what, loc); };
  if (logits.rank() != 3 || labels.rank() != 2 || !is_float(logits.dtype()) ||
      !is_integer(labels.dtype()))
    fail("logits are f[b, t, classes] and labels i32[b, n], not " + to_string(logits.aval()) +
         " and " + to_string(labels.aval()));
  const Dim batch = logits.dim(0), frames = logits.dim(1), classes = logits.dim(2);
  if (labels.dim(0) != batch || logit_paddings.shape() != Shape{batch, frames} ||
      label_paddings.shape() != labels.shape())
    fail("logits " + to_string(logits.aval()) + " need paddings [" + std::to_string(batch) + "," +
         std::to_string(frames) + "], and labels " + to_string(labels.aval()) +
         " as many rows and paddings of their shape; they are " + to_string(logit_paddings.aval()) +
         " and " + to_string(label_paddings.aval()));
  if (blank < 0 || blank >= classes)
    fail("the blank is class " + std::to_string(blank) + " of " + std::to_string(classes));

  return gnomon::detail::as_one_program(
      [&](const Array& l, const Array& l_paddings, const Array& n, const Array& n_paddings) {
        return ctc(l, l_paddings, n, n_paddings, blank);
      },
      loc, logits, logit_paddings, labels, label_paddings);
}

}  // namespace gnomon::optim
