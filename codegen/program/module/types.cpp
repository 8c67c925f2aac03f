// codegen/program/module/types.cpp -- whether the types of a module are such as the emitter has.
#include "codegen/program/module/types.h"

#include <algorithm>
#include <array>

namespace gnomon::module_check {

void Types::extension(Words o) {
  static constexpr const char* known[] = {"SPV_KHR_float_controls", "SPV_KHR_8bit_storage"};
  std::string text;
  for (const std::uint32_t w : o)
    for (int byte = 0; byte < 4 && (w >> 8 * byte & 0xff) != 0; ++byte)
      text += static_cast<char>(w >> 8 * byte & 0xff);
  want(std::ranges::find(known, text) != std::end(known), "a module has an unknown extension");
  extensions_.insert(text);
}

void Types::decorate(std::uint32_t id, std::uint32_t decoration, Words o) {
  Decorations& d = decorations_[id];
  const auto number = [&](std::optional<std::uint32_t>& to) {
    fits(o.size() == 1 && !to, "a decoration");
    to = o[0];
  };
  const auto flag = [&](bool& to) {
    fits(o.empty() && !to, "a decoration");
    to = true;
  };
  using enum spv::Decoration;
  constexpr std::array of_variables = {BuiltIn,     Aliased, Coherent,
                                       NonWritable, Binding, DescriptorSet};
  const spv::Decoration which{decoration};
  d.of_variable = d.of_variable || std::ranges::count(of_variables, which) > 0;
  switch (which) {
    case Block:
      return flag(d.block);
    case ArrayStride:
      return number(d.stride);
    case BuiltIn:
      return number(d.builtin);
    case Aliased:
      return flag(d.aliased);
    case Coherent:
      return flag(d.coherent);
    case NonWritable:
      return flag(d.read_only);
    case Binding:
      return number(d.binding);
    case DescriptorSet:
      want(!d.in_set, "a module has a decoration twice");
      d.in_set = true;
      return;
    case NoContraction:
      return flag(d.exact);
    default:
      fits(false, "a decoration");
  }
}

void Types::decorate_member(Words o) {
  fits(o.size() == 4 && o[1] == 0 && o[2] == word(spv::Decoration::Offset) && o[3] == 0,
       "a decoration");
  decorations_[o[0]].member_offset = 0;
}

void Types::declare(Op opcode, Words o, const std::optional<std::uint32_t>& length) {
  using enum spv::Op;
  using spv::Capability;
  Type t;
  switch (opcode) {
    case OpTypeVoid:
      t.kind = Kind::nothing;
      break;
    case OpTypeBool:
      t = {Kind::boolean, 1};
      break;
    case OpTypeInt:
      t = {Kind::integer, o[1]};
      fits(o[2] == 0, "integers");
      if (o[1] != 32)
        needs(o[1] == 8 ? Capability::Int8 : o[1] == 16 ? Capability::Int16 : Capability::Int64);
      break;
    case OpTypeFloat:
      t = {Kind::real, o[1]};
      fits(o[1] != 8, "floats");
      if (o[1] != 32) needs(o[1] == 16 ? Capability::Float16 : Capability::Float64);
      break;
    case OpTypeVector:
      t = {Kind::vector, 0, o[1], o[2]};
      fits(is_scalar(o[1]), "vectors");
      break;
    case OpTypeImage:
      t = {Kind::image, 0, o[1]};
      needs(Capability::ImageBuffer);
      // Dimension, depth, arrayed, multisampled, sampled (2: read and written) and format.
      fits(is_word(o[1]) &&
               std::ranges::equal(o.subspan(2), std::array{word(spv::Dim::Buffer), 0u, 0u, 0u, 2u,
                                                           word(spv::ImageFormat::Rgba32ui)}),
           "images");
      break;
    case OpTypeArray:
      t = {Kind::array, 0, o[1], length.value_or(0)};
      fits(width(o[1]) > 0 && t.count > 0, "arrays");
      break;
    case OpTypeRuntimeArray:
      t = {Kind::runtime_array, 0, o[1]};
      fits(bytes(o[1]) > 0 && decorations_[o[0]].stride == bytes(o[1]), "arrays");
      break;
    case OpTypeStruct:
      structure(t, o);
      break;
    case OpTypePointer:
      t = {Kind::pointer, 0, o[2], 0, spv::StorageClass{o[1]}};
      fits(pointed_to(t.storage, t.of), "pointers");
      break;
    default:
      t = {Kind::function};
      fits(o.size() == 2 && type(o[1]).kind == Kind::nothing, "functions");
  }
  const Decorations& d = decorations_[o[0]];
  const bool laid_out = t.kind == Kind::runtime_array || t.kind == Kind::array;
  fits(laid_out || !d.stride, "strides");
  fits(t.kind == Kind::structure || (!d.block && !d.member_offset), "blocks");
  // What is no array or structure is one type.
  if (!laid_out && t.kind != Kind::structure)
    want(known_types_.emplace(t.kind, t.bits, t.of, t.count, t.storage).second,
         "a module has one type twice");
  types_[o[0]] = t;
}

/// The parameter block, the elements of a buffer, or both words of a product.
void Types::structure(Type& t, Words o) const {
  const Decorations& d = decorations_[o[0]];
  t = {Kind::structure, 0, o.size() > 1 ? o[1] : 0, static_cast<std::uint32_t>(o.size() - 1)};
  if (!d.block) {
    fits(t.count == 2 && o[1] == o[2] && component(o[1]).kind == Kind::integer && !d.member_offset,
         "structures");
    return;
  }
  fits(t.count == 1 && d.member_offset == 0u, "blocks");
  const bool rows = type(t.of).kind == Kind::array && is_word(type(t.of).of, 4) &&
                    decorations_[t.of].stride == 16u;
  fits(rows || type(t.of).kind == Kind::runtime_array, "blocks");
}

bool Types::pointed_to(spv::StorageClass storage, std::uint32_t to) const {
  const Kind kind = type(to).kind;
  const bool block = kind == Kind::structure && decorations_[to].block;
  const bool plain = width(to) > 0 || (kind == Kind::array && !decorations_[to].stride);
  using enum spv::StorageClass;
  switch (storage) {
    case UniformConstant:
      return kind == Kind::image;
    case Input:
      return is_word(to) || is_word(to, 3);
    case Uniform:
      return (block && type(type(to).of).kind == Kind::array) || is_word(to, 4);
    case Workgroup:
      return plain && component(kind == Kind::array ? type(to).of : to).bits > 1;
    case Function:
      return plain;
    case StorageBuffer:
      return (block && type(type(to).of).kind == Kind::runtime_array) || bytes(to) > 0;
    default:
      return false;
  }
}

}  // namespace gnomon::module_check
