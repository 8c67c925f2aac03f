// codegen/ops/index.cpp -- x[i].
#include "codegen/lax/align.h"
#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/ops.h"

namespace gnomon {

namespace {

Array row(const Array& x, const Operand& index) {
  const Dim n = x.shape()[0];
  const std::int64_t given = index.scalar().integer, at = given < 0 ? given + n : given;
  if (index.scalar().beyond_i64 || at < 0 || at >= n)
    usage_error("operator[]",
                "index " + to_string(index.scalar()) + " is out of range for " +
                    to_string(x.aval()) + ", whose first axis has length " + std::to_string(n),
                index.loc());
  return lax::reshape(lax::slice_axis(x, 0, at, at + 1), x.shape().without(0));
}

Array rows(const Array& x, const Operand& index) {
  const Loc loc = index.loc();
  const Array& i = index.array();
  if (!is_integer(i.dtype()))
    usage_error("operator[]", "the index is " + to_string(i.aval()) + "; cast it to i32", loc);
  const Dim n = x.shape()[0];
  if (n == 0) usage_error("operator[]", to_string(x.aval()) + " has no element to index", loc);
  // Negative indices count from the end, once; what is still out of range clips.
  const Array flat = lax::reshape(i, {i.size()}, loc);
  const Array at = positions::of("operator[]", {flat, loc}, n, true);
  const Array read = emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {x, at}, loc);
  Shape out = i.shape();
  for (Dim d : x.shape().without(0)) out.append(d);
  return lax::reshape(read, out, loc);
}

}  // namespace

Array Array::operator[](const Operand& index) const {
  if (rank() == 0)
    usage_error("operator[]", to_string(aval()) + " has no axis to index", index.loc());
  if (!index.is_array()) return row(*this, index);
  return at_once("operator[]", index.loc(), [&] { return rows(*this, index); });
}

}  // namespace gnomon
