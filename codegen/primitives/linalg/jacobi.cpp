// codegen/primitives/linalg/jacobi.cpp -- rounds of rotations, of single columns and of blocks.
#include "codegen/primitives/linalg/jacobi.h"

#include <cmath>

#include "codegen/operations/gather_scatter.h"
#include "gnomon/numeric.h"

namespace gnomon::linalg {

using namespace matrix;

namespace {

Term remainder(const Term& x, Dim n) {
  return emit1(rem_p, {}, {x.a, number_like(x, static_cast<double>(n))}, {});
}

Array gathered(const Array& a, const Array& indices, int axis) {
  return emit1(gather_p, GatherParams{axis, 0, GatherMode::clip}, {a, indices}, {});
}

Array largest(const Array& a, std::vector<int> axes) {
  return emit1(reduce_max_p, AxesParams{std::move(axes)}, {magnitude(a).a}, {});
}

}  // namespace

Rotation rotation(const Term& p, const Term& q, const Term& r) {
  // Smaller elements would lose their sign or vanish when they are doubled or squared.
  const double least = p.a.dtype() == DType::f64 ? 0x1p-500 : 0x1p-100;
  const Array counts = exceeds(magnitude(q), least);
  const Term zero = number_like(q, 0), one = number_like(q, 1);
  const Term theta = (r - p) / choose(counts, q * 2, one);
  // The square may be infinite; t is zero then, as it should.
  const Term t =
      choose(counts, sign_of(theta) / (magnitude(theta) + square_root(theta * theta + 1)), zero);
  const Term c = 1.0 / square_root(t * t + 1);
  const Term s = t * c;
  return {c, s, t, s * s / (c + 1)};
}

Scaled scaled(const Array& a) {
  const Array top = largest(a, {a.rank() - 2, a.rank() - 1});
  const Array nothing = lax::sub(top, top);  // NaN for NaN and infinities
  const double lowest = a.dtype() == DType::f64 ? -1000 : -120;
  const Array exponent = frexp({top, {}}).exponent;
  const Term power = larger(lax::add(exponent, -1), lax::full_like(exponent, lowest));
  const Array one = lax::full_like(top, 1);
  const Array factor = ldexp({one, {}}, {power.a, {}});
  const Array inverse = ldexp({one, {}}, {lax::neg(power), {}});
  return {lax::add(lax::mul(a, spread(inverse, a.shape())), spread(nothing, a.shape())), factor};
}

// ---- columns

Array partners(const Array& index, Dim w) {
  const Shape shape{w};
  const Dim m = w - 1;
  const auto last = static_cast<double>(m);
  // i and j < m meet when i + j = index (mod m); the one that would meet itself meets the last.
  const Term i = lax::iota(DType::i32, shape, 0), round = spread(index, shape);
  const Term other = remainder(round - i + last, m);
  const Term single = remainder(round * static_cast<double>(w / 2), m);
  return choose(equals(i, last), single, choose(lax::eq(other, i), number_like(i, last), other));
}

Array at_indices(const Array& x, const Array& indices) {
  return gathered(x, indices, x.rank() - 1);
}

RoundRotations round_rotations(const Array& own, const Array& between, const Array& partner) {
  const Array index = lax::iota(DType::i32, own.shape(), own.rank() - 1);
  const Term whom = lax::broadcast(partner, own.shape(), {own.rank() - 1});
  const Array first = exceeds(whom, Term(index));
  const Term other = at_indices(own, partner);
  const Rotation g = rotation(choose(first, own, other), between, choose(first, other, own));
  return {partner, g.rest, choose(first, -g.s, g.s)};
}

Array with_columns_rotated(const Array& y, const RoundRotations& t) {
  const Dim m = rows(y);
  return Term(y) +
         (Term(as_rows(t.s, m)) * at_indices(y, t.partner) - Term(as_rows(t.rest, m)) * y);
}

Swept swept(const Array& a, const Array& v) {
  const Dim w = columns(a);
  const int axis = a.rank() - 1;
  const Shape flat = extended(batch_of(a), {w * w});
  const Array none = lax::full({a.dtype(), batch_of(a)}, 0);
  const Arrays end = repeat(w - 1, {a, v, none}, [&](const Array& round, const Arrays& state) {
    const Array partner = partners(round, w);
    const Term i = lax::iota(DType::i32, partner.shape(), 0);
    const Array first = exceeds(Term(partner), i);
    // Both of a pair read the same element: the matrix is symmetric up to rounding only.
    const Term place =
        choose(first, i, partner) * static_cast<double>(w) + choose(first, partner, i);
    const Array between = at_indices(lax::reshape(state[0], flat), place);
    const RoundRotations t = round_rotations(diagonal(state[0]), between, partner);
    const Array half = with_columns_rotated(state[0], t);
    const Array both = Term(half) + (Term(as_columns(t.s, w)) * gathered(half, partner, axis - 1) -
                                     Term(as_columns(t.rest, w)) * half);
    return Arrays{both, with_columns_rotated(state[1], t),
                  larger(state[2], largest(between, {axis - 1}))};
  });
  return {end[0], end[1], end[2]};
}

// ---- blocks

Blocks blocks_of(Dim n) {
  const Dim pairs = std::max<Dim>(1, (n + in_one_piece - 1) / in_one_piece);
  return {pairs, (n + 2 * pairs - 1) / (2 * pairs)};
}

Array next_round(const Array& a, int axis, const Blocks& b) {
  if (b.pairs == 1) return a;
  // Of the pairs (0, 1), (2, 3), ..: block 0 stays, the others go round; up along the second ones
  // and down along the first.
  const Term at = lax::iota(DType::i32, {b.count()}, 0);
  const auto last = static_cast<double>(b.count() - 1);
  const Array second = equals(remainder(at, 2), 1);
  const Term up = choose(equals(at, last), at + -1.0, at + 2.0);
  const Term down = choose(equals(at, 0), at, choose(equals(at, 2), number_like(at, 1), at + -2.0));
  return gathered(a, choose(second, up, down), axis);
}

Array in_panels(const Array& a, const Blocks& cut) {
  const Dim count = a.shape()[0], m = rows(a);
  return lax::permute(lax::reshape(a, {count, m, cut.pairs, 2 * cut.width}), {0, 2, 1, 3});
}

Array out_of_panels(const Array& panels) {
  const Shape& s = panels.shape();
  return lax::reshape(lax::permute(panels, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Array next_in_panels(const Array& panels, const Blocks& cut) {
  if (cut.pairs == 1) return panels;
  const Dim count = panels.shape()[0], m = rows(panels);
  const std::vector<int> swap{0, 1, 3, 2, 4};
  const Array apart = lax::permute(lax::reshape(panels, {count, cut.pairs, m, 2, cut.width}), swap);
  const Array moved = next_round(lax::reshape(apart, {count, cut.count(), m, cut.width}), 1, cut);
  return lax::reshape(lax::permute(lax::reshape(moved, {count, cut.pairs, 2, m, cut.width}), swap),
                      panels.shape());
}

namespace {

/// Numbers in [-1, 1) in which columns of matrices that have a pattern find nothing of theirs: the
/// bits of the positions, mixed. The constants are those of Wellons, hash-prospector (2018).
Array scattered(const Aval& like) {
  const auto mixed = [](const Array& x, double distance) {
    return emit1(xor_p, {}, {x, emit1(shr_p, {}, {x, lax::full_like(x, distance)}, {})}, {});
  };
  const Array row = lax::iota(DType::u32, like.shape, like.shape.rank() - 2);
  const Array column = lax::iota(DType::u32, like.shape, like.shape.rank() - 1);
  const Array x = lax::add(lax::mul(row, 0x9E3779B1u), lax::mul(column, 0x85EBCA77u));
  const Array y = mixed(lax::mul(mixed(x, 16), 0x7FEB352Du), 15);
  const Array bits = mixed(lax::mul(y, 0x846CA68Bu), 16);
  return lax::mul(lax::convert(lax::bitcast(bits, DType::i32), like.dtype), 0x1p-31);
}

}  // namespace

Bases completed(const Array& u, const Array& known, const Array& v) {
  const Dim n = columns(u), count = batch_of(u).size();
  const DType dtype = u.dtype();
  const Shape own{count, n, n};
  // Norms below 1: steps let singular values up to the root of 3 grow or shrink towards 1.
  const Array any = lax::mul(scattered(u.aval()), 0.8 / std::sqrt(static_cast<double>(n)));
  const Array begun = choose(as_rows(known, n), u, any);
  const Array start = lax::concatenate({lax::reshape(begun, own), lax::reshape(v, own)}, 0);
  const auto open = [](const Arrays& c) { return Array(emit1(not_p, {}, {c[2]}, {})); };
  const auto body = [&](const Arrays& c) {
    const Array& x = c[0];
    const Array of_u = lax::convert(lax::reshape(c[1], {count, n}), dtype);  // 1 where known
    const Array share = lax::concatenate({of_u, lax::full_like(of_u, 1)}, 0);
    const Term ahead = Term(as_columns(share, n)) - as_rows(share, n);
    const Array gap = lax::sub(identity(dtype, batch_of(x), n), product(x, x, true));
    const Array weighted = (ahead * 0.5 + 0.5) * gap;
    // How far the squares of the others' singular values are from 1, halved.
    const Term left = lax::sum(lax::mul(diagonal(weighted), lax::sub_from(1.0, share)), {0, 1});
    const Array far = exceeds(left, 8 * unit_roundoff(dtype) * static_cast<double>(n));
    return Arrays{lax::add(x, product(x, weighted)), c[1], emit1(not_p, {}, {far}, {})};
  };
  const Arrays first{start, known, lax::full({DType::boolean, {}}, 0)};
  const Array end = repeat_while(most_completing_steps, first, {}, open, body)[0];
  return {lax::reshape(lax::slice_axis(end, 0, 0, count), u.shape()),
          lax::reshape(lax::slice_axis(end, 0, count, 2 * count), u.shape())};
}

Array orthonormalized(const Array& v) {
  const Array gram = product(v, v, true);
  const Array gap = lax::sub(identity(v.dtype(), batch_of(v), columns(v)), gram);
  return Term(v) + Term(product(v, gap)) * 0.5;
}

Array rotated_pairs(const Array& a) {
  const Dim w = columns(a);
  const Shape batch = batch_of(a);
  const Array flat = lax::reshape(a, extended(Shape{}, {batch.size(), w, w}));
  const Swept s = swept(flat, identity(a.dtype(), batch_of(flat), w));
  return lax::reshape(s.v, a.shape());
}

Array largest_off_diagonal(const Array& a) {
  const Array on = lax::eq(row_index(a.shape()), column_index(a.shape()));
  const Array off = choose(on, lax::zeros_like(a), a);
  return largest(lax::reshape(off, {a.shape()[0], a.size() / a.shape()[0]}), {1});
}

}  // namespace gnomon::linalg
