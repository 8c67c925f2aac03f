// codegen/cost/work.cpp -- how many operations equations are.
#include "codegen/cost/work.h"

#include <algorithm>
#include <set>

#include "codegen/analysis/in_place.h"
#include "codegen/cost/instructions.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/window.h"
#include "gnomon/transform.h"

namespace gnomon {

namespace {

/// Iterations of a loop. How many a `while` takes is not known; a few at least.
double trips_of(const Equation& loop) {
  if (loop.primitive == &scan_p) return static_cast<double>(loop.params.as<ScanParams>().length);
  const auto& p = loop.params.as<WhileParams>();
  return p.max_steps < 0 ? 16 : std::min<double>(16, p.max_steps);
}

double elements(const Aval& a) { return static_cast<double>(a.shape.size()); }

double work_of(const Graph& g) {
  double sum = 0;
  for (const Equation& e : g.equations) sum += work(g, e);
  return sum;
}

}  // namespace

double work(const Graph& g, const Equation& e) {
  switch (e.primitive->lower.kind) {
    case Lowering::Kind::while_loop:
    case Lowering::Kind::scan:
      return trips_of(e) * work_per_iteration(e);
    case Lowering::Kind::cond: {
      double sum = 0;
      for (const GraphPtr& branch : e.params.graphs()) sum += work_of(*branch);
      return sum;
    }
    case Lowering::Kind::scatter:
      return elements(g.avals[e.inputs[2]]) + elements(g.avals[e.outputs[0]]);
    case Lowering::Kind::element:
    case Lowering::Kind::expand:
      break;
  }
  // In place, as far as anyone can tell here.
  if (e.primitive == &dynamic_update_slice_p) return elements(g.avals[e.inputs[1]]);
  const Cost cost = e.primitive->lower.cost;
  if (cost == Cost::view) return 0;
  double size = 0;
  for (ValueId v : e.outputs) size += elements(g.avals[v]);
  if (e.primitive == &dot_general_p)
    return size * static_cast<double>(terms(e.params.as<DotParams>(), g.avals[e.inputs[0]].shape));
  for (ValueId v : e.inputs) size = std::max(size, elements(g.avals[v]));
  return instructions(cost) * size;
}

double terms_per_element(const Graph& g, const Equation& e) {
  if (e.primitive->lower.cost == Cost::view || e.outputs.empty()) return 1;
  const Dim out = g.avals[e.outputs[0]].shape.size();
  if (e.primitive == &dot_general_p)
    return static_cast<double>(
        std::max<Dim>(1, terms(e.params.as<DotParams>(), g.avals[e.inputs[0]].shape)));
  if (e.primitive == &conv_p && out > 0) {
    const Shape& kernel = g.avals[e.inputs[1]].shape;
    return static_cast<double>(
        kernel.part(e.params.as<ConvParams>().batch_dims + 1, kernel.rank()).size());
  }
  double terms = 1;
  for (ValueId v : e.inputs)
    terms = std::max(terms, elements(g.avals[v]) / static_cast<double>(std::max<Dim>(1, out)));
  return terms;
}

double work_by_element(const Graph& g) {
  std::vector<double> each(g.avals.size(), 0);
  for (const Equation& e : g.equations) {
    double inputs = 0, own = 0;
    for (ValueId v : e.inputs) inputs += each[v];
    if (e.primitive->lower.kind == Lowering::Kind::cond) {
      const double out = std::max(1.0, elements(g.avals[e.outputs[0]]));
      for (const GraphPtr& branch : e.params.graphs()) own += work_by_element(*branch) / out;
    } else {
      own = instructions(reduces(e) ? Cost::cheap : e.primitive->lower.cost);
    }
    const double cost = terms_per_element(g, e) * (own + inputs);
    for (ValueId v : e.outputs) each[v] = cost;
  }
  double sum = 0;
  for (ValueId v : g.outputs) sum += elements(g.avals[v]) * each[v];
  return sum;
}

Dim widest(const Equation& loop) {
  Dim most = 0;
  for (const GraphPtr& g : loop.params.graphs())
    for (const Equation& inner : g->equations) {
      for (ValueId v : inner.outputs) most = std::max(most, g->avals[v].shape.size());
      most = std::max(most, widest(inner));
    }
  return most;
}

double work_per_iteration(const Equation& loop) {
  double sum = 0;
  for (const GraphPtr& g : loop.params.graphs()) {
    sum += work_of(*g);
    std::set<ValueId> in_place(g->inputs.begin(), g->inputs.end());
    for (const Equation& e : g->equations) {
      if (e.primitive == &dynamic_update_slice_p) in_place.insert(e.outputs[0]);
      if (e.primitive != &while_p && e.primitive != &scan_p) continue;
      const LoopOperands operands = loop_operands(e);
      for (std::size_t i = 0; i < operands.carried; ++i)
        if (written_in_slices(operands.body, i)) in_place.insert(e.outputs[i]);
    }
    for (ValueId v : g->outputs)
      if (!in_place.contains(v)) sum += elements(g->avals[v]);
  }
  return sum;
}

double span_per_iteration(const Equation& loop, Dim terms_per_lane) {
  double sum = 0;
  for (const GraphPtr& g : loop.params.graphs())
    for (const Equation& e : g->equations) {
      if (e.primitive == &while_p || e.primitive == &scan_p) {
        sum += trips_of(e) * span_per_iteration(e, terms_per_lane);
      } else if (e.primitive->lower.kind == Lowering::Kind::cond) {
        sum += span_per_iteration(e, terms_per_lane);
      } else {
        // As `work` has it: a term of a product is one.
        const bool product = e.primitive == &dot_general_p;
        const double each = product ? 1 : instructions(e.primitive->lower.cost);
        double terms = 1;
        if (product || reduces(e))
          terms = work(*g, e) / each / std::max(1.0, elements(g->avals[e.outputs[0]]));
        sum += each * std::min(terms, static_cast<double>(terms_per_lane));
      }
    }
  return sum;
}

double detail::operations(const Graph& g) { return work_of(g); }

bool reduces(const Equation& e) {
  return e.primitive == &sum_p || e.primitive == &prod_p || e.primitive == &reduce_max_p ||
         e.primitive == &reduce_min_p;
}

bool large_product(const Graph& g, const Equation& dot) {
  const auto& p = dot.params.as<DotParams>();
  const Shape &lhs = g.avals[dot.inputs[0]].shape, &rhs = g.avals[dot.inputs[1]].shape;
  const Dim depth = terms(p, lhs);
  Dim batch = 1;
  for (int a : p.lhs_batch) batch *= lhs[a];
  if (depth <= 16 || batch == 0) return false;
  const Dim rows = lhs.size() / (depth * batch), columns = rhs.size() / (depth * batch);
  return rows >= 16 && columns >= 16 && batch * rows * columns * depth >= Dim{1} << 18;
}

std::uint64_t most_steps(const Equation& e) {
  if (e.primitive == &scan_p) return static_cast<std::uint64_t>(e.params.as<ScanParams>().length);
  if (e.primitive != &while_p) return 0;
  const Dim most = e.params.as<WhileParams>().max_steps;
  return most < 0 ? 0 : static_cast<std::uint64_t>(most);
}

}  // namespace gnomon
