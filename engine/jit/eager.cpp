// engine/jit/eager.cpp -- operations outside traces: a Runtime as an Executor.
#include "codegen/trace/eager.h"

#include "codegen/graph/host_array.h"
#include "codegen/primitives/op_params.h"
#include "codegen/primitives/table.h"
#include "engine/runtime/state.h"
#include "gnomon/jit.h"

namespace gnomon {
namespace {

/// The elements of what one constant stands for, else null.
const HostArray* elements_of(const Unplaced& made) {
  const Graph& graph = made.graph();
  const bool one = graph.equations.size() == 1 && graph.equations[0].primitive == &constant_p;
  return one ? &graph.equations[0].params.as<ConstantParams>().value.array() : nullptr;
}

}  // namespace

Arrays RuntimeState::execute(std::string_view op, const Graph& graph, const Arrays& inputs) {
  Arrays here;
  here.reserve(inputs.size());
  for (const Array& a : inputs) here.push_back(placed(a));
  detail::JitCore core(shared_from_this(), {.name = std::string(op)});
  return core.run_once(graph, std::move(here));
}

Array RuntimeState::placed(const Array& a) {
  const Unplaced* made = a.concrete() ? a.storage()->unplaced() : nullptr;
  if (!made) return a;
  const HostArray* elements = elements_of(*made);
  if (!elements) return execute("constant", made->graph(), {})[0];
  return on_device(context, a.aval(), elements->bytes);
}

}  // namespace gnomon
