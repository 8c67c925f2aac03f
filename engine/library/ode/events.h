// engine/library/ode/events.h -- events of a solve: which one comes first in a step, when, and what
// then.
#pragma once
#include <vector>

#include "engine/library/ode/method.h"

namespace gnomon::ode::detail {

class Events {
 public:
  /// Throws UsageError for a condition that is no bool[] or float[].
  Events(const Request&, const Fields&, const Array& t0, const Arrays& y0);

  bool any() const { return !request_.events.empty(); }
  /// Whether one of them ends the solve; goes on.
  bool can_end() const;
  bool can_go_on() const;
  bool finds_roots() const;

  /// The conditions that are numbers, at the start.
  Arrays start() const { return marks_; }

  /// The end of an accepted step or, if an event comes before, that.
  struct Found {
    Array t;
    Array which;  // i32[]: the event, or -1
    Arrays y;     // as the event leaves it
    Arrays marks;
  };
  /// `end` is where the step would end; `keep`: whether it was accepted at all.
  Found look(const Span&, const Arrays& y0, const Polynomial&, const Found& end,
             const std::optional<Array>& keep) const;
  /// Whether that event ends the solve.
  Array ends(const Array& which) const;

 private:
  Array condition(std::size_t event, const Array& t, const Arrays& y) const;
  /// All conditions that are numbers.
  Arrays marks(const Array& t, const Arrays& y) const;
  Array rate(std::size_t event, const Array& t, const Arrays& y) const;
  Array locate(std::size_t event, const Span&, const Arrays& y0, const Polynomial&,
               const Array& before, const Array& behind) const;

  const Request& request_;
  const Fields& fields_;
  std::vector<bool> is_number_;
  Arrays marks_;
};

}  // namespace gnomon::ode::detail
