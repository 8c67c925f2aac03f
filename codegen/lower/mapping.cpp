// codegen/lower/mapping.cpp -- finds the product below a kernel's roots and fits a tile to it.
#include "codegen/lower/mapping.h"

#include <algorithm>
#include <set>

#include "codegen/graph/primitive.h"
#include "codegen/primitives/op_params.h"
#include "codegen/primitives/table.h"

namespace gnomon {

namespace {

/// A product whose elements a root takes one by one.
struct Product {
  const Equation* equation = nullptr;
  std::vector<int> axes;  // per axis of the root, the axis of the product that runs with it, or -1
};

bool elementwise(const Graph& g, const Equation& e, ValueId in) {
  const Lowering& l = e.primitive->lower;
  return l.kind == Lowering::Kind::element && l.reuse == Reuse::once && l.cost != Cost::view &&
         g.avals[in].shape == g.avals[e.outputs[0]].shape;
}

/// Axes of `from` that a reshape to `to` leaves alone, per axis of `to`.
std::vector<int> kept_axes(const Shape& from, const Shape& to) {
  std::vector<int> r(static_cast<std::size_t>(to.rank()), -1);
  Dim before_from = 1;
  for (int a = 0; a < from.rank(); before_from *= from[a++]) {
    Dim before_to = 1;
    for (int b = 0; b < to.rank(); before_to *= to[b++])
      if (before_from == before_to && from[a] == to[b] && to[b] > 1)
        r[static_cast<std::size_t>(b)] = a;
  }
  return r;
}

/// The first product that `v` reaches through elementwise equations and views that only rename
/// positions.
std::optional<Product> product_below(const Graph& g, const Uses& uses,
                                     const std::vector<bool>& in_memory, ValueId root) {
  struct Open {
    ValueId v;
    std::vector<int> axes;
  };
  std::vector<int> all;
  for (int a = 0; a < g.avals[root].shape.rank(); ++a) all.push_back(a);
  std::vector<Open> open{{root, all}};
  std::set<ValueId> seen;
  while (!open.empty()) {
    const Open at = std::move(open.back());
    open.pop_back();
    if (!seen.insert(at.v).second || (in_memory[at.v] && at.v != root)) continue;
    if (uses.producer[at.v] == Uses::none) continue;
    const Equation& e = g.equations[uses.producer[at.v]];
    if (e.primitive == &dot_general_p) return Product{&e, at.axes};
    const auto through = [&](const std::vector<int>& below) {
      std::vector<int> axes;
      for (int a : at.axes) axes.push_back(a < 0 ? -1 : below[static_cast<std::size_t>(a)]);
      open.push_back({e.inputs[0], std::move(axes)});
    };
    if (e.primitive == &permute_p) {
      through(e.params.as<AxesParams>().axes);
    } else if (e.primitive == &reshape_p) {
      through(kept_axes(g.avals[e.inputs[0]].shape, g.avals[at.v].shape));
    } else {
      for (ValueId in : e.inputs)
        if (elementwise(g, e, in)) open.push_back({in, at.axes});
    }
  }
  return std::nullopt;
}

/// Tiles of at most `most` that cover `n`: as few as possible, then as short as possible.
Dim rows_for(Dim n, Dim most) {
  if (n <= most) return n;
  const Dim blocks = (n + most - 1) / most;
  return n % most == 0 ? most : std::max((n + blocks - 1) / blocks, most / 2);
}

}  // namespace

bool RegisterTile::disjoint(const Shape& shape, const std::vector<int>& order) const {
  const Dim across = shape[order.empty() ? shape.rank() - 1 : order.back()];
  return shape[axis] % rows == 0 && across % columns == 0 && (panel == 0 || across % panel == 0);
}

Dim RegisterTile::lanes(const Shape& shape, const std::vector<int>& order) const {
  const int inner = order.empty() ? shape.rank() - 1 : order.back();
  Dim n = 1;
  for (int a = 0; a < shape.rank(); ++a) {
    if (a == axis)
      n *= (shape[a] + rows - 1) / rows;
    else if (a == inner)
      n *= (shape[a] + columns - 1) / columns * columns;
    else
      n *= shape[a];
  }
  return n;
}

std::optional<RegisterTile> choose_tile(const Graph& g, const Uses& uses,
                                        const std::vector<bool>& in_memory,
                                        const std::vector<std::vector<int>>& layouts,
                                        const std::vector<ValueId>& roots, const Target& target) {
  if (target.tile_rows <= 1) return std::nullopt;
  const Shape& shape = g.avals[roots[0]].shape;
  const std::vector<int>& order = layouts[roots[0]];
  for (ValueId v : roots)
    if (g.avals[v].shape != shape || layouts[v] != order) return std::nullopt;
  std::optional<Product> product;
  for (ValueId v : roots)
    if (!product) product = product_below(g, uses, in_memory, v);
  if (!product || shape.rank() == 0) return std::nullopt;

  const auto& p = product->equation->params.as<DotParams>();
  const Shape& lhs = g.avals[product->equation->inputs[0]].shape;
  Dim depth = 1;
  for (int a : p.lhs_contracting) depth *= lhs[a];
  if (depth <= 16) return std::nullopt;
  const int batch = static_cast<int>(p.lhs_batch.size());
  const int left = lhs.rank() - batch - static_cast<int>(p.lhs_contracting.size());
  enum class Side { neither, batches, rows_of_lhs, columns_of_rhs };
  const auto side = [&](int root_axis) {
    const int a = product->axes[static_cast<std::size_t>(root_axis)];
    return a < 0              ? Side::neither
           : a < batch        ? Side::batches
           : a < batch + left ? Side::rows_of_lhs
                              : Side::columns_of_rhs;
  };

  const int inner = order.empty() ? shape.rank() - 1 : order.back();
  const Side column = side(inner);
  if (column == Side::neither) return std::nullopt;
  // Rows share what they read of the operand that does not know them.
  const auto shares = [&](int a) {
    return a != inner && side(a) != column &&
           (side(a) == Side::rows_of_lhs || side(a) == Side::columns_of_rhs);
  };
  RegisterTile tile;
  tile.axis = inner;  // a matrix times a vector: neighbours share the vector
  for (int a = 0; a < shape.rank(); ++a)
    if (shares(a) && (tile.axis == inner || shape[a] >= shape[tile.axis])) tile.axis = a;
  if (tile.axis == inner && column == Side::batches) return std::nullopt;
  const bool vector = tile.axis == inner;
  tile.columns = vector || shape[inner] < target.tile_columns ? 1 : target.tile_columns;
  // At least a few groups of invocations for every core.
  const Dim fill =
      target.contiguous_per_lane ? target.parallel_lanes / 8 : target.parallel_lanes / 4;
  Dim most = target.tile_rows;
  while (most > 1 && shape.size() / (most * tile.columns) < fill) most /= 2;
  tile.rows = rows_for(shape[tile.axis], most);
  if (tile.rows <= 1) return std::nullopt;
  const Dim panel = target.tile_panel;
  if (!vector && panel > 0 && shape[inner] > panel && shape[inner] % panel == 0) tile.panel = panel;
  return tile;
}

}  // namespace gnomon
