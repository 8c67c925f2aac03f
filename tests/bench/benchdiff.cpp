// tests/bench/benchdiff.cpp -- compares two files of gnomon_bench.
//
// Machines drift, so what is compared is each variant's ratio to the same file's expert; rows
// without an expert, and the expert itself, are compared by their times.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

struct Figure {
  double median_ms = 0.0;
  bool ok = false;
};
using Key = std::pair<std::string, std::string>;
using Figures = std::map<Key, Figure>;

Figures read_figures(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("benchdiff: cannot read `" + path + "`; give an existing file");
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    if (json.at("schema") != 1)
      throw std::runtime_error("benchdiff: `" + path + "` has schema " + json.at("schema").dump() +
                               " and 1 is understood; write it anew with gnomon_bench");
    Figures figures;
    for (const auto& row : json.at("rows"))
      figures[{row.at("workload"), row.at("variant")}] = {row.at("median_ms"), row.at("ok")};
    return figures;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error("benchdiff: `" + path +
                             "` is not a file of gnomon_bench: " + error.what());
  }
}

/// The ratio to the expert of the same file; the time itself for the expert.
double figure_of(const Figures& figures, const Key& key) {
  const double time = figures.at(key).median_ms;
  const auto expert = figures.find({key.first, "expert"});
  const bool has_expert = expert != figures.end() && expert->second.median_ms > 0.0;
  return has_expert && key.second != "expert" ? time / expert->second.median_ms : time;
}

/// Prints one line per row and counts those that became slower, wrong or disappeared.
int compare(const Figures& before, const Figures& after, double threshold) {
  int worse = 0;
  std::printf("%-16s %-12s %10s %10s %8s\n", "workload", "variant", "old", "new", "change");
  for (const auto& [key, figure] : before) {
    std::printf("%-16s %-12s ", key.first.c_str(), key.second.c_str());
    const auto now = after.find(key);
    if (now == after.end()) {
      std::printf("gone\n");
      worse++;
      continue;
    }
    const double old_value = figure_of(before, key), new_value = figure_of(after, key);
    const double change = old_value > 0.0 ? new_value / old_value - 1.0 : 0.0;
    const bool broke = figure.ok && !now->second.ok;
    // The opponents' own times say what the machine did, not what the library does.
    const bool opponent = key.second == "expert" || key.second == "textbook" ||
                          key.second == "native" || key.second == "floor";
    const bool slower = !opponent && change > threshold;
    worse += broke || slower;
    std::printf("%10.4f %10.4f %+7.1f%%%s%s\n", old_value, new_value, 100.0 * change,
                slower ? " slower" : "", broke ? " WRONG" : "");
  }
  for (const auto& [key, figure] : after)
    if (!before.contains(key))
      std::printf("%-16s %-12s %10s %10.4f\n", key.first.c_str(), key.second.c_str(), "-",
                  figure_of(after, key));
  return worse;
}

}  // namespace

int main(int argc, char** argv) {
  std::string before, after;
  double threshold = 0.15;
  CLI::App app("Compares two files of gnomon_bench; exit code 1 if a row became slower or wrong.");
  app.add_option("old", before, "the earlier file")->required();
  app.add_option("new", after, "the later file")->required();
  app.add_option("--threshold", threshold, "relative slowdown that is allowed")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  try {
    app.parse(argc, argv);
    return compare(read_figures(before), read_figures(after), threshold) ? 1 : 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
