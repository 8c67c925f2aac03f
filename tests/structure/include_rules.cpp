// tests/structure/include_rules.cpp -- the include table of the four floors.
#include "tests/structure/include_rules.h"

#include <regex>
#include <set>

namespace gnomon::structure {
namespace {

bool below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool below_any(std::string_view path, const std::vector<std::string_view>& folders) {
  for (std::string_view folder : folders) {
    if (path == folder || below(path, folder)) return true;
  }
  return false;
}

// One row: files below `user` may include project headers below `allowed` only, or those very
// headers. The first row that fits a file decides, so a folder stands before the floor that holds
// it. What is below `include` is installed, alone.
struct Row {
  std::string_view user;
  std::vector<std::string_view> allowed;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"shaders/include", {"shaders/include"}},
      {"shaders", {"shaders"}},
      // What a program is and what runs it stand without the compiler: of shaders they know the
      // data only, and of codegen nothing beside codegen/program and what lies below it.
      {"codegen/program",
       {"codegen/program", "codegen/base", "codegen/include", "shaders/support", "shaders/include",
        "shaders/kernel/kernel.h", "shaders/passes/refine.h", "shaders/spirv/emit.h"}},
      {"codegen/include", {"codegen/include", "shaders/include"}},
      {"codegen", {"codegen", "shaders"}},
      {"engine/vulkan",
       {"engine/vulkan", "engine/include/gnomon/vulkan_device.h",
        "engine/include/gnomon/device_lost.h", "engine/include/gnomon/memory_handle.h",
        "codegen/program", "codegen/include", "shaders/support", "shaders/include"}},
      {"engine/runtime",
       {"engine/include", "engine/runtime", "engine/vulkan", "codegen/program", "codegen/base",
        "codegen/include", "codegen/trace/executor.h", "shaders/support", "shaders/include",
        "shaders/kernel/kernel.h"}},
      {"engine/include", {"engine/include", "codegen/include", "shaders/include"}},
      {"engine/library",
       {"engine/include", "engine/library", "codegen/include", "shaders/include"}},
      {"engine", {"engine", "codegen", "shaders/support", "shaders/include"}},
      {"samples", {"samples", "engine/include", "codegen/include", "shaders/include"}},
  };
  return table;
}

// The rooms of the lower floors. A file may include files of its own room and of those that stand
// before it, so that no two rooms need one another; see ARCHITECTURE.md for what each is for.
const std::vector<std::string_view>& rooms() {
  static const std::vector<std::string_view> order = {
      "shaders/include",
      "shaders/support",
      "shaders/kernel",
      "shaders/math",
      "shaders/passes",
      "shaders/spirv",
      "shaders/library",
      "shaders/interpret",
      "codegen/include",
      "codegen/base",
      "codegen/program",
      "codegen/program/module",
      "codegen/graph",
      "codegen/operations",
      "codegen/simplify",
      "codegen/trace",
      "codegen/lax",
      "codegen/analysis",
      "codegen/cost",
      "codegen/transforms",
      "codegen/primitives",
      "codegen/primitives/elementwise",
      "codegen/primitives/shapes",
      "codegen/primitives/indexing",
      "codegen/primitives/reductions",
      "codegen/primitives/linalg",
      "codegen/primitives/control",
      "codegen/primitives/calls",
      "codegen/ops",
      "codegen/checks",
      "codegen/optimize",
      "codegen/emit",
      "codegen/partition",
      "codegen/modules",
      "codegen/plan",
      "codegen/compile",
      "engine/include",
      "engine/vulkan",
      "engine/runtime",
      "engine/jit",
      "engine/c",
      "engine/command",
  };
  return order;
}

/// The place of a file's room in that order; none where it has no room of its own.
std::optional<std::size_t> room_of(std::string_view path) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < rooms().size(); ++i)
    if (below(path, rooms()[i]) && (!found || rooms()[i].size() > rooms()[*found].size()))
      found = i;
  return found;
}

// The only folders that may name a library behind a floor.
struct Guard {
  std::string_view library;
  std::regex include;
  std::vector<std::string_view> allowed;
};

const std::vector<Guard>& guards() {
  static const std::vector<Guard> table = {
      {"Vulkan",
       std::regex("(vulkan|vk_video)/.*|volk\\.h"),
       {"engine/vulkan", "engine/include/gnomon/vulkan.h", "engine/include/gnomon/vulkan_device.h",
        "samples/own_device"}},
      {"SPIR-V's numbers", std::regex("spirv/.*"), {"shaders", "codegen/program/module"}},
      {"SPIRV-Tools", std::regex("spirv-tools/.*"), {"shaders"}},
      {"glslang", std::regex("(glslang|SPIRV)/.*"), {}},
  };
  return table;
}

/// A header of C++ or C itself: <vector>, <stdint.h>. Or Vulkan's, which whoever includes
/// gnomon/vulkan.h has.
bool standard(std::string_view include) {
  if (include == "vulkan/vulkan_core.h") return true;
  static const std::set<std::string_view> of_c = {"limits.h", "stdbool.h", "stddef.h", "stdint.h"};
  return include.find_first_of("./") == std::string_view::npos || of_c.contains(include);
}

}  // namespace

std::vector<Include> includes_of(std::string_view source) {
  // A directive at the start of a line; only a block comment could still hide it.
  static const std::regex directive(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*$)");
  std::vector<Include> found;
  bool in_comment = false;
  int line_number = 0;
  while (!source.empty()) {
    const size_t end = source.find('\n');
    const std::string line(source.substr(0, end));
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    ++line_number;
    std::smatch match;
    if (!in_comment && std::regex_match(line, match, directive)) {
      found.push_back({match[1], line_number});
    }
    const size_t opens = line.rfind("/*");
    const size_t closes = line.rfind("*/");
    if (opens != std::string::npos && (closes == std::string::npos || closes < opens)) {
      in_comment = true;
    } else if (closes != std::string::npos) {
      in_comment = false;
    }
  }
  return found;
}

std::optional<std::string> violation(std::string_view file, std::string_view include,
                                     std::string_view public_floor) {
  for (const Guard& guard : guards()) {
    if (std::regex_match(include.begin(), include.end(), guard.include) &&
        !below_any(file, guard.allowed)) {
      return std::string(guard.library) + " may not be included here";
    }
  }
  std::string target(include);
  if (below(include, "gnomon")) {
    target = std::string(public_floor) + "/include/" + target;
  }
  if (!below_any(target, {"shaders", "codegen", "engine", "samples", "tests"})) {
    return std::nullopt;
  }
  for (const Row& row : rows()) {
    if (!below(file, row.user)) continue;
    if (below_any(target, row.allowed)) break;
    return std::string(row.user) + " may not include " + target;
  }
  const auto user = room_of(file), used = room_of(target);
  if (user && used && *used > *user)
    return std::string(rooms()[*user]) + " stands below " + std::string(rooms()[*used]);
  return std::nullopt;
}

bool has_room(std::string_view path) {
  const auto room = room_of(path);
  if (!room) return false;
  const std::string_view inside = path.substr(rooms()[*room].size() + 1);
  return rooms()[*room].ends_with("/include") || inside.find('/') == std::string_view::npos;
}

bool is_public(std::string_view path) {
  return path.find("/include/gnomon/") != std::string_view::npos;
}

std::vector<std::string> not_installed(const Texts& files, const std::string& header) {
  const auto resolved = [&](const std::string& include) -> std::string {
    for (const char* folder : {"", "shaders/include/", "codegen/include/", "engine/include/"})
      if (files.contains(folder + include)) return folder + include;
    return "";
  };
  std::vector<std::string> found;
  std::map<std::string, std::string> ways{{header, header}};
  std::vector<std::string> open{header};
  while (!open.empty()) {
    const std::string file = open.back();
    open.pop_back();
    for (const Include& include : includes_of(files.at(file))) {
      const std::string target = resolved(include.path);
      const std::string way = ways[file] + " -> " + include.path;
      if (target.empty() ? !standard(include.path) : !is_public(target)) found.push_back(way);
      if (!target.empty() && ways.emplace(target, way).second) open.push_back(target);
    }
  }
  return found;
}

}  // namespace gnomon::structure
