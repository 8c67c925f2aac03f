// codegen/primitives/linalg/pinv.cpp -- table entry of pinv, made of svd with a derivative of its
// own.
#include <algorithm>

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

std::vector<Array> expand_pinv(const Params& params, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  if (a.size() == 0) return {transposed(a)};
  const Arrays f = emit(svd_p, {}, {a}, {});
  const Array &u = f[0], &s = f[1], &vt = f[2];
  const int axis = s.rank() - 1;
  const Term top = spread(lax::reshape(lax::slice_axis(s, axis, 0, 1), batch_of(a)), s.shape());
  const Array counts = exceeds(s, top * params.as<PinvParams>().rtol);
  const Term scale = choose(counts, 1.0 / choose(counts, s, number_like(s, 1)), number_like(s, 0));
  return {product(lax::mul(vt, as_columns(scale, columns(vt))), u, true, true)};
}

/// As the expansion, from the reference of svd.
std::vector<HostArray> reference_pinv(const Params& params, std::span<const Aval> out,
                                      std::span<const HostArray> in) {
  HostArray r(out[0]);
  if (r.size() == 0) return {std::move(r)};
  HostArray wide(Aval{DType::f64, in[0].aval.shape});
  for (Dim i = 0; i < wide.size(); ++i) wide.set_number(i, in[0].number(i));
  const std::vector<Aval> avals = svd_p.shape(Params(), std::span(&wide.aval, 1), Loc{});
  const std::vector<HostArray> f =
      svd_p.reference(Params(), avals, std::span<const HostArray>(&wide, 1));
  for (Dim b = 0; b < host::matrices(out[0]); ++b) {
    const Dense u = host::matrix_at(f[0], b), vt = host::matrix_at(f[2], b);
    const Dim k = u.columns();
    Dense p(vt.columns(), u.rows());
    for (Dim l = 0; l < k; ++l) {
      const double s = f[1].number(b * k + l);
      if (!(s > params.as<PinvParams>().rtol * f[1].number(b * k))) continue;
      for (Dim i = 0; i < p.rows(); ++i)
        for (Dim j = 0; j < p.columns(); ++j) p(i, j) += vt(l, i) * u(j, l) / s;
    }
    host::put_matrix(r, b, p);
  }
  return {std::move(r)};
}

}  // namespace
}  // namespace linalg

/// Derivative for constant rank:
/// dp = -p da p + p p^T da^T (1 - a p) + (1 - p a) da^T p^T p; Golub and Pereyra (1973), 4.12.
const Primitive pinv_p{
    .name = "pinv",
    .parse = parse_params<PinvParams>,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("pinv", in, 1, loc);
      linalg::require_matrix("pinv", in[0], loc);
      const Shape& s = in[0].shape;
      const int r = s.rank();
      return {{in[0].dtype, extended(s.part(0, r - 2), {s[r - 1], s[r - 2]})}};
    },
    .jvp = [](const Params&, const Arrays& in, const Arrays& out, const Tangents& d) -> Tangents {
      const Array &a = in[0], &p = out[0], &da = *d[0];
      const Array moved = product(da, p);
      const Term first = product(p, moved);
      const Term left = product(p, moved, false, true);  // p p^T da^T
      const Term second = left - product(product(left, a), p);
      const Term right = product(product(da, p, true, true), p);  // da^T p^T p
      const Term third = right - product(p, product(a, right));
      return {second + third - first};
    },
    .transpose = rules::not_linear<pinv_p>,
    .batch = linalg::batch_in_front<pinv_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_pinv>),
    .reference = linalg::reference_pinv,
};

}  // namespace gnomon
