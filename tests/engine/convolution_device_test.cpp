// tests/engine/convolution_device_test.cpp -- convolutions of sizes that have kernels of their own,
// and their gradients, against loops written here.
#include "gnomon/convolution.h"

#include <cmath>
#include <random>

#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class ConvolutionDevice : public DeviceTest {};

struct Case {
  const char* name;
  int n, in, out, rows, columns, window, stride, lo, hi, dilation, groups;

  int size(int length) const {
    return (length + lo + hi - (window - 1) * dilation - 1) / stride + 1;
  }
  int height() const { return size(rows); }
  int width() const { return size(columns); }
};

/// visit(position in images, in kernel, in results) for every product.
template <class Visit>
void for_each_product(const Case& c, const Visit& visit) {
  const int share = c.in / c.groups, each = c.out / c.groups, height = c.height(),
            width = c.width();
  for (int b = 0; b < c.n; ++b)
    for (int o = 0; o < c.out; ++o)
      for (int ch = 0; ch < share; ++ch)
        for (int p = 0; p < c.window; ++p)
          for (int q = 0; q < c.window; ++q)
            for (int i = 0; i < height; ++i) {
              const int y = i * c.stride + p * c.dilation - c.lo;
              if (y < 0 || y >= c.rows) continue;
              for (int j = 0; j < width; ++j) {
                const int x = j * c.stride + q * c.dilation - c.lo;
                if (x < 0 || x >= c.columns) continue;
                visit(((b * c.in + o / each * share + ch) * c.rows + y) * c.columns + x,
                      ((o * share + ch) * c.window + p) * c.window + q,
                      ((b * c.out + o) * height + i) * width + j);
              }
            }
}

/// Multiples of 1/8 in [-1, 1]: sums of products are exact in any order.
std::vector<float> eighths(std::size_t n, std::uint32_t seed) {
  std::mt19937 g(seed);
  std::vector<float> r(n);
  for (float& x : r) x = static_cast<float>(static_cast<int>(g() % 17) - 8) / 8.0f;
  return r;
}

struct Operands {
  Array images, kernel;
};
struct Results {
  Array result;
  Operands gradient;
};

TEST_F(ConvolutionDevice, IsTheSumOfItsProductsAndSoAreItsGradients) {
  const Case cases[] = {
      {"one channel", 64, 1, 16, 16, 12, 3, 1, 1, 1, 1, 1},
      {"small images", 64, 16, 24, 4, 4, 3, 1, 1, 1, 1, 1},
      {"strided and dilated", 9, 8, 16, 23, 22, 3, 2, 1, 2, 2, 1},
      {"groups", 8, 32, 32, 16, 16, 3, 1, 1, 1, 1, 2},
      {"one image", 1, 16, 32, 33, 31, 3, 1, 1, 1, 1, 1},
      {"pixels", 16, 32, 32, 8, 8, 1, 1, 0, 0, 1, 1},
      {"an image cut", 16, 8, 8, 24, 26, 3, 1, -1, -2, 1, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto d = [](auto... n) { return Shape{static_cast<Dim>(n)...}; };
    const Shape images = d(c.n, c.in, c.rows, c.columns),
                kernel = d(c.out, c.in / c.groups, c.window, c.window),
                result = d(c.n, c.out, c.height(), c.width());
    const auto size = [](const Shape& s) { return static_cast<std::size_t>(s.size()); };
    const auto x = eighths(size(images), 1), w = eighths(size(kernel), 2),
               ct = eighths(size(result), 3);
    std::vector<double> y(ct.size()), of_x(x.size()), of_w(w.size());
    for_each_product(c, [&](int image, int weight, int to) {
      const auto i = static_cast<std::size_t>(image), k = static_cast<std::size_t>(weight),
                 o = static_cast<std::size_t>(to);
      y[o] += static_cast<double>(x[i]) * w[k];
      of_x[i] += static_cast<double>(ct[o]) * w[k];
      of_w[k] += static_cast<double>(ct[o]) * x[i];
    });
    const std::pair<Dim, Dim> border{c.lo, c.hi};
    const ConvOptions options{.stride = {c.stride, c.stride},
                              .padding = {border, border},
                              .dilation = {c.dilation, c.dilation},
                              .groups = c.groups};
    const auto f = [&](const Operands& o, const Array& cotangent) {
      const auto both = value_and_grad(
          [&](const Operands& at) {
            const Array r = conv(at.images, at.kernel, options);
            return std::pair{sum(cotangent * r), r};
          },
          has_aux)(o);
      return Results{both.value.second, both.grad};
    };
    const auto check = [&]<class T>(T) {
      SCOPED_TRACE(sizeof(T) == 8 ? "f64" : "f32");
      const auto on_device = [&](const std::vector<float>& values, const Shape& s) {
        return rt.from_host(std::vector<T>(values.begin(), values.end()), s);
      };
      const Results got =
          jit(rt, f)(Operands{on_device(x, images), on_device(w, kernel)}, on_device(ct, result));
      const auto expect = [&](const char* what, const Array& a, const std::vector<double>& want) {
        const std::vector<T> have = rt.to_host<T>(a);
        ASSERT_EQ(have.size(), want.size()) << what;
        for (std::size_t i = 0; i < want.size(); ++i)
          ASSERT_EQ(static_cast<double>(have[i]), want[i]) << what << " " << i;
      };
      expect("result", got.result, y);
      expect("images", got.gradient.images, of_x);
      expect("kernel", got.gradient.kernel, of_w);
    };
    check(float{});
    if (rt.target().features.float64) check(double{});
  }
}

}  // namespace
}  // namespace gnomon::testing
