// tests/codegen/loop_derivatives_test.cpp -- derivatives of while_loop_counted and compact against
// closed forms, on the host reference.
#include "tests/codegen/graph_host.h"
#include "tests/support/closed_forms.h"

namespace gnomon::test {
namespace {

using namespace gnomon::testing;

void expect_close(const Numbers& got, const Numbers& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-4 * (1 + std::fabs(want[i]))) << i;
}

template <class F, class... H>
Numbers values_of(F&& f, const H&... inputs) {
  return numbers(evaluate(graph_of(f, inputs...), {inputs...})[0]);
}

TEST(CountedLoops, HaveTheDerivativesOfTheirSteps) {
  for (const int most : {4, 40})
    for (const WhileOptions& options : grown_options(most)) {
      const auto end = [&](const Array& x, const Array& p) { return grown(x, p, options).end; };
      const auto of_p = [&](const Array& x, const Array& p) {
        return grad([&](const Array& q) { return end(x, q); })(p);
      };
      const HostArray x = f32(1.5), p = f32(1.3);
      const GrownForms want = grown_forms(1.5, 1.3, most);
      const auto of_x = [&](const Array& a, const Array& b) {
        return grad([&](const Array& v) { return end(v, b); })(a);
      };
      expect_close(values_of(of_x, x, p), {want.of_x});
      expect_close(values_of(of_p, x, p), {want.of_p});
      expect_close(values_of(
                       [&](const Array& a, const Array& b) {
                         return jvp([&](const Array& q) { return of_p(a, q); }, b, ones({})).second;
                       },
                       x, p),
                   {want.of_p_twice});
      expect_close(values_of(
                       [&](const Array& a, const Array& b) {
                         return jvp([&](const Array& q) { return end(a, q); }, b, ones({})).second;
                       },
                       x, p),
                   {want.of_p});
    }
}

TEST(CountedLoops, HaveThemLaneByLane) {
  const Numbers starts{0.2, 1.5, 9.0, 11.0, 3.3};
  for (const WhileOptions& options : grown_options(30)) {
    const auto slopes = [&](const Array& x, const Array& p) {
      return vmap([&](const Array& v) {
        return grad([&](const Array& q) { return grown(v, q, options).end; })(p);
      })(x);
    };
    Numbers want;
    for (const double x : starts) want.push_back(grown_forms(x, 1.3, 30).of_p);
    expect_close(values_of(slopes, f32(starts), f32(1.3)), want);
  }
}

TEST(Compact, HasTheDerivativeOfTheRowsThatAreLeft) {
  const std::vector<float> x{1, -2, 3, 0.5f, -1, 2, 4, -3};
  const std::vector<bool> mask{true, false, true, true};
  HostArray m(Aval{DType::boolean, {4}});
  for (Dim i = 0; i < 4; ++i) m.set_integer(i, mask[static_cast<std::size_t>(i)]);
  const HostArray rows = f32({4, 2}, Numbers(x.begin(), x.end()));
  for (const Dim size : {1, 2, 3, 4, 6}) {
    const std::vector<double> want = weighted_rows_form(x, mask, size);
    expect_close(values_of(
                     [&](const Array& a, const Array& b) {
                       return grad([&](const Array& v) { return weighted_rows(v, b, size); })(a);
                     },
                     rows, m),
                 want);
    double along = 0;
    for (const double d : want) along += d;
    expect_close(values_of(
                     [&](const Array& a, const Array& b) {
                       return jvp([&](const Array& v) { return weighted_rows(v, b, size); }, a,
                                  ones_like(a))
                           .second;
                     },
                     rows, m),
                 {along});
  }
}

}  // namespace
}  // namespace gnomon::test
