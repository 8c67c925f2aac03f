// engine/include/gnomon/ode/solve.h -- diffeqsolve: one loop for every method, controller and
// event.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/control.h"
#include "gnomon/ode/adjoint.h"
#include "gnomon/ode/event.h"
#include "gnomon/ode/interpolation.h"
#include "gnomon/ode/result.h"
#include "gnomon/ode/save.h"
#include "gnomon/ode/solver_state.h"
#include "gnomon/ode/solvers.h"
#include "gnomon/ode/symplectic.h"
#include "gnomon/ode/terms.h"
#include "gnomon/transform.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// The length of the first step: a number, or `none` for one that the tolerances suggest.
class FirstStep {
 public:
  FirstStep(None) {}                                  // NOLINT: implicit on purpose
  FirstStep(const Operand& value) : value_(value) {}  // NOLINT: likewise
  FirstStep(const Array& value) : value_(value) {}    // NOLINT: likewise
  template <class T>
  requires std::is_arithmetic_v<T> FirstStep(T value) : value_(value) {}  // NOLINT: likewise
  const std::optional<Operand>& value() const { return value_; }

 private:
  std::optional<Operand> value_;
};

struct SolveOptions {
  SaveAt saveat = {.t1 = true};
  Controller controller = ConstantStepSize{};
  Adjoint adjoint = RecursiveCheckpointAdjoint{};
  /// Accepted and rejected steps at most; `unbounded` where nothing is kept of them.
  StepBound max_steps = 4096;
  /// Of a solve that ended at t0 with y0: this one goes on with it. A dt0 that is given counts
  /// more.
  std::optional<SolverState> solver_state = {};
};

/// What a solve gives. Rows of `ts`, `ys` and of sub-saves count up to `count`; those behind are 0
/// (SaveAt::fill_infinity).
template <class Y, class Saved, class... Subs>
struct Solution {
  Array t0, t1;  // t1: where the solve ended
  Y y1;          // the state there
  Array ts;      // [rows]
  Saved ys;      // leading axis [rows]
  Array count;   // i32[]
  std::tuple<Subs...> subs;
  Statistics stats;
  Array result;  // i32[]: a Result
  Array event;   // i32[]: which event ended the solve; -1: none
  std::optional<Interpolation<Y>> interpolation;
  std::optional<SolverState> solver_state;  // SaveAt::solver_state
};

/// Rows that `save` kept.
template <class Rows>
struct Saves {
  Array ts;
  Rows ys;
  Array count;
};

namespace detail {

using FieldRef = control::FunctionRef<Arrays(const Array& t, const Arrays& y)>;

struct SaveRequest {
  SaveAt at;
  std::optional<FieldRef> values;  // absent: the state itself
};

struct EventRequest {
  FieldRef condition;  // one array
  std::optional<FieldRef> effect;
  EventOptions options;
};

/// A call of diffeqsolve without its types.
struct Request {
  const Solver& solver;
  std::vector<FieldRef> fields;
  std::vector<Driven> drives;  // one for each field
  Operand t0, t1;
  FirstStep dt0;
  Arrays y0;
  std::vector<std::string> paths;
  const SolveOptions& options;
  std::vector<SaveRequest> saves;  // that of SolveOptions, then sub-saves
  std::vector<EventRequest> events;
  Loc loc;
  std::size_t first_half = 0;       // arrays in the first half of a PartitionedTerm's state
  std::shared_ptr<Past> past = {};  // of a delay equation
};

struct Rows {
  Array ts;
  Arrays ys;
  Array count;
};

struct Outcome {
  Array t0, t1;
  Arrays y1;
  std::vector<Rows> rows;
  Statistics stats;
  Array result, event;
  std::optional<Pieces> pieces;
  std::optional<SolverState> solver_state;
  Arrays method;                   // what the method carries at the end
  std::optional<Dim> equal_steps;  // how many, where that is known when tracing
};

Outcome integrate(const Request&);

template <class T>
inline constexpr bool is_save = false;
template <class F>
inline constexpr bool is_save<SubSave<F>> = true;
template <class T>
inline constexpr bool is_event = false;
template <class F, class E>
inline constexpr bool is_event<Event<F, E>> = true;

/// The tree that a sub-save keeps, and its function of arrays.
template <class F, class Y, class Args>
class Keeper {
 public:
  Keeper(const SubSave<F>& sub, const Y& like, const Args& args)
      : sub_(sub), like_(like), args_(args) {}
  using Value =
      std::remove_cvref_t<std::invoke_result_t<const F&, const Array&, const Y&, const Args&>>;
  Arrays operator()(const Array& t, const Arrays& y) {
    Value v = sub_.function(t, tree::with_leaves(like_, y), args_);
    Arrays leaves = tree::leaves(v);
    value_.emplace(std::move(v));
    return leaves;
  }
  auto rows(const Rows& r) const {
    return Saves<decltype(tree::as_stacked(*value_))>{
        r.ts, tree::with_leaves(tree::as_stacked(*value_), r.ys), r.count};
  }
  const SaveAt& at() const { return sub_.at; }

 private:
  const SubSave<F>& sub_;
  const Y& like_;
  const Args& args_;
  std::optional<Value> value_;  // its structure, from the newest call
};

template <class Extra, class Y, class Args>
auto keepers_of(const Extra& extra, const Y& like, const Args& args) {
  if constexpr (requires { extra.at; })
    return std::tuple{Keeper<decltype(extra.function), Y, Args>(extra, like, args)};
  else
    return std::tuple{};
}

/// The functions of an event, of arrays.
template <class F, class Effect, class Y, class Args>
class Watcher {
 public:
  Watcher(const Event<F, Effect>& event, const Y& like, const Args& args)
      : event_(event), like_(like), args_(args) {}
  Watcher(const Watcher&) = delete;  // what `request` gives refers to this object
  Watcher& operator=(const Watcher&) = delete;

  EventRequest request() {
    EventRequest r{FieldRef(condition_), {}, event_.options};
    if constexpr (!std::is_same_v<Effect, None>) r.effect.emplace(effect_);
    return r;
  }

 private:
  struct Condition {
    const Watcher& w;
    Arrays operator()(const Array& t, const Arrays& y) {
      using R = std::invoke_result_t<const F&, const Array&, const Y&, const Args&>;
      static_assert(std::is_same_v<std::remove_cvref_t<R>, Array>,
                    "gnomon::ode::event: a condition gives one Array, a bool[] or a number");
      return {w.event_.condition(t, tree::with_leaves(w.like_, y), w.args_)};
    }
  };
  struct Change {
    const Watcher& w;
    Arrays operator()(const Array& t, const Arrays& y) {
      if constexpr (std::is_same_v<Effect, None>)
        return y;
      else
        return tree::leaves(slope_of(w.event_.effect, t, tree::with_leaves(w.like_, y), w.args_));
    }
  };
  const Event<F, Effect>& event_;
  const Y& like_;
  const Args& args_;
  Condition condition_{*this};
  Change effect_{*this};
};

/// A Watcher for an event; nothing for what else stands behind the options.
template <class Extra, class Y, class Args>
struct WatchersOf {
  static std::tuple<> make(const Extra&, const Y&, const Args&) { return {}; }
};
template <class F, class E, class Y, class Args>
struct WatchersOf<Event<F, E>, Y, Args> {
  using W = Watcher<F, E, Y, Args>;
  static std::tuple<std::unique_ptr<W>> make(const Event<F, E>& e, const Y& y, const Args& args) {
    return {std::make_unique<W>(e, y, args)};
  }
};

}  // namespace detail

/// Solves dy/dt = f(t, y, args) from y(t0) = y0 to t1.
///
/// terms: what the solver asks for: an OdeTerm, MultiTerm(OdeTerm, ControlTerm) for a stochastic
/// equation (gnomon/ode/sde.h), or a PartitionedTerm (gnomon/ode/symplectic.h). y0: any tree of
/// float arrays. t0, t1 and dt0 are numbers, or arrays of rank 0; t1 below t0 solves backwards,
/// with a negative dt0. Time is f64 where an array of the state or a time is, else f32. `extra`:
/// any number of events (gnomon/ode/event.h) and of functions to `save` (gnomon/ode/save.h).
/// Nothing throws when the program runs: Solution::result says how the solve ended, under vmap for
/// every lane. A lane takes its own steps and ends on its own.
/// Differentiable in y0, args, t0, t1 and what `f` captured; reverse mode as SolveOptions::adjoint
/// says. Step sizes that a controller chose are constants to it.
/// Cost: a step is one evaluation per stage, written out one behind the other; in steps of known
/// lengths a large field stands there once, in a loop over the stages.
/// A long solve in a jitted function is heard and ended while it runs, as other loops are
/// (`f.with({.on_step = show, .cancel_with = token})(y0)`, gnomon/progress.h).
/// Unchecked: traced times that are not in order give Result::bad_times, ts of arrays are taken as
/// they are.
/// Throws UsageError when dt0 points away from t1, ts are out of order or of [t0, t1], tolerances
/// are not finite, a controller needs an error estimate that the solver has not, steps are to be
/// kept without max_steps, or the field's result has not the shapes and dtypes of the state.
/// Source: P. Kidger, On Neural Differential Equations, 2021, chapter 5.
template <class Term, class Y, class Args = None, class... Extra>
auto diffeqsolve(const Term& terms, const Solver& solver, Operand t0, Operand t1, FirstStep dt0,
                 const Y& y0, const Args& args = {}, const SolveOptions& options = {},
                 const Extra&... extra) {
  static_assert(((detail::is_save<Extra> || detail::is_event<Extra>)&&...),
                "gnomon::ode::diffeqsolve: behind the options come events and saves: "
                "ode::event(condition), ode::save(function, {.ts = ...})");
  using State = Carried<Y>;
  const Loc loc = t0.loc();
  const State like = control::traced(tree::clone(y0), loc);

  // What the loop calls lives as long as this call.
  const auto erase = [&](const auto& f) {
    return [&](const Array& t, const Arrays& y) -> Arrays {
      return tree::leaves(detail::slope_of(f, t, tree::with_leaves(like, y), args));
    };
  };
  auto fields = std::apply([&](const auto&... f) { return std::tuple{erase(f)...}; },
                           detail::fields_of(terms));
  auto keepers = std::tuple_cat(detail::keepers_of(extra, like, args)...);
  detail::Request request{
      solver,  {}, {}, t0, t1, dt0, tree::leaves(like), tree::leaf_paths(like, "y"),
      options, {}, {}, loc};
  std::apply([&](auto&... f) { (request.fields.emplace_back(f), ...); }, fields);
  detail::add_drives(terms, request.drives);
  request.first_half = detail::first_half_of(terms, like);
  request.past = detail::past_of(terms);
  request.saves.push_back({options.saveat, {}});
  std::apply(
      [&](auto&... k) {
        (request.saves.push_back({k.at(), detail::FieldRef(k)}), ...);
      },
      keepers);
  auto watchers =
      std::tuple_cat(detail::WatchersOf<Extra, State, Args>::make(extra, like, args)...);
  std::apply([&](auto&... w) { (request.events.push_back(w->request()), ...); }, watchers);

  detail::Outcome out = detail::integrate(request);
  using Saved = decltype(tree::as_stacked(like));
  const auto subs = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple{std::get<I>(keepers).rows(out.rows[I + 1])...};
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(keepers)>>{});
  const auto assemble = [&]<class... S>(const std::tuple<S...>& all) {
    std::optional<Interpolation<State>> interpolation;
    if (out.pieces)
      interpolation.emplace(Interpolation<State>{
          *out.pieces, tree::map([](const Array&) { return Array::hole(); }, like)});
    return Solution<State, Saved, S...>{out.t0,
                                        out.t1,
                                        tree::with_leaves(like, out.y1),
                                        out.rows[0].ts,
                                        tree::with_leaves(tree::as_stacked(like), out.rows[0].ys),
                                        out.rows[0].count,
                                        all,
                                        out.stats,
                                        out.result,
                                        out.event,
                                        std::move(interpolation),
                                        out.solver_state};
  };
  return assemble(subs);
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
