// codegen/primitives/reductions/sort.cpp -- table entries of sort and rearrange.
#include "codegen/operations/sort.h"

#include <algorithm>
#include <numeric>

#include "codegen/base/lists.h"
#include "codegen/primitives/families.h"

namespace gnomon {
namespace {

/// Whether element i of `a` comes strictly before element j.
bool comes_before(const HostArray& a, Dim i, Dim j) {
  return host::dispatch(a.aval.dtype, "sort", [&]<class T>() -> bool {
    const T x = host::get<T>(a, i), y = host::get<T>(a, j);
    return x < y || (y != y && x == x);
  });
}

kernel::Value rearranged_element(ElementContext& c, const Params& params, std::size_t,
                                 const Index& i) {
  auto& k = c.k;
  const auto& p = params.as<RearrangeParams>();
  const Shape& shape = c.inputs[0].shape;
  const kernel::Value last = k.i32(static_cast<std::int32_t>(shape[p.axis] - 1));
  const kernel::Value index = c.operand(1, i);
  const kernel::Value safe =
      k.binary(kernel::Op::minimum, k.binary(kernel::Op::maximum, index, k.i32(0)), last);
  kernel::Values position;
  for (int axis = 0; axis < shape.rank(); ++axis)
    position.push_back(axis == p.axis ? k.convert(safe, DType::u32) : i(k, axis));
  return c.operand(0, Index::coordinates(shape, std::move(position)));
}

}  // namespace

const Primitive sort_p{
    .name = "sort",
    .parse = parse_params<SortParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      const auto& p = params.as<SortParams>();
      if (in.empty() || p.num_keys < 1 || at(p.num_keys) > in.size())
        usage_error("sort",
                    std::to_string(in.size()) + " operands and " + std::to_string(p.num_keys) +
                        " keys; at least one operand is a key",
                    loc);
      for (const Aval& a : in)
        if (a.shape != in[0].shape)
          usage_error(
              "sort",
              "operands must have one shape, got " + to_string(in[0]) + " and " + to_string(a),
              loc);
      if (p.axis < 0 || p.axis >= in[0].shape.rank())
        usage_error("sort",
                    "axis " + std::to_string(p.axis) + " is not an axis of " + to_string(in[0]),
                    loc);
      std::vector<Aval> out(in.begin(), in.end());
      out.push_back({DType::i32, in[0].shape});
      return out;
    },
    .jvp =
        [](const Params& params, const Arrays&, const Arrays& out, const Tangents& d) {
          const RearrangeParams p{params.as<SortParams>().axis};
          Tangents r(out.size());
          for (std::size_t i = 0; i < d.size(); ++i)
            if (d[i]) r[i] = emit1(rearrange_p, p, {*d[i], out.back()}, {});
          return r;
        },
    .transpose = rules::not_linear<sort_p>,
    .batch = [](const Params& params, const Arrays& in, const BatchAxes& axes,
                Dim size) -> Batched {
      const auto aligned = rules::align_batch(in, axes, size);
      auto p = params.as<SortParams>();
      p.axis = rules::shift_axes({p.axis}, aligned.axis)[0];
      Arrays out = emit(sort_p, p, aligned.values, {});
      return {out, BatchAxes(out.size(), aligned.axis)};
    },
    .lower = Lowering::expanded(expand_sort),
    .reference = [](const Params& params, std::span<const Aval> out,
                    std::span<const HostArray> in) -> std::vector<HostArray> {
      const auto& p = params.as<SortParams>();
      const Shape& shape = in[0].aval.shape;
      std::vector<HostArray> r(out.begin(), out.end());
      const Dim n = shape[p.axis];
      for (Dim first = 0; first < shape.size(); ++first) {
        host::Coordinates c = host::unravel(shape, first);
        if (c[at(p.axis)] != 0) continue;
        std::vector<Dim> order, places;
        for (Dim i = 0; i < n; ++i) {
          c[at(p.axis)] = i;
          places.push_back(host::ravel(shape, c));
        }
        order.resize(places.size());
        std::iota(order.begin(), order.end(), 0);
        const auto place = [&](Dim i) { return places[static_cast<std::size_t>(i)]; };
        std::stable_sort(order.begin(), order.end(), [&](Dim i, Dim j) {
          for (int key = 0; key < p.num_keys; ++key) {
            if (comes_before(in[at(key)], place(i), place(j))) return true;
            if (comes_before(in[at(key)], place(j), place(i))) return false;
          }
          return false;
        });
        for (Dim i = 0; i < n; ++i) {
          const Dim from = order[static_cast<std::size_t>(i)];
          for (std::size_t k = 0; k < in.size(); ++k)
            host::copy_element(r[k], place(i), in[k], place(from));
          r.back().set_integer(place(i), from);
        }
      }
      return r;
    },
};

const Primitive rearrange_p{
    .name = "rearrange",
    .parse = parse_params<RearrangeParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("rearrange", in, 2, loc);
      const int axis = params.as<RearrangeParams>().axis;
      if (in[1] != Aval{DType::i32, in[0].shape} || axis < 0 || axis >= in[0].shape.rank())
        usage_error("rearrange",
                    to_string(in[0]) + " along axis " + std::to_string(axis) + " by " +
                        to_string(in[1]) + "; the permutation is " +
                        to_string(DType::i32, in[0].shape),
                    loc);
      return {in[0]};
    },
    .jvp = [](const Params& params, const Arrays& in, const Arrays&,
              const Tangents& d) -> Tangents {
      if (!d[0]) return {std::nullopt};
      return {emit1(rearrange_p, params, {*d[0], in[1]}, {})};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      if (!t.cotangents[0] || !t.linear[0]) return {std::nullopt, std::nullopt};
      // What sorts a permutation is its inverse.
      const int axis = t.params.as<RearrangeParams>().axis;
      return {emit(sort_p, SortParams{axis, 1}, {t.inputs[1], *t.cotangents[0]}, {})[1],
              std::nullopt};
    },
    .batch = [](const Params& params, const Arrays& in, const BatchAxes& axes,
                Dim size) -> Batched {
      const auto aligned = rules::align_batch(in, axes, size);
      const int axis = rules::shift_axes({params.as<RearrangeParams>().axis}, aligned.axis)[0];
      return {emit(rearrange_p, RearrangeParams{axis}, aligned.values, {}), {aligned.axis}};
    },
    .lower = Lowering::per_element(rearranged_element, Cost::view, Reuse::many),
    .reference = [](const Params& params, std::span<const Aval> out,
                    std::span<const HostArray> in) -> std::vector<HostArray> {
      const int axis = params.as<RearrangeParams>().axis;
      const Shape& shape = in[0].aval.shape;
      return {host::rearrange(out[0], in[0], [&](host::Coordinates c) {
        const Dim index = in[1].integer(host::ravel(shape, c));
        c[at(axis)] = std::clamp<Dim>(index, 0, shape[axis] - 1);
        return c;
      })};
    },
};

}  // namespace gnomon
