// tests/codegen/statements_test.cpp -- debug::print and error_if: what they say and in which order,
// by the reference and by every way of running compiled programs on the host.
#include "gnomon/debug.h"

#include "gnomon/loops.h"
#include "tests/codegen/reports.h"

namespace gnomon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

template <class F, class... H>
Report report_of(const F& f, const H&... inputs) {
  return told_by_every_way(graph_of(f, inputs...), {inputs...}).report;
}
template <class F, class... H>
Lines lines_of(const F& f, const H&... inputs) {
  const Report report = report_of(f, inputs...);
  EXPECT_EQ(report.failure, std::nullopt);
  return report.lines;
}
template <class F, class... H>
std::string failure_of(const F& f, const H&... inputs) {
  return report_of(f, inputs...).failure.value_or("");
}

// ---- printing

TEST(Print, SaysValuesInTheOrderOfTheProgram) {
  const auto f = [](const Array& x) {
    debug::print("start");
    const Array y = x * 2.0f;
    debug::print("x = {}, twice {} ({{{}}})", x, y, 7);
    debug::print("sum {} any {}", sum(y), any(y > 5.0f));
    return x;
  };
  EXPECT_THAT(lines_of(f, f32({1, 2.5})),
              ElementsAre("start", "x = [1.  2.5], twice [2. 5.] ({7})", "sum 7.0 any False"));
}

TEST(Print, FormatsElementsAsAsked) {
  const auto f = [](const Array& x, const Array& n) {
    debug::print("{:.2f}|{:+.1e}|{:8.3}|{:5}", x[0], x[1], x[0], n[0]);
    debug::print("{:.1f} {:x} {:03d} {:.1f} {: d}", x, n, n, n, n[1]);
    return x;
  };
  EXPECT_THAT(lines_of(f, f32({3.14159, -1234.5}), i32({7, 255})),
              ElementsAre("3.14|-1.2e+03|    3.14|    7",
                          "[    3.1 -1234.5] [ 7 ff] [007 255] [  7.0 255.0]  255"));
}

TEST(Print, IsKeptWithoutResultsAndSaidTwiceWhenWrittenTwice) {
  const auto f = [](const Array& x) {
    debug::print("a {}", x);
    debug::print("a {}", x);
    return std::pair<None, int>{};
  };
  EXPECT_THAT(lines_of(f, i32(3)), ElementsAre("a 3", "a 3"));
}

TEST(Print, GoesThroughTheStepsOfLoops) {
  const auto f = [](const Array& x) {
    const Array y = fori_loop(
        0, 3,
        [](const Array& i, const Array& s) {
          debug::print("i = {}, s = {}", i, s);
          const Array inner = while_loop([](const Array& v) { return v < 2; },
                                         [](Array v) {
                                           debug::print("  v = {}", v);
                                           return v + 1;
                                         },
                                         i, {.max_steps = 10});
          debug::print("inner {}", inner);
          return s + inner;
        },
        x);
    debug::print("done {}", y);
    return y;
  };
  EXPECT_THAT(lines_of(f, i32(10)),
              ElementsAre("i = 0, s = 10", "  v = 0", "  v = 1", "inner 2", "i = 1, s = 12",
                          "  v = 1", "inner 2", "i = 2, s = 14", "inner 2", "done 16"));
}

TEST(Print, GoesThroughScansInTheOrderOfExecution) {
  const auto f = [](const Array& xs) {
    return scan(
        [](const Array& c, const Array& x) {
          debug::print("{} + {}", c, x);
          return std::pair{c + x, c};
        },
        zeros({}, DType::i32), xs, {.reverse = true});
  };
  EXPECT_THAT(lines_of(f, i32({1, 2, 3})), ElementsAre("0 + 3", "3 + 2", "5 + 1"));
}

TEST(Print, IsSaidByTheBranchThatIsTaken) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 4,
        [](const Array& i, const Array& s) {
          return cond(
              i % 2 == 0,
              [](const Array& v) {
                debug::print("even {}", v);
                return v + 1;
              },
              [](const Array& v) {
                const Array w = fori_loop(
                    0, 2,
                    [](const Array& k, const Array& u) {
                      debug::print("odd {} {}", k, u);
                      return u + 10;
                    },
                    v);
                debug::print("was odd");
                return w;
              },
              s);
        },
        x);
  };
  EXPECT_THAT(lines_of(f, i32(0)), ElementsAre("even 0", "odd 0 1", "odd 1 11", "was odd",
                                               "even 21", "odd 0 22", "odd 1 32", "was odd"));
}

TEST(Print, IsSaidByABranchThatGivesANumber) {
  const auto f = [](const Array& x) {
    return cond(
        x > 0,
        [](const Array& v) {
          debug::print("positive {}", v);
          return 1;
        },
        [](const Array&) { return 0; }, x);
  };
  EXPECT_THAT(lines_of(f, i32(5)), ElementsAre("positive 5"));
  EXPECT_THAT(lines_of(f, i32(-5)), IsEmpty());
}

TEST(Print, RunsALoopThatChangesNothing) {
  const auto f = [](const Array& x) {
    fori_loop(
        0, 2,
        [&](const Array&, const Array& s) {
          debug::print("x {}", x);
          return s;
        },
        x);
    return x;
  };
  EXPECT_THAT(lines_of(f, i32(4)), ElementsAre("x 4", "x 4"));
}

// ---- under transforms

TEST(PrintVmap, IsSaidOncePerElement) {
  const auto f = [](const Array& xs) {
    debug::print("before");
    const Array y = vmap([](const Array& x) {
      debug::print("x = {}", x);
      debug::print("all the same");
      return x + 1;
    })(xs);
    debug::print("after {}", y);
    return y;
  };
  EXPECT_THAT(lines_of(f, i32({5, 6})), ElementsAre("before", "x = 5", "x = 6", "all the same",
                                                    "all the same", "after [6 7]"));
}

TEST(PrintVmap, TellsTheLoopOfOneElementAfterTheOther) {
  const auto count_up = [](const Array& x) {
    const Array end = while_loop([](const Array& v) { return v < 3; },
                                 [](Array v) {
                                   debug::print("v = {}", v);
                                   return v + 1;
                                 },
                                 x, {.max_steps = 10});
    debug::print("end {}", end);
    return end;
  };
  const auto f = [&](const Array& xs) { return vmap(count_up)(xs); };
  EXPECT_THAT(lines_of(f, i32({1, 3, 0})),
              ElementsAre("v = 1", "v = 2", "v = 0", "v = 1", "v = 2", "end 3", "end 3", "end 3"));
  EXPECT_THAT(lines_of(count_up, i32(2)), ElementsAre("v = 2", "end 3"));
}

TEST(PrintVmap, SpeaksOncePerStepInsideALoopThatIsNotMapped) {
  const auto f = [](const Array& xs) {
    return fori_loop(
        0, 2,
        [](const Array& i, const Array& s) {
          debug::print("step {}", i);
          return vmap([&](const Array& x) {
            debug::print("x = {}", x);
            return x + 1;
          })(s);
        },
        xs);
  };
  EXPECT_THAT(lines_of(f, i32({10, 20})),
              ElementsAre("step 0", "x = 10", "x = 20", "step 1", "x = 11", "x = 21"));
}

TEST(PrintVmap, NestsAroundAndInsideLoops) {
  // Rows are mapped around a loop whose trips depend on the row, columns in its body.
  const auto row = [](const Array& r, const Array& n) {
    return fori_loop(0, n,
                     [](const Array& i, const Array& s) {
                       return vmap([&](const Array& x) {
                         debug::print("{}: {}", i, x);
                         return x + 1;
                       })(s);
                     },
                     r, {.max_steps = 4});
  };
  const auto f = [&](const Array& m, const Array& n) { return vmap(row)(m, n); };
  EXPECT_THAT(lines_of(f, i32({2, 2}, {10, 20, 30, 40}), i32({1, 2})),
              ElementsAre("0: 10", "0: 20", "0: 30", "0: 40", "1: 31", "1: 41"));
}

TEST(PrintVmap, FollowsEveryElementIntoItsBranch) {
  const auto one = [](const Array& x) {
    return cond(
        x > 1,
        [](const Array& v) {
          debug::print("large {}", v);
          return v;
        },
        [](const Array& v) {
          debug::print("small {}", v);
          return -v;
        },
        x);
  };
  const auto f = [&](const Array& xs) { return vmap(one)(xs); };
  EXPECT_THAT(lines_of(f, i32({0, 2, 1, 3})),
              ElementsAre("small 0", "small 1", "large 2", "large 3"));
  const auto looped = [&](const Array& xs) {
    return vmap([&](const Array& x) {
      return fori_loop(
          0, 2, [&](const Array&, const Array& s) { return one(s) + 1; }, x);
    })(xs);
  };
  EXPECT_THAT(lines_of(looped, i32({0, 2})),
              ElementsAre("small 0", "small 1", "large 2", "large 3"));
}

TEST(PrintVmap, OfVmapCountsBothAxes) {
  const auto f = [](const Array& m) {
    return vmap(vmap([](const Array& x) {
      return while_loop([](const Array& v) { return v < 2; },
                        [](Array v) {
                          debug::print("{}", v);
                          return v + 1;
                        },
                        x, {.max_steps = 5});
    }))(m);
  };
  EXPECT_THAT(lines_of(f, i32({2, 2}, {1, 2, 0, 1})), ElementsAre("1", "0", "1", "1"));
}

TEST(PrintVmap, SaysNothingForNoElements) {
  const auto f = [](const Array& xs) {
    return vmap([](const Array& x) {
      debug::print("x = {}", x);
      return x + 1;
    })(xs);
  };
  EXPECT_THAT(lines_of(f, i32(Shape(0), {})), IsEmpty());
}

Array talking_cube(const Array& x) {
  const Array y = fori_loop(
      0, 2,
      [&](const Array& i, const Array& s) {
        debug::print("step {}: {}", i, s);
        return s * x;
      },
      x);
  debug::print("y = {}", y);
  return y;
}

TEST(PrintDerivatives, SaysPrimalValuesOnce) {
  const auto forward = [](const Array& x, const Array& t) { return jvp(talking_cube, x, t); };
  const Lines want{"step 0: 2.0", "step 1: 4.0", "y = 8.0"};
  EXPECT_EQ(lines_of(forward, f32(2), f32(1)), want);
  const auto second = [&](const Array& x, const Array& t) {
    return jvp([&](const Array& v) { return jvp(talking_cube, v, t).second; }, x, t).second;
  };
  EXPECT_EQ(lines_of(second, f32(2), f32(1)), want);
  EXPECT_EQ(tell(graph_of(second, f32(2), f32(1)), {f32(2), f32(1)}).outputs[0].number(0), 12);
}

TEST(PrintDerivatives, ReverseModeSaysThemOnceAndSoUnderVmap) {
  const auto f = [](const Array& x) {
    debug::print("x = {}", x);
    return x * x;
  };
  EXPECT_THAT(lines_of([&](const Array& x) { return grad(f)(x); }, f32(3)), ElementsAre("x = 3.0"));
  EXPECT_THAT(lines_of([&](const Array& x) { return vmap(grad(f))(x); }, f32({3, 4})),
              ElementsAre("x = 3.0", "x = 4.0"));
  EXPECT_THAT(lines_of([&](const Array& x) { return grad(grad(f))(x); }, f32(3)),
              ElementsAre("x = 3.0"));
}

// ---- room

TEST(Print, CountsWhatItHasNoRoomFor) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 100,
        [](const Array& i, const Array& s) {
          debug::print("i = {}", i);
          return s + i;
        },
        x);
  };
  const Graph g = graph_of(f, i32(0));
  // A record is two words, and there are sixteen lanes at least.
  const Told told = tell(g, {i32(0)}, {.bytes = 8 * 16 * 3});
  EXPECT_THAT(told.report.lines, ElementsAre("i = 0", "i = 1", "i = 2",
                                             HasSubstr("97 records of \"i = {}\" dropped; raise")));
  EXPECT_EQ(told.outputs[0].number(0), 4950);
}

TEST(Print, ChangesNoProgramWithoutIt) {
  const Graph g = graph_of([](const Array& x) { return sum(x * x); }, f32({1, 2, 3}));
  const LoweredEffects r = lower_effects(g);
  EXPECT_TRUE(structurally_equal(r.graph, g));
  EXPECT_EQ(r.effects.arrays, 0u);
}

// ---- checks

Array checked_root(const Array& x) {
  return sqrt(error_if(x, x < 0.0f, "the root of a negative number"));
}

TEST(ErrorIf, GivesItsOperandAndTellsOfTheFirst) {
  EXPECT_EQ(failure_of(checked_root, f32({1, 4})), "");
  EXPECT_THAT(
      failure_of(checked_root, f32({1, -4, 9, -1})),
      AllOf(HasSubstr("gnomon::error_if: the root of a negative number; true 2 times, first "
                      "at index 1 (statements_test.cpp:"),
            Not(HasSubstr("step"))));
  EXPECT_THAT(failure_of(checked_root, f32({2, 2}, {1, 4, -9, 1})),
              HasSubstr("true once, at index [1,0]"));
  EXPECT_THAT(failure_of(checked_root, f32(-1)), HasSubstr("number (statements_test.cpp:"));
}

TEST(ErrorIf, TellsElementAndStepOfAMappedLoop) {
  const auto f = [](const Array& xs) {
    return vmap([](const Array& x) {
      return while_loop([](const Array& v) { return v < 6; },
                        [](Array v) { return error_if(v + 1, v == 4, "four"); }, x,
                        {.max_steps = 10});
    })(xs);
  };
  EXPECT_THAT(
      failure_of(f, i32({5, 9, 1, 3})),
      HasSubstr("four; true 2 times in 2 elements, first in element 2 of the vmap, in step 3"));
  EXPECT_EQ(failure_of(f, i32({5, 9})), "");
}

TEST(ErrorIf, TheFirstOfTheProgramSpeaksAndLinesAreSaidBeforehand) {
  const auto f = [](const Array& x) {
    const Array y = fori_loop(
        0, 3,
        [](const Array& i, const Array& s) {
          check_false(i == 2, "late");
          return error_if(s + i, i == 1, "early");
        },
        x);
    debug::print("y = {}", y);
    return error_if(y, true, "at the end");
  };
  const Report r = report_of(f, i32(0));
  EXPECT_THAT(r.lines, ElementsAre("y = 3"));
  EXPECT_THAT(r.failure.value_or(""), HasSubstr("early; true once, in step 1"));
}

TEST(ErrorIf, HoldsInBranchesThatAreTaken) {
  const auto f = [](const Array& x) {
    return cond(
        x > 0, [](const Array& v) { return error_if(v, v > 10, "too large"); },
        [](const Array& v) { return error_if(v, v < -10, "too small"); }, x);
  };
  EXPECT_EQ(failure_of(f, i32(5)), "");
  EXPECT_EQ(failure_of(f, i32(-5)), "");
  EXPECT_THAT(failure_of(f, i32(11)), HasSubstr("too large"));
  EXPECT_THAT(failure_of(f, i32(-11)), HasSubstr("too small"));
}

TEST(ErrorIf, IsTransparentToDerivatives) {
  const auto f = [](const Array& x) { return sum(checked_root(x)); };
  const Graph g = graph_of([&](const Array& x) { return grad(f)(x); }, f32({4, 16}));
  const Told told = tell(g, {f32({4, 16})});
  EXPECT_EQ(told.report.failure, std::nullopt);
  EXPECT_EQ(numbers(told.outputs[0]), (Numbers{0.25, 0.125}));
  EXPECT_THAT(tell(g, {f32({4, -16})}).report.failure.value_or(""),
              HasSubstr("true once, at index 1"));
}

// ---- misuse

TEST(StatementErrors, CountPlaceholdersAndValues) {
  const auto few = [](const Array& x) {
    debug::print("{} and {}", x);
    return x;
  };
  EXPECT_THAT(
      usage_error_of(few, i32(1)),
      AllOf(HasSubstr("gnomon::debug::print: \"{} and {}\" has 2 placeholders and gets 1 value;"),
            HasSubstr("(statements_test.cpp:")));
  const auto brace = [](const Array& x) {
    debug::print("{x}", x);
    return x;
  };
  EXPECT_THAT(usage_error_of(brace, i32(1)), HasSubstr("\"{x}\" has `{x}`; placeholders are"));
  const auto print = [](const char* format) {
    return [format](const Array& x) {
      debug::print(format, x);
      return x;
    };
  };
  EXPECT_THAT(usage_error_of(print("{"), i32(1)), HasSubstr("has a single `{`; placeholders are"));
  EXPECT_THAT(usage_error_of(print("} {}"), i32(1)), HasSubstr("has a single `}`;"));
  EXPECT_THAT(usage_error_of(print("{:.f}"), i32(1)), HasSubstr("has `{:.f}`;"));
  EXPECT_THAT(usage_error_of(print("{:4d}"), f32(1)),
              HasSubstr("`{:4d}` prints integers and gets f32; use f, e or g, or cast"));
  EXPECT_THAT(usage_error_of(print("{:.2x}"), i32(1)), HasSubstr("which have no precision"));
}

TEST(StatementErrors, NameWhatDoesNotFit) {
  EXPECT_THAT(usage_error_of([](const Array& x) { return error_if(x, x, "no"); }, i32(1)),
              HasSubstr("gnomon::error_if: the predicate is i32[] and must be bool; compare"));
  const auto condition = [](const Array& x) {
    return while_loop(
        [](const Array& v) {
          debug::print("{}", v);
          return v < 3;
        },
        [](Array v) { return v + 1; }, x, {.max_steps = 5});
  };
  EXPECT_THAT(
      usage_error_of(condition, i32(1)),
      HasSubstr("while_loop: the condition prints or checks something; do that in the body"));
}

}  // namespace
}  // namespace gnomon::test
