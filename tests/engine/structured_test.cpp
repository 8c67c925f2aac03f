// tests/engine/structured_test.cpp -- products, reductions and transposes on the device against the
// host reference, for the device's own target and for one that tiles like a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "codegen/trace/function.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "tests/engine/fixture.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

class Structured : public DeviceTest {
 protected:
  /// The device's target, the same with tiles whatever the size, and one with a GPU's mapping.
  std::vector<Target> mappings() {
    Target eager = rt.target(), gpu = rt.target();
    eager.parallel_lanes = 1;
    const Target like = Target::gpu();
    gpu.kind = like.kind;
    gpu.contiguous_per_lane = false;
    gpu.parallel_lanes = 1;
    gpu.map_coarsening = like.map_coarsening;
    gpu.tile_rows = like.tile_rows;
    gpu.tile_panel = like.tile_panel;
    gpu.accumulators = like.accumulators;
    gpu.team = 64;
    // The same without subgroups, and with workgroups that some subgroups do not divide.
    Target plain = gpu;
    plain.features.subgroup_arithmetic = false;
    plain.team = 2;
    return {rt.target(), eager, gpu, plain};
  }

  template <class F, class... A>
  void expect_device(F f, const A&... inputs) {
    std::vector<HostArray> host;
    std::uint32_t seed = 1;
    (host.push_back(random_array(inputs, seed++)), ...);
    const Graph g = [&] {
      Trace outer;
      return make_graph(f, outer.input(inputs)...).graph;
    }();
    const auto want = evaluate(g, host);
    for (const Target& target : mappings()) {
      std::vector<Array> in;
      for (const HostArray& a : host) in.push_back(rt.from_bytes(a.aval, a.bytes));
      const Program p = compile(g, target, {.keep_text = true});
      const auto got = run(p, in);
      for (std::size_t i = 0; i < want.size(); ++i) {
        HostArray result(got[i].aval());
        rt.to_bytes(got[i], result.bytes);
        ASSERT_EQ(difference(result, want[i], 5e-5), "") << target.text() << "\n" << p.fusion_text;
      }
    }
  }
};

TEST_F(Structured, ProductsOfRandomShapesAndLayouts) {
  std::mt19937 g(5);
  const auto pick = [&](Dim low, Dim high) {
    return low + static_cast<Dim>(g() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int trial = 0; trial < 12; ++trial) {
    std::string left = "bij", right = "bjk", out = "bik";
    for (std::string* s : {&left, &right, &out}) std::shuffle(s->begin(), s->end(), g);
    std::map<char, Dim> size{
        {'b', pick(1, 3)}, {'i', pick(2, 90)}, {'j', pick(17, 70)}, {'k', pick(2, 90)}};
    const auto shape = [&](const std::string& s) {
      Shape r;
      for (char c : s) r.append(size[c]);
      return r;
    };
    const std::string how = left + "," + right + "->" + out;
    SCOPED_TRACE(how + " " + to_string(shape(left)) + " " + to_string(shape(right)));
    expect_device([&](const Array& a, const Array& b) { return einsum(how, a, b) * 2.0f; },
                  Aval{DType::f32, shape(left)}, Aval{DType::f32, shape(right)});
  }
}

TEST_F(Structured, LayersWithBiasAndWholeNumbers) {
  expect_device([](const Array& x, const Array& w,
                   const Array& b) { return tanh(matmul(x, transpose(w)) + b); },
                Aval{DType::f32, {96, 64}}, Aval{DType::f32, {80, 64}}, Aval{DType::f32, {80}});
  expect_device([](const Array& a, const Array& b) { return matmul(a, b); },
                Aval{DType::i32, {65, 40}}, Aval{DType::i32, {40, 66}});
}

// Enough products that the largest tiles there are take them (DeviceModel::long_product), and sides
// that tiles do not divide. The numbers are whole and small, so that every order of summing gives
// the same floats.
TEST_F(Structured, LongProductsWhoseEdgesLieWithinTiles) {
  constexpr int rows = 301, depth = 287, columns = 263;
  std::vector<float> a(rows * depth), b(depth * columns), want(rows * columns);
  for (int i = 0; i < rows * depth; ++i) a[i] = static_cast<float>(i * 7 % 13 - 6);
  for (int i = 0; i < depth * columns; ++i) b[i] = static_cast<float>(i * 5 % 11 - 5);
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < columns; ++j)
        want[i * columns + j] += a[i * depth + k] * b[k * columns + j];
  const Array x = rt.from_host(a, {rows, depth}), y = rt.from_host(b, {depth, columns});
  const auto plain = jit(rt, [](const Array& p, const Array& q) { return matmul(p, q); });
  EXPECT_EQ(rt.to_host<float>(plain(x, y)), want);
  const auto transposed =
      jit(rt, [](const Array& p, const Array& q) { return matmul(transpose(p), q); });
  EXPECT_EQ(rt.to_host<float>(transposed(rt.run([&] { return transpose(x); }), y)), want);
}

TEST_F(Structured, ReductionsOfAnyLength) {
  for (const Dim n : {65, 300, 1024})
    expect_device(
        [](const Array& x) {
          return std::vector<Array>{sum(x, 1),  max(x, 1),        min(x, 1), argmax(x, 1),
                                    mean(x, 0), any(x > 1.9f, 1), sum(x),    softmax(x)};
        },
        Aval{DType::f32, {9, n}});
}

TEST_F(Structured, RowsThatALaneWalksSeveralTimes) {
  for (const Dim n : {50, 256, 1000})
    expect_device(
        [](const Array& x) {
          const Array centred = x - mean(x, -1, {.keepdims = true});
          return std::vector<Array>{
              softmax(x), centred * rsqrt(mean(square(centred), -1, {.keepdims = true}) + 1e-5f),
              logsumexp(x, -1)};
        },
        Aval{DType::f32, {600, n}});
}

TEST_F(Structured, Transposes) {
  for (const Shape& s : {Shape{64, 96}, Shape{3, 33, 50}, Shape{17, 129}, Shape{4, 32, 5, 48}})
    expect_device(
        [](const Array& x) {
          return std::vector<Array>{swapaxes(x, -1, -2), swapaxes(x, 0, -1) + 1.0f};
        },
        Aval{DType::f32, s});
}

TEST_F(Structured, TheSumOf2To24OnesIsExact) {
  constexpr Dim n = Dim{1} << 24;
  const Array ones = rt.from_host(std::vector<float>(n, 1.0f));
  const auto total = jit(rt, [](const Array& x) { return sum(x); });
  EXPECT_EQ(rt.to_host<float>(total(ones)), (std::vector<float>{16777216.0f}));
}

}  // namespace
}  // namespace gnomon::testing
