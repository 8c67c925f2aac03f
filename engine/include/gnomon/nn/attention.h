// engine/include/gnomon/nn/attention.h -- attention between sequences, f[length, features].
#pragma once
#include <optional>
#include <utility>

#include "gnomon/nn/dropout.h"
#include "gnomon/nn/linear.h"
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// bool[length, length]: true where position j of the keys is not after position i of the queries.
Array causal_mask(Dim length, Loc loc = Loc::here());

/// Turns pairs of features by angles that grow with the position, so that products of queries and
/// keys depend on how far apart they are.
///
/// f[length, size] -> f[length, size]: the pair (x_i, x_{i + size/2}) of position p turns by
/// p theta^(-2 i / size). `first` is the position of the first row: a number or i32[].
/// Throws UsageError for another or an odd size.
/// Source: J. Su et al., "RoFormer", arXiv:2104.09864, with halves as pairs, as in GPT-NeoX.
struct RotaryPositionalEmbedding {
  Dim size = 0;
  double theta = 10000;

  Array operator()(Operand x) const { return (*this)(x, {0, x.loc()}); }
  Array operator()(Operand x, Operand first) const;
};

struct AttentionOptions {
  /// bool[queries, keys] or bool[heads, queries, keys]: which keys a query may look at. One that
  /// may look at none gets the mean of all values.
  std::optional<Array> mask = {};
  bool causal = false;  // queries look at no key behind them; a mask holds as well
};

/// softmax(query key^T / sqrt(size)) value of each head.
///
/// query f[n, heads, size], key f[m, heads, size], value f[m, heads, values] ->
/// f[n, heads, values]. The softmax is made in f32 at least.
/// Throws UsageError for shapes that do not fit, and for a mask of another shape.
/// Source: A. Vaswani et al., "Attention is all you need", arXiv:1706.03762.
Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            AttentionOptions options = {}, Loc loc = Loc::here());

/// The keys and values of the positions that a decoder has seen.
struct KeyValueCache {
  Array key;     // [capacity, heads, qk_size]
  Array value;   // [capacity, heads, vo_size]
  Array length;  // i32[]: how many of them there are
};

struct MultiheadAttentionOptions {
  std::optional<Dim> key_size = {}, value_size = {}, output_size = {};  // those of the query
  std::optional<Dim> qk_size = {}, vo_size = {};  // of a head; query size / heads
  bool use_query_bias = false, use_key_bias = false, use_value_bias = false,
       use_output_bias = false;
  double dropout_p = 0;  // of the weights of the softmax
  bool inference = false;
  bool rotary = false;  // turns queries and keys by their positions
  double theta = 10000;
  DType dtype = DType::f32;
};

/// Attention of several heads, between linear maps: output(concat_h softmax(q_h k_h^T / sqrt(qk
/// size)) v_h).
///
///   const auto attention = nn::MultiheadAttention::make(8, 256, std::move(key));
///   const Array y = attention(x, x, x, {.causal = true});   // f[n,256] -> f[n,256]
///
/// Queries are f[n, query size], keys f[m, key size], values f[m, value size]. Where dropout draws
/// (its p is not 0, and it is not in inference) a Key has to be passed behind them: head h takes
/// the h-th of as many keys as there are heads, as in Equinox. With one sequence it attends to
/// itself. Throws UsageError for other shapes.
struct MultiheadAttention {
  Linear query_proj, key_proj, value_proj, output_proj;
  Dropout dropout{.p = 0};
  Dim heads = 1;
  std::optional<RotaryPositionalEmbedding> rotary = {};

  static MultiheadAttention make(Dim heads, Dim query_size, Key key,
                                 MultiheadAttentionOptions options = {}, Loc loc = Loc::here());

  Array operator()(Operand query, Operand key, Operand value, AttentionOptions options = {}) const;
  Array operator()(Operand query, Operand key, Operand value, Key draws,
                   AttentionOptions options = {}) const;
  Array operator()(Operand x) const { return (*this)(x, x, x); }
  Array operator()(Operand x, Key draws) const { return (*this)(x, x, x, std::move(draws)); }

  /// An empty cache for that many positions.
  KeyValueCache cache(Dim capacity, Loc loc = Loc::here()) const;
  /// The next positions of a sequence that attends to itself causally, those before them being in
  /// the cache: {f[n, output size], the cache with them}. Step by step this is the causal attention
  /// of the whole sequence, without dropout.
  ///
  /// O(n capacity). Unchecked: that the cache has room behind what is in it.
  std::pair<Array, KeyValueCache> decode(Operand x, const KeyValueCache& before) const;
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
