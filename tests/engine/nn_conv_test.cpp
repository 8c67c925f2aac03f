// tests/engine/nn_conv_test.cpp -- convolutions and pooling of images on the host reference.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/codegen/host_random.h"
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using nn::PaddingMode;
using test::HostKey;
using ::testing::HasSubstr;
using Triple = std::array<int, 3>;

/// Windows over images of three spatial axes; those that are missing have length 1, in front.
struct Windows {
  Triple n, k = {1, 1, 1}, s = {1, 1, 1}, d = {1, 1, 1}, before = {}, behind = {};
  PaddingMode mode = PaddingMode::zeros;

  int out(int a) const {
    const auto i = std::size_t(a);
    return (n[i] + before[i] + behind[i] - d[i] * (k[i] - 1) - 1) / s[i] + 1;
  }
  /// Where an element of a window is in the image, -1 outside.
  int source(int a, int t, int j) const {
    const auto i = std::size_t(a);
    int at = t * s[i] + j * d[i] - before[i];
    const int last = n[i] - 1;
    if (mode == PaddingMode::reflect) at = at < 0 ? -at : at > last ? 2 * last - at : at;
    if (mode == PaddingMode::replicate) at = std::clamp(at, 0, last);
    if (mode == PaddingMode::circular) at = (at + n[i]) % n[i];
    return at < 0 || at > last ? -1 : at;
  }
  /// Calls f(t, window element, place in the image or -1), all flat, for each window and element.
  template <class F>
  void each(F f) const {
    for (int t0 = 0; t0 < out(0); ++t0)
      for (int t1 = 0; t1 < out(1); ++t1)
        for (int t2 = 0; t2 < out(2); ++t2)
          for (int j0 = 0; j0 < k[0]; ++j0)
            for (int j1 = 0; j1 < k[1]; ++j1)
              for (int j2 = 0; j2 < k[2]; ++j2) {
                const int x0 = source(0, t0, j0), x1 = source(1, t1, j1), x2 = source(2, t2, j2);
                const bool inside = x0 >= 0 && x1 >= 0 && x2 >= 0;
                f((t0 * out(1) + t1) * out(2) + t2, (j0 * k[1] + j1) * k[2] + j2,
                  inside ? (x0 * n[1] + x1) * n[2] + x2 : -1);
              }
  }
  int image() const { return n[0] * n[1] * n[2]; }
  int kernel() const { return k[0] * k[1] * k[2]; }
  int outs() const { return out(0) * out(1) * out(2); }
};

/// Weight, bias, image.
Numbers convolved(NumberParts part, const Windows& w, int in, int out, int groups) {
  const int per_group = in / groups;
  const double* weight = part(out * per_group * w.kernel());
  const double* bias = part(out);
  const double* x = part(in * w.image());
  Numbers y;
  for (int o = 0; o < out; ++o) {
    Numbers image(std::size_t(w.outs()), bias[o]);
    for (int c = 0; c < per_group; ++c) {
      const int from = o / (out / groups) * per_group + c;
      w.each([&](int t, int j, int at) {
        if (at >= 0)
          image[std::size_t(t)] +=
              weight[(o * per_group + c) * w.kernel() + j] * x[from * w.image() + at];
      });
    }
    y.insert(y.end(), image.begin(), image.end());
  }
  return y;
}

template <int axes>
LayerCase conv_case(const char* name, nn::Conv<axes> layer, const Windows& w, int in, int out) {
  const int groups = int(layer.groups);
  Shape kernel{out, in / groups}, bias{out}, image{in};
  for (int a = 3 - axes; a < 3; ++a) {
    kernel.append(w.k[std::size_t(a)]);
    bias.append(1);
    image.append(w.n[std::size_t(a)]);
  }
  return {name, kernel.size() + out + image.size(),
          [=](Parts part) {
            nn::Conv<axes> l = layer;
            l.weight = part(kernel);
            l.bias = part(bias);
            return l(part(image));
          },
          [=](NumberParts part) { return convolved(part, w, in, out, groups); }};
}

TEST(NnConv, GivesWhatLoopsGiveAndTheirDerivatives) {
  const LayerCase cases[] = {
      conv_case<2>("everything", {{}, {}, {2, 1}, {{1, 0}, {0, 2}}, {1, 2}, 2},
                   {{1, 5, 6}, {1, 2, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0}, {0, 0, 2}}, 4, 2),
      conv_case<1>("same", {{}, {}, {2}, "SAME"},
                   {{1, 1, 6}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 1}}, 2, 2),
      conv_case<1>("same, lower", {{}, {}, {2}, "SAME_LOWER"},
                   {{1, 1, 6}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 0}}, 2, 2),
      conv_case<3>("three axes", {{}, {}, {1, 1, 1}, {1, 0, 1}},
                   {{2, 3, 2}, {2, 2, 3}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}, {1, 0, 1}}, 1, 2),
      conv_case<2>(
          "reflected", {{}, {}, {1, 1}, {2, 1}, {1, 1}, 1, PaddingMode::reflect},
          {{1, 3, 4}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 2, 1}, {0, 2, 1}, PaddingMode::reflect},
          1, 1),
      conv_case<1>("replicated", {{}, {}, {1}, 3, {2}, 1, PaddingMode::replicate},
                   {{1, 1, 4},
                    {1, 1, 3},
                    {1, 1, 1},
                    {1, 1, 2},
                    {0, 0, 3},
                    {0, 0, 3},
                    PaddingMode::replicate},
                   2, 1),
      conv_case<2>(
          "circular", {{}, {}, {1, 1}, "SAME", {1, 1}, 1, PaddingMode::circular},
          {{1, 3, 2}, {1, 3, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}, {0, 1, 1}, PaddingMode::circular},
          1, 2),
  };
  for (const LayerCase& c : cases) expect_as_looped(c);
}

// ---- the other way round

struct Transposed {
  int n, k, s, d, before, out;  // `before` and `out`: of the result
};

/// Each element of the image spreads the kernel over the result, element by element.
Numbers spread(NumberParts part, const std::array<Transposed, 2>& a, int in, int out, int groups) {
  const int per_group = in / groups, kernel = a[0].k * a[1].k, image = a[0].n * a[1].n;
  const double* weight = part(out * per_group * kernel);
  const double* bias = part(out);
  const double* x = part(in * image);
  Numbers y;
  for (int o = 0; o < out; ++o) y.insert(y.end(), std::size_t(a[0].out * a[1].out), bias[o]);
  for (int o = 0; o < out; ++o)
    for (int c = 0; c < per_group; ++c)
      for (int i = 0; i < image; ++i)
        for (int j = 0; j < kernel; ++j) {
          const int t0 = i / a[1].n * a[0].s + a[0].before - j / a[1].k * a[0].d;
          const int t1 = i % a[1].n * a[1].s + a[1].before - j % a[1].k * a[1].d;
          if (t0 < 0 || t0 >= a[0].out || t1 < 0 || t1 >= a[1].out) continue;
          y[std::size_t((o * a[0].out + t0) * a[1].out + t1)] +=
              weight[(o * per_group + c) * kernel + j] *
              x[(o / (out / groups) * per_group + c) * image + i];
        }
  return y;
}

TEST(NnConv, TransposedGivesWhatLoopsGive) {
  const auto with = [](const char* name, nn::ConvTranspose2d layer, std::array<Transposed, 2> a,
                       int in, int out) {
    const int groups = int(layer.groups);
    const Shape kernel{out, in / groups, a[0].k, a[1].k}, bias{out, 1, 1},
        image{in, a[0].n, a[1].n};
    return LayerCase{name, kernel.size() + out + image.size(),
                     [=](Parts part) {
                       nn::ConvTranspose2d l = layer;
                       l.weight = part(kernel);
                       l.bias = part(bias);
                       const Array y = l(part(image));
                       EXPECT_EQ(y.shape(), Shape(out, a[0].out, a[1].out)) << name;
                       return y;
                     },
                     [=](NumberParts part) { return spread(part, a, in, out, groups); }};
  };
  // Lengths are (n - 1) s - 2 p + d (k - 1) + output_padding + 1.
  const LayerCase cases[] = {
      with("everything", {{}, {}, {2, 3}, {1, 0}, {1, 2}, {2, 1}, 2},
           {{{2, 3, 2, 2, 4 - 1, 2 - 2 + 4 + 1 + 1}, {3, 2, 3, 1, 1, 6 + 1 + 2 + 1}}}, 2, 4),
      with("same", {{}, {}, {2, 3}, "SAME"}, {{{2, 3, 2, 1, 2, 4}, {2, 2, 3, 1, 1, 6}}}, 1, 2),
      with("same, lower", {{}, {}, {2, 1}, "SAME_LOWER"},
           {{{2, 3, 2, 1, 1, 4}, {3, 2, 1, 1, 0, 3}}}, 2, 1),
  };
  for (const LayerCase& c : cases) expect_as_looped(c);
}

TEST(NnConv, TransposedIsTheTransposeOfAConvolution) {
  // <conv(x), y> = <x, transposed(y)> for a kernel turned around with channels swapped.
  struct Case {
    Dim stride, dilation, output_padding;
    nn::Around padding;
    PaddingMode mode = PaddingMode::zeros;
    Dim n = 8;
  };
  for (const Case& c : {Case{1, 1, 0, 0}, Case{2, 1, 1, 1},
                        Case{3, 2, 2, {{2, 1}}, PaddingMode::zeros, 10}, Case{2, 1, 0, "SAME"},
                        Case{2, 1, 0, "SAME_LOWER"}, Case{2, 1, 0, "SAME", PaddingMode::circular},
                        Case{1, 2, 0, "SAME_LOWER", PaddingMode::circular}}) {
    const auto both = [&](const Array& w, const Array& x) {
      const nn::Conv1d conv{w, {}, {c.stride}, c.padding, {c.dilation}, 1, c.mode};
      const Array ct = sin(iota(eval_shape(conv, x).shape(), 1, DType::f32) + 1);
      const nn::ConvTranspose1d back{
          flip(swapaxes(w, 0, 1), 2), {},           {c.stride}, c.padding,
          {c.output_padding},         {c.dilation}, 1,          c.mode};
      return std::pair{vjp(conv, x)(ct), back(ct)};
    };
    const auto r = test::run_all(both, test::f32({3, 2, 3}, grid(18)),
                                 test::f32({2, c.n}, grid(std::size_t(2 * c.n), 5)));
    test::expect_near(r.at(1), r.at(0));
  }
}

TEST(NnConv, BeginsWithEquinoxsDrawsOfTheSameKey) {
  const auto drawn = test::run_all([] {
    return std::pair{nn::Conv2d::make(4, 6, {2, 3}, random::key(7), {.groups = 2}),
                     nn::ConvTranspose1d::make(2, 3, 5, random::key(7), {.use_bias = false})};
  });
  const auto keys = HostKey(7).split(2);
  const auto near = [](float limit, const HostKey& key, std::size_t n) {
    const auto draws = key.uniform(n, -limit, limit);
    return Numbers(draws.begin(), draws.end());
  };
  EXPECT_EQ(drawn.at(0), near(float(1 / std::sqrt(12.0)), keys[0], 72));
  EXPECT_EQ(drawn.at(1), near(float(1 / std::sqrt(12.0)), keys[1], 6));
  EXPECT_EQ(drawn.at(2), near(float(1 / std::sqrt(10.0)), keys[0], 30));
  EXPECT_EQ(drawn.size(), 3u);
}

TEST(NnConv, OfABatchIsOneConvolution) {
  const HostArray xs = test::f32({3, 2, 4, 4}, grid(96));
  const auto layer = [] { return nn::Conv2d::make(2, 3, 3, random::key(1), {.padding = "SAME"}); };
  const auto batched = [&](const Array& x) { return vmap(layer())(x); };
  const auto looped = [&](const Array& x) {
    return stack({layer()(x[0]), layer()(x[1]), layer()(x[2])});
  };
  test::expect_near(test::run(batched, xs), test::run(looped, xs));
  const Graph graph = test::graph_of(batched, xs);
  EXPECT_EQ(test::count_equations(graph, "conv"), 1);
  EXPECT_EQ(test::count_equations(graph, "while"), 0);
}

// ---- pooling

Numbers pooled(const double* x, const Windows& w, int channels, bool largest) {
  Numbers y;
  for (int c = 0; c < channels; ++c) {
    Numbers image(std::size_t(w.outs()), largest ? -std::numeric_limits<double>::infinity() : 0.0);
    w.each([&](int t, int, int at) {
      double& v = image[std::size_t(t)];
      if (at < 0) return;
      const double e = x[c * w.image() + at];
      v = largest ? std::max(v, e) : v + e / w.kernel();
    });
    y.insert(y.end(), image.begin(), image.end());
  }
  return y;
}

TEST(NnConv, PoolsGiveWhatLoopsGiveAndTheirDerivatives) {
  const Windows plane{{1, 5, 4}, {1, 3, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}};
  const Windows beyond{{1, 1, 6}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 1}};
  const Windows solid{{2, 3, 2}, {2, 2, 1}, {1, 1, 1}, {1, 1, 1}};
  const LayerCase cases[] = {
      {"AvgPool2d", 40,
       [](Parts part) {
         return nn::AvgPool2d::make({3, 2}, {.stride = {2, 1}, .padding = {1, 0}})(part({2, 5, 4}));
       },
       [=](NumberParts part) { return pooled(part(40), plane, 2, false); }},
      {"MaxPool2d", 40,
       [](Parts part) {
         return nn::MaxPool2d::make({3, 2}, {.stride = {2, 1}, .padding = {1, 0}})(part({2, 5, 4}));
       },
       [=](NumberParts part) { return pooled(part(40), plane, 2, true); }},
      {"AvgPool1d, ceil", 12,
       [](Parts part) {
         return nn::AvgPool1d::make(3, {.stride = 2, .use_ceil = true})(part({2, 6}));
       },
       [=](NumberParts part) { return pooled(part(12), beyond, 2, false); }},
      {"MaxPool1d, ceil", 12,
       [](Parts part) {
         return nn::MaxPool1d::make(3, {.stride = 2, .use_ceil = true})(part({2, 6}));
       },
       [=](NumberParts part) { return pooled(part(12), beyond, 2, true); }},
      {"AvgPool3d", 12,
       [](Parts part) {
         return nn::AvgPool3d::make({2, 2, 1})(part({1, 2, 3, 2}));
       },
       [=](NumberParts part) { return pooled(part(12), solid, 1, false); }},
      {"MaxPool3d", 12,
       [](Parts part) {
         return nn::MaxPool3d::make({2, 2, 1})(part({1, 2, 3, 2}));
       },
       [=](NumberParts part) { return pooled(part(12), solid, 1, true); }},
      {"AdaptiveAvgPool2d", 28,
       [](Parts part) {
         return nn::AdaptiveAvgPool2d::make({3, 2})(part({1, 7, 4}));
       },
       [](NumberParts part) {
         const double* x = part(28);
         const int rows[] = {0, 3, 5, 7}, columns[] = {0, 2, 4};
         Numbers y;
         for (int i = 0; i < 3; ++i)
           for (int j = 0; j < 2; ++j) {
             double sum = 0;
             for (int r = rows[i]; r < rows[i + 1]; ++r)
               for (int c = columns[j]; c < columns[j + 1]; ++c) sum += x[4 * r + c];
             y.push_back(sum / (rows[i + 1] - rows[i]) / 2);
           }
         return y;
       }},
      {"AdaptiveMaxPool1d", 10,
       [](Parts part) {
         return nn::AdaptiveMaxPool1d::make(3)(part({2, 5}));
       },
       [](NumberParts part) {
         const double* x = part(10);
         Numbers y;
         for (int c = 0; c < 2; ++c, x += 5) {
           y.push_back(std::max(x[0], x[1]));
           y.push_back(std::max(x[2], x[3]));
           y.push_back(x[4]);
         }
         return y;
       }},
  };
  for (const LayerCase& c : cases) expect_as_looped(c);
}

TEST(NnConv, SaysWhatDoesNotFit) {
  const HostArray image = test::counting({3, 4, 4}), batch = test::counting({2, 3, 4, 4});
  const auto conv = [](nn::ConvLayerOptions options) {
    return [=](const Array& x) { return nn::Conv2d::make(3, 4, 3, random::key(0), options)(x); };
  };
  EXPECT_THAT(test::usage_error_of(conv({}), test::counting({2, 4, 4})),
              HasSubstr("gnomon::nn::Conv2d: the image is f32[2,4,4], the layer takes [3,any,any]; "
                        "pass one example of that shape (nn_conv_test.cpp:"));
  EXPECT_THAT(test::usage_error_of(conv({}), batch),
              HasSubstr("a layer acts on one example, gnomon::vmap(layer)(x) on a batch of them"));
  EXPECT_THAT(test::usage_error_of(conv({.groups = 2}), image),
              HasSubstr("2 groups do not divide 3 and 4 channels; choose a divisor of both"));
  EXPECT_THAT(test::usage_error_of(conv({.stride = {1, 2, 3}}), image),
              HasSubstr("gnomon::nn::Conv2d: 3 numbers of `stride` for 2 spatial axes"));
  EXPECT_THAT(test::usage_error_of(conv({.dilation = 0}), image),
              HasSubstr("`dilation` is 0; it is at least 1"));
  EXPECT_THAT(
      test::usage_error_of(conv({.padding = 4, .padding_mode = PaddingMode::reflect}), image),
      HasSubstr("4 elements before and 4 behind an axis of 4 cannot be reflect"));
  EXPECT_THAT(usage_message([] { return nn::Around("same"); }),
              HasSubstr("gnomon::nn::Around: \"same\" is no padding; the names are"));
  const auto back = [](nn::ConvTransposeLayerOptions options) {
    return [=](const Array& x) {
      return nn::ConvTranspose2d::make(3, 4, 3, random::key(0), options)(x);
    };
  };
  EXPECT_THAT(test::usage_error_of(back({.stride = 2, .output_padding = 2}), image),
              HasSubstr("an `output_padding` of 2 for a stride of 2; it is less than the stride"));
  EXPECT_THAT(test::usage_error_of(back({.padding_mode = PaddingMode::reflect}), image),
              HasSubstr("that are reflect; a transposed convolution takes zeros"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& x) { return nn::MaxPool2d::make(2, {.padding = 3})(x); }, image),
              HasSubstr("gnomon::nn::MaxPool2d: windows of 2 with 3 elements before the image"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& x) { return nn::MaxPool2d::make(2, {.padding = 2})(x); }, image),
              HasSubstr("some window would have nothing in it"));
  EXPECT_THAT(
      test::usage_error_of([](const Array& x) { return nn::AvgPool1d::make(2)(x); }, image),
      HasSubstr("gnomon::nn::AvgPool1d: the image is f32[3,4,4], the layer takes [any,any]; a "
                "layer acts on one example"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& x) {
                    return nn::AdaptiveMaxPool2d::make({5, 2})(x);
                  },
                  image),
              HasSubstr("nn::AdaptiveMaxPool2d: 4 elements do not make 5 parts; ask for fewer"));
}

}  // namespace
}  // namespace gnomon::testing
