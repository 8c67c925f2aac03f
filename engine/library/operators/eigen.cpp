// engine/library/operators/eigen.cpp -- eigenpairs from Krylov spaces of one vector.
#include "gnomon/operators/eigen.h"

#include <algorithm>

#include "engine/library/operators/flat.h"
#include "engine/library/operators/rayleigh.h"
#include "gnomon/control.h"
#include "gnomon/custom.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/sorting.h"

namespace gnomon::operators {
namespace detail {

void require_pairs(std::string_view op, const Operator& a, Dim k, Loc loc) {
  require_square(op, a, loc);
  if (k < 1 || k > a.rows())
    usage_error(op,
                "k is " + std::to_string(k) + ", and the operator " + a.map().name() + " has " +
                    std::to_string(a.rows()) + " rows; ask for 1 to " + std::to_string(a.rows()) +
                    " pairs",
                loc);
}

void require_symmetric(std::string_view op, const Operator& a, Loc loc) {
  require_square(op, a, loc);
  if (!a.tags().is_symmetric())
    usage_error(op,
                "a symmetric operator is needed, and the tags of " + a.map().name() +
                    " are: " + to_string(a.tags()) +
                    "; promise it with `.tagged({.symmetric = true})`, or use operators::eigs",
                loc);
}

Handler<Array(const Array&)> fixed_product(const Operator& a, Dim k, DType dtype, Loc loc) {
  const auto traced = closure_convert([&](const Array& x) { return product(a, x, dtype, loc); },
                                      abstract_array(dtype, {a.columns(), k}));
  std::vector<Array> captured;
  for (const Array& c : traced.captures) captured.push_back(stop_gradient(c));
  return [traced, captured](const Array& x) { return traced(captured, x); };
}

Array rayleigh_quotients(const Operator& a, const Array& vectors, Loc loc) {
  return sum(vectors * product(a, vectors, vectors.dtype(), loc), {0});
}

}  // namespace detail

namespace {

/// A V = V H + h r e^T of an orthonormal basis V, by rows here: `basis` [m, n].
struct Krylov {
  Array basis, h;  // [m, n], [m, m]
  Array beside;    // f[]: the element below the last one of H
};

Krylov arnoldi(const Operator& a, Key key, Dim m, Loc loc) {
  const Dim n = a.rows();
  const DType dtype = a.in().dtype();
  auto keys = random::split<2>(std::move(key));
  Key later = std::move(std::get<1>(keys));
  const auto multiplied = detail::fixed_product(a, 1, dtype, loc);
  struct State {
    Array basis, h, v, beside;
  };
  // Without what is along the basis; twice, which is enough.
  const auto apart = [&](const Array& basis, const Array& w) {
    const Array once = matmul(basis, w), rest = w - matmul(once, basis);
    const Array again = matmul(basis, rest);
    return std::pair{rest - matmul(again, basis), once + again};
  };
  const auto length = [](const Array& v) { return sqrt(sum(v * v)); };
  const Array start = random::normal(std::move(std::get<0>(keys)), {n}, dtype);
  const double tiny = 100 * (dtype == DType::f64 ? 2.3e-16 : 1.2e-7);
  const auto step = [&](const Array& j, const State& s) {
    const Array basis = dynamic_update_slice(s.basis, reshape(s.v, {1, n}), {j, 0});
    const Array w = reshape(multiplied(reshape(s.v, {n, 1})), {n});
    const auto [rest, along] = apart(basis, w);
    const Array beta = length(rest), whole = length(w);
    const Array ended = beta <= tiny * whole;
    const auto other = apart(basis, random::normal(random::fold_in(later.clone(), j), {n}, dtype));
    const Array next = where(ended, other.first / length(other.first), rest / beta);
    const Array column = reshape(along, {m, 1});
    Array h = dynamic_update_slice(s.h, column, {0, j});
    const Array kept = where(ended, 0, beta);
    // Row j + 1; of the last step it is `beside`.
    const Array below = minimum(j + 1, static_cast<std::int32_t>(m - 1));
    const Array at = reshape(where(j + 1 < static_cast<std::int32_t>(m), kept,
                                   h[static_cast<int>(m) - 1][static_cast<int>(m) - 1]),
                             {1, 1});
    h = dynamic_update_slice(h, at, {below, j});
    return State{basis, h, next, kept};
  };
  const State end = fori_loop(
      0, static_cast<std::int32_t>(m), step,
      State{zeros({m, n}, dtype), zeros({m, m}, dtype), start / length(start), zeros({}, dtype)},
      {}, loc);
  return {stop_gradient(end.basis), stop_gradient(end.h), stop_gradient(end.beside)};
}

Dim steps_of(Dim asked, Dim k, Dim n) {
  return std::min(n, std::max(k, asked > 0 ? asked : std::max<Dim>(4 * k + 16, 32)));
}

}  // namespace

Eigenpairs eigsh(const Operator& a, Dim k, Key key, const LanczosOptions& options, Loc loc) {
  constexpr std::string_view op = "operators::eigsh";
  detail::require_symmetric(op, a, loc);
  detail::require_pairs(op, a, k, loc);
  const Dim m = steps_of(options.steps, k, a.rows());
  const Krylov space = arnoldi(a, std::move(key), m, loc);
  const linalg::Eigh small = linalg::eigh(space.h);
  const auto wanted = [&](const Array& x) {  // columns, or elements, in order
    const int axis = x.rank() - 1;
    const Array cut =
        options.largest ? flip(slice_axis(x, axis, m - k, m), {axis}) : slice_axis(x, axis, 0, k);
    return cut;
  };
  const Array coordinates = wanted(small.eigenvectors);
  const Array vectors = matmul(transpose(space.basis), coordinates);
  Eigenpairs r;
  r.vectors = stop_gradient(vectors);
  r.values = detail::rayleigh_quotients(a, r.vectors, loc);
  r.residuals = abs(space.beside * reshape(slice(coordinates, {m - 1, 0}, {m, k}), {k}));
  r.steps = full({}, static_cast<std::int32_t>(m), DType::i32);
  const Array scale = max(abs(small.eigenvalues));
  r.result =
      where(max(r.residuals) <= 1e-3 * scale, static_cast<std::int32_t>(SolveResult::converged),
            static_cast<std::int32_t>(SolveResult::max_steps_reached));
  return r;
}

ComplexEigenpairs eigs(const Operator& a, Dim k, Key key, Dim steps, Loc loc) {
  detail::require_pairs("operators::eigs", a, k, loc);
  const Dim m = steps_of(steps, k, a.rows());
  const Krylov space = arnoldi(a, std::move(key), m, loc);
  const linalg::Eig small = linalg::eig(space.h);
  const Array size = abs(small.eigenvalues);
  const Array order = slice(argsort(-size), {0}, {k});
  const auto columns = [&](const Array& x) { return take(x, order, x.rank() - 1); };
  const Complex s{columns(small.eigenvectors.re), columns(small.eigenvectors.im)};
  const Array basis = transpose(space.basis);
  const Array last = sqrt(
      sum(square(slice(s.re, {m - 1, 0}, {m, k})) + square(slice(s.im, {m - 1, 0}, {m, k})), {0}));
  return {{columns(small.eigenvalues.re), columns(small.eigenvalues.im)},
          {matmul(basis, s.re), matmul(basis, s.im)},
          space.beside * last};
}

}  // namespace gnomon::operators
