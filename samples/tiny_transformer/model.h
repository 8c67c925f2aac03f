// samples/tiny_transformer/model.h -- the transformer: what comes behind each character of a text.
#pragma once
#include <gnomon/gnomon.h>
#include <gnomon/nn.h>

#include <utility>

struct Block {
  gnomon::nn::LayerNorm before_attention, before_mlp;
  gnomon::nn::MultiheadAttention attention;
  gnomon::nn::Mlp mlp;
};
struct Model {
  gnomon::nn::Embedding embedding;
  Block blocks;  // arrays [layers, ...]: a scan over them compiles one block for all
  gnomon::nn::LayerNorm norm;
  gnomon::nn::Linear head;
};
struct Sizes {
  gnomon::Dim layers = 2, width = 32, heads = 4;
};

Model make(gnomon::Key, const Sizes&);
/// i32[n] -> f32[n, characters]: the logits of what comes behind each, by all up to it.
gnomon::Array logits_of(const Model&, const gnomon::Array& text);
/// The caches of all blocks for texts of that many characters.
gnomon::nn::KeyValueCache empty_cache(const Model&, gnomon::Dim length);
/// The same of one more character, i32[1], with what those before it left in every block.
std::pair<gnomon::Array, gnomon::nn::KeyValueCache> next_logits(
    const Model&, const gnomon::Array& text, const gnomon::nn::KeyValueCache& before);
/// The logits, and how much each place looks at those before it: f32[layers, heads, n, n].
std::pair<gnomon::Array, gnomon::Array> attention_maps(const Model&, const gnomon::Array& text);
