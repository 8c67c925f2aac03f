// engine/jit/program_store.cpp -- keys of programs, and files that turn out to be of no use.
#include "engine/jit/program_store.h"

#include <utility>

#include "codegen/base/hash.h"
#include "codegen/graph/text.h"
#include "codegen/program/source_identity.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

void add_lines(Hasher& hasher, const Graph& graph) {
  for (const Equation& equation : graph.equations) {
    hasher.add(std::string_view(equation.loc.file));
    hasher.add(static_cast<std::uint64_t>(equation.loc.line));
    for (const GraphPtr& inner : equation.params.graphs())
      if (inner) add_lines(hasher, *inner);
  }
}

}  // namespace

ProgramStore::ProgramStore(std::shared_ptr<DiskCache> disk, const vulkan::Device& device)
    : disk_(std::move(disk)),
      device_(std::string(source_identity()) + "\n" + device.description().identity() + "\n" +
              device.target().text() + " windows=" + std::to_string(device.max_window_bytes())) {}

ProgramStore::Key ProgramStore::key(const Graph& graph, const std::string& options) const {
  Key key;
  key.graph = structural_hash(graph);
  key.identity = device_ + "\n" + options + "\n" + std::to_string(key.graph);
  key.name = digest(key.identity + "\n" + print(graph, {.source_lines = false}));
  Hasher lines;
  add_lines(lines, graph);
  key.lines = lines.value();
  return key;
}

std::optional<ProgramFile> ProgramStore::load(const Key& key) {
  const auto bytes = disk_->read(key.name);
  if (!bytes) return std::nullopt;
  try {
    ProgramFile found = program_file(*bytes);
    if (found.identity == key.identity && found.program.graph_hash == key.graph) {
      if (found.lines != key.lines)
        for (Allocation& a : found.program.allocations) a.where = {};
      return found;
    }
  } catch (const Error&) {
    // Whole, and still not what was written: of another make.
  }
  disk_->drop_damaged(key.name);
  return std::nullopt;
}

void ProgramStore::keep(const Key& key, const Program& program,
                        std::vector<ProgramModule> modules) noexcept {
  try {
    disk_->write(key.name, to_bytes({key.identity, key.lines, program, std::move(modules)}));
  } catch (const std::exception&) {
    // No memory, or a program that cannot be written: it is compiled again next time.
  }
}

}  // namespace gnomon
