// tests/codegen/buffer_test.cpp -- write-once buffers: zeros for the compiler, and what
// check_buffers finds in programs that break their promise, by every way of running them.
#include "gnomon/buffer.h"

#include "codegen/checks/check_buffers.h"
#include "codegen/simplify/simplify.h"
#include "codegen/transforms/vmap.h"
#include "gnomon/debug.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "shaders/kernel/text.h"
#include "tests/codegen/reports.h"

namespace gnomon::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What the checked program says of the inputs: empty when nothing is wrong, and then its results
/// are those of the program itself.
template <class F, class... H>
std::string failure_of(const F& f, const H&... inputs) {
  const Graph g = graph_of(f, inputs...);
  const Graph checked = check_buffers(g);
  verify(checked);
  const Told told = told_by_every_way(checked, {inputs...});
  EXPECT_EQ(told.outputs, evaluate(g, {inputs...})) << print(checked);
  return told.report.failure.value_or("");
}

constexpr const char* twice = "an element is written a second time";
constexpr const char* unwritten = "an element is read before it was written";

/// A history of 5 rows whose steps may be told by `row` where to write.
template <class Row>
auto history(Row row) {
  return [row](const Array& x) {
    return fori_loop(
        0, 4,
        [&](const Array& i, const std::pair<Array, Array>& s) {
          return std::pair{s.first.at(row(i)).set(s.second), s.second * 2.0f};
        },
        std::pair{buffer({5, 2}), x});
  };
}

// ---- the operation

TEST(Buffer, IsZerosWithAMarkThatStays) {
  const auto f = [](const Array& x) { return buffer({2, 3}).at(1).set(x); };
  const HostArray x = f32({1, 2, 3});
  EXPECT_EQ(run(f, x), (Numbers{0, 0, 0, 1, 2, 3}));
  const Graph g = graph_of(f, x);
  EXPECT_EQ(count_equations(g, "buffer"), 1);
  EXPECT_EQ(count_equations(simplify(g), "buffer"), 1);
  EXPECT_EQ(count_equations(vmap(g, {0}, 4), "buffer"), 1);
  const auto tangent = [&](const Array& a, const Array& d) { return jvp(f, a, d).second; };
  EXPECT_EQ(run(tangent, x, x), (Numbers{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(run([](const Array& a) { return buffer({2}, DType::i32) + a; }, i32({7, 8})),
            (Numbers{7, 8}));
  EXPECT_THAT(usage_error_of([](const Array& a) { return a + sum(buffer({-1})); }, x),
              HasSubstr("gnomon::buffer: shape [-1] has a negative size (buffer_test.cpp:"));
}

TEST(Buffer, CompilesToWhatZerosCompileTo) {
  const auto program = [](auto make, const auto& target, const auto& way) {
    const auto f = [make](const Array& x) {
      return fori_loop(
          0, 700,
          [](const Array& i, const std::pair<Array, Array>& s) {
            return std::pair{s.first.at(i).set(s.second), s.second * 0.5f + flip(s.second)};
          },
          std::pair{make(), x});
    };
    const Program p = compile(graph_of(f, f32(Numbers(64, 1))), target,
                              {.name = "test", .fuse = way.fuse, .loops = way.loops});
    std::string text = print(p);
    for (const auto& k : p.kernels) text += kernel::print(k);
    return text;
  };
  for (const auto& [name, target] : gnomon::testing::targets())
    for (const auto& way : gnomon::testing::ways_of_running())
      EXPECT_EQ(program(
                    [] {
                      return buffer({700, 64});
                    },
                    target, way),
                program(
                    [] {
                      return zeros({700, 64});
                    },
                    target, way))
          << name << ", " << way.name;
}

TEST(CheckBuffers, LeavesProgramsWithoutBuffersAlone) {
  const Graph g = graph_of([](const Array& x) { return zeros({3}).at(1).set(x) * 2.0f; }, f32(1));
  EXPECT_EQ(structural_hash(check_buffers(g)), structural_hash(g));
  EXPECT_EQ(print(check_buffers(g)), print(g));
}

// ---- second writes

TEST(CheckBuffers, FindASecondWrite) {
  const auto f = [](const Array& x, const Array& i) {
    return buffer({4}).at(1).set(x).at(i).set(x * 2.0f);
  };
  EXPECT_EQ(failure_of(f, f32(3), i32(2)), "");
  EXPECT_THAT(failure_of(f, f32(3), i32(1)),
              AllOf(HasSubstr("gnomon::error_if: buffer: an element is written a second time "
                              "(buffer f32[4] made at buffer_test.cpp:"),
                    HasSubstr("; write each element once, or use zeros for what changes; true "
                              "once, at index 0 (buffer_test.cpp:")));
}

TEST(CheckBuffers, FindASecondWriteInCountedLoops) {
  EXPECT_EQ(failure_of(history([](const Array& i) { return i; }), f32({1, 2})), "");
  EXPECT_EQ(failure_of(history([](const Array& i) { return 4 - i; }), f32({1, 2})), "");
  EXPECT_THAT(failure_of(history([](const Array& i) { return floor_divide(i, 3); }), f32({1, 2})),
              AllOf(HasSubstr(twice), HasSubstr("true 4 times, first at index [0,0], in step 1")));
}

TEST(CheckBuffers, TakeAMovedSliceForWhatItIs) {
  // The second slice is moved to fit.
  const auto f = [](const Array& x, const Array& i) {
    const Array h = dynamic_update_slice(buffer({4}), x, {0});
    return dynamic_update_slice(h, x, {i});
  };
  EXPECT_EQ(failure_of(f, f32({1, 2}), i32(2)), "");
  EXPECT_EQ(failure_of(f, f32({1, 2}), i32(9)), "");
  EXPECT_THAT(failure_of(f, f32({1, 2}), i32(1)), AllOf(HasSubstr(twice), HasSubstr("at index 0")));
}

TEST(CheckBuffers, CountWhatAWriteRepeats) {
  const auto f = [](const Array& i, const Array& k) {
    const Array h = buffer({2, 6}, DType::i32).at(every, i).set(i);
    return h.at(every, k).set(k + 10);
  };
  EXPECT_EQ(failure_of(f, i32({0, 1, 2}), i32({3, 5})), "");
  EXPECT_THAT(failure_of(f, i32({0, 4, 0}), i32({3, 5})),
              AllOf(HasSubstr(twice), HasSubstr("true 4 times, first at index [0,0]")));
  EXPECT_THAT(failure_of(f, i32({0, 1, 2}), i32({3, 1})),
              AllOf(HasSubstr(twice), HasSubstr("true 2 times, first at index [0,1]")));
  // Out of range is dropped.
  EXPECT_EQ(failure_of(f, i32({0, 9, 9}), i32({3, 9})), "");
}

TEST(CheckBuffers, FollowSlicesThatAreWrittenAndPutBack) {
  const auto f = [](const Array& x, const Array& i) {
    const Array h = buffer({3, 4}).at(i, Slice{0, 2}).set(x);
    return h.at(1, Slice{2, 4}).set(x).at(every, 1).get();
  };
  EXPECT_THAT(failure_of(f, f32({1, 2}), i32(1)), HasSubstr(unwritten));
  const auto g = [](const Array& x, const Array& i) {
    const Array h = buffer({3, 4}).at(i, Slice{0, 2}).set(x);
    return h.at(0, Slice{1, 3}).set(x);
  };
  EXPECT_EQ(failure_of(g, f32({1, 2}), i32(1)), "");
  EXPECT_THAT(failure_of(g, f32({1, 2}), i32(0)),
              AllOf(HasSubstr(twice), HasSubstr("true once, at index [0,0]")));
}

TEST(CheckBuffers, ALineThatComesBackIsNoWrite) {
  // Step i writes row i / 2 when it is even.
  const auto f = [](const Array& x, const Array& odd) {
    return fori_loop(
        0, 6,
        [&](const Array& i, const Array& h) {
          const Array old = h.at(floor_divide(i, 2)).get();
          return h.at(floor_divide(i, 2)).set(where((i % 2 == 0) | odd, x, old));
        },
        buffer({3, 2}));
  };
  EXPECT_EQ(failure_of(f, f32({1, 2}), host(DType::boolean, {}, {0})), "");
  EXPECT_THAT(failure_of(f, f32({1, 2}), host(DType::boolean, {}, {1})),
              AllOf(HasSubstr(twice), HasSubstr("in step 1")));
}

TEST(CheckBuffers, ACopyOfAnotherBufferIsAWrite) {
  const auto f = [](const Array& x, const Array& again) {
    const Array a = buffer({3}).at(1).set(x);
    const Array b = buffer({3}).at(1).set(a.at(1).get());
    return sum(b.at(again).set(a.at(1).get()).at(Slice{1, 2}).get());
  };
  EXPECT_EQ(failure_of(f, f32(5), i32(0)), "");
  EXPECT_THAT(failure_of(f, f32(5), i32(1)), HasSubstr(twice));
}

// ---- reads before writes

TEST(CheckBuffers, FindAReadInFrontOfTheWrite) {
  const auto f = [](const Array& x, const Array& ahead) {
    return fori_loop(
        0, 4,
        [&](const Array& i, const Array& h) { return h.at(i + 1).set(h.at(i + ahead).get() + x); },
        buffer({6}).at(0).set(x));
  };
  EXPECT_EQ(failure_of(f, f32(1), i32(0)), "");
  EXPECT_THAT(failure_of(f, f32(1), i32(1)),
              AllOf(HasSubstr("buffer: an element is read before it was written (buffer f32[6] "
                              "made at buffer_test.cpp:"),
                    HasSubstr("; write it first, or choose with `where` before computing; true"),
                    HasSubstr(" 4 times, first in step 0 (buffer_test.cpp:")));
  EXPECT_THAT(failure_of(f, f32(1), i32(-1)), AllOf(HasSubstr(unwritten), HasSubstr("in step 0")));
}

TEST(CheckBuffers, ChoosingIsNotReading) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 4,
        [&](const Array& i, const Array& h) {
          return h.at(i).set(where(i > 0, h.at(i - 1).get(), x) * 2.0f);
        },
        buffer({4}));
  };
  EXPECT_EQ(failure_of(f, f32(1)), "");
  const auto padded = [](const Array& x) {
    const Array h = buffer({4}).at(2).set(x);
    debug::print("{}", h);
    return where(iota({4}, 0) == 2, h, -1.0f) + 1.0f;
  };
  EXPECT_EQ(failure_of(padded, f32(1)), "");
}

TEST(CheckBuffers, FindReadsByIndexBySumAndByLeaving) {
  const auto rows = [](auto read) {
    return [read](const Array& x, const Array& i) {
      return read(buffer({4}).at(1).set(x).at(2).set(x), i);
    };
  };
  const auto gathered = rows([](const Array& h, const Array& i) { return take(h, i) * 2.0f; });
  EXPECT_EQ(failure_of(gathered, f32(3), i32({1, 2, 1})), "");
  EXPECT_THAT(failure_of(gathered, f32(3), i32({1, 0, 3})),
              AllOf(HasSubstr(unwritten), HasSubstr("true 2 times, first at index 1")));
  const auto filled = rows([](const Array& h, const Array& i) {
    return take(h, i, 0, {.mode = ReadMode::fill}) * 2.0f;
  });
  EXPECT_EQ(failure_of(rows([](const Array& h, const Array& i) {
                         return isnan(take(h, i, 0, {.mode = ReadMode::fill}));
                       }),
                       f32(3), i32({1, 9, -9})),
            "");
  EXPECT_THAT(failure_of(filled, f32(3), i32({1, 3})), HasSubstr(unwritten));
  const auto whole = rows([](const Array& h, const Array&) { return h; });
  EXPECT_EQ(failure_of(whole, f32(3), i32(0)), "");
  const auto summed = rows([](const Array& h, const Array& i) { return sum(h) + i; });
  EXPECT_THAT(failure_of(summed, f32(3), i32(0)), HasSubstr("true 2 times, first at index 0"));
  const auto taken = rows([](const Array& h, const Array& i) { return h.at(i).get(); });
  EXPECT_EQ(failure_of(taken, f32(3), i32(1)), "");
  EXPECT_THAT(failure_of(taken, f32(3), i32(0)), HasSubstr(unwritten));
}

TEST(CheckBuffers, AddingIntoABufferIsAReadAndAWrite) {
  const auto f = [](const Array& x, const Array& i) { return buffer({4}).at(i).add(x); };
  EXPECT_THAT(failure_of(f, f32(1), i32(1)), HasSubstr(unwritten));
  EXPECT_THAT(failure_of(f, f32({1, 2}), i32({1, 3})), HasSubstr(unwritten));
  const auto g = [](const Array& x, const Array& i) {
    return buffer({2}).at(i).set(x).at(i).add(x);
  };
  EXPECT_THAT(failure_of(g, f32({1, 2}), i32({0, 1})), HasSubstr(twice));
}

// ---- loops and branches

TEST(CheckBuffers, FollowLoopsWithConditions) {
  const auto f = [](const Array& n, const Array& by) {
    using S = std::pair<Array, Array>;
    return while_loop(
        [&](const S& s) { return s.second < n; },
        [&](S s) {
          return S{s.first.at(floor_divide(s.second, by)).set(s.second), s.second + 1};
        },
        S{buffer({8}, DType::i32), Array(zeros({}, DType::i32))}, {.max_steps = 8});
  };
  EXPECT_EQ(failure_of(f, i32(6), i32(1)), "");
  EXPECT_EQ(failure_of(f, i32(1), i32(2)), "");
  EXPECT_THAT(failure_of(f, i32(6), i32(4)),
              AllOf(HasSubstr(twice), HasSubstr("true 4 times, first at index 0, in step 1")));
}

TEST(CheckBuffers, FollowScansTheirRowsAndSequences) {
  const auto made = [](const Array& at) {
    return scan(
        [](const Array& h, const Array& i) {
          const Array next = h.at(i).set(cast(i, DType::f32));
          return std::pair{next, next.at(0).get()};
        },
        buffer({4}), at);
  };
  const auto rows = [&](const Array& at) { return sum(made(at).second); };
  EXPECT_EQ(failure_of(rows, i32({0, 2, 3})), "");
  EXPECT_THAT(failure_of(rows, i32({1, 0, 3})), HasSubstr(unwritten));
  EXPECT_THAT(failure_of(rows, i32({0, 3, 3})), AllOf(HasSubstr(twice), HasSubstr("in step 2")));
  const auto leaving = [&](const Array& at) { return made(at).second; };
  EXPECT_THAT(failure_of(leaving, i32({1, 0, 3})), HasSubstr(unwritten));
  const auto walked = [&](const Array& at) {
    return scan(
               [](const Array& c, const Array& x) {
                 return std::pair{c + x, none};
               },
               0.0f, made(at).first)
        .first;
  };
  EXPECT_EQ(failure_of(walked, i32({0, 2, 3, 1})), "");
  EXPECT_THAT(failure_of(walked, i32({0, 3, 1})),
              AllOf(HasSubstr(unwritten), HasSubstr("in step 2")));
}

TEST(CheckBuffers, FollowBranches) {
  const auto f = [](const Array& x, const Array& late) {
    return fori_loop(
        0, 4,
        [&](const Array& i, const Array& h) {
          return cond((i % 2 == 0) | (i == late),
                      [&](const Array& b) { return b.at(floor_divide(i, 2)).set(x); },
                      [](const Array& b) { return b; }, h);
        },
        buffer({4}));
  };
  EXPECT_EQ(failure_of(f, f32(1), i32(0)), "");
  EXPECT_THAT(failure_of(f, f32(1), i32(3)), AllOf(HasSubstr(twice), HasSubstr("in step 3")));
  // What comes from one side only is written on the other.
  const auto other = [](const Array& x, const Array& i) {
    return cond(
               i > 0, [](const Array&) { return buffer({2}); }, [](const Array& a) { return a; },
               x) *
           2.0f;
  };
  EXPECT_EQ(failure_of(other, f32({1, 2}), i32(0)), "");
  EXPECT_THAT(failure_of(other, f32({1, 2}), i32(1)), HasSubstr(unwritten));
}

TEST(CheckBuffers, FollowLoopsInLoops) {
  const auto f = [](const Array& x, const Array& width) {
    return fori_loop(
        0, 3,
        [&](const Array& i, const Array& outer) {
          return fori_loop(
              0, 2, [&](const Array& k, const Array& h) { return h.at(i * width + k).set(x); },
              outer);
        },
        buffer({6}));
  };
  EXPECT_EQ(failure_of(f, f32(1), i32(2)), "");
  EXPECT_THAT(failure_of(f, f32(1), i32(1)),
              AllOf(HasSubstr(twice), HasSubstr("true 2 times, first at index 0, in step [1,0]")));
}

// ---- under vmap

/// Writes n rows, row k at k / by, and adds up what it wrote.
Array walk(const Array& n, const Array& by) {
  using S = std::pair<Array, Array>;
  const S end =
      while_loop([&](const S& s) { return s.second < n; },
                 [&](S s) {
                   return S{s.first.at(floor_divide(s.second, by)).set(s.second + 1), s.second + 1};
                 },
                 S{buffer({4}, DType::i32), Array(zeros({}, DType::i32))}, {.max_steps = 4});
  return end.first;
}

TEST(CheckBuffersVmap, TellElementsOfLoopsApart) {
  const auto f = [](const Array& n, const Array& by) { return vmap(walk)(n, by); };
  EXPECT_EQ(failure_of(f, i32({4, 0, 1, 3, 1}), i32({1, 1, 2, 1, 4})), "");
  EXPECT_THAT(failure_of(f, i32({4, 0, 1, 3, 1}), i32({1, 1, 2, 2, 4})),
              AllOf(HasSubstr(twice),
                    HasSubstr("true once, at index 0, in element 3 of the vmap, in step 1")));
  EXPECT_THAT(failure_of(f, i32(Numbers{4}), i32(Numbers{2})),
              HasSubstr("element 0 of the vmap, in step 1"));
}

TEST(CheckBuffersVmap, OfVmapAndOfLoopsInLoops) {
  const auto nested = [](const Array& n, const Array& by) {
    return vmap([&](const Array& row) {
      return vmap([&](const Array& m) { return walk(m, by); })(row);
    })(n);
  };
  EXPECT_EQ(failure_of(nested, i32({2, 3}, {1, 4, 0, 2, 3, 1}), i32(1)), "");
  EXPECT_THAT(failure_of(nested, i32({2, 3}, {1, 1, 0, 1, 3, 1}), i32(2)),
              AllOf(HasSubstr(twice), HasSubstr("in element 4 of the vmap, in step 1")));
  // Element e repeats its three writes n[e] times.
  const auto repeated = [](const Array& n) {
    return vmap([](const Array& m) {
      return fori_loop(
          0, m,
          [](const Array&, const Array& outer) {
            return fori_loop(
                0, 3, [](const Array& k, const Array& h) { return h.at(k).set(k * 2); }, outer);
          },
          buffer({3}, DType::i32), {.max_steps = 5});
    })(n);
  };
  EXPECT_EQ(failure_of(repeated, i32({1, 0, 1})), "");
  EXPECT_THAT(failure_of(repeated, i32({1, 0, 2})),
              AllOf(HasSubstr(twice), HasSubstr("true 3 times, first at index 0, in element 2 of "
                                                "the vmap, in step [1,0]")));
}

TEST(CheckBuffersVmap, FollowBranchesAndScatters) {
  const auto f = [](const Array& x, const Array& at) {
    return vmap([](const Array& v, const Array& i) {
      const Array h = buffer({4}, DType::i32).at(0).set(v);
      return cond(
          v > 2, [&](const Array& b) { return b.at(i).set(v); },
          [](const Array& b) {
            return b.at(0).get() + b.at(Slice{1, 2}).set(3);
          },
          h);
    })(x, at);
  };
  // Small elements compute with what nobody wrote, but at 0 and 1 only; the rest moves to them.
  EXPECT_EQ(failure_of(f, i32({3, 4}), i32({2, 2}, {1, 2, 3, 1})), "");
  EXPECT_THAT(failure_of(f, i32({3, 4}), i32({2, 2}, {1, 2, 3, 0})),
              AllOf(HasSubstr(twice), HasSubstr("element 1 of the vmap")));
  EXPECT_THAT(failure_of(f, i32({3, 1}), i32({2, 2}, {1, 2, 0, 0})),
              AllOf(HasSubstr(unwritten), HasSubstr("element 1 of the vmap")));
}

TEST(CheckBuffersVmap, FollowASharedBufferThatElementsRead) {
  const auto f = [](const Array& x, const Array& last) {
    const Array h = buffer({3}).at(0).set(x).at(1).set(x);
    return vmap([&](const Array& n) {
      using S = std::pair<Array, Array>;
      return while_loop([&](const S& s) { return s.second < n; },
                        [&](S s) {
                          return S{s.first + h.at(s.second).get(), s.second + 1};
                        },
                        S{Array(zeros({})), Array(zeros({}, DType::i32))}, {.max_steps = 3})
          .first;
    })(last);
  };
  EXPECT_EQ(failure_of(f, f32(1), i32({2, 0, 1})), "");
  EXPECT_THAT(failure_of(f, f32(1), i32({2, 3, 1})),
              AllOf(HasSubstr(unwritten), HasSubstr("in element 1 of the vmap, in step 2")));
}

TEST(CheckBuffersVmap, LeaveLoopsOfUnrelatedVmapsInOneAnotherAlone) {
  // Three elements outside, two inside, which are the same for all of those.
  const auto f = [](const Array& n, const Array& m) {
    return vmap([&](const Array& outer) {
      return fori_loop(0, outer,
                       [&](const Array&, const Array& s) {
                         return s +
                                sum(vmap([](const Array& k) { return walk(k, k).at(0).get(); })(m));
                       },
                       Array(zeros({}, DType::i32)), {.max_steps = 3});
    })(n);
  };
  EXPECT_EQ(failure_of(f, i32({0, 1, 3}), i32({1, 1})), "");
  EXPECT_EQ(run(f, i32({0, 1, 3}), i32({1, 1})), (Numbers{0, 2, 6}));
  // What the body of the outer one does with it is checked.
  EXPECT_THAT(failure_of(f, i32({0, 1, 3}), i32({1, 0})),
              AllOf(HasSubstr(unwritten), HasSubstr("in element 1 of the vmap, in step 0")));
}

}  // namespace
}  // namespace gnomon::test
