// engine/runtime/state.h -- what a Runtime owns beside its device: settings and compiled programs.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "engine/runtime/context.h"
#include "engine/runtime/env.h"
#include "engine/runtime/watch.h"
#include "gnomon/runtime.h"

namespace gnomon {

/// What a Runtime with a compiler has besides (engine/jit/compiling.h).
class Compiling {
 public:
  virtual ~Compiling() = default;
  /// An array that was made of numbers alone, on the device.
  virtual Array placed(const Array&) = 0;
  /// Forgets programs that nobody else holds; how many that were.
  virtual std::size_t clear() = 0;
  /// Programs that went because there were too many.
  virtual std::uint64_t dropped() const = 0;
};

/// Throws the UsageError of an operation that needs one.
[[noreturn]] void no_compiler(std::string_view op);

struct RuntimeState {
  /// Without a compiler only what was compiled before runs.
  RuntimeState(const RuntimeOptions&, std::shared_ptr<const Compiler>,
               std::shared_ptr<const vulkan::AdoptedDevice> = nullptr);

  /// `a`, which is concrete; computed here when it was made of numbers alone.
  Array placed(const Array& a) const;

  Environment environment;
  bool validate = false;  // by option or environment
  std::shared_ptr<Context> context;
  std::shared_ptr<Compiling> compiling;  // none without a compiler; engine/jit makes it
  std::shared_ptr<Executor> refusing;    // where there is none
  std::atomic<std::uint64_t> traces{0}, programs_compiled{0}, programs_shared{0},
      programs_loaded{0};
  std::atomic<std::uint64_t> graphs{0};  // prepared so far: what dumps are numbered by

  /// Where lines of debug::print go.
  PrintHandler sink() const {
    const std::lock_guard lock(handlers_);
    return print_;
  }
  void set_sink(PrintHandler handler) {
    const std::lock_guard lock(handlers_);
    print_ = std::move(handler);
  }

  Watch watch() const {
    const std::lock_guard lock(handlers_);
    return watch_;
  }
  void watch_with(StepHandler handler) {
    const std::lock_guard lock(handlers_);
    watch_.on_step = std::move(handler);
  }
  void watch_with(std::optional<CancelToken> token) {
    const std::lock_guard lock(handlers_);
    watch_.token = std::move(token);
  }
  void watch_with(Handler<bool()> ends) {
    const std::lock_guard lock(handlers_);
    watch_.ends = std::move(ends);
  }

 private:
  mutable std::mutex handlers_;
  PrintHandler print_;
  Watch watch_;
};

namespace detail {
/// On a device of the application's. Throws as Runtime::adopt does.
std::shared_ptr<RuntimeState> adopted_state(const VulkanDevice&, const RuntimeOptions&,
                                            std::shared_ptr<const Compiler>);
}  // namespace detail

}  // namespace gnomon
