// tests/bench/main.cpp -- the benchmark program: arguments, order of events, exit code.
//
// Exit code 0: every result was right (with --corrupt: every spoiled result was noticed);
// 1: one was not; 2: wrong arguments, no device, or the result file cannot be written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "cold_process.h"
#include "harness.h"
#include "processor.h"
#include "report.h"
#include "vk.h"
#ifdef GNOMON_BENCH_HAS_LIBRARY
#include "gnomon/profile.h"
#include "gnomon_alternatives.h"
#include "gnomon_estimates.h"
#endif

namespace {

std::string default_output() {
  return std::filesystem::is_directory("build/release") ? "build/release/bench.json" : "bench.json";
}

/// The workloads to run, in table order. Throws CLI::ValidationError for an unknown name.
std::vector<bench::Workload> filtered(std::vector<bench::Workload> workloads,
                                      const std::vector<std::string>& names) {
  if (names.empty()) return workloads;
  std::string known;
  for (const bench::Workload& workload : workloads)
    known += (known.empty() ? "" : ", ") + workload.id;
  for (const std::string& name : names)
    if (std::none_of(workloads.begin(), workloads.end(),
                     [&](const bench::Workload& workload) { return workload.id == name; }))
      throw CLI::ValidationError("--filter",
                                 "no workload is called `" + name + "`; there are: " + known);
  std::erase_if(workloads, [&](const bench::Workload& workload) {
    return std::find(names.begin(), names.end(), workload.id) == names.end();
  });
  return workloads;
}

struct Arguments {
  std::vector<std::string> filter;
  std::vector<std::string> variants;
  std::string out = default_output();
  std::string first_call;
  std::string alternatives;
  bool quick = false;
  bool list = false;
  bool prepare = false;
  bool profile = false;
  bool estimates = false;
  bool calibrate = false;
  bool corrupt = false;
  bool compile_times = false;
};

#ifdef GNOMON_BENCH_HAS_LIBRARY
bool wanted(const Arguments& arguments, const bench::Variant& variant) {
  return arguments.variants.empty() ||
         std::ranges::find(arguments.variants, variant.name) != arguments.variants.end();
}

/// Has the library trace and compile what it would be timed with.
int prepare(std::vector<bench::Workload> workloads, const Arguments& arguments) {
  bench::add_gnomon_variants(workloads);
  for (const bench::Workload& workload : filtered(std::move(workloads), arguments.filter))
    for (const auto& make : workload.makers)
      for (const bench::Variant& variant : make())
        if (variant.prepare) {
          variant.prepare();
        } else if (!variant.took) {
          if (variant.before) variant.before();
          variant.run();
        }
  return 0;
}

/// Prints the shortest and the first time of tracing and compiling what the library is timed with,
/// up to the driver's compiler.
int compile_times(std::vector<bench::Workload> workloads, const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  constexpr int fewest = 3, most = 20;
  constexpr std::chrono::duration<double> enough(0.5);
  std::printf("%-20s %-14s %10s %10s\n", "workload", "variant", "least ms", "first ms");
  bench::add_gnomon_variants(workloads);
  for (const bench::Workload& workload : filtered(std::move(workloads), arguments.filter))
    for (const auto& make : workload.makers)
      for (const bench::Variant& variant : make()) {
        if (!variant.compile || !wanted(arguments, variant)) continue;
        std::vector<double> ms;
        const auto start = Clock::now();
        for (int i = 0; i < most && (i < fewest || Clock::now() - start < enough); i++) {
          const auto before = Clock::now();
          variant.compile();
          ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
        }
        std::printf("%-20s %-14s %10.4f %10.4f\n", workload.id.c_str(), variant.name.c_str(),
                    *std::ranges::min_element(ms), ms.front());
      }
  return 0;
}

/// Prints where the time of the library's calls goes.
int profile(std::vector<bench::Workload> workloads, const Arguments& arguments) {
  bench::add_gnomon_variants(workloads);
  for (const bench::Workload& workload : filtered(std::move(workloads), arguments.filter))
    for (const auto& make : workload.makers)
      for (const bench::Variant& variant : make())
        if (variant.profile && wanted(arguments, variant))
          std::printf("%s\n%s\n", workload.id.c_str(), to_string(variant.profile()).c_str());
  return 0;
}

/// Prints how far the compiler's estimates are from what kernels take, or what they should be made
/// of.
int estimate(std::vector<bench::Workload> workloads, const Arguments& arguments) {
  const bench::vk::Device device;
  bench::add_gnomon_variants(workloads);
  const auto timed =
      bench::time_kernels(filtered(std::move(workloads), arguments.filter), arguments.variants);
  const std::string head =
      device.info().name + ", " + device.info().driver + ", " + to_string(bench::processor());
  if (arguments.estimates) std::printf("%s", bench::estimates_table(timed, head).c_str());
  if (arguments.calibrate) std::printf("%s", bench::calibrated(timed).c_str());
  return 0;
}
#endif

int run(const Arguments& arguments) {
  std::vector<bench::Workload> workloads = bench::all_workloads();
  filtered(workloads, arguments.filter);
  if (arguments.list) {
    for (const bench::Workload& workload : workloads) std::printf("%s\n", workload.id.c_str());
    return 0;
  }
#ifdef GNOMON_BENCH_HAS_LIBRARY
  if (arguments.prepare) return prepare(std::move(workloads), arguments);
  if (arguments.compile_times) return compile_times(std::move(workloads), arguments);
  if (arguments.profile) return profile(std::move(workloads), arguments);
  if (!arguments.alternatives.empty()) {
    bench::compare_alternatives(arguments.alternatives, arguments.filter, arguments.quick ? 3 : 7);
    return 0;
  }
  if (arguments.estimates || arguments.calibrate) return estimate(std::move(workloads), arguments);
#endif

  const bench::vk::Device device;
  const bench::Processor processor = bench::processor();
  std::printf("device: %s, %s, Vulkan %s\nprocessor: %s\n\n", device.info().name.c_str(),
              device.info().driver.c_str(), device.info().api.c_str(),
              to_string(processor).c_str());
#ifdef GNOMON_BENCH_HAS_LIBRARY
  bench::add_gnomon_variants(workloads);
  bench::add_frames(workloads, device);
  bench::add_saved_variants(workloads, device);
#endif
  bench::add_opponents(workloads, device);

  bench::Options options;
  options.corrupt = arguments.corrupt;
  options.variants = arguments.variants;
  if (!device.info().cpu) options.warm_up_ms = 200;
  if (arguments.quick) {
    options.groups = 3;
    options.rounds = 5;
  }
  std::printf("%-20s %-12s %10s %10s %10s %5s %9s\n", "workload", "variant", "median ms", "min",
              "max", "runs", "/ base");
  std::vector<bench::Row> rows;
  for (const bench::Workload& workload : filtered(std::move(workloads), arguments.filter)) {
    std::vector<bench::Row> measured = bench::measure(workload, options);
    bench::judge_opponent(device.info(), measured);
    bench::print_rows(measured);
    std::move(measured.begin(), measured.end(), std::back_inserter(rows));
  }
  if (rows.empty()) throw std::runtime_error("bench: no variant has a name given by --variants");
  std::printf("\n");
  bench::print_standing(rows);
  bench::write_json(arguments.out, device.info(), processor, rows);
  std::printf("written: %s\n", arguments.out.c_str());
  const bool as_wanted = std::all_of(
      rows.begin(), rows.end(), [&](const bench::Row& row) { return row.ok != arguments.corrupt; });
  return as_wanted ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Before any driver is loaded: with its cache on, or ours, the driver's second compile of a
  // shader takes no time at all and `cold` would measure nothing.
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  setenv("GNOMON_CACHE", "off", 1);

  Arguments arguments;
  CLI::App app("Times Gnomon against hand-written Vulkan, native code and the bare driver.");
  app.add_option("--filter", arguments.filter, "only these workloads, separated by commas")
      ->delimiter(',');
  app.add_option("--variants", arguments.variants, "only these variants, separated by commas")
      ->delimiter(',');
  app.add_option("--out,--json", arguments.out, "where the rows go as JSON")->capture_default_str();
  app.add_flag("--quick", arguments.quick, "fewer rounds: under two minutes");
  app.add_flag("--corrupt", arguments.corrupt,
               "spoil one element of every result: every check must notice");
  app.add_flag("--list", arguments.list, "only print the names of the workloads");
#ifdef GNOMON_BENCH_HAS_LIBRARY
  app.add_flag("--prepare", arguments.prepare,
               "only compile what the library is timed with, for GNOMON_DUMP");
  app.add_flag("--compile-times", arguments.compile_times,
               "only print how long tracing and compiling take, up to the driver's compiler");
  app.add_flag("--profile", arguments.profile,
               "only print the times of the library's kernels, workload by workload");
  app.add_flag("--estimates", arguments.estimates,
               "only print how far the compiler's estimates are from these times");
  app.add_flag("--calibrate", arguments.calibrate,
               "only print the numbers that its model of this kind of device should have");
  app.add_option("--alternatives", arguments.alternatives,
                 "only print what the graphs of this folder take where one choice of the compiler "
                 "is another one, as tests/golden/bench")
      ->check(CLI::ExistingDirectory);
  app.add_option("--first-call", arguments.first_call)
      ->group("");  // for the processes of cold_linalg
#endif
  try {
    app.parse(argc, argv);
#ifdef GNOMON_BENCH_HAS_LIBRARY
    if (!arguments.first_call.empty()) {
      bench::write_first_call(arguments.first_call);
      return 0;
    }
#endif
    return run(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
