// tests/ulp/main.cpp -- the program: arguments, table, exit code.
//
// Exit code 0: every function within its bar, and all hashes as in the file they are compared with;
// 1: not; 2: wrong arguments, no device, or a file that cannot be read or written.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "codegen/program/target.h"
#include "records.h"
#include "tests/support/subnormals.h"

namespace {

struct Arguments {
  std::vector<std::string> functions;
  ulp::Options options;
  std::string write_hash, compare_hash, record, table;
  std::vector<std::string> records;
  std::string subnormals = "probe";
  bool skip_subnormal = false, hash_only = false;
};

std::string described(const ulp::Result& r, const char* format) {
  char text[300];
  char at[60] = "";
  if (r.tally.worst > 0 || r.tally.worst != r.tally.worst)
    std::snprintf(at, sizeof at, r.tally.y != 0 ? "%.9g, %.9g" : "%.9g", r.tally.x, r.tally.y);
  std::snprintf(text, sizeof text, format, r.name.c_str(),
                static_cast<unsigned long long>(r.tally.count), r.tally.worst, at,
                static_cast<unsigned long long>(r.tally.above_one));
  return text;
}

void print(const ulp::Result& r) {
  std::printf("%s", described(r, "%-14s %11llu %10.4f  at %-28s %11llu").c_str());
  std::printf("  %6.1f s%s", r.seconds, r.passed() ? "" : "  MISSED");
  if (!r.passed())
    std::printf(" (bar %g): gives %.9g, exactly %.12g", r.bar, r.tally.got, r.tally.exact);
  std::printf("\n");
  std::fflush(stdout);
}

/// What tells drivers apart in a table.
std::string driver_name(const gnomon::Runtime& rt, bool flush) {
  return rt.device_name() + ", " + rt.driver() + "; subnormals are " + (flush ? "flushed" : "kept");
}

void write_table(const Arguments& arguments) {
  std::vector<ulp::Record> all;
  for (const std::string& path : arguments.records)
    for (ulp::Record& r : ulp::read_records(path)) all.push_back(std::move(r));
  std::ofstream file(arguments.table);
  file << ulp::table(all);
  if (!file.flush()) throw std::runtime_error("ulp: cannot write " + arguments.table);
}

int run(const Arguments& arguments) {
  gnomon::Runtime rt;
  ulp::Options options = arguments.options;
  options.progress = isatty(2) != 0;
  options.judge = !arguments.hash_only;
  options.hash = !arguments.write_hash.empty() || !arguments.compare_hash.empty();
  options.flush =
      arguments.subnormals == "flush" ||
      (arguments.subnormals == "probe" && !gnomon::testing::keeps_subnormals<float>(rt));
  std::printf("device: %s, %s; subnormals %s\n", rt.device_name().c_str(), rt.driver().c_str(),
              options.flush ? "flushed" : "kept");

  std::vector<std::string> unknown = arguments.functions;
  const auto wanted = [&](const std::string& name) {
    if (arguments.functions.empty()) return true;
    std::erase(unknown, name);
    return std::count(arguments.functions.begin(), arguments.functions.end(), name) > 0;
  };
  std::vector<ulp::Result> results;
  const auto record = [&](ulp::Result r) {
    print(r);
    results.push_back(std::move(r));
  };
  for (const ulp::Unary& f : ulp::unary_functions())
    if (wanted(std::string(f.name))) check_reference(f), record(sweep(rt, f, options));
  for (const ulp::Binary& f : ulp::binary_functions())
    if (options.judge && wanted(std::string(f.name)))
      check_reference(f), record(sweep(rt, f, options));
  for (const ulp::Double& f : ulp::double_functions())
    if (options.judge && rt.target().features.float64 && wanted(std::string(f.name) + "_f64"))
      check_reference(f), record(sweep(rt, f, options));
  if (!unknown.empty()) throw std::runtime_error("ulp: no function is called " + unknown.front());

  std::vector<ulp::Comparison> comparisons;
  bool good =
      std::all_of(results.begin(), results.end(), [](const ulp::Result& r) { return r.passed(); });
  if (!arguments.write_hash.empty()) write_hashes(arguments.write_hash, options, results);
  if (!arguments.compare_hash.empty()) {
    comparisons = compare_hashes(arguments.compare_hash, options, results,
                                 arguments.skip_subnormal || options.flush);
    for (const ulp::Comparison& c : comparisons) {
      std::printf("%s\n", c.text().c_str());
      good &= c.differ == 0;
    }
  }
  if (!arguments.record.empty())
    append_records(arguments.record,
                   ulp::records(driver_name(rt, options.flush), results, comparisons));
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("GNOMON_CACHE", "off", 1);  // what is checked is what is compiled now
  Arguments arguments;
  arguments.options.threads = std::max(1u, std::thread::hardware_concurrency());
  CLI::App app("Checks elementary functions on a device against double precision and MPFR.");
  app.add_option("--function", arguments.functions,
                 "only these, separated by commas; NAME_f64 for double precision")
      ->delimiter(',');
  app.add_option("--stride", arguments.options.stride, "every n-th f32 bit pattern")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1u << 20));
  app.add_option("--pairs", arguments.options.pairs, "arguments of binary functions")
      ->capture_default_str();
  app.add_option("--doubles", arguments.options.doubles, "arguments of f64 functions")
      ->capture_default_str();
  app.add_option("--threads", arguments.options.threads, "of the host")->capture_default_str();
  app.add_option("--subnormals", arguments.subnormals, "what the device does with them")
      ->check(CLI::IsMember({"probe", "keep", "flush"}))
      ->capture_default_str();
  app.add_option("--write-hash", arguments.write_hash,
                 "write a hash of the results of every 2^20 bit patterns to this file");
  CLI::Option* const driver_hash =
      app.add_option("--driver-hash", arguments.compare_hash,
                     "compare the results with a file that --write-hash wrote");
  app.add_flag("--skip-subnormals", arguments.skip_subnormal,
               "compare no hashes of blocks with subnormals; implied where they are flushed");
  app.add_flag("--hash-only", arguments.hash_only,
               "make and compare hashes, and leave errors to the driver of the file")
      ->needs(driver_hash);
  app.add_option("--record", arguments.record, "append what was found to this file");
  CLI::Option* const records =
      app.add_option("--records", arguments.records, "files of --record, for --table")
          ->delimiter(',');
  app.add_option("--table", arguments.table,
                 "run nothing, write a table in Markdown of --records to this file")
      ->needs(records);
  try {
    app.parse(argc, argv);
    if (arguments.table.empty()) return run(arguments);
    write_table(arguments);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
