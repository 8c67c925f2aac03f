// tests/support/rounding.cpp -- see rounding.h.
#include "tests/support/rounding.h"

#include <cmath>
#include <random>

#include "codegen/graph/evaluate.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/table.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// Operations that round nothing.
bool is_exact(const Primitive& p) {
  for (const Primitive* exact : {&neg_p, &abs_p, &max_p, &min_p, &select_p, &constant_p, &iota_p,
                                 &convert_p, &reduce_max_p, &reduce_min_p})
    if (&p == exact) return true;
  return p.lower.kind != Lowering::Kind::element || p.lower.cost == Cost::view;
}

/// The program with every f32 that is computed off by a unit in the last place, up or down; sums by
/// as many as their terms may make of it.
Graph rounded_differently(const Graph& g, std::mt19937& random) {
  return replay(g, [&](const Equation& e, const Arrays& in) {
    std::vector<GraphPtr> graphs = e.params.graphs();
    for (GraphPtr& sub : graphs) sub = control::share(rounded_differently(*sub, random));
    Arrays out =
        emit(*e.primitive, graphs.empty() ? e.params : e.params.with_graphs(graphs), in, e.loc);
    if (is_exact(*e.primitive) || in.empty()) return out;
    for (Array& x : out) {
      if (x.dtype() != DType::f32 || x.size() == 0) continue;
      // A sum of n terms is off by n - 1 half units at worst; products have more than are counted.
      const double terms = static_cast<double>(in[0].size()) / static_cast<double>(x.size());
      const double units = 1 + std::max(0.0, terms - 1) / 8;
      x = lax::mul(x, lax::full_like(x, 1 + (random() % 2 == 0 ? units : -units) * 0x1p-23, e.loc));
    }
    return out;
  });
}

}  // namespace

std::string mismatch(const RandomGraph& r, std::size_t i, const HostArray& got,
                     const std::vector<HostArray>& want) {
  const double usual = tolerance(r, want[i].aval.dtype);
  const std::string plain = difference(got, want[i], usual);
  if (plain.empty() || want[i].aval.dtype != DType::f32 ||
      !difference(got, want[i], 10 * usual).empty())
    return plain;
  std::vector<double> allowed;
  for (Dim k = 0; k < want[i].size(); ++k)
    allowed.push_back(usual * std::max(1.0, std::abs(want[i].number(k))));
  std::mt19937 random(1);
  for (int round = 0; round < 8; ++round) {
    const HostArray other = evaluate(rounded_differently(r.graph, random), r.inputs)[i];
    for (Dim k = 0; k < other.size(); ++k) {
      double& most = allowed[static_cast<std::size_t>(k)];
      most = std::max(most, std::abs(other.number(k) - want[i].number(k)));
    }
  }
  return difference(got, want[i], [&](Dim k) { return allowed[static_cast<std::size_t>(k)]; });
}

}  // namespace gnomon::testing
