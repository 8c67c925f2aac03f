// codegen/primitives/control/effects.cpp -- table entries of print and error_if.
#include "codegen/operations/effects.h"

#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/primitives/families.h"
#include "codegen/program/print_format.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon {
namespace effects {

Graph inside_loop(const Graph& body) {
  if (!has_effects(body)) return body;
  Graph result = body;
  for (Equation& e : result.equations) {
    if (e.primitive->lower.statement) {
      auto p = e.params.as<StatementParams>();
      GNOMON_CHECK(!p.inside.empty(), "every batch rule gives statements lanes");
      ++p.inside.front();
      e.params = Params(std::move(p));
    } else if (has_effects(e)) {
      std::vector<GraphPtr> graphs = e.params.graphs();
      for (GraphPtr& g : graphs) g = control::share(inside_loop(*g));
      e.params = e.params.with_graphs(graphs);
    }
  }
  return result;
}

std::optional<Dim> lane_count(const StatementParams& p) {
  if (p.lanes.empty()) return std::nullopt;
  Dim n = 1;
  for (Dim d : p.lanes) n *= d;
  return n;
}

}  // namespace effects

namespace {

void check_lanes(std::string_view op, const StatementParams& p, std::span<const Aval> in, Loc loc) {
  if (p.lanes.size() != p.inside.size())
    usage_error(op, "needs as many numbers `inside` as `lanes`", loc);
  const auto lanes = effects::lane_count(p);
  for (const Aval& a : in)
    if (lanes && (a.shape.rank() == 0 || a.shape[0] != *lanes))
      usage_error(
          op, to_string(a) + " needs a leading axis of " + std::to_string(*lanes) + " lanes", loc);
}

std::vector<Aval> print_shape(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<StatementParams>();
  const effects::Format format = effects::parse_format(p.text, loc);
  const std::size_t places = format.specs.size();
  if (places != in.size())
    usage_error("debug::print",
                "\"" + p.text + "\" has " + std::to_string(places) + " placeholder" +
                    (places == 1 ? "" : "s") + " and gets " + std::to_string(in.size()) +
                    (in.size() == 1 ? " value" : " values") + "; write one `{}` for each",
                loc);
  for (std::size_t i = 0; i < places; ++i)
    effects::element_format(format.specs[i], in[i].dtype, loc);
  check_lanes("debug::print", p, in, loc);
  return {};
}

std::vector<Aval> error_if_shape(const Params& params, std::span<const Aval> in, Loc loc) {
  if (in.size() != 1 || in[0].dtype != DType::boolean)
    usage_error("error_if",
                "the predicate is " + (in.size() == 1 ? to_string(in[0]) : "missing") +
                    " and must be bool; compare it with something",
                loc);
  check_lanes("error_if", params.as<StatementParams>(), in, loc);
  return {};
}

template <const Primitive& P>
Batched batch_statement(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  auto p = params.as<StatementParams>();
  Arrays operands;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Array front = rules::batch_front(x[i], axes[i], size);
    operands.push_back(p.lanes.empty() ? front : control::merge_lanes(front));
  }
  p.lanes.insert(p.lanes.begin(), size);
  p.inside.insert(p.inside.begin(), 0);
  emit(P, std::move(p), operands, {});
  return {};
}

template <const Primitive& P>
constexpr Primitive statement(
    std::string_view name,
    Rule<std::vector<Aval>(const Params&, std::span<const Aval>, Loc)> shape) {
  return {
      .name = name,
      .parse = parse_params<StatementParams>,
      .shape = shape,
      .jvp = [](const Params&, const Arrays&, const Arrays&, const Tangents&) -> Tangents {
        return {};
      },
      .transpose = rules::not_linear<P>,
      .batch = batch_statement<P>,
      .lower = Lowering::recorded(
          [](const Params&, const Arrays&, const Target&, Loc) -> Arrays { return {}; }),
      .reference = [](const Params&, std::span<const Aval>,
                      std::span<const HostArray>) -> std::vector<HostArray> { return {}; },
  };
}

}  // namespace

const Primitive print_p = statement<print_p>("print", print_shape);
const Primitive error_if_p = statement<error_if_p>("error_if", error_if_shape);

}  // namespace gnomon
