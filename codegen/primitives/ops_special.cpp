// codegen/primitives/ops_special.cpp -- special functions with the conveniences of the public API.
#include "codegen/primitives/align.h"
#include "codegen/primitives/special.h"
#include "gnomon/error.h"
#include "gnomon/special.h"
#include "shaders/math/special.h"

namespace gnomon {
namespace {

Array unary(std::string_view op, const Primitive& p, const Operand& x, Params params = {}) {
  return emit1(p, std::move(params), {align::as_float(op, x)}, x.loc());
}

}  // namespace

Array lgamma(Operand x) { return unary("lgamma", lgamma_p, x); }
Array digamma(Operand x) { return unary("digamma", digamma_p, x); }

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
