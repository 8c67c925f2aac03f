// tests/codegen/input_products_test.cpp -- products with what a scan is given leave it, and nothing
// else does.
#include "codegen/optimize/input_products.h"

#include <gtest/gtest.h>

#include "codegen/operations/control.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/checkpoint.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

constexpr Dim steps = 32, lanes = 32, inputs = 32, units = 32;

std::optional<Graph> moved(const Graph& g) {
  return input_products_in_front(g, [](const Equation&) { return true; });
}

/// Products of a graph, without those of the loops in it; and of those loops.
std::size_t products(const Graph& g) {
  return static_cast<std::size_t>(
      std::count_if(g.equations.begin(), g.equations.end(),
                    [](const Equation& e) { return e.primitive == &dot_general_p; }));
}
std::size_t products_inside(const Graph& g) {
  std::size_t n = 0;
  for (const Equation& e : g.equations)
    for (const GraphPtr& body : e.params.graphs()) n += products(*body) + products_inside(*body);
  return n;
}

std::vector<HostArray> inputs_of(const Graph& g) {
  std::vector<HostArray> in;
  for (const Aval& aval : g.input_avals())
    in.push_back(random_array(aval, 3 + static_cast<std::uint32_t>(in.size())));
  return in;
}

/// h <- tanh(W x + U h) for all lanes of x[steps, lanes, inputs].
Array network(const Array& w, const Array& u, const Array& x, const ScanOptions& how) {
  const auto step = [&](const Array& h, const Array& row) {
    const Array next = vmap([&](const Array& one, const Array& state) {
      return tanh(matmul(w, one) * 0.125f + matmul(u, state) * 0.125f);
    })(row, h);
    return std::pair{next, sum(next)};
  };
  const auto r = scan(step, broadcast_to(u[0][0], {lanes, units}), x, how);
  return sum(square(r.first)) + sum(r.second);
}

Graph network_graph(DType t, const ScanOptions& how = {}) {
  return simplified(
      [&](const Array& w, const Array& u, const Array& x) { return network(w, u, x, how); },
      Aval{t, {units, inputs}}, Aval{t, {units, units}}, Aval{t, {steps, lanes, inputs}});
}

void expect_same_bits(const Graph& a, const Graph& b) {
  const auto in = inputs_of(a);
  EXPECT_EQ(evaluate(b, in), evaluate(a, in));
}

TEST(InputProducts, OfAllStepsAreOneProduct) {
  for (const DType t : {DType::f32, DType::f64}) {
    const Graph g = network_graph(t, {.reverse = t == DType::f64});
    const auto h = moved(g);
    ASSERT_TRUE(h.has_value()) << print(g);
    EXPECT_EQ(products_inside(g), 2u);
    EXPECT_EQ(products_inside(*h), 1u) << print(*h);
    EXPECT_EQ(products(*h), products(g) + 1) << print(*h);
    expect_same_bits(g, *h);
    EXPECT_FALSE(moved(*h).has_value());
  }
}

// In front of a product the rows go through a layer of their own, behind it they meet the state.
TEST(InputProducts, TakeAlongWhatRowsGoThrough) {
  const Graph g = simplified(
      [](const Array& w, const Array& v, const Array& x) {
        return scan(
                   [&](const Array& h, const Array& row) {
                     const Array y = matmul(tanh(matmul(row, w) + 1), v);
                     return std::pair{h * 0.5f + y, sum(row)};
                   },
                   zeros({lanes, units}), x)
            .first;
      },
      f32({inputs, inputs}), f32({inputs, units}), f32({steps, lanes, inputs}));
  const auto h = moved(g);
  ASSERT_TRUE(h.has_value()) << print(g);
  EXPECT_EQ(products_inside(*h), 0u) << print(*h);
  EXPECT_EQ(products(*h), 2u) << print(*h);
  expect_same_bits(g, *h);
}

TEST(InputProducts, OfAVectorAreOneOfAMatrix) {
  const Graph g = simplified(
      [](const Array& w, const Array& x) {
        return scan(
                   [&](const Array& h, const Array& row) {
                     const Array next = h * 0.5f + matmul(w, row);
                     return std::pair{next, next};
                   },
                   zeros({400}), x)
            .second;
      },
      f32({400, 120}), f32({steps, 120}));
  const auto h = moved(g);
  ASSERT_TRUE(h.has_value()) << print(g);
  EXPECT_EQ(products_inside(*h), 0u) << print(*h);
  expect_same_bits(g, *h);
}

TEST(InputProducts, HaveTheGradientsOfALoopWithThem) {
  for (const LoopKind kind : {LoopKind::stored, LoopKind::automatic}) {
    const Graph g = simplified(
        [&](const Array& w, const Array& u, const Array& x) {
          return grad([&](const std::vector<Array>& a) {
            return network(a[0], a[1], a[2], {.kind = kind});
          })(std::vector<Array>{w, u, x});
        },
        f32({units, inputs}), f32({units, units}), f32({steps, lanes, inputs}));
    const auto h = moved(g);
    ASSERT_TRUE(h.has_value()) << print(g);
    EXPECT_LT(products_inside(*h), products_inside(g)) << print(*h);
    expect_same_bits(g, *h);
  }
}

// Lanes around the scan are rows of the product, whether they have inputs of their own or weights;
// rows that the step also takes as they are stay a sequence.
TEST(InputProducts, AreOfAllLanesUnderVmap) {
  const auto run = [](const Array& w, const Array& x) {
    return scan(
        [&](const Array& h, const Array& row) {
          return std::pair{h * 0.5f + matmul(row, w), row * h};
        },
        zeros({lanes, units}), x);
  };
  const Aval w = f32({inputs, units}), x = f32({steps, lanes, inputs});
  const Graph shared = simplified(
      [&](const Array& m, const Array& xs) {
        return vmap([&](const Array& one) { return run(m, one); })(xs);
      },
      w, f32({3, steps, lanes, inputs}));
  const Graph own = simplified(
      [&](const Array& ms, const Array& one) {
        return vmap([&](const Array& m) { return run(m, one); })(ms);
      },
      f32({3, inputs, units}), x);
  for (const Graph* g : {&shared, &own}) {
    const auto h = moved(*g);
    ASSERT_TRUE(h.has_value()) << print(*g);
    EXPECT_EQ(products_inside(*h), 0u) << print(*h);
    EXPECT_EQ(products(*h), 1u) << print(*h);
    expect_same_bits(*g, *h);
  }
}

// Segments that run again are loops in loops, whose rows are few: they stay as they are, and what
// is outside of them does not get wrong.
TEST(InputProducts, LeaveSegmentsThatRunAgainRight) {
  const Graph g = simplified(
      [](const Array& w, const Array& u, const Array& x) {
        return grad([&](const std::vector<Array>& a) {
          return network(a[0], a[1], x, {.kind = LoopKind::checkpointed, .checkpoints = 4});
        })(std::vector<Array>{w, u});
      },
      f32({units, inputs}), f32({units, units}), f32({steps, lanes, inputs}));
  if (const auto h = moved(g)) expect_same_bits(g, *h);
  expect_lowering(g, inputs_of(g), 2e-4);
}

// As the compiler makes kernels of it, for every kind of device.
TEST(InputProducts, LowerToTheSameNumbers) {
  const Graph g = simplified(
      [](const Array& w, const Array& u, const Array& x) {
        return grad([&](const std::vector<Array>& a) { return network(a[0], a[1], x, {}); })(
            std::vector<Array>{w, u});
      },
      f32({units, inputs}), f32({units, units}), f32({steps, lanes, inputs}));
  expect_lowering(g, inputs_of(g), 2e-4);
}

TEST(InputProducts, StayWhereAStepDecides) {
  const auto stays = [](auto f, const auto&... avals) {
    const Graph g = simplified(f, avals...);
    EXPECT_FALSE(moved(g).has_value()) << print(g);
  };
  const auto with_step = [](auto step) {
    return [step](const Array& w, const Array& x) {
      return scan(
                 [&](const Array& h, const Array& row) {
                   return std::pair{step(h, row, w), none};
                 },
                 zeros({lanes, inputs}), x)
          .first;
    };
  };
  const Aval w = f32({inputs, inputs}), x = f32({steps, lanes, inputs});
  // What is carried is in it.
  stays(with_step(
            [](const Array& h, const Array& row, const Array& m) { return matmul(h * row, m); }),
        w, x);
  // Both operands are rows.
  stays(with_step([](const Array& h, const Array& row, const Array&) {
          return h + matmul(row, matmul(transpose(row), row));
        }),
        w, x);
  // It is to be computed here.
  stays(with_step([](const Array& h, const Array& row, const Array& m) {
          return h + matmul(optimization_barrier(row), m);
        }),
        w, x);
  // Three terms take no longer than reading their sum.
  stays(
      [](const Array& m, const Array& rows) {
        return scan(
                   [&](const Array& h, const Array& row) {
                     return std::pair{h + matmul(row, m), none};
                   },
                   zeros({1024, 64}), rows)
            .first;
      },
      f32({3, 64}), f32({steps, 1024, 3}));
  // So would what is multiplied: a kernel between each of the row's numbers and many others.
  stays(with_step([](const Array& h, const Array& row, const Array& m) {
          const Array near = exp(-square(reshape(row, {-1, 1}) - reshape(m, {1, -1})));
          return h + sum(matmul(near, reshape(m, {-1})));
        }),
        w, x);
  // The rows would take gigabytes.
  stays(with_step([](const Array& h, const Array& row, const Array& m) {
          return h + sum(matmul(row, m));
        }),
        f32({inputs, 4096}), f32({Dim{4096}, lanes, inputs}));
}

TEST(InputProducts, StayInLoopsOfDynamicLengthAndInThoseOfKernels) {
  const Graph g = simplified(
      [](const Array& w, const Array& x, const Array& n) {
        return scan(
                   [&](const Array& h, const Array& row) {
                     return std::pair{h * 0.5f + matmul(row, w), none};
                   },
                   zeros({lanes, units}), x, {.length = n})
            .carry;
      },
      f32({inputs, units}), f32({steps, lanes, inputs}), i32({}));
  EXPECT_FALSE(moved(g).has_value()) << print(g);
  const auto in_a_kernel = [](const Equation&) { return false; };
  EXPECT_FALSE(input_products_in_front(network_graph(DType::f32), in_a_kernel).has_value());
}

}  // namespace
}  // namespace gnomon::testing
