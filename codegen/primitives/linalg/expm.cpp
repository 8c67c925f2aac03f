// codegen/primitives/linalg/expm.cpp -- table entries of the matrix exponential and its derivative.
#include <array>
#include <cmath>

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/jacobi.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

/// Matrices up to this size take their squarings lane by lane.
constexpr Dim squared_in_lanes = 16;

/// Norm up to which the approximant is exact to the unit roundoff: degree 13 for f64, 7 for f32,
/// by the bound of table 2.3 with the roundoff of the type.
double reach(DType t) { return t == DType::f64 ? 5.371920351148152 : 3.925724783138660; }

/// Largest column sum of magnitudes.
Array one_norm(const Array& a) {
  const Array sums = lax::sum(magnitude(a), {a.rank() - 2});
  return emit1(reduce_max_p, AxesParams{{sums.rank() - 1}}, {sums}, {});
}

/// The approximant p(a) / p(-a) of matrices of norm up to `reach`.
Array approximant(const Array& a) {
  const Term id = identity(a.dtype(), batch_of(a), rows(a));
  const Term a2 = product(a, a), a4 = product(a2, a2), a6 = product(a4, a2);
  Term odd, even;
  // Coefficients are divided by the first one: f32 holds the products then.
  if (a.dtype() == DType::f32) {
    constexpr std::array<double, 8> b{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
    const auto c = [&](std::size_t i) { return b[i] / b[0]; };
    odd = a6 * c(7) + a4 * c(5) + a2 * c(3) + id * c(1);
    even = a6 * c(6) + a4 * c(4) + a2 * c(2) + id;
  } else {
    constexpr std::array<double, 14> b{64764752532480000,
                                       32382376266240000,
                                       7771770303897600,
                                       1187353796428800,
                                       129060195264000,
                                       10559470521600,
                                       670442572800,
                                       33522128640,
                                       1323241920,
                                       40840800,
                                       960960,
                                       16380,
                                       182,
                                       1};
    const auto c = [&](std::size_t i) { return b[i] / b[0]; };
    const Term high_odd = a6 * c(13) + a4 * c(11) + a2 * c(9);
    const Term high_even = a6 * c(12) + a4 * c(10) + a2 * c(8);
    odd = Term(product(a6, high_odd)) + a6 * c(7) + a4 * c(5) + a2 * c(3) + id * c(1);
    even = Term(product(a6, high_even)) + a6 * c(6) + a4 * c(4) + a2 * c(2) + id;
  }
  const Term u = product(a, odd);
  return emit1(solve_p, SolveParams{}, {even - u, u + even}, {});
}

/// r squared `times` times, a number per matrix.
Array squared(const Array& r, const Array& times, Dim most) {
  const Shape batch = batch_of(r);
  const bool by_lane = batch.rank() == 1 && rows(r) <= squared_in_lanes;
  const auto wanted = [](const Array& left) { return exceeds(left, 0); };
  const auto open = [&](const Arrays& c) -> Array {
    const Array any = wanted(c[1]);
    if (by_lane || batch.rank() == 0) return any;
    std::vector<int> axes;
    for (int i = 0; i < batch.rank(); ++i) axes.push_back(i);
    return emit1(reduce_max_p, AxesParams{axes}, {any}, {});
  };
  const auto body = [&](const Arrays& c) {
    const Array square = product(c[0], c[0]);
    const bool all = by_lane || batch.rank() == 0;
    return Arrays{all ? square : choose(spread(wanted(c[1]), r.shape()), square, c[0]).a,
                  lax::add(c[1], -1)};
  };
  return repeat_while(most, {r, times}, by_lane ? batch : Shape{}, open, body)[0];
}

/// Squarings go up to `most`; what needs more is not squared enough.
Array exponential(const Array& a, Dim most) {
  const Array norm = one_norm(a);
  const double theta = reach(a.dtype());
  Term scale = lax::full_like(norm, 1);
  Term times = lax::full({DType::i32, norm.shape()}, 0);
  for (Dim s = 1; s <= most; ++s) {
    const auto power = static_cast<int>(s);
    const Array more = exceeds(norm, theta * std::ldexp(1.0, power - 1));
    scale = choose(more, number_like(scale, std::ldexp(1.0, -power)), scale);
    times = choose(more, number_like(times, static_cast<double>(s)), times);
  }
  const Array r = approximant(lax::mul(a, spread(scale, a.shape())));
  return most == 0 ? r : squared(r, times, most);
}

/// NaN where `a` is out of reach of so many squarings.
Array where_in_reach(const Array& a, const Array& result, Dim most) {
  const double limit = reach(a.dtype()) * std::ldexp(1.0, static_cast<int>(most));
  const Array outside = exceeds(one_norm(a), limit);
  return choose(spread(outside, result.shape()), lax::full_like(result, nan), result);
}

std::vector<Array> expand_expm(const Params& params, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  if (a.size() == 0) return {a};
  const Dim most = params.as<ExpmParams>().max_squarings;
  return {where_in_reach(a, exponential(a, most), most)};
}

/// [[a, e], [0, a]].
Array twice(const Array& a, const Array& e) { return blocks(a, e, lax::zeros_like(a), a); }
Array top_right(const Array& a) {
  const Dim n = rows(a) / 2;
  return block(a, 0, n, n, 2 * n);
}

std::vector<Array> expand_tangent(const Params& params, const Arrays& in, const Target&, Loc) {
  const Array &a = in[0], &e = in[1];
  if (a.size() == 0) return {a};
  // Directions of elements near 1: they add little to the norm, and to the squarings.
  const Scaled s = scaled(e);
  const Dim most = params.as<ExpmParams>().max_squarings;
  constexpr Dim more = 16;
  const Array moved = top_right(exponential(twice(a, s.a), most + more));
  return {where_in_reach(a, lax::mul(moved, spread(s.factor, moved.shape())), most)};
}

// ---- host

Dense times(const Dense& a, const Dense& b) {
  Dense c(a.rows(), b.columns());
  for (Dim i = 0; i < c.rows(); ++i)
    for (Dim k = 0; k < a.columns(); ++k)
      for (Dim j = 0; j < c.columns(); ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
double one_norm_on_host(const Dense& a) {
  double r = 0;
  for (Dim j = 0; j < a.columns(); ++j) {
    double sum = 0;
    for (Dim i = 0; i < a.rows(); ++i) sum += std::fabs(a(i, j));
    r = std::isnan(sum) ? sum : std::max(r, sum);
  }
  return r;
}

/// Taylor's series of a scaled matrix.
Dense exponential_on_host(Dense a) {
  const Dim n = a.rows();
  int halvings = 0;
  for (double norm = one_norm_on_host(a); norm > 0.25 && halvings < 1100; norm /= 2) ++halvings;
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j) a(i, j) = std::ldexp(a(i, j), -halvings);
  Dense sum = Dense::identity(n), term = sum;
  for (int k = 1; k <= 16; ++k) {
    term = times(term, a);
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j < n; ++j) sum(i, j) += term(i, j) /= k;
  }
  for (int k = 0; k < halvings; ++k) sum = times(sum, sum);
  return sum;
}

std::vector<HostArray> on_host(const Params& params, const Aval& out,
                               std::span<const HostArray> in) {
  HostArray r(out);
  const auto most = static_cast<int>(params.as<ExpmParams>().max_squarings);
  for (Dim b = 0; r.size() > 0 && b < host::matrices(out); ++b) {
    const Dense a = host::matrix_at(in[0], b);
    const Dim n = a.rows();
    Dense f(n, n);
    const bool reached = !(one_norm_on_host(a) > reach(out.dtype) * std::ldexp(1.0, most));
    if (in.size() == 1) {
      f = exponential_on_host(a);
    } else {
      const Dense e = host::matrix_at(in[1], b);
      Dense both(2 * n, 2 * n);
      for (Dim i = 0; i < n; ++i)
        for (Dim j = 0; j < n; ++j) {
          both(i, j) = both(n + i, n + j) = a(i, j);
          both(i, n + j) = e(i, j);
        }
      const Dense whole = exponential_on_host(both);
      for (Dim i = 0; i < n; ++i)
        for (Dim j = 0; j < n; ++j) f(i, j) = whole(i, n + j);
    }
    for (Dim i = 0; i < n && !reached; ++i)
      for (Dim j = 0; j < n; ++j) f(i, j) = nan;
    host::put_matrix(r, b, f);
  }
  return {std::move(r)};
}
std::vector<HostArray> reference_expm(const Params& params, std::span<const Aval> out,
                                      std::span<const HostArray> in) {
  return on_host(params, out[0], in);
}

}  // namespace
}  // namespace linalg

/// Scaling and squaring. Source: Higham, The scaling and squaring method for the matrix exponential
/// revisited (2005), algorithm 2.3 with one degree per type.
const Primitive expm_p{
    .name = "expm",
    .parse = parse_params<ExpmParams>,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("expm", in, 1, loc);
      linalg::require_square("expm", in[0], loc);
      return {in[0]};
    },
    .jvp = [](const Params& params, const Arrays& in, const Arrays&,
              const Tangents& d) -> Tangents {
      return {emit1(expm_tangent_p, params, {in[0], *d[0]}, {})};
    },
    .transpose = rules::not_linear<expm_p>,
    .batch = linalg::batch_in_front<expm_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_expm>),
    .reference = linalg::reference_expm,
};

/// The derivative L(a, e) of the exponential at a in direction e is the upper right block of
/// exp [[a, e], [0, a]]; its transpose in e is that of the transposed a. Source: Higham, Functions
/// of Matrices (2008), theorem 3.6 and section 3.1.
const Primitive expm_tangent_p{
    .name = "expm_tangent",
    .parse = parse_params<ExpmParams>,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("expm_tangent", in, 2, loc);
      linalg::require_system("expm_tangent", in[0], in[1], true, loc);
      linalg::require_square("expm_tangent", in[1], loc);
      return {in[1]};
    },
    .jvp = [](const Params& params, const Arrays& in, const Arrays&,
              const Tangents& d) -> Tangents {
      std::optional<Array> side;
      if (d[1]) side = emit1(expm_tangent_p, params, {in[0], *d[1]}, {});
      if (d[0]) {
        const Array whole = linalg::twice(in[0], in[1]);
        const Array moved = linalg::twice(*d[0], lax::zeros_like(*d[0]));
        const Array bent = linalg::top_right(emit1(expm_tangent_p, params, {whole, moved}, {}));
        side = side ? lax::add(*side, bent) : bent;
      }
      return {*side};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      if (t.linear[0]) rules::throw_not_linear("expm_tangent");
      Tangents r(2);
      if (t.cotangents[0])
        r[1] = emit1(expm_tangent_p, t.params, {transposed(t.inputs[0]), *t.cotangents[0]}, {});
      return r;
    },
    .batch = linalg::batch_in_front<expm_tangent_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_tangent>),
    .reference = linalg::reference_expm,
};

}  // namespace gnomon
