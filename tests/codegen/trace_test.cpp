// tests/codegen/trace_test.cpp -- recording: captures, order, misuse; Array handles.
#include "codegen/trace/trace.h"

#include <thread>

#include "codegen/graph/text.h"
#include "gnomon/axes.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

class FakeStorage final : public Storage {};
Array concrete(const Shape& shape) {
  return {Aval{DType::f32, shape}, std::make_shared<FakeStorage>()};
}

template <class E = UsageError, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

// ---- handles

TEST(Array, IsEmptyAfterAMove) {
  Array a = placeholder({DType::f32, {2}});
  const Array b = std::move(a);
  EXPECT_EQ(b.shape(), Shape(2));
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(message_of([&] { a.shape(); }),
            "gnomon: use of an empty Array (moved from, or never assigned)");
  EXPECT_THAT(message_of([&] { Array().dtype(); }), HasSubstr("use of an empty Array"));
}

TEST(Array, KeepsItselfWhenMovedOntoItself) {
  Array a = placeholder({DType::f32, {2}});
  Array& same = a;
  a = std::move(same);
  EXPECT_EQ(a.shape(), Shape(2));
}

TEST(Array, CountsNegativeAxesFromTheEnd) {
  const Array a = placeholder({DType::f32, {2, 3}});
  EXPECT_EQ(a.dim(-1), 3);
  EXPECT_EQ(a.dim(0), 2);
  EXPECT_THAT(message_of([&] { a.dim(2); }),
              HasSubstr("gnomon::Array::dim: axis 2 is out of range for f32[2,3]; axes are -2 to 1 "
                        "(trace_test.cpp:"));
}

TEST(Shape, RefusesANinthDimension) {
  Shape s(1, 2, 3, 4, 5, 6, 7, 8);
  EXPECT_EQ(s.size(), 40320);
  EXPECT_THAT(message_of([&] { s.append(9); }), HasSubstr("at most 8 dimensions"));
  EXPECT_EQ(s.without(0).with(0, 9).part(0, 2), Shape(9, 3));
  EXPECT_EQ(to_string(DType::f32, Shape()), "f32[]");
}

// ---- recording

TEST(Trace, RecordsAFunction) {
  const Graph g =
      graph_of([](const Array& x, const Array& y) { return x * y; }, f32({1, 2}), f32({1, 2}));
  EXPECT_EQ(print(g, {.source_lines = false}),
            "graph(%0: f32[2], %1: f32[2]) {\n  %2: f32[2] = mul %0 %1\n  return %2\n}\n");
}

TEST(Trace, CarriesTheLineOfTheCall) {
  const int line = __LINE__ + 1;
  const Graph g = graph_of([](const Array& x) { return sin(x); }, f32({1, 2}));
  EXPECT_EQ(g.equations.at(0).loc.line, line);
  EXPECT_THAT(print(g), HasSubstr("; trace_test.cpp:" + std::to_string(line)));
}

TEST(Trace, WithoutOneOperationsNeedAnArrayOnADevice) {
  const std::string message = message_of([] { return zeros({2}) + 1; });
  EXPECT_THAT(message, HasSubstr("gnomon::add: none of its arrays is on a device"));
  EXPECT_THAT(message, HasSubstr("rt.from_host("));
  EXPECT_THAT(message, HasSubstr("rt.run("));
  EXPECT_THAT(message, HasSubstr("(trace_test.cpp:"));
  EXPECT_THAT(message_of([] { return axis_index("i"); }), HasSubstr("nothing is traced here"));
}

TEST(Trace, EndsWhenTheFunctionThrows) {
  EXPECT_THROW(make_graph(
                   [](const Array& x) -> Array {
                     throw std::runtime_error("stop");
                     return x;
                   },
                   placeholder({DType::f32, {}})),
               std::runtime_error);
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(Trace, CapturesThroughTwoLevels) {
  Trace outer;
  const Array k = outer.input({DType::f32, {}});
  Array unused = outer.input({DType::f32, {}});
  const auto middle = make_graph(
      [&](const Array& x) {
        const auto inner = make_graph([&](const Array& y) { return (k * y) * x + k; }, x);
        EXPECT_EQ(inner.captures.size(), 2u);
        EXPECT_EQ(inner.graph->inputs.size(), 3u);
        Arrays inputs{x};
        inputs.insert(inputs.end(), inner.captures.begin(), inner.captures.end());
        return inline_graph(inner.graph, inputs)[0];
      },
      k);
  ASSERT_EQ(middle.captures.size(), 1u);
  EXPECT_EQ(middle.captures[0].value(), k.value());
  EXPECT_EQ(middle.captures[0].trace_serial(), outer.serial());
  EXPECT_EQ(numbers(evaluate(middle.graph, {f32(3), f32(10)})[0]), Numbers{100});
}

TEST(Trace, CapturesAConcreteArrayOnce) {
  const Array table = concrete({2});
  const auto traced =
      make_graph([&](const Array& x) { return x * table + table; }, placeholder({DType::f32, {2}}));
  ASSERT_EQ(traced.captures.size(), 1u);
  EXPECT_EQ(traced.captures[0].storage(), table.storage());
  EXPECT_EQ(traced.graph->inputs.size(), 2u);
}

TEST(Trace, OrdersCapturesByFirstUseAndDropsUnusedOnes) {
  const Array a = concrete({}), b = concrete({}), dead = concrete({});
  auto order = [&](bool b_first) {
    return make_graph(
        [&](const Array& x) {
          (void)(dead + x);
          if (b_first) {
            const Array right = b * x, left = a * x;
            return left - right;
          }
          const Array left = a * x, right = b * x;
          return left - right;
        },
        placeholder({DType::f32, {}}));
  };
  const auto one = order(true), two = order(false);
  ASSERT_EQ(one.captures.size(), 2u);
  EXPECT_EQ(one.captures[0].storage(), a.storage());
  EXPECT_EQ(two.captures[0].storage(), a.storage());
  EXPECT_TRUE(structurally_equal(one.graph, two.graph));
}

TEST(Trace, RefusesAnArrayOfAnEndedTrace) {
  Array leak;
  make_graph([&](const Array& x) { return leak = x * x; }, placeholder({DType::f32, {2}}));
  const std::string message = usage_error_of([&](const Array& x) { return leak + x; }, f32({1, 2}));
  EXPECT_THAT(message, HasSubstr("this f32[2] belongs to a trace that has ended"));
  EXPECT_THAT(message, HasSubstr("return it from the traced function"));
  EXPECT_THAT(message, HasSubstr("(trace_test.cpp:"));
}

TEST(Trace, RefusesAnArrayOfAnotherThread) {
  Trace here;
  const Array x = here.input({DType::f32, {}});
  std::string message;
  std::thread([&] {
    message = usage_error_of([&](const Array& y) { return x + y; }, f32(1));
  }).join();
  EXPECT_THAT(message, HasSubstr("runs in another thread"));
}

TEST(Trace, NamesAnEmptyArrayInTheArgumentsAndTheResult) {
  struct Two {
    Array a, b;
  };
  EXPECT_THAT(
      message_of([] {
        make_graph([](const Two& t) { return t.a; }, Two{placeholder({DType::f32, {}}), {}});
      }),
      HasSubstr("argument 0 `.b` is an empty Array"));
  EXPECT_THAT(usage_error_of(
                  [](const Array& x) {
                    return std::vector<Two>{{x, {}}};
                  },
                  f32(1)),
              HasSubstr("the result `[0].b` is an empty Array"));
}

TEST(Trace, GivesCallablesRvalues) {
  struct Owner {
    Array a;
    Owner(Array x) : a(std::move(x)) {}
    Owner(Owner&&) = default;
    Owner& operator=(Owner&&) = default;

   private:
    friend struct gnomon::TreeAccess;
    Owner(const Owner&) = default;
    static auto fields(Owner& o) { return std::tie(o.a); }
  };
  const Owner owner{placeholder({DType::f32, {}})};
  const auto traced = make_graph([](Owner o) { return Owner(o.a + 1); }, owner);
  EXPECT_EQ(traced.result.a.aval(), (Aval{DType::f32, {}}));
}

TEST(EvalShape, NeedsNoTraceAndRecordsNothing) {
  struct Out {
    Array sum;
    int n = 0;
  };
  const Out out = eval_shape(
      [](const Array& x, int n) {
        return Out{sum(x, 0), n};
      },
      abstract_array(DType::f32, {3, 4}), 5);
  EXPECT_EQ(out.sum.aval(), (Aval{DType::f32, {4}}));
  EXPECT_EQ(out.n, 5);
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(EvalShape, ItsArraysHaveNoElements) {
  const Array a = abstract_array(DType::f32, {2});
  EXPECT_THAT(usage_error_of([&](const Array& x) { return x + a; }, f32({1, 2})),
              HasSubstr("an abstract f32[2] has no elements"));
}

}  // namespace
}  // namespace gnomon::test
