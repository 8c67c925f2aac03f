// tests/bench/report.cpp -- the table for people and the JSON for programs.
#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace bench {
namespace {

/// Medians in milliseconds on two cores of an AVX-512 machine with lavapipe 22.3.
struct Published {
  const char* workload;
  double native_ms;
  double expert_ms;
};
constexpr Published published[] = {{"lorenz_rk4", 11.0, 25.0},  {"lorenz_adaptive", 5.3, 5.6},
                                   {"chain", 4.2, 11.2},        {"copy", 3.2, 5.4},
                                   {"sum", 1.6, 1.6},           {"softmax", 2.4, 11.8},
                                   {"matmul_1024", 5.1, 41.0},  {"hutchinson", 2.4, 12.0},
                                   {"while_scalar", 0.23, 0.5}, {"cg", 1.04, 4.3}};
constexpr double slack = 1.2;

const Row* find_row(const std::vector<Row>& rows, const std::string& workload,
                    const std::string& variant) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.workload == workload && row.variant == variant && row.runs > 0;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

void print_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Row* base = find_row(rows, row.workload, "expert");
    if (!base) base = find_row(rows, row.workload, "forward");
    std::printf("%-20s %-12s %10.4f %10.4f %10.4f %5d ", row.workload.c_str(), row.variant.c_str(),
                row.median_ms, row.min_ms, row.max_ms, row.runs);
    if (base && row.runs > 0)
      std::printf("%9.3f", row.median_ms / base->median_ms);
    else
      std::printf("%9s", "-");
    std::printf("  %-5s %s", row.ok ? "ok" : "WRONG", row.detail.c_str());
    for (const auto& [name, value] : row.extras) std::printf("; %s %.4g", name.c_str(), value);
    std::printf("\n");
  }
  std::fflush(stdout);
}

void print_standing(const vk::DeviceInfo& device, const std::vector<Row>& rows) {
  if (device.name.find("llvmpipe") == std::string::npos) return;
  for (const Published& p : published) {
    const Row* native = find_row(rows, p.workload, "native");
    const Row* expert = find_row(rows, p.workload, "expert");
    if (!native || !expert) continue;
    const double ratio = expert->median_ms / native->median_ms;
    const double wanted = p.expert_ms / p.native_ms;
    std::printf("%-16s expert/native %.2f, published %.2f: %s; native %.2f ms, published %.1f\n",
                p.workload, ratio, wanted, ratio <= slack * wanted ? "counts" : "TOO SLOW",
                native->median_ms, p.native_ms);
  }
}

void write_json(const std::string& path, const vk::DeviceInfo& device,
                const std::vector<Row>& rows) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["device"] = {{"name", device.name}, {"driver", device.driver}, {"api", device.api}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json entry = {{"workload", row.workload},
                                    {"variant", row.variant},
                                    {"median_ms", row.median_ms},
                                    {"min_ms", row.min_ms},
                                    {"max_ms", row.max_ms},
                                    {"runs", row.runs},
                                    {"ok", row.ok}};
    for (const auto& [name, value] : row.extras) {
      if (value == std::floor(value))
        entry[name] = static_cast<int64_t>(value);  // counts print as counts
      else
        entry[name] = value;
    }
    if (!row.ok) entry["detail"] = row.detail;
    json["rows"].push_back(std::move(entry));
  }
  std::ofstream file(path);
  file << json.dump(2) << "\n";
  if (!file.flush())
    throw std::runtime_error("bench: cannot write `" + path + "`; name another file with --out");
}

}  // namespace bench
