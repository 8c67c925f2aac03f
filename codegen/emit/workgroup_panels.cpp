// codegen/emit/workgroup_panels.cpp -- a block of results of a product per workgroup.
#include <algorithm>
#include <bit>

#include "codegen/analysis/follow.h"
#include "codegen/base/lists.h"
#include "codegen/emit/workgroup.h"
#include "codegen/emit/workshop.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/primitives/folding.h"
#include "shaders/library/panels.h"

namespace gnomon {

using kernel::Op;
using kernel::PanelSide;
using kernel::Value;
using kernel::Values;

namespace {

constexpr Dim short_side = 8, short_sum = 16;

/// One operand: which of the root's axes each of its axes runs with.
struct Side {
  ValueId value = 0;
  Shape shape;
  AxisMap root_axis;  // -1: summed, or of length 1
  std::vector<int> summed;
  bool along_sum = false;

  bool has(int axis) const { return contains(root_axis, axis); }
};

/// A product that the roots take element by element.
struct PanelProduct {
  ValueId value = 0;
  AxisMap root_axis;  // per axis of the product; -1 where it has length 1
  Side lhs, rhs;
  Shape summed;

  /// The free axis of a side that is longest; -1 when it has none.
  int longest_free(bool left, const Shape& root) const {
    const Side &mine = left ? lhs : rhs, &other = left ? rhs : lhs;
    int best = -1;
    for (int a : mine.root_axis)
      if (a >= 0 && !other.has(a) && (best < 0 || root[a] > root[best])) best = a;
    return best;
  }
};

Side side_of(const Placement& p, ValueId v, const std::vector<int>& batch,
             const std::vector<int>& summed, const AxisMap& product_axes, int first_free) {
  Side s{v, p.graph.avals[v].shape, {}, summed, contains(summed, contiguous_axis(p, v))};
  s.root_axis.assign(at(s.shape.rank()), -1);
  for (std::size_t i = 0; i < batch.size(); ++i) s.root_axis[at(batch[i])] = product_axes[i];
  for (int a = 0; a < s.shape.rank(); ++a)
    if (!contains(batch, a) && !contains(summed, a))
      s.root_axis[at(a)] = product_axes[at(first_free++)];
  return s;
}

/// The product `v` seen from the root; none where an axis of it has no counterpart there.
std::optional<PanelProduct> product_of(const Placement& p, ValueId v, const AxisMap& axes) {
  const Equation& e = p.graph.equations[p.uses.producer[v]];
  const auto& d = e.params.as<DotParams>();
  const Shape& shape = p.graph.avals[v].shape;
  PanelProduct r;
  r.value = v;
  for (int a = 0; a < shape.rank(); ++a) {
    const auto mine = std::find(axes.begin(), axes.end(), a);
    if (mine == axes.end() && shape[a] > 1) return std::nullopt;
    r.root_axis.push_back(shape[a] > 1 ? static_cast<int>(mine - axes.begin()) : -1);
  }
  const int batches = static_cast<int>(d.lhs_batch.size());
  r.lhs = side_of(p, e.inputs[0], d.lhs_batch, d.lhs_contracting, r.root_axis, batches);
  const int lefts = r.lhs.shape.rank() - batches - static_cast<int>(d.lhs_contracting.size());
  r.rhs = side_of(p, e.inputs[1], d.rhs_batch, d.rhs_contracting, r.root_axis, batches + lefts);
  for (int a : d.lhs_contracting) r.summed.append(r.lhs.shape[a]);
  return r;
}

std::vector<PanelProduct> products(const DraftRequest& r, const Placement& p) {
  std::vector<PanelProduct> found;
  for (ValueId root : r.roots)
    walk(p, root, [&](ValueId v, const AxisMap& axes) {
      if ((p.in_memory[v] && v != root) || p.uses.producer[v] == Uses::none) return false;
      if (p.graph.equations[p.uses.producer[v]].primitive != &dot_general_p) return true;
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const PanelProduct& x) { return x.value == v; });
      if (auto product = known ? std::nullopt : product_of(p, v, axes))
        found.push_back(std::move(*product));
      return false;
    });
  return found;
}

/// Which axes of the root are a block's rows and columns.
struct Block {
  int row = -1, column = -1;
  kernel::Panels panels;
  Shape outer;  // the other axes, then blocks along rows and along columns

  /// Whether a product's operands have one of the two each.
  bool fits(const PanelProduct& p) const { return split(p.lhs, p.rhs) || split(p.rhs, p.lhs); }
  bool split(const Side& rows, const Side& columns) const {
    return rows.has(row) && !rows.has(column) && columns.has(column) && !columns.has(row);
  }
};

std::optional<Block> block_of(const PanelProduct& product, DType dtype, const Shape& shape,
                              int inner, const Target& target) {
  Block b;
  b.row = product.longest_free(true, shape);
  b.column = product.longest_free(false, shape);
  if (b.row == inner) std::swap(b.row, b.column);
  if (b.row < 0 || b.column < 0 || shape[b.row] < short_side || shape[b.column] < short_side ||
      product.summed.size() <= short_sum)
    return std::nullopt;
  kernel::Panels& p = b.panels;
  // As square as can be.
  p.across = 1u << ((std::bit_width(target.team)) / 2);
  p.down = target.team / p.across;
  p.depth = target.panel_depth;
  p.rows = target.tile_rows;
  p.columns = target.tile_columns;
  const auto blocks = [](Dim n, Dim size) { return (n + size - 1) / size; };
  const auto count = [&] {
    return shape.size() / (shape[b.row] * shape[b.column]) * blocks(shape[b.row], p.block_rows()) *
           blocks(shape[b.column], p.block_columns());
  };
  // Large blocks read less, but a device wants a few workgroups for every core; and what lies
  // beyond the border is computed for nothing.
  while (p.rows * p.columns > 1 && (count() * target.team < target.parallel_lanes / 8 ||
                                    (p.rows > 1 && p.block_rows() >= 2 * shape[b.row]) ||
                                    (p.columns > 1 && p.block_columns() >= 2 * shape[b.column])))
    (p.rows >= p.columns ? p.rows : p.columns) /= 2;
  while (p.depth > 4 && p.shared_bytes(dtype) > target.max_shared_bytes) p.depth /= 2;
  for (int a = 0; a < shape.rank(); ++a)
    if (a != b.row && a != b.column) b.outer.append(shape[a]);
  b.outer.append(blocks(shape[b.row], p.block_rows()));
  b.outer.append(blocks(shape[b.column], p.block_columns()));
  return b;
}

/// A kernel whose workgroups compute a block each.
class Blocks {
 public:
  Blocks(Workshop& w, Frame& f, const Block& b, const Shape& shape)
      : w_(w), f_(f), k_(w.k), b_(b), shape_(shape), base_(at(shape.rank())) {
    const Index group = Index::flat(b.outer, k_.source(Op::group_index));
    int next = 0;
    for (int a = 0; a < shape.rank(); ++a)
      if (a != b.row && a != b.column) base_[at(a)] = group(k_, next++);
    base_[at(b.row)] = k_.mul(group(k_, next), k_.u32(b.panels.block_rows()));
    base_[at(b.column)] = k_.mul(group(k_, next + 1), k_.u32(b.panels.block_columns()));
    rows_ = b.panels.own_rows(k_);
    columns_ = b.panels.own_columns(k_);
    for (Value& v : rows_) v = within(b.row, v);
    for (Value& v : columns_) v = within(b.column, v);
  }

  /// Computes a product for the whole block; its elements are then the invocation's own.
  void multiply(const PanelProduct& p) {
    const bool left_rows = b_.split(p.lhs, p.rhs);
    const Side &down = left_rows ? p.lhs : p.rhs, &across = left_rows ? p.rhs : p.lhs;
    Values sums = kernel::multiply(k_, b_.panels, static_cast<std::uint64_t>(p.summed.size()),
                                   w_.request.graph.avals[p.value].dtype, side(down, p, b_.row),
                                   side(across, p, b_.column));
    f_.bind(p.value, [this, axes = p.root_axis, sums = std::move(sums)](const Index& index) {
      return sums[own(axes, index)];
    });
  }

  void store(const std::vector<ValueId>& roots, const std::vector<bool>& stored) {
    const auto ragged = [&](int axis, Dim block) { return shape_[axis] % block != 0; };
    const bool ragged_rows = ragged(b_.row, b_.panels.block_rows());
    const bool ragged_columns = ragged(b_.column, b_.panels.block_columns());
    // All elements first: what they read must not have been overwritten.
    struct Element {
      Index at;
      Value exists;
      Values values;
    };
    std::vector<Element> elements;
    const Values below = b_.panels.own_rows(k_), beside = b_.panels.own_columns(k_);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        Values c = base_;
        c[at(b_.row)] = rows_[i];
        c[at(b_.column)] = columns_[j];
        Element e{Index::coordinates(shape_, std::move(c)), k_.boolean(true), {}};
        if (ragged_rows) e.exists = exists(b_.row, below[i]);
        if (ragged_columns) e.exists = k_.land(e.exists, exists(b_.column, beside[j]));
        for (ValueId v : roots) e.values.push_back(f_.element(v, e.at));
        elements.push_back(std::move(e));
      }
    for (const Element& e : elements)
      k_.if_(
          e.exists,
          [&] {
            for (std::size_t r = 0; r < roots.size(); ++r)
              if (stored[r])
                w_.emitter.store(w_.memory(roots[r], kernel::Access::write), shape_, e.at,
                                 e.values[r]);
            return Values{};
          },
          [] { return Values{}; });
  }

 private:
  /// Position `offset` of the block along an axis; the last one where the axis has ended.
  Value within(int axis, Value offset) {
    const Value v = k_.add(base_[at(axis)], offset);
    const Dim block = axis == b_.row ? b_.panels.block_rows() : b_.panels.block_columns();
    if (shape_[axis] % block == 0) return v;
    return k_.binary(Op::minimum, v, k_.u32(word(shape_[axis] - 1)));
  }
  Value exists(int axis, Value offset) {
    return k_.compare(Op::lt, k_.add(base_[at(axis)], offset), k_.u32(word(shape_[axis])));
  }

  PanelSide side(const Side& s, const PanelProduct& p, int axis) {
    return {[this, &s, &p, axis](Value which, Value n) {
              const Values summed =
                  p.summed.rank() == 1 ? Values{n} : rules::unravel(k_, p.summed, n);
              Values c(at(s.shape.rank()), k_.u32(0));
              for (int a = 0; a < s.shape.rank(); ++a) {
                const int root = s.root_axis[at(a)];
                if (root >= 0) c[at(a)] = root == axis ? within(axis, which) : base_[at(root)];
              }
              for (std::size_t i = 0; i < s.summed.size(); ++i) c[at(s.summed[i])] = summed[i];
              return f_.element(s.value, Index::coordinates(s.shape, std::move(c)));
            },
            s.along_sum};
  }

  /// Which of the invocation's results is asked for.
  std::size_t own(const AxisMap& axes, const Index& index) const {
    std::size_t row = rows_.size(), column = columns_.size();
    for (int a = 0; a < index.rank(); ++a) {
      const int root = axes[at(a)];
      if (root < 0) continue;
      const Value asked = index(k_, a);
      const auto find = [&](const Values& mine) {
        return static_cast<std::size_t>(std::find(mine.begin(), mine.end(), asked) - mine.begin());
      };
      if (root == b_.row)
        row = find(rows_);
      else if (root == b_.column)
        column = find(columns_);
      else if (asked != base_[at(root)])
        row = rows_.size();
    }
    if (row == rows_.size() || column == columns_.size())
      throw NotLaneLocal{"a product is asked for at a position of another invocation"};
    return row * columns_.size() + column;
  }

  Workshop& w_;
  Frame& f_;
  kernel::Builder& k_;
  const Block& b_;
  const Shape& shape_;
  Values base_;  // first position of the block, per axis of the root
  Values rows_, columns_;
};

}  // namespace

std::optional<WorkgroupDraft> draft_panels(const DraftRequest& r, const Placement& p) {
  const Shape& shape = r.graph.avals[r.roots[0]].shape;
  const std::vector<PanelProduct> all = products(r, p);
  if (all.empty()) return std::nullopt;
  const auto block = block_of(all[0], p.graph.avals[all[0].value].dtype, shape,
                              innermost(shape, r.layouts[r.roots[0]]), r.target);
  if (!block) return std::nullopt;

  DraftRequest request = r;
  request.mapping = Mapping::group;
  request.tile.reset();
  Workshop w(request);
  w.k.kernel().group_size = block->panels.group();
  Frame f(w.emitter, r.graph);
  w.bind_inputs(f);
  Blocks blocks(w, f, *block, shape);
  for (const PanelProduct& product : all)
    if (block->fits(product)) blocks.multiply(product);
  blocks.store(r.roots, r.stored);
  Draft d = w.finish("group");
  d.disjoint = false;
  d.groups = word(block->outer.size());
  return WorkgroupDraft{std::move(d), "panels: a workgroup per " +
                                          std::to_string(block->panels.block_rows()) + " by " +
                                          std::to_string(block->panels.block_columns()) +
                                          " elements of " + to_string(shape)};
}

}  // namespace gnomon
