// shaders/passes/affine.cpp -- the fixed point behind affine.h.
#include "shaders/passes/affine.h"

#include <algorithm>
#include <bit>

namespace gnomon::kernel {
namespace {

constexpr std::uint8_t zero_alignment = 32;  // everything divides zero; 2^32 is as far as we count

std::uint8_t alignment_of(std::uint32_t x) {
  return static_cast<std::uint8_t>(std::countr_zero(x));
}

std::uint8_t lesser(std::uint8_t a, std::uint8_t b) { return std::min(a, b); }

Affine vary(const Affine& x) { return {true, 0, x.alignment_everywhere()}; }

/// What holds of a value that is either `a` in all lanes or `b` in all lanes.
Affine join(const Affine& a, const Affine& b) {
  if (a.varying || b.varying || a.stride != b.stride) {
    return {true, 0, lesser(a.alignment_everywhere(), b.alignment_everywhere())};
  }
  return {false, a.stride, lesser(a.alignment, b.alignment)};
}

class Analysis {
 public:
  Analysis(const Kernel& kernel, AffineOptions options)
      : kernel_(kernel), options_(options), definitions_(definitions(kernel)) {
    facts_.values.resize(kernel.types.size());
    facts_.private_varies.resize(kernel.privates.size(), false);
    seen_.resize(kernel.types.size(), false);
  }

  AffineFacts run() {
    do {
      changed_ = false;
      walk(kernel_.body, false);
    } while (changed_);
    return std::move(facts_);
  }

 private:
  const Affine& of(Value v) const { return facts_.values[v.index]; }

  void set(Value v, Affine fact) { facts_.values[v.index] = fact; }

  /// Region arguments only sink, which is what makes the iteration end.
  void sink(Value argument, Affine fact) {
    if (seen_[argument.index]) fact = join(of(argument), fact);
    seen_[argument.index] = true;
    set(argument, fact);
  }

  /// What a trip hands to the next one: it has been walked already.
  void sink_back(Value argument, Affine fact) {
    const Affine before = of(argument);
    sink(argument, fact);
    changed_ = changed_ || of(argument) != before;
  }

  std::optional<std::uint32_t> constant(Value v) const {
    const Instruction* i = definitions_[v.index];
    if (i == nullptr || i->op != Op::constant) return std::nullopt;
    return static_cast<std::uint32_t>(i->immediate);
  }

  bool counts(Type t) const { return is_integer(t.scalar) && t.width == 1; }
  bool is_word(Type t) const { return counts(t) && size_of(t.scalar) == 4; }

  /// 2^result divides the value, given a power for each operand.
  std::uint8_t alignment(const Instruction& i, std::span<const std::uint8_t> of_operand) const {
    const auto amount = [&](std::size_t k) { return constant(i.operands[k]); };
    const auto clamp = [](std::uint32_t bits) {
      return static_cast<std::uint8_t>(std::min<std::uint32_t>(bits, zero_alignment));
    };
    const std::uint32_t bits = bits_of(kernel_.type(i.results[0]).scalar);
    switch (i.op) {
      case Op::constant:
        return alignment_of(static_cast<std::uint32_t>(i.immediate));
      case Op::add:
      case Op::sub:
      case Op::bor:
      case Op::bxor:
      case Op::minimum:
      case Op::maximum:
        return lesser(of_operand[0], of_operand[1]);
      case Op::select:
        return lesser(of_operand[1], of_operand[2]);
      case Op::neg:
        return of_operand[0];
      case Op::mul:
        return clamp(of_operand[0] + of_operand[1]);
      case Op::band:
        return std::max(of_operand[0], of_operand[1]);
      case Op::shl:
        return amount(1) ? clamp(of_operand[0] + *amount(1) % bits) : of_operand[0];
      case Op::shr: {
        if (!amount(1)) return 0;
        const std::uint32_t by = *amount(1) % bits;
        return clamp(of_operand[0] > by ? of_operand[0] - by : 0);
      }
      case Op::div: {
        if (!amount(1) || !std::has_single_bit(*amount(1))) return 0;
        const std::uint8_t by = alignment_of(*amount(1));
        return clamp(of_operand[0] > by ? of_operand[0] - by : 0);
      }
      // x % c is x minus a multiple of c; x % 0 is x.
      case Op::rem:
        return lesser(of_operand[0], of_operand[1]);
      case Op::convert:
      case Op::bitcast:
        return counts(kernel_.type(i.operands[0])) ? of_operand[0] : std::uint8_t{0};
      default:
        return 0;
    }
  }

  /// Stride of the result, or nothing when the lanes are not equally spaced. No operand varies, one
  /// is not uniform.
  std::optional<std::int32_t> stride(const Instruction& i) const {
    const auto x = [&](std::size_t k) -> const Affine& { return of(i.operands[k]); };
    const auto wrapped = [](std::uint32_t s) { return static_cast<std::int32_t>(s); };
    const auto unsigned_stride = [&](std::size_t k) {
      return static_cast<std::uint32_t>(x(k).stride);
    };
    switch (i.op) {
      case Op::add:
        return wrapped(unsigned_stride(0) + unsigned_stride(1));
      case Op::sub:
        return wrapped(unsigned_stride(0) - unsigned_stride(1));
      case Op::neg:
        return wrapped(0u - unsigned_stride(0));
      case Op::mul:
        if (const auto c = constant(i.operands[1])) return wrapped(unsigned_stride(0) * *c);
        if (const auto c = constant(i.operands[0])) return wrapped(unsigned_stride(1) * *c);
        return std::nullopt;
      case Op::shl:
        if (const auto c = constant(i.operands[1])) return wrapped(unsigned_stride(0) << (*c % 32));
        return std::nullopt;
      case Op::select:
        if (!x(0).uniform() || x(1).stride != x(2).stride) return std::nullopt;
        return x(1).stride;
      case Op::convert:
      case Op::bitcast:
        return is_word(kernel_.type(i.operands[0])) ? std::optional(x(0).stride) : std::nullopt;
      case Op::div:
      case Op::rem:
      case Op::shr:
      case Op::band:
        return split_stride(i);
      default:
        return std::nullopt;
    }
  }

  /// Division by a constant, and its kin on powers of two. When the steps k * stride stay below a
  /// power of two that divides both the first value and the divisor, no lane crosses a multiple of
  /// the divisor: the quotient is uniform and the remainder keeps its stride.
  std::optional<std::int32_t> split_stride(const Instruction& i) const {
    const Affine& x = of(i.operands[0]);
    const auto c = constant(i.operands[1]);
    if (!c || x.stride <= 0 || kernel_.type(i.operands[0]).scalar != DType::u32)
      return std::nullopt;
    const std::uint64_t reach = static_cast<std::uint64_t>(x.stride) * (options_.span - 1);
    const auto within = [&](std::uint32_t divisor_alignment) {
      return reach < (std::uint64_t{1} << std::min<std::uint32_t>(x.alignment, divisor_alignment));
    };
    if (i.op == Op::shr) {
      const std::uint32_t by = *c % 32;
      if (within(by)) return 0;
      // Below 2^alignment nothing wraps, so a stride that is a multiple of 2^by divides exactly.
      if (within(zero_alignment) && alignment_of(static_cast<std::uint32_t>(x.stride)) >= by &&
          x.alignment >= by) {
        return x.stride >> by;
      }
      return std::nullopt;
    }
    if (i.op == Op::band) {
      if (std::has_single_bit(*c + 1) && within(alignment_of(*c + 1)))
        return x.stride;                                                       // low bits kept
      if (std::has_single_bit(~*c + 1) && within(alignment_of(*c))) return 0;  // low bits cleared
      return std::nullopt;
    }
    if (*c == 0 || !within(alignment_of(*c))) return std::nullopt;
    return i.op == Op::div ? 0 : x.stride;
  }

  Affine pure(const Instruction& i) const {
    const Type type = kernel_.type(i.results[0]);
    bool varying = type.width > 1;
    bool uniform = true;
    for (Value v : i.operands) {
      varying |= of(v).varying;
      uniform &= of(v).uniform();
    }
    std::int32_t step = 0;
    if (!varying && !uniform) {
      const auto s = is_word(type) ? stride(i) : std::nullopt;
      varying = !s;
      step = s.value_or(0);
    }
    std::uint8_t power = 0;
    if (counts(type)) {
      SmallVector<std::uint8_t, 8> powers;
      for (Value v : i.operands) {
        powers.push_back(varying ? of(v).alignment_everywhere() : of(v).alignment);
      }
      power = alignment(i, powers);
    }
    return {varying, step, power};
  }

  Affine source(const Instruction& i) const {
    const bool several = options_.span > 1;
    const Affine number{false, several ? 1 : 0, alignment_of(options_.span)};
    if (i.op == options_.source) return number;
    // Groups of invocations begin at multiples of the span.
    if (i.op == Op::local_index && options_.source == Op::invocation) return number;
    if (i.op == Op::group_index && options_.source == Op::invocation) return {};
    return {several, 0, 0};
  }

  bool all_uniform(std::span<const Value> values) const {
    return std::all_of(values.begin(), values.end(), [&](Value v) { return of(v).uniform(); });
  }

  void vary_array(std::uint64_t array) {
    if (!facts_.private_varies[array]) changed_ = true;
    facts_.private_varies[array] = true;
  }

  void walk(const Region& region, bool divergent) {
    for (const Instruction& i : region.body) visit(i, divergent);
  }

  void visit(const Instruction& i, bool divergent) {
    switch (form(i.op)) {
      case Form::position:
        set(i.results[0], source(i));
        return;
      case Form::load:
        load(i);
        return;
      case Form::store:
        if (space(i.op) == Space::private_array && (divergent || !all_uniform(i.operands)))
          vary_array(i.immediate);
        return;
      case Form::atomic:
      case Form::subgroup_position:
      case Form::subgroup_election:
      case Form::subgroup_reduction:
        set(i.results[0], {options_.span > 1, 0, 0});
        return;
      case Form::barrier:
        return;
      case Form::loop:
        loop(i, divergent);
        return;
      case Form::branch:
        branch(i, divergent);
        return;
      default:
        set(i.results[0], pure(i));
        return;
    }
  }

  void load(const Instruction& i) {
    const bool uniform = of(i.operands[0]).uniform();
    // Lanes that read one address read one value, but for arrays of their own. A mask only says who
    // may look.
    bool varies = kernel_.type(i.results[0]).width > 1 || !uniform;
    if (space(i.op) == Space::private_array) {
      if (!uniform) vary_array(i.immediate);
      varies = varies || facts_.private_varies[i.immediate];
    }
    set(i.results[0], {varies, 0, 0});
  }

  void loop(const Instruction& i, bool divergent) {
    const Region& condition = i.regions[0];
    const Region& body = i.regions[1];
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      sink(condition.arguments[k], of(i.operands[k]));
      sink(body.arguments[k], of(condition.arguments[k]));
    }
    walk(condition, divergent);
    const bool splits = !of(condition.yields[0]).uniform();
    walk(body, divergent || splits);
    // The condition too runs for some lanes only once others have left.
    if (splits) walk(condition, true);
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      sink_back(condition.arguments[k], of(body.yields[k]));
      const bool same = body.yields[k] == body.arguments[k];
      const Affine carried = of(condition.arguments[k]);
      set(i.results[k], same ? of(i.operands[k]) : splits ? vary(carried) : carried);
    }
  }

  void branch(const Instruction& i, bool divergent) {
    const bool splits = !of(i.operands[0]).uniform();
    walk(i.regions[0], divergent || splits);
    walk(i.regions[1], divergent || splits);
    for (std::size_t k = 0; k < i.results.size(); ++k) {
      const Value a = i.regions[0].yields[k];
      const Value b = i.regions[1].yields[k];
      const Affine joined = join(of(a), of(b));
      set(i.results[k], splits && a != b ? vary(joined) : joined);
    }
  }

  const Kernel& kernel_;
  AffineOptions options_;
  std::vector<const Instruction*> definitions_;
  AffineFacts facts_;
  std::vector<bool> seen_;  // per argument: has a fact already
  bool changed_ = false;    // something that was walked before
};

void collect(const Region& region, std::vector<const Instruction*>& out) {
  for (const Instruction& i : region.body) {
    for (Value v : i.results) out[v.index] = &i;
    for (const Region& r : i.regions) collect(r, out);
  }
}

std::optional<std::uint32_t> product(const Offset& a, const Offset& b) {
  if (a.root.valid() || b.root.valid()) return std::nullopt;
  return a.offset * b.offset;
}

}  // namespace

std::uint8_t Affine::alignment_everywhere() const {
  if (varying || stride == 0) return alignment;
  return lesser(alignment, alignment_of(static_cast<std::uint32_t>(stride)));
}

AffineFacts analyse(const Kernel& kernel, AffineOptions options) {
  return Analysis(kernel, options).run();
}

std::vector<const Instruction*> definitions(const Kernel& kernel) {
  std::vector<const Instruction*> out(kernel.types.size(), nullptr);
  collect(kernel.body, out);
  return out;
}

Offset split_offset(const std::vector<const Instruction*>& definitions, Value scalar) {
  std::uint32_t offset = 0;
  const auto constant = [&](Value v) -> std::optional<std::uint32_t> {
    const Instruction* i = definitions[v.index];
    if (i == nullptr || i->op != Op::constant) return std::nullopt;
    return static_cast<std::uint32_t>(i->immediate);
  };
  for (;;) {
    if (const auto c = constant(scalar)) return {{}, offset + *c};
    const Instruction* i = definitions[scalar.index];
    if (i == nullptr || (i->op != Op::add && i->op != Op::sub)) return {scalar, offset};
    if (const auto c = constant(i->operands[1])) {
      offset += i->op == Op::add ? *c : 0u - *c;
      scalar = i->operands[0];
    } else if (const auto d = constant(i->operands[0]); d && i->op == Op::add) {
      offset += *d;
      scalar = i->operands[1];
    } else {
      return {scalar, offset};
    }
  }
}

std::vector<Offset> split_components(const Kernel& kernel,
                                     const std::vector<const Instruction*>& definitions,
                                     Value wide) {
  const Instruction* i = definitions[wide.index];
  const Type type = kernel.type(wide);
  if (i == nullptr || size_of(type.scalar) != 4 || !is_integer(type.scalar)) return {};
  std::vector<Offset> out;
  switch (i->op) {
    case Op::constant:
      return std::vector<Offset>(type.width, {{}, static_cast<std::uint32_t>(i->immediate)});
    case Op::splat:
      return std::vector<Offset>(type.width, split_offset(definitions, i->operands[0]));
    case Op::construct:
      for (Value v : i->operands) out.push_back(split_offset(definitions, v));
      return out;
    case Op::add:
    case Op::mul: {
      const auto a = split_components(kernel, definitions, i->operands[0]);
      const auto b = split_components(kernel, definitions, i->operands[1]);
      if (a.empty() || b.empty()) return {};
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (i->op == Op::mul) {
          const auto c = product(a[k], b[k]);
          if (!c) return {};
          out.push_back({{}, *c});
        } else {
          if (a[k].root.valid() && b[k].root.valid()) return {};
          out.push_back({a[k].root.valid() ? a[k].root : b[k].root, a[k].offset + b[k].offset});
        }
      }
      return out;
    }
    default:
      return {};
  }
}

namespace {

constexpr std::size_t most_terms = 8;

/// a + b * times.
Linear sum(const Linear& a, const Linear& b, std::uint32_t times) {
  Linear r{{}, a.offset + b.offset * times};
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool left = y == b.terms.end() || (x != a.terms.end() && !(y->value < x->value));
    const bool right = x == a.terms.end() || (y != b.terms.end() && !(x->value < y->value));
    const Value v = left ? x->value : y->value;
    const std::uint32_t c = (left ? x++->times : 0) + (right ? y++->times * times : 0);
    if (c != 0) r.terms.push_back({v, c});
  }
  return r;
}

/// Looks at no more than `budget` values: sums of a value with itself, over and over, would take
/// twice as long each time.
Linear linear(const std::vector<const Instruction*>& definitions, Value scalar, int& budget) {
  const Linear itself{{{scalar, 1}}, 0};
  const Instruction* i = definitions[scalar.index];
  if (i == nullptr || --budget < 0) return itself;
  const auto operand = [&](std::size_t k) { return linear(definitions, i->operands[k], budget); };
  const auto constant = [&](std::size_t k) -> std::optional<std::uint32_t> {
    const Instruction* c = definitions[i->operands[k].index];
    if (c == nullptr || c->op != Op::constant) return std::nullopt;
    return static_cast<std::uint32_t>(c->immediate);
  };
  Linear r;
  switch (i->op) {
    case Op::constant:
      return {{}, static_cast<std::uint32_t>(i->immediate)};
    case Op::add:
      r = sum(operand(0), operand(1), 1);
      break;
    case Op::sub:
      r = sum(operand(0), operand(1), ~0u);
      break;
    case Op::mul:
      if (constant(1))
        r = sum({}, operand(0), *constant(1));
      else if (constant(0))
        r = sum({}, operand(1), *constant(0));
      else
        return itself;
      break;
    case Op::shl:
      if (!constant(1)) return itself;
      r = sum({}, operand(0), 1u << (*constant(1) % 32));
      break;
    default:
      return itself;
  }
  return r.terms.size() <= most_terms ? r : itself;
}

}  // namespace

Linear linear(const std::vector<const Instruction*>& definitions, Value scalar) {
  int budget = 64;
  return linear(definitions, scalar, budget);
}

}  // namespace gnomon::kernel
