// engine/include/gnomon/nn/recurrent.h -- cells that carry a hidden state along a sequence.
//
//   const auto step = [&](const Array& h, const Array& x) { return std::pair{cell(x, h), none}; };
//   const Array last = scan(step, zeros({hidden}), xs).first;
#pragma once
#include <optional>

#include "gnomon/random.h"

namespace gnomon::nn {

struct CellOptions {
  bool use_bias = true;
  DType dtype = DType::f32;
};

/// A gated recurrent unit: {x f[in], hidden f[n]} -> f[n], the next hidden state.
///
///   reset = sigmoid(i_r + h_r), update = sigmoid(i_z + h_z), new = tanh(i_n + reset (h_n +
///   bias_n)), hidden' = new + update (hidden - new), where i = weight_ih x + bias and h =
///   weight_hh hidden.
/// Source: K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder",
/// arXiv:1406.1078, with the reset gate behind the product, and biases, as in Equinox.
struct GRUCell {
  Array weight_ih;                              // [3 n, in]: reset, update, new
  Array weight_hh;                              // [3 n, n]
  std::optional<Array> bias = {}, bias_n = {};  // [3 n], [n]

  static GRUCell make(Dim in, Dim hidden, Key key, CellOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x, Operand hidden) const;
};

}  // namespace gnomon::nn
