// codegen/primitives/reductions/dot.cpp -- dot_general: sums of products over contracting axes,
// with batch axes.
#include <algorithm>
#include <numeric>

#include "codegen/base/lists.h"
#include "codegen/primitives/families.h"
#include "codegen/primitives/folding.h"

namespace gnomon {
using namespace rules;
using host::Coordinates;
using kernel::Builder;
using kernel::Value;
using kernel::Values;

namespace {

int count(const std::vector<int>& axes) { return static_cast<int>(axes.size()); }
std::vector<int> range(int first, int n) {
  std::vector<int> r(at(n));
  std::iota(r.begin(), r.end(), first);
  return r;
}

/// The axes that are neither batch nor contracting, in order.
std::vector<int> free_axes(int rank, const std::vector<int>& batch,
                           const std::vector<int>& contracting) {
  std::vector<int> r;
  for (int a = 0; a < rank; ++a)
    if (!contains(batch, a) && !contains(contracting, a)) r.push_back(a);
  return r;
}
void require_pairs(const Aval& lhs, const Aval& rhs, const std::vector<int>& left,
                   const std::vector<int>& right, std::string_view kind, Loc loc) {
  bool fits = left.size() == right.size();
  for (std::size_t i = 0; fits && i < left.size(); ++i)
    fits = left[i] >= 0 && left[i] < lhs.shape.rank() && right[i] >= 0 &&
           right[i] < rhs.shape.rank() && lhs.shape[left[i]] == rhs.shape[right[i]];
  if (!fits)
    usage_error("dot_general",
                std::string(kind) + " axes of " + to_string(lhs) + " and " + to_string(rhs) +
                    " do not pair up",
                loc);
}

/// Coordinates of one operand from those of the output (`batch` and `free`) and of the contraction.
template <class V>
std::vector<V> operand_position(int rank, const std::vector<int>& batch_axes,
                                std::span<const V> batch, const std::vector<int>& free,
                                std::span<const V> outer, const std::vector<int>& contracting,
                                const std::vector<V>& inner) {
  std::vector<V> c(at(rank));
  for (std::size_t i = 0; i < batch_axes.size(); ++i) c[at(batch_axes[i])] = batch[i];
  for (std::size_t i = 0; i < free.size(); ++i) c[at(free[i])] = outer[i];
  for (std::size_t i = 0; i < contracting.size(); ++i) c[at(contracting[i])] = inner[i];
  return c;
}

/// Where both operands are for an output position.
struct Layout {
  Layout(const DotParams& params, const Shape& lhs, const Shape& rhs)
      : p(params),
        lhs_rank(lhs.rank()),
        rhs_rank(rhs.rank()),
        lhs_free(free_axes(lhs_rank, p.lhs_batch, p.lhs_contracting)),
        rhs_free(free_axes(rhs_rank, p.rhs_batch, p.rhs_contracting)),
        contraction(sizes(lhs, p.lhs_contracting)) {}

  template <class V>
  std::vector<V> lhs_position(const std::vector<V>& out, const std::vector<V>& inner) const {
    const std::span<const V> o(out);
    return operand_position(lhs_rank, p.lhs_batch, o, lhs_free, o.subspan(p.lhs_batch.size()),
                            p.lhs_contracting, inner);
  }
  template <class V>
  std::vector<V> rhs_position(const std::vector<V>& out, const std::vector<V>& inner) const {
    const std::span<const V> o(out);
    return operand_position(rhs_rank, p.rhs_batch, o, rhs_free,
                            o.subspan(p.lhs_batch.size() + lhs_free.size()), p.rhs_contracting,
                            inner);
  }

  const DotParams& p;
  int lhs_rank, rhs_rank;
  std::vector<int> lhs_free, rhs_free;
  Shape contraction;
};

/// The cotangent of the left operand: contracts the output's cotangent with the right operand over
/// the latter's free axes, then puts the axes in the order of the left operand.
Array transpose_left(const DotParams& p, const Array& ct, const Shape& lhs, const Array& rhs) {
  const std::vector<int> lhs_free = free_axes(lhs.rank(), p.lhs_batch, p.lhs_contracting);
  const std::vector<int> rhs_free = free_axes(rhs.rank(), p.rhs_batch, p.rhs_contracting);
  const int batch = count(p.lhs_batch), left = count(lhs_free);
  const Array product = lax::dot_general(
      ct, rhs, {range(batch + left, count(rhs_free)), rhs_free, range(0, batch), p.rhs_batch});
  // `product` has the batch axes, the left free axes, then the right operand's contracting axes in
  // axis order.
  std::vector<int> contracted_order = range(0, count(p.rhs_contracting));
  std::sort(contracted_order.begin(), contracted_order.end(),
            [&](int a, int b) { return p.rhs_contracting[at(a)] < p.rhs_contracting[at(b)]; });
  std::vector<int> axes(
      at(lhs.rank()));  // for each axis of the left operand, its place in `product`
  for (int i = 0; i < batch; ++i) axes[at(p.lhs_batch[at(i)])] = i;
  for (int i = 0; i < left; ++i) axes[at(lhs_free[at(i)])] = batch + i;
  for (int i = 0; i < count(contracted_order); ++i)
    axes[at(p.lhs_contracting[at(contracted_order[at(i)])])] = batch + left + i;
  return lax::permute(product, std::move(axes));
}

DotParams swapped(const DotParams& p) {
  return {p.rhs_contracting, p.lhs_contracting, p.rhs_batch, p.lhs_batch};
}

/// The output's cotangent as that of dot_general(rhs, lhs).
Array swap_free_axes(const Array& ct, int batch, int left) {
  std::vector<int> axes = range(0, batch);
  for (int a : range(batch + left, ct.rank() - batch - left)) axes.push_back(a);
  for (int a : range(batch, left)) axes.push_back(a);
  return lax::permute(ct, std::move(axes));
}

}  // namespace

Dim terms(const DotParams& p, const Shape& lhs) {
  Dim n = 1;
  for (int a : p.lhs_contracting) n *= lhs[a];
  return n;
}

bool reads_runs(const DotParams& p, const Shape& lhs, const Shape& rhs, std::size_t side) {
  const Shape& matrix = side == 0 ? lhs : rhs;
  const std::vector<int>& summed = side == 0 ? p.lhs_contracting : p.rhs_contracting;
  if (!p.lhs_batch.empty() || summed.size() != 1 || matrix.rank() != 2) return false;
  constexpr Dim texel = 4;
  return summed[0] == 1 || matrix[1] <= texel;
}

/// Adds up the products in row-major order of the contracting axes, in the operands' type.
const Primitive dot_general_p{
    .name = "dot_general",
    .parse = parse_params<DotParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const auto& p = params.as<DotParams>();
          require_operands("dot_general", in, 2, loc);
          require_dtype("dot_general", in[0], Accepts::numbers, loc);
          if (in[0].dtype != in[1].dtype)
            usage_error("dot_general",
                        "operands must have one element type, got " + to_string(in[0]) + " and " +
                            to_string(in[1]),
                        loc);
          require_pairs(in[0], in[1], p.lhs_batch, p.rhs_batch, "batch", loc);
          require_pairs(in[0], in[1], p.lhs_contracting, p.rhs_contracting, "contracting", loc);
          Shape shape = sizes(in[0].shape, p.lhs_batch);
          for (int a : free_axes(in[0].shape.rank(), p.lhs_batch, p.lhs_contracting))
            shape.append(in[0].shape[a]);
          for (int a : free_axes(in[1].shape.rank(), p.rhs_batch, p.rhs_contracting))
            shape.append(in[1].shape[a]);
          return std::vector<Aval>{{in[0].dtype, shape}};
        },
    .jvp =
        [](const Params& params, const Arrays& in, const Arrays&, const Tangents& d) {
          std::optional<Array> sum;
          if (d[0]) sum = emit1(dot_general_p, params, {*d[0], in[1]}, {});
          if (d[1]) {
            const Array right = emit1(dot_general_p, params, {in[0], *d[1]}, {});
            sum = sum ? lax::add(*sum, right) : right;
          }
          return Tangents{sum};
        },
    .transpose =
        [](const TransposeArgs& t) {
          if (t.linear[0] && t.linear[1]) throw_not_linear("dot_general");
          const auto& p = t.params.as<DotParams>();
          Tangents r(2);
          if (!t.cotangents[0]) return r;
          const Array& ct = *t.cotangents[0];
          const int batch = count(p.lhs_batch),
                    left = t.inputs[0].rank() - batch - count(p.lhs_contracting);
          if (t.linear[0]) r[0] = transpose_left(p, ct, t.inputs[0].shape(), t.inputs[1]);
          if (t.linear[1])
            r[1] = transpose_left(swapped(p), swap_free_axes(ct, batch, left), t.inputs[1].shape(),
                                  t.inputs[0]);
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim) {
          DotParams p = params.as<DotParams>();
          const int batch = count(p.lhs_batch);
          if (axes[0]) {
            p.lhs_batch = shift_axes(p.lhs_batch, *axes[0]);
            p.lhs_contracting = shift_axes(p.lhs_contracting, *axes[0]);
          }
          if (axes[1]) {
            p.rhs_batch = shift_axes(p.rhs_batch, *axes[1]);
            p.rhs_contracting = shift_axes(p.rhs_contracting, *axes[1]);
          }
          int out = 0;
          if (axes[0] && axes[1]) {
            p.lhs_batch.insert(p.lhs_batch.begin(), *axes[0]);
            p.rhs_batch.insert(p.rhs_batch.begin(), *axes[1]);
          } else {
            // A free axis of the operand that has it: the contraction stays one matrix product.
            const std::vector<int> left = free_axes(in[0].rank(), p.lhs_batch, p.lhs_contracting);
            const std::vector<int> right = free_axes(in[1].rank(), p.rhs_batch, p.rhs_contracting);
            // Elements lie in front of the results of each where they have one axis to go to: so
            // does what else is made of them.
            if (!axes[0] && right.size() == 1)
              return Batched{emit(dot_general_p, swapped(p), {in[1], in[0]}, {}), {batch}};
            const std::vector<int>& mine = axes[0] ? left : right;
            const int place = static_cast<int>(
                std::find(mine.begin(), mine.end(), axes[0] ? *axes[0] : *axes[1]) - mine.begin());
            out = batch + place + (axes[0] ? 0 : count(left));
          }
          return Batched{emit(dot_general_p, std::move(p), in, {}), {out}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const Shape &lhs = c.inputs[0].shape, &rhs = c.inputs[1].shape;
          const Layout layout(params.as<DotParams>(), lhs, rhs);
          Builder& k = c.k;
          Values out;
          for (int a = 0; a < i.rank(); ++a) out.push_back(i(k, a));
          const Values zero{k.number(c.inputs[0].dtype, 0)};
          const auto add_at = [&](const Values& inner, const Values& sum) {
            const Value a = c.operand(0, Index::coordinates(lhs, layout.lhs_position(out, inner)));
            const Value b = c.operand(1, Index::coordinates(rhs, layout.rhs_position(out, inner)));
            return Values{k.multiply_add(a, b, sum[0])};
          };
          const auto add_product = [&](Value n, const Values& sum) {
            return add_at(
                layout.contraction.rank() == 1 ? Values{n} : unravel(k, layout.contraction, n),
                sum);
          };
          const auto join = [&](const Values& x, const Values& y) {
            return Values{k.add(x[0], y[0])};
          };
          // Rows of a matrix that meets a vector often lie powers of two apart, and then in the
          // same few sets of a cache: where neighbours are summed, a whole line of each is read at
          // a time.
          const auto rows_of_matrix = [](const std::vector<int>& free, const Shape& shape,
                                         const std::vector<int>& contracting) {
            return !free.empty() && contains(contracting, shape.rank() - 1);
          };
          const bool vector = layout.lhs_free.empty() || layout.rhs_free.empty();
          const Dim most =
              vector && (rows_of_matrix(layout.lhs_free, lhs, layout.p.lhs_contracting) ||
                         rows_of_matrix(layout.rhs_free, rhs, layout.p.rhs_contracting))
                  ? 16
                  : 4;
          const Dim terms = layout.contraction.size();
          // A short last axis is one trip: its positions are then constants.
          const int axes = layout.contraction.rank();
          const Dim last = axes > 1 ? layout.contraction[axes - 1] : 1;
          if (last > 1 && last <= 4 && terms > c.unroll_limit) {
            const Shape others = layout.contraction.part(0, axes - 1);
            const auto add_last = [&](Value n, Values sum) {
              Values inner = axes == 2 ? Values{n} : unravel(k, others, n);
              inner.emplace_back();
              for (Dim j = 0; j < last; ++j) {
                inner.back() = k.u32(static_cast<std::uint32_t>(j));
                sum = add_at(inner, sum);
              }
              return sum;
            };
            return fold_jointly(c, terms / last, zero, add_last, join, kernel::Op::subgroup_add,
                                1)[0];
          }
          if (c.in_loop && terms > c.unroll_limit && terms <= c.product_limit) {
            Values sum = add_product(k.u32(0), zero);  // what is the lane's own is known then
            const bool left = reads_runs(layout.p, lhs, rhs, 0);
            const bool right = reads_runs(layout.p, lhs, rhs, 1);
            if (c.writes_out(left, right, terms)) {
              for (Dim n = 1; n < terms; ++n)
                sum = add_product(k.u32(static_cast<std::uint32_t>(n)), sum);
              return sum[0];
            }
          }
          return fold_jointly(c, terms, zero, add_product, join, kernel::Op::subgroup_add, most)[0];
        },
        Cost::heavy, Reuse::many),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const Shape &lhs = in[0].aval.shape, &rhs = in[1].aval.shape;
          const Layout layout(params.as<DotParams>(), lhs, rhs);
          HostArray r(out[0]);
          host::dispatch(out[0].dtype, "dot_general", [&]<class T>() {
            for (Dim o = 0; o < r.size(); ++o) {
              const Coordinates position = host::unravel(out[0].shape, o);
              T sum{0};
              for (Dim n = 0; n < layout.contraction.size(); ++n) {
                const Coordinates inner = host::unravel(layout.contraction, n);
                sum = host::plus(
                    sum,
                    host::times(
                        host::get<T>(in[0], host::ravel(lhs, layout.lhs_position(position, inner))),
                        host::get<T>(in[1],
                                     host::ravel(rhs, layout.rhs_position(position, inner)))));
              }
              host::put(r, o, sum);
            }
          });
          return std::vector<HostArray>{std::move(r)};
        },
};

}  // namespace gnomon
