// tests/aot/hostile_test.cpp -- program files that were tampered with: each is refused, or is
// right, or is another program that does no harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "codegen/program/saved.h"
#include "engine/jit/lowering.h"
#include "gnomon/aot.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/aot/mutations.h"
#include "tests/engine/fixture.h"

// ---- what the reader takes

namespace {

thread_local bool counting = false;
thread_local std::size_t taken = 0, most_taken = 0;

}  // namespace

// Counted where the test asks for it; of a thread, since drivers allocate in theirs.
void* operator new(std::size_t size) {
  void* const p = std::malloc(size > 0 ? size : 1);
  if (p == nullptr) throw std::bad_alloc();
  if (counting) most_taken = std::max(most_taken, taken += malloc_usable_size(p));
  return p;
}
void operator delete(void* p) noexcept {
  if (counting && p != nullptr) taken -= std::min(taken, malloc_usable_size(p));
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

// ---- files in order

/// The same with every loop as kernels of its own.
Lowered with_device_loops(const Lowered& lowered) {
  auto function = std::make_shared<gnomon::detail::LoweredFunction>(*lowered.function());
  function->options.loops = LoopMapping::device;
  return Lowered(std::move(function));
}

struct Original {
  std::vector<std::byte> bytes;
  std::vector<std::vector<float>> inputs;  // of the first function
  std::vector<Shape> shapes;
  bool throws = false;
};

std::vector<float> ramp(int count) {
  std::vector<float> r;
  for (int i = 0; i < count; ++i) r.push_back(0.25f + 0.03125f * static_cast<float>(i));
  return r;
}

template <class F>
Original original(Runtime& rt, F f, const std::vector<Shape>& shapes, bool device_loops,
                  const std::vector<std::string>& targets) {
  Original o;
  std::vector<Array> arguments;
  for (const Shape& shape : shapes) {
    o.inputs.push_back(ramp(static_cast<int>(shape.size())));
    o.shapes.push_back(shape);
    arguments.push_back(rt.from_host(o.inputs.back(), shape));
  }
  Lowered lowered = jit(rt, f, {.name = "f"}).lower(arguments);
  if (device_loops) lowered = with_device_loops(lowered);
  o.bytes = aot::to_bytes({{"f", lowered}}, {.targets = targets});
  return o;
}

/// Straight lines, counted loops, loops that the device ends, statements, captured arrays.
std::vector<Original> originals(Runtime& rt) {
  using List = std::vector<Array>;
  const Array captured = rt.from_host(ramp(6), {6});
  const auto says = [captured](const List& x) {
    debug::print("x is {:.1f}", x[0]);
    const auto one = [](const Array& a) {
      debug::print("{} of them", a);
      return error_if(a, a > 100.0f, "too large") * 2.0f;
    };
    return List{vmap(one)(x[0]) + captured, sum(x[0])};
  };
  const auto counted = [](const List& x) {
    return List{fori_loop(
        0, 701,
        [](Array i, Array v) { return v * 0.5f + flip(v) * 0.4f + cast(i, DType::f32) * 0.001f; },
        x[0])};
  };
  const auto ended = [](const List& x) {
    const auto state = while_loop([](const List& s) { return s[1] > 1e-6f; },
                                  [](const List& s) {
                                    const Array y = 0.5f * (s[0] + 2.0f / s[0]);
                                    return List{y, max(abs(y - s[0]))};
                                  },
                                  List{x[0], full({}, 1.0f)}, {.max_steps = 100});
    return List{state[0]};
  };
  const auto rows = [](const List& x) {
    const Array y = dot(x[0], x[1]), e = exp(y - max(y, 1, {.keepdims = true}));
    return List{e / sum(e, 1, {.keepdims = true}), y};
  };
  std::vector<Original> all;
  all.push_back(original(rt, says, {{6}}, false, {"device"}));
  all.push_back(original(rt, counted, {{100}}, true, {}));
  all.push_back(original(rt, ended, {{33}}, true, {}));
  all.push_back(original(rt, rows, {{20, 30}, {30, 40}}, false, {"cpu"}));
  return all;
}

// ---- what a file means

/// Bytes of everything but names, places in sources, and what only reports read.
std::vector<std::byte> meaning(SavedFile f) {
  for (SavedEntry& e : f.entries) {
    e.name = "f";
    for (auto* leaves : {&e.arguments, &e.results})
      for (SavedLeaf& l : *leaves) l.path.clear();
    e.statics.clear();
    for (Statement& s : e.effects.statements) s.loc = {};
    for (SavedVariant& v : e.variants) {
      v.target.device.clear();
      v.file.identity.clear();
      v.file.lines = 0;
      Program& p = v.file.program;
      p.name.clear();
      p.graph_hash = 0;
      for (kernel::Kernel& k : p.kernels) {
        k.name.clear();
        for (kernel::Buffer& b : k.buffers) b.name.clear();
      }
      for (Step& s : p.steps) s.label.clear();
      for (Step& s : p.advances) s.label.clear();
      for (Allocation& a : p.allocations) a.name.clear(), a.where = {};
    }
  }
  if (f.entries.size() != 1) return {};
  return to_bytes(f);
}

/// Whether a step is one that tells what runs next. Whatever its parameters are, what it writes is
/// examined.
bool is_gate(const Program& p, const Step& s) {
  const auto writes_state = [&](const GatedBlock& g) {
    for (std::size_t o = 0; o < s.operands.size(); ++o)
      if (s.operands[o] == g.done && p.kernels[s.kernel].buffers[o].access != kernel::Access::read)
        return true;
    return false;
  };
  return s.kind == Step::Kind::dispatch && std::ranges::any_of(p.gated, writes_state);
}

/// What kernels do: their modules, and the words that their steps have for them.
std::vector<std::vector<std::uint32_t>> kernels(const SavedFile& f) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const SavedEntry& e : f.entries)
    for (const SavedVariant& v : e.variants) {
      for (const ProgramModule& m : v.file.modules) {
        all.push_back({m.kernel});
        all.emplace_back(m.windows.begin(), m.windows.end());
        all.push_back(m.words);
      }
      for (const Step& s : v.file.program.steps) {
        all.push_back({s.kernel});
        if (!is_gate(v.file.program, s)) all.push_back(s.parameters);
      }
    }
  return all;
}

// ---- trying

/// Ends calls that take longer than they should, and the process where one cannot be ended.
class Guard {
 public:
  /// Ticks of 20 ms: what a changed program may take, and after how many it hangs.
  static constexpr int changed = 25, hangs = 1500;

  explicit Guard(Runtime& rt) : thread_([this] { watch(); }) { rt.cancel_with(token_); }
  ~Guard() {
    over_ = true;
    thread_.join();
  }
  void begin(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    token_.reset();
    ticks_ = 0;
    patience_ = hangs;
    busy_ = true;
  }
  /// What begins now may take so many ticks.
  void allow(int ticks) {
    const std::lock_guard lock(mutex_);
    ticks_ = 0;
    patience_ = ticks;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    busy_ = false;
  }

 private:
  void watch() {
    while (!over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::lock_guard lock(mutex_);
      if (!busy_) continue;
      ++ticks_;
      if (ticks_ > patience_) token_.cancel();
      if (ticks_ <= hangs) continue;
      std::fprintf(stderr, "a changed file hangs: %s\n", what_.c_str());
      std::abort();
    }
  }
  CancelToken token_;
  std::mutex mutex_;
  std::string what_;
  int ticks_ = 0, patience_ = hangs;
  bool busy_ = false;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class Hostile : public ::testing::Test {
 protected:
  Runtime maker{validated()}, rt{Runtime::without_compiler({})};

  /// Bits of the results of a file's first function.
  std::vector<std::vector<std::byte>> results(const aot::Programs& programs, const Original& o) {
    std::vector<Array> arguments;
    for (std::size_t i = 0; i < o.inputs.size(); ++i)
      arguments.push_back(rt.from_host(o.inputs[i], o.shapes[i]));
    std::vector<std::vector<std::byte>> all;
    for (const Array& a : programs.call(programs.entries()[0].name, arguments)) {
      all.emplace_back(static_cast<std::size_t>(a.size()) * size_of(a.dtype()));
      rt.to_bytes(a, all.back());
    }
    return all;
  }

  void try_many(int count, std::uint64_t seed) {
    rt.on_print([](std::string_view) {});
    std::map<std::string, int> outcomes;
    const std::vector<Original> all = originals(maker);
    std::vector<Mutator> mutators;
    std::vector<aot::Programs> kept;  // whose pipelines are at hand then
    std::vector<std::vector<std::vector<std::byte>>> wanted;
    std::vector<SavedFile> files;
    for (const Original& o : all) {
      mutators.emplace_back(o.bytes);
      kept.push_back(aot::load(rt, o.bytes));
      wanted.push_back(results(kept.back(), o));
      files.push_back(saved_file(o.bytes));
    }
    {
      Guard guard(rt);
      if (const char* first = std::getenv("GNOMON_HOSTILE_SEED")) {  // what a failure names
        const char* const many = std::getenv("GNOMON_HOSTILE_COUNT");
        seed = std::strtoull(first, nullptr, 10);
        count = many ? std::atoi(many) : 1;
      }
      for (int i = 0; i < count; ++i) {
        std::mt19937_64 random(seed + static_cast<std::uint64_t>(i));
        const auto which = (seed + static_cast<std::uint64_t>(i)) % all.size();
        const Mutation m = mutators[which].mutation(random);
        const std::string what = "seed " + std::to_string(seed + static_cast<std::uint64_t>(i)) +
                                 " of file " + std::to_string(which) + ": " + m.how;
        if (count == 1) show(files[which], m.bytes);
        guard.begin(what);
        ++outcomes[try_one(m, all[which], files[which], wanted[which], what, guard)];
        guard.end();
        if (HasFailure()) return;
      }
    }
    for (const auto& [outcome, times] : outcomes) std::printf("%7d %s\n", times, outcome.c_str());
    if (count == 1) return;
    // What is looked at here is not the checksums.
    EXPECT_LT(outcomes["refused: digest"], count / 8);
    EXPECT_GT(outcomes["refused"], count / 8);
    EXPECT_GT(outcomes["right"], count / 16);
    kept.clear();
    rt.cancel_with(std::nullopt);
    expect_clean(rt);
  }

  static void show(const SavedFile& before, const std::vector<std::byte>& bytes) {
    const auto text = [](const SavedFile& f) {
      std::string all;
      for (const SavedEntry& e : f.entries)
        for (const SavedVariant& v : e.variants) all += print(v.file.program);
      return all;
    };
    std::printf("before\n%s\n", text(before).c_str());
    try {
      std::printf("changed\n%s\n", text(saved_file(bytes)).c_str());
    } catch (const FileError& e) {
      std::printf("%s\n", e.what());
    }
    std::fflush(stdout);
  }

  std::string try_one(const Mutation& m, const Original& o, const SavedFile& before,
                      const std::vector<std::vector<std::byte>>& wanted, const std::string& what,
                      Guard& guard) {
    SavedFile f;
    try {
      taken = most_taken = 0;
      counting = true;
      f = saved_file(m.bytes);
      counting = false;
    } catch (const FileError& e) {
      counting = false;
      EXPECT_LE(most_taken, 64 * m.bytes.size() + (1 << 20)) << what;
      EXPECT_THAT(e.what(), HasSubstr("the file is damaged: ")) << what;
      return std::string(e.what()).find("another digest") != std::string::npos ? "refused: digest"
                                                                               : "refused";
    } catch (const std::exception& e) {
      counting = false;
      ADD_FAILURE() << what << ": " << e.what();
      return "failed";
    }
    EXPECT_LE(most_taken, 64 * m.bytes.size() + (1 << 20)) << what;
    const bool same = meaning(f) == meaning(before);
    guard.allow(same ? Guard::hangs : Guard::changed);
    // A kernel that does something else is run by nobody who has not been asked to.
    if (kernels(f) != kernels(before)) return "other kernels or parameters";
    try {
      const auto got = results(aot::load(rt, m.bytes), o);
      if (same) {
        EXPECT_EQ(got, wanted) << what;
        return "right";
      }
      return got == wanted ? "another program, and right" : "another program";
    } catch (const Error& e) {
      if (same) ADD_FAILURE() << what << ": " << e.what();
      if (dynamic_cast<const InternalError*>(&e)) ADD_FAILURE() << what << ": " << e.what();
      return dynamic_cast<const FileError*>(&e)   ? "refused by the device"
             : dynamic_cast<const Cancelled*>(&e) ? "another program, cancelled"
                                                  : "another program, ended by an error";
    } catch (const std::exception& e) {
      ADD_FAILURE() << what << ": " << e.what();
      return "failed";
    }
  }
};

TEST_F(Hostile, FilesAreRefusedOrRight) { try_many(3000, 1); }

// build/release/tests/test_aot --gtest_filter='SlowHostile.*'
using SlowHostile = Hostile;
TEST_F(SlowHostile, ManyFilesAreRefusedOrRight) { try_many(100000, 1000000); }

}  // namespace
}  // namespace gnomon::testing
