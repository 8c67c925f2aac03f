// shaders/spirv/emit_memory.cpp -- buffers, texels, atomics, barriers.
//
// Masked-off components of a load read some element that is in bounds; those of a store write
// nothing.
#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>

#include "shaders/spirv/emitter.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

using kernel::Op;

namespace {

// Contiguous accesses of this kind are made of 16-byte ones; see emit.h for what they may assume.
bool is_quad_access(DType t, std::uint32_t width, std::uint32_t index_width) {
  return index_width == 1 && width >= 4 && size_of(t) == 4;
}

std::uint32_t word(spv::Scope scope) { return static_cast<std::uint32_t>(scope); }

constexpr DType in_buffer(DType t) { return t == DType::boolean ? DType::u8 : t; }

constexpr std::uint32_t acquire_release =
    static_cast<std::uint32_t>(spv::MemorySemanticsMask::AcquireRelease);
constexpr std::uint32_t buffer_memory =
    static_cast<std::uint32_t>(spv::MemorySemanticsMask::UniformMemory);
constexpr std::uint32_t image_memory =
    static_cast<std::uint32_t>(spv::MemorySemanticsMask::ImageMemory);
constexpr std::uint32_t shared_memory =
    static_cast<std::uint32_t>(spv::MemorySemanticsMask::WorkgroupMemory);

}  // namespace

// ---- Representation in memory: a bool is a byte in buffers, a word elsewhere

Ref Emitter::to_memory(DType t, DType as, std::uint32_t width, Ref value) {
  if (t == as) return value;
  return op({spv::Op::OpSelect,
             type(as, width),
             {value, constant(as, width, 1), constant(as, width, 0)}});
}

Ref Emitter::from_memory(DType t, DType as, std::uint32_t width, Ref stored) {
  if (t == as) return stored;
  return op({spv::Op::OpINotEqual, type(t, width), {stored, constant(as, width, 0)}});
}

// ---- Variables

std::uint32_t Emitter::window_of(std::uint32_t buffer) const {
  return options_.windows.empty() ? 0 : options_.windows[buffer];
}

// Whether any buffer is written through a binding of this window.
bool Emitter::is_written(std::uint32_t window) const {
  const auto first = first_window(static_cast<std::uint8_t>(window)),
             end = first + window_count(static_cast<std::uint8_t>(window));
  for (std::uint32_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (kernel_.buffers[b].access == kernel::Access::read || is_by_address(b)) continue;
    const auto own = static_cast<std::uint8_t>(window_of(b));
    if (first_window(own) < end && first < first_window(own) + window_count(own)) return true;
  }
  return false;
}

// What a buffer is made of when it is seen as elements (width 1), as 4-vectors or as pairs of
// 64-bit words (width 2).
Ref Emitter::unit_type(std::uint32_t buffer, std::uint32_t width) {
  return width == 2 ? type(DType::u64, 2) : type(in_buffer(kernel_.buffers[buffer].dtype), width);
}
std::uint32_t Emitter::unit_bytes(std::uint32_t buffer, std::uint32_t width) const {
  return width == 2 ? 16 : size_of(kernel_.buffers[buffer].dtype) * width;
}

// The variable through which a buffer is seen so.
Ref Emitter::buffer_variable(std::uint32_t buffer, std::uint32_t width, std::uint32_t part) {
  Ref& variable = buffer_variables_[{buffer, width, part}];
  if (variable != 0) return variable;
  const kernel::Buffer& b = kernel_.buffers[buffer];
  const std::uint32_t bytes = size_of(b.dtype);
  const Features& f = options_.features;
  if (bytes < 4 && !(bytes == 1 ? f.storage_8 : f.storage_16)) {
    throw InternalError("gnomon::spirv: buffer `" + b.name + "` of kernel `" + kernel_.name +
                        "` holds " + std::string(name(b.dtype)) +
                        ", which the target does not store; lower it before it is emitted");
  }
  if (bytes == 2) module_.capability(spv::Capability::StorageBuffer16BitAccess);
  if (bytes == 1) {
    module_.capability(spv::Capability::StorageBuffer8BitAccess);
    module_.extension("SPV_KHR_8bit_storage", 0x00010500);
  }
  const Ref elements = module_.runtime_array(unit_type(buffer, width), unit_bytes(buffer, width));
  variable = module_.variable(spv::StorageClass::StorageBuffer, module_.block(elements));
  module_.decorate(variable, spv::Decoration::DescriptorSet, {0});
  module_.decorate(
      variable, spv::Decoration::Binding,
      {first_window_binding + first_window(static_cast<std::uint8_t>(window_of(buffer))) + part});
  module_.decorate(variable, spv::Decoration::Aliased);
  if (b.access == kernel::Access::read && (f.as_specified || !is_written(window_of(buffer)))) {
    module_.decorate(variable, spv::Decoration::NonWritable);
  }
  if (b.coherent) module_.decorate(variable, spv::Decoration::Coherent);
  if (options_.debug_info)
    module_.name(variable, b.name + (width == 1 ? "" : width == 2 ? "_pairs" : "_vec4"));
  return variable;
}

bool Emitter::is_texel(std::uint32_t buffer) const {
  return kernel_.buffers[buffer].texel && !is_by_address(buffer) && parts_of(buffer) == 1;
}

std::uint32_t Emitter::addresses(std::size_t count) const {
  const auto end = options_.windows.begin() +
                   static_cast<std::ptrdiff_t>(std::min(count, options_.windows.size()));
  return static_cast<std::uint32_t>(std::count(options_.windows.begin(), end, by_address));
}

// Pointers from addresses cannot be declared Coherent; a volatile access is one that nothing
// caches.
std::uint32_t Emitter::access_by_address(std::uint32_t buffer) const {
  const auto aligned = static_cast<std::uint32_t>(spv::MemoryAccessMask::Aligned);
  const auto fresh = static_cast<std::uint32_t>(spv::MemoryAccessMask::Volatile);
  return kernel_.buffers[buffer].coherent ? aligned | fresh : aligned;
}

// The address of the block that holds a buffer, as a pointer to elements or 4-vectors.
Ref Emitter::buffer_address(std::uint32_t buffer, std::uint32_t width) {
  Ref& address = buffer_addresses_[{buffer, width}];
  if (address != 0) return address;
  module_.physical_addresses();
  const std::uint32_t words = kernel::parameter_header_words +
                              static_cast<std::uint32_t>(kernel_.buffers.size()) +
                              kernel_.parameters + 2 * addresses(buffer);
  const Ref low = parameter_word(words), high = parameter_word(words + 1);
  const Ref elements = module_.runtime_array(unit_type(buffer, width), unit_bytes(buffer, width));
  const Ref pointer =
      module_.pointer(spv::StorageClass::PhysicalStorageBuffer, module_.block(elements));
  return address = in_prologue([&] {
           const Ref pair = op({spv::Op::OpCompositeConstruct, type(DType::u32, 2), {low, high}});
           return op({spv::Op::OpBitcast, pointer, {pair}});
         });
}

Ref Emitter::buffer_base(std::uint32_t buffer) {
  return parameter_word(kernel::parameter_header_words + buffer);
}

std::uint32_t Emitter::parts_of(std::uint32_t buffer) const {
  return window_count(static_cast<std::uint8_t>(window_of(buffer)));
}

Emitter::InPart Emitter::in_part(std::uint32_t buffer, std::uint32_t width, Ref index,
                                 std::uint32_t part) {
  const auto count = static_cast<std::uint32_t>(options_.window_bytes /
                                                (size_of(kernel_.buffers[buffer].dtype) * width));
  const Ref own =
      part == 0 ? index : op({spv::Op::OpISub, word_type(), {index, module_.u32(part * count)}});
  // What lies in front wraps around.
  return {own, op({spv::Op::OpULessThan, type(DType::boolean), {own, module_.u32(count)}})};
}

Ref Emitter::buffer_pointer(std::uint32_t buffer, std::uint32_t width, Ref index,
                            std::uint32_t part) {
  const bool address = is_by_address(buffer);
  const Ref base = address ? buffer_address(buffer, width) : buffer_variable(buffer, width, part);
  const Ref pointee = unit_type(buffer, width);
  const auto storage =
      address ? spv::StorageClass::PhysicalStorageBuffer : spv::StorageClass::StorageBuffer;
  return op(
      {spv::Op::OpAccessChain, module_.pointer(storage, pointee), {base, module_.u32(0), index}});
}

// Whether 16 bytes are reached as two words of 64 bits.
bool Emitter::in_pairs(std::uint32_t buffer, std::uint32_t width) const {
  const Features& f = options_.features;
  return width == 4 && f.paired_stores && f.int64 && size_of(kernel_.buffers[buffer].dtype) == 4;
}

Ref Emitter::buffer_load(std::uint32_t buffer, std::uint32_t width, Ref index) {
  const DType t = kernel_.buffers[buffer].dtype;
  const Ref loaded = type(in_buffer(t), width);
  if (const std::uint32_t parts = parts_of(buffer); parts > 1) {
    // Every part is read where it has something, so that nothing branches.
    Ref result = 0;
    for (std::uint32_t p = 0; p < parts; ++p) {
      const InPart at = in_part(buffer, width, index, p);
      const Ref pointer = buffer_pointer(buffer, width, guarded(at.inside, at.index, 0), p);
      const Ref x = op({spv::Op::OpLoad, loaded, {pointer}});
      const std::array<Ref, 4> same{at.inside, at.inside, at.inside, at.inside};
      const Ref chosen = width == 1 ? at.inside
                                    : op(spv::Op::OpCompositeConstruct, type(DType::boolean, width),
                                         std::span(same).first(width));
      result = p == 0 ? x : op({spv::Op::OpSelect, loaded, {chosen, x, result}});
    }
    return result;
  }
  if (in_pairs(buffer, width) && !is_by_address(buffer))
    return op({spv::Op::OpBitcast,
               loaded,
               {op({spv::Op::OpLoad, unit_type(buffer, 2), {buffer_pointer(buffer, 2, index)}})}});
  const Ref pointer = buffer_pointer(buffer, width, index);
  if (!is_by_address(buffer)) return op({spv::Op::OpLoad, loaded, {pointer}});
  return op({spv::Op::OpLoad, loaded, {pointer, access_by_address(buffer), size_of(t) * width}});
}

void Emitter::buffer_store(std::uint32_t buffer, std::uint32_t width, Ref index, Ref stored) {
  if (const std::uint32_t parts = parts_of(buffer); parts > 1) {
    for (std::uint32_t p = 0; p < parts; ++p) {
      const InPart at = in_part(buffer, width, index, p);
      branch(at.inside,
             [&] {
               effect(spv::Op::OpStore, {buffer_pointer(buffer, width, at.index, p), stored});
             },
             {});
    }
    return;
  }
  if (in_pairs(buffer, width)) {
    // A pair fills a register of twice the width. Where there are such (LLVM 15 on AVX-512, whose
    // drivers compute in half of one), the compiler keeps what goes into a pair in one from its
    // beginning, through the loop that computes it: it is copied there and waits in memory at twice
    // its size. Loops of the same arithmetic took 1.6 times as long on Emerald Rapids, we think for
    // that.
    if (has_loops_) stored = hidden(in_buffer(kernel_.buffers[buffer].dtype), width, stored);
    stored = op({spv::Op::OpBitcast, unit_type(buffer, 2), {stored}});
    width = 2;
  }
  const Ref pointer = buffer_pointer(buffer, width, index);
  if (!is_by_address(buffer)) return effect(spv::Op::OpStore, {pointer, stored});
  effect(spv::Op::OpStore, {pointer, stored, access_by_address(buffer), unit_bytes(buffer, width)});
}

// The texel view of a window, loaded once on entry. Its buffers share it: texels are untyped words.
// Where one of them is coherent, another buffer writes the same memory.
Ref Emitter::texel_image(std::uint32_t window) {
  Ref& image = texel_images_[window];
  if (image != 0) return image;
  const Ref image_type = module_.texel_buffer();
  const Ref variable = module_.variable(spv::StorageClass::UniformConstant, image_type);
  module_.decorate(variable, spv::Decoration::DescriptorSet, {0});
  module_.decorate(variable, spv::Decoration::Binding, {first_texel_binding + window});
  module_.decorate(variable, spv::Decoration::NonWritable);
  if (coherent_texels_[window]) {
    module_.decorate(variable, spv::Decoration::Coherent);
    module_.decorate(variable, spv::Decoration::Aliased);
  }
  if (options_.debug_info) module_.name(variable, "texels_" + std::to_string(window));
  return image = in_prologue([&] { return op({spv::Op::OpLoad, image_type, {variable}}); });
}

// ---- Indices and masks

Ref Emitter::add(Ref a, Ref b) { return op({spv::Op::OpIAdd, word_type(), {a, b}}); }

// Which 4-vector holds element `position` + 4 * `part`.
Ref Emitter::quarter(Ref position, std::uint32_t part) {
  const Ref first = op({spv::Op::OpShiftRightLogical, word_type(), {position, module_.u32(2)}});
  return part == 0 ? first : add(first, module_.u32(part));
}

// The 16-byte unit where part `part` of an access at `index` lies. Buffers begin at multiples of
// four elements, so what is known as a multiple of four needs no shift here, where a loop would
// repeat it.
Ref Emitter::quad(std::uint32_t buffer, Value index, std::uint32_t part) {
  const Ref whole = quarters_[index.index];
  if (whole == 0) return quarter(add(buffer_base(buffer), scalar(index)), part);
  Ref& base = quad_bases_[buffer];
  if (base == 0) {
    const Ref elements = buffer_base(buffer);
    base = in_prologue([&] { return quarter(elements, 0); });
  }
  const Ref first = add(base, whole);
  return part == 0 ? first : add(first, module_.u32(part));
}

bool Emitter::is_masked(const Instruction& in, std::size_t operand) const {
  return in.operands.size() > operand && known(in.operands[operand]).value_or(0) == 0;
}

Ref Emitter::mask_of(const Instruction& in, std::size_t operand, std::uint32_t k) {
  if (!is_masked(in, operand)) return 0;
  const Value mask = in.operands[operand];
  return component(mask, type_of(mask).width == 1 ? 0 : k);
}

Ref Emitter::guarded(Ref mask, Ref index, std::uint32_t otherwise) {
  if (mask == 0) return index;
  return op({spv::Op::OpSelect, word_type(), {mask, index, module_.u32(otherwise)}});
}

// ---- Buffers. A position is an index into the window: base of the buffer plus element index.

// Element `position` in its memory type.
Ref Emitter::read_element(std::uint32_t buffer, Ref position) {
  const DType t = kernel_.buffers[buffer].dtype;
  if (!is_texel(buffer)) return buffer_load(buffer, 1, position);
  const Ref texel = read_texel(buffer, quarter(position, 0));
  const Ref lane = op({spv::Op::OpBitwiseAnd, word_type(), {position, module_.u32(3)}});
  const Ref bits = op({spv::Op::OpVectorExtractDynamic, word_type(), {texel, lane}});
  return t == DType::f32 ? op({spv::Op::OpBitcast, type(t), {bits}}) : bits;
}

// Elements 4 * `group` to 4 * `group` + 3.
Ref Emitter::read_vec4(std::uint32_t buffer, Ref group) {
  const DType t = kernel_.buffers[buffer].dtype;
  if (!is_texel(buffer)) return buffer_load(buffer, 4, group);
  const Ref texel = read_texel(buffer, group);
  return t == DType::f32 ? op({spv::Op::OpBitcast, type(t, 4), {texel}}) : texel;
}

// Elements `position` and `position` + 1 of a texel, where `position` is even.
Parts Emitter::read_half(std::uint32_t buffer, Ref position) {
  const Ref texel = read_texel(buffer, quarter(position, 0));
  const Ref second =
      op({spv::Op::OpINotEqual,
          type(DType::boolean),
          {op({spv::Op::OpBitwiseAnd, word_type(), {position, module_.u32(2)}}), module_.u32(0)}});
  const auto word = [&](std::uint32_t k) {
    return op({spv::Op::OpCompositeExtract, word_type(), {texel, k}});
  };
  const DType t = kernel_.buffers[buffer].dtype;
  std::vector<Ref> halves;
  for (std::uint32_t k = 0; k < 2; ++k) {
    const Ref bits = op({spv::Op::OpSelect, word_type(), {second, word(2 + k), word(k)}});
    halves.push_back(t == DType::f32 ? op({spv::Op::OpBitcast, type(t), {bits}}) : bits);
  }
  return compose({t, 2}, halves);
}

Ref Emitter::read_texel(std::uint32_t buffer, Ref group) {
  return op({spv::Op::OpImageRead, type(DType::u32, 4), {texel_image(window_of(buffer)), group}});
}

// ---- Reads that a subgroup makes together

Ref Emitter::subgroup_lane() {
  return subgroup_word(spv::BuiltIn::SubgroupLocalInvocationId, subgroup_lane_);
}

// What each invocation of a subgroup adds to where the first one reads; distances begin with 0.
// There may be more invocations: those read where the last one does, or the first.
Ref Emitter::distance_of_lane(const std::vector<std::uint32_t>& distances) {
  Ref& known = lane_distances_[distances];
  if (known != 0) return known;
  const Ref lane = subgroup_lane();
  const std::uint32_t step = distances[1];
  bool even = true;
  for (std::uint32_t k = 0; k < distances.size(); ++k) even = even && distances[k] == k * step;
  return known = in_prologue([&] {
           if (even) {
             const auto members = static_cast<std::uint32_t>(distances.size());
             const Ref mine =
                 members == options_.features.reads_together
                     ? lane
                     : glsl(GLSLstd450UMin, word_type(), {lane, module_.u32(members - 1)});
             return op({spv::Op::OpIMul, word_type(), {mine, module_.u32(step)}});
           }
           Ref chosen = module_.u32(distances[0]);
           for (std::uint32_t k = 1; k < distances.size(); ++k) {
             const Ref mine = op({spv::Op::OpIEqual, type(DType::boolean), {lane, module_.u32(k)}});
             chosen =
                 op({spv::Op::OpSelect, word_type(), {mine, module_.u32(distances[k]), chosen}});
           }
           return chosen;
         });
}

// The first member in the text fetches for all.
Ref Emitter::read_together(const Instruction& in, std::uint32_t part, SharedReads::Member member) {
  const auto buffer = static_cast<std::uint32_t>(in.immediate);
  Ref& texel = shared_texels_[member.block];
  if (texel == 0)
    texel = read_texel(buffer, add(quad(buffer, in.operands[0], part),
                                   distance_of_lane(shared_reads_.distances(member.block))));
  module_.capability(spv::Capability::GroupNonUniformShuffle);
  const Ref bits =
      op({spv::Op::OpGroupNonUniformShuffle,
          type(DType::u32, 4),
          {module_.u32(word(spv::Scope::Subgroup)), texel, module_.u32(member.position)}});
  const DType t = kernel_.buffers[buffer].dtype;
  return t == DType::f32 ? op({spv::Op::OpBitcast, type(t, 4), {bits}}) : bits;
}

void Emitter::load(const Instruction& in) {
  const auto buffer = static_cast<std::uint32_t>(in.immediate);
  const kernel::Type t = type_of(in.results[0]);
  const kernel::Type index_type = type_of(in.operands[0]);
  if (is_quad_access(t.scalar, t.width, index_type.width)) {
    Parts result;
    result.count = part_count(t.width);
    for (std::uint32_t p = 0; p < result.count; ++p) {
      if (const auto member = shared_reads_.find(in, p); member && is_texel(buffer)) {
        result[p] = read_together(in, p, *member);
        continue;
      }
      Ref group = quad(buffer, in.operands[0], p);
      // 16 bytes that hold one element in bounds lie within the window as a whole, and a mask of
      // constants has one such element (passes/vectorize).
      if (is_masked(in, load_mask) && !(type_of(in.operands[load_mask]).width > 1 &&
                                        module_.is_constant(parts(in.operands[load_mask])[p]))) {
        const Value mask = in.operands[load_mask];
        const Ref any = type_of(mask).width == 1
                            ? scalar(mask)
                            : op({spv::Op::OpAny, type(DType::boolean), {parts(mask)[p]}});
        group = guarded(any, group, 0);
      }
      result[p] = from_memory(t.scalar, in_buffer(t.scalar), 4, read_vec4(buffer, group));
    }
    return define(in, result);
  }
  const Ref base = buffer_base(buffer);
  const Ref first = index_type.width == 1 ? add(base, scalar(in.operands[0])) : 0;
  if (t.width == 2 && index_type.width == 1 && is_texel(buffer))
    return define(in, read_half(buffer, guarded(mask_of(in, load_mask, 0), first, 0)));
  std::vector<Ref> components;
  for (std::uint32_t k = 0; k < t.width; ++k) {
    Ref position = first;
    if (index_type.width > 1) {
      position = add(base, component(in.operands[0], k));
    } else if (k > 0) {
      position = add(first, module_.u32(k));
    }
    position = guarded(mask_of(in, load_mask, k), position, 0);
    components.push_back(
        from_memory(t.scalar, in_buffer(t.scalar), 1, read_element(buffer, position)));
  }
  define(in, compose(t, components));
}

void Emitter::store(const Instruction& in) {
  const auto buffer = static_cast<std::uint32_t>(in.immediate);
  const Value value = in.operands[1];
  const kernel::Type t = type_of(value);
  const kernel::Type index_type = type_of(in.operands[0]);
  const Ref base = buffer_base(buffer);
  const Ref first = index_type.width == 1 ? add(base, scalar(in.operands[0])) : 0;

  const auto store_element = [&](std::uint32_t k) {
    Ref position = first;
    if (index_type.width > 1) {
      position = add(base, component(in.operands[0], k));
    } else if (k > 0) {
      position = add(first, module_.u32(k));
    }
    const Ref stored = to_memory(t.scalar, in_buffer(t.scalar), 1, component(value, k));
    buffer_store(buffer, 1, position, stored);
  };
  const auto store_elements = [&] {
    for (std::uint32_t k = 0; k < t.width; ++k) {
      const Ref mask = mask_of(in, store_mask, k);
      if (mask == 0) {
        store_element(k);
      } else {
        branch(mask, [&] { store_element(k); }, {});
      }
    }
  };
  const auto store_quads = [&] {
    for (std::uint32_t p = 0; p < part_count(t.width); ++p) {
      const Ref stored = to_memory(t.scalar, in_buffer(t.scalar), 4, parts(value)[p]);
      buffer_store(buffer, 4, quad(buffer, in.operands[0], p), stored);
    }
  };

  if (!is_quad_access(t.scalar, t.width, index_type.width)) return store_elements();
  if (!is_masked(in, store_mask)) return store_quads();
  const Value mask = in.operands[store_mask];
  if (type_of(mask).width == 1) return branch(scalar(mask), store_quads, {});
  // Nearly always all components are there: only the last group of lanes ends early.
  branch(reduce(Op::all, parts(mask), t.width), store_quads, store_elements);
}

// ---- Synchronisation

// The kinds of memory through which coherent buffers are reached.
std::uint32_t Emitter::coherent_memory() const {
  const bool texels =
      std::find(coherent_texels_.begin(), coherent_texels_.end(), true) != coherent_texels_.end();
  return buffer_memory | (texels ? image_memory : 0);
}

// Packing stores (`and`, `or`) order nothing: no invocation waits for what another one writes.
void Emitter::atomic(const Instruction& in) {
  const auto buffer = static_cast<std::uint32_t>(in.immediate);
  const kernel::Type t = type_of(in.operands[1]);
  if (t.scalar != DType::u32 && t.scalar != DType::i32) unsupported(in, "applies to u32 and i32");
  const Ref scope = module_.u32(word(spv::Scope::Device));
  const bool orders = in.op == Op::atomic_add && has_coherent_;
  const Ref semantics = module_.u32(orders ? acquire_release | coherent_memory() : 0);
  const spv::Op opcode = in.op == Op::atomic_add   ? spv::Op::OpAtomicIAdd
                         : in.op == Op::atomic_and ? spv::Op::OpAtomicAnd
                                                   : spv::Op::OpAtomicOr;
  const Ref base = buffer_base(buffer);
  std::vector<Ref> old;
  for (std::uint32_t k = 0; k < t.width; ++k) {
    const Ref index = add(base, component(in.operands[0], k)), x = component(in.operands[1], k);
    const auto update = [&](Ref at, std::uint32_t part) {
      const Ref pointer = buffer_pointer(buffer, 1, at, part);
      return op({opcode, type(t.scalar), {pointer, scope, semantics, x}});
    };
    const std::uint32_t parts = parts_of(buffer);
    Ref result = parts == 1 ? update(index, 0) : 0;
    for (std::uint32_t p = 0; p < parts && parts > 1; ++p) {
      const InPart at = in_part(buffer, 1, index, p);
      const Ref before = result == 0 ? constant(t.scalar, 1, 0) : result;
      Ref mine = 0, sides[2] = {};
      branch(
          at.inside,
          [&] {
            mine = update(at.index, p);
            sides[0] = block_;
          },
          [&] { sides[1] = block_; });
      result = op({spv::Op::OpPhi, type(t.scalar), {mine, sides[0], before, sides[1]}});
    }
    old.push_back(result);
  }
  define(in, compose(t, old));
}

void Emitter::subgroup(const Instruction& in) {
  const Features& f = options_.features;
  const bool combines = kernel::is_subgroup_reduction(in.op);
  if (!(combines ? f.subgroup_arithmetic : f.subgroup_basic))
    unsupported(in, "needs subgroup operations that the target does not offer");
  module_.capability(spv::Capability::GroupNonUniform);
  const Ref scope = module_.u32(word(spv::Scope::Subgroup));
  const kernel::Type t = type_of(in.results[0]);
  if (!combines) {
    const Ref elected = op({spv::Op::OpGroupNonUniformElect, type(t.scalar), {scope}});
    return define(in, Parts{{elected}, 1});
  }
  module_.capability(spv::Capability::GroupNonUniformArithmetic);
  const bool real = is_float(t.scalar), with_sign = is_signed(t.scalar);
  const auto opcode = [&] {
    switch (in.op) {
      case Op::subgroup_add:
        return real ? spv::Op::OpGroupNonUniformFAdd : spv::Op::OpGroupNonUniformIAdd;
      case Op::subgroup_min:
        return real        ? spv::Op::OpGroupNonUniformFMin
               : with_sign ? spv::Op::OpGroupNonUniformSMin
                           : spv::Op::OpGroupNonUniformUMin;
      case Op::subgroup_max:
        return real        ? spv::Op::OpGroupNonUniformFMax
               : with_sign ? spv::Op::OpGroupNonUniformSMax
                           : spv::Op::OpGroupNonUniformUMax;
      case Op::subgroup_and:
        return spv::Op::OpGroupNonUniformBitwiseAnd;
      default:
        return spv::Op::OpGroupNonUniformBitwiseOr;
    }
  }();
  const Ref result = op(
      {opcode,
       type(t.scalar),
       {scope, static_cast<std::uint32_t>(spv::GroupOperation::Reduce), scalar(in.operands[0])}});
  define(in, Parts{{result}, 1});
}

void Emitter::barrier() {
  const spv::Scope memory = has_coherent_ ? spv::Scope::Device : spv::Scope::Workgroup;
  const std::uint32_t semantics =
      acquire_release | shared_memory | (has_coherent_ ? coherent_memory() : 0);
  effect(spv::Op::OpControlBarrier, {module_.u32(word(spv::Scope::Workgroup)),
                                     module_.u32(word(memory)), module_.u32(semantics)});
}

}  // namespace gnomon::spirv
