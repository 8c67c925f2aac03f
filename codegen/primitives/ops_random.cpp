// codegen/primitives/ops_random.cpp -- keys and distributions on top of threefry2x32.
#include <cmath>
#include <limits>
#include <numbers>

#include "codegen/primitives/align.h"
#include "gnomon/random.h"

namespace gnomon {
namespace {

constexpr DType u32 = DType::u32;

/// Words of a key, each broadcast to `shape`.
struct Words {
  Array high, low;
};
Words words_of(const Key& key, const Shape& shape, Loc loc) {
  const Array& words = key.words();
  const auto word = [&](Dim i) {
    const Array w = lax::reshape(lax::slice_axis(words, 0, i, i + 1, loc), {}, loc);
    return lax::broadcast(w, shape, {}, loc);
  };
  return {word(0), word(1)};
}

/// Encrypts the counters 0, 1, 2, ... of an array of `shape`.
Words draw(std::string_view op, const Key& key, const Shape& shape, Loc loc) {
  for (Dim d : shape)
    if (d < 0) usage_error(op, "shape " + to_string(shape) + " has a negative size", loc);
  const Words k = words_of(key, shape, loc);
  const Array count = lax::reshape(lax::iota(u32, {shape.size()}, 0, loc), shape, loc);
  const Arrays x =
      emit(threefry2x32_p, {}, {k.high, k.low, lax::full({u32, shape}, 0, loc), count}, loc);
  return {x[0], x[1]};
}

/// Two u32[] words as a key.
Key join(const Array& high, const Array& low, Loc loc) {
  return Key(lax::concatenate({lax::reshape(high, {1}, loc), lax::reshape(low, {1}, loc)}, 0, loc),
             loc);
}

Array shift_right(const Array& a, double n, Loc loc) {
  return emit1(shr_p, {}, {a, lax::full_like(a, n, loc)}, loc);
}
Array bit_or(const Array& a, const Array& b, Loc loc) { return emit1(or_p, {}, {a, b}, loc); }

void require_float(std::string_view op, DType t, Loc loc) {
  if (t != DType::f32 && t != DType::f64)
    usage_error(op, "draws f32 or f64, not " + std::string(name(t)) + "; cast the result", loc);
}

/// Mantissas from the top bits, exponents of [1, 2): floats in [0, 1).
Array unit_interval(const Key& key, const Shape& shape, DType dtype, Loc loc) {
  const bool wide = dtype == DType::f64;
  const Array raw = random::bits(key.clone(), shape, wide ? DType::u64 : u32, loc);
  const std::int64_t one = wide ? 0x3FF0000000000000 : 0x3F800000;
  const Array exponent = lax::broadcast(lax::scalar_integer(raw.dtype(), one, loc), shape, {}, loc);
  const Array x =
      lax::bitcast(bit_or(shift_right(raw, wide ? 12 : 9, loc), exponent, loc), dtype, loc);
  return lax::add(x, -1, loc);
}

bool is_number(const Operand& x, double value) {
  return !x.is_array() && x.scalar().floating == value;
}

void require_words(std::string_view what, const Array& words, int rank, Loc loc) {
  if (words.dtype() != u32 || words.rank() != rank || words.dim(-1) != 2)
    usage_error(what,
                "is made of " + std::string(rank == 1 ? "u32[2]" : "u32[n,2]") + ", got " +
                    to_string(words.aval()) + "; random::key(seed) makes one",
                loc);
}

}  // namespace

Key::Key(const Array& words, Loc loc) : words_(words) { require_words("Key", words, 1, loc); }
Keys::Keys(const Array& words, Loc loc) : words_(words) { require_words("Keys", words, 2, loc); }

Key Keys::operator[](Dim i) const { return Key(words_[i]); }

namespace random {

Key key(std::int64_t seed, Loc loc) {
  // Seeds of 32 bits, signed or not, have a zero in front; wider ones use both words.
  const bool narrow = seed >= std::numeric_limits<std::int32_t>::min() &&
                      seed <= std::numeric_limits<std::uint32_t>::max();
  HostArray words(Aval{u32, {2}});
  words.set_integer(0, narrow ? 0 : seed >> 32);
  words.set_integer(1, seed & 0xffffffff);
  return Key(lax::constant(std::move(words), loc), loc);
}

Key key(const Array& seed, Loc loc) {
  if (seed.rank() != 0 || (seed.dtype() != DType::i32 && seed.dtype() != u32))
    usage_error("random::key", "a seed is i32[] or u32[], got " + to_string(seed.aval()), loc);
  return join(lax::scalar(u32, 0, loc), lax::convert(seed, u32, loc), loc);
}

Keys split(Key key, Dim count, Loc loc) {
  if (count < 1) usage_error("random::split", "into " + std::to_string(count) + " keys", loc);
  const Words x = draw("random::split", key, {count}, loc);
  return Keys(
      lax::concatenate(
          {lax::reshape(x.high, {count, 1}, loc), lax::reshape(x.low, {count, 1}, loc)}, 1, loc),
      loc);
}

Key fold_in(const Key& key, Operand data) {
  const Loc loc = data.loc();
  const Array x = align::as_array("random::fold_in", data);
  if (x.rank() != 0 || !is_integer(x.dtype()))
    usage_error("random::fold_in", "takes one integer, got " + to_string(x.aval()), loc);
  const Words k = words_of(key, {}, loc);
  const Arrays y = emit(threefry2x32_p, {},
                        {k.high, k.low, lax::scalar(u32, 0, loc), lax::convert(x, u32, loc)}, loc);
  return join(y[0], y[1], loc);
}

Array bits(Key key, const Shape& shape, DType dtype, Loc loc) {
  if (!is_unsigned(dtype))
    usage_error("random::bits",
                "draws unsigned integers, not " + std::string(name(dtype)) + "; bitcast the result",
                loc);
  const Words x = draw("random::bits", key, shape, loc);
  if (dtype != DType::u64) {
    const Array mixed = emit1(xor_p, {}, {x.high, x.low}, loc);
    return lax::convert(mixed, dtype, loc);
  }
  const Array high = lax::convert(x.high, dtype, loc);
  const Array shifted = emit1(shl_p, {}, {high, lax::full_like(high, 32, loc)}, loc);
  return bit_or(shifted, lax::convert(x.low, dtype, loc), loc);
}

Array uniform(Key key, const Shape& shape, Operand lo, Operand hi, DType dtype) {
  const Loc loc = lo.loc();
  require_float("random::uniform", dtype, loc);
  const Array unit = unit_interval(key, shape, dtype, loc);
  if (is_number(lo, 0) && is_number(hi, 1)) return unit;
  const auto bound = [&](const Operand& x) {
    return align::broadcast("random::uniform", align::in_dtype("random::uniform", x, dtype), shape,
                            loc);
  };
  const Array low = bound(lo), high = bound(hi);
  const Array scaled = lax::add(lax::mul(unit, lax::sub(high, low, loc), loc), low, loc);
  return emit1(max_p, {}, {low, scaled}, loc);
}

Array normal(Key key, const Shape& shape, DType dtype, Loc loc) {
  require_float("random::normal", dtype, loc);
  // Open at -1, where the inverse error function is infinite.
  const double above = dtype == DType::f64 ? std::nextafter(-1.0, 0.0)
                                           : static_cast<double>(std::nextafter(-1.0f, 0.0f));
  const Array u = uniform(std::move(key), shape, {above, loc}, {1.0, loc}, dtype);
  return lax::mul(lax::unary(erf_inv_p, u, loc), std::numbers::sqrt2, loc);
}

Array bernoulli(Key key, Operand p, const Shape& shape) {
  const Loc loc = p.loc();
  const Array chance = align::as_float("random::bernoulli", p);
  require_float("random::bernoulli", chance.dtype(), loc);
  const Array u = uniform(std::move(key), shape, {0.0, loc}, {1.0, loc}, chance.dtype());
  return lax::lt(u, align::broadcast("random::bernoulli", chance, shape, loc), loc);
}

Array rademacher(Key key, const Shape& shape, DType dtype, Loc loc) {
  if (!is_float(dtype) && !is_signed(dtype))
    usage_error("random::rademacher", "-1 does not fit " + std::string(name(dtype)), loc);
  const Array heads = bernoulli(std::move(key), {0.5, loc}, shape);
  const Aval aval{dtype, shape};
  return lax::select(heads, lax::full(aval, 1, loc), lax::full(aval, -1, loc), loc);
}

Array randint(Key key, const Shape& shape, Operand lo, Operand hi, DType dtype) {
  const Loc loc = lo.loc();
  if (!is_integer(dtype))
    usage_error("random::randint", "draws integers, not " + std::string(name(dtype)), loc);
  const bool wide = bits_of(dtype) == 64;
  const DType word = wide ? DType::u64 : u32;
  // Bounds as C++ numbers may name the whole range of the dtype: `hi` one past its largest value.
  const auto bound = [&](const Operand& x) {
    const DType t = is_signed(dtype) ? (wide ? DType::i64 : DType::i32) : word;
    return align::broadcast("random::randint", align::in_dtype("random::randint", x, t), shape,
                            loc);
  };
  const std::int64_t beyond = std::int64_t{1} << (is_signed(dtype) ? 31 : 32);
  const bool past_end = !wide && !hi.is_array() && hi.scalar().integer == beyond;
  const Array first = bound(lo), last = bound(past_end ? Operand(beyond - 1, loc) : hi);
  const Array empty = emit1(le_p, {}, {last, first}, loc);
  Array span = lax::sub(lax::convert(last, word, loc), lax::convert(first, word, loc), loc);
  if (past_end) span = lax::add(span, 1, loc);
  span = lax::select(empty, lax::full_like(span, 1, loc), span, loc);

  // The high word counts 2^w (mod span) times: two draws make the result nearly even.
  const auto mod = [&](const Array& a) { return emit1(rem_p, {}, {a, span}, loc); };
  const Array half = mod(lax::full_like(span, wide ? 4294967296.0 : 65536.0, loc));
  const Array multiplier = mod(lax::mul(half, half, loc));
  const Keys keys = split(std::move(key), 2, loc);
  const Array high = mod(bits(keys[0], shape, word, loc));
  const Array low = mod(bits(keys[1], shape, word, loc));
  const Array offset = mod(lax::add(lax::mul(high, multiplier, loc), low, loc));
  return lax::convert(lax::add(first, lax::convert(offset, first.dtype(), loc), loc), dtype, loc);
}

}  // namespace random
}  // namespace gnomon
