// codegen/optimize/split.cpp -- rewrites reductions and products over long axes.
#include "codegen/optimize/split.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "codegen/analysis/uses.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/work.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/window.h"
#include "codegen/optimize/split_conv.h"
#include "codegen/optimize/split_scatter.h"
#include "codegen/trace/trace.h"

namespace gnomon {

namespace {

constexpr Dim long_reduction = 8192;
/// Neighbours that one lane adds up side by side where it does nothing else: enough to hide the
/// latency of an addition.
constexpr Dim longest_run = 16;
/// And where computing them needs registers as well. A trip of a loop then adds four of each.
constexpr Dim run = 4;
/// Shorter reductions stay as they are.
constexpr Dim short_reduction = 64;

Array identity(const Primitive& p, DType t, Loc loc) {
  if (&p == &sum_p) return lax::scalar(t, 0, loc);
  if (&p == &prod_p) return lax::scalar(t, 1, loc);
  const bool max = &p == &reduce_max_p;
  if (is_float(t)) {
    const double inf = std::numeric_limits<double>::infinity();
    return lax::scalar(t, max ? -inf : inf, loc);
  }
  if (t == DType::boolean) return lax::scalar_integer(t, max ? 0 : 1, loc);
  const unsigned bits = bits_of(t) - (is_signed(t) ? 1 : 0);
  const auto highest = static_cast<std::int64_t>(bits >= 64 ? ~0ull : (1ull << bits) - 1);
  return lax::scalar_integer(t, max ? (is_signed(t) ? -highest - 1 : 0) : highest, loc);
}

/// `x` with `value` behind it along `axis` until its length is a multiple of `parts`.
Array padded(const Array& x, const Array& value, int axis, Dim parts, Loc loc) {
  const Dim n = x.dim(axis), rest = (n + parts - 1) / parts * parts - n;
  if (rest == 0) return x;
  const auto rank = static_cast<std::size_t>(x.rank());
  PadParams pad{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
  pad.hi[static_cast<std::size_t>(axis)] = rest;
  return lax::pad(x, value, pad, loc);
}

/// Lanes that share a reduction of `n` elements to each of `out` results, at least `lanes`. Few
/// elements are not worth a stage more: starting a kernel costs a CPU what adding up thousands
/// does.
Dim lanes_for(Dim n, Dim out, const Target& target, Dim lanes) {
  const Dim few = device_model(target).elements_per_stage;
  while (lanes < 4096 && lanes * out < target.parallel_lanes && n / lanes > few) lanes *= 2;
  while (target.loop_budget > 0 && n / lanes > static_cast<Dim>(target.loop_budget) / 2) lanes *= 2;
  return lanes;
}

/// Invocations of a CPU that share a reduction of `n` neighbours to each of `out` results. One
/// reads some 600 elements per microsecond, a SIMD group of eight ten times as many, and a stage
/// more costs eight microseconds on lavapipe. Several groups per core are enough to fill it.
Dim invocations_for(Dim n, Dim out, const Target& target) {
  constexpr Dim alone = 16384, each = 2048;
  if (n < alone || out >= target.parallel_lanes) return 1;
  Dim r = simd_lanes;
  while (simd_lanes * r * out < target.parallel_lanes && n / r > each) r *= 2;
  return std::max(r, lanes_for(n / longest_run, out, target, r));
}

/// Reduces `axis`, which holds partial results; 64 parts are few enough for the last lane.
Array finish(const Primitive& p, Array x, int axis, Loc loc) {
  const Dim n = x.dim(axis);
  if (n >= 1024) {
    x = lax::reshape(x, x.shape().with(axis, n / 64).with_inserted(axis + 1, 64), loc);
    x = emit1(p, AxesParams{{axis}}, {x}, loc);
  }
  return emit1(p, AxesParams{{axis}}, {x}, loc);
}

/// Reduces `axis` of x: partial results for `lanes` interleaved parts, then those.
Array in_stages(const Primitive& p, Array x, int axis, Dim lanes, Loc loc) {
  const Dim n = x.dim(axis);
  const Dim rows = (n + lanes - 1) / lanes;
  x = padded(x, identity(p, x.dtype(), loc), axis, lanes, loc);
  x = emit1(p, AxesParams{{axis}},
            {lax::reshape(x, x.shape().with(axis, rows).with_inserted(axis + 1, lanes), loc)}, loc);
  return finish(p, x, axis, loc);
}

const Primitive& combining(const Primitive& p) {
  return &p == &sum_p ? add_p : &p == &prod_p ? mul_p : &p == &reduce_max_p ? max_p : min_p;
}

/// Reduces the last axis, every lane a row: in parts of every 4th element, side by side in one loop
/// that reads neighbours, then those; what is left over at the end.
Array by_rows(const Primitive& p, const Array& x, Loc loc) {
  const int last = x.rank() - 1;
  const Dim n = x.dim(last), rows = n / (4 * run) * 4;
  if (n <= short_reduction) return emit1(p, AxesParams{{last}}, {x}, loc);
  Array y = lax::slice_axis(x, last, 0, rows * run, loc);
  y = lax::reshape(y, y.shape().with(last, rows).with_inserted(last + 1, run), loc);
  y = emit1(p, AxesParams{{last}}, {y}, loc);
  y = emit1(p, AxesParams{{last}}, {y}, loc);
  if (n == rows * run) return y;
  const Array rest = lax::slice_axis(x, last, rows * run, n, loc);
  return emit1(combining(p), {}, {y, emit1(p, AxesParams{{last}}, {rest}, loc)}, loc);
}

/// Reduces the last axis by so many invocations: blocks that a SIMD group of them reads side by
/// side, one after another, so that every core follows one stream; then what its lanes are left
/// with.
Array by_blocks(const Primitive& p, const Array& x, Dim invocations, Loc loc) {
  constexpr Dim block = simd_lanes * longest_run;
  const int last = x.rank() - 1;
  const Dim n = x.dim(last), parts = std::max<Dim>(1, invocations * longest_run / block);
  const Dim trips = n / (parts * block), whole = parts * trips * block;
  if (invocations <= 1 || trips <= 1) return by_rows(p, x, loc);
  Array y = lax::slice_axis(x, last, 0, whole, loc);
  y = lax::reshape(
      y, y.shape().with(last, parts).with_inserted(last + 1, trips).with_inserted(last + 2, block),
      loc);
  y = emit1(p, AxesParams{{last + 1}}, {y}, loc);
  y = by_rows(p, lax::reshape(y, x.shape().with(last, parts * block), loc), loc);
  if (n == whole) return y;
  return emit1(combining(p), {}, {y, by_rows(p, lax::slice_axis(x, last, whole, n, loc), loc)},
               loc);
}

/// Reduces the last axis in parts that a workgroup each takes in one go, then those.
Array by_teams(const Primitive& p, Array x, const Target& target, Loc loc) {
  const int last = x.rank() - 1;
  const Dim n = x.dim(last), team = target.team, out = std::max<Dim>(1, x.size() / n);
  Dim parts = 1;
  while (2 * parts * out * team <= static_cast<Dim>(target.parallel_lanes) &&
         n / (2 * parts) >= 8 * team)
    parts *= 2;
  // Fewer would be reduced where their sum is asked for.
  if (parts >= 4) {
    x = padded(x, identity(p, x.dtype(), loc), last, parts, loc);
    x = lax::reshape(x, x.shape().with(last, parts).with_inserted(last + 1, x.dim(last) / parts),
                     loc);
    x = emit1(p, AxesParams{{last + 1}}, {x}, loc);
  }
  return emit1(p, AxesParams{{last}}, {x}, loc);
}

/// One rewriting of a graph into the active trace.
class Splitter {
 public:
  Splitter(const Graph& g, const Target& target)
      : g_(g),
        target_(target),
        producer_(analyse_uses(g).producer),
        convolutions_(g, target, producer_) {}

  bool wants(const Equation& e) const {
    const Graph& g = g_;
    const Primitive* p = e.primitive;
    const bool product = p == &dot_general_p;
    if (p == &conv_p) return wants_conv(g, e);
    if (wants_parts(g, e, target_) || wants_choices(g, e, producer_)) return true;
    if (!product && p != &sum_p && p != &prod_p && p != &reduce_max_p && p != &reduce_min_p &&
        p != &argmax_p && p != &argmin_p)
      return false;
    const Shape& in = g.avals[e.inputs[0]].shape;
    const Dim out = g.avals[e.outputs[0]].shape.size();
    if (out == 0) return false;
    if (in_runs(*p, in, e)) return true;
    if (!product)
      return in.size() / out >= long_reduction &&
             (out < target_.parallel_lanes || target_.loop_budget > 0);
    if (parts_of(e).count > 1 || rows_in_cache(e) > 1) return true;
    if (large_product(g, e) && (turned(e, 0) || turned(e, 1) || worth_turning(e))) return true;
    return long_product(e) || turned_matrix(e);
  }

  /// Whether a matrix that meets a vector is turned around first. Seen as it lies in memory, it
  /// tells which of its neighbours are summed.
  bool turned_matrix(const Equation& e) const {
    const auto& p = e.params.as<DotParams>();
    const auto one = [&](std::size_t side) {
      const auto taken = side == 0 ? p.lhs_batch.size() + p.lhs_contracting.size()
                                   : p.rhs_batch.size() + p.rhs_contracting.size();
      return static_cast<int>(taken) == g_.avals[e.inputs[side]].shape.rank();
    };
    return (one(0) && turned(e, 1)) || (one(1) && turned(e, 0));
  }

  bool long_product(const Equation& e) const {
    const Dim n = terms(e.params.as<DotParams>(), g_.avals[e.inputs[0]].shape);
    return n >= long_reduction && lanes_for(n, g_.avals[e.outputs[0]].shape.size(), target_, 1) > 1;
  }

  /// A CPU's lanes read contiguous runs.
  bool in_runs(const Primitive& p, const Shape& in, const Equation& e) const {
    if (!target_.contiguous_per_lane ||
        (&p != &sum_p && &p != &prod_p && &p != &reduce_max_p && &p != &reduce_min_p))
      return false;
    const auto& axes = e.params.as<AxesParams>().axes;
    Dim n = 1;
    for (int a : axes) n *= in[a];
    return !axes.empty() && axes.front() + static_cast<int>(axes.size()) == in.rank() &&
           n > short_reduction;
  }

  Array split(const Equation& e, const Arrays& env) {
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(env[v]);
    if (e.primitive == &dot_general_p) {
      if (const Parts parts = parts_of(e); parts.count > 1) return product_in_parts(e, env, parts);
      if (long_product(e)) return product(in[0], in[1], e.params.as<DotParams>(), e.loc);
      if (const Dim parts = rows_in_cache(e); parts > 1) return product_by_rows(e, env, parts);
      return oriented(e, env);
    }
    if (wants_choices(g_, e, producer_)) return scatter_by_choice(e, in);
    if (e.primitive->lower.kind == Lowering::Kind::scatter) return scatter_in_parts(e, in, target_);
    if (e.primitive == &conv_p && arranged(e)) return convolutions_.arrange(e, env);
    if (e.primitive == &conv_p)
      return convolution(in[0], in[1], e.params.as<ConvParams>(),
                         g_.avals[e.outputs[0]].shape.size(), e.loc);
    if (e.primitive == &argmax_p)
      return extremum(reduce_max_p, in[0], e.params.as<AxisParams>().axis, e.loc);
    if (e.primitive == &argmin_p)
      return extremum(reduce_min_p, in[0], e.params.as<AxisParams>().axis, e.loc);
    return reduction(e, env);
  }

 private:
  static Dim products(const ConvParams& p, const Shape& rhs) {
    return rhs.part(p.batch_dims + 1, rhs.rank()).size();
  }
  /// Whether windows leave the image, so that reads have to be checked.
  static bool bordered(const ConvParams& p) {
    for (std::size_t i = 0; i < p.lo.size(); ++i)
      if (p.lo[i] > 0 || p.hi[i] > 0 || p.base[i] > 1) return true;
    return false;
  }
  bool arranged(const Equation& e) const {
    return conv_form(e.params.as<ConvParams>(), g_.avals[e.inputs[0]], g_.avals[e.inputs[1]],
                     target_) != ConvForm::plain;
  }
  bool long_sums(const ConvParams& p, const Shape& rhs, Dim out) const {
    const Dim n = products(p, rhs);
    return n >= long_reduction && lanes_for(n, out, target_, 1) > 1;
  }
  bool wants_conv(const Graph& g, const Equation& e) const {
    const Shape &lhs = g.avals[e.inputs[0]].shape, &rhs = g.avals[e.inputs[1]].shape;
    const auto& p = e.params.as<ConvParams>();
    const Dim out = g.avals[e.outputs[0]].shape.size();
    if (lhs.size() == 0 || rhs.size() == 0 || out == 0) return false;
    if (arranged(e)) return true;
    if (long_sums(p, rhs, out)) return true;
    // Checks at the border are shared by all output channels of a lane. For a single channel, many
    // of them take longer than a copy of the image: on lavapipe 25 five times as long for 9 x 9.
    const Dim window = rhs.part(p.batch_dims + 2, rhs.rank()).size();
    return bordered(p) && rhs[p.batch_dims] == 1 && window > 9 &&
           out * products(p, rhs) >= Dim{1} << 16;
  }

  Array convolution(const Array& lhs, const Array& rhs, const ConvParams& p, Dim out,
                    Loc loc) const {
    if (long_sums(p, rhs.shape(), out)) return as_product(lhs, rhs, p, loc);
    const auto front = static_cast<std::size_t>(p.batch_dims) + 2;
    const std::vector<Dim> no_border(front, 0);
    PadParams border{no_border, no_border, no_border};
    ConvParams inside = p;
    for (std::size_t i = 0; i < p.lo.size(); ++i) {
      border.lo.push_back(p.lo[i]);
      border.hi.push_back(p.hi[i]);
      border.interior.push_back(p.base[i] - 1);
      inside.lo[i] = inside.hi[i] = 0;
      inside.base[i] = 1;
    }
    const Array image = lax::pad(lhs, lax::scalar(lhs.dtype(), 0, loc), border, loc);
    return emit1(conv_p, inside, {image, rhs}, loc);
  }

  /// As the product of what the windows show with the kernel: sums over (channel, k).
  Array as_product(const Array& lhs, const Array& rhs, const ConvParams& p, Loc loc) const {
    const int b = p.batch_dims;
    const Array patches = conv_patches(p, lhs, rhs.shape(), loc);  // [B.., n, c, k, t]
    const Shape merged = rhs.shape().part(0, b + 2);
    Shape flat = merged;
    flat.append(rhs.shape().part(b + 2, rhs.rank()).size());
    DotParams q{{b + 1, b + 2}, {b + 1, b + 2}, {}, {}};
    for (int i = 0; i < b; ++i) {
      q.lhs_batch.push_back(i);
      q.rhs_batch.push_back(i);
    }
    Array y;  // [B.., n, t, o]
    const Dim depth = flat[b + 1] * flat[b + 2], results = patches.size() / depth * flat[b];
    const bool few_trips =
        target_.loop_budget == 0 || depth / 4 < static_cast<Dim>(target_.loop_budget) / 2;
    if (results >= static_cast<Dim>(target_.parallel_lanes) && few_trips) {
      // Enough results for all lanes, which share what they read when channels are neighbours.
      Shape one = flat.part(0, b + 1), rows = patches.shape().part(0, b + 1);
      one.append(depth);
      rows.append(depth);
      rows.append(patches.dim(-1));
      std::vector<int> order;
      for (int i = 0; i < b; ++i) order.push_back(i);
      order.insert(order.end(), {b + 1, b});
      q.lhs_contracting = {b + 1};
      q.rhs_contracting = {b};
      y = lax::dot_general(lax::reshape(patches, rows, loc),
                           lax::permute(lax::reshape(rhs, one, loc), order, loc), q, loc);
    } else {
      y = product(patches, lax::reshape(rhs, flat, loc), q, loc);
    }
    Shape out = lhs.shape().part(0, b + 1);
    out.append(rhs.shape()[b]);
    for (int i = 0; i + b + 2 < lhs.rank(); ++i)
      out.append(window_axis(p, lhs.shape(), rhs.shape(), i).count());
    return lax::reshape(lax::move_axis(y, b + 2, b + 1, loc), out, loc);
  }

  /// What lies side by side in memory tells how to go about it, so not through a permutation.
  Array reduction(const Equation& e, const Arrays& env) const {
    std::vector<int> axes = e.params.as<AxesParams>().axes;
    ValueId v = e.inputs[0];
    if (turned(e, 0) && target_.contiguous_per_lane) {
      const Equation& permutation = g_.equations[producer_[v]];
      const auto& order = permutation.params.as<AxesParams>().axes;
      std::vector<int> kept;
      for (int a = 0; a < static_cast<int>(order.size()); ++a)
        if (std::count(axes.begin(), axes.end(), a) == 0)
          kept.push_back(order[static_cast<std::size_t>(a)]);
      if (std::is_sorted(kept.begin(), kept.end())) {
        for (int& a : axes) a = order[static_cast<std::size_t>(a)];
        std::sort(axes.begin(), axes.end());
        v = permutation.inputs[0];
      }
    }
    return reduction(*e.primitive, env[v], axes, e.loc);
  }

  /// All reduced axes become one, behind the rest where they are not in front already.
  Array reduction(const Primitive& p, Array x, const std::vector<int>& axes, Loc loc) const {
    std::vector<int> order;
    for (int a = 0; a < x.rank(); ++a)
      if (std::find(axes.begin(), axes.end(), a) == axes.end()) order.push_back(a);
    const int kept = static_cast<int>(order.size());
    const bool trailing = axes.front() == kept && axes.back() == x.rank() - 1;
    const bool leading = axes.front() == 0 && axes.back() == static_cast<int>(axes.size()) - 1;
    Shape merged;
    int axis = kept;
    if (leading) {
      axis = 0;
      merged = x.shape().part(static_cast<int>(axes.size()), x.rank());
    } else {
      if (!trailing) {
        order.insert(order.end(), axes.begin(), axes.end());
        x = lax::permute(x, order, loc);
      }
      merged = x.shape().part(0, kept);
    }
    const Dim out = std::max<Dim>(1, merged.size());
    const Dim n = x.size() / out;
    merged.insert(axis, n);
    if (target_.contiguous_per_lane && (trailing || !leading) && x.dtype() != DType::boolean)
      return by_blocks(p, lax::reshape(x, merged, loc), invocations_for(n, out, target_), loc);
    if (target_.team > 0 && (trailing || !leading))
      return by_teams(p, lax::reshape(x, merged, loc), target_, loc);
    return in_stages(p, lax::reshape(x, merged, loc), axis, lanes_for(n, out, target_, 64), loc);
  }

  /// The first position of the largest (smallest) element: the value in stages, then where it is. A
  /// NaN is the value when there is one, and equal to nothing.
  Array extremum(const Primitive& p, const Array& x, int axis, Loc loc) const {
    const Array best = lax::insert_axis(reduction(p, x, {axis}, loc), axis, x.dim(axis), loc);
    Array hit = lax::eq(x, best, loc);
    if (is_float(x.dtype())) hit = emit1(or_p, {}, {hit, lax::unary(isnan_p, x, loc)}, loc);
    const Array position = lax::iota(DType::i32, x.shape(), axis, loc);
    const Array missed = lax::full_like(position, std::numeric_limits<std::int32_t>::max(), loc);
    return reduction(reduce_min_p, lax::select(hit, position, missed, loc), {axis}, loc);
  }

  /// Whether operand `side` of a product is a permutation.
  bool turned(const Equation& e, std::size_t side) const {
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
    if (target_.team > 0) return false;  // panels turn what they read in shared memory
    const auto summed_inside = [&](ValueId v, const std::vector<int>& summed) {
      int inner = g_.avals[v].shape.rank() - 1;
      while (inner > 0 && g_.avals[v].shape[inner] == 1) --inner;
      return std::count(summed.begin(), summed.end(), inner) > 0;
    };
    return summed_inside(d.lhs, d.p.lhs_contracting) && summed_inside(d.rhs, d.p.rhs_contracting);
  }
  bool worth_turning(const Equation& e) const { return apart(plain(e)); }

  /// The same product without permuted operands; where neighbours of both operands are summed, the
  /// smaller one is turned around first.
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

  /// An operand with its batch axes first, then the free ones, then one that all summed ones make.
  static Array arranged(const Array& x, const std::vector<int>& batch,
                        const std::vector<int>& summed, Loc loc) {
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
    if (target_.features.reads_together == 0 || !d.p.lhs_batch.empty() || size_of(lhs.dtype) != 4)
      return 1;
    // Few terms in so large a part mean few results: their memory, for all parts, is half that of
    // the operands at most.
    const DeviceModel& model = device_model(target_);
    const Dim cache = model.part_bytes, fewest_terms = model.part_terms;
    constexpr Dim fewest_parts = 8;
    if (n < fewest_parts * fewest_terms) return 1;
    const Dim rows = lhs.shape.size() / n, columns = rhs.shape.size() / n;
    if (rows < target_.tile_rows || columns % (simd_lanes * target_.tile_columns) != 0) return 1;
    const Dim bytes = (rows + columns) * n * 4;
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
    if (!d.p.lhs_batch.empty() || summed.empty() || size_of(lhs.dtype) != 4) return 1;
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
              bytes = (rows + columns) * n * 4;
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
    return finish(sum_p, lax::dot_general(a, b, p, e.loc), 0, e.loc);
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
    return finish(sum_p, lax::dot_general(a, b, q, e.loc), batches, e.loc);
  }

  /// Neighbours along the summed axes in parts, as a batch axis; then the sum of the parts.
  Array product(Array a, Array b, const DotParams& p, Loc loc) const {
    a = arranged(a, p.lhs_batch, p.lhs_contracting, loc);
    b = arranged(b, p.rhs_batch, p.rhs_contracting, loc);
    const auto batches = static_cast<int>(p.lhs_batch.size());
    const Dim n = a.dim(-1);
    const Dim out = std::max<Dim>(
        1, a.size() / n * (b.size() / n) / std::max<Dim>(1, a.shape().part(0, batches).size()));
    // Every part costs memory of the size of the result. Fewer than four would be computed where
    // they are summed (Materialization), where no tile fits.
    const Dim parts = std::max<Dim>(4, lanes_for(n, out, target_, 1));
    const auto in_parts = [&](const Array& x) {
      const int last = x.rank() - 1;
      const Array y = padded(x, lax::scalar(x.dtype(), 0, loc), last, parts, loc);
      return lax::reshape(
          y, y.shape().with(last, y.dim(last) / parts).with_inserted(last + 1, parts), loc);
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
    return finish(sum_p, partial, batches, loc);
  }

  const Graph& g_;
  const Target& target_;
  std::vector<std::uint32_t> producer_;
  ConvArranger convolutions_;
};

}  // namespace

Graph split_reductions(const Graph& g, const Target& target) {
  Splitter splitter(g, target);
  if (std::none_of(g.equations.begin(), g.equations.end(),
                   [&](const Equation& e) { return splitter.wants(e); }))
    return g;

  Trace t;
  Arrays env(g.avals.size());
  for (ValueId v : g.inputs) env[v] = t.input(g.avals[v]);
  for (const Equation& e : g.equations) {
    t.loc = e.loc;
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(env[v]);
    const Arrays out = splitter.wants(e) ? Arrays{splitter.split(e, env)}
                                         : emit(*e.primitive, e.params, in, e.loc);
    for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
  }
  Arrays outputs;
  for (ValueId v : g.outputs) outputs.push_back(env[v]);
  return t.finish(outputs);
}

}  // namespace gnomon
