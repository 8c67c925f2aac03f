// engine/library/roots/solvers.h -- the searches, without derivatives.
#pragma once
#include "engine/library/roots/search.h"

namespace gnomon::roots::detail {

Found newton(const Search&, const Options&, Loc);
Found chord(const Search&, const Options&, Loc);
Found broyden(const Search&, const Options&, Loc);
/// Starts: both ends.
Found bisection(const Search&, const Array& low, const Array& high, const Options&, Loc);
Found brent(const Search&, const Array& low, const Array& high, const Options&, Loc);

/// Of residuals; damped or not.
FoundMinimum least_squares(const Search&, bool damped, const Options&, Loc);
/// Of a number.
FoundMinimum bfgs(const Search&, const Options&, Loc);
FoundMinimum nelder_mead(const Search&, const Options&, Loc);

}  // namespace gnomon::roots::detail
