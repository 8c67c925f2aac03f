// shaders/passes/coarsen.cpp -- bounds and the lanes that are left over; widen.cpp does the others.
#include "shaders/passes/coarsen.h"

#include <bit>

#include "shaders/passes/rewrite.h"
#include "shaders/passes/widen.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

/// The body for one lane.
class OneLane : public Rewriter {
 public:
  /// Private array k of the source is array `first_private + k` of `out`.
  OneLane(const Kernel& source, Builder& out, Value lane, std::uint32_t first_private)
      : Rewriter(source, out), lane_(lane), first_private_(first_private) {}

 protected:
  void visit(const Instruction& i) override {
    if (i.op == Op::lane) return map(i.results[0], lane_);
    if (first_private_ == 0 || (i.op != Op::private_load && i.op != Op::private_store)) {
      return copy(i);
    }
    Instruction moved = i;
    moved.immediate += first_private_;
    copy(moved);
  }

 private:
  Value lane_;
  std::uint32_t first_private_;
};

void check_supported(const Region& region) {
  for (const Instruction& i : region.body) {
    const bool between_lanes = i.op == Op::atomic_and || i.op == Op::atomic_or ||
                               is_collective(i.op) || i.op == Op::subgroup_index ||
                               i.op == Op::subgroup_count || i.op == Op::shared_load ||
                               i.op == Op::shared_store || i.op == Op::group_index ||
                               i.op == Op::local_index || i.op == Op::invocation;
    GNOMON_CHECK(!between_lanes, "`" + std::string(name(i.op)) + "` has no meaning in lane form");
    for (const Region& r : i.regions) check_supported(r);
  }
}

/// Which part of the lanes an invocation takes: its own number, or that of the workgroup dealt to
/// it.
Value numbered(Builder& out, const CoarsenOptions& options, std::uint32_t used) {
  const std::uint32_t groups = used / options.group_size + (used % options.group_size != 0);
  const std::uint32_t parts = options.deal;
  if (parts <= 1 || groups % parts != 0 || groups == parts) return out.source(Op::invocation);
  const Value group = out.source(Op::group_index);
  const Value dealt = out.add(out.mul(out.rem(group, out.u32(parts)), out.u32(groups / parts)),
                              out.div(group, out.u32(parts)));
  return out.add(out.mul(dealt, out.u32(options.group_size)), out.source(Op::local_index));
}

/// Without what only lanes have.
Kernel finished(Builder& out) {
  for (Buffer& b : out.kernel().buffers) b.history = false;
  for (LocalArray& a : out.kernel().privates) a.history = false;
  return out.take();
}

}  // namespace

Kernel coarsen(const Kernel& source, CoarsenOptions options) {
  const std::uint32_t width = options.width;
  const std::uint32_t lanes = source.lanes;
  GNOMON_CHECK(lanes > 0, "`" + source.name + "` is not in lane form");
  GNOMON_CHECK(std::has_single_bit(width) && width <= 16,
               "no invocation runs " + std::to_string(width) + " lanes");
  GNOMON_CHECK(options.group_size > 0 && lanes <= ~0u - width * options.group_size,
               "lane numbers beyond the last one overflow");
  check_supported(source.body);

  Builder out(source.name);
  copy_header(source, out);
  out.kernel().group_size = options.group_size;
  const Value invocation = numbered(out, options, invocations(lanes, width));
  const std::uint32_t full = lanes / width;  // invocations all of whose lanes exist
  const std::uint32_t used = invocations(lanes, width);
  const auto nothing = [] { return Values{}; };
  /// Runs `f` below `end`, which is everywhere when whole workgroups end there.
  const auto below = [&](std::uint32_t end, auto f, auto otherwise) {
    if (end == used && end % options.group_size == 0) return f();
    return out.if_(out.compare(Op::lt, invocation, out.u32(end)), f, otherwise);
  };
  const auto one_lane = [&](Value lane, std::uint32_t first_private) {
    OneLane(source, out, lane, first_private).Rewriter::copy(source.body);
    return Values{};
  };
  if (width == 1 || full == 0) {
    below(
        lanes, [&] { return one_lane(invocation, 0); }, nothing);
    return finished(out);
  }
  const auto wide = [&] {
    const Value first = out.mul(invocation, out.u32(width));
    widen(source, out, first, static_cast<std::uint8_t>(width));
    return Values{};
  };
  const auto left_over = [&] {
    // Arrays of their own: the wide body's hold one array per component.
    const auto first_private = static_cast<std::uint32_t>(source.privates.size());
    for (const LocalArray& a : source.privates) out.private_array(a);
    const auto body = [&] {
      return one_lane(out.add(invocation, out.u32(full * (width - 1))), first_private);
    };
    return below(used, body, nothing);
  };
  if (used == full) {
    below(full, wide, nothing);
  } else {
    below(full, wide, left_over);
  }
  return finished(out);
}

}  // namespace gnomon::kernel
