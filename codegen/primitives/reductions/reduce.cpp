// codegen/primitives/reductions/reduce.cpp -- reductions over axes. The host goes through the
// reduced elements in row-major order, starting from the identity; kernels may combine neighbours
// first.
#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/primitives/families.h"
#include "codegen/primitives/folding.h"
#include "codegen/primitives/monoid.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;
using host::Coordinates;
using kernel::Builder;
using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

using namespace monoid;

std::vector<int> kept_axes(int rank, const std::vector<int>& axes) {
  std::vector<int> r;
  for (int a = 0; a < rank; ++a)
    if (!contains(axes, a)) r.push_back(a);
  return r;
}
int batch_axis_after(int batch_axis, const std::vector<int>& axes) {
  return batch_axis - static_cast<int>(std::count_if(axes.begin(), axes.end(),
                                                     [&](int a) { return a < batch_axis; }));
}

std::vector<Aval> reduced_shape(std::string_view op, const Params& params, std::span<const Aval> in,
                                Accepts accepted, Loc loc) {
  require_operands(op, in, 1, loc);
  require_dtype(op, in[0], accepted, loc);
  const auto& axes = params.as<AxesParams>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= in[0].shape.rank() || (i > 0 && axes[i] <= axes[i - 1]))
      usage_error(op, "axes must be distinct, sorted axes of " + to_string(in[0]), loc);
  return {{in[0].dtype, sizes(in[0].shape, kept_axes(in[0].shape.rank(), axes))}};
}

/// The operand's position `n` (row-major over the reduced axes) below the output position `i`.
Index position(Builder& k, const Shape& shape, const std::vector<int>& axes, const Index& i,
               Value n) {
  const Shape range = sizes(shape, axes);
  const bool trailing = axes.empty() || axes[0] + static_cast<int>(axes.size()) == shape.rank();
  // Trailing axes of a row-major array are one run; the operand divides only if it needs
  // coordinates.
  if (axes.size() > 1 && trailing && !k.is_constant(n))
    return Index::flat(shape,
                       k.add(k.mul(i.flat(k), k.u32(static_cast<std::uint32_t>(range.size()))), n));
  const Values inner = axes.size() == 1 ? Values{n} : unravel(k, range, n);
  Values c(at(shape.rank()));
  for (std::size_t a = 0; a < axes.size(); ++a) c[at(axes[a])] = inner[a];
  int outer = 0;
  for (int a : kept_axes(shape.rank(), axes)) c[at(a)] = i(k, outer++);
  return Index::coordinates(shape, std::move(c));
}

/// Whether two functions are one. Their addresses are no constants to GCC where a sanitizer looks
/// for null (bug 71962); as arguments of a template they are.
template <auto F>
struct Named {};
template <auto A, auto B>
constexpr bool same = std::is_same_v<Named<A>, Named<B>>;

/// The instruction that combines over a subgroup as `Combine` does. Those for the extrema of floats
/// promise nothing about NaN.
template <auto Combine>
std::optional<Op> over_subgroup(DType t) {
  if constexpr (same<Combine, k_binary<Op::add>>) return Op::subgroup_add;
  if (is_float(t)) return std::nullopt;
  if constexpr (same<Combine, k_larger>) return Op::subgroup_max;
  if constexpr (same<Combine, k_smaller>) return Op::subgroup_min;
  return std::nullopt;
}

/// One of: identity(k, dtype) and combine(k, a, b) for kernels, Host::identity and Host::combine
/// for the host.
template <auto Identity, auto Combine>
Value reduce_element(ElementContext& c, const Params& params, std::size_t, const Index& i) {
  const auto& axes = params.as<AxesParams>().axes;
  const Shape& shape = c.inputs[0].shape;
  // Where many neighbours belong to other elements of the result, those share the loop, and a trip
  // of one position reads as widely.
  Dim neighbours = 1;
  for (int a = axes.empty() ? shape.rank() : axes.back() + 1; a < shape.rank(); ++a)
    neighbours *= shape[a];
  return fold_elements(
      c, sizes(shape, axes).size(), Identity(c.k, c.inputs[0].dtype),
      [&](Value n) { return c.operand(0, position(c.k, shape, axes, i, n)); },
      [&](Value a, Value b) { return Combine(c.k, a, b); },
      over_subgroup<Combine>(c.inputs[0].dtype), neighbours <= 4 || c.in_loop ? 4 : 1);
}

template <const Primitive& P, Accepts A, class Host>
std::vector<HostArray> reduce_reference(const Params& params, std::span<const Aval> out,
                                        std::span<const HostArray> in) {
  const auto& axes = params.as<AxesParams>().axes;
  const Shape& shape = in[0].aval.shape;
  const Shape range = sizes(shape, axes);
  const std::vector<int> kept = kept_axes(shape.rank(), axes);
  HostArray r(out[0]);
  host::dispatch(out[0].dtype, P.name, [&]<class T>() {
    if constexpr (accepts(A, dtype_of<T>())) {
      for (Dim o = 0; o < r.size(); ++o) {
        const Coordinates outer = host::unravel(out[0].shape, o);
        T sum = Host::template identity<T>();
        for (Dim n = 0; n < range.size(); ++n) {
          const Coordinates inner = host::unravel(range, n);
          Coordinates c(at(shape.rank()));
          for (std::size_t a = 0; a < axes.size(); ++a) c[at(axes[a])] = inner[a];
          for (std::size_t a = 0; a < kept.size(); ++a) c[at(kept[a])] = outer[a];
          sum = Host::combine(sum, host::get<T>(in[0], host::ravel(shape, c)));
        }
        host::put(r, o, sum);
      }
    }
  });
  return {std::move(r)};
}

template <const Primitive& P>
Batched batch_reduce(const Params& params, const Arrays& in, const BatchAxes& batch, Dim) {
  const std::vector<int> axes = shift_axes(params.as<AxesParams>().axes, *batch[0]);
  return {emit(P, AxesParams{axes}, in, {}), {batch_axis_after(*batch[0], axes)}};
}

template <const Primitive& P, Accepts A, auto Identity, auto Combine, class Host>
constexpr Primitive reduction(
    std::string_view name,
    Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp) {
  return {
      .name = name,
      .parse = parse_params<AxesParams>,
      .shape = [](const Params& params, std::span<const Aval> in,
                  Loc loc) { return reduced_shape(P.name, params, in, A, loc); },
      .jvp = jvp,
      .transpose = not_linear<P>,
      .batch = batch_reduce<P>,
      .lower = Lowering::per_element(reduce_element<Identity, Combine>, Cost::heavy),
      .reference = reduce_reference<P, A, Host>,
  };
}

/// `y` of a reduction over `axes`, repeated to the operand's shape.
Array spread(const Array& y, const Shape& shape, const std::vector<int>& axes) {
  return lax::broadcast(y, shape, kept_axes(shape.rank(), axes));
}

// d max = the mean of the tangents of all maxima.
Tangents jvp_reduced_extremum(const Params& params, const Arrays& in, const Arrays& out,
                              const Tangents& d) {
  const auto& axes = params.as<AxesParams>().axes;
  const Array here =
      lax::convert(lax::eq(in[0], spread(out[0], in[0].shape(), axes)), in[0].dtype());
  return {lax::div(lax::sum(lax::mul(*d[0], here), axes), lax::sum(here, axes))};
}

// The product rule down a tree of halves: right also where elements are zero, unlike y / x.
Tangents jvp_product(const Params& params, const Arrays& in, const Arrays& out, const Tangents& d) {
  const auto& axes = params.as<AxesParams>().axes;
  const int rank = in[0].rank();
  std::vector<int> order = kept_axes(rank, axes);
  Shape shape = sizes(in[0].shape(), order);
  const int last = shape.rank();
  order.insert(order.end(), axes.begin(), axes.end());
  shape.append(sizes(in[0].shape(), axes).size());
  Array x = lax::reshape(lax::permute(in[0], order), shape),
        t = lax::reshape(lax::permute(*d[0], order), shape);
  if (shape[last] == 0) return Tangents(1);
  while (x.shape()[last] > 1) {
    const Dim n = x.shape()[last], half = n / 2;
    const auto part = [&](const Array& a, Dim start, Dim limit) {
      return lax::slice_axis(a, last, start, limit);
    };
    const Array a = part(x, 0, half), b = part(x, half, 2 * half);
    Arrays products{lax::mul(a, b)};
    Arrays tangents{lax::add(lax::mul(part(t, 0, half), b), lax::mul(a, part(t, half, 2 * half)))};
    if (n % 2 == 1) {
      products.push_back(part(x, n - 1, n));
      tangents.push_back(part(t, n - 1, n));
    }
    x = lax::concatenate(products, last);
    t = lax::concatenate(tangents, last);
  }
  return {lax::reshape(t, out[0].shape())};
}

}  // namespace

const Primitive sum_p = linear(
    reduction<sum_p, Accepts::numbers, k_zero, k_binary<Op::add>, Sum>("sum", jvp_linear<sum_p>),
    [](const TransposeArgs& t) {
      Tangents r(1);
      if (t.cotangents[0])
        r[0] = spread(*t.cotangents[0], t.inputs[0].shape(), t.params.as<AxesParams>().axes);
      return r;
    });
const Primitive prod_p =
    reduction<prod_p, Accepts::numbers, k_one, k_binary<Op::mul>, Product>("prod", jvp_product);
/// NaN when an element is; -inf (the smallest integer, false) of nothing.
const Primitive reduce_max_p = reduction<reduce_max_p, Accepts::any, k_lowest, k_larger, Maximum>(
    "reduce_max", jvp_reduced_extremum);
const Primitive reduce_min_p = reduction<reduce_min_p, Accepts::any, k_highest, k_smaller, Minimum>(
    "reduce_min", jvp_reduced_extremum);

// ---- argmax, argmin

namespace {

// Whether `x` comes before the best so far: strictly better, or the first NaN.
template <Op better>
Value k_beats(Builder& k, Value x, Value best) {
  const Value wins = k.compare(better, x, best);
  if (!is_float(k.type(x).scalar)) return wins;
  return k.lor(wins, k.land(k.unary(Op::is_nan, x), k.unary(Op::bnot, k.unary(Op::is_nan, best))));
}

template <const Primitive& P, Op better, auto Better>
constexpr Primitive arg_extremum(std::string_view name) {
  return {
      .name = name,
      .parse = parse_params<AxisParams>,
      .shape =
          [](const Params& params, std::span<const Aval> in, Loc loc) {
            require_operands(P.name, in, 1, loc);
            require_dtype(P.name, in[0], Accepts::numbers, loc);
            const int axis = params.as<AxisParams>().axis;
            if (axis < 0 || axis >= in[0].shape.rank())
              usage_error(
                  P.name,
                  "axis " + std::to_string(axis) + " is out of range for " + to_string(in[0]), loc);
            if (in[0].shape[axis] == 0)
              usage_error(P.name,
                          "axis " + std::to_string(axis) + " of " + to_string(in[0]) + " is empty",
                          loc);
            return std::vector<Aval>{{DType::i32, in[0].shape.without(axis)}};
          },
      .jvp = zero_tangents,
      .transpose = not_linear<P>,
      .batch =
          [](const Params& params, const Arrays& in, const BatchAxes& batch, Dim) {
            const std::vector<int> axes = shift_axes({params.as<AxisParams>().axis}, *batch[0]);
            return Batched{emit(P, AxisParams{axes[0]}, in, {}),
                           {batch_axis_after(*batch[0], axes)}};
          },
      .lower = Lowering::per_element(
          [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
            Builder& k = c.k;
            const std::vector<int> axes{params.as<AxisParams>().axis};
            const Shape& shape = c.inputs[0].shape;
            const auto element = [&](Value n) {
              return c.operand(0, position(k, shape, axes, i, n));
            };
            const Values best = fold_jointly(
                c, shape[axes[0]], {element(k.u32(0)), k.u32(0)},
                [&](Value n, const Values& carried) {
                  const Value x = element(n), wins = k_beats<better>(k, x, carried[0]);
                  return Values{k.select(wins, x, carried[0]), k.select(wins, n, carried[1])};
                },
                [&](const Values& a, const Values& b) {
                  const Value loses = k_beats<better>(k, a[0], b[0]);
                  const Value wins =
                      k.lor(k_beats<better>(k, b[0], a[0]),
                            k.land(k.unary(Op::bnot, loses), k.compare(Op::lt, b[1], a[1])));
                  return Values{k.select(wins, b[0], a[0]), k.select(wins, b[1], a[1])};
                },
                std::nullopt);
            return k.convert(best[1], DType::i32);
          },
          Cost::heavy),
      .reference =
          [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
            const int axis = params.as<AxisParams>().axis;
            const Shape& shape = in[0].aval.shape;
            HostArray r(out[0]);
            host::dispatch(in[0].aval.dtype, P.name, [&]<class T>() {
              for (Dim o = 0; o < r.size(); ++o) {
                Coordinates c = host::unravel(out[0].shape, o);
                c.insert(c.begin() + axis, 0);
                T best = host::get<T>(in[0], host::ravel(shape, c));
                Dim index = 0;
                for (Dim n = 1; n < shape[axis]; ++n) {
                  c[at(axis)] = n;
                  const T x = host::get<T>(in[0], host::ravel(shape, c));
                  if (!(Better(x, best) || (x != x && best == best))) continue;
                  best = x;
                  index = n;
                }
                r.set_integer(o, index);
              }
            });
            return std::vector<HostArray>{std::move(r)};
          },
  };
}

}  // namespace

/// Ties go to the lowest index; the first NaN wins.
const Primitive argmax_p =
    arg_extremum<argmax_p, Op::gt, [](auto a, auto b) { return b < a; }>("argmax");
const Primitive argmin_p =
    arg_extremum<argmin_p, Op::lt, [](auto a, auto b) { return a < b; }>("argmin");

}  // namespace gnomon
