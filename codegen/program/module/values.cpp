// codegen/program/module/values.cpp -- whether the values of a module fit the instructions that
// take them, and whether it reaches the buffers that its kernel says it does, as what they are.
//
// Rules are those of the SPIR-V specification 1.6, section 3.52, as far as the emitter uses them:
// integers have no sign, pointers are variables or chains of one step, arrays hold scalars and
// vectors.
#include <algorithm>
#include <set>
#include <utility>

#include "codegen/program/module/rules.h"
#include "codegen/program/module/types.h"
#include "shaders/spirv/emit.h"

namespace gnomon::module_check {
namespace {

using enum spv::Op;
using spv::StorageClass;

class ValueWalk : Types {
 public:
  ValueWalk(Words words, const kernel::Kernel& kernel, std::span<const std::uint8_t> windows)
      : Types(words), words_(words), kernel_(kernel), windows_(windows), ids_(words[3]) {}

  void all() {
    for_each(words_, [&](Op opcode, Words o) { instruction(opcode, o); });
    interface();
    for (std::uint32_t id = 1; id < ids_.size(); ++id) {
      const Decorations& d = decorations(id);
      const bool number = ids_[id].type != 0 && component(ids_[id].type).kind == Kind::real;
      fits(!d.exact || (ids_[id].computed && number), "a decoration");
      const bool variable =
          ids_[id].variable && type(ids_[id].type).storage != StorageClass::Function;
      const bool resource = variable && type(ids_[id].type).storage != StorageClass::Input;
      fits(variable || !d.of_variable, "a decoration");
      fits(resource || !(d.aliased || d.coherent || d.read_only), "a decoration");
      const Kind kind = type(id).kind;
      fits(kind == Kind::structure || !(d.block || d.member_offset), "a decoration");
      fits(kind == Kind::array || kind == Kind::runtime_array || !d.stride, "a decoration");
    }
  }

 private:
  struct Value {
    std::uint32_t type = 0;
    bool constant = false, variable = false, computed = false;
    std::uint32_t number = 0;           // of a constant word
    std::uint32_t from = 0;             // the variable of a pointer or of a loaded image
    std::optional<std::uint32_t> row;   // of the parameter block: pointed to, or loaded
    std::optional<std::uint32_t> base;  // the buffer whose first element it counts from
  };

  // ---- constants and variables

  void constant(Op opcode, Words o) {
    Value& v = define(o);
    v.constant = true;
    if (opcode == OpConstantTrue || opcode == OpConstantFalse)
      return fits(type(o[0]).kind == Kind::boolean, "constants");
    if (opcode == OpConstant) {
      const std::uint32_t bits = type(o[0]).bits;
      fits(is_scalar(o[0]) && bits > 1 && o.size() == (bits == 64 ? 4u : 3u) &&
               (bits >= 32 || o[2] >> bits == 0),
           "constants");
      v.number = o[2];
      return;
    }
    fits(type(o[0]).kind == Kind::vector && o.size() == 2 + std::size_t{type(o[0]).count},
         "constants");
    for (const std::uint32_t part : o.subspan(2))
      fits(ids_[part].constant && ids_[part].type == type(o[0]).of, "constants");
  }

  void variable(Words o) {
    const Type& pointer = type(o[0]);
    const StorageClass storage{o[2]};
    fits(pointer.kind == Kind::pointer && pointer.storage == storage && o.size() == 3, "variables");
    const Decorations& d = decorations(o[1]);
    const bool block = type(pointer.of).kind == Kind::structure;
    const auto bound_from = [&](std::uint32_t first, std::uint32_t count) {
      fits(d.binding && *d.binding >= first && *d.binding < first + count, "resources");
    };
    fits(d.builtin.has_value() == (storage == StorageClass::Input), "variables");
    switch (storage) {
      case StorageClass::UniformConstant:
        bound_from(spirv::first_texel_binding, spirv::max_windows);
        break;
      case StorageClass::Input:
        builtin(*d.builtin, pointer.of);
        break;
      case StorageClass::Uniform:
        bound_from(spirv::parameter_binding, 1);
        fits(block && type(type(pointer.of).of).count == parameter_rows(), "parameters");
        break;
      case StorageClass::StorageBuffer:
        bound_from(spirv::first_window_binding, spirv::max_windows);
        fits(block, "buffers");
        stored_in(type(type(pointer.of).of).of);
        break;
      case StorageClass::Workgroup:
        fits(type(pointer.of).kind == Kind::array, "shared memory");
        break;
      default:
        break;
    }
    Value& v = define(o);
    v.variable = true;
    v.from = o[1];
    if (storage != StorageClass::Function) globals_.push_back(o[1]);
  }

  void stored_in(std::uint32_t element) const {
    if (component(element).bits == 16) needs(spv::Capability::StorageBuffer16BitAccess);
    if (component(element).bits == 8) needs(spv::Capability::StorageBuffer8BitAccess);
    if (component(element).bits == 8 && version() < 0x00010500)
      want(extended("SPV_KHR_8bit_storage"), "a module does not name what it needs");
  }

  void builtin(std::uint32_t which, std::uint32_t of) {
    switch (spv::BuiltIn{which}) {
      case spv::BuiltIn::WorkgroupId:
      case spv::BuiltIn::LocalInvocationId:
        fits(is_word(of, 3), "built-in variables");
        break;
      case spv::BuiltIn::NumSubgroups:
      case spv::BuiltIn::SubgroupId:
      case spv::BuiltIn::SubgroupLocalInvocationId:
        fits(is_word(of), "built-in variables");
        needs(spv::Capability::GroupNonUniform);
        break;
      default:
        fits(false, "built-in variables");
    }
    want(builtins_.insert(which).second, "a module has a built-in variable twice");
  }

  /// Rows of four words.
  std::uint32_t parameter_rows() const {
    return static_cast<std::uint32_t>((first_parameter() + std::uint64_t{kernel_.parameters} + 3) /
                                      4);
  }
  std::uint32_t first_parameter() const {
    return kernel::parameter_header_words + static_cast<std::uint32_t>(kernel_.buffers.size());
  }

  // ---- instructions

  Value& define(Words o) {
    Value& v = ids_[o[1]];
    v.type = o[0];
    return v;
  }
  /// The type of a value that is no pointer.
  std::uint32_t of(std::uint32_t id) const {
    fits(ids_[id].type != 0 && type(ids_[id].type).kind != Kind::pointer, "values");
    return ids_[id].type;
  }

  void instruction(Op opcode, Words o) {
    switch (opcode) {
      case OpName:
      case OpString:
      case OpLine:
      case OpMemoryModel:
      case OpLoopMerge:
      case OpSelectionMerge:
      case OpLabel:
      case OpBranch:
      case OpReturn:
      case OpFunctionEnd:
        return;
      case OpExtension:
        extension(o);
        return;
      case OpExtInstImport:
        want(std::exchange(library_, o[0]) == 0, "a module imports something twice");
        return;
      case OpEntryPoint:
        entry_ = o;
        return;
      case OpExecutionMode:
        mode(o);
        return;
      case OpCapability:
        capability(o[0]);
        return;
      case OpDecorate:
        decorate(o[0], o[1], o.subspan(2));
        return;
      case OpMemberDecorate:
        decorate_member(o);
        return;
      case OpConstantTrue:
      case OpConstantFalse:
      case OpConstant:
      case OpConstantComposite:
        return constant(opcode, o);
      case OpFunction:
        function_ = o[1];
        fits(type(o[0]).kind == Kind::nothing && o[2] == 0 && type(o[3]).kind == Kind::function,
             "functions");
        return;
      case OpVariable:
        return variable(o);
      case OpLoad:
        return load(o);
      case OpStore:
        return store(o);
      case OpAccessChain:
        return chain(o);
      case OpControlBarrier:
        return barrier(o);
      case OpBranchConditional:
        return fits(type(of(o[0])).kind == Kind::boolean, "branches");
      default:
        break;
    }
    if (declares_type(opcode))
      return declare(opcode, o, opcode == OpTypeArray ? word_of(o[2]) : std::nullopt);
    computed(opcode, o);
    Value& v = define(o);
    v.computed = true;
    follow(opcode, o, v);
  }

  void computed(Op opcode, Words o) const {
    const std::uint32_t r = o[0];
    const Words operands = o.subspan(2);
    switch (opcode) {
      case OpExtInst:
        return fits(library_call(r, operands), "a function");
      case OpVectorExtractDynamic:
        return fits(
            type(of(o[2])).kind == Kind::vector && type(of(o[2])).of == r && is_word(of(o[3])),
            "an element");
      case OpCompositeConstruct: {
        bool good = type(r).kind == Kind::vector && operands.size() == type(r).count;
        for (const std::uint32_t x : operands) good = good && of(x) == type(r).of;
        return fits(good, "a vector");
      }
      case OpCompositeExtract: {
        const Type& whole = type(of(o[2]));
        return fits((whole.kind == Kind::vector || whole.kind == Kind::structure) &&
                        o.size() == 4 && o[3] < whole.count && whole.of == r,
                    "an element");
      }
      case OpImageRead:
        return fits(is_word(r, 4) && type(of(o[2])).kind == Kind::image && is_word(of(o[3])),
                    "a texel");
      case OpBitcast:
        return fits(is_number(r) && is_number(of(o[2])) && bytes(r) == bytes(of(o[2])), "bits");
      case OpSelect:
        return fits(width(r) > 0 && of(o[3]) == r && of(o[4]) == r &&
                        component(of(o[2])).kind == Kind::boolean && width(of(o[2])) == width(r),
                    "a choice");
      case OpAtomicIAdd:
      case OpAtomicAnd:
      case OpAtomicOr:
        return atomic(o);
      case OpPhi: {
        bool good = width(r) > 0;
        for (std::size_t i = 0; i < operands.size(); i += 2) good = good && of(operands[i]) == r;
        return fits(good, "a choice");
      }
      case OpGroupNonUniformElect:
      case OpGroupNonUniformShuffle:
        return subgroup(opcode, o);
      default:
        break;
    }
    if (opcode >= OpGroupNonUniformIAdd && opcode <= OpGroupNonUniformBitwiseOr)
      return subgroup(opcode, o);
    const Rule rule = rule_of(opcode);
    want(rule != Rule::none, "a module has an instruction that no kernel needs");
    fits(follows(rule, opcode, r, operands), "arithmetic");
  }

  bool follows(Rule rule, Op opcode, std::uint32_t r, Words operands) const {
    const std::uint32_t a = of(operands[0]);
    const Type &to = component(r), &from = component(a);
    const bool alike = std::ranges::all_of(operands, [&](std::uint32_t x) { return of(x) == a; });
    const bool as_wide = width(r) > 0 && width(a) == width(r);
    const auto both = [&](Kind result, Kind operand) {
      return as_wide && alike && to.kind == result && from.kind == operand;
    };
    switch (rule) {
      case Rule::integers:  // Vulkan counts bits of words only
        return both(Kind::integer, Kind::integer) && a == r &&
               (opcode != OpBitCount || to.bits == 32);
      case Rule::reals:
        return both(Kind::real, Kind::real) && a == r;
      case Rule::booleans:
        return both(Kind::boolean, Kind::boolean) && a == r;
      case Rule::compare_integers:
        return both(Kind::boolean, Kind::integer);
      case Rule::compare_reals:
        return both(Kind::boolean, Kind::real);
      case Rule::to_integer:
        return both(Kind::integer, Kind::real);
      case Rule::to_real:
        return both(Kind::real, Kind::integer);
      case Rule::resize_integer:
        return both(Kind::integer, Kind::integer) && to.bits != from.bits;
      case Rule::resize_real:
        return both(Kind::real, Kind::real) && to.bits != from.bits;
      case Rule::shift: {
        const std::uint32_t by = of(operands[1]);
        return as_wide && a == r && to.kind == Kind::integer && width(by) == width(r) &&
               component(by).kind == Kind::integer;
      }
      case Rule::scaled:
        return as_wide && a == r && type(r).kind == Kind::vector && to.kind == Kind::real &&
               of(operands[1]) == type(r).of;
      case Rule::extended:
        return alike && type(r).kind == Kind::structure && type(r).count == 2 && type(r).of == a &&
               from.kind == Kind::integer;
      case Rule::any_all:
        return type(r).kind == Kind::boolean && type(a).kind == Kind::vector &&
               from.kind == Kind::boolean;
      case Rule::none:
        break;
    }
    return false;
  }

  bool library_call(std::uint32_t r, Words operands) const {
    const Extended e = function_of(operands[1]);
    const Type& t = component(r);
    return operands[0] == library_ && e.operands > 0 && operands.size() == 2 + e.operands &&
           t.kind == (e.real ? Kind::real : Kind::integer) && !(e.short_only && t.bits == 64) &&
           std::ranges::all_of(operands.subspan(2), [&](std::uint32_t x) { return of(x) == r; });
  }

  std::optional<std::uint32_t> word_of(std::uint32_t id) const {
    const Value& v = ids_[id];
    return v.constant && is_word(v.type) ? std::optional(v.number) : std::nullopt;
  }
  std::uint32_t constant_word(std::uint32_t id) const {
    fits(ids_[id].constant && is_word(ids_[id].type), "a scope");
    return ids_[id].number;
  }

  static constexpr std::uint32_t device_scope = word(spv::Scope::Device),
                                 workgroup_scope = word(spv::Scope::Workgroup),
                                 subgroup_scope = word(spv::Scope::Subgroup);
  static constexpr std::uint32_t acquire_release = word(spv::MemorySemanticsMask::AcquireRelease),
                                 memory = word(spv::MemorySemanticsMask::UniformMemory) |
                                          word(spv::MemorySemanticsMask::WorkgroupMemory) |
                                          word(spv::MemorySemanticsMask::ImageMemory);

  void barrier(Words o) const {
    const std::uint32_t scope = constant_word(o[1]), semantics = constant_word(o[2]);
    fits(constant_word(o[0]) == workgroup_scope &&
             (scope == device_scope || scope == workgroup_scope) &&
             (semantics & ~memory) == acquire_release && (semantics & memory) != 0,
         "a barrier");
  }

  void atomic(Words o) const {
    const std::uint32_t semantics = constant_word(o[4]);
    const Value& pointer = ids_[o[2]];
    fits(is_word(o[0]) && pointer.computed &&
             type(pointer.type).storage == StorageClass::StorageBuffer &&
             type(pointer.type).of == o[0] && of(o[5]) == o[0] &&
             constant_word(o[3]) == device_scope &&
             (semantics == 0 || (semantics & ~memory) == acquire_release),
         "an atomic");
    written(pointer);
  }

  void subgroup(Op opcode, Words o) const {
    fits(constant_word(o[2]) == subgroup_scope, "a subgroup");
    needs(spv::Capability::GroupNonUniform);
    if (opcode == OpGroupNonUniformElect)
      return fits(type(o[0]).kind == Kind::boolean, "a subgroup");
    const Type& t = component(o[0]);
    const bool real = opcode == OpGroupNonUniformFAdd || opcode == OpGroupNonUniformFMin ||
                      opcode == OpGroupNonUniformFMax;
    if (opcode == OpGroupNonUniformShuffle) {
      needs(spv::Capability::GroupNonUniformShuffle);
      return fits(is_number(o[0]) && of(o[3]) == o[0] && is_word(of(o[4])), "a subgroup");
    }
    needs(spv::Capability::GroupNonUniformArithmetic);
    fits(o.size() == 5 && o[3] == word(spv::GroupOperation::Reduce) && of(o[4]) == o[0] &&
             t.kind == (real ? Kind::real : Kind::integer),
         "a subgroup");
  }

  // ---- memory

  void load(Words o) {
    const Value& pointer = ids_[o[2]];
    const Type& t = type(pointer.type);
    fits(o.size() == 3 && t.kind == Kind::pointer && t.of == o[0] &&
             (width(o[0]) > 0 || type(o[0]).kind == Kind::image),
         "a load");
    Value& v = define(o);
    v.computed = true;
    v.from = pointer.from;
    if (t.storage == StorageClass::Uniform) v.row = pointer.row;
  }

  void store(Words o) const {
    const Value& pointer = ids_[o[0]];
    const Type& t = type(pointer.type);
    fits(o.size() == 2 && t.kind == Kind::pointer && t.of == of(o[1]) && width(t.of) > 0 &&
             (t.storage == StorageClass::StorageBuffer || t.storage == StorageClass::Workgroup ||
              t.storage == StorageClass::Function),
         "a store");
    if (t.storage == StorageClass::StorageBuffer) written(pointer);
  }

  void written(const Value& pointer) const {
    fits(!decorations(pointer.from).read_only, "a store");
    want(pointer.base && kernel_.buffers[*pointer.base].access != kernel::Access::read,
         "a module writes what its kernel reads");
  }

  void chain(Words o) {
    const Value& from = ids_[o[2]];
    const Type &to = type(o[0]), &whole = type(from.type);
    fits(from.variable && to.kind == Kind::pointer && to.storage == whole.storage, "a chain");
    const bool block = type(whole.of).kind == Kind::structure;
    const Type& array = type(block ? type(whole.of).of : whole.of);
    fits(o.size() == (block ? 5u : 4u) &&
             (array.kind == Kind::array || array.kind == Kind::runtime_array) && array.of == to.of,
         "a chain");
    if (block)
      fits(ids_[o[3]].constant && is_word(ids_[o[3]].type) && ids_[o[3]].number == 0, "a chain");
    const Value& index = ids_[o.back()];
    fits(is_word(of(o.back())), "a chain");
    const std::uint32_t base_variable = o[2];
    const bool inside =
        array.kind == Kind::runtime_array || !index.constant || index.number < array.count;
    want(inside, "a module reaches outside of an array");
    if (whole.storage == StorageClass::Uniform)
      want(index.constant, "a module looks for its parameters");
    if (whole.storage == StorageClass::StorageBuffer) reached(base_variable, array.of, index);
    Value v;
    v.type = o[0];
    v.computed = true;
    v.from = base_variable;
    v.base = index.base;
    if (whole.storage == StorageClass::Uniform) v.row = index.number;
    ids_[o[1]] = v;
  }

  // ---- whose elements are reached

  /// Whether the elements seen by a variable are those of the buffer from whose base an index
  /// counts: one by one, as vectors of four, or two pairs of words at a time.
  void reached(std::uint32_t variable, std::uint32_t element, const Value& index) const {
    want(index.base.has_value(), "a module reaches no buffer of its kernel");
    const kernel::Buffer& b = kernel_.buffers[*index.base];
    const std::uint32_t size = size_of(b.dtype);
    const Type& t = component(element);
    const bool real = b.dtype == DType::f16 || b.dtype == DType::f32 || b.dtype == DType::f64;
    const bool own = t.bits == 8 * size && (t.kind == Kind::real) == real;
    const bool pairs = size == 4 && t.kind == Kind::integer && t.bits == 64 && width(element) == 2;
    want(pairs || (own && (width(element) == 1 || width(element) == 4)),
         "a module takes a buffer's elements for others");
    want(decorations(variable).binding == spirv::first_window_binding + windows_[*index.base],
         "a module looks for a buffer in another's window");
  }

  /// Bases and rows of parameters, from operand to result.
  void follow(Op opcode, Words o, Value& v) const {
    if (opcode == OpCompositeExtract && ids_[o[2]].row) {
      const std::uint32_t at = 4 * *ids_[o[2]].row + o[3];
      if (at >= kernel::parameter_header_words && at < first_parameter())
        v.base = at - kernel::parameter_header_words;
      return;
    }
    if (opcode == OpImageRead) {
      const Value& index = ids_[o[3]];
      want(index.base && kernel_.buffers[*index.base].texel &&
               decorations(ids_[o[2]].from).binding ==
                   spirv::first_texel_binding + windows_[*index.base],
           "a module reads texels of no buffer");
      return;
    }
    // Sums of a base and an index, divided by four for vectors; a masked one is 0 instead.
    if (opcode != OpIAdd && opcode != OpShiftRightLogical && opcode != OpSelect) return;
    for (const std::uint32_t x : o.subspan(2)) {
      const std::optional<std::uint32_t>& base = ids_[x].base;
      if (!base) continue;
      want(!v.base || v.base == base, "a module adds up where two buffers begin");
      v.base = base;
    }
  }

  // ---- the interface

  void mode(Words o) {
    want(!entry_.empty() && o[0] == entry_[1], "a module has a mode of no entry point");
    want(modes_.emplace(o.begin() + 1, o.end()).second, "a module has a mode twice");
    const spv::ExecutionMode which{o[1]};
    if (which == spv::ExecutionMode::LocalSize) return;
    needs(which == spv::ExecutionMode::DenormPreserve ? spv::Capability::DenormPreserve
          : which == spv::ExecutionMode::SignedZeroInfNanPreserve
              ? spv::Capability::SignedZeroInfNanPreserve
              : spv::Capability::RoundingModeRTE);
    want(version() >= 0x00010400 || extended("SPV_KHR_float_controls"),
         "a module does not name what it needs");
    const bool known = o[2] == 32 || o[2] == 64;
    want(known, "a module has a mode of no floats");
  }

  /// Inputs are listed by the entry point; since SPIR-V 1.4 all that lies outside of the function.
  void interface() const {
    want(!entry_.empty() && entry_[1] == function_, "a module has another entry point");
    needs(spv::Capability::Shader);
    std::set<std::uint32_t> wanted;
    for (const std::uint32_t v : globals_)
      if (version() >= 0x00010400 || type(ids_[v].type).storage == StorageClass::Input)
        wanted.insert(v);
    const Words listed = entry_.subspan(4);  // behind "main"
    want(std::set<std::uint32_t>(listed.begin(), listed.end()) == wanted &&
             listed.size() == wanted.size(),
         "a module has another interface than variables");
  }

  Words words_;
  const kernel::Kernel& kernel_;
  std::span<const std::uint8_t> windows_;
  std::vector<Value> ids_;
  std::set<std::uint32_t> builtins_;
  std::set<std::vector<std::uint32_t>> modes_;
  std::vector<std::uint32_t> globals_;
  Words entry_;
  std::uint32_t library_ = 0, function_ = 0;
};

}  // namespace

void check_types(Words words, const kernel::Kernel& kernel, std::span<const std::uint8_t> windows) {
  ValueWalk(words, kernel, windows).all();
}

}  // namespace gnomon::module_check
