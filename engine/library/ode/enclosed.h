// engine/library/ode/enclosed.h -- solves that are one function with a reverse mode of its own.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "engine/library/ode/control.h"
#include "engine/library/ode/method.h"
#include "gnomon/custom.h"

namespace gnomon::ode::detail {

/// Takes arrays off the front of a list.
class Reader {
 public:
  explicit Reader(const Arrays& all) : all_(all) {}
  Arrays take(std::size_t count) {
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += count;
    return Arrays(from, from + static_cast<std::ptrdiff_t>(count));
  }
  Array next() { return all_.at(at_++); }

 private:
  const Arrays& all_;
  std::size_t at_ = 0;
};

Arrays floats_of(const Arrays&);
/// `all` with other arrays of floats.
Arrays with_floats(Arrays all, const Arrays& floats);
Arrays zeros_of(const Arrays& like);
Arrays sum_of(Arrays a, const Arrays& b);

/// A vector field as a function of what it captured, too.
using OpenField = Converted<Arrays>;

/// What moves a solve.
struct Inputs {
  Arrays y0, captured;
  Arrays times;  // t0 and t1, those that are arrays
};

/// What it gives: the rest of a solution is made of this.
struct Solved {
  Arrays y1;
  std::vector<Arrays> saved;  // of each save with rows inside: states [rows, ..]
  Array t1;
  Arrays facts;
};

/// What is kept of it.
struct Memory {
  Inputs inputs;
  Arrays y1, method;
  Arrays ends;               // [max_steps]: of steps that a controller chose
  Array count;               // i32[]: of steps
  Arrays saved;              // i32[] each: rows of each save
  std::vector<Arrays> rows;  // these, where the way back begins anew at each
  Array t1, event;           // where the solve ended, and by which event
};

/// A solve without what moves it.
struct Enclosed {
  const Request& r;
  DType dtype;
  const Method* method;
  bool times_move;  // t0 and t1, where they are arrays; else they are constants
  std::vector<OpenField> fields;
  std::vector<OpenField> conditions;  // of events
  std::vector<SaveAt> inside;         // what is saved between t0 and t1
  SolveOptions options;               // of the solve itself
  std::optional<EqualSteps> equal;    // steps that are known before
  std::optional<Dim> equal_steps{};   // how many there are for sure
  FirstStep dt0 = none;
  std::optional<Controller> back{};  // of the adjoint equations, where it is another one
};

/// The request at values of what moves it.
class Closed {
 public:
  Closed(const Enclosed&, const Inputs&);
  Closed(const Closed&) = delete;  // the request refers to this object
  Closed& operator=(const Closed&) = delete;

  Request request;

 private:
  struct Call {
    const OpenField& field;
    Arrays captured;
    Arrays operator()(const Array& t, const Arrays& y) const { return field(captured, t, y); }
  };
  std::vector<std::unique_ptr<Call>> calls_;
};

/// Whether the solve of a request is such a one: its adjoint is ReversibleAdjoint, BacksolveAdjoint
/// or ImplicitAdjoint.
bool is_enclosed(const Adjoint&);
/// Throws UsageError for what the adjoint does not take.
Outcome integrate_enclosed(const Request&);

}  // namespace gnomon::ode::detail
