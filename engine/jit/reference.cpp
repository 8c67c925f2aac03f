// engine/jit/reference.cpp -- see reference.h.
#include "engine/jit/reference.h"

#include "codegen/checks/find_nonfinite.h"
#include "codegen/optimize/lower_effects.h"
#include "gnomon/debug.h"

namespace gnomon::detail {
namespace {

HostArray host(const RuntimeState& state, const Array& a) {
  HostArray r(a.aval());
  download(*state.context, a, "jit", r.bytes);
  return r;
}

std::vector<HostArray> host(const RuntimeState& state, const Arrays& arrays) {
  std::vector<HostArray> r;
  for (const Array& a : arrays) r.push_back(host(state, a));
  return r;
}

}  // namespace

std::vector<Array> run_by_reference(const RuntimeState& state, const Graph& graph,
                                    const Arrays& inputs, std::uint64_t print_bytes,
                                    const PrintHandler& sink) {
  const Told told = tell(graph, host(state, inputs), {print_bytes});
  for (const std::string& line : told.report.lines) sink(line);
  if (told.report.failure) throw CheckFailed(*told.report.failure);
  std::vector<Array> outputs;
  for (const HostArray& a : told.outputs)
    outputs.push_back(on_device(state.context, a.aval, a.bytes));
  return outputs;
}

void require_finite(const RuntimeState& state, const std::string& name, const Graph& graph,
                    const Arrays& inputs, const Arrays& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_float(outputs[i].dtype())) continue;
    const auto bad = nonfinite(host(state, outputs[i]));
    if (!bad) continue;
    const std::string result =
        "gnomon::jit: result " + std::to_string(i) + " of `" + name + "` has " + std::string(*bad);
    const std::vector<HostArray> given = host(state, inputs);
    if (const auto found = find_nonfinite(graph, given)) {
      const bool nan = found->what == "a NaN";
      throw CheckFailed(result + ": `" + found->operation + "` is the first to make " +
                        found->what + (nan ? " of operands without one" : " of finite operands") +
                        found->where +
                        "; keep what it is given in its domain, by `where` in front of it" +
                        (found->loc.line > 0 ? " (" + to_string(found->loc) + ")" : ""));
    }
    for (std::size_t k = 0; k < given.size(); ++k)
      if (const auto before = nonfinite(given[k]))
        throw CheckFailed(result + ": array " + std::to_string(k) +
                          " of its arguments and captures has " + std::string(*before) +
                          " already; look at where that comes from");
    throw CheckFailed(result +
                      ", of a constant, or because the device rounds other than the host "
                      "reference, which makes none; compare with GNOMON_JIT=off");
  }
}

}  // namespace gnomon::detail
