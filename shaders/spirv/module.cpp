// shaders/spirv/module.cpp -- sections, result ids, and the tables of types and constants.
#include "shaders/spirv/module.h"

#include "shaders/support/check.h"

namespace gnomon::spirv {
namespace {

constexpr std::uint32_t lists_all_globals = 0x00010400;  // the interface of an entry point

std::uint32_t operator+(spv::Capability c) { return static_cast<std::uint32_t>(c); }
std::uint32_t operator+(spv::StorageClass c) { return static_cast<std::uint32_t>(c); }

// A literal string: UTF-8, four bytes to a word from the low end, closed by a zero byte.
void append_text(Words& operands, std::string_view text) {
  const std::size_t first = operands.size();
  operands.resize(first + text.size() / 4 + 1, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    operands[first + i / 4] |= std::uint32_t{static_cast<unsigned char>(text[i])} << (8 * (i % 4));
  }
}

}  // namespace

void append(Words& section, spv::Op op, std::span<const std::uint32_t> operands) {
  GNOMON_CHECK(operands.size() < 0xffff, "a SPIR-V instruction has at most 65,535 words");
  section.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 |
                    static_cast<std::uint32_t>(op));
  section.insert(section.end(), operands.begin(), operands.end());
}

void append(Words& section, spv::Op op, std::initializer_list<std::uint32_t> operands) {
  append(section, op, std::span(operands.begin(), operands.size()));
}

std::size_t Module::KeyHash::operator()(const Words& key) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint32_t word : key) hash = (hash ^ word) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

void Module::extension(std::string_view name, std::uint32_t core_since) {
  if (core_since == 0 || version_ < core_since) extensions_.emplace(name);
}

Ref Module::glsl_instructions() {
  if (glsl_ == 0) glsl_ = fresh();
  return glsl_;
}

void Module::physical_addresses() {
  physical_ = true;
  capability(spv::Capability::PhysicalStorageBufferAddresses);
  extension("SPV_KHR_physical_storage_buffer", 0x00010500);
}

void Module::execution_mode(spv::ExecutionMode mode, std::uint32_t operand) {
  modes_.push_back({mode, {operand}});
}

void Module::local_size(std::uint32_t x) {
  modes_.push_back({spv::ExecutionMode::LocalSize, {x, 1, 1}});
}

void Module::name(Ref target, std::string_view text) {
  Words operands = {target};
  append_text(operands, text);
  append(names_, spv::Op::OpName, operands);
}

Ref Module::string(std::string_view text) {
  if (const auto found = string_ids_.find(text); found != string_ids_.end()) return found->second;
  const Ref id = fresh();
  Words operands = {id};
  append_text(operands, text);
  append(strings_, spv::Op::OpString, operands);
  string_ids_.emplace(text, id);
  return id;
}

void Module::decorate(Ref target, spv::Decoration decoration,
                      std::initializer_list<std::uint32_t> operands) {
  Words all = {target, static_cast<std::uint32_t>(decoration)};
  all.insert(all.end(), operands.begin(), operands.end());
  append(annotations_, spv::Op::OpDecorate, all);
}

Ref Module::declare(spv::Op op, std::span<const std::uint32_t> operands, bool typed,
                    std::uint32_t tag) {
  Words key = {static_cast<std::uint32_t>(op), tag};
  key.insert(key.end(), operands.begin(), operands.end());
  const auto [entry, is_new] = declared_.try_emplace(std::move(key), next_);
  is_new_ = is_new;
  if (!is_new) return entry->second;
  const Ref id = fresh();
  Words all(operands.begin(), operands.end());
  all.insert(all.begin() + (typed ? 1 : 0), id);
  append(globals_, op, all);
  return id;
}

Ref Module::declare_constant(spv::Op op, std::span<const std::uint32_t> operands) {
  const Ref id = declare(op, operands, true);
  constants_.insert(id);
  return id;
}

Ref Module::type(spv::Op op, std::initializer_list<std::uint32_t> operands, std::uint32_t tag) {
  return declare(op, std::span(operands.begin(), operands.size()), false, tag);
}

Ref Module::void_type() { return type(spv::Op::OpTypeVoid, {}); }
Ref Module::bool_type() { return type(spv::Op::OpTypeBool, {}); }

Ref Module::integer(std::uint32_t bits) {
  if (bits == 8) capability(spv::Capability::Int8);
  if (bits == 16) capability(spv::Capability::Int16);
  if (bits == 64) capability(spv::Capability::Int64);
  return type(spv::Op::OpTypeInt, {bits, 0});
}

Ref Module::floating(std::uint32_t bits) {
  if (bits == 16) capability(spv::Capability::Float16);
  if (bits == 64) capability(spv::Capability::Float64);
  return type(spv::Op::OpTypeFloat, {bits});
}

Ref Module::vector(Ref component, std::uint32_t count) {
  return type(spv::Op::OpTypeVector, {component, count});
}

// Arrays of one element type with and without layout are different types: memory without an
// explicit layout (Function, Workgroup) takes no ArrayStride. The stride is the tag.
Ref Module::array(Ref element, std::uint32_t length, std::uint32_t stride) {
  const Ref count = u32(length);
  const Ref id = type(spv::Op::OpTypeArray, {element, count}, stride);
  if (is_new_ && stride != 0) decorate(id, spv::Decoration::ArrayStride, {stride});
  return id;
}

Ref Module::runtime_array(Ref element, std::uint32_t stride) {
  const Ref id = type(spv::Op::OpTypeRuntimeArray, {element}, stride);
  if (is_new_) decorate(id, spv::Decoration::ArrayStride, {stride});
  return id;
}

Ref Module::structure(std::initializer_list<std::uint32_t> members) {
  return type(spv::Op::OpTypeStruct, members);
}

Ref Module::block(Ref member) {
  const Ref id = type(spv::Op::OpTypeStruct, {member}, 1);
  if (is_new_) {
    decorate(id, spv::Decoration::Block);
    append(annotations_, spv::Op::OpMemberDecorate,
           {id, 0, static_cast<std::uint32_t>(spv::Decoration::Offset), 0});
  }
  return id;
}

Ref Module::texel_buffer() {
  capability(spv::Capability::ImageBuffer);
  const Ref component = integer(32);
  constexpr std::uint32_t storage = 2;  // used without a sampler
  return type(spv::Op::OpTypeImage,
              {component, static_cast<std::uint32_t>(spv::Dim::Buffer), 0, 0, 0, storage,
               static_cast<std::uint32_t>(spv::ImageFormat::Rgba32ui)});
}

Ref Module::pointer(spv::StorageClass storage, Ref pointee) {
  return type(spv::Op::OpTypePointer, {+storage, pointee});
}

Ref Module::function_type() {
  const Ref result = void_type();
  return type(spv::Op::OpTypeFunction, {result});
}

Ref Module::boolean(bool value) {
  const Ref id = bool_type();
  return declare_constant(value ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse, {&id, 1});
}

Ref Module::u32(std::uint32_t value) { return constant(integer(32), 32, value); }

Ref Module::constant(Ref type, std::uint32_t bits, std::uint64_t value) {
  const std::uint32_t operands[] = {type, static_cast<std::uint32_t>(value),
                                    static_cast<std::uint32_t>(value >> 32)};
  return declare_constant(spv::Op::OpConstant, std::span(operands, bits == 64 ? 3 : 2));
}

Ref Module::composite(Ref type, std::span<const Ref> components) {
  Words operands = {type};
  operands.insert(operands.end(), components.begin(), components.end());
  return declare_constant(spv::Op::OpConstantComposite, operands);
}

Ref Module::variable(spv::StorageClass storage, Ref pointee) {
  const Ref type = pointer(storage, pointee);
  const Ref id = fresh();
  append(globals_, spv::Op::OpVariable, {type, id, +storage});
  (storage == spv::StorageClass::Input ? inputs_ : others_).push_back(id);
  return id;
}

Words Module::assemble(Ref entry, const Words& function) const {
  constexpr std::uint32_t generator = 0;  // no registered tool
  Words words = {spv::MagicNumber, version_, generator, next_, 0};
  for (spv::Capability c : capabilities_) append(words, spv::Op::OpCapability, {+c});
  for (const std::string& extension : extensions_) {
    Words operands;
    append_text(operands, extension);
    append(words, spv::Op::OpExtension, operands);
  }
  if (glsl_ != 0) {
    Words operands = {glsl_};
    append_text(operands, "GLSL.std.450");
    append(words, spv::Op::OpExtInstImport, operands);
  }
  append(words, spv::Op::OpMemoryModel,
         {static_cast<std::uint32_t>(physical_ ? spv::AddressingModel::PhysicalStorageBuffer64
                                               : spv::AddressingModel::Logical),
          static_cast<std::uint32_t>(spv::MemoryModel::GLSL450)});
  Words point = {static_cast<std::uint32_t>(spv::ExecutionModel::GLCompute), entry};
  append_text(point, "main");
  point.insert(point.end(), inputs_.begin(), inputs_.end());
  if (version_ >= lists_all_globals) point.insert(point.end(), others_.begin(), others_.end());
  append(words, spv::Op::OpEntryPoint, point);
  for (const auto& [mode, literals] : modes_) {
    Words operands = {entry, static_cast<std::uint32_t>(mode)};
    operands.insert(operands.end(), literals.begin(), literals.end());
    append(words, spv::Op::OpExecutionMode, operands);
  }
  for (const Words* section : {&strings_, &names_, &annotations_, &globals_, &function}) {
    words.insert(words.end(), section->begin(), section->end());
  }
  return words;
}

}  // namespace gnomon::spirv
