// shaders/kernel/builder.cpp -- typing, placement and value numbering of new instructions.
#include "shaders/kernel/builder.h"

#include <algorithm>
#include <bit>

#include "shaders/kernel/scalar.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

constexpr Type u32_type{DType::u32, 1};

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t x) {
  return (hash ^ x) * 0xff51afd7ed558ccdu;
}

std::string op_text(Op op) { return "`" + std::string(name(op)) + "`"; }

}  // namespace

/// Keeps a region on the stack of open ones for as long as it lives.
class Builder::Opened {
 public:
  Opened(Builder& b, Region& region) : builder_(b) {
    b.open_.push_back({&region, b.next_serial_++});
  }
  ~Opened() { builder_.open_.pop_back(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  Builder& builder_;
};

Builder::Builder(std::string name) {
  kernel_.name = std::move(name);
  open_.push_back({&kernel_.body, 0});
}

Kernel Builder::take() {
  GNOMON_CHECK(open_.size() == 1, "a kernel is taken while a region is still open");
  std::vector<Instruction> body = std::move(constant_body_);
  body.insert(body.end(), std::make_move_iterator(kernel_.body.body.begin()),
              std::make_move_iterator(kernel_.body.body.end()));
  kernel_.body.body = std::move(body);
  return std::move(kernel_);
}

std::uint32_t Builder::buffer(Buffer b) {
  kernel_.buffers.push_back(std::move(b));
  return static_cast<std::uint32_t>(kernel_.buffers.size() - 1);
}

std::uint32_t Builder::private_array(LocalArray a) {
  kernel_.privates.push_back(a);
  return static_cast<std::uint32_t>(kernel_.privates.size() - 1);
}

std::uint32_t Builder::shared_array(LocalArray a) {
  kernel_.shareds.push_back(a);
  return static_cast<std::uint32_t>(kernel_.shareds.size() - 1);
}

std::uint32_t Builder::parameter_word() { return kernel_.parameters++; }

void Builder::at_line(std::string_view file, int line) {
  const auto is_this = [&](std::uint32_t number) {
    const SourceLine& known = kernel_.lines[number - 1];
    return known.line == line && known.file == file;
  };
  if (line_ != 0 && is_this(line_)) return;  // many in a row
  // Lines of one number in several files are few.
  const auto hash = static_cast<std::uint64_t>(line);
  if (const std::uint32_t* known = line_numbers_.find(hash, is_this)) {
    line_ = *known;
    return;
  }
  kernel_.lines.push_back({std::string(file), line});
  line_ = static_cast<std::uint32_t>(kernel_.lines.size());
  line_numbers_.add(hash, line_);
}

// ---- values

void Builder::expect_values(std::size_t n) {
  kernel_.types.reserve(n);
  definitions_.reserve(n);
  operand_pool_.reserve(2 * n);
  numbered_.expect(n);
}

Value Builder::fresh(Type t, std::uint32_t at) {
  const Value v{static_cast<std::uint32_t>(kernel_.types.size())};
  kernel_.types.push_back(t);
  Definition& made = definitions_.emplace_back();
  made.depth = at;
  made.serial = open_[at].serial;
  return v;
}

bool Builder::visible(Value v) const {
  const Definition& d = definition(v);
  return d.depth < open_.size() && open_[d.depth].serial == d.serial;
}

Value Builder::emit(Op op, Type t, std::span<const Value> operands, std::uint64_t immediate,
                    std::uint32_t at, bool pure) {
  const auto reaches = [&](const Definition& d) {
    return d.depth <= at && open_[d.depth].serial == d.serial;
  };
  for (const Value v : operands) {
    GNOMON_CHECK(v.index < kernel_.types.size(),
                 op_text(op) + " has an operand that was never made");
    GNOMON_CHECK(reaches(definition(v)),
                 op_text(op) + " uses %" + std::to_string(v.index) +
                     ", whose region is not open where the instruction goes");
  }
  const bool arithmetic = op >= Op::add && op <= Op::fma;
  const bool exact = exact_ && arithmetic && is_float(t.scalar);
  std::uint64_t hash = 0;
  if (pure) {
    hash = mix(static_cast<std::uint64_t>(op) * 2 + exact,
               static_cast<std::uint64_t>(t.scalar) * 256 + t.width);
    hash = mix(hash, immediate);
    for (const Value v : operands) hash = mix(hash, v.index);
    const Value* known = numbered_.find(hash, [&](Value v) {
      const Definition& d = definition(v);
      return d.op == op && d.exact == exact && d.immediate == immediate && type(v) == t &&
             d.operands == operands.size() && reaches(d) &&
             std::equal(operands.begin(), operands.end(), operand_pool_.begin() + d.first);
    });
    if (known != nullptr) return *known;
  }
  const Value result = fresh(t, at);
  Definition& made = definitions_[result.index];
  made.op = op;
  made.exact = exact;
  made.operands = static_cast<std::uint8_t>(operands.size());
  made.first = static_cast<std::uint32_t>(operand_pool_.size());
  made.immediate = immediate;
  for (const Value v : operands) operand_pool_.push_back(v);
  if (pure) numbered_.add(hash, result);
  Instruction& i = (op == Op::constant ? constant_body_ : open_[at].region->body).emplace_back();
  i.op = op;
  i.exact = exact;
  i.results.push_back(result);
  i.operands.assign(operands.begin(), operands.end());
  i.immediate = immediate;
  i.line = line_;
  return result;
}

Value Builder::constant(Type t, std::uint64_t bits) {
  const std::uint32_t width = bits_of(t.scalar);
  GNOMON_CHECK(width == 64 || bits >> width == 0,
               "a constant of type " + to_string(t) + " has bits beyond its width");
  const Value scalar = emit(Op::constant, {t.scalar, 1}, {}, bits, 0, true);
  return t.width == 1 ? scalar : splat(scalar, t.width);
}

Value Builder::u32(std::uint32_t x) { return constant(u32_type, x); }
Value Builder::i32(std::int32_t x) {
  return constant({DType::i32, 1}, static_cast<std::uint32_t>(x));
}
Value Builder::f32(float x) { return constant({DType::f32, 1}, std::bit_cast<std::uint32_t>(x)); }
Value Builder::boolean(bool x) { return constant(bool_type, x); }
Value Builder::number(DType scalar, double x) {
  return constant({scalar, 1}, from_double(scalar, x));
}

bool Builder::is_constant(Value v) const {
  if (made_by(v, Op::splat)) v = operand(v, 0);
  return definition(v).op == Op::constant;
}

std::uint64_t Builder::constant_bits(Value v) const {
  GNOMON_CHECK(is_constant(v), "%" + std::to_string(v.index) + " is no constant");
  if (made_by(v, Op::splat)) v = operand(v, 0);
  return definition(v).immediate;
}

Value Builder::unary(Op op, Value x) {
  GNOMON_CHECK(scalar_function(op, type(x).scalar) != nullptr,
               op_text(op) + " is not defined for " + to_string(type(x)));
  if (op == Op::is_nan || op == Op::is_inf) {
    const Type t{DType::boolean, type(x).width};
    if (const Value v = fold_computed(op, type(x).scalar, t, {x}); v.valid()) return v;
    return emit(op, t, {x});
  }
  if (const Value v = fold_unary(op, x); v.valid()) return v;
  return emit(op, type(x), {x});
}

Value Builder::binary(Op op, Value a, Value b) {
  GNOMON_CHECK(type(a) == type(b), op_text(op) + " has operands of types " + to_string(type(a)) +
                                       " and " + to_string(type(b)));
  GNOMON_CHECK(scalar_function(op, type(a).scalar) != nullptr,
               op_text(op) + " is not defined for " + to_string(type(a)));
  const bool commutes = op == Op::add || op == Op::mul || op == Op::band || op == Op::bor ||
                        op == Op::bxor || op == Op::mul_high ||
                        ((op == Op::minimum || op == Op::maximum) && !is_float(type(a).scalar));
  if (commutes && is_constant(a) && !is_constant(b)) std::swap(a, b);
  if (const Value v = fold_binary(op, a, b); v.valid()) return v;
  return emit(op, type(a), {a, b});
}

Value Builder::compare(Op op, Value a, Value b) {
  GNOMON_CHECK(is_comparison(op), op_text(op) + " is no comparison");
  GNOMON_CHECK(type(a) == type(b), op_text(op) + " has operands of types " + to_string(type(a)) +
                                       " and " + to_string(type(b)));
  GNOMON_CHECK(scalar_function(op, type(a).scalar) != nullptr,
               op_text(op) + " is not defined for " + to_string(type(a)));
  if (const Value v = fold_compare(op, a, b); v.valid()) return v;
  return emit(op, {DType::boolean, type(a).width}, {a, b});
}

Value Builder::select(Value predicate, Value a, Value b) {
  GNOMON_CHECK(type(a) == type(b),
               "`select` has arms of types " + to_string(type(a)) + " and " + to_string(type(b)));
  GNOMON_CHECK((type(predicate) == Type{DType::boolean, type(a).width}),
               "`select` has a predicate of type " + to_string(type(predicate)) +
                   " for arms of type " + to_string(type(a)));
  if (const Value v = fold_select(predicate, a, b); v.valid()) return v;
  return emit(Op::select, type(a), {predicate, a, b});
}

Value Builder::convert(Value x, DType to) {
  if (type(x).scalar == to) return x;
  if (const Value v = fold_convert(x, to); v.valid()) return v;
  return emit(Op::convert, {to, type(x).width}, {x});
}

Value Builder::bitcast(Value x, DType to) {
  const Type from = type(x);
  if (from.scalar == to) return x;
  GNOMON_CHECK(from.scalar != DType::boolean && to != DType::boolean, "`bitcast` of a bool");
  const std::uint32_t bits = bits_of(from.scalar) * from.width;
  GNOMON_CHECK(bits % bits_of(to) == 0, "`bitcast` of " + to_string(from) + " to " +
                                            std::string(gnomon::name(to)) + " leaves a part over");
  const Type t{to, static_cast<std::uint8_t>(bits / bits_of(to))};
  if (bits_of(from.scalar) == bits_of(to)) {
    if (is_constant(x)) return constant(t, constant_bits(x));
    if (made_by(x, Op::bitcast)) return bitcast(operand(x, 0), to);
  }
  return emit(Op::bitcast, t, {x});
}

Value Builder::word(Op op, Value x) {
  const Type t = type(x);
  GNOMON_CHECK(bits_of(t.scalar) == 64, op_text(op) + " of " + to_string(t));
  const Type result{DType::u32, t.width};
  const std::uint32_t shift = op == Op::low_word ? 0 : 32;
  if (is_constant(x)) return constant(result, constant_bits(x) >> shift & 0xffffffffu);
  if (made_by(x, Op::from_words)) return operand(x, op == Op::low_word ? 0 : 1);
  return emit(op, result, {x});
}

Value Builder::from_words(Value low, Value high, DType to) {
  const Type t = type(low);
  GNOMON_CHECK(t == type(high) && t.scalar == DType::u32 && bits_of(to) == 64,
               "`from_words` of " + to_string(t) + " and " + to_string(type(high)) + " to " +
                   std::string(gnomon::name(to)));
  const Type result{to, t.width};
  if (is_constant(low) && is_constant(high)) {
    return constant(result, constant_bits(high) << 32 | constant_bits(low));
  }
  if (made_by(low, Op::low_word) && made_by(high, Op::high_word)) {
    const Value whole = operand(low, 0);
    if (whole == operand(high, 0) && type(whole) == result) return whole;
  }
  return emit(Op::from_words, result, {low, high});
}

Value Builder::fma(Value a, Value b, Value c) {
  GNOMON_CHECK(type(a) == type(b) && type(a) == type(c),
               "`fma` has operands of types " + to_string(type(a)) + ", " + to_string(type(b)) +
                   " and " + to_string(type(c)));
  GNOMON_CHECK(is_float(type(a).scalar), "`fma` is not defined for " + to_string(type(a)));
  return emit(Op::fma, type(a), {a, b, c});
}

Value Builder::multiply_add(Value x, Value y, Value z) {
  const DType t = type(x).scalar;
  // Of smaller types every step is rounded as the reference does it.
  if (fuses_products_ && !exact_ && (t == DType::f32 || t == DType::f64)) return fma(x, y, z);
  return add(z, mul(x, y));
}

Value Builder::source(Op op) {
  GNOMON_CHECK(form(op) == Form::position, op_text(op) + " is no source");
  return emit(op, u32_type, {}, 0, 0, true);
}

Value Builder::parameter(std::uint32_t word) {
  GNOMON_CHECK(word < kernel_.parameters, "parameter word " + std::to_string(word) + " of " +
                                              std::to_string(kernel_.parameters));
  return emit(Op::parameter, u32_type, {}, word, 0, true);
}

Value Builder::splat(Value x, std::uint8_t width) {
  if (width == type(x).width) return x;
  GNOMON_CHECK(type(x).width == 1, "`splat` of " + to_string(type(x)));
  const std::uint32_t at = is_constant(x) ? 0 : depth();
  return emit(Op::splat, {type(x).scalar, width}, {{x}}, 0, at, true);
}

Value Builder::extract(Value x, std::uint32_t component) {
  const Type t = type(x);
  GNOMON_CHECK(component < t.width,
               "`extract` of component " + std::to_string(component) + " of " + to_string(t));
  if (t.width == 1) return x;
  if (made_by(x, Op::splat)) return operand(x, 0);
  if (made_by(x, Op::construct)) return operand(x, component);
  return emit(Op::extract, {t.scalar, 1}, {x}, component);
}

Value Builder::construct(std::span<const Value> parts) {
  GNOMON_CHECK(!parts.empty() && parts.size() <= 16 && std::has_single_bit(parts.size()),
               "`construct` of " + std::to_string(parts.size()) + " components");
  const Type t = type(parts[0]);
  bool same = true, whole = true;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    GNOMON_CHECK(
        type(parts[k]) == t && t.width == 1,
        "`construct` has operands of types " + to_string(t) + " and " + to_string(type(parts[k])));
    same = same && parts[k] == parts[0];
    whole = whole && made_by(parts[k], Op::extract) && definition(parts[k]).immediate == k &&
            operand(parts[k], 0) == operand(parts[0], 0);
  }
  const auto width = static_cast<std::uint8_t>(parts.size());
  if (same) return splat(parts[0], width);
  if (whole && type(operand(parts[0], 0)).width == width) return operand(parts[0], 0);
  return emit(Op::construct, {t.scalar, width}, parts, 0, depth(), true);
}

Value Builder::any(Value x) {
  GNOMON_CHECK(type(x).scalar == DType::boolean, "`any` of " + to_string(type(x)));
  if (type(x).width == 1) return x;
  if (made_by(x, Op::splat)) return operand(x, 0);
  return emit(Op::any, bool_type, {x});
}

Value Builder::all(Value x) {
  GNOMON_CHECK(type(x).scalar == DType::boolean, "`all` of " + to_string(type(x)));
  if (type(x).width == 1) return x;
  if (made_by(x, Op::splat)) return operand(x, 0);
  return emit(Op::all, bool_type, {x});
}

// ---- memory

Value Builder::load_from(Op op, DType t, Value index, std::uint8_t width, Value mask,
                         std::uint32_t array) {
  const Type at = type(index);
  GNOMON_CHECK(at.scalar == DType::u32, op_text(op) + " has an index of type " + to_string(at));
  GNOMON_CHECK(at.width == 1 || width == 1 || at.width == width,
               op_text(op) + " of width " + std::to_string(width) + " has an index of type " +
                   to_string(at));
  const Type result{t, std::max(at.width, width)};
  if (!mask.valid()) return emit(op, result, {{index}}, array, depth(), false);
  GNOMON_CHECK(
      type(mask).scalar == DType::boolean &&
          (type(mask).width == 1 || type(mask).width == result.width),
      op_text(op) + " of " + to_string(result) + " has a mask of type " + to_string(type(mask)));
  const Value operands[] = {index, mask};
  return emit(op, result, operands, array, depth(), false);
}

void Builder::store_to(Op op, DType t, Value index, Value value, Value mask, std::uint32_t array) {
  const Type at = type(index), what = type(value);
  GNOMON_CHECK(at.scalar == DType::u32 && (at.width == 1 || at.width == what.width),
               op_text(op) + " of " + to_string(what) + " has an index of type " + to_string(at));
  GNOMON_CHECK(what.scalar == t, op_text(op) + " of " + to_string(what) + " into an array of " +
                                     std::string(gnomon::name(t)));
  if (!mask.valid()) return emit_effect(op, {index, value}, array);
  GNOMON_CHECK(
      type(mask).scalar == DType::boolean &&
          (type(mask).width == 1 || type(mask).width == what.width),
      op_text(op) + " of " + to_string(what) + " has a mask of type " + to_string(type(mask)));
  if (is_constant(mask)) {
    if (constant_bits(mask) != 0) emit_effect(op, {index, value}, array);
    return;
  }
  emit_effect(op, {index, value, mask}, array);
}

void Builder::emit_effect(Op op, std::initializer_list<Value> operands, std::uint64_t immediate) {
  for (const Value v : operands) {
    GNOMON_CHECK(v.index < kernel_.types.size() && visible(v),
                 op_text(op) + " uses %" + std::to_string(v.index) +
                     ", whose region is not open where the instruction goes");
  }
  Instruction& i = here().body.emplace_back();
  i.op = op;
  i.operands = operands;
  i.immediate = immediate;
  i.line = line_;
}

Value Builder::load(std::uint32_t b, Value index, std::uint8_t width, Value mask) {
  GNOMON_CHECK(b < kernel_.buffers.size(), "`load` from buffer " + std::to_string(b));
  if (mask.valid() && is_constant(mask) && constant_bits(mask) != 0) mask = {};
  return load_from(Op::load, kernel_.buffers[b].dtype, index, width, mask, b);
}

void Builder::store(std::uint32_t b, Value index, Value value, Value mask) {
  GNOMON_CHECK(b < kernel_.buffers.size(), "`store` to buffer " + std::to_string(b));
  store_to(Op::store, kernel_.buffers[b].dtype, index, value, mask, b);
}

Value Builder::private_load(std::uint32_t a, Value index, std::uint8_t width) {
  GNOMON_CHECK(a < kernel_.privates.size(), "`private_load` from array " + std::to_string(a));
  return load_from(Op::private_load, kernel_.privates[a].dtype, index, width, {}, a);
}

void Builder::private_store(std::uint32_t a, Value index, Value value, Value mask) {
  GNOMON_CHECK(a < kernel_.privates.size(), "`private_store` to array " + std::to_string(a));
  store_to(Op::private_store, kernel_.privates[a].dtype, index, value, mask, a);
}

Value Builder::shared_load(std::uint32_t a, Value index, std::uint8_t width) {
  GNOMON_CHECK(a < kernel_.shareds.size(), "`shared_load` from array " + std::to_string(a));
  return load_from(Op::shared_load, kernel_.shareds[a].dtype, index, width, {}, a);
}

void Builder::shared_store(std::uint32_t a, Value index, Value value, Value mask) {
  GNOMON_CHECK(a < kernel_.shareds.size(), "`shared_store` to array " + std::to_string(a));
  store_to(Op::shared_store, kernel_.shareds[a].dtype, index, value, mask, a);
}

Value Builder::atomic(Op op, std::uint32_t b, Value index, Value value) {
  GNOMON_CHECK(is_atomic(op), op_text(op) + " is not atomic");
  GNOMON_CHECK(b < kernel_.buffers.size(), op_text(op) + " to buffer " + std::to_string(b));
  const DType t = kernel_.buffers[b].dtype;
  GNOMON_CHECK((t == DType::u32 || t == DType::i32) && type(value).scalar == t,
               op_text(op) + " of " + to_string(type(value)) + " to a buffer of " +
                   std::string(gnomon::name(t)));
  GNOMON_CHECK((type(index) == Type{DType::u32, type(value).width}),
               op_text(op) + " of " + to_string(type(value)) + " has an index of type " +
                   to_string(type(index)));
  const Value operands[] = {index, value};
  return emit(op, type(value), operands, b, depth(), false);
}

Value Builder::subgroup(Op op, Value x) {
  if (op == Op::subgroup_index || op == Op::subgroup_count)
    return emit(op, u32_type, {}, 0, 0, true);
  if (op == Op::subgroup_first) return emit(op, {DType::boolean}, {}, 0, depth(), false);
  GNOMON_CHECK(is_subgroup_reduction(op), op_text(op) + " does not combine a subgroup");
  return emit(op, type(x), std::span<const Value>(&x, 1), 0, depth(), false);
}

void Builder::barrier() { emit_effect(Op::barrier, {}, 0); }

// ---- structure

Values Builder::arguments(Region& region, std::span<const Value> like) {
  for (const Value v : like) region.arguments.push_back(fresh(type(v), depth()));
  return region.arguments;
}

Values Builder::loop(std::span<const Value> init, std::uint64_t max_trips,
                     const std::function<Value(std::span<const Value>)>& condition,
                     const std::function<Values(std::span<const Value>)>& body) {
  Instruction i;
  i.op = Op::loop;
  i.operands.assign(init.begin(), init.end());
  i.immediate = max_trips;
  i.line = line_;
  i.regions.resize(2);
  for (const Value v : init) {
    GNOMON_CHECK(visible(v),
                 "`loop` starts from %" + std::to_string(v.index) + ", whose region is not open");
  }
  {
    const Opened opened(*this, i.regions[0]);
    const Values carried = arguments(i.regions[0], init);
    const Value go = condition(carried);
    GNOMON_CHECK(visible(go) && type(go) == bool_type,
                 "a loop's condition is a " + to_string(type(go)) + ", not a bool");
    i.regions[0].yields = {go};
  }
  {
    const Opened opened(*this, i.regions[1]);
    const Values carried = arguments(i.regions[1], init);
    Values next = body(carried);
    GNOMON_CHECK(next.size() == init.size(), "a loop carries " + std::to_string(init.size()) +
                                                 " values, its body gives " +
                                                 std::to_string(next.size()));
    for (std::size_t k = 0; k < next.size(); ++k) {
      GNOMON_CHECK(type(next[k]) == type(init[k]),
                   "carried value " + std::to_string(k) + " enters a loop's body as " +
                       to_string(type(init[k])) + " but leaves it as " + to_string(type(next[k])));
      GNOMON_CHECK(visible(next[k]), "a loop's body gives a value of a closed region");
    }
    i.regions[1].yields = std::move(next);
  }
  for (const Value v : init) i.results.push_back(fresh(type(v), depth()));
  Values results = i.results;
  here().body.push_back(std::move(i));
  return results;
}

Values Builder::count_loop(Value count, std::uint64_t max_trips, std::span<const Value> init,
                           const std::function<Values(Value, std::span<const Value>)>& body) {
  GNOMON_CHECK(type(count) == u32_type,
               "a loop's count is a " + to_string(type(count)) + ", not a u32");
  if (is_constant(count)) {
    const std::uint64_t trips = constant_bits(count);
    if (trips == 0) return {init.begin(), init.end()};
    if (trips == 1) {
      Values results = body(u32(0), init);
      GNOMON_CHECK(results.size() == init.size(), "a loop carries " + std::to_string(init.size()) +
                                                      " values, its body gives " +
                                                      std::to_string(results.size()));
      return results;
    }
    max_trips = max_trips == 0 ? trips : std::min(max_trips, trips);
  }
  Values carried{u32(0)};
  carried.insert(carried.end(), init.begin(), init.end());
  Values results = loop(
      carried, max_trips, [&](std::span<const Value> c) { return compare(Op::lt, c[0], count); },
      [&](std::span<const Value> c) {
        Values next = body(c[0], c.subspan(1));
        next.insert(next.begin(), add(c[0], u32(1)));
        return next;
      });
  results.erase(results.begin());
  return results;
}

Values Builder::if_(Value predicate, const std::function<Values()>& then,
                    const std::function<Values()>& otherwise) {
  GNOMON_CHECK(type(predicate) == bool_type,
               "a branch's predicate is a " + to_string(type(predicate)) + ", not a bool");
  if (is_constant(predicate)) return constant_bits(predicate) != 0 ? then() : otherwise();
  GNOMON_CHECK(visible(predicate), "a branch's predicate is a value of a closed region");
  Instruction i;
  i.op = Op::if_;
  i.operands = {predicate};
  i.line = line_;
  i.regions.resize(2);
  for (std::size_t side = 0; side < 2; ++side) {
    const Opened opened(*this, i.regions[side]);
    i.regions[side].yields = side == 0 ? then() : otherwise();
    for (const Value v : i.regions[side].yields) {
      GNOMON_CHECK(visible(v), "a branch gives a value of a closed region");
    }
  }
  const Values& a = i.regions[0].yields;
  const Values& b = i.regions[1].yields;
  GNOMON_CHECK(a.size() == b.size(), "a branch's sides give " + std::to_string(a.size()) + " and " +
                                         std::to_string(b.size()) + " values");
  for (std::size_t k = 0; k < a.size(); ++k) {
    GNOMON_CHECK(type(a[k]) == type(b[k]), "a branch's sides give " + to_string(type(a[k])) +
                                               " and " + to_string(type(b[k])) + " as result " +
                                               std::to_string(k));
    i.results.push_back(fresh(type(a[k]), depth()));
  }
  Values results = i.results;
  if (!results.empty() || has_effects(i)) here().body.push_back(std::move(i));
  return results;
}

// ---- depth

void Builder::at_depth(std::uint32_t at, const std::function<void()>& f) {
  GNOMON_CHECK(at <= depth(), "no region is open at depth " + std::to_string(at) +
                                  ", the deepest is " + std::to_string(depth()));
  if (at == depth()) return f();
  struct Restore {
    Builder& b;
    SmallVector<OpenRegion, 6> inner;
    ~Restore() { b.open_.insert(b.open_.end(), inner.begin(), inner.end()); }
  };
  const Restore restore{*this, {open_.begin() + at + 1, open_.end()}};
  open_.resize(at + 1);
  f();
}

Values Builder::append(Instruction i, std::span<const Type> result_types) {
  if (i.op == Op::constant) return {constant(result_types[0], i.immediate)};
  for (const Value v : i.operands) {
    GNOMON_CHECK(v.index < kernel_.types.size() && visible(v),
                 op_text(i.op) + " uses %" + std::to_string(v.index) +
                     ", whose region is not open where the instruction goes");
  }
  if (i.line == 0) i.line = line_;
  i.results.clear();
  for (const Type t : result_types) i.results.push_back(fresh(t, depth()));
  Values results = i.results;
  here().body.push_back(std::move(i));
  return results;
}

}  // namespace gnomon::kernel
