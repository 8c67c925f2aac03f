// tests/bench/harness.h -- workloads, variants, and how they are timed and checked.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "problems.h"

namespace gnomon {
struct Profile;
}

namespace bench {

namespace vk {
class Device;
}

/// One way to compute a workload. Absent functions are skipped.
///
/// `prepare` once, untimed: buffers, pipelines, recordings, traces. `before` ahead of every run,
/// untimed. `after` behind every sample, untimed: whoever has threads that spin waits for them.
/// `run` is what is timed: it starts the work and waits for it. `result` gives what the last run
/// computed, in the layout of problems.h; its check is the workload's unless `check` is set. `took`
/// gives the milliseconds of the last run where it measures itself: as many such runs as fit into
/// two seconds, three at least, and none is for warming up. `extras` are further numbers for the
/// row (kernels, compile_ms, ...), asked for at the end.
struct Variant {
  std::string name;
  std::function<void()> prepare;
  std::function<void()> before;
  std::function<void()> run;
  std::function<void()> after;
  std::function<std::vector<float>()> result;
  Check check;
  std::function<std::map<std::string, double>()> extras;
  std::function<double()> took;
  std::function<gnomon::Profile()> profile;  // its kernels, where they can be timed
  std::function<void()> compile;             // traces and compiles it once more, and runs nothing
};

/// A workload and the makers of its variants. Makers are called when the workload starts, and what
/// they made is gone when it ends, so that memory is held for one workload at a time.
struct Workload {
  std::string id;
  std::function<Check()> make_check;
  std::vector<std::function<std::vector<Variant>()>> makers;
};

/// All workloads, without variants, in the order of the table.
std::vector<Workload> all_workloads();

/// Adds textbook, expert, native and floor. `device` must outlive the workloads.
void add_opponents(std::vector<Workload>& workloads, const vk::Device& device);

/// The part of it that is sums, rows and products.
void add_dense_opponents(std::vector<Workload>& workloads, const vk::Device& device);

/// The part of it that is loops.
void add_loop_opponents(std::vector<Workload>& workloads, const vk::Device& device);

/// Adds those of trace_sparse: a bare gather, and Eigen's product where that is installed.
void add_sparse_opponents(std::vector<Workload>& workloads, const vk::Device& device);

/// Adds native code for training, attention and recurrent networks.
void add_training_opponents(std::vector<Workload>& workloads);

/// Adds oneDNN to the convolutions, where that is installed.
void add_conv_opponents(std::vector<Workload>& workloads);

/// Adds the solvers of others, those that are installed.
void add_ode_opponents(std::vector<Workload>& workloads);

/// Adds gnomon and its own variants; defined where the library is built.
void add_gnomon_variants(std::vector<Workload>& workloads);

/// Adds gnomon and hand to what is recorded into frames; defined where the library is built.
void add_frames(std::vector<Workload>& workloads, const vk::Device& device);
/// Adds saved programs next to the same SPIR-V by hand; defined where the library is built.
/// `device` must outlive the workloads.
void add_saved_variants(std::vector<Workload>& workloads, const vk::Device& device);

/// The workload called `id`. Unchecked: it is one of all_workloads().
Workload& find_workload(std::vector<Workload>& workloads, const std::string& id);

struct Options {
  /// A group interleaves all variants `rounds` times; the calmest of `groups` is reported.
  int groups = 5;
  int rounds = 9;
  /// How long the device is kept busy before variants are timed. A GPU that has had nothing to do,
  /// while inputs were made, runs at a sixth of its clock (345 of 1,980 MHz on an H100) until it
  /// has been in use for a while.
  double warm_up_ms = 0;
  /// Spoil one element of every result before its check.
  bool corrupt = false;
  /// Only variants of these names; all if empty.
  std::vector<std::string> variants;
};

/// What one variant did. Times in milliseconds, `runs` the timed samples behind them.
struct Row {
  std::string workload;
  std::string variant;
  double median_ms = 0.0;
  double min_ms = 0.0;
  double max_ms = 0.0;
  int runs = 0;
  bool ok = false;
  std::string detail;
  std::map<std::string, double> extras;
  /// Of an expert: whether it is as good as it should be (see judge_opponent); absent where nothing
  /// is published to judge it by.
  std::optional<bool> counts;
};

/// Times and checks all variants of a workload. A variant that throws, or cannot be made, gives a
/// row that is not ok with the message as its detail; the others go on.
std::vector<Row> measure(const Workload& workload, const Options& options);

}  // namespace bench
