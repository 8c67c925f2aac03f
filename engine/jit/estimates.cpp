// engine/jit/estimates.cpp -- see estimates.h.
#include "engine/jit/estimates.h"

#include <map>
#include <optional>
#include <string>

#include "codegen/cost/device_model.h"
#include "codegen/cost/estimate.h"

namespace gnomon {
namespace {

/// What steps of one name execute.
struct Named {
  bool known = true;
  double steps = 0;
  TermCounts sum = {};

  void add(const std::optional<TermCounts>& counts) {
    known = known && counts.has_value();
    ++steps;
    for (std::size_t t = 0; counts && t < sum.size(); ++t) sum[t] += (*counts)[t];
  }
};

}  // namespace

void add_estimates(Profile& profile, const Program& program, const Target& target) {
  const DeviceModel& model = device_model(target);
  std::map<std::string, Named> names;
  for (const Step& step : program.steps) {
    if (step.kind == Step::Kind::copy) {
      names[step.label].add(std::nullopt);
      continue;
    }
    const kernel::Kernel& k = program.kernels[step.kernel];
    names[step.label].add(k.body.body.empty() ? std::nullopt
                                              : executed_by_core(k, step.groups, model));
  }
  for (ProfileRow& row : profile.rows) {
    const auto found = names.find(row.kernel);
    if (found == names.end() || !found->second.known) continue;
    TermCounts mean = found->second.sum;
    for (double& c : mean) c /= found->second.steps;
    row.executed.assign(mean.begin(), mean.end());
    row.estimated_us = estimated_microseconds(mean, model).value_or(0);
  }
}

}  // namespace gnomon
