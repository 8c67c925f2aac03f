// codegen/ops/random.cpp -- keys, bits, and the draws JAX's other distributions are made
// of: uniform, normal, bernoulli, rademacher, randint.
#include <cmath>
#include <limits>
#include <numbers>

#include "codegen/lax/align.h"
#include "codegen/ops/random_draws.h"
#include "codegen/trace/eager.h"

namespace gnomon {

using random::Mode;

namespace {

constexpr DType u32 = DType::u32;

/// Words of a key, each broadcast to `shape`.
struct Words {
  Array first, second;
};
Words words_of(const Key& key, const Shape& shape, Loc loc) {
  const Array& words = key.words();
  const auto word = [&](Dim i) {
    const Array w = lax::reshape(lax::slice_axis(words, 0, i, i + 1, loc), {}, loc);
    return lax::broadcast(w, shape, {}, loc);
  };
  return {word(0), word(1)};
}

Words encrypt(const Key& key, const Array& x0, const Array& x1, Loc loc) {
  const Words k = words_of(key, x0.shape(), loc);
  const Arrays y = emit(threefry2x32_p, {}, {k.first, k.second, x0, x1}, loc);
  return {y[0], y[1]};
}

/// Encrypts the counters at `positions`, as the partitionable mode does.
Words encrypt_positions(const Key& key, const Array& positions, Loc loc) {
  return encrypt(key, lax::zeros_like(positions, loc), positions, loc);
}

/// The original mode encrypts the counters 0 ... count - 1 in pairs, the first half of them with
/// the second; an odd count has a zero at the end. Words `positions` of the result.
Array words_of_halves(const Key& key, const Array& positions, Dim count, Loc loc) {
  const Dim half = (count + 1) / 2;
  const auto number = [&](Dim n) { return lax::full_like(positions, static_cast<double>(n), loc); };
  const Array in_first = lax::lt(positions, number(half), loc);
  const Array x0 = lax::select(in_first, positions, lax::sub(positions, number(half), loc), loc);
  Array x1 = lax::add(x0, number(half), loc);
  if (count % 2 == 1)
    x1 = lax::select(lax::lt(x1, number(count), loc), x1, lax::zeros_like(x1, loc), loc);
  const Words y = encrypt(key, x0, x1, loc);
  return lax::select(in_first, y.first, y.second, loc);
}

Array positions_of(std::string_view op, const Shape& shape, Loc loc) {
  for (Dim d : shape)
    if (d < 0) usage_error(op, "shape " + to_string(shape) + " has a negative size", loc);
  return lax::reshape(lax::iota(u32, {shape.size()}, 0, loc), shape, loc);
}

/// Two u32[] words as a key.
Key join(const Array& first, const Array& second, Mode mode, Loc loc) {
  return Key(
      lax::concatenate({lax::reshape(first, {1}, loc), lax::reshape(second, {1}, loc)}, 0, loc),
      mode, loc);
}

Array shift_left(const Array& a, double n, Loc loc) {
  return emit1(shl_p, {}, {a, lax::full_like(a, n, loc)}, loc);
}
Array shift_right(const Array& a, double n, Loc loc) {
  return emit1(shr_p, {}, {a, lax::full_like(a, n, loc)}, loc);
}
Array bit_or(const Array& a, const Array& b, Loc loc) { return emit1(or_p, {}, {a, b}, loc); }
Array bit_and(const Array& a, double mask, Loc loc) {
  return emit1(and_p, {}, {a, lax::full_like(a, mask, loc)}, loc);
}

Array join_words(const Array& high, const Array& low, Loc loc) {
  return bit_or(shift_left(lax::convert(high, DType::u64, loc), 32, loc),
                lax::convert(low, DType::u64, loc), loc);
}

/// How a float is made of random bits: `word` is drawn, of which all but the last `dropped` bits
/// are the mantissa.
struct UnitLayout {
  DType word, bits;  // as drawn, and as wide as the float
  int dropped;
  std::int64_t one;  // the bits of 1
  double below_one;  // the largest float below 1
};
UnitLayout unit_layout(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {DType::u64, DType::u64, 12, 0x3FF0000000000000, 1 - 0x1p-53};
    case DType::f16:
      return {DType::u16, DType::u16, 6, 0x3C00, 1 - 0x1p-11};
    case DType::bf16:  // with its 7 bits of mantissa, 8 random ones are enough
      return {DType::u8, DType::u16, 1, 0x3F80, 1 - 0x1p-8};
    default:
      return {u32, u32, 9, 0x3F800000, 1 - 0x1p-24};
  }
}

/// Mantissas from the top bits, exponents of [1, 2): floats in [0, 1).
Array unit_interval(const Array& raw, DType dtype, Loc loc) {
  const UnitLayout layout = unit_layout(dtype);
  const Array word = raw.dtype() == layout.bits ? raw : lax::convert(raw, layout.bits, loc);
  const Array exponent =
      lax::broadcast(lax::scalar_integer(layout.bits, layout.one, loc), raw.shape(), {}, loc);
  const Array x =
      lax::bitcast(bit_or(shift_right(word, layout.dropped, loc), exponent, loc), dtype, loc);
  return lax::add(x, -1, loc);
}

Array uniform_of(std::string_view op, const Array& raw, const Operand& lo, const Operand& hi,
                 DType dtype, Loc loc) {
  const Array unit = unit_interval(raw, dtype, loc);
  const auto is_number = [](const Operand& x, double value) {
    return !x.is_array() && x.scalar().floating == value;
  };
  if (is_number(lo, 0) && is_number(hi, 1)) return unit;
  const Array low = draws::parameter(op, lo, raw.shape(), dtype);
  const Array high = draws::parameter(op, hi, raw.shape(), dtype);
  const Array scaled = lax::add(lax::mul(unit, lax::sub(high, low, loc), loc), low, loc);
  return emit1(max_p, {}, {low, scaled}, loc);
}

Array normal_of(const Array& raw, DType dtype, Loc loc) {
  // Open at -1, where the inverse error function is infinite.
  const double above = -unit_layout(dtype).below_one;
  const Array u = uniform_of("random::normal", raw, {above, loc}, {1.0, loc}, dtype, loc);
  return lax::mul(draws::erf_inv(u, loc), std::numbers::sqrt2, loc);
}

void require_words(std::string_view what, const Array& words, int rank, Loc loc) {
  if (words.dtype() != u32 || words.rank() != rank || words.dim(-1) != 2)
    usage_error(what,
                "is made of " + std::string(rank == 1 ? "u32[2]" : "u32[n,2]") + ", got " +
                    to_string(words.aval()) + "; random::key(seed) makes one",
                loc);
}

}  // namespace

Key::Key(const Array& words, Loc loc) : Key(words, Mode::partitionable, loc) {}
Key::Key(const Array& words, Mode mode, Loc loc) : words_(words), mode_(mode) {
  require_words("Key", words, 1, loc);
}
Keys::Keys(const Array& words, Loc loc) : Keys(words, Mode::partitionable, loc) {}
Keys::Keys(const Array& words, Mode mode, Loc loc) : words_(words), mode_(mode) {
  require_words("Keys", words, 2, loc);
}

Key Keys::operator[](Dim i) const { return Key(words_[i], mode_); }

Key Keys::as_element() const {
  Key key;
  key.words_ = words_;
  key.mode_ = mode_;
  return key;
}
Keys Key::as_stacked() const {
  Keys keys;
  keys.words_ = words_;
  keys.mode_ = mode_;
  return keys;
}

namespace draws {

void require_float(std::string_view op, DType t, Loc loc) {
  if (t != DType::f32 && t != DType::f64)
    usage_error(op, "draws f32 or f64, not " + std::string(name(t)) + "; cast the result", loc);
}

Array parameter(std::string_view op, const Operand& x, const Shape& shape, DType dtype) {
  return align::broadcast(op, align::in_dtype(op, x, dtype), shape, x.loc());
}

Array counted(const Array& x, Loc loc) {
  const Array most =
      lax::full({DType::i32, x.shape()}, std::numeric_limits<std::int32_t>::max(), loc);
  const Array too_many = emit1(ge_p, {}, {x, lax::full_like(x, 0x1p31, loc)}, loc);
  // What is out of range converts to anything.
  const Array rest = lax::select(too_many, lax::zeros_like(x, loc), x, loc);
  return lax::select(too_many, most, lax::convert(rest, DType::i32, loc), loc);
}

Array erf_inv(const Array& x, Loc loc) { return lax::unary(erf_inv_giles_p, x, loc); }

Array bits_at(const Key& key, const Array& positions, Dim size, DType dtype, Loc loc) {
  const unsigned width = bits_of(dtype);
  if (key.mode() == Mode::partitionable) {
    const Words x = encrypt_positions(key, positions, loc);
    if (width == 64) return join_words(x.first, x.second, loc);
    return lax::convert(emit1(xor_p, {}, {x.first, x.second}, loc), dtype, loc);
  }
  if (width == 64) {
    const Array second = lax::add(positions, static_cast<double>(size), loc);
    return join_words(words_of_halves(key, positions, 2 * size, loc),
                      words_of_halves(key, second, 2 * size, loc), loc);
  }
  if (width == 32) return words_of_halves(key, positions, size, loc);
  // Several to a word, the low bits first.
  const unsigned log2 = width == 16 ? 1 : 2;
  const Dim count = (size + (1 << log2) - 1) >> log2;
  const Array word = words_of_halves(key, shift_right(positions, log2, loc), count, loc);
  const Array distance =
      lax::mul(bit_and(positions, (1 << log2) - 1, loc), static_cast<double>(width), loc);
  return lax::convert(bit_and(emit1(shr_p, {}, {word, distance}, loc), (1u << width) - 1, loc),
                      dtype, loc);
}

Array uniform_at(const Key& key, const Array& positions, Dim size, DType dtype, Loc loc) {
  return unit_interval(bits_at(key, positions, size, unit_layout(dtype).word, loc), dtype, loc);
}

}  // namespace draws

namespace random {

std::string_view name(Mode mode) {
  return mode == Mode::partitionable ? "partitionable" : "original";
}

std::array<std::uint32_t, 2> seed_words(std::int64_t seed) {
  // Seeds of 32 bits, signed or not, have a zero in front; wider ones use both words.
  const bool narrow = seed >= std::numeric_limits<std::int32_t>::min() &&
                      seed <= std::numeric_limits<std::uint32_t>::max();
  const auto bits = static_cast<std::uint64_t>(seed);
  return {narrow ? 0 : static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
}

Key key(std::int64_t seed, Loc loc) { return key(seed, Mode::partitionable, loc); }
Key key(std::int64_t seed, Mode mode, Loc loc) {
  const auto [first, second] = seed_words(seed);
  HostArray words(Aval{u32, {2}});
  words.set_integer(0, first);
  words.set_integer(1, second);
  return Key(made("random::key", loc, [&] { return lax::constant(std::move(words), loc); }), mode,
             loc);
}

Key key(const Array& seed, Loc loc) { return key(seed, Mode::partitionable, loc); }
Key key(const Array& seed, Mode mode, Loc loc) {
  if (seed.rank() != 0 || (seed.dtype() != DType::i32 && seed.dtype() != u32))
    usage_error("random::key", "a seed is i32[] or u32[], got " + to_string(seed.aval()), loc);
  return join(lax::scalar(u32, 0, loc), lax::convert(seed, u32, loc), mode, loc);
}

Keys split(Key key, Dim count, Loc loc) {
  if (count < 0) usage_error("random::split", "into " + std::to_string(count) + " keys", loc);
  const auto words = [&] {
    if (count == 0) return lax::full({u32, {0, 2}}, 0, loc);
    if (key.mode() == Mode::original) {
      const Array positions = positions_of("random::split", {count, 2}, loc);
      return words_of_halves(key, positions, 2 * count, loc);
    }
    const Words x = encrypt_positions(key, positions_of("random::split", {count, 1}, loc), loc);
    return lax::concatenate({x.first, x.second}, 1, loc);
  };
  return Keys(at_once("random::split", loc, words), key.mode(), loc);
}

Key fold_in(const Key& key, Operand data) {
  const Loc loc = data.loc();
  // Of numbers the word that is asked for, so that all of u32 fit as well as all of i32.
  const bool word = !data.is_array() && data.scalar().kind == Scalar::Kind::integer &&
                    align::holds(u32, data.scalar());
  const Array x = word ? align::in_dtype("random::fold_in", data, u32)
                       : align::as_array("random::fold_in", data);
  if (x.rank() != 0 || !is_integer(x.dtype()))
    usage_error("random::fold_in", "takes one integer, got " + to_string(x.aval()), loc);
  const Words y = encrypt_positions(key, lax::convert(x, u32, loc), loc);
  return join(y.first, y.second, key.mode(), loc);
}

Array bits(Key key, const Shape& shape, DType dtype, Loc loc) {
  if (!is_unsigned(dtype))
    usage_error(
        "random::bits",
        "draws unsigned integers, not " + std::string(gnomon::name(dtype)) + "; bitcast the result",
        loc);
  return at_once("random::bits", loc, [&] {
    const Array positions = positions_of("random::bits", shape, loc);
    return draws::bits_at(key, positions, shape.size(), dtype, loc);
  });
}

namespace {

void require_any_float(std::string_view op, DType t, Loc loc) {
  if (!is_float(t))
    usage_error(op, "draws floats, not " + std::string(gnomon::name(t)) + "; cast the result", loc);
}

}  // namespace

Array uniform(Key key, const Shape& shape, Operand lo, Operand hi, DType dtype) {
  const Loc loc = lo.loc();
  return at_once("random::uniform", loc, [&]() -> Array {
    require_any_float("random::uniform", dtype, loc);
    const Array raw = bits(std::move(key), shape, unit_layout(dtype).word, loc);
    return uniform_of("random::uniform", raw, lo, hi, dtype, loc);
  });
}

Array normal(Key key, const Shape& shape, DType dtype, Loc loc) {
  require_any_float("random::normal", dtype, loc);
  return at_once("random::normal", loc, [&] {
    return normal_of(bits(std::move(key), shape, unit_layout(dtype).word, loc), dtype, loc);
  });
}

Array bernoulli(Key key, Operand p, const Shape& shape) {
  const Loc loc = p.loc();
  return at_once("random::bernoulli", loc, [&]() -> Array {
    const Array chance = align::as_float("random::bernoulli", p);
    const Array u = uniform(std::move(key), shape, {0.0, loc}, {1.0, loc}, chance.dtype());
    return lax::lt(u, align::broadcast("random::bernoulli", chance, shape, loc), loc);
  });
}

Array rademacher(Key key, const Shape& shape, DType dtype, Loc loc) {
  if (!is_float(dtype) && !is_signed(dtype))
    usage_error("random::rademacher", "-1 does not fit " + std::string(gnomon::name(dtype)), loc);
  const Array heads = bernoulli(std::move(key), {0.5, loc}, shape);
  const Aval aval{dtype, shape};
  return lax::select(heads, lax::full(aval, 1, loc), lax::full(aval, -1, loc), loc);
}

Array randint(Key key, const Shape& shape, Operand lo, Operand hi, DType dtype) {
  const Loc loc = lo.loc();
  return at_once("random::randint", loc, [&]() -> Array {
    if (!is_integer(dtype))
      usage_error("random::randint", "draws integers, not " + std::string(gnomon::name(dtype)),
                  loc);
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
  });
}

}  // namespace random
}  // namespace gnomon
