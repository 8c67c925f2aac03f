// codegen/emit/mapping.cpp -- follows positions from the roots down to products and to memory, and
// fits a tile to what it finds there.
#include "codegen/emit/mapping.h"

#include <algorithm>

#include "codegen/analysis/follow.h"
#include "codegen/base/lists.h"
#include "codegen/cost/device_model.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/operations/window.h"
#include "codegen/optimize/split_conv.h"

namespace gnomon {

namespace {

/// A product that a root takes element by element, seen from the root's axes.
class TiledProduct {
 public:
  TiledProduct(const Placement& r, const Equation& e, const AxisMap& axes)
      : p_(e.params.as<DotParams>()),
        axes_(axes),
        lhs_(r.graph.avals[e.inputs[0]].shape),
        rhs_(r.graph.avals[e.inputs[1]].shape) {
    const auto free = [](const Shape& s, const std::vector<int>& batch,
                         const std::vector<int>& summed) {
      std::vector<int> f;
      for (int a = 0; a < s.rank(); ++a)
        if (!contains(batch, a) && !contains(summed, a)) f.push_back(a);
      return f;
    };
    lhs_free_ = free(lhs_, p_.lhs_batch, p_.lhs_contracting);
    rhs_free_ = free(rhs_, p_.rhs_batch, p_.rhs_contracting);
    lhs_inner_ = contiguous_axis(r, e.inputs[0]);
    rhs_inner_ = contiguous_axis(r, e.inputs[1]);
  }

  /// Whether the last batch axis is between two that are summed: parts of one sum, for neighbours
  /// (optimize/split.cpp).
  bool in_step() const {
    if (p_.lhs_batch.empty() || p_.lhs_contracting.size() != 2) return false;
    return p_.lhs_contracting[0] < p_.lhs_batch.back() &&
           p_.lhs_batch.back() < p_.lhs_contracting[1];
  }
  Dim depth() const { return terms(p_, lhs_); }
  bool knows(bool left, int root_axis) const { return operand_axis(left, root_axis) >= 0; }
  bool free(int root_axis) const { return knows(true, root_axis) != knows(false, root_axis); }

  /// Reads that lanes of `columns` neighbours along `column`, with `rows` along `row`, make for a
  /// step of the sum, in 16-byte units. Lanes whose neighbours lie apart in memory have caches work
  /// harder.
  double reads(int column, int row, double rows, double columns) const {
    double sum = 0;
    for (const bool left : {true, false}) {
      const int inner = left ? lhs_inner_ : rhs_inner_;
      const bool along_sum = contains(left ? p_.lhs_contracting : p_.rhs_contracting, inner);
      const bool by_row = row != column && knows(left, row), by_column = knows(left, column);
      const double elements = (by_row ? rows : 1) * (by_column ? columns : 1);
      const bool wide = along_sum || (by_row && operand_axis(left, row) == inner) ||
                        (by_column && operand_axis(left, column) == inner) || inner < 0;
      const bool apart = by_column && operand_axis(left, column) != inner && inner >= 0;
      sum += elements * (wide ? 0.25 : 1) * (apart ? 2.5 : 1);
    }
    return sum;
  }

 private:
  /// The operand's axis that runs with an axis of the root; -1 when none does.
  int operand_axis(bool left, int root_axis) const {
    const int a = axes_[at(root_axis)], batches = static_cast<int>(p_.lhs_batch.size());
    if (a < 0) return -1;
    if (a < batches) return (left ? p_.lhs_batch : p_.rhs_batch)[at(a)];
    const int f = a - batches, lefts = static_cast<int>(lhs_free_.size());
    if (f < lefts) return left ? lhs_free_[at(f)] : -1;
    return left ? -1 : rhs_free_[at(f - lefts)];
  }

  const DotParams& p_;
  AxisMap axes_;
  const Shape &lhs_, &rhs_;
  std::vector<int> lhs_free_, rhs_free_;
  int lhs_inner_ = -1, rhs_inner_ = -1;
};

/// Tiles of at most `most` that cover `n`: as few as possible, then as short as possible.
Dim rows_for(Dim n, Dim most) {
  if (n <= most || n % most == 0) return std::min(n, most);
  const Dim blocks = (n + most - 1) / most;
  return std::max((n + blocks - 1) / blocks, most / 2);
}

/// Neighbouring results for each invocation of a workgroup that plays: as few passes as
/// possible, then as few results, of whole 16-byte reads.
Dim rows_of_players(Dim results, const Target& target) {
  const Dim at_once = Dim{target.players} * target.player_rows;
  const Dim lanes = target.players * ((results + at_once - 1) / at_once);
  return (results + 4 * lanes - 1) / (4 * lanes) * 4;
}

/// Rows of a tile of `columns` for `results`: `times` the usual ones, unless that leaves less than
/// a few groups of invocations for every core.
Dim most_rows(Dim results, Dim columns, Dim times, const Target& target) {
  Dim most = times * target.tile_rows;
  const Dim fill = target.parallel_lanes / device_model(target).tiles_to_fill;
  while (most > 1 && results / (most * columns) < fill) most /= 2;
  return most;
}

std::optional<RegisterTile> tile_product(const TiledProduct& product, const Shape& shape, int inner,
                                         const Target& target) {
  if (product.depth() <= 16) return std::nullopt;
  std::optional<RegisterTile> best;
  double least = 0;
  const DeviceModel& model = device_model(target);
  const bool is_long =
      model.long_product > 0 && shape.size() * product.depth() >= model.long_product;
  const Dim usual = target.tile_columns,
            most_columns = is_long ? std::max(usual, model.long_columns) : usual;
  const auto columns_of = [&](int c) {
    return shape[c] >= most_columns ? most_columns : shape[c] >= usual ? usual : Dim{1};
  };
  for (int c = 0; c < shape.rank(); ++c)
    for (int r = 0; r < shape.rank(); ++r) {
      if (r == c || shape[c] <= 1 || shape[r] <= 1 || !product.free(r)) continue;
      if (product.free(c) && product.knows(true, r) == product.knows(true, c)) continue;
      if (product.in_step() && !product.free(c)) continue;
      // Results that lie apart are stored one by one, once for the whole sum.
      const double stores = (c == inner ? 0.25 : 1) / static_cast<double>(product.depth());
      const auto tile = static_cast<double>(target.tile_rows * columns_of(c));
      const double cost = product.reads(c, r, static_cast<double>(target.tile_rows),
                                        static_cast<double>(columns_of(c))) /
                              tile +
                          stores;
      if (best && cost >= least) continue;
      least = cost;
      best = RegisterTile{r, c, 1, columns_of(c), 0};
    }
  // A matrix meets a vector: neighbours along the longest axis share the vector.
  if (!best)
    for (int a = 0; a < shape.rank(); ++a)
      if (product.free(a) && shape[a] > (best ? shape[best->row] : 1))
        best = RegisterTile{a, a, 1, 1, 0};
  if (!best) return best;
  const Dim most = most_rows(shape.size(), best->columns,
                             is_long && best->row != best->column ? model.long_rows : 1, target);
  best->rows =
      best->row == best->column && shape.size() >= Dim{4} * target.players && target.players > 0
          ? std::min(shape[best->row], rows_of_players(shape.size(), target))
          : rows_for(shape[best->row], most);
  if (best->rows <= 1) return std::nullopt;
  best->in_step = product.in_step();
  return best;
}

/// A root that reads memory in another order than it is written in: lanes take blocks whose sides
/// are runs in both.
std::optional<RegisterTile> tile_transpose(const Placement& r, const Target& target, ValueId root,
                                           int inner) {
  const Shape& shape = r.graph.avals[root].shape;
  const DeviceModel& model = device_model(target);
  const Dim rows = model.rows_transposed, columns = 4;
  if (shape[inner] < columns ||
      shape.size() / (rows * columns) < target.parallel_lanes / model.transposes_to_fill)
    return std::nullopt;
  int source = -1;
  walk(r, root, [&](ValueId v, const AxisMap& axes) {
    if (!r.in_memory[v] || v == root) return true;
    const int a = innermost(r.graph.avals[v].shape, r.layouts[v]);
    const auto mine = std::find(axes.begin(), axes.end(), a);
    if (a >= 0 && mine != axes.end() && mine - axes.begin() != inner)
      source = static_cast<int>(mine - axes.begin());
    return false;
  });
  if (source < 0 || shape[source] < rows) return std::nullopt;
  return RegisterTile{source, inner, rows, columns, 0};
}

/// The root's axis that runs with axis `a` of another value; -1 when none does.
int root_axis(const AxisMap& axes, int a) {
  const auto found = std::find(axes.begin(), axes.end(), a);
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

/// Output channels of a convolution share what they read of the image, neighbours along a row of it
/// what they read of the kernel.
std::optional<RegisterTile> tile_convolution(const Placement& r, const Equation& e,
                                             const AxisMap& axes, const Shape& shape, int inner,
                                             const Target& target) {
  const auto& p = e.params.as<ConvParams>();
  const int channel = p.batch_dims + 1, row = root_axis(axes, channel);
  if (row < 0) return std::nullopt;
  const Shape& out = r.graph.avals[e.outputs[0]].shape;
  const ConvForm form =
      conv_form(p, r.graph.avals[e.inputs[0]], r.graph.avals[e.inputs[1]], target);
  if (form == ConvForm::sums) {
    // All results of a window in one lane, so that the positions it sums over are read once.
    const ConvTile t = sums_tile(out, p.batch_dims, target.tile_rows);
    RegisterTile tile{row, row, rows_for(shape[row], t.channels), 1, 0};
    for (int a = t.whole; a < out.rank(); ++a) {
      const int mine = root_axis(axes, a);
      if (out[a] > 1 && mine < 0) return std::nullopt;
      if (mine >= 0) tile.whole |= 1u << mine;
    }
    for (int a = 0; a < shape.rank(); ++a)
      if (tile.walks(a)) tile.behind |= 1u << a;
    return tile;
  }
  // Images may be a few positions wide.
  const Dim narrow = std::min<Dim>(4, target.tile_columns);
  if (row == inner || shape[inner] < narrow) return std::nullopt;
  const Shape& kernels = r.graph.avals[e.inputs[1]].shape;
  const Dim taps = kernels.part(channel, kernels.rank()).size();
  const Dim from = device_model(target).long_convolution;
  const bool is_long = from > 0 && shape.size() * taps >= from;
  const Dim rows = rows_for(shape[row], most_rows(shape.size(), narrow, is_long ? 2 : 1, target));
  if (rows <= 1) return std::nullopt;
  const Dim columns = form == ConvForm::images && shape[inner] % 8 == 0 ? 8 : narrow;
  RegisterTile tile{row, inner, rows, columns, 0};
  if (form != ConvForm::images) return tile;
  // Images as a whole, if they fill SIMD groups, then blocks of channels, then positions.
  const Dim positions = out.part(channel + 1, out.rank() - 1).size() *
                        ((out[out.rank() - 1] + tile.columns - 1) / tile.columns);
  for (int a = 0; a < shape.rank(); ++a)
    if (tile.walks(a) &&
        (axes[at(a)] > channel || (positions % simd_lanes != 0 && axes[at(a)] == channel - 1)))
      tile.behind |= 1u << a;
  return tile;
}

}  // namespace

/// The smallest multiple of `of` that is not below `n`.
static Dim rounded_up(Dim n, Dim of) { return (n + of - 1) / of * of; }

bool RegisterTile::disjoint(const Shape& shape) const {
  return shape[row] % rows == 0 && (row == column || shape[column] % std::max(columns, panel) == 0);
}

Dim RegisterTile::elements(const Shape& shape) const {
  Dim n = rows;
  for (int a = 0; a < shape.rank(); ++a)
    if ((whole >> a & 1u) != 0) n *= shape[a];
  return n;
}

Dim RegisterTile::lanes(const Shape& shape) const {
  Dim n = 1;
  for (int a = 0; a < shape.rank(); ++a) {
    if (a == row)
      n *= (shape[a] + rows - 1) / rows;
    else if (a == column)
      n *= rounded_up(shape[a], std::max(columns, panel));
    else if (walks(a))
      n *= shape[a];
  }
  return n;
}

std::optional<RegisterTile> choose_tile(const Placement& r, const Target& target,
                                        const std::vector<ValueId>& roots) {
  const Shape& shape = r.graph.avals[roots[0]].shape;
  for (ValueId v : roots)
    if (r.graph.avals[v].shape != shape) return std::nullopt;
  const int inner = innermost(shape, r.layouts[roots[0]]);
  if (target.tile_rows <= 1 || inner < 0) return std::nullopt;

  std::optional<TiledProduct> product;
  std::optional<RegisterTile> convolution;
  for (ValueId root : roots)
    walk(r, root, [&](ValueId v, const AxisMap& axes) {
      if (product || (r.in_memory[v] && v != root)) return false;
      const std::uint32_t p = r.uses.producer[v];
      if (p == Uses::none) return true;
      if (r.graph.equations[p].primitive == &conv_p && !convolution)
        convolution = tile_convolution(r, r.graph.equations[p], axes, shape, inner, target);
      if (r.graph.equations[p].primitive != &dot_general_p) return true;
      product.emplace(r, r.graph.equations[p], axes);
      return false;
    });
  auto tile = convolution         ? convolution
              : product           ? tile_product(*product, shape, inner, target)
              : roots.size() == 1 ? tile_transpose(r, target, roots[0], inner)
                                  : std::nullopt;
  // Not where a last panel that is mostly empty would cost more than the others save.
  const Dim panel = target.tile_panel, columns = shape[tile ? tile->column : inner];
  if (tile && tile->row != tile->column && tile->behind == 0 && panel > 0 && columns > panel &&
      (columns % panel == 0 || columns >= 8 * panel))
    tile->panel = panel;
  return tile;
}

}  // namespace gnomon
