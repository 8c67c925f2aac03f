// engine/include/gnomon/nn/dropout.h -- elements left out at random while training.
#pragma once
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// Each element is 0 with probability `p`, and divided by 1 - p otherwise; x itself where
/// `inference` is set or p is 0.
///
///   const nn::Dropout dropout{.p = 0.1};
///   const Array y = dropout(x, std::move(key));
///   const Array z = nn::Dropout{.p = 0.1, .inference = true}(x);
///
/// Throws UsageError without a key where it would need one, and for a p outside of [0, 1].
/// Source: N. Srivastava et al., "Dropout", Journal of Machine Learning Research 15 (2014).
struct Dropout {
  double p = 0.5;
  bool inference = false;

  Array operator()(Operand x, Key key) const;
  Array operator()(Operand x) const;
  /// Whether it needs a key.
  bool draws() const { return p != 0 && !inference; }
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
