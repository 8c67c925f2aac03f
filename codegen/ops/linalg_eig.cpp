// codegen/ops/linalg_eig.cpp -- eigenvalues and eigenvectors of general real matrices.
//
// All in real arithmetic until the eigenvectors, so that conjugate pairs are conjugates and real
// eigenvalues real to the bit: balancing (Parlett and Reinsch), Hessenberg form by Householder's
// reflections, Francis' implicit double steps to a quasi-triangular form, its eigenvectors by back
// substitution for all eigenvalues at once. Every stage is one loop that carries one array; a batch
// is vmap, so that lanes have small matrices to themselves and one workgroup plays a large one.
//
// Source: Golub and Van Loan, Matrix Computations, 4th edition, section 7.5; shifts, exceptional
// ones included, and the order of the sums as EISPACK's hqr2: Smith et al., Matrix Eigensystem
// Routines (1976).
#include <algorithm>
#include <array>
#include <utility>

#include "codegen/ops/linalg.h"
#include "codegen/primitives/linalg/jacobi.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"
#include "gnomon/control.h"
#include "gnomon/custom.h"
#include "gnomon/linalg.h"
#include "gnomon/numeric.h"

namespace gnomon::linalg {

using namespace matrix;

namespace {

Array whole(double x) { return lax::scalar_integer(DType::i32, static_cast<std::int64_t>(x)); }
Array both(const Array& a, const Array& b) { return lax::logical_and(a, b); }
Array opposite(const Array& a) { return emit1(not_p, {}, {a}, {}); }
/// a[i, j] for traced i and j.
Term element(const Array& a, const Array& i, const Array& j) {
  return lax::reshape(block_at(a, i, j, 1, 1), {});
}

// ---- balancing

/// D^-1 a D for the diagonal D of powers of two that brings rows and columns of one index to nearly
/// one length, and D.
struct Balanced {
  Array a, scale;
};
Balanced balanced(const Array& a) {
  constexpr Dim rounds = 4;  // two are usual
  const Dim n = rows(a);
  const Shape line{n};
  // D below the matrix: its columns are scaled together with those.
  const Array start = lax::pad(a, lax::scalar(a.dtype(), 1), PadParams{{0, 0}, {1, 0}, {0, 0}});
  const Array end = repeat(rounds * n, {start}, [&](const Array& step, const Arrays& s) {
    const Array& x = s[0];
    const Array i = emit1(rem_p, {}, {step, number_like(step, static_cast<double>(n))}, {});
    const Array own = lax::eq(lax::iota(DType::i32, line, 0), spread(i, line));
    const auto sum_beside = [&](const Array& v) {
      const Term size = magnitude(v);
      return Term(lax::sum(choose(own, number_like(size, 0), size), {0}));
    };
    const Term r = sum_beside(row_at(x, i));
    const Term c = sum_beside(lax::slice_axis(column_at(x, i), 0, 0, n)), one = number_like(r, 1);
    const Array counts = both(exceeds(r, 0), exceeds(c, 0));
    // 2^k nearest to sqrt(r / c): the exponents of both are halved, not the numbers.
    const auto exponent = [](const Term& v) -> Term { return frexp({v.a, {}}).exponent; };
    const Term apart = exponent(choose(counts, r, one)) - exponent(choose(counts, c, one));
    const Term half = emit1(shr_p, {}, {(apart + 1.0).a, number_like(apart, 1)}, {});
    const Term up = ldexp({one.a, {}}, {half.a, {}}), down = ldexp({one.a, {}}, {(-half).a, {}});
    const Array helps = both(counts, exceeds((r + c) * 0.95, r * down + c * up));
    const Shape& shape = x.shape();
    const auto factor = [&](const Array& at, const Term& by) {
      const Array here = both(lax::eq(at, spread(i, shape)), spread(helps, shape));
      return choose(here, spread(by, shape), lax::full_like(x, 1));
    };
    return Arrays{Term(x) * factor(row_index(shape), down) * factor(column_index(shape), up)};
  })[0];
  return {row_range(end, 0, n), lax::reshape(row_range(end, n, n + 1), line)};
}

// ---- Hessenberg form and Francis' steps

/// A matrix above the product of the reflections that were applied to it, with a row of zeros
/// between them and a column of zeros behind: steps at the lower end find three rows and columns.
struct Stack {
  Dim n = 0;
  bool vectors = false;

  Array of(const Array& a) const {
    const Array top = padded(a, n + 1, n + 1);
    if (!vectors) return top;
    return lax::concatenate({top, padded(identity(a.dtype(), {}, n), n, n + 1)}, 0);
  }
  Array matrix(const Array& m) const { return block(m, 0, n, 0, n); }
  Array product(const Array& m) const { return block(m, n + 1, 2 * n + 1, 0, n); }
};

/// What makes a column zero below the element alpha, of which the sum of squares is `below`:
/// I - tau v v^T with v = (alpha - beta, what was below) / (alpha - beta).
struct Reflector {
  Term tau, reach;
  Array nothing;
};
Reflector reflector(const Term& alpha, const Term& below) {
  const Array nothing = equals(below, 0);
  const Term one = number_like(alpha, 1);
  const Term beta = choose(nothing, one, -(sign_of(alpha) * square_root(alpha * alpha + below)));
  return {choose(nothing, number_like(alpha, 0), (beta - alpha) / beta),
          choose(nothing, one, alpha - beta), nothing};
}

Array hessenberg(const Array& stacked, const Stack& stack) {
  const Dim n = stack.n, height = rows(stacked), width = n + 1;
  if (n < 3) return stacked;
  return repeat(n - 2, {stacked}, [&](const Array& k, const Arrays& s) {
    const Array& m = s[0];
    const Array place = lax::iota(DType::i32, {n}, 0);
    const Array own = lax::eq(place, spread(lax::add(k, 1), place.shape()));
    const Array behind = exceeds(place, spread(lax::add(k, 1), place.shape()));
    const Term column = lax::slice_axis(column_at(m, k), 0, 0, n), none = number_like(column, 0);
    const Term alpha = lax::sum(choose(own, column, none), {0});
    const Term rest = choose(behind, column, none);
    const Reflector h = reflector(alpha, lax::sum(rest * rest, {0}));
    const Term v = choose(own, number_like(column, 1), rest / spread(h.reach, {n}));
    const auto longer = [&](Dim to) {
      return lax::pad(v, lax::scalar(m.dtype(), 0), PadParams{{0}, {to - n}, {0}});
    };
    const Array left = as_columns(longer(height), width), right = as_rows(longer(width), height);
    const Term along = Term(lax::sum(Term(left) * m, {0})) * spread(h.tau, {width});
    Term next = Term(m) - Term(left) * as_rows(along, height);
    const Term across = Term(lax::sum(next * Term(right), {1})) * spread(h.tau, {height});
    next = next - Term(as_columns(across, width)) * right;
    // What was reflected away is zero, not what rounding left.
    const Array here = lax::eq(column_index(m.shape()), spread(k, m.shape()));
    const Array row = row_index(m.shape());
    const Array below = both(exceeds(row, spread(lax::add(k, 1), m.shape())),
                             exceeds(number_like(row, static_cast<double>(n)), row));
    return Arrays{choose(both(here, below), number_like(next, 0), next)};
  })[0];
}

struct Schur {
  Array t, q;   // of q there is none without vectors
  Array found;  // whether the iteration ended
};

/// The matrix with a reflection of the rows and columns k, k + 1, k + 2 that makes the second and
/// the third element of `x` zero; of the rows, what `gone` says is zero.
Array reflected(const Array& m, const Array& k, const std::array<Term, 3>& x, const Array& gone) {
  const Dim height = rows(m), width = columns(m);
  // Relative to the largest one: the bulge may be small next to the range of its square.
  const Term size = magnitude(x[0]) + magnitude(x[1]) + magnitude(x[2]);
  const Term unit = choose(equals(size, 0), number_like(size, 1), size);
  const Term a = x[0] / unit, b = x[1] / unit, c = x[2] / unit;
  const Reflector h = reflector(a, b * b + c * c);
  const auto line = [](const Term& t) { return lax::reshape(t, {1}); };
  const Array v =
      lax::concatenate({line(number_like(a, 1)), line(b / h.reach), line(c / h.reach)}, 0);
  const Term tv = Term(v) * spread(h.tau, {3});
  const Array zero = lax::zeros_like(k);

  const Term three_rows = block_at(m, k, zero, 3, width);
  const Array along = lax::sum(three_rows * as_columns(v, width), {0});
  const Term rotated = three_rows - Term(as_columns(tv, width)) * as_rows(along, 3);
  const Array upper = with_block(m, choose(gone, number_like(rotated, 0), rotated), k, zero);

  const Term three_columns = block_at(upper, zero, k, height, 3);
  const Array across = lax::sum(three_columns * as_rows(v, height), {1});
  const Term moved = three_columns - Term(as_columns(across, 3)) * as_rows(tv, height);
  return with_block(upper, moved, zero, k);
}

/// The first row of the block that ends with row `end`: nothing stands to the left of it.
Array block_start(const Stack& stack, const Array& m, const Array& end, double eps) {
  const Dim n = stack.n;
  const Array h = stack.matrix(m);
  const Term d = diagonal(h), e = diagonal(block(h, 1, n, 0, n - 1));
  const Term above = lax::slice_axis(d, 0, 0, n - 1), below = lax::slice_axis(d, 0, 1, n);
  const Term sizes = magnitude(above) + magnitude(below);
  // Elements of the matrix are below 2: what is below eps^2 is nothing in any case.
  const Array small =
      opposite(exceeds(magnitude(e), larger(sizes * eps, number_like(sizes, eps * eps))));
  const Array place = lax::iota(DType::i32, {n - 1}, 0), next = lax::add(place, 1);
  const Array mine = both(small, exceeds(spread(end, {n - 1}), Term(place)));
  return emit1(reduce_max_p, AxesParams{{0}}, {choose(mine, next, lax::zeros_like(next)).a}, {});
}

/// The first column of (H - s1)(H - s2) for the eigenvalues of the last two rows, divided by the
/// second element of H's; shifts of no meaning where those got nowhere. The block has the rows from
/// `first` to `end`.
std::array<Term, 3> shifted_column(const Array& m, const Array& first, const Array& end,
                                   const Array& behind, const Array& two_behind,
                                   const Array& tries) {
  const Array rest = emit1(rem_p, {}, {tries, whole(10)}, {});
  const Array exceptional = both(equals(rest, 0), exceeds(tries, 0));
  const Term last = element(m, end, end), side = element(m, end, behind);
  const Term far = magnitude(side) + magnitude(element(m, behind, two_behind));
  const Term x = choose(exceptional, last + far * 0.75, last);
  const Term y = choose(exceptional, x, element(m, behind, behind));
  const Term w = choose(exceptional, far * far * -0.4375, side * element(m, behind, end));
  const Array second = lax::add(first, 1), third = lax::add(first, 2);
  const Term z = element(m, first, first), u = x - z, v = y - z;
  const Term step = element(m, second, first);
  const Term safe = choose(equals(step, 0), number_like(step, 1), step);
  const Term p = (u * v - w) / safe + element(m, first, second);
  const Term q = element(m, second, second) - z - u - v, r = element(m, third, second);
  return {p, q, r};
}

/// The quasi-triangular form: blocks of one or two rows on the diagonal, zeros below them.
///
/// One loop of reflections, without sweeps as loops of their own: the device plays its kernels by a
/// workgroup then. A trip that begins a sweep looks first whether rows at the end are done, and
/// leaves it at that if so.
Schur schur(const Array& a, bool vectors, Loc loc) {
  const Dim n = rows(a);
  if (n == 1) return {a, identity(a.dtype(), {}, 1), lax::unary(isfinite_p, lax::reshape(a, {}))};
  const Stack stack{n, vectors};
  const double eps = 2 * unit_roundoff(a.dtype());
  struct State {
    Array m, end, k;  // the stack, the last row that is not done, the row of the next reflection
    Array tries;      // sweeps since rows were done
  };
  const auto body = [&](const State& s) {
    const Array &m = s.m, &end = s.end;
    const Array begins = at_least(s.k, end);
    const Array first = block_start(stack, m, end, eps);
    const Array behind = lax::add(end, -1), two_behind = lax::add(end, -2);
    const Array done = both(begins, at_least(first, behind));

    const auto [p, q, r] = shifted_column(m, first, end, behind, two_behind, s.tries);
    const auto kept = [&](const Term& fresh, const Array& old) {
      return choose(begins, fresh, old).a;
    };

    // Rows k to k + 2; the last two of all have a row of zeros behind them.
    const Array room = whole(static_cast<double>(n - 2));
    const Array k = kept(smaller(first, room), s.k), before = lax::add(k, -1);
    const Array third_row = exceeds(end, lax::add(k, 1));
    const Term none = number_like(p, 0);
    const auto entry = [&](double down, const Term& fresh) {
      return choose(done, none, kept(fresh, element(m, lax::add(k, down), before)));
    };
    const std::array<Term, 3> column{entry(0, p), entry(1, q),
                                     choose(third_row, entry(2, r), none)};
    const Shape three{3, columns(m)};
    const Array at = column_index(three);
    const Array row = lax::add(row_index(three), spread(k, three));
    const auto everywhere = [&](const Array& flag) { return spread(flag, three); };
    const Array passed = both(exceeds(row_index(three), 0), exceeds(everywhere(k), Term(at)));
    const Array corner = both(lax::eq(row, everywhere(first)), lax::eq(lax::add(at, 1), row));
    const Array gone =
        either(both(passed, everywhere(opposite(done))), both(corner, everywhere(begins)));
    const Array zero = lax::zeros_like(s.tries);
    return State{reflected(m, k, column, gone), choose(done, lax::add(first, -1), end).a,
                 choose(done, whole(static_cast<double>(n)), lax::add(k, 1)).a,
                 kept(choose(done, zero, lax::add(s.tries, 1)), s.tries)};
  };
  const Array start = hessenberg(stack.of(a), stack);
  // NaN are everywhere then, and end the loop.
  const auto finite = [](const Array& m) {
    return lax::unary(isfinite_p, element(m, whole(0), whole(0)));
  };
  const auto open = [&](const State& s) { return both(exceeds(s.end, 0), finite(s.m)); };
  const Dim limit = 30 * std::max<Dim>(n, 10) * n;
  const State end = while_loop(
      open, body,
      State{start, whole(static_cast<double>(n - 1)), whole(static_cast<double>(n)), whole(0)},
      {.max_steps = limit}, loc);
  Schur r{stack.matrix(end.m), {}, both(finite(end.m), opposite(exceeds(end.end, 0)))};
  if (vectors) r.q = stack.product(end.m);
  return r;
}

// ---- eigenvalues

/// Eigenvalues of the blocks, and which rows belong together.
struct Spectrum {
  Term re, im;              // [n]
  Array upper, lower;       // whether a row is the upper (lower) one of two
  Term from_own, to_other;  // lambda - t[i,i] and lambda minus the other diagonal element
};
Spectrum spectrum(const Array& t) {
  const Dim n = rows(t);
  const Term d = diagonal(t), none = number_like(d, 0);
  const Array no = lax::full({DType::boolean, {n}}, 0);
  if (n == 1) return {d, none, no, no, none, none};
  const Term c = diagonal(block(t, 1, n, 0, n - 1)), b = diagonal(block(t, 0, n - 1, 1, n));
  const Term a = lax::slice_axis(d, 0, 0, n - 1), e = lax::slice_axis(d, 0, 1, n);
  const Array pair = opposite(equals(c, 0));
  const Term p = (a - e) * 0.5, square = p * p + b * c;
  const Term root = square_root(magnitude(square));
  const Array real = at_least(square, number_like(square, 0));
  // lambda1 - e = z without cancellation, and lambda2 - e = -b c / z.
  const Term z = p + sign_of(p) * root;
  const Term other =
      choose(equals(z, 0), number_like(z, 0), b * c / choose(equals(z, 0), number_like(z, 1), z));
  const Term middle = e + p, nothing = number_like(p, 0);
  const auto at_upper = [&](const Array& x) {
    return lax::pad(x, lax::scalar(x.dtype(), 0), PadParams{{0}, {1}, {0}});
  };
  const auto at_lower = [&](const Array& x) {
    return lax::pad(x, lax::scalar(x.dtype(), 0), PadParams{{1}, {0}, {0}});
  };
  const Array upper = at_upper(pair), lower = at_lower(pair);
  const auto merged = [&](const Term& single, const Term& first, const Term& second) {
    return choose(upper, at_upper(first), choose(lower, at_lower(second), single));
  };
  return {merged(d, choose(real, e + z, middle), choose(real, e - other, middle)),
          merged(none, choose(real, nothing, root), choose(real, nothing, -root)), upper, lower,
          // lambda1 - a = b c / z, lambda2 - e = -b c / z; of a complex pair the real parts.
          merged(none, choose(real, other, -p), choose(real, -other, p)),
          merged(none, choose(real, z, p), choose(real, -z, -p))};
}

// ---- eigenvectors

struct Pair {
  Term re, im;
};
Pair times(const Pair& a, const Pair& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Pair minus(const Pair& a, const Pair& b) { return {a.re - b.re, a.im - b.im}; }
/// a / b with b scaled by its larger part.
Pair over(const Pair& a, const Pair& b) {
  const Term size = larger(magnitude(b.re), magnitude(b.im));
  const Term x = b.re / size, y = b.im / size, whole_size = (x * x + y * y) * size;
  return {(a.re * x + a.im * y) / whole_size, (a.im * x - a.re * y) / whole_size};
}

Pair chosen(const Array& which, const Pair& yes, const Pair& no) {
  return {choose(which, yes.re, no.re), choose(which, yes.im, no.im)};
}
Term largest_of(const Pair& v) { return larger(magnitude(v.re), magnitude(v.im)); }

/// What the columns of eigenvectors of the quasi-triangular t begin with: the elements in the rows
/// of their own block.
///
/// Where a block meets its own eigenvalue, that is the null vector of what is left of the block:
/// (b, lambda - a) or (lambda - e, c), whose larger elements are not differences.
Pair elements_of_blocks(const Array& t, const Spectrum& s) {
  const Dim n = rows(t);
  const DType dtype = t.dtype();
  const Shape square{n, n};
  const Array row = row_index(square), column = column_index(square);
  const Term none = lax::full({dtype, square}, 0);
  const auto neighbour = [&](int up) {  // element (j - 1, j) or (j, j - 1), and those below j
    const Array off = n == 1    ? lax::full({dtype, {0}}, 0)
                      : up == 1 ? diagonal(block(t, 0, n - 1, 1, n))
                                : diagonal(block(t, 1, n, 0, n - 1));
    const auto side = [&](Dim front) {
      return lax::pad(off, lax::scalar(dtype, 0), PadParams{{front}, {1 - front}, {0}});
    };
    return choose(s.upper, side(0), side(1));
  };
  const Term b = neighbour(1), c = neighbour(0);
  const Array by_c = at_least(magnitude(c), magnitude(b));
  // For the upper row's eigenvalue: to_other = lambda - e, from_own = lambda - a; for the lower
  // row's the other way around.
  const Term lambda_e = choose(s.upper, s.to_other, s.from_own);
  const Term lambda_a = choose(s.upper, s.from_own, s.to_other);
  const Term zero = number_like(b, 0), unit = number_like(b, 1);
  const Array paired = either(s.upper, s.lower);
  const Pair first{choose(by_c, lambda_e, b), choose(by_c, s.im, zero)};
  const Pair second{choose(by_c, c, lambda_a), choose(by_c, zero, s.im)};
  const Array on = lax::eq(row, column);
  const auto wide = [&](const Array& v) { return as_rows(v, n); };
  const Array beside = choose(wide(s.upper), lax::eq(row, lax::add(column, 1)),
                              both(wide(s.lower), lax::eq(lax::add(row, 1), column)));
  const auto start = [&](const Term& x, const Term& y, const Term& single) {
    const Term own = choose(paired, choose(s.upper, x, y), single);
    const Term other = choose(s.upper, y, x);
    return choose(on, wide(own), choose(beside, wide(other), none));
  };
  return {start(first.re, second.re, unit), start(first.im, second.im, zero)};
}

/// One or two rows of a system, for every column: (corner right; low own) x = (s1, s2).
struct RowPair {
  Pair corner, right, low, own, s1, s2;
  Array both;  // whether there are two; otherwise the second stands alone
  Term least;  // what a divisor is at least: the eigenvalue may be moved by as much
};
/// x1 and x2, by elimination with the larger pivot first.
std::pair<Pair, Pair> solved(const RowPair& r) {
  const Array keep = both(r.both, at_least(largest_of(r.corner), magnitude(r.low.re)));
  const Term none = number_like(r.own.im, 0);
  const Pair unit_pivot{number_like(none, 1), none};
  const Pair p11 = chosen(r.both, chosen(keep, r.corner, r.low), unit_pivot);
  const Pair p12 = chosen(keep, r.right, r.own), p21 = chosen(keep, r.low, r.corner);
  const Pair p22 = chosen(keep, r.own, r.right);
  const Pair y1 = chosen(keep, r.s1, r.s2), y2 = chosen(keep, r.s2, r.s1);
  const Pair factor = over(p21, p11);
  const Pair last_pivot = chosen(r.both, minus(p22, times(factor, p12)), r.own);
  const Pair rest = chosen(r.both, minus(y2, times(factor, y1)), r.s2);
  const Array lost = exceeds(r.least, largest_of(last_pivot));
  const Pair x2 = over(rest, chosen(lost, {r.least, none}, last_pivot));
  return {over(minus(y1, times(p12, x2)), p11), x2};
}

/// Eigenvectors of the quasi-triangular t, in columns: rows from below, every column in a lane.
Pair triangular_vectors(const Array& t, const Spectrum& s) {
  const Dim n = rows(t);
  const DType dtype = t.dtype();
  const double eps = 2 * unit_roundoff(dtype);
  const Shape line{n};
  const Pair start = elements_of_blocks(t, s);

  // A row of zeros above, where pairs of rows (i - 1, i) may begin; real and imaginary parts side
  // by side.
  const auto above = [](const Array& x) {
    return lax::pad(x, lax::scalar(x.dtype(), 0), PadParams{{1, 0}, {0, 0}, {0, 0}});
  };
  const Array tall = above(t);
  const double growth = dtype == DType::f64 ? 0x1p200 : 0x1p30;
  const Term size = emit1(reduce_max_p, AxesParams{{0, 1}}, {magnitude(t).a}, {});
  const Array floor =
      larger(size * eps, number_like(size, dtype == DType::f64 ? 0x1p-900 : 0x1p-90));
  const Pair lambda{s.re, s.im};
  const Array init = lax::concatenate({above(start.re.a), above(start.im.a)}, 1);
  const auto step = [&](const Array& count, const Arrays& state) {
    const Array& x = state[0];
    const Array i = lax::sub_from(static_cast<double>(n - 1), count), before = lax::add(i, -1);
    const Array top = lax::zeros_like(i);
    const Array two = block_at(tall, i, top, 2, n);
    const auto entry = [&](double r, const Array& at) { return element(two, whole(r), at); };
    const Array is_lower = both(exceeds(i, 0), opposite(equals(entry(1, before), 0)));
    const Array is_upper = both(exceeds(number_like(i, static_cast<double>(n - 1)), i),
                                opposite(equals(element(tall, lax::add(i, 2), i), 0)));
    const Array sums = lax::neg(product(two, row_range(x, 1, n + 1)));
    const auto part = [&](const Array& of, Dim r, bool imaginary) {
      return Term(
          lax::reshape(block(of, r, r + 1, imaginary ? n : 0, imaginary ? 2 * n : n), line));
    };
    const Pair s1{part(sums, 0, false), part(sums, 0, true)};
    const Pair s2{part(sums, 1, false), part(sums, 1, true)};
    const Term none_here = number_like(lambda.re, 0);
    const auto real = [&](const Term& v) { return Pair{spread(v, line), none_here}; };
    const Pair own = minus(real(entry(1, i)), lambda);

    const Array pair = spread(is_lower, line);
    const auto [x1, x2] = solved({minus(real(entry(0, before)), lambda), real(entry(0, i)),
                                  real(entry(1, before)), own, s1, s2, pair, spread(floor, line)});

    // Into the columns behind.
    const Array behind = both(exceeds(lax::iota(DType::i32, line, 0), spread(i, line)),
                              opposite(spread(is_upper, line)));
    const Array old = block_at(x, i, top, 2, 2 * n);
    const auto merged = [&](const Pair& value, const Array& where, Dim r) {
      const auto half = [&](const Term& v, bool imaginary) {
        return lax::reshape(choose(where, v, part(old, r, imaginary)), {1, n});
      };
      return lax::concatenate({half(value.re, false), half(value.im, true)}, 1);
    };
    const Array next = with_block(
        x, lax::concatenate({merged(x1, both(behind, pair), 0), merged(x2, behind, 1)}, 0), i, top);
    // Columns that grow are scaled by powers of two.
    const Term most = larger(largest_of(x2), choose(pair, largest_of(x1), none_here));
    const Array grows = both(behind, exceeds(most, growth));
    const Term one_here = number_like(most, 1);
    const Array exponent = frexp({choose(grows, most, one_here).a, {}}).exponent;
    const Term scale =
        choose(grows, Term(ldexp({one_here.a, {}}, {lax::neg(exponent), {}})), one_here);
    return Arrays{lax::mul(next, as_rows(lax::concatenate({scale, scale}, 0), n + 1))};
  };
  const Array end = repeat(n, {init}, step)[0];
  return {block(end, 1, n + 1, 0, n), block(end, 1, n + 1, n, 2 * n)};
}

/// Columns of length 1 whose element of largest magnitude, the first of equals, is real and
/// positive.
Pair normalized(const Pair& v) {
  const int axis = v.re.a.rank() - 2;
  const Dim n = rows(v.re);
  const auto over_columns = [&](const Primitive& p, const Array& x) {
    return emit1(p, AxesParams{{axis}}, {x}, {});
  };
  const Array most = over_columns(reduce_max_p, larger(magnitude(v.re), magnitude(v.im)));
  const Term top = as_rows(most, n);
  const Pair u{v.re / top, v.im / top};
  const Term squares = u.re * u.re + u.im * u.im;
  const Array largest = emit1(argmax_p, AxisParams{axis}, {squares.a}, {});
  const Array here = lax::eq(row_index(squares.a.shape()), as_rows(largest, n));
  const Term none = number_like(squares, 0);
  const auto picked = [&](const Term& x) -> Term {
    const Array one = taken(transposed(x), lax::insert_axis(largest, largest.rank(), 1));
    return lax::reshape(one, largest.shape());
  };
  // Times the conjugate of its direction, over the length.
  const Term a = picked(u.re), b = picked(u.im), size = hypot({a.a, {}}, {b.a, {}});
  const Term length = square_root(over_columns(sum_p, squares));
  const Term c = as_rows(a / size / length, n), s = as_rows(b / size / length, n);
  return {u.re * c + u.im * s, choose(here, none, u.im * c - u.re * s)};
}

// ---- whole

/// Of one matrix.
Eig one_matrix(const Array& given, bool vectors, Loc loc) {
  const Dim n = rows(given);
  const Scaled units = scaled(given);
  const Balanced start = balanced(units.a);
  const Schur f = schur(start.a, vectors, loc);
  const Spectrum s = spectrum(f.t);
  const auto or_nan = [&](const Term& x) -> Array {
    return choose(spread(f.found, x.a.shape()), x, number_like(x, nan));
  };
  const Term unit = spread(units.factor, {n});
  Eig r{{or_nan(s.re * unit), or_nan(s.im * unit)}, {}};
  if (!vectors) return r;
  const Pair x = triangular_vectors(f.t, s);
  const Array both_parts = lax::concatenate({x.re, x.im}, 1);
  const Term rotated = Term(as_columns(start.scale, 2 * n)) * product(f.q, both_parts);
  const Pair v = normalized({column_range(rotated, 0, n), column_range(rotated, n, 2 * n)});
  r.eigenvectors = {or_nan(v.re), or_nan(v.im)};
  return r;
}

/// Of every matrix of a batch. Without vectors their places hold eigenvalues.
Eig every_matrix(const Array& a, bool vectors, Loc loc) {
  const Dim n = rows(a);
  const Shape batch = batch_of(a), values = extended(batch, {n});
  if (a.size() == 0) {
    const Array v = lax::full({a.dtype(), values}, 0);
    return {{v, v}, {a, a}};
  }
  const auto f = [&](const Array& x) {
    Eig e = one_matrix(x, vectors, loc);
    if (!vectors) e.eigenvectors = e.eigenvalues;
    return e;
  };
  if (batch.rank() == 0) return f(a);
  const Eig e = vmap(f, {}, loc)(lax::reshape(a, {batch.size(), n, n}));
  const Shape& shape = vectors ? a.shape() : values;
  return {{lax::reshape(e.eigenvalues.re, values), lax::reshape(e.eigenvalues.im, values)},
          {lax::reshape(e.eigenvectors.re, shape), lax::reshape(e.eigenvectors.im, shape)}};
}

Term diagonal_of(const Array& a) { return diagonal(a); }

/// What the spectrum moves by when the matrix moves by `da`. With C = V^-1 da V, eigenvalues move
/// by its diagonal and vectors by V (C / (lambda_j - lambda_i)), less what changes their length or
/// turns their largest element.
Eig moved(const Eig& e, const Array& da, Loc loc) {
  const Complex& v = e.eigenvectors;
  const Dim n = columns(v.re);
  const Complex dav{product(da, v.re), product(da, v.im)};
  const Complex c = solve(ComplexOperand(v, loc), dav);
  Eig d{{diagonal_of(c.re).a, diagonal_of(c.im).a}, {}};
  const Array on = lax::eq(row_index(v.re.shape()), column_index(v.re.shape()));
  const Term none = lax::zeros_like(v.re), one = number_like(none, 1);
  const auto gap = [&](const Array& x) { return Term(as_rows(x, n)) - as_columns(x, n); };
  const Complex gaps{choose(on, one, gap(e.eigenvalues.re)).a,
                     choose(on, none, gap(e.eigenvalues.im)).a};
  const Complex apart{choose(on, none, c.re).a, choose(on, none, c.im).a};
  const Complex u = matmul(ComplexOperand(v, loc), ComplexOperand(apart, loc) / gaps);
  const int axis = v.re.rank() - 2;
  const auto over_rows = [&](const Term& x) { return Term(as_rows(lax::sum(x, {axis}), n)); };
  const Term vr = v.re, vi = v.im, ur = u.re, ui = u.im;
  const Term longer = over_rows(vr * ur + vi * ui);
  const Array largest = emit1(argmax_p, AxisParams{axis}, {hypot({v.re, {}}, {v.im, {}})}, {});
  const Array here = lax::eq(row_index(v.re.shape()), as_rows(largest, n));
  const Term turn = over_rows(choose(here, ui, none)) / over_rows(choose(here, vr, none));
  d.eigenvectors = {ur - vr * longer + vi * turn, ui - vi * longer - vr * turn};
  return d;
}

}  // namespace

Eig eig(Operand x) {
  const Loc loc = x.loc();
  const At at(loc);
  const auto f = [&](const Array& a) { return every_matrix(a, true, loc); };
  const auto rule = [&](const Array&, const Eig& e, const Array& da) { return moved(e, da, loc); };
  const Array a = square_operand("linalg::eig", x);
  return a.size() == 0 ? f(a) : custom_jvp(f, rule, loc)(a);
}

Complex eigvals(Operand x) {
  const Loc loc = x.loc();
  const At at(loc);
  const auto f = [&](const Array& a) { return every_matrix(a, false, loc).eigenvalues; };
  // Both from one decomposition: another one might find eigenvalues in another order.
  const auto rule = [&](const Array& given, const Array& da) {
    const Eig e = eig({given, loc});
    return std::pair{e.eigenvalues, moved(e, da, loc).eigenvalues};
  };
  const Array a = square_operand("linalg::eigvals", x);
  return a.size() == 0 ? f(a) : custom_jvp(f, rule, loc)(a);
}

}  // namespace gnomon::linalg
