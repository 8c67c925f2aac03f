// tests/codegen/reflect_test.cpp -- fields, their names, and parameter structs derived from them.
#include "gnomon/detail/reflect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "codegen/graph/params.h"
#include "gnomon/array.h"

namespace gnomon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<std::string> names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<std::string>{std::string(reflect::field_name<T, I>())...};
  }
  (std::make_index_sequence<reflect::field_count<T>()>{});
}

struct Linear {
  Array weight, bias;
  bool use_bias = true;
};
struct Mixed {
  std::vector<Linear> layers;
  std::optional<int> count;
  std::optional<Array> maybe;
  std::string text;
  Shape shape;
  std::array<Linear, 2> two;
  std::pair<Array, int> pair;
  std::tuple<int, Array> tuple;
  double (*function)(double) = nullptr;
  Linear last_one_2;
};
template <class T>
struct Wrapper {
  T value;
  std::vector<T> more;
};
struct Empty {};
class Closed {
 public:
  explicit Closed(int a) : a_(a) {}

 private:
  friend struct gnomon::TreeAccess;
  static auto fields(Closed& c) { return std::tie(c.a_, c.b_); }
  static constexpr std::array<std::string_view, 2> field_names{"a", "b"};
  int a_;
  double b_ = 2;
};
struct Wide {
  int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15;
  int f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30;
  Array f31;
};
struct WithCArray {
  int a;
  float b[3];
  int c;
};

TEST(Reflect, NamesTheFieldsOfAnAggregate) {
  EXPECT_THAT(names<Linear>(), ElementsAre("weight", "bias", "use_bias"));
  EXPECT_THAT(names<Mixed>(), ElementsAre("layers", "count", "maybe", "text", "shape", "two",
                                          "pair", "tuple", "function", "last_one_2"));
  EXPECT_THAT(names<Wrapper<Linear>>(), ElementsAre("value", "more"));
  EXPECT_THAT(names<Empty>(), ElementsAre());
}

TEST(Reflect, NamesTheFieldsOfLocalStructs) {
  struct Local {
    Array a_b;
    int c1;
  };
  EXPECT_THAT(names<Local>(), ElementsAre("a_b", "c1"));
}

TEST(Reflect, CountsUpTo32Fields) {
  EXPECT_EQ(reflect::field_count<Wide>(), 32u);
  EXPECT_EQ(names<Wide>().back(), "f31");
}

TEST(Reflect, ReachesThePrivateFieldsOfAClassThatListsThem) {
  EXPECT_THAT(names<Closed>(), ElementsAre("a", "b"));
  Closed closed(7);
  EXPECT_EQ(std::get<0>(reflect::fields(closed)), 7);
  std::get<1>(reflect::fields(closed)) = 3;
  EXPECT_EQ(std::get<1>(reflect::fields(std::as_const(closed))), 3);
}

TEST(Reflect, NoticesCArrays) {
  EXPECT_TRUE((reflect::detail::has_c_array<WithCArray, 5>()));
  EXPECT_FALSE((reflect::detail::has_c_array<Linear, 3>()));
}

TEST(Reflect, GivesReferencesToFields) {
  Linear l;
  std::get<2>(reflect::fields(l)) = false;
  EXPECT_FALSE(l.use_bias);
}

// ---- parameters

enum class Edge : std::uint8_t { clip, fill };
std::string_view name(Edge m) { return m == Edge::clip ? "clip" : m == Edge::fill ? "fill" : "?"; }

struct AllKinds {
  bool flag = false;
  int count = 0;
  Dim big = 0;
  std::uint64_t bits = 0;
  double x = 0;
  Edge mode = Edge::clip;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<int> axes;
  std::vector<Dim> starts;
  std::vector<bool> flags;
  std::optional<int> maybe;
  std::string text;
  Literal literal;
};

AllKinds example() {
  HostArray numbers(Aval{DType::f32, {2}});
  numbers.set_number(0, 0.1f);
  numbers.set_number(1, -0.0);
  return {true,   -3,     Dim{1} << 40, ~0ull,         0.1, Edge::fill,    DType::i64,
          {2, 3}, {0, 2}, {-1, 5},      {true, false}, 4,   "a \"b\"\n\\", Literal(numbers)};
}

std::string text_of(const Params& params) {
  std::string text;
  ParamPrinter printer(text, 0, false);
  params.print(printer);
  return text;
}

Params parsed(const std::string& text) {
  const std::string closed = text + "]";
  TextReader reader(closed);
  ParamParser parser(reader, true);
  Params result = parse_params<AllKinds>(parser);
  EXPECT_TRUE(reader.accept("]"));
  return result;
}

TEST(Params, PrintEveryKindOfField) {
  EXPECT_EQ(text_of(Params(example())),
            "flag=true count=-3 big=1099511627776 bits=18446744073709551615 x=0.1 mode=fill "
            "dtype=i64 shape=[2,3] axes=(0,2) starts=(-1,5) flags=(true,false) maybe=4 "
            "text=\"a \\\"b\\\"\\n\\\\\" literal=f32[2](0.1,-0)");
}

TEST(Params, ParseWhatTheyPrint) {
  for (const AllKinds& value : {AllKinds{}, example()}) {
    const Params params(value);
    EXPECT_EQ(parsed(text_of(params)), params) << text_of(params);
    EXPECT_EQ(parsed(text_of(params)).hash(), params.hash());
  }
}

TEST(Params, CompareDoublesByBits) {
  auto with = [](double x) {
    AllKinds value;
    value.x = x;
    return Params(value);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(with(nan), with(nan));
  EXPECT_FALSE(with(0.0) == with(-0.0));
  for (double x : {nan, -nan, std::bit_cast<double>(0x7ff8000000000123u), -0.0, HUGE_VAL, -HUGE_VAL,
                   5e-324, 1.7976931348623157e308, 1.0 / 3}) {
    EXPECT_EQ(parsed(text_of(with(x))), with(x)) << x;
  }
}

TEST(Params, DifferInEqualityAndHash) {
  AllKinds other = example();
  other.axes = {0, 1};
  EXPECT_FALSE(Params(other) == Params(example()));
  EXPECT_NE(Params(other).hash(), Params(example()).hash());
  EXPECT_FALSE(Params() == Params(example()));
  EXPECT_EQ(Params(), Params());
}

TEST(Params, NameTheKnownFieldsAndNames) {
  auto message = [](const std::string& text) -> std::string {
    try {
      parsed(text);
    } catch (const ParseError& error) {
      EXPECT_EQ(error.line, 1);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("colour=3"), HasSubstr("unknown parameter `colour`; known are flag, count"));
  EXPECT_THAT(message("mode=wrap"), HasSubstr("unknown name `wrap`; known are clip, fill"));
  EXPECT_THAT(message("count=many"), HasSubstr("expected an integer, found `many`"));
}

struct OtherParams {
  int count = 0;
};

TEST(Params, GiveBackOnlyTheirOwnType) {
  const Params params{OtherParams{3}};
  EXPECT_EQ(params.as<OtherParams>().count, 3);
  EXPECT_THROW(params.as<AllKinds>(), InternalError);
}

TEST(Literal, RoundTripsEveryElementType) {
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    HostArray array(Aval{static_cast<DType>(i), {3}});
    array.set_number(0, 1);
    array.set_number(1, is_unsigned(array.aval.dtype) ? 200 : -100);
    array.set_number(2, 0.3);
    AllKinds value;
    value.literal = Literal(array);
    EXPECT_EQ(parsed(text_of(Params(value))), Params(value)) << text_of(Params(value));
  }
}

}  // namespace
}  // namespace gnomon
