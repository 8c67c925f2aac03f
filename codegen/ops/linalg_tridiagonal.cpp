// codegen/ops/linalg_tridiagonal.cpp -- tridiagonal systems, by two scans.
#include <array>
#include <tuple>

#include "codegen/lax/align.h"
#include "codegen/ops/linalg.h"
#include "codegen/primitives/matrix.h"
#include "codegen/trace/eager.h"
#include "gnomon/control.h"
#include "gnomon/implicit.h"
#include "gnomon/linalg.h"

namespace gnomon::linalg {

using namespace matrix;

namespace {

/// Bands of one shape [.., n]; what stands outside of the matrix is zero.
struct Bands {
  Array lower, diag, upper;
};

/// Elements moved by one place towards higher (lower) indices; zero comes in.
Array moved(const Array& band, Dim by) {
  PadParams p;
  p.lo.assign(static_cast<std::size_t>(band.rank()), 0);
  p.hi = p.interior = p.lo;
  p.lo.back() = by;
  p.hi.back() = -by;
  return lax::pad(band, lax::scalar(band.dtype(), 0), std::move(p));
}

Bands transposed(const Bands& a) { return {moved(a.upper, 1), a.diag, moved(a.lower, -1)}; }

/// A x for columns x[.., n, k].
Array product(const Bands& a, const Array& x) {
  const Dim n = rows(x), k = columns(x);
  if (n == 0) return x;
  const int axis = x.rank() - 2;
  const auto neighbour = [&](bool before) {
    PadParams p;
    p.lo.assign(static_cast<std::size_t>(x.rank()), 0);
    p.hi = p.interior = p.lo;
    p.lo[static_cast<std::size_t>(axis)] = before ? 1 : -1;
    p.hi[static_cast<std::size_t>(axis)] = before ? -1 : 1;
    return lax::pad(x, lax::scalar(x.dtype(), 0), std::move(p));
  };
  const auto wide = [&](const Array& band) -> Term { return as_columns(band, k); };
  return wide(a.lower) * neighbour(true) + wide(a.diag) * x + wide(a.upper) * neighbour(false);
}

/// Thomas' elimination: every column of every system on its own, the matrix's part of the work
/// included, so that a lane needs nothing from another.
Array eliminated(const Bands& a, const Array& rhs, Loc loc) {
  const Dim k = columns(rhs);
  const auto by_rows = [&](const Array& x) { return lax::move_axis(x, x.rank() - 2, 0); };
  const auto wide = [&](const Array& band) { return by_rows(as_columns(band, k)); };
  using Row = std::tuple<Array, Array, Array, Array>;
  using Carried = std::pair<Array, Array>;
  const Row all{wide(a.lower), wide(a.diag), wide(a.upper), by_rows(rhs)};
  const Array none = lax::full({rhs.dtype(), std::get<0>(all).shape().without(0)}, 0, loc);
  const auto down = [](const Carried& before, const Row& row) {
    const Term lower = std::get<0>(row);
    const Term pivot = std::get<1>(row) - lower * before.first;
    const Term ratio = Term(std::get<2>(row)) / pivot;
    const Term value = (std::get<3>(row) - lower * before.second) / pivot;
    return std::pair{Carried{ratio.a, value.a}, Carried{ratio.a, value.a}};
  };
  const Carried top{none, none};
  const Carried made = scan(down, top, all, {}, loc).second;
  const auto up = [](const Array& below, const Carried& row) {
    const Array x = Term(row.second) - Term(row.first) * below;
    return std::pair{x, x};
  };
  const Array x = scan(up, none, made, {.reverse = true}, loc).second;
  return lax::move_axis(x, 0, x.rank() - 2);
}

}  // namespace

Array tridiagonal_solve(Operand lower, Operand diag, Operand upper, Operand rhs) {
  constexpr std::string_view op = "linalg::tridiagonal_solve";
  const Loc loc = lower.loc();
  const At at(loc);
  return at_once(op, loc, [&]() -> Array {
    const std::array all{lower, diag, upper, rhs};
    const DType t = align::float_dtype(align::common_dtype(op, all));
    Arrays bands;
    for (const Operand& band : {lower, diag, upper}) bands.push_back(align::in_dtype(op, band, t));
    Array b = align::in_dtype(op, rhs, t);
    const auto types = [&] {
      return to_string(bands[0].aval()) + ", " + to_string(bands[1].aval()) + ", " +
             to_string(bands[2].aval());
    };
    for (const Array& band : bands)
      if (band.rank() == 0 ||
          band.shape()[band.rank() - 1] != bands[1].shape()[bands[1].rank() - 1])
        usage_error(
            op,
            "the bands are " + types() +
                "; give all three the length of the diagonal, the first element of the lower "
                "one and the last of the upper one do not count",
            loc);
    const Dim n = bands[1].shape()[bands[1].rank() - 1];
    const bool vector = b.rank() == 1;
    if (vector) b = lax::reshape(b, {b.size(), 1}, loc);
    if (b.rank() < 2 || rows(b) != n)
      usage_error(op,
                  "the bands are " + types() + " and the other side " +
                      to_string(align::as_array(op, rhs).aval()) + ", which needs " +
                      std::to_string(n) + " rows",
                  loc);
    const Dim k = columns(b);
    // A column of zero width would have no batch to broadcast: leading axes meet without it.
    const auto stack = [](const Array& a, int own) { return a.shape().part(0, a.rank() - own); };
    std::vector<Array> leading;
    for (const Array& band : bands) leading.push_back(lax::full({t, stack(band, 1)}, 0));
    leading.push_back(lax::full({t, stack(b, 2)}, 0));
    const std::vector<Operand> meeting{
        {leading[0], loc}, {leading[1], loc}, {leading[2], loc}, {leading[3], loc}};
    const Shape batch = align::broadcast_shape(op, meeting);
    for (Array& band : bands) band = align::broadcast(op, band, extended(batch, {n}), loc);
    b = align::broadcast(op, b, extended(batch, {n, k}), loc);
    const auto answer = [&](const Array& x) {
      return vector ? lax::reshape(x, x.shape().without(x.rank() - 1)) : x;
    };
    if (b.size() == 0) return answer(b);
    // What does not count must not count: NaN times zero would.
    const Array place = lax::iota(DType::i32, bands[0].shape(), batch.rank());
    const Array zero = lax::zeros_like(bands[0]);
    const Bands a{choose(equals(place, 0), zero, bands[0]), bands[1],
                  choose(equals(place, static_cast<double>(n - 1)), zero, bands[2])};
    const auto matvec = [&](const Array& x) { return product(a, x); };
    const auto solve = [&](const auto&, const Array& y) { return eliminated(a, y, loc); };
    const auto back = [&](const auto&, const Array& y) {
      return eliminated(transposed(a), y, loc);
    };
    return answer(custom_linear_solve(matvec, b, solve, back, loc));
  });
}

}  // namespace gnomon::linalg
