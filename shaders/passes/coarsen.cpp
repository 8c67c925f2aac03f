// shaders/passes/coarsen.cpp -- bounds and the lanes that are left over; widen.cpp does the others.
#include "shaders/passes/coarsen.h"

#include <array>
#include <bit>
#include <span>

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

Values run_one(const Kernel& source, Builder& out, Value lane, std::uint32_t first_private) {
  OneLane(source, out, lane, first_private).Rewriter::copy(source.body);
  return {};
}

Values run_wide(const Kernel& source, Builder& out, Value invocation, std::uint32_t width) {
  const Value first = out.mul(invocation, out.u32(width));
  widen(source, out, first, static_cast<std::uint8_t>(width));
  return {};
}

/// Arrays of the last lanes' own: the wide body's hold one array per component.
std::uint32_t privates_again(const Kernel& source, Builder& out) {
  for (const LocalArray& a : source.privates) out.private_array(a);
  return static_cast<std::uint32_t>(source.privates.size());
}

Kernel in_trips(const Kernel& source, Builder& out, const CoarsenOptions& options) {
  const std::uint32_t width = options.width;
  GNOMON_CHECK(width <= options.group_size && options.deal <= 1, "no workgroup has the last lanes");
  const Value full = out.parameter(out.parameter_word());
  const Value rest = out.parameter(out.parameter_word());
  const Value group = out.source(Op::group_index), local = out.source(Op::local_index);
  const std::uint32_t step = options.group_size * options.trips;
  const Value first = out.add(out.mul(group, out.u32(step)), local);
  const Value behind = out.add(first, out.u32(step));
  const Value end = out.select(out.compare(Op::lt, behind, full), behind, full);
  out.loop(
      std::array{first}, options.trips,
      [&](std::span<const Value> i) { return out.compare(Op::lt, i[0], end); },
      [&](std::span<const Value> i) {
        if (width == 1)
          run_one(source, out, i[0], 0);
        else
          run_wide(source, out, i[0], width);
        return Values{out.add(i[0], out.u32(options.group_size))};
      });
  if (width == 1) return finished(out);
  const std::uint32_t first_private = privates_again(source, out);
  // Those of the first workgroup.
  out.if_(
      out.compare(Op::lt, out.add(out.mul(group, out.u32(step)), local), rest),
      [&] {
        const Value lane = out.add(out.mul(full, out.u32(width)), first);
        return run_one(source, out, lane, first_private);
      },
      [] { return Values{}; });
  return finished(out);
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
  if (options.trips > 0) return in_trips(source, out, options);
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
    return run_one(source, out, lane, first_private);
  };
  if (width == 1 || full == 0) {
    below(
        lanes, [&] { return one_lane(invocation, 0); }, nothing);
    return finished(out);
  }
  const auto wide = [&] { return run_wide(source, out, invocation, width); };
  const auto left_over = [&] {
    const std::uint32_t first_private = privates_again(source, out);
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
