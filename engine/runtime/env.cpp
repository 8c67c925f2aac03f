// engine/runtime/env.cpp -- environment variables.
#include "engine/runtime/env.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "gnomon/error.h"
#include "gnomon/paths.h"

namespace gnomon {
namespace {

constexpr std::array<Variable, 10> table = {{
    {"GNOMON_CACHE", "off | folder",
     "where compiled programs are kept for later processes, instead of the user's cache folder"},
    {"GNOMON_CHECK", "buffers,nan",
     "throw where an element of a `buffer` is written twice, or read before it is written; where a "
     "result has a NaN or an infinity, naming the operation that made the first"},
    {"GNOMON_DEVICE", "index | part of a name", "the device to use, instead of the best one"},
    {"GNOMON_DUMP", "traced,passes,graph,fusion,kernel,spirv,memory,plan",
     "print these stages of everything that is compiled"},
    {"GNOMON_DUMP_DIR", "folder",
     "write dumps to files like train_step.2.kernel there, instead of stderr"},
    {"GNOMON_HELP", "1", "print this table when a Runtime is made"},
    {"GNOMON_JIT", "off",
     "jitted functions run on the host, operation by operation, as the reference defines them"},
    {"GNOMON_LOG", "retrace,capture,cache,timing", "say on stderr when these happen, and why"},
    {"GNOMON_TARGET", "minimum",
     "compile for the least that Vulkan 1.1 guarantees, whatever the device offers"},
    {"GNOMON_VALIDATE", "1",
     "Vulkan validation with synchronization checks; every module through spirv-val"},
}};

constexpr std::array<std::string_view, 8> stages = {"traced", "passes", "graph",  "fusion",
                                                    "kernel", "spirv",  "memory", "plan"};
constexpr std::array<std::string_view, 2> checks = {"buffers", "nan"};
constexpr std::array<std::string_view, 4> topics = {"retrace", "capture", "cache", "timing"};

[[noreturn]] void reject(std::string_view variable, std::string_view value) {
  const auto row = std::find_if(table.begin(), table.end(),
                                [&](const Variable& v) { return v.name == variable; });
  throw UsageError("gnomon::Runtime: " + std::string(variable) + " does not take `" +
                   std::string(value) + "`; use " + std::string(row->values));
}

// Bit per element of `names` that the comma-separated `value` lists.
std::uint32_t read_list(std::string_view variable, std::string_view value,
                        std::span<const std::string_view> names) {
  std::uint32_t bits = 0;
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view item = value.substr(0, comma);
    value.remove_prefix(std::min(comma + 1, value.size()));
    if (item.empty()) continue;
    const auto found = std::find(names.begin(), names.end(), item);
    if (found == names.end()) reject(variable, item);
    bits |= 1u << (found - names.begin());
  }
  return bits;
}

bool read_switch(std::string_view variable, std::string_view value) {
  if (value.empty() || value == "0") return false;
  if (value != "1") reject(variable, value);
  return true;
}

// A variable of the process in UTF-8; empty where it is not set.
std::string own_variable(const char* variable) {
#ifdef _WIN32
  // What getenv gives there has lost the letters that its code page has not.
  const std::wstring wide(variable, variable + std::strlen(variable));
  const wchar_t* const text = _wgetenv(wide.c_str());
  return text == nullptr ? std::string() : text_of(text);
#else
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::string() : std::string(text);
#endif
}

// The settings of an environment that `lookup` reads: empty text for what is not set.
template <class Lookup>
Environment read_by(const Lookup& lookup) {
  const auto value = [&](const char* variable) -> std::string { return lookup(variable); };
  Environment result;
  result.cache = value("GNOMON_CACHE");
#if defined(_WIN32)
  result.user_cache = value("LOCALAPPDATA");
#elif defined(__APPLE__)
  if (const auto home = value("HOME"); !home.empty())
    result.user_cache = std::string(home) + "/Library/Caches";
#else
  // The XDG specification has relative paths ignored.
  result.user_cache = value("XDG_CACHE_HOME");
  const auto home = value("HOME");
  if (!result.user_cache.starts_with('/'))
    result.user_cache = home.empty() ? "" : std::string(home) + "/.cache";
#endif
  const std::uint32_t checked = read_list("GNOMON_CHECK", value("GNOMON_CHECK"), checks);
  result.check_buffers = (checked & 1) != 0;
  result.check_nan = (checked & 2) != 0;
  result.device = value("GNOMON_DEVICE");
  result.dump = read_list("GNOMON_DUMP", value("GNOMON_DUMP"), stages);
  result.dump_folder = value("GNOMON_DUMP_DIR");
  result.help = read_switch("GNOMON_HELP", value("GNOMON_HELP"));
  const std::string jit = value("GNOMON_JIT");
  if (!jit.empty() && jit != "off") reject("GNOMON_JIT", jit);
  result.jit_off = jit == "off";
  result.log = read_list("GNOMON_LOG", value("GNOMON_LOG"), topics);
  result.validate = read_switch("GNOMON_VALIDATE", value("GNOMON_VALIDATE"));
  const std::string target = value("GNOMON_TARGET");
  if (!target.empty() && target != "minimum") reject("GNOMON_TARGET", target);
  result.minimum = target == "minimum";
  return result;
}

}  // namespace

std::span<const Variable> variables() { return table; }

std::string_view name(Stage stage) { return stages[static_cast<std::size_t>(stage)]; }
std::string_view name(Topic topic) { return topics[static_cast<std::size_t>(topic)]; }

std::string help_text() {
  std::size_t first = 0, second = 0;
  for (const Variable& v : table) {
    first = std::max(first, v.name.size());
    second = std::max(second, v.values.size());
  }
  std::string text;
  for (const Variable& v : table) {
    text += std::string(v.name) + std::string(first + 2 - v.name.size(), ' ');
    text += std::string(v.values) + std::string(second + 2 - v.values.size(), ' ');
    text += std::string(v.meaning) + "\n";
  }
  return text;
}

Environment Environment::read() { return read_by(&own_variable); }

Environment Environment::read(const char* (*lookup)(const char* name)) {
  return read_by([=](const char* variable) {
    const char* text = lookup(variable);
    return std::string(text == nullptr ? "" : text);
  });
}

}  // namespace gnomon
