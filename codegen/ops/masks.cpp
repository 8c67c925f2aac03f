// codegen/ops/masks.cpp -- arrays of which only some rows count.
#include "gnomon/masks.h"
#include "codegen/lax/align.h"
#include "codegen/lax/lax.h"
#include "codegen/lax/positions.h"
#include "codegen/trace/eager.h"
#include "gnomon/indexing.h"
#include "gnomon/sorting.h"

namespace gnomon {

Array first_valid(Operand count, Dim size) {
  const Loc loc = count.loc();
  const Array n = align::as_array("first_valid", count);
  if (n.rank() > 0 || !is_integer(n.dtype()))
    usage_error("first_valid", "`count` is " + to_string(n.aval()) + " and must be one integer",
                loc);
  if (size < 0)
    usage_error("first_valid", "`size` is " + std::to_string(size) + " and cannot be negative",
                loc);
  // Of the type that rows are counted in: u32 and i32 would meet in i32, where many are negative.
  return made("first_valid", loc, [&] {
    return less({arange(size), loc}, {positions::cut_to_i32(n, loc), loc});
  });
}

Array valid_count(Operand mask, const Axes& axes, ReduceOptions options) {
  const Array m = align::as_array("valid_count", mask);
  if (m.dtype() != DType::boolean)
    usage_error("valid_count",
                "`mask` is " + to_string(m.aval()) + " and must be bool; compare it with something",
                mask.loc());
  return count_nonzero({m, mask.loc()}, axes, options);
}

namespace masks {

std::vector<Array> compact(const std::vector<Array>& rows, const std::vector<std::string>& paths,
                           const Array& mask, CompactOptions options, Loc loc) {
  if (mask.dtype() != DType::boolean || mask.rank() != 1)
    usage_error("compact", "`mask` is " + to_string(mask.aval()) + " and must be bool[n]", loc);
  const Dim n = mask.shape()[0], size = options.size.value_or(n);
  if (size < 0)
    usage_error("compact", "`size` is " + std::to_string(size) + " and cannot be negative", loc);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].rank() == 0 || rows[i].shape()[0] != n)
      usage_error("compact",
                  "`" + paths[i] + "` is " + to_string(rows[i].aval()) + " and `mask` is " +
                      to_string(mask.aval()) + "; leading axes agree",
                  loc);
  // Positions behind the last row that counts are out of range, where reads fill.
  return at_once("compact", loc, [&] {
    const Array at = flatnonzero({mask, loc}, size, n);
    const ReadOptions reading{.mode = ReadMode::fill, .fill_value = options.fill};
    Arrays all;
    for (const Array& each : rows) all.push_back(take({each, loc}, {at, loc}, 0, reading));
    const Array there_are = valid_count({mask, loc});
    const Array most = lax::scalar_integer(there_are.dtype(), size, loc);
    all.push_back(emit1(min_p, {}, {there_are, most}, loc));
    all.push_back(lax::lt(most, there_are, loc));
    return all;
  });
}

}  // namespace masks
}  // namespace gnomon
