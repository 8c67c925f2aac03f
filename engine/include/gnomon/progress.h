// engine/include/gnomon/progress.h -- watching long calls, and ending them early.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "gnomon/error.h"
#include "gnomon/handler.h"

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

/// May throw: the call ends with that exception, as by a CancelToken.
using StepHandler = Handler<void(const Progress&)>;

}  // namespace gnomon
