// codegen/ops/index.cpp -- x[i].
#include "codegen/lax/align.h"
#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "gnomon/ops.h"

namespace gnomon {

Array Array::at_index(Dim index) const {
  if (rank() == 0) usage_error("operator[]", to_string(aval()) + " has no axis to index", {});
  const Dim n = shape()[0], at = index < 0 ? index + n : index;
  if (at < 0 || at >= n)
    usage_error("operator[]",
                "index " + std::to_string(index) + " is out of range for " + to_string(aval()) +
                    ", whose first axis has length " + std::to_string(n),
                {});
  return lax::reshape(lax::slice_axis(*this, 0, at, at + 1), shape().without(0));
}

Array Array::operator[](const Array& index) const {
  if (rank() == 0) usage_error("operator[]", to_string(aval()) + " has no axis to index", {});
  if (!is_integer(index.dtype()))
    usage_error("operator[]", "the index is " + to_string(index.aval()) + "; cast it to i32", {});
  const Dim n = shape()[0];
  if (n == 0) usage_error("operator[]", to_string(aval()) + " has no element to index", {});
  // Negative indices count from the end, once; what is still out of range clips.
  const Array at = positions::of("operator[]", lax::reshape(index, {index.size()}), n, true);
  const Array rows = emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {*this, at}, {});
  Shape out = index.shape();
  for (Dim d : shape().without(0)) out.append(d);
  return lax::reshape(rows, out);
}

}  // namespace gnomon
