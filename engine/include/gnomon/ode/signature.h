// engine/include/gnomon/ode/signature.h -- what a path does to whatever it drives, in few numbers.
#pragma once
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// The Lyndon words over 0 .. channels - 1 of 1 to `depth` letters: short ones first, those of one
/// length in order. A word stands for a bracket: i for the direction e_i, ij for [e_i, e_j], and of
/// three letters with i < j, k: iij for [e_i, [e_i, e_j]], ijj for [[e_i, e_j], e_j], and with
/// i < j < k ijk for [e_i, [e_j, e_k]] and ikj for [[e_i, e_k], e_j].
/// Throws UsageError unless there are channels and depth is 1, 2 or 3.
std::vector<std::vector<int>> lyndon_words(Dim channels, int depth, Loc loc = Loc::here());

/// The logarithm of the signature of the piecewise linear path through the rows of `path`, by its
/// coefficients of the brackets of `lyndon_words`: the change, the areas, and what three channels
/// do.
///
/// path: f32[n, channels] or f64[n, channels] without missing values -> [words]. How fast the path
/// goes does not count; with time as a channel it does. Differentiable. O(n channels^depth).
/// Throws UsageError for another shape or depth, or fewer than two rows.
/// Source: J. Reizenstein and B. Graham, The iisignature library, ACM Trans. Math. Softw. 46
/// (2020).
Array log_signature(Operand path, int depth);

/// The same for stretches of `window` steps, one behind the other; the last one may be shorter.
/// Differentiable, and at the cost of log_signature. Throws UsageError as that does, and unless
/// window is 1 or more.
///
/// [n, channels] -> [ceil((n - 1) / window), words]. What drives an equation by the log-ODE method
/// over these stretches, with a field of as many columns as there are words, is
/// LinearInterpolation(times of the ends, zeros and then cumsum(log_signatures(..), 0)).
/// Source: J. Morrill, C. Salvi, P. Kidger and J. Foster, Neural rough differential equations for
/// long time series, ICML 2021.
Array log_signatures(Operand path, int depth, Dim window);

}  // namespace gnomon::ode
#pragma GCC visibility pop
