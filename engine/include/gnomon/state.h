// engine/include/gnomon/state.h -- what layers remember from call to call, as a value passed in and
// out.
//
// A layer that remembers something (running means, a counter) has a StateIndex for it: a place in a
// State, not the numbers themselves. They are in the State, apart from the parameters and of
// another type, so that no gradient and no optimiser reaches them:
//
//   struct Counter {
//     StateIndex<> calls;
//     static Counter make() { return {StateIndex(zeros({}, DType::i32))}; }
//     std::pair<Array, State> operator()(const Array& x, State state) const {
//       const Array n = state.get(calls) + 1;
//       return {x, std::move(state).set(calls, n)};
//     }
//   };
//
//   auto made = make_with_state(Counter::make);         // {.model, .state}
//   auto [y, state] = made.model(x, std::move(made.state));
//
// A State is used once, as a Key is: it does not copy, what updates it takes it over, and using it
// again throws, with the lines of both uses. It is a tree as any other: an argument and a result of
// jit (given away by std::move), a carry of loops, `unmapped` in and out of the vmap over a batch,
// and passed through grad behind the parameters, with has_aux.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

class State;

namespace detail {

/// A field of every StateIndex, whose type is how walks over a model find them.
enum class StateMark : std::uint8_t {
  initial,  // it holds the value to begin with
  placed,   // the value is in a State, under the name of its place
};
std::string_view name(StateMark);

/// The value of one index: its arrays in order.
struct StateEntry {
  std::string place;
  std::vector<Array> values;
  std::string_view name_in_tree() const { return place; }
};
using StateEntries = std::vector<StateEntry>;

/// The initial values of all indices of a model. With `strip` each gets a name and a hole in place
/// of every array. Throws UsageError for one that has none.
StateEntries initial_states(tree::detail::AnyTree model, bool strip, Loc);
/// Throws UsageError unless `now` has the structure, shapes and dtypes of `before`.
void check_same_state(const std::string& place, tree::detail::AnyTree before,
                      tree::detail::AnyTree now, const void* type, Loc);

}  // namespace detail

/// A field of a layer: where in a State a value of type T is, an Array or any other tree. Made of
/// the value to begin with, which make_with_state takes out.
template <class T = Array>
class StateIndex {
 public:
  StateIndex() = default;
  explicit StateIndex(T initial) : initial_(std::move(initial)) {}
  StateIndex clone() const {
    StateIndex same(tree::clone(initial_));
    same.mark_ = mark_;
    same.place_ = place_;
    return same;
  }

  /// `layers[1].norm.running`: its path in the model that make_with_state was given; empty before.
  const std::string& place() const { return place_; }

 private:
  friend struct TreeAccess;
  friend class State;
  template <class I>
  static auto fields(I& index) {
    return std::tie(index.mark_, index.place_, index.initial_);
  }
  static constexpr std::array<std::string_view, 3> field_names{"mark", "place", "initial"};
  detail::StateMark mark_ = detail::StateMark::initial;
  std::string place_;
  T initial_ = {};  // holes once placed: the structure of the value
};
namespace detail {
State placed_state(tree::detail::AnyTree model, Loc);
}

/// What the layers of a model remember.
class State {
 public:
  /// Gradients reach no State: grad over one does not compile.
  static constexpr bool differentiable = false;

  State() = default;  // of no layers
  /// The initial values of a model whose indices have them still, for the model of equal structure
  /// that make_with_state gave. Throws UsageError after that: then the values are not there any
  /// more.
  template <class M>
  requires(!std::is_same_v<M, State> &&
           !std::is_same_v<M, detail::StateEntries>) explicit State(const M& model,
                                                                    Loc loc = Loc::here())
      : State(detail::initial_states(tree::detail::AnyTree::of(model), false, loc)) {}

  // The line of a move is where the state went: what a second use is told.
  State(State&& from, Loc loc = Loc::here()) noexcept { take(from, loc); }
  State& operator=(State&& from) noexcept {
    if (this != &from) take(from, {});
    return *this;
  }
  // Compilers show this line, and what it says, where a state is copied.
  State(const State&) = delete;  // used twice? go on with the State that a call gives back
  template <class S>
  requires std::is_same_v<S, State> State(S&) {  // NOLINT: implicit, as copies are
    static_assert(always_false<S>,
                  "gnomon::State: a state is used once, and this would be a copy of it. Write "
                  "std::move(state) and go on with the State that comes back: `auto [y, next] = "
                  "layer(x, std::move(state))`; to keep the old values on purpose pass "
                  "state.clone()");
  }

  /// The same values again. Throws UsageError when the state was used.
  State clone(Loc loc = Loc::here()) const;

  /// The value of an index. Throws UsageError when the state was used, or is that of another model.
  template <class T>
  T get(const StateIndex<T>& index, Loc loc = Loc::here()) const {
    const std::size_t arrays = tree::slots(index.initial_).size();
    return tree::with_slots(index.initial_,
                            find("State::get", index.mark_, index.place_, arrays, loc).values);
  }

  /// The state with another value of an index. Takes this one over.
  ///
  /// Throws UsageError when the value has another structure, shape or dtype, and as `get` does.
  template <class T>
  State set(const StateIndex<T>& index, const std::type_identity_t<T>& value,
            Loc loc = Loc::here()) && {
    const std::size_t arrays = tree::slots(index.initial_).size();
    const T before = tree::with_slots(
        index.initial_, find("State::set", index.mark_, index.place_, arrays, loc).values);
    detail::check_same_state(index.place_, tree::detail::AnyTree::of(before),
                             tree::detail::AnyTree::of(value), &tree::detail::type_identity<T>,
                             loc);
    return std::move(*this).with(index.place_, tree::slots(value), loc);
  }
  template <class T>
  State set(const StateIndex<T>&, const std::type_identity_t<T>&, Loc = Loc::here()) const& {
    static_assert(always_false<T>,
                  "gnomon::State::set: gives a new state and takes the old one over; write "
                  "`std::move(state).set(index, value)`");
    return {};
  }

  /// The part of the state that belongs to a layer or another part of the model; this one stays as
  /// it is. Throws UsageError as `get` does.
  template <class M>
  State substate(const M& module, Loc loc = Loc::here()) const {
    return part(tree::detail::AnyTree::of(module), loc);
  }
  /// The state with the values of `part`. Takes both over. Throws UsageError when `part` has what
  /// this one does not have, or of other types.
  State update(State part, Loc loc = Loc::here()) &&;

  /// The names of what it holds, in the order of the model: `layers[1].norm.running`.
  std::vector<std::string> places() const;

  /// Throws UsageError when the state was used.
  void require_usable(Loc loc = Loc::here()) const { check_unused("State", "", loc); }
  /// Its arrays went with the call at `loc`, as jit tells arguments that are moved in.
  void given_away(Loc loc) noexcept;

 private:
  friend struct TreeAccess;
  friend State detail::placed_state(tree::detail::AnyTree model, Loc);

  struct Past;  // where a state went, and what became of it
  explicit State(detail::StateEntries);
  template <class S>
  static auto fields(S& state) {
    return std::tie(state.entries_);
  }
  static constexpr std::array<std::string_view, 1> field_names{"entries"};

  void take(State& from, Loc loc) noexcept;
  void check_unused(std::string_view op, const std::string& place, Loc) const;
  const detail::StateEntry& find(std::string_view op, detail::StateMark, const std::string& place,
                                 std::size_t arrays, Loc) const;
  State with(const std::string& place, std::vector<Array> values, Loc) &&;
  State part(tree::detail::AnyTree module, Loc) const;

  detail::StateEntries entries_;
  std::shared_ptr<Past> past_;  // shared by what it was moved from and to
  Loc moved_;                   // where it was moved from
  bool gone_ = false;
};

/// A model without the values its layers begin with, and these.
template <class M>
struct ModelAndState {
  M model;
  State state;
};

/// Takes the initial values out of a model and gives each a name by its place there, so that a
/// model made again in the same way is the same to jit.
///
/// Of a model, or of what makes one with its arguments:
///   auto [model, state] = make_with_state(Net{...});
///   auto made = make_with_state(Net::make, 28, random::key(0));
/// Throws UsageError when a part of the model went through here before.
template <class M>
requires(tree::kind_of<M>() != tree::Kind::value &&
         !std::is_invocable_v<M&>) ModelAndState<M> make_with_state(M model,
                                                                    Loc loc = Loc::here()) {
  State state = detail::placed_state(tree::detail::AnyTree::of(model), loc);
  return {std::move(model), std::move(state)};
}
template <class Make, class... A>
requires std::is_invocable_v<Make&, A&&...>
auto make_with_state(Make&& make, A&&... arguments) {
  using M = std::remove_cvref_t<std::invoke_result_t<Make&, A&&...>>;
  M model = make(std::forward<A>(arguments)...);
  State state = detail::placed_state(tree::detail::AnyTree::of(model), {});
  return ModelAndState<M>{std::move(model), std::move(state)};
}

}  // namespace gnomon
#pragma GCC visibility pop
