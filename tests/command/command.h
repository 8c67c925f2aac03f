// tests/command/command.h -- calls of the `gnomon` program.
#pragma once
#include <cstdio>
#include <string>

#include "tests/support/platform.h"

namespace gnomon {

struct Outcome {
  int status = 0;
  std::string text;  // both streams
};

/// `variables`: NAME=value, for the call alone, where a shell takes them there.
inline Outcome gnomon(const std::string& arguments, const std::string& variables = "") {
  const std::string command =
      variables + (variables.empty() ? "\"" : " \"") + GNOMON_COMMAND "\" " + arguments + " 2>&1";
  std::FILE* const pipe = testing::open_pipe(command);
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, n);
  outcome.status = testing::close_pipe(pipe);
  return outcome;
}

}  // namespace gnomon
