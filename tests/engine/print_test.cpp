// tests/engine/print_test.cpp -- arrays as text; every expected text was printed by NumPy 1.24.
#include <cmath>
#include <numeric>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class Printing : public DeviceTest {
 protected:
  Array floats(const std::vector<float>& values, const Shape& shape) {
    return rt.from_host(values, shape);
  }
  template <class T>
  Array counting(std::size_t n, const Shape& shape) {
    std::vector<T> values(n);
    std::iota(values.begin(), values.end(), T{0});
    return rt.from_host(values, shape);
  }
};

TEST_F(Printing, KeepPointsInOneColumn) {
  EXPECT_EQ(to_string(rt, floats({1, 2.5f, -3}, {3})), R"([ 1.   2.5 -3. ])");
}

TEST_F(Printing, UseExponentsWhenMagnitudesDiffer) {
  EXPECT_EQ(to_string(rt, floats({1, 0.1f, 1e-3f, 100}, {2, 2})), R"([[1.e+00 1.e-01]
 [1.e-03 1.e+02]])");
}

TEST_F(Printing, UseExponentsForLargeNumbers) {
  EXPECT_EQ(to_string(rt, floats({1e10f, 1, 0}, {3})), R"([1.e+10 1.e+00 0.e+00])");
}

TEST_F(Printing, PadNotANumberAndInfinity) {
  EXPECT_EQ(to_string(rt, floats({NAN, 1, -INFINITY}, {3})), R"([ nan   1. -inf])");
}

TEST_F(Printing, SeparateBlocksByBlankLines) {
  EXPECT_EQ(to_string(rt, counting<std::int32_t>(12, {2, 2, 3})), R"([[[ 0  1  2]
  [ 3  4  5]]

 [[ 6  7  8]
  [ 9 10 11]]])");
}

TEST_F(Printing, AlignBooleans) {
  EXPECT_EQ(to_string(rt, rt.from_host(std::vector<bool>{true, false})), R"([ True False])");
}

TEST_F(Printing, WrapAtSeventyFiveColumns) {
  EXPECT_EQ(to_string(rt, floats({0, 1 / 6.0f, 2 / 6.0f, 3 / 6.0f, 4 / 6.0f, 5 / 6.0f, 1}, {7})),
            R"([0.         0.16666667 0.33333334 0.5        0.6666667  0.8333333
 1.        ])");
}

TEST_F(Printing, SummariseLongVectors) {
  EXPECT_EQ(to_string(rt, counting<float>(2000, {2000})),
            R"([0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03])");
}

TEST_F(Printing, SummariseBothAxes) {
  EXPECT_EQ(to_string(rt, counting<std::int32_t>(1200, {30, 40})),
            R"([[   0    1    2 ...   37   38   39]
 [  40   41   42 ...   77   78   79]
 [  80   81   82 ...  117  118  119]
 ...
 [1080 1081 1082 ... 1117 1118 1119]
 [1120 1121 1122 ... 1157 1158 1159]
 [1160 1161 1162 ... 1197 1198 1199]])");
}

TEST_F(Printing, WrapWholeNumbers) {
  EXPECT_EQ(to_string(rt, counting<float>(40, {40})),
            R"([ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.
 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35.
 36. 37. 38. 39.])");
}

TEST_F(Printing, LimitDoublesToEightDigits) {
  EXPECT_EQ(to_string(rt, rt.from_host(std::vector<double>{1 / 3.0})), R"([0.33333333])");
}

TEST_F(Printing, WidenExponentsOfDoubles) {
  EXPECT_EQ(to_string(rt, rt.from_host(std::vector<double>{1.5e200, 1})), R"([1.5e+200 1.0e+000])");
}

TEST_F(Printing, PadFractionsWithBlanks) {
  EXPECT_EQ(to_string(rt, rt.run([x = counting<float>(24, {2, 3, 4})] { return x / 4; })),
            R"([[[0.   0.25 0.5  0.75]
  [1.   1.25 1.5  1.75]
  [2.   2.25 2.5  2.75]]

 [[3.   3.25 3.5  3.75]
  [4.   4.25 4.5  4.75]
  [5.   5.25 5.5  5.75]]])");
}

TEST_F(Printing, KeepTheSignApart) {
  EXPECT_EQ(to_string(rt, floats({1, -1e10f}, {2})), R"([ 1.e+00 -1.e+10])");
}

TEST_F(Printing, WrapInsideRows) {
  EXPECT_EQ(to_string(rt, counting<float>(60, {2, 30})),
            R"([[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.
  18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]
 [30. 31. 32. 33. 34. 35. 36. 37. 38. 39. 40. 41. 42. 43. 44. 45. 46. 47.
  48. 49. 50. 51. 52. 53. 54. 55. 56. 57. 58. 59.]])");
}

TEST_F(Printing, MixEverything) {
  EXPECT_EQ(to_string(rt, floats({1e10f, -2.5e-7f, NAN, INFINITY}, {4})),
            R"([ 1.0e+10 -2.5e-07      nan      inf])");
}

TEST_F(Printing, KeepTheSignOfZero) {
  EXPECT_EQ(to_string(rt, floats({-0.0f, 0}, {2})), R"([-0.  0.])");
}

TEST_F(Printing, ShowSingleNumbersWithAllTheirDigits) {
  EXPECT_EQ(to_string(rt, rt.from_host(3.5f)), "3.5");
  EXPECT_EQ(to_string(rt, rt.from_host(2.0f)), "2.0");
  EXPECT_EQ(to_string(rt, rt.from_host(1e10f)), "10000000000.0");
  EXPECT_EQ(to_string(rt, rt.from_host(1e17)), "1e+17");
  EXPECT_EQ(to_string(rt, rt.from_host(1e-5f)), "1e-05");
  EXPECT_EQ(to_string(rt, rt.from_host(1 / 3.0)), "0.3333333333333333");
  EXPECT_EQ(to_string(rt, rt.from_host(-7)), "-7");
  EXPECT_EQ(to_string(rt, rt.from_host(true)), "True");
}

TEST_F(Printing, ShowArraysWithoutElements) { EXPECT_EQ(to_string(rt, floats({}, {2, 0})), "[]"); }

}  // namespace
}  // namespace gnomon::testing
