// codegen/primitives/special.cpp -- the gamma function's logarithm and its derivatives.
#include "codegen/primitives/special.h"

#include <cmath>

#include "codegen/primitives/families.h"
#include "codegen/primitives/special_host.h"
#include "shaders/math/special.h"

namespace gnomon {
using namespace rules;

namespace {

int order_of(const Params& params) { return params.as<OrderParams>().order; }

Array polygamma(int order, const Array& x) {
  return emit1(polygamma_p, OrderParams{order}, {x}, {});
}

}  // namespace

const Primitive lgamma_p =
    unary<lgamma_p, Accepts::floats, [](auto x) { return std::lgamma(x); }, math::lgamma,
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
            // y / x tends to 1 / 2 at 0.
            const Array zero = lax::eq(x, lax::zeros_like(x)), half = lax::full_like(x, 0.5);
            const Array safe = lax::select(zero, lax::full_like(x, 1), x);
            const Array ratio = lax::select(zero, half, lax::div(y, safe));
            const Array falling = lax::add(ratio, lax::mul(lax::unary(sign_p, x), y));
            return lax::mul(d, lax::sub(lax::unary(i0e_p, x), falling));
          }>("i1e", Cost::heavy);

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

}  // namespace gnomon
