// codegen/primitives/control/reverse_checkpoints.cpp -- reverse mode of checkpointed loops: which
// steps are kept while nobody knows how many there will be, and how the others are found again.
//
// Forward, C slots take the carried values of some steps (see LoopKind::checkpointed for sources).
// Backward, the kept steps are a stack, the last one on top. The step in question is reached from
// the top by taking steps again, and some of these are kept where slots are free: half way, until
// there is a slot for every step that is left. A slot is free as soon as its step was gone back
// over. Everything that decides this is integers in the carried values of ordinary loops.
#include <algorithm>
#include <cmath>

#include "codegen/graph/effects.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/buffer.h"
#include "codegen/primitives/control/reverse_steps.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
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

/// Values per slot from values per lane.
struct Slots {
  Lanes lanes;
  Dim count;

  Aval aval(DType t) const { return lanes.rows({t, lanes.shape()}, count); }
  /// 0, 1, ... in every lane.
  Array numbers() const { return lax::iota(DType::i32, aval(DType::i32).shape, axis()); }
  Array full(double x) const { return lax::full(aval(DType::i32), x); }
  Array each(const Array& of_lane) const {
    return lax::broadcast(of_lane, aval(of_lane.dtype()).shape,
                          lanes.count > 0 ? std::vector<int>{0} : std::vector<int>{});
  }

 private:
  int axis() const { return lanes.count > 0 ? 1 : 0; }
};

/// Which slot takes which step, decided step by step: O(1) each, however many slots there are.
///
/// The second schedule wants the latest of all steps, or of those that can be dispensed with. The
/// slots are a list in the order of their steps: what is kept goes to its end, and what can be
/// dispensed with stands side by side, since levels do not rise along the list while no slot is
/// spare, but for the last. So whether a slot is spare follows from its level, and the next one to
/// give up is the one before the slot `behind` that made them spare.
class Schedule {
 public:
  Schedule(Lanes lanes, Dim slots, Dim max_steps)
      : lanes_(lanes),
        slots_{lanes, slots},
        begins_(first_schedule(slots)),
        long_(slots > 1 && begins_ < no_step && (max_steps < 0 || max_steps > begins_)) {}

  Arrays start() const {
    const Array slots = lanes_.integer(static_cast<double>(slots_.count));
    Arrays r{lanes_.integer(0), slots, slots, lanes_.number(DType::boolean, 1)};
    if (!long_) return r;
    // Where the first schedule ends, the slots in the order of their steps are 0, C - 1, ..., 1.
    const Array numbers = slots_.numbers(), zero = slots_.full(0);
    const Array end = slots_.full(static_cast<double>(slots_.count - 1));
    r.push_back(lanes_.integer(1));
    r.push_back(lanes_.integer(1));
    r.push_back(lanes_.integer(0));
    r.push_back(slots_.full(no_step));
    r.push_back(lax::select(lax::lt(numbers, end), lax::add(numbers, 1.0), zero));
    // Slot 0 holds the start of the loop for good.
    r.push_back(lax::select(lax::eq(numbers, zero), slots_.full(no_step), zero));
    return r;
  }

  struct Place {
    Array kept, slot;
  };
  /// Whether `step` is kept, and where; moves the state on.
  Place place(const Array& step, Arrays& state) const {
    const Array i = state[slot_at], o = state[free_at], p = state[end_at], s = state[keeps_at];
    Place r{s, i};
    if (begins_ < no_step) r.kept = both(s, in_first(step));
    const Array one = lanes_.integer(1), next = lax::select(s, plus(i, one), i);
    const Array around = lax::select(both(s, lax::lt(o, next)), one, next);
    const Array at_p = lax::eq(step, p), fewer = minus(o, one);
    const Array goes_on = both(s, negated(lax::eq(plus(step, one), p)));
    const auto here = [&](const Array& then, const Array& otherwise) {
      return lax::select(at_p, then, otherwise);
    };
    state[slot_at] = here(fewer, around);
    state[free_at] = here(fewer, o);
    state[end_at] = here(plus(p, o), p);
    state[keeps_at] = here(lax::lt(lanes_.integer(0), fewer), goes_on);
    if (long_) place_later(step, state, r);
    return r;
  }

  struct Order {
    Array slots, steps;
  };
  /// The slots in the order of their steps, and these, once `count` steps were taken; empty ones
  /// come last.
  Order order(const Array& count, const Arrays& state) const {
    const Order first = order_in_first(count, state);
    return long_ ? order_of_list(count, state, first) : first;
  }

 private:
  // The state: of the first schedule, then of the second one.
  enum : std::size_t {
    slot_at,    // the next slot
    free_at,    // slots that this pass and later ones may take
    end_at,     // the last step of the pass
    keeps_at,   // whether the next step is kept
    last_at,    // the slot of the latest step
    behind_at,  // the one behind those that are spare
    limit_at,   // slots of a level below this are spare, if they stand in front of `behind`
    steps_at,   // by slot
    before_at,  // the slot of the step before, by slot
    level_at    // by slot
  };

  Array in_first(const Array& step) const {
    return lax::lt(step, lanes_.integer(static_cast<double>(begins_)));
  }

  /// Once there are more steps than the first schedule is for: the last step that can be dispensed
  /// with gives up its slot; if there is none, the last of all does, at the next level, and the
  /// lower levels can be dispensed with from then on.
  void place_later(const Array& step, Arrays& state, Place& r) const {
    const Array later = negated(in_first(step)), last = state[last_at], behind = state[behind_at];
    const Array in_front = lanes_.row(state[before_at], behind);
    const Array spare = lax::lt(lanes_.row(state[level_at], in_front), state[limit_at]);
    const Array slot = lax::select(spare, in_front, last);
    const Array old = lanes_.row(state[level_at], slot);
    const Array level = lax::select(spare, lanes_.integer(0), plus(old, lanes_.integer(1)));
    const auto now = [&](std::size_t i, const Array& then) {
      state[i] = lax::select(later, then, state[i]);
    };
    // A spare slot leaves its place in the list for the end of it.
    const Array moves = both(later, spare);
    const Array further = lanes_.row(state[before_at], in_front);
    const Array closed = lanes_.with_row_if(moves, state[before_at], further, behind);
    state[before_at] = lanes_.with_row_if(moves, closed, last, in_front);
    state[level_at] = lanes_.with_row_if(later, state[level_at], level, slot);
    now(limit_at, lax::select(spare, state[limit_at], old));
    now(behind_at, lax::select(spare, behind, last));
    now(last_at, slot);
    r.kept = emit1(or_p, {}, {r.kept, later}, {});
    r.slot = lax::select(later, slot, r.slot);
    state[steps_at] = lanes_.with_row_if(r.kept, state[steps_at], step, r.slot);
  }

  /// Pass k of the first schedule begins behind step P(k) = k C - (k - 1) (k - 2) / 2, with P(0) =
  /// -1, and keeps step P(k) + 1 in slot C - k, then P(k) + 1 + j in slot j, j < C - k. So after m
  /// steps of a pass k > 0 the slots hold: step 0; the first steps of the passes before; what is
  /// left of pass k - 1; what pass k has kept.
  Order order_in_first(const Array& count, const Arrays& state) const {
    const Array zero = lanes_.integer(0), one = lanes_.integer(1);
    const Array all = lanes_.integer(static_cast<double>(slots_.count));
    const Array room = emit1(max_p, {}, {state[free_at], zero}, {});  // C - k
    const Array begin = minus(minus(state[end_at], room), one);       // P(k)
    const Array kept =
        emit1(max_p, {}, {emit1(min_p, {}, {minus(minus(count, one), begin), room}, {}), zero}, {});
    const auto each = [&](const Array& a) { return slots_.each(a); };
    const Array q = slots_.numbers(), zero_each = slots_.full(0), unit = slots_.full(1);
    // What is left of the pass before, and this one's.
    const Array r = minus(q, each(minus(all, room)));
    const Array left = each(minus(room, kept)), own = minus(r, left);
    const Array old = plus(r, each(emit1(max_p, {}, {kept, one}, {})));
    const Array before = minus(minus(begin, room), one);  // P(k - 1) + 1
    Order o{
        lax::select(lax::lt(r, left), old, lax::select(lax::eq(own, zero_each), each(room), own)),
        lax::select(lax::lt(r, left), plus(each(before), old), plus(each(plus(begin, one)), own))};
    // The first ones of earlier passes. Half of a product of neighbours, one of which is even.
    const Array a = minus(q, unit), b = minus(a, unit);
    const auto half = [&](const Array& x) { return emit1(shr_p, {}, {x, unit}, {}); };
    const Array odd = lax::eq(emit1(and_p, {}, {a, unit}, {}), unit);
    const Array triangle = lax::mul(lax::select(odd, a, half(a)), lax::select(odd, half(b), b));
    const Array first = plus(minus(lax::mul(q, each(all)), triangle), unit);
    const Array earlier = lax::lt(r, zero_each);
    o.slots = lax::select(earlier, minus(each(all), q), o.slots);
    o.steps = lax::select(earlier, first, o.steps);
    const Array start = lax::eq(q, zero_each);
    o = {lax::select(start, zero_each, o.slots), lax::select(start, zero_each, o.steps)};
    // Pass 0: a step a slot.
    const Array few = each(lax::eq(room, all));
    const Array taken = lax::select(lax::lt(q, each(count)), q, slots_.full(no_step));
    return {lax::select(few, q, o.slots), lax::select(few, taken, o.steps)};
  }

  /// The same of the second schedule: the list from its end, O(C) once.
  Order order_of_list(const Array& count, const Arrays& state, const Order& first) const {
    const Array later = lax::lt(lanes_.integer(static_cast<double>(begins_)), count);
    const Arrays start{lax::select(later, lanes_.integer(static_cast<double>(slots_.count - 1)),
                                   lanes_.integer(-1)),
                       state[last_at], first.slots, first.steps};
    const Arrays known{state[before_at], state[steps_at]};
    WhileParams q;
    q.condition = control::traced(start, known, {}, [&](const Arrays& own, const Arrays&) {
      return Arrays{negated(lax::lt(own[0], lanes_.integer(0)))};
    });
    q.body = control::traced(start, known, {}, [&](const Arrays& own, const Arrays& k) {
      return Arrays{lax::add(own[0], -1.0), lanes_.row(k[0], own[1]),
                    lanes_.with_row(own[2], own[1], own[0]),
                    lanes_.with_row(own[3], lanes_.row(k[1], own[1]), own[0])};
    });
    q.carried = static_cast<int>(start.size());
    q.max_steps = slots_.count;
    q.lanes = lanes_.count;
    const Arrays out = emit_while(q, joined(start, known));
    return {out[2], out[3]};
  }

  Lanes lanes_;
  Slots slots_;
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
  /// Trips of the backward pass where one of them takes no more than `most` steps again; negative:
  /// any number.
  Dim most_trips(Dim most) const {
    if (p.max_steps < 0) return -1;
    constexpr Dim most_counted = 0x7fffffff;
    // With as many checkpoints as by default no step is taken again more than once, on average.
    const bool few_again = p.checkpoints >= default_checkpoints(p.max_steps);
    const Dim searches = few_again ? 1 : (most_again() + most - 1) / most;
    const Dim more = few_again ? p.max_steps / most : 0;
    return p.max_steps > (most_counted - more) / searches ? -1 : p.max_steps * searches + more;
  }

  const WhileParams& p;
  const StepBack& step;
  Lanes lanes;
  std::size_t carried;
  Graph body;              // as it is run again
  std::vector<bool> kept;  // per carried value
};

}  // namespace

Arrays checkpointed_forward(const WhileParams& p, const Arrays& x, const std::vector<bool>& active,
                            const Buffers& buffers, Loc loc) {
  const StepBack step(*p.body, static_cast<std::size_t>(p.carried), active, buffers);
  const Checkpointed c(p, step);
  const Schedule schedule(c.lanes, p.checkpoints, p.max_steps);
  // Behind the carried values: the number of the step, the schedule's state, slots. A slot is read
  // once a step was kept in it, or for the sake of a lane that keeps what it has.
  const Arrays decisions = schedule.start();
  Arrays start = joined(joined(part(x, 0, c.carried), {c.lanes.integer(0)}), decisions);
  const std::size_t slots = start.size();
  for (std::size_t i = 0; i < c.carried; ++i) {
    if (!c.kept[i]) continue;
    const Aval rows = c.lanes.rows(x[i].aval(), p.checkpoints);
    start.push_back(emit1(unwritten_p, BufferParams{rows.dtype, rows.shape}, {}, loc));
  }
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

namespace {

/// The backward pass: a stack of checkpoints, from whose top a search takes the steps again up to
/// the one that is differentiated, keeping some on the way.
class BackwardByCheckpoints {
 public:
  explicit BackwardByCheckpoints(const ReverseArgs& args)
      : a_(args),
        p_(a_.params.as<WhileParams>()),
        full_(*p_.body, static_cast<std::size_t>(p_.carried), a_.active, a_.buffers),
        step_(full_.narrowed(*p_.body, static_cast<std::size_t>(p_.carried), a_.cotangents)),
        c_(p_, full_),
        lanes_(c_.lanes),
        kept_(static_cast<std::size_t>(std::count(c_.kept.begin(), c_.kept.end(), true))),
        advance_(c_.advance()) {
    std::size_t buffers = 0;
    for (std::size_t i = 0; i < c_.carried; ++i) buffers += full_.settled(i) ? 1 : 0;
    behind_ = a_.saved.size() - buffers;
    constants_ = joined(part(a_.saved, behind_, buffers),
                        part(a_.inputs, c_.carried, a_.inputs.size() - c_.carried));
    constexpr Dim small = 16;
    in_parts_ = !goes_in_step(a_, step_) && (c_.most_again() < 0 || c_.most_again() > most_at_once);
    for (std::size_t i = 0; i < c_.carried; ++i)
      in_parts_ = in_parts_ && (a_.inputs[i].size() <= small * std::max<Dim>(1, lanes_.count) ||
                                (full_.settled(i) && !c_.kept[i]));
  }

  Tangents run() const {
    const Array count = a_.saved[0];
    const Arrays slots = part(a_.saved, behind_ - kept_, kept_);
    // The stack: place i of it lies in slot order[i] and holds step steps[i].
    const Schedule schedule(lanes_, p_.checkpoints, p_.max_steps);
    const Schedule::Order stack = schedule.order(count, part(a_.saved, 1, behind_ - kept_ - 1));
    const Array most = lanes_.integer(static_cast<double>(p_.checkpoints));
    const Array height = emit1(min_p, {}, {count, most}, {});
    Arrays state = joined({height, stack.steps}, slots);
    if (in_parts_) {
      state = joined(state, {lanes_.integer(-1), lanes_.integer(no_step)});
      for (std::size_t i = 0; i < c_.carried; ++i)
        if (c_.kept[i]) state.push_back(lax::zeros_like(a_.inputs[i]));
    }
    const Dim trips = in_parts_ ? c_.most_trips(most_at_once) : p_.max_steps;
    return rewind(a_, step_, {count, trips}, state, joined({stack.slots}, constants_),
                  [this](const SearchArgs& s) { return search(s); });
  }

 private:
  /// Steps that a search in parts takes at once.
  static constexpr Dim most_at_once = 64;

  /// Which step on the way from `at` to the last of `left` steps is to be kept.
  Array next_kept(const Array& at, const Array& left, const Array& place) const {
    const Array room = minus(lanes_.integer(static_cast<double>(p_.checkpoints)), place);
    const Array way = minus(left, at), few = minus(way, lanes_.integer(2));
    const Array half = plus(at, emit1(shr_p, {}, {way, lanes_.integer(1)}, {}));
    const Array next = lax::select(lax::lt(room, few), half, plus(at, lanes_.integer(1)));
    // 1 or 2 to go, or no room: none.
    const Array ends =
        emit1(or_p, {}, {lax::lt(way, lanes_.integer(3)), lax::lt(room, lanes_.integer(1))}, {});
    return lax::select(ends, lanes_.integer(no_step), next);
  }

  Array left_of(const SearchArgs& s) const {
    return lanes_.count > 0 && s.left.rank() == 0 ? lax::broadcast(s.left, lanes_.shape(), {})
                                                  : s.left;
  }

  /// What a search carries: the step that is reached, the stack's height, the step to keep next,
  /// the steps on the stack, the slots, and what is kept of the step that is reached.
  Arrays begin(const SearchArgs& s, const Array& left, const Array& last) const {
    const Array &height_now = s.state[0], &steps = s.state[1], &order = s.shared[0];
    const Array top = minus(height_now, lanes_.integer(1));
    const Array slot = lanes_.row(order, top);
    Array at = lanes_.row(steps, top);
    // What is reached at once is not needed again.
    Array height = lax::select(lax::eq(at, last), top, height_now);
    Array keep_at = next_kept(at, left, height);
    Arrays values;
    for (std::size_t i = 0; i < kept_; ++i) values.push_back(lanes_.row(s.state[2 + i], slot));
    if (in_parts_) {
      const std::size_t tables = 2 + kept_;
      const Array goes_on = negated(lax::lt(s.state[tables], lanes_.integer(0)));
      at = lax::select(goes_on, s.state[tables], at);
      height = lax::select(goes_on, height_now, height);
      keep_at = lax::select(goes_on, s.state[tables + 1], keep_at);
      for (std::size_t i = 0; i < kept_; ++i)
        values[i] = lanes_.select(goes_on, s.state[tables + 2 + i], values[i]);
    }
    return joined(joined({at, height, keep_at, steps}, part(s.state, 2, kept_)), values);
  }

  WhileParams loop(const SearchArgs& s, const Arrays& start, const Arrays& known) const {
    const std::size_t values = start.size() - kept_;
    const auto traced = [&](const auto& f) { return control::traced(start, known, {}, f); };
    WhileParams q;
    q.condition = traced([&](const Arrays& own, const Arrays& k) {
      const Array goes_on = lax::lt(own[0], minus(k[0], lanes_.integer(1)));
      return Arrays{s.runs.empty() ? goes_on : both(goes_on, k.back())};
    });
    q.body = traced([&](const Arrays& own, const Arrays& k) {
      const Arrays next =
          inline_graph(advance_, joined(part(own, values, kept_), part(k, 2, constants_.size())));
      const Array now = lax::add(own[0], 1.0), keep = lax::eq(now, own[2]);
      const Array place = own[1], to = lanes_.row(k[1], place);
      const Array higher = lax::select(keep, plus(place, lanes_.integer(1)), place);
      Arrays r{now, higher, lax::select(keep, next_kept(now, k[0], higher), own[2]),
               lanes_.with_row_if(keep, own[3], now, place)};
      for (std::size_t i = 0; i < kept_; ++i)
        r.push_back(lanes_.with_row_if(keep, own[4 + i], next[i], to));
      return joined(r, next);
    });
    q.carried = static_cast<int>(start.size());
    q.max_steps = in_parts_ ? most_at_once : c_.most_again();
    q.lanes = lanes_.count;
    if (q.max_steps < 0) {
      q.kind = LoopKind::checkpointed;
      q.checkpoints = p_.checkpoints;
    }
    return q;
  }

  Began search(const SearchArgs& s) const {
    const Array left = left_of(s);
    const Array last = minus(left, lanes_.integer(1));
    const Arrays start = begin(s, left, last);
    Arrays known = joined({left, s.shared[0]}, part(s.shared, 1, constants_.size()));
    if (!s.runs.empty()) known.push_back(s.runs);
    const Arrays out = emit_while(loop(s, start, known), joined(start, known));
    const std::size_t values = start.size() - kept_;
    Began r;
    for (std::size_t i = 0, next = values, whole = 1; i < c_.carried; ++i) {
      if (full_.settled(i)) {
        if (step_.used[i]) r.values.push_back(s.shared[whole]);
        ++whole;
      }
      if (!c_.kept[i]) continue;
      if (step_.used[i]) r.values.push_back(out[next]);
      ++next;
    }
    r.state = {s.runs.empty() ? out[1] : lanes_.select(s.runs, out[1], s.state[0]), out[3]};
    r.state = joined(r.state, part(out, 4, kept_));
    if (in_parts_) {
      r.reached = lax::eq(out[0], last);
      r.state.push_back(lax::select(r.reached, lanes_.integer(-1), out[0]));
      r.state.push_back(out[2]);
      r.state = joined(r.state, part(out, values, kept_));
    }
    return r;
  }

  const ReverseArgs& a_;
  const WhileParams& p_;
  StepBack full_, step_;
  Checkpointed c_;
  const Lanes& lanes_;
  std::size_t kept_;        // carried values that checkpoints hold
  std::size_t behind_ = 0;  // saved arrays in front of the buffers
  Graph advance_;
  Arrays constants_;  // what steps look at and do not change: buffers, constants
  /// A search of many steps is made of several where a step is small and lanes do not wait for one
  /// another: so a trip of the loop around it has a bound that does not grow with the slots. What a
  /// search has found so far is carried then. Loops of larger steps are taken apart anyway.
  bool in_parts_ = false;
};

}  // namespace

Tangents checkpointed_backward(const ReverseArgs& a) { return BackwardByCheckpoints(a).run(); }

}  // namespace gnomon::control
