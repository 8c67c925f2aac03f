// engine/include/gnomon/progress.h -- watching long calls, and ending them early.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "gnomon/error.h"
#include "gnomon/handler.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Thrown by a call that a CancelToken ended. Its results are lost, and so may be what it was given
/// by move; everything stays usable.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// A flag that ends calls from another thread. Copies are the same flag.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() const { flag_->store(true, std::memory_order_release); }
  /// Lets calls run again.
  void reset() const { flag_->store(false, std::memory_order_release); }
  bool cancelled() const { return flag_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// How far a loop has come.
struct Progress {
  std::string_view function;  // JitOptions::name
  std::uint64_t steps = 0;    // taken for certain
  std::uint64_t bound = 0;    // the most there may be; 0: no bound
};

/// May throw: the call ends with that exception, as by a CancelToken. May call functions, the one
/// that it hears of included, whose calls take memory of their own for as long as that call is
/// under way, and are heard of themselves unless `with` names others. Must not wait for another
/// thread that calls that function: such calls wait for the end of the one under way.
using StepHandler = Handler<void(const Progress&)>;

/// Gets the lines of debug::print, without the end of the line.
using PrintHandler = Handler<void(std::string_view)>;

/// Who hears of a call of a jitted function (`f.with({...})(x)`), in place of whom the Runtime
/// names; what is left empty is the Runtime's affair.
struct CallOptions {
  PrintHandler on_print = {};  // Runtime::on_print
  StepHandler on_step = {};    // Runtime::on_step
  /// Runtime::cancel_with; a token of the Runtime ends the call as well.
  std::optional<CancelToken> cancel_with = {};
};

}  // namespace gnomon
#pragma GCC visibility pop
