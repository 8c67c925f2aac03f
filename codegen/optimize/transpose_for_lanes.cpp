// codegen/optimize/transpose_for_lanes.cpp -- see transpose_for_lanes.h.
#include "codegen/optimize/transpose_for_lanes.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "codegen/cost/device_model.h"
#include "codegen/operations/control.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/loop_rewrite.h"

namespace gnomon {
namespace {

/// Sums shorter than this read little of a matrix, and longer ones are not written out.
constexpr Dim shortest = 17;

const Graph* transposable_body(const Equation& e) {
  if (e.primitive == &scan_p) return e.params.as<ScanParams>().body.get();
  if (e.primitive == &while_p) return e.params.as<WhileParams>().body.get();
  return nullptr;
}

/// Numbers of lanes that may have vectors of their own in products of a step.
std::set<Dim> lanes_of_products(const Graph& body) {
  std::set<Dim> lanes;
  for (const Equation& e : body.equations)
    if (e.primitive == &dot_general_p)
      for (ValueId v : e.inputs)
        if (body.avals[v].shape.rank() > 1) lanes.insert(body.avals[v].shape[0]);
  return lanes;
}

/// One loop on its way to other operands and outputs.
class Transposer {
 public:
  Transposer(Graph& outer, const Equation& loop, Dim lanes, const std::vector<bool>& fixed)
      : outer_(outer), loop_(loop), lanes_(lanes), body_(*transposable_body(loop)), fixed_(fixed) {
    const LoopOperands operands = loop_operands(loop);
    carried_ = operands.carried;
    first_constant_ = operands.carried + operands.sequences;
    inputs_ = body_.inputs.size();
  }

  /// False when everything stays as it is.
  bool run() {
    std::vector<Product> products;
    Dim terms = 0;
    for (std::size_t i = 0; i < body_.equations.size(); ++i)
      if (const auto p = product(i)) {
        products.push_back(*p);
        terms += p->terms;
      }
    if (products.empty() || terms > most_written_terms) return false;
    for (const Product& p : products)
      if (p.by_columns) transpose_matrix(p);
    bool changed = body_.inputs.size() > inputs_;
    if (loop_.primitive == &scan_p)
      for (auto o = static_cast<std::size_t>(loop_.params.as<ScanParams>().carried);
           o < body_.outputs.size(); ++o)
        changed = put_lanes_last(o) || changed;
    return changed;
  }

  void emit() {
    for (Equation& e : before_) outer_.equations.push_back(std::move(e));
    outer_.equations.push_back(with_body(std::move(loop_), std::move(body_)));
    for (Equation& e : behind_) outer_.equations.push_back(std::move(e));
  }

 private:
  /// A product of a lane's own vector with a matrix that stays the same, long enough to be written
  /// out.
  struct Product {
    std::size_t equation = 0, side = 0;  // the matrix
    Dim terms = 0;                       // that are written out
    bool by_columns = false;             // what is summed up lies apart
  };
  std::optional<Product> product(std::size_t equation) const {
    const Equation& e = body_.equations[equation];
    if (e.primitive != &dot_general_p) return std::nullopt;
    const auto& p = e.params.as<DotParams>();
    if (!p.lhs_batch.empty() || p.lhs_contracting.size() != 1) return std::nullopt;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Shape& matrix = body_.avals[e.inputs[side]].shape;
      const int summed = (side == 0 ? p.lhs_contracting : p.rhs_contracting)[0];
      if (matrix.rank() != 2 || input_of(e.inputs[side]) < first_constant_ ||
          input_of(e.inputs[side]) == body_.inputs.size() || !lanes_hold(e.inputs[1 - side]))
        continue;
      const Dim terms = matrix[summed], results = matrix[1 - summed];
      if (terms < shortest || terms > longest_written_product) continue;
      const bool runs =
          reads_runs(p, body_.avals[e.inputs[0]].shape, body_.avals[e.inputs[1]].shape, side);
      return Product{equation, side, summed == 0 && runs ? terms * results : terms, !runs};
    }
    return std::nullopt;
  }

  /// The number of inputs when it is none.
  std::size_t input_of(ValueId v) const {
    return static_cast<std::size_t>(std::find(body_.inputs.begin(), body_.inputs.end(), v) -
                                    body_.inputs.begin());
  }
  /// Whether every lane has a vector of `v` in an array: carried, or computed in the step.
  bool lanes_hold(ValueId v) const {
    const Shape& shape = body_.avals[v].shape;
    if (shape.rank() < 2 || shape[0] != lanes_) return false;
    if (const std::size_t i = input_of(v); i < body_.inputs.size()) return i < carried_;
    for (const Equation& e : body_.equations)
      if (std::find(e.outputs.begin(), e.outputs.end(), v) != e.outputs.end())
        return e.primitive->lower.kind == Lowering::Kind::element &&
               e.primitive->lower.cost != Cost::view;
    return false;
  }

  void transpose_matrix(const Product& product) {
    Equation& e = body_.equations[product.equation];
    DotParams p = e.params.as<DotParams>();
    const ValueId matrix = e.inputs[product.side];
    e.inputs[product.side] = transposed(matrix, input_of(matrix), e.loc);
    (product.side == 0 ? p.lhs_contracting : p.rhs_contracting) = {1};
    e.params = p;
  }

  ValueId transposed(ValueId matrix, std::size_t input, Loc loc) {
    const auto [copy, fresh] = copies_.try_emplace(matrix, 0);
    if (fresh) {
      const Aval& aval = body_.avals[matrix];
      const Aval by_rows{aval.dtype, {aval.shape[1], aval.shape[0]}};
      const ValueId before = outer_.fresh(by_rows);
      before_.push_back({&permute_p, AxesParams{{1, 0}}, {loop_.inputs[input]}, {before}, loc});
      copy->second = body_.fresh(by_rows);
      body_.inputs.push_back(copy->second);
      loop_.inputs.push_back(before);
    }
    return copy->second;
  }

  bool put_lanes_last(std::size_t o) {
    const ValueId row = body_.outputs[o], stacked = loop_.outputs[o];
    const Shape shape = body_.avals[row].shape;
    if (fixed_[stacked] || shape.rank() < 2 || shape[0] != lanes_) return false;
    std::vector<int> lanes_last, back{0, shape.rank()};
    Shape row_shape, all{loop_.params.as<ScanParams>().length};
    for (int a = 1; a < shape.rank(); ++a) {
      if (shape[a] == lanes_) return false;  // nobody could tell which axis the lanes are
      lanes_last.push_back(a);
      back.push_back(a);
      row_shape.append(shape[a]);
    }
    lanes_last.push_back(0);
    row_shape.append(lanes_);
    for (int a = 0; a < row_shape.rank(); ++a) all.append(row_shape[a]);
    const DType dtype = body_.avals[row].dtype;
    body_.outputs[o] = body_.fresh({dtype, row_shape});
    body_.equations.push_back(
        {&permute_p, AxesParams{lanes_last}, {row}, {body_.outputs[o]}, loop_.loc});
    loop_.outputs[o] = outer_.fresh({dtype, all});
    behind_.push_back({&permute_p, AxesParams{back}, {loop_.outputs[o]}, {stacked}, loop_.loc});
    return true;
  }

  Graph& outer_;
  Equation loop_;
  Dim lanes_;
  Graph body_;
  const std::vector<bool>& fixed_;  // outputs of the program
  std::size_t carried_ = 0, first_constant_ = 0, inputs_ = 0;
  std::map<ValueId, ValueId> copies_;
  std::vector<Equation> before_, behind_;
};

}  // namespace

std::optional<Graph> transpose_for_lanes(const Graph& g,
                                         const std::function<Dim(const Equation&)>& lanes) {
  std::vector<bool> fixed(g.avals.size(), false);
  for (ValueId v : g.outputs) fixed[v] = true;
  return with_loops_rewritten(g, [&](Graph& r, const Equation& e) {
    const Graph* body = transposable_body(e);
    if (!body) return false;
    for (Dim n : lanes_of_products(*body)) {
      Transposer loop(r, e, n, fixed);
      if (!loop.run() || lanes(e) != n) continue;
      loop.emit();
      return true;
    }
    return false;
  });
}

}  // namespace gnomon
