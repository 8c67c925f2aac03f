// shaders/kernel/op.h -- the instructions of kernels: one row of a table for each.
//
// Whoever treats kinds of instructions alike asks for a property here and lists none of them, so
// that a new one is a row, its value (kernel/scalar) and its SPIR-V (spirv).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gnomon::kernel {

/// What an instruction takes and gives. T is one type, bool one of T's width.
enum class Form : std::uint8_t {
  constant,            // -> T
  parameter,           // -> u32
  position,            // -> u32: of the lane, invocation or workgroup
  unary,               // T -> T
  binary,              // T, T -> T
  ternary,             // T, T, T -> T
  comparison,          // T, T -> bool
  test,                // T -> bool
  select,              // bool, T, T -> T
  convert,             // T -> U of its width: the number
  bitcast,             // T -> U of as many bits: the bits
  word,                // T of 64 bits -> u32
  from_words,          // u32 low, u32 high -> T of 64 bits
  splat,               // scalar -> every component
  extract,             // wide -> one component
  construct,           // scalars -> wide, one operand per component
  horizontal,          // bool of any width -> scalar bool
  load,                // index [, mask of a buffer's] -> T
  store,               // index, T [, mask]
  atomic,              // index, T -> old T; u32 or i32
  subgroup_position,   // -> u32
  subgroup_election,   // -> bool
  subgroup_reduction,  // T -> T
  barrier,             // of execution, and of memory as noted
  loop,                // carried values, regions condition and body -> carried values
  branch,              // bool, regions then and else -> their yields
};

/// What computing one component takes; memory, synchronisation and regions are no matter of this.
enum class Effort : std::uint8_t {
  nothing,    // known
  component,  // moved between widths: nothing where each component has a register of its own
  shift,      // an instruction or a few, lane by lane where vectors cannot shift each by its own
  operation,  // an instruction or a few on any device
  division,   // several times as long: division, square root
  function,   // transcendental
};

/// The memory that an instruction reads or writes. A scalar index and a wide T mean consecutive
/// elements of a buffer from index on, a wide index a gather; in private and shared memory a wide T
/// means one array per component.
enum class Space : std::uint8_t { none, buffer, private_array, shared_array };

// clang-format off
#define GNOMON_KERNEL_OPS(row)                                                                     \
  /*  op               form                effort     space */                                     \
  /* Sources. */                                                                                   \
  row(constant,        constant,           nothing,   none)  /* bits `immediate`, zero-extended */ \
  row(parameter,       parameter,          nothing,   none)  /* user word `immediate` */           \
  row(lane,            position,           nothing,   none)  /* whose body runs; lane form */      \
  row(invocation,      position,           nothing,   none)  /* linear, base group included */     \
  row(group_index,     position,           nothing,   none)  /* linear, base group included */     \
  row(local_index,     position,           nothing,   none)  /* linear within the workgroup */     \
  /* Arithmetic. */                                                                                \
  row(add,             binary,             operation, none)                                        \
  row(sub,             binary,             operation, none)                                        \
  row(mul,             binary,             operation, none)                                        \
  row(div,             binary,             division,  none)                                        \
  row(rem,             binary,             division,  none)                                        \
  row(minimum,         binary,             operation, none)                                        \
  row(maximum,         binary,             operation, none)                                        \
  row(pow,             binary,             function,  none)                                        \
  row(atan2,           binary,             function,  none)                                        \
  row(neg,             unary,              operation, none)                                        \
  row(abs,             unary,              operation, none)                                        \
  row(floor,           unary,              operation, none)                                        \
  row(ceil,            unary,              operation, none)                                        \
  row(round_even,      unary,              operation, none)                                        \
  row(trunc,           unary,              operation, none)                                        \
  row(sqrt,            unary,              division,  none)                                        \
  row(rsqrt,           unary,              division,  none)                                        \
  row(exp,             unary,              function,  none)                                        \
  row(exp2,            unary,              function,  none)                                        \
  row(log,             unary,              function,  none)                                        \
  row(log2,            unary,              function,  none)                                        \
  row(sin,             unary,              function,  none)                                        \
  row(cos,             unary,              function,  none)                                        \
  row(tan,             unary,              function,  none)                                        \
  row(asin,            unary,              function,  none)                                        \
  row(acos,            unary,              function,  none)                                        \
  row(atan,            unary,              function,  none)                                        \
  row(sinh,            unary,              function,  none)                                        \
  row(cosh,            unary,              function,  none)                                        \
  row(tanh,            unary,              function,  none)                                        \
  row(asinh,           unary,              function,  none)                                        \
  row(acosh,           unary,              function,  none)                                        \
  row(atanh,           unary,              function,  none)                                        \
  row(fma,             ternary,            operation, none)  /* a * b + c; one or two roundings */ \
  /* Bits: integers; band, bor, bxor, bnot on bool as well. */                                     \
  row(band,            binary,             operation, none)                                        \
  row(bor,             binary,             operation, none)                                        \
  row(bxor,            binary,             operation, none)                                        \
  row(bnot,            unary,              operation, none)                                        \
  row(shl,             binary,             shift,     none)                                        \
  row(shr,             binary,             shift,     none)  /* arithmetic on signed types */      \
  row(popcount,        unary,              operation, none)                                        \
  row(mul_high,        binary,             operation, none)  /* the upper word, of u32 */          \
  /* Comparison. */                                                                                \
  row(eq,              comparison,         operation, none)                                        \
  row(ne,              comparison,         operation, none)                                        \
  row(lt,              comparison,         operation, none)                                        \
  row(le,              comparison,         operation, none)                                        \
  row(gt,              comparison,         operation, none)                                        \
  row(ge,              comparison,         operation, none)                                        \
  row(is_nan,          test,               operation, none)                                        \
  row(is_inf,          test,               operation, none)                                        \
  row(select,          select,             operation, none)                                        \
  row(convert,         convert,            operation, none)  /* bool: x != 0, or 0 and 1 */        \
  row(bitcast,         bitcast,            nothing,   none)                                        \
  /* The words of 64-bit elements, which a device may have without 64-bit integers. */             \
  row(low_word,        word,               nothing,   none)                                        \
  row(high_word,       word,               nothing,   none)                                        \
  row(from_words,      from_words,         nothing,   none)                                        \
  /* Width. */                                                                                     \
  row(splat,           splat,              component, none)                                        \
  row(extract,         extract,            component, none)  /* component `immediate` */           \
  row(construct,       construct,          component, none)                                        \
  row(any,             horizontal,         operation, none)                                        \
  row(all,             horizontal,         operation, none)                                        \
  /* Memory. `immediate` is the index of the buffer, private or shared array. */                   \
  row(load,            load,               nothing,   buffer)                                      \
  row(store,           store,              nothing,   buffer)                                      \
  row(private_load,    load,               nothing,   private_array)                               \
  row(private_store,   store,              nothing,   private_array)                               \
  row(shared_load,     load,               nothing,   shared_array)                                \
  row(shared_store,    store,              nothing,   shared_array)                                \
  row(atomic_add,      atomic,             nothing,   buffer)  /* others order only themselves */  \
  row(atomic_and,      atomic,             nothing,   buffer)                                      \
  row(atomic_or,       atomic,             nothing,   buffer)                                      \
  /* Over the invocations of a subgroup. f32, i32, u32; `and` and `or` integers only. */           \
  row(subgroup_index,  subgroup_position,  nothing,   none)                                        \
  row(subgroup_count,  subgroup_position,  nothing,   none)                                        \
  row(subgroup_first,  subgroup_election,  nothing,   none)  /* true in one invocation of each */  \
  row(subgroup_add,    subgroup_reduction, nothing,   none)                                        \
  row(subgroup_min,    subgroup_reduction, nothing,   none)                                        \
  row(subgroup_max,    subgroup_reduction, nothing,   none)                                        \
  row(subgroup_and,    subgroup_reduction, nothing,   none)                                        \
  row(subgroup_or,     subgroup_reduction, nothing,   none)                                        \
  row(barrier,         barrier,            nothing,   none)  /* shared memory, coherent buffers */ \
  /* Structure. */                                                                                 \
  row(loop,            loop,               nothing,   none)  /* most trips `immediate`, or 0 */    \
  row(if_,             branch,             nothing,   none)

enum class Op : std::uint8_t {
#define GNOMON_ROW(op, form, effort, space) op,
  GNOMON_KERNEL_OPS(GNOMON_ROW)
#undef GNOMON_ROW
};
// clang-format on

struct OpProperties {
  Form form;
  Effort effort;
  Space space;
};

constexpr OpProperties op_table[] = {
#define GNOMON_ROW(op, form, effort, space) {Form::form, Effort::effort, Space::space},
    GNOMON_KERNEL_OPS(GNOMON_ROW)
#undef GNOMON_ROW
};
constexpr std::size_t op_count = sizeof(op_table) / sizeof(op_table[0]);

/// As it is printed: that of the enumerator, without the underscore of `if_`.
std::string_view name(Op);
constexpr Form form(Op op) { return op_table[static_cast<std::size_t>(op)].form; }
constexpr Effort effort(Op op) { return op_table[static_cast<std::size_t>(op)].effort; }
constexpr Space space(Op op) { return op_table[static_cast<std::size_t>(op)].space; }

constexpr bool is_atomic(Op op) { return form(op) == Form::atomic; }
/// Whether it combines the values of a subgroup's invocations.
constexpr bool is_subgroup_reduction(Op op) { return form(op) == Form::subgroup_reduction; }
/// Whether all invocations of a workgroup reach it together.
constexpr bool is_collective(Op op) {
  return form(op) == Form::subgroup_election || is_subgroup_reduction(op) ||
         form(op) == Form::barrier;
}
constexpr bool is_load(Op op) { return form(op) == Form::load; }
constexpr bool is_comparison(Op op) { return form(op) == Form::comparison; }
/// Whether an instruction itself writes memory or synchronises; what lies in its regions does not
/// count.
constexpr bool writes(Op op) {
  return form(op) == Form::store || is_atomic(op) || is_collective(op);
}

}  // namespace gnomon::kernel
