// codegen/program/module/words.h -- the instructions of a SPIR-V module, for the examinations of
// program files: which there are, and where their ids stand.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

#include "codegen/program/want.h"
#include "shaders/kernel/kernel.h"

namespace gnomon::module_check {

using Words = std::span<const std::uint32_t>;
using spv::Op;

/// An enumerant as a word of a module has it.
template <class E>
constexpr std::uint32_t word(E e) {
  return static_cast<std::uint32_t>(e);
}

constexpr std::size_t header_words = 5;

/// Operands of an instruction: t a type, r the result, d an id that is there, i one that may come
/// later, l a number, s a text; * any number of what stands in front of it.
struct Form {
  Op opcode;
  const char* operands;
};

/// Of an instruction that the emitter has; null for others.
const Form* form_of(Op);

constexpr bool declares_type(Op opcode) {
  return opcode >= Op::OpTypeVoid && opcode <= Op::OpTypeFunction;
}

/// Calls `f(opcode, operands)` for every instruction; lengths are in order.
template <class F>
void for_each(Words words, F f) {
  for (std::size_t at = header_words; at < words.size(); at += words[at] >> 16)
    f(Op{words[at] & 0xffff}, words.subspan(at + 1, (words[at] >> 16) - 1));
}

/// Throws Complaint unless sections follow one another, blocks nest as the emitter nests them, and
/// nobody uses a value outside of where it is known. Of words whose grammar is right.
void check_flow(Words);

/// Throws Complaint unless types fit, and accesses are of the buffers that they say they are. Of
/// words whose grammar is right.
void check_types(Words, const kernel::Kernel&, std::span<const std::uint8_t> windows);

/// A constant, or a parameter of the step.
struct Source {
  std::optional<std::uint32_t> parameter;
  std::uint32_t number = 0;
};

/// A word of a buffer that is written, by its index, and all that it may become.
struct StoredWord {
  Source word;
  std::vector<Source> values;
};

/// What a module without complaint writes to a buffer of 32-bit words; nothing where that cannot be
/// told without running it.
std::optional<std::vector<StoredWord>> stored_words(Words, const kernel::Kernel&,
                                                    std::uint32_t buffer);

/// Bytes that an invocation writes to buffers, each of its stores once.
std::uint64_t stored_bytes(Words);

}  // namespace gnomon::module_check
