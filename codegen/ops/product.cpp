// codegen/ops/product.cpp -- public products of arrays, all by dot_general.
#include <algorithm>
#include <string>

#include "codegen/lax/align.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

struct Pair {
  Array a, b;
  DType result;
};

/// Both operands in their common dtype; bool counts as i32. 16-bit floats are multiplied and added
/// in f32: `rounded` gives the product their type.
Pair operands(std::string_view op, const Operand& x, const Operand& y) {
  DType t = align::common_dtype(op, std::array{x, y});
  if (t == DType::boolean) t = DType::i32;
  const DType made = align::summed_in(t);
  return {align::in_dtype(op, x, made), align::in_dtype(op, y, made), t};
}
Array rounded(const Pair& p, const Array& product, Loc loc) {
  return lax::convert(product, p.result, loc);
}

[[noreturn]] void throw_sizes(std::string_view op, const Pair& p, int a_axis, int b_axis, Loc loc) {
  usage_error(op,
              "axis " + std::to_string(a_axis) + " of " + to_string(p.a.aval()) + " and axis " +
                  std::to_string(b_axis) + " of " + to_string(p.b.aval()) + " differ",
              loc);
}

/// Checks the axes, and multiplies.
Array paired(std::string_view op, const Pair& p, const DotAxes& axes, Loc loc) {
  const auto together = [](std::vector<int> first, const std::vector<int>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  align::axes_of(op, together(axes.a_batch, axes.a_contracting), p.a, loc);
  align::axes_of(op, together(axes.b_batch, axes.b_contracting), p.b, loc);
  const auto pair_up = [&](const std::vector<int>& of_a, const std::vector<int>& of_b,
                           std::vector<int>& lhs, std::vector<int>& rhs) {
    if (of_a.size() != of_b.size())
      usage_error(op,
                  std::to_string(of_a.size()) + " axes and " + std::to_string(of_b.size()) +
                      " axes do not pair up",
                  loc);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      lhs.push_back(align::axis_of(op, of_a[i], p.a, loc));
      rhs.push_back(align::axis_of(op, of_b[i], p.b, loc));
      if (p.a.shape()[lhs[i]] != p.b.shape()[rhs[i]]) throw_sizes(op, p, lhs[i], rhs[i], loc);
    }
  };
  DotParams params;
  pair_up(axes.a_contracting, axes.b_contracting, params.lhs_contracting, params.rhs_contracting);
  pair_up(axes.a_batch, axes.b_batch, params.lhs_batch, params.rhs_batch);
  return rounded(p, lax::dot_general(p.a, p.b, std::move(params), loc), loc);
}
Array contract(std::string_view op, const Pair& p, int a_axis, int b_axis, Loc loc) {
  return paired(op, p, {{a_axis}, {b_axis}}, loc);
}

}  // namespace

Array dot(Operand x, Operand y) {
  const Pair p = operands("dot", x, y);
  if (p.a.rank() == 0 || p.b.rank() == 0)
    return rounded(p, multiply({p.a, x.loc()}, {p.b, y.loc()}), x.loc());
  return contract("dot", p, p.a.rank() - 1, std::max(p.b.rank() - 2, 0), x.loc());
}

Array matmul(Operand x, Operand y) {
  const Loc loc = x.loc();
  Pair p = operands("matmul", x, y);
  if (p.a.rank() == 0 || p.b.rank() == 0)
    usage_error("matmul",
                "of " + to_string(p.a.aval()) + " and " + to_string(p.b.aval()) +
                    "; scalars are multiplied with *",
                loc);
  const int last = p.a.rank() - 1, inner = std::max(p.b.rank() - 2, 0);
  if (p.b.rank() <= 2) return contract("matmul", p, last, inner, loc);
  if (p.a.rank() == 1) return contract("matmul", p, 0, inner, loc);
  if (p.a.shape()[last] != p.b.shape()[inner]) throw_sizes("matmul", p, last, inner, loc);
  if (p.a.rank() == 2)  // rows of `a` come first; they belong in front of the columns
    return lax::move_axis(contract("matmul", p, last, inner, loc), 0, p.b.rank() - 2, loc);
  // Leading axes of both: broadcast them to one shape and pair them up.
  Shape batch = p.a.shape().part(0, p.a.rank() - 2);
  const Shape other = p.b.shape().part(0, inner);
  while (batch.rank() < other.rank()) batch.insert(0, 1);
  for (int i = 0; i < other.rank(); ++i) {
    Dim& d = batch[batch.rank() - other.rank() + i];
    if (d != other[i] && d != 1 && other[i] != 1)
      usage_error("matmul",
                  "leading axes of " + to_string(p.a.aval()) + " and " + to_string(p.b.aval()) +
                      " do not broadcast",
                  loc);
    if (d == 1) d = other[i];
  }
  const auto spread = [&](const Array& m) {
    Shape shape = batch;
    shape.append(m.shape()[m.rank() - 2]);
    shape.append(m.shape()[m.rank() - 1]);
    return align::broadcast("matmul", m, shape, loc);
  };
  const int n = batch.rank();
  DotParams params{{n + 1}, {n}, {}, {}};
  for (int i = 0; i < n; ++i) {
    params.lhs_batch.push_back(i);
    params.rhs_batch.push_back(i);
  }
  return rounded(p, lax::dot_general(spread(p.a), spread(p.b), std::move(params), loc), loc);
}

Array dot_general(Operand x, Operand y, const DotAxes& axes) {
  return paired("dot_general", operands("dot_general", x, y), axes, x.loc());
}

Array tensordot(Operand x, Operand y, const std::vector<int>& a_axes,
                const std::vector<int>& b_axes) {
  return paired("tensordot", operands("tensordot", x, y), {a_axes, b_axes}, x.loc());
}

Array outer(Operand x, Operand y) {
  const Pair p = operands("outer", x, y);
  const Array a = lax::reshape(p.a, {p.a.size()}, x.loc());
  const Array b = lax::reshape(p.b, {p.b.size()}, x.loc());
  return rounded(p, lax::dot_general(a, b, {}, x.loc()), x.loc());
}

}  // namespace gnomon
