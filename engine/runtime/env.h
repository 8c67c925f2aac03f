// engine/runtime/env.h -- the only place that reads environment variables, and the table that
// documents them.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/vulkan/log.h"

namespace gnomon {

/// One variable, as GNOMON_HELP=1 and the documentation show it.
struct Variable {
  std::string_view name, values, meaning;
};

/// Every variable that `Environment` reads, in the order of the help text.
std::span<const Variable> variables();
/// The table as text, one variable per line.
std::string help_text();

/// The stages that GNOMON_DUMP can name.
enum class Stage : std::uint8_t { traced, passes, graph, fusion, kernel, spirv, memory, plan };
/// The topics that GNOMON_LOG can name.
enum class Topic : std::uint8_t { retrace, capture, cache, timing };
std::string_view name(Stage);
std::string_view name(Topic);

/// The environment's settings, read once when a Runtime is made.
struct Environment {
  std::string cache;           // GNOMON_CACHE
  std::string user_cache;      // the platform's folder for caches; empty when it names none
  bool check_buffers = false;  // GNOMON_CHECK=buffers
  bool check_nan = false;      // GNOMON_CHECK=nan
  bool jit_off = false;        // GNOMON_JIT=off
  std::string device;          // GNOMON_DEVICE
  bool validate = false;       // GNOMON_VALIDATE
  bool minimum = false;        // GNOMON_TARGET=minimum
  bool help = false;           // GNOMON_HELP
  std::uint32_t dump = 0;      // GNOMON_DUMP: bit per Stage
  std::string dump_folder;     // GNOMON_DUMP_DIR; empty: to the log
  std::uint32_t log = 0;       // GNOMON_LOG: bit per Topic
  /// Where what is said goes. Of the Runtime rather than the environment.
  std::shared_ptr<const vulkan::Log> messages = std::make_shared<const vulkan::Log>();

  bool dumps(Stage stage) const { return dump >> static_cast<unsigned>(stage) & 1; }
  bool logs(Topic topic) const { return log >> static_cast<unsigned>(topic) & 1; }

  /// Reads the process environment. Throws UsageError for a value that no variable takes.
  static Environment read();
  /// The same from a lookup of one's own: null when a variable is not set.
  static Environment read(const char* (*lookup)(const char* name));
};

}  // namespace gnomon
