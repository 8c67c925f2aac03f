// codegen/ops/diagonal.cpp -- public operations on diagonals and triangles: a diagonal
// is a slice of the flattened matrix.
#include <algorithm>

#include "codegen/lax/align.h"
#include "gnomon/arrange.h"

namespace gnomon {
namespace {

/// The last two axes of `a` with zeros where `keep(row + offset, column)` does not hold.
Array triangle(std::string_view op, const Operand& x, Dim offset, const Primitive& keep) {
  const Array a = align::as_array(op, x);
  const Loc loc = x.loc();
  if (a.rank() < 2)
    usage_error(op, to_string(a.aval()) + " is no matrix; it needs two axes or more", loc);
  const Shape matrix = a.shape().part(a.rank() - 2, a.rank());
  const Array row =
      lax::add(lax::iota(DType::i32, matrix, 0, loc), static_cast<double>(offset), loc);
  const Array inside = emit1(keep, {}, {row, lax::iota(DType::i32, matrix, 1, loc)}, loc);
  return lax::select(lax::broadcast(inside, a.shape(), {a.rank() - 2, a.rank() - 1}, loc), a,
                     lax::zeros_like(a, loc), loc);
}

}  // namespace

Array diagonal(Operand x, Dim offset, int axis1, int axis2) {
  Array a = align::as_array("diagonal", x);
  const Loc loc = x.loc();
  if (a.rank() < 2)
    usage_error("diagonal", to_string(a.aval()) + " is no matrix; it needs two axes or more", loc);
  const int first = align::axis_of("diagonal", axis1, a, loc);
  const int second = align::axis_of("diagonal", axis2, a, loc);
  if (first == second)
    usage_error("diagonal", "axis " + std::to_string(first) + " is named twice", loc);
  std::vector<int> order;
  for (int i = 0; i < a.rank(); ++i)
    if (i != first && i != second) order.push_back(i);
  order.insert(order.end(), {first, second});
  a = lax::permute(a, order, loc);
  const int last = a.rank() - 2;
  const Dim rows = a.shape()[last], columns = a.shape()[last + 1];
  const Dim length = std::max<Dim>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Shape flat = a.shape().part(0, last);
  flat.append(rows * columns);
  const auto rank = static_cast<std::size_t>(flat.rank());
  std::vector<Dim> starts(rank, 0), limits(flat.begin(), flat.end()), strides(rank, 1);
  starts.back() = length == 0 ? 0 : offset >= 0 ? offset : -offset * columns;
  limits.back() = length == 0 ? 0 : starts.back() + (length - 1) * (columns + 1) + 1;
  strides.back() = columns + 1;
  return lax::slice(lax::reshape(a, flat, loc), starts, limits, strides, loc);
}

Array diag(Operand x, Dim offset) {
  const Array a = align::as_array("diag", x);
  const Loc loc = x.loc();
  if (a.rank() == 2) return diagonal({a, loc}, offset);
  if (a.rank() != 1)
    usage_error("diag", to_string(a.aval()) + " is neither a vector nor a matrix; use `diagonal`",
                loc);
  const Dim length = a.shape()[0], n = length + (offset < 0 ? -offset : offset);
  const Array zero = lax::scalar(a.dtype(), 0, loc);
  if (length == 0) return lax::broadcast(zero, {n, n}, {}, loc);
  const Dim before = offset >= 0 ? offset : -offset * n;
  const Dim after = n * n - before - ((length - 1) * (n + 1) + 1);
  return lax::reshape(lax::pad(a, zero, {{before}, {after}, {n}}, loc), {n, n}, loc);
}

Array trace(Operand x, Dim offset, int axis1, int axis2) {
  return sum({diagonal(x, offset, axis1, axis2), x.loc()}, -1);
}

Array tril(Operand x, Dim offset) { return triangle("tril", x, offset, ge_p); }
Array triu(Operand x, Dim offset) { return triangle("triu", x, offset, le_p); }

}  // namespace gnomon
