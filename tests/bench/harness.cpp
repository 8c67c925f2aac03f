// tests/bench/harness.cpp -- interleaved timing and checking of variants.
#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

#include "problems_cnn.h"
#include "problems_conv.h"
#include "problems_leaves.h"
#include "problems_ode.h"
#include "problems_training.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

/// A sample of a short run repeats it until it lasts about this long.
constexpr double sample_ms = 2.0;
constexpr int most_repeats = 2000;
/// Variants that measure themselves run three times, and on while that lasts less than this, up to
/// so many times: compiling takes seconds each time, the recording of a frame less than a tenth.
constexpr double own_sample_ms = 2000;
constexpr size_t fewest_own_rounds = 3, most_own_rounds = 101;

struct Contender {
  Variant variant;
  Row row;
  int repeats = 1;
  bool failed = false;
  std::vector<std::vector<double>> groups;
};

/// One sample. The variant's own run ahead of it, untimed, fills the caches with its data instead
/// of its neighbour's and wakes its threads; a variant with `before` wants no such thing.
double time_run(Contender& contender) {
  if (contender.variant.took) {
    contender.variant.run();
    return contender.variant.took();
  }
  if (contender.variant.before)
    contender.variant.before();
  else
    contender.variant.run();
  const auto start = Clock::now();
  for (int i = 0; i < contender.repeats; i++) contender.variant.run();
  const std::chrono::duration<double, std::milli> spent = Clock::now() - start;
  if (contender.variant.after) contender.variant.after();
  return spent.count() / contender.repeats;
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t half = samples.size() / 2;
  return samples.size() % 2 ? samples[half] : 0.5 * (samples[half - 1] + samples[half]);
}

/// Runs `work`; a throw marks the contender as failed and becomes its detail.
template <class Work>
void guard(Contender& contender, const Work& work) {
  if (contender.failed) return;
  try {
    work();
  } catch (const std::exception& error) {
    contender.failed = true;
    contender.row.detail = error.what();
  }
}

void warm_up(Contender& contender) {
  if (contender.variant.prepare) contender.variant.prepare();
  if (contender.variant.took) return;
  time_run(contender);
  const double once = time_run(contender);
  if (!contender.variant.before)
    contender.repeats =
        std::clamp(static_cast<int>(std::ceil(sample_ms / std::max(once, 1e-6))), 1, most_repeats);
}

/// Has the library's first variant run for `ms` that nobody times.
void keep_busy(std::vector<Contender>& contenders, double ms) {
  const auto busy = std::ranges::find_if(contenders, [](const Contender& contender) {
    return contender.variant.profile && !contender.variant.before && !contender.variant.took;
  });
  if (busy == contenders.end()) return;
  guard(*busy, [&] {
    const auto start = Clock::now();
    while (std::chrono::duration<double, std::milli>(Clock::now() - start).count() < ms)
      busy->variant.run();
  });
}

/// The group in which the machine was quietest: all variants are reported from the same one, so
/// that ratios are of times taken side by side.
size_t calmest_group(const std::vector<Contender>& contenders, size_t groups) {
  std::vector<double> excess(groups, 0.0);
  for (const Contender& contender : contenders) {
    if (contender.failed) continue;
    std::vector<double> medians;
    for (const auto& samples : contender.groups) medians.push_back(median(samples));
    const double best = *std::min_element(medians.begin(), medians.end());
    for (size_t g = 0; g < groups; g++) excess[g] += medians[g] / best;
  }
  return static_cast<size_t>(std::min_element(excess.begin(), excess.end()) - excess.begin());
}

void judge(Contender& contender, const Check& workload_check, bool corrupt) {
  std::vector<float> result = contender.variant.result();
  // Any element will do: checks look at all of them. The first is 0 or 1 in every result, far
  // from where an allowed error is large.
  if (corrupt && !result.empty()) result.front() += 1.0f;
  const Check& check = contender.variant.check ? contender.variant.check : workload_check;
  const Verdict verdict = check(result);
  contender.row.ok = verdict.ok;
  contender.row.detail = verdict.detail;
}

}  // namespace

std::vector<Workload> all_workloads() {
  return {{"lorenz_rk4", [] { return lorenz_rk4_check(); }, {}},
          {"lorenz_adaptive", lorenz_adaptive_check, {}},
          {"mixed", mixed_check, {}},
          {"chain", chain_check, {}},
          {"copy", copy_check, {}},
          {"triad", triad_check, {}},
          {"sum", sum_check, {}},
          {"softmax", softmax_check, {}},
          {"matmul_1024", [] { return matmul_check(matmul_1024); }, {}},
          {"matmul_64x256", [] { return matmul_check(matmul_64x256); }, {}},
          {"matmul_tall", [] { return matmul_check(matmul_tall); }, {}},
          {"conv2d", conv2d_check, {}},
          {"conv2d_grad", conv2d_grad_check, {}},
          {"hutchinson", hutchinson_check, {}},
          {"trace_sparse", trace_sparse_check, {}},
          {"while_scalar", while_scalar_check, {}},
          {"cg", cg_check, {}},
          {"lanes_uniform", [] { return lanes_check(lanes_uniform_steps()); }, {}},
          {"lanes_heavy_tail", [] { return lanes_check(lanes_heavy_tail_steps()); }, {}},
          {"ode_sde", sde_check, {}},
          {"history", history_check, {}},
          {"dead", dead_check, {}},
          {"ode_detest", detest_check, {}},
          {"ode_events", bouncing_check, {}},
          {"ode_robertson", robertson_check, {}},
          {"ode_stiff", stiff_check, {}},
          {"lorenz_rk4_grad", lorenz_rk4_grad_check, {}},
          {"lorenz_adaptive_grad", lorenz_adaptive_grad_check, {}},
          {"chain_grad", chain_grad_check, {}},
          {"hutchinson_grad", hutchinson_grad_check, {}},
          {"neural_ode_step", neural_ode_check, {}},
          {"train_mlp", train_mlp_check, {}},
          {"train_cnn", train_cnn_check, {}},
          {"adam_update", adam_update_check, {}},
          {"attention", attention_check, {}},
          {"gru_scan", gru_scan_check, {}},
          {"matmul_1024_grad", [] { return matmul_grad_check(matmul_1024); }, {}},
          {"checkpoint_4000", [] { return checkpointed_check(4000); }, {}},
          {"checkpoint_20000", [] { return checkpointed_check(20000); }, {}},
          {"checkpoint_200000", [] { return checkpointed_check(200000); }, {}},
          {"call", call_check, {}},
          {"call_100", call_100_check, {}},
          {"eager_add", call_check, {}},
          {"load_first_run", [] { return lorenz_rk4_check(LoadFirstRun::systems); }, {}},
          // Every variant has a check of its own.
          {"embed_frame", [] { return Check{}; }, {}},
          {"embed_frame_10", [] { return Check{}; }, {}},
          {"cold", [] { return lorenz_rk4_check(); }, {}},
          {"cold_linalg", [] { return Check{}; }, {}},
          {"warm_linalg", [] { return Check{}; }, {}}};
}

Workload& find_workload(std::vector<Workload>& workloads, const std::string& id) {
  return *std::find_if(workloads.begin(), workloads.end(),
                       [&](const Workload& workload) { return workload.id == id; });
}

/// Whether one run says enough: noise is a small part of what takes seconds.
static bool is_slow(const Contender& contender) {
  constexpr double slow_ms = 1500;
  return !contender.groups.empty() && !contender.groups.front().empty() &&
         contender.groups.front().front() > slow_ms;
}

std::vector<Row> measure(const Workload& workload, const Options& options) {
  std::vector<Contender> contenders;
  for (const auto& make : workload.makers) {
    // Such as those whose programs want 64-bit floats, where the device has none.
    Contender unmade;
    unmade.row.workload = workload.id;
    unmade.row.variant = "-";
    std::vector<Variant> variants;
    guard(unmade, [&] { variants = make(); });
    if (unmade.failed) contenders.push_back(std::move(unmade));
    for (Variant& variant : variants) {
      const auto& wanted = options.variants;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), variant.name) == wanted.end())
        continue;
      Contender& contender = contenders.emplace_back();
      contender.row.workload = workload.id;
      contender.row.variant = variant.name;
      contender.variant = std::move(variant);
    }
  }
  for (Contender& contender : contenders) guard(contender, [&] { warm_up(contender); });

  const bool measure_themselves =
      std::any_of(contenders.begin(), contenders.end(),
                  [](const Contender& contender) { return bool(contender.variant.took); });
  const size_t groups = measure_themselves ? 1 : static_cast<size_t>(options.groups);
  const size_t rounds = measure_themselves ? most_own_rounds : static_cast<size_t>(options.rounds);
  const size_t count = contenders.size();
  for (size_t g = 0; g < groups; g++) {
    for (Contender& contender : contenders) {
      contender.groups.emplace_back();
      if (is_slow(contender)) contender.groups.back() = contender.groups.front();
    }
    keep_busy(contenders, options.warm_up_ms);
    const auto start = Clock::now();
    // The start rotates: no variant always follows the same neighbour.
    for (size_t round = 0; round < rounds; round++) {
      const std::chrono::duration<double, std::milli> spent = Clock::now() - start;
      if (measure_themselves && round >= fewest_own_rounds && spent.count() > own_sample_ms) break;
      for (size_t i = 0; i < count; i++) {
        Contender& contender = contenders[(round + i) % count];
        if (is_slow(contender)) continue;
        guard(contender, [&] { contender.groups[g].push_back(time_run(contender)); });
      }
    }
  }

  const size_t best = calmest_group(contenders, groups);
  const Check check = workload.make_check();
  std::vector<Row> rows;
  for (Contender& contender : contenders) {
    guard(contender, [&] {
      const std::vector<double>& samples = contender.groups[best];
      contender.row.median_ms = median(samples);
      contender.row.min_ms = *std::min_element(samples.begin(), samples.end());
      contender.row.max_ms = *std::max_element(samples.begin(), samples.end());
      contender.row.runs = static_cast<int>(samples.size());
      judge(contender, check, options.corrupt);
      if (contender.variant.extras) contender.row.extras = contender.variant.extras();
    });
    rows.push_back(std::move(contender.row));
  }
  return rows;
}

}  // namespace bench
