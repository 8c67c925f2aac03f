// codegen/ops/axes.cpp -- the functions of gnomon/axes.h.
#include "gnomon/axes.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/collectives.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

const NamedAxis& found(std::string_view op, const std::string& axis, Loc loc) {
  return Trace::active(op, loc).axis(op, axis, loc);
}

}  // namespace

namespace detail {

Array sum_over(const Array& a, const std::string& axis, Loc loc) {
  return emit1(psum_p, CollectiveParams{axis, found("psum", axis, loc).size}, {a}, loc);
}

Array mean_over(const Array& a, const std::string& axis, Loc loc) {
  const Dim size = found("pmean", axis, loc).size;
  if (!is_float(a.dtype()))
    usage_error("pmean", to_string(a.aval()) + " has no mean of its own type; cast it first", loc);
  return lax::div(emit1(psum_p, CollectiveParams{axis, size}, {a}, loc),
                  lax::full_like(a, static_cast<double>(size), loc), loc);
}

Array most_over(const Array& a, bool largest, const std::string& axis, Loc loc) {
  const char* op = largest ? "pmax" : "pmin";
  const Dim size = found(op, axis, loc).size;
  if (size == 0) usage_error(op, "axis `" + axis + "` has no elements and so no extreme one", loc);
  const Array all = emit1(all_gather_p, GatherAxisParams{axis, size, 0}, {a}, loc);
  return emit1(largest ? reduce_max_p : reduce_min_p, AxesParams{{0}}, {all}, loc);
}

Array gather_over(const Array& a, const std::string& axis, int position, Loc loc) {
  const int rank = a.rank() + 1;
  if (position < -rank || position >= rank)
    usage_error("all_gather",
                "position " + std::to_string(position) + " is out of range; what is gathered of " +
                    to_string(a.aval()) + " has " + std::to_string(rank) + " axes",
                loc);
  const Dim size = found("all_gather", axis, loc).size;
  return emit1(all_gather_p,
               GatherAxisParams{axis, size, position < 0 ? position + rank : position}, {a}, loc);
}

}  // namespace detail

Array axis_index(const std::string& axis, Loc loc) {
  return emit1(axis_index_p, CollectiveParams{axis, found("axis_index", axis, loc).size}, {}, loc);
}

Dim axis_size(const std::string& axis, Loc loc) { return found("axis_size", axis, loc).size; }

}  // namespace gnomon
