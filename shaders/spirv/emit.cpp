// shaders/spirv/emit.cpp -- the frame of the module, and the instructions that only move values.
#include "shaders/spirv/emit.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>

#include "shaders/spirv/emitter.h"
#include "shaders/spirv/shared_arrays.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

using kernel::Form;
using kernel::Op;
using kernel::Space;

Words emit(const kernel::Kernel& kernel, const EmitOptions& options) {
  return Emitter(kernel, options).run();
}

namespace {

// Whether anything is done more than once.
bool holds_loop(const kernel::Region& r) {
  return std::any_of(r.body.begin(), r.body.end(), [](const kernel::Instruction& i) {
    return (i.op == Op::loop && i.immediate != 1) ||
           std::any_of(i.regions.begin(), i.regions.end(), holds_loop);
  });
}

}  // namespace

Emitter::Emitter(const kernel::Kernel& kernel, const EmitOptions& options)
    : kernel_(kernel),
      options_(options),
      module_(options.features.version),
      values_(kernel.types.size()),
      known_(kernel.types.size()),
      spread_(kernel.types.size()),
      quarters_(kernel.types.size()),
      privates_(kernel.privates.size()),
      shareds_(kernel.shareds.size()),
      quads_(arrays_of_quads(kernel)) {
  for (const kernel::Buffer& buffer : kernel.buffers) has_coherent_ |= buffer.coherent;
  has_loops_ = holds_loop(kernel.body);
  if (!options.features.paired_stores || !options.features.int64) return;
  const std::vector<PrivateForm> forms = share_elements(kernel);
  for (std::size_t k = 0; k < forms.size(); ++k) privates_[k].form = forms[k];
}

void Emitter::check_kernel() const {
  GNOMON_CHECK(kernel_.lanes == 0,
               "kernel `" + kernel_.name + "` is in lane form; coarsen it before it is emitted");
  GNOMON_CHECK(options_.features.version >= 0x00010300,
               "storage buffers as we declare them need SPIR-V 1.3");
  GNOMON_CHECK(options_.windows.empty() || options_.windows.size() == kernel_.buffers.size(),
               "kernel `" + kernel_.name + "` has " + std::to_string(kernel_.buffers.size()) +
                   " buffers, but windows are given for " +
                   std::to_string(options_.windows.size()));
  for (std::uint8_t window : options_.windows) {
    const bool bound = window != by_address &&
                       first_window(window) + window_count(window) <= max_windows &&
                       (window_count(window) == 1 || options_.window_bytes > 0);
    GNOMON_CHECK(bound || (window == by_address && options_.features.addresses),
                 "window " + std::to_string(window) + " of kernel `" + kernel_.name +
                     "`; there are " + std::to_string(max_windows));
  }
  for (const kernel::Buffer& buffer : kernel_.buffers) {
    GNOMON_CHECK(
        !buffer.texel || (buffer.access == kernel::Access::read && size_of(buffer.dtype) == 4),
        "buffer `" + buffer.name + "` of " + std::string(name(buffer.dtype)) +
            " cannot be read as texels: only 4-byte elements that nothing writes through it can");
  }
}

Words Emitter::run() {
  check_kernel();
  for (std::uint32_t b = 0; b < kernel_.buffers.size(); ++b)
    if (kernel_.buffers[b].coherent && is_texel(b)) coherent_texels_[window_of(b)] = true;
  shared_reads_ = SharedReads(kernel_, options_.features.reads_together);
  const Ref function = module_.fresh();
  const Ref entry_label = module_.fresh();
  module_.local_size(kernel_.group_size);
  if (options_.debug_info) {
    module_.name(function, kernel_.name);
  }
  block_ = entry_label;
  if (options_.joined_rows > 0) leave_surplus();
  region(kernel_.body);
  effect(spv::Op::OpReturn, {});
  effect(spv::Op::OpFunctionEnd, {});
  declare_private_variables();
  declare_float_controls();

  Words body;
  append(body, spv::Op::OpFunction,
         {module_.void_type(), function,
          static_cast<std::uint32_t>(spv::FunctionControlMask::MaskNone), module_.function_type()});
  append(body, spv::Op::OpLabel, {entry_label});
  for (const Words* stream : {&variables_, &prologue_, &code_}) {
    body.insert(body.end(), stream->begin(), stream->end());
  }
  return module_.assemble(function, body);
}

void Emitter::declare_float_controls() {
  const Features& f = options_.features;
  const auto declare = [&](bool wanted, spv::Capability capability, spv::ExecutionMode mode,
                           std::uint32_t bits) {
    if (!wanted) return;
    module_.capability(capability);
    module_.extension("SPV_KHR_float_controls", 0x00010400);
    module_.execution_mode(mode, bits);
  };
  for (const std::uint32_t bits : {32u, 64u}) {
    // Only for the types in use: a mode for f64 asks the device for more than the kernel needs.
    const bool is_f32 = bits == 32;
    if (types_[static_cast<std::size_t>(is_f32 ? DType::f32 : DType::f64)][1] == 0) continue;
    declare(is_f32 ? f.signed_zero_inf_nan_preserve_f32 : f.signed_zero_inf_nan_preserve_f64,
            spv::Capability::SignedZeroInfNanPreserve, spv::ExecutionMode::SignedZeroInfNanPreserve,
            bits);
    declare(is_f32 ? f.rounding_rte_f32 : f.rounding_rte_f64, spv::Capability::RoundingModeRTE,
            spv::ExecutionMode::RoundingModeRTE, bits);
    declare(is_f32 ? f.denorm_preserve_f32 : f.denorm_preserve_f64, spv::Capability::DenormPreserve,
            spv::ExecutionMode::DenormPreserve, bits);
  }
}

void Emitter::unsupported(const Instruction& in, const std::string& why) const {
  throw InternalError("gnomon::spirv: `" + std::string(kernel::name(in.op)) + "` in kernel `" +
                      kernel_.name + "` " + why);
}

// ---- Types and constants

Ref Emitter::type(DType scalar, std::uint32_t width) {
  Ref& cached = types_[static_cast<std::size_t>(scalar)][width];
  if (cached != 0) return cached;
  if (width > 1) return cached = module_.vector(type(scalar), width);
  const Features& f = options_.features;
  const auto require = [&](bool offered) {
    if (offered) return;
    throw InternalError("gnomon::spirv: kernel `" + kernel_.name + "` computes in " +
                        std::string(name(scalar)) +
                        ", which the target does not offer; lower it before it is emitted");
  };
  switch (scalar) {
    case DType::boolean:
      return cached = module_.bool_type();
    case DType::i8:
    case DType::u8:
      require(f.int8);
      return cached = module_.integer(8);
    case DType::i16:
    case DType::u16:
      require(f.int16);
      return cached = module_.integer(16);
    case DType::i32:
    case DType::u32:
      return cached = module_.integer(32);
    case DType::i64:
    case DType::u64:
      require(f.int64);
      return cached = module_.integer(64);
    case DType::f16:
      require(f.float16);
      return cached = module_.floating(16);
    case DType::bf16:
      require(false);
      break;
    case DType::f32:
      return cached = module_.floating(32);
    case DType::f64:
      require(f.float64);
      return cached = module_.floating(64);
  }
  return 0;
}

Ref Emitter::constant(DType scalar, std::uint32_t width, std::uint64_t bits) {
  const std::uint32_t size = bits_of(scalar);
  if (size < 64) bits &= (std::uint64_t{1} << size) - 1;
  const Ref element = scalar == DType::boolean ? module_.boolean(bits != 0)
                                               : module_.constant(type(scalar), size, bits);
  if (width == 1) return element;
  const std::array<Ref, 4> same = {element, element, element, element};
  return module_.composite(type(scalar, width), std::span(same).first(width));
}

Parts Emitter::constant_parts(kernel::Type t, std::uint64_t bits) {
  Parts result;
  result.refs.fill(constant(t.scalar, part_width(t.width), bits));
  result.count = part_count(t.width);
  return result;
}

// ---- Writing instructions

Ref Emitter::op(spv::Op opcode, Ref result_type, std::span<const std::uint32_t> operands) {
  const Ref id = module_.fresh();
  out_->push_back(static_cast<std::uint32_t>(operands.size() + 3) << 16 |
                  static_cast<std::uint32_t>(opcode));
  out_->push_back(result_type);
  out_->push_back(id);
  out_->insert(out_->end(), operands.begin(), operands.end());
  return id;
}

void Emitter::effect(spv::Op opcode, std::initializer_list<std::uint32_t> operands) {
  append(*out_, opcode, operands);
}

Ref Emitter::glsl(std::uint32_t instruction, Ref result_type, std::initializer_list<Ref> operands) {
  Words all = {module_.glsl_instructions(), instruction};
  all.insert(all.end(), operands.begin(), operands.end());
  return op(spv::Op::OpExtInst, result_type, all);
}

Ref Emitter::in_prologue(const std::function<Ref()>& f) {
  Words* const outer = out_;
  out_ = &prologue_;
  const Ref result = f();
  out_ = outer;
  return result;
}

void Emitter::source_line(std::uint32_t line) {
  if (!options_.debug_info || line == line_ || line == 0) return;
  line_ = line;
  const kernel::SourceLine& source = kernel_.lines[line - 1];
  constexpr std::uint32_t column = 0;  // unknown
  effect(spv::Op::OpLine,
         {module_.string(source.file), static_cast<std::uint32_t>(source.line), column});
}

// ---- Components

Ref Emitter::component(Value v, std::uint32_t k) { return component(parts(v), type_of(v), k); }

Ref Emitter::component(const Parts& parts, kernel::Type t, std::uint32_t k) {
  if (t.width == 1) return parts[0];
  return op({spv::Op::OpCompositeExtract, type(t.scalar), {parts[k / 4], k % 4}});
}

Parts Emitter::compose(kernel::Type t, std::span<const Ref> components) {
  Parts result;
  result.count = part_count(t.width);
  const std::uint32_t n = part_width(t.width);
  for (std::uint32_t p = 0; p < result.count; ++p) {
    const auto own = components.subspan(std::size_t{4} * p, n);
    const bool constant =
        std::all_of(own.begin(), own.end(), [&](Ref r) { return module_.is_constant(r); });
    result[p] = n == 1     ? own[0]
                : constant ? module_.composite(type(t.scalar, n), own)
                           : op(spv::Op::OpCompositeConstruct, type(t.scalar, n), own);
  }
  return result;
}

Parts Emitter::splat(Ref component, kernel::Type t) {
  Parts result;
  result.count = part_count(t.width);
  const std::uint32_t n = part_width(t.width);
  const std::array<Ref, 4> same = {component, component, component, component};
  result.refs.fill(
      n == 1 ? component
             : op(spv::Op::OpCompositeConstruct, type(t.scalar, n), std::span(same).first(n)));
  return result;
}

// The exclusive or with the highest bit of the invocation's number, which is never set.
Ref Emitter::hidden(DType scalar, std::uint32_t width, Ref value) {
  const Ref words = type(DType::u32, width);
  const Ref highest =
      op({spv::Op::OpShiftRightLogical, word_type(), {invocation(), module_.u32(31)}});
  const Ref never = splat(highest, {DType::u32, static_cast<std::uint8_t>(width)})[0];
  if (!is_float(scalar)) return op({spv::Op::OpBitwiseXor, words, {value, never}});
  const Ref bits = op({spv::Op::OpBitcast, words, {value}});
  return op({spv::Op::OpBitcast,
             type(scalar, width),
             {op({spv::Op::OpBitwiseXor, words, {bits, never}})}});
}

// ---- Sources

Ref Emitter::parameter_variable() {
  if (parameter_block_ != 0) return parameter_block_;
  const std::uint32_t words = kernel::parameter_header_words +
                              static_cast<std::uint32_t>(kernel_.buffers.size()) +
                              kernel_.parameters + 2 * addresses();
  const std::uint32_t rows = options_.joined_rows > 0 ? options_.joined_rows : (words + 3) / 4;
  const Ref block = module_.block(module_.array(type(DType::u32, 4), rows, 16));
  parameter_block_ = module_.variable(spv::StorageClass::Uniform, block);
  module_.decorate(parameter_block_, spv::Decoration::DescriptorSet, {0});
  module_.decorate(parameter_block_, spv::Decoration::Binding, {parameter_binding});
  if (options_.debug_info) module_.name(parameter_block_, "parameters");
  return parameter_block_;
}

// Rows of four words are loaded once, on entry.
Ref Emitter::parameter_row(std::map<std::uint32_t, Ref>& rows, std::uint32_t index, Ref from) {
  Ref& row = rows[index];
  if (row != 0) return row;
  const Ref row_type = type(DType::u32, 4);
  const Ref block = parameter_variable();
  const Ref at = from == 0 ? 0 : add(from, module_.u32(index));
  const Ref pointer = op({spv::Op::OpAccessChain,
                          module_.pointer(spv::StorageClass::Uniform, row_type),
                          {block, module_.u32(0), from == 0 ? module_.u32(index) : at}});
  return row = op({spv::Op::OpLoad, row_type, {pointer}});
}

// Word `index` of the parameter block, that of the workgroup's own part.
Ref Emitter::parameter_word(std::uint32_t index) {
  if (const auto found = parameter_words_.find(index); found != parameter_words_.end()) {
    return found->second;
  }
  const Ref from = options_.joined_rows > 0 ? own_row() : 0;
  const Ref word = in_prologue([&] {
    const Ref row = parameter_row(parameter_rows_, index / 4, from);
    return op({spv::Op::OpCompositeExtract, word_type(), {row, index % 4}});
  });
  parameter_words_.emplace(index, word);
  return word;
}

// Word `index` of a joined dispatch's header.
Ref Emitter::header_word(std::uint32_t index) {
  return in_prologue([&] {
    const Ref row = parameter_row(header_rows_, 0, 0);
    return op({spv::Op::OpCompositeExtract, word_type(), {row, index}});
  });
}

Ref Emitter::own_row() {
  if (own_row_ != 0) return own_row_;
  const Ref group = linear_group();
  const Ref shift = header_word(2);
  return own_row_ = in_prologue([&] {
           const Ref slot =
               identity(op({spv::Op::OpShiftRightLogical, word_type(), {group, shift}}));
           const Ref word = add(slot, module_.u32(kernel::parameter_header_words));
           const Ref row = op({spv::Op::OpShiftRightLogical, word_type(), {word, module_.u32(2)}});
           const Ref column = op({spv::Op::OpBitwiseAnd, word_type(), {word, module_.u32(3)}});
           const Ref pointer = op({spv::Op::OpAccessChain,
                                   module_.pointer(spv::StorageClass::Uniform, word_type()),
                                   {parameter_variable(), module_.u32(0), row, column}});
           return op({spv::Op::OpLoad, word_type(), {pointer}});
         });
}

// The same number below max_slots, by way of constants.
Ref Emitter::identity(Ref word) {
  if (options_.features.reads_together == 0) return word;
  const auto digit = [&](Ref index) {
    if (identities_ == 0)
      identities_ = module_.variable(spv::StorageClass::PushConstant,
                                     module_.block(module_.array(word_type(), identity_words, 4)));
    const Ref pointer = op({spv::Op::OpAccessChain,
                            module_.pointer(spv::StorageClass::PushConstant, word_type()),
                            {identities_, module_.u32(0), index}});
    return op({spv::Op::OpLoad, word_type(), {pointer}});
  };
  const Ref low =
      digit(op({spv::Op::OpBitwiseAnd, word_type(), {word, module_.u32(identity_words - 1)}}));
  const Ref high = digit(op({spv::Op::OpShiftRightLogical, word_type(), {word, module_.u32(5)}}));
  return add(low, op({spv::Op::OpShiftLeftLogical, word_type(), {high, module_.u32(5)}}));
}

void Emitter::leave_surplus() {
  const Ref group = group_index();
  const Ref inside = op({spv::Op::OpULessThan, type(DType::boolean), {group, parameter_word(1)}});
  const Ref leave = module_.fresh(), stay = module_.fresh();
  effect(spv::Op::OpSelectionMerge,
         {stay, static_cast<std::uint32_t>(spv::SelectionControlMask::MaskNone)});
  effect(spv::Op::OpBranchConditional, {inside, stay, leave});
  begin_block(leave);
  effect(spv::Op::OpReturn, {});
  begin_block(stay);
}

// One axis of a built-in of three words; `cache` keeps the loaded vector.
Ref Emitter::builtin_axis(spv::BuiltIn builtin, Ref& cache, std::uint32_t axis) {
  return in_prologue([&] {
    if (cache == 0) {
      const Ref vector = type(DType::u32, 3);
      const Ref variable = module_.variable(spv::StorageClass::Input, vector);
      module_.decorate(variable, spv::Decoration::BuiltIn, {static_cast<std::uint32_t>(builtin)});
      cache = op({spv::Op::OpLoad, vector, {variable}});
    }
    return op({spv::Op::OpCompositeExtract, word_type(), {cache, axis}});
  });
}

Ref Emitter::local_index() {
  if (local_index_ == 0) {
    // Groups extend along x only, so x is the linear index.
    local_index_ = builtin_axis(spv::BuiltIn::LocalInvocationId, local_id_, 0);
  }
  return local_index_;
}

Ref Emitter::linear_group() {
  if (linear_group_ != 0) return linear_group_;
  const bool joined = options_.joined_rows > 0;
  const Ref x = builtin_axis(spv::BuiltIn::WorkgroupId, workgroup_id_, 0);
  const Ref y = builtin_axis(spv::BuiltIn::WorkgroupId, workgroup_id_, 1);
  const Ref first = joined ? header_word(0) : parameter_word(0);
  const Ref row = joined ? header_word(1) : parameter_word(1);
  return linear_group_ = in_prologue([&] {
           const Ref before = op({spv::Op::OpIMul, word_type(), {y, row}});
           return add(first, add(x, before));
         });
}

Ref Emitter::group_index() {
  if (group_index_ != 0) return group_index_;
  const Ref linear = linear_group();
  if (options_.joined_rows == 0) return group_index_ = linear;
  const Ref first = parameter_word(0);
  return group_index_ = in_prologue([&] { return add(first, linear); });
}

Ref Emitter::invocation() {
  if (invocation_ == 0) {
    const Ref group = group_index();
    const Ref local = local_index();
    invocation_ = in_prologue([&] {
      return add(op({spv::Op::OpIMul, word_type(), {group, module_.u32(kernel_.group_size)}}),
                 local);
    });
  }
  return invocation_;
}

Ref Emitter::subgroup_word(spv::BuiltIn builtin, Ref& cache) {
  if (cache != 0) return cache;
  if (!options_.features.subgroup_basic)
    throw InternalError("gnomon::spirv: kernel `" + kernel_.name +
                        "` asks for subgroups, which the target does not offer");
  module_.capability(spv::Capability::GroupNonUniform);
  return cache = in_prologue([&] {
           const Ref variable = module_.variable(spv::StorageClass::Input, word_type());
           module_.decorate(variable, spv::Decoration::BuiltIn,
                            {static_cast<std::uint32_t>(builtin)});
           return op({spv::Op::OpLoad, word_type(), {variable}});
         });
}

// ---- One case per form of instruction

void Emitter::region(const Region& r) {
  for (const Instruction& in : r.body) instruction(in);
}

void Emitter::instruction(const Instruction& in) {
  source_line(in.line);
  const auto one = [](Ref ref) { return Parts{{ref}, 1}; };
  switch (form(in.op)) {
    case Form::constant:
      known_[in.results[0].index] = in.immediate;
      return define(in, constant_parts(type_of(in.results[0]), in.immediate));
    case Form::parameter:
      return define(
          in,
          one(parameter_word(kernel::parameter_header_words +
                             static_cast<std::uint32_t>(kernel_.buffers.size() + in.immediate))));
    case Form::position:
      if (in.op == Op::lane)
        unsupported(in, "belongs to the lane form; coarsen it before it is emitted");
      return define(in, one(in.op == Op::invocation    ? invocation()
                            : in.op == Op::group_index ? group_index()
                                                       : local_index()));
    case Form::unary:
    case Form::binary:
    case Form::ternary:
    case Form::comparison:
    case Form::test:
    case Form::select:
    case Form::convert:
      arithmetic(in);
      if (in.op == Op::shl && type_of(in.results[0]) == kernel::Type{DType::u32} &&
          known(in.operands[1]) == 2u)
        quarters_[in.results[0].index] = scalar(in.operands[0]);
      return;
    case Form::bitcast:
      return bitcast(in);
    case Form::word:
    case Form::from_words:
      return words(in);

    case Form::splat: {
      const kernel::Type t = type_of(in.results[0]);
      if (t.width > 1) spread_[in.results[0].index] = scalar(in.operands[0]);
      const std::optional<std::uint64_t> bits = known_[in.results[0].index] = known(in.operands[0]);
      return define(in, bits ? constant_parts(t, *bits) : splat(scalar(in.operands[0]), t));
    }
    case Form::extract:
      return define(in, one(component(in.operands[0], static_cast<std::uint32_t>(in.immediate))));
    case Form::construct: {
      std::vector<Ref> components;
      for (Value v : in.operands) components.push_back(scalar(v));
      return define(in, compose(type_of(in.results[0]), components));
    }
    case Form::horizontal:
      return define(in, one(reduce(in.op, parts(in.operands[0]), type_of(in.operands[0]).width)));

    case Form::load:
      return space(in.op) == Space::buffer ? load(in) : local_load(in);
    case Form::store:
      return space(in.op) == Space::buffer ? store(in) : local_store(in);
    case Form::atomic:
      return atomic(in);
    case Form::subgroup_position:
      return define(in, one(in.op == Op::subgroup_index
                                ? subgroup_word(spv::BuiltIn::SubgroupId, subgroup_index_)
                                : subgroup_word(spv::BuiltIn::NumSubgroups, subgroup_count_)));
    case Form::subgroup_election:
    case Form::subgroup_reduction:
      return subgroup(in);
    case Form::barrier:
      return barrier();
    case Form::loop:
      return loop(in);
    case Form::branch:
      return if_(in);
  }
}

}  // namespace gnomon::spirv
