// codegen/primitives/elementwise/incomplete_beta.cpp -- the beta function and the regularised
// incomplete one.
#include <array>
#include <cmath>

#include "codegen/lax/elementwise.h"
#include "codegen/operations/special.h"
#include "codegen/primitives/elementwise/special_host.h"
#include "codegen/primitives/families.h"
#include "gnomon/error.h"
#include "gnomon/special.h"
#include "shaders/math/special.h"

namespace gnomon {
using namespace rules;

namespace {

Array digamma(const Array& x) { return lax::unary(digamma_p, x); }

Array betaln_slope(const Array& a, const Array& b, const Array& d) {
  return lax::mul(d, lax::sub(digamma(a), digamma(lax::add(a, b))));
}

/// n log(x), 0 where n is.
Array scaled_log(const Array& n, const Array& log_x) {
  const Array zero = lax::zeros_like(n);
  return lax::select(lax::eq(n, zero), zero, lax::mul(n, log_x));
}

/// x^(a - 1) (1 - x)^(b - 1) / B(a, b).
Array beta_density(const Array& a, const Array& b, const Array& x) {
  const Array left = scaled_log(lax::add(a, -1), lax::unary(log_p, x));
  const Array right = scaled_log(lax::add(b, -1), lax::unary(log1p_p, lax::neg(x)));
  return lax::unary(exp_p, lax::sub(lax::add(left, right), emit1(betaln_p, {}, {a, b}, {})));
}

}  // namespace

const Primitive betaln_p =
    binary<betaln_p, Accepts::floats,
           [](auto a, auto b) { return static_cast<decltype(a)>(host::betaln(a, b)); },
           math::betaln,
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return betaln_slope(a, b, d);
           },
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return betaln_slope(b, a, d);
           }>("betaln", Cost::heavy);

const Primitive betainc_p{
    .name = "betainc",
    .parse = no_params,
    .shape = same_shape<betainc_p, Accepts::floats, 3>,
    .jvp =
        [](const Params&, const Arrays& in, const Arrays&, const Tangents& d) {
          if (d[0] || d[1])
            usage_error("betainc",
                        "there is no derivative in `a` and `b`; stop their gradients, or "
                        "differentiate in `x` alone",
                        {});
          return Tangents{lax::mul(*d[2], beta_density(in[0], in[1], in[2]))};
        },
    .transpose = not_linear<betainc_p>,
    .batch = batch_elementwise<betainc_p>,
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params&, std::size_t, const Index& i) {
          const kernel::Value a = c.operand(0, i), b = c.operand(1, i);
          return math::betainc(c.k, a, b, c.operand(2, i));
        },
        Cost::heavy),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          host::dispatch(out[0].dtype, "betainc", [&]<class T>() {
            if constexpr (host::is_real<T>) {
              const auto element = [&](std::size_t k, Dim i) {
                return static_cast<host::Computed<T>>(host::get<T>(in[k], i));
              };
              for (Dim i = 0; i < r.size(); ++i)
                host::put<T>(
                    r, i,
                    static_cast<T>(host::betainc(element(0, i), element(1, i), element(2, i))));
            }
          });
          return std::vector<HostArray>{std::move(r)};
        },
};

// ---- the public functions

using elementwise::binary_float;

Array betaln(Operand a, Operand b) { return binary_float("betaln", betaln_p, a, b); }
Array betainc(Operand a, Operand b, Operand x) {
  const std::array all{a, b, x};
  const DType t = align::float_dtype(align::common_dtype("betainc", all));
  return emit1(betainc_p, {}, align::aligned("betainc", all, t), a.loc());
}

}  // namespace gnomon
