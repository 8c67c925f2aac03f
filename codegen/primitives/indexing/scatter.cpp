// codegen/primitives/indexing/scatter.cpp -- table entries of the scatters: set, add, mul, min,
// max.
#include <algorithm>

#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/families.h"
#include "codegen/primitives/monoid.h"
#include "codegen/trace/trace.h"
#include "shaders/math/elementary.h"

namespace gnomon {

kernel::Value rules::combined(kernel::Builder& k, const Primitive& scatter, kernel::Value old,
                              kernel::Value update) {
  if (&scatter == &scatter_add_p) return k.add(old, update);
  if (&scatter == &scatter_mul_p) return k.mul(old, update);
  if (&scatter == &scatter_min_p) return math::minimum_nan(k, old, update);
  if (&scatter == &scatter_max_p) return math::maximum_nan(k, old, update);
  GNOMON_CHECK(&scatter == &scatter_set_p, std::string(scatter.name) + " is no scatter");
  return update;
}

namespace {

using namespace monoid;

/// A scatter onto zeros: what each element gets in total.
Array added_up(const Array& like, const Array& indices, const Array& updates,
               const ScatterParams& p) {
  return emit1(scatter_add_p, p, {lax::full({updates.dtype(), like.shape()}, 0), indices, updates},
               {});
}

/// Of the updates that are set, those that stay: the last of each index.
Array stays(const Array& operand, const Array& indices, const ScatterParams& p) {
  const int b = p.batch_dims;
  const Array number = lax::iota(DType::i32, indices.shape(), b);
  Shape shape = operand.shape().part(0, b);
  shape.append(operand.shape()[p.axis]);
  const Array last = emit1(scatter_max_p, ScatterParams{b, b},
                           {lax::full({DType::i32, shape}, -1), indices, number}, {});
  const Array mine = emit1(gather_p, GatherParams{b, b, GatherMode::clip}, {last, indices}, {});
  return lax::eq(mine, number);
}

Tangents jvp_set(const Params& params, const Arrays& x, const Arrays&, const Tangents& d) {
  if (!d[0] && !d[2]) return {std::nullopt};
  return {emit1(scatter_set_p, params,
                {d[0] ? *d[0] : lax::zeros_like(x[0]), x[1], d[2] ? *d[2] : lax::zeros_like(x[2])},
                {})};
}

Tangents transpose_set(const TransposeArgs& t) {
  Tangents r(3);
  if (!t.cotangents[0]) return r;
  const auto& p = t.params.as<ScatterParams>();
  const Array& ct = *t.cotangents[0];
  const Shape& updates = t.inputs[2].shape();
  if (t.linear[0])
    r[0] = emit1(scatter_set_p, p, {ct, t.inputs[1], lax::full({ct.dtype(), updates}, 0)}, {});
  if (t.linear[2]) {
    Array back = rules::gather_or_zero(ct, t.inputs[1], p.axis, p.batch_dims);
    if (!p.unique && updates.size() > 0 && t.inputs[0].size() > 0)
      back = lax::select(positions::over_rows(stays(t.inputs[0], t.inputs[1], p), updates, p.axis,
                                              p.batch_dims, {}),
                         back, lax::zeros_like(back));
    r[2] = back;
  }
  return r;
}

Tangents jvp_add(const Params& params, const Arrays& x, const Arrays&, const Tangents& d) {
  if (!d[2]) return {d[0]};
  return {emit1(scatter_add_p, params, {d[0] ? *d[0] : lax::zeros_like(x[0]), x[1], *d[2]}, {})};
}

Tangents transpose_add(const TransposeArgs& t) {
  Tangents r(3);
  if (!t.cotangents[0]) return r;
  const auto& p = t.params.as<ScatterParams>();
  if (t.linear[0]) r[0] = t.cotangents[0];
  if (t.linear[2])
    r[2] = rules::gather_or_zero(*t.cotangents[0], t.inputs[1], p.axis, p.batch_dims);
  return r;
}

// Of several factors on one element each has a derivative that holds all the others, which a
// scatter does not see.
Tangents jvp_scattered_product(const Params& params, const Arrays& x, const Arrays&,
                               const Tangents& d) {
  const auto& p = params.as<ScatterParams>();
  std::optional<Array> sum;
  if (d[0]) sum = emit1(scatter_mul_p, p, {*d[0], x[1], x[2]}, {});
  if (d[2]) {
    if (!p.unique && x[1].shape()[p.batch_dims] > 1)
      usage_error("grad",
                  "the derivative of segment_prod, or of at.mul, in the factors exists for indices "
                  "without repetition only; say `.unique_indices = true` if " +
                      to_string(x[1].aval()) + " has none",
                  Trace::where());
    const Array right = lax::mul(x[0], added_up(x[0], x[1], *d[2], p));
    sum = sum ? lax::add(*sum, right) : right;
  }
  return {sum};
}

Tangents transpose_scattered_product(const TransposeArgs& t) {
  Tangents r(3);
  if (!t.cotangents[0]) return r;
  GNOMON_CHECK(!t.linear[2], "scatter_mul is not linear in its factors");
  r[0] = emit1(scatter_mul_p, t.params, {*t.cotangents[0], t.inputs[1], t.inputs[2]}, {});
  return r;
}

/// All operands and updates that equal the result share the derivative.
Tangents jvp_scattered_extremum(const Params& params, const Arrays& x, const Arrays& out,
                                const Tangents& d) {
  const auto& p = params.as<ScatterParams>();
  const DType t = x[0].dtype();
  const Array kept = lax::convert(lax::eq(x[0], out[0]), t);
  const Array hit =
      lax::convert(lax::eq(x[2], rules::gather_or_zero(out[0], x[1], p.axis, p.batch_dims)), t);
  const Array count = lax::add(kept, added_up(x[0], x[1], hit, p));
  std::optional<Array> sum;
  if (d[0]) sum = lax::mul(kept, *d[0]);
  if (d[2]) {
    const Array right = added_up(x[0], x[1], lax::mul(hit, *d[2]), p);
    sum = sum ? lax::add(*sum, right) : right;
  }
  if (!sum) return {sum};
  return {lax::div(*sum, count)};
}

template <const Primitive& P>
Batched batch_scatter(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  auto p = params.as<ScatterParams>();
  ++p.axis;
  if (!axes[1]) {
    const auto place = [&](std::size_t i) {
      return axes[i] ? lax::move_axis(x[i], *axes[i], p.batch_dims)
                     : lax::insert_axis(x[i], p.batch_dims, size);
    };
    return {emit(P, p, {place(0), x[1], place(2)}, {}), {p.batch_dims}};
  }
  ++p.batch_dims;
  Arrays front;
  for (std::size_t i = 0; i < x.size(); ++i)
    front.push_back(rules::batch_front(x[i], axes[i], size));
  return {emit(P, p, front, {}), {0}};
}

struct Last {
  template <class T>
  static T combine(T, T update) {
    return update;
  }
};
template <const Primitive& P, rules::Accepts A, class Host>
std::vector<HostArray> scatter_reference(const Params& params, std::span<const Aval>,
                                         std::span<const HostArray> in) {
  const auto& p = params.as<ScatterParams>();
  HostArray r = in[0];
  const Shape& shape = r.aval.shape;
  // Row-major order of the updates meets each element in the order of the indices.
  host::dispatch(r.aval.dtype, P.name, [&]<class T>() {
    if constexpr (rules::accepts(A, rules::dtype_of<T>()))
      host::for_each_indexed(
          in[2].aval.shape, in[1].aval.shape, p.axis, p.batch_dims,
          [&](Dim i, host::Coordinates c, Dim which) {
            const Dim index = in[1].integer(which);
            if (index < 0 || index >= shape[p.axis]) return;
            c[static_cast<std::size_t>(p.axis)] = index;
            const Dim to = host::ravel(shape, c);
            host::put<T>(r, to, Host::combine(host::get<T>(r, to), host::get<T>(in[2], i)));
          });
  });
  return {std::move(r)};
}

template <const Primitive& P, rules::Accepts A, class Host>
constexpr Primitive scatter(
    std::string_view name,
    Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp,
    Rule<Tangents(const TransposeArgs&)> transpose) {
  return {
      .name = name,
      .parse = parse_params<ScatterParams>,
      .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
        rules::require_operands(P.name, in, 3, loc);
        rules::require_dtype(P.name, in[0], A, loc);
        const auto& p = params.as<ScatterParams>();
        rules::check_indices(P.name, in[0], in[1], p.axis, p.batch_dims, loc);
        if (in[1].shape.rank() != p.batch_dims + 1)
          usage_error(P.name,
                      "indices " + to_string(in[1]) + " have more than one axis behind the " +
                          std::to_string(p.batch_dims) + " batch axes; reshape them",
                      loc);
        const Aval want{in[0].dtype, in[0].shape.with(p.axis, in[1].shape[p.batch_dims])};
        if (in[2] != want)
          usage_error(P.name,
                      "updates are " + to_string(in[2]) + " but " + to_string(want) +
                          " belongs into " + to_string(in[0]),
                      loc);
        return {in[0]};
      },
      .jvp = jvp,
      .transpose = transpose,
      .batch = batch_scatter<P>,
      .lower = Lowering::structured(Lowering::Kind::scatter),
      .reference = scatter_reference<P, A, Host>,
  };
}

}  // namespace

using rules::Accepts;
const Primitive scatter_set_p =
    scatter<scatter_set_p, Accepts::any, Last>("scatter_set", jvp_set, transpose_set);
const Primitive scatter_add_p =
    scatter<scatter_add_p, Accepts::numbers, Sum>("scatter_add", jvp_add, transpose_add);
const Primitive scatter_mul_p = scatter<scatter_mul_p, Accepts::numbers, Product>(
    "scatter_mul", jvp_scattered_product, transpose_scattered_product);
const Primitive scatter_min_p = scatter<scatter_min_p, Accepts::numbers, Minimum>(
    "scatter_min", jvp_scattered_extremum, rules::not_linear<scatter_min_p>);
const Primitive scatter_max_p = scatter<scatter_max_p, Accepts::numbers, Maximum>(
    "scatter_max", jvp_scattered_extremum, rules::not_linear<scatter_max_p>);

}  // namespace gnomon
