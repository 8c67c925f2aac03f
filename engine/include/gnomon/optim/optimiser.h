// engine/include/gnomon/optim/optimiser.h -- what an optimiser is, its state, and how to make one.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/partition.h"
#include "gnomon/transform.h"
#include "gnomon/tree.h"

namespace gnomon::optim {

/// All Arrays of a tree, holes among them.
using Slots = std::vector<Array>;

/// What an optimiser remembers, apart from the type of the parameters: arrays of its own, and trees
/// like the parameters. Arrays that are not of floats are holes in these.
struct Memory {
  std::vector<Array> arrays;
  std::vector<Slots> trees;
};

/// What an optimiser learns of a step besides the gradients.
struct Step {
  const Slots& params;
  const std::vector<std::string>& paths;  // of the params: ".layers[0].weight"
  /// The loss at the params, and a function for it and its gradient elsewhere; only where the
  /// caller gave a loss, and needed by line searches only.
  std::optional<Array> value = {};
  std::function<std::pair<Array, Slots>(const Slots&)> value_and_grad = {};
};

/// The rule of an optimiser over lists of arrays: derive from it to make one of your own, and wrap
/// it in an Optimiser.
///
/// Holes in `updates` are parameters without a gradient: they get none, and what is remembered of
/// them stays. A rule says in `init` which trees it remembers and finds them so in `update`, which
/// takes them apart, puts new ones in their place and gives the new updates. Traced, like any other
/// function.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual Memory init(const Slots& params, const std::vector<std::string>& paths) const = 0;
  virtual Slots update(Slots updates, Memory&, const Step&) const = 0;
};

/// What an optimiser remembers between steps: a tree, to carry through loops, jit and files.
template <class P>
struct State {
  std::vector<Array> arrays;
  std::vector<P> trees;
};

namespace detail {
[[noreturn]] void other_structure(const char* what, std::size_t, std::size_t, Loc);
/// Throws UsageError unless every update has the shape of its parameter, naming the first that has
/// not.
void check_updates(const Slots& updates, const Slots& params, const std::vector<std::string>& paths,
                   Loc);
void check_memory(const Memory&, std::size_t slots, Loc);
Slots apply(const Slots& params, const Slots& updates);

template <class P>
std::vector<std::string> slot_paths(const P& params) {
  std::vector<std::string> paths;
  tree::for_each_slot(params,
                      [&](const Array&, const std::string& path) { paths.push_back(path); });
  return paths;
}
}  // namespace detail

/// Turns gradients into updates. A value: copies are the same optimiser. Everything it changes from
/// step to step is in the State.
class Optimiser {
 public:
  explicit Optimiser(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

  /// The state before the first step. `params` may be a tree of any kind; what is not of floats is
  /// left alone.
  template <class P>
  State<P> init(const P& params) const {
    return state(params, rule_->init(tree::slots(params), detail::slot_paths(params)));
  }

  /// {updates, the next state}: `updates` is to be added to the parameters (apply_updates).
  ///
  /// Throws UsageError when gradients, state and parameters are not of one structure, naming the
  /// first parameter whose gradient has another shape.
  template <class P>
  std::pair<P, State<P>> update(const P& grads, const State<P>& before, const P& params,
                                Loc loc = Loc::here()) const {
    return step(grads, before, params, std::nullopt, {}, loc);
  }

  /// The same for optimisers that look at the loss again at other places (lbfgs): `loss` takes a
  /// tree of parameters and gives f[]; `value` is the loss at `params`.
  template <class P, class F>
  std::pair<P, State<P>> update(const P& grads, const State<P>& before, const P& params,
                                const Array& value, const F& loss, Loc loc = Loc::here()) const {
    const auto both = [&](const Slots& at) {
      const auto r = gnomon::value_and_grad(loss)(tree::with_slots(params, at));
      return std::pair{r.value, tree::slots(r.grad)};
    };
    return step(grads, before, params, value, both, loc);
  }

  const std::shared_ptr<const Rule>& rule() const { return rule_; }

 private:
  template <class P>
  static State<P> state(const P& like, Memory memory) {
    State<P> result{std::move(memory.arrays), {}};
    for (const Slots& t : memory.trees) result.trees.push_back(tree::with_slots(like, t));
    return result;
  }
  template <class P>
  std::pair<P, State<P>> step(const P& grads, const State<P>& before, const P& params,
                              std::optional<Array> value,
                              std::function<std::pair<Array, Slots>(const Slots&)> both,
                              Loc loc) const {
    const Slots at = tree::slots(params);
    const std::vector<std::string> paths = detail::slot_paths(params);
    Slots updates = tree::slots(grads);
    detail::check_updates(updates, at, paths, loc);
    Memory memory{before.arrays, {}};
    for (const P& t : before.trees) memory.trees.push_back(tree::slots(t));
    detail::check_memory(memory, at.size(), loc);
    updates = rule_->update(std::move(updates), memory, {at, paths, std::move(value), both});
    return {tree::with_slots(params, updates), state(params, std::move(memory))};
  }
  std::shared_ptr<const Rule> rule_;
};

/// params + updates in the dtypes of the parameters. Parameters without an update stay.
template <class P>
P apply_updates(const P& params, const P& updates) {
  return tree::with_slots(params, detail::apply(tree::slots(params), tree::slots(updates)));
}

// ---- rules from functions

/// What a pointwise rule sees of one array, all of one shape and dtype.
struct Pointwise {
  const Array& update;
  const Array& param;
  std::span<Array> memory;  // to be replaced by new values
  const Array& count;       // f[] in the array's dtype: this step's number, from 1
};
struct PointwiseOptions {
  std::vector<double> memory = {};  // the values that each remembered array begins with
  bool counts = false;              // whether the formula looks at the count
};
/// An optimiser by a formula for the new update of one array.
Optimiser pointwise(std::function<Array(Pointwise)> formula, PointwiseOptions = {});

/// One after the other: each takes the updates of the one before.
Optimiser chain(std::vector<Optimiser> parts);

/// Which parameters are meant: by what they are and where they are.
using Mask = std::function<bool(const Array&, const std::string& path)>;

/// `inner` for the parameters that the mask means; updates of the others pass as they are.
Optimiser masked(Optimiser inner, Mask mask);

/// Each parameter by the first optimiser whose mask means it; updates of those that none means are
/// zeros, so that they stay.
Optimiser by_group(std::vector<std::pair<Mask, Optimiser>> groups);

/// One step of `inner` every `every` steps, by the mean of their gradients; zeros between.
/// Source: optax, MultiSteps.
Optimiser accumulate(Optimiser inner, Dim every);

/// Every `period` steps of `inner` the parameters go back to a slow copy that has moved by `rate`
/// of the way to them. Source: M. Zhang et al., "Lookahead optimizer: k steps forward, 1 step
/// back", NeurIPS 2019.
Optimiser lookahead(Optimiser inner, Dim period = 5, double rate = 0.5);

/// An exponential moving average of updates, or of parameters given as updates:
///   auto [averaged, next] = optim::ema(0.999).update(params, state, params);
/// `debias` divides by what zeros at the beginning left out.
Optimiser ema(double decay, bool debias = true);

}  // namespace gnomon::optim
