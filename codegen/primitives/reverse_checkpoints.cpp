// codegen/primitives/reverse_checkpoints.cpp -- reverse mode of checkpointed loops: which steps are
// kept while nobody knows how many there will be, and how the others are found again.
//
// Forward, C slots take the carried values of some steps (see LoopKind::checkpointed for sources).
// Backward, the kept steps are a stack, the last one on top. The step in question is reached from
// the top by taking steps again, and some of these are kept where slots are free: half way, until
// there is a slot for every step that is left. A slot is free as soon as its step was gone back
// over. Everything that decides this is integers in the carried values of ordinary loops.
#include <algorithm>
#include <cmath>

#include "codegen/graph/effects.h"
#include "codegen/graph/simplify.h"
#include "codegen/primitives/control_graphs.h"
#include "codegen/primitives/gather_scatter.h"
#include "codegen/primitives/lax.h"
#include "codegen/primitives/reverse_steps.h"
#include "codegen/primitives/sort.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/write_once.h"

namespace gnomon::control {
namespace {

constexpr double no_step = 0x7fffffff;  // the step of an empty slot

/// Steps up to which `slots` are filled by the first of the two schedules.
std::int64_t first_schedule(Dim slots) { return (slots + 1) * (slots + 2) / 2 - 1; }

Array both(const Array& a, const Array& b) { return lax::logical_and(a, b); }
Array negated(const Array& a) { return lax::unary(not_p, a); }
Array plus(const Array& a, const Array& b) { return lax::add(a, b); }
Array minus(const Array& a, const Array& b) { return lax::sub(a, b); }

/// Which slot takes which step, decided step by step.
class Schedule {
 public:
  Schedule(Lanes lanes, Dim slots, Dim max_steps)
      : lanes_(lanes),
        slots_(slots),
        begins_(first_schedule(slots)),
        long_(slots > 1 && begins_ < 0x7fffffff && (max_steps < 0 || max_steps > begins_)) {}

  /// The steps that lie in the slots come first.
  Arrays start() const {
    const Array slots = lanes_.integer(static_cast<double>(slots_));
    const Aval numbers = lanes_.rows({DType::i32, lanes_.shape()}, slots_);
    Arrays r{lax::full(numbers, no_step), lanes_.integer(0), slots, slots,
             lanes_.number(DType::boolean, 1)};
    if (!long_) return r;
    // Slot 0 holds the start of the loop for good.
    const Array first = lax::eq(slot_numbers(), lax::full(numbers, 0));
    r.push_back(lax::select(first, lax::full(numbers, no_step), lax::full(numbers, 0)));
    r.push_back(lax::full({DType::boolean, numbers.shape}, 0));
    return r;
  }

  struct Place {
    Array kept, slot;
  };
  /// Whether `step` is kept, and where; moves the state on.
  Place place(const Array& step, Arrays& state) const {
    const Array i = state[1], o = state[2], p = state[3], s = state[4];
    Place r{s, i};
    if (max_in_first()) r.kept = both(s, in_first(step));
    const Array one = lanes_.integer(1), next = lax::select(s, plus(i, one), i);
    const Array around = lax::select(both(s, lax::lt(o, next)), one, next);
    const Array at_p = lax::eq(step, p), fewer = minus(o, one);
    const Array goes_on = both(s, negated(lax::eq(plus(step, one), p)));
    const auto here = [&](const Array& then, const Array& otherwise) {
      return lax::select(at_p, then, otherwise);
    };
    state[1] = here(fewer, around);
    state[2] = here(fewer, o);
    state[3] = here(plus(p, o), p);
    state[4] = here(lax::lt(lanes_.integer(0), fewer), goes_on);
    if (long_) place_later(step, state, r);
    state[0] = lanes_.with_row_if(r.kept, state[0], step, r.slot);
    return r;
  }

 private:
  bool max_in_first() const { return begins_ < 0x7fffffff; }
  Array in_first(const Array& step) const {
    return lax::lt(step, lanes_.integer(static_cast<double>(begins_)));
  }
  Array slot_numbers() const {
    return lax::iota(DType::i32, lanes_.rows({DType::i32, lanes_.shape()}, slots_).shape,
                     lanes_.count > 0 ? 1 : 0);
  }
  Array to_slots(const Array& a) const {
    return lax::broadcast(a, slot_numbers().shape(),
                          lanes_.count > 0 ? std::vector<int>{0} : std::vector<int>{});
  }
  Array over_slots(const Primitive& reduction, const Array& a) const {
    return emit1(reduction, AxesParams{{lanes_.count > 0 ? 1 : 0}}, {a}, {});
  }

  /// Once there are more steps than the first schedule is for: the last step that can be dispensed
  /// with gives up its slot; if there is none, the last of all does, at the next level, and the
  /// lower levels can be dispensed with from then on.
  void place_later(const Array& step, Arrays& state, Place& r) const {
    const Array steps = state[0], level = state[5], spare = state[6], number = slot_numbers();
    const Array later = negated(in_first(step)), any = over_slots(reduce_max_p, spare);
    const Array none = lax::full_like(steps, -1);
    const Array candidates =
        lax::select(lax::select(to_slots(any), spare, lax::full_like(spare, 1)), steps, none);
    const Array last = over_slots(reduce_max_p, candidates);
    const Array slot =
        over_slots(reduce_min_p, lax::select(lax::eq(candidates, to_slots(last)), number,
                                             lax::full_like(number, static_cast<double>(slots_))));
    const Array old = lanes_.row(level, slot);
    const Array next = lax::select(any, lanes_.integer(0), plus(old, lanes_.integer(1)));
    const Array here = lax::eq(number, to_slots(slot));
    const Array spared =
        lax::select(to_slots(any), both(spare, negated(here)), lax::lt(level, to_slots(old)));
    state[5] = lax::select(both(here, to_slots(later)), to_slots(next), level);
    state[6] = lax::select(to_slots(later), spared, spare);
    r.kept = emit1(or_p, {}, {r.kept, later}, {});
    r.slot = lax::select(later, slot, r.slot);
  }

  Lanes lanes_;
  Dim slots_;
  std::int64_t begins_;  // the second schedule, with this step
  bool long_;            // whether it may come to that
};

/// Carried values that a loop needs in order to find those again that the pullback looks at, but
/// for buffers.
std::vector<bool> needed_again(const Graph& body, std::size_t carried, const StepBack& step) {
  std::vector<bool> flags(carried, false);
  for (std::size_t i = 0; i < carried; ++i) flags[i] = step.kept(i);
  flags = closed_over_body(without_effects(body), carried, flags);
  for (std::size_t i = 0; i < carried; ++i) flags[i] = flags[i] && !step.settled(i);
  return flags;
}

struct Checkpointed {
  Checkpointed(const WhileParams& params, const StepBack& s)
      : p(params),
        step(s),
        lanes{p.lanes},
        carried(static_cast<std::size_t>(p.carried)),
        body(without_effects(settle(*p.body, s.buffers))),
        kept(needed_again(body, carried, s)) {}

  /// A step as far as what is kept depends on it: (kept..., buffers..., constants...) -> kept...
  Graph advance() const {
    Trace t;
    Arrays in(body.inputs.size()), out;
    const auto take = [&](std::size_t i) { in[i] = t.input(body.avals[body.inputs[i]]); };
    for (std::size_t i = 0; i < carried; ++i)
      if (kept[i]) take(i);
    for (std::size_t i = 0; i < carried; ++i) {
      if (step.settled(i)) take(i);
      if (!kept[i] && !step.settled(i)) in[i] = lax::full(body.avals[body.inputs[i]], 0);
    }
    for (std::size_t i = carried; i < in.size(); ++i) take(i);
    const Arrays next = inline_graph(body, in);
    for (std::size_t i = 0; i < carried; ++i)
      if (kept[i]) out.push_back(next[i]);
    return t.finish(out);
  }
  /// Steps that may have to be taken again in one go; negative: any number.
  Dim most_again() const {
    if (p.max_steps < 0 || p.max_steps > first_schedule(p.checkpoints)) return p.max_steps;
    return std::min(p.max_steps, p.checkpoints + 1);
  }

  const WhileParams& p;
  const StepBack& step;
  Lanes lanes;
  std::size_t carried;
  Graph body;              // as it is run again
  std::vector<bool> kept;  // per carried value
};

}  // namespace

Dim default_checkpoints(Dim max_steps) {
  // The fewest with 2 n < (C + 1) (C + 2).
  auto c = static_cast<Dim>(std::sqrt(2.0 * static_cast<double>(max_steps) + 0.25) - 1.5);
  c = std::max<Dim>(c, 1);
  while (c > 1 && 2 * max_steps < c * (c + 1)) --c;
  while (2 * max_steps >= (c + 1) * (c + 2)) ++c;
  return c;
}

Arrays checkpointed_forward(const WhileParams& p, const Arrays& x, const std::vector<bool>& active,
                            const Buffers& buffers, Loc loc) {
  const StepBack step(*p.body, static_cast<std::size_t>(p.carried), active, buffers);
  const Checkpointed c(p, step);
  const Schedule schedule(c.lanes, p.checkpoints, p.max_steps);
  // Behind the carried values: the number of the step, the schedule's state, slots.
  const Arrays decisions = schedule.start();
  Arrays start = joined(joined(part(x, 0, c.carried), {c.lanes.integer(0)}), decisions);
  const std::size_t slots = start.size();
  for (std::size_t i = 0; i < c.carried; ++i)
    if (c.kept[i]) start.push_back(lax::full(c.lanes.rows(x[i].aval(), p.checkpoints), 0));
  const Arrays constants = part(x, c.carried, x.size() - c.carried);
  const auto traced = [&](const auto& f) {
    return control::traced(start, constants, loc, [&](const Arrays& own, const Arrays& k) {
      return f(own, joined(part(own, 0, c.carried), k));
    });
  };
  WhileParams q = settled(while_p, p, buffers).as<WhileParams>();
  const GraphPtr body = q.body;
  q.condition =
      traced([&](const Arrays&, const Arrays& in) { return inline_graph(*p.condition, in); });
  q.body = traced([&](const Arrays& own, const Arrays& in) {
    Arrays next = inline_graph(*body, in);
    Arrays state = part(own, c.carried + 1, decisions.size());
    const Schedule::Place to = schedule.place(own[c.carried], state);
    next.push_back(lax::add(own[c.carried], 1.0));
    next = joined(next, state);
    for (std::size_t i = 0, slot = slots; i < c.carried; ++i)
      if (c.kept[i]) next.push_back(c.lanes.with_row_if(to.kept, own[slot++], own[i], to.slot));
    return next;
  });
  q.carried = static_cast<int>(start.size());
  const Arrays out = emit_while(q, joined(start, constants), loc);
  return joined(out, settled_of(step, c.carried, out));
}

Tangents checkpointed_backward(const ReverseArgs& a) {
  const auto& p = a.params.as<WhileParams>();
  const StepBack full(*p.body, static_cast<std::size_t>(p.carried), a.active, a.buffers);
  const StepBack step = full.narrowed(*p.body, static_cast<std::size_t>(p.carried), a.cotangents);
  const Checkpointed c(p, full);
  const Lanes& lanes = c.lanes;
  const auto kept = static_cast<std::size_t>(std::count(c.kept.begin(), c.kept.end(), true));
  const Array count = a.saved[0];
  std::size_t buffers = 0;
  for (std::size_t i = 0; i < c.carried; ++i) buffers += full.settled(i) ? 1 : 0;
  const Arrays slots = part(a.saved, a.saved.size() - buffers - kept, kept);
  // What steps look at and do not change: buffers, constants.
  const Arrays constants = joined(part(a.saved, a.saved.size() - buffers, buffers),
                                  part(a.inputs, c.carried, a.inputs.size() - c.carried));

  // The stack: place i of it lies in slot order[i] and holds step steps[i].
  const Arrays sorted = emit(sort_p, SortParams{lanes.count > 0 ? 1 : 0, 1}, {a.saved[1]}, {});
  const Array most = lanes.integer(static_cast<double>(p.checkpoints));
  const Array height = emit1(min_p, {}, {count, most}, {});
  const Graph advance = c.advance();

  // Which step on the way from `at` to the last of `left` steps is to be kept.
  const auto next_kept = [&](const Array& at, const Array& left, const Array& place) {
    const Array room = minus(lanes.integer(static_cast<double>(p.checkpoints)), place);
    const Array way = minus(left, at), few = minus(way, lanes.integer(2));
    const Array half = plus(at, emit1(shr_p, {}, {way, lanes.integer(1)}, {}));
    const Array next = lax::select(lax::lt(room, few), half, plus(at, lanes.integer(1)));
    // 1 or 2 to go, or no room: none.
    const Array none =
        emit1(or_p, {}, {lax::lt(way, lanes.integer(3)), lax::lt(room, lanes.integer(1))}, {});
    return lax::select(none, lanes.integer(no_step), next);
  };

  const auto search = [&](const SearchArgs& s) -> Began {
    const Array left =
        lanes.count > 0 && s.left.rank() == 0 ? lax::broadcast(s.left, lanes.shape(), {}) : s.left;
    const Array &height_now = s.state[0], &steps = s.state[1], &order = s.shared[0];
    const Array top = minus(height_now, lanes.integer(1));
    const Array at = lanes.row(steps, top), slot = lanes.row(order, top);
    const Array last = minus(left, lanes.integer(1));
    // What is reached at once is not needed again.
    const Array height_then = lax::select(lax::eq(at, last), top, height_now);
    Arrays start{at, height_then, next_kept(at, left, height_then), steps};
    for (std::size_t i = 0; i < kept; ++i) start.push_back(s.state[2 + i]);
    const std::size_t values = start.size();
    for (std::size_t i = 0; i < kept; ++i) start.push_back(lanes.row(s.state[2 + i], slot));
    Arrays known = joined({left, order}, part(s.shared, 1, constants.size()));
    if (!s.runs.empty()) known.push_back(s.runs);
    const auto traced = [&](const auto& f) { return control::traced(start, known, {}, f); };
    WhileParams q;
    q.condition = traced([&](const Arrays& own, const Arrays& k) {
      const Array goes_on = lax::lt(own[0], minus(k[0], lanes.integer(1)));
      return Arrays{s.runs.empty() ? goes_on : both(goes_on, k.back())};
    });
    q.body = traced([&](const Arrays& own, const Arrays& k) {
      const Arrays next =
          inline_graph(advance, joined(part(own, values, kept), part(k, 2, constants.size())));
      const Array now = lax::add(own[0], 1.0), keep = lax::eq(now, own[2]);
      const Array place = own[1], to = lanes.row(k[1], place);
      const Array higher = lax::select(keep, plus(place, lanes.integer(1)), place);
      Arrays r{now, higher, lax::select(keep, next_kept(now, k[0], higher), own[2]),
               lanes.with_row_if(keep, own[3], now, place)};
      for (std::size_t i = 0; i < kept; ++i)
        r.push_back(lanes.with_row_if(keep, own[4 + i], next[i], to));
      return joined(r, next);
    });
    q.carried = static_cast<int>(start.size());
    q.max_steps = c.most_again();
    q.lanes = lanes.count;
    if (q.max_steps < 0) {
      q.kind = LoopKind::checkpointed;
      q.checkpoints = p.checkpoints;
    }
    const Arrays out = emit_while(q, joined(start, known));
    Began r;
    for (std::size_t i = 0, next = values, whole = 1; i < c.carried; ++i) {
      if (full.settled(i)) {
        if (step.used[i]) r.values.push_back(s.shared[whole]);
        ++whole;
      }
      if (!c.kept[i]) continue;
      if (step.used[i]) r.values.push_back(out[next]);
      ++next;
    }
    r.state = {s.runs.empty() ? out[1] : lanes.select(s.runs, out[1], height_now), out[3]};
    r.state = joined(r.state, part(out, 4, kept));
    return r;
  };
  return rewind(a, step, count, joined({height, sorted[0]}, slots), joined({sorted[1]}, constants),
                search);
}

}  // namespace gnomon::control
