// engine/library/roots/search.cpp -- functions held fixed, sizes of steps, the words of results.
#include "engine/library/roots/search.h"

#include <algorithm>
#include <limits>

#include "gnomon/implicit.h"
#include "gnomon/ops.h"

namespace gnomon::roots {

std::string_view message(Result r) {
  switch (r) {
    case Result::converged:
      return "the solve converged";
    case Result::max_steps_reached:
      return "the solve took `max_steps` steps and is not within its tolerances; allow more of "
             "them, or begin nearer to the solution";
    case Result::nonfinite:
      return "the function, its derivative or a step is not finite: the matrix may be singular";
    case Result::no_bracket:
      return "the function has one sign at both ends of the bracket; give ends between which it "
             "changes";
    case Result::stagnated:
      return "no step makes the value smaller, and the tolerances are not met: they are below what "
             "the dtype can tell apart";
  }
  return "no result of a solve";
}

namespace detail {

void throw_if_failed(const std::vector<std::int32_t>& codes, Loc loc) {
  const auto failed = [](std::int32_t c) { return static_cast<Result>(c) != Result::converged; };
  const auto count = std::count_if(codes.begin(), codes.end(), failed);
  if (count == 0) return;
  const auto first = std::find_if(codes.begin(), codes.end(), failed);
  std::string text = "gnomon::roots: ";
  if (codes.size() > 1)
    text += std::to_string(count) + " of " + std::to_string(codes.size()) +
            " solves failed, first number " + std::to_string(first - codes.begin()) + ": ";
  text += message(static_cast<Result>(*first));
  if (loc.line != 0) text += " (" + to_string(loc) + ")";
  throw SolveFailed(text);
}

Arrays stopped(const Arrays& arrays) {
  Arrays result;
  for (const Array& a : arrays) result.push_back(stop_gradient(a));
  return result;
}

namespace {

DType widest(const Arrays& start, const std::vector<std::string>& paths, const Options& o,
             const char* name, Loc loc) {
  bool wide = false;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (!is_float(start[i].dtype()))
      usage_error(
          name,
          "`" + paths[i] + "` is " + to_string(start[i].aval()) + "; unknowns are arrays of floats",
          loc);
    wide = wide || start[i].dtype() == DType::f64;
  }
  if (start.empty()) usage_error(name, "there are no unknowns; give a tree with arrays", loc);
  if (!(o.rtol >= 0 && o.atol >= 0) || o.max_steps < 1)
    usage_error(name,
                "rtol is " + to_string(Scalar(o.rtol)) + ", atol " + to_string(Scalar(o.atol)) +
                    " and max_steps " + std::to_string(o.max_steps) +
                    "; tolerances are not negative, and there is a step at least",
                loc);
  return wide ? DType::f64 : DType::f32;
}

}  // namespace

Search::Search(Function f, const Arrays& start, const std::vector<std::string>& paths,
               const Options& options, const char* name, Loc loc)
    : layout_(start, widest(start, paths, options, name, loc)),
      f_(closure_convert([&](const Arrays& x) { return f(x); }, start)),
      fixed_(stopped(f_.captures)),
      start_(layout_.flat(stopped(start))),
      options_(options) {}

Arrays Search::jacobian(const Arrays& x) const {
  const Arrays leaves = layout_.leaves(x);
  const auto along = [&](const Arrays& direction) {
    return jvp([&](const Arrays& v) { return f_(fixed_, v); }, leaves, direction).second;
  };
  return layout_.matrix(along, layout_.written_out());
}

Array Search::size(const Arrays& change, const Arrays& x) const {
  const double rtol = std::max(options_.rtol, 4 * epsilon(layout_.dtype()));
  Arrays scaled;
  for (std::size_t i = 0; i < x.size(); ++i)
    scaled.push_back(change[i] / (options_.atol + rtol * abs(x[i])));
  if (options_.norm) return options_.norm(layout_.leaves(scaled));
  return sqrt(dot(scaled, scaled) * (1.0 / static_cast<double>(layout_.size())));
}

double epsilon(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                             : std::numeric_limits<float>::epsilon();
}
Array running() { return full({}, -1, DType::i32); }
Array code(Result r) { return full({}, static_cast<int>(r), DType::i32); }
Array ended(const Array& c) { return where(c < 0, code(Result::max_steps_reached), c); }

Arrays with_derivative(Function equation, const Arrays& x, const Layout& layout) {
  return custom_root([&](const Arrays& v) { return equation(v); }, x,
                     [](const auto&, const Arrays& found) { return tree::clone(found); },
                     [&](const auto& linear, const Arrays& y) {
                       const auto map = [&](const Arrays& d) { return linear(d); };
                       const Factors factors(layout, layout.matrix(map, false));
                       return layout.leaves(factors.solve(layout.flat(y)));
                     });
}

}  // namespace detail
}  // namespace gnomon::roots
