// shaders/passes/legalize.cpp -- one case per kind of instruction; arithmetic is in narrow and
// pair, memory in packed.
#include "shaders/passes/legalize.h"

#include <algorithm>
#include <optional>

#include "shaders/passes/affine.h"
#include "shaders/passes/narrow.h"
#include "shaders/passes/packed.h"
#include "shaders/passes/pair.h"
#include "shaders/passes/pair_memory.h"
#include "shaders/passes/rewrite.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

bool is_packed(DType t) { return size_of(t) < 4; }
bool is_wide_integer(DType t) { return t == DType::i64 || t == DType::u64; }

bool tests_double(const Instruction& i, const Kernel& k) {
  return (i.op == Op::is_nan || i.op == Op::is_inf) && k.type(i.operands[0]).scalar == DType::f64;
}

/// What a value of the source is here.
struct Legal {
  Value low;   // the value as it is carried, or the low word of a pair
  Value high;  // the high word
  Value bits;  // of a 16-bit float, where they are known: what is only moved is not converted
};
using Legals = std::vector<Legal>;

class Legalizer {
 public:
  Legalizer(const Kernel& source, Builder& out, LegalizeOptions options)
      : source_(source),
        out_(out),
        options_(options),
        facts_(analyse(source, {Op::invocation, 1})),
        map_(source.types.size()),
        shared_(source.buffers.size(), false) {
    header();
    note_shared(source.body);
  }

  void run() { copy(source_.body); }

 private:
  bool is_pair(DType t) const { return is_wide_integer(t) && !options_.int64; }
  bool changes(DType t) const { return is_narrow(t) || is_pair(t); }
  DType scalar(Value v) const { return source_.type(v).scalar; }
  std::uint8_t width(Value v) const { return source_.type(v).width; }

  // ---- header

  void header() {
    copy_header(source_, out_);
    Kernel& k = out_.kernel();
    for (Buffer& b : k.buffers) {
      if (is_packed(b.dtype) || is_pair(b.dtype)) b.dtype = DType::u32;
    }
    for (auto [from, to, first] : {std::tuple(&source_.privates, &k.privates, &first_private_),
                                   std::tuple(&source_.shareds, &k.shareds, &first_shared_)}) {
      to->clear();
      for (const LocalArray& a : *from) {
        first->push_back(static_cast<std::uint32_t>(to->size()));
        const DType t = is_pair(a.dtype) ? DType::u32 : carrier(a.dtype);
        to->push_back({t, a.length});
        if (is_pair(a.dtype)) to->push_back({t, a.length});
      }
    }
  }

  /// Buffers of which some store writes a part of a word that others may write as well.
  void note_shared(const Region& region) {
    for (const Instruction& i : region.body) {
      if (i.op == Op::store && !options_.alone) {
        const Type t = source_.type(i.operands[1]);
        const bool whole = starts_word(i) && width(i.operands[0]) == 1 &&
                           t.width * size_of(t.scalar) >= 4 &&
                           (i.operands.size() < 3 || width(i.operands[2]) == 1);
        if (is_packed(t.scalar) && !whole) shared_[i.immediate] = true;
      }
      for (const Region& r : i.regions) note_shared(r);
    }
  }

  /// Whether the first element of an access is known to be the first of its word.
  bool starts_word(const Instruction& i) const {
    const std::uint8_t known = facts_[i.operands[0]].alignment_everywhere();
    const std::uint32_t elements = std::uint32_t{1} << std::min<std::uint8_t>(known, 2);
    return elements * size_of(source_.buffers[i.immediate].dtype) >= 4;
  }

  // ---- values

  const Legal& at(Value v) const { return map_[v.index]; }
  Value low(Value v) const { return at(v).low; }
  Pair pair(Value v) const { return {at(v).low, at(v).high}; }
  static Legal legal(Pair p) { return {p.low, p.high, {}}; }

  /// The bits of a narrow value or a bool, zero-extended in u32.
  Value bits(Value v) {
    const DType t = scalar(v);
    if (t == DType::boolean) return out_.convert(low(v), DType::u32);
    if (!is_half(t)) return low_bits(out_, low(v), t);
    return at(v).bits.valid() ? at(v).bits : encode_half(out_, low(v), t);
  }

  /// A narrow value or a bool from a u32 that has its bits below others.
  Legal from_bits(Value word, DType t) {
    if (is_half(t)) {
      const Value own = out_.land(word, out_.constant({DType::u32, out_.type(word).width}, 0xffff));
      return {decode_half(out_, own, t), {}, own};
    }
    if (t == DType::boolean) return {out_.convert(wrap(out_, word, DType::u8), t), {}, {}};
    return {wrap(out_, out_.bitcast(word, carrier(t)), t), {}, {}};
  }

  // Values that regions take and give: the words of pairs one after the other.
  Values flat(std::span<const Value> values) const {
    Values r;
    for (Value v : values) {
      r.push_back(low(v));
      if (is_pair(scalar(v))) r.push_back(at(v).high);
    }
    return r;
  }
  void map_flat(std::span<const Value> from, std::span<const Value> to) {
    std::size_t next = 0;
    for (Value v : from) {
      Legal& l = map_[v.index] = {to[next++], {}, {}};
      if (is_pair(scalar(v))) l.high = to[next++];
    }
  }

  // ---- instructions

  void copy(const Region& region) {
    for (const Instruction& i : region.body) visit(i);
  }

  void visit(const Instruction& i) {
    std::optional<Builder::Exactly> exactly;
    if (i.exact) exactly.emplace(out_);
    if (i.line != 0) {
      const SourceLine& line = source_.lines[i.line - 1];
      out_.at_line(line.file, line.line);
    }
    switch (i.op) {
      case Op::loop:
        return loop(i);
      case Op::if_:
        return branch(i);
      case Op::load:
      case Op::private_load:
      case Op::shared_load:
        map_[i.results[0].index] = load(i);
        return;
      case Op::store:
      case Op::private_store:
      case Op::shared_store:
        return store(i);
      default:
        break;
    }
    if (!options_.int64 && tests_double(i, source_)) {
      map_[i.results[0].index] = {test_double(i), {}, {}};
      return;
    }
    const bool touched = std::any_of(i.operands.begin(), i.operands.end(),
                                     [&](Value v) { return changes(scalar(v)); }) ||
                         std::any_of(i.results.begin(), i.results.end(),
                                     [&](Value v) { return changes(scalar(v)); });
    if (!touched) {
      const Value result = like(i, flat(i.operands));
      if (!i.results.empty()) map_[i.results[0].index] = {result, {}, {}};
      return;
    }
    map_[i.results[0].index] = pure(i);
  }

  Value like(const Instruction& i, const Values& operands) {
    return emit_like(out_, source_, i, operands,
                     i.results.empty() ? std::uint8_t{1} : width(i.results[0]));
  }

  void loop(const Instruction& i) {
    const auto enter = [&](const Region& region, std::span<const Value> carried) {
      map_flat(region.arguments, carried);
      copy(region);
      return flat(region.yields);
    };
    const Values init = flat(i.operands);
    const Values results = out_.loop(
        init, i.immediate,
        [&](std::span<const Value> carried) { return enter(i.regions[0], carried)[0]; },
        [&](std::span<const Value> carried) { return enter(i.regions[1], carried); });
    map_flat(i.results, results);
  }

  void branch(const Instruction& i) {
    const auto side = [&](const Region& region) {
      copy(region);
      return flat(region.yields);
    };
    const Values results = out_.if_(
        low(i.operands[0]), [&] { return side(i.regions[0]); }, [&] { return side(i.regions[1]); });
    map_flat(i.results, results);
  }

  /// is_nan and is_inf of an f64 look at its bits, which are two words here.
  Value test_double(const Instruction& i) {
    const Value x = low(i.operands[0]);
    const auto word = [&](std::uint64_t n) {
      return out_.constant({DType::u32, out_.type(x).width}, n);
    };
    const Value high = out_.land(out_.high_word(x), word(0x7fffffff)), infinite = word(0x7ff00000);
    const Value ends = out_.compare(Op::eq, high, infinite);
    const Value rest = out_.low_word(x);
    if (i.op == Op::is_inf) return out_.land(ends, out_.compare(Op::eq, rest, word(0)));
    return out_.lor(out_.compare(Op::gt, high, infinite),
                    out_.land(ends, out_.compare(Op::ne, rest, word(0))));
  }

  // ---- arithmetic on at least one type that changes

  Legal pure(const Instruction& i) {
    const DType t = scalar(i.results[0]);
    switch (i.op) {
      case Op::constant:
        return constant(t, i.immediate);
      case Op::select:
        return select(i);
      case Op::convert:
        return convert(i);
      case Op::bitcast:
        return bitcast(i);
      case Op::low_word:
        return {at(i.operands[0]).low, {}, {}};
      case Op::high_word:
        return {at(i.operands[0]).high, {}, {}};
      case Op::from_words:
        return {low(i.operands[0]), low(i.operands[1]), {}};
      case Op::splat:
      case Op::extract:
      case Op::construct:
        return componentwise(i);
      default:
        break;
    }
    const DType from = scalar(i.operands[0]);
    if (is_pair(from)) return pair_arithmetic(i, is_signed(from));
    Values operands = flat(i.operands);
    if (i.op == Op::popcount) operands[0] = low_bits(out_, operands[0], t);
    if (i.op == Op::shl || i.op == Op::shr) {
      const Value most = out_.constant(out_.type(operands[1]), bits_of(t) - 1);
      operands[1] = out_.land(operands[1], most);
    }
    const Value result = like(i, operands);
    if (t == DType::boolean) return {result, {}, {}};
    if (i.op == Op::popcount) return {out_.bitcast(result, carrier(t)), {}, {}};
    return {settled(i.op, result, t), {}, {}};
  }

  /// The result of an operation on carried values, brought back into its type where it may have
  /// left it.
  Value settled(Op op, Value result, DType t) {
    switch (op) {
      case Op::minimum:
      case Op::maximum:
      case Op::rem:
      case Op::band:
      case Op::bor:
      case Op::bxor:
      case Op::shr:
        return result;
      case Op::neg:
      case Op::abs:
      case Op::floor:
      case Op::ceil:
      case Op::round_even:
      case Op::trunc:
        if (is_half(t)) return result;
        break;
      default:
        break;
    }
    return is_half(t) ? round_half(out_, result, t) : wrap(out_, result, t);
  }

  Legal pair_arithmetic(const Instruction& i, bool with_sign) {
    const Pair x = pair(i.operands[0]);
    if (i.operands.size() == 1) return legal(pair_unary(out_, i.op, x, with_sign));
    const Pair y = pair(i.operands[1]);
    if (scalar(i.results[0]) == DType::boolean)
      return {pair_compare(out_, i.op, x, y, with_sign), {}, {}};
    return legal(pair_binary(out_, i.op, x, y, with_sign));
  }

  Legal constant(DType t, std::uint64_t bits) {
    if (is_pair(t)) return legal(pair_constant(out_, 1, bits));
    return from_bits(out_.u32(static_cast<std::uint32_t>(bits)), t);
  }

  Legal select(const Instruction& i) {
    const Value p = low(i.operands[0]);
    const Legal &x = at(i.operands[1]), &y = at(i.operands[2]);
    Legal r{out_.select(p, x.low, y.low), {}, {}};
    if (x.high.valid()) r.high = out_.select(p, x.high, y.high);
    if (x.bits.valid() && y.bits.valid()) r.bits = out_.select(p, x.bits, y.bits);
    return r;
  }

  Legal componentwise(const Instruction& i) {
    const auto each = [&](Value Legal::*part) {
      Values parts;
      for (Value v : i.operands) {
        if (!(at(v).*part).valid()) return Value{};
        parts.push_back(at(v).*part);
      }
      if (i.op == Op::splat) return out_.splat(parts[0], width(i.results[0]));
      if (i.op == Op::extract)
        return out_.extract(parts[0], static_cast<std::uint32_t>(i.immediate));
      return out_.construct(parts);
    };
    return {each(&Legal::low), each(&Legal::high), each(&Legal::bits)};
  }

  Legal convert(const Instruction& i) {
    const Value v = i.operands[0];
    const DType from = scalar(v), to = scalar(i.results[0]);
    const bool with_sign = is_signed(from);
    if (is_half(to)) {
      const Value real = is_wide_integer(from) ? pair_to_odd_f32(out_, words(v), with_sign)
                         : is_narrow(from)     ? out_.convert(low(v), DType::f32)
                                               : to_odd_f32(out_, low(v));
      return {exactly_half(from, to) ? real : round_half(out_, real, to), {}, {}};
    }
    if (is_pair(to)) {
      if (is_pair(from)) return at(v);
      return legal(pair_from(out_, low(v), is_signed(to)));
    }
    // Through i32: the result is cut, and a negative float that goes to an unsigned type wraps.
    const DType target = is_narrow(to) ? DType::i32 : to;
    const Value whole =
        is_pair(from) ? pair_to(out_, pair(v), with_sign, target) : out_.convert(low(v), target);
    if (!is_narrow(to)) return {whole, {}, {}};
    return {wrap(out_, out_.bitcast(whole, carrier(to)), to), {}, {}};
  }

  /// A 64-bit integer as a pair, also where the device has such integers.
  Pair words(Value v) {
    if (is_pair(scalar(v))) return pair(v);
    return {out_.low_word(low(v)), out_.high_word(low(v))};
  }
  /// Every value of `from` is one of `to`.
  static bool exactly_half(DType from, DType to) {
    return from == to || from == DType::boolean || from == DType::i8 || from == DType::u8;
  }

  Legal bitcast(const Instruction& i) {
    const Value v = i.operands[0];
    const DType from = scalar(v), to = scalar(i.results[0]);
    GNOMON_CHECK(bits_of(from) == bits_of(to), "legalize: `bitcast` of " +
                                                   to_string(source_.type(v)) + " to " +
                                                   to_string(source_.type(i.results[0])));
    if (is_narrow(from)) return from_bits(bits(v), to);
    if (is_pair(from) && is_pair(to)) return at(v);
    if (is_pair(from)) return {out_.from_words(at(v).low, at(v).high, to), {}, {}};
    return {out_.low_word(low(v)), out_.high_word(low(v)), {}};
  }

  // ---- memory

  Value mask(const Instruction& i, std::size_t position) const {
    return i.operands.size() > position ? low(i.operands[position]) : Value{};
  }

  std::uint32_t array(const Instruction& i) const {
    if (i.op == Op::private_load || i.op == Op::private_store) return first_private_[i.immediate];
    if (i.op == Op::shared_load || i.op == Op::shared_store) return first_shared_[i.immediate];
    return static_cast<std::uint32_t>(i.immediate);
  }

  PackedAccess packed(const Instruction& i, DType t, std::uint8_t elements, Value with) const {
    return {.buffer = array(i),
            .bytes = size_of(t),
            .index = low(i.operands[0]),
            .width = elements,
            .mask = with,
            .aligned = starts_word(i),
            .shared = shared_[i.immediate]};
  }

  Legal load(const Instruction& i) {
    const Type t = source_.type(i.results[0]);
    const Value index = low(i.operands[0]), with = mask(i, 1);
    if (i.op == Op::load && is_packed(t.scalar))
      return from_bits(load_packed(out_, packed(i, t.scalar, t.width, with)), t.scalar);
    const auto from = [&](std::uint32_t a) {
      return i.op == Op::private_load  ? out_.private_load(a, index, t.width)
             : i.op == Op::shared_load ? out_.shared_load(a, index, t.width)
                                       : out_.load(a, index, t.width, with);
    };
    if (!is_pair(t.scalar)) return {from(array(i)), {}, {}};
    if (i.op != Op::load) return {from(array(i)), from(array(i) + 1), {}};
    const Pair p = load_pairs(out_, array(i), index, t.width, with);
    return {p.low, p.high, {}};
  }

  void store(const Instruction& i) {
    const Type t = source_.type(i.operands[1]);
    const Legal& value = at(i.operands[1]);
    const Value index = low(i.operands[0]), with = mask(i, 2);
    if (i.op == Op::store && is_packed(t.scalar)) {
      store_packed(out_, packed(i, t.scalar, t.width, with), bits(i.operands[1]), options_.alone);
      return;
    }
    const auto to = [&](std::uint32_t a, Value v) {
      if (i.op == Op::private_store) return out_.private_store(a, index, v, with);
      if (i.op == Op::shared_store) return out_.shared_store(a, index, v, with);
      out_.store(a, index, v, with);
    };
    if (!is_pair(t.scalar)) return to(array(i), value.low);
    if (i.op == Op::store)
      return store_pairs(out_, array(i), index, pair(i.operands[1]), t.width, with);
    to(array(i), value.low);
    to(array(i) + 1, value.high);
  }

  const Kernel& source_;
  Builder& out_;
  LegalizeOptions options_;
  AffineFacts facts_;
  Legals map_;
  std::vector<std::uint32_t> first_private_, first_shared_;  // number of an array in `out_`
  std::vector<bool> shared_;                                 // see note_shared
};

bool tests_doubles(const Region& r, const Kernel& k) {
  return std::any_of(r.body.begin(), r.body.end(), [&](const Instruction& i) {
    return tests_double(i, k) ||
           std::any_of(i.regions.begin(), i.regions.end(),
                       [&](const Region& inner) { return tests_doubles(inner, k); });
  });
}

bool needs_it(const Kernel& k, const LegalizeOptions& options) {
  if (!options.int64 && tests_doubles(k.body, k)) return true;
  const auto changes = [&](DType t) {
    return is_narrow(t) || (is_wide_integer(t) && !options.int64);
  };
  return std::any_of(k.types.begin(), k.types.end(), [&](Type t) { return changes(t.scalar); }) ||
         std::any_of(k.buffers.begin(), k.buffers.end(),
                     [&](const Buffer& b) { return is_packed(b.dtype) || changes(b.dtype); });
}

}  // namespace

Kernel legalize(Kernel kernel, LegalizeOptions options) {
  GNOMON_CHECK(kernel.lanes == 0, "`" + kernel.name + "` is in lane form");
  if (!needs_it(kernel, options)) return kernel;
  Builder out(kernel.name);
  Legalizer(kernel, out, options).run();
  return out.take();
}

std::uint32_t lanes_per_word(const Kernel& kernel) {
  std::uint32_t lanes = 1;
  for (const Buffer& b : kernel.buffers)
    if (b.access != Access::read) lanes = std::max(lanes, 4 / std::min(4u, size_of(b.dtype)));
  return lanes;
}

}  // namespace gnomon::kernel
