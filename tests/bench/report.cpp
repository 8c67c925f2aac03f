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

/// Expert and native of one workload beside what is published of them.
struct Standing {
  const Published* published = nullptr;  // null: nothing to judge by, or one of the two did not run
  const Row* expert = nullptr;
  const Row* native = nullptr;

  double ratio() const { return expert->median_ms / native->median_ms; }
  double wanted() const { return published->expert_ms / published->native_ms; }
  bool counts() const { return ratio() <= slack * wanted(); }
};

Standing standing_of(const std::vector<Row>& rows, const std::string& workload) {
  const Standing found{nullptr, find_row(rows, workload, "expert"),
                       find_row(rows, workload, "native")};
  if (!found.expert || !found.native) return {};
  for (const Published& p : published)
    if (p.workload == workload) return {&p, found.expert, found.native};
  return {};
}

}  // namespace

void judge_opponent(const vk::DeviceInfo& device, std::vector<Row>& rows) {
  if (device.name.find("llvmpipe") == std::string::npos) return;
  for (Row& row : rows)
    if (row.variant == "expert") {
      const Standing standing = standing_of(rows, row.workload);
      if (standing.published) row.counts = standing.counts();
    }
}

void print_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Row* base = find_row(rows, row.workload, "expert");
    if (!base) base = find_row(rows, row.workload, "forward");
    if (!base) base = find_row(rows, row.workload, "hand");
    if (!base) base = find_row(rows, row.workload, "bare");
    std::printf("%-20s %-12s %10.4f %10.4f %10.4f %5d ", row.workload.c_str(), row.variant.c_str(),
                row.median_ms, row.min_ms, row.max_ms, row.runs);
    if (base && row.runs > 0) {
      const double ratio = row.median_ms / base->median_ms;
      char text[32];
      std::snprintf(text, sizeof text, base->counts.value_or(true) ? "%.3f" : "(%.3f)", ratio);
      std::printf("%9s ", text);
    } else {
      std::printf("%9s ", "-");
    }
    std::printf(" %-5s %s", row.ok ? "ok" : "WRONG", row.detail.c_str());
    if (!row.counts.value_or(true)) std::printf("; does not count: too slow for an expert");
    for (const auto& [name, value] : row.extras) std::printf("; %s %.4g", name.c_str(), value);
    std::printf("\n");
  }
  std::fflush(stdout);
}

void print_standing(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (!row.counts) continue;
    const Standing s = standing_of(rows, row.workload);
    std::printf("%-16s expert/native %.2f, published %.2f: %s; native %.2f ms, published %.1f\n",
                row.workload.c_str(), s.ratio(), s.wanted(),
                s.counts() ? "counts" : "DOES NOT COUNT", s.native->median_ms,
                s.published->native_ms);
  }
}

void write_json(const std::string& path, const vk::DeviceInfo& device, const Processor& processor,
                const std::vector<Row>& rows) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["device"] = {{"name", device.name}, {"driver", device.driver}, {"api", device.api}};
  json["processor"] = {{"name", processor.name},
                       {"vendor", processor.vendor},
                       {"family", processor.family},
                       {"model", processor.model},
                       {"threads", processor.threads}};
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
    if (row.counts) entry["counts"] = *row.counts;
    if (!row.ok) entry["detail"] = row.detail;
    json["rows"].push_back(std::move(entry));
  }
  std::ofstream file(path);
  file << json.dump(2) << "\n";
  if (!file.flush())
    throw std::runtime_error("bench: cannot write `" + path + "`; name another file with --out");
}

}  // namespace bench
