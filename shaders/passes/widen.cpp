// shaders/passes/widen.cpp -- uniform stays scalar, affine keeps a scalar base, the rest is wide.
#include "shaders/passes/widen.h"

#include <algorithm>

#include "shaders/passes/affine.h"
#include "shaders/passes/rewrite.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

/// A side of a branch with more instructions than this is skipped when no lane wants it.
constexpr std::size_t most_unguarded_instructions = 64;

struct Weight {
  std::size_t instructions = 0;
  bool guarded = false;  // must not run without a lane that wants it, or is not worth it
};

void weigh(const Region& region, Weight& weight) {
  for (const Instruction& i : region.body) {
    ++weight.instructions;
    weight.guarded |= i.op == Op::loop || writes(i.op);
    for (const Region& r : i.regions) weigh(r, weight);
  }
}

bool needs_guard(const Region& region) {
  Weight weight;
  weigh(region, weight);
  return weight.guarded || weight.instructions > most_unguarded_instructions;
}

/// Which lanes take part where the emitter stands.
struct Lanes {
  Value mask;        // bool of the full width; invalid when all do
  bool some = true;  // at least one does
  /// Some take no part because of a branch: they may in the next trip of a loop around it.
  bool branched = false;
};

class Widener {
 public:
  Widener(const Kernel& source, Builder& out, Value first, std::uint8_t width)
      : source_(source),
        out_(out),
        first_(first),
        width_(width),
        facts_(analyse(source, {Op::lane, width})),
        map_(source.types.size()),
        definitions_(definitions(source)),
        used_(source.types.size(), false) {
    note_uses(source.body);
  }

  void run() { emit(source_.body, {}); }

 private:
  // ---- values

  const Affine& fact(Value v) const { return facts_[v]; }
  /// Scalar: the value in the first lane, which is the value in every lane when it is uniform.
  Value base(Value v) const {
    GNOMON_CHECK(!fact(v).varying, "a value that differs between lanes is used as a scalar");
    return map_[v.index];
  }
  Type wide_type(Value v) const { return {source_.type(v).scalar, width_}; }

  /// first, first + stride, ... placed next to `first`, so that it is there for every user.
  Value ramp(Value first, std::int32_t stride) {
    Value wide;
    out_.at_depth(out_.depth_of(first), [&] { wide = out_.splat(first, width_); });
    if (stride == 0) return wide;
    Value offsets;
    out_.at_depth(0, [&] {
      Values parts;
      for (std::uint32_t k = 0; k < width_; ++k) {
        parts.push_back(out_.constant(out_.type(first), k * static_cast<std::uint32_t>(stride)));
      }
      offsets = out_.construct(parts);
    });
    out_.at_depth(out_.depth_of(first), [&] { wide = out_.add(wide, offsets); });
    return wide;
  }

  Value wide(Value v) {
    return fact(v).varying ? map_[v.index] : ramp(map_[v.index], fact(v).stride);
  }

  /// As a value that is wide or not.
  Value as(Value v, bool varying) { return varying ? wide(v) : base(v); }

  Value component(Value v, std::uint32_t k) {
    if (fact(v).varying) return out_.extract(map_[v.index], k);
    if (fact(v).stride == 0) return base(v);
    const std::uint32_t distance = k * static_cast<std::uint32_t>(fact(v).stride);
    return out_.add(base(v), out_.constant(out_.type(base(v)), distance));
  }

  // ---- masks

  Value both(Value a, Value b) { return !a.valid() ? b : !b.valid() ? a : out_.land(a, b); }

  /// Scalar mask of what happens once for all lanes; invalid when it certainly does.
  Value once(Value mask, bool some) { return !mask.valid() || some ? Value{} : out_.any(mask); }

  /// Mask of an access: the lanes that take part and the instruction's own mask, if it has one.
  struct AccessMask {
    Value wide;
    Value scalar;  // for an access that happens once
  };
  AccessMask access_mask(const Instruction& i, std::size_t position, const Lanes& lanes) {
    if (i.operands.size() <= position) return {lanes.mask, once(lanes.mask, lanes.some)};
    const Value own = i.operands[position];
    if (fact(own).uniform()) {
      const Value scalar = both(once(lanes.mask, lanes.some), base(own));
      return {both(lanes.mask, wide(own)), scalar};
    }
    const Value mask = both(lanes.mask, wide(own));
    return {mask, out_.any(mask)};
  }

  /// A lane that takes no part may hold any index, and private arrays know no masked load.
  Value safe_index(Value index, Value mask, std::uint32_t length) {
    if (!mask.valid()) return index;
    if (out_.is_constant(index) && out_.constant_bits(index) < length) return index;
    const Value zero = out_.constant(out_.type(index), 0);
    return out_.select(mask, index, zero);
  }

  // ---- instructions

  void emit(const Region& region, const Lanes& lanes) {
    for (const Instruction& i : region.body) visit(i, lanes);
  }

  void visit(const Instruction& i, const Lanes& lanes) {
    switch (i.op) {
      case Op::lane:
        map(i.results[0], first_);
        return;
      case Op::load:
        load(i, lanes);
        return;
      case Op::store:
        store(i, lanes);
        return;
      case Op::private_load:
        private_load(i, lanes);
        return;
      case Op::private_store:
        private_store(i, lanes);
        return;
      case Op::atomic_add:
        atomic_add(i, lanes);
        return;
      case Op::loop:
        if (fact(i.regions[0].yields[0]).uniform()) {
          uniform_loop(i, lanes);
        } else {
          masked_loop(i, lanes);
        }
        return;
      case Op::if_:
        if (fact(i.operands[0]).uniform()) {
          uniform_branch(i, lanes);
        } else {
          masked_branch(i, lanes);
        }
        return;
      default:
        arithmetic(i);
        return;
    }
  }

  void arithmetic(const Instruction& i) {
    const Value result = i.results[0];
    GNOMON_CHECK(source_.type(result).width == 1, "lane form holds a wide value");
    const bool varying = fact(result).varying;
    SmallVector<Value, 4> operands;
    for (Value v : i.operands) operands.push_back(as(v, varying));
    map(result, emit_like(out_, source_, i, operands, varying ? width_ : std::uint8_t{1}));
  }

  void load(const Instruction& i, const Lanes& lanes) {
    const Value index = i.operands[0];
    const Affine& at = fact(index);
    const AccessMask mask = access_mask(i, 1, lanes);
    if (at.uniform()) {
      const Value operands[] = {base(index), mask.scalar};
      emit_load(i, {operands, mask.scalar.valid() ? 2u : 1u}, 1);
    } else {
      const bool contiguous = !at.varying && at.stride == 1;
      const Value operands[] = {contiguous ? base(index) : wide(index), mask.wide};
      emit_load(i, {operands, mask.wide.valid() ? 2u : 1u}, width_);
    }
  }

  void emit_load(const Instruction& i, std::span<const Value> operands, std::uint8_t width) {
    map(i.results[0], emit_like(out_, source_, i, operands, width));
  }

  void emit_store(const Instruction& i, Value index, Value value, Value mask) {
    const Value operands[] = {index, value, mask};
    emit_like(out_, source_, i, {operands, mask.valid() ? 3u : 2u}, 1);
  }

  void store(const Instruction& i, const Lanes& lanes) {
    const Value index = i.operands[0];
    const Value value = i.operands[1];
    const Affine& at = fact(index);
    const bool contiguous = !at.varying && at.stride == 1;
    // The place belongs to the trip, which lanes that have left the loop do not make.
    const bool all = contiguous && source_.buffers[i.immediate].history && !lanes.branched;
    const AccessMask mask = access_mask(i, 2, all ? Lanes{} : lanes);
    if (!at.uniform()) {
      emit_store(i, contiguous ? base(index) : wide(index), wide(value), mask.wide);
    } else if (fact(value).uniform()) {
      emit_store(i, base(index), base(value), mask.scalar);
    } else if (!mask.wide.valid()) {
      emit_store(i, base(index), component(value, width_ - 1u), {});
    } else {
      for (std::uint32_t k = 0; k < width_; ++k) {
        emit_store(i, base(index), component(value, k), out_.extract(mask.wide, k));
      }
    }
  }

  void private_load(const Instruction& i, const Lanes& lanes) {
    const Value index = i.operands[0];
    const bool uniform = fact(index).uniform();
    const Value mask = uniform ? once(lanes.mask, lanes.some) : lanes.mask;
    const Value operands[] = {
        safe_index(as(index, !uniform), mask, source_.privates[i.immediate].length)};
    const bool one_array = uniform && !facts_.private_varies[i.immediate];
    emit_load(i, operands, one_array ? std::uint8_t{1} : width_);
  }

  void private_store(const Instruction& i, const Lanes& lanes) {
    const Value index = i.operands[0];
    const Value value = i.operands[1];
    const bool all = fact(index).uniform() && source_.privates[i.immediate].history &&
                     !lanes.branched;  // as in `store`
    const AccessMask mask = access_mask(i, 2, all ? Lanes{} : lanes);
    if (!facts_.private_varies[i.immediate]) {
      emit_store(i, base(index), base(value), mask.scalar);
    } else {
      emit_store(i, as(index, !fact(index).uniform()), wide(value), mask.wide);
    }
  }

  /// One addition for all lanes that take part, each of which sees what those before it have added.
  void atomic_add(const Instruction& i, const Lanes& lanes) {
    const Value index = i.operands[0], value = i.operands[1];
    GNOMON_CHECK(fact(index).uniform() && fact(value).uniform(),
                 "lanes add different numbers, or to different elements");
    const Value zero = out_.constant(out_.type(base(value)), 0);
    Value sum = zero;
    Values before;
    for (std::uint32_t k = 0; k < width_; ++k) {
      before.push_back(sum);
      const Value part = lanes.mask.valid()
                             ? out_.select(out_.extract(lanes.mask, k), base(value), zero)
                             : base(value);
      sum = out_.add(sum, part);
    }
    const auto add = [&] {
      return out_.atomic_add(static_cast<std::uint32_t>(i.immediate), base(index), sum);
    };
    const Value some = once(lanes.mask, lanes.some);
    const Value old =
        some.valid() ? out_.if_(
                           some, [&] { return Values{add()}; }, [&] { return Values{zero}; })[0]
                     : add();
    map(i.results[0], out_.add(out_.splat(old, width_), out_.construct(before)));
  }

  // ---- branches

  void uniform_branch(const Instruction& i, const Lanes& lanes) {
    const auto side = [&](const Region& region) {
      emit(region, lanes);
      Values yields;
      for (std::size_t k = 0; k < i.results.size(); ++k) {
        yields.push_back(as(region.yields[k], fact(i.results[k]).varying));
      }
      return yields;
    };
    const Values results = out_.if_(
        base(i.operands[0]), [&] { return side(i.regions[0]); },
        [&] { return side(i.regions[1]); });
    for (std::size_t k = 0; k < results.size(); ++k) map(i.results[k], results[k]);
  }

  void masked_branch(const Instruction& i, const Lanes& lanes) {
    const Value taken = wide(i.operands[0]);
    const Values a = masked_side(i, 0, both(lanes.mask, taken));
    const Values b = masked_side(i, 1, both(lanes.mask, out_.unary(Op::bnot, taken)));
    for (std::size_t k = 0; k < i.results.size(); ++k) {
      const bool same = i.regions[0].yields[k] == i.regions[1].yields[k];
      map(i.results[k], same ? a[k] : out_.select(taken, a[k], b[k]));
    }
  }

  /// Whether a side of a branch computes what it yields itself.
  bool computes(const Region& side, Value v) const {
    return std::any_of(side.body.begin(), side.body.end(),
                       [&](const Instruction& i) { return definitions_[v.index] == &i; });
  }

  /// Runs one side for the lanes in `mask`; gives its yields, of no meaning in the other lanes
  /// unless they come from outside.
  Values masked_side(const Instruction& i, std::size_t side, Value mask) {
    const Region& region = i.regions[side];
    const auto yield = [&](std::size_t k) {
      return as(region.yields[k], fact(i.results[k]).varying);
    };
    std::vector<std::size_t> own;  // positions of the yields that the side computes
    for (std::size_t k = 0; k < i.results.size(); ++k) {
      if (computes(region, region.yields[k])) own.push_back(k);
    }
    Values results;
    if (!needs_guard(region)) {
      emit(region, {mask, false, true});
    } else {
      const auto inside = [&] {
        emit(region, {mask, true, true});
        Values yields;
        for (std::size_t k : own) yields.push_back(yield(k));
        return yields;
      };
      const auto outside = [&] {
        Values zeros;
        for (std::size_t k : own) {
          zeros.push_back(out_.constant(wide_type(i.results[k]), 0));
        }
        return zeros;
      };
      results = out_.if_(out_.any(mask), inside, outside);
    }
    Values yields;
    std::size_t next = 0;
    for (std::size_t k = 0; k < i.results.size(); ++k) {
      const bool guarded = next < results.size() && own[next] == k;
      yields.push_back(guarded ? results[next++] : yield(k));
    }
    return yields;
  }

  // ---- loops

  /// Carried value k is the same in every trip.
  static bool constant_carry(const Instruction& i, std::size_t k) {
    return i.regions[1].yields[k] == i.regions[1].arguments[k];
  }

  void uniform_loop(const Instruction& i, const Lanes& lanes) {
    GNOMON_CHECK(lanes.some, "a loop runs for no lane");
    const Region& condition = i.regions[0];
    const Region& body = i.regions[1];
    const auto varies = [&](std::size_t k) { return fact(condition.arguments[k]).varying; };
    Values init;
    for (std::size_t k = 0; k < i.operands.size(); ++k)
      init.push_back(as(i.operands[k], varies(k)));
    const Values results = out_.loop(
        init, i.immediate,
        [&](std::span<const Value> carried) {
          map(condition.arguments, carried);
          emit(condition, lanes);
          return base(condition.yields[0]);
        },
        [&](std::span<const Value> carried) {
          map(body.arguments, carried);
          emit(body, lanes);
          Values next;
          for (std::size_t k = 0; k < carried.size(); ++k)
            next.push_back(as(body.yields[k], varies(k)));
          return next;
        });
    for (std::size_t k = 0; k < results.size(); ++k) {
      // The result of a carry that never changes is described by where it started.
      map(i.results[k],
          constant_carry(i, k) ? as(i.operands[k], fact(i.results[k]).varying) : results[k]);
    }
  }

  /// Lanes leave one by one. Every lane that is still in the loop has made the same number of
  /// trips, so what is uniform or affine among those stays scalar and runs on; a result that is
  /// wanted later is frozen per lane.
  void masked_loop(const Instruction& i, const Lanes& lanes) {
    GNOMON_CHECK(lanes.some, "a loop runs for no lane");
    const Region& condition = i.regions[0];
    const Region& body = i.regions[1];
    const std::size_t count = i.operands.size();
    const auto varies = [&](std::size_t k) { return fact(condition.arguments[k]).varying; };
    const auto wanted = [&](std::size_t k) {
      return used_[i.results[k].index] && !constant_carry(i, k);
    };

    // Carried: the active lanes, the values, frozen copies of the wanted scalars.
    Values init{Value{}};
    for (std::size_t k = 0; k < count; ++k) init.push_back(as(i.operands[k], varies(k)));
    for (std::size_t k = 0; k < count; ++k) {
      if (wanted(k) && !varies(k)) init.push_back(wide(i.operands[k]));
    }
    map(condition.arguments, std::span(init).subspan(1, count));
    emit(condition, lanes);
    init[0] = both(lanes.mask, wide(condition.yields[0]));

    const Values results = out_.loop(
        init, i.immediate, [&](std::span<const Value> carried) { return out_.any(carried[0]); },
        [&](std::span<const Value> carried) {
          const Value active = carried[0];
          const Lanes inside{active, true, lanes.branched};
          map(body.arguments, carried.subspan(1, count));
          emit(body, inside);
          Values next{Value{}};
          Values frozen;
          for (std::size_t k = 0; k < count; ++k) {
            const Value value = as(body.yields[k], varies(k));
            if (!wanted(k)) {
              next.push_back(value);
            } else if (varies(k)) {
              next.push_back(out_.select(active, value, carried[1 + k]));
            } else {
              const Value before = carried[1 + count + frozen.size()];
              next.push_back(value);
              frozen.push_back(out_.select(active, wide(body.yields[k]), before));
            }
          }
          map(condition.arguments, std::span(next).subspan(1, count));
          emit(condition, inside);
          next[0] = out_.land(active, wide(condition.yields[0]));
          next.insert(next.end(), frozen.begin(), frozen.end());
          return next;
        });
    std::size_t frozen = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (constant_carry(i, k)) {
        map(i.results[k], as(i.operands[k], fact(i.results[k]).varying));
      } else if (wanted(k)) {
        map(i.results[k], varies(k) ? results[1 + k] : results[1 + count + frozen++]);
      }
    }
  }

  // ---- bookkeeping

  void note_uses(const Region& region) {
    for (const Instruction& i : region.body) {
      for (Value v : i.operands) used_[v.index] = true;
      for (const Region& r : i.regions) note_uses(r);
    }
    for (Value v : region.yields) used_[v.index] = true;
  }

  void map(Value from, Value to) { map_[from.index] = to; }
  void map(std::span<const Value> from, std::span<const Value> to) {
    for (std::size_t k = 0; k < from.size(); ++k) map(from[k], to[k]);
  }

  const Kernel& source_;
  Builder& out_;
  Value first_;
  std::uint8_t width_;
  AffineFacts facts_;
  std::vector<Value> map_;  // scalar base, or wide when varying
  std::vector<const Instruction*> definitions_;
  std::vector<bool> used_;  // as an operand or a yield
};

}  // namespace

void widen(const Kernel& lane_form, Builder& out, Value first, std::uint8_t width) {
  Widener(lane_form, out, first, width).run();
}

}  // namespace gnomon::kernel
