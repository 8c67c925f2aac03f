// codegen/primitives/elementwise/special.cpp -- the gamma function's logarithm and its derivatives.
#include "codegen/operations/special.h"

#include <cmath>

#include "codegen/lax/elementwise.h"
#include "codegen/primitives/elementwise/special_host.h"
#include "codegen/primitives/families.h"
#include "gnomon/error.h"
#include "gnomon/special.h"
#include "shaders/math/special.h"

namespace gnomon {
using namespace rules;

namespace {

int order_of(const Params& params) { return params.as<OrderParams>().order; }

Array polygamma(int order, const Array& x) {
  return emit1(polygamma_p, OrderParams{order}, {x}, {});
}

/// y / x for y = e^-|x| I1(x), 1/2 at 0: by the power series (DLMF 10.25.2) where |x| < 1. The
/// quotient is as exact there, but its derivatives are differences of nearly equal numbers that are
/// divided by x.
Array i1e_quotient(const Array& x, const Array& y) {
  const Array size = lax::unary(abs_p, x),
              quarter = lax::mul(lax::mul(x, x), lax::full_like(x, 0.25));
  constexpr int terms = 10;  // 2^-67 is what the next one is of the first
  double coefficients[terms] = {0.5};
  for (int k = 1; k < terms; ++k) coefficients[k] = coefficients[k - 1] / (k * (k + 1.0));
  Array sum = lax::full_like(x, coefficients[terms - 1]);
  for (int k = terms - 1; k-- > 0;)
    sum = lax::add(lax::mul(sum, quarter), lax::full_like(x, coefficients[k]));
  const Array one = lax::full_like(x, 1), near = lax::lt(size, one);
  return lax::select(near, lax::mul(lax::unary(exp_p, lax::neg(size)), sum),
                     lax::div(y, lax::select(near, one, x)));
}

}  // namespace

const Primitive lgamma_p =
    unary<lgamma_p, Accepts::floats,
          [](auto x) {
            // That of doubles errs by more than two units left of 0.
            return static_cast<decltype(x)>(std::lgamma(static_cast<long double>(x)));
          },
          math::lgamma,
          [](const Array& x, const Array&, const Array& d) {
            return lax::mul(d, lax::unary(digamma_p, x));
          }>("lgamma", Cost::heavy);

const Primitive digamma_p =
    unary<digamma_p, Accepts::floats,
          [](auto x) { return static_cast<decltype(x)>(host::digamma(x)); }, math::digamma,
          [](const Array& x, const Array&, const Array& d) {
            return lax::mul(d, polygamma(1, x));
          }>("digamma", Cost::heavy);

const Primitive i0e_p =
    unary<i0e_p, Accepts::floats,
          [](auto x) { return static_cast<decltype(x)>(host::scaled_bessel(0, x)); }, math::i0e,
          [](const Array& x, const Array& y, const Array& d) {
            const Array falling = lax::mul(lax::unary(sign_p, x), y);
            return lax::mul(d, lax::sub(lax::unary(i1e_p, x), falling));
          }>("i0e", Cost::heavy);

const Primitive i1e_p =
    unary<i1e_p, Accepts::floats,
          [](auto x) { return static_cast<decltype(x)>(host::scaled_bessel(1, x)); }, math::i1e,
          [](const Array& x, const Array& y, const Array& d) {
            const Array ratio = i1e_quotient(x, y);
            const Array falling = lax::add(ratio, lax::mul(lax::unary(sign_p, x), y));
            return lax::mul(d, lax::sub(lax::unary(i0e_p, x), falling));
          }>("i1e", Cost::heavy);

const Primitive i0_p =
    unary<i0_p, Accepts::floats,
          [](auto x) { return static_cast<decltype(x)>(host::bessel(0, x)); }, math::i0,
          [](const Array& x, const Array&, const Array& d) {
            return lax::mul(d, lax::unary(i1_p, x));
          }>("i0", Cost::heavy);

const Primitive i1_p =
    unary<i1_p, Accepts::floats,
          [](auto x) { return static_cast<decltype(x)>(host::bessel(1, x)); }, math::i1,
          [](const Array& x, const Array&, const Array& d) {
            // I0 - I1 / x = I0 (1 - (I1 / x) / I0): nothing is subtracted from an infinity.
            const Array within =
                emit1(clamp_p, {}, {lax::full_like(x, -1e4), x, lax::full_like(x, 1e4)}, {});
            const Array ratio = lax::div(i1e_quotient(within, lax::unary(i1e_p, within)),
                                         lax::unary(i0e_p, within));
            return lax::mul(d, lax::mul(lax::unary(i0_p, x), lax::sub_from(1, ratio)));
          }>("i1", Cost::heavy);

const Primitive polygamma_p{
    .name = "polygamma",
    .parse = parse_params<OrderParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const int n = order_of(params);
          // One more than the public operation takes, so that all of those can be differentiated.
          if (n < 1 || n > math::max_polygamma_order + 1)
            usage_error("polygamma",
                        "order " + std::to_string(n) + " is not between 1 and " +
                            std::to_string(math::max_polygamma_order + 1) +
                            "; differentiate fewer times",
                        loc);
          return std::vector<Aval>{elementwise_aval("polygamma", in, 1, Accepts::floats, loc)};
        },
    .jvp =
        [](const Params& params, const Arrays& in, const Arrays&, const Tangents& d) {
          return Tangents{lax::mul(*d[0], polygamma(order_of(params) + 1, in[0]))};
        },
    .transpose = not_linear<polygamma_p>,
    .batch = batch_elementwise<polygamma_p>,
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          return math::polygamma(c.k, order_of(params), c.operand(0, i));
        },
        Cost::heavy),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          host::dispatch(out[0].dtype, "polygamma", [&]<class T>() {
            if constexpr (host::is_real<T>)
              for (Dim i = 0; i < r.size(); ++i) {
                const auto x = static_cast<host::Computed<T>>(host::get<T>(in[0], i));
                host::put<T>(r, i, static_cast<T>(host::polygamma(order_of(params), x)));
              }
          });
          return std::vector<HostArray>{std::move(r)};
        },
};

// ---- the public functions

using elementwise::unary_float;

Array lgamma(Operand x) { return unary_float("lgamma", lgamma_p, x); }
Array digamma(Operand x) { return unary_float("digamma", digamma_p, x); }
Array polygamma(int n, Operand x) {
  if (n == 0) return unary_float("polygamma", digamma_p, x);
  if (n < 0 || n > math::max_polygamma_order)
    usage_error("polygamma",
                "order " + std::to_string(n) + " is not between 0 and " +
                    std::to_string(math::max_polygamma_order) +
                    "; higher derivatives leave the range of f32",
                x.loc());
  return unary_float("polygamma", polygamma_p, x, OrderParams{n});
}
Array i0e(Operand x) { return unary_float("i0e", i0e_p, x); }
Array i1e(Operand x) { return unary_float("i1e", i1e_p, x); }
Array i0(Operand x) { return unary_float("i0", i0_p, x); }
Array i1(Operand x) { return unary_float("i1", i1_p, x); }

}  // namespace gnomon
