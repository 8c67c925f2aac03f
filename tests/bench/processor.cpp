// tests/bench/processor.cpp -- see processor.h.
#include "processor.h"

#include <charconv>
#include <fstream>
#include <string_view>
#include <thread>

namespace bench {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Processor processor(const std::string& path) {
  Processor found;
  found.threads = std::thread::hardware_concurrency();
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !trimmed(line).empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trimmed(std::string_view(line).substr(0, colon));
    const std::string_view value = trimmed(std::string_view(line).substr(colon + 1));
    if (key == "model name") found.name = value;
    if (key == "vendor_id") found.vendor = value;
    if (key == "cpu family") found.family = number(value);
    if (key == "model") found.model = number(value);
  }
  if (found.name.empty()) found.name = "unknown";
  return found;
}

std::string to_string(const Processor& p) {
  std::string text = p.name;
  if (!p.vendor.empty())
    text += " (" + p.vendor + " family " + std::to_string(p.family) + " model " +
            std::to_string(p.model) + ")";
  return text + ", " + std::to_string(p.threads) + " threads";
}

}  // namespace bench
