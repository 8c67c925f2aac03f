// shaders/kernel/builder.h -- appends instructions to a kernel; folds constants and trivial identities as it goes.
#pragma once
#include <functional>
#include <span>
#include <unordered_map>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

using Values = std::vector<Value>;

/// Builds one kernel. Regions under construction form a stack; depth 0 is the kernel body. Instructions go to the
/// region at `depth()`. `at_depth` appends to an outer open region instead: what it emits lands before the nested
/// region that is still open, which is how values that do not depend on an inner loop leave it.
///
/// Every binary operation requires operands of one type (checked); scalar constants are unique and live at depth 0.
/// Folding is exact: a fold never changes a result bit for any input (x * 0.0 stays, x + 0 is folded for integers
/// only, floats fold only when both operands are constants and the operation is correctly rounded everywhere).
class Builder {
 public:
  explicit Builder(std::string name);

  Kernel& kernel() { return kernel_; }
  /// Ends construction. The builder must not be used afterwards.
  Kernel take();

  std::uint32_t buffer(Buffer);
  std::uint32_t private_array(LocalArray);
  std::uint32_t shared_array(LocalArray);
  std::uint32_t parameter_word();  // index of a fresh user word
  void at_line(const char* file, int line);  // source line of the instructions that follow

  // ---- values
  Type type(Value v) const { return kernel_.types[v.index]; }
  Value constant(Type, std::uint64_t bits);
  Value u32(std::uint32_t);
  Value i32(std::int32_t);
  Value f32(float);
  Value boolean(bool);
  /// A constant of `scalar` type nearest to `x`, converted as C++ would.
  Value number(DType scalar, double x);
  bool is_constant(Value) const;
  /// Bits of a constant; checked.
  std::uint64_t constant_bits(Value) const;

  /// Any instruction with one result. Result type is derived from the op and operands where possible.
  Value unary(Op, Value);
  Value binary(Op, Value, Value);
  Value compare(Op, Value, Value);
  Value select(Value predicate, Value a, Value b);
  Value convert(Value, DType);
  Value bitcast(Value, DType);
  Value fma(Value a, Value b, Value c);
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
  Value atomic_add(std::uint32_t buffer, Value index, Value value);
  void barrier();

  // ---- structure
  /// `condition` maps the carried values to bool, `body` to the next carried values (same types, checked).
  Values loop(std::span<const Value> init, std::uint64_t max_trips,
              const std::function<Value(std::span<const Value>)>& condition,
              const std::function<Values(std::span<const Value>)>& body);
  /// for (i = 0; i < count; ++i) with further carried values; folds to nothing when count is a constant 0 and to the
  /// body itself when it is 1. `body(i, carried)` gives the next carried values.
  Values count_loop(Value count, std::uint64_t max_trips, std::span<const Value> init,
                    const std::function<Values(Value, std::span<const Value>)>& body);
  /// Folds to one side when the predicate is a constant.
  Values if_(Value predicate, const std::function<Values()>& then, const std::function<Values()>& otherwise);

  // ---- depth
  std::uint32_t depth() const { return static_cast<std::uint32_t>(open_.size()) - 1; }
  /// Depth of the region that defines `v`; constants are at 0.
  std::uint32_t depth_of(Value v) const { return depths_[v.index]; }
  /// True when `v` is visible where the builder stands: its region is still open.
  bool visible(Value v) const;
  /// Runs `f` with instructions going to the open region at `depth` (<= depth()). A region opened inside `f` nests in
  /// that one. The current position is restored afterwards, also when `f` throws.
  void at_depth(std::uint32_t depth, const std::function<void()>& f);

  /// Any instruction, no folding: for passes that rebuild a kernel.
  Values append(Instruction, std::span<const Type> result_types);

 private:
  Value fresh(Type);
  Value emit(Op, Type, std::initializer_list<Value> operands, std::uint64_t immediate = 0);
  std::uint32_t insertion_depth() const;

  Kernel kernel_;
  std::vector<Region*> open_;                 // regions under construction, outermost first
  std::vector<std::uint32_t> serials_;        // identity of each open region, for visible()
  std::uint32_t next_serial_ = 0;
  std::vector<std::uint32_t> depths_;         // per Value
  std::vector<std::uint32_t> region_serial_;  // per Value: the region that defines it
  std::unordered_map<std::uint64_t, std::vector<Value>> constants_;
  std::uint32_t line_ = 0;
};

}  // namespace gnomon::kernel
