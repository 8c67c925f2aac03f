// codegen/optimize/input_products.cpp -- finds such products, and takes vmap over the steps of
// them.
#include "codegen/optimize/input_products.h"

#include <algorithm>
#include <map>

#include "codegen/analysis/uses.h"
#include "codegen/graph/effects.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/vmap.h"

namespace gnomon {
namespace {

constexpr Dim most_product_bytes = Dim{256} << 20;
/// Shorter sums take no longer than reading their result.
constexpr Dim fewest_product_terms = 8;
/// Multiplications in all steps that pay for a kernel and for memory.
constexpr Dim worth_taking_out = Dim{1} << 20;

/// One scan on its way to having products as further sequences.
class ProductLoop {
 public:
  explicit ProductLoop(const Equation& e)
      : p_(e.params.as<ScanParams>()),
        body_(*p_.body),
        producer_(analyse_uses(body_).producer),
        kind_(body_.avals.size(), Kind::constant),
        from_row_(body_.avals.size(), 0) {
    first_constant_ = static_cast<std::size_t>(p_.carried + p_.sequences);
    find_kinds();
    choose();
  }

  bool moves() const { return !moved_.empty(); }

  /// The equation with its products in front, in the active trace.
  Arrays replay(const Arrays& inputs, Loc loc) const {
    ScanParams q = p_;
    q.body = control::share(without_products());
    q.sequences += static_cast<int>(moved_.size());
    const Arrays rows = inline_graph(of_all_steps(), inputs);
    Arrays in = inputs;
    in.insert(in.begin() + static_cast<std::ptrdiff_t>(first_constant_), rows.begin(), rows.end());
    return control::emit_scan(q, in, loc);
  }

 private:
  /// What a value follows from.
  enum class Kind : std::uint8_t {
    constant,  // constants of the loop alone
    row,       // rows of sequences, too
    other,     // what is carried, or an operation that is not element by element
  };

  const Equation* maker(ValueId v) const {
    return producer_[v] == Uses::none ? nullptr : &body_.equations[producer_[v]];
  }

  void find_kinds() {
    for (std::size_t i = 0; i < first_constant_; ++i) {
      const ValueId v = body_.inputs[i];
      kind_[v] = static_cast<int>(i) < p_.carried ? Kind::other : Kind::row;
      from_row_[v] = body_.avals[v].shape.size();
    }
    for (const Equation& e : body_.equations) {
      Kind k = Kind::constant;
      Dim from = 0;
      for (ValueId v : e.inputs) {
        k = std::max(k, kind_[v]);
        if (kind_[v] == Kind::row) from = std::max(from, from_row_[v]);
      }
      if (e.primitive->lower.kind != Lowering::Kind::element || has_effects(e) ||
          e.primitive == &optimization_barrier_p)
        k = Kind::other;
      for (ValueId v : e.outputs) {
        kind_[v] = k;
        // Another product's results exist where it is moved, too.
        from_row_[v] =
            e.primitive == &dot_general_p ? std::max(from, body_.avals[v].shape.size()) : from;
      }
    }
  }

  bool worth_it(const Equation& e) const {
    if (e.primitive != &dot_general_p) return false;
    if (std::max(kind_[e.inputs[0]], kind_[e.inputs[1]]) != Kind::row ||
        std::min(kind_[e.inputs[0]], kind_[e.inputs[1]]) != Kind::constant)
      return false;
    // What is multiplied exists for all steps then. A row that has become larger on the way, as
    // distances of a few points to many others are, may be what the loop is there not to hold.
    const ValueId row = e.inputs[kind_[e.inputs[0]] == Kind::row ? 0 : 1];
    if (body_.avals[row].shape.size() > from_row_[row]) return false;
    const Dim depth = terms(e.params.as<DotParams>(), body_.avals[e.inputs[0]].shape);
    return depth >= fewest_product_terms &&
           p_.length * depth * body_.avals[e.outputs[0]].shape.size() >= worth_taking_out;
  }

  /// The last products on the ways from rows to what has to stay.
  void choose() {
    std::vector<bool> seen(body_.avals.size(), false);
    std::vector<ValueId> open;
    const auto reach = [&](ValueId v) {
      if (kind_[v] != Kind::row || seen[v]) return;
      seen[v] = true;
      open.push_back(v);
    };
    for (const Equation& e : body_.equations)
      if (e.outputs.empty() || kind_[e.outputs[0]] == Kind::other)
        for (ValueId v : e.inputs) reach(v);
    for (ValueId v : body_.outputs) reach(v);
    Dim bytes = 0;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const Equation* e = maker(v);
      if (!e) continue;
      const Aval& a = body_.avals[v];
      const Dim more = p_.length * a.shape.size() * static_cast<Dim>(size_of(a.dtype));
      if (worth_it(*e) && bytes + more <= most_product_bytes) {
        bytes += more;
        moved_.push_back(v);
        continue;
      }
      for (ValueId in : e->inputs) reach(in);
    }
    std::sort(moved_.begin(), moved_.end());
  }

  /// (inputs of the loop) -> the products, with their steps in front.
  Graph of_all_steps() const {
    Graph step = body_;
    step.outputs = moved_;
    BatchAxes axes(body_.inputs.size());
    for (auto i = static_cast<std::size_t>(p_.carried); i < first_constant_; ++i) axes[i] = 0;
    return vmap(canonicalize(step), axes, p_.length);
  }

  Graph without_products() const {
    Graph g = body_;
    std::map<ValueId, ValueId> given;
    std::vector<ValueId> rows;
    for (ValueId v : moved_) rows.push_back(given[v] = g.fresh(Aval(g.avals[v])));
    const auto rename = [&](std::vector<ValueId>& values) {
      for (ValueId& v : values)
        if (const auto it = given.find(v); it != given.end()) v = it->second;
    };
    for (Equation& e : g.equations) rename(e.inputs);
    rename(g.outputs);
    g.inputs.insert(g.inputs.begin() + static_cast<std::ptrdiff_t>(first_constant_), rows.begin(),
                    rows.end());
    return canonicalize(g);
  }

  const ScanParams& p_;
  const Graph& body_;
  std::vector<std::uint32_t> producer_;
  std::vector<Kind> kind_;
  std::vector<Dim>
      from_row_;  // elements of the largest row of a sequence, or product, on the way to a row
  std::size_t first_constant_ = 0;
  std::vector<ValueId> moved_;
};

}  // namespace

std::optional<Graph> input_products_in_front(
    const Graph& g, const std::function<bool(const Equation&)>& in_kernels) {
  const auto moves = [&](const Equation& e) {
    return e.primitive == &scan_p && ProductLoop(e).moves() && in_kernels(e);
  };
  if (std::none_of(g.equations.begin(), g.equations.end(), moves)) return std::nullopt;
  return simplify(replay(g, [&](const Equation& e, const Arrays& in) {
    return moves(e) ? ProductLoop(e).replay(in, e.loc) : emit(*e.primitive, e.params, in, e.loc);
  }));
}

}  // namespace gnomon
