// tests/codegen/numbers_test.cpp -- C++ numbers arrive with all the digits that the dtype they are
// asked for in holds.
#include <cstdint>
#include <limits>

#include "gnomon/complex.h"
#include "gnomon/indexing.h"
#include "gnomon/numeric.h"
#include "gnomon/random.h"
#include "gnomon/sorting.h"
#include "gnomon/tree.h"
#include "tests/codegen/graph_host.h"

namespace gnomon {
namespace {

using test::host;
using test::Numbers;
using test::run_arrays;

constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;  // no double
constexpr std::uint64_t larger = 0xfedcba9876543211u;        // no i64 either

template <class F>
std::int64_t integer_of(F&& f) {
  return run_arrays(f)[0].integer(0);
}
template <class F>
double double_of(F&& f) {
  const HostArray y = run_arrays(f)[0];
  EXPECT_EQ(y.aval.dtype, DType::f64);
  return y.number(0);
}

TEST(Numbers, FillArraysOfANamedDtype) {
  EXPECT_EQ(double_of([] { return full({1}, 0.1, DType::f64); }), 0.1);
  EXPECT_EQ(double_of([] { return full({1}, 1e300, DType::f64); }), 1e300);
  EXPECT_EQ(double_of([] { return full({1}, large - 2, DType::f64); }), 0x1p53 - 1);
  EXPECT_EQ(integer_of([] { return full({1}, 3000000000u, DType::u32); }), 3000000000);
  EXPECT_EQ(integer_of([] { return full({1}, 1LL << 40, DType::i64); }), 1LL << 40);
  EXPECT_EQ(integer_of([] { return full({1}, large, DType::i64); }), large);
  EXPECT_EQ(static_cast<std::uint64_t>(integer_of([] { return full({1}, larger, DType::u64); })),
            larger);
  EXPECT_EQ(run_arrays([] { return full({1}, 5, DType::boolean); })[0].integer(0), 1);
}

TEST(Numbers, RoundOnceToFloats) {
  // Halfway between floats but for the last bit, which a double does not hold.
  constexpr std::int64_t tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  constexpr std::uint64_t tie_above = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 39) + 1;
  EXPECT_EQ(run_arrays([] { return full({1}, tie, DType::f32); })[0].number(0), 0x1.000002p60);
  EXPECT_EQ(run_arrays([] { return full({1}, tie_above, DType::f32); })[0].number(0),
            0x1.000002p63);
  EXPECT_EQ(run_arrays([] { return full({1}, tie_above, DType::bf16); })[0].number(0), 0x1p63);
  EXPECT_EQ(double_of([] { return full({1}, tie_above, DType::f64); }), 0x1.0000010000000p63);
}

TEST(Numbers, FillAndCastLikeAnArray) {
  const HostArray f64 = host(DType::f64, {2}, {1, 2}), i64 = host(DType::i64, {2}, {1, 2});
  const auto like = [](auto value) {
    return [value](const Array& x) { return full_like(x, value); };
  };
  EXPECT_EQ(test::run(like(0.1), f64), (Numbers{0.1, 0.1}));
  EXPECT_EQ(run_arrays(like(large), i64)[0].integer(1), large);
  EXPECT_EQ(double_of([] { return cast(0.1, DType::f64); }), 0.1);
  EXPECT_EQ(integer_of([] { return cast(large, DType::i64); }), large);
  EXPECT_EQ(integer_of([] { return cast(3000000000u, DType::u32); }), 3000000000);
  EXPECT_EQ(integer_of([] { return cast(300, DType::u8); }), 44);
  EXPECT_EQ(integer_of([] { return cast(-1, DType::u32); }), 4294967295);
  EXPECT_EQ(integer_of([] { return cast(0.5, DType::boolean); }), 1);
}

TEST(Numbers, MeetArraysOfAWiderDtype) {
  const HostArray f64 = host(DType::f64, {1}, {1}), i64 = host(DType::i64, {1}, {0});
  const HostArray u64 = host(DType::u64, {1}, {0});
  EXPECT_EQ(test::run([](const Array& x) { return x * 0.1; }, f64), Numbers{0.1});
  EXPECT_EQ(test::run([](const Array& x) { return where(x > 0, 0.1, x); }, f64), Numbers{0.1});
  EXPECT_EQ(test::run([](const Array& x) { return clip(x, 0.1, 0.7); }, f64), Numbers{0.7});
  EXPECT_EQ(test::run(
                [](const Array& x) {
                  return pad(x, {{1, 0}}, 0.1);
                },
                f64),
            (Numbers{0.1, 1}));
  EXPECT_EQ(run_arrays([](const Array& x) { return maximum(x, large); }, i64)[0].integer(0), large);
  EXPECT_EQ(
      run_arrays([](const Array& x) { return where(1LL << 40, large, x); }, i64)[0].integer(0),
      large);
  EXPECT_EQ(run_arrays([](const Array& x) { return x + larger; }, u64)[0].integer(0),
            static_cast<std::int64_t>(larger));
  EXPECT_EQ(test::run([](const Array& x) { return x < larger; }, u64), Numbers{1});
  EXPECT_EQ(run_arrays([](const Array& x) { return x.at(0).set(large); }, i64)[0].integer(0),
            large);
  EXPECT_EQ(run_arrays([](const Array& x) { return tree::scale(large, x + 1); }, i64)[0].integer(0),
            large);
  EXPECT_EQ(test::run([](const Array& edges) { return digitize(0.1, edges); },
                      host(DType::f64, {1}, {0.1})),
            Numbers{1});
}

TEST(Numbers, FillWhatIsMissing) {
  const HostArray i64 = host(DType::i64, {2}, {7, 7});
  const auto taken = [](const Array& x) {
    return take(x, array({5}), 0, {.mode = ReadMode::fill, .fill_value = large});
  };
  EXPECT_EQ(run_arrays(taken, i64)[0].integer(0), large);
  const auto distinct = [](const Array& x) { return unique(x, 2, large).values; };
  EXPECT_EQ(run_arrays(distinct, i64)[0].integer(1), large);
}

TEST(Numbers, AreCarriedAndReturned) {
  const auto carried = [](const Array& x) {
    return while_loop([](const Array& a) { return a < 1; }, [](const Array&) { return large; }, x,
                      {.max_steps = 3});
  };
  EXPECT_EQ(run_arrays(carried, host(DType::i64, {}, {0}))[0].integer(0), large);
  const auto chosen = [](const Array& x) {
    return cond(
        x < 1, [&] { return large; }, [&] { return x; });
  };
  EXPECT_EQ(run_arrays(chosen, host(DType::i64, {}, {0}))[0].integer(0), large);
  const auto too_large = [](const Array& x) {
    return cond(
        x < 1, [&] { return 300; }, [&] { return x; });
  };
  EXPECT_THAT(test::usage_error_of(too_large, host(DType::u8, {}, {0})),
              ::testing::HasSubstr("gnomon::cond: 300 does not fit u8"));
}

TEST(Numbers, PolarTakesTheDtypeOfItsArray) {
  const auto parts = [](const Array& r) {
    const Complex z = polar(r, 0.1);
    return std::pair{z.re, z.im};
  };
  const auto y = run_arrays(parts, host(DType::f64, {}, {2}));
  EXPECT_EQ(y[0].number(0), 2 * std::cos(0.1));
  EXPECT_EQ(y[1].number(0), 2 * std::sin(0.1));
  const auto turned = run_arrays(
      [](const Array& a) {
        const Complex z = polar(0.1, a);
        return std::pair{z.re, z.im};
      },
      host(DType::f64, {}, {0}));
  EXPECT_EQ(turned[0].number(0), 0.1);
  // A number over a pair of halves is a pair of halves.
  const auto inverse = [](const Array& a) {
    const Complex z = 1 / complex(a, a);
    return std::pair{z.re, z.im};
  };
  EXPECT_EQ(run_arrays(inverse, host(DType::f16, {}, {2}))[1].aval.dtype, DType::f16);
}

TEST(Numbers, CountInTheNamedDtype) {
  const auto numbers = [](auto f) { return test::run(f); };
  EXPECT_EQ(numbers([] { return arange(0.1, 0.35, 0.1, DType::f64); }),
            (Numbers{0.1, 0.1 + 0.1, 2 * 0.1 + 0.1}));
  EXPECT_EQ(numbers([] { return arange(3, DType::u8); }), (Numbers{0, 1, 2}));
  const auto far = run_arrays([] { return arange(large, large + 5, 2, DType::i64); })[0];
  ASSERT_EQ(far.size(), 3);
  EXPECT_EQ(far.integer(2), large + 4);
  const auto down = run_arrays([] { return arange(large, large - 3, -1, DType::i64); })[0];
  ASSERT_EQ(down.size(), 3);
  EXPECT_EQ(down.integer(2), large - 2);
  const auto top = run_arrays([] { return arange(larger, larger + 2, 1, DType::u64); })[0];
  ASSERT_EQ(top.size(), 2);
  EXPECT_EQ(static_cast<std::uint64_t>(top.integer(1)), larger + 1);
  EXPECT_EQ(numbers([] { return linspace(0.1, 0.3, 2, {.dtype = DType::f64}); }),
            (Numbers{0.1, 0.3}));
  EXPECT_THAT(test::usage_error_of([] { return arange(0.5, DType::i32); }),
              ::testing::HasSubstr("from 0 to 0.5 by 1 in i32; name a type of floats"));
}

TEST(Numbers, KeysFoldInEveryWord) {
  const auto words = [](auto data) {
    return run_arrays([=] { return random::fold_in(random::key(3), data).words(); })[0];
  };
  const auto by_array = run_arrays(
      [] { return random::fold_in(random::key(3), full({}, 3000000000u, DType::u32)).words(); })[0];
  EXPECT_EQ(words(3000000000u), by_array);
  EXPECT_EQ(words(-1), words(4294967295u));
}

TEST(Numbers, ThatDoNotFitAreRefused) {
  const auto error = [](auto f) { return test::usage_error_of(f); };
  EXPECT_THAT(error([] { return full({1}, -1, DType::u32); }),
              ::testing::HasSubstr("gnomon::full: -1 does not fit u32; name a type that holds it"));
  EXPECT_THAT(error([] { return full({1}, larger, DType::i64); }),
              ::testing::HasSubstr("18364758544493064721 does not fit i64"));
  EXPECT_THAT(
      error([] { return full({1}, 3000000000u); }),
      ::testing::HasSubstr("3000000000 does not fit i32, the type of C++ integers that meet "
                           "no array; name one that holds it: full({}, 3000000000, "
                           "DType::u32)"));
  const auto plus = [](const Array& x) { return x + larger; };
  EXPECT_THAT(test::usage_error_of(plus, host(DType::i64, {1}, {0})),
              ::testing::HasSubstr("does not fit i64; cast the array to a type that holds it"));
}

}  // namespace
}  // namespace gnomon
