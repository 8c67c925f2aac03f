// codegen/primitives/ops_special.cpp -- special functions with the conveniences of the public API.
#include <array>

#include "codegen/primitives/align.h"
#include "codegen/primitives/lax.h"
#include "codegen/primitives/special.h"
#include "gnomon/error.h"
#include "gnomon/special.h"
#include "shaders/math/special.h"

namespace gnomon {
namespace {

Array unary(std::string_view op, const Primitive& p, const Operand& x, Params params = {}) {
  return emit1(p, std::move(params), {align::as_float(op, x)}, x.loc());
}

Array binary(std::string_view op, const Primitive& p, const Operand& a, const Operand& x) {
  const std::array both{a, x};
  const DType t = align::float_dtype(align::common_dtype(op, both));
  return emit1(p, {}, align::aligned(op, both, t), a.loc());
}

}  // namespace

Array lgamma(Operand x) { return unary("lgamma", lgamma_p, x); }
Array digamma(Operand x) { return unary("digamma", digamma_p, x); }

Array gammainc(Operand a, Operand x) { return binary("gammainc", gammainc_p, a, x); }
Array gammaincc(Operand a, Operand x) { return binary("gammaincc", gammaincc_p, a, x); }
Array igamma_grad_a(Operand a, Operand x) { return binary("igamma_grad_a", gammainc_da_p, a, x); }
Array random_gamma_grad(Operand a, Operand x) {
  const Array slope = binary("random_gamma_grad", gammainc_da_p, a, x);
  const Array density = binary("random_gamma_grad", gamma_density_p, a, x);
  return lax::neg(lax::div(slope, density, a.loc()), a.loc());
}

Array betaln(Operand a, Operand b) { return binary("betaln", betaln_p, a, b); }
Array betainc(Operand a, Operand b, Operand x) {
  const std::array all{a, b, x};
  const DType t = align::float_dtype(align::common_dtype("betainc", all));
  return emit1(betainc_p, {}, align::aligned("betainc", all, t), a.loc());
}

Array i0e(Operand x) { return unary("i0e", i0e_p, x); }
Array i1e(Operand x) { return unary("i1e", i1e_p, x); }

Array i0(Operand x) { return unary("i0", i0_p, x); }
Array i1(Operand x) { return unary("i1", i1_p, x); }

Array polygamma(int n, Operand x) {
  if (n == 0) return unary("polygamma", digamma_p, x);
  if (n < 0 || n > math::max_polygamma_order)
    usage_error("polygamma",
                "order " + std::to_string(n) + " is not between 0 and " +
                    std::to_string(math::max_polygamma_order) +
                    "; higher derivatives leave the range of f32",
                x.loc());
  return unary("polygamma", polygamma_p, x, OrderParams{n});
}

}  // namespace gnomon
