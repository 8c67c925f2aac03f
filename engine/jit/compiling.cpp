// engine/jit/compiling.cpp -- codegen as the engine's Compiler, and programs as a Runtime keeps
// them.
#include "engine/jit/compiling.h"

#include <utility>

#include "codegen/modules/copy_kernel.h"
#include "codegen/modules/module.h"
#include "codegen/modules/rounding_kernel.h"
#include "codegen/trace/eager.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

class Codegen final : public Compiler {
 public:
  std::vector<std::uint32_t> words(const kernel::Kernel& kernel, const Target& target,
                                   std::span<const std::uint8_t> windows,
                                   ModuleOptions options) const override {
    return module_words(kernel, target, windows, options);
  }
  void validate(std::span<const std::uint32_t> words, const std::string& kernel) const override {
    validate_module(words, kernel);
  }
  std::string text(std::span<const std::uint32_t> words) const override {
    return module_text(words);
  }
  kernel::Kernel copy_kernel(const Target& target) const override {
    return gnomon::copy_kernel(target);
  }
  kernel::Kernel rounding_kernel() const override { return gnomon::rounding_kernel(); }
};

}  // namespace

std::shared_ptr<const Compiler> make_compiler() { return std::make_shared<const Codegen>(); }

ProgramsOfRuntime::ProgramsOfRuntime(const std::shared_ptr<RuntimeState>& state,
                                     const RuntimeOptions& options)
    : programs({options.max_programs, options.program_bytes}), state_(state) {
  const Context& context = *state->context;
  if (context.disk) store = std::make_shared<ProgramStore>(context.disk, context.device);
}

Array ProgramsOfRuntime::placed(const Array& a) {
  const Unplaced& made = *a.storage()->unplaced();
  if (const HostArray* elements = made.elements())
    return on_device(state_.lock()->context, a.aval(), elements->bytes);
  return executor->execute("constant", made.graph(), {})[0];
}

ProgramsOfRuntime& programs_of(const RuntimeState& state, const char* op) {
  if (!state.compiling) no_compiler(op);
  return static_cast<ProgramsOfRuntime&>(*state.compiling);
}

}  // namespace gnomon
