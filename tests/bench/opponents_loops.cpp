// tests/bench/opponents_loops.cpp -- the variants that do not use the library of the workloads that
// are loops.
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
using vk::bits;
using vk::Device;
using namespace hand;

/// There is no textbook variant: its single dispatch is stopped by drivers that count trips, and a
/// wrong result has no time.
std::vector<Variant> while_scalar_opponents(const Device& device) {
  using P = WhileScalar;
  const std::vector<float> start{0.0f, P::start};
  std::vector<Step> steps;
  for (uint32_t done = 0; done < P::steps; done += P::dispatch_steps) {
    const size_t from = steps.size();
    steps.push_back(step(shaders::while_scalar_expert, storage2, {from, from + 1},
                         {std::min(done + P::dispatch_steps, P::steps), bits(P::rate)}, {1, 1}));
  }
  std::vector<std::shared_ptr<vk::Buffer>> buffers{filled(device, start)};
  while (buffers.size() <= steps.size()) buffers.push_back(poisoned(device, 2));
  const size_t dispatches = steps.size();
  return {by_hand(device, "expert", std::move(buffers), std::move(steps)),
          on_host(start, 2,
                  [](native::Pair&, const float* in, float* out) {
                    native::while_scalar(in[1], P::rate, P::steps, out);
                  }),
          floor_of(device, dispatches)};
}

std::vector<Variant> cg_opponents(const Device& device) {
  constexpr uint32_t n = Cg::n;
  const std::vector<float> matrix = cg_matrix();
  const auto a = filled(device, matrix);
  const std::vector<uint32_t> push{Cg::max_steps, bits(Cg::tolerance)};
  std::vector<Variant> variants{
      by_hand(device, "textbook", {a, poisoned(device, n + 1)},
              {step(shaders::cg_textbook, storage2, {0, 1}, push, {1, 1})}),
      on_host(matrix, n + 1,
              [](native::Pair&, const float* in, float* out) { native::cg(in, out); }),
      floor_of(device, 1)};
  if (a->texels())
    variants.insert(variants.begin() + 1,
                    by_hand(device, "expert", {a, poisoned(device, n + 1)},
                            {step(shaders::cg_expert, texels1, {0, 1}, push, {1, 1})}));
  return variants;
}

/// Hand-written kernels for lavapipe take 3.6 times as long as this.
std::vector<Variant> neural_ode_opponents(const Device&) {
  const std::vector<float> input = neural_ode_input();
  const std::shared_ptr<native::NeuralScratch> scratch = native::make_neural_scratch();
  return {on_host(input, 1 + 3 * NeuralOde::parameters,
                  [scratch](native::Pair& pair, const float* in, float* out) {
                    native::neural_ode_step(pair, *scratch, in, out);
                  })};
}

enum class Counts { equal, various };

std::vector<Variant> lanes_opponents(const Device& device, const std::vector<float>& wanted,
                                     Counts counts) {
  constexpr uint32_t n = Lanes::systems;
  std::vector<float> both = lanes_rho();
  const auto rho = filled(device, both), steps = filled(device, wanted);
  both.insert(both.end(), wanted.begin(), wanted.end());
  const std::vector<uint32_t> push{n, bits(Lanes::step)};
  // Where counts vary: few invocations, which keep every thread of a CPU busy to the end.
  constexpr uint32_t group = 8, groups = 16, burst = 8;
  Variant expert =
      counts == Counts::equal
          ? by_hand(device, "expert", {rho, steps, poisoned(device, 4 * n)},
                    {step(shaders::lanes_uniform_expert, storage3, {0, 1, 2}, push,
                          vk::fold_groups(device, n / 4, 64))})
          : by_hand(device, "expert", {rho, steps, poisoned(device, 1), poisoned(device, 4 * n)},
                    {step(shaders::lanes_reset, {Access::Storage}, {2}, {}, {1, 1}),
                     step(shaders::lanes_expert, std::vector<Access>(4, Access::Storage),
                          {0, 1, 2, 3}, {n, bits(Lanes::step), burst}, {groups, 1}, group)});
  return {by_hand(device, "textbook", {rho, steps, poisoned(device, 4 * n)},
                  {step(shaders::lanes_textbook, storage3, {0, 1, 2}, push,
                        vk::fold_groups(device, n, 64))}),
          std::move(expert),
          on_host(both, 4 * n,
                  [](native::Pair& pair, const float* in, float* out) {
                    native::lanes(pair, in, out, n);
                  }),
          floor_of(device, counts == Counts::equal ? 1 : 2)};
}

std::vector<Variant> history_opponents(const Device& device) {
  using P = History;
  const std::vector<float> offsets = history_offsets();
  std::vector<Step> steps;
  for (uint32_t row = 0; row < P::rows; row += WhileScalar::dispatch_steps)
    steps.push_back(step(shaders::history_expert, storage2, {0, 1},
                         {row, std::min(row + WhileScalar::dispatch_steps, P::rows)}, {1, 1}));
  const size_t dispatches = steps.size();
  return {
      by_hand(device, "expert", {filled(device, offsets), poisoned(device, P::rows * P::columns)},
              std::move(steps)),
      on_host(
          offsets, P::rows * P::columns,
          [](native::Pair&, const float* in, float* out) { native::history(in, out, P::rows); }),
      floor_of(device, dispatches)};
}

/// What is compared are two bounds of one loop; the bare driver cost is of 100 short dispatches.
std::vector<Variant> dead_opponents(const Device& device) {
  constexpr size_t n = Dead::n;
  std::vector<float> both = dead_matrix();
  const std::vector<float> start = dead_start();
  both.insert(both.end(), start.begin(), start.end());
  return {on_host(both, n,
                  [](native::Pair&, const float* in, float* out) {
                    native::dead(in, in + n * n, Dead::steps, out);
                  }),
          floor_of(device, Dead::steps)};
}

}  // namespace

void add_loop_opponents(std::vector<Workload>& workloads, const Device& device) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([&device, make] { return make(device); });
  };
  add("while_scalar", while_scalar_opponents);
  add("cg", cg_opponents);
  add("neural_ode_step", neural_ode_opponents);
  add("lanes_uniform",
      [](const Device& d) { return lanes_opponents(d, lanes_uniform_steps(), Counts::equal); });
  add("lanes_heavy_tail", [](const Device& d) {
    return lanes_opponents(d, lanes_heavy_tail_steps(), Counts::various);
  });
  add("ode_sde", [](const Device&) {
    return std::vector<Variant>{
        on_host(sde_starts(), OdeSde::paths, [](native::Pair& pair, const float* in, float* out) {
          native::sde(pair, in, out, OdeSde::paths);
        })};
  });
  add("history", history_opponents);
  add("dead", dead_opponents);
}

}  // namespace bench
