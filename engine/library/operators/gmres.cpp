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

class Gmres {
 public:
  // Between cycles.
  struct Outer {
    Arrays x, r;
    Array rr, steps, code;
  };

  Gmres(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Dim restart,
        Loc loc)
      : s_(s),
        stop_(stop),
        loc_(loc),
        m_(std::min(restart, s.in.size())),
        basis_(s.out, dtype_),
        place_(arange(m_ + 1)),
        first_(begin(s, b, start, stop)) {}

  Outer run() const {
    return while_loop(
        [&](const Outer& o) {
          return o.code < 0 && o.steps < static_cast<std::int32_t>(stop_.max_steps);
        },
        [&](const Outer& o) { return cycle(o); },
        Outer{first_.x, first_.r, first_.rr, zeros({}, DType::i32), first_.code},
        {.max_steps = (stop_.max_steps + m_ - 1) / m_ + 1}, loc_);
  }

 private:
  // One step of a cycle. rotations: what made the Hessenberg matrix the triangular one, [m + 1,
  // m + 1]; triangle: with ones on the diagonal of columns that are not there yet; left: what is
  // not reached of the right side.
  struct Inner {
    Arrays v;
    Array rotations, triangle, left, j, steps, code;
  };

  Inner step(const Inner& t) const {
    const Arrays v = basis_.row(t.v, t.j);
    Arrays w = s_.a(s_.m ? s_.m(v) : v);
    const Array once = basis_.products(t.v, w);
    w = minus(w, basis_.combined(t.v, once));
    const Array twice = basis_.products(t.v, w);
    w = minus(w, basis_.combined(t.v, twice));
    const Array h = once + twice;
    const Array hh = sum(h * h), ww = dot(w, w, dtype_);
    // What is left of a vector in the space of the basis is rounding: the space is invariant.
    const Array closed = ww <= epsilon_ * epsilon_ * hh;
    const Array below = where(closed, 0, sqrt(ww));
    const Array rotated = matmul(t.rotations, h);
    const Array here = place_ == t.j;
    const Array a = sum(where(here, rotated, 0));
    const Array length = sqrt(a * a + below * below);
    const Array singular = length <= rounding_of(dtype_) * sqrt(hh);
    const Array c = ratio(a, length), sn = ratio(below, length);
    Inner next;
    next.v = basis_.with_row(t.v, t.j + 1, scaled(ratio(full_like(below, 1), below), w));
    const Array unit = cast(place_ == t.j + 1, dtype_);
    const Array row = reshape(dynamic_slice(t.rotations, {t.j, 0}, {1, m_ + 1}), {m_ + 1});
    const Array pair = stack({c * row + sn * unit, c * unit - sn * row});
    next.rotations =
        where(singular, t.rotations, dynamic_update_slice(t.rotations, pair, {t.j, 0}));
    const Array column = where(here, length, where(place_ < t.j, rotated, 0));
    next.triangle =
        where(reshape(here && !singular, {1, m_ + 1}), reshape(column, {m_ + 1, 1}), t.triangle);
    next.left = where(singular, t.left, -sn * t.left);
    next.j = where(singular, t.j, t.j + 1);
    next.steps = t.steps + 1;
    next.code = where(singular, code(SolveResult::breakdown),
                      code_of(next.left * next.left, first_.target));
    return next;
  }

  Outer cycle(const Outer& o) const {
    const Array beta = sqrt(o.rr);
    const Inner init{basis_.begun(scaled(1 / beta, o.r), m_ + 1),
                     eye(m_ + 1, dtype_),
                     eye(m_ + 1, dtype_),
                     beta,
                     zeros({}, DType::i32),
                     o.steps,
                     o.code};
    const Inner end = while_loop(
        [&](const Inner& t) {
          return t.code < 0 && t.j < static_cast<std::int32_t>(m_) &&
                 t.steps < static_cast<std::int32_t>(stop_.max_steps);
        },
        [&](const Inner& t) { return step(t); }, init, {.max_steps = m_}, loc_);
    const Array first_column = reshape(slice(end.rotations, {0, 0}, {m_ + 1, 1}), {m_ + 1});
    const Array factors = linalg::triangular_solve(
        end.triangle, where(place_ < end.j, beta * first_column, 0), {.lower = false});
    Arrays change = basis_.combined(end.v, factors);
    if (s_.m) change = s_.m(change);
    Outer next;
    next.x = plus(o.x, ones({}, dtype_), change);
    // What is left is orthogonal to all that was reached, and known in terms of the basis.
    const Array row = reshape(dynamic_slice(end.rotations, {end.j, 0}, {1, m_ + 1}), {m_ + 1});
    next.r = basis_.combined(end.v, end.left * row);
    next.rr = end.left * end.left;
    next.steps = end.steps;
    const Array idle = (end.code < 0) && (end.j == static_cast<std::int32_t>(m_)) &&
                       (next.rr >= (1 - 100 * epsilon_) * o.rr);
    next.code = where(idle, code(SolveResult::stagnated), end.code);
    return next;
  }

  const System& s_;
  const Stop& stop_;
  const Loc loc_;
  const DType dtype_ = s_.dtype();
  const double epsilon_ = epsilon_of(dtype_);
  const Dim m_;
  const Basis basis_;
  const Array place_;
  const Begin first_;
};

}  // namespace

Solved gmres(const System& s, const Arrays& b, const Arrays& start, const Stop& stop, Dim restart,
             Loc loc) {
  const Gmres::Outer end = Gmres(s, b, start, stop, restart, loc).run();
  return {end.x, end.steps, ended(end.code), sqrt(end.rr)};
}

}  // namespace gnomon::operators::detail
