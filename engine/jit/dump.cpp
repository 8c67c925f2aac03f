// engine/jit/dump.cpp -- writing dumps and log lines.
#include "engine/jit/dump.h"

#include <filesystem>
#include <fstream>

#include "gnomon/error.h"
#include "gnomon/paths.h"

namespace gnomon {

void dump_stage(const Environment& environment, const std::string& name, std::uint64_t number,
                const std::string& stage, const std::string& part, const std::string& text) {
  std::string file =
      name + "." + std::to_string(number) + (part.empty() ? "" : "." + part) + "." + stage;
  if (environment.dump_folder.empty()) {
    environment.messages->write("---- " + file + "\n" + text);
    return;
  }
  for (char& c : file) {
    // Windows takes none of these in a name.
    if (std::string_view("/\\ :*?\"<>|").find(c) != std::string_view::npos) c = '_';
  }
  std::error_code ignored;  // the stream reports what matters
  std::filesystem::create_directories(path_of(environment.dump_folder), ignored);
  const std::filesystem::path path = path_of(environment.dump_folder) / path_of(file);
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) {
    throw FileError("gnomon::jit: cannot write the dump " + text_of(path) +
                    "; check GNOMON_DUMP_DIR");
  }
}

bool dumps(const Environment& environment, const std::string& stage) {
  for (const Stage s : {Stage::traced, Stage::passes, Stage::graph, Stage::fusion, Stage::kernel,
                        Stage::spirv, Stage::memory, Stage::plan}) {
    if (name(s) == stage) return environment.dumps(s);
  }
  return false;
}

void log_line(const Environment& environment, Topic topic, const std::string& text) {
  if (!environment.logs(topic)) return;
  environment.messages->write("gnomon: " + std::string(name(topic)) + ": " + text);
}

}  // namespace gnomon
