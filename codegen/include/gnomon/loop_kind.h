// codegen/include/gnomon/loop_kind.h -- what a loop keeps for reverse mode.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gnomon/shape.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// What reverse mode (grad, vjp) keeps of a loop of n steps, and what it computes again. Values,
/// forward mode and loops that nobody differentiates are the same for all kinds; derivatives of
/// derivatives go through all but `lax`.
enum class LoopKind : std::uint8_t {
  /// `stored` up to 64 steps. Longer loops are made two, one in the other, of about sqrt(n) steps
  /// each: 2 sqrt(n) carried values, every step twice. Where a step is a few hundred operations at
  /// most, a few of them count as one, and are taken again together; up to 128 of these are kept.
  /// Loops that carry write-once buffers (gnomon/buffer.h) as large as what all steps began with
  /// are
  /// `stored` as well. Needs a bound.
  automatic,
  /// Nothing: reverse mode throws UsageError. For loops that are not meant to be differentiated.
  lax,
  /// The carried values of `checkpoints` steps, chosen while the loop runs: it need not be known
  /// how many it takes. By default 1 of them for a bound of 1, else
  /// floor(sqrt(2 n + 1/4) - 1/2) for a bound of n; then no step is taken more than twice on
  /// average. Fewer take less memory and more time. Needs a bound or a number of checkpoints.
  ///
  /// Source: Stumm and Walther, "New algorithms for optimal online checkpointing", SIAM J. Sci.
  /// Comput. 32(2), 2010, algorithm I, up to (C + 1) (C + 2) / 2 - 1 steps; beyond, Wang, Moin and
  /// Iaccarino, "Minimal repetition dynamic checkpointing algorithm for unsteady adjoint
  /// calculation", SIAM J. Sci. Comput. 31(4), 2009. The way back places checkpoints by bisection.
  checkpointed,
  /// Loops of 16 steps in one another: about 16 log16(n) carried values, every step log16(n)
  /// times. Needs a bound.
  bounded,
  /// The carried values of every step of the bound, as far as the derivative of a step looks at
  /// them; nothing is computed again. Needs a bound.
  stored,
};
std::string_view name(LoopKind);

struct EveryStep {};
/// `.checkpoints = every_step`: as many as the loop may take steps.
inline constexpr EveryStep every_step{};

/// How many steps a checkpointed loop keeps: a number, `every_step`, or (nothing said) what its
/// bound suggests.
class Checkpoints {
 public:
  constexpr Checkpoints() = default;
  template <std::integral I>
  constexpr Checkpoints(I count)  // NOLINT: implicit on purpose
      : count_(static_cast<Dim>(count)) {}
  constexpr Checkpoints(EveryStep) : every_(true) {}  // NOLINT: implicit on purpose

  constexpr bool given() const { return every_ || count_.has_value(); }
  constexpr bool every() const { return every_; }
  constexpr Dim count() const { return *count_; }

 private:
  std::optional<Dim> count_;
  bool every_ = false;
};

}  // namespace gnomon
#pragma GCC visibility pop
