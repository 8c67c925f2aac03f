// tests/oracle/coverage.h -- the operations that the public headers declare, and those the table
// has.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "table.h"

namespace oracle {

/// A function that a public header declares: "fft::rfft", with its parameter types when there are
/// several of the name: "roll(Operand,Dim)". Members have their class in front.
struct Declared {
  std::string name;
  std::string header;
};

/// What a header declares. `const`, references, `std::`, default values and Loc are left out.
std::vector<Declared> declared_functions(const std::string& text, const std::string& header);
/// Of all public headers below `root`; names without parameters where there is one overload.
std::vector<Declared> public_functions(const std::string& root);

/// Why a function has no row, or "". Patterns end in *.
std::string reason_for_none(const std::string& name);
/// Names that rows cover.
std::set<std::string> covered(const std::vector<Family>&);
/// Why no row's graph holds a primitive, or "".
std::string reason_for_unreached(const std::string& primitive);
/// Patterns of exemptions that no function matches.
std::vector<std::string> idle_exemptions(const std::vector<Declared>&);

}  // namespace oracle
