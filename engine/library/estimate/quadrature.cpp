// engine/library/estimate/quadrature.cpp -- stochastic Lanczos quadrature and its derivatives.
#include "gnomon/estimate/quadrature.h"

#include <algorithm>

#include "engine/library/estimate/blocks.h"
#include "engine/library/estimate/lanczos.h"
#include "gnomon/custom.h"

namespace gnomon::estimate {
namespace detail {
namespace {

using Function = Handler<Array(const Array&)>;
using Preconditioner = std::optional<Product>;
/// f'(A) z for a derivative in A: of A as a product, what is near its inverse, and z[n, b].
using Slope = Handler<Array(const Product&, const Preconditioner&, const Array&)>;

struct Task {
  const Operator& a;
  const Function& f;
  const Slope& slope;
  const std::optional<Operator>& preconditioner;
  const LanczosOptions& lanczos;
  bool through = false;
  Loc loc;
};

/// Products with blocks like z; no derivative is taken of what the operator is made of.
Preconditioner constant(const std::optional<Operator>& m, const Array& z, Loc loc) {
  if (!m) return std::nullopt;
  const auto converted =
      closure_convert([&](const Array& x) { return product(*m, x, loc); }, z, loc);
  Arrays made_of;
  for (const Array& a : converted.captures) made_of.push_back(stop_gradient(a));
  return Product([converted, made_of](const Array& x) { return converted(made_of, x); });
}

/// z^T f(A) z for a block of probes: [b].
Array forms(const Task& t, const Array& z) {
  const auto multiply = [&](const Array& x) { return product(t.a, x, t.loc); };
  if (t.through) return integral(lanczos(Product(multiply), z, t.lanczos, t.loc), t.f);
  // What A is made of becomes an argument, so that the rule sees it move.
  const auto converted = closure_convert(multiply, z, t.loc);
  const Preconditioner near = constant(t.preconditioner, z, t.loc);
  const auto at = [&](const Arrays& made_of) {
    return Product([&converted, made_of](const Array& x) { return converted(made_of, x); });
  };
  const auto value = [&](const Arrays& made_of) {
    return integral(lanczos(at(made_of), z, t.lanczos, t.loc), t.f);
  };
  const auto rule = [&](const Arrays& made_of, const Array&, const Arrays& change) {
    const auto applied_to_z = [&](const Arrays& m) { return converted(m, z); };
    const Array moved = jvp(applied_to_z, made_of, change, t.loc).second;
    return dots(t.slope(at(made_of), near, z), moved);
  };
  return custom_jvp(value, rule, t.loc)(converted.captures);
}

Trace quadrature(std::string_view op, const Function& f, const Slope& slope, Key key,
                 const Operator& a, Dim k, Dim steps, const QuadratureOptions& o, Loc loc) {
  operators::require_square(op, a, loc);
  require_positive(op, "k", k, loc);
  require_positive(op, "steps", steps, loc);
  if (!a.tags().is_symmetric())
    usage_error(op,
                "the operator " + a.map().name() + " is tagged " + operators::to_string(a.tags()) +
                    "; Lanczos' method needs a symmetric one: add {.symmetric = true} if it is",
                loc);
  if (o.derivative == Derivative::exact)
    usage_error(op, "an exact derivative is for traces of A itself; take Derivative::same_probes",
                loc);
  const Dim n = std::max<Dim>(a.columns(), 1), used = std::min(k, n);
  const LanczosOptions lanczos{std::min(steps, n), o.reorthogonalise, false};
  const Dim cheap = std::clamp<Dim>((Dim{1} << 24) / (n * lanczos.steps), 1, 32);
  const Source source(o.sampler, std::move(key), a.in());
  const Dim together = source.together();
  const auto b = batches(used, a.in(), o.batch > 0 ? o.batch : cheap, together);
  const Task task{
      a,  f, slope, o.solve_preconditioner, lanczos, o.derivative == Derivative::through_estimator,
      loc};
  const auto block = [&](const Arrays& z) { return forms(task, flat(z, a.in())); };
  const Mean m = mean_of(samples(source, b, block, loc), together);
  return {m.value, m.standard_error, used * lanczos.steps};
}

}  // namespace

Trace trace_of(std::string_view op, const Function& f, Key key, const Operator& a, Dim k, Dim steps,
               const QuadratureOptions& o, Loc loc) {
  const Dim m = std::min(steps, std::max<Dim>(a.columns(), 1));
  const Slope slope = [&](const Product& at, const Preconditioner&, const Array& z) {
    const auto derivative = [&](const Array& x) { return jvp(f, x, ones_like(x), loc).second; };
    return applied(lanczos(at, z, {m, o.reorthogonalise, true}, loc), Function(derivative));
  };
  return quadrature(op, f, slope, std::move(key), a, k, steps, o, loc);
}

}  // namespace detail

Trace log_determinant(Key key, const operators::Operator& a, Dim k, Dim steps,
                      const QuadratureOptions& o, Loc loc) {
  const char* op = "estimate::log_determinant";
  operators::require_square(op, a, loc);
  if (!a.tags().positive_semidefinite)
    usage_error(op,
                "the operator " + a.map().name() + " is tagged " + operators::to_string(a.tags()) +
                    "; a real logarithm needs a positive definite one: add "
                    "{.positive_semidefinite = true} if it is",
                loc);
  const double rtol = o.solve_rtol > 0 ? o.solve_rtol : a.in().dtype() == DType::f64 ? 1e-12 : 1e-6;
  const Dim most = o.solve_steps > 0 ? o.solve_steps : 10 * a.columns();
  operators::require_preconditioner(op, a, o.solve_preconditioner, loc);
  const detail::Slope slope = [&](const detail::Product& at, const detail::Preconditioner& near,
                                  const Array& z) {
    return detail::solved(at, z, {rtol, most, near}, loc);
  };
  const detail::Function f = [](const Array& x) { return log(x); };
  return detail::quadrature(op, f, slope, std::move(key), a, k, steps, o, loc);
}

}  // namespace gnomon::estimate
