// shaders/kernel/text.h -- kernels as text, both ways.
//
//   kernel "axpy" lanes=65536 group=64 parameters=1 {
//     buffer 0 "x": f32 read
//     buffer 1 "y": f32 read_write coherent
//     private 0: f32[16]
//     shared 0: u32[64]
//     %0: f32 = constant 1.5
//     %1: u32 = lane
//     %2: f32 = load 0 %1                     the immediate (buffer, array, component) comes first
//     %3: f32 = mul exact %0 %2
//     %4: f32 = loop (%5: f32 = %3) max=100 {
//       %6: bool = lt %5 %0
//       yield %6
//     } do (%7: f32) {
//       %8: f32 = add %7 %7
//       yield %8
//     }
//     %9: f32 = if %10 { yield %4 } else { yield %0 }
//     store 1 %1 %4
//   }
//
// A value may be called by any name of letters, digits and underscores. Constants are decimal, true
// or false, or hexadecimal bits (NaN always is). `//` starts a comment. Source lines are no part of
// the text that is parsed.
#pragma once
#include <string>
#include <string_view>

#include "shaders/kernel/kernel.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {

/// The text has a mistake at `line` and `column`, both counted from 1.
class ParseError : public Error {
 public:
  ParseError(const std::string& text, int at_line, int at_column)
      : Error(text), line(at_line), column(at_column) {}
  int line;
  int column;
};

struct PrintOptions {
  bool lines = false;  // the user's source line as a comment behind each instruction
};

/// Values are numbered in order of definition, so kernels of one structure print alike.
std::string print(const Kernel&, PrintOptions = {});
/// One instruction as `print` shows it, nested regions left out. Works on kernels that do not
/// verify.
std::string print(const Kernel&, const Instruction&);

/// print(parse_kernel(print(k))) == print(k). Unchecked: everything `verify` checks.
/// Throws ParseError.
Kernel parse_kernel(std::string_view);

}  // namespace gnomon::kernel
