// engine/library/nn/dropout.cpp -- embeddings and dropout.
#include "gnomon/nn/dropout.h"

#include "engine/library/nn/checks.h"
#include "gnomon/indexing.h"
#include "gnomon/nn/embedding.h"
#include "gnomon/ops.h"

namespace gnomon::nn {

Embedding Embedding::make(Dim count, Dim size, Key key, EmbeddingOptions options, Loc loc) {
  detail::check_sizes("Embedding", {{"count", count}, {"size", size}}, 0, loc);
  return {random::normal(std::move(key), {count, size}, options.dtype, loc)};
}

Array Embedding::operator()(Operand index) const {
  const Loc loc = index.loc();
  detail::check_weight("Embedding", "weight", weight, 2, loc);
  const Array i = detail::array_of(index);
  if (!is_integer(i.dtype()))
    detail::fail("Embedding",
                 "the index is " + to_string(i.aval()) +
                     ", and rows are named by integers; cast it to DType::i32",
                 loc);
  detail::check_shape("Embedding", "index", i, {}, loc);
  return take({weight, loc}, {i, loc}, 0);
}

Array Dropout::operator()(Operand x, Key key) const {
  const Loc loc = x.loc();
  const Array in = detail::array_of(x);
  if (!(p >= 0 && p <= 1))
    detail::fail("Dropout", "p is " + std::to_string(p) + "; a probability is in [0, 1]", loc);
  if (!draws()) return in;
  const double kept = 1 - p;
  const Array mask = random::bernoulli(std::move(key), {kept, loc}, in.shape());
  if (kept == 0) return zeros_like({in, loc});  // x / 0 has no derivative to leave out
  return where({mask, loc}, divide({in, loc}, {kept, loc}), {0, loc});
}

Array Dropout::operator()(Operand x) const {
  if (draws())
    detail::fail("Dropout",
                 "it leaves elements out at random and was given no key; pass one, layer(x, "
                 "std::move(key)), or set `inference` to leave none out",
                 x.loc());
  return detail::array_of(x);
}

}  // namespace gnomon::nn
