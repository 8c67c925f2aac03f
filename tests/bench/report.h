// tests/bench/report.h -- the table for people and the JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "harness.h"
#include "processor.h"
#include "vk.h"

namespace bench {

/// Says of the expert among the rows of one workload whether it counts as an opponent: where a
/// figure is published, expert/native must be within 1.2 times the published ratio. The figures are
/// lavapipe's: rows of another driver stay as they are.
void judge_opponent(const vk::DeviceInfo& device, std::vector<Row>& rows);

/// Prints the rows of one workload with each median's ratio to the expert's, or where there is none
/// to that of `forward`. Ratios to an expert that does not count are in brackets.
void print_rows(const std::vector<Row>& rows);

/// Prints how far each judged expert and native are from the published figures.
void print_standing(const std::vector<Row>& rows);

/// Writes {"schema": 1, "device": {...}, "processor": {...}, "rows": [...]}; the row of a judged
/// expert has "counts". Throws std::runtime_error if it cannot.
void write_json(const std::string& path, const vk::DeviceInfo& device, const Processor& processor,
                const std::vector<Row>& rows);

}  // namespace bench
