// codegen/program/print_format.h -- the texts of debug::print: placeholders and how they print.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/array.h"

namespace gnomon::effects {

/// A text with placeholders, taken apart.
struct Format {
  std::vector<std::string> texts;  // around the placeholders: one more than there are
  std::vector<std::string> specs;  // of each: what stands behind the colon, as in "{:+.3f}"
};
/// `{{` and `}}` are braces. Throws UsageError for anything else between braces.
Format parse_format(std::string_view text, Loc);
/// The format of one element for to_string (base/array_text.h); empty: as NumPy prints it. Throws
/// UsageError when numbers of that type cannot be printed so.
std::string element_format(const std::string& spec, DType, Loc);

}  // namespace gnomon::effects
