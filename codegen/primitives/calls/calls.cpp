// codegen/primitives/calls/calls.cpp -- what the operations that hold functions have in common.
#include "codegen/operations/calls.h"

#include "codegen/lax/lax.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon {

std::string_view name(Keep k) {
  switch (k) {
    case Keep::nothing:
      return "nothing";
    case Keep::products:
      return "products";
    case Keep::everything:
      return "everything";
  }
  return "?";
}

namespace calls {

std::vector<bool> float_flags(const std::vector<Aval>& avals) {
  std::vector<bool> r;
  for (const Aval& a : avals) r.push_back(is_float(a.dtype));
  return r;
}

Arrays only_floats(const Arrays& arrays, std::size_t count) {
  Arrays r;
  for (std::size_t i = 0; i < count; ++i)
    if (is_float(arrays[i].dtype())) r.push_back(arrays[i]);
  return r;
}

Arrays flag_constants(const std::vector<bool>& flags, const Arrays& arguments) {
  Arrays r;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (is_float(arguments[i].dtype()))
      r.push_back(lax::full({DType::boolean, {}}, flags[i] ? 1 : 0));
  return r;
}

Graph batch(const Graph& graph, const std::vector<bool>& inputs, std::vector<bool>& outputs,
            Dim size) {
  const std::vector<bool> least = control::batched_outputs(graph, inputs, size);
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = outputs[i] || least[i];
  return control::batch(graph, inputs, outputs, size);
}

Array behind(const Array& x, const Arrays& others) {
  return emit1(optimization_barrier_p, {}, control::joined({x}, others), {});
}

void check_constants(std::string_view op, std::size_t arguments, const std::vector<bool>& moves) {
  const Trace* trace = Trace::current();
  for (std::size_t i = arguments; i < moves.size(); ++i)
    if (moves[i])
      usage_error(op,
                  "the function or a rule of it captured an array that is differentiated in, and "
                  "a rule speaks of arguments only; pass it as an argument, or capture "
                  "stop_gradient of it",
                  trace ? trace->loc : Loc{});
}

}  // namespace calls
}  // namespace gnomon
