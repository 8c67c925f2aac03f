// engine/jit/eager.cpp -- operations outside traces: a Runtime as an Executor.
#include <utility>

#include "codegen/modules/module.h"
#include "engine/jit/compiling.h"
#include "gnomon/jit.h"

namespace gnomon {
namespace {

class AtOnce final : public Executor {
 public:
  explicit AtOnce(const std::shared_ptr<RuntimeState>& state) : state_(state) {}

  Arrays execute(std::string_view op, const Graph& graph, const Arrays& inputs) override {
    const std::shared_ptr<RuntimeState> state = state_.lock();
    if (!state)
      throw UsageError("gnomon::" + std::string(op) +
                       ": the Runtime of its arrays is gone; keep it as long as they are computed "
                       "with");
    Arrays here;
    here.reserve(inputs.size());
    for (const Array& a : inputs) here.push_back(state->placed(a));
    return detail::JitCore(state, {.name = std::string(op)}).run_once(graph, std::move(here));
  }

 private:
  std::weak_ptr<RuntimeState> state_;  // which owns this
};

void add_compiler(const std::shared_ptr<RuntimeState>& state, const RuntimeOptions& options) {
  const auto compiling = std::make_shared<ProgramsOfRuntime>(state, options);
  compiling->executor = std::make_shared<AtOnce>(state);
  state->context->executor = compiling->executor;
  state->compiling = compiling;
  if (state->validate && !has_validator())
    state->environment.messages->write(
        "gnomon::Runtime: this build has no SPIRV-Tools (GNOMON_SPIRV_TOOLS): what modules say is "
        "checked by the validation layer alone");
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options)
    : Runtime(std::make_shared<RuntimeState>(options, make_compiler())) {
  add_compiler(state_, options);
}

Runtime Runtime::adopt(const VulkanDevice& device, const RuntimeOptions& options) {
  Runtime rt(detail::adopted_state(device, options, make_compiler()));
  add_compiler(rt.state_, options);
  return rt;
}

Key Runtime::key(std::int64_t seed, random::Mode mode) {
  return Key(from_host(random::seed_words(seed)), mode);
}

}  // namespace gnomon
