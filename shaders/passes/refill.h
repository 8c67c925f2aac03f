// shaders/passes/refill.h -- persistent lanes: whoever is done takes the next element in line.
#pragma once
#include <cstdint>
#include <optional>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

struct RefillOptions {
  std::uint32_t slots = 0;        // lanes of the result: how many elements are under way at once
  std::uint64_t trip_budget = 0;  // loop trips one dispatch may take in all; 0: any number
};

struct Refilled {
  Kernel kernel;              // lane form with `slots` lanes
  std::uint32_t counter = 0;  // its buffer of one i32, the next element in line: 0 at the beginning
  /// Dispatches after which every element is done, whatever they cost; those after the last element
  /// find nothing to do.
  std::uint64_t dispatches = 1;
};

/// Where the lanes of a kernel differ much in the trips of its loop, a group of lanes that run in
/// step waits for its slowest. Here a lane whose loop has ended stores its results, takes the next
/// element from a counter and begins that one's loop, while its neighbours go on; the idea of
/// persistent threads (Aila and Laine, "Understanding the Efficiency of Ray Traversal on GPUs",
/// HPG 2009), applied to loops. Every element still does the same operations in the same order, so
/// no bit changes.
///
/// What is in front of the loop runs when an element is taken, what is behind it when the element
/// is done. Both are the body of a loop of one trip, since CPU drivers compute both sides of a
/// branch but skip a loop that no lane enters. Who is done is looked at every 16 steps: a look
/// costs about as much as ten steps of a small system, and waiting for it next to nothing.
///
/// With a budget, a lane takes no element that it might not finish, and the next dispatch goes on
/// where the counter stands.
///
/// Nothing when the kernel is not of that shape: exactly one loop in the kernel's own body whose
/// number of trips differs by lane, no memory that is both loaded and stored, and, with a budget, a
/// known most number of trips of which the budget allows two.
std::optional<Refilled> refill(const Kernel& lane_form, RefillOptions);

struct Counted {
  Kernel kernel;            // lane form
  std::uint32_t trips = 0;  // its buffer of one u32 per lane: the trips of the lane's loop
};

/// The same kernel, which also leaves the trips of that loop. Nothing when `refill` gives nothing.
std::optional<Counted> count_trips(const Kernel& lane_form);

}  // namespace gnomon::kernel
