// engine/jit/make_executable.cpp -- compiling, or doing without.
#include "engine/jit/make_executable.h"

#include <utility>

#include "engine/jit/compiling.h"
#include "engine/runtime/memory_report.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

Program compiled(const Graph& graph, const Target& target, CompileOptions options,
                 std::uint64_t memory_limit) {
  Program program = compile(graph, target, options);
  if (memory_limit > 0 && memory_report(program).peak() > memory_limit) {
    // What was kept to save time can be computed again.
    options.residual_bytes = 0;
    program = compile(graph, target, options);
  }
  return program;
}

}  // namespace

std::shared_ptr<Executable> make_executable(RuntimeState& state, const Graph& graph,
                                            const MakeOptions& options) {
  const Target& target = state.context->device.target();
  Program program;
  ProgramOrigin origin;
  std::optional<ProgramFile> found;
  ProgramsOfRuntime& programs = programs_of(state, "compile");
  if (programs.store) {
    const auto key =
        std::make_shared<const ProgramStore::Key>(programs.store->key(graph, options.identity));
    // Stages that are to be shown have to happen.
    if (options.compile.dump == nullptr) found = programs.store->load(*key);
    origin.keep = [store = programs.store, key](const Program& p,
                                                std::vector<ProgramModule> modules) {
      store->keep(*key, p, std::move(modules));
    };
  }
  if (found) {
    program = std::move(found->program);
    program.name = options.compile.name;
    origin.modules = std::move(found->modules);
    origin.compile = [graph, target, compile = options.compile, limit = options.memory_limit] {
      return compiled(graph, target, compile, limit);
    };
    ++state.programs_loaded;
  } else {
    program = compiled(graph, target, options.compile, options.memory_limit);
    ++state.programs_compiled;
  }
  if (options.check) options.check(program);
  try {
    return std::make_shared<Executable>(state.context, program, options.executable, origin);
  } catch (const DeviceLost&) {
    throw;  // programs come back with the device
  } catch (const DeviceError&) {
    if (programs.clear() == 0) throw;
    return std::make_shared<Executable>(state.context, std::move(program), options.executable,
                                        std::move(origin));
  }
}

}  // namespace gnomon
