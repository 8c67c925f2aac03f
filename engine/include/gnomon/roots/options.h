// engine/include/gnomon/roots/options.h -- when non-linear solves end, and how they did.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/error.h"
#include "gnomon/handler.h"
#include "gnomon/runtime.h"

#pragma GCC visibility push(default)
namespace gnomon::roots {

struct Options {
  /// A solve ends when what is left to go is below atol + rtol |x|, in the norm. A relative one
  /// below what the dtype can tell apart is raised to that.
  double rtol = 1e-6, atol = 1e-9;
  Dim max_steps = 100;
  /// Of the unknowns, scaled by their tolerances, as arrays like those of the tree; the root of the
  /// mean of the squares when empty.
  Handler<Array(const std::vector<Array>&)> norm = {};
  /// Whether the result has a derivative: of minimisers that needs second derivatives of f.
  bool differentiable = true;
};

/// The end of one solve: an i32.
enum class Result : std::int32_t {
  converged = 0,
  max_steps_reached,
  nonfinite,
  no_bracket,
  stagnated,
};
/// "the solve took `max_steps` steps; ..."
std::string_view message(Result);

/// Thrown by throw_if_failed.
class SolveFailed : public Error {
 public:
  using Error::Error;
};

namespace detail {
void throw_if_failed(const std::vector<std::int32_t>& codes, Loc);
}  // namespace detail

/// Throws SolveFailed when a solve did not converge: how many of them, which one first, and why.
/// Waits for the device.
template <class Found>
void throw_if_failed(const Runtime& rt, const Found& found, Loc loc = Loc::here()) {
  detail::throw_if_failed(rt.to_host<std::int32_t>(found.result), loc);
}

}  // namespace gnomon::roots
#pragma GCC visibility pop
