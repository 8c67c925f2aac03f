// engine/include/gnomon/optim/optimiser.h -- gradient transformations, their state, and how they
// are composed.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/checkpoint.h"
#include "gnomon/handler.h"
#include "gnomon/partition.h"
#include "gnomon/transform.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::optim {

/// All Arrays of a tree in order, including holes.
using Slots = std::vector<Array>;

/// State without the type of the parameters: arrays, and trees of the structure of the parameters,
/// such as moments. Trees have holes for parameters that are not of floats.
struct Memory {
  std::vector<Array> arrays;
  std::vector<Slots> trees;
};

/// Inputs of a step besides the gradients.
struct Step {
  const Slots& params;
  const std::vector<std::string>& paths;  // per parameter: ".layers[0].weight"
  /// The loss at the parameters, and a function for the loss and its gradient elsewhere. Line
  /// searches need them; absent where the caller gave no loss.
  std::optional<Array> value = {};
  Handler<std::pair<Array, Slots>(const Slots&)> value_and_grad = {};
};

/// A gradient transformation over lists of arrays: derive from it to define one, and wrap it in an
/// Optimiser.
///
/// `init` gives the initial state; `update` replaces the state and returns the transformed updates.
/// Both are traced like any other function. Holes in `updates` are parameters without a gradient:
/// they stay holes, and their state stays as it is.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual Memory init(const Slots& params, const std::vector<std::string>& paths) const = 0;
  virtual Slots update(Slots updates, Memory&, const Step&) const = 0;
};

/// The state of an optimiser: a tree, for loops, jit and files like any other.
template <class P>
struct State {
  std::vector<Array> arrays;
  std::vector<P> trees;
};

namespace detail {
[[noreturn]] void other_structure(const char* what, std::size_t, std::size_t, Loc);
/// Throws UsageError unless every update has the shape of its parameter.
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

/// A gradient transformation: turns gradients into updates. A value without mutable state; what
/// changes from step to step is in the State.
class Optimiser {
 public:
  explicit Optimiser(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

  /// The initial state. `params` may be any tree; arrays that are not of floats are not trained.
  template <class P>
  State<P> init(const P& params) const {
    return state(params, rule_->init(tree::slots(params), detail::slot_paths(params)));
  }

  /// {updates, next state}; `apply_updates` adds the updates to the parameters.
  ///
  /// Throws UsageError when gradients, state and parameters disagree in structure, naming the first
  /// parameter whose gradient has another shape.
  template <class P>
  std::pair<P, State<P>> update(const P& grads, const State<P>& before, const P& params,
                                Loc loc = Loc::here()) const {
    return step(grads, before, params, std::nullopt, {}, loc);
  }

  /// The same for optimisers with a line search (lbfgs): `loss` maps a tree of parameters to f[],
  /// `value` is the loss at `params`.
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
                              Handler<std::pair<Array, Slots>(const Slots&)> both, Loc loc) const {
    detail::check_updates(tree::slots(grads), tree::slots(params), detail::slot_paths(params), loc);
    const auto taken = [&](const P& slopes, const State<P>& old, const P& now) {
      const Slots at = tree::slots(now);
      const std::vector<std::string> paths = detail::slot_paths(now);
      Memory memory{old.arrays, {}};
      for (const P& t : old.trees) memory.trees.push_back(tree::slots(t));
      detail::check_memory(memory, at.size(), loc);
      const Slots updates = rule_->update(tree::slots(slopes), memory, {at, paths, value, both});
      return std::pair{tree::with_slots(now, updates), state(now, std::move(memory))};
    };
    return gnomon::detail::as_one_program(taken, loc, grads, before, params);
  }
  std::shared_ptr<const Rule> rule_;
};

/// params + updates in the dtypes of the parameters; parameters without an update are unchanged.
template <class P>
P apply_updates(const P& params, const P& updates) {
  return tree::with_slots(params, detail::apply(tree::slots(params), tree::slots(updates)));
}

// ---- transformations by formula

/// One parameter array of a pointwise transformation. All arrays have one shape and dtype: f64 for
/// parameters of f64, else f32, also for those of f16 and bf16. What the formula gives is rounded
/// to the parameter's dtype, in which updates and memory are handed on.
struct Pointwise {
  const Array& update;
  const Array& param;
  std::span<Array> memory;  // state, to be replaced by the next one
  const Array& count;       // f[] in that dtype: the number of this step, from 1
};
struct PointwiseOptions {
  std::vector<double> memory = {};  // initial value of each array of state
  bool counts = false;              // whether the formula uses the step count
};
/// The transformation that applies `formula` to each parameter array by itself.
Optimiser pointwise(Handler<Array(Pointwise)> formula, PointwiseOptions = {});

// ---- composition

/// Applies transformations in order, each to the updates of the one before.
Optimiser chain(std::vector<Optimiser> parts);

/// Selects parameters by array and path.
using Mask = Handler<bool(const Array&, const std::string& path)>;

/// `inner` for the parameters that the mask selects; updates of the others pass unchanged.
Optimiser masked(Optimiser inner, Mask mask);

/// Each parameter by the first optimiser whose mask selects it. Parameters that none selects are
/// frozen: their updates are zeros.
Optimiser by_group(std::vector<std::pair<Mask, Optimiser>> groups);

/// Gradient accumulation: one step of `inner` every `every` steps with the mean of their gradients,
/// zero updates in between. Source: optax, MultiSteps.
Optimiser accumulate(Optimiser inner, Dim every);

/// Every `period` steps of `inner` the slow parameters move by `rate` of the way to the fast ones,
/// which are reset to them. Source: M. Zhang et al., "Lookahead optimizer: k steps forward, 1 step
/// back", NeurIPS 2019.
Optimiser lookahead(Optimiser inner, Dim period = 5, double rate = 0.5);

/// Exponential moving average of the updates, or of parameters that are given as updates:
///   auto [averaged, next] = optim::ema(0.999).update(params, state, params);
/// `debias` divides by 1 - decay^t.
Optimiser ema(double decay, bool debias = true);

}  // namespace gnomon::optim
#pragma GCC visibility pop
