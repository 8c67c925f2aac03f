// tests/engine/program_store_test.cpp -- programs that later processes find, and files that were
// damaged meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>

#include "engine/jit/program_store.h"
#include "engine/runtime/state.h"
#include "gnomon/control.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/child.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

namespace fs = std::filesystem;

RuntimeOptions cached(const TemporaryFolder& folder) {
  RuntimeOptions options = validated();
  options.cache = folder.path.string();
  return options;
}

std::vector<fs::path> all_files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

/// What a Runtime by itself does: on a device whose rounding nobody knows it runs a kernel, and
/// keeps what it found in a file.
struct Bare {
  std::vector<fs::path> files;  // their names
  std::uint64_t pipelines = 0;
};
const Bare& bare() {
  static const Bare found = [] {
    const TemporaryFolder folder;
    Bare b;
    b.pipelines = Runtime(cached(folder)).counters().pipelines;
    for (const fs::path& p : all_files_of(folder.path)) b.files.push_back(p.filename());
    return b;
  }();
  return found;
}

/// The files of programs.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files = all_files_of(folder);
  std::erase_if(files, [](const fs::path& p) {
    return std::find(bare().files.begin(), bare().files.end(), p.filename()) != bare().files.end();
  });
  return files;
}

Array small(const Array& x) { return sin(x) * 2 + 1; }

std::vector<float> numbers() {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 8;
  return x;
}

/// What a Runtime made of a function.
struct Outcome {
  std::vector<float> result;
  Counters counters;
};

Outcome outcome(const RuntimeOptions& options, const std::function<Array(const Array&)>& f,
                const JitOptions& jit_options = {}) {
  Runtime rt(options);
  Outcome o;
  {
    auto g = jit(rt, f, jit_options);
    o.result = rt.to_host<float>(g(rt.from_host(numbers())));
  }
  o.counters = rt.counters();
  rt.clear_programs();
  expect_clean(rt);
  return o;
}

TEST(ProgramStore, ASecondRuntimeCompilesNothing) {
  const TemporaryFolder folder;
  const Outcome first = outcome(cached(folder), small), second = outcome(cached(folder), small);
  EXPECT_EQ(first.counters.programs_compiled, 1u);
  EXPECT_EQ(first.counters.programs_loaded, 0u);
  EXPECT_EQ(first.counters.new_pipelines, first.counters.pipelines);
  EXPECT_GT(first.counters.pipelines, 0u);
  EXPECT_EQ(second.counters.programs_compiled, 0u);
  EXPECT_EQ(second.counters.programs_loaded, 1u);
  EXPECT_EQ(second.counters.modules_emitted, 0u);
  EXPECT_EQ(second.counters.new_pipelines, 0u);
  EXPECT_EQ(second.counters.pipelines + bare().pipelines, first.counters.pipelines);
  EXPECT_EQ(second.result, first.result);
  EXPECT_EQ(second.counters.files_damaged, 0u);
}

TEST(ProgramStore, FindsLoopsThatTheDeviceSteersAndTurnsThatLanesTake) {
  const auto f = [](const Array& x) {
    const Array swept = while_loop([](const Array& v) { return sum(v * v) > 1.0f; },
                                   [](const Array& v) { return flip(v) * 0.75f + v * 0.125f; }, x,
                                   {.max_steps = 1000});
    const auto lane = [](const Array& a) {
      return while_loop([](const Array& v) { return v > 0.01f; },
                        [](const Array& v) { return v * 0.9f; }, a, {.max_steps = 5000});
    };
    return swept + vmap(lane)(x);
  };
  const TemporaryFolder folder;
  const Outcome apart = outcome(validated(), f), first = outcome(cached(folder), f),
                second = outcome(cached(folder), f);
  EXPECT_EQ(first.result, apart.result);
  EXPECT_EQ(second.result, apart.result);
  EXPECT_EQ(second.counters.programs_compiled + second.counters.modules_emitted +
                second.counters.new_pipelines,
            0u);
}

TEST(ProgramStore, TellsGraphsOptionsAndTargetsApart) {
  const TemporaryFolder folder;
  outcome(cached(folder), small);
  const auto loaded = [&](const RuntimeOptions& options, auto f, const JitOptions& with = {}) {
    return outcome(options, f, with).counters.programs_loaded;
  };
  RuntimeOptions minimum = cached(folder);
  minimum.minimum_target = true;
  RuntimeOptions narrow = cached(folder);
  narrow.window_bytes = 1 << 20;
  EXPECT_EQ(loaded(cached(folder), [](const Array& x) { return sin(x) * 2 + 3; }), 0u);
  EXPECT_EQ(loaded(cached(folder), small, {.fast_math = true}), 0u);
  EXPECT_EQ(loaded(cached(folder), small, {.memory_limit = 1 << 20}), 0u);
  // GNOMON_TARGET=minimum leaves one target.
  const bool same = Runtime(minimum).target().text() == Runtime(cached(folder)).target().text();
  EXPECT_EQ(loaded(minimum, small), same ? 1u : 0u);
  EXPECT_EQ(loaded(narrow, small), 0u);
  EXPECT_EQ(loaded(cached(folder), small), 1u);
  EXPECT_EQ(loaded(cached(folder), small, {.name = "other"}), 1u);
}

TEST(ProgramStore, CompilesAgainForArraysInOtherBlocks) {
  // One block for everything, then one for each array: kernels see other windows.
  const TemporaryFolder folder;
  const auto f = [](const Array& x) { return flip(x) + x; };
  const auto run = [&](const RuntimeOptions& options) {
    Runtime rt(options);
    auto g = jit(rt, f);
    std::vector<float> x(1 << 16);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const std::vector<float> got = rt.to_host<float>(g(rt.from_host(x)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (got[i] != static_cast<float>(x.size() - 1)) ADD_FAILURE() << i << ": " << got[i];
      if (got[i] != static_cast<float>(x.size() - 1)) break;
    }
    return rt.counters();
  };
  RuntimeOptions apart = cached(folder);
  apart.block_bytes = 1 << 16;
  apart.fixed_blocks = true;
  EXPECT_EQ(run(cached(folder)).programs_compiled, 1u);
  const Counters other = run(apart);
  EXPECT_EQ(other.programs_loaded, 1u);
  EXPECT_GT(other.modules_emitted, 0u);
  // Both arrangements are known from then on.
  EXPECT_EQ(run(apart).modules_emitted, 0u);
  EXPECT_EQ(run(cached(folder)).modules_emitted, 0u);
}

TEST(ProgramStore, IsOffWhereItIsToldTo) {
  const TemporaryFolder folder;
  const Variable home(cache_variable, folder.path.string());
  RuntimeOptions options = validated();
  outcome(options, small);  // GNOMON_CACHE=off, which the tests set
  options.cache = "off";
  {
    const TemporaryFolder other;
    const Variable folder_of("GNOMON_CACHE", other.path.string());
    outcome(options, small);
    EXPECT_TRUE(files_of(other.path).empty());
    options.cache.clear();
    outcome(options, small);
    EXPECT_EQ(files_of(other.path).size(), 1u);
  }
  EXPECT_FALSE(fs::exists(folder / "gnomon"));
}

TEST(ProgramStore, LiesInTheUsersCacheFolderOtherwise) {
  const TemporaryFolder folder;
  const Variable home(cache_variable, folder.path.string());
  const Variable none("GNOMON_CACHE", "");
  outcome(validated(), small);
  EXPECT_EQ(files_of(folder / "gnomon").size(), 1u);
}

TEST(ProgramStore, ShowsStagesOfWhatItKnows) {
  const TemporaryFolder folder, dumps;
  outcome(cached(folder), small);
  const Variable stages("GNOMON_DUMP", "kernel"), where("GNOMON_DUMP_DIR", dumps.path.string());
  EXPECT_EQ(outcome(cached(folder), small).counters.programs_compiled, 1u);
  EXPECT_EQ(files_of(dumps.path).size(), 1u);
}

// Damages the only file of a folder and runs the function that it holds, so many times.
void expect_survives_damage(int rounds, unsigned seed) {
  const TemporaryFolder folder;
  RuntimeOptions options;
  options.cache = folder.path.string();
  Runtime rt(options);
  const Array x = rt.from_host(numbers());
  const auto run = [&] {
    auto f = jit(rt, small);
    return rt.to_host<float>(f(x));
  };
  const std::vector<float> want = run();
  const std::vector<fs::path> files = files_of(folder.path);
  ASSERT_EQ(files.size(), 1u);
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::string bytes;
    {
      std::ifstream in(files[0], std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    ASSERT_GT(bytes.size(), 1000u);
    if (random() % 3 == 0) {
      bytes.resize(random() % bytes.size());
    } else {
      for (std::uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
        const std::size_t at = random() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
      }
    }
    std::ofstream(files[0], std::ios::binary) << bytes;
    rt.clear_programs();
    const Counters before = rt.counters();
    ASSERT_EQ(run(), want) << "round " << round;
    const Counters after = rt.counters();
    ASSERT_EQ(after.files_damaged, before.files_damaged + 1) << "round " << round;
    ASSERT_EQ(after.programs_compiled, before.programs_compiled + 1) << "round " << round;
    ASSERT_EQ(after.programs_loaded, before.programs_loaded) << "round " << round;
  }
  rt.clear_programs();
  EXPECT_EQ(run(), want);
  EXPECT_EQ(rt.counters().programs_loaded, 1u);
}

TEST(ProgramStore, CompilesAgainWhatWasDamaged) { expect_survives_damage(40, 1); }
TEST(SlowProgramStore, CompilesAgainWhatWasDamagedAThousandTimes) {
  expect_survives_damage(1000, 2);
}

// Of another make, yet whole: the checksum is right and the bytes are no program.
TEST(ProgramStore, DropsWhatIsNoProgram) {
  const TemporaryFolder folder;
  Runtime rt(cached(folder));
  const Array x = rt.from_host(numbers());
  auto f = jit(rt, small);
  const std::vector<float> want = rt.to_host<float>(f(x));
  const std::string name = files_of(folder.path)[0].stem().string();
  const Digest key{std::stoull(name.substr(16), nullptr, 16),
                   std::stoull(name.substr(0, 16), nullptr, 16)};
  ASSERT_EQ(key.text(), name);
  std::mt19937 random(3);
  DiskCache disk(folder.path, 1 << 20);
  const std::vector<std::byte> good = disk.read(key).value();
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> bytes = good;
    if (round % 2 == 0) {
      bytes.resize(random() % bytes.size());
    } else {
      // Where offsets and tables begin.
      for (int i = 0; i < 8; ++i) bytes[random() % 64] = static_cast<std::byte>(random());
    }
    disk.write(key, bytes);
    ProgramStore store(rt.state()->context->disk, rt.state()->context->device);
    ProgramStore::Key wrong;
    wrong.name = key;
    wrong.identity = "another";
    EXPECT_EQ(store.load(wrong), std::nullopt);
    EXPECT_FALSE(fs::exists(disk.path(key)));
  }
  EXPECT_EQ(rt.counters().files_damaged, 200u);
  EXPECT_EQ(rt.to_host<float>(f(x)), want);
}

TEST(ProgramStore, AnotherProcessCompilesNothing) {
  const TemporaryFolder folder;
  const ChildReport first = run_children(1, folder.path.string())[0];
  ASSERT_EQ(first.status, 0);
  EXPECT_TRUE(first.right);
  EXPECT_GE(first.compiled, 3u);
  EXPECT_EQ(first.loaded, 0u);
  EXPECT_EQ(first.new_pipelines, first.pipelines);
  const ChildReport second = run_children(1, folder.path.string())[0];
  ASSERT_EQ(second.status, 0);
  EXPECT_TRUE(second.right);
  EXPECT_EQ(second.compiled, 0u);
  EXPECT_EQ(second.loaded, first.compiled);
  EXPECT_EQ(second.emitted, 0u);
  EXPECT_EQ(second.pipelines + bare().pipelines, first.pipelines);
  EXPECT_EQ(second.new_pipelines, 0u);
}

TEST(ProgramStore, IsSharedByEightProcessesAtOnce) {
  const TemporaryFolder folder;
  for (const ChildReport& r : run_children(8, folder.path.string())) {
    EXPECT_EQ(r.status, 0);
    EXPECT_TRUE(r.right);
    EXPECT_EQ(r.damaged, 0u);
  }
  const ChildReport last = run_children(1, folder.path.string())[0];
  EXPECT_TRUE(last.right);
  EXPECT_EQ(last.compiled + last.emitted + last.new_pipelines + last.damaged, 0u);
  for (const fs::path& file : files_of(folder.path)) EXPECT_EQ(file.extension(), ".gnomon");
}

}  // namespace
}  // namespace gnomon::testing
