// engine/library/roots/solve.cpp -- a search, and the derivative of what it found.
#include "engine/library/roots/solvers.h"
#include "gnomon/ops.h"

namespace gnomon::roots::detail {
namespace {

const char* name_of(Method m) {
  switch (m) {
    case Method::newton:
      return "roots::newton";
    case Method::chord:
      return "roots::chord";
    case Method::broyden:
      return "roots::broyden";
    case Method::bisection:
      return "roots::bisection";
    case Method::brent:
      return "roots::brent";
  }
  return "roots";
}

const char* name_of(Descent m) {
  switch (m) {
    case Descent::gauss_newton:
      return "roots::gauss_newton";
    case Descent::levenberg_marquardt:
      return "roots::levenberg_marquardt";
    case Descent::bfgs:
      return "roots::bfgs";
    case Descent::nelder_mead:
      return "roots::nelder_mead";
  }
  return "roots";
}

/// `given` in the dtype of `f`'s argument, a number.
Array end_of(const Array& given, DType dtype, const char* name, const std::string& path, Loc loc) {
  if (given.rank() != 0)
    usage_error(name,
                "`" + path + "` is " + to_string(given.aval()) +
                    "; a bracket has two numbers, and vmap solves for many",
                loc);
  return stop_gradient(given.dtype() == dtype ? given : cast(given, dtype));
}

void check_like(const Arrays& x, const Arrays& value, const std::vector<std::string>& paths,
                const char* name, Loc loc) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i].aval() != value[i].aval())
      usage_error(name,
                  "`" + paths[i] + "` is " + to_string(x[i].aval()) + " and the function gives " +
                      to_string(value[i].aval()) + " for it; both have to be the same",
                  loc);
}

/// Of unknowns without elements the start is all there is.
Found nothing_to_find(const Arrays& start) {
  return {start, zeros({}, DType::i32), code(Result::converged)};
}

}  // namespace

Found find_root(Method method, Function f, const Arrays& start,
                const std::vector<std::string>& paths, const Options& o, Loc loc) {
  const char* name = name_of(method);
  Arrays guess = start;
  const bool bracket = method == Method::bisection || method == Method::brent;
  if (bracket) {
    const bool wide = start[0].dtype() == DType::f64 || start[1].dtype() == DType::f64;
    guess = {end_of(start[0], wide ? DType::f64 : DType::f32, name, paths[0], loc)};
  }
  check_like(guess, eval_shape([&](const Arrays& x) { return f(x); }, guess), paths, name, loc);
  const Search search(f, guess, paths, o, name, loc);
  if (search.layout().size() == 0) return nothing_to_find(guess);
  Found found;
  switch (method) {
    case Method::newton:
      found = newton(search, o, loc);
      break;
    case Method::chord:
      found = chord(search, o, loc);
      break;
    case Method::broyden:
      found = broyden(search, o, loc);
      break;
    case Method::bisection:
    case Method::brent: {
      const Array high = end_of(start[1], guess[0].dtype(), name, paths[1], loc);
      found = method == Method::brent ? brent(search, guess[0], high, o, loc)
                                      : bisection(search, guess[0], high, o, loc);
      break;
    }
  }
  if (o.differentiable) found.x = with_derivative(f, found.x, search.layout());
  return found;
}

FoundMinimum find_minimum(Descent method, Function f, const Arrays& start,
                          const std::vector<std::string>& paths, const Options& o, Loc loc) {
  const char* name = name_of(method);
  const bool squares = method == Descent::gauss_newton || method == Descent::levenberg_marquardt;
  const Arrays like = eval_shape([&](const Arrays& x) { return f(x); }, start);
  for (const Array& a : like)
    if (!is_float(a.dtype()) || (!squares && a.rank() != 0))
      usage_error(
          name,
          "the function gives " + to_string(a.aval()) + "; " +
              (squares ? "residuals are arrays of floats" : "a minimum is that of a number"),
          loc);
  if (like.empty()) usage_error(name, "the function gives no arrays", loc);
  const Search search(f, start, paths, o, name, loc);
  const auto number = [&](const Arrays& x) {
    const Arrays all = f(x);
    if (!squares) return all[0];
    std::optional<Array> total;
    for (const Array& a : all) {
      const Array part = 0.5 * (a.rank() == 0 ? a * a : sum(a * a));
      total = total ? *total + part : part;
    }
    return *total;
  };
  FoundMinimum m;
  if (search.layout().size() == 0) {
    m.found = nothing_to_find(start);
    m.value = number(m.found.x);
    return m;
  }
  switch (method) {
    case Descent::gauss_newton:
    case Descent::levenberg_marquardt:
      m = least_squares(search, method == Descent::levenberg_marquardt, o, loc);
      break;
    case Descent::bfgs:
      m = bfgs(search, o, loc);
      break;
    case Descent::nelder_mead:
      m = nelder_mead(search, o, loc);
      break;
  }
  if (!o.differentiable) return m;
  const auto slope = [&](const Arrays& x) { return grad(number)(x); };
  m.found.x = with_derivative(slope, m.found.x, search.layout());
  m.value = number(m.found.x);
  return m;
}

}  // namespace gnomon::roots::detail
