// tests/codegen/in_place_test.cpp -- an array of which steps write slices costs slices, whatever
// loops and branches it is carried through: counted, and held against the reference.
#include <algorithm>
#include <sstream>

#include "codegen/optimize/narrow_choices.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/buffer.h"
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/checkpoint_model.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// Elements of memory that a program touches, for one target and one way of running.
template <class F, class... A>
std::uint64_t touched(const Target& target, LoopMapping loops, F f, const A&... inputs) {
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  const Graph g = [&] {
    Trace outer;
    return make_graph(f, outer.input(inputs)...).graph;
  }();
  const Program p = compile(g, target, {.name = "test", .loops = loops});
  std::uint64_t n = 0;
  run_on_host(p, host, &n);
  return n;
}

struct Where {
  Target target;
  LoopMapping loops;
  const char* name;
};
/// Every mapping of loops: by lane or by one lane, without and with a budget of trips; by one
/// invocation; by the device; by one workgroup.
std::vector<Where> everywhere() {
  return {{Target::gpu(), LoopMapping::automatic, "gpu"},
          {Target::lavapipe(), LoopMapping::automatic, "cpu"},
          {Target::gpu(), LoopMapping::sequential, "sequential"},
          {Target::minimum(), LoopMapping::automatic, "minimum"},
          {Target::lavapipe(), LoopMapping::device, "device"},
          {Target::lavapipe(), LoopMapping::workgroup, "workgroup"}};
}

// ---- nests

/// Every step of the outer loop has an inner one write into `rows` rows.
Array filled(const Array& x, Dim rows) {
  return fori_loop(0, 40,
                   [&](const Array& i, Array a) {
                     const Array before = a.at(i).get();
                     a = fori_loop(0, 6,
                                   [&](const Array& j, Array b) {
                                     return b.at(i + 3 * j).set(b.at(i).get() * 0.5f + before + x);
                                   },
                                   a, {});
                     return a.at(i + 1).set(a.at(i + 1).get() + before);
                   },
                   zeros({rows}), {});
}

/// The same with a row written before, and a scan inside that reads what the outer loop has read.
Array filled_by_scans(const Array& x, Dim rows) {
  return fori_loop(0, 40,
                   [&](const Array& i, Array a) {
                     a = a.at(i + 2).set(x * 2.0f);
                     const Array seen = a.at(Slice{0, 4}).get();
                     return scan(
                                [&](Array b, const Array& s) {
                                  return std::pair{b.at(i).set(b.at(i + 1).get() + s), s};
                                },
                                a, seen * x)
                         .first;
                   },
                   zeros({rows}), {});
}

TEST(LoopsInLoops, WriteTheSlicesOfACarriedArrayInPlace) {
  for (const Where& where : everywhere()) {
    for (const auto f : {filled, filled_by_scans}) {
      const auto of = [&](Dim rows) {
        return touched(
            where.target, where.loops, [&](const Array& x) { return f(x, rows); }, f32({}));
      };
      // Filled and handed out; not 40 times.
      EXPECT_LE(of(4096), of(256) + 8 * (4096 - 256)) << where.name;
    }
  }
}

/// Three histories of a loop, of rows of one shape and another, and one that is read again.
std::vector<Array> recorded(const Array& x, bool reads) {
  const auto room = [&](Dim width) { return zeros({8, 40, width}, DType::f32); };
  return fori_loop(
      0, 8,
      [&](const Array& i, std::vector<Array> a) {
        const Array row = matmul(a[0], x), narrow = slice_axis(row, 1, 0, 24);
        const Array before = reads ? a[3].at(maximum(i - 1, 0)).get() : zeros({40, 24}, DType::f32);
        return std::vector<Array>{sin(0.03f * row), a[1].at(i).set(row),
                                  a[2].at(7 - i).set(cos(row)), a[3].at(i).set(narrow + before)};
      },
      std::vector<Array>{x, room(40), room(40), room(24)});
}

TEST(Histories, OfOneShapeAreWrittenByOneKernel) {
  for (const bool reads : {false, true}) {
    const auto f = [&](const Array& x) { return recorded(x, reads); };
    const Graph g = [&] {
      Trace outer;
      return make_graph(f, outer.input(f32({40, 40}))).graph;
    }();
    const Program p = compile(g, Target::lavapipe(),
                              {.name = "test", .loops = LoopMapping::device, .keep_text = true});
    std::istringstream lines(p.fusion_text);
    int updates = 0;
    for (std::string line; std::getline(lines, line);)
      updates += line.find(" update lanes=") != std::string::npos;
    EXPECT_EQ(updates, 2) << p.fusion_text;
    expect_function_lowers(f, f32({40, 40}));
  }
}

/// The kernels of a loop's iterations, by their lines.
std::vector<std::string> kernels_inside(const Program& p) {
  std::vector<std::string> r;
  std::istringstream lines(p.fusion_text);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("  kernel", 0) == 0) r.push_back(line);
  return r;
}

template <class F, class... A>
Program iterations_as_kernels(F f, const Target& target, const A&... inputs) {
  Trace outer;
  return compile(make_graph(f, outer.input(inputs)...).graph, target,
                 {.name = "test", .loops = LoopMapping::device, .keep_text = true});
}

// A recurrent cell: a product, and one kernel for the next state and all rows that the steps stack.
TEST(Histories, AreWrittenWhereTheirRowsAreComputed) {
  const auto f = [](const Array& h, const Array& xs, const Array& w) {
    return scan(
        [&](const Array& state, const Array& x) {
          const Array z = matmul(state, w);
          const Array gate = sigmoid(slice_axis(z, 1, 0, 32) + x);
          const Array next = tanh(slice_axis(z, 1, 32, 64) * gate);
          const Array new_state = next + gate * (state - next);
          return std::pair{new_state, std::tuple{state, gate, next, gate * x}};
        },
        h, xs);
  };
  const Aval h = f32({24, 32}), xs = f32({6, 24, 32}), w = f32({32, 64});
  for (const Target& t : {Target::lavapipe(), Target::gpu()}) {
    const Program p = iterations_as_kernels(f, t, h, xs, w);
    EXPECT_EQ(kernels_inside(p).size(), 2u) << p.fusion_text;
    // The product has read the state: the next one lies where it lay.
    EXPECT_EQ(p.fusion_text.find("double-buffered"), std::string::npos) << p.fusion_text;
  }
  expect_function_lowers(f, h, xs, w);
}

// Rows that lanes of another shape or order compute have kernels of their own, and so has what
// reads the history that is written.
TEST(Histories, ThatAreReadAreWrittenByThemselves) {
  const auto f = [](const Array& x, const Array& w) {
    return fori_loop(
        0, 6,
        [&](const Array& i, std::tuple<Array, Array, Array> s) {
          const auto& [state, a, b] = s;
          const Array y = sin(0.05f * matmul(state, w)), before = a.at(maximum(i - 1, 0)).get();
          return std::tuple{y + 0.5f * flip(before), a.at(i).set(cos(y)),
                            b.at(i).set(transpose(y * 0.25f))};
        },
        std::tuple{x, zeros({6, 32, 32}, DType::f32), zeros({6, 32, 32}, DType::f32)});
  };
  expect_function_lowers(f, f32({32, 32}), f32({32, 32}));
}

// The other lanes of the kernel read the carried value too, for a value that only they need.
TEST(Histories, ACarryThatOtherLanesReadIsNotOverwritten) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 5,
        [](const Array&, const std::pair<Array, Array>& s) {
          const Array shared = sin(flip(s.first) * 0.5f);
          return std::pair{cos(shared) + tanh(shared) * s.first, s.second + exp(shared)};
        },
        std::pair{x, x * 2.0f});
  };
  const Program p = iterations_as_kernels(f, Target::lavapipe(), f32({4096}));
  EXPECT_NE(p.fusion_text.find("double-buffered"), std::string::npos) << p.fusion_text;
  expect_function_lowers(f, f32({100}));
}

// Parts of a joined array that cost something: every lane writes its element of each, into the
// array that a product reads and into the rows of a history.
TEST(Histories, PartsOfTheirRowsAreWrittenSideBySide) {
  const auto f = [](const Array& d, const Array& gates, const Array& w) {
    return scan(
        [&](const Array& c, const Array& g) {
          const Array a = c * sin(g), b = c * exp(-g * g), e = a * (1.0f - b);
          const Array all = concatenate({a, b, e}, 1), other = concatenate({a, b, e * g}, 1);
          return std::pair{0.5f * c + 0.02f * matmul(all, w), std::pair{all, other}};
        },
        d, gates);
  };
  const Aval d = f32({24, 32}), gates = f32({6, 24, 32}), w = f32({96, 32});
  for (const Target& t : {Target::lavapipe(), Target::gpu()}) {
    const Program p = iterations_as_kernels(f, t, d, gates, w);
    EXPECT_EQ(kernels_inside(p).size(), 2u) << p.fusion_text;
  }
  expect_function_lowers(f, d, gates, w);
}

TEST(LoopsInLoops, MeanTheSameWhereverTheyAre) {
  expect_function_lowers([](const Array& x) { return filled(x, 64); }, f32({}));
  expect_function_lowers([](const Array& x) { return filled_by_scans(x, 64); }, f32({}));
  // By lanes, with rows of several elements.
  expect_function_lowers(
      [](const Array& x) {
        return vmap([](const Array& v) {
          return fori_loop(0, 9,
                           [&](const Array& i, Array a) {
                             return while_loop([&](const Array& b) { return b.at(i, 0).get() < 3; },
                                               [&](const Array& b) {
                                                 return b.at(i).set(b.at(i).get() + v * v + 0.5f);
                                               },
                                               a, {.max_steps = 9});
                           },
                           zeros({9, 3}), {});
        })(x);
      },
      f32({5}));
  // What the inner loop was handed is read after it, and what it gave is thrown away.
  expect_function_lowers(
      [](const Array& x) {
        return fori_loop(
            0, 7,
            [&](const Array& i, Array a) {
              const Array b = fori_loop(
                  0, 5, [&](const Array& j, Array c) { return c.at(i + j).set(c.at(j).get() + x); },
                  a, {});
              return a.at(i).set(sum(b) + a.at(i + 1).get());
            },
            ones({20}), {});
      },
      f32({}));
  // Two loops one after the other, and the place of a read known only behind the first.
  expect_function_lowers(
      [](const Array& x) {
        return fori_loop(0, 7,
                         [&](const Array& i, Array a) {
                           const auto add = [&](const Array& j, Array c) {
                             return c.at(2 * j).set(c.at(j).get() + x);
                           };
                           const Array b = fori_loop(0, 5, add, a, {});
                           const Array place = cast(clip(b.at(4).get(), 0, 9), DType::i32);
                           return fori_loop(
                                      0, 4,
                                      [&](const Array& j, Array c) {
                                        return c.at(j).set(c.at(j + 1).get() + a.at(place).get());
                                      },
                                      b, {})
                               .at(i)
                               .set(x);
                         },
                         ones({20}), {});
      },
      f32({}));
}

// The array whose memory the inner loop could begin in, a slice written, is its sequence as well.
TEST(LoopsInLoops, LeaveWhatTheyReadBesideTheirStart) {
  const auto sums = [](const Array& start, const Array& xs) {
    return scan(
               [](const Array& c, const Array& v) {
                 return std::pair{c + v, none};
               },
               start, xs)
        .first;
  };
  const auto carried = [&](const Array& x) {
    return fori_loop(0, 3, [&](const Array& i, Array a) { return sums(a.at(i).set(1.0f), a); }, x,
                     {});
  };
  expect_function_lowers(carried, f32({9}));
  // And one that a loop before it has left.
  const auto left = [&](const Array& x) {
    return fori_loop(
        0, 2,
        [&](const Array& i, Array) {
          const Array a = fori_loop(
              0, 4, [&](const Array& j, Array c) { return c.at(j).set(c.at(j + 1).get() + 1); }, x,
              {});
          return sums(a.at(i).set(1.0f), a);
        },
        x, {});
  };
  expect_function_lowers(left, f32({9}));
}

// ---- branches and choices

struct State {
  Array i, x;
};

Array chosen(const Array& x, Dim rows) {
  return fori_loop(0, 40,
                   [&](const Array& i, Array a) {
                     return cond(
                         sin(cast(i, DType::f32)) > 0,
                         [&] { return a.at(i).set(x).at(i + 3).set(x * 2.0f); }, [&] { return a; });
                   },
                   zeros({rows}), {});
}
Array chosen_of_three(const Array& x, Dim rows) {
  return fori_loop(0, 40,
                   [&](const Array& i, Array a) {
                     const Array other = where(sin(cast(i, DType::f32)) > 0, a.at(i + 1).set(x), a);
                     return switch_(i % 3,
                                    std::tuple{[&] { return other.at(i).set(x); },
                                               [&] {
                                                 return other.at(Slice{2, 4}).set(full({2}, 3.0f));
                                               },
                                               [&] { return other; }});
                   },
                   zeros({rows}), {});
}
/// A loop of lanes in which some have ended.
Array by_lane(const Array& x, Dim rows) {
  return vmap([&](const Array& v) {
    return while_loop([&](const State& s) { return cast(s.i, DType::f32) < 20 + 5 * v; },
                      [&](State s) {
                        return State{s.i + 1, s.x.at(s.i).set(v + s.x.at(s.i + 1).get())};
                      },
                      State{full({}, 0, DType::i32), zeros({rows})}, {.max_steps = 40})
        .x;
  })(x + arange(4) * 0.3f);
}

TEST(Choices, OfAnArrayAndItselfWithSlicesWrittenCostSlices) {
  for (const Where& where : everywhere())
    for (const auto f : {chosen, chosen_of_three, by_lane}) {
      const auto of = [&](Dim rows) {
        return touched(
            where.target, where.loops, [&](const Array& x) { return f(x, rows); }, f32({}));
      };
      const std::uint64_t lanes = f == by_lane ? 4 : 1;
      EXPECT_LE(of(4096), of(256) + 10 * lanes * (4096 - 256)) << where.name;
    }
}

TEST(Choices, MeanTheSameNarrowed) {
  expect_function_lowers([](const Array& x) { return chosen(x, 50); }, f32({}));
  expect_function_lowers([](const Array& x) { return chosen_of_three(x, 50); }, f32({}));
  expect_function_lowers([](const Array& x) { return by_lane(x, 50); }, f32({}));
  const auto lanes = [](const Array& x) {
    return vmap([](const Array& v) { return chosen_of_three(v, 50) + chosen(v, 50); })(x);
  };
  expect_function_lowers(lanes, f32({3}));
  expect_function_lowers([&](const Array& x) { return vmap(lanes)(x); }, f32({2, 3}));
  // Slices that meet: what is chosen later stays.
  expect_function_lowers(
      [](const Array& x, const Array& flag) {
        const Array a = arange(12) * x;
        const Array b = a.at(Slice{2, 6}).set(full({4}, 1.0f)).at(flag).set(x);
        const Array c = b.at(Slice{4, 9}).set(full({5}, 2.0f));
        return where(flag > 1, b, c) + where(flag > 0, a, c);
      },
      f32({}), i32({}));
}

TEST(Choices, OfOtherArraysStay) {
  const auto narrowed = [](const auto& f) {
    Trace outer;
    const Graph g = simplify(make_graph(f, outer.input(f32({8})), outer.input(f32({8}))).graph);
    return structurally_equal(simplify(narrow_choices(g)), g);
  };
  EXPECT_TRUE(narrowed(
      [](const Array& x, const Array& y) { return where(sum(x) > 0, x.at(2).set(1.0f), y); }));
  EXPECT_TRUE(narrowed([](const Array& x, const Array& y) { return where(x > 0, x, y); }));
}

// ---- checkpoints

Array after(const Array& x, int n, const WhileOptions& options) {
  return while_loop([&](const State& s) { return s.i < n; },
                    [](State s) {
                      return State{s.i + 1, s.x + 0.01f * sin(s.x)};
                    },
                    State{full({}, 0, DType::i32), x}, options)
      .x;
}

/// Evaluations of a step, there and back.
std::uint64_t evaluations(int checkpoints, int n) {
  return static_cast<std::uint64_t>(n) + CheckpointModel{checkpoints}.backward(n).size();
}

TEST(CheckpointSlots, AreTouchedOneByOne) {
  const int n = 600;
  for (const Where& where : everywhere())
    for (const StepBound bound : {StepBound(n), StepBound(unbounded)}) {
      if (where.loops == LoopMapping::sequential && !bound.bounded()) continue;
      for (const Dim lanes : {0, 2}) {
        const auto per_evaluation = [&](Dim checkpoints) {
          const auto one = [&](const Array& x) {
            return grad([&](const Array& v) {
              return after(
                  v, n,
                  {.max_steps = bound, .kind = LoopKind::checkpointed, .checkpoints = checkpoints});
            })(x);
          };
          const std::uint64_t all =
              lanes == 0 ? touched(where.target, where.loops, one, f32({}))
                         : touched(
                               where.target, where.loops,
                               [&](const Array& x) { return vmap(one)(x); }, f32({lanes}));
          // Slots are made and sorted once.
          const auto once = static_cast<std::uint64_t>(24 * checkpoints * std::max<Dim>(1, lanes));
          return (static_cast<double>(all) - static_cast<double>(once)) /
                 static_cast<double>(evaluations(static_cast<int>(checkpoints), n));
        };
        const double few = per_evaluation(50), many = per_evaluation(500);
        EXPECT_LE(many, 1.5 * few + 10) << where.name << ", " << lanes << " lanes, "
                                        << (bound.bounded() ? "bounded" : "unbounded");
        RecordProperty(std::string(where.name) + "_" + std::to_string(lanes), std::to_string(few));
      }
    }
}

}  // namespace
}  // namespace gnomon::testing
