// engine/library/nn/recurrent.cpp -- cells that carry a hidden state along a sequence.
#include "gnomon/nn/recurrent.h"

#include "engine/library/nn/checks.h"
#include "gnomon/nn/initialise.h"
#include "gnomon/ops.h"

namespace gnomon::nn {

GRUCell GRUCell::make(Dim in, Dim hidden, Key key, CellOptions options, Loc loc) {
  detail::check_sizes("GRUCell", {{"in", in}, {"hidden", hidden}}, 1, loc);
  const Keys keys = random::split(std::move(key), 4, loc);
  const auto draw = [&](Dim i, const Shape& shape) {
    return uniform_by_fan_in(keys[i], shape, hidden, options.dtype, loc);
  };
  GRUCell cell{draw(0, {3 * hidden, in}), draw(1, {3 * hidden, hidden})};
  if (options.use_bias) {
    cell.bias = draw(2, {3 * hidden});
    cell.bias_n = draw(3, {hidden});
  }
  return cell;
}

Array GRUCell::operator()(Operand x, Operand hidden) const {
  const Loc loc = x.loc();
  detail::check_weight("GRUCell", "weight_hh", weight_hh, 2, loc);
  const Array in = detail::array_of(x), h = detail::array_of(hidden);
  detail::check_shape("GRUCell", "input", in, {weight_ih.dim(1)}, loc);
  detail::check_shape("GRUCell", "hidden state", h, {weight_hh.dim(1)}, loc);
  Array from_in = matmul({weight_ih, loc}, {in, loc});
  if (bias) from_in = add({from_in, loc}, {*bias, loc});
  const std::vector<Array> i = split({from_in, loc}, 3);
  const std::vector<Array> c = split({matmul({weight_hh, loc}, {h, loc}), loc}, 3);
  const Array reset = sigmoid(i[0] + c[0]), update = sigmoid(i[1] + c[1]);
  const Array proposed = tanh(i[2] + reset * (bias_n ? c[2] + *bias_n : c[2]));
  return proposed + update * (h - proposed);
}

LSTMCell LSTMCell::make(Dim in, Dim hidden, Key key, CellOptions options, Loc loc) {
  detail::check_sizes("LSTMCell", {{"in", in}, {"hidden", hidden}}, 1, loc);
  const Keys keys = random::split(std::move(key), 3, loc);
  const auto draw = [&](Dim i, const Shape& shape) {
    return uniform_by_fan_in(keys[i], shape, hidden, options.dtype, loc);
  };
  LSTMCell cell{draw(0, {4 * hidden, in}), draw(1, {4 * hidden, hidden})};
  if (options.use_bias) cell.bias = draw(2, {4 * hidden});
  return cell;
}

LSTMState LSTMCell::operator()(Operand x, const LSTMState& state) const {
  const Loc loc = x.loc();
  detail::check_weight("LSTMCell", "weight_hh", weight_hh, 2, loc);
  const Array in = detail::array_of(x);
  detail::check_shape("LSTMCell", "input", in, {weight_ih.dim(1)}, loc);
  detail::check_shape("LSTMCell", "hidden state", state.hidden, {weight_hh.dim(1)}, loc);
  detail::check_shape("LSTMCell", "cell state", state.cell, {weight_hh.dim(1)}, loc);
  Array gates = add({matmul({weight_ih, loc}, {in, loc}), loc},
                    {matmul({weight_hh, loc}, {state.hidden, loc}), loc});
  if (bias) gates = add({gates, loc}, {*bias, loc});
  const std::vector<Array> g = split({gates, loc}, 4);
  const Array cell = sigmoid(g[1]) * state.cell + sigmoid(g[0]) * tanh(g[2]);
  return {sigmoid(g[3]) * tanh(cell), cell};
}

}  // namespace gnomon::nn
