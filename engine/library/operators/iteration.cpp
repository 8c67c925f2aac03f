// engine/library/operators/iteration.cpp -- arithmetic of vectors of arrays, and the words of
// results.
#include "engine/library/operators/iteration.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gnomon::operators {

std::string_view message(SolveResult r) {
  switch (r) {
    case SolveResult::converged:
      return "the solve converged";
    case SolveResult::max_steps_reached:
      return "the solve took `max_steps` steps and is not within its tolerances; allow more of "
             "them, or give a preconditioner";
    case SolveResult::breakdown:
      return "the method divided by zero, or the operator is not what its tags say: for Cg not "
             "positive definite where it was looked at; another method may do";
    case SolveResult::nonfinite:
      return "the operator, the right side or the solution is not finite: the matrix may be "
             "singular";
    case SolveResult::stagnated:
      return "the residual does not get smaller, and the tolerances are not met: the matrix is "
             "singular, or more is asked than the dtype can tell apart";
  }
  return "no result of a solve";
}

namespace detail {

void throw_if_failed(const std::vector<std::int32_t>& codes, Loc loc) {
  const auto failed = [](std::int32_t c) {
    return static_cast<SolveResult>(c) != SolveResult::converged;
  };
  const auto count = std::count_if(codes.begin(), codes.end(), failed);
  if (count == 0) return;
  const auto first = std::find_if(codes.begin(), codes.end(), failed);
  std::string text = "gnomon::operators::solve: ";
  if (codes.size() > 1)
    text += std::to_string(count) + " of " + std::to_string(codes.size()) +
            " solves failed, first number " + std::to_string(first - codes.begin()) + ": ";
  text += message(static_cast<SolveResult>(*first));
  if (loc.line != 0) text += " (" + to_string(loc) + ")";
  throw SolveFailed(text);
}

Array dot(const Arrays& a, const Arrays& b, DType dtype) {
  std::optional<Array> total;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Array product = cast(a[i], dtype) * cast(b[i], dtype);
    const Array part = product.rank() == 0 ? product : sum(product);
    total = total ? *total + part : part;
  }
  return *total;
}

Arrays plus(const Arrays& x, const Array& factor, const Arrays& y) {
  Arrays result;
  for (std::size_t i = 0; i < x.size(); ++i)
    result.push_back(x[i] + cast(factor, x[i].dtype()) * y[i]);
  return result;
}

Arrays scaled(const Array& factor, const Arrays& x) {
  Arrays result;
  for (const Array& a : x) result.push_back(cast(factor, a.dtype()) * a);
  return result;
}

Arrays minus(const Arrays& a, const Arrays& b) {
  Arrays result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] - b[i]);
  return result;
}

Arrays choose(const Array& condition, const Arrays& yes, const Arrays& no) {
  Arrays result;
  for (std::size_t i = 0; i < yes.size(); ++i) result.push_back(where(condition, yes[i], no[i]));
  return result;
}

Arrays zero_vector(const Space& s) {
  Arrays result;
  for (const Aval& a : s.arrays) result.push_back(zeros(a.shape, a.dtype));
  return result;
}

Array ratio(const Array& a, const Array& b) {
  const Array none = b == 0;
  return where(none, 0, a / where(none, 1, b));
}

Array running() { return full({}, -1, DType::i32); }
Array code(SolveResult r) { return full({}, static_cast<int>(r), DType::i32); }
Array ended(const Array& c) { return where(c < 0, code(SolveResult::max_steps_reached), c); }

double epsilon_of(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                             : std::numeric_limits<float>::epsilon();
}
double rounding_of(DType dtype) { return std::pow(epsilon_of(dtype), 0.8); }

Array target(const Stop& stop, const Array& bb) {
  const double rtol = std::max(stop.rtol, epsilon_of(bb.dtype()));
  const Array relative = rtol * rtol * bb;
  return stop.atol > 0 ? maximum(relative, stop.atol * stop.atol) : relative;
}

Array code_of(const Array& rr, const Array& goal) {
  return where(!isfinite(rr), code(SolveResult::nonfinite),
               where(rr <= goal, code(SolveResult::converged), running()));
}

Begin begin(const System& s, const Arrays& b, const Arrays& start, const Stop& stop) {
  const Array bb = dot(b, b, s.dtype());
  const Array goal = target(stop, bb);
  if (start.empty()) return {zero_vector(s.in), b, bb, goal, code_of(bb, goal)};
  // Of a right side of zeros the solution is known.
  const Arrays x = choose(bb == 0, zero_vector(s.in), start);
  const Arrays r = minus(b, s.a(x));
  const Array rr = dot(r, r, s.dtype());
  return {x, r, rr, goal, code_of(rr, goal)};
}

}  // namespace detail
}  // namespace gnomon::operators
