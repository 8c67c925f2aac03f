// engine/library/optim/optimiser.cpp -- checks, and transformations composed of others.
#include "gnomon/optim/optimiser.h"

#include <algorithm>
#include <string>

#include "engine/library/optim/rules.h"
#include "gnomon/error.h"

namespace gnomon::optim {
namespace detail {

void check_updates(const Slots& updates, const Slots& params, const std::vector<std::string>& paths,
                   Loc loc) {
  if (updates.size() != params.size())
    usage_error("optim",
                std::to_string(updates.size()) + " gradients for " + std::to_string(params.size()) +
                    " parameters; both are trees of one structure",
                loc);
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (updates[i].is_hole()) continue;
    const std::string gradient =
        "the gradient of `" + paths[i] + "` is " + to_string(updates[i].aval());
    if (params[i].is_hole())
      usage_error("optim", gradient + ", but there is no such parameter", loc);
    if (updates[i].shape() != params[i].shape())
      usage_error("optim", gradient + ", the parameter " + to_string(params[i].aval()), loc);
  }
}

void check_memory(const Memory& memory, std::size_t slots, Loc loc) {
  for (const Slots& t : memory.trees) {
    if (t.size() != slots)
      usage_error("optim",
                  "the state is of " + std::to_string(t.size()) + " parameters, but there are " +
                      std::to_string(slots) +
                      "; a model of another structure needs a state of its own: init",
                  loc);
  }
}

Slots apply(const Slots& params, const Slots& updates) {
  if (params.size() != updates.size())
    usage_error("optim::apply_updates",
                std::to_string(updates.size()) + " updates for " + std::to_string(params.size()) +
                    " parameters",
                {});
  Slots result = params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (is_learned(params[i]) && !updates[i].is_hole())
      result[i] = cast(params[i] + updates[i], params[i].dtype());
  }
  return result;
}

Slots filled_like(const Slots& params, double value) {
  Slots result;
  for (const Array& p : params)
    result.push_back(is_learned(p) ? full(p.shape(), value, p.dtype()) : Array::hole());
  return result;
}

Slots choose(const Array& condition, const Slots& a, const Slots& b) {
  Slots result = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_hole()) result[i] = where(condition, a[i], b[i]);
  }
  return result;
}

Memory choose(const Array& condition, const Memory& a, const Memory& b) {
  Memory result{choose(condition, a.arrays, b.arrays), {}};
  for (std::size_t i = 0; i < a.trees.size(); ++i)
    result.trees.push_back(choose(condition, a.trees[i], b.trees[i]));
  return result;
}

}  // namespace detail

namespace {

using detail::is_learned;

template <class R, class... A>
Optimiser made(A&&... a) {
  return Optimiser(std::make_shared<const R>(std::forward<A>(a)...));
}

void append(Memory& to, Memory more) {
  to.arrays.insert(to.arrays.end(), more.arrays.begin(), more.arrays.end());
  to.trees.insert(to.trees.end(), more.trees.begin(), more.trees.end());
}

/// Splits the concatenated state of several rules. How much belongs to each is what its `init`
/// gives, which costs nothing: arrays that nobody uses are not computed.
class Reader {
 public:
  explicit Reader(const Memory& all) : all_(all) {}
  Memory next(const Memory& like) {
    Memory part;
    require(number_ + like.arrays.size() <= all_.arrays.size() &&
            tree_ + like.trees.size() <= all_.trees.size());
    for (std::size_t i = 0; i < like.arrays.size(); ++i)
      part.arrays.push_back(all_.arrays[number_++]);
    for (std::size_t i = 0; i < like.trees.size(); ++i) part.trees.push_back(all_.trees[tree_++]);
    return part;
  }
  void require_end() const { require(number_ == all_.arrays.size() && tree_ == all_.trees.size()); }

 private:
  static void require(bool fits) {
    if (!fits)
      usage_error("optim", "the state is that of another optimiser; make one by this one's `init`",
                  {});
  }
  const Memory& all_;
  std::size_t number_ = 0, tree_ = 0;
};

class PointwiseRule : public Rule {
 public:
  PointwiseRule(Handler<Array(Pointwise)> formula, PointwiseOptions options)
      : formula_(std::move(formula)), options_(std::move(options)) {}

  Memory init(const Slots& params, const std::vector<std::string>&) const override {
    Memory memory;
    if (options_.counts) memory.arrays.push_back(zeros({}, DType::i32));
    for (double value : options_.memory) memory.trees.push_back(detail::filled_like(params, value));
    return memory;
  }

  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    if (memory.arrays.size() != std::size_t(options_.counts) ||
        memory.trees.size() != options_.memory.size())
      Reader(memory).require_end();
    if (options_.counts) memory.arrays[0] = memory.arrays[0] + 1;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const Array& p = step.params[i];
      if (updates[i].is_hole() || !is_learned(p)) continue;
      const DType kept = p.dtype(), wide = detail::computed_in(kept);
      const Array count = options_.counts ? cast(memory.arrays[0], wide) : Array::hole();
      const Array given = cast(cast(updates[i], kept), wide), param = cast(p, wide);
      std::vector<Array> remembered;
      for (const Slots& t : memory.trees) remembered.push_back(cast(t[i], wide));
      updates[i] = cast(formula_({given, param, remembered, count}), kept);
      for (std::size_t k = 0; k < remembered.size(); ++k)
        memory.trees[k][i] = cast(remembered[k], kept);
    }
    return updates;
  }

 private:
  Handler<Array(Pointwise)> formula_;
  PointwiseOptions options_;
};

class Chain : public Rule {
 public:
  explicit Chain(std::vector<Optimiser> parts) : parts_(std::move(parts)) {}
  Memory init(const Slots& params, const std::vector<std::string>& paths) const override {
    Memory all;
    for (const Optimiser& o : parts_) append(all, o.rule()->init(params, paths));
    return all;
  }
  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    Reader reader(memory);
    Memory all;
    for (const Optimiser& o : parts_) {
      Memory own = reader.next(o.rule()->init(step.params, step.paths));
      updates = o.rule()->update(std::move(updates), own, step);
      append(all, std::move(own));
    }
    reader.require_end();
    memory = std::move(all);
    return updates;
  }

 private:
  std::vector<Optimiser> parts_;
};

/// Several transformations, each for parameters of its own.
class Groups : public Rule {
 public:
  Groups(std::vector<std::pair<Mask, Optimiser>> groups, bool rest_passes)
      : groups_(std::move(groups)), rest_passes_(rest_passes) {}

  Memory init(const Slots& params, const std::vector<std::string>& paths) const override {
    const std::vector<std::size_t> group = assigned(params, paths);
    Memory all;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      append(all, groups_[g].second.rule()->init(part(params, group, g), paths));
    return all;
  }

  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    const std::vector<std::size_t> group = assigned(step.params, step.paths);
    Reader reader(memory);
    Memory all;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Rule& rule = *groups_[g].second.rule();
      const Slots params = part(step.params, group, g);
      Memory own = reader.next(rule.init(params, step.paths));
      Step inner{params, step.paths, step.value, step.value_and_grad};
      const Slots some = rule.update(part(updates, group, g), own, inner);
      for (std::size_t i = 0; i < updates.size(); ++i)
        if (group[i] == g) updates[i] = some[i];
      append(all, std::move(own));
    }
    reader.require_end();
    memory = std::move(all);
    for (std::size_t i = 0; i < updates.size() && !rest_passes_; ++i) {
      if (group[i] == groups_.size() && !updates[i].is_hole()) updates[i] = zeros_like(updates[i]);
    }
    return updates;
  }

 private:
  std::vector<std::size_t> assigned(const Slots& params,
                                    const std::vector<std::string>& paths) const {
    std::vector<std::size_t> group(params.size(), groups_.size());
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!is_learned(params[i])) continue;
      const auto first = std::find_if(groups_.begin(), groups_.end(),
                                      [&](const auto& g) { return g.first(params[i], paths[i]); });
      group[i] = std::size_t(first - groups_.begin());
    }
    return group;
  }
  static Slots part(const Slots& all, const std::vector<std::size_t>& group, std::size_t g) {
    Slots result = all;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (group[i] != g) result[i] = Array::hole();
    return result;
  }
  std::vector<std::pair<Mask, Optimiser>> groups_;
  bool rest_passes_;
};

/// Gradient accumulation: the running mean of `every` gradients, then one step of `inner`.
class Accumulate : public Rule {
 public:
  Accumulate(Optimiser inner, Dim every) : inner_(std::move(inner)), every_(every) {
    if (every < 1)
      usage_error("optim::accumulate",
                  "every " + std::to_string(every) + " steps is never; give 1 or more", {});
  }
  Memory init(const Slots& params, const std::vector<std::string>& paths) const override {
    Memory all{{zeros({}, DType::i32)}, {detail::filled_like(params, 0)}};
    append(all, inner_.rule()->init(params, paths));
    return all;
  }
  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    Reader reader(memory);
    Memory own = reader.next({{Array()}, {{}}});
    const Memory before = reader.next(inner_.rule()->init(step.params, step.paths));
    reader.require_end();
    const Array seen = own.arrays[0] + 1, due = seen == every_;
    Slots mean = own.trees[0];
    for (std::size_t i = 0; i < updates.size(); ++i) {
      if (updates[i].is_hole() || mean[i].is_hole()) continue;
      const DType kept = mean[i].dtype(), wide = detail::computed_in(kept);
      const Array before_it = cast(mean[i], wide);
      mean[i] = cast(before_it + (cast(updates[i], wide) - before_it) / cast(seen, wide), kept);
      updates[i] = mean[i];
    }
    Memory after = before;
    Slots moved = inner_.rule()->update(std::move(updates), after, step);
    for (Array& u : moved)
      if (!u.is_hole()) u = where(due, u, 0);
    for (Array& m : mean)
      if (!m.is_hole()) m = where(due, 0, m);
    memory = {{where(due, 0, seen)}, {mean}};
    append(memory, detail::choose(due, after, before));
    return moved;
  }

 private:
  Optimiser inner_;
  Dim every_;
};

class Lookahead : public Rule {
 public:
  Lookahead(Optimiser inner, Dim period, double rate)
      : inner_(std::move(inner)), period_(period), rate_(rate) {
    if (period < 1)
      usage_error("optim::lookahead",
                  "a period of " + std::to_string(period) + " steps; give 1 or more", {});
  }
  Memory init(const Slots& params, const std::vector<std::string>& paths) const override {
    Slots slow = params;
    for (Array& p : slow)
      if (!is_learned(p)) p = Array::hole();
    Memory all{{zeros({}, DType::i32)}, {slow}};
    append(all, inner_.rule()->init(params, paths));
    return all;
  }
  Slots update(Slots updates, Memory& memory, const Step& step) const override {
    Reader reader(memory);
    Memory own = reader.next({{Array()}, {{}}});
    Memory inner = reader.next(inner_.rule()->init(step.params, step.paths));
    reader.require_end();
    updates = inner_.rule()->update(std::move(updates), inner, step);
    const Array seen = own.arrays[0] + 1, due = seen == period_;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      Array& slow = own.trees[0][i];
      const Array& p = step.params[i];
      if (updates[i].is_hole() || slow.is_hole()) continue;
      const Array moved = slow + rate_ * (p + updates[i] - slow);
      updates[i] = where(due, moved - p, updates[i]);
      slow = where(due, moved, slow);
    }
    memory = {{where(due, 0, seen)}, own.trees};
    append(memory, std::move(inner));
    return updates;
  }

 private:
  Optimiser inner_;
  Dim period_;
  double rate_;
};

}  // namespace

Optimiser pointwise(Handler<Array(Pointwise)> formula, PointwiseOptions options) {
  return made<PointwiseRule>(std::move(formula), std::move(options));
}

Optimiser chain(std::vector<Optimiser> parts) { return made<Chain>(std::move(parts)); }

Optimiser masked(Optimiser inner, Mask mask) {
  return made<Groups>(std::vector<std::pair<Mask, Optimiser>>{{std::move(mask), std::move(inner)}},
                      true);
}

Optimiser by_group(std::vector<std::pair<Mask, Optimiser>> groups) {
  return made<Groups>(std::move(groups), false);
}

Optimiser accumulate(Optimiser inner, Dim every) {
  return made<Accumulate>(std::move(inner), every);
}

Optimiser lookahead(Optimiser inner, Dim period, double rate) {
  return made<Lookahead>(std::move(inner), period, rate);
}

Optimiser ema(double decay, bool debias) {
  return pointwise(
      [=](Pointwise at) {
        at.memory[0] = decay * at.memory[0] + (1 - decay) * at.update;
        if (!debias) return at.memory[0];
        return at.memory[0] / (1 - pow(full({}, decay, at.count.dtype()), at.count));
      },
      {.memory = {0}, .counts = debias});
}

}  // namespace gnomon::optim
