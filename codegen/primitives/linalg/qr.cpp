// codegen/primitives/linalg/qr.cpp -- table entry of qr, by Householder's reflections.
#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

/// Up to here reflections are applied one by one; beyond in panels.
constexpr Dim one_by_one = 64;

// A reflection is I - tau v v^T with v zero above its own row and one there. For a column with
// nothing below its own row tau is zero, as in LAPACK's larfg.

Reduced tiny_qr(const Array& a, Dim width) {
  Elements r = elements(a);
  const std::size_t m = r.size(), n = r[0].size(), k = std::min(m, n);
  const Term like = r[0][0], zero = number_like(like, 0), one = number_like(like, 1);
  std::vector<std::vector<Term>> vs;
  std::vector<Term> taus;
  const auto apply = [&](Elements& x, std::size_t j, std::size_t from) {
    for (std::size_t c = from; c < x[0].size(); ++c) {
      Term dot = x[j][c];
      for (std::size_t i = j + 1; i < m; ++i) dot = dot + vs[j][i] * x[i][c];
      dot = dot * taus[j];
      x[j][c] = x[j][c] - dot;
      for (std::size_t i = j + 1; i < m; ++i) x[i][c] = x[i][c] - dot * vs[j][i];
    }
  };
  for (std::size_t j = 0; j < k; ++j) {
    std::vector<Term> v(m, zero);
    v[j] = one;
    if (j + 1 == m) {
      vs.push_back(v);
      taus.push_back(zero);
      continue;
    }
    Term below = zero;
    for (std::size_t i = j + 1; i < m; ++i) below = below + r[i][j] * r[i][j];
    const Array nothing = equals(below, 0);
    const Term alpha = r[j][j];
    const Term beta = -(sign_of(alpha) * square_root(alpha * alpha + below));
    const Term safe = choose(nothing, one, beta), reach = choose(nothing, one, alpha - beta);
    taus.push_back(choose(nothing, zero, (safe - alpha) / safe));
    for (std::size_t i = j + 1; i < m; ++i) v[i] = r[i][j] / reach;
    vs.push_back(v);
    r[j][j] = choose(nothing, alpha, beta);
    for (std::size_t i = j + 1; i < m; ++i) r[i][j] = zero;
    apply(r, j, j + 1);
  }
  Elements q(m, std::vector<Term>(static_cast<std::size_t>(width), zero));
  for (std::size_t i = 0; i < q[0].size(); ++i) q[i][i] = one;
  for (std::size_t j = k; j-- > 0;) apply(q, j, j);
  r.resize(static_cast<std::size_t>(width));
  return {matrix_of(q), matrix_of(r)};
}

/// Reflections of the columns of a[.., m, w] whose own rows are first, first + 1, ...
struct Reflections {
  Array r;     // the columns after them
  Array v;     // [.., m, w]
  Array taus;  // [.., w]
};
Reflections reflect(const Array& a, const Array& first) {
  const Dim m = rows(a), w = columns(a);
  const Shape column_shape = extended(batch_of(a), {m}), tau_shape = extended(batch_of(a), {w});
  const std::vector<int> last{column_shape.rank() - 1};
  const auto body = [&](const Array& j, const Arrays& state) {
    const Array& x = state[0];
    const Array row = lax::iota(DType::i32, column_shape, column_shape.rank() - 1);
    const Array tau_index = lax::iota(DType::i32, tau_shape, tau_shape.rank() - 1);
    const Array own = spread(lax::add(first, j), column_shape);
    const Term column = column_at(x, j), zero = number_like(column, 0);
    const Array is_own = lax::eq(row, own), is_below = exceeds(row, own);
    const Term alpha = lax::sum(choose(is_own, column, zero), last);
    const Term rest = choose(is_below, column, zero);
    const Term below = lax::sum(rest * rest, last);
    const Array nothing = equals(below, 0);
    const Term one = number_like(alpha, 1);
    const Term beta =
        choose(nothing, alpha, -(sign_of(alpha) * square_root(alpha * alpha + below)));
    const Term safe = choose(nothing, one, beta), reach = choose(nothing, one, alpha - beta);
    const Term tau = choose(nothing, number_like(alpha, 0), (safe - alpha) / safe);
    const Term v = choose(is_own, number_like(column, 1), rest / spread(reach, column_shape));
    // v^T x for the columns behind; column j becomes beta and zeros.
    const Array v_columns = as_columns(v, w);
    const Term along = lax::sum(Term(v_columns) * x, {x.rank() - 2});
    const Term scaled = along * spread(tau, tau_shape);
    const Term updated = Term(x) - Term(v_columns) * as_rows(scaled, m);
    const Array at = column_index(x.shape()), here = spread(j, x.shape());
    const Array made = choose(is_own, spread(beta, column_shape), choose(is_below, zero, column));
    const Array next =
        choose(exceeds(at, here), updated, choose(lax::eq(at, here), as_columns(made, w), x));
    const Array mine = lax::eq(tau_index, spread(j, tau_shape));
    const Array own_column = lax::reshape(v.a, extended(column_shape, {1}));
    return Arrays{next, with_block(state[1], own_column, lax::zeros_like(j), j),
                  choose(mine, spread(tau, tau_shape), state[2])};
  };
  const Arrays r = repeat(w, {a, lax::zeros_like(a), lax::full({a.dtype(), tau_shape}, 0)}, body);
  return {r[0], r[1], r[2]};
}

/// The product of reflections is I - V T V^T with T^-1 = strict upper(V^T V) + diag(1 / tau);
/// Puglisi, Modification of the Householder method based on the compact WY representation (1992).
/// T as it stands here is made from taus that may be zero: diag(tau) times the inverse of
/// I + strict upper(V^T V) diag(tau) has no division.
Array compact(const Reflections& h) {
  const Array gram = product(h.v, h.v, true);
  const Array scaled = lax::mul(upper_part(gram, 1), as_rows(h.taus, columns(gram)));
  // The inverse of a unit upper triangular matrix by way of its transpose.
  const Array unit = transposed(inverse_of_lower(transposed(scaled), true));
  return lax::mul(as_columns(h.taus, columns(gram)), unit);
}

/// (I - V T V^T) x, or with T^T: the product of the reflections, or its transpose, on x.
Array applied(const Array& v, const Array& t, const Array& x, bool transpose) {
  return lax::sub(x, product(v, product(t, product(v, x, true), transpose)));
}

/// The first `width` columns of the identity of m rows.
Array first_columns(const Array& like, Dim width) {
  return padded(identity(like.dtype(), batch_of(like), width), rows(like), width);
}

Reduced qr_one_by_one(const Array& a, Dim width) {
  const Dim k = std::min(rows(a), columns(a));
  const Array zero = lax::scalar_integer(DType::i32, 0);
  const Reflections h = reflect(column_range(a, 0, k), zero);
  const Array t = compact(h);
  const Array q = applied(h.v, t, first_columns(a, width), false);
  Array r = h.r;
  if (columns(a) > k) {
    const Array rest = applied(h.v, t, column_range(a, k, columns(a)), true);
    r = lax::concatenate({r, rest}, a.rank() - 1);
  }
  return {q, upper_part(row_range(r, 0, width))};
}

/// Reflections on the rows from `offset` on, panel by panel: the product of those of a panel
/// is I - Y V^T with Y = V T, see `compact`.
struct Reflected {
  Array v, y;  // panels side by side
  Dim offset = 0;

  /// The product of all reflections, or its transpose, on x.
  Array on(const Array& x, bool transpose) const {
    const Array own = row_range(x, offset, rows(x));
    const Dim m = rows(own), count = columns(v) / panel;
    const Array moved = repeat(count, {own}, [&](const Array& step, const Arrays& state) {
      const Array at = transpose ? step : lax::sub_from(static_cast<double>(count - 1), step);
      const Array first = lax::mul(at, static_cast<double>(panel)), zero = lax::zeros_like(first);
      const Array of_v = block_at(v, zero, first, m, panel);
      const Array of_y = block_at(y, zero, first, m, panel);
      return Arrays{transpose ? reflected(of_v, of_y, state[0]) : reflected(of_y, of_v, state[0])};
    })[0];
    return offset == 0 ? moved : lax::concatenate({row_range(x, 0, offset), moved}, x.rank() - 2);
  }

  /// (I - a b^T) x.
  static Array reflected(const Array& a, const Array& b, const Array& x) {
    return lax::sub(x, product(a, product(b, x, true)));
  }
};

/// Reflects all columns of a, m >= n, panel by panel; each panel is applied to all columns by two
/// products: those in front of it are zero where it reflects. The reflections, and the columns
/// after them.
std::pair<Reflected, Array> reflect_panels(const Array& a, Dim offset) {
  const Dim m = rows(a), n = columns(a), count = (n + panel - 1) / panel, size = count * panel;
  // Columns of zeros behind the last one reflect nothing; rows of zeros give them room.
  const Dim height = std::max(m, size);
  const Array start = padded(a, height, size), none = lax::zeros_like(start);
  const Arrays f = repeat(count, {start, none, none}, [&](const Array& step, const Arrays& state) {
    const Array first = lax::mul(step, static_cast<double>(panel)), zero = lax::zeros_like(first);
    const Reflections h = reflect(block_at(state[0], zero, first, height, panel), first);
    const Array y = product(h.v, compact(h));
    const Array moved = Reflected::reflected(h.v, y, state[0]);
    return Arrays{with_block(moved, h.r, zero, first), with_block(state[1], h.v, zero, first),
                  with_block(state[2], y, zero, first)};
  });
  return {{row_range(f[1], 0, m), row_range(f[2], 0, m), offset}, block(f[0], 0, m, 0, n)};
}

/// The left half of the columns first, which then reflects the right one; what is below it is a
/// smaller problem of the same kind.
void reflect_halves(const Array& a, Dim offset, std::vector<Reflected>& done, Arrays& tops) {
  const Dim m = rows(a), n = columns(a);
  if (n <= by_panels) {
    auto [p, r] = reflect_panels(a, offset);
    done.push_back(std::move(p));
    tops.push_back(row_range(r, 0, n));
    return;
  }
  const Dim h = (n / 2 + panel - 1) / panel * panel;
  Arrays left;
  std::vector<Reflected> own;
  reflect_halves(column_range(a, 0, h), 0, own, left);
  Array right = column_range(a, h, n);
  for (const Reflected& p : own) right = p.on(right, true);
  for (Reflected& p : own) {
    p.offset += offset;
    done.push_back(std::move(p));
  }
  // Rows of r from the left half reach over the right one.
  Dim row = 0;
  for (const Array& top : left) {
    tops.push_back(lax::concatenate({top, row_range(right, row, row + rows(top))}, a.rank() - 1));
    row += rows(top);
  }
  const Array below = row_range(right, h, m);
  Arrays rest;
  reflect_halves(below, offset + h, done, rest);
  for (const Array& top : rest) {
    const Shape front = extended(batch_of(a), {rows(top), n - columns(top)});
    tops.push_back(lax::concatenate({lax::full({a.dtype(), front}, 0), top}, a.rank() - 1));
  }
}

Reduced qr_by_panels(const Array& a, Dim width) {
  const Dim m = rows(a), k = std::min(m, columns(a));
  std::vector<Reflected> done;
  Arrays tops;
  reflect_halves(column_range(a, 0, k), 0, done, tops);
  Array r = padded(lax::concatenate(tops, a.rank() - 2), width, k);
  if (columns(a) > k) {
    Array rest = column_range(a, k, columns(a));
    for (const Reflected& p : done) rest = p.on(rest, true);
    r = lax::concatenate({r, row_range(rest, 0, width)}, a.rank() - 1);
  }
  Array q = first_columns(a, width);
  for (auto p = done.rbegin(); p != done.rend(); ++p) {
    // Columns of the identity in front of the panel's own rows are zero there.
    const Array left = column_range(q, 0, p->offset);
    const Array own = p->on(column_range(q, p->offset, width), false);
    q = p->offset == 0 ? own : lax::concatenate({left, own}, a.rank() - 1);
  }
  return {q, upper_part(r)};
}

std::vector<Array> expanded_qr(const Params& params, const Arrays& in, const Target&, Loc) {
  const Reduced f = expand_qr(in[0], params.as<QrParams>().complete);
  return {f.q, f.r};
}

/// Reflections, each applied to the whole of r and q.
std::vector<HostArray> reference_qr(const Params&, std::span<const Aval> out,
                                    std::span<const HostArray> in) {
  std::vector<HostArray> result{HostArray(out[0]), HostArray(out[1])};
  const int rank = out[0].shape.rank();
  const Dim width = out[0].shape[rank - 1];
  for (Dim b = 0; b < host::matrices(out[0]); ++b) {
    Dense r = host::matrix_at(in[0], b);
    const Dim m = r.rows(), n = r.columns();
    Dense q = Dense::identity(m);
    for (Dim j = 0; j < std::min(m, n); ++j) {
      double below = 0;
      for (Dim i = j + 1; i < m; ++i) below += r(i, j) * r(i, j);
      if (below == 0) continue;
      const double alpha = r(j, j), norm = std::sqrt(alpha * alpha + below);
      const double beta = alpha < 0 ? norm : -norm;
      std::vector<double> v(static_cast<std::size_t>(m), 0.0);
      const auto at = [&](Dim i) -> double& { return v[static_cast<std::size_t>(i)]; };
      at(j) = alpha - beta;
      for (Dim i = j + 1; i < m; ++i) at(i) = r(i, j);
      const double square = at(j) * at(j) + below;
      for (Dim c = 0; c < n; ++c) {
        double dot = 0;
        for (Dim i = j; i < m; ++i) dot += at(i) * r(i, c);
        for (Dim i = j; i < m; ++i) r(i, c) -= 2 * dot / square * at(i);
      }
      for (Dim i = j + 1; i < m; ++i) r(i, j) = 0;
      for (Dim row = 0; row < m; ++row) {
        double dot = 0;
        for (Dim i = j; i < m; ++i) dot += q(row, i) * at(i);
        for (Dim i = j; i < m; ++i) q(row, i) -= 2 * dot / square * at(i);
      }
    }
    Dense thin(m, width), top(width, n);
    for (Dim i = 0; i < m; ++i)
      for (Dim j = 0; j < width; ++j) thin(i, j) = q(i, j);
    for (Dim i = 0; i < width; ++i)
      for (Dim j = i; j < n; ++j) top(i, j) = r(i, j);
    host::put_matrix(result[0], b, thin);
    host::put_matrix(result[1], b, top);
  }
  return result;
}

/// Of a with full rank; see qr_p.
Tangents tangents_of_qr(const Array& a, const Array& q, const Array& r, const Array& da) {
  const Dim m = rows(a), n = columns(a), k = std::min(m, n);
  const Array square = column_range(r, 0, k), own = column_range(da, 0, k);
  const Array ratio =
      emit1(triangular_solve_p, TriangularParams{.left = false, .lower = false}, {square, own}, {});
  const Array inner = product(q, ratio, true);
  const Array below = lower_part(inner, -1);
  const Array turn = lax::sub(below, transposed(below));
  const Array dq = lax::add(product(q, lax::sub(turn, inner)), ratio);
  const Array dr = product(lax::sub(inner, turn), square);
  if (n == k) return {dq, dr};
  const Array rest =
      lax::add(product(dq, column_range(a, k, n), true), product(q, column_range(da, k, n), true));
  return {dq, lax::concatenate({dr, rest}, dr.rank() - 1)};
}

}  // namespace

Reduced expand_qr(const Array& a, bool complete) {
  const Dim m = rows(a), n = columns(a), width = complete ? m : std::min(m, n);
  if (a.size() == 0 || width == 0) {
    const Array q = lax::full({a.dtype(), extended(batch_of(a), {m, width})}, 0);
    const bool basis = n == 0 && width > 0;
    return {basis ? first_columns(q, width) : q,
            lax::full({a.dtype(), extended(batch_of(a), {width, n})}, 0)};
  }
  if (m <= tiny_rows && n <= tiny_columns) {
    const Arrays f = by_matrix({a}, [&](const Arrays& in) {
      const Reduced t = tiny_qr(in[0], width);
      return Arrays{t.q, t.r};
    });
    return {f[0], f[1]};
  }
  return std::min(m, n) <= one_by_one ? qr_one_by_one(a, width) : qr_by_panels(a, width);
}

}  // namespace linalg

/// Derivative for full column rank: with t = da r^-1 and w = strict lower(q^T t),
/// dq = q (w - w^T - q^T t) + t and dr = (q^T t - (w - w^T)) r; Walter and Lehmann, Algorithmic
/// differentiation of linear algebra functions (2010). Columns behind a square block follow from
/// r = q^T a. A complete basis of more rows than columns has none.
const Primitive qr_p{
    .name = "qr",
    .parse = parse_params<QrParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("qr", in, 1, loc);
      linalg::require_matrix("qr", in[0], loc);
      const Shape& s = in[0].shape;
      const int r = s.rank();
      const Shape batch = s.part(0, r - 2);
      const Dim m = s[r - 2], n = s[r - 1];
      const Dim width = params.as<QrParams>().complete ? m : std::min(m, n);
      return {{in[0].dtype, extended(batch, {m, width})},
              {in[0].dtype, extended(batch, {width, n})}};
    },
    .jvp = [](const Params&, const Arrays& in, const Arrays& out, const Tangents& d) -> Tangents {
      if (columns(out[0]) > columns(in[0]))
        usage_error("qr",
                    "the complete basis of " + to_string(in[0].aval()) +
                        " has no derivative: its last columns are arbitrary; take the reduced form",
                    {});
      return linalg::tangents_of_qr(in[0], out[0], out[1], *d[0]);
    },
    .transpose = rules::not_linear<qr_p>,
    .batch = linalg::batch_in_front<qr_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expanded_qr>),
    .reference = linalg::reference_qr,
};

}  // namespace gnomon
