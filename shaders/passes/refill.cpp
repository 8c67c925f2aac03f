// shaders/passes/refill.cpp -- splits a kernel in front of, inside and behind its loop.
#include "shaders/passes/refill.h"

#include <algorithm>

#include "shaders/passes/affine.h"
#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

template <class F>
void for_each_instruction(const Region& region, const F& f) {
  for (const Instruction& i : region.body) {
    f(i);
    for (const Region& r : i.regions) for_each_instruction(r, f);
  }
}

/// Steps that lanes do between two looks at who is done.
constexpr std::uint32_t steps_on_end = 16;

/// The most trips that an element takes when `loop` is done in so many steps on end.
std::uint64_t trips_of_element(const Instruction& loop) {
  return std::max<std::uint64_t>(1, (loop.immediate + steps_on_end - 1) / steps_on_end);
}

/// Marks what an instruction uses, in its regions too.
void mark_uses(const Instruction& i, std::vector<bool>& used) {
  const auto mark = [&](std::span<const Value> values) {
    for (Value v : values) used[v.index] = true;
  };
  mark(i.operands);
  for (const Region& r : i.regions) {
    for (const Instruction& inner : r.body) mark_uses(inner, used);
    mark(r.yields);
  }
}

/// The three parts of a kernel, and which values pass between them.
class Parts {
 public:
  explicit Parts(const Kernel& k) : kernel(k) {}

  /// Whether the kernel has the shape.
  bool find() {
    bool rereads = false;
    for_each_instruction(kernel.body, [&](const Instruction& i) {
      rereads |= i.op == Op::load && kernel.buffers[i.immediate].access != Access::read;
      rereads |= is_atomic(i.op) || i.op == Op::barrier;
    });
    if (rereads) return false;
    const AffineFacts facts = analyse(kernel, {Op::lane, 2});
    for (std::size_t n = 0; n < kernel.body.body.size(); ++n) {
      const Instruction& i = kernel.body.body[n];
      if (i.op != Op::loop || facts[i.regions[0].yields[0]].uniform()) continue;
      if (at != none) return false;
      at = n;
    }
    if (at == none) return false;
    find_own();
    find_carried();
    return true;
  }

  const Instruction& loop() const { return kernel.body.body[at]; }
  std::span<const Instruction> before() const { return {kernel.body.body.data(), at}; }
  std::span<const Instruction> behind() const {
    return std::span<const Instruction>(kernel.body.body).subspan(at + 1);
  }

  const Kernel& kernel;
  std::vector<bool> own;         // values in front of the loop that belong to one element
  std::vector<Value> carried;    // of those, what waits for later use beside the loop's own values
  std::vector<bool> recomputed;  // of those, what is computed again behind the loop

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  void find_own() {
    own.assign(kernel.types.size(), false);
    for (const Instruction& i : before()) {
      bool mine = i.op == Op::lane;
      const auto look = [&](const Instruction& inner) {
        mine |= writes(inner.op) || inner.op == Op::private_load;
        for (Value v : inner.operands) mine = mine || own[v.index];
        for (const Region& r : inner.regions)
          for (Value v : r.yields) mine = mine || own[v.index];
      };
      look(i);
      for (const Region& r : i.regions) for_each_instruction(r, look);
      for (Value v : i.results) own[v.index] = mine;
    }
  }

  bool repeatable(const Instruction& i) const {
    return i.regions.empty() && !writes(i.op) && i.op != Op::private_load;
  }

  void find_carried() {
    std::vector<bool> inside(kernel.types.size(), false), later(kernel.types.size(), false);
    for (const Region& r : loop().regions) {
      for (const Instruction& i : r.body) mark_uses(i, inside);
      for (Value v : r.yields) inside[v.index] = true;
    }
    for (const Instruction& i : behind()) mark_uses(i, later);
    recomputed.assign(kernel.types.size(), false);
    for (auto i = before().rbegin(); i != before().rend(); ++i) {
      if (i->op == Op::lane) continue;
      for (Value v : i->results) {
        if (!own[v.index]) continue;
        if (inside[v.index] || (later[v.index] && !repeatable(*i))) {
          carried.push_back(v);
        } else if (later[v.index]) {
          recomputed[v.index] = true;
          mark_uses(*i, later);
        }
      }
    }
  }

  std::size_t at = none;
};

class Refill : public Rewriter {
 public:
  Refill(const Parts& parts, Builder& out, std::uint64_t most_trips)
      : Rewriter(parts.kernel, out), parts_(parts), most_trips_(most_trips) {}

  /// The counter's buffer.
  std::uint32_t run() {
    const std::uint32_t counter =
        out_.buffer({DType::i32, Access::read_write, false, false, "next"});
    for (const Instruction& i : parts_.before())
      if (i.op != Op::lane && !std::any_of(i.results.begin(), i.results.end(),
                                           [&](Value v) { return parts_.own[v.index]; }))
        if (!i.results.empty()) copy(i);
    const Instruction& loop = parts_.loop();
    std::vector<Value> state = loop.operands;
    state.insert(state.end(), parts_.carried.begin(), parts_.carried.end());
    const std::size_t steps = loop.operands.size();

    // Carried: whether there is more to do, whether an element is held, its number, trips, state.
    constexpr std::size_t header = 4;
    const Value no = out_.boolean(false);
    Values start{out_.boolean(true), no, out_.u32(0), out_.u32(0)};
    for (Value v : state) start.push_back(zero(v));
    out_.loop(
        start, most_trips_, [](std::span<const Value> c) { return c[0]; },
        [&](std::span<const Value> c) {
          const Value held = c[1], element = c[2], trip = c[3];
          const std::span<const Value> now = c.subspan(header);
          enter(element, now.subspan(steps));
          const auto evaluate = [&](const Region& region, std::span<const Value> at) {
            map(region.arguments, at.first(steps));
            copy(region);
            return mapped(region.yields);
          };
          const auto goes_on = [&](std::span<const Value> at) {
            const auto yes = [&] { return evaluate(loop.regions[0], at); };
            return out_.if_(held, yes, [&] { return Values{no}; })[0];
          };
          // A few steps on end, for which lanes that are done do wait.
          Values first(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(steps));
          first.push_back(out_.u32(0));
          Values next = out_.loop(
              first, steps_on_end,
              [&](std::span<const Value> at) {
                return out_.land(out_.compare(Op::lt, at[steps], out_.u32(steps_on_end)),
                                 goes_on(at));
              },
              [&](std::span<const Value> at) {
                Values then = evaluate(loop.regions[1], at);
                then.push_back(out_.add(at[steps], out_.u32(1)));
                return then;
              });
          next.pop_back();
          const Value over = out_.unary(Op::bnot, goes_on(next));
          next.insert(next.end(), now.begin() + static_cast<std::ptrdiff_t>(steps), now.end());

          Values change{over, held, element};
          change.insert(change.end(), next.begin(), next.end());
          const Values changed = out_.loop(
              change, 1, [](std::span<const Value> d) { return d[0]; },
              [&](std::span<const Value> d) {
                finish(d[1], d[2], d.subspan(3), steps);
                return take(counter, trip, steps);
              });
          Values result{changed[1], changed[1], changed[2], out_.add(trip, out_.u32(1))};
          result.insert(result.end(), changed.begin() + 3, changed.end());
          return result;
        });
    return counter;
  }

 private:
  Value zero(Value like) { return out_.constant(source_.type(like), 0); }

  /// The element that is worked on, and what it has brought along.
  void enter(Value element, std::span<const Value> carried) {
    for (const Instruction& i : parts_.before())
      if (i.op == Op::lane) map(i.results[0], element);
    if (!carried.empty()) map(parts_.carried, carried);
  }

  void finish(Value held, Value element, std::span<const Value> now, std::size_t steps) {
    out_.if_(
        held,
        [&] {
          enter(element, now.subspan(steps));
          map(parts_.loop().results, now.first(steps));
          for (const Instruction& i : parts_.before())
            if (i.results.size() == 1 && parts_.recomputed[i.results[0].index]) copy(i);
          for (const Instruction& i : parts_.behind()) copy(i);
          return Values{};
        },
        [] { return Values{}; });
  }

  Values take(std::uint32_t counter, Value trip, std::size_t steps) {
    const Value end = out_.u32(source_.lanes);
    const auto next = [&] {
      return Values{out_.convert(out_.atomic_add(counter, out_.u32(0), out_.i32(1)), DType::u32)};
    };
    Value element;
    if (most_trips_ == 0) {
      element = next()[0];
    } else {
      const std::uint64_t one = trips_of_element(parts_.loop());
      const auto last = static_cast<std::uint32_t>(most_trips_ > one ? most_trips_ - one : 1);
      element = out_.if_(out_.compare(Op::lt, trip, out_.u32(last)), next,
                         [&] { return Values{end}; })[0];
    }
    const Value held = out_.compare(Op::lt, element, end);
    Values taken{out_.boolean(false), held, element};
    const Values state = out_.if_(
        held,
        [&] {
          enter(element, {});
          for (const Instruction& i : parts_.before())
            if (i.op != Op::lane &&
                (i.results.empty() || std::any_of(i.results.begin(), i.results.end(),
                                                  [&](Value v) { return parts_.own[v.index]; })))
              copy(i);
          Values begin = mapped(parts_.loop().operands);
          for (Value v : parts_.carried) begin.push_back(mapped(v));
          return begin;
        },
        [&] {
          Values nothing;
          for (std::size_t k = 0; k < steps; ++k)
            nothing.push_back(zero(parts_.loop().operands[k]));
          for (Value v : parts_.carried) nothing.push_back(zero(v));
          return nothing;
        });
    taken.insert(taken.end(), state.begin(), state.end());
    return taken;
  }

  const Parts& parts_;
  std::uint64_t most_trips_;
};

/// Copies a kernel; the loop carries one value more.
class Count : public Rewriter {
 public:
  Count(const Parts& parts, Builder& out)
      : Rewriter(parts.kernel, out),
        loop_(&parts.loop()),
        trips_(out.buffer({DType::u32, Access::write, false, false, "trips"})) {}

  std::uint32_t trips() const { return trips_; }

 protected:
  void visit(const Instruction& i) override {
    if (&i != loop_) return copy(i);
    Values start = mapped(i.operands);
    start.push_back(out_.u32(0));
    const auto enter = [&](const Region& region, std::span<const Value> carried) {
      map(region.arguments, carried.first(carried.size() - 1));
      Rewriter::copy(region);
      return mapped(region.yields);
    };
    const Values end = out_.loop(
        start, i.immediate,
        [&](std::span<const Value> carried) { return enter(i.regions[0], carried)[0]; },
        [&](std::span<const Value> carried) {
          Values next = enter(i.regions[1], carried);
          next.push_back(out_.add(carried.back(), out_.u32(1)));
          return next;
        });
    map(i.results, std::span(end).first(end.size() - 1));
    out_.store(trips_, out_.source(Op::lane), end.back());
  }

 private:
  const Instruction* loop_;
  std::uint32_t trips_;
};

Kernel build(const Parts& parts, std::uint32_t slots, std::uint64_t most_trips,
             std::uint32_t& counter) {
  Builder out(parts.kernel.name);
  copy_header(parts.kernel, out);
  out.kernel().lanes = slots;
  counter = Refill(parts, out, most_trips).run();
  return out.take();
}

}  // namespace

std::optional<Refilled> refill(const Kernel& source, RefillOptions options) {
  Parts parts(source);
  if (source.lanes == 0 || options.slots == 0 || !parts.find()) return std::nullopt;
  Refilled r;
  if (options.trip_budget == 0) {
    r.kernel = build(parts, options.slots, 0, r.counter);
    return r;
  }
  // The budget pays for whatever each trip may take in its turn.
  const std::uint64_t once = worst_case_trips(build(parts, options.slots, 1, r.counter));
  const std::uint64_t twice = worst_case_trips(build(parts, options.slots, 2, r.counter));
  const std::uint64_t one = trips_of_element(parts.loop());
  if (parts.loop().immediate == 0 || twice == ~0ull || once > options.trip_budget)
    return std::nullopt;
  const std::uint64_t trips = 1 + (options.trip_budget - once) / (twice - once);
  if (trips < 2 * one + 1) return std::nullopt;
  r.kernel = build(parts, options.slots, trips, r.counter);
  const std::uint64_t each = (trips - one - 1) / one + 1;  // elements a lane certainly does
  r.dispatches = (source.lanes + each * options.slots - 1) / (each * options.slots);
  return r;
}

std::optional<Counted> count_trips(const Kernel& source) {
  Parts parts(source);
  if (source.lanes == 0 || !parts.find()) return std::nullopt;
  Builder out(source.name);
  copy_header(source, out);
  out.kernel().lanes = source.lanes;
  Count count(parts, out);
  count.Rewriter::copy(source.body);
  return Counted{out.take(), count.trips()};
}

}  // namespace gnomon::kernel
