// samples/tiny_transformer/model.cpp -- the transformer, its blocks by a scan.
#include "samples/tiny_transformer/model.h"

#include <cmath>

#include "samples/tiny_transformer/grammar.h"

namespace gn = gnomon;
namespace nn = gnomon::nn;
using gn::Array;

namespace {

constexpr gn::Dim characters = gn::Dim(grammar::alphabet.size());

/// `attend` is the block's attention, in one form or another.
template <class F>
Array apply(const Block& b, const Array& x, const F& attend) {
  const Array y = x + attend(gn::vmap(b.before_attention)(x));
  return y + gn::vmap(b.mlp)(gn::vmap(b.before_mlp)(y));
}
Array embedded(const Model& m, const Array& text) { return gn::vmap(m.embedding)(text); }
Array read_out(const Model& m, const Array& x) { return gn::vmap(m.head)(gn::vmap(m.norm)(x)); }

}  // namespace

Model make(gn::Key key, const Sizes& sizes) {
  auto [a, b, c] = gn::random::split<3>(std::move(key));
  const gn::Dim width = sizes.width;
  const auto block = [&](gn::Key k) {
    auto [d, e] = gn::random::split<2>(std::move(k));
    return Block{nn::LayerNorm::make({width}), nn::LayerNorm::make({width}),
                 nn::MultiheadAttention::make(sizes.heads, width, std::move(d), {.rotary = true}),
                 nn::Mlp::make(width, width, 4 * width, 1, std::move(e))};
  };
  return {nn::Embedding::make(characters, width, std::move(a)),
          gn::vmap(block)(gn::random::split(std::move(b), sizes.layers)),
          nn::LayerNorm::make({width}), nn::Linear::make(width, characters, std::move(c))};
}

Array logits_of(const Model& m, const Array& text) {
  const auto step = [](const Array& x, const Block& b) {
    const auto attend = [&](const Array& y) { return b.attention(y, y, y, {.causal = true}); };
    return std::pair{apply(b, x, attend), gn::none};
  };
  return read_out(m, gn::scan(step, embedded(m, text), m.blocks).first);
}

nn::KeyValueCache empty_cache(const Model& m, gn::Dim length) {
  return gn::vmap([&](const Block& b) { return b.attention.cache(length); })(m.blocks);
}

std::pair<Array, nn::KeyValueCache> next_logits(const Model& m, const Array& text,
                                                const nn::KeyValueCache& before) {
  const auto step = [](const Array& x, const std::pair<Block, nn::KeyValueCache>& at) {
    nn::KeyValueCache after;
    const auto attend = [&](const Array& y) {
      auto both = at.first.attention.decode(y, at.second);
      after = both.second;
      return both.first;
    };
    const Array y = apply(at.first, x, attend);
    return std::pair{y, after};
  };
  const auto both = gn::scan(step, embedded(m, text), std::pair{m.blocks, before});
  return {read_out(m, both.first), both.second};
}

std::pair<Array, Array> attention_maps(const Model& m, const Array& text) {
  const auto step = [](const Array& x, const Block& b) {
    const nn::MultiheadAttention& a = b.attention;
    Array weights;
    const auto attend = [&](const Array& y) {
      const auto heads = [&](const nn::Linear& map) {  // [heads, n, size]
        const Array h = gn::reshape(gn::vmap(map)(y), {y.dim(0), a.heads, a.rotary->size});
        return gn::vmap([&](const Array& one) { return (*a.rotary)(one); })(gn::swapaxes(h, 0, 1));
      };
      const Array products = gn::einsum("hnd,hmd->hnm", heads(a.query_proj), heads(a.key_proj));
      weights = gn::softmax(gn::where(nn::causal_mask(y.dim(0)),
                                      products / std::sqrt(double(a.rotary->size)), -1e30f));
      return a(y, y, y, {.causal = true});
    };
    const Array y = apply(b, x, attend);
    return std::pair{y, weights};
  };
  const auto both = gn::scan(step, embedded(m, text), m.blocks);
  return {read_out(m, both.first), both.second};
}
