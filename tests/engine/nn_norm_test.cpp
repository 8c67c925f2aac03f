// tests/engine/nn_norm_test.cpp -- norms, LSTM cells and learned slopes on the host reference.
#include <cmath>

#include "tests/codegen/host_random.h"
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using test::HostKey;
using ::testing::HasSubstr;

/// Groups of `size` numbers brought to mean 0 and variance 1.
Numbers normalised(const double* x, int n, int size, double eps) {
  Numbers y;
  for (int g = 0; g < n; g += size) {
    double sum = 0, squares = 0;
    for (int i = 0; i < size; ++i) sum += x[g + i];
    for (int i = 0; i < size; ++i) squares += std::pow(x[g + i] - sum / size, 2);
    for (int i = 0; i < size; ++i)
      y.push_back((x[g + i] - sum / size) / std::sqrt(squares / size + eps));
  }
  return y;
}

TEST(NnNorm, GiveWhatLoopsGiveAndTheirDerivatives) {
  const LayerCase cases[] = {
      {"RMSNorm", 3 * 5,
       [](Parts part) {
         const Array w = part({5}), b = part({5});
         return nn::RMSNorm{{5}, w, b, 1e-2}(part({5}));
       },
       [](NumberParts part) {
         const double *w = part(5), *b = part(5), *x = part(5);
         double squares = 0;
         for (int i = 0; i < 5; ++i) squares += x[i] * x[i] / 5;
         Numbers y;
         for (int i = 0; i < 5; ++i) y.push_back(x[i] / std::sqrt(squares + 1e-2) * w[i] + b[i]);
         return y;
       }},
      {"GroupNorm", 4 + 4 + 24,
       [](Parts part) {
         const Array w = part({4}), b = part({4});
         return nn::GroupNorm{2, 4, w, b, 1e-3}(part({4, 2, 3}));
       },
       [](NumberParts part) {
         const double *w = part(4), *b = part(4), *x = part(24);
         Numbers y = normalised(x, 24, 12, 1e-3);
         for (int i = 0; i < 24; ++i) y[std::size_t(i)] = y[std::size_t(i)] * w[i / 6] + b[i / 6];
         return y;
       }},
      {"InstanceNorm", 3 + 3 + 12,
       [](Parts part) {
         const Array w = part({3}), b = part({3});
         return nn::InstanceNorm{3, w, b}(part({3, 4}));
       },
       [](NumberParts part) {
         const double *w = part(3), *b = part(3), *x = part(12);
         Numbers y = normalised(x, 12, 4, 1e-5);
         for (int i = 0; i < 12; ++i) y[std::size_t(i)] = y[std::size_t(i)] * w[i / 4] + b[i / 4];
         return y;
       }},
      {"PReLU", 1 + 6,
       [](Parts part) {
         const Array slope = part({});
         return nn::PReLU{slope}(part({6}));
       },
       [](NumberParts part) {
         const double *slope = part(1), *x = part(6);
         Numbers y;
         for (int i = 0; i < 6; ++i) y.push_back(x[i] >= 0 ? x[i] : *slope * x[i]);
         return y;
       }},
      {"WeightNorm by row", 6 + 2 + 2 + 3,
       [](Parts part) {
         const Array v = part({2, 3}), b = part({2}), g = part({2, 1});
         return nn::WeightNorm<nn::Linear>{{v, b}, g}(part({3}));
       },
       [](NumberParts part) {
         const double *v = part(6), *b = part(2), *g = part(2), *x = part(3);
         Numbers y;
         for (int i = 0; i < 2; ++i) {
           double length = 0, product = 0;
           for (int j = 0; j < 3; ++j) length += v[3 * i + j] * v[3 * i + j];
           for (int j = 0; j < 3; ++j) product += v[3 * i + j] * x[j];
           y.push_back(g[i] * product / std::sqrt(length) + b[i]);
         }
         return y;
       }},
      {"WeightNorm of all", 6 + 1 + 3,
       [](Parts part) {
         const Array v = part({2, 3}), g = part({1, 1});
         return nn::WeightNorm<nn::Linear>{{v}, g, {}}(part({3}));
       },
       [](NumberParts part) {
         const double *v = part(6), *g = part(1), *x = part(3);
         double length = 0;
         for (int j = 0; j < 6; ++j) length += v[j] * v[j];
         Numbers y;
         for (int i = 0; i < 2; ++i) {
           double product = 0;
           for (int j = 0; j < 3; ++j) product += v[3 * i + j] * x[j];
           y.push_back(*g * product / std::sqrt(length));
         }
         return y;
       }},
      {"LSTMCell", 16 + 16 + 8 + 2 + 2 + 2,
       [](Parts part) {
         const Array ih = part({8, 2}), hh = part({8, 2}), b = part({8});
         const Array x = part({2}), h = part({2});
         const auto [next, cell] = nn::LSTMCell{ih, hh, b}(x, {h, part({2})});
         return concatenate({next, cell});
       },
       [](NumberParts part) {
         const double *ih = part(16), *hh = part(16), *b = part(8), *x = part(2), *h = part(2),
                      *c = part(2);
         const auto gate = [&](int row) {
           return ih[2 * row] * x[0] + ih[2 * row + 1] * x[1] + hh[2 * row] * h[0] +
                  hh[2 * row + 1] * h[1] + b[row];
         };
         const auto squash = [](double v) { return 1 / (1 + std::exp(-v)); };
         Numbers hidden, cell;
         for (int k = 0; k < 2; ++k) {
           cell.push_back(squash(gate(2 + k)) * c[k] + squash(gate(k)) * std::tanh(gate(4 + k)));
           hidden.push_back(squash(gate(6 + k)) * std::tanh(cell.back()));
         }
         hidden.insert(hidden.end(), cell.begin(), cell.end());
         return hidden;
       }},
  };
  for (const LayerCase& c : cases) expect_as_looped(c);
}

TEST(NnNorm, BeginAsTheyShould) {
  const auto all = test::run_all([] {
    const Key key = random::key(7);
    const auto linear = nn::Linear::make(3, 2, key.clone());
    const auto normed = nn::WeightNorm<nn::Linear>::make(linear);
    const auto whole = nn::WeightNorm<nn::Linear>::make(linear, {.axis = {}});
    const Array x = array({0.5, -1.0, 2.0}, DType::f32);
    return std::tuple{nn::LSTMCell::make(3, 4, key.clone()),
                      nn::GroupNorm::make(2, 4),
                      nn::PReLU::make(),
                      linear(x),
                      normed(x),
                      whole(x)};
  });
  const auto keys = HostKey(7).split(3);
  const std::size_t sizes[] = {48, 64, 16};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto draws = keys[i].uniform(sizes[i], -0.5f, 0.5f);
    EXPECT_EQ(all.at(i), Numbers(draws.begin(), draws.end())) << i;
  }
  EXPECT_EQ(all.at(3), Numbers(4, 1));
  EXPECT_EQ(all.at(4), Numbers(4, 0));
  EXPECT_EQ(all.at(5), Numbers{0.25});
  test::expect_near(all.at(7), all.at(6), 1e-6);
  test::expect_near(all.at(8), all.at(6), 1e-6);
}

TEST(NnNorm, SayWhatDoesNotFit) {
  const HostArray x = test::counting({6, 2});
  const auto with = [](auto layer) { return [=](const Array& in) { return layer(in); }; };
  EXPECT_THAT(test::usage_error_of(with(nn::GroupNorm{2, 4}), x),
              HasSubstr("gnomon::nn::GroupNorm: the input is f32[6,2], the layer takes 4 channels "
                        "along the first axis"));
  EXPECT_THAT(test::usage_error_of(with(nn::RMSNorm{{2}}), x),
              HasSubstr("gnomon::nn::RMSNorm: the input is f32[6,2], the layer takes [2]; a layer "
                        "acts on one example"));
  EXPECT_THAT(test::usage_error_of([](const Array&) { return nn::GroupNorm::make(3, 4); }, x),
              HasSubstr("4 channels are not 3 groups of equal size; choose a divisor"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) {
                    return nn::LSTMCell::make(2, 3, random::key(0))(in[0], {in[0], in[0]}).hidden;
                  },
                  x),
              HasSubstr("nn::LSTMCell: the hidden state has 2 features, the layer takes 3"));
  EXPECT_THAT(
      test::usage_error_of(
          [](const Array& in) { return nn::WeightNorm<nn::Linear>::make({in}, {.axis = 2}).g; }, x),
      HasSubstr("gnomon::nn::WeightNorm: axis 2 of a weight f32[6,2]"));
}

}  // namespace
}  // namespace gnomon::testing
