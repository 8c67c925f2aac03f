// tests/bench/opponents.cpp -- the variants that do not use the library: textbook, expert, native
// and floor of every workload.
#include <algorithm>
#include <chrono>
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
using vk::Buffer;
using vk::Device;
using namespace hand;

Step rk4_textbook(const Device& device, uint32_t systems, uint32_t steps, float dt) {
  return step(shaders::lorenz_rk4_textbook, storage2, {0, 1}, {systems, steps, bits(dt)},
              vk::fold_groups(device, systems, 64));
}

Step rk4_expert(const Device& device, uint32_t systems, uint32_t steps, float dt) {
  constexpr uint32_t group = 64;
  return step(shaders::lorenz_rk4_expert, storage2, {0, 1}, {systems, steps, bits(dt)},
              vk::fold_groups(device, systems / 4, group), group);
}

std::vector<Variant> lorenz_rk4_opponents(const Device& device) {
  using P = LorenzRk4;
  constexpr uint32_t n = P::systems;
  const std::vector<float> rho = lorenz_rho(n);
  const auto input = filled(device, rho);
  return {by_hand(device, "textbook", {input, poisoned(device, 3 * n)},
                  {rk4_textbook(device, n, P::steps, P::step)}),
          by_hand(device, "expert", {input, poisoned(device, 3 * n)},
                  {rk4_expert(device, n, P::steps, P::step)}),
          on_host(rho, 3 * n,
                  [](native::Pair& pair, const float* in, float* out) {
                    native::lorenz_rk4(pair, in, out, n);
                  }),
          floor_of(device, 1)};
}

std::vector<Variant> lorenz_adaptive_opponents(const Device& device) {
  using P = LorenzAdaptive;
  constexpr uint32_t n = P::systems;
  const std::vector<float> rho = lorenz_rho(n);
  const auto input = filled(device, rho);
  const std::vector<uint32_t> push{n, P::max_steps, bits(P::end), bits(P::tolerance),
                                   bits(P::first_step)};
  // Groups of one SIMD group: the slowest system of a group holds up only that one.
  constexpr uint32_t group = 8;
  return {by_hand(device, "textbook", {input, poisoned(device, 4 * n)},
                  {step(shaders::lorenz_adaptive_textbook, storage2, {0, 1}, push,
                        vk::fold_groups(device, n, 64))}),
          by_hand(device, "expert", {input, poisoned(device, 4 * n)},
                  {step(shaders::lorenz_adaptive_expert, storage2, {0, 1}, push,
                        vk::fold_groups(device, n / 4, group), group)}),
          on_host(rho, 4 * n,
                  [](native::Pair& pair, const float* in, float* out) {
                    native::lorenz_adaptive(pair, in, out, n);
                  }),
          floor_of(device, 1)};
}

struct StreamKernels {
  std::span<const uint32_t> textbook, expert, expert_storage;
  void (*host)(native::Pair&, const float*, float*, size_t);
};

std::vector<Variant> stream_opponents(const Device& device, const StreamKernels& kernels) {
  constexpr uint32_t n = Stream::elements, group = 64;
  const std::vector<float> x = stream_input();
  const auto input = filled(device, x);
  constexpr uint32_t per_group = 16 * group;
  static_assert(n % per_group == 0);
  const Step expert = input->texels() && device.info().int64
                          ? step(kernels.expert, texels1, {0, 1}, {}, {n / per_group, 1}, group)
                          : step(kernels.expert_storage, storage2, {0, 1}, {},
                                 vk::fold_groups(device, n / 4, group), group);
  return {by_hand(device, "textbook", {input, poisoned(device, n)},
                  {step(kernels.textbook, storage2, {0, 1}, {n}, vk::fold_groups(device, n, 64))}),
          by_hand(device, "expert", {input, poisoned(device, n)}, {expert}),
          on_host(x, n,
                  [host = kernels.host](native::Pair& pair, const float* in, float* out) {
                    host(pair, in, out, n);
                  }),
          floor_of(device, 1)};
}

Variant mixed_native(std::span<const float> rho) {
  constexpr size_t states = 3 * Mixed::lanes, matrix = Mixed::side * Mixed::side;
  const auto scratch = std::make_shared<HostArray>(states + matrix);
  return on_host(rho, matrix, [scratch](native::Pair& pair, const float* in, float* out) {
    native::mixed(pair, in, scratch->values().data(), scratch->values().data() + states, out);
  });
}

std::vector<Variant> mixed_opponents(const Device& device) {
  using P = Mixed;
  constexpr uint32_t n = P::lanes, side = P::side;
  const std::vector<Access> storage4(4, Access::Storage);
  const std::vector<uint32_t> pull{n, P::pulled_steps, bits(P::pulled_step)};
  const std::vector<float> rho = lorenz_rho(n);
  const auto input = filled(device, rho);
  // Buffers: 0 rho, 1 states, 2 means or partial sums, 3 A, 4 C.
  const auto buffers = [&](size_t sums) {
    return std::vector<std::shared_ptr<Buffer>>{
        input, poisoned(device, 3 * n), poisoned(device, sums), poisoned(device, side * side),
        poisoned(device, side * side)};
  };
  std::vector<Step> textbook, expert;
  textbook.push_back(rk4_textbook(device, n, P::steps, P::step));
  textbook.push_back(step(shaders::mixed_mean_textbook, storage2, {1, 2}, {n}, {3, 1}));
  textbook.push_back(step(shaders::mixed_pull_textbook, storage4, {0, 1, 2, 3}, pull,
                          vk::fold_groups(device, n, 64)));
  textbook.push_back(
      step(shaders::mixed_matmul_textbook, storage2, {3, 4}, {side}, {side / 16, side / 16}));
  expert.push_back(rk4_expert(device, n, P::steps, P::step));
  expert.push_back(step(shaders::mixed_mean_expert, texels1, {1, 2}, {n}, {1, 1}));
  expert.push_back(step(shaders::mixed_pull_expert, storage4, {0, 1, 2, 3}, pull,
                        vk::fold_groups(device, n / 4, 64)));
  expert.push_back(
      step(shaders::mixed_matmul_expert, texels1, {3, 4}, {side}, {side / 32, side / 8}));
  return {by_hand(device, "textbook", buffers(4), textbook),
          by_hand(device, "expert", buffers(24), expert), mixed_native(rho), floor_of(device, 4)};
}

std::vector<Variant> call_opponents(const Device& device) {
  constexpr uint32_t n = Call::elements;
  std::vector<float> x(n);
  for (uint32_t i = 0; i < n; i++) x[i] = static_cast<float>(i);
  const auto input = filled(device, x);
  return {
      by_hand(device, "textbook", {input, poisoned(device, n)},
              {step(shaders::call_textbook, storage2, {0, 1}, {n}, {1, 1})}),
      by_hand(device, "expert", {input, poisoned(device, n)},
              {step(shaders::call_expert, storage2, {0, 1}, {}, {1, 1})}),
      on_host(x, n, [](native::Pair&, const float* in, float* out) { native::call(in, out, n); }),
      floor_of(device, 1)};
}

/// First call of a hand-written variant: every run makes its pipelines anew and dispatches once.
/// There is no trace and no compiler to time, the shaders are compiled with the bench; what is
/// left is the driver's own time, at pipeline creation or at the first dispatch as it likes.
Variant cold(Variant variant) {
  using Clock = std::chrono::steady_clock;
  auto pipeline_ms = std::make_shared<double>(0.0);
  const auto make = variant.prepare;
  const auto dispatch = variant.run;
  variant.prepare = nullptr;
  variant.before = [] {};
  variant.run = [=] {
    const auto start = Clock::now();
    make();
    *pipeline_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    dispatch();
  };
  variant.extras = [=] { return std::map<std::string, double>{{"pipeline_ms", *pipeline_ms}}; };
  return variant;
}

std::vector<Variant> cold_opponents(const Device& device) {
  std::vector<Variant> variants;
  for (Variant& variant : lorenz_rk4_opponents(device))
    if (variant.name != "native") variants.push_back(cold(std::move(variant)));
  return variants;
}

}  // namespace

void add_opponents(std::vector<Workload>& workloads, const Device& device) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([&device, make] { return make(device); });
  };
  add("lorenz_rk4", lorenz_rk4_opponents);
  add("lorenz_adaptive", lorenz_adaptive_opponents);
  add("mixed", mixed_opponents);
  add("chain", [](const Device& d) {
    return stream_opponents(d, {shaders::chain_textbook, shaders::chain_expert,
                                shaders::chain_expert_storage, native::chain});
  });
  add("copy", [](const Device& d) {
    return stream_opponents(d, {shaders::copy_textbook, shaders::copy_expert,
                                shaders::copy_expert_storage, native::copy});
  });
  add_dense_opponents(workloads, device);
  add_loop_opponents(workloads, device);
  add_sparse_opponents(workloads, device);
  add_training_opponents(workloads);
  add_conv_opponents(workloads);
  add_ode_opponents(workloads);
  add("call", call_opponents);
  add("cold", cold_opponents);
}

}  // namespace bench
