// tests/threads/threads_test.cpp -- eight threads with one Runtime: what the headers say may be
// done at once. Runs in the ordinary suite, and under ThreadSanitizer by the preset `tsan`.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/gnomon.h"
#include "tests/threads/at_once.h"
#include "tests/vulkan/faults.h"

namespace gnomon {
namespace {

using testing::at_once;

constexpr int threads = 8, rounds = 12;

/// Failed expectations of GoogleTest are thread safe, but a message for each element would be long.
void expect_equal(const std::vector<float>& got, const std::vector<float>& want) {
  if (got != want) throw std::runtime_error("a thread got another's numbers");
}

class Threads : public ::testing::Test {
 protected:
  static RuntimeOptions options() {
    RuntimeOptions o;
    o.cache = "off";
    return o;
  }
  Runtime rt{options()};
};

TEST_F(Threads, ShareAJittedFunctionAndItsArguments) {
  const auto f = jit(rt, [](const Array& x, const Array& y) { return x * 2 + y; });
  const Array shared = rt.from_host({1.0f, 2.0f, 3.0f});
  at_once(threads, [&](int t) {
    for (int i = 0; i < rounds; ++i) {
      const float own = static_cast<float>(100 * t + i);
      expect_equal(rt.to_host<float>(f(shared, rt.from_host(own))), {2 + own, 4 + own, 6 + own});
    }
  });
  EXPECT_EQ(f.cache_info().traces, 1u);
  EXPECT_EQ(f.cache_info().hits + f.cache_info().misses, std::uint64_t{threads} * rounds);
}

TEST_F(Threads, TraceDifferentTypesOfOneFunction) {
  const auto f = jit(rt, [](const Array& x) { return sum(x) + x; });
  at_once(threads, [&](int t) {
    for (int i = 0; i < 3; ++i) {
      const auto n = static_cast<std::size_t>(1 + t / 2);
      const float total = static_cast<float>(n) + 1;
      expect_equal(rt.to_host<float>(f(rt.from_host(std::vector<float>(n, 1.0f)))),
                   std::vector<float>(n, total));
    }
  });
  EXPECT_EQ(f.cache_info().traces, std::uint64_t{threads} / 2);
}

TEST_F(Threads, ComputeAtOnce) {
  const Array shared = rt.from_host({1.0f, 2.0f});
  at_once(threads, [&](int t) {
    const auto own = static_cast<float>(t);
    for (int i = 0; i < rounds; ++i) {
      const Array y = (shared + own) * shared - 0.5 * i;
      const auto down = static_cast<float>(0.5 * i);
      expect_equal(rt.to_host<float>(y), {1 + own - down, 2 * (2 + own) - down});
    }
    expect_equal(rt.to_host<float>(grad([](const Array& x) { return sum(x * x); })(shared)),
                 {2, 4});
  });
}

TEST_F(Threads, HandOverWhatTheyMove) {
  const auto f = jit(rt, [](const Array& x) { return x + 1; });
  at_once(threads, [&](int t) {
    Array x = rt.from_host(std::vector<float>(64, static_cast<float>(t)));
    for (int i = 0; i < rounds; ++i) x = f(std::move(x));
    expect_equal(rt.to_host<float>(x), std::vector<float>(64, static_cast<float>(t + rounds)));
  });
}

TEST_F(Threads, HearTheirOwnCallsOnly) {
  const auto f = jit(rt, [](const Array& x) {
    debug::print("{}", x);
    return x;
  });
  at_once(threads, [&](int t) {
    std::vector<std::string> lines;  // of this thread alone
    const auto mine =
        f.with({.on_print = [&](std::string_view line) { lines.emplace_back(line); }});
    for (int i = 0; i < rounds; ++i) mine(rt.from_host(t));
    if (lines != std::vector<std::string>(rounds, std::to_string(t)))
      throw std::runtime_error("a thread heard another's lines");
  });
}

TEST_F(Threads, EndTheirOwnCallsOnly) {
  const auto f = jit(rt, [](const Array& x) { return x + 1; });
  const Array x = rt.from_host(1.0f);
  at_once(threads, [&](int t) {
    const CancelToken token;
    const auto mine = f.with({.cancel_with = token});
    if (t % 2 == 0) token.cancel();
    for (int i = 0; i < rounds; ++i) {
      bool cancelled = false;
      try {
        mine(x);
      } catch (const Cancelled&) {
        cancelled = true;
      }
      if (cancelled != (t % 2 == 0)) throw std::runtime_error("a token ended another's call");
    }
  });
}

TEST_F(Threads, AskAboutTheRuntimeMeanwhile) {
  const auto f = jit(rt, [](const Array& x) { return x * 3; });
  at_once(threads, [&](int t) {
    for (int i = 0; i < rounds; ++i) {
      if (t == 0) rt.on_print([](std::string_view) {});
      if (t == 1) rt.clear_programs();
      if (t == 2 && rt.memory().live_bytes > rt.memory().reserved_bytes)
        throw std::runtime_error("more memory in use than there is");
      const Array y = f(rt.from_host(static_cast<float>(t)));
      y.is_ready();
      if (t == 3) rt.wait();
      const Array copy = y;
      expect_equal(rt.to_host<float>(copy.block_until_ready()), {static_cast<float>(3 * t)});
    }
  });
}

TEST_F(Threads, WriteALogLineByLine) {
  RuntimeOptions chatty = options();
  std::vector<std::string> lines;  // one call at a time
  chatty.on_log = [&](std::string_view text) { lines.emplace_back(text); };
  setenv("GNOMON_LOG", "cache", 1);
  {
    Runtime own(chatty);
    unsetenv("GNOMON_LOG");
    at_once(threads, [&](int t) {
      const auto f = jit(own, [t](const Array& x) { return x + t; }, {.name = "f"});
      own.to_host<float>(f(own.from_host(1.0f)));
    });
  }
  ASSERT_GE(lines.size(), std::size_t{threads});
  for (const std::string& line : lines) EXPECT_EQ(line.rfind("gnomon: cache: ", 0), 0u) << line;
}

TEST_F(Threads, MakeAndDestroyWhatOthersUse) {
  const auto made = [&](float k) { return jit(rt, [k](const Array& x) { return x + k; }); };
  using F = decltype(made(0));
  std::mutex mutex;
  std::shared_ptr<const F> function;  // whose last user destroys it
  Array array;
  at_once(threads, [&](int t) {
    for (int i = 0; i < rounds; ++i) {
      const float k = static_cast<float>((t + i) % 4);
      const auto mine = std::make_shared<const F>(made(k));
      const Array x = rt.from_host({k, 2 * k});
      expect_equal(rt.to_host<float>((*mine)(x)), {2 * k, 3 * k});
      std::shared_ptr<const F> theirs;
      Array a;
      {
        const std::lock_guard lock(mutex);
        theirs = std::exchange(function, mine);
        a = std::exchange(array, x);
      }
      if (!theirs) continue;
      const float first = rt.to_host<float>(a)[0];
      expect_equal(rt.to_host<float>((*theirs)(a)), {2 * first, 3 * first});
      if (i % 4 == 3) rt.clear_programs();
    }
  });
}

TEST_F(Threads, RunLoopsThatTheDeviceEnds) {
  const auto f = jit(rt, [](const Array& x) {
    return while_loop([](const Array& u) { return sum(u) < 500.0f; },
                      [](const Array& u) { return u + sum(u) * (1.0f / 64); }, x,
                      {.max_steps = 100});
  });
  at_once(threads, [&](int t) {
    // Doubled until the sum is 512.
    const float first = static_cast<float>(1 << t % 4) / 64;
    for (int i = 0; i < 3; ++i)
      expect_equal(rt.to_host<float>(f(rt.from_host(std::vector<float>(64, first)))),
                   std::vector<float>(64, 8.0f));
  });
}

TEST(FourRuntimes, LiveSideBySide) {
  RuntimeOptions o;
  o.cache = "off";
  std::vector<std::unique_ptr<Runtime>> all(4);
  const auto work = [](Runtime& rt, int t) {
    const auto f = jit(rt, [](const Array& x) { return sum(x * x) + x; });
    const float k = static_cast<float>(t);
    for (int i = 0; i < rounds; ++i)
      expect_equal(rt.to_host<float>(f(rt.from_host({k, 1.0f}) + 0.0f)),
                   {k * k + 1 + k, k * k + 2});
  };
  // Made and destroyed at once, too.
  at_once(threads, [&](int t) {
    if (t % 2 != 0) {
      Runtime own(o);
      return work(own, t);
    }
    all[static_cast<std::size_t>(t / 2)] = std::make_unique<Runtime>(o);
    work(*all[static_cast<std::size_t>(t / 2)], t);
  });
  at_once(threads, [&](int t) { work(*all[static_cast<std::size_t>(t % 4)], t); });
}

TEST(LostDevice, IsMadeAgainWhileOthersCall) {
  testing::faults().reset();
  RuntimeOptions o;
  o.cache = "off";
  o.on_log = [](std::string_view) {};
  o.vulkan_loader = reinterpret_cast<void (*)()>(&testing::failing_function);
  std::atomic<int> losses{0};
  {
    Runtime rt(o);
    const auto f = jit(rt, [](const Array& x, const Array& y) { return sum(x) * x + y; });
    const Array shared = rt.from_host({1.0f, 2.0f});
    at_once(threads, [&](int t) {
      const float k = static_cast<float>(t);
      int armed_at = -1;  // anew only behind a loss: threads may submit little between two rounds
      for (int i = 0, tries = 0; i < rounds; ++tries) {
        if (tries > 1000) throw std::runtime_error("it never works");
        if (const int lost = losses; t == 0 && lost != armed_at) {
          armed_at = lost;
          testing::faults().arm(5, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
        }
        try {
          const Array y = f(shared, rt.from_host(k));
          y.is_ready();
          // Somebody may have made the device again in between.
          expect_equal(rt.to_host<float>(y + 1.0f), {4 + k, 7 + k});
          ++i;
        } catch (const DeviceLost&) {
          ++losses;
          rt.recover();
        }
      }
      if (t == 0) testing::faults().rest();
    });
    EXPECT_EQ(rt.to_host<float>(shared), (std::vector<float>{1, 2}));
  }
  EXPECT_GT(losses, 0);
  EXPECT_EQ(testing::faults().objects(), 0) << testing::faults().text();
}

}  // namespace
}  // namespace gnomon
