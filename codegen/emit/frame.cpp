// codegen/emit/frame.cpp -- evaluation of straight-line equations on demand; loops and branches
// are in control.cpp.
#include <algorithm>
#include <set>

#include "codegen/cost/device_model.h"
#include "codegen/emit/emitter.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

using kernel::Value;
using kernel::Values;

class EquationContext final : public ElementContext {
 public:
  EquationContext(Frame& frame, const Equation& equation)
      : ElementContext(frame.e_.k), frame_(frame), equation_(equation) {
    in_.reserve(equation.inputs.size());
    out_.reserve(equation.outputs.size());
    for (ValueId v : equation.inputs) in_.push_back(frame.graph_.avals[v]);
    for (ValueId v : equation.outputs) out_.push_back(frame.graph_.avals[v]);
    inputs = in_;
    outputs = out_;
    in_loop = frame.base_depth_ > 0;
    unroll_limit = frame.e_.unroll_limit;
    product_limit = frame.e_.product_limit;
    team = frame.e_.team;
    built_ins = frame.e_.target.built_in_functions;
  }
  Value operand(std::size_t i, const Index& index) override {
    return frame_.element(equation_.inputs.at(i), index);
  }
  bool writes_out(bool left, bool right, Dim terms) override {
    Emitter& e = frame_.e_;
    const bool held[] = {frame_.holds(equation_.inputs[0]), frame_.holds(equation_.inputs[1])};
    if (!held[0] && !held[1]) return false;
    // As scalars, every result would have a loop or a row of terms of its own.
    if (e.scalar_limit > 8) throw ProductsTooLong{};
    if (!e.writes_products) return false;
    const bool written = (left && held[1]) || (right && held[0]);
    if (written) e.written_terms += terms;
    if (!written || e.written_terms > 2 * most_written_terms) throw ProductsTooLong{};
    return true;
  }

 private:
  Frame& frame_;
  const Equation& equation_;
  std::vector<Aval> in_, out_;
};

Frame::Frame(Emitter& emitter, const Graph& graph)
    : e_(emitter), graph_(graph), base_depth_(emitter.k.depth()), uses_(emitter.uses_of(graph)) {}

void Frame::bind(ValueId v, Source source) { sources_[v] = std::move(source); }

void Frame::bind(ValueId v, Tile tile) {
  tiles_[v] = std::move(tile);
  sources_[v] = [this, v](const Index& index) { return e_.tile_load(tiles_.at(v), index); };
}

void Frame::bind_memory(ValueId v, MemoryRef memory) {
  sources_[v] = [this, v, m = std::move(memory)](const Index& index) {
    return e_.load(m, graph_.avals[v].shape, index);
  };
}

Frame::Source Frame::parent_source(ValueId v) {
  return [this, v](const Index& index) { return element(v, index); };
}

void Frame::bind_constants(Frame& inner, const Equation& e, std::size_t first_input,
                           std::size_t first_constant) {
  for (std::size_t i = first_constant; i < e.inputs.size(); ++i)
    inner.bind(inner.graph_.inputs.at(first_input + i - first_constant),
               parent_source(e.inputs[i]));
}

namespace {

std::uint64_t key(ValueId of, std::span<const Value> position) {
  std::uint64_t h = (0x9e3779b97f4a7c15u ^ of) * 0x100000001b3u;
  for (Value v : position) h = (h ^ v.index) * 0x100000001b3u + (h >> 29);
  return h;
}

}  // namespace

bool Frame::flat_further_out(const Index& index) const {
  const auto& coordinates = index.coordinates_;
  return index.flat_.valid() && std::any_of(coordinates.begin(), coordinates.end(), [&](Value c) {
           return e_.k.depth_of(c) > e_.k.depth_of(index.flat_);
         });
}

Value Frame::element(ValueId v, const Index& index) {
  auto& k = e_.k;
  GNOMON_CHECK(index.shape() == graph_.avals[v].shape,
               "an element of " + to_string(graph_.avals[v].shape) +
                   " asked for at a position of " + to_string(index.shape()));
  if (k.kernel().types.size() > e_.value_limit) throw KernelTooLarge{};
  if (flat_further_out(index)) return element(v, Index::flat(index.shape(), index.flat_));
  const Position position =
      index.flat_.valid() ? Position{index.flat_} : Position(index.coordinates_);
  // A position may have got its flat form since an element was asked for there by coordinates.
  const bool both_forms = index.flat_.valid() && !index.coordinates_.empty();
  const auto known = [&](const Position& at) {
    return memo_.find(key(v, at), [&](const Memo& m) {
      return m.of == v && m.position == at && k.visible(m.value);
    });
  };
  if (const Memo* m = known(position)) return m->value;
  if (both_forms)
    if (const Memo* m = known(index.coordinates_)) return m->value;

  std::uint32_t depth = base_depth_;
  for (Value c : position) depth = std::max(depth, k.depth_of(c));
  Value result;
  if (depth < k.depth()) {
    k.at_depth(depth, [&] { result = compute(v, index); });
  } else {
    result = compute(v, index);
  }
  memo_.add(key(v, position), {v, position, result});
  if (both_forms) memo_.add(key(v, index.coordinates_), {v, index.coordinates_, result});
  return result;
}

Value Frame::compute(ValueId v, const Index& index) {
  auto source = sources_.find(v);
  if (source == sources_.end() && rest_) source = sources_.emplace(v, rest_(v)).first;
  if (source != sources_.end() && source->second) return source->second(index);
  if (auto d = direct_.find(v); d != direct_.end()) {
    force(v);
    return e_.load(d->second, graph_.avals[v].shape, index);
  }
  if (auto t = tiles_.find(v); t != tiles_.end()) {
    if (t->second.pinned < 0 || index(e_.k, t->second.pinned) == e_.lane)
      return e_.tile_load(t->second, index);
  }
  const std::uint32_t producer = uses_->producer[v];
  GNOMON_CHECK(producer != Uses::none, "input %" + std::to_string(v) + " of a graph is not bound");
  const Equation& e = graph_.equations[producer];
  e_.k.at_line(e.loc.file, e.loc.line);
  switch (e.primitive->lower.kind) {
    case Lowering::Kind::element:
      if (const auto s = summed_by(e); s && e_.pinned_axis(index) == s->pinned) {
        sum_while_computing(e);
        return e_.tile_load(tiles_.at(v), index);
      }
      if (worth_a_tile(v, index)) return e_.tile_load(materialise(v, index), index);
      return rule(v, e, index);
    case Lowering::Kind::cond:
      if (base_depth_ > 0 || is_loop(e))
        if (auto& tiles = results(producer); tiles[uses_->output[v]])
          return e_.tile_load(*tiles[uses_->output[v]], index);
      return emit_cond(e, uses_->output[v], index);
    case Lowering::Kind::scatter: {
      const int pinned = e_.pinned_axis(index);  // here, where the position is visible
      e_.k.at_depth(base_depth_, [&] { tiles_[v] = emit_scatter(e, pinned); });
      return e_.tile_load(tiles_[v], index);
    }
    case Lowering::Kind::while_loop:
    case Lowering::Kind::scan:
    case Lowering::Kind::expand:  // none is left when kernels are made
      break;
  }
  auto& tile = results(producer)[uses_->output[v]];
  GNOMON_CHECK(tile.has_value(), "a loop's result was not kept");
  return e_.tile_load(*tile, index);
}

Value Frame::rule(ValueId v, const Equation& e, const Index& index) {
  EquationContext context(*this, e);
  const Value r = (*e.primitive->lower.element)(context, e.params, uses_->output[v], index);
  GNOMON_CHECK(e_.k.type(r).scalar == graph_.avals[v].dtype,
               "the element rule of " + std::string(e.primitive->name) +
                   " gives another dtype than its shape rule");
  return r;
}

bool Frame::holds(ValueId v) const {
  const auto t = tiles_.find(v);
  return t != tiles_.end() && t->second.kind != Tile::Kind::buffer;
}

bool Frame::worth_a_tile(ValueId v, const Index& index) const {
  // The outermost frame's kernels were partitioned so that nothing needs it, and its values are
  // whole arrays.
  if (base_depth_ == 0 || !uses_->many[v]) return false;
  const Primitive* producer = graph_.equations[uses_->producer[v]].primitive;
  if (producer->lower.cost == Cost::view) return false;
  if (producer == &dynamic_update_slice_p && read_in_slices(graph_, v)) return false;
  const Shape& s = graph_.avals[v].shape;
  const int pinned = e_.pinned_axis(index);
  const Dim count = pinned >= 0 ? s.size() / s[pinned] : s.size();
  // Lanes that hold nothing in common would each fill all of a large array: they compute what they
  // read.
  return count > 1 && (e_.pins || count <= e_.private_limit);
}

Dim Frame::neighbours(ValueId v) const {
  // Neighbours that are products read the same vector: their loops become one (loops_merged). One
  // that is written out reads it at constant positions, and is long enough; a short one has no
  // loop.
  constexpr Dim side_by_side = 4;
  const Equation* product = shown_product(v);
  return product == nullptr || terms_of(*product) <= e_.unroll_limit ? 0
         : is_written_out(*product)                                  ? 1
                                                                     : side_by_side;
}

Tile& Frame::materialise(ValueId v, const Index& index) {
  const Aval& a = graph_.avals[v];
  const Equation& e = graph_.equations[uses_->producer[v]];
  const int pinned = e_.pinned_axis(index);
  e_.k.at_depth(base_depth_, [&] {
    Tile t = e_.make_tile(a.dtype, a.shape, pinned, false);
    const auto also = also_.find(v);
    e_.fill(
        t,
        [&](const Index& i) {
          const Value element = rule(v, e, i);
          if (also != also_.end()) also->second(i, element);
          return element;
        },
        neighbours(v));
    if (also != also_.end()) also_.erase(also);
    tiles_[v] = std::move(t);
  });
  return tiles_[v];
}

const Equation* Frame::shown_product(ValueId v) const {
  std::vector<ValueId> open{v};
  std::set<ValueId> seen{v};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    const std::uint32_t producer = uses_->producer[at];
    if (producer == Uses::none || tiles_.contains(at) || (at != v && uses_->many[at])) continue;
    const Equation& e = graph_.equations[producer];
    if (e.primitive == &dot_general_p) return &e;
    if (e.primitive->lower.kind != Lowering::Kind::element) continue;
    for (ValueId in : e.inputs)
      if (seen.insert(in).second) open.push_back(in);
  }
  return nullptr;
}

Dim Frame::terms_of(const Equation& product) const {
  return terms(product.params.as<DotParams>(), graph_.avals[product.inputs[0]].shape);
}

bool Frame::is_written_out(const Equation& product) const {
  const auto& p = product.params.as<DotParams>();
  const Shape &lhs = graph_.avals[product.inputs[0]].shape,
              &rhs = graph_.avals[product.inputs[1]].shape;
  const Dim terms = terms_of(product);
  if (!e_.writes_products || terms <= e_.unroll_limit || terms > e_.product_limit) return false;
  const auto computed = [&](ValueId v) {
    const std::uint32_t producer = uses_->producer[v];
    return holds(v) || (producer != Uses::none && uses_->many[v] &&
                        graph_.equations[producer].primitive->lower.cost != Cost::view);
  };
  return (reads_runs(p, lhs, rhs, 0) && computed(product.inputs[1])) ||
         (reads_runs(p, lhs, rhs, 1) && computed(product.inputs[0]));
}

void Frame::force(ValueId v) {
  const std::uint32_t producer = uses_->producer[v];
  const auto kind = graph_.equations[producer].primitive->lower.kind;
  if (kind == Lowering::Kind::while_loop || kind == Lowering::Kind::scan) results(producer);
}

bool Frame::is_array(ValueId v) {
  const auto& tile = results(uses_->producer[v])[uses_->output[v]];
  return tile && tile->kind != Tile::Kind::elements;
}

Frame::Tiles& Frame::results(std::size_t equation) {
  if (auto r = results_.find(equation); r != results_.end()) return r->second;
  const Equation& e = graph_.equations[equation];
  Tiles tiles;
  e_.k.at_depth(base_depth_, [&] {
    switch (e.primitive->lower.kind) {
      case Lowering::Kind::while_loop:
        tiles = emit_while(e);
        break;
      case Lowering::Kind::scan:
        tiles = emit_scan(e);
        break;
      case Lowering::Kind::cond: {
        auto t = try_cond_tiles(e);
        tiles = t ? std::move(*t) : Tiles(e.outputs.size());
        break;
      }
      case Lowering::Kind::element:
      case Lowering::Kind::scatter:
      case Lowering::Kind::expand:
        break;
    }
  });
  return results_[equation] = std::move(tiles);
}

}  // namespace gnomon
