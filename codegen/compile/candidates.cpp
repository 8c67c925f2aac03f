// codegen/compile/candidates.cpp -- makes kernels that nobody runs, to estimate them.
#include "codegen/compile/candidates.h"

#include <cmath>
#include <optional>

#include "codegen/compile/invocations.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/estimate.h"
#include "codegen/optimize/kernel_passes.h"
#include "shaders/passes/legalize.h"
#include "shaders/passes/simplify.h"

namespace gnomon {
namespace {

/// Microseconds of a draft's kernel.
std::optional<double> estimated(Draft draft, const Target& target) {
  Cluster c;
  c.groups = draft.groups;
  kernel::Kernel k = kernel::simplify(draft.kernel);
  const std::uint32_t lanes = k.lanes;
  c.draft = std::move(draft);
  if (lanes > 0) k = invocations_of(std::move(k), c, target, Refill::off, false);
  PassLog log;
  k = run_kernel_passes(std::move(k), {.target = target, .alone = lanes == 1, .team = lanes == 0},
                        log);
  const DeviceModel& model = device_model(target);
  const auto executed = executed_by_core(k, c.groups, model);
  return executed ? estimated_microseconds(*executed, model) : std::nullopt;
}

}  // namespace

std::string microseconds_text(double microseconds) {
  return std::to_string(std::lround(microseconds)) + " us";
}

std::string candidates_text(const Cluster& c, const Target& target) {
  const auto chosen = estimated(c.draft, target);
  if (!chosen) return "";
  std::string s = ": " + microseconds_text(*chosen);
  const auto add = [&](const std::string& name, const Draft& d) {
    if (const auto us = estimated(d, target)) s += " | " + name + " " + microseconds_text(*us);
  };
  for (const OtherMapping& other : c.others) add(other.name, other.draft);
  const Draft& d = c.draft;
  if (d.width > 0 || d.kernel.lanes == 0 || d.mapping == "sequential") return s;
  const std::uint32_t now =
      lanes_side_by_side(d, loops_merged(kernel::simplify(d.kernel), d, target), target, false);
  for (std::uint32_t width = kernel::lanes_per_word(d.kernel); width <= 16; width *= 2) {
    if (width == now || width > d.kernel.lanes) continue;
    Draft other = d;
    other.width = width;
    add(std::to_string(width) + " side by side", other);
  }
  return s;
}

}  // namespace gnomon
