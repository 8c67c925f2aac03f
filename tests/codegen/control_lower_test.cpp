// tests/codegen/control_lower_test.cpp -- compiled loops, branches and indexing against the host
// reference.
#include "gnomon/control.h"

#include "codegen/cost/work.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

Array below(const Array& x, const Array& limit) {
  return while_loop([&](const Array& v) { return v < limit; },
                    [&](Array v) { return v * 1.5f + 1; }, abs(x), {.max_steps = 40});
}

/// Every loop of f, compiled for a GPU, runs in a kernel over lanes.
template <class F, class... A>
void expect_lane_loops(F f, const A&... inputs) {
  const Graph g = [&] {
    Trace outer;
    return make_graph(f, outer.input(inputs)...).graph;
  }();
  const Program p = compile(g, Target::gpu(), {.name = "test", .keep_text = true});
  EXPECT_NE(p.fusion_text.find("every lane runs its own trips"), std::string::npos);
  EXPECT_EQ(p.fusion_text.find("sequential"), std::string::npos) << p.fusion_text;
}

// A lane by itself would read a large matrix once for each of its rows: such loops run step by step
// over the lanes of all, where a lane's neighbours are neighbours in memory and there is enough of
// them to pay for kernels of every step.
TEST(ControlLower, LanesThatShareLargeMatricesRunStepByStep) {
  const auto text = [](Dim lanes, Dim units, const Target& target) {
    Trace outer;
    const auto f = [](const Array& w, const Array& h, const Array& x) {
      return vmap([&](const Array& state, const Array& rows) {
        return scan(
                   [&](const Array& s, const Array& row) {
                     return std::pair{tanh(matmul(w, s) + row), none};
                   },
                   state, rows)
            .first;
      })(h, x);
    };
    const Graph g =
        make_graph(f, outer.input(f32({units, units})), outer.input(f32({lanes, units})),
                   outer.input(f32({lanes, 5, units})))
            .graph;
    return compile(simplify(g), target, {.name = "test", .keep_text = true}).fusion_text;
  };
  const std::string why = "products of all lanes with large matrices";
  Target cpu = Target::gpu();
  cpu.kind = KnownTarget::other_cpu;
  cpu.contiguous_per_lane = true;
  EXPECT_NE(text(256, 96, cpu).find(why), std::string::npos);
  EXPECT_EQ(text(256, 32, cpu).find(why), std::string::npos) << "a matrix that a cache holds";
  EXPECT_EQ(text(4, 96, cpu).find(why), std::string::npos) << "too few lanes";
  EXPECT_NE(text(256, 96, Target::gpu()).find(why), std::string::npos);
  EXPECT_EQ(text(65536, 96, Target::gpu()).find(why), std::string::npos) << "lanes enough";
}

// The bases of many Krylov spaces side by side: 24,576 numbers per lane, which no cache holds for
// the eight lanes of a SIMD group, while those of a short vector each stay in registers.
TEST(ControlLower, LanesThatCarryMuchRunStepByStep) {
  const auto text = [](Dim lanes, Dim n) {
    Trace outer;
    const auto f = [](const Array& start, const Array& rows) {
      return vmap([](const Array& basis, const Array& row) {
        return scan(
                   [&](const Array& b, const Array& j) {
                     const Array v = matmul(matmul(row, transpose(b)), b);
                     return std::pair{
                         dynamic_update_slice(b, expand_dims(tanh(v), 0), {cast(j, DType::i32), 0}),
                         none};
                   },
                   basis, arange(12))
            .first;
      })(start, rows);
    };
    const Graph g =
        make_graph(f, outer.input(f32({lanes, 12, n})), outer.input(f32({lanes, n}))).graph;
    return compile(simplify(g), Target::gpu(), {.name = "test", .keep_text = true}).fusion_text;
  };
  const std::string why = "a lane would carry more than caches hold";
  EXPECT_NE(text(1000, 2048).find(why), std::string::npos);
  EXPECT_EQ(text(1000, 16).find(why), std::string::npos) << "little for a lane";
  EXPECT_EQ(text(20, 400).find(why), std::string::npos) << "little for all of them";
}

// What an iteration costs decides which loops are worth kernels: a product of a batch of matrices
// is its terms, not the root of what its operands' and its result's sizes give.
TEST(ControlLower, TheWorkOfProductsIsTheirTerms) {
  const auto products = [](const Shape& a, const Shape& b, const DotAxes& p) {
    Trace outer;
    const Graph g = make_graph([&](const Array& x, const Array& y) { return dot_general(x, y, p); },
                               outer.input(f32(a)), outer.input(f32(b)))
                        .graph;
    return work(g, g.equations.back());
  };
  EXPECT_EQ(products({5, 7}, {7, 3}, {{1}, {0}, {}, {}}), 5 * 7 * 3);
  EXPECT_EQ(products({100, 5, 7}, {100, 7, 3}, {{2}, {1}, {0}, {0}}), 100 * 5 * 7 * 3);
  EXPECT_EQ(products({4}, {6}, {}), 4 * 6);
  EXPECT_EQ(products({4, 0}, {0, 6}, {{1}, {0}, {}, {}}), 0);
}

TEST(ControlLower, IndexedReads) {
  const auto at = [](const Array& x) { return cast(round(x * 4), DType::i32); };
  const auto in = [&](ReadOptions options, int axis) {
    return [=](const Array& x, const Array& i) { return take(x, at(i), axis, options); };
  };
  expect_function_lowers(in({}, 0), f32({5}), f32({9}));
  expect_function_lowers(in({}, 1), f32({3, 5, 2}), f32({2, 3}));
  expect_function_lowers(in({.mode = ReadMode::fill, .fill_value = 7}, 0), f32({5}), f32({9}));
  expect_function_lowers(
      [&](const Array& x, const Array& i) { return take_along_axis(sin(x), at(i), 1); },
      f32({4, 6}), f32({4, 3}));
  expect_function_lowers([&](const Array& x, const Array& i) { return x[at(i)]; }, f32({5, 3}),
                         f32({}));
}

TEST(ControlLower, DynamicSlices) {
  const auto at = [](const Array& x) { return cast(round(x * 4), DType::i32); };
  const auto read = [&](const Array& x, const Array& i) {
    return dynamic_slice(x * 2, {at(i), 1}, {2, 3});
  };
  const auto write = [&](const Array& x, const Array& i) {
    return dynamic_update_slice(x, read(x, i) + 1, {1, at(i)});
  };
  expect_function_lowers(read, f32({5, 6}), f32({}));
  expect_function_lowers(write, f32({5, 6}), f32({}));
  expect_function_lowers([&](const Array& x, const Array& i) { return vmap(write)(x, i); },
                         f32({7, 5, 6}), f32({7}));
}

TEST(ControlLower, Scatters) {
  const auto at = [](const Array& x) { return cast(round(x * 4), DType::i32); };
  const auto f = [&](const Array& x, const Array& i, const Array& u) {
    return scatter_add(x, at(i), u);
  };
  expect_function_lowers(f, f32({5}), f32({40}), f32({40}));
  expect_function_lowers(f, f32({5, 2}), f32({40}), f32({40, 2}));
  expect_function_lowers(
      [&](const Array& u, const Array& i) {
        return vmap([&](const Array& row) { return segment_sum(row * 2, at(i), 4); })(u);
      },
      f32({6, 30}), f32({30}));
  expect_function_lowers(
      [&](const Array& u, const Array& i) {
        return vmap(
            [&](const Array& row, const Array& ids) { return segment_sum(row, at(ids), 4); })(u, i);
      },
      f32({6, 30}), f32({6, 30}));
}

TEST(ControlLower, LoopsInsideLoopsByLane) {
  const auto f = [](const Array& x) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.first > 0; },
                      [](std::pair<Array, Array> s) {
                        const Array inner = fori_loop(0, cast(s.first, DType::i32),
                                                      [](Array, Array t) { return t * 0.5f + 1; },
                                                      s.second, {.max_steps = 8});
                        return std::pair{s.first - 1, inner};
                      },
                      std::pair{floor(abs(x) * 3), x}, {.max_steps = 8});
  };
  expect_function_lowers(f, f32({}));
  expect_function_lowers([&](const Array& xs) { return vmap(f)(xs); }, f32({70}));
}

TEST(ControlLower, LanesInsideLanes) {
  const auto rows = [](const Array& x) {
    return vmap([&](const Array& v) { return below(v, sum(x) + 30); })(x);
  };
  expect_function_lowers([&](const Array& x) { return vmap(rows)(x); }, f32({5, 7}));
  const auto vectors = [](const Array& x, const Array& limit) {
    const auto one = [&](const Array& v) {
      return while_loop([&](const Array& u) { return sum(u) < limit; },
                        [](Array u) { return u * 1.5f + flip(u) + 1; }, abs(v), {.max_steps = 20});
    };
    return vmap(one)(x);
  };
  const auto both = [&](const Array& x, const Array& limits) {
    return vmap(vectors, {.in_axes = {unmapped, 0}})(x, limits * 20);
  };
  expect_function_lowers(both, f32({4, 3}), f32({5}));
  // Lanes that were merged into one axis are still lanes.
  expect_lane_loops(both, f32({64, 3}), f32({30}));
}

TEST(ControlLower, BranchesByLane) {
  const auto f = [](const Array& x) {
    return cond(
        x > 0, [&] { return sin(x) * 3; },
        [&] {
          return switch_(
              cast(x * -4, DType::i32),
              std::tuple{[&] { return x; }, [&] { return exp(x); }, [] { return 5.0f; }});
        });
  };
  expect_function_lowers(f, f32({}));
  expect_function_lowers([&](const Array& xs) { return vmap(f)(xs); }, f32({50}));
  expect_function_lowers(
      [&](const Array& xs) { return vmap([&](const Array& x) { return vmap(f)(x); })(xs); },
      f32({6, 8}));
  const auto vectors = [](const Array& x) {
    return cond(
        sum(x) > 0,
        [&] {
          return std::pair{x * 2, sum(x)};
        },
        [&] {
          return std::pair{flip(x), sum(x * x)};
        });
  };
  expect_function_lowers([&](const Array& xs) { return vmap(vectors)(xs); }, f32({20, 3}));
}

// What a branch reads at other positions than its lane's, it computes by itself, also where the
// result is what a scatter begins with.
TEST(ControlLower, ScattersIntoWhatABranchMakes) {
  const auto f = [](const Array& x, const Array& y) {
    const Array positive = x[0][0][0] > 0;
    const auto kept = [](const Array& a) { return a; };
    const auto scaled = [&](const Array& a, const Array& b) {
      return b * max(cond(sum(b) > 0, kept, kept, a));
    };
    const auto other = [](const Array&, const Array& b) { return b; };
    const Array r = cond(positive, scaled, other, sin(x), y);
    return r.at(cast(round(y), DType::i32)).min(y * 2);
  };
  expect_function_lowers(f, f32({2, 9, 2}), f32({2}));
}

// The same of what is written into the rows of a scan whose steps have kernels of their own.
TEST(ControlLower, UpdatesInPlaceByWhatABranchMakes) {
  const auto f = [](const Array& rows, const Array& c, const Array& i) {
    const auto kept = [](const Array& a) { return a; };
    const auto step = [&](const Array& carry, const std::pair<Array, Array>& xy) {
      const auto scaled = [&](const Array& a, const Array& b) {
        return b * cond(i > 0, kept, kept, a);
      };
      const auto first = [](const Array& a, const Array&) { return a; };
      const Array inner = cond(i > 1, first, scaled, xy.first, xy.second);
      const auto raised = [&](const Array& a) { return a + max(inner); };
      return std::pair{carry, cond(i > 2, kept, raised, carry)};
    };
    return scan(step, c, std::pair{rows, rows * 2}).second;
  };
  expect_function_lowers(f, f32({3, 12, 12}), f32({12}), i32({}));
}

// Short sums are written out, sums of such sums as often as they are asked for: here too often.
TEST(ControlLower, ShortSumsOfShortSumsInBranches) {
  const char* text = R"(
graph(%0: i32[6], %1: i32[6]) {
  %2: i32[6], %3: i32[6] = cond[branches=(graph(%0: i32[6]) {
    %1: u32[] = constant[value=u32(1)]
    %2: u32[6,6,2] = broadcast[shape=[6,6,2] axes=()] %1
    %3: i32[6], %4: i32[6], %5: u32[6,6,6,6], %6: u32[6,6,2] = scan[body=graph(
        %0: i32[6], %1: i32[6], %2: u32[6,2], %3: u32[6,6,2]) {
      %4: u32[6,2,6] = permute[axes=(0,2,1)] %3
      %5: u32[6,6,6] = dot_general[lhs_contracting=(2) rhs_contracting=(1) lhs_batch=(0)
        rhs_batch=(0)] %3 %4
      return %1 %0 %5 %2
    } carried=2 sequences=1 length=6 reverse=false] %0 %0 %2 %2
    %7: u32[6,6,2], %8: i32[6] = cond[branches=(graph(
        %0: u32[6,6,2], %1: i32[6], %2: u32[6,6,6,6], %3: u32[6,6,2], %4: i32[6]) {
      return %0 %1
    },graph(
        %0: u32[6,6,2], %1: i32[6], %2: u32[6,6,6,6], %3: u32[6,6,2], %4: i32[6]) {
      %5: u32[6,12] = reshape[shape=[6,12]] %0
      %6: i32[36] = iota[dtype=i32 shape=[36] axis=0]
      %7: u32[6,36] = gather[axis=1 batch_dims=0 mode=clip] %5 %6
      %8: u32[6,2,6,3] = reshape[shape=[6,2,6,3]] %7
      %9: u32[6,6,2,3] = conv[batch_dims=1 strides=(2) lo=(0) hi=(1) base=(1) dilation=(1)] %2 %8
      %10: u32[6] = reduce_max[axes=(1,2,3)] %9
      %11: u32[6,6,2] = broadcast[shape=[6,6,2] axes=(0)] %10
      %12: u32[6,6,2] = mul %3 %11
      return %12 %1
    },graph(
        %0: u32[6,6,2], %1: i32[6], %2: u32[6,6,6,6], %3: u32[6,6,2], %4: i32[6]) {
      return %3 %4
    }) lanes=6] %4 %2 %4 %5 %6 %0
    %9: i32[6,6,2] = convert[dtype=i32] %7
    %10: i32[6] = reduce_max[axes=(1,2)] %9
    %11: i32[6] = add %0 %10
    return %11 %0
  },graph(%0: i32[6]) {
    return %0 %0
  },graph(%0: i32[6]) {
    return %0 %0
  }) lanes=6] %1 %0
  return %2
}
)";
  const Aval lanes = i32({6});
  expect_lowering(parse_graph(text), {random_array(lanes, 1), random_array(lanes, 2)});
}

TEST(ControlLower, HistoriesByLane) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 12,
        [](Array i, std::pair<Array, Array> s) {
          const Array past = s.second[i - 3];
          const Array next = s.first * 0.5f + past * 0.25f + 1;
          return std::pair{next, at_set(s.second, i, next)};
        },
        std::pair{x, zeros({12})});
  };
  expect_function_lowers(f, f32({}));
  const auto over = [&](const Array& xs) { return vmap(f)(xs); };
  expect_function_lowers(over, f32({40}));
  expect_lane_loops(over, f32({256}));
}

// What the way back looks at lies in the kernel's output from the beginning, not in an array of the
// lane that is copied in the end.
TEST(ControlLower, HistoriesOfALoopOfUnknownLengthAreNotCopied) {
  const auto f = [](const Array& x) {
    return grad([](const Array& v) {
      return while_loop([](const Array& s) { return s < 25.0f; },
                        [](Array s) { return s * sin(s) * 0.5f + s + 1; }, abs(v),
                        {.max_steps = 50, .kind = LoopKind::stored});
    })(x);
  };
  const auto over = [&](const Array& xs) { return vmap(f)(xs); };
  expect_function_lowers(over, f32({33}));
  Trace outer;
  const Graph g = make_graph(over, outer.input(f32({512}))).graph;
  for (const auto& [name, target] : targets()) {
    const Program p = compile(g, target, {.name = "test", .keep_text = true});
    EXPECT_NE(p.fusion_text.find("[512,50]"), std::string::npos) << p.fusion_text;
    for (const kernel::Kernel& k : p.kernels)
      for (const kernel::LocalArray& a : k.privates) EXPECT_LT(a.length, 50u) << name;
  }
}

TEST(ControlLower, TangentsOfLoops) {
  const auto f = [](const Array& x) { return below(x, full({}, 25.0f)); };
  const auto df = [&](const Array& x) { return jvp(f, x, ones_like(x)); };
  expect_function_lowers(df, f32({}));
  expect_function_lowers([&](const Array& xs) { return vmap(df)(xs); }, f32({33}));
  const auto rows = [](const Array& xs) {
    return scan([](Array c, Array x) { return std::pair{c * x + 1, sin(c)}; }, 0.5f, xs);
  };
  expect_function_lowers([&](const Array& xs) { return jvp(rows, xs, cos(xs)); }, f32({15}));
}

}  // namespace
}  // namespace gnomon::testing
