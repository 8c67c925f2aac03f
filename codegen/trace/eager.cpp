// codegen/trace/eager.cpp -- where an operation outside a trace runs, and what is refused.
#include "codegen/trace/eager.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "codegen/graph/effects.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/trace/executor.h"

namespace gnomon {
namespace {

[[noreturn]] void nowhere_to_run(std::string_view op, Loc loc) {
  usage_error(
      op,
      "none of its arrays is on a device, so nothing says where to run it; bring one there "
      "with `rt.from_host(...)`, or compute the whole with `rt.run([&] { return ...; })` or "
      "in a jitted function",
      loc);
}

/// Of the arrays that are on a device; null when none is.
std::shared_ptr<Executor> executor_of(std::string_view op, const Arrays& inputs, Loc loc) {
  std::shared_ptr<Executor> found;
  for (const Array& a : inputs) {
    if (a.storage()->unplaced()) continue;
    std::shared_ptr<Executor> own = a.storage()->executor();
    if (!own)
      usage_error(op,
                  "the Runtime of this " + to_string(a.aval()) +
                      " is gone and cannot run operations; keep the Runtime as long as its arrays "
                      "are computed with",
                  loc);
    if (!found)
      found = std::move(own);
    else if (found != own)
      usage_error(op,
                  "its arrays are of different Runtimes (this " + to_string(a.aval()) +
                      " is not where those before it are); bring them together with to_host and "
                      "from_host",
                  loc);
  }
  return found;
}

Array unplaced(Graph graph, Unplaced::Origin origin) {
  const Aval aval = graph.avals[graph.outputs[0]];
  return Array(aval,
               std::make_shared<Unplaced>(std::make_shared<const Graph>(std::move(graph)), origin));
}

/// The graph of output number i alone.
Graph with_output(Graph graph, std::size_t i) {
  graph.outputs = {graph.outputs[i]};
  return canonicalize(std::move(graph));
}

}  // namespace

Array Unplaced::made_by_user(const Array& a) {
  const Unplaced* made = a.storage()->unplaced();
  if (!made) return a;
  return Array(a.aval(), std::make_shared<Unplaced>(made->graph_, Origin::user));
}

const HostArray* Unplaced::elements() const {
  const bool constant =
      graph_->equations.size() == 1 && graph_->equations[0].primitive == &constant_p;
  if (!constant) return nullptr;
  return &graph_->equations[0].params.as<ConstantParams>().value.array();
}

bool few_of_its_kind(const Equation& constant) {
  constexpr double few = 16;
  const HostArray& a = constant.params.as<ConstantParams>().value.array();
  if (a.size() != 1) return false;
  if (a.aval.dtype == DType::boolean) return true;
  const double x = a.number(0);
  return std::fabs(x) <= few && x == std::floor(x) && !(x == 0 && std::signbit(x));
}

Array unplaced_constant(const Equation& e) {
  Graph graph;
  const Aval& aval = e.params.as<ConstantParams>().value.aval();
  Equation constant{e.primitive, e.params, {}, {graph.fresh(aval)}, e.loc};
  graph.outputs = constant.outputs;
  graph.equations.push_back(std::move(constant));
  return unplaced(std::move(graph), Unplaced::Origin::operation);
}

namespace {

/// Runs the graph; outputs that are inputs are the arrays themselves.
Arrays run_on(Executor& executor, std::string_view op, const Recording& recorded) {
  Graph graph = recorded.graph;
  Arrays results;
  std::vector<ValueId> computed;
  for (const ValueId v : graph.outputs) {
    const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), v);
    if (input == graph.inputs.end()) computed.push_back(v);
    results.push_back(
        input == graph.inputs.end()
            ? Array()
            : recorded.captures[static_cast<std::size_t>(input - graph.inputs.begin())]);
  }
  const bool all = computed.size() == results.size();
  if (computed.empty() && !has_effects(graph)) return results;
  graph.outputs = std::move(computed);
  const Arrays made = executor.execute(op, all ? graph : canonicalize(graph), recorded.captures);
  auto next = made.begin();
  for (Array& a : results)
    if (a.empty()) a = *next++;
  return results;
}

}  // namespace

Arrays run_at_once(std::string_view op, const Recording& recorded, Loc loc, Alone alone) {
  if (const auto executor = executor_of(op, recorded.captures, loc))
    return run_on(*executor, op, recorded);
  const bool refused = recorded.used_made_array && alone == Alone::refused;
  if (refused || has_effects(recorded.graph)) nowhere_to_run(op, loc);
  const auto origin =
      recorded.used_made_array ? Unplaced::Origin::user : Unplaced::Origin::operation;
  if (recorded.captures.empty() && recorded.graph.outputs.size() == 1)
    return {unplaced(recorded.graph, origin)};
  // Numbers are inputs only where something runs.
  Trace closing;
  const Graph closed = closing.finish(inline_graph(recorded.graph, recorded.captures));
  Arrays results;
  for (std::size_t i = 0; i < closed.outputs.size(); ++i)
    results.push_back(unplaced(with_output(closed, i), origin));
  return results;
}

Array beside(const Array& like, const Array& made) {
  if (!made.concrete() || !like.concrete()) return made;
  const Unplaced* unplaced = made.storage()->unplaced();
  if (!unplaced || like.storage()->unplaced()) return made;
  return executor_of("like", {like}, {})->execute("like", unplaced->graph(), {})[0];
}

}  // namespace gnomon
