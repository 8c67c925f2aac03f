// tests/engine/nn_device_test.cpp -- layers on the device.
#include "gnomon/gnomon.h"
#include "gnomon/nn.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class NnDevice : public DeviceTest {
 protected:
  test::Numbers host(const Array& a) {
    const std::vector<float> x = rt.to_host<float>(a);
    return {x.begin(), x.end()};
  }
};

/// A bit of everything: an image becomes a sequence of patches that attend to one another.
struct Net {
  nn::Conv2d patches;
  nn::MaxPool2d pool;
  nn::LayerNorm norm;
  nn::MultiheadAttention attention;
  nn::GRUCell cell;
  nn::Sequential<nn::Linear, nn::Lambda, nn::Dropout, nn::Linear> out;

  static Net make(Key key) {
    auto [a, b, c, d, e] = random::split<5>(std::move(key));
    return {nn::Conv2d::make(1, 4, 3, std::move(a), {.padding = "SAME"}),
            nn::MaxPool2d::make(2, {.stride = 2}),
            nn::LayerNorm::make({4}),
            nn::MultiheadAttention::make(2, 4, std::move(b), {.rotary = true}),
            nn::GRUCell::make(4, 4, std::move(c)),
            {nn::Linear::make(4, 8, std::move(d)), nn::Lambda{tanh}, nn::Dropout{0.25},
             nn::Linear::make(8, nn::scalar, std::move(e))}};
  }
  Array operator()(const Array& image, Key key) const {
    const Array rows = transpose(reshape(pool(relu(patches(image))), {4, 9}));
    const auto step = [&](const Array& h, const Array& x) { return std::pair{cell(x, h), none}; };
    const Array h = scan(step, zeros({4}), attention(vmap(norm)(rows))).first;
    return out(h, std::move(key));
  }
};

TEST_F(NnDevice, AModelAndItsGradientAreThoseOfTheHostReference) {
  test::Numbers numbers;
  std::vector<float> floats;
  for (int i = 0; i < 2 * 36; ++i) {
    numbers.push_back((i * 37 % 101 - 50) / 32.0);
    floats.push_back(float(numbers.back()));
  }
  const auto all = [](const Array& images) {
    const auto loss = [&](const Net& net) {
      return sum(square(vmap(net)(images, random::split(random::key(2), 2))));
    };
    const Net net = Net::make(random::key(1));
    const auto both = value_and_grad(loss)(net);
    return std::pair{both.value, both.grad};
  };
  const auto want = test::run_all(all, test::f32({2, 1, 6, 6}, numbers));
  const auto [value, gradient] = jit(rt, all)(rt.from_host(floats, {2, 1, 6, 6}));
  test::expect_near(host(value), want.at(0), 1e-4);
  const std::vector<Array> leaves = tree::leaves(gradient);
  const std::vector<std::string> paths = tree::leaf_paths(gradient);
  ASSERT_EQ(leaves.size() + 1, want.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    SCOPED_TRACE(paths[i]);
    test::expect_near(host(leaves[i]), want[i + 1], 1e-4);
  }
}

TEST_F(NnDevice, LayersAreMadeAndCalledAtOnceOrInAProgram) {
  const auto once = nn::Linear::make(3, 2, rt.key(5));
  const auto traced = rt.run([] { return nn::Linear::make(3, 2, random::key(5)); });
  EXPECT_EQ(host(once.weight), host(traced.weight));
  EXPECT_EQ(host(*once.bias), host(*traced.bias));
  const Array x = rt.from_host(std::vector<float>{1, -2, 3});
  const auto call =
      jit(rt, [](const nn::Linear& l, const Array& at) { return l(at); }, {.max_traces = 1});
  test::expect_near(host(call(once, x)), host(once(x)));
  call(traced, x);  // of one type with `once`
}

TEST_F(NnDevice, DecodesInACacheThatIsHandedOn) {
  const auto layer =
      rt.run([] { return nn::MultiheadAttention::make(2, 4, random::key(1), {.rotary = true}); });
  const Array x = rt.run([] { return random::normal(random::key(3), {5, 4}); });
  const auto step = jit(rt,
                        [](const nn::MultiheadAttention& l, const Array& row,
                           const nn::KeyValueCache& cache) { return l.decode(row, cache); },
                        {.max_traces = 1});
  const test::Numbers whole = host(jit(rt, [](const nn::MultiheadAttention& l, const Array& at) {
    return l(at, at, at, {.causal = true});
  })(layer, x));
  nn::KeyValueCache cache = rt.run([&] { return layer.cache(5); });
  test::Numbers rows;
  for (Dim i = 0; i < 5; ++i) {
    auto [y, next] =
        step(layer, rt.run([&] { return slice_axis(x, 0, i, i + 1); }), std::move(cache));
    cache = std::move(next);
    for (const double v : host(y)) rows.push_back(v);
  }
  test::expect_near(rows, whole);
}

TEST_F(NnDevice, ALinearLayerOfABatchIsOneProductWithItsBias) {
  const auto layer = rt.run([] { return nn::Linear::make(256, 128, random::key(1)); });
  const Array x = rt.run([] { return random::normal(random::key(0), {128, 256}); });
  const auto f = jit(rt, [](const nn::Linear& l, const Array& at) { return vmap(l)(at); });
  rt.wait(f(layer, x));
  EXPECT_LE(f.kernel_count(), 2) << f.text("fusion");  // one of them may turn the weight around
}

// What torch.nn.functional.max_pool1d(x, window, stride, padding, ceil_mode=True) has windows of,
// by its rule: the last one begins in the image or before it.
TEST_F(NnDevice, ALastWindowBehindTheImageIsNone) {
  for (Dim n = 2; n <= 6; ++n)
    for (Dim window = 2; window <= 3; ++window)
      for (Dim stride = 2; stride <= 4; ++stride)
        for (Dim padding = 0; padding <= window / 2 && n + 2 * padding >= window; ++padding) {
          std::vector<float> x, want;
          for (Dim i = 0; i < n; ++i) x.push_back(float((5 * i) % 7) - 10);
          for (Dim from = -padding; from < n && from - stride + window < n + padding;
               from += stride) {
            want.push_back(-INFINITY);
            for (Dim i = std::max<Dim>(from, 0); i < std::min(from + window, n); ++i)
              want.back() = std::max(want.back(), x[std::size_t(i)]);
          }
          const auto pool =
              nn::MaxPool1d::make(window, {.stride = stride, .padding = padding, .use_ceil = true});
          EXPECT_EQ(rt.to_host<float>(pool(rt.from_host(x, {1, n}))), want)
              << n << " elements, windows of " << window << ", stride " << stride << ", padding "
              << padding;
        }
}

}  // namespace
}  // namespace gnomon::testing
