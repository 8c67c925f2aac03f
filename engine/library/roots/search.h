// engine/library/roots/search.h -- what searches have in common: a function that nobody
// differentiates, and when to stop.
#pragma once
#include "engine/library/roots/linear_system.h"
#include "gnomon/custom.h"
#include "gnomon/roots/minimise.h"

namespace gnomon::roots::detail {

/// A function of trees as one of flat vectors (Layout), all it captured held fixed.
class Search {
 public:
  Search(Function, const Arrays& start, const std::vector<std::string>& paths, const Options&,
         const char* name, Loc);

  const Layout& layout() const { return layout_; }
  /// The start.
  const Arrays& start() const { return start_; }
  Arrays leaves_at(const Arrays& x) const { return f_(fixed_, layout_.leaves(x)); }
  Arrays operator()(const Arrays& x) const { return layout_.flat(leaves_at(x)); }
  /// Of f: X -> X.
  Arrays jacobian(const Arrays& x) const;
  /// The size of a change at x: below 1 is within the tolerance.
  Array size(const Arrays& change, const Arrays& x) const;

 private:
  Layout layout_;
  Converted<Arrays> f_;
  Arrays fixed_, start_;
  const Options& options_;
};

/// The distance from 1 to the next number.
double epsilon(DType);
/// Codes while a search goes on, and when it ended.
Array running();
Array code(Result);
/// `code`, and max_steps_reached where the search was still going on.
Array ended(const Array& code);

Arrays stopped(const Arrays&);
/// x with the derivative of equation(x) = 0 in what `equation` captured.
Arrays with_derivative(Function equation, const Arrays& x, const Layout&);

}  // namespace gnomon::roots::detail
