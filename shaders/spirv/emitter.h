// shaders/spirv/emitter.h -- the state of one emission, shared by emit*.cpp. Not for other folders.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "shaders/spirv/emit.h"
#include "shaders/spirv/module.h"
#include "shaders/spirv/private_arrays.h"
#include "shaders/spirv/shared_reads.h"

namespace gnomon::spirv {

/// A kernel value. SPIR-V vectors end at four components, so wider ones are several vec4 parts.
struct Parts {
  std::array<Ref, 4> refs{};
  std::uint32_t count = 0;

  Ref& operator[](std::size_t i) { return refs[i]; }
  Ref operator[](std::size_t i) const { return refs[i]; }
};

constexpr std::uint32_t part_width(std::uint32_t width) { return width < 4 ? width : 4; }
constexpr std::uint32_t part_count(std::uint32_t width) { return width < 4 ? 1 : width / 4; }

/// An instruction with a result. Written in braces, so that its parts come into being from left to
/// right: arguments of a call are evaluated as the compiler likes, and ids would differ with it.
struct Code {
  spv::Op opcode;
  Ref type;
  std::initializer_list<std::uint32_t> operands;
};

/// Walks a kernel once. Code goes to one of three streams of the function: its variables, the
/// prologue (what is computed once whichever block asks first) and the code itself.
class Emitter {
 public:
  Emitter(const kernel::Kernel& kernel, const EmitOptions& options);
  Words run();

 private:
  using Instruction = kernel::Instruction;
  using Region = kernel::Region;
  using Value = kernel::Value;
  using Block = std::function<void()>;

  // ---- emit.cpp: the module, types, constants, plain instructions
  void check_kernel() const;
  void declare_float_controls();
  void region(const Region& region);
  void instruction(const Instruction& in);
  void source_line(std::uint32_t line);
  [[noreturn]] void unsupported(const Instruction& in, const std::string& why) const;

  Ref type(DType scalar, std::uint32_t width = 1);
  Ref word_type() { return type(DType::u32); }
  Ref constant(DType scalar, std::uint32_t width, std::uint64_t bits);
  Parts constant_parts(kernel::Type type, std::uint64_t bits);
  std::optional<std::uint64_t> known(Value v) const { return known_[v.index]; }

  Ref op(const Code& code) { return op(code.opcode, code.type, code.operands); }
  Ref op(spv::Op opcode, Ref result_type, std::span<const std::uint32_t> operands);
  void effect(spv::Op opcode, std::initializer_list<std::uint32_t> operands);
  Ref glsl(std::uint32_t instruction, Ref result_type, std::initializer_list<Ref> operands);
  /// Runs `f` with its code going to the prologue.
  Ref in_prologue(const std::function<Ref()>& f);

  kernel::Type type_of(Value v) const { return kernel_.types[v.index]; }
  const Parts& parts(Value v) const { return values_[v.index]; }
  Ref scalar(Value v) const { return values_[v.index][0]; }
  void define(const Instruction& in, const Parts& parts) { values_[in.results[0].index] = parts; }
  Ref component(Value v, std::uint32_t k);
  Ref component(const Parts& parts, kernel::Type type, std::uint32_t k);
  Parts compose(kernel::Type type, std::span<const Ref> components);
  Parts splat(Ref component, kernel::Type type);
  /// The same bits, 32-bit floats or integers, as a value that no compiler knows to be the same.
  Ref hidden(DType scalar, std::uint32_t width, Ref value);

  Ref parameter_variable();
  Ref parameter_word(std::uint32_t index);
  Ref header_word(std::uint32_t index);
  Ref parameter_row(std::map<std::uint32_t, Ref>& rows, std::uint32_t index, Ref from);
  Ref own_row();
  Ref identity(Ref word);
  Ref linear_group();
  void leave_surplus();
  Ref builtin_axis(spv::BuiltIn builtin, Ref& cache, std::uint32_t axis);
  Ref local_index();
  Ref group_index();
  Ref invocation();
  Ref subgroup_word(spv::BuiltIn builtin, Ref& cache);

  // ---- emit_arithmetic.cpp: everything componentwise
  void arithmetic(const Instruction& in);
  Ref arithmetic_part(const Instruction& in, DType t, std::uint32_t width, std::size_t part);
  Ref scale(const Instruction& in, Ref type, std::size_t part);
  Ref choice_of_signs(Ref condition, DType, std::uint32_t width, std::uint64_t x, std::uint64_t y);
  Ref transcendental(const Instruction& in, DType t, Ref type, std::initializer_list<Ref> operands);
  Ref integer_sum(DType t, std::uint32_t width, Ref a, Ref b);
  Ref divide(const Instruction& in, DType t, std::uint32_t width, std::size_t part);
  Ref shift(const Instruction& in, DType t, std::uint32_t width, std::size_t part);
  Ref popcount(DType t, std::uint32_t width, Ref x);
  Ref compare(const Instruction& in, DType t, std::uint32_t width, Ref a, Ref b);
  Ref classify(const Instruction& in, DType t, std::uint32_t width, Ref x);
  Ref convert(DType from, DType to, std::uint32_t width, Ref x);
  void bitcast(const Instruction& in);
  void words(const Instruction& in);
  Ref reduce(kernel::Op any_or_all, const Parts& parts, std::uint32_t width);

  // ---- emit_memory.cpp
  void load(const Instruction& in);
  void store(const Instruction& in);
  void local_load(const Instruction& in);
  void local_store(const Instruction& in);
  void atomic(const Instruction& in);
  std::uint32_t coherent_memory() const;
  void barrier();
  void subgroup(const Instruction& in);
  /// Between a value of type `t` and what stands for it in memory.
  Ref to_memory(DType t, DType as, std::uint32_t width, Ref value);
  Ref from_memory(DType t, DType as, std::uint32_t width, Ref stored);
  Ref unit_type(std::uint32_t buffer, std::uint32_t width);
  std::uint32_t unit_bytes(std::uint32_t buffer, std::uint32_t width) const;
  Ref buffer_variable(std::uint32_t buffer, std::uint32_t width, std::uint32_t part);
  Ref buffer_base(std::uint32_t buffer);
  Ref buffer_pointer(std::uint32_t buffer, std::uint32_t width, Ref index, std::uint32_t part = 0);
  /// How many windows show parts of a buffer, and element (or 4-vector) `index` in one of them:
  /// where it lies, and whether it does.
  std::uint32_t parts_of(std::uint32_t buffer) const;
  struct InPart {
    Ref index, inside;
  };
  InPart in_part(std::uint32_t buffer, std::uint32_t width, Ref index, std::uint32_t part);
  bool in_pairs(std::uint32_t buffer, std::uint32_t width) const;
  Ref buffer_load(std::uint32_t buffer, std::uint32_t width, Ref index);
  void buffer_store(std::uint32_t buffer, std::uint32_t width, Ref index, Ref stored);
  bool is_texel(std::uint32_t buffer) const;
  bool is_by_address(std::uint32_t buffer) const { return window_of(buffer) == by_address; }
  /// How many of the first `count` buffers are reached by address.
  std::uint32_t addresses(std::size_t count = ~std::size_t{0}) const;
  std::uint32_t access_by_address(std::uint32_t buffer) const;
  Ref buffer_address(std::uint32_t buffer, std::uint32_t width);
  Ref texel_image(std::uint32_t window);
  Ref read_element(std::uint32_t buffer, Ref position);
  Ref read_vec4(std::uint32_t buffer, Ref group);
  Parts read_half(std::uint32_t buffer, Ref position);
  Ref read_texel(std::uint32_t buffer, Ref group);
  Ref subgroup_lane();
  Ref distance_of_lane(const std::vector<std::uint32_t>& distances);
  Ref read_together(const Instruction& in, std::uint32_t part, SharedReads::Member member);
  Ref private_variable(std::uint32_t array, std::uint32_t component);
  Ref shared_variable(std::uint32_t array);
  Ref local_pointer(bool is_private, std::uint32_t array, std::uint32_t component, Ref index);
  /// Four neighbours of an array of vectors, from a multiple of four on.
  Ref shared_quad(std::uint32_t array, Ref index);
  bool is_quad(const Instruction& in, std::uint32_t width) const;
  void declare_private_variables();
  Ref load_pair(std::uint32_t array, std::uint32_t variable, Ref index, DType stored);
  void store_pair(std::uint32_t array, std::uint32_t variable, Ref index, DType stored, Ref first,
                  Ref second);
  Ref private_index(const Instruction& in, std::uint32_t array, std::uint32_t k);
  void load_by_components(const Instruction& in);
  void store_by_components(const Instruction& in);
  void load_half(const Instruction& in);
  void store_half(const Instruction& in);
  Ref add(Ref a, Ref b);
  Ref quarter(Ref position, std::uint32_t part);
  Ref quad(std::uint32_t buffer, Value index, std::uint32_t part);
  std::uint32_t window_of(std::uint32_t buffer) const;
  bool is_written(std::uint32_t window) const;
  /// The mask of component k; 0 when the access is not masked or the mask is constant true.
  Ref mask_of(const Instruction& in, std::size_t operand, std::uint32_t k);
  bool is_masked(const Instruction& in, std::size_t operand) const;
  Ref guarded(Ref mask, Ref index, std::uint32_t otherwise);

  // ---- emit_control.cpp
  void loop(const Instruction& in);
  void if_(const Instruction& in);
  Ref carried_variable(Ref value_type);
  void branch(Ref predicate, const Block& then, const Block& otherwise);
  void begin_block(Ref label);
  std::vector<Ref> flatten(std::span<const Value> values) const;

  struct PrivateArray {
    PrivateForm form;
    std::vector<Ref> variables;  // per component, or two of them; 0 until used
    bool has_sink = false;       // one more element, where masked-off components store
    std::vector<Ref> waiting;    // components whose other halves are not computed yet
    struct {
      Value index, mask;
      Ref block = 0;
      std::vector<Ref> pairs;  // per component
    } read;                    // what was read last of words that it is a half of
  };

  const kernel::Kernel& kernel_;
  const EmitOptions& options_;
  Module module_;
  Words variables_, prologue_, code_;
  Words* out_ = &code_;
  Ref block_ = 0;  // label of the block being written
  std::uint32_t line_ = 0;
  bool has_coherent_ = false;
  bool has_loops_ = false;
  std::array<bool, max_windows> coherent_texels_{};

  std::vector<Parts> values_;                        // indexed by Value
  std::vector<std::optional<std::uint64_t>> known_;  // bits of constants and their splats
  std::vector<Ref> spread_;                          // the scalar of a wide splat; 0 for others
  std::vector<Ref> quarters_;                        // x where a value is x << 2; 0 for others
  std::array<std::array<Ref, 5>, 13> types_{};       // [dtype][width]

  std::map<std::uint32_t, Ref> quad_bases_;  // per buffer: its base in 16-byte units
  Ref parameter_block_ = 0;
  std::map<std::uint32_t, Ref> parameter_rows_, parameter_words_, header_rows_;
  Ref own_row_ = 0, linear_group_ = 0, identities_ = 0;  // of a joined dispatch
  Ref workgroup_id_ = 0, local_id_ = 0;
  Ref subgroup_index_ = 0, subgroup_count_ = 0, subgroup_lane_ = 0;
  Ref local_index_ = 0, group_index_ = 0, invocation_ = 0;
  std::map<std::array<std::uint32_t, 3>, Ref> buffer_variables_;  // (buffer, width, part)
  std::map<std::pair<std::uint32_t, std::uint32_t>, Ref> buffer_addresses_;  // likewise
  std::array<Ref, max_windows> texel_images_{};
  SharedReads shared_reads_;
  std::map<std::uint32_t, Ref> shared_texels_;  // per block: what this invocation has fetched
  std::map<std::vector<std::uint32_t>, Ref> lane_distances_;
  std::vector<PrivateArray> privates_;
  std::vector<Ref> shareds_;
  std::vector<bool> quads_;  // per shared array: one of vectors of four
};

}  // namespace gnomon::spirv
