// engine/runtime/gate.h -- who uses a device, and who makes it again.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gnomon {

/// Any number of threads use what it guards together, or one has it alone, who need not wait for
/// those that come after. Not recursive: a thread that uses it must not ask again.
class Gate {
 public:
  class Use {
   public:
    explicit Use(Gate& gate) : gate_(gate) { enter(); }
    ~Use() {
      if (inside_) leave();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    /// Lets others have it alone meanwhile.
    void leave() {
      const std::lock_guard lock(gate_.mutex_);
      inside_ = false;
      if (--gate_.inside_ == 0 && gate_.waiting_ > 0) gate_.changed_.notify_all();
    }
    void enter() {
      std::unique_lock lock(gate_.mutex_);
      gate_.changed_.wait(lock, [&] { return gate_.waiting_ == 0; });
      ++gate_.inside_;
      inside_ = true;
    }

   private:
    Gate& gate_;
    bool inside_ = false;
  };

  class Alone {
   public:
    explicit Alone(Gate& gate) : gate_(gate) {
      std::unique_lock lock(gate_.mutex_);
      ++gate_.waiting_;
      gate_.changed_.wait(lock, [&] { return gate_.inside_ == 0 && !gate_.taken_; });
      gate_.taken_ = true;
    }
    ~Alone() {
      const std::lock_guard lock(gate_.mutex_);
      gate_.taken_ = false;
      --gate_.waiting_;
      gate_.changed_.notify_all();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Gate& gate_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t inside_ = 0, waiting_ = 0;  // waiting for it alone, or having it
  bool taken_ = false;
};

}  // namespace gnomon
