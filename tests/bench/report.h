// tests/bench/report.h -- the table for people and the JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "harness.h"
#include "vk.h"

namespace bench {

/// Prints the rows of one workload with each median's ratio to the expert's, or where there is none
/// to that of `forward`.
void print_rows(const std::vector<Row>& rows);

/// Prints, for each workload with a published figure, whether expert and native are as good as they
/// should be: an opponent counts only if expert/native is within 1.2 times the published ratio.
/// The figures are lavapipe's: prints nothing on another driver.
void print_standing(const vk::DeviceInfo& device, const std::vector<Row>& rows);

/// Writes {"schema": 1, "device": {...}, "rows": [...]}. Throws std::runtime_error if it cannot.
void write_json(const std::string& path, const vk::DeviceInfo& device,
                const std::vector<Row>& rows);

}  // namespace bench
