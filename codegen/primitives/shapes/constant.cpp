// codegen/primitives/shapes/constant.cpp -- arrays that come from nowhere: literals and counting.
#include "codegen/primitives/families.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Op;
using kernel::Value;

namespace {

std::uint64_t element_bits(const HostArray& a, Dim i) {
  std::uint64_t bits = 0;
  const std::size_t n = size_of(a.aval.dtype);
  std::memcpy(&bits, a.bytes.data() + static_cast<std::size_t>(i) * n,
              n);  // little endian, as everywhere here
  return bits;
}

// Elements [first, last) as a balanced tree of selects on the flat index.
Value choose(Builder& k, const HostArray& a, Value flat, Dim first, Dim last) {
  if (last - first == 1) return k.constant({a.aval.dtype}, element_bits(a, first));
  const Dim middle = first + (last - first) / 2;
  const Value below = choose(k, a, flat, first, middle), above = choose(k, a, flat, middle, last);
  if (below == above) return below;
  return k.select(k.compare(Op::lt, flat, k.u32(static_cast<std::uint32_t>(middle))), below, above);
}

}  // namespace

/// The parameter itself. Meant for scalars and small arrays: every element becomes part of the
/// kernel.
const Primitive constant_p{
    .name = "constant",
    .parse = parse_params<ConstantParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("constant", in, 0, loc);
          return std::vector<Aval>{params.as<ConstantParams>().value.aval()};
        },
    .jvp = zero_tangents,
    .transpose = not_linear<constant_p>,
    .batch =
        [](const Params& params, const Arrays&, const BatchAxes&, Dim) {
          return Batched{emit(constant_p, params, {}, {}), {std::nullopt}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const HostArray& a = params.as<ConstantParams>().value.array();
          if (a.size() == 1) return c.k.constant({a.aval.dtype}, element_bits(a, 0));
          const Value flat = i.flat(c.k);
          if (c.k.is_constant(flat))
            return c.k.constant({a.aval.dtype},
                                element_bits(a, static_cast<Dim>(c.k.constant_bits(flat))));
          return choose(c.k, a, flat, 0, a.size());
        },
        Cost::view),
    .reference =
        [](const Params& params, std::span<const Aval>, std::span<const HostArray>) {
          return std::vector<HostArray>{params.as<ConstantParams>().value.array()};
        },
};

/// 0, 1, 2, ... along one axis.
const Primitive iota_p{
    .name = "iota",
    .parse = parse_params<IotaParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const auto& p = params.as<IotaParams>();
          require_operands("iota", in, 0, loc);
          const Aval a{p.dtype, p.shape};
          require_dtype("iota", a, Accepts::numbers, loc);
          if (p.axis < 0 || p.axis >= p.shape.rank())
            usage_error("iota",
                        "axis " + std::to_string(p.axis) + " is out of range for " + to_string(a),
                        loc);
          return std::vector<Aval>{a};
        },
    .jvp = zero_tangents,
    .transpose = not_linear<iota_p>,
    .batch =
        [](const Params& params, const Arrays&, const BatchAxes&, Dim) {
          return Batched{emit(iota_p, params, {}, {}), {std::nullopt}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const auto& p = params.as<IotaParams>();
          return c.k.convert(i(c.k, p.axis), p.dtype);
        }),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray>) {
          const auto axis = static_cast<std::size_t>(params.as<IotaParams>().axis);
          HostArray r(out[0]);
          for (Dim i = 0; i < r.size(); ++i) r.set_integer(i, host::unravel(out[0].shape, i)[axis]);
          return std::vector<HostArray>{std::move(r)};
        },
};

}  // namespace gnomon
