// tests/command/command.h -- calls of the `gnomon` program.
#pragma once
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace gnomon {

struct Outcome {
  int status = 0;
  std::string text;  // both streams
};

/// `variables`: NAME=value, for the call alone.
inline Outcome gnomon(const std::string& arguments, const std::string& variables = "") {
  const std::string command = variables + " \"" GNOMON_COMMAND "\" " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, n);
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace gnomon
