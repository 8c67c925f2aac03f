// tests/support/checkpoint_model.cpp -- Stumm and Walther's algorithm I, Wang and Moin's beyond it,
// and the way back by bisection.
#include "tests/support/checkpoint_model.h"

#include <algorithm>
#include <limits>

namespace gnomon::testing {
namespace {

constexpr int none = std::numeric_limits<int>::max();

/// The slot whose step is the largest of those that `among` allows; the first of several.
template <class F>
std::size_t latest(const std::vector<int>& steps, F&& among) {
  std::size_t best = steps.size();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (among(i) && (best == steps.size() || steps[i] > steps[best])) best = i;
  return best;
}

}  // namespace

std::vector<int> CheckpointModel::kept(int n) const {
  const int c = max_steps ? std::min(checkpoints, *max_steps) : checkpoints;
  const int first = (c + 1) * (c + 2) / 2 - 1;
  std::vector<int> steps(static_cast<std::size_t>(c), none);
  std::vector<int> level(steps.size(), 0);
  std::vector<bool> spare(steps.size(), false);
  level[0] = none;
  int i = 0, o = c, p = c;
  bool saving = true;
  for (int step = 0; step < n; ++step) {
    if (c == max_steps) {
      steps[static_cast<std::size_t>(step)] = step;
    } else if (step < first) {
      if (saving) steps[static_cast<std::size_t>(i)] = step;
      const bool saved = saving;
      const int old_o = o, old_p = p;
      if (saved) ++i;
      if (saved && i > old_o) i = 1;
      if (step + 1 == old_p) saving = false;
      if (step == old_p) {
        p = old_p + old_o;
        i = o = old_o - 1;
        saving = o > 0;
      }
    } else if (c > 1) {
      const bool any = std::find(spare.begin(), spare.end(), true) != spare.end();
      const std::size_t slot = latest(steps, [&](std::size_t k) { return !any || spare[k]; });
      if (any) {
        spare[slot] = false;
        level[slot] = 0;
      } else {
        const int old = level[slot];
        for (std::size_t k = 0; k < steps.size(); ++k)
          if (level[k] < old) spare[k] = true;
        level[slot] = old + 1;
      }
      steps[slot] = step;
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<CheckpointModel::Visit> CheckpointModel::backward(int n) const {
  std::vector<int> stack = kept(n);
  const int c = static_cast<int>(stack.size());
  int height = std::min(n, c);
  std::vector<Visit> visits;
  for (int left = n; left > 0; --left) {
    int at = stack[static_cast<std::size_t>(height) - 1];
    if (c == max_steps || at + 1 == left) --height;
    const auto next = [&] {
      if (height == c || at + 1 == left || at + 2 == left) return none;
      return left - at - 2 <= c - height ? at + 1 : at + (left - at) / 2;
    };
    int keep = next();
    while (at + 1 < left) {
      visits.push_back({at++, false});
      if (at != keep) continue;
      stack[static_cast<std::size_t>(height++)] = at;
      keep = next();
    }
    visits.push_back({at, true});
  }
  return visits;
}

}  // namespace gnomon::testing
