// tests/bench/awake.h -- cores that do not sleep between dispatches.
#pragma once
#include <thread>
#include <vector>

namespace bench {

/// Keeps the cores awake while it lives, by a thread on each that waits in a loop and makes way for
/// anybody else (SCHED_IDLE).
///
/// A CPU's driver puts its threads to sleep when a dispatch has ended, and their cores with them.
/// How long those take to wake up is for the system and, in a virtual machine, for its host to say:
/// one dispatch of next to nothing took 40 to 200 us, whole programs long the one or the other
/// (Emerald Rapids, two virtual cores), and 60 to 90 us with the cores awake. Nothing of that is a
/// kernel's. Does nothing on systems without such threads.
class AwakeCores {
 public:
  AwakeCores();
  ~AwakeCores();
  AwakeCores(const AwakeCores&) = delete;
  AwakeCores& operator=(const AwakeCores&) = delete;

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace bench
