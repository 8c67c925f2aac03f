// codegen/program/module/flow.cpp -- whether a module's blocks nest as the emitter nests them
// (shaders/spirv/emit_control.cpp), and values are used where they are known.
//
// Blocks of a selection or loop stand in the order of the text, so a descent through them is the
// whole of what SPIR-V asks of structured control flow (section 2.11), and of dominance.
#include <algorithm>
#include <array>
#include <vector>

#include "codegen/program/module/words.h"

namespace gnomon::module_check {
namespace {

using enum spv::Op;

/// Where an instruction stands: sections in the order of the specification, section 2.4. Variables
/// stand in one of two.
constexpr std::uint32_t in_declarations = 9, in_function = 10;
std::uint32_t section_of(Op opcode) {
  constexpr std::array front = {OpCapability, OpExtension,     OpExtInstImport, OpMemoryModel,
                                OpEntryPoint, OpExecutionMode, OpString,        OpName};
  const auto at = std::ranges::find(front, opcode);
  if (at != front.end()) return static_cast<std::uint32_t>(at - front.begin());
  if (opcode == OpDecorate || opcode == OpMemberDecorate) return front.size();
  const bool constant = opcode >= OpConstantTrue && opcode <= OpConstantComposite;
  return declares_type(opcode) || constant || opcode == OpVariable ? in_declarations : in_function;
}

class FlowWalk {
 public:
  explicit FlowWalk(Words words) : words_(words), known_(words[3]), side_(words[3]) {}

  void all() {
    std::uint32_t section = 0;
    while (at_ < words_.size() && opcode() != OpFunction) {
      want(section <= section_of(opcode()), "a module has an instruction in another's section");
      section = section_of(opcode());
      want(section < in_function, "a module computes outside of its function");
      plain();
    }
    plain();  // the function
    begin(operands()[0]);
    while (opcode() == OpVariable) plain();
    code(no_label, 0);
    step(OpReturn);
    step(OpFunctionEnd);
    want(at_ == words_.size(), "a module has something behind its function");
  }

 private:
  static constexpr std::uint32_t no_label = 0;
  static constexpr int deepest = 256;

  Op opcode() const {
    want(at_ < words_.size(), "a module's function has no end");
    return Op{words_[at_] & 0xffff};
  }
  Words operands() const { return words_.subspan(at_ + 1, (words_[at_] >> 16) - 1); }
  void next() { at_ += words_[at_] >> 16; }

  Words step(Op wanted) {
    want(opcode() == wanted, "a module's blocks are not nested");
    const Words found = operands();
    next();
    return found;
  }

  void use(std::uint32_t id) const {
    want(known_[id], "a module uses a value where it is not known");
  }
  void define(std::uint32_t id) {
    known_[id] = true;
    live_.push_back(id);
  }

  /// An instruction that no block ends with.
  void plain() {
    const Words o = operands();
    std::size_t at = 0;
    const char* repeated = nullptr;
    for (const char* kind = form_of(opcode())->operands; at < o.size(); ++at) {
      if (*kind == 0) break;
      if (*kind == 's') break;  // no values behind a text
      if (*kind == 'd' || *kind == 't') use(o[at]);
      if (*kind == 'r') define(o[at]);
      if (kind[1] == '*') repeated = kind;
      if (repeated == nullptr) ++kind;
    }
    next();
  }

  void begin(std::uint32_t wanted) {
    want(step(OpLabel)[0] == wanted, "a module's blocks are not nested");
    define(wanted);
    block_ = wanted;
  }

  void expect_branch(std::uint32_t target) {
    want(step(OpBranch)[0] == target, "a module's blocks are not nested");
  }

  /// To the branch to `exit`, or what else ends the last block.
  void code(std::uint32_t exit, int depth) {
    want(depth < deepest, "a module's blocks lie too deep");
    for (;;) {
      switch (opcode()) {
        case OpSelectionMerge:
          selection(depth);
          break;
        case OpBranch:
          if (operands()[0] == exit) return;
          loop(depth);
          break;
        case OpBranchConditional:
        case OpReturn:
          return;
        case OpVariable:
        case OpPhi:
          throw Complaint{"a module has an instruction where no block has it"};
        default:
          want(section_of(opcode()) == in_function && opcode() != OpLabel &&
                   opcode() != OpLoopMerge && opcode() != OpFunction && opcode() != OpFunctionEnd,
               "a module's blocks are not nested");
          plain();
      }
    }
  }

  /// What is known in a region is not behind it, but to a phi, by the region's number.
  std::uint32_t leave(std::size_t before) {
    ++regions_;
    for (std::size_t i = before; i < live_.size(); ++i) {
      known_[live_[i]] = false;
      side_[live_[i]] = regions_;
    }
    live_.resize(before);
    return regions_;
  }

  struct Side {
    std::uint32_t last = 0, region = 0;
  };
  Side side(std::uint32_t first, std::uint32_t merge, int depth) {
    const std::size_t before = live_.size();
    begin(first);
    code(merge, depth + 1);
    expect_branch(merge);
    const std::uint32_t last = block_;
    return {last, leave(before)};
  }

  void selection(int depth) {
    const Words merge = step(OpSelectionMerge);
    want(merge[1] == word(spv::SelectionControlMask::MaskNone),
         "a module has hints that no kernel needs");
    const Words targets = step(OpBranchConditional);
    use(targets[0]);
    want(targets[1] != targets[2] && targets[1] != merge[0], "a module's blocks are not nested");
    const bool has_else = targets[2] != merge[0];
    const Side then = side(targets[1], merge[0], depth);
    const Side otherwise = has_else ? side(targets[2], merge[0], depth) : Side{};
    begin(merge[0]);
    while (opcode() == OpPhi) {
      const Words o = step(OpPhi);
      const auto reaches = [&](std::uint32_t id, const Side& from) {
        return known_[id] || side_[id] == from.region;
      };
      want(has_else && o.size() == 6 && o[3] == then.last && o[5] == otherwise.last &&
               reaches(o[2], then) && reaches(o[4], otherwise),
           "a module merges what does not reach the merge");
      use(o[0]);
      define(o[1]);
    }
  }

  void loop(int depth) {
    const std::uint32_t header = step(OpBranch)[0];
    begin(header);
    const Words merge = step(OpLoopMerge);
    want(merge[2] == word(spv::LoopControlMask::MaskNone) ||
             merge[2] == word(spv::LoopControlMask::DontUnroll),
         "a module has hints that no kernel needs");
    const std::uint32_t condition = step(OpBranch)[0];
    begin(condition);
    code(no_label, depth + 1);
    const Words targets = step(OpBranchConditional);
    use(targets[0]);
    want(targets[2] == merge[0], "a module's blocks are not nested");
    const std::size_t before = live_.size();
    begin(targets[1]);
    code(merge[1], depth + 1);
    expect_branch(merge[1]);
    begin(merge[1]);
    while (opcode() != OpBranch) {
      want(section_of(opcode()) == in_function && opcode() < OpPhi,
           "a module's blocks are not nested");
      plain();
    }
    expect_branch(header);
    leave(before);
    begin(merge[0]);  // its condition is known there
  }

  Words words_;
  std::size_t at_ = header_words;
  std::vector<bool> known_;
  std::vector<std::uint32_t> side_;  // of ids that were left: the region
  std::vector<std::uint32_t> live_;  // known ones, in their order
  std::uint32_t block_ = 0, regions_ = 0;
};

}  // namespace

void check_flow(Words words) { FlowWalk(words).all(); }

}  // namespace gnomon::module_check
