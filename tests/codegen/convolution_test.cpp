// tests/codegen/convolution_test.cpp -- convolutions and pooling, against loops written here and
// values of published examples.
#include "gnomon/convolution.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "codegen/operations/window.h"
#include "codegen/optimize/split.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
using A = const Array&;

HostArray counting(const Shape& shape, DType t = DType::f32) {
  HostArray h(Aval{t, shape});
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, static_cast<double>(i % 7) - 2);
  return h;
}

/// A 2d convolution, straight from its definition: zeros are put around and between the elements of
/// the image first, and the kernel is spread out.
struct Plain {
  int stride = 1, lo = 0, hi = 0, dilation = 1, input_dilation = 1, groups = 1;

  Numbers operator()(const HostArray& x, const HostArray& w) const {
    const auto d = [](const HostArray& a, int i) { return static_cast<int>(a.aval.shape[i]); };
    const int n = d(x, 0), c = d(x, 1), o = d(w, 0), kh = d(w, 2), kw = d(w, 3);
    const int gaps = input_dilation;
    const int rows = (d(x, 2) - 1) * gaps + 1 + lo + hi,
              columns = (d(x, 3) - 1) * gaps + 1 + lo + hi;
    const auto pixel = [&](int b, int ch, int i, int j) {
      i -= lo;
      j -= lo;
      if (i < 0 || j < 0 || i % gaps || j % gaps || i / gaps >= d(x, 2) || j / gaps >= d(x, 3))
        return 0.0;
      return x.number(((b * c + ch) * d(x, 2) + i / gaps) * d(x, 3) + j / gaps);
    };
    Numbers r;
    for (int b = 0; b < n; ++b)
      for (int f = 0; f < o; ++f)
        for (int i = 0; i + (kh - 1) * dilation < rows; i += stride)
          for (int j = 0; j + (kw - 1) * dilation < columns; j += stride) {
            double sum = 0;
            const int share = c / groups, first = f / (o / groups) * share;
            for (int ch = 0; ch < share; ++ch)
              for (int p = 0; p < kh; ++p)
                for (int q = 0; q < kw; ++q)
                  sum += pixel(b, first + ch, i + p * dilation, j + q * dilation) *
                         w.number(((f * share + ch) * kh + p) * kw + q);
            r.push_back(sum);
          }
    return r;
  }
};

TEST(Conv, IsItsDefinition) {
  const HostArray x = counting({2, 4, 6, 5}), w = counting({4, 4, 3, 2});
  EXPECT_EQ(run([](A a, A k) { return conv(a, k); }, x, w), Plain{}(x, w));
  const auto padded = [](A a, A k) {
    return conv(a, k, {.stride = {2, 2}, .padding = {{1, 2}, {1, 2}}});
  };
  EXPECT_EQ(run(padded, x, w), (Plain{.stride = 2, .lo = 1, .hi = 2}(x, w)));
  const auto spread = [](A a, A k) {
    return conv(a, k, {.padding = {{3, 3}, {3, 3}}, .dilation = {2, 2}, .input_dilation = {3, 3}});
  };
  EXPECT_EQ(run(spread, x, w), (Plain{.lo = 3, .hi = 3, .dilation = 2, .input_dilation = 3}(x, w)));
  const HostArray narrow = counting({6, 2, 2, 2});
  const auto grouped = [](A a, A k) { return conv(a, k, {.groups = 2}); };
  EXPECT_EQ(run(grouped, x, narrow), (Plain{.groups = 2}(x, narrow)));
}

TEST(Conv, PadsToTheSameLength) {
  const auto shape = [](const HostArray& x, const HostArray& w, std::vector<Dim> stride) {
    return run_arrays(
               [=](A a, A k) { return conv(a, k, {.stride = stride, .padding = Padding::same}); },
               x, w)[0]
        .aval.shape;
  };
  EXPECT_EQ(shape(counting({1, 1, 7}), counting({1, 1, 3}), {}), Shape(1, 1, 7));
  EXPECT_EQ(shape(counting({1, 1, 7}), counting({1, 1, 4}), {2}), Shape(1, 1, 4));
  EXPECT_EQ(shape(counting({1, 1, 8, 9}), counting({1, 1, 1, 2}), {3, 3}), Shape(1, 1, 3, 3));
  // An even kernel has the larger half behind.
  const auto f = [](A a, A k) { return conv(a, k, {.padding = Padding::same}); };
  EXPECT_EQ(run(f, f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 2}, {10, 1})), (Numbers{12, 23, 30}));
}

TEST(Conv, TakesChannelsLast) {
  const HostArray x = counting({2, 5, 4, 3}), w = counting({2, 3, 3, 6});
  const auto last = [](A a, A k) { return conv(a, k, {.channels_last = true}); };
  const auto moved = [](A a, A k) {
    return moveaxis(conv(moveaxis(a, -1, 1), transpose(k, {3, 2, 0, 1})), 1, -1);
  };
  EXPECT_EQ(run(last, x, w), run(moved, x, w));
  EXPECT_EQ(run_arrays(last, x, w)[0].aval.shape, Shape(2, 4, 2, 6));
}

TEST(Conv, OfOneAndThreeAxes) {
  EXPECT_EQ(run([](A a, A k) { return conv(a, k); }, f32({1, 1, 4}, {1, 2, 3, 4}),
                f32({1, 1, 2}, {1, 10})),
            (Numbers{21, 32, 43}));
  const HostArray x = f32({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto f = [](A a) { return conv(a, ones({1, 1, 2, 2, 2})); };
  EXPECT_EQ(run(f, x), Numbers{36});
}

TEST(ConvTranspose, Enlarges) {
  const auto with = [](std::vector<Dim> stride, Padding padding) {
    return [=](A a, A k) { return conv_transpose(a, k, {.stride = stride, .padding = padding}); };
  };
  const HostArray x = f32({1, 1, 3}, {1, 2, 3}), w = f32({1, 1, 3}, {1, 10, 100});
  // Element i puts the turned kernel at 2 i.
  EXPECT_EQ(run(with({2}, Padding::valid), x, w), (Numbers{100, 10, 201, 20, 302, 30, 3}));
  EXPECT_EQ(run_arrays(with({2}, Padding::same), x, w)[0].aval.shape, Shape(1, 1, 6));
  EXPECT_EQ(run_arrays(with({3}, Padding::valid), x, w)[0].aval.shape, Shape(1, 1, 9));
}

TEST(ConvTranspose, IsTheAdjointOfAConvolution) {
  const HostArray x = counting({1, 2, 5, 4}), w = counting({3, 2, 2, 3}),
                  y = counting({1, 3, 4, 2});
  const auto gradient = [](A a, A k, A ct) {
    return grad([&](A v) { return sum(ct * conv(v, k)); })(a);
  };
  const auto direct = [](A, A k, A ct) {
    return conv_transpose(ct, k, {.transpose_kernel = true});
  };
  EXPECT_EQ(run(gradient, x, w, y), run(direct, x, w, y));
}

TEST(Conv, VmapsOverEitherSideAndBoth) {
  const HostArray x = counting({3, 1, 2, 5}), w = counting({3, 2, 2, 2});
  const auto one = [](A a, A k) { return conv(a, k); };
  const auto loop = [&](bool over_x, bool over_w) {
    Numbers r;
    for (Dim i = 0; i < 3; ++i) {
      const auto f = [=](A a, A k) {
        return one(over_x ? Array(a[i]) : Array(a[0]), over_w ? Array(k[i]) : Array(k[0]));
      };
      for (double v : run(f, x, w)) r.push_back(v);
    }
    return r;
  };
  EXPECT_EQ(run([&](A a, A k) { return vmap(one)(a, k); }, x, w), loop(true, true));
  EXPECT_EQ(run([&](A a, A k) { return vmap([&](A v) { return one(v, k[0]); })(a); }, x, w),
            loop(true, false));
  EXPECT_EQ(run([&](A a, A k) { return vmap([&](A v) { return one(a[0], v); })(k); }, x, w),
            loop(false, true));
}

TEST(Conv, PatchesGiveTheSame) {
  const ConvParams p{0, {2, 1}, {1, 0}, {1, 2}, {1, 2}, {1, 2}};
  const HostArray x = counting({2, 3, 5, 4}), w = counting({4, 3, 2, 3});
  const auto direct = [&](A a, A k) { return emit1(conv_p, p, {a, k}, {}); };
  const auto product = [&](A a, A k) {
    const Array patches = conv_patches(p, a, k.shape(), {});
    const Array y = einsum("ncks,ock->nos", patches, reshape(k, {4, 3, 6}));
    return reshape(y, emit1(conv_p, p, {a, k}, {}).shape());
  };
  EXPECT_EQ(run(product, x, w), run(direct, x, w));
}

TEST(Pooling, TakesWindows) {
  const HostArray x = f32({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  EXPECT_EQ(run([](A a) { return max_pool(a, {2, 2}); }, x), (Numbers{6, 8, 14, 16}));
  EXPECT_EQ(run([](A a) { return min_pool(a, {2, 2}); }, x), (Numbers{1, 3, 9, 11}));
  EXPECT_EQ(run([](A a) { return avg_pool(a, {2, 2}); }, x), (Numbers{3.5, 5.5, 11.5, 13.5}));
  const auto shared = [](bool count) {
    return
        [=](A a) { return avg_pool(a, {3}, {.padding = Padding::same, .count_padding = count}); };
  };
  EXPECT_EQ(run(shared(true), f32({1, 1, 4}, {3, 6, 9, 12})), (Numbers{3, 7}));
  EXPECT_EQ(run(shared(false), f32({1, 1, 4}, {3, 6, 9, 12})), (Numbers{4.5, 10.5}));
  const auto last = [](A a) { return max_pool(a, {2}, {.stride = {1}, .channels_last = true}); };
  EXPECT_EQ(run(last, f32({1, 3, 2}, {1, 6, 2, 5, 3, 4})), (Numbers{2, 6, 3, 5}));
}

TEST(ReduceWindow, SlidesOverAllAxes) {
  const auto f = [](A a) {
    return reduce_window(a, WindowKind::sum, {2, 2},
                         {.stride = {1, 2}, .padding = {{1, 0}, {0, 1}}});
  };
  EXPECT_EQ(run(f, f32({2, 3}, {1, 2, 3, 4, 5, 6})), (Numbers{3, 3, 12, 9}));
  const auto apart = [](A a) { return reduce_window(a, WindowKind::max, {2}, {.dilation = {2}}); };
  EXPECT_EQ(run(apart, f32({4, 1, 2, 3})), (Numbers{4, 3}));
}

TEST(PoolingGrad, GoesToTheFirstMaximum) {
  const auto f = [](A a) {
    return grad([](A v) { return sum(max_pool(v, {3}, {.stride = {1}}) * array({1., 10.})); })(a);
  };
  EXPECT_EQ(run(f, f32({1, 1, 4}, {5, 5, 5, 1})), (Numbers{1, 10, 0, 0}));
  // Windows of many elements go by one gather.
  const auto wide = [](A a) {
    return grad([](A v) { return sum(max_pool(v, {6, 7}, {.stride = {1, 1}})); })(a);
  };
  Numbers x(7 * 8, 0), want(7 * 8, 0);
  x[3 * 8 + 4] = 1;
  want[3 * 8 + 4] = 4;
  EXPECT_EQ(run(wide, f32({1, 1, 7, 8}, x)), want);
}

// Windows side by side, with a rest behind them: against a loop that looks for the first maximum.
TEST(PoolingGrad, OfWindowsSideBySideGoesToTheFirstMaximum) {
  std::mt19937 g(5);
  const auto draw = [&](const Shape& s) {
    HostArray h(Aval{DType::f32, s});
    for (Dim i = 0; i < h.size(); ++i) h.set_number(i, static_cast<double>(g() % 4));
    return h;
  };
  const auto pooled = [](A a) { return max_pool(a, {2, 3}, {.stride = {2, 3}}); };
  for (const auto& [rows, columns] : {std::pair<Dim, Dim>{4, 6}, {5, 8}, {2, 3}, {7, 10}}) {
    SCOPED_TRACE(to_string(Shape{rows, columns}));
    HostArray x = draw({2, 3, rows, columns});
    const HostArray ct = draw({2, 3, rows / 2, columns / 3}), d = draw({2, 3, rows, columns});
    x.set_number(1, std::nan(""));
    Numbers want(static_cast<std::size_t>(x.size()), 0), moved;
    for (Dim o = 0; o < ct.size(); ++o) {
      const Dim j = o % (columns / 3), i = o / (columns / 3) % (rows / 2),
                plane = o / (columns / 3) / (rows / 2);
      Dim best = -1;
      for (Dim k = 0; k < 6; ++k) {
        const Dim at = (plane * rows + 2 * i + k / 3) * columns + 3 * j + k % 3;
        const double now = x.number(at), so_far = best < 0 ? 0 : x.number(best);
        if (best < 0 || now > so_far || (std::isnan(now) && !std::isnan(so_far))) best = at;
      }
      want[static_cast<std::size_t>(best)] = ct.number(o);
      moved.push_back(d.number(best));
    }
    const auto backward = [&](A a, A c) {
      return grad([&](A v) { return sum(c * pooled(v)); })(a);
    };
    EXPECT_EQ(run(backward, x, ct), want);
    const auto forward = [&](A a, A by) {
      return jvp(pooled, std::tuple{a}, std::tuple{by}).second;
    };
    EXPECT_EQ(run(forward, x, d), moved);
    Trace outer;
    const Graph graph = make_graph(backward, outer.input(x.aval), outer.input(ct.aval)).graph;
    if (rows % 2 == 0 && columns % 3 == 0) {
      EXPECT_THAT(print(graph), ::testing::Not(HasSubstr(" pad[")));
    }
    gnomon::testing::expect_function_lowers(backward, x.aval, ct.aval);
  }
}

TEST(ConvolutionErrors, NameBothSides) {
  const HostArray x = counting({1, 3, 5}), w = counting({2, 2, 3});
  EXPECT_THAT(
      usage_error_of([](A a, A k) { return conv(a, k); }, x, w),
      HasSubstr("gnomon::conv: images with 3 channels and a kernel from 2 to 2 do not fit 1 "
                "groups"));
  EXPECT_THAT(usage_error_of([](A a, A k) { return conv(a, k[0]); }, x, w),
              HasSubstr("need one rank"));
  EXPECT_THAT(usage_error_of(
                  [](A a, A k) {
                    return conv(a, k, {.stride = {1, 1}});
                  },
                  x, w),
              HasSubstr("2 numbers of `stride` for 1 axes"));
  EXPECT_THAT(usage_error_of(
                  [](A a, A k) {
                    return conv(a, k, {.padding = {{1, 1}, {1, 1}}});
                  },
                  x, counting({2, 3, 3})),
              HasSubstr("2 pairs of `padding` for 1 axes"));
  EXPECT_THAT(
      usage_error_of(
          [](A a) {
            return max_pool(a, {2, 2});
          },
          x),
      HasSubstr("a window [2,2] for f32[1,3,5], which has 1 spatial axes (convolution_test"));
}

TEST(ConvolutionLowering, AgreesWithTheReference) {
  using gnomon::testing::expect_function_lowers;
  using gnomon::testing::f32;
  const auto f = [](A a, A k) {
    const auto value = [](const std::pair<Array, Array>& in) {
      const Array y = conv(in.first, in.second, {.stride = {2, 1}, .padding = Padding::same});
      return sum(square(max_pool(y, {2, 2}, {.stride = {1, 2}})));
    };
    return grad(value)(std::pair{a, k});
  };
  expect_function_lowers(f, f32({2, 3, 6, 7}), f32({4, 3, 3, 3}));
  const auto pooled = [](A a) {
    return std::tuple{avg_pool(a, {3, 3}, {.padding = Padding::same}),
                      reduce_window(a, WindowKind::min, {1, 1, 5, 8}), grad([](A v) {
                        return sum(square(min_pool(v, {5, 7})));
                      })(a)};
  };
  expect_function_lowers(pooled, f32({2, 2, 7, 9}));
}

TEST(ConvolutionLowering, ReadsBordersAndGapsWithoutACopyOfTheImage) {
  const auto f = [](A a, A k) {
    return conv(a, k, {.padding = Padding::same, .input_dilation = {2, 1}});
  };
  using gnomon::testing::f32;
  const auto check = [&](const Aval& image, const Aval& kernel) {
    gnomon::testing::expect_function_lowers(f, image, kernel);
    Trace outer;
    const Graph g = make_graph(f, outer.input(image), outer.input(kernel)).graph;
    for (const auto& [name, target] : gnomon::testing::targets())
      EXPECT_EQ(compile(g, target, {}).kernels.size(), 1) << name;
  };
  check(f32({1, 3, 16, 20}), f32({4, 3, 3, 3}));
  // A single channel with a large window gets a copy.
  gnomon::testing::expect_function_lowers(f, f32({1, 1, 40, 40}), f32({1, 1, 5, 5}));
  // Rows of the window are written out inside a loop over them, or are loops themselves.
  check(f32({1, 1, 30, 24}), f32({2, 1, 9, 9}));
  check(f32({2, 5, 6, 40}), f32({3, 5, 1, 35}));
}

TEST(ConvolutionLowering, SplitsLongSums) {
  // A weight gradient adds up 8 x 40 x 40 products per weight.
  const auto f = [](A a, A ct) {
    return grad([&](A k) { return sum(ct * conv(a, k, {.padding = Padding::same})); })(
        zeros({1, 1, 3, 3}));
  };
  gnomon::testing::expect_function_lowers(f, gnomon::testing::f32({8, 1, 40, 40}),
                                          gnomon::testing::f32({8, 1, 40, 40}));
}

// Behind a border, and between the parts of an overlapping window's gradient, a convolution still
// has tiles; what is elementwise in front of a border is computed with it.
TEST(ConvolutionLowering, HasTilesWhateverShowsIt) {
  using gnomon::testing::f32;
  Target target = Target::lavapipe();
  target.arranged_products = 0;
  target.parallel_lanes = 32;
  const auto tiles = [&](auto f, const auto&... inputs) {
    gnomon::testing::expect_function_lowers(f, inputs...);
    Trace outer;
    const Program p =
        compile(make_graph(f, outer.input(inputs)...).graph, target, {.keep_text = true});
    const std::string& s = p.fusion_text;
    std::size_t n = 0;
    for (std::size_t at = s.find(" tile "); at != s.npos; at = s.find(" tile ", at + 1)) ++n;
    return std::tuple{n, p.steps.size(), s};
  };
  const auto layer = [](A x, A w) { return conv(x, w, {.padding = Padding::same}); };
  const Aval image = f32({2, 4, 8, 8}), kernel = f32({4, 4, 3, 3});
  const auto two = [&](A x, A v, A w) { return layer(relu(layer(x, v)), w); };
  const auto [of_two, kernels, why] = tiles(two, image, kernel, kernel);
  EXPECT_EQ(of_two, 2u) << why;
  EXPECT_EQ(kernels, 5u) << why;  // two borders and tiles, and the kernels by output channels
  const auto behind_exp = [&](A x, A w) { return layer(exp(x), w); };
  EXPECT_EQ(std::get<1>(tiles(behind_exp, image, kernel)), 3u);
  const auto of_pooled = [&](A x, A w) {
    return grad([&](A v) {
      return sum(square(layer(max_pool(v, {3, 3}, {.stride = {2, 2}}), w)));
    })(x);
  };
  const auto [of_gradient, more, text] = tiles(of_pooled, f32({2, 4, 17, 17}), kernel);
  EXPECT_EQ(of_gradient, 2u) << text;
}

/// A convolution of random sizes, with its gradients.
struct Drawn {
  HostArray x, w;
  ConvOptions options;

  explicit Drawn(std::uint32_t seed) {
    std::mt19937 g(seed);
    const auto draw = [&](Dim lo, Dim hi) { return lo + static_cast<Dim>(g() % (hi - lo + 1)); };
    const int axes = static_cast<int>(draw(1, 2));
    options.groups = draw(0, 3) == 0 ? draw(2, 3) : 1;
    const Dim in = draw(1, 3), out = draw(1, 3) == 1 ? draw(1, 10) : 4 * draw(1, 2);
    Shape image{draw(1, 6), in * options.groups}, kernel{out * options.groups, in};
    std::vector<std::pair<Dim, Dim>> widths;
    for (int a = 0; a < axes; ++a) {
      const Dim k = draw(1, 4), dilation = draw(0, 2) == 0 ? 2 : 1;
      kernel.append(k);
      options.dilation.push_back(dilation);
      options.stride.push_back(draw(0, 2) == 0 ? 2 : 1);
      options.input_dilation.push_back(draw(0, 5) == 0 ? 2 : 1);
      image.append(std::max(draw(2, 11), (k - 1) * dilation + 1));
      widths.emplace_back(draw(0, 2),
                          draw(0, 3) == 0 && image[a + 2] > k * dilation ? -1 : draw(0, 2));
    }
    if (draw(0, 1) == 0)
      options.padding = Padding::same;
    else
      options.padding = Padding(widths);
    const DType t = seed % 3 == 2 ? DType::f64 : DType::f32;
    x = gnomon::testing::random_array({t, image}, seed);
    w = gnomon::testing::random_array({t, kernel}, seed + 1);
  }
};

TEST(ConvolutionLowering, OfRandomSizesAgreesWithTheReferenceWithCopiesOfOperands) {
  using namespace gnomon::testing;
  std::vector<NamedTarget> all = targets_with(true);
  for (auto& [name, target] : all) target.arranged_products = 0;
  all.push_back({"a CPU without texels", all.front().target});
  all.back().target.kind = KnownTarget::other_cpu;
  all.back().target.contiguous_per_lane = true;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Drawn c(seed);
    const auto f = [&](A a, A k) {
      const auto y = [&](const std::pair<Array, Array>& in) {
        return conv(in.first, in.second, c.options);
      };
      const auto value = [&](const std::pair<Array, Array>& in) { return sum(square(y(in))); };
      return std::pair{y({a, k}), grad(value)(std::pair{a, k})};
    };
    Trace outer;
    const Graph g = make_graph(f, outer.input(c.x.aval), outer.input(c.w.aval)).graph;
    const auto want = evaluate(g, {c.x, c.w});
    for (const auto& [name, target] : all) {
      const Program p = compile(g, target, {.name = "test", .keep_text = true});
      const auto got = run_on_host(p, {c.x, c.w});
      for (std::size_t i = 0; i < want.size(); ++i) {
        double largest = 1;
        for (Dim n = 0; n < want[i].size(); ++n)
          largest = std::max(largest, std::abs(want[i].number(n)));
        ASSERT_EQ(difference(got[i], want[i], [&](Dim) { return 4e-6 * largest; }), "")
            << "seed " << seed << ", output " << i << " on " << name << "\n"
            << print(g) << p.fusion_text;
      }
    }
  }
}

}  // namespace
}  // namespace gnomon::test
