// codegen/program/module/rules.h -- what instructions ask of the types of their operands.
#pragma once
#include "codegen/program/module/words.h"

namespace gnomon::module_check {

/// What an instruction asks of its operands and its result, which all have as many components.
enum class Rule : std::uint8_t {
  none,
  integers,
  reals,
  booleans,
  shift,
  compare_integers,
  compare_reals,
  to_integer,
  to_real,
  resize_integer,
  resize_real,
  scaled,
  extended,
  any_all
};

/// Of an instruction that computes numbers from numbers; none of others.
Rule rule_of(Op);

/// Functions of GLSL.std.450 (its specification, version 1.00): operands, and what they are of.
struct Extended {
  std::uint32_t operands = 0;
  bool real = true;
  bool short_only = false;  // 16 and 32 bits
};
/// No operands: none that the emitter has.
Extended function_of(std::uint32_t instruction);

}  // namespace gnomon::module_check
