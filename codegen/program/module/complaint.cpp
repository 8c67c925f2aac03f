// codegen/program/module/complaint.cpp -- whether words are a module as the emitter writes them:
// for one kernel, one arrangement of windows and one kind of device. Here are the grammar, the
// interface and the sizes; then come the blocks and the types (words.h).
#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "codegen/program/module/words.h"
#include "codegen/program/program_file.h"
#include "codegen/program/target.h"
#include "codegen/program/want.h"

namespace gnomon {
namespace {

using namespace module_check;
using enum spv::Op;

constexpr std::uint32_t no_id = ~0u;
/// Of one invocation: more than any kernel keeps in its own arrays.
constexpr std::uint64_t most_private_bytes = std::uint64_t{1} << 20;

class ModuleExamination {
 public:
  ModuleExamination(Words words, const kernel::Kernel& kernel,
                    std::span<const std::uint8_t> windows, const Target& target)
      : words_(words), kernel_(kernel), target_(target) {
    for (std::size_t i = 0; i < windows.size(); ++i) {
      bindings_.insert(spirv::first_window_binding + windows[i]);
      if (kernel.buffers[i].texel) bindings_.insert(spirv::first_texel_binding + windows[i]);
    }
  }

  void all() {
    want(words_.size() >= header_words && words_[0] == spv::MagicNumber && words_[4] == 0,
         "a module has no SPIR-V header");
    want(words_[1] >= 0x00010300 && words_[1] <= target_.features.version &&
             (words_[1] & 0xff0000ff) == 0,
         "a module is of another version of SPIR-V than its target");
    // Every id but 0 is some instruction's result. Drivers allocate as many as the header says.
    bound_ = words_[3];
    want(bound_ > 0 && bound_ <= words_.size(), "a module has more ids than instructions");
    ids_.resize(bound_);
    for (std::size_t at = header_words; at < words_.size();) {
      const std::size_t length = words_[at] >> 16;
      want(length > 0 && length <= words_.size() - at, "a module ends in an instruction");
      instruction(Op{words_[at] & 0xffff}, words_.subspan(at + 1, length - 1));
      at += length;
    }
    for (const std::uint32_t id : awaited_)
      want(ids_[id].there, "a module names what it does not have");
    want(entry_points_ == 1 && local_sizes_ == 1 && functions_ == 1,
         "a module has not one entry point with one size of workgroups");
    want(memory_models_ == 1, "a module has not one model of memory");
    for (const std::uint32_t v : resources_)
      want(ids_[v].bound && ids_[v].in_set, "a module has a resource without a binding");
    want(private_bytes_ <= most_private_bytes, "a module has arrays larger than any kernel's");
    want(shared_bytes_ <= target_.max_shared_bytes,
         "a module shares more memory than its target has");
  }

 private:
  struct Id {
    bool there = false, type = false, bound = false, in_set = false;
    std::uint64_t bytes = 0;  // of a type, as far as that is known
    std::uint32_t value = 0;  // of a constant word, or what a pointer points to
  };

  std::uint32_t id(std::uint32_t word) const {
    want(word > 0 && word < bound_, "a module has an id out of bounds");
    return word;
  }

  static std::size_t text_words(Words rest) {
    for (std::size_t i = 0; i < rest.size(); ++i)
      for (int byte = 0; byte < 4; ++byte)
        if ((rest[i] >> 8 * byte & 0xff) == 0) return i + 1;
    throw Complaint{"a module has a text without end"};
  }

  static bool is_text(Words words, std::string_view text) {
    return words.size_bytes() > text.size() &&
           std::memcmp(words.data(), text.data(), text.size()) == 0 &&
           reinterpret_cast<const char*>(words.data())[text.size()] == 0;
  }

  /// One operand of the form; the words behind it.
  Words operand(char kind, Words rest, std::uint32_t& result) {
    want(!rest.empty(), "a module has an instruction without its operands");
    switch (kind) {
      case 't':
        want(ids_[id(rest[0])].type, "a module takes for a type what is none");
        break;
      case 'd':
        want(ids_[id(rest[0])].there, "a module uses what comes later");
        break;
      case 'i':
        awaited_.push_back(id(rest[0]));
        break;
      case 'r':
        result = id(rest[0]);
        want(!ids_[result].there, "a module gives one id twice");
        break;
      case 's':
        return rest.subspan(text_words(rest));
      default:
        break;
    }
    return rest.subspan(1);
  }

  void instruction(Op opcode, Words operands) {
    const Form* const form = form_of(opcode);
    want(form != nullptr, "a module has an instruction that no kernel needs");
    std::uint32_t result = no_id;
    Words rest = operands;
    for (const char* kind = form->operands; *kind != 0; ++kind) {
      if (kind[1] != '*') {
        rest = operand(*kind, rest, result);
        continue;
      }
      while (!rest.empty()) rest = operand(*kind, rest, result);
      ++kind;
    }
    want(rest.empty(), "a module has an instruction with too many operands");
    meaning(opcode, operands);
    if (result == no_id) return;
    ids_[result].there = true;
    ids_[result].type = declares_type(opcode);
  }

  /// What interface and sizes depend on.
  void meaning(Op opcode, Words o) {
    switch (opcode) {
      case OpExtInstImport:
        want(is_text(o.subspan(1), "GLSL.std.450"), "a module imports unknown instructions");
        break;
      case OpExtInst:
        want(o[3] > GLSLstd450Bad && o[3] < GLSLstd450Count, "a module has no such function");
        break;
      case OpMemoryModel:
        want(o[0] == word(spv::AddressingModel::Logical) && o[1] == word(spv::MemoryModel::GLSL450),
             "a module has another model of memory");
        ++memory_models_;
        break;
      case OpEntryPoint:
        want(o[0] == word(spv::ExecutionModel::GLCompute) && is_text(o.subspan(2), "main"),
             "a module has another entry point");
        ++entry_points_;
        break;
      case OpExecutionMode:
        mode(o);
        break;
      case OpCapability:
        want(may_use(spv::Capability{o[0]}), "a module needs what its target does not have");
        break;
      case OpTypeInt:
      case OpTypeFloat:
        want(o[1] == 8 || o[1] == 16 || o[1] == 32 || o[1] == 64, "a module has no such numbers");
        ids_[o[0]].bytes = o[1] / 8;
        break;
      case OpTypeBool:
        ids_[o[0]].bytes = 4;
        break;
      case OpTypeVector:
        want(o[2] >= 2 && o[2] <= 4, "a module has no such vectors");
        ids_[o[0]].bytes = ids_[o[1]].bytes * o[2];
        break;
      case OpTypeArray:
        ids_[o[0]].bytes = saturated(ids_[o[1]].bytes, ids_[o[2]].value);
        break;
      case OpTypeStruct:
        for (const std::uint32_t member : o.subspan(1))
          ids_[o[0]].bytes = std::min(ids_[o[0]].bytes + ids_[member].bytes, most_bytes);
        break;
      case OpTypePointer:
        ids_[o[0]].value = o[2];
        break;
      case OpConstant:
        ids_[o[1]].value = o[2];
        break;
      case OpFunction:
        ++functions_;
        break;
      case OpVariable:
        variable(o);
        break;
      case OpDecorate:
        decoration(o);
        break;
      default:
        break;
    }
  }

  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
  static std::uint64_t saturated(std::uint64_t a, std::uint64_t b) {
    return a != 0 && b > most_bytes / a ? most_bytes : std::min(a * b, most_bytes);
  }

  void mode(Words o) {
    const spv::ExecutionMode which{o[1]};
    if (which == spv::ExecutionMode::LocalSize) {
      want(o.size() == 5 && o[2] == kernel_.group_size && o[3] == 1 && o[4] == 1,
           "a module has other workgroups than its kernel");
      ++local_sizes_;
      return;
    }
    const spirv::Features& f = target_.features;
    const bool wide = o.size() == 3 && o[2] == 64;
    const auto has = [&] {
      switch (which) {
        case spv::ExecutionMode::DenormPreserve:
          return wide ? f.denorm_preserve_f64 : f.denorm_preserve_f32;
        case spv::ExecutionMode::SignedZeroInfNanPreserve:
          return wide ? f.signed_zero_inf_nan_preserve_f64 : f.signed_zero_inf_nan_preserve_f32;
        case spv::ExecutionMode::RoundingModeRTE:
          return wide ? f.rounding_rte_f64 : f.rounding_rte_f32;
        default:
          return false;
      }
    };
    want(o.size() == 3 && has(), "a module asks for a mode that its target does not have");
  }

  bool may_use(spv::Capability capability) const {
    using enum spv::Capability;
    const spirv::Features& f = target_.features;
    switch (capability) {
      case Shader:
        return true;
      case Float16:
        return f.float16;
      case Float64:
        return f.float64;
      case Int64:
        return f.int64;
      case Int16:
        return f.int16;
      case Int8:
        return f.int8;
      case ImageBuffer:
        return target_.texel_reads;
      case GroupNonUniform:
        return f.subgroup_basic || f.subgroup_arithmetic || f.reads_together != 0;
      case GroupNonUniformArithmetic:
        return f.subgroup_arithmetic;
      case GroupNonUniformShuffle:
        return f.reads_together != 0;
      case StorageBuffer16BitAccess:
        return f.storage_16;
      case StorageBuffer8BitAccess:
        return f.storage_8;
      case DenormPreserve:
        return f.denorm_preserve_f32 || f.denorm_preserve_f64;
      case SignedZeroInfNanPreserve:
        return f.signed_zero_inf_nan_preserve_f32 || f.signed_zero_inf_nan_preserve_f64;
      case RoundingModeRTE:
        return f.rounding_rte_f32 || f.rounding_rte_f64;
      default:
        return false;
    }
  }

  void variable(Words o) {
    const std::uint64_t bytes = ids_[ids_[o[0]].value].bytes;
    switch (spv::StorageClass{o[2]}) {
      case spv::StorageClass::Input:
        break;
      case spv::StorageClass::UniformConstant:
      case spv::StorageClass::Uniform:
      case spv::StorageClass::StorageBuffer:
        resources_.push_back(o[1]);
        break;
      case spv::StorageClass::Workgroup:
        shared_bytes_ = std::min(shared_bytes_ + bytes, most_bytes);
        break;
      case spv::StorageClass::Private:
      case spv::StorageClass::Function:
        private_bytes_ = std::min(private_bytes_ + bytes, most_bytes);
        break;
      default:
        throw Complaint{"a module has memory of a kind that no kernel needs"};
    }
  }

  void decoration(Words o) {
    if (spv::Decoration{o[1]} == spv::Decoration::Binding) {
      want(o.size() == 3 && bindings_.contains(o[2]), "a module binds what its kernel does not");
      want(!ids_[o[0]].bound, "a module binds something twice");
      ids_[o[0]].bound = true;
    }
    if (spv::Decoration{o[1]} == spv::Decoration::DescriptorSet) {
      want(o.size() == 3 && o[2] == 0, "a module has another descriptor set");
      ids_[o[0]].in_set = true;
    }
  }

  Words words_;
  const kernel::Kernel& kernel_;
  const Target& target_;
  std::set<std::uint32_t> bindings_ = {spirv::parameter_binding};
  std::uint32_t bound_ = 0;
  std::vector<Id> ids_;
  std::vector<std::uint32_t> awaited_, resources_;
  int entry_points_ = 0, local_sizes_ = 0, functions_ = 0, memory_models_ = 0;
  std::uint64_t private_bytes_ = 0, shared_bytes_ = 0;
};

}  // namespace

std::optional<std::string> module_complaint(std::span<const std::uint32_t> words,
                                            const kernel::Kernel& kernel,
                                            std::span<const std::uint8_t> windows,
                                            const Target& target) {
  try {
    ModuleExamination(words, kernel, windows, target).all();
    check_flow(words);
    check_types(words, kernel, windows);
  } catch (const Complaint& found) {
    return found.what;
  }
  return std::nullopt;
}

}  // namespace gnomon
