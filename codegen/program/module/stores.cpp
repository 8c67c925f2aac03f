// codegen/program/module/stores.cpp -- which words a module writes to a buffer, and with what,
// where both are constants, parameters and choices between these.
#include <utility>

#include "codegen/program/module/words.h"

namespace gnomon::module_check {
namespace {

using enum spv::Op;

class StoreWalk {
 public:
  StoreWalk(Words words, const kernel::Kernel& kernel, std::uint32_t buffer)
      : words_(words),
        first_parameter_(kernel::parameter_header_words +
                         static_cast<std::uint32_t>(kernel.buffers.size())),
        base_(kernel::parameter_header_words + buffer),
        at_(words[3]),
        seen_(std::size_t{words_per_store} * words[3]) {}

  std::optional<std::vector<StoredWord>> all() {
    for_each(words_, [&](Op opcode, Words o) {
      const char* const kinds = form_of(opcode)->operands;
      const bool typed = kinds[0] == 't', gives = typed ? kinds[1] == 'r' : kinds[0] == 'r';
      if (gives) at_[o[typed ? 1 : 0]] = {opcode, o};
      if (opcode == OpStore) store(o);
      if (opcode == OpAtomicIAdd || opcode == OpAtomicAnd || opcode == OpAtomicOr)
        told_ = told_ && !place_of(o[2]).has_value();
    });
    if (!told_) return std::nullopt;
    return std::move(found_);
  }

 private:
  static constexpr std::uint32_t words_per_store = 4;
  static constexpr std::size_t most_visits = std::size_t{1} << 24;

  struct Instruction {
    Op opcode = OpNop;
    Words o;
  };
  /// A place in the buffer: `unit` words times `number`, and a parameter.
  struct Index {
    std::uint32_t unit = 1, number = 0;
    std::optional<std::uint32_t> parameter;
  };

  std::optional<std::uint32_t> constant(std::uint32_t id) const {
    const Instruction& i = at_[id];
    if (i.opcode != OpConstant || i.o.size() != 3) return std::nullopt;
    return i.o[2];
  }

  /// Of a word that is taken from the parameter block.
  std::optional<std::uint32_t> parameter_word(std::uint32_t id) const {
    const Instruction& i = at_[id];
    if (i.opcode != OpCompositeExtract || at_[i.o[2]].opcode != OpLoad) return std::nullopt;
    const Instruction& chain = at_[at_[i.o[2]].o[2]];
    if (chain.opcode != OpAccessChain || storage_of(chain.o[0]) != spv::StorageClass::Uniform)
      return std::nullopt;
    const auto row = constant(chain.o.back());
    if (!row) return std::nullopt;
    return 4 * *row + i.o[3];
  }
  std::optional<std::uint32_t> parameter(std::uint32_t id) const {
    const auto word = parameter_word(id);
    if (!word || *word < first_parameter_) return std::nullopt;
    return *word - first_parameter_;
  }
  spv::StorageClass storage_of(std::uint32_t pointer) const {
    return spv::StorageClass{at_[pointer].o[1]};
  }

  /// Where an index counts from the base of the buffer; nothing where it does not. What it counts
  /// otherwise leaves `told_` false.
  std::optional<Index> index(std::uint32_t id) {
    // Sums and quotients around the base, outermost first.
    std::vector<std::pair<Op, std::uint32_t>> around;  // the operation, its other operand
    for (; parameter_word(id) != base_; id = at_[id].o[2]) {
      const Instruction& i = at_[id];
      if (i.opcode != OpIAdd && i.opcode != OpShiftRightLogical) return std::nullopt;
      around.emplace_back(i.opcode, i.o[3]);
    }
    Index r;
    for (auto at = around.rbegin(); at != around.rend(); ++at) {
      const auto [opcode, other] = *at;
      const auto number = constant(other);
      if (opcode == OpShiftRightLogical) {
        told_ = told_ && number == 2u && r.unit == 1 && r.number % 4 == 0 && !r.parameter;
        r.unit = 4;
        r.number /= 4;
      } else if (number) {
        r.number += *number;
      } else {
        const auto p = parameter(other);
        told_ = told_ && p && !r.parameter && r.unit == 1;
        r.parameter = p;
      }
    }
    return r;
  }

  std::optional<Index> place_of(std::uint32_t pointer) {
    const Instruction& chain = at_[pointer];
    if (chain.opcode != OpAccessChain || storage_of(chain.o[0]) != spv::StorageClass::StorageBuffer)
      return std::nullopt;
    return index(chain.o.back());
  }

  void store(Words o) {
    const auto place = place_of(o[0]);
    if (!place) return;
    // Of a word, of four, or of two pairs.
    const std::uint32_t type = at_[at_[o[0]].o[0]].o[2];
    const bool vector = at_[type].opcode == OpTypeVector;
    const bool wide = vector && (at_[type].o[2] == 4 || at_[type].o[2] == 2);
    told_ = told_ && (wide ? place->unit == 4 : !vector && place->unit == 1);
    const std::uint32_t count = wide ? 4 : 1;
    for (std::uint32_t c = 0; c < count && told_; ++c) {
      StoredWord s{{place->parameter, place->unit * place->number + c}, {}};
      told_ = told_ && !(place->parameter && (place->number != 0 || c != 0));
      values(o[1], c, s.values);
      found_.push_back(std::move(s));
    }
  }

  /// What word `c` of a value may be.
  void values(std::uint32_t value, std::uint32_t c, std::vector<Source>& result) {
    ++store_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open = {{value, c}};
    while (!open.empty() && told_) {
      const auto [id, word] = open.back();
      open.pop_back();
      if (word >= words_per_store || ++visits_ > most_visits) {
        told_ = false;
        return;
      }
      if (std::exchange(seen_[std::size_t{words_per_store} * id + word], store_) == store_)
        continue;
      const Instruction& i = at_[id];
      if (const auto number = constant(id)) {
        result.push_back({std::nullopt, *number});
      } else if (const auto p = parameter(id)) {
        result.push_back({p, 0});
      } else if (i.opcode == OpSelect) {
        open.emplace_back(i.o[3], word);
        open.emplace_back(i.o[4], word);
      } else if ((i.opcode == OpConstantComposite || i.opcode == OpCompositeConstruct) &&
                 2 + std::size_t{word} < i.o.size()) {
        open.emplace_back(i.o[2 + word], 0);
      } else if (i.opcode == OpBitcast) {
        open.emplace_back(i.o[2], word);
      } else if (i.opcode == OpCompositeExtract) {
        open.emplace_back(i.o[2], i.o[3]);
      } else {
        told_ = false;
      }
    }
  }

  Words words_;
  std::uint32_t first_parameter_, base_;
  std::vector<Instruction> at_;
  std::vector<std::uint32_t> seen_;  // per word of a value: the last store that asked
  std::uint32_t store_ = 0;
  std::size_t visits_ = 0;
  bool told_ = true;
  std::vector<StoredWord> found_;
};

}  // namespace

std::optional<std::vector<StoredWord>> stored_words(Words words, const kernel::Kernel& kernel,
                                                    std::uint32_t buffer) {
  return StoreWalk(words, kernel, buffer).all();
}

std::uint64_t stored_bytes(Words words) {
  std::vector<std::uint64_t> bytes(words[3]);  // of types, and where pointers to buffers point
  std::uint64_t sum = 0;
  for_each(words, [&](Op opcode, Words o) {
    if (opcode == OpTypeInt || opcode == OpTypeFloat) bytes[o[0]] = o[1] / 8;
    if (opcode == OpTypeVector) bytes[o[0]] = bytes[o[1]] * o[2];
    if (opcode == OpTypePointer)
      bytes[o[0]] = o[1] == word(spv::StorageClass::StorageBuffer) ? bytes[o[2]] : 0;
    if (opcode == OpAccessChain) bytes[o[1]] = bytes[o[0]];
    if (opcode == OpStore) sum += bytes[o[0]];
  });
  return sum;
}

}  // namespace gnomon::module_check
