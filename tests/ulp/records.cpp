// tests/ulp/records.cpp -- see records.h.
#include "records.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ulp {
namespace {

std::string printed(const char* format, double x) {
  char text[60];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::string in_words(const Comparison& c) {
  if (c.differ > 0)
    return std::to_string(c.differ) + " of " + std::to_string(c.compared) + " blocks differ";
  if (c.skipped == 0) return "same bits";
  return "same bits but in " + std::to_string(c.skipped) + " blocks with subnormals";
}

/// The members of a record in the order of a line.
constexpr std::string Record::*fields[] = {
    &Record::driver, &Record::function,  &Record::arguments, &Record::worst,
    &Record::where,  &Record::above_one, &Record::comparison};

void keep(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// The last record of a function and driver that has `field`, or nothing.
const Record* find(const std::vector<Record>& all, const std::string& function,
                   const std::string& driver, std::string Record::*field) {
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Record& r) {
    return r.function == function && r.driver == driver && !(r.*field).empty();
  });
  return found == all.rend() ? nullptr : &*found;
}

}  // namespace

std::vector<Record> records(const std::string& driver, const std::vector<Result>& results,
                            const std::vector<Comparison>& comparisons) {
  std::vector<Record> list;
  for (const Result& result : results) {
    Record r{driver, result.name, {}, {}, {}, {}, {}};
    const Tally& t = result.tally;
    if (t.count > 0) {
      r.arguments = std::to_string(t.count);
      r.worst = printed("%.3f", t.worst);
      if (t.worst != 0) r.where = printed("%.9g", t.x);
      if (t.worst != 0 && t.y != 0) r.where += printed(", %.9g", t.y);
      r.above_one = std::to_string(t.above_one);
    }
    for (const Comparison& c : comparisons)
      if (c.function == result.name) r.comparison = in_words(c);
    list.push_back(r);
  }
  return list;
}

void append_records(const std::string& path, const std::vector<Record>& list) {
  std::ofstream file(path, std::ios::app);
  for (const Record& r : list)
    for (const auto field : fields) file << r.*field << (field == fields[6] ? "\n" : "\t");
  if (!file.flush()) throw std::runtime_error("ulp: cannot write " + path);
}

std::vector<Record> read_records(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("ulp: cannot read " + path);
  std::vector<Record> list;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    Record r;
    for (const auto field : fields) std::getline(in, r.*field, '\t');
    list.push_back(r);
  }
  return list;
}

std::string table(const std::vector<Record>& all) {
  std::vector<std::string> functions, judged, compared;
  for (const Record& r : all) {
    keep(functions, r.function);
    if (!r.worst.empty() && r.comparison.empty()) keep(judged, r.driver);
    if (!r.comparison.empty()) keep(compared, r.driver);
  }
  std::string text;
  for (const std::string& driver : judged) text += "Errors are those of " + driver + ".\n\n";
  text += "| function | arguments | largest error, ULP | at | results above 1 ULP |";
  for (const std::string& driver : compared) text += " " + driver + " |";
  text += "\n|---|---:|---:|---|---:|";
  for (std::size_t i = 0; i < compared.size(); ++i) text += "---|";
  text += "\n";
  for (const std::string& function : functions) {
    const Record* r = nullptr;
    for (const std::string& driver : judged)
      if (r == nullptr) r = find(all, function, driver, &Record::worst);
    const Record none;
    if (r == nullptr) r = &none;
    text += "| " + function + " | " + r->arguments + " | " + r->worst + " | " + r->where + " | " +
            r->above_one + " |";
    for (const std::string& driver : compared) {
      const Record* c = find(all, function, driver, &Record::comparison);
      text += " " + (c != nullptr ? c->comparison : "") + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace ulp
