// codegen/graph/params.cpp -- erased parameters, and the rules for sub-graphs among them.
#include "codegen/graph/params.h"

#include "codegen/graph/primitive.h"

namespace gnomon {

bool Params::operator==(const Params& other) const {
  if (model_ == other.model_) return true;
  return model_ && other.model_ && model_->equal(*other.model_);
}

std::uint64_t Params::hash() const { return model_ ? model_->hash() : 0; }

std::vector<GraphPtr> Params::graphs() const {
  std::vector<GraphPtr> result;
  if (model_) model_->graphs(result);
  return result;
}

Params Params::with_graphs(const std::vector<GraphPtr>& graphs) const {
  return model_ ? model_->with_graphs(graphs) : Params();
}

Params no_params(ParamParser& parser) {
  if (const auto found = parser.next_field()) {
    param_fields::fail_unknown(parser.in, "parameter", *found, {});
  }
  return {};
}

namespace param_fields {

bool same_graph(const GraphPtr& a, const GraphPtr& b) {
  return a == b || (a && b && structurally_equal(*a, *b));
}

std::uint64_t graph_hash(const GraphPtr& graph) { return graph ? structural_hash(*graph) : 0; }

}  // namespace param_fields
}  // namespace gnomon
