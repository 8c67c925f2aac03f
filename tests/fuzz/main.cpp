// tests/fuzz/main.cpp -- random programs without end: more of what the tests run a few of.
//
//   gnomon_fuzz --on interpreter --count 1000000   through the compiler and the kernel interpreter
//   gnomon_fuzz --on device --count 20000          on the device that a Runtime takes
//   gnomon_fuzz --on derivatives --count 20000     derivatives that have to agree, then as the
//   first
//
// Every failing program is printed small, as text that `gnomon run` takes. Exit status 1 if any.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <limits>
#include <mutex>
#include <thread>

#include "tests/fuzz/device_check.h"
#include "tests/support/host_check.h"

namespace gnomon::testing {
namespace {

struct Options {
  std::uint64_t count = 1000, seed = 1;
  std::string on = "interpreter";
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  int shrink = 300;
  double slow = 0;
  std::size_t instructions = std::numeric_limits<std::size_t>::max();
  bool validate = false, print = false;
};

class Fuzz {
 public:
  explicit Fuzz(const Options& options) : options_(options) {}

  int run() {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < options_.threads; ++i) workers.emplace_back([this] { work(); });
    for (std::thread& t : workers) t.join();
    report(options_.count, true);
    std::printf(
        "%llu programs, %llu failed, %llu refused for their loop trips; %llu others left out\n",
        static_cast<unsigned long long>(options_.count),
        static_cast<unsigned long long>(failed_.load()),
        static_cast<unsigned long long>(refused_.load()),
        static_cast<unsigned long long>(left_out_.load()));
    return failed_ == 0 ? 0 : 1;
  }

 private:
  void work() {
    std::optional<Runtime> rt;
    if (options_.on == "device") {
      RuntimeOptions runtime;
      runtime.validate = options_.validate;
      runtime.print_messages = false;
      rt.emplace(runtime);
    }
    const bool derivatives = options_.on == "derivatives";
    const GraphCheck check = [&](const RandomGraph& r) -> std::string {
      if (derivatives) {
        const auto want = evaluate(r.graph, r.inputs);
        const std::string broken = broken_law(want);
        return broken.empty() ? mismatch_on_host(r, r.seed, want, refused_) : broken;
      }
      if (!rt) return mismatch_on_host(r, r.seed, evaluate(r.graph, r.inputs), refused_);
      try {
        if (const auto what = mismatch_on_device(*rt, r, options_.instructions)) return *what;
        ++left_out_;
        return "";
      } catch (const UsageError& e) {
        if (!beyond_budget(e)) throw;
        ++refused_;
        return "";
      }
    };
    for (std::uint64_t i = next_++; i < options_.count + left_out_; i = next_++) {
      const auto begun = std::chrono::steady_clock::now();
      RandomGraph r;
      r.seed = options_.seed + i;
      const GraphCheck trace_and_check = [&](const RandomGraph&) {
        r = derivatives ? random_derivatives(options_.seed + i) : random_graph(options_.seed + i);
        if (options_.print) std::printf("%s\n", describe(r).c_str());
        return check(r);
      };
      if (const std::string what = failure(trace_and_check, r); !what.empty()) {
        ++failed_;
        // Laws are about all outputs together.
        const RandomGraph small = derivatives ? r : shrink(r, check, options_.shrink);
        const std::lock_guard lock(mutex_);
        std::printf("seed %llu: %s\nsmallest that fails: %s\n%s\n",
                    static_cast<unsigned long long>(r.seed), what.c_str(),
                    failure(check, small).c_str(), describe(small).c_str());
        std::fflush(stdout);
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
      if (options_.slow > 0 && took.count() > options_.slow) {
        const std::lock_guard lock(mutex_);
        std::printf("seed %llu takes %.2f s\n", static_cast<unsigned long long>(r.seed),
                    took.count());
        std::fflush(stdout);
      }
      // Programs of finished graphs are dropped by their executables; pipelines stay with the
      // device, so it is renewed now and then.
      if (rt && i % 500 == 499) {
        RuntimeOptions runtime;
        runtime.validate = options_.validate;
        runtime.print_messages = false;
        rt.emplace(runtime);
      }
      report(i + 1 - left_out_, false);
    }
  }

  void report(std::uint64_t done, bool last) {
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    if (!last && elapsed.count() < reported_ + 5) return;
    reported_ = elapsed.count();
    std::fprintf(stderr, "\r%llu of %llu, %.0f a second, %llu failed ",
                 static_cast<unsigned long long>(done),
                 static_cast<unsigned long long>(options_.count),
                 static_cast<double>(done) / std::max(1e-3, elapsed.count()),
                 static_cast<unsigned long long>(failed_.load()));
    if (last) std::fputc('\n', stderr);
  }

  const Options options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double reported_ = 0;
  std::mutex mutex_;
  std::atomic<std::uint64_t> next_ = 0, failed_ = 0, refused_ = 0, left_out_ = 0;
};

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs random programs against the host reference");
  app.add_option("--count", options.count, "How many programs")->capture_default_str();
  app.add_option("--seed", options.seed, "The first one's seed")->capture_default_str();
  app.add_option("--on", options.on, "interpreter, device or derivatives")
      ->check(CLI::IsMember({"interpreter", "device", "derivatives"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Programs at a time")->capture_default_str();
  app.add_option("--shrink", options.shrink, "Attempts to make a failing program smaller")
      ->capture_default_str();
  app.add_option("--slow", options.slow, "Names the programs that take longer, in seconds");
  app.add_option("--instructions", options.instructions,
                 "On a device: the most in a program's kernels; larger programs are left out, and "
                 "more drawn. Drivers compile a few of them for longer than all others together");
  app.add_flag("--print", options.print, "Prints the programs as well");
  app.add_flag("--validate", options.validate, "With validation layers, on a device");
  CLI11_PARSE(app, argc, argv);
  return Fuzz(options).run();
}

}  // namespace
}  // namespace gnomon::testing

int main(int argc, char** argv) {
  setenv("GNOMON_CACHE", "off", 1);  // thousands of programs that nobody asks for again
  return gnomon::testing::main(argc, argv);
}
