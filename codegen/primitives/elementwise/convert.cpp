// codegen/primitives/elementwise/convert.cpp -- changing the element type, and stopping
// derivatives.
#include <cmath>
#include <limits>

#include "codegen/primitives/families.h"

namespace gnomon {
using namespace rules;

namespace {

// Float to integer out of range is unspecified in both IRs; here it saturates and NaN gives 0.
template <class To, class From>
To convert_number(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    if (std::isnan(x)) return 0;
    // The upper bound as a float may round up to one past the largest integer, hence >=.
    if (x <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

/// Numeric conversion: to bool x != 0, from bool 0 or 1, floats to integers truncate.
const Primitive convert_p{
    .name = "convert",
    .parse = parse_params<DTypeParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("convert", in, 1, loc);
          return std::vector<Aval>{{params.as<DTypeParams>().dtype, in[0].shape}};
        },
    .jvp =
        [](const Params& params, const Arrays&, const Arrays& out, const Tangents& d) {
          if (!is_float(out[0].dtype())) return Tangents(1);
          return Tangents{lax::convert(*d[0], params.as<DTypeParams>().dtype)};
        },
    .transpose =
        [](const TransposeArgs& t) {
          const DType to = t.params.as<DTypeParams>().dtype;
          if (!is_float(to) || !is_float(t.inputs[0].dtype())) throw_not_linear("convert");
          Tangents r(1);
          if (t.cotangents[0]) r[0] = lax::convert(*t.cotangents[0], t.inputs[0].dtype());
          return r;
        },
    .batch = batch_elementwise<convert_p>,
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          return c.k.convert(c.operand(0, i), params.as<DTypeParams>().dtype);
        }),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          host::dispatch(in[0].aval.dtype, "convert", [&]<class From>() {
            host::dispatch(out[0].dtype, "convert", [&]<class To>() {
              for (Dim i = 0; i < r.size(); ++i)
                host::put<To>(r, i,
                              convert_number<To>(
                                  static_cast<host::Computed<From>>(host::get<From>(in[0], i))));
            });
          });
          return std::vector<HostArray>{std::move(r)};
        },
};

/// The same bits read as another type of the same size.
const Primitive bitcast_p{
    .name = "bitcast",
    .parse = parse_params<DTypeParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("bitcast", in, 1, loc);
          const DType to = params.as<DTypeParams>().dtype;
          if (in[0].dtype == DType::boolean || to == DType::boolean ||
              size_of(to) != size_of(in[0].dtype))
            usage_error("bitcast",
                        "cannot read the bits of " + to_string(in[0]) + " as " +
                            std::string(name(to)) + "; the sizes must agree and bool has no bits",
                        loc);
          return std::vector<Aval>{{to, in[0].shape}};
        },
    .jvp = zero_tangents,
    .transpose = not_linear<bitcast_p>,
    .batch = batch_elementwise<bitcast_p>,
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          return c.k.bitcast(c.operand(0, i), params.as<DTypeParams>().dtype);
        }),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          r.bytes = in[0].bytes;
          return std::vector<HostArray>{std::move(r)};
        },
};

/// The identity, with a derivative of zero. Lasts until all transforms are done: the bodies of
/// backward passes are simplified and may be differentiated again.
const Primitive stop_gradient_p{
    .name = "stop_gradient",
    .parse = no_params,
    .shape = same_shape<stop_gradient_p, Accepts::any, 1>,
    .jvp = zero_tangents,
    .transpose = not_linear<stop_gradient_p>,
    .batch = batch_elementwise<stop_gradient_p>,
    .lower =
        Lowering::expanded([](const Params&, const Arrays& x, const Target&, Loc) { return x; }),
    .reference = [](const Params&, std::span<const Aval>,
                    std::span<const HostArray> in) { return std::vector<HostArray>{in[0]}; },
};

}  // namespace gnomon
