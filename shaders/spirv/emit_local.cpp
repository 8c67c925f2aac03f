// shaders/spirv/emit_local.cpp -- private and shared arrays.
//
// Masked-off components of a load read some element that is in bounds; those of a store write
// nothing (private arrays keep one more element for them to write).
#include <algorithm>

#include "shaders/spirv/emitter.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

using kernel::Op;

// One variable per component: one dynamically indexed array of vectors takes Mesa's coroutine pass
// ten times as long. Declared at the end, when their lengths are known.
Ref Emitter::private_variable(std::uint32_t array, std::uint32_t component) {
  std::vector<Ref>& variables = privates_[array].variables;
  if (variables.size() <= component) variables.resize(component + 1, 0);
  if (variables[component] == 0) variables[component] = module_.fresh();
  return variables[component];
}

void Emitter::declare_private_variables() {
  for (std::size_t k = 0; k < privates_.size(); ++k) {
    const kernel::LocalArray& array = kernel_.privates[k];
    const bool pairs = privates_[k].form.by_components || privates_[k].form.other;
    for (Ref variable : privates_[k].variables) {
      if (variable == 0) continue;
      std::uint32_t length = array.length + (privates_[k].has_sink ? 1 : 0);
      constexpr std::uint32_t few = 4;
      if (length > few && options_.features.paired_stores) length = std::max(length, 33u);
      const Ref elements = module_.array(type(pairs ? DType::u64 : in_local(array.dtype)), length);
      append(variables_, spv::Op::OpVariable,
             {module_.pointer(spv::StorageClass::Function, elements), variable,
              static_cast<std::uint32_t>(spv::StorageClass::Function)});
    }
  }
}

Ref Emitter::shared_variable(std::uint32_t array) {
  if (shareds_[array] == 0) {
    const kernel::LocalArray& a = kernel_.shareds[array];
    const std::uint32_t width = quads_[array] ? 4 : 1;
    shareds_[array] =
        module_.variable(spv::StorageClass::Workgroup,
                         module_.array(type(in_local(a.dtype), width), a.length / width));
  }
  return shareds_[array];
}

Ref Emitter::local_pointer(bool is_private, std::uint32_t array, std::uint32_t component,
                           Ref index) {
  const DType t = (is_private ? kernel_.privates : kernel_.shareds)[array].dtype;
  const Ref variable = is_private ? private_variable(array, component) : shared_variable(array);
  const spv::StorageClass storage =
      is_private ? spv::StorageClass::Function : spv::StorageClass::Workgroup;
  const Ref pointer = module_.pointer(storage, type(in_local(t)));
  if (is_private || !quads_[array]) return op({spv::Op::OpAccessChain, pointer, {variable, index}});
  const Ref element = op({spv::Op::OpBitwiseAnd, type(DType::u32), {index, module_.u32(3)}});
  return op({spv::Op::OpAccessChain, pointer, {variable, quarter(index, 0), element}});
}

Ref Emitter::shared_quad(std::uint32_t array, Ref index) {
  const Ref vectors = type(in_local(kernel_.shareds[array].dtype), 4);
  return op({spv::Op::OpAccessChain,
             module_.pointer(spv::StorageClass::Workgroup, vectors),
             {shared_variable(array), quarter(index, 0)}});
}

// Whether an access of `width` elements is one of a vector.
bool Emitter::is_quad(const Instruction& in, std::uint32_t width) const {
  return (in.op == Op::shared_load || in.op == Op::shared_store) && quads_[array_of(in)] &&
         width == 4 && type_of(in.operands[0]).width == 1;
}

void Emitter::local_load(const Instruction& in) {
  const std::uint32_t array = array_of(in);
  const bool is_private = in.op == Op::private_load;
  if (is_private && privates_[array].form.by_components) return load_by_components(in);
  if (is_private && privates_[array].form.other) return load_half(in);
  const kernel::Type t = type_of(in.results[0]);
  if (is_quad(in, t.width)) {
    const DType stored = in_local(t.scalar);
    const Ref pointer = shared_quad(array, scalar(in.operands[0]));
    Parts result;
    result.count = 1;
    result[0] = from_memory(t.scalar, stored, 4, op({spv::Op::OpLoad, type(stored, 4), {pointer}}));
    return define(in, result);
  }
  const std::uint32_t index_width = type_of(in.operands[0]).width;
  std::vector<Ref> components;
  for (std::uint32_t k = 0; k < t.width; ++k) {
    Ref index = component(in.operands[0], index_width == 1 ? 0 : k);
    if (!is_private && index_width == 1 && k > 0) index = add(index, module_.u32(k));
    index = guarded(mask_of(in, load_mask, k), index, 0);
    components.push_back(from_memory(t.scalar, in_local(t.scalar), 1,
                                     op({spv::Op::OpLoad,
                                         type(in_local(t.scalar)),
                                         {local_pointer(is_private, array, k, index)}})));
  }
  define(in, compose(t, components));
}

void Emitter::local_store(const Instruction& in) {
  const std::uint32_t array = array_of(in);
  const bool is_private = in.op == Op::private_store;
  if (is_private && privates_[array].form.by_components) return store_by_components(in);
  if (is_private && privates_[array].form.other) return store_half(in);
  const kernel::Type t = type_of(in.operands[1]);
  if (is_quad(in, t.width)) {
    const Ref stored = to_memory(t.scalar, in_local(t.scalar), 4, parts(in.operands[1])[0]);
    effect(spv::Op::OpStore, {shared_quad(array, scalar(in.operands[0])), stored});
    return;
  }
  const std::uint32_t index_width = type_of(in.operands[0]).width;
  for (std::uint32_t k = 0; k < t.width; ++k) {
    const Ref mask = mask_of(in, store_mask, k);
    const auto store_element = [&] {
      Ref index = is_private ? private_index(in, array, k)
                             : component(in.operands[0], index_width == 1 ? 0 : k);
      if (!is_private && index_width == 1 && k > 0) index = add(index, module_.u32(k));
      const Ref stored = to_memory(t.scalar, in_local(t.scalar), 1, component(in.operands[1], k));
      effect(spv::Op::OpStore, {local_pointer(is_private, array, k, index), stored});
    };
    if (is_private || mask == 0) {
      store_element();
    } else {
      branch(mask, store_element, {});
    }
  }
}

// Where component k of a store goes.
Ref Emitter::private_index(const Instruction& in, std::uint32_t array, std::uint32_t k) {
  const Ref index = component(in.operands[0], type_of(in.operands[0]).width == 1 ? 0 : k);
  const Ref mask = mask_of(in, store_mask, k);
  if (mask == 0) return index;
  privates_[array].has_sink = true;
  return guarded(mask, index, kernel_.privates[array].length);
}

// ---- Two elements of 32 bits in one of 64 (private_arrays.h)

Ref Emitter::load_pair(std::uint32_t array, std::uint32_t variable, Ref index, DType stored) {
  const Ref pointer = op({spv::Op::OpAccessChain,
                          module_.pointer(spv::StorageClass::Function, type(DType::u64)),
                          {private_variable(array, variable), index}});
  const Ref pair = op({spv::Op::OpLoad, type(DType::u64), {pointer}});
  return op({spv::Op::OpBitcast, type(stored, 2), {pair}});
}

void Emitter::store_pair(std::uint32_t array, std::uint32_t variable, Ref index, DType stored,
                         Ref first, Ref second) {
  Ref pair = op({spv::Op::OpCompositeConstruct, type(stored, 2), {first, second}});
  if (has_loops_) pair = hidden(stored, 2, pair);  // as pairs of a buffer are (buffer_store)
  const Ref pointer = op({spv::Op::OpAccessChain,
                          module_.pointer(spv::StorageClass::Function, type(DType::u64)),
                          {private_variable(array, variable), index}});
  effect(spv::Op::OpStore, {pointer, op({spv::Op::OpBitcast, type(DType::u64), {pair}})});
}

void Emitter::load_by_components(const Instruction& in) {
  const kernel::Type t = type_of(in.results[0]);
  const DType stored = in_local(t.scalar);
  const Ref index = guarded(mask_of(in, load_mask, 0), component(in.operands[0], 0), 0);
  std::vector<Ref> components;
  for (std::uint32_t k = 0; k < t.width; k += 2) {
    const Ref pair = load_pair(array_of(in), k / 2, index, stored);
    for (std::uint32_t half = 0; half < 2; ++half)
      components.push_back(from_memory(
          t.scalar, stored, 1, op({spv::Op::OpCompositeExtract, type(stored), {pair, half}})));
  }
  define(in, compose(t, components));
}

void Emitter::store_by_components(const Instruction& in) {
  const kernel::Type t = type_of(in.operands[1]);
  const DType stored = in_local(t.scalar);
  const Ref index = private_index(in, array_of(in), 0);
  const auto in_memory = [&](std::uint32_t k) {
    return to_memory(t.scalar, stored, 1, component(in.operands[1], k));
  };
  for (std::uint32_t k = 0; k < t.width; k += 2) {
    const Ref first = in_memory(k), second = in_memory(k + 1);
    store_pair(array_of(in), k / 2, index, stored, first, second);
  }
}

void Emitter::load_half(const Instruction& in) {
  const PrivateForm& form = privates_[array_of(in)].form;
  const std::uint32_t first = form.is_second ? *form.other : array_of(in);
  const kernel::Type t = type_of(in.results[0]);
  const DType stored = in_local(t.scalar);
  const Value mask = is_masked(in, load_mask) ? in.operands[load_mask] : Value{};
  auto& read = privates_[first].read;
  if (read.block != block_ || !(read.index == in.operands[0]) || !(read.mask == mask) ||
      read.pairs.size() != t.width) {
    const bool several = type_of(in.operands[0]).width > 1;
    read = {in.operands[0], mask, block_, {}};
    for (std::uint32_t k = 0; k < t.width; ++k) {
      const Ref index = component(in.operands[0], several ? k : 0);
      read.pairs.push_back(
          load_pair(first, k, guarded(mask_of(in, load_mask, k), index, 0), form.half));
    }
  }
  std::vector<Ref> components;
  for (const Ref pair : read.pairs) {
    Ref x = op({spv::Op::OpCompositeExtract, type(form.half), {pair, form.is_second ? 1u : 0u}});
    if (stored != form.half) x = op({spv::Op::OpBitcast, type(stored), {x}});
    components.push_back(from_memory(t.scalar, stored, 1, x));
  }
  define(in, compose(t, components));
}

void Emitter::store_half(const Instruction& in) {
  const PrivateForm& form = privates_[array_of(in)].form;
  const kernel::Type t = type_of(in.operands[1]);
  const DType stored = in_local(t.scalar);
  PrivateArray& owner = privates_[form.is_second ? *form.other : array_of(in)];
  if (!form.is_second) owner.waiting.clear();
  for (std::uint32_t k = 0; k < t.width; ++k) {
    Ref x = to_memory(t.scalar, stored, 1, component(in.operands[1], k));
    if (stored != form.half) x = op({spv::Op::OpBitcast, type(form.half), {x}});
    if (!form.is_second)
      owner.waiting.push_back(x);
    else
      store_pair(*form.other, k, private_index(in, *form.other, k), form.half, owner.waiting.at(k),
                 x);
  }
  if (form.is_second) owner.read.block = 0;
}

}  // namespace gnomon::spirv
