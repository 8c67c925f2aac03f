// tests/bench/opponents.cpp -- the variants that do not use the library: textbook, expert, native
// and floor of every workload.
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <new>

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
using vk::Dispatch;
using vk::Kernel;
using vk::KernelSpec;
using vk::Recording;

/// Everything one hand-written variant holds; its lambdas share it.
struct Hand {
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::unique_ptr<Recording> recording;
};

std::shared_ptr<Buffer> filled(const Device& device, std::span<const float> values) {
  auto buffer = std::make_shared<Buffer>(device, values.size());
  std::copy(values.begin(), values.end(), buffer->host().begin());
  return buffer;
}

/// A result buffer full of NaN: what no run wrote is noticed.
std::shared_ptr<Buffer> poisoned(const Device& device, size_t floats) {
  auto buffer = std::make_shared<Buffer>(device, floats);
  std::fill(buffer->host().begin(), buffer->host().end(), std::numeric_limits<float>::quiet_NaN());
  return buffer;
}

/// One dispatch before it has a kernel: the kernels are made in `prepare`.
struct Step {
  KernelSpec spec;
  std::vector<size_t> buffers;
  std::vector<uint32_t> push;
  vk::Groups groups;
};

Step step(std::span<const uint32_t> spirv, std::vector<Access> bindings,
          std::vector<size_t> buffers, std::vector<uint32_t> push, vk::Groups groups,
          uint32_t group_size = 64) {
  Step result;
  result.spec.spirv = spirv;
  result.spec.bindings = std::move(bindings);
  result.spec.push_bytes = static_cast<uint32_t>(push.size() * sizeof(uint32_t));
  result.spec.group_size = group_size;
  result.buffers = std::move(buffers);
  result.push = std::move(push);
  result.groups = groups;
  return result;
}

/// A variant that runs `steps` over `buffers` and whose result is the last buffer.
Variant by_hand(const Device& device, std::string name,
                std::vector<std::shared_ptr<Buffer>> buffers, std::vector<Step> steps) {
  auto hand = std::make_shared<Hand>();
  hand->buffers = std::move(buffers);
  Variant variant;
  variant.name = std::move(name);
  const double count = static_cast<double>(steps.size());
  variant.prepare = [&device, hand, steps = std::move(steps)] {
    std::vector<Dispatch> dispatches;
    for (const Step& each : steps) {
      Dispatch& dispatch = dispatches.emplace_back();
      hand->kernels.push_back(std::make_unique<Kernel>(device, each.spec));
      dispatch.kernel = hand->kernels.back().get();
      for (size_t index : each.buffers) dispatch.buffers.push_back(hand->buffers[index].get());
      dispatch.push = each.push;
      dispatch.groups_x = each.groups.x;
      dispatch.groups_y = each.groups.y;
    }
    hand->recording = std::make_unique<Recording>(device, dispatches);
  };
  variant.run = [hand] { hand->recording->run(); };
  variant.result = [hand] {
    const std::span<const float> values = hand->buffers.back()->host();
    return std::vector<float>(values.begin(), values.end());
  };
  variant.extras = [count] { return std::map<std::string, double>{{"kernels", count}}; };
  return variant;
}

/// The result of a floor is a pattern that its empty shaders must leave alone.
const std::vector<float>& untouched() {
  static const std::vector<float> pattern{0.0f, 1.0f, 2.0f, 3.0f};
  return pattern;
}

Verdict still_untouched(std::span<const float> result) {
  const bool same =
      std::equal(result.begin(), result.end(), untouched().begin(), untouched().end());
  return {same, same ? "empty shaders" : "an empty shader changed memory"};
}

/// One submit of `dispatches` empty shaders of one invocation each.
Variant floor_of(const Device& device, size_t dispatches) {
  const std::vector<Step> steps(dispatches, step(shaders::empty, {}, {}, {}, {}));
  Variant variant = by_hand(device, "floor", {filled(device, untouched())}, steps);
  variant.check = still_untouched;
  return variant;
}

/// Host memory at the start of a page: a vector that straddles cache lines would halve the speed.
class HostArray {
 public:
  explicit HostArray(size_t floats)
      : values_(new (std::align_val_t{page}) float[floats]), floats_(floats) {}
  std::span<float> values() const { return {values_.get(), floats_}; }

 private:
  static constexpr size_t page = 4096;
  struct Delete {
    void operator()(float* values) const { ::operator delete[](values, std::align_val_t{page}); }
  };
  std::unique_ptr<float[], Delete> values_;
  size_t floats_;
};

/// A host variant: `work(input, output)` on the two threads of `pair`.
Variant on_host(std::span<const float> input, size_t outputs,
                std::function<void(native::Pair&, const float*, float*)> work) {
  struct Held {
    native::PairPtr pair;
    HostArray input, output;
  };
  auto held = std::make_shared<Held>(
      Held{native::make_pair(), HostArray(input.size()), HostArray(outputs)});
  std::copy(input.begin(), input.end(), held->input.values().begin());
  std::fill(held->output.values().begin(), held->output.values().end(),
            std::numeric_limits<float>::quiet_NaN());
  Variant variant;
  variant.name = "native";
  variant.run = [held, work = std::move(work)] {
    work(*held->pair, held->input.values().data(), held->output.values().data());
  };
  variant.result = [held] {
    const std::span<const float> values = held->output.values();
    return std::vector<float>(values.begin(), values.end());
  };
  return variant;
}

const std::vector<Access> storage2{Access::Storage, Access::Storage};
const std::vector<Access> texels1{Access::Texels, Access::Storage};

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
  const Step expert = input->texels()
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
  add("call", call_opponents);
  add("cold", cold_opponents);
}

}  // namespace bench
