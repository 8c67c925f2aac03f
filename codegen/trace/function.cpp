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

Arrays placeholders(const std::vector<Aval>& avals) {
  Arrays result;
  result.reserve(avals.size());
  for (const Aval& aval : avals) result.push_back(placeholder(aval));
  return result;
}

}  // namespace gnomon::detail
