// tests/codegen/several_arguments_test.cpp -- derivatives in several arguments at once, and rules
// that take arguments as functions do.
#include <tuple>
#include <utility>

#include "gnomon/custom.h"
#include "gnomon/jacobian.h"
#include "gnomon/partition.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
using Pair = std::tuple<Array, Array>;

Array product(const Array& x, const Array& y) { return x * x * y; }

TEST(SeveralArguments, OfJvpMoveTogether) {
  const auto f = [](const Array& x, const Array& y, const Array& dx, const Array& dy) {
    return jvp(product, std::tuple{x, y}, std::tuple{dx, dy});
  };
  // d(x^2 y) = 2 x y dx + x^2 dy
  EXPECT_EQ(run_all(f, f32(3), f32(5), f32(1), f32(10)), (std::vector<Numbers>{{45}, {30 + 90}}));
}

TEST(SeveralArguments, OfJvpStandStillWhereTheTangentIsNone) {
  const auto f = [](const Array& x, const Array& y, const Array& dy) {
    return jvp(product, std::tie(x, y), std::tuple{none, dy}).second;
  };
  EXPECT_EQ(run(f, f32(3), f32(5), f32(10)), Numbers{90});
  const Graph g = graph_of(f, f32(3), f32(5), f32(10));
  EXPECT_EQ(count_equations(g, "add"), 0);  // nothing is added for what does not move
}

TEST(SeveralArguments, MayBeOneTupleForAFunctionOfATuple) {
  const auto of_tuple = [](const Pair& p) { return product(std::get<0>(p), std::get<1>(p)); };
  const auto f = [&](const Array& x, const Array& y) {
    return jvp(of_tuple, std::tuple{x, y}, std::tuple{ones({}), ones({})}).second;
  };
  EXPECT_EQ(run(f, f32(3), f32(5)), Numbers{30 + 9});
}

TEST(SeveralArguments, OfHvpTakeTheWholeHessian) {
  const auto f = [](const Array& x, const Array& y) {
    const auto [hx, hy] = hvp(product, std::tuple{x, y}, std::tuple{ones({}), 2 * ones({})});
    return std::tuple{hx, hy};
  };
  // [[2y, 2x], [2x, 0]] (1, 2)
  EXPECT_EQ(run_all(f, f32(3), f32(5)), (std::vector<Numbers>{{10 + 12}, {6}}));
}

TEST(SeveralArguments, OfGradAndVjpGetOneCotangentEach) {
  const auto f = [](const Array& x, const Array& y) {
    const auto [gx, gy] = grad(product)(std::tie(x, y));
    const auto both = value_and_grad(product)(std::tuple{x, y});
    const auto [vx, vy] = vjp(product, std::tuple{x, y})(ones({}));
    return std::tuple{gx, gy, both.value, std::get<1>(both.grad), vx, vy};
  };
  EXPECT_EQ(run_all(f, f32(3), f32(5)), (std::vector<Numbers>{{30}, {9}, {45}, {9}, {30}, {9}}));
}

TEST(SeveralArguments, StandInFrontOfThoseThatDoNotMove) {
  const auto scaled = [](const Array& x, const Array& y, const Array& k) { return k * x * y; };
  const auto f = [&](const Array& x, const Array& y, const Array& k) {
    return grad(scaled)(std::tuple{x, y}, k);
  };
  EXPECT_EQ(run_all(f, f32(3), f32(5), f32(2)), (std::vector<Numbers>{{10}, {6}}));
}

TEST(SeveralArguments, OfLinearizeAndJacobiansAreTuples) {
  const auto f = [](const Array& x, const Array& y) {
    const auto lin = linearize(product, std::tuple{x, y});
    const auto [jx, jy] = jacfwd(product)(std::tuple{x, y});
    const auto [rx, ry] = jacrev(product)(std::tuple{x, y});
    return std::tuple{lin(std::tuple{ones({}), ones({})}), jx, jy, rx, ry};
  };
  EXPECT_EQ(run_all(f, f32(3), f32(5)), (std::vector<Numbers>{{39}, {30}, {9}, {30}, {9}}));
}

TEST(SeveralArguments, AreNamedWhereATangentIsWrong) {
  const auto f = [](const Array& x, const Array& y) {
    return jvp(product, std::tuple{x, y}, std::tuple{x, ones({3})});
  };
  EXPECT_THAT(usage_error_of(f, f32(1), f32(2)),
              HasSubstr("the tangent of `[1]` is f32[3] and the point is f32[]"));
}

// ---- rules

/// d f(x, y) = 3 dx + 7 dy, whatever f is.
template <class Rule>
std::vector<Numbers> gradient_by(const Rule& rule) {
  const auto f = custom_jvp(product, rule);
  return run_all(
      [&](const Array& x, const Array& y) {
        return grad(f)(std::tuple{x, y});
      },
      f32(2), f32(4));
}

TEST(RulesOfSeveralArguments, TakeThemOneByOne) {
  const std::vector<Numbers> want{{3}, {7}};
  EXPECT_EQ(gradient_by([](const Array& x, const Array& y, const Array& dx, const Array& dy) {
              return std::pair{x * x * y, 3 * dx + 7 * dy};
            }),
            want);
  EXPECT_EQ(gradient_by([](const Array&, const Array&, const Array&, const Array& dx,
                           const Array& dy) { return 3 * dx + 7 * dy; }),
            want);
  EXPECT_EQ(gradient_by([](const Array&, const Array&, const Array&, const Array& dx,
                           const Array& dy, const Array& moves_x, const Array& moves_y) {
              return where(moves_x, 3 * dx, dx) + where(moves_y, 7 * dy, dy);
            }),
            want);
  EXPECT_EQ(gradient_by([](auto x, auto y, auto dx, auto dy) {
              return std::pair{x * x * y, 3 * dx + 7 * dy};
            }),
            want);
}

TEST(RulesOfSeveralArguments, TakeThemAsATuple) {
  const std::vector<Numbers> want{{3}, {7}};
  EXPECT_EQ(gradient_by([](const Pair& x, const Pair& dx) {
              return std::pair{product(std::get<0>(x), std::get<1>(x)),
                               3 * std::get<0>(dx) + 7 * std::get<1>(dx)};
            }),
            want);
  EXPECT_EQ(gradient_by([](const Pair&, const Array&, const Pair& dx) {
              return 3 * std::get<0>(dx) + 7 * std::get<1>(dx);
            }),
            want);
}

TEST(RulesOfSeveralArguments, OfCustomVjpTakeThemEitherWay) {
  const auto gradient = [](const auto& f) {
    return run_all(
        [&](const Array& x, const Array& y) {
          return grad(f)(std::tuple{x, y});
        },
        f32(2), f32(4));
  };
  const auto backward = [](const Array& kept, const Array& dy) {
    return std::tuple{3 * dy * kept, 7 * dy};
  };
  const std::vector<Numbers> want{{3 * 2}, {7}};
  EXPECT_EQ(gradient(custom_vjp(
                product,
                [](const Array& x, const Array& y) {
                  return std::pair{product(x, y), x};
                },
                backward)),
            want);
  EXPECT_EQ(gradient(custom_vjp(
                product,
                [](const Pair& x) {
                  return std::pair{product(std::get<0>(x), std::get<1>(x)), std::get<0>(x)};
                },
                backward)),
            want);
  EXPECT_EQ(gradient(custom_vjp(
                product,
                [](const Array& x, const Array& y, const Array& moves_x, const Array&) {
                  return std::pair{product(x, y), where(moves_x, x, 0 * x)};
                },
                [](const Array& kept, const Array& dy, const Array& moves_x, const Array& moves_y) {
                  return std::tuple{where(moves_x, 3 * dy * kept, 0 * dy),
                                    where(moves_y, 7 * dy, 0 * dy)};
                })),
            want);
  EXPECT_EQ(gradient(custom_vjp(
                product,
                [](const Array& x, const Array& y, const Pair& moves) {
                  return std::pair{product(x, y), where(std::get<0>(moves), x, 0 * x)};
                },
                [](const Array& kept, const Array& dy, const Pair&) {
                  return std::tuple{3 * dy * kept, 7 * dy};
                })),
            want);
}

// ---- Jacobians of structs by structs

struct Body {
  Array place, speed;
};
struct World {
  Body body;
  Array mass;
};
struct Seen {
  Array energy;
  Body next;
};

Seen observe(const World& w) {
  return {w.mass * sum(square(w.body.speed)),
          {w.body.place + 2 * w.body.speed, w.body.speed * w.mass}};
}

TEST(JacobianOfStructs, KeepsBothStructures) {
  const auto f = [](const Array& place, const Array& speed, const Array& mass) {
    const World at{{place, speed}, mass};
    const Jacobian<Seen, World> j = jacfwd(observe)(at), r = jacrev(observe)(at);
    const World energy = j.of([](auto& y) -> auto& { return y.energy; });
    const Jacobian<Body, World> next = j.of([](auto& y) -> auto& { return y.next; });
    const World speed_by = next.of([](auto& b) -> auto& { return b.speed; });
    const Seen by_mass = r.by([](auto& x) -> auto& { return x.mass; });
    const Body next_by_speed = r.by([](auto& x) -> auto& { return x.body; })
                                   .by([](auto& b) -> auto& { return b.speed; })
                                   .next;
    return std::tuple{energy.body.speed,   energy.mass,        speed_by.body.speed,
                      speed_by.mass,       by_mass.energy,     by_mass.next.speed,
                      next_by_speed.place, next_by_speed.speed};
  };
  const auto out = run_all(f, f32({1, 2}), f32({3, 5}), f32(10));
  EXPECT_EQ(out, (std::vector<Numbers>{{60, 100},       // d energy / d speed = 2 m v
                                       {34},            // d energy / d mass = |v|^2
                                       {10, 0, 0, 10},  // d (m v) / d v
                                       {3, 5},          // d (m v) / d m
                                       {34},
                                       {3, 5},
                                       {2, 0, 0, 2},  // d (x + 2 v) / d v
                                       {10, 0, 0, 10}}));
}

TEST(JacobianOfStructs, HessiansNameBothParts) {
  const auto f = [](const Array& place, const Array& speed) {
    const auto energy = [](const Body& b) { return sum(b.place * b.speed * b.speed); };
    const auto h = hessian(energy)(Body{place, speed});
    const Body of_place = h.of([](auto& b) -> auto& { return b.place; });
    const Body of_speed = h.of([](auto& b) -> auto& { return b.speed; });
    return std::tuple{of_place.place, of_place.speed, of_speed.place, of_speed.speed};
  };
  const auto out = run_all(f, f32({1, 2}), f32({3, 5}));
  EXPECT_EQ(out, (std::vector<Numbers>{{0, 0, 0, 0}, {6, 0, 0, 10}, {6, 0, 0, 10}, {2, 0, 0, 4}}));
}

TEST(JacobianOfStructs, IsATreeThatVmapGoesOver) {
  const auto f = [](const Array& place, const Array& speed) {
    const auto y = [](const Body& b) { return Body{b.place * b.speed, b.speed * b.speed}; };
    const auto each = [&](const Body& b) { return jacrev(y)(b); };
    const Jacobian<Body, Body> all = vmap(each)(Body{place, speed});
    return std::tuple{all.of([](auto& b) -> auto& { return b.place; }).speed, all[1].speed};
  };
  const auto out = run_all(f, f32({1, 2}), f32({3, 5}));
  EXPECT_EQ(out, (std::vector<Numbers>{{1, 2}, {6, 10}}));
}

TEST(JacobianOfStructs, SaysWhenASelectorNamesNoPart) {
  static const Body elsewhere{abstract_array(DType::f32, {}), abstract_array(DType::f32, {})};
  const auto f = [](const Array& x) {
    const auto y = [](const Body& b) { return Body{b.speed, b.place}; };
    return jacrev(y)(Body{x, x}).of([](auto&) -> auto& { return elsewhere; })[0].place;
  };
  EXPECT_THAT(usage_error_of(f, f32(1)), HasSubstr("gnomon::Jacobian::of: the selector does not"));
}

}  // namespace
}  // namespace gnomon::test
