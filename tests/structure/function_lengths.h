// tests/structure/function_lengths.h -- how long the functions of a source text are; reads no
// files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gnomon::structure {

struct Function {
  std::string name;  // as it is defined, with the class in front where that is written there
  int line = 0;      // where its body begins
  int lines = 0;     // from there to the brace that ends it
};

/// Lists the functions that a source text defines in namespaces and classes, each with all that
/// stands in its body. Initializers are tables and none of them, whatever lambdas they hold.
std::vector<Function> functions_of(std::string_view source);

}  // namespace gnomon::structure
