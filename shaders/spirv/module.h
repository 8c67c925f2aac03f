// shaders/spirv/module.h -- one SPIR-V module under construction: sections, result ids, and the
// tables of types and constants. Knows SPIR-V, nothing of kernels.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gnomon::spirv {

using Words = std::vector<std::uint32_t>;
using Ref = std::uint32_t;  // a result id of the module; 0 is none

/// Appends one instruction: opcode and length, then its operands, result type and id included.
void append(Words& section, spv::Op op, std::span<const std::uint32_t> operands);
void append(Words& section, spv::Op op, std::initializer_list<std::uint32_t> operands);

/// Types and constants are unique: the same arguments give the same id. A type declares the
/// capability that it needs. Integers have no signedness; instructions do.
class Module {
 public:
  explicit Module(std::uint32_t version) : version_(version) {}

  Ref fresh() { return next_++; }

  void capability(spv::Capability capability) { capabilities_.insert(capability); }
  /// An extension that SPIR-V `core_since` made part of the core; 0 if none did.
  void extension(std::string_view name, std::uint32_t core_since = 0);
  Ref glsl_instructions();  // GLSL.std.450, imported on first use
  /// Pointers into buffers become 64-bit addresses.
  void physical_addresses();
  void execution_mode(spv::ExecutionMode mode, std::uint32_t operand);
  void local_size(std::uint32_t x);
  void name(Ref target, std::string_view text);
  Ref string(std::string_view text);
  void decorate(Ref target, spv::Decoration decoration,
                std::initializer_list<std::uint32_t> operands = {});

  Ref void_type();
  Ref bool_type();
  Ref integer(std::uint32_t bits);
  Ref floating(std::uint32_t bits);
  Ref vector(Ref component, std::uint32_t count);
  Ref array(Ref element, std::uint32_t length, std::uint32_t stride = 0);  // 0: no layout
  Ref runtime_array(Ref element, std::uint32_t stride);
  Ref structure(std::initializer_list<std::uint32_t> members);  // no layout
  Ref block(Ref member);  // { member at offset 0 }, for an interface
  Ref texel_buffer();     // storage texel buffer of Rgba32ui
  Ref pointer(spv::StorageClass storage, Ref pointee);
  Ref function_type();  // void()

  Ref boolean(bool value);
  Ref u32(std::uint32_t value);
  /// A scalar constant from its bits; `bits` is the size of `type`.
  Ref constant(Ref type, std::uint32_t bits, std::uint64_t value);
  Ref composite(Ref type, std::span<const Ref> components);
  bool is_constant(Ref id) const { return constants_.count(id) != 0; }

  /// A variable at module level.
  Ref variable(spv::StorageClass storage, Ref pointee);

  /// The whole module, with `function` as the body of the entry point "main".
  Words assemble(Ref entry, const Words& function) const;

 private:
  struct KeyHash {
    std::size_t operator()(const Words& key) const;
  };

  // The id of a declaration in the globals section that has its result id first, or (typed) second.
  Ref declare(spv::Op op, std::span<const std::uint32_t> operands, bool typed,
              std::uint32_t tag = 0);
  Ref declare_constant(spv::Op op, std::span<const std::uint32_t> operands);
  Ref type(spv::Op op, std::initializer_list<std::uint32_t> operands, std::uint32_t tag = 0);
  bool is_new_ = false;  // whether the last declare() made a new id: decorations come once

  std::uint32_t version_;
  Ref next_ = 1;
  Ref glsl_ = 0;
  bool physical_ = false;
  std::set<spv::Capability> capabilities_ = {spv::Capability::Shader};
  std::set<std::string> extensions_;
  std::vector<std::pair<spv::ExecutionMode, Words>> modes_;
  Words strings_, names_, annotations_, globals_;
  std::map<std::string, Ref, std::less<>> string_ids_;
  std::unordered_map<Words, Ref, KeyHash> declared_;
  std::unordered_set<Ref> constants_;
  std::vector<Ref> inputs_, others_;  // variables, as the entry point lists them
};

}  // namespace gnomon::spirv
