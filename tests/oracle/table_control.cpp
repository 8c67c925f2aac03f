// tests/oracle/table_control.cpp -- loops, branches, transforms and functions with rules: what they
// compute written as C++ loops, derivatives in closed form.
#include <array>

#include "gnomon/axes.h"
#include "gnomon/buffer.h"
#include "gnomon/checkpoint.h"
#include "gnomon/control.h"
#include "gnomon/cumulative.h"
#include "gnomon/custom.h"
#include "gnomon/debug.h"
#include "gnomon/implicit.h"
#include "gnomon/indexing.h"
#include "gnomon/jacobian.h"
#include "gnomon/loops.h"
#include "gnomon/masks.h"
#include "gnomon/partition.h"
#include "gnomon/transform.h"
#include "rows.h"

namespace oracle {
namespace {

constexpr Rule sums{.ulps = 16, .differentiate = true, .slope = 64};
constexpr Rule value_only{.ulps = 16};

/// x^3 - 2 x^2, with derivatives by hand.
Array cubic(const Array& x) { return x * x * x - 2 * x * x; }
Number cubic_of(Number x) { return x * x * x - 2 * x * x; }
Number slope_of(Number x) { return 3 * x * x - 4 * x; }
Number bend_of(Number x) { return 6 * x - 4; }

/// f for every element.
Tensor mapped(T x, const std::function<Number(Number)>& f) {
  return scaled(like(x, x[0].shape, [&](I i) { return f(x[0].at(i)); }), 32);
}
Tensor single_number(T x, Number v) {
  return scaled(like(x, {}, [v](I) { return v; }), 64);
}

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family control() {
  const Input v = in({4}), s = in({});
  return {.name = "Control", .general = {
      {"while_loop(Cond,Body,S,WhileOptions)", floats, {v, s}, [](A x) -> Results {
         return gn::while_loop([](const Array& a) -> Array { return gn::sum(a * a) < 100.0; }, [&](Array a) -> Array { return a * 1.5 + x[1] * 0.1; }, x[0], {.max_steps = 40}); },
       [](T x) -> Exacts { Tensor a = x[0]; for (int k = 0; k < 40; ++k) { Number q = 0; for (const Number e : a.v) q += e * e; if (!(q < 100)) break; for (Number& e : a.v) e = e * 1.5L + x[1].v[0] * Number(x[0].dtype == DType::f32 ? 0.1f : 0.1); } return scaled(a, 16); }, sums},
      {"while_loop_counted(Cond,Body,S,WhileOptions)", floats, {v}, [](A x) -> Results { const auto r = gn::while_loop_counted([](const Array& a) -> Array { return gn::max(a) < 50.0; }, [](Array a) -> Array { return a * 2 + 1; }, x[0], {.max_steps = 4}); return {r.state, r.steps, r.bound_hit}; },
       [](T x) -> Exacts { Tensor a = x[0]; Number n = 0; const auto on = [&] { return *std::max_element(a.v.begin(), a.v.end()) < 50; }; while (n < 4 && on()) { for (Number& e : a.v) e = 2 * e + 1; ++n; } return {scaled(a, 64), i32({}, [&](I) { return n; }), truth({}, [&](I) { return on(); })}; }, sums},
      {"fori_loop(Lower,Upper,Body,S,ForiOptions) fori_loop(Operand,Operand,Body,S,WhileOptions)", floats, {v, whole({}, 4, 5)}, [](A x) -> Results { const auto body = [](Array i, Array a) -> Array { return a * 0.5 + gn::cast(i, a.dtype()); }; return {gn::fori_loop(1, 5, body, x[0]), gn::fori_loop(2, x[1], body, x[0], {.max_steps = 8})}; },
       [](T x) -> Exacts { const auto f = [&](int from, int to) { Tensor a = x[0]; for (int i = from; i < to; ++i) for (Number& e : a.v) e = e / 2 + i; return scaled(a, 8); }; return {f(1, 5), f(2, 4)}; }, sums},
      {"scan(Body,C,X,ScanOptions) scan(Body,C,X,DynamicScanOptions)", floats, {s, in({5}), whole({}, 3, 4)}, [](A x) -> Results {
         const auto body = [](Array c, Array e) -> std::pair<Array, Array> { const Array n = c * e + 1; return {n, n * n}; };
         const auto a = gn::scan(body, x[0], x[1], gn::ScanOptions{}); const auto b = gn::scan(body, x[0], x[1], gn::DynamicScanOptions{.length = x[2]}); return {a.first, a.second, b.carry, b.rows, b.count}; },
       [](T x) -> Exacts { const auto f = [&](Dim n) { Number c = x[0].v[0]; Tensor rows = like(x, {5}, [](I) { return 0; }); for (Dim k = 0; k < n; ++k) { c = c * x[1](k) + 1; rows.at({k}) = c * c; } return Tensors{single_number(x, c), scaled(rows, 256)}; };
                           const Tensors a = f(5), b = f(3); return {a[0], a[1], b[0], b[1], i32({}, [](I) { return 3; })}; }, sums},
      {"switch_ cond", floats, {v, whole({}, 1, 2)}, [](A x) -> Results { const auto one = [](const Array& a) -> Array { return a * 3; }; const auto two = [](const Array& a) -> Array { return a * a; }; const auto fns = std::make_tuple(one, two); return {gn::switch_(x[1], fns, x[0]), gn::switch_(7, fns, x[0]), gn::cond(x[1] > 3, one, two, x[0]), gn::cond(x[1] < 3, one, two, x[0])}; },
       [](T x) -> Exacts { const Tensor a = mapped(x, [](Number e) { return 3 * e; }), b = mapped(x, [](Number e) { return e * e; }); return {b, b, b, a}; }, sums},
      {"map_each vmap tree::map", floats, {in({3, 4})}, [](A x) -> Results { const auto f = [](const Array& r) -> Array { return gn::sum(r * r); }; return {gn::map_each(f, x[0]), gn::map_each(f, x[0], {.batch_size = 2}), gn::vmap(f)(x[0]), gn::vmap(f, {.in_axes = {1}})(x[0]), gn::tree::map([](const Array& a) -> Array { return a * 2; }, x[0])}; },
       [](T x) -> Exacts { const auto q = [](const std::vector<Number>& r) { Number n = 0; for (const Number e : r) n += e * e; return n; }; const DType t = x[0].dtype; const Tensor a = scaled(along(t, x[0], 1, q), 16); return {a, a, a, scaled(along(t, x[0], 0, q), 16), mapped(x, [](Number e) { return 2 * e; })}; }, sums},
      {"psum pmean pmax pmin all_gather axis_index axis_size", floats, {in({4}, Draw::distinct)}, [](A x) -> Results {
         const auto f = [](const Array& e) -> Arrays { const std::string n = "lanes"; return {gn::psum(e, n), gn::pmean(e, n), gn::pmax(e, n), gn::pmin(e, n), gn::all_gather(e, n), gn::axis_index(n), e * static_cast<int>(gn::axis_size(n))}; };
         return gn::vmap(f, {.axis_name = "lanes"})(x[0]); },
       [](T x) -> Exacts { const auto all = [&](Number q) { return scaled(like(x, {4}, [q](I) { return q; }), 8); }; const auto [low, high] = std::minmax_element(x[0].v.begin(), x[0].v.end());
                           return {all(total(x[0].v)), all(total(x[0].v) / 4), all(*high), all(*low), like(x, {4, 4}, [&](I i) { return x[0](i[1]); }), i32({4}, [](I i) { return i[0]; }), mapped(x, [](Number e) { return 4 * e; })}; }, sums},
      {"jvp vjp(F,X) vjp_at(F,X,A...) vjp_at(HasAux,F,X,A...) Pullback::operator() value_and_grad(F) value_and_grad(F,HasAux) grad(F) grad(F,HasAux)", floats, {v}, [](A x) -> Results {
         const auto f = [](const Array& a) -> Array { return gn::sum(cubic(a)); }; const auto with = [f](const Array& a) -> std::pair<Array, Array> { return {f(a), a * 2}; };
         const auto p = gn::vjp(f, x[0]); const auto q = gn::vjp(gn::has_aux, with, x[0]); const auto g = gn::value_and_grad(f)(x[0]); const auto h = gn::value_and_grad(with, gn::has_aux)(x[0]); const auto [slope, aux] = gn::grad(with, gn::has_aux)(x[0]);
         return {gn::jvp(cubic, x[0], gn::ones_like(x[0])).second, p(gn::ones_like(p.value)), q.first(gn::ones_like(q.first.value)), g.value, g.grad, h.grad, gn::grad(f)(x[0]), slope, aux}; },
       [](T x) -> Exacts { const Tensor d = mapped(x, slope_of); Number sum = 0; for (const Number e : x[0].v) sum += cubic_of(e); return {d, d, d, single_number(x, sum), d, d, d, d, mapped(x, [](Number e) { return 2 * e; })}; }, sums},
      {"jacfwd jacrev hessian hvp linearize(F,X) linearize_at Linearized::operator() linear_transpose LinearTransposed::operator()", floats, {v}, [](A x) -> Results {
         const auto f = [](const Array& a) -> Array { return gn::sum(cubic(a)); }; const auto line = gn::linearize(cubic, x[0]); const auto back = gn::linear_transpose([](const Array& a) -> Array { return gn::cumsum(a, 0); }, x[0]);
         return {gn::jacfwd(cubic)(x[0]), gn::jacrev(cubic)(x[0]), gn::hessian(f)(x[0]), gn::hvp(f, x[0], gn::ones_like(x[0])), line(gn::ones_like(x[0])), back(x[0])}; },
       [](T x) -> Exacts { const auto diagonal = [&](Number (*g)(Number)) { return scaled(like(x, {4, 4}, [&, g](I i) { return i[0] == i[1] ? g(x[0](i[0])) : 0; }), 32); }; Tensor tail = x[0]; for (Dim k = 3; k-- > 0;) tail.at({k}) += tail(k + 1);
                           return {diagonal(slope_of), diagonal(slope_of), diagonal(bend_of), mapped(x, bend_of), mapped(x, slope_of), scaled(tail, 8)}; }, sums},
      {"custom_jvp custom_vjp custom_vmap", floats, {v}, [](A x) -> Results {
         const auto f = gn::custom_jvp(cubic, [](const Array& a, const Array& y, const Array& d) -> Array { return (3 * a * a - 4 * a) * d + 0 * y; });
         const auto g = gn::custom_vjp(cubic, [](const Array& a) -> std::pair<Array, Array> { return {cubic(a), a}; }, [](const Array& a, const Array& d) -> Array { return (3 * a * a - 4 * a) * d; });
         const auto h = gn::custom_vmap(cubic, [](Dim, const std::vector<bool>&, const Array& a) -> Array { return cubic(a); });
         return {f(x[0]), g(x[0]), gn::vmap(h)(x[0]), h(x[0])}; },
       [](T x) -> Exacts { const Tensor y = mapped(x, cubic_of); return {y, y, y, y}; }, sums},
      {"checkpoint checkpoint_name optimization_barrier", floats, {v}, [](A x) -> Results { return {gn::checkpoint(cubic)(x[0]), gn::checkpoint([](const Array& a) -> Array { return cubic(gn::checkpoint_name(gn::sin(a), "s")); }, {.names = {"s"}})(x[0]), gn::optimization_barrier(x[0]) * 2}; },
       [](T x) -> Exacts { return {mapped(x, cubic_of), mapped(x, [](Number e) { return cubic_of(std::sin(e)); }), mapped(x, [](Number e) { return 2 * e; })}; }, sums},
      {"nondifferentiable nondifferentiable_backward closure_convert(F,A) closure_convert_at Converted::operator() eval_shape abstract_array count_operations", floats, {v}, [](A x) -> Results {
         const auto converted = gn::closure_convert([&](const Array& a) -> Array { return a * x[0]; }, x[0]); const Array shape = gn::eval_shape(cubic, gn::abstract_array(x[0].dtype(), {3}));
         return {gn::nondifferentiable(x[0]) * 2, gn::nondifferentiable_backward(x[0]) * 2, converted(converted.captures, x[0] + 1), gn::zeros(shape.shape(), shape.dtype()), gn::full({}, gn::count_operations([](const Array& a, const Array& b) -> Array { return gn::exp(gn::matmul(a, b)); }, gn::abstract_array(DType::f32, {4, 8}), gn::abstract_array(DType::f32, {8, 3})), x[0].dtype())}; },
       [](T x) -> Exacts { const Tensor two = mapped(x, [](Number e) { return 2 * e; }); return {two, two, mapped(x, [](Number e) { return e * (e + 1); }), like(x, {3}, [](I) { return 0; }), like(x, {}, [](I) { return 4 * 8 * 3 + 12 * 4 * 3; })}; }, value_only},
      {"custom_linear_solve(Matvec,X,Solve,LinearSolveOptions) custom_linear_solve(Matvec,X,Solve,TransposeSolve)", floats, {positive({4}), v}, [](A x) -> Results {
         const auto times = [&](const Array& a) -> Array { return a * x[0]; }; const auto solve = [&](const auto&, const Array& b) -> Array { return b / gn::stop_gradient(x[0]); };
         return {gn::custom_linear_solve(times, x[1], solve, {.symmetric = true}), gn::custom_linear_solve(times, x[1], solve, solve)}; },
       [](T x) -> Exacts { const Tensor y = like(x, {4}, [&](I i) { return x[1].at(i) / x[0].at(i); }); return {y, y}; }, sums},
      {"custom_root fixed_point", floats, {positive({4})}, [](A x) -> Results {
         const auto f = [&](const Array& y) -> Array { return y * y - x[0]; };
         const Array root = gn::custom_root(f, gn::ones_like(x[0]), [&](const auto&, const Array& y) -> Array { Array r = y; for (int k = 0; k < 8; ++k) r = 0.5 * (r + gn::stop_gradient(x[0]) / r); return r; }, [](const auto& g, const Array& y) -> Array { return y / g(gn::ones_like(y)); });
         return {root, gn::fixed_point([&](const Array& y) -> Array { return 0.25 * y + x[0]; }, gn::ones_like(x[0]), {.relative = 1e-16, .absolute = 1e-16})}; },
       [](T x) -> Exacts { return {mapped(x, [](Number e) { return std::sqrt(e); }), mapped(x, [](Number e) { return e / 0.75L; })}; }, sums},
      {"compact buffer", floats, {in({5}), mask({5})}, [](A x) -> Results { const auto c = gn::compact(x[0], x[1], {.size = 4, .fill = 9}); Array b = gn::buffer({3}, x[0].dtype()); b = b.at(1).set(x[0][2]); return {c.rows, c.count, c.bound_hit, b}; },
       [](T x) -> Exacts { std::vector<Number> r; for (Dim k = 0; k < 5; ++k) if (x[1](k) != 0) r.push_back(x[0](k)); const auto n = r.size(); r.resize(std::max<std::size_t>(n, 4), 9); return {like(x, {4}, [&](I i) { return r[static_cast<std::size_t>(i[0])]; }), i32({}, [&](I) { return static_cast<Number>(std::min<std::size_t>(n, 4)); }), truth({}, [&](I) { return n > 4; }), like(x, {3}, [&](I i) { return i[0] == 1 ? x[0](2) : 0; })}; }, moves},
      {"tree::add tree::scale tree::zeros_like tree::filter tree::separate tree::combine tree::is_float tree::is_integer", floats, {v, v}, [](A x) -> Results {
         const Arrays a{x[0], x[1]}; const Arrays sum = gn::tree::add(a, a), twice = gn::tree::scale(2, a), none = gn::tree::zeros_like(a);
         const auto [first, rest] = gn::tree::separate(a, [&](const Array& e) { return gn::tree::is_float(e) && !gn::tree::is_integer(e) && e.value() == x[0].value(); }); const Arrays both = gn::tree::combine(first, rest);
         const Arrays kept = gn::tree::filter(a, [&](const Array& e) { return e.value() == x[1].value(); }); return {sum[0], twice[1], none[0], both[0], both[1], first[0], kept[1]}; },
       [](T x) -> Exacts { const auto f = [&](std::size_t k, Number c) { return like(x, {4}, [&, k, c](I i) { return c * x[k].at(i); }); }; return {f(0, 2), f(1, 2), like(x, {4}, [](I) { return 0; }), f(0, 1), f(1, 1), f(0, 1), f(1, 1)}; }, {.ulps = 1}},
      {"debug::print error_if", floats, {v}, [](A x) -> Results { return gn::error_if(x[0], gn::any(x[0] > 100), "too large") * 2; },
       [](T x) -> Exacts { return mapped(x, [](Number e) { return 2 * e; }); }, value_only},
  }};
}
// clang-format on

}  // namespace oracle
