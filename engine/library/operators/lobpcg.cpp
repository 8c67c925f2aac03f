// engine/library/operators/lobpcg.cpp -- locally optimal block preconditioned conjugate gradients.
#include <algorithm>

#include "engine/library/operators/flat.h"
#include "engine/library/operators/rayleigh.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/operators/eigen.h"

namespace gnomon::operators {
namespace {

struct Bases {
  Array x, ax, p, ap;  // [n, k] each; the columns of x and p are orthonormal
};

Array columns(const Array& a, Dim from, Dim to) { return slice(a, {0, from}, {a.dim(0), to}); }

/// Orthonormal columns that span what `w` adds to those of `basis`.
Array added(const Array& basis, Array w) {
  for (int pass = 0; pass < 2; ++pass) w = w - matmul(basis, matmul(transpose(basis), w));
  const Array q = linalg::qr(w).q;
  // Where w adds less than it has columns, what completes it may be along the basis.
  return linalg::qr(q - matmul(basis, matmul(transpose(basis), q))).q;
}

class Search {
 public:
  Search(const Operator& a, const LobpcgOptions& o, Dim k, DType dtype, Loc loc)
      : options_(o), k_(k), multiplied_(detail::fixed_product(a, k, dtype, loc)) {
    if (o.preconditioner) nearly_solved_ = detail::fixed_product(*o.preconditioner, k, dtype, loc);
  }

  struct Best {
    Bases bases;
    Array values, scale;  // of x; the largest of the space
  };
  /// The best x of the span of s, of which the first k columns are the last x, and the change that
  /// led there.
  Best best_of(const Array& s, const Array& as) const {
    const Array h = matmul(transpose(s), as);
    const linalg::Eigh small = linalg::eigh(0.5 * (h + transpose(h)));
    const Dim m = s.dim(1);
    const Array c = options_.largest ? flip(columns(small.eigenvectors, m - k_, m), {1})
                                     : columns(small.eigenvectors, 0, k_);
    const Array values = options_.largest ? flip(slice(small.eigenvalues, {m - k_}, {m}), {0})
                                          : slice(small.eigenvalues, {0}, {k_});
    // Without the share of the last x, orthogonal to the new one.
    const Array without = pad(slice(c, {k_, 0}, {m, k_}),
                              std::vector<std::pair<Dim, Dim>>{{k_, Dim{0}}, {Dim{0}, Dim{0}}});
    const Array d = added(c, without);
    return {{matmul(s, c), matmul(as, c), matmul(s, d), matmul(as, d)},
            values,
            max(abs(small.eigenvalues))};
  }

  Array product(const Array& x) const { return multiplied_(x); }
  /// Residuals, and the directions they ask for.
  Array residuals(const Best& b) const { return b.bases.ax - b.bases.x * b.values; }
  Array preconditioned(const Array& r) const {
    return options_.preconditioner ? nearly_solved_(r) : r;
  }

 private:
  const LobpcgOptions& options_;
  Dim k_;
  Handler<Array(const Array&)> multiplied_, nearly_solved_;
};

Array norms(const Array& r) { return sqrt(sum(r * r, {0})); }

/// Of a small operator all of it.
Eigenpairs of_matrix(const Operator& a, const LobpcgOptions& o, Dim k, DType dtype, Loc loc) {
  const Array m = cast(stop_gradient(a.as_matrix(loc)), dtype);
  const linalg::Eigh all = linalg::eigh(m);
  const Dim n = a.rows();
  const Array vectors =
      o.largest ? flip(columns(all.eigenvectors, n - k, n), {1}) : columns(all.eigenvectors, 0, k);
  Eigenpairs r;
  r.vectors = stop_gradient(vectors);
  r.values = detail::rayleigh_quotients(a, r.vectors, loc);
  r.residuals = norms(matmul(m, r.vectors) - r.vectors * stop_gradient(r.values));
  r.steps = zeros({}, DType::i32);
  r.result = full({}, static_cast<std::int32_t>(SolveResult::converged), DType::i32);
  return r;
}

void check(const Operator& a, const Array& x, const LobpcgOptions& o, Loc loc) {
  constexpr std::string_view op = "operators::lobpcg";
  detail::require_symmetric(op, a, loc);
  if (x.rank() != 2 || x.dim(0) != a.rows() || !is_float(x.dtype()))
    usage_error(op,
                "the first guesses are " + to_string(x.aval()) + ", and the operator " +
                    a.map().name() + " has " + std::to_string(a.rows()) +
                    " rows; a block of floats of that many rows is needed, a column for each pair",
                loc);
  detail::require_pairs(op, a, x.dim(1), loc);
  if (!(o.rtol > 0) || o.max_steps < 1)
    usage_error(op,
                "rtol is " + to_string(Scalar(o.rtol)) + " and max_steps " +
                    std::to_string(o.max_steps) + "; both have to be positive",
                loc);
  require_preconditioner(op, a, o.preconditioner, loc);
}

}  // namespace

Eigenpairs lobpcg(const Operator& a, const Array& x, const LobpcgOptions& options, Loc loc) {
  check(a, x, options, loc);
  const Dim k = x.dim(1);
  const DType dtype = a.in().dtype() == DType::f64 ? DType::f64 : DType::f32;
  if (a.rows() < 4 * k) return of_matrix(a, options, k, dtype, loc);
  const Search search(a, options, k, dtype, loc);

  struct State {
    Bases b;
    Array values, scale, size, code;
  };
  const auto state_of = [&](const Search::Best& best) {
    const Array size = norms(search.residuals(best));
    const Array there = max(size) <= options.rtol * best.scale;
    const Array code =
        where(there, static_cast<std::int32_t>(SolveResult::converged),
              where(isfinite(max(size)), -1, static_cast<std::int32_t>(SolveResult::nonfinite)));
    return State{best.bases, best.values, best.scale, size, code};
  };
  const auto step_from = [&](const Array& basis, const Array& product_of_basis, const Array& r) {
    const Array w = added(basis, search.preconditioned(r));
    return search.best_of(concatenate({basis, w}, 1),
                          concatenate({product_of_basis, search.product(w)}, 1));
  };
  // The first step has no change behind it.
  const Array x0 = linalg::qr(cast(stop_gradient(x), dtype)).q, ax0 = search.product(x0);
  const Array values0 = sum(x0 * ax0, {0});
  const State first = state_of(step_from(x0, ax0, ax0 - x0 * values0));
  const auto loop =
      while_loop_counted([](const State& s) { return s.code < 0; },
                         [&](const State& s) {
                           const Array basis = concatenate({s.b.x, s.b.p}, 1);
                           return state_of(step_from(basis, concatenate({s.b.ax, s.b.ap}, 1),
                                                     s.b.ax - s.b.x * s.values));
                         },
                         first, {.max_steps = options.max_steps}, loc);
  const State& end = loop.state;
  Eigenpairs r;
  r.vectors = stop_gradient(end.b.x);
  r.values = detail::rayleigh_quotients(a, r.vectors, loc);
  r.residuals = stop_gradient(end.size);
  r.steps = loop.steps + 1;
  r.result =
      where(end.code < 0, static_cast<std::int32_t>(SolveResult::max_steps_reached), end.code);
  return r;
}

}  // namespace gnomon::operators
