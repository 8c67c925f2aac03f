// shaders/kernel/kernel.h -- the kernel IR: what one compute shader does, in scalar SSA.
//
// Semantics
//   A kernel is in *lane form* when `lanes > 0`: its body runs once for every lane
//   0 <= lane < lanes, in no particular order, and lanes never see one another's writes.
//   `passes/coarsen` turns it into *invocation form* (`lanes == 0`): the body runs once per
//   invocation, and bounds are explicit in it.
//
//   Values are immutable, defined once, and visible in the region that defines them and in the
//   regions nested in it. Types are a scalar kind and a width; width > 1 holds the values of
//   several lanes (component k belongs to lane first + k), and every arithmetic instruction works
//   componentwise on operands of one width.
//
//   Integers wrap; shifts take the count modulo the bit width; integer division truncates, x / 0 is
//   all bits set, x % 0 is x, INT_MIN / -1 is INT_MIN, remainder 0; `rem` of any type has the
//   sign of its first operand. Float arithmetic is IEEE 754 round to nearest even; subnormals may
//   be flushed; `minimum` and `maximum` return an unspecified operand when one is NaN; comparisons
//   with NaN are false except `ne`. Float to integer conversion out of range is unspecified, never
//   an error. Instructions marked `exact` may be neither contracted nor reassociated.
//
//   In buffers elements lie next to one another, little endian; a bool is one byte, 0 or 1.
//
//   Effects (store, atomic, barrier) happen in program order within an invocation. A load returns
//   what the same invocation last stored there; other invocations' stores are visible only through
//   `shared` memory after a barrier, or through a `coherent` buffer after a barrier or atomic; the
//   verifier enforces both. An index must be in bounds whenever its instruction executes with a
//   true mask: unchecked.
//
//   `loop` evaluates region 0 (condition) on the carried values; while it yields true, region 1
//   (body) maps them to the next ones; its results are the carried values for which the condition
//   was false. `if_` yields from region 0 when the predicate is true, else from region 1; a region
//   that is not taken has no effects.
//
//   A workgroup consists of subgroups, `subgroup_count` of them, of a size and an order of their
//   members that nobody knows. Instructions over a subgroup are reached by all invocations of the
//   workgroup together, as barriers are, but order no memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/dtype.h"
#include "shaders/kernel/op.h"
#include "shaders/support/id.h"
#include "shaders/support/small_vector.h"

namespace gnomon::kernel {

struct Type {
  DType scalar = DType::f32;
  std::uint8_t width = 1;  // 1, 2, 4, 8 or 16
  bool operator==(const Type&) const = default;
};

constexpr Type bool_type{DType::boolean, 1};

using Value = Id<struct ValueTag>;

struct Instruction;

/// A straight list of instructions with arguments in front and the values handed to its owner at
/// the end.
struct Region {
  std::vector<Value> arguments;
  std::vector<Instruction> body;
  std::vector<Value> yields;
};

struct Instruction {
  Op op = Op::constant;
  bool exact = false;      // neither contract nor reassociate
  std::uint32_t line = 0;  // index into Kernel::lines plus one, 0 when unknown
  SmallVector<Value, 2> results;
  SmallVector<Value, 4> operands;
  std::uint64_t immediate = 0;
  std::vector<Region> regions;
};

enum class Access : std::uint8_t { read, write, read_write };

/// One array operand. Where it lives (window and base) is known to the parameter block only.
struct Buffer {
  DType dtype = DType::f32;
  Access access = Access::read;
  bool coherent = false;  // one invocation may read what another wrote, after a barrier or atomic
  bool texel = false;     // read as 16-byte texels; set by passes/vectorize, access must be `read`
  std::string name;
  /// What a loop stores to it in a trip has a place of that trip, which nobody looks at for a lane
  /// that does not make the trip. In lane form only; see passes/widen.
  bool history = false;
  bool operator==(const Buffer&) const = default;
};

/// Fixed-size memory of one invocation (private) or workgroup (shared).
struct LocalArray {
  DType dtype = DType::f32;
  std::uint32_t length = 0;
  bool history = false;  // private ones; as that of a Buffer
  bool operator==(const LocalArray&) const = default;
};

struct SourceLine {
  std::string file;
  int line = 0;
};

/// Parameter block seen by every kernel, 32-bit words: [0] linear index of the first workgroup, [1]
/// workgroups per row of the dispatch grid (x extent), [2] and [3] unused, [4 + k] first element of
/// buffer k, counted in its dtype, then `parameters` user words.
inline constexpr std::uint32_t parameter_header_words = 4;

struct Kernel {
  std::string name = "kernel";
  std::uint32_t lanes = 0;        // > 0: lane form
  std::uint32_t group_size = 64;  // invocations per workgroup
  std::uint32_t parameters = 0;   // user words in the parameter block
  std::vector<Buffer> buffers;
  std::vector<LocalArray> privates;
  std::vector<LocalArray> shareds;
  std::vector<Type> types;  // indexed by Value
  std::vector<SourceLine> lines;
  Region body;

  Type type(Value v) const { return types[v.index]; }
};

/// Whether an instruction reads or writes memory, synchronises, or holds one that does.
bool has_effects(const Instruction&);
std::size_t count_loops(const Kernel&);
/// Worst case of loop trips one invocation can make, nested loops multiplied; ~0ull when a loop is
/// unbounded. The trip in which a loop finds that it is over counts, as drivers with a limit do:
/// on lavapipe 22.3 a loop around an empty one stops after 32,768 trips, not after 65,536.
std::uint64_t worst_case_trips(const Kernel&);
/// "f32", or "f32x4" when wide.
std::string to_string(Type);

}  // namespace gnomon::kernel
