// codegen/emit/draft_scatter.cpp -- kernels of scatters: a lane per update where no two meet, else
// an owner of every element who walks all updates.
#include <algorithm>

#include "codegen/emit/draft.h"
#include "codegen/emit/workshop.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/optimize/split_scatter.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

/// The updates of a scatter: where each one goes, and what it does there.
class ScatterUpdates {
 public:
  ScatterUpdates(Workshop& w, Frame& f, const Equation& e)
      : w_(w),
        f_(f),
        e_(e),
        p_(e.params.as<ScatterParams>()),
        memory_(w.memory(e.outputs[0], kernel::Access::read_write)) {}

  const Shape& shape() const { return w_.request.graph.avals[e_.inputs[2]].shape; }
  const Shape& result_shape() const { return w_.request.graph.avals[e_.outputs[0]].shape; }

  /// The index of update number `i` along the axis, on the other axes where `column` is.
  Value index(const Index& column, Value i) const {
    Values position;
    Shape indices;
    for (int a = 0; a < p_.batch_dims; ++a) {
      position.push_back(column(w_.k, a));
      indices.append(shape()[a]);
    }
    position.push_back(i);
    indices.append(shape()[p_.axis]);
    return w_.k.convert(f_.element(e_.inputs[1], Index::coordinates(indices, std::move(position))),
                        DType::u32);
  }
  /// `column` with `i` along the axis.
  Values along(const Index& column, Value i) const {
    Values r;
    for (int a = 0; a < shape().rank(); ++a) r.push_back(a == p_.axis ? i : column(w_.k, a));
    return r;
  }
  /// Combines `update` with the element at `at`.
  void combine(const Index& at, Value update) const {
    const auto old = [&] { return w_.emitter.load(memory_, result_shape(), at); };
    w_.emitter.store(memory_, result_shape(), at,
                     rules::combine_update(w_.k, *e_.primitive, old, update));
  }

 private:
  Workshop& w_;
  Frame& f_;
  const Equation& e_;
  const ScatterParams& p_;
  const MemoryRef memory_;
};

/// Updates of which no two meet: a lane for each element of them, in any order.
Draft draft_unique_scatter(const DraftRequest& r, const Equation& e) {
  const auto& p = e.params.as<ScatterParams>();
  DraftRequest request = r;
  request.mapping = Mapping::map;
  request.lanes = r.graph.avals[e.inputs[2]].shape.size();
  Workshop w(request);
  Frame f(w.emitter, r.graph);
  w.bind_inputs(f);
  auto& k = w.k;
  const ScatterUpdates updates(w, f, e);
  const Shape& shape = updates.result_shape();
  const Index source = Index::flat(updates.shape(), w.emitter.lane);
  const Value index = updates.index(source, source(k, p.axis));
  const Index at = Index::coordinates(shape, updates.along(source, index));
  const Value update = f.element(e.inputs[2], source);
  k.if_(
      k.compare(Op::lt, index, k.u32(word(shape[p.axis]))),
      [&] {
        updates.combine(at, update);
        return Values{};
      },
      [] { return Values{}; });
  return w.finish("scatter");
}

/// The scattered axis, divided among owners, who each read all indices but write their own part.
/// One owner will do where there are many columns.
struct ScatterOwners {
  Dim part = 0, count = 0;

  ScatterOwners(Dim length, Dim columns, Dim wanted_lanes) {
    const Dim most =
        std::clamp<Dim>(wanted_lanes / std::max<Dim>(1, columns), 1, std::min<Dim>(length, 256));
    part = (length + most - 1) / most;
    // Each has at least one element: the size of its part must not wrap.
    count = (length + part - 1) / part;
  }
};

/// How many updates a dispatch walks: loops are a budget on some drivers.
struct UpdateWalk {
  Dim updates = 0, most = 0;
  Dim unroll = 1;  // neighbours that a trip reads together

  UpdateWalk(Dim n, std::uint64_t loop_budget) : updates(n), unroll(n % 4 == 0 ? 4 : 1) {
    most = loop_budget ? static_cast<Dim>(loop_budget) / 2 * unroll : Dim{1} << 20;
  }
  bool several() const { return updates > most; }
  std::uint64_t trips() const {
    return static_cast<std::uint64_t>(std::min(updates, most) / unroll);
  }
  /// Per dispatch: its first trip and their number.
  std::vector<std::vector<std::uint32_t>> parameters() const {
    std::vector<std::vector<std::uint32_t>> r;
    for (Dim first = 0; first < updates; first += most)
      r.push_back({word(first / unroll), word(std::min(most, updates - first) / unroll)});
    return r;
  }
};

}  // namespace

Draft draft_scatter(const DraftRequest& r, const Equation& e) {
  const auto& p = e.params.as<ScatterParams>();
  if (p.unique) return draft_unique_scatter(r, e);
  const Shape& shape = r.graph.avals[e.outputs[0]].shape;
  const Dim length = shape[p.axis];
  const Shape columns = shape.with(p.axis, 1);
  const Dim wanted = scatter_lanes(r.target);
  const ScatterOwners owners(length, columns.size(), wanted);

  DraftRequest request = r;
  request.mapping = Mapping::lane;
  request.lanes = columns.size() * owners.count;
  Workshop w(request);
  Frame f(w.emitter, r.graph);
  w.bind_inputs(f);
  auto& k = w.k;
  const ScatterUpdates updates(w, f, e);
  const Value owner = k.div(w.emitter.lane, k.u32(word(columns.size())));
  const Index column = Index::flat(columns, k.rem(w.emitter.lane, k.u32(word(columns.size()))));
  const Value low = k.mul(owner, k.u32(word(owners.part)));
  const Value size =
      k.binary(Op::minimum, k.u32(word(owners.part)), k.sub(k.u32(word(length)), low));
  const UpdateWalk walk(updates.shape()[p.axis], r.target.loop_budget);
  const Value first_trip = walk.several() ? k.parameter(k.parameter_word()) : k.u32(0);
  const Value count = walk.several() ? k.parameter(k.parameter_word())
                                     : k.u32(static_cast<std::uint32_t>(walk.trips()));
  const auto update = [&](Value i) {
    const Value index = updates.index(column, i);
    const Value mine =
        k.compare(Op::lt, k.sub(index, low), size);  // unsigned: below `low` wraps beyond `size`
    Values source = updates.along(column, i), target = updates.along(column, index);
    k.if_(
        mine,
        [&] {
          const Index at = Index::coordinates(shape, std::move(target));
          updates.combine(
              at, f.element(e.inputs[2], Index::coordinates(updates.shape(), std::move(source))));
          return Values{};
        },
        [] { return Values{}; });
  };
  k.count_loop(count, walk.trips(), {}, [&](Value trip, std::span<const Value>) {
    // A multiple of what a trip takes: neighbours are read together.
    const Value first = k.mul(k.add(first_trip, trip), k.u32(word(walk.unroll)));
    for (Dim u = 0; u < walk.unroll; ++u) update(k.add(first, k.u32(word(u))));
    return Values{};
  });
  Draft d = w.finish("scatter");
  // Few lanes, whose stores are apart; or many columns, of which neighbours are stored together.
  d.width = columns.size() / 4 >= wanted ? 4 : 1;
  if (!walk.several()) return d;
  d.parameters = walk.parameters();
  for (auto& words : d.parameters) words.resize(d.kernel.parameters, 0);
  return d;
}

}  // namespace gnomon
