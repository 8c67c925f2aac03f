// tests/command/command.h -- calls of the `gnomon` program.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/platform.h"

namespace gnomon {

struct Outcome {
  int status = 0;
  std::string text;  // both streams
};

/// `variables`: NAME=value, separated by spaces, for the call alone.
inline Outcome gnomon(const std::string& arguments, const std::string& variables = "") {
  // Set here, where the child has them from: shells differ in how they are told.
  std::vector<std::pair<std::string, std::optional<std::string>>> before;
  std::istringstream words(variables);
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const char* const old = std::getenv(name.c_str());
    before.emplace_back(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    testing::set_variable(name.c_str(), word.c_str() + name.size() + 1);
  }
  const std::string command = "\"" GNOMON_COMMAND "\" " + arguments + " 2>&1";
  std::FILE* const pipe = testing::open_pipe(command);
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, n);
  outcome.status = testing::close_pipe(pipe);
  for (const auto& [name, old] : before)
    testing::set_variable(name.c_str(), old ? old->c_str() : nullptr);
  return outcome;
}

}  // namespace gnomon
