// shaders/kernel/builder.h -- appends instructions to a kernel, folding trivial ones as it goes.
#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shaders/kernel/kernel.h"
#include "shaders/support/hash_chains.h"

namespace gnomon::kernel {

using Values = std::vector<Value>;

/// Builds one kernel. Regions under construction form a stack; depth 0 is the kernel body.
/// Instructions go to the region at `depth()`. `at_depth` appends to an outer open region instead:
/// what it emits lands before the nested region that is still open, which is how values that do not
/// depend on an inner loop leave it.
///
/// Every binary operation requires operands of one type (checked); scalar constants are unique and
/// live at depth 0, as do wide constants (splats of them), sources and parameters.
///
/// Folding is exact: a fold never changes a result bit for any input, NaN payloads and flushed
/// subnormals aside (x * 0.0 stays, x + 0 is folded for integers only; x * 1, x / 1 and x - 0 for
/// floats too). Floats are computed here only when all operands are constants, none of them or the
/// result is subnormal, and the operation is correctly rounded on every device. Pure instructions
/// are value-numbered: asking again for a value that is still visible returns it. Loads are not,
/// since a store may come between.
class Builder {
 public:
  explicit Builder(std::string name);
  Builder(const Builder&) = delete;  // open regions are held by address
  Builder& operator=(const Builder&) = delete;

  Kernel& kernel() { return kernel_; }
  /// Ends construction. The builder must not be used afterwards.
  Kernel take();

  std::uint32_t buffer(Buffer);
  std::uint32_t private_array(LocalArray);
  std::uint32_t shared_array(LocalArray);
  std::uint32_t parameter_word();  // index of a fresh user word
  /// Source line of the instructions that follow.
  void at_line(std::string_view file, int line);

  /// While one lives, float arithmetic is marked exact: neither contracted nor reassociated.
  class Exactly {
   public:
    explicit Exactly(Builder& b) : builder_(b), before_(b.exact_) { b.exact_ = true; }
    ~Exactly() { builder_.exact_ = before_; }
    Exactly(const Exactly&) = delete;
    Exactly& operator=(const Exactly&) = delete;

   private:
    Builder& builder_;
    bool before_;
  };

  // ---- values
  Type type(Value v) const { return kernel_.types[v.index]; }
  /// A wide constant has `bits` in every component.
  Value constant(Type, std::uint64_t bits);
  Value u32(std::uint32_t);
  Value i32(std::int32_t);
  Value f32(float);
  Value boolean(bool);
  /// A constant of `scalar` type nearest to `x`, converted as C++ would.
  Value number(DType scalar, double x);
  /// A constant, or a splat of one.
  bool is_constant(Value) const;
  /// Bits of (each component of) a constant; checked.
  std::uint64_t constant_bits(Value) const;

  /// Any instruction with one result. Result type is derived from the op and operands where
  /// possible.
  Value unary(Op, Value);
  Value binary(Op, Value, Value);
  Value compare(Op, Value, Value);
  Value select(Value predicate, Value a, Value b);
  Value convert(Value, DType);
  Value bitcast(Value, DType);
  Value low_word(Value x) { return word(Op::low_word, x); }
  Value high_word(Value x) { return word(Op::high_word, x); }
  /// The 64-bit element that has these words.
  Value from_words(Value low, Value high, DType);
  Value fma(Value a, Value b, Value c);
  /// x * y + z of a sum that nobody promises the order of, as those of matrix products: where
  /// `fuse_products` says so, one instruction of f32 and f64, which rounds once or twice.
  Value multiply_add(Value x, Value y, Value z);
  void fuse_products(bool one_instruction) { fuses_products_ = one_instruction; }
  Value source(Op);  // lane, invocation, group_index, local_index
  Value parameter(std::uint32_t word);
  Value splat(Value, std::uint8_t width);
  Value extract(Value, std::uint32_t component);
  Value construct(std::span<const Value>);
  Value any(Value);
  Value all(Value);

  Value add(Value a, Value b) { return binary(Op::add, a, b); }
  Value sub(Value a, Value b) { return binary(Op::sub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::mul, a, b); }
  Value div(Value a, Value b) { return binary(Op::div, a, b); }
  Value rem(Value a, Value b) { return binary(Op::rem, a, b); }
  Value land(Value a, Value b) { return binary(Op::band, a, b); }
  Value lor(Value a, Value b) { return binary(Op::bor, a, b); }

  // ---- memory. A width > 1 with a scalar index means consecutive elements.
  Value load(std::uint32_t buffer, Value index, std::uint8_t width = 1, Value mask = {});
  void store(std::uint32_t buffer, Value index, Value value, Value mask = {});
  Value private_load(std::uint32_t array, Value index, std::uint8_t width = 1);
  void private_store(std::uint32_t array, Value index, Value value, Value mask = {});
  Value shared_load(std::uint32_t array, Value index, std::uint8_t width = 1);
  void shared_store(std::uint32_t array, Value index, Value value, Value mask = {});
  Value atomic(Op, std::uint32_t buffer, Value index, Value value);
  Value atomic_add(std::uint32_t buffer, Value index, Value value) {
    return atomic(Op::atomic_add, buffer, index, value);
  }
  void barrier();
  /// An instruction over the invocations of a subgroup; `x` for those that combine.
  Value subgroup(Op, Value x = {});

  // ---- structure
  /// `condition` maps the carried values to bool, `body` to the next carried values (same types,
  /// checked).
  Values loop(std::span<const Value> init, std::uint64_t max_trips,
              const std::function<Value(std::span<const Value>)>& condition,
              const std::function<Values(std::span<const Value>)>& body);
  /// for (i = 0; i < count; ++i) with further carried values; folds to nothing when count is a
  /// constant 0 and to the body itself when it is 1. `body(i, carried)` gives the next carried
  /// values.
  Values count_loop(Value count, std::uint64_t max_trips, std::span<const Value> init,
                    const std::function<Values(Value, std::span<const Value>)>& body);
  /// Folds to one side when the predicate is a constant.
  Values if_(Value predicate, const std::function<Values()>& then,
             const std::function<Values()>& otherwise);

  // ---- depth
  /// About so many values will be made.
  void expect_values(std::size_t);
  /// About so many instructions follow in the region at `depth()`.
  void expect(std::size_t instructions) {
    std::vector<Instruction>& body = here().body;
    if (body.empty()) body.reserve(instructions);
  }
  std::uint32_t depth() const { return static_cast<std::uint32_t>(open_.size()) - 1; }
  /// Depth of the region that defines `v`; constants are at 0.
  std::uint32_t depth_of(Value v) const { return definition(v).depth; }
  /// True when `v` is visible where the builder stands: its region is still open.
  bool visible(Value v) const;
  /// Runs `f` with instructions going to the open region at `depth` (<= depth()). A region opened
  /// inside `f` nests in that one. The current position is restored afterwards, also when `f`
  /// throws.
  void at_depth(std::uint32_t depth, const std::function<void()>& f);

  /// Any instruction, no folding: for passes that rebuild a kernel.
  Values append(Instruction, std::span<const Type> result_types);

 private:
  friend class Exactly;
  class Opened;
  /// How a value came to be, for folding and value numbering. Arguments and loop results have no
  /// operands here.
  struct Definition {
    Op op = Op::loop;
    bool exact = false;
    std::uint8_t operands = 0;
    std::uint32_t first = 0;  // of `operands` values in operand_pool_
    std::uint64_t immediate = 0;
    std::uint32_t depth = 0;   // of the region that defines it
    std::uint32_t serial = 0;  // and which one that is
  };
  const Definition& definition(Value v) const { return definitions_[v.index]; }
  Value operand(Value v, std::uint32_t k) const { return operand_pool_[definition(v).first + k]; }
  bool made_by(Value v, Op op) const {
    return definition(v).op == op && definition(v).operands > 0;
  }

  Region& here() { return *open_.back().region; }
  Value word(Op low_or_high, Value);
  Value fresh(Type, std::uint32_t depth);
  Values arguments(Region&, std::span<const Value> like);
  /// Appends a one-result instruction at `depth`, or returns an equal visible value when `pure`.
  Value emit(Op, Type, std::span<const Value> operands, std::uint64_t immediate,
             std::uint32_t depth, bool pure);
  Value emit(Op op, Type t, std::initializer_list<Value> operands, std::uint64_t immediate = 0) {
    return emit(op, t, {operands.begin(), operands.size()}, immediate, depth(), true);
  }
  void emit_effect(Op, std::initializer_list<Value> operands, std::uint64_t immediate);
  Value load_from(Op, DType, Value index, std::uint8_t width, Value mask, std::uint32_t array);
  void store_to(Op, DType, Value index, Value value, Value mask, std::uint32_t array);

  // Folding (fold.cpp): the replacement, or an invalid Value when there is none.
  bool computable(Type, std::initializer_list<Value>) const;
  Value fold_unary(Op, Value);
  Value fold_binary(Op, Value, Value);
  Value fold_integer(Op, Value, std::uint64_t constant);
  Value fold_arithmetic(Op, Value, std::uint64_t constant);
  Value fold_bits(Op, Value, std::uint64_t constant);
  Value fold_extremum(Op, Value, std::uint64_t constant);
  /// The second operand of `op` where that has made `v` and it is a constant.
  std::optional<std::uint64_t> constant_operand(Value v, Op op) const;
  Value fold_recombined(Value multiple, Value remainder);
  /// So many of a u32's lowest bits are known to be zero.
  unsigned zeros_below(Value, int depth = 4) const;
  /// Whether a float is known to be NaN or no less, or no greater, than zero. The pivots of a
  /// matrix with constant zeros are chosen between such.
  bool at_least_zero(Value) const;
  bool at_most_zero(Value) const;
  Value fold_compare(Op, Value, Value);
  Value fold_select(Value predicate, Value a, Value b);
  Value fold_convert(Value, DType);
  Value fold_computed(Op, DType operand, Type result, std::initializer_list<Value>);

  Kernel kernel_;
  struct OpenRegion {
    Region* region = nullptr;
    std::uint32_t serial = 0;  // its identity, for visible()
  };
  std::vector<OpenRegion> open_;  // regions under construction, outermost first
  std::uint32_t next_serial_ = 1;
  std::vector<Definition> definitions_;  // per Value
  std::vector<Value> operand_pool_;
  std::vector<Instruction> constant_body_;  // take() puts it in front
  HashChains<Value> numbered_;
  HashChains<std::uint32_t> line_numbers_;  // into lines, plus one
  std::uint32_t line_ = 0;
  bool fuses_products_ = false;
  bool exact_ = false;
};

}  // namespace gnomon::kernel
