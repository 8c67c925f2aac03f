// codegen/primitives/elementwise/compare.cpp -- comparisons, tests of floats, and choosing between
// arrays.
#include <cmath>

#include "codegen/primitives/families.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Op;
using kernel::Value;

const Primitive eq_p =
    comparison<eq_p, Accepts::any, [](auto a, auto b) { return a == b; }, Op::eq>("eq");
const Primitive ne_p =
    comparison<ne_p, Accepts::any, [](auto a, auto b) { return a != b; }, Op::ne>("ne");
const Primitive lt_p =
    comparison<lt_p, Accepts::numbers, [](auto a, auto b) { return a < b; }, Op::lt>("lt");
const Primitive le_p =
    comparison<le_p, Accepts::numbers, [](auto a, auto b) { return a <= b; }, Op::le>("le");
const Primitive gt_p =
    comparison<gt_p, Accepts::numbers, [](auto a, auto b) { return b < a; }, Op::gt>("gt");
const Primitive ge_p =
    comparison<ge_p, Accepts::numbers, [](auto a, auto b) { return b <= a; }, Op::ge>("ge");

namespace {
Value k_isfinite(Builder& k, Value x) {
  return k.unary(Op::bnot, k.lor(k.unary(Op::is_nan, x), k.unary(Op::is_inf, x)));
}
}  // namespace

const Primitive isnan_p =
    predicate<isnan_p, Accepts::floats, [](auto a) { return std::isnan(a); }, k_unary<Op::is_nan>>(
        "isnan");
const Primitive isfinite_p =
    predicate<isfinite_p, Accepts::floats, [](auto a) { return std::isfinite(a); }, k_isfinite>(
        "isfinite");

/// Both sides are evaluated; the predicate picks per element.
const Primitive select_p{
    .name = "select",
    .parse = no_params,
    .shape =
        [](const Params&, std::span<const Aval> in, Loc loc) {
          require_operands("select", in, 3, loc);
          require_equal("select", in.subspan(1), loc);
          if (in[0].dtype != DType::boolean || in[0].shape != in[1].shape)
            usage_error("select",
                        "the predicate must be " + to_string(DType::boolean, in[1].shape) +
                            ", got " + to_string(in[0]),
                        loc);
          return std::vector<Aval>{in[1]};
        },
    .jvp =
        [](const Params&, const Arrays& in, const Arrays& out, const Tangents& d) {
          if (!d[1] && !d[2]) return Tangents(1);
          const Array a = d[1] ? *d[1] : lax::zeros_like(out[0]),
                      b = d[2] ? *d[2] : lax::zeros_like(out[0]);
          return Tangents{lax::select(in[0], a, b)};
        },
    .transpose =
        [](const TransposeArgs& t) {
          if (t.linear[0]) throw_not_linear("select");
          Tangents r(3);
          if (!t.cotangents[0]) return r;
          const Array zero = lax::zeros_like(*t.cotangents[0]);
          if (t.linear[1]) r[1] = lax::select(t.inputs[0], *t.cotangents[0], zero);
          if (t.linear[2]) r[2] = lax::select(t.inputs[0], zero, *t.cotangents[0]);
          return r;
        },
    .batch = batch_elementwise<select_p>,
    .lower =
        Lowering::per_element([](ElementContext& c, const Params&, std::size_t, const Index& i) {
          const Value p = c.operand(0, i), a = c.operand(1, i);
          return c.k.select(p, a, c.operand(2, i));
        }),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          for (Dim i = 0; i < r.size(); ++i)
            host::copy_element(r, i, in[host::get<bool>(in[0], i) ? 1 : 2], i);
          return std::vector<HostArray>{std::move(r)};
        },
};

/// clamp(lo, x, hi) = min(max(x, lo), hi), NaN-propagating; x has the derivative 1 strictly inside
/// only.
const Primitive clamp_p{
    .name = "clamp",
    .parse = no_params,
    .shape = same_shape<clamp_p, Accepts::numbers, 3>,
    .jvp =
        [](const Params&, const Arrays& in, const Arrays&, const Tangents& d) {
          const Array &lo = in[0], &x = in[1], &hi = in[2];
          const Array passes[] = {lax::logical_and(lax::lt(x, lo), lax::lt(lo, hi)),
                                  lax::logical_and(lax::lt(lo, x), lax::lt(x, hi)),
                                  lax::lt(hi, emit1(max_p, {}, {x, lo}, {}))};
          std::optional<Array> sum;
          for (std::size_t i = 0; i < 3; ++i) {
            if (!d[i]) continue;
            const Array term = lax::select(passes[i], *d[i], lax::zeros_like(*d[i]));
            sum = sum ? lax::add(*sum, term) : term;
          }
          return Tangents{sum};
        },
    .transpose = not_linear<clamp_p>,
    .batch = batch_elementwise<clamp_p>,
    .lower =
        Lowering::per_element([](ElementContext& c, const Params&, std::size_t, const Index& i) {
          const Value lo = c.operand(0, i), x = c.operand(1, i);
          return math::minimum_nan(c.k, math::maximum_nan(c.k, x, lo), c.operand(2, i));
        }),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          host::dispatch(out[0].dtype, "clamp", [&]<class T>() {
            for (Dim i = 0; i < r.size(); ++i)
              host::put(r, i,
                        host::smaller(host::larger(host::get<T>(in[1], i), host::get<T>(in[0], i)),
                                      host::get<T>(in[2], i)));
          });
          return std::vector<HostArray>{std::move(r)};
        },
};

}  // namespace gnomon
