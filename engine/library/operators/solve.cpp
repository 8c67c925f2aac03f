// engine/library/operators/solve.cpp -- which method solves a system, what it refuses, and the
// derivative of what an iteration found.
#include "gnomon/operators/solve.h"

#include <algorithm>

#include "engine/library/operators/direct.h"
#include "gnomon/custom.h"
#include "gnomon/implicit.h"

namespace gnomon::operators::detail {
namespace {

constexpr const char* name = "operators::solve";

Method automatic(const Operator& a, const Automatic& o) {
  const Tags& t = a.tags();
  const bool definite = t.positive_semidefinite || t.negative_semidefinite;
  if (a.square()) {
    if (t.diagonal) return DiagonalSolve{};
    if (t.tridiagonal) return TridiagonalSolve{};
    if (t.lower_triangular || t.upper_triangular) return TriangularSolve{};
  }
  if (std::max(a.rows(), a.columns()) <= o.largest_matrix) {
    if (!a.square()) return Qr{};
    if (definite) return Cholesky{};
    return Lu{};
  }
  if (!a.square()) return Lsmr{o.rtol, o.atol, o.max_steps};
  if (definite) return Cg{o.rtol, o.atol, o.max_steps, o.preconditioner};
  if (t.is_symmetric()) return Minres{o.rtol, o.atol, o.max_steps, o.preconditioner};
  return Gmres{
      .rtol = o.rtol, .atol = o.atol, .max_steps = o.max_steps, .preconditioner = o.preconditioner};
}

// ---- what is refused

void require_right_side(const Operator& a, const Space& space, const char* what, const Arrays& b,
                        bool block, Loc loc) {
  Space got;
  for (const Array& v : b) got.arrays.push_back(v.aval());
  bool same = got.arrays.size() == space.arrays.size();
  for (std::size_t i = 0; same && i < b.size(); ++i) {
    const Shape &g = got.arrays[i].shape, &w = space.arrays[i].shape;
    same = got.arrays[i].dtype == space.arrays[i].dtype && g.rank() == w.rank() + (block ? 1 : 0);
    for (int axis = 0; same && axis < w.rank(); ++axis) same = g[axis] == w[axis];
    if (same && block) same = g[g.rank() - 1] == b[0].dim(b[0].rank() - 1);
  }
  if (same) return;
  usage_error(name,
              std::string(what) + " is " + to_string(got) + "; the operator " + a.map().name() +
                  (what[0] == 't' ? " takes " : " gives ") + to_string(space) +
                  (block ? ", and a block has one more axis" : "") +
                  (!block && b.size() == space.arrays.size() && !b.empty() &&
                           b[0].rank() == space.arrays[0].shape.rank() + 1
                       ? ": solve_block is for many right sides"
                       : ""),
              loc);
}

void require_square_for(const char* method, const Operator& a, Loc loc) {
  if (!a.square())
    usage_error(name,
                std::string(method) + " needs a square operator, and " + a.map().name() +
                    " takes " + to_string(a.in()) + " and gives " + to_string(a.out()) +
                    "; Lsmr and Qr solve by least squares",
                loc);
}

void require_tag(const char* method, const Operator& a, bool has, const char* needed,
                 const char* promise, const char* other, Loc loc) {
  if (!has)
    usage_error(name,
                std::string(method) + " needs " + needed + ", and the tags of " + a.map().name() +
                    " are: " + to_string(a.tags()) + "; promise it with `.tagged({." + promise +
                    " = true})`" + other,
                loc);
}

void require_definite(const char* method, const Operator& a, const char* other, Loc loc) {
  require_square_for(method, a, loc);
  require_tag(method, a, a.tags().positive_semidefinite || a.tags().negative_semidefinite,
              "a positive or negative semidefinite operator", "positive_semidefinite", other, loc);
}

Stop stop_of(double rtol, double atol, Dim max_steps, Dim size, Loc loc) {
  if (!(rtol >= 0 && atol >= 0) || max_steps < 0)
    usage_error(name,
                "rtol is " + to_string(Scalar(rtol)) + ", atol " + to_string(Scalar(atol)) +
                    " and max_steps " + std::to_string(max_steps) + "; none of them is negative",
                loc);
  const Dim most = 1 << 30;
  return {rtol, atol, max_steps > 0 ? std::min(max_steps, most) : std::min(10 * size, most)};
}

// ---- iterations

Arrays stopped(const Arrays& arrays) {
  Arrays result;
  for (const Array& a : arrays) result.push_back(stop_gradient(a));
  return result;
}

Arrays like(const Space& s) {
  Arrays result;
  for (const Aval& a : s.arrays) result.push_back(abstract_array(a.dtype, a.shape));
  return result;
}

Product product_of(const Operator& a, Loc loc) {
  return [a, loc](const Arrays& x) { return a.mv(x, loc); };
}
/// The same product, all that it depends on held fixed: a loop over it is never differentiated.
Product fixed(const Operator& a, Loc loc) {
  const auto traced = closure_convert([&](const Arrays& x) { return a.mv(x, loc); }, like(a.in()));
  return [traced, captured = stopped(traced.captures)](const Arrays& x) {
    return traced(captured, x);
  };
}

Product negative(const Product& f) {
  return [f](const Arrays& x) {
    Arrays result;
    for (const Array& a : f(x)) result.push_back(-a);
    return result;
  };
}

/// An iteration on any system of the kind: a, m, b, start.
using Iteration = Handler<Solved(const System&, const Arrays&, const Arrays&)>;

/// x with the derivative of A x = b: what solves for it goes by `iterate` as well.
Arrays with_derivative(const Operator& a, const std::optional<Operator>& m, const Arrays& b,
                       const Arrays& x, const Iteration& iterate, Loc loc) {
  const auto system = [&](const Operator& o, const std::optional<Operator>& near) {
    return System{
        product_of(o, loc), {}, near ? product_of(*near, loc) : Product(), o.in(), o.out()};
  };
  const auto tangent = [&](const auto& linear, const Arrays& y) {
    const auto product = [&](const Arrays& v) { return linear(v); };
    const auto forward = [&](const auto&, const Arrays& v) {
      return iterate(system(a, m), v, {}).x;
    };
    if (a.tags().is_symmetric())
      return custom_linear_solve(product, y, forward, {.symmetric = true}, loc);
    const auto back = [&](const auto&, const Arrays& v) {
      std::optional<Operator> near;
      if (m) near = m->transpose(loc);
      return iterate(system(a.transpose(loc), near), v, {}).x;
    };
    return custom_linear_solve(product, y, forward, back, loc);
  };
  return custom_root([&](const Arrays& v) { return minus(a.mv(v, loc), b); }, x,
                     [](const auto&, const Arrays& found) { return tree::clone(found); }, tangent,
                     loc);
}

Solved iterated(const Operator& a, const std::optional<Operator>& m, const Arrays& b,
                const Arrays& start, const Iteration& iterate, Loc loc) {
  require_preconditioner(name, a, m, loc);
  const System system{fixed(a, loc), {}, m ? fixed(*m, loc) : Product(), a.in(), a.out()};
  Solved s = iterate(system, stopped(b), stopped(start));
  s.x = with_derivative(a, m, b, s.x, iterate, loc);
  return s;
}

Solved least_squares(const Operator& a, const Arrays& b, const Stop& stop, Loc loc) {
  const Operator at = a.transpose(loc);
  const auto run = [&](const Product& p, const Product& pt, const Space& in, const Space& out,
                       const Arrays& v) {
    return lsmr(System{p, pt, {}, in, out}, v, stop, loc);
  };
  Solved s = run(fixed(a, loc), fixed(at, loc), a.in(), a.out(), stopped(b));
  const Product forward = product_of(a, loc), back = product_of(at, loc);
  const auto by_a = [&](const Arrays& v) { return run(forward, back, a.in(), a.out(), v).x; };
  const auto by_at = [&](const Arrays& v) { return run(back, forward, a.out(), a.in(), v).x; };
  const auto same = [](const auto&, const Arrays& found) { return tree::clone(found); };
  if (a.rows() >= a.columns()) {
    // A^T (A x - b) = 0; the inverse of A^T A is that of A^T, then that of A.
    const auto slope = [&](const Arrays& v) { return back(minus(forward(v), b)); };
    const auto tangent = [&](const auto& linear, const Arrays& y) {
      const auto product = [&](const Arrays& v) { return linear(v); };
      return custom_linear_solve(
          product, y, [&](const auto&, const Arrays& v) { return by_a(by_at(v)); },
          {.symmetric = true}, loc);
    };
    s.x = custom_root(slope, s.x, same, tangent, loc);
    return s;
  }
  // x = A^T y with A A^T y = b.
  const auto shortest = [&](const Arrays& v) {
    const auto product = [&](const Arrays& y) { return forward(back(y)); };
    const Arrays y = custom_linear_solve(
        product, b, [&](const auto&, const Arrays& w) { return by_at(by_a(w)); },
        {.symmetric = true}, loc);
    return minus(v, back(y));
  };
  s.x = custom_root(
      shortest, s.x, same, [](const auto&, const Arrays& y) { return tree::clone(y); }, loc);
  return s;
}

struct Chosen {
  const Operator& a;
  const Arrays &b, &start;
  bool block;
  Loc loc;

  /// Direct methods have blocks of their own, and no start.
  Solved factored(Direct method) const {
    if (!start.empty())
      usage_error(name, "a direct method has no use for a start; leave it out", loc);
    return direct(method, a, b, block, loc);
  }
  Solved operator()(const Automatic& o) const { return std::visit(*this, automatic(a, o)); }
  Solved operator()(const DiagonalSolve&) const {
    require_square_for("DiagonalSolve", a, loc);
    require_tag("DiagonalSolve", a, a.tags().diagonal, "a diagonal operator", "diagonal", "", loc);
    return factored(Direct::diagonal);
  }
  Solved operator()(const TridiagonalSolve&) const {
    require_square_for("TridiagonalSolve", a, loc);
    require_tag("TridiagonalSolve", a, a.tags().tridiagonal, "a tridiagonal operator",
                "tridiagonal", "", loc);
    return factored(Direct::tridiagonal);
  }
  Solved operator()(const TriangularSolve&) const {
    require_square_for("TriangularSolve", a, loc);
    require_tag("TriangularSolve", a, a.tags().lower_triangular || a.tags().upper_triangular,
                "a triangular operator", "lower_triangular", "", loc);
    return factored(Direct::triangular);
  }
  Solved operator()(const Cholesky&) const {
    require_definite("Cholesky", a, ", or use Lu", loc);
    return factored(Direct::cholesky);
  }
  Solved operator()(const Lu&) const {
    require_square_for("Lu", a, loc);
    return factored(Direct::lu);
  }
  Solved operator()(const Qr&) const { return factored(Direct::qr); }

  Solved operator()(const Cg& o) const {
    require_definite("Cg", a, ", or use Minres or Gmres", loc);
    const bool minus_a = a.tags().negative_semidefinite && !a.tags().positive_semidefinite;
    return by_iteration(
        o, [=](const System& given, const Arrays& v, const Arrays& from, const Stop& stop, Loc at) {
          if (!minus_a) return cg(given, v, from, stop, at);
          System s = given;
          s.a = negative(s.a);
          if (s.m) s.m = negative(s.m);
          Arrays w;
          for (const Array& x : v) w.push_back(-x);
          return cg(s, w, from, stop, at);
        });
  }
  Solved operator()(const Minres& o) const {
    require_square_for("Minres", a, loc);
    require_tag("Minres", a, a.tags().is_symmetric(), "a symmetric operator", "symmetric",
                ", or use Gmres", loc);
    return by_iteration(o, minres);
  }
  Solved operator()(const Gmres& o) const {
    require_square_for("Gmres", a, loc);
    if (o.restart < 1)
      usage_error(
          name,
          "Gmres has `restart` " + std::to_string(o.restart) + "; a cycle has at least 1 step",
          loc);
    return by_iteration(
        o, [r = o.restart](const System& s, const Arrays& v, const Arrays& from, const Stop& stop,
                           Loc at) { return gmres(s, v, from, stop, r, at); });
  }
  Solved operator()(const BiCgStab& o) const {
    require_square_for("BiCgStab", a, loc);
    return by_iteration(o, bicgstab);
  }
  Solved operator()(const Lsmr& o) const {
    if (!start.empty())
      usage_error(name, "Lsmr begins with 0; solve for the change from a start instead", loc);
    const Stop stop = stop_of(o.rtol, o.atol, o.max_steps, std::min(a.rows(), a.columns()), loc);
    return by_column(
        [&](const Arrays& v, const Arrays&) { return least_squares(a, v, stop, loc); });
  }

  template <class Options, class Method>
  Solved by_iteration(const Options& o, const Method& method) const {
    const Stop stop = stop_of(o.rtol, o.atol, o.max_steps, a.rows(), loc);
    const Loc at = loc;
    const Iteration iterate = [method, stop, at](const System& s, const Arrays& v,
                                                 const Arrays& from) {
      return method(s, v, from, stop, at);
    };
    return by_column([&](const Arrays& v, const Arrays& from) {
      return iterated(a, o.preconditioner, v, from, iterate, loc);
    });
  }
  /// Of a block every column by itself, all of them at once.
  template <class F>
  Solved by_column(const F& f) const {
    if (!block) return f(b, start);
    const auto one = [&](const Arrays& v) {
      const Solved s = f(v, {});
      Arrays all = s.x;
      all.insert(all.end(), {s.steps, s.result, s.residual});
      return all;
    };
    Arrays all = vmap(one, {.in_axes = {-1}, .out_axes = {-1}}, loc)(b);
    Solved s;
    s.residual = all.back(), all.pop_back();
    s.result = all.back(), all.pop_back();
    s.steps = all.back(), all.pop_back();
    s.x = std::move(all);
    return s;
  }
};

}  // namespace

Solved solve(const Operator& a, const Arrays& b, const Arrays& start, const Method& method,
             bool block, Loc loc) {
  require_right_side(a, a.out(), "b", b, block, loc);
  if (!start.empty()) require_right_side(a, a.in(), "the start", start, false, loc);
  return std::visit(Chosen{a, b, start, block, loc}, method);
}

void require_same_trees(const Operator& a, bool one_array, Loc loc) {
  const bool single = a.in().arrays.size() == 1 && a.out().arrays.size() == 1;
  if (one_array ? !single : !a.square())
    usage_error(name,
                "the operator " + a.map().name() + " takes " + to_string(a.in()) + " and gives " +
                    to_string(a.out()) +
                    ": b is of another kind than x; pass its arrays, a std::vector<Array>",
                loc);
}

}  // namespace gnomon::operators::detail
