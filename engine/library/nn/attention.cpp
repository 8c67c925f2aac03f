// engine/library/nn/attention.cpp -- attention between sequences.
#include "gnomon/nn/attention.h"

#include <cmath>
#include <limits>

#include "engine/library/nn/checks.h"
#include "gnomon/checkpoint.h"
#include "gnomon/error.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::nn {
namespace {

constexpr std::string_view layer_name = "MultiheadAttention";

/// bool[n, m]: whether key j is not after query first + i.
Array not_after(Dim queries, Dim keys, const Operand& first, Loc loc) {
  const Shape shape{queries, keys};
  const Array i = add({iota(shape, 0, DType::i32, loc), loc}, first);
  return less_equal({iota(shape, 1, DType::i32, loc), loc}, {i, loc});
}

/// x is f[length, .., size]; row i has the position first + i.
Array rotated(const RotaryPositionalEmbedding& rotary, const Array& x, const Operand& first,
              Loc loc) {
  const Dim half = rotary.size / 2;
  const DType dtype = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const double slower = -2 * std::log(rotary.theta) / static_cast<double>(rotary.size);
  const Array speed = exp({iota({half}, 0, dtype, loc) * slower, loc});
  const Array at = cast({add({iota({x.dim(0)}, 0, DType::i32, loc), loc}, first), loc}, dtype);
  const Array angle = outer({at, loc}, {speed, loc});
  Shape shape = x.shape();
  for (int i = 1; i < shape.rank(); ++i) shape[i] = 1;
  shape[shape.rank() - 1] = half;
  const auto like_x = [&](const Array& a) { return reshape({cast(a, x.dtype()), loc}, shape); };
  const Array c = like_x(cos(angle)), s = like_x(sin(angle));
  const Array a = slice_axis({x, loc}, -1, 0, half);
  const Array b = slice_axis({x, loc}, -1, half, rotary.size);
  return concatenate({a * c - b * s, b * c + a * s}, -1, loc);
}

/// softmax over keys, [heads, queries, keys].
Array weights_of(const Array& query, const Array& key, const std::optional<Array>& mask, Loc loc) {
  const Array q = divide({query, loc}, {std::sqrt(static_cast<double>(query.dim(2))), loc});
  const Array logits =
      dot_general({q, loc}, {key, loc},
                  {.a_contracting = {2}, .b_contracting = {2}, .a_batch = {1}, .b_batch = {1}});
  const DType dtype = logits.dtype();
  Array wide = dtype == DType::f64 ? logits : cast({logits, loc}, DType::f32);
  // The lowest number instead of minus infinity: a row of nothing else has no NaN.
  const double lowest = dtype == DType::f64 ? std::numeric_limits<double>::lowest()
                                            : std::numeric_limits<float>::lowest();
  if (mask) wide = where({*mask, loc}, {wide, loc}, {lowest, loc});
  return cast({softmax({wide, loc}), loc}, dtype);
}

/// [queries, heads, values].
Array mixed(const Array& weights, const Array& value, Loc loc) {
  const Array y =
      dot_general({weights, loc}, {value, loc},
                  {.a_contracting = {2}, .b_contracting = {0}, .a_batch = {0}, .b_batch = {1}});
  return swapaxes({y, loc}, 0, 1);
}

/// What a mask and causality leave, for logits [heads, n, m].
std::optional<Array> allowed(std::string_view name, const AttentionOptions& options, Dim heads,
                             Dim n, Dim m, Loc loc) {
  std::optional<Array> mask = options.mask;
  if (mask) {
    const Shape each{n, m}, own{heads, n, m};
    if (mask->dtype() != DType::boolean || (mask->shape() != each && mask->shape() != own))
      detail::fail(name,
                   "the mask is " + to_string(mask->aval()) + "; it is bool" + to_string(each) +
                       " or bool" + to_string(own) + ", true where a query may look at a key",
                   loc);
  }
  if (!options.causal) return mask;
  const Array before = not_after(n, m, {0, loc}, loc);
  return mask ? logical_and({*mask, loc}, {before, loc}) : before;
}

/// f[n, features] as f[n, heads, size].
Array projected(std::string_view part, const Linear& map, const Array& x, Dim heads, Loc loc) {
  detail::check_weight(layer_name, std::string(part) + "_proj.weight", map.weight, 2, loc);
  detail::check_shape(layer_name, part, x, {-1, map.weight.dim(1)}, loc);
  Array y = dot_general({x, loc}, {map.weight, loc}, {.a_contracting = {1}, .b_contracting = {1}});
  if (map.bias) y = add({y, loc}, {*map.bias, loc});
  if (heads == 0) return y;
  return reshape({y, loc}, {x.dim(0), heads, map.weight.dim(0) / heads});
}

struct Heads {
  Array query, key, value;
};

Heads heads_of(const MultiheadAttention& layer, const Array& query, const Array& key,
               const Array& value, const Operand& first, Loc loc) {
  Heads h{projected("query", layer.query_proj, query, layer.heads, loc),
          projected("key", layer.key_proj, key, layer.heads, loc),
          projected("value", layer.value_proj, value, layer.heads, loc)};
  if (layer.rotary) {
    h.query = rotated(*layer.rotary, h.query, first, loc);
    h.key = rotated(*layer.rotary, h.key, first, loc);
  }
  return h;
}

Array output(const MultiheadAttention& layer, const Array& by_head, Loc loc) {
  const Array joined = reshape({by_head, loc}, {by_head.dim(0), by_head.dim(1) * by_head.dim(2)});
  return projected("output", layer.output_proj, joined, 0, loc);
}

Array attend(const MultiheadAttention& layer, const Operand& query, const Operand& key,
             const Operand& value, Key* draws, const AttentionOptions& options) {
  const Loc loc = query.loc();
  const Heads h = heads_of(layer, detail::array_of(query), detail::array_of(key),
                           detail::array_of(value), {0, loc}, loc);
  const Dim n = h.query.dim(0), m = h.key.dim(0);
  if (h.value.dim(0) != m)
    detail::fail(layer_name,
                 std::to_string(m) + " keys and " + std::to_string(h.value.dim(0)) +
                     " values; each key has a value",
                 loc);
  Array weights =
      weights_of(h.query, h.key, allowed(layer_name, options, layer.heads, n, m, loc), loc);
  if (draws && layer.dropout.draws())
    weights =
        vmap(layer.dropout, {}, loc)(weights, random::split(std::move(*draws), layer.heads, loc));
  return output(layer, mixed(weights, h.value, loc), loc);
}

}  // namespace

Array causal_mask(Dim length, Loc loc) { return not_after(length, length, {0, loc}, loc); }

Array RotaryPositionalEmbedding::operator()(Operand x, Operand first) const {
  const Loc loc = x.loc();
  if (size < 2 || size % 2 != 0)
    detail::fail("RotaryPositionalEmbedding",
                 "a size of " + std::to_string(size) + "; features are turned in pairs", loc);
  const Array in = detail::array_of(x);
  detail::check_shape("RotaryPositionalEmbedding", "input", in, {-1, size}, loc);
  return rotated(*this, in, first, loc);
}

Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            AttentionOptions options, Loc loc) {
  if (query.rank() != 3 || key.rank() != 3 || value.rank() != 3 || key.dim(0) != value.dim(0) ||
      query.dim(1) != key.dim(1) || query.dim(1) != value.dim(1) || query.dim(2) != key.dim(2))
    usage_error("nn::dot_product_attention",
                "query " + to_string(query.aval()) + ", key " + to_string(key.aval()) +
                    " and value " + to_string(value.aval()) +
                    "; they are f[n, heads, size], f[m, heads, size] and f[m, heads, values] of "
                    "one example",
                loc);
  const auto mask =
      allowed("dot_product_attention", options, query.dim(1), query.dim(0), key.dim(0), loc);
  return mixed(weights_of(query, key, mask, loc), value, loc);
}

MultiheadAttention MultiheadAttention::make(Dim heads, Dim query_size, Key key,
                                            MultiheadAttentionOptions o, Loc loc) {
  detail::check_sizes(layer_name, {{"heads", heads}, {"query_size", query_size}}, 1, loc);
  const Dim qk = o.qk_size.value_or(query_size / heads),
            vo = o.vo_size.value_or(query_size / heads);
  detail::check_sizes(layer_name, {{"qk_size", qk}, {"vo_size", vo}}, 1, loc);
  const Keys keys = random::split(std::move(key), 4, loc);
  const auto map = [&](Dim i, Dim in, Dim out, bool use_bias) {
    return Linear::make(in, out, keys[i], {use_bias, o.dtype}, loc);
  };
  MultiheadAttention layer{
      map(0, query_size, heads * qk, o.use_query_bias),
      map(1, o.key_size.value_or(query_size), heads * qk, o.use_key_bias),
      map(2, o.value_size.value_or(query_size), heads * vo, o.use_value_bias),
      map(3, heads * vo, o.output_size.value_or(query_size), o.use_output_bias),
      {o.dropout_p, o.inference},
      heads};
  if (o.rotary) {
    if (qk % 2 != 0)
      detail::fail(layer_name,
                   "heads of " + std::to_string(qk) +
                       " features, and `rotary` turns them in pairs; choose an even qk_size",
                   loc);
    layer.rotary = {qk, o.theta};
  }
  return layer;
}

Array MultiheadAttention::operator()(Operand query, Operand key, Operand value,
                                     AttentionOptions options) const {
  if (dropout.draws())
    detail::fail(layer_name,
                 "it leaves weights out at random and was given no key; pass one, layer(q, k, v, "
                 "std::move(key)), or set `dropout.inference` to leave none out",
                 query.loc());
  return attend(*this, query, key, value, nullptr, options);
}

Array MultiheadAttention::operator()(Operand query, Operand key, Operand value, Key draws,
                                     AttentionOptions options) const {
  return attend(*this, query, key, value, &draws, options);
}

KeyValueCache MultiheadAttention::cache(Dim capacity, Loc loc) const {
  detail::check_sizes(layer_name, {{"capacity", capacity}}, 1, loc);
  const auto room = [&](const Linear& map) {
    return zeros({capacity, heads, map.weight.dim(0) / heads}, map.weight.dtype(), loc);
  };
  return {room(key_proj), room(value_proj), zeros({}, DType::i32, loc)};
}

std::pair<Array, KeyValueCache> MultiheadAttention::decode(Operand x,
                                                           const KeyValueCache& before) const {
  const Loc loc = x.loc();
  const auto decoded = [&](const Array& in, const KeyValueCache& old) {
    const Heads h = heads_of(*this, in, in, in, {old.length, loc}, loc);
    const Dim n = in.dim(0), capacity = old.key.dim(0);
    if (n > capacity)
      detail::fail(layer_name,
                   std::to_string(n) + " positions for a cache of " + std::to_string(capacity) +
                       "; make it as large as the longest sequence",
                   loc);
    const auto with = [&](const Array& room, const Array& added) {
      return dynamic_update_slice({room, loc}, {cast({added, loc}, room.dtype()), loc},
                                  {{old.length, loc}, {0, loc}, {0, loc}});
    };
    KeyValueCache after{with(old.key, h.key), with(old.value, h.value),
                        add({old.length, loc}, {n, loc})};
    const Array mask = not_after(n, capacity, {old.length, loc}, loc);
    const Array weights = weights_of(h.query, after.key, mask, loc);
    return std::pair{output(*this, mixed(weights, after.value, loc), loc), std::move(after)};
  };
  return gnomon::detail::as_one_program(decoded, loc, detail::array_of(x), before);
}

}  // namespace gnomon::nn
