// engine/include/gnomon/nn/recurrent.h -- cells that carry a hidden state along a sequence.
//
//   const auto step = [&](const Array& h, const Array& x) { return std::pair{cell(x, h), none}; };
//   const Array last = scan(step, zeros({hidden}), xs).first;
#pragma once
#include <optional>

#include "gnomon/random.h"

#pragma GCC visibility push(default)
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

/// What an LSTMCell carries: f[n] each.
struct LSTMState {
  Array hidden, cell;
};

/// A long short-term memory cell: {x f[in], state} -> the next state.
///
///   gates = weight_ih x + weight_hh hidden + bias, in the order input, forget, new, output;
///   cell' = sigmoid(forget) cell + sigmoid(input) tanh(new), hidden' = sigmoid(output)
///   tanh(cell').
/// Source: S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", Neural Computation 9 (1997),
/// with the forget gate of F. Gers et al. (2000).
struct LSTMCell {
  Array weight_ih;                 // [4 n, in]
  Array weight_hh;                 // [4 n, n]
  std::optional<Array> bias = {};  // [4 n]

  static LSTMCell make(Dim in, Dim hidden, Key key, CellOptions options = {},
                       Loc loc = Loc::here());
  LSTMState operator()(Operand x, const LSTMState& state) const;
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
