// tests/ulp/hashes.cpp -- see hashes.h.
#include "hashes.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>

namespace ulp {

void write_hashes(const std::string& path, const Options& options,
                  const std::vector<Result>& results) {
  std::ofstream file(path);
  file << "stride " << options.stride << "\n";
  for (const Result& r : results) {
    if (r.hashes.empty()) continue;
    file << r.name << "\n";
    for (const BlockHash& b : r.hashes) {
      char line[24];
      std::snprintf(line, sizeof line, "%016llx%s", static_cast<unsigned long long>(b.hash),
                    b.subnormal ? " s" : "");
      file << line << "\n";
    }
  }
  if (!file.flush()) throw std::runtime_error("ulp: cannot write " + path);
}

std::string Comparison::text() const {
  char text[160];
  if (differ > 0)
    std::snprintf(text, sizeof text, "%s: %zu of %zu blocks differ, the first from bits %08zx on",
                  function.c_str(), differ, compared, first << 20);
  else
    std::snprintf(text, sizeof text, "%s: %zu blocks agree, %zu left out", function.c_str(),
                  compared, skipped);
  return text;
}

std::vector<Comparison> compare_hashes(const std::string& path, const Options& options,
                                       const std::vector<Result>& results, bool skip_subnormal) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("ulp: cannot read " + path);
  if (line != "stride " + std::to_string(options.stride))
    throw std::runtime_error("ulp: " + path + " was written with " + line + ", not " +
                             std::to_string(options.stride));
  const std::size_t blocks = 4096;
  std::map<std::string, std::vector<std::string>> written;
  for (std::string name; std::getline(file, name);) {
    std::vector<std::string>& lines = written[name];
    while (lines.size() < blocks && std::getline(file, line)) lines.push_back(line);
  }
  std::vector<Comparison> comparisons;
  for (const Result& r : results) {
    const auto other = written.find(r.name);
    if (r.hashes.empty() || other == written.end()) continue;
    Comparison c{r.name, 0, 0, 0, 0};
    for (std::size_t i = 0; i < other->second.size(); ++i) {
      const std::string& written_line = other->second[i];
      const bool subnormal = written_line.size() > 16;
      if (skip_subnormal && subnormal) {
        ++c.skipped;
        continue;
      }
      ++c.compared;
      if (std::stoull(written_line.substr(0, 16), nullptr, 16) == r.hashes[i].hash) continue;
      if (c.differ++ == 0) c.first = i;
    }
    comparisons.push_back(c);
  }
  return comparisons;
}

}  // namespace ulp
