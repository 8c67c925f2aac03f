// tests/bench/opponents_dense.cpp -- the variants that do not use the library of streams of two
// operands, sums, rows and products.
#include <algorithm>
#include <memory>

#include "hand.h"
#include "harness.h"
#include "native.h"
#include "shaders.h"
#include "vk.h"

namespace bench {
namespace {

using vk::Access;
using vk::Buffer;
using vk::Device;
using namespace hand;

std::vector<float> joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Experts read texels; where the device's texel buffers are too short for that, an expert there
/// is the textbook's author.
bool all_texels(const std::vector<std::shared_ptr<Buffer>>& buffers) {
  return std::all_of(buffers.begin(), buffers.end(), [](const auto& b) { return b->texels(); });
}

std::vector<Variant> triad_opponents(const Device& device) {
  constexpr uint32_t n = Stream::elements;
  const std::vector<float> x = stream_input(), y = stream_backwards();
  const auto a = filled(device, x), b = filled(device, y);
  std::vector<Variant> variants{by_hand(device, "textbook", {a, b, poisoned(device, n)},
                                        {step(shaders::triad_textbook, storage3, {0, 1, 2}, {n},
                                              vk::fold_groups(device, n, 64))}),
                                on_host(joined(x, y), n,
                                        [](native::Pair& pair, const float* in, float* out) {
                                          native::triad(pair, in, in + n, out, n);
                                        }),
                                floor_of(device, 1)};
  if (device.info().int64 && all_texels({a, b}))
    variants.insert(
        variants.begin() + 1,
        by_hand(device, "expert", {a, b, poisoned(device, n)},
                {step(shaders::triad_expert, texels2, {0, 1, 2}, {}, {n / (16 * 64), 1})}));
  return variants;
}

std::vector<Variant> sum_opponents(const Device& device) {
  constexpr uint32_t n = Stream::elements, groups = 1024, lanes = 256;
  const std::vector<float> x = sum_input();
  const auto input = filled(device, x);
  std::vector<Variant> variants{
      by_hand(device, "textbook", {input, poisoned(device, groups), poisoned(device, 1)},
              {step(shaders::sum_textbook, storage2, {0, 1}, {n}, {groups, 1}),
               step(shaders::sum_textbook, storage2, {1, 2}, {groups}, {1, 1})}),
      on_host(
          x, 1,
          [](native::Pair& pair, const float* in, float* out) { native::sum(pair, in, out, n); }),
      floor_of(device, 2)};
  if (all_texels({input}))
    variants.insert(
        variants.begin() + 1,
        by_hand(device, "expert", {input, poisoned(device, lanes), poisoned(device, 1)},
                {step(shaders::sum_expert, texels1, {0, 1}, {n / 4 / lanes}, {lanes / 64, 1}, 64),
                 step(shaders::sum_last_expert, texels1, {1, 2}, {lanes / 4}, {1, 1})}));
  return variants;
}

std::vector<Variant> softmax_opponents(const Device& device) {
  constexpr uint32_t rows = Softmax::rows, columns = Softmax::columns, n = rows * columns;
  const std::vector<float> x = softmax_input();
  const auto input = filled(device, x);
  std::vector<Variant> variants{
      by_hand(device, "textbook", {input, poisoned(device, n)},
              {step(shaders::softmax_textbook, storage2, {0, 1}, {columns}, {rows, 1})}),
      on_host(x, n,
              [](native::Pair& pair, const float* in, float* out) {
                native::softmax(pair, in, out, rows, columns);
              }),
      floor_of(device, 1)};
  if (device.info().int64 && all_texels({input}))
    variants.insert(
        variants.begin() + 1,
        by_hand(device, "expert", {input, poisoned(device, n)},
                {step(shaders::softmax_expert, texels1, {0, 1}, {columns}, {rows / 8, 1})}));
  return variants;
}

Step product_textbook(std::vector<size_t> buffers, const Matmul& m) {
  return step(shaders::matmul_textbook, storage3, std::move(buffers), {m.rows, m.depth, m.columns},
              {m.columns / 16, m.batch * m.rows / 16});
}

std::vector<Variant> matmul_opponents(const Device& device, const Matmul& m) {
  const std::vector<float> left = matmul_left(m), right = matmul_right(m);
  const auto a = filled(device, left), b = filled(device, right);
  std::vector<Variant> variants{by_hand(device, "textbook", {a, b, poisoned(device, m.result())},
                                        {product_textbook({0, 1, 2}, m)}),
                                on_host(joined(left, right), m.result(),
                                        [m](native::Pair& pair, const float* in, float* out) {
                                          native::matmul(pair, in, in + m.left(), out, m.batch,
                                                         m.rows, m.depth, m.columns);
                                        }),
                                floor_of(device, 1)};
  if (all_texels({a, b}))
    variants.insert(
        variants.begin() + 1,
        by_hand(device, "expert", {a, b, poisoned(device, m.result())},
                {step(shaders::matmul_expert, texels2, {0, 1, 2}, {m.rows, m.depth, m.columns},
                      {m.batch * m.rows / 8, m.columns / 32})}));
  return variants;
}

std::vector<Variant> hutchinson_opponents(const Device& device) {
  constexpr uint32_t n = Hutchinson::n, probes = Hutchinson::probes, draws = n * probes;
  const std::vector<float> matrix = hutchinson_matrix();
  const auto a = filled(device, matrix);
  const auto scratch = std::make_shared<HostArray>(2 * draws);
  const std::vector<Access> writes{Access::Storage};
  std::vector<Variant> variants{
      by_hand(
          device, "textbook",
          {a, poisoned(device, draws), poisoned(device, draws), poisoned(device, probes)},
          {step(shaders::hutchinson_draw_textbook, writes, {1}, {draws, 1}, {draws / 64, 1}),
           product_textbook({0, 1, 2}, {1, n, n, probes}),
           step(shaders::hutchinson_reduce_textbook, storage3, {1, 2, 3}, {n, probes}, {1, 1})}),
      on_host(matrix, probes,
              [scratch](native::Pair& pair, const float* in, float* out) {
                float* z = scratch->values().data();
                native::hutchinson(pair, in, z, z + draws, out, n, probes);
              }),
      floor_of(device, 3)};
  if (all_texels({a}))
    variants.insert(
        variants.begin() + 1,
        by_hand(
            device, "expert",
            {a, poisoned(device, draws), poisoned(device, n / 8 * probes),
             poisoned(device, probes)},
            {step(shaders::hutchinson_draw_expert, writes, {1}, {1}, {draws / 32 / 64, 1}),
             step(shaders::hutchinson_product_expert, texels2, {0, 1, 2}, {n, probes},
                  {n / 8, probes / 32}),
             step(shaders::hutchinson_reduce_expert, texels1, {2, 3}, {n / 8, probes}, {1, 1})}));
  return variants;
}

}  // namespace

void add_dense_opponents(std::vector<Workload>& workloads, const Device& device) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([&device, make] { return make(device); });
  };
  add("triad", triad_opponents);
  add("sum", sum_opponents);
  add("softmax", softmax_opponents);
  add("matmul_1024", [](const Device& d) { return matmul_opponents(d, matmul_1024); });
  add("matmul_64x256", [](const Device& d) { return matmul_opponents(d, matmul_64x256); });
  add("matmul_tall", [](const Device& d) { return matmul_opponents(d, matmul_tall); });
  add("hutchinson", hutchinson_opponents);
}

}  // namespace bench
