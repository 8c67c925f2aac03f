// codegen/ops/csr.cpp -- public products with sparse matrices.
#include "codegen/operations/csr.h"
#include "codegen/lax/align.h"
#include "gnomon/sparse.h"

namespace gnomon {
namespace {

struct Pattern {
  Array offsets, columns;
  Dim rows = 0, entries = 0;
};

Pattern checked(std::string_view op, const CsrPattern& p, Loc loc) {
  const Array &offsets = p.offsets, &columns = p.columns;
  const auto is_list = [](const Array& a) { return a.dtype() == DType::i32 && a.rank() == 1; };
  if (!is_list(offsets) || !is_list(columns) || offsets.size() == 0)
    usage_error(op,
                "the pattern's offsets are " + to_string(offsets.aval()) + " and its columns " +
                    to_string(columns.aval()) + "; i32[rows + 1] and i32[entries] are needed",
                loc);
  if (p.width < 0 || p.longest < 0)
    usage_error(op,
                "the pattern's width is " + std::to_string(p.width) + " and its longest row " +
                    std::to_string(p.longest) + "; neither can be negative",
                loc);
  return {offsets, columns, offsets.size() - 1, columns.size()};
}

/// A vector as a block of one.
Array block(std::string_view op, const char* what, const Array& a, Dim rows, Loc loc) {
  if ((a.rank() != 1 && a.rank() != 2) || a.shape()[0] != rows)
    usage_error(op,
                std::string(what) + " is " + to_string(a.aval()) + "; a vector of " +
                    std::to_string(rows) + " or a block [" + std::to_string(rows) +
                    ", k] is needed",
                loc);
  return a.rank() == 1 ? lax::reshape(a, {rows, 1}, loc) : a;
}

DType float_dtype(std::string_view op, const Operand& a, const Operand& b) {
  const std::array both{a, b};
  return align::float_dtype(align::common_dtype(op, both));
}

}  // namespace

Array csr_matmul(const CsrPattern& pattern, Operand values, Operand x, CsrOptions options) {
  constexpr std::string_view op = "csr_matmul";
  const Loc loc = values.loc();
  const Pattern p = checked(op, pattern, loc);
  const DType t = float_dtype(op, values, x);
  const Array v = align::in_dtype(op, values, t), given = align::in_dtype(op, x, t);
  if (v.shape() != Shape{p.entries})
    usage_error(op,
                "the values are " + to_string(v.aval()) + " and the pattern has " +
                    std::to_string(p.entries) + " entries",
                loc);
  const Array in = block(op, "x", given, options.transpose ? p.rows : pattern.width, loc);
  const Array y = emit1(
      csr_dot_p, CsrParams{pattern.width, pattern.longest, options.transpose, pattern.scattered},
      {p.offsets, p.columns, v, in}, loc);
  return given.rank() == 1 ? lax::reshape(y, {y.size()}, loc) : y;
}

Array csr_sampled_matmul(const CsrPattern& pattern, Operand a, Operand b) {
  constexpr std::string_view op = "csr_sampled_matmul";
  const Loc loc = a.loc();
  const Pattern p = checked(op, pattern, loc);
  const DType t = float_dtype(op, a, b);
  const Array left = block(op, "a", align::in_dtype(op, a, t), p.rows, loc),
              right = block(op, "b", align::in_dtype(op, b, t), pattern.width, loc);
  if (left.shape()[1] != right.shape()[1])
    usage_error(op,
                "a is " + to_string(left.aval()) + " and b " + to_string(right.aval()) +
                    "; they need as many columns",
                loc);
  return emit1(csr_sampled_p, CsrParams{pattern.width, pattern.longest, false, pattern.scattered},
               {p.offsets, p.columns, left, right}, loc);
}

}  // namespace gnomon
