// tests/ulp/records.h -- what runs found, in text that can be put together, and the table of it.
//
// One line per function and run, fields separated by tabs: driver, function, arguments, largest
// error, where, results above one unit, comparison. A run that only compared has no errors.
#pragma once
#include <string>
#include <vector>

#include "hashes.h"

namespace ulp {

struct Record {
  std::string driver;
  std::string function;
  std::string arguments, worst, where, above_one;  // empty where nothing was judged
  std::string comparison;                          // empty where nothing was compared
};

/// `comparisons` are those of compare_hashes.
std::vector<Record> records(const std::string& driver, const std::vector<Result>&,
                            const std::vector<Comparison>& comparisons);

/// Both throw std::runtime_error when the file cannot be written or read.
void append_records(const std::string& path, const std::vector<Record>&);
std::vector<Record> read_records(const std::string& path);

/// A table in Markdown: a row per function in the order of the records, the errors of the driver
/// that was judged, and a column per driver that was compared. A later record of a driver and
/// function replaces an earlier one.
std::string table(const std::vector<Record>&);

}  // namespace ulp
