// engine/include/gnomon/ode/delay.h -- equations whose slope depends on what the state has been.
#pragma once
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/ode/solve.h"
#include "gnomon/ode/terms.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

struct DelayOptions {
  /// Delays that do not change, all above 0: steps end where they carry the break at t0 to, as
  /// often as the order of the method asks for, and none is longer than the smallest.
  std::vector<Operand> delays = {};
  /// A bound below all other delays, such as those that depend on the state.
  std::optional<Operand> smallest = {};
  /// Steps that are remembered, the newest ones. 0: all, in `max_steps` rows that are written once,
  /// which is what reverse mode likes; a number makes a ring of so many, of which a derivative
  /// keeps copies.
  Dim remembered = 0;
};

namespace detail {

/// The steps behind a solve, as its loop carries them.
struct PastPieces {
  Array count;            // i32[]: pieces so far; the first one is y0, and has no length
  Array starts, lengths;  // [rows]
  std::vector<std::vector<Array>> powers;  // [power][array of the state]: [rows, ..]
};

/// What a field with delays looks back at while the loop is traced.
class Past {
 public:
  Past(DelayOptions options, Loc loc) : options_(std::move(options)), loc_(loc) {}
  virtual ~Past() = default;
  /// The state in front of t0.
  virtual std::vector<Array> initial(const Array& t) const = 0;

  /// Throws UsageError for delays that are not above 0, and where there is no room.
  void begin(const Request&, const Array& t0, const std::vector<Array>& y0);
  std::size_t delays() const { return options_.delays.size(); }
  Array longest_step() const;
  std::optional<double> known_longest_step() const;
  /// Sums of up to `order` delays behind t0.
  std::vector<Array> breaks(int order) const;

  PastPieces first(std::size_t powers) const;
  /// What is looked back at from now on: pieces that end at `end`.
  void hold(const PastPieces& pieces, const Array& end);
  PastPieces with(PastPieces, const Array& start, const Array& length, const std::vector<Array>& y,
                  const std::vector<std::vector<Array>>& powers,
                  const std::optional<Array>& keep) const;
  bool can_lose() const { return options_.remembered > 0 && delays() > 0; }
  /// Whether pieces of the longest of `delays` before t are no more there.
  Array lost(const PastPieces&, const Array& t) const;

  std::vector<Array> at(const Operand& t) const;

 private:
  Array row(const Array& index) const;
  Array oldest(const PastPieces&) const;

  DelayOptions options_;
  Loc loc_;
  Dim rows_ = 0;
  DType dtype_ = DType::f32;
  Array t0_, end_;
  std::vector<Array> y0_, taus_;
  std::optional<PastPieces> pieces_;
};

}  // namespace detail

/// The solution so far, as a field of a DelayTerm sees it.
template <class Y>
class History {
 public:
  History(const detail::Past& past, const Y& like) : past_(past), like_(like) {}
  /// The state at a time that is a delay or more ago: by the interpolant of the step it was in, or
  /// by the initial function in front of t0. NaN for times that are not solved yet, which has a
  /// PidController try a shorter step, and for those that a ring has forgotten.
  /// Differentiable, in t as well. O(log of the steps).
  Y operator()(const Operand& t) const { return tree::with_leaves(like_, past_.at(t)); }

 private:
  const detail::Past& past_;
  const Y& like_;
};

/// dy = f(t, y, history, args) dt with y(t) = initial(t) for t < t0: a delay equation.
///
/// f: (Array t, Y y, History<Y> history, Args args) -> Y, which reads history(t - delay) for any
/// number of delays. initial: (Array t) -> Y or (Array t, Args args) -> Y, smooth, with the value
/// y0 at t0 (what is different there is a jump that no step ends at).
template <class F, class Phi>
struct DelayTerm {
  F vector_field;
  Phi initial;
  DelayOptions options;
  DelayTerm(F f, Phi phi, DelayOptions o)
      : vector_field(std::move(f)), initial(std::move(phi)), options(std::move(o)) {}
};

namespace detail {

template <class Phi, class Y, class Args>
class PastOf final : public Past {
 public:
  PastOf(const Phi& phi, const Y& like, const Args& args, const DelayOptions& o, Loc loc)
      : Past(o, loc), phi_(phi), like_(like), args_(args) {}
  std::vector<Array> initial(const Array& t) const override {
    if constexpr (std::is_invocable_v<const Phi&, const Array&, const Args&>)
      return checked(phi_(t, args_));
    else
      return checked(phi_(t));
  }
  const Y& like() const { return like_; }

 private:
  std::vector<Array> checked(const Y& y) const { return tree::leaves(y); }
  const Phi& phi_;
  Y like_;
  const Args& args_;
};

}  // namespace detail

/// Solves a delay equation forward in time: `diffeqsolve` with all that it takes and gives. The
/// method's interpolant is what is looked back at, so that one of order 4 or more (Tsit5, Dopri5)
/// is worth its price only with small delays or tolerances.
///
/// Differentiable also in the delays, where `f` takes them from what is differentiated.
/// Steps are no longer than the smallest delay, so that no stage looks at what is being computed.
/// ConstantStepSize and StepTo do not look for breaks: have the delays be multiples of dt0.
/// Throws UsageError for delays that are not above 0, none at all, t1 below t0, dt0 above the
/// smallest delay with ConstantStepSize, and neither `remembered` nor max_steps.
/// Source: E. Hairer, S. Norsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd
/// edition, section II.17.
template <class F, class Phi, class Y, class Args = None, class... Extra>
auto diffeqsolve(const DelayTerm<F, Phi>& term, const Solver& solver, Operand t0, Operand t1,
                 FirstStep dt0, const Y& y0, const Args& args = {},
                 const SolveOptions& options = {}, const Extra&... extra) {
  using State = Carried<Y>;
  const auto past = std::make_shared<detail::PastOf<Phi, State, Args>>(
      term.initial, control::traced(tree::clone(y0), t0.loc()), args, term.options, t0.loc());
  const auto field = [&](const Array& t, const State& y, const Args& a) -> State {
    return term.vector_field(t, y, History<State>(*past, past->like()), a);
  };
  return diffeqsolve(detail::DelayedTerm<decltype(field)>{field, past}, solver, t0, t1, dt0, y0,
                     args, options, extra...);
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
