// codegen/optimize/split_product.cpp -- how the operands of products lie decides.
#include "codegen/optimize/split_product.h"

#include <algorithm>
#include <utility>

#include "codegen/analysis/uses.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/work.h"
#include "codegen/lax/lax.h"
#include "codegen/optimize/split_reduce.h"

namespace gnomon {

namespace {

/// An operand with its batch axes first, then the free ones, then one that all summed ones make.
Array arranged(const Array& x, const std::vector<int>& batch, const std::vector<int>& summed,
               Loc loc) {
  std::vector<int> order = batch;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (std::count(batch.begin(), batch.end(), axis) +
            std::count(summed.begin(), summed.end(), axis) ==
        0)
      order.push_back(axis);
  const auto front = static_cast<int>(order.size());
  order.insert(order.end(), summed.begin(), summed.end());
  const Array y = lax::permute(x, order, loc);
  Shape merged = y.shape().part(0, front);
  merged.append(y.shape().part(front, y.rank()).size());
  return lax::reshape(y, merged, loc);
}

class Products {
 public:
  Products(const Graph& g, const Target& target, const std::vector<std::uint32_t>& producer)
      : g_(g), target_(target), producer_(producer) {}

  bool wants(const Equation& e) const {
    if (parts_of(e).count > 1 || rows_in_cache(e) > 1) return true;
    if (large_product(g_, e) && (transposed(e, 0) || transposed(e, 1) || apart(plain(e))))
      return true;
    return long_product(e) || transposed_matrix(e);
  }

  Array split(const Equation& e, const Arrays& env) const {
    if (const Parts parts = parts_of(e); parts.count > 1) return product_in_parts(e, env, parts);
    if (long_product(e))
      return product_in_stages(env[e.inputs[0]], env[e.inputs[1]], e.params.as<DotParams>(),
                               target_, e.loc);
    if (const Dim parts = rows_in_cache(e); parts > 1) return product_by_rows(e, env, parts);
    return oriented(e, env);
  }

 private:
  /// Whether a matrix that meets a vector is transposed first. Seen as it lies in memory, it
  /// tells which of its neighbours are summed.
  bool transposed_matrix(const Equation& e) const {
    const auto& p = e.params.as<DotParams>();
    const auto one = [&](std::size_t side) {
      const auto taken = side == 0 ? p.lhs_batch.size() + p.lhs_contracting.size()
                                   : p.rhs_batch.size() + p.rhs_contracting.size();
      return static_cast<int>(taken) == g_.avals[e.inputs[side]].shape.rank();
    };
    return (one(0) && transposed(e, 1)) || (one(1) && transposed(e, 0));
  }

  bool long_product(const Equation& e) const {
    const Dim n = terms(e.params.as<DotParams>(), g_.avals[e.inputs[0]].shape);
    return n >= long_reduction && lanes_for(n, g_.avals[e.outputs[0]].shape.size(), target_, 1) > 1;
  }

  /// Whether operand `side` of a product is a permutation.
  bool transposed(const Equation& e, std::size_t side) const {
    const std::uint32_t p = producer_[e.inputs[side]];
    return p != Uses::none && g_.equations[p].primitive == &permute_p;
  }

  /// A product as operands before permutations and their axes.
  struct Plain {
    ValueId lhs, rhs;
    DotParams p;
  };
  Plain plain(const Equation& e) const {
    Plain r{e.inputs[0], e.inputs[1], e.params.as<DotParams>()};
    const auto look_through = [&](ValueId& v, std::vector<int>& batch, std::vector<int>& summed) {
      for (;;) {
        const std::uint32_t p = producer_[v];
        if (p == Uses::none || g_.equations[p].primitive != &permute_p) return;
        const auto& axes = g_.equations[p].params.as<AxesParams>().axes;
        // Free axes give the result its shape: their order must stay.
        int last = -1;
        for (int a = 0; a < static_cast<int>(axes.size()); ++a) {
          if (std::count(batch.begin(), batch.end(), a) +
                  std::count(summed.begin(), summed.end(), a) >
              0)
            continue;
          if (axes[static_cast<std::size_t>(a)] < last) return;
          last = axes[static_cast<std::size_t>(a)];
        }
        for (std::vector<int>* list : {&batch, &summed})
          for (int& a : *list) a = axes[static_cast<std::size_t>(a)];
        v = g_.equations[p].inputs[0];
      }
    };
    look_through(r.lhs, r.p.lhs_batch, r.p.lhs_contracting);
    look_through(r.rhs, r.p.rhs_batch, r.p.rhs_contracting);
    return r;
  }

  /// Whether neighbours of both operands are summed: no lane's results lie next to each other.
  bool apart(const Plain& d) const {
    if (target_.team > 0) return false;  // panels transpose what they read in shared memory
    const auto summed_inside = [&](ValueId v, const std::vector<int>& summed) {
      int inner = g_.avals[v].shape.rank() - 1;
      while (inner > 0 && g_.avals[v].shape[inner] == 1) --inner;
      return std::count(summed.begin(), summed.end(), inner) > 0;
    };
    return summed_inside(d.lhs, d.p.lhs_contracting) && summed_inside(d.rhs, d.p.rhs_contracting);
  }

  /// The same product without permuted operands; where neighbours of both operands are summed, the
  /// smaller one is transposed first.
  Array oriented(const Equation& e, const Arrays& env) const {
    const Plain d = plain(e);
    DotParams p = d.p;
    Array a = env[d.lhs], b = env[d.rhs];
    if (apart(d)) {
      const bool left = a.size() < b.size();
      Array& x = left ? a : b;
      std::vector<int>& batch = left ? p.lhs_batch : p.rhs_batch;
      std::vector<int>& summed = left ? p.lhs_contracting : p.rhs_contracting;
      std::vector<int> order = batch;
      order.insert(order.end(), summed.begin(), summed.end());
      for (int axis = 0; axis < x.rank(); ++axis)
        if (std::count(order.begin(), order.end(), axis) == 0) order.push_back(axis);
      x = lax::permute(x, order, e.loc);
      int next = 0;
      for (int& axis : batch) axis = next++;
      for (int& axis : summed) axis = next++;
    }
    return lax::dot_general(a, b, p, e.loc);
  }

  /// Parts of a long sum of what lies side by side in both operands. Of each of them a core keeps
  /// what it reads in its cache while it goes through all results, or neighbouring lanes go through
  /// them in step, each with every so many'th four neighbours.
  struct Parts {
    Dim count = 1;  // 1: that is not worth it
    bool in_step = false;
  };
  Parts parts_of(const Equation& e) const {
    if (!target_.contiguous_per_lane || e.primitive != &dot_general_p) return {};
    const Plain d = plain(e);
    if (!apart(d)) return {};
    const Dim n = terms(d.p, g_.avals[d.lhs].shape);
    if (const Dim parts = parts_in_cache(d, n); parts > 1) return {parts, false};
    return {parts_in_step(n, g_.avals[e.outputs[0]].shape.size()), true};
  }

  /// The lanes of a SIMD group have columns of their own, and read rows for one another.
  Dim parts_in_cache(const Plain& d, Dim n) const {
    const Aval &lhs = g_.avals[d.lhs], &rhs = g_.avals[d.rhs];
    if (target_.features.reads_together == 0 || !d.p.lhs_batch.empty() || size_of(lhs.dtype) < 4)
      return 1;
    // Few terms in so large a part mean few results: their memory, for all parts, is half that of
    // the operands at most.
    const DeviceModel& model = device_model(target_);
    const Dim cache = model.part_bytes, fewest_terms = model.part_terms;
    constexpr Dim fewest_parts = 8;
    if (n < fewest_parts * fewest_terms) return 1;
    const Dim rows = lhs.shape.size() / n, columns = rhs.shape.size() / n;
    if (rows < target_.tile_rows || columns % (simd_lanes * target_.tile_columns) != 0) return 1;
    const Dim bytes = (rows + columns) * n * size_of(lhs.dtype);
    for (Dim parts = std::max(fewest_parts, bytes / cache); n / parts >= fewest_terms; ++parts)
      if (n % (4 * parts) == 0) return parts;
    return 1;
  }

  /// Parts of a long sum over rows, whose neighbours in memory are results: those that a core's
  /// cache holds are gone over for all results before the next ones are. As one sum, tiles would
  /// each walk all rows, and read a few neighbours of every one.
  Dim rows_in_cache(const Equation& e) const {
    if (target_.features.reads_together == 0) return 1;
    const Plain d = plain(e);
    const Aval &lhs = g_.avals[d.lhs], &rhs = g_.avals[d.rhs];
    const auto& summed = d.p.lhs_contracting;
    if (!d.p.lhs_batch.empty() || summed.empty() || size_of(lhs.dtype) < 4) return 1;
    const auto results_inside = [](const Shape& s, const std::vector<int>& axes) {
      return std::count(axes.begin(), axes.end(), s.rank() - 1) == 0;
    };
    const Dim n = terms(d.p, lhs.shape);
    const DeviceModel& model = device_model(target_);
    const Dim cache = model.part_bytes, fewest_terms = model.part_terms;
    if (n < 8 * fewest_terms || !results_inside(lhs.shape, summed) ||
        !results_inside(rhs.shape, d.p.rhs_contracting))
      return 1;
    const Dim rows = lhs.shape.size() / n, columns = rhs.shape.size() / n;
    if (rows < target_.tile_rows || columns % (simd_lanes * target_.tile_columns) != 0) return 1;
    // Of the outermost axis, so that parts are walked first.
    const Dim length = lhs.shape[*std::min_element(summed.begin(), summed.end())],
              bytes = (rows + columns) * n * size_of(lhs.dtype);
    if (bytes < 4 * cache) return 1;
    for (Dim parts = bytes / cache; parts <= length && n / parts >= fewest_terms; ++parts)
      if (length % parts == 0) return parts;
    return 1;
  }

  Array product_by_rows(const Equation& e, const Arrays& env, Dim parts) const {
    const Plain d = plain(e);
    DotParams p = d.p;
    Array a = env[d.lhs], b = env[d.rhs];
    // Rows that one operand has in another order would lie far apart there.
    std::vector<std::size_t> pairs(p.lhs_contracting.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = i;
    std::sort(pairs.begin(), pairs.end(), [&](std::size_t x, std::size_t y) {
      return p.lhs_contracting[x] < p.lhs_contracting[y];
    });
    std::vector<int> left, right;
    for (std::size_t i : pairs) {
      left.push_back(p.lhs_contracting[i]);
      right.push_back(p.rhs_contracting[i]);
    }
    if (!std::is_sorted(right.begin(), right.end())) {
      std::vector<int> order = right;
      for (int axis = 0; axis < b.rank(); ++axis)
        if (std::count(right.begin(), right.end(), axis) == 0) order.push_back(axis);
      b = permuted(d.rhs, order, env, e.loc);
      for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<int>(i);
    }
    const auto divided = [&](const Array& x, std::vector<int>& batch, std::vector<int>& summed) {
      const int axis = summed[0];
      for (int& n : summed) n += n >= axis;
      batch = {axis};
      const Dim rest = x.dim(axis) / parts;
      return lax::reshape(x, x.shape().with(axis, parts).with_inserted(axis + 1, rest), e.loc);
    };
    p.lhs_contracting = std::move(left);
    p.rhs_contracting = std::move(right);
    a = divided(a, p.lhs_batch, p.lhs_contracting);
    b = divided(b, p.rhs_batch, p.rhs_contracting);
    return finish_reduction(sum_p, lax::dot_general(a, b, p, e.loc), 0, e.loc);
  }

  /// A copy of `v` that the graph has already, or a new one.
  Array permuted(ValueId v, const std::vector<int>& order, const Arrays& env, Loc loc) const {
    for (const Equation& e : g_.equations)
      if (e.primitive == &permute_p && e.inputs[0] == v && !env[e.outputs[0]].empty() &&
          e.params.as<AxesParams>().axes == order)
        return env[e.outputs[0]];
    return lax::permute(env[v], order, loc);
  }

  /// A part has memory of the size of the result, and 64 trips or more.
  Dim parts_in_step(Dim n, Dim out) const {
    const auto divides = [&](Dim parts) { return n % (4 * parts) == 0 && n / (4 * parts) >= 64; };
    Dim parts = simd_lanes;
    if (out > (Dim{1} << 16) || !divides(parts)) return 1;
    const Dim tiles = std::max<Dim>(1, out / (target_.tile_rows * target_.tile_columns));
    while (tiles * parts < 32 * simd_lanes && divides(2 * parts)) parts *= 2;
    return parts;
  }

  /// Runs of four neighbours are summed last, so that each is one read.
  Array product_in_parts(const Equation& e, const Arrays& env, Parts parts) const {
    const Plain d = plain(e);
    const auto divided = [&](ValueId v, const std::vector<int>& batch,
                             const std::vector<int>& summed) {
      const Array y = arranged(env[v], batch, summed, e.loc);
      const Dim runs = y.dim(-1) / (4 * parts.count);
      Shape shape = y.shape().part(0, y.rank() - 1);
      shape.append(parts.in_step ? runs : parts.count);
      shape.append(parts.in_step ? parts.count : runs);
      shape.append(4);
      return lax::reshape(y, shape, e.loc);
    };
    const Array a = divided(d.lhs, d.p.lhs_batch, d.p.lhs_contracting);
    const Array b = divided(d.rhs, d.p.rhs_batch, d.p.rhs_contracting);
    DotParams q;
    const auto batches = static_cast<int>(d.p.lhs_batch.size());
    for (int i = 0; i < batches; ++i) {
      q.lhs_batch.push_back(i);
      q.rhs_batch.push_back(i);
    }
    // Axes from behind.
    const int part = parts.in_step ? 2 : 3, runs = parts.in_step ? 3 : 2;
    q.lhs_batch.push_back(a.rank() - part);
    q.rhs_batch.push_back(b.rank() - part);
    q.lhs_contracting = {a.rank() - runs, a.rank() - 1};
    q.rhs_contracting = {b.rank() - runs, b.rank() - 1};
    return finish_reduction(sum_p, lax::dot_general(a, b, q, e.loc), batches, e.loc);
  }

  const Graph& g_;
  const Target& target_;
  const std::vector<std::uint32_t>& producer_;
};

}  // namespace

bool splits_product(const Graph& g, const Equation& e, const std::vector<std::uint32_t>& producer,
                    const Target& target) {
  return Products(g, target, producer).wants(e);
}

Array split_product(const Graph& g, const Equation& e, const std::vector<std::uint32_t>& producer,
                    const Target& target, const std::vector<Array>& env) {
  return Products(g, target, producer).split(e, env);
}

Array product_in_stages(Array a, Array b, const DotParams& p, const Target& target, Loc loc) {
  a = arranged(a, p.lhs_batch, p.lhs_contracting, loc);
  b = arranged(b, p.rhs_batch, p.rhs_contracting, loc);
  const auto batches = static_cast<int>(p.lhs_batch.size());
  const Dim n = a.dim(-1);
  const Dim out = std::max<Dim>(
      1, a.size() / n * (b.size() / n) / std::max<Dim>(1, a.shape().part(0, batches).size()));
  // Every part costs memory of the size of the result. Fewer than four would be computed where
  // they are summed (Materialization), where no tile fits.
  const Dim parts = std::max<Dim>(4, lanes_for(n, out, target, 1));
  const auto in_parts = [&](const Array& x) {
    const int last = x.rank() - 1;
    const Array y = padded(x, lax::scalar(x.dtype(), 0, loc), last, parts, loc);
    return lax::reshape(y, y.shape().with(last, y.dim(last) / parts).with_inserted(last + 1, parts),
                        loc);
  };
  a = in_parts(a);
  b = in_parts(b);
  DotParams q;
  for (int i = 0; i < batches; ++i) {
    q.lhs_batch.push_back(i);
    q.rhs_batch.push_back(i);
  }
  q.lhs_batch.push_back(a.rank() - 1);
  q.rhs_batch.push_back(b.rank() - 1);
  q.lhs_contracting = {a.rank() - 2};
  q.rhs_contracting = {b.rank() - 2};
  const Array partial = lax::dot_general(a, b, q, loc);
  return finish_reduction(sum_p, partial, batches, loc);
}

}  // namespace gnomon
