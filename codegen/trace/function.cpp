// codegen/trace/function.cpp -- the parts of tracing a callable that do not depend on its types.
#include "codegen/trace/function.h"

namespace gnomon::detail {

void empty_leaf(int index, const std::string& path, Loc loc) {
  const std::string where = index < 0 ? "the result" : "argument " + std::to_string(index);
  usage_error(
      "trace",
      where + (path.empty() ? "" : " `" + path + "`") +
          " is an empty Array (moved from, or never assigned); hold it as std::optional<Array> "
          "when it may be absent",
      loc);
}

void check_leaves(tree::detail::AnyTree tree, int index, Loc loc) {
  bool empty = false;
  const auto look = [&](const Array& a) { empty |= a.empty(); };
  tree::detail::visit_arrays(tree, false, look);
  if (!empty) return;  // nearly always: nobody asks for paths
  const auto report = [&](const Array& a, const std::string& path) {
    if (a.empty()) empty_leaf(index, path, loc);
  };
  tree::detail::visit_arrays(tree, false, "", report);
}

Arrays inputs_for(Trace& trace, tree::detail::AnyTree tree, int& index, Loc loc) {
  check_leaves(tree, index++, loc);
  Arrays inputs;
  const auto add = [&](const Array& a) { inputs.push_back(trace.input(a.aval())); };
  tree::detail::visit_arrays(tree, false, add);
  return inputs;
}

Graph finished(Trace& trace, tree::detail::AnyTree result) {
  check_leaves(result, -1, trace.loc);
  return trace.finish(tree::detail::arrays(result, false));
}

Arrays placeholders(const std::vector<Aval>& avals) {
  Arrays result;
  result.reserve(avals.size());
  for (const Aval& aval : avals) result.push_back(placeholder(aval));
  return result;
}

}  // namespace gnomon::detail
