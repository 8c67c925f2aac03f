// tests/codegen/jacobian_test.cpp -- jacfwd, jacrev, hessian, hvp, linearize, linear_transpose and
// has_aux: against closed forms and one another.
#include "gnomon/jacobian.h"

#include "gnomon/arrange.h"
#include "gnomon/cumulative.h"
#include "gnomon/linalg.h"
#include "gnomon/partition.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

struct Model {
  Array w, b;
  Array steps;  // an integer
  float rate = 0.5f;
};

/// r[i] = x[i] * x[(i + 1) % 3]^2.
Array ring(const Array& x) { return x * square(roll(x, -1, 0)); }

TEST(Jacobian, IsTheClosedFormInBothModes) {
  const HostArray x = f32({1, 2, 3});
  // d r_i / d x_i = x_{i+1}^2, d r_i / d x_{i+1} = 2 x_i x_{i+1}
  const Numbers want{4, 4, 0, 0, 9, 12, 6, 0, 1};
  EXPECT_EQ(run([](const Array& v) { return jacfwd(ring)(v); }, x), want);
  EXPECT_EQ(run([](const Array& v) { return jacrev(ring)(v); }, x), want);
}

TEST(Jacobian, HasTheShapesOfResultAndArgumentInThatOrder) {
  const auto f = [](const Array& v) { return matmul(v, transpose(v)) * v[0][1]; };
  const HostArray x = f32({2, 3}, {1, -2, 0.5, 3, 0.25, -1});
  const auto forward = run_arrays([&](const Array& v) { return jacfwd(f)(v); }, x);
  const auto reverse = run_arrays([&](const Array& v) { return jacrev(f)(v); }, x);
  EXPECT_EQ(forward[0].aval.shape, Shape(2, 2, 2, 3));
  EXPECT_EQ(reverse[0].aval.shape, Shape(2, 2, 2, 3));
  expect_near(numbers(forward[0]), numbers(reverse[0]));
  // d (sum_k v_0k^2 v_01) / d v_00 = 2 v_00 v_01
  EXPECT_EQ(forward[0].number(0), 2 * 1 * -2);
}

TEST(Jacobian, OfScalarsAndOfNothing) {
  const auto cube = [](const Array& v) { return v * v * v; };
  EXPECT_EQ(run([&](const Array& v) { return jacfwd(cube)(v); }, f32(2)), Numbers{12});
  EXPECT_EQ(run([&](const Array& v) { return jacrev(cube)(v); }, f32(2)), Numbers{12});
  EXPECT_EQ(run([&](const Array& v) { return hessian(cube)(v); }, f32(2)), Numbers{12});
  const auto none = run_arrays([&](const Array& v) { return jacfwd(cube)(v); }, f32(Numbers{}));
  EXPECT_EQ(none[0].aval.shape, Shape(0, 0));
}

TEST(Jacobian, OfOneArrayInAStructIsThatStruct) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const auto y = [](const Model& m) { return m.w * m.b * cast(m.steps, DType::f32) * m.rate; };
    const Model forward = jacfwd(y)(Model{w, b, n}), back = jacrev(y)(Model{w, b, n});
    EXPECT_TRUE(forward.steps.is_hole() && back.steps.is_hole());
    EXPECT_EQ(back.rate, 0.5f);
    return std::tuple{forward.w, forward.b, back.w, back.b};
  };
  const auto out = run_all(f, f32({1, 2}), f32(3), i32(4));
  EXPECT_EQ(out[0], (Numbers{6, 0, 0, 6}));
  EXPECT_EQ(out[1], (Numbers{2, 4}));
  EXPECT_EQ(out[2], out[0]);
  EXPECT_EQ(out[3], out[1]);
}

TEST(Jacobian, OfAStructInOneArrayIsThatStruct) {
  const auto f = [](const Array& x) {
    const auto y = [](const Array& v) { return Model{v * v, sum(v), full({}, 3)}; };
    const Model forward = jacfwd(y)(x), back = jacrev(y)(x);
    EXPECT_TRUE(forward.steps.is_hole() && back.steps.is_hole());
    return std::tuple{forward.w, forward.b, back.w, back.b};
  };
  const auto out = run_all(f, f32({1, 2}));
  EXPECT_EQ(out[0], (Numbers{2, 0, 0, 4}));
  EXPECT_EQ(out[1], (Numbers{1, 1}));
  EXPECT_EQ(out[2], out[0]);
  EXPECT_EQ(out[3], out[1]);
}

TEST(Jacobian, OfStructsHasARowPerArray) {
  const auto f = [](const Array& w, const Array& b) {
    const auto y = [](const std::pair<Array, Array>& p) {
      return std::pair{p.first * p.second, sum(p.first) * p.second * p.second};
    };
    const auto forward = jacfwd(y)(std::pair{w, b}), back = jacrev(y)(std::pair{w, b});
    return std::pair{forward, back};
  };
  const auto out = run_all(f, f32({1, 2}), f32(3));
  EXPECT_EQ(std::vector<Numbers>(out.begin(), out.begin() + 4),
            (std::vector<Numbers>{{3, 0, 0, 3}, {1, 2}, {9, 9}, {18}}));
  EXPECT_EQ(std::vector<Numbers>(out.begin(), out.begin() + 4),
            std::vector<Numbers>(out.begin() + 4, out.end()));
}

TEST(Jacobian, GoesThroughLoopsAndVmap) {
  const auto steps = [](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, Array v) { return sin(v) * x[0] + v; }, x);
  };
  const HostArray x = f32({0.3, -0.8});
  expect_near(run([&](const Array& v) { return jacfwd(steps)(v); }, x),
              run([&](const Array& v) { return jacrev(steps)(v); }, x));
  // One Jacobian per row is the diagonal of the rows' Jacobian.
  const HostArray rows = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Numbers each = run([](const Array& v) { return vmap(jacrev(ring))(v); }, rows);
  const Numbers all = run([](const Array& v) { return jacfwd(vmap(ring))(v); }, rows);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        EXPECT_EQ(each[r * 9 + i * 3 + j], all[((r * 3 + i) * 2 + r) * 3 + j]);
}

/// The function of Rosenbrock in n variables.
Array banana(const Array& x) {
  const Array head = slice(x, {0}, {x.dim(0) - 1}), tail = slice(x, {1}, {x.dim(0)});
  return sum(100 * square(tail - square(head)) + square(1 - head));
}

TEST(Hessian, OfTheBananaFunctionIsTheClosedForm) {
  const HostArray x = f32({0.5, -1});
  // [[1200 a^2 - 400 b + 2, -400 a], [-400 a, 200]]
  expect_near(run([](const Array& v) { return hessian(banana)(v); }, x),
              {1200 * 0.25 + 400 + 2, -200, -200, 200});
}

TEST(Hessian, TimesAVectorIsHvp) {
  const HostArray x = f32({0.5, -1, 0.3, 2}), v = f32({1, -2, 0.5, 3});
  const Numbers product =
      run([](const Array& a, const Array& b) { return matmul(hessian(banana)(a), b); }, x, v);
  expect_near(run([](const Array& a, const Array& b) { return hvp(banana, a, b); }, x, v), product,
              1e-4);
  const auto reversed = [](const Array& a, const Array& b) {
    return grad([&](const Array& c) { return sum(grad(banana)(c) * b); })(a);
  };
  expect_near(run(reversed, x, v), product, 1e-4);
}

TEST(Hessian, OfAStructIsAStructByAStruct) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const auto loss = [](const Model& m) { return sum(m.w * m.w * m.w) * m.b; };
    const Jacobian<Model, Model> h = hessian(loss)(Model{w, b, n});
    EXPECT_EQ(h.size(), 3u);
    EXPECT_TRUE(h[2].w.is_hole() && h[2].b.is_hole());  // a gradient has no integers
    const Model product = hvp(loss, Model{w, b, n}, Model{w, b, Array::hole()});
    return std::tuple{h[0].w, h[0].b, h[1].w, h[1].b, product.w, product.b};
  };
  EXPECT_EQ(
      run_all(f, f32({1, 2}), f32(3), i32(0)),
      (std::vector<Numbers>{{18, 0, 0, 36}, {3, 12}, {3, 12}, {0}, {18 + 9, 72 + 36}, {3 + 24}}));
}

TEST(Linearize, ComputesTheFunctionOnce) {
  const auto f = [](const Array& x, const Array& u, const Array& v) {
    const auto lin = linearize([](const Array& a) { return exp(sin(a)) * a; }, x);
    return std::tuple{lin.value, lin(u), lin(v),
                      vmap([&](const Array& d) { return lin(d); })(eye(2))};
  };
  const HostArray x = f32({0.3, -0.8}), u = f32({1, 2}), v = f32({-1, 0.5});
  const auto out = run_all(f, x, u, v);
  const auto direct = run_all(
      [](const Array& a, const Array& b, const Array& c) {
        const auto g = [](const Array& y) { return exp(sin(y)) * y; };
        return std::tuple{g(a), jvp(g, a, b).second, jvp(g, a, c).second, jacfwd(g)(a)};
      },
      x, u, v);
  for (std::size_t i = 0; i < out.size(); ++i) expect_near(out[i], direct[i]);
  const Graph g = graph_of(f, x, u, v);
  EXPECT_EQ(count_equations(g, "exp"), 1 + 1);  // of the value, and of the derivative
}

TEST(Linearize, TakesTreesWithHoles) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const auto lin = linearize(
        [](const Model& m) {
          return Model{m.w * m.b, m.b, m.steps};
        },
        Model{w, b, n});
    const Model d = lin(Model{w, Array::hole(), Array::hole()});
    EXPECT_TRUE(d.steps.is_hole());
    return std::pair{d.w, d.b};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3), i32(0)), (std::vector<Numbers>{{3, 6}, {0}}));
  const auto wrong = [](const Array& x) {
    return linearize([](const Array& a) { return a * a; }, x)(sum(x));
  };
  EXPECT_THAT(usage_error_of(wrong, f32({1, 2})),
              HasSubstr("gnomon::linearize: array 0 of the tangent is f32[] and the point is "
                        "f32[2]"));
}

TEST(LinearTranspose, IsTheAdjoint) {
  const auto f = [](const Array& a, const Array& x, const Array& y) {
    const auto map = [&](const Array& v) { return cumsum(matmul(a, v)) - v[0]; };
    const auto back = linear_transpose(map, x);
    return std::pair{sum(map(x) * y), sum(x * back(y))};
  };
  const auto out = run_all(f, f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({0.5, -2}), f32({1, -1, 3}));
  EXPECT_NEAR(out[0][0], out[1][0], 1e-5);
}

TEST(LinearTranspose, NamesWhatIsNotLinear) {
  const auto f = [](const Array& x) {
    return linear_transpose([](const Array& v) { return sin(v); }, x)(x);
  };
  const std::string message = usage_error_of(f, f32({1, 2}));
  EXPECT_THAT(message, HasSubstr("gnomon::linear_transpose: `sin` is not linear"));
  EXPECT_THAT(message, HasSubstr("(jacobian_test.cpp:"));
}

// ---- has_aux

std::pair<Array, Model> loss_and_state(const Array& x, const Array& k) {
  return {sum(x * x * k), Model{x * 2, k, full({}, 7)}};
}

TEST(HasAux, ComesBackBesideTheGradient) {
  const auto f = [](const Array& x, const Array& k) {
    const auto [value, gradient] = value_and_grad(loss_and_state, has_aux)(x, k);
    const auto [again, aux] = grad(loss_and_state, has_aux)(x, k);
    return std::tuple{value.first, value.second.steps, gradient, again, aux.w};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3)),
            (std::vector<Numbers>{{15}, {7}, {6, 12}, {6, 12}, {2, 4}}));
}

TEST(HasAux, ComesBackBesideThePullback) {
  const auto f = [](const Array& x, const Array& k) {
    const auto [pullback, aux] = vjp(has_aux, loss_and_state, x, k);
    return std::tuple{pullback.value, pullback(full({}, 2.0f)), aux.w};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3)), (std::vector<Numbers>{{15}, {12, 24}, {2, 4}}));
}

// ---- holes

TEST(Grad, LeavesIntegersOutAndTreesAreUpdatedAnyway) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const Model m{w, b, n};
    const Model g =
        grad([](const Model& p) { return sum(p.w * p.w) * cast(p.steps, DType::f32); })(m);
    EXPECT_TRUE(g.steps.is_hole());
    return tree::add(m, tree::scale(-0.5f, g));
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3), i32(4)),
            (std::vector<Numbers>{{1 - 4, 2 - 8}, {3}, {4}}));
}

TEST(Grad, OfAChosenPart) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const auto [trained, frozen] = tree::separate(
        Model{w, b, n}, [](Model & m) -> auto& { return m.b; });
    const Model rest = frozen;
    const auto loss = [&](const Model& t) {
      const Model m = tree::combine(t, rest);
      return sum(m.w * m.b * m.b);
    };
    const Model g = grad(loss)(trained);
    EXPECT_TRUE(g.w.is_hole() && g.steps.is_hole());
    const Model h = hvp(loss, trained, trained);
    return std::pair{g.b, h.b};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3), i32(4)), (std::vector<Numbers>{{18}, {18}}));
}

TEST(Loops, CarryTreesWithHoles) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const Model some = tree::filter(Model{w, b, n}, tree::is_float);
    const Model end = fori_loop(
        0, 3,
        [](const Array&, Model m) {
          return Model{m.w * 2, m.b + 1, m.steps};
        },
        some);
    EXPECT_TRUE(end.steps.is_hole());
    return std::pair{end.w, end.b};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3), i32(4)), (std::vector<Numbers>{{8, 16}, {6}}));
  const auto fills = [](const Array& w) {
    return fori_loop(
               0, 3,
               [&](const Array&, Model m) {
                 return Model{m.w, m.b, w};
               },
               Model{w, w, Array::hole()})
        .w;
  };
  EXPECT_THAT(usage_error_of(fills, f32(1)), HasSubstr("`carry.steps` is a hole"));
}

}  // namespace
}  // namespace gnomon::test
