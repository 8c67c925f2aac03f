// tests/engine/nn_layers_test.cpp -- linear maps, perceptrons, embeddings, dropout, norms and cells
// on the host reference.
#include <cmath>

#include "gnomon/io.h"
#include "gnomon/partition.h"
#include "tests/codegen/host_random.h"
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using test::HostKey;
using ::testing::HasSubstr;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// weight x + bias.
Numbers affine(const double* w, const double* b, const double* x, int out, int in) {
  Numbers y;
  for (int i = 0; i < out; ++i) {
    y.push_back(b ? b[i] : 0);
    for (int j = 0; j < in; ++j) y.back() += w[i * in + j] * x[j];
  }
  return y;
}

Numbers normalised(const double* x, const double* w, const double* b, int n, double eps) {
  double mean = 0, variance = 0;
  for (int i = 0; i < n; ++i) mean += x[i] / n;
  for (int i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
  Numbers y;
  for (int i = 0; i < n; ++i) y.push_back((x[i] - mean) / std::sqrt(variance + eps) * w[i] + b[i]);
  return y;
}

TEST(NnLayers, EveryActivationIsAFunctionOfOneArray) {
  const nn::Activation all[] = {relu,      gelu,         silu, elu,     celu,       selu,
                                softmax,   log_softmax,  tanh, sigmoid, leaky_relu, hard_tanh,
                                soft_sign, hard_sigmoid, mish, relu6,   softplus,   log_sigmoid};
  const HostArray x = test::f32({-0.7, 0.3});
  for (const nn::Activation f : all)
    EXPECT_EQ(test::run([&](const Array& v) { return f(v); }, x).size(), 2u);
  test::expect_near(test::run([](const Array& v) { return nn::Lambda{elu}(v); }, x),
                    {std::expm1(-0.7f), 0.3f});
  test::expect_near(test::run([](const Array& v) { return nn::Lambda{softmax}(v); }, x),
                    {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0))});
}

TEST(NnLayers, GiveWhatLoopsGiveAndTheirDerivatives) {
  const LayerCase cases[] = {
      {"Linear", 6 + 2 + 3,
       [](Parts part) {
         const nn::Linear layer{part({2, 3}), part({2})};
         return layer(part({3}));
       },
       [](NumberParts part) {
         const double *w = part(6), *b = part(2), *x = part(3);
         return affine(w, b, x, 2, 3);
       }},
      {"Linear of scalars, without a bias", 2,
       [](Parts part) {
         nn::Linear layer{part({1, 1}), {}, true, true};
         const Array y = layer(part({}));
         EXPECT_EQ(y.rank(), 0);
         return y;
       },
       [](NumberParts part) {
         const double* w = part(2);
         return Numbers{w[0] * w[1]};
       }},
      {"Mlp", 12 + 4 + 16 + 4 + 8 + 2 + 3,
       [](Parts part) {
         nn::Mlp net{{}, tanh, sigmoid};
         for (const auto& [out, in] : {std::pair{4, 3}, {4, 4}, {2, 4}}) {
           const Array w = part({out, in});
           net.layers.push_back({w, part({out})});
         }
         return net(part({3}));
       },
       [](NumberParts part) {
         const double *w0 = part(12), *b0 = part(4), *w1 = part(16), *b1 = part(4), *w2 = part(8),
                      *b2 = part(2), *x = part(3);
         Numbers h = affine(w0, b0, x, 4, 3);
         for (double& v : h) v = std::tanh(v);
         h = affine(w1, b1, h.data(), 4, 4);
         for (double& v : h) v = std::tanh(v);
         h = affine(w2, b2, h.data(), 2, 4);
         for (double& v : h) v = sigmoid_of(v);
         return h;
       }},
      {"Embedding", 8,
       [](Parts part) {
         const nn::Embedding table{part({4, 2})};
         return concatenate({table(3), table(1), table(-1), table(9)});
       },
       [](NumberParts part) {
         const double* t = part(8);
         return Numbers{t[6], t[7], t[2], t[3], t[6], t[7], t[6], t[7]};
       }},
      {"LayerNorm", 3 * 6,
       [](Parts part) {
         const Array w = part({2, 3}), b = part({2, 3});
         return nn::LayerNorm{{2, 3}, w, b, 1e-2}(part({2, 3}));
       },
       [](NumberParts part) {
         const double *w = part(6), *b = part(6), *x = part(6);
         return normalised(x, w, b, 6, 1e-2);
       }},
      {"GRUCell", 18 + 27 + 9 + 3 + 2 + 3,
       [](Parts part) {
         const Array ih = part({9, 2}), hh = part({9, 3}), b = part({9}), n = part({3});
         const Array x = part({2});
         return nn::GRUCell{ih, hh, b, n}(x, part({3}));
       },
       [](NumberParts part) {
         const double *ih = part(18), *hh = part(27), *b = part(9), *bn = part(3), *x = part(2),
                      *h = part(3);
         const Numbers i = affine(ih, b, x, 9, 2), c = affine(hh, nullptr, h, 9, 3);
         Numbers next;
         for (std::size_t k = 0; k < 3; ++k) {
           const double r = sigmoid_of(i[k] + c[k]), z = sigmoid_of(i[3 + k] + c[3 + k]);
           const double n = std::tanh(i[6 + k] + r * (c[6 + k] + bn[k]));
           next.push_back((1 - z) * n + z * h[k]);
         }
         return next;
       }},
  };
  for (const LayerCase& c : cases) expect_as_looped(c);
}

/// The arrays of a tree that is made of a seed.
template <class F>
std::vector<Numbers> made(F make) {
  return test::run_all([&] { return make(random::key(7)); });
}
Numbers doubles(const std::vector<float>& x) { return {x.begin(), x.end()}; }

TEST(NnLayers, BeginWithEquinoxsDrawsOfTheSameKey) {
  const HostKey key(7);
  const auto at = [&](std::size_t i, std::size_t count, std::size_t n, double limit) {
    return doubles(key.split(count)[i].uniform(n, float(-limit), float(limit)));
  };
  const auto linear = made([](Key k) { return nn::Linear::make(3, 2, std::move(k)); });
  const double limit = 1 / std::sqrt(3.0);
  EXPECT_EQ(linear.at(0), at(0, 2, 6, limit));
  EXPECT_EQ(linear.at(1), at(1, 2, 2, limit));

  const auto mlp = made([](Key k) { return nn::Mlp::make(2, nn::scalar, 5, 2, std::move(k)); });
  ASSERT_EQ(mlp.size(), 6u);
  const auto keys = key.split(3);
  EXPECT_EQ(mlp[0], doubles(keys[0].split(2)[0].uniform(10, float(-1 / std::sqrt(2.0)),
                                                        float(1 / std::sqrt(2.0)))));
  EXPECT_EQ(mlp[5], doubles(keys[2].split(2)[1].uniform(1, float(-1 / std::sqrt(5.0)),
                                                        float(1 / std::sqrt(5.0)))));

  const auto cell = made([](Key k) { return nn::GRUCell::make(2, 4, std::move(k)); });
  ASSERT_EQ(cell.size(), 4u);
  const std::size_t sizes[] = {24, 48, 12, 4};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(cell[i], at(i, 4, sizes[i], 0.5)) << i;

  const auto table = made([](Key k) { return nn::Embedding::make(3, 2, std::move(k)); });
  test::expect_near(table.at(0), doubles(key.normal(6)), 1e-6);

  const auto norm = made([](Key) { return nn::LayerNorm::make({2}); });
  EXPECT_EQ(norm, (std::vector<Numbers>{{1, 1}, {0, 0}}));
}

TEST(NnLayers, LeaveOutWhatOptionsLeaveOut) {
  const auto count = [](const auto& tree) { return tree::leaf_count(tree); };
  test::run_all([&] {
    Key key = random::key(0);
    EXPECT_EQ(count(nn::Linear::make(2, 3, key.clone(), {.use_bias = false})), 1u);
    EXPECT_EQ(count(nn::GRUCell::make(2, 3, key.clone(), {.use_bias = false})), 2u);
    EXPECT_EQ(count(nn::LayerNorm::make({2}, {.use_weight = false, .use_bias = false})), 0u);
    const auto net = nn::Mlp::make(2, 3, 4, 1, key.clone(), {.use_final_bias = false});
    EXPECT_EQ(
        tree::leaf_paths(net),
        (std::vector<std::string>{".layers[0].weight", ".layers[0].bias", ".layers[1].weight"}));
    EXPECT_EQ(count(nn::Mlp::make(2, 3, 4, 0, key.clone())), 2u);
    EXPECT_EQ(nn::Linear::make(0, 3, key.clone(), {.dtype = DType::f64}).weight.aval(),
              (Aval{DType::f64, {3, 0}}));
    return zeros({1});
  });
}

TEST(NnLayers, DropoutKeepsAndScalesWhatItsKeySays) {
  const Dim n = 1000;
  const auto drop = [](double p, bool inference) {
    return test::run(
        [&](const Array& x) {
          return nn::Dropout{p, inference}(x, random::key(5));
        },
        test::counting({n}));
  };
  const auto draws = HostKey(5).uniform(std::size_t(n));
  Numbers want;
  for (std::size_t i = 0; i < std::size_t(n); ++i)
    want.push_back(draws[i] < 0.75f ? double(float(i) / 0.75f) : 0);
  EXPECT_EQ(drop(0.25, false), want);
  const Numbers all = test::numbers(test::counting({n}));
  EXPECT_EQ(drop(0.25, true), all);
  EXPECT_EQ(drop(0, false), all);
  EXPECT_EQ(drop(1, false), Numbers(std::size_t(n), 0));
  const Numbers slopes = test::run(
      [&](const Array& x) {
        return grad([](const Array& v) { return sum(nn::Dropout{0.25}(v, random::key(5))); })(x);
      },
      test::counting({n}));
  for (std::size_t i = 0; i < std::size_t(n); ++i)
    EXPECT_NEAR(slopes[i], draws[i] < 0.75f ? 1 / 0.75 : 0, 1e-6);
}

TEST(NnLayers, NormalisesHalvesByMeansInF32) {
  const Dim n = 600;  // whose sum of squares f16 does not hold
  const auto f = [&](const Array& x) {
    const Array y = nn::LayerNorm{{n}}(x);
    EXPECT_EQ(y.dtype(), DType::f16);
    return cast(y, DType::f32);
  };
  Numbers x, ones(n, 1), none(n, 0);
  for (Dim i = 0; i < n; ++i) x.push_back(double(i % 60) - 20);
  test::expect_near(test::run(f, test::host(DType::f16, {n}, x)),
                    normalised(x.data(), ones.data(), none.data(), int(n), 1e-5), 1e-3);
}

struct TwoLayers {
  nn::Linear in;
  nn::LayerNorm norm;
  nn::Mlp rest;
  Array operator()(const Array& x) const { return rest(norm(relu(in(x)))); }
};
TwoLayers net() {
  auto [a, b] = random::split<2>(random::key(3));
  return {nn::Linear::make(3, 4, std::move(a)), nn::LayerNorm::make({4}),
          nn::Mlp::make(4, 2, 5, 1, std::move(b))};
}

TEST(NnLayers, MapOverBatchesAsOneProductEach) {
  const HostArray xs = test::f32({6, 3}, grid(18));
  const auto batched = [](const Array& x) { return vmap(net())(x); };
  const auto looped = [](const Array& x) {
    const TwoLayers model = net();
    std::vector<Array> rows;
    for (Dim i = 0; i < 6; ++i) rows.push_back(model(x[i]));
    return stack(rows);
  };
  test::expect_near(test::run(batched, xs), test::run(looped, xs));
  EXPECT_EQ(test::count_equations(test::graph_of(batched, xs), "dot_general"), 3);
}

TEST(NnLayers, AreOperandsOfEveryTransform) {
  // An ensemble by vmap over keys, its gradient by vmap over models, a loop over a stack of layers.
  const HostArray x = test::f32({4}, grid(4));
  const auto all = [](const Array& at) {
    const auto make = [](Key k) { return nn::Linear::make(4, 4, std::move(k)); };
    const nn::Linear layers = vmap(make)(random::split(random::key(1), 3));
    const auto through = [](const Array& h, const nn::Linear& l) {
      return std::pair{tanh(l(h)), none};
    };
    const auto loss = [&](const nn::Linear& stack) {
      return sum(square(scan(through, at, stack).first));
    };
    const nn::Linear g = grad(loss)(layers);
    const auto one = [&](const nn::Linear& l) {
      return grad([&](const nn::Linear& m) { return sum(square(tanh(m(at)))); })(l);
    };
    return std::tuple{g, vmap(one)(layers), loss(layers)};
  };
  const auto by_hand = [](const Array& at) {
    std::vector<nn::Linear> layers;
    const Keys keys = random::split(random::key(1), 3);
    for (Dim i = 0; i < 3; ++i) layers.push_back(nn::Linear::make(4, 4, keys[i]));
    const auto loss = [&](const std::vector<nn::Linear>& ls) {
      Array h = at;
      for (const nn::Linear& l : ls) h = tanh(l(h));
      return sum(square(h));
    };
    const auto stacked = [](const std::vector<nn::Linear>& g) {
      return std::pair{stack({g[0].weight, g[1].weight, g[2].weight}),
                       stack({*g[0].bias, *g[1].bias, *g[2].bias})};
    };
    std::vector<nn::Linear> each;
    for (const nn::Linear& l : layers)
      each.push_back(grad([&](const nn::Linear& m) { return sum(square(tanh(m(at)))); })(l));
    return std::tuple{stacked(grad(loss)(layers)), stacked(each), loss(layers)};
  };
  const auto got = test::run_all(all, x), want = test::run_all(by_hand, x);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) test::expect_near(got[i], want[i]);
}

TEST(NnLayers, SayWhatDoesNotFit) {
  const HostArray x = test::counting({12}), batch = test::counting({5, 10});
  const auto with = [](auto layer) { return [=](const Array& in) { return layer(in); }; };
  const auto linear = [](const Array& in) { return nn::Linear::make(10, 2, random::key(0))(in); };
  EXPECT_THAT(test::usage_error_of(linear, x),
              HasSubstr("gnomon::nn::Linear: the input has 12 features, the layer takes 10; "
                        "make the layer for as many as it is given (nn_layers_test.cpp:"));
  EXPECT_THAT(test::usage_error_of(linear, batch),
              HasSubstr("the input is f32[5,10], the layer takes [10]; a layer acts on one "
                        "example, gnomon::vmap(layer)(x) on a batch of them"));
  EXPECT_THAT(test::usage_error_of(linear, test::counting({})),
              HasSubstr("the input is f32[], the layer takes [10]"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) {
                    return vmap([](Key k) { return nn::Linear::make(10, 2, std::move(k)); })(
                        random::split(random::key(0), 3))(in);
                  },
                  test::counting({10})),
              HasSubstr("`weight` is f32[3,2,10], that of a stack of layers; vmap or scan"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) { return vmap(nn::Linear::make(10, 2, random::key(0)))(in); },
                  test::counting({5, 9})),
              HasSubstr("the input has 9 features, the layer takes 10; make the layer for as many "
                        "as it is given (nn_layers_test.cpp:"));
  EXPECT_THAT(
      test::usage_error_of(
          [](const Array& in) { return nn::Mlp::make(nn::scalar, 2, 3, -1, random::key(0))(in); },
          x),
      HasSubstr("gnomon::nn::Mlp: `depth` is -1; it is at least 0"));
  EXPECT_THAT(test::usage_error_of(with(nn::Mlp{}), x), HasSubstr("nn::Mlp: it has no layers"));
  EXPECT_THAT(test::usage_error_of(with(nn::Dropout{}), x),
              HasSubstr("gnomon::nn::Dropout: it leaves elements out at random and was given no "
                        "key; pass one, layer(x, std::move(key)), or set `inference`"));
  EXPECT_THAT(
      test::usage_error_of([](const Array& in) { return nn::Dropout{1.5}(in, random::key(0)); }, x),
      HasSubstr("a probability is in [0, 1]"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) { return nn::Embedding::make(3, 2, random::key(0))(in); }, x),
              HasSubstr("rows are named by integers; cast it to DType::i32"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) {
                    return nn::Embedding::make(3, 2, random::key(0))(cast(in, DType::i32));
                  },
                  x),
              HasSubstr("the index is i32[12], the layer takes []; a layer acts on one example"));
  EXPECT_THAT(test::usage_error_of(with(nn::LayerNorm{{3, 4}}), x),
              HasSubstr("gnomon::nn::LayerNorm: the input is f32[12], the layer takes [3,4]"));
  EXPECT_THAT(
      test::usage_error_of(
          [](const Array& in) { return nn::GRUCell::make(12, 4, random::key(0))(in, zeros({3})); },
          x),
      HasSubstr("gnomon::nn::GRUCell: the hidden state has 3 features, the layer takes 4"));
}

}  // namespace
}  // namespace gnomon::testing
