// shaders/passes/simplify.cpp -- liveness, then one rebuild that moves values outwards.
#include "shaders/passes/simplify.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_set>

#include "shaders/kernel/scalar.h"
#include "shaders/passes/affine.h"
#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

/// What the effects of a kernel depend on, and what makes its values.
class Liveness {
 public:
  explicit Liveness(const Kernel& kernel)
      : live_(kernel.types.size(), false),
        owners_(kernel.types.size()),
        read_(kernel.privates.size(), false) {
    index(kernel.body);
    seed(kernel.body);
    while (!pending_.empty()) {
      const Value v = pending_.back();
      pending_.pop_back();
      follow(v);
    }
  }

  bool live(Value v) const { return live_[v.index]; }
  bool live(const Instruction& i) const {
    for (Value v : i.results)
      if (live(v)) return true;
    return has_effect(i) || (!i.regions.empty() && needed_.count(&i) != 0);
  }
  /// The instruction with this result; null for arguments of regions.
  const Instruction* maker(Value v) const {
    return owners_[v.index].argument ? nullptr : owners_[v.index].instruction;
  }

 private:
  struct Owner {
    const Instruction* instruction = nullptr;
    std::uint32_t position = 0;  // among its results, or among a region's arguments
    bool argument = false;
  };

  bool has_effect(const Instruction& i) const {
    return writes(i.op) && (i.op != Op::private_store || read_[i.immediate]);
  }

  void index(const Region& region) {
    for (const Instruction& i : region.body) {
      for (std::uint32_t k = 0; k < i.results.size(); ++k)
        owners_[i.results[k].index] = {&i, k, false};
      if (i.op == Op::private_load) read_[i.immediate] = true;
      for (const Region& r : i.regions) {
        for (std::uint32_t k = 0; k < r.arguments.size(); ++k)
          owners_[r.arguments[k].index] = {&i, k, true};
        index(r);
      }
    }
  }

  /// Whether something in the region has an effect.
  bool seed(const Region& region) {
    bool any = false;
    for (const Instruction& i : region.body) {
      bool here = has_effect(i);
      if (here)
        for (Value v : i.operands) mark(v);
      for (const Region& r : i.regions)
        if (seed(r)) here = true;
      if (!i.regions.empty() && here) need(i);
      any = any || here;
    }
    return any;
  }

  void mark(Value v) {
    if (live_[v.index]) return;
    live_[v.index] = true;
    pending_.push_back(v);
  }

  /// The instruction itself must run, whichever of its results are used.
  void need(const Instruction& i) {
    if (!needed_.insert(&i).second) return;
    mark(i.op == Op::loop ? i.regions[0].yields[0] : i.operands[0]);
  }

  void follow(Value v) {
    const Owner owner = owners_[v.index];
    const Instruction& i = *owner.instruction;
    const std::uint32_t k = owner.position;
    if (i.op == Op::loop) {
      need(i);
      mark(i.results[k]);
      mark(i.operands[k]);
      mark(i.regions[1].yields[k]);
    } else if (i.op == Op::if_) {
      need(i);
      for (const Region& r : i.regions) mark(r.yields[k]);
    } else {
      for (Value operand : i.operands) mark(operand);
    }
  }

  std::vector<char> live_;  // not of bool, whose bits would be shifted into place
  std::vector<Owner> owners_;
  std::vector<bool> read_;  // per private array: is ever loaded
  std::unordered_set<const Instruction*> needed_;
  std::vector<Value> pending_;
};

/// Bits of a value that is constant when the loop is entered.
std::optional<std::uint64_t> at_entry(const Liveness& live, const Instruction& loop, Value v) {
  const std::vector<Value>& arguments = loop.regions[0].arguments;
  const auto at = std::find(arguments.begin(), arguments.end(), v);
  if (at != arguments.end()) v = loop.operands[static_cast<std::size_t>(at - arguments.begin())];
  const Instruction* i = live.maker(v);
  if (i == nullptr || i->op != Op::constant) return std::nullopt;
  return i->immediate;
}

bool runs_at_least_once(const Kernel& kernel, const Liveness& live, const Instruction& loop) {
  const Instruction* test = live.maker(loop.regions[0].yields[0]);
  if (test == nullptr || !is_comparison(test->op)) return false;
  const auto a = at_entry(live, loop, test->operands[0]);
  const auto b = at_entry(live, loop, test->operands[1]);
  if (!a || !b) return false;
  return scalar_function(test->op, kernel.type(test->operands[0]).scalar)(*a, *b, 0) != 0;
}

/// Cheap enough to be computed even when the branch that wants it is not taken.
bool cheap(Op op, DType scalar) {
  switch (form(op)) {
    case Form::unary:
    case Form::binary:
    case Form::ternary:
      return !is_float(scalar) && effort(op) <= Effort::operation;
    default:
      return effort(op) <= Effort::operation;
  }
}

/// An open region of the kernel under construction.
struct Place {
  bool repeats = false;   // a loop's condition or body
  bool reached = false;   // runs whenever the loop does
  bool branched = false;  // holds a branch
};

bool is_cheap(const Kernel& k, const Instruction& i) {
  return cheap(i.op, k.type(i.operands[0]).scalar);
}

/// A load of what nobody writes.
bool is_constant_load(const Kernel& k, const Instruction& i) {
  if (i.op != Op::load) return false;
  const Buffer& buffer = k.buffers[i.immediate];
  return buffer.access == Access::read && !buffer.coherent;
}

/// Depth at which an instruction without regions goes that stands in the last of these places and
/// has no operands from deeper than `lowest`: outside every loop that does not change it.
std::uint32_t home(const Kernel& k, const Instruction& i, std::uint32_t lowest,
                   std::span<const Place> places) {
  auto best = static_cast<std::uint32_t>(places.size()) - 1;
  if (is_constant_load(k, i)) {
    while (best > lowest && places[best].repeats && places[best].reached) --best;
    return best;
  }
  if (space(i.op) != Space::none || writes(i.op) || i.operands.empty()) return best;
  for (std::uint32_t d = best; d > lowest; --d) {
    if (places[d].repeats) {
      best = d - 1;
    } else if (!is_cheap(k, i)) {
      break;
    }
  }
  return best;
}

class Simplifier : public Rewriter {
 public:
  Simplifier(const Kernel& source, Builder& out, const Liveness& live)
      : Rewriter(source, out), live_(live) {}

  /// Of every loop, in order, whether it was known to be reached.
  const std::vector<bool>& reached() const { return reached_; }
  /// Whether something was moved in front of what may be its equal.
  bool overtook() const { return overtook_; }

 protected:
  void visit(const Instruction& i) override {
    if (!live_.live(i)) return;
    switch (i.op) {
      case Op::loop:
        loop(i);
        return;
      case Op::if_:
        branch(i);
        return;
      default:
        break;
    }
    if (is_constant_load(source_, i)) return load(i);
    const std::uint32_t depth = home(i);
    if (depth == out_.depth()) return copy(i);
    // What is cheap would have been moved as far from a branch.
    overtook_ = overtook_ || (places_[depth + 1].branched && !is_cheap(source_, i));
    out_.at_depth(depth, [&] { copy(i); });
  }

 private:
  /// A read of memory that nobody writes.
  struct Load {
    std::uint64_t buffer = 0;
    SmallVector<Value, 4> operands;
    Value value;
  };

  std::uint32_t home(const Instruction& i) const {
    std::uint32_t lowest = 0;
    for (Value v : i.operands) lowest = std::max(lowest, out_.depth_of(mapped(v)));
    return kernel::home(source_, i, lowest, std::span(places_).first(out_.depth() + 1));
  }

  void load(const Instruction& i) {
    Load made{i.immediate, i.operands, {}};
    std::uint64_t hash = i.immediate;
    for (Value& v : made.operands) {
      v = mapped(v);
      hash = (hash ^ v.index) * 0x9e3779b97f4a7c15u;
    }
    bool elsewhere = false;
    const Load* known = loads_.find(hash, [&](const Load& l) {
      if (l.buffer != made.buffer || l.operands != made.operands ||
          out_.type(l.value) != source_.type(i.results[0]))
        return false;
      elsewhere = elsewhere || !out_.visible(l.value);
      return out_.visible(l.value);
    });
    if (known != nullptr) return map(i.results[0], known->value);
    const std::uint32_t depth = home(i);
    overtook_ = overtook_ || (elsewhere && depth < out_.depth());
    out_.at_depth(depth, [&] { copy(i); });
    made.value = mapped(i.results[0]);
    loads_.add(hash, made);
  }

  void loop(const Instruction& i) {
    const Region& condition = i.regions[0];
    const Region& body = i.regions[1];
    std::vector<std::size_t> kept;
    Values init;
    Values results;
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      const Value next = body.yields[k];
      const Value start = mapped(i.operands[k]);
      if (next == body.arguments[k] || next == i.operands[k]) {
        for (Value v : {condition.arguments[k], body.arguments[k], i.results[k]}) map(v, start);
      } else if (live_.live(i.results[k])) {
        kept.push_back(k);
        init.push_back(start);
        results.push_back(i.results[k]);
      }
    }
    const auto enter = [&](const Region& region, std::span<const Value> carried, bool reached) {
      places_.resize(out_.depth() + 1);
      places_.back() = {true, reached};
      for (std::size_t k = 0; k < kept.size(); ++k) map(region.arguments[kept[k]], carried[k]);
      Rewriter::copy(region);
    };
    const bool reached = runs_at_least_once(source_, live_, i);
    reached_.push_back(reached);
    map(results, out_.loop(
                     init, i.immediate,
                     [&](std::span<const Value> carried) {
                       enter(condition, carried, true);
                       return mapped(condition.yields[0]);
                     },
                     [&](std::span<const Value> carried) {
                       enter(body, carried, reached);
                       Values next;
                       for (std::size_t k : kept) next.push_back(mapped(body.yields[k]));
                       return next;
                     }));
  }

  void branch(const Instruction& i) {
    std::vector<std::size_t> kept;
    Values results;
    for (std::size_t k = 0; k < i.results.size(); ++k) {
      if (!live_.live(i.results[k])) continue;
      if (i.regions[0].yields[k] == i.regions[1].yields[k]) {
        map(i.results[k], mapped(i.regions[0].yields[k]));
      } else {
        kept.push_back(k);
        results.push_back(i.results[k]);
      }
    }
    const std::uint32_t outside = out_.depth();
    for (std::uint32_t d = 0; d <= outside; ++d) places_[d].branched = true;
    const auto side = [&](const Region& region) {
      // A branch on a constant opens no region.
      if (out_.depth() > outside) {
        places_.resize(out_.depth() + 1);
        places_.back() = {};
      }
      Rewriter::copy(region);
      Values yields;
      for (std::size_t k : kept) yields.push_back(mapped(region.yields[k]));
      return yields;
    };
    map(results, out_.if_(
                     mapped(i.operands[0]), [&] { return side(i.regions[0]); },
                     [&] { return side(i.regions[1]); }));
  }

  const Liveness& live_;
  std::vector<bool> reached_;
  bool overtook_ = false;
  std::vector<Place> places_{1};  // per depth
  HashChains<Load> loads_;
};

/// Whether one more round would change nothing, but numbers, of what a round has made. What was
/// built is not folded any further; what has its numbers in order was not moved, and what was moved
/// is where it goes.
class Settled {
 public:
  Settled(const Kernel& kernel, const Liveness& live, const Simplifier& round)
      : kernel_(kernel), live_(live), round_(round), depths_(kernel.types.size()) {}

  bool holds() {
    if (!stays(kernel_.body)) return false;
    return in_order() || (!moves_ && !round_.overtook());
  }
  bool in_order() const { return in_order_ && next_ == kernel_.types.size(); }

 private:
  void made(std::span<const Value> values) {
    for (Value v : values) {
      depths_[v.index] = static_cast<std::uint32_t>(places_.size()) - 1;
      in_order_ = in_order_ && v.index == next_++;
    }
  }
  bool stays(const Region& r) {
    made(r.arguments);
    return std::all_of(r.body.begin(), r.body.end(),
                       [&](const Instruction& i) { return stays(i); });
  }
  bool stays(const Instruction& i) {
    if (!live_.live(i)) return false;
    if (i.regions.empty()) {
      std::uint32_t lowest = 0;
      for (Value v : i.operands) lowest = std::max(lowest, depths_[v.index]);
      moves_ = moves_ || home(kernel_, i, lowest, places_) + 1 < places_.size();
    } else if (!keeps_all(i)) {
      return false;
    }
    made(i.results);
    return true;
  }
  bool keeps_all(const Instruction& i) {
    const auto live = [&](Value v) { return live_.live(v); };
    if (!std::all_of(i.results.begin(), i.results.end(), live)) return false;
    const bool loops = i.op == Op::loop;
    const bool reached = loops && runs_at_least_once(kernel_, live_, i);
    if (loops ? reached != round_.reached()[loops_++] || drops_some(i) : joins_same(i))
      return false;
    for (const Region& r : i.regions) {
      places_.push_back({loops, reached || (loops && &r == &i.regions[0])});
      if (!stays(r)) return false;
      places_.pop_back();
    }
    return true;
  }
  static bool drops_some(const Instruction& loop) {
    const Region& body = loop.regions[1];
    for (std::size_t k = 0; k < loop.operands.size(); ++k)
      if (body.yields[k] == body.arguments[k] || body.yields[k] == loop.operands[k]) return true;
    return false;
  }
  static bool joins_same(const Instruction& branch) {
    const std::vector<Value>&a = branch.regions[0].yields, &b = branch.regions[1].yields;
    return !std::equal(a.begin(), a.end(), b.begin(), std::not_equal_to<>());
  }

  const Kernel& kernel_;
  const Liveness& live_;
  const Simplifier& round_;
  std::vector<Place> places_{1};
  std::vector<std::uint32_t> depths_;  // per value
  std::size_t next_ = 0, loops_ = 0;
  bool in_order_ = true, moves_ = false;
};

/// Numbers values and lines as they come: what building a kernel again would do to it.
class Numbering {
 public:
  explicit Numbering(Kernel& k)
      : kernel_(k), types_(std::move(k.types)), lines_(std::move(k.lines)) {
    numbers_.resize(types_.size());
    line_numbers_.resize(lines_.size());
    k.types.clear();
    k.types.reserve(types_.size());
    k.lines.clear();
    number(k.body);
  }

 private:
  template <class List>
  void make(List& values) {
    for (Value& v : values) {
      const Value now{static_cast<std::uint32_t>(kernel_.types.size())};
      kernel_.types.push_back(types_[v.index]);
      v = numbers_[v.index] = now;
    }
  }
  template <class List>
  void rename(List& values) const {
    for (Value& v : values) v = numbers_[v.index];
  }
  void number(Region& r) {
    make(r.arguments);
    for (Instruction& i : r.body) {
      rename(i.operands);
      if (i.line != 0 && i.regions.empty()) line_ = number(i.line);
      i.line = line_;
      for (Region& inner : i.regions) number(inner);
      make(i.results);
    }
    rename(r.yields);
  }
  std::uint32_t number(std::uint32_t line) {
    std::uint32_t& now = line_numbers_[line - 1];
    if (now == 0) {
      kernel_.lines.push_back(std::move(lines_[line - 1]));
      now = static_cast<std::uint32_t>(kernel_.lines.size());
    }
    return now;
  }

  Kernel& kernel_;
  std::vector<Type> types_;
  std::vector<SourceLine> lines_;
  std::vector<Value> numbers_;               // per old one
  std::vector<std::uint32_t> line_numbers_;  // per old one, 0: none yet
  std::uint32_t line_ = 0;                   // of the latest instruction
};

}  // namespace

Kernel simplify(const Kernel& source) {
  // Each removal may uncover another.
  constexpr int most_rounds = 8;
  Kernel kernel;
  Liveness live(source);
  for (int round = 0; round < most_rounds; ++round) {
    const Kernel& before = round == 0 ? source : kernel;
    Builder out(before.name);
    copy_header(before, out);
    out.kernel().lanes = before.lanes;
    Simplifier pass(before, out, live);
    pass.Rewriter::copy(before.body);
    kernel = out.take();
    live = Liveness(kernel);
    Settled settled(kernel, live, pass);
    if (!settled.holds()) continue;
    if (!settled.in_order()) Numbering{kernel};
    break;
  }
  return kernel;
}

}  // namespace gnomon::kernel
