// codegen/operations/control.cpp -- what the parameters of loops say.
#include "codegen/operations/control.h"

#include <algorithm>
#include <cmath>

namespace gnomon {

LoopOperands loop_operands(const Equation& e) {
  if (e.primitive == &scan_p) {
    const auto& p = e.params.as<ScanParams>();
    return {*p.body, static_cast<std::size_t>(p.carried), static_cast<std::size_t>(p.sequences)};
  }
  const auto& p = e.params.as<WhileParams>();
  return {*p.body, static_cast<std::size_t>(p.carried)};
}

Dim default_checkpoints(Dim max_steps) {
  // The fewest with 2 n < (C + 1) (C + 2).
  auto c = static_cast<Dim>(std::sqrt(2.0 * static_cast<double>(max_steps) + 0.25) - 1.5);
  c = std::max<Dim>(c, 1);
  while (c > 1 && 2 * max_steps < c * (c + 1)) --c;
  while (2 * max_steps >= (c + 1) * (c + 2)) ++c;
  return c;
}

}  // namespace gnomon
