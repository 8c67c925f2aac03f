// engine/library/operators/gmres.cpp -- generalised minimal residuals, with restarts.
#include <algorithm>
#include "engine/library/operators/iteration.h"
#include "gnomon/indexing.h"
#include "gnomon/linalg.h"
#include "gnomon/loops.h"

namespace gnomon::operators::detail {
namespace {

/// The basis of a cycle: for each array of a vector its rows, [m + 1, elements].
class Basis {
 public:
  Basis(const Space& space, DType dtype) : space_(space), dtype_(dtype) {}

  Arrays begun(const Arrays& v, Dim rows) const {
    Arrays result;
    for (std::size_t i = 0; i < v.size(); ++i)
      result.push_back(concatenate(
          {reshape(v[i], {1, v[i].size()}), zeros({rows - 1, v[i].size()}, v[i].dtype())}));
    return result;
  }
  Arrays row(const Arrays& basis, const Array& j) const {
    Arrays result;
    for (std::size_t i = 0; i < basis.size(); ++i)
      result.push_back(
          reshape(dynamic_slice(basis[i], {j, 0}, {1, basis[i].dim(1)}), space_.arrays[i].shape));
    return result;
  }
  Arrays with_row(const Arrays& basis, const Array& j, const Arrays& v) const {
    Arrays result;
    for (std::size_t i = 0; i < basis.size(); ++i)
      result.push_back(dynamic_update_slice(basis[i], reshape(v[i], {1, basis[i].dim(1)}), {j, 0}));
    return result;
  }
  /// Inner products with all rows: those that are not there yet are zero.
  Array products(const Arrays& basis, const Arrays& v) const {
    std::optional<Array> total;
    for (std::size_t i = 0; i < basis.size(); ++i) {
      const Array part =
          matmul(cast(basis[i], dtype_), cast(reshape(v[i], {basis[i].dim(1)}), dtype_));
      total = total ? *total + part : part;
    }
    return *total;
  }
  /// The sum of the rows, each times its factor.
  Arrays combined(const Arrays& basis, const Array& factors) const {
    Arrays result;
    for (std::size_t i = 0; i < basis.size(); ++i)
      result.push_back(
          reshape(matmul(cast(factors, basis[i].dtype()), basis[i]), space_.arrays[i].shape));
    return result;
  }

 private:
  Space space_;
  DType dtype_;
};

}  // namespace

Solved gmres(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Dim restart,
             Loc loc) {
  const DType dtype = s.dtype();
  const double epsilon = epsilon_of(dtype);
  const Dim m = std::min(restart, s.in.size());
  const Basis basis(s.out, dtype);
  const Array place = arange(m + 1);
  // One step of a cycle. rotations: what made the Hessenberg matrix the triangular one, [m + 1,
  // m + 1]; triangle: with ones on the diagonal of columns that are not there yet; left: what is
  // not reached of the right side.
  struct Inner {
    Arrays v;
    Array rotations, triangle, left, j, steps, code;
  };
  struct Outer {
    Arrays x, r;
    Array rr, steps, code;
  };
  const Begin first = begin(s, b, start, stop);
  const auto step = [&](const Inner& t) {
    const Arrays v = basis.row(t.v, t.j);
    Arrays w = s.a(s.m ? s.m(v) : v);
    const Array once = basis.products(t.v, w);
    w = minus(w, basis.combined(t.v, once));
    const Array twice = basis.products(t.v, w);
    w = minus(w, basis.combined(t.v, twice));
    const Array h = once + twice;
    const Array hh = sum(h * h), ww = dot(w, w, dtype);
    // What is left of a vector in the space of the basis is rounding: the space is invariant.
    const Array closed = ww <= epsilon * epsilon * hh;
    const Array below = where(closed, 0, sqrt(ww));
    const Array rotated = matmul(t.rotations, h);
    const Array here = place == t.j;
    const Array a = sum(where(here, rotated, 0));
    const Array length = sqrt(a * a + below * below);
    const Array singular = length <= rounding_of(dtype) * sqrt(hh);
    const Array c = ratio(a, length), sn = ratio(below, length);
    Inner next;
    next.v = basis.with_row(t.v, t.j + 1, scaled(ratio(full_like(below, 1), below), w));
    const Array unit = cast(place == t.j + 1, dtype);
    const Array row = reshape(dynamic_slice(t.rotations, {t.j, 0}, {1, m + 1}), {m + 1});
    const Array pair = stack({c * row + sn * unit, c * unit - sn * row});
    next.rotations =
        where(singular, t.rotations, dynamic_update_slice(t.rotations, pair, {t.j, 0}));
    const Array column = where(here, length, where(place < t.j, rotated, 0));
    next.triangle =
        where(reshape(here && !singular, {1, m + 1}), reshape(column, {m + 1, 1}), t.triangle);
    next.left = where(singular, t.left, -sn * t.left);
    next.j = where(singular, t.j, t.j + 1);
    next.steps = t.steps + 1;
    next.code =
        where(singular, code(SolveResult::breakdown), code_of(next.left * next.left, first.target));
    return next;
  };
  const auto cycle = [&](const Outer& o) {
    const Array beta = sqrt(o.rr);
    const Inner init{basis.begun(scaled(1 / beta, o.r), m + 1),
                     eye(m + 1, dtype),
                     eye(m + 1, dtype),
                     beta,
                     zeros({}, DType::i32),
                     o.steps,
                     o.code};
    const Inner end = while_loop(
        [&](const Inner& t) {
          return t.code < 0 && t.j < static_cast<std::int32_t>(m) &&
                 t.steps < static_cast<std::int32_t>(stop.max_steps);
        },
        step, init, {.max_steps = m}, loc);
    const Array first_column = reshape(slice(end.rotations, {0, 0}, {m + 1, 1}), {m + 1});
    const Array factors = linalg::triangular_solve(
        end.triangle, where(place < end.j, beta * first_column, 0), {.lower = false});
    Arrays change = basis.combined(end.v, factors);
    if (s.m) change = s.m(change);
    Outer next;
    next.x = plus(o.x, ones({}, dtype), change);
    // What is left is orthogonal to all that was reached, and known in terms of the basis.
    const Array row = reshape(dynamic_slice(end.rotations, {end.j, 0}, {1, m + 1}), {m + 1});
    next.r = basis.combined(end.v, end.left * row);
    next.rr = end.left * end.left;
    next.steps = end.steps;
    const Array idle = (end.code < 0) && (end.j == static_cast<std::int32_t>(m)) &&
                       (next.rr >= (1 - 100 * epsilon) * o.rr);
    next.code = where(idle, code(SolveResult::stagnated), end.code);
    return next;
  };
  const Outer end = while_loop(
      [&](const Outer& o) {
        return o.code < 0 && o.steps < static_cast<std::int32_t>(stop.max_steps);
      },
      cycle, Outer{first.x, first.r, first.rr, zeros({}, DType::i32), first.code},
      {.max_steps = (stop.max_steps + m - 1) / m + 1}, loc);
  return {end.x, end.steps, ended(end.code), sqrt(end.rr)};
}

}  // namespace gnomon::operators::detail
