// tests/vulkan/profile_test.cpp -- profiles: which kernels ran, how often and how long; and what is
// made of Vulkan for them, or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/cost/device_model.h"
#include "engine/runtime/state.h"
#include "gnomon/gnomon.h"
#include "tests/support/temporary_folder.h"
#include "tests/vulkan/app.h"

namespace gnomon::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Between the Runtime and the driver. Functions have no room for an object, so there is one.
struct Seen {
  PFN_vkGetInstanceProcAddr instance = nullptr;
  PFN_vkGetDeviceProcAddr device = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties families = nullptr;
  PFN_vkCreateQueryPool create_pool = nullptr;
  PFN_vkDestroyQueryPool destroy_pool = nullptr;
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;
  PFN_vkSetDebugUtilsObjectNameEXT set_name = nullptr;
  bool no_timestamps = false;
  int pools_made = 0, pools_live = 0;
  std::multiset<std::string> labels;
  std::set<std::string> names;

  /// What is recorded, in order.
  struct Command {
    enum class Kind { barrier, barrier_for_counts, dispatch, indirect } kind;
    std::string label;
  };
  PFN_vkCmdPipelineBarrier barrier = nullptr;
  PFN_vkCmdDispatch dispatch = nullptr;
  PFN_vkCmdDispatchIndirect indirect = nullptr;
  std::string label;
  std::map<VkCommandBuffer, std::vector<Command>> commands;
} seen;
std::mutex naming;  // pipelines are made, and named, on several threads

VkResult VKAPI_PTR create_pool(VkDevice d, const VkQueryPoolCreateInfo* info,
                               const VkAllocationCallbacks* a, VkQueryPool* pool) {
  ++seen.pools_made, ++seen.pools_live;
  return seen.create_pool(d, info, a, pool);
}
void VKAPI_PTR destroy_pool(VkDevice d, VkQueryPool pool, const VkAllocationCallbacks* a) {
  if (pool != VK_NULL_HANDLE) --seen.pools_live;
  seen.destroy_pool(d, pool, a);
}
void VKAPI_PTR begin_label(VkCommandBuffer c, const VkDebugUtilsLabelEXT* label) {
  seen.labels.insert(label->pLabelName);
  seen.label = label->pLabelName;
  seen.begin_label(c, label);
}
void VKAPI_PTR barrier(VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
                       VkDependencyFlags flags, std::uint32_t n, const VkMemoryBarrier* memory,
                       std::uint32_t buffers, const VkBufferMemoryBarrier* b, std::uint32_t images,
                       const VkImageMemoryBarrier* i) {
  using enum Seen::Command::Kind;
  const bool counts = n == 1 && (to & VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT) != 0 &&
                      (memory->dstAccessMask & VK_ACCESS_INDIRECT_COMMAND_READ_BIT) != 0;
  seen.commands[c].push_back({counts ? barrier_for_counts : Seen::Command::Kind::barrier, {}});
  seen.barrier(c, from, to, flags, n, memory, buffers, b, images, i);
}
void VKAPI_PTR dispatch(VkCommandBuffer c, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  seen.commands[c].push_back({Seen::Command::Kind::dispatch, seen.label});
  seen.dispatch(c, x, y, z);
}
void VKAPI_PTR indirect(VkCommandBuffer c, VkBuffer counts, VkDeviceSize offset) {
  seen.commands[c].push_back({Seen::Command::Kind::indirect, seen.label});
  seen.indirect(c, counts, offset);
}
VkResult VKAPI_PTR set_name(VkDevice d, const VkDebugUtilsObjectNameInfoEXT* info) {
  const std::lock_guard lock(naming);
  seen.names.insert(info->pObjectName);
  return seen.set_name(d, info);
}
void VKAPI_PTR families(VkPhysicalDevice d, std::uint32_t* count, VkQueueFamilyProperties* p) {
  seen.families(d, count, p);
  if (p == nullptr || !seen.no_timestamps) return;
  for (std::uint32_t i = 0; i < *count; ++i) p[i].timestampValidBits = 0;
}

template <class F>
PFN_vkVoidFunction instead(PFN_vkVoidFunction real, F& kept, F other) {
  kept = reinterpret_cast<F>(real);
  return real == nullptr ? nullptr : reinterpret_cast<PFN_vkVoidFunction>(other);
}
PFN_vkVoidFunction VKAPI_PTR device_function(VkDevice d, const char* name) {
  const PFN_vkVoidFunction real = seen.device(d, name);
  const std::string_view n = name;
  if (n == "vkCreateQueryPool") return instead(real, seen.create_pool, &create_pool);
  if (n == "vkDestroyQueryPool") return instead(real, seen.destroy_pool, &destroy_pool);
  if (n == "vkCmdPipelineBarrier") return instead(real, seen.barrier, &barrier);
  if (n == "vkCmdDispatch") return instead(real, seen.dispatch, &dispatch);
  if (n == "vkCmdDispatchIndirect") return instead(real, seen.indirect, &indirect);
  if (n == "vkCmdBeginDebugUtilsLabelEXT") return instead(real, seen.begin_label, &begin_label);
  if (n == "vkSetDebugUtilsObjectNameEXT") return instead(real, seen.set_name, &set_name);
  return real;
}
PFN_vkVoidFunction VKAPI_PTR instance_function(VkInstance instance, const char* name) {
  const std::string_view n = name;
  if (n == "vkGetDeviceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(&device_function);
  const PFN_vkVoidFunction real = seen.instance(instance, name);
  if (n == "vkGetPhysicalDeviceQueueFamilyProperties")
    return instead(real, seen.families, &families);
  return real;
}

class ProfileTest : public ::testing::Test {
 protected:
  explicit ProfileTest(const AppOptions& options = {.validate = false}) : app(options) {
    seen = {};
  }
  void adopt(bool validate, bool labels = false) {
    VulkanDevice device = app.described();
    seen.instance = device.get_instance_proc_addr;
    seen.device = app.function<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
    device.get_instance_proc_addr = &instance_function;
    RuntimeOptions options;
    options.validate = validate;
    options.labels = labels;
    rt.emplace(Runtime::adopt(device, options));
  }
  void TearDown() override {
    rt.reset();
    EXPECT_EQ(seen.pools_live, 0);
    for (const std::string& m : app.messages()) ADD_FAILURE() << m;
  }
  App app;
  std::optional<Runtime> rt;
};

/// Two kernels: a sum, and what needs it.
Array centred(const Array& x) { return x - sum(x) * (1.0f / 4096); }

/// What holds of every profile.
void check(const Profile& p, std::uint64_t dispatches) {
  std::uint64_t count = 0;
  double total = 0, at = 0;
  std::vector<std::uint64_t> seen_of(p.rows.size());
  for (const ProfileRow& r : p.rows) {
    count += r.count;
    total += r.total_us;
    EXPECT_GT(r.total_us, 0) << r.kernel;
    EXPECT_DOUBLE_EQ(r.mean_us() * static_cast<double>(r.count), r.total_us);
  }
  EXPECT_EQ(count, dispatches);
  EXPECT_EQ(p.events.size(), dispatches);
  EXPECT_LE(total, p.wall_us);
  for (const ProfileEvent& e : p.events) {
    EXPECT_GE(e.start_us, at - 1e-6) << "one behind the other";
    at = e.start_us + e.took_us;
    ++seen_of.at(e.row);
  }
  EXPECT_LE(at, p.wall_us);
  for (std::size_t i = 0; i < p.rows.size(); ++i) EXPECT_EQ(seen_of[i], p.rows[i].count);
  for (std::size_t i = 1; i < p.rows.size(); ++i)
    EXPECT_GE(p.rows[i - 1].total_us, p.rows[i].total_us);
}

std::map<std::string, std::uint64_t> counts(const Profile& p) {
  std::map<std::string, std::uint64_t> result;
  for (const ProfileRow& r : p.rows) result[r.kernel] = r.count;
  return result;
}

class Watched : public ProfileTest {
 protected:
  Watched() : ProfileTest(AppOptions{}) {}
};

TEST_F(Watched, KernelsHaveTheirNamesCountsAndLines) {
  adopt(true);
  const Array x = rt->from_host(std::vector<float>(4096, 3.0f));
  const auto f = jit(*rt, centred, {.name = "centred"});
  const Profile p = f.profile(x);
  check(p, static_cast<std::uint64_t>(f.kernel_count()));
  EXPECT_EQ(p.program, "centred");
  EXPECT_EQ(p.device, rt->device_name());
  EXPECT_EQ(seen.pools_made, p.device_clock ? 1 : 0);
  const std::string plan = f.text("plan");
  for (const ProfileRow& r : p.rows) {
    EXPECT_EQ(r.count, 1u);
    EXPECT_THAT(plan, HasSubstr(r.kernel));
    EXPECT_THAT(r.where, HasSubstr("profile_test.cpp:")) << r.kernel;
  }
  EXPECT_EQ(rt->to_host<float>(f(x))[7], 0.0f) << "calls go on";
}

TEST_F(Watched, LoopsCountTheirSteps) {
  adopt(true);
  // So many elements that a step is several dispatches.
  constexpr Dim n = 1 << 17;
  const Array x = rt->from_host(std::vector<float>(n, 1.0f));
  const auto known = jit(*rt, [](const Array& v) {
    return fori_loop(
        0, 21, [](const Array&, const Array& u) { return u * 0.5f + sum(u) * (0.5f / n); }, v);
  });
  const Profile p = known.profile(x);
  check(p, p.events.size());
  // What a step needs all of, and what it makes of that.
  int steps = 0;
  for (const auto& [kernel, count] : counts(p)) steps += count == 21;
  EXPECT_GE(steps, 2) << to_string(p);
  EXPECT_EQ(rt->to_host<float>(known(x))[7], 1.0f);

  const auto ends = [](const Array& v) {
    return while_loop([](const Array& u) { return sum(u) < 30.0f * n; },
                      [](const Array& u) { return u + sum(u) * (1.0f / n); }, v,
                      {.max_steps = 1000});
  };
  const auto unknown = jit(*rt, ends);
  const Profile q = unknown.profile(x);
  check(q, q.events.size());
  // n, 2n, ..., 32n: five steps and six looks, which share the kernels of their sums. What was
  // written down for further steps did not run.
  std::set<std::uint64_t> often;
  for (const ProfileRow& r : q.rows) often.insert(r.count);
  EXPECT_EQ(often, (std::set<std::uint64_t>{1, 5, 6, 11})) << to_string(q);
  EXPECT_EQ(counts(q)["gate"], 6u) << to_string(q);
  EXPECT_EQ(rt->to_host<float>(unknown(x))[7], 32.0f);
}

// Exactly, which the validation layer cannot say: it takes whatever writes to a buffer for who
// wrote the numbers of workgroups that lie in it.
TEST_F(Watched, NumbersOfWorkgroupsAreWaitedForBehindGatesAlone) {
  adopt(false, true);
  constexpr Dim n = 1 << 17;
  const auto f = jit(*rt, [](const Array& v) {
    return while_loop([](const Array& u) { return sum(u) < 30.0f * n; },
                      [](const Array& u) { return u + sum(u) * (1.0f / n); }, v,
                      {.max_steps = 1000});
  });
  EXPECT_EQ(rt->to_host<float>(f(rt->from_host(std::vector<float>(n, 1.0f))))[7], 32.0f);
  for (const std::string& m : app.take_messages())
    EXPECT_THAT(m, AnyOf(HasSubstr("hazard"), HasSubstr("HAZARD")));
  using enum Seen::Command::Kind;
  std::size_t decided = 0, gates = 0, others = 0;
  for (const auto& [buffer, commands] : seen.commands) {
    bool written = true;  // in front of it, for all that is known
    for (const Seen::Command& c : commands) {
      others += c.kind == Seen::Command::Kind::barrier;
      if (c.kind == barrier_for_counts) {
        EXPECT_TRUE(written) << "a barrier waits for counts that nobody wrote";
        written = false;
      }
      if (c.kind == Seen::Command::Kind::indirect) {
        EXPECT_FALSE(written) << c.label << " reads counts that nothing waited for";
        ++decided;
      }
      const bool is_gate = c.label.ends_with("gate");
      gates += is_gate;
      written = written || is_gate || c.label.ends_with("begin");
    }
  }
  EXPECT_GT(decided, 0u);
  EXPECT_GT(gates, 0u);
  EXPECT_GT(others, 0u) << "between what one decision lets run";
}

TEST_F(ProfileTest, CallsMakeNoQueries) {
  adopt(false);
  const Array x = rt->from_host(std::vector<float>(4096, 3.0f));
  const auto f = jit(*rt, centred);
  EXPECT_EQ(rt->to_host<float>(f(x))[7], 0.0f);
  EXPECT_EQ(seen.pools_made, 0);
  EXPECT_TRUE(seen.labels.empty());
  EXPECT_TRUE(seen.names.empty());
  check(f.profile(x), static_cast<std::uint64_t>(f.kernel_count()));
}

TEST_F(ProfileTest, WithoutTimestampsTimesAreTheHosts) {
  seen.no_timestamps = true;
  adopt(false);
  const Array x = rt->from_host(std::vector<float>(4096, 3.0f));
  const auto f = jit(*rt, centred);
  const Profile p = f.profile(x);
  check(p, static_cast<std::uint64_t>(f.kernel_count()));
  EXPECT_FALSE(p.device_clock);
  EXPECT_EQ(seen.pools_made, 0);
  EXPECT_THAT(to_string(p), HasSubstr("timestampValidBits is 0"));
  EXPECT_THAT(chrome_trace(std::span(&p, 1)), HasSubstr("the host's clock"));
}

TEST_F(Watched, ToolsSeeLabelsAndNames) {
  adopt(true);
  const Array x = rt->from_host(std::vector<float>(4096, 3.0f));
  const auto f = jit(*rt, centred, {.name = "centred"});
  const Profile p = f.profile(x);
  EXPECT_TRUE(seen.names.contains("gnomon arrays"));
  for (const ProfileRow& r : p.rows) {
    EXPECT_TRUE(seen.labels.contains("centred: " + r.kernel)) << r.kernel;
    EXPECT_TRUE(seen.names.contains(r.kernel)) << r.kernel;
  }
  seen.labels.clear();
  Array y;
  const VkCommandBuffer commands = app.begin();
  const Recording call = record(commands, y, f, x);
  app.end(commands);
  EXPECT_EQ(seen.labels.size(), p.events.size());
}

TEST_F(ProfileTest, LabelsAreLeftOutWhereTheExtensionIsNot) {
  adopt(false, true);  // this application's instance has none
  const auto f = jit(*rt, centred);
  EXPECT_EQ(rt->to_host<float>(f(rt->from_host(std::vector<float>(4096, 3.0f))))[7], 0.0f);
  EXPECT_TRUE(seen.labels.empty());
}

TEST(ProfileOfARuntime, HasLabelsWhenAskedTo) {
  RuntimeOptions options;
  options.labels = true;
  Runtime rt(options);
  EXPECT_TRUE(rt.state()->context->device.labels());
  EXPECT_FALSE(Runtime().state()->context->device.labels());
  const auto f = jit(rt, centred);
  EXPECT_EQ(rt.to_host<float>(f(rt.from_host(std::vector<float>(4096, 3.0f))))[7], 0.0f);
}

TEST_F(ProfileTest, SaysWhatKernelsShouldTakeWhereTheModelHasTimes) {
  adopt(false);
  const auto f = jit(*rt, centred, {.name = "centred"});
  const Profile p = f.profile(rt->from_host(std::vector<float>(4096, 3.0f)));
  const bool has_times = device_model(rt->target()).nanoseconds[0] > 0;
  ASSERT_FALSE(p.rows.empty());
  for (const ProfileRow& r : p.rows) {
    EXPECT_EQ(r.estimated_us > 0, has_times) << r.kernel;
    // How far a member of a team walks is not counted.
    if (rt->target().team == 0) {
      EXPECT_FALSE(r.executed.empty()) << r.kernel;
    }
  }
}

TEST_F(ProfileTest, OfALoadedProgram) {
  adopt(false);
  const Array x = rt->from_host(std::vector<float>(4096, 3.0f));
  const auto f = jit(*rt, centred, {.name = "centred"});
  const auto bytes = aot::to_bytes({{"centred", f.lower(x)}});
  const aot::Function<Array(Array)> loaded(aot::load(*rt, bytes), "centred");
  const Profile p = loaded.profile(x);
  check(p, p.events.size());
  EXPECT_EQ(counts(p), counts(f.profile(x)));
  // Its modules do not say what they take.
  for (const ProfileRow& r : p.rows) EXPECT_EQ(r.estimated_us, 0) << r.kernel;
}

TEST_F(ProfileTest, PrintsATableAndATrace) {
  Profile p;
  p.program = "step";
  p.device = "a \"device\"";
  p.wall_us = 50;
  p.rows = {{"sum", "model.cpp:12, 14", 2, 30, 12.5}, {"scale", "", 1, 10}};
  p.events = {{0, 0, 20}, {1, 20, 10}, {0, 30, 10}};
  EXPECT_EQ(to_string(p),
            "kernel  count  total us  mean us  estimated us  share  lines\n"
            "sum         2      30.0    15.00         12.50  75.0%  model.cpp:12, 14\n"
            "scale       1      10.0    10.00             -  25.0%\n"
            "`step` on a \"device\": 3 dispatches, 40.0 us in kernels of 50.0 us\n");
  const auto trace = nlohmann::json::parse(chrome_trace(std::span(&p, 1)));
  const auto& events = trace.at("traceEvents");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].at("ph"), "M");
  EXPECT_EQ(events[1].at("args").at("name"), "a \"device\"");
  EXPECT_EQ(events[3].at("ph"), "X");
  EXPECT_EQ(events[3].at("name"), "scale");
  EXPECT_EQ(events[3].at("ts"), 20.0);
  EXPECT_EQ(events[3].at("dur"), 10.0);
  EXPECT_EQ(events[4].at("args").at("lines"), "model.cpp:12, 14");

  const TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  write_chrome_trace(path, std::span(&p, 1));
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), chrome_trace(std::span(&p, 1)));
  EXPECT_THROW(write_chrome_trace("/nowhere/trace.json", std::span(&p, 1)), FileError);
}

}  // namespace
}  // namespace gnomon::testing
