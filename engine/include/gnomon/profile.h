// engine/include/gnomon/profile.h -- where the time of a call goes, kernel by kernel.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

class Executable;

/// One kernel of a call.
struct ProfileRow {
  std::string kernel;  // as dumps have it
  std::string where;   // the user's lines that it computes: "model.cpp:12, 14"; empty: not known
  std::uint64_t count = 0;  // how often it ran; not what was submitted and not needed
  double total_us = 0;
  /// What the compiler's model of the device says that it takes on average; 0: not known, as for
  /// loops whose trips are for the data to say, what is no kernel of the program's own, devices
  /// that nobody measured, and programs from a file.
  double estimated_us = 0;
  std::vector<double> executed = {};  // what the estimate weighs (gnomon_bench --calibrate)
  double mean_us() const { return count == 0 ? 0 : total_us / static_cast<double>(count); }
};

/// One time that a kernel ran.
struct ProfileEvent {
  std::uint32_t row = 0;  // index into Profile::rows
  double start_us = 0;    // since the first kernel of the call began
  double took_us = 0;
};

/// What `Jitted::profile` gives. Kernels ran one after the other, each behind the last one's end:
/// what a call overlaps or keeps the device waiting for is in no row.
struct Profile {
  std::string program;
  std::string device;
  /// Whether times are the device's. Where its queue has no timestamps they are the host's, and
  /// hold the submission of each kernel and the wait for it.
  bool device_clock = true;
  double wall_us = 0;                // of the whole call, by the host's clock
  std::vector<ProfileRow> rows;      // the longest first
  std::vector<ProfileEvent> events;  // in the order of the device
};

/// A table: kernel, count, total and mean microseconds, share, lines.
std::string to_string(const Profile&);
/// Calls one below the other in the Trace Event Format, for chrome://tracing and ui.perfetto.dev.
std::string chrome_trace(std::span<const Profile>);
/// The same to a file. Throws FileError when that cannot be written.
void write_chrome_trace(const std::string& path, std::span<const Profile>);

namespace detail {
/// Runs a program twice, the second time kernel by kernel. Throws DeviceError.
Profile profile(Executable&, std::vector<Array> inputs);
}  // namespace detail

}  // namespace gnomon
#pragma GCC visibility pop
