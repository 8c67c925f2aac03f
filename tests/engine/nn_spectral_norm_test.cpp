// tests/engine/nn_spectral_norm_test.cpp -- weights over their largest singular value.
#include "gnomon/nn/spectral_norm.h"

#include <cmath>

#include "gnomon/nn/inference.h"
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using test::f32;
using ::testing::HasSubstr;
using Normed = nn::SpectralNorm<nn::Linear>;

constexpr int rows = 2, columns = 3;

/// {y, u, v} of one call from a state that is given.
template <bool inference>
Array layer(Parts parts) {
  const Array w = parts({rows, columns}), x = parts({columns}), u = parts({rows}),
              v = parts({columns});
  auto made =
      make_with_state(Normed{{w},
                             StateIndex(nn::detail::SingularPair{zeros_like(u), zeros_like(v)}),
                             2,
                             1e-12,
                             inference});
  State state = std::move(made.state).set(made.model.vectors, {u, v});
  auto [y, next] = made.model(x, std::move(state));
  const auto pair = next.get(made.model.vectors);
  return concatenate({y, pair.left, pair.right});
}

template <bool inference>
Numbers loop(NumberParts parts) {
  const double *w = parts(rows * columns), *x = parts(columns), *u0 = parts(rows),
               *v0 = parts(columns);
  Numbers u(u0, u0 + rows), v(v0, v0 + columns);
  const auto shorten = [](Numbers& a) {
    double s = 0;
    for (double e : a) s += e * e;
    for (double& e : a) e /= std::sqrt(s);
  };
  for (int k = 0; k < (inference ? 0 : 2); ++k) {
    for (int j = 0; j < columns; ++j) v[j] = u[0] * w[j] + u[1] * w[columns + j];
    shorten(v);
    for (int i = 0; i < rows; ++i) {
      u[i] = 0;
      for (int j = 0; j < columns; ++j) u[i] += w[i * columns + j] * v[j];
    }
    shorten(u);
  }
  double sigma = 0;
  Numbers y(rows, 0.0);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      sigma += u[i] * w[i * columns + j] * v[j];
      y[i] += w[i * columns + j] * x[j];
    }
  for (double& e : y) e /= sigma;
  y.insert(y.end(), u.begin(), u.end());
  y.insert(y.end(), v.begin(), v.end());
  return y;
}

constexpr Dim all_numbers = rows * columns + columns + rows + columns;

TEST(SpectralNorm, InferenceAndItsDerivativesAreTheLoop) {
  expect_as_looped({"inference", all_numbers, [](Parts p) { return layer<true>(std::move(p)); },
                    [](NumberParts p) { return loop<true>(std::move(p)); }});
}

TEST(SpectralNorm, TrainingIteratesAndTakesTheVectorsAsConstant) {
  const Numbers all = grid(all_numbers);
  const auto values = [](const Array& flat) { return layer<false>(Parts(flat)); };
  test::expect_near(test::run(values, f32(all)), loop<false>(NumberParts(all)), 1e-5);
  test::expect_near(test::run(values, test::host(DType::f64, {all_numbers}, all)),
                    loop<false>(NumberParts(all)), 1e-10);

  // The gradient by the weight is that of inference with the vectors that came out.
  const Numbers after = loop<false>(NumberParts(all));
  Numbers fixed = all;
  std::copy(after.begin() + rows, after.end(), fixed.end() - rows - columns);
  const auto first = [](const Array& y) { return y[0] + 2 * y[1]; };
  const auto slope = [&](auto f) {
    return [=](const Array& flat) {
      return grad([&](const Array& a) { return first(f(Parts(a))); })(flat);
    };
  };
  const Numbers got = test::run(slope(layer<false>), f32(all)),
                want = test::run(slope(layer<true>), f32(fixed));
  test::expect_near(Numbers(got.begin(), got.begin() + rows * columns),
                    Numbers(want.begin(), want.begin() + rows * columns));
}

TEST(SpectralNorm, FindsTheLargestSingularValue) {
  // Singular values 4 and 1 in turned axes.
  const auto all = [](const Array& x) {
    const Array w = full({1, 1}, 1.0f) * stack({stack({full({}, 2.5f), full({}, 1.5f)}),
                                                stack({full({}, 1.5f), full({}, 2.5f)})});
    auto made = make_with_state(Normed::make({w}, random::key(5)));
    const Array y = made.model(x, made.state.clone()).first;
    const Array z = nn::inference(made.model)(x, std::move(made.state)).first;
    return concatenate({y, z});
  };
  test::expect_near(test::run(all, f32({1, 1})), {1, 1, 1, 1});
  const auto vector = [](const Array& x) { return Normed::make({x}, random::key(5)).layer.weight; };
  EXPECT_THAT(test::usage_error_of(vector, f32({1, 2})),
              HasSubstr("nn::SpectralNorm: the weight is f32[2] and no matrix; name an array of "
                        "two axes or more, or use WeightNorm (nn_spectral_norm_test.cpp:"));
}

}  // namespace
}  // namespace gnomon::testing
