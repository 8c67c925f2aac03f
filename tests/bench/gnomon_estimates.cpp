// tests/bench/gnomon_estimates.cpp -- estimates of kernels' times: the table and the fit.
#include "gnomon_estimates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>

#include "awake.h"
#include "codegen/cost/estimate.h"
#include "gnomon/profile.h"

namespace bench {
namespace {

std::string number(const char* format, double x) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : x[x.size() / 2];
}

/// Shorter kernels are counted and not listed: what they do is less than what a dispatch takes.
constexpr double listed_us = 200;

/// How much more the larger of two times is.
double off(double a, double b) { return std::max(a, b) / std::min(a, b) - 1; }

/// What the terms take together, in microseconds.
double estimate(const gnomon::TermCounts& nanoseconds, const TimedKernel& k) {
  double us = 0;
  for (std::size_t t = 0; t < nanoseconds.size(); ++t) us += 1e-3 * k.executed[t] * nanoseconds[t];
  return us;
}

}  // namespace

std::vector<TimedKernel> time_kernels(const std::vector<Workload>& workloads,
                                      const std::vector<std::string>& variants) {
  constexpr int calls = 5;
  const AwakeCores awake;
  std::vector<TimedKernel> all;
  const auto time = [&](const Workload& workload, const Variant& variant) {
    std::map<std::string, std::vector<double>> times;
    gnomon::Profile p;
    for (int i = 0; i < calls; ++i) {
      p = variant.profile();
      for (const gnomon::ProfileRow& r : p.rows) times[r.kernel].push_back(r.mean_us());
    }
    for (const gnomon::ProfileRow& r : p.rows)
      all.push_back({workload.id + "." + variant.name, r.kernel, median(times[r.kernel]),
                     r.estimated_us, r.executed});
  };
  for (const Workload& workload : workloads)
    for (const auto& make : workload.makers) {
      try {
        for (const Variant& variant : make())
          if (variant.profile &&
              (variants.empty() || std::ranges::find(variants, variant.name) != variants.end()))
            time(workload, variant);
      } catch (const std::exception& error) {
        // The other workloads go on: this one may want 64-bit floats, which the device lacks.
        std::fprintf(stderr, "%s: left out: %s\n", workload.id.c_str(), error.what());
      }
    }
  return all;
}

std::string estimates_table(std::vector<TimedKernel> kernels, const std::string& head) {
  const std::size_t timed = kernels.size();
  std::erase_if(kernels, [](const TimedKernel& k) { return k.estimated_us <= 0; });
  std::sort(kernels.begin(), kernels.end(), [](const TimedKernel& a, const TimedKernel& b) {
    return off(a.estimated_us, a.measured_us) < off(b.estimated_us, b.measured_us);
  });
  // A row of the model is a driver's, measured on one CPU: what another's speed makes of it is one
  // factor for all.
  std::vector<double> ratios;
  for (const TimedKernel& k : kernels) ratios.push_back(k.measured_us / k.estimated_us);
  const double speed = median(ratios);
  std::vector<double> errors, of_long, scaled;
  std::string rows;
  for (const TimedKernel& k : kernels) {
    const double error = off(k.estimated_us, k.measured_us);
    errors.push_back(error);
    scaled.push_back(off(speed * k.estimated_us, k.measured_us));
    if (k.measured_us < listed_us) continue;
    of_long.push_back(error);
    rows += "| " + k.workload + " | " + k.kernel + " | " + number("%.0f", k.measured_us) + " | " +
            number("%.0f", k.estimated_us) + " | " + number("%.0f", 100 * error) + " % |\n";
  }
  return head + "\n\n" + std::to_string(kernels.size()) + " kernels of " + std::to_string(timed) +
         " have estimates, off by " + number("%.0f", 100 * median(errors)) +
         " % in the median. Those that take longer than " + number("%.0f", listed_us) + " us, " +
         std::to_string(of_long.size()) + ", are off by " + number("%.0f", 100 * median(of_long)) +
         " %. All of them times " + number("%.2f", speed) + ", for the speed of this CPU: off by " +
         number("%.0f", 100 * median(scaled)) +
         " %.\n\n| workload | kernel | measured us | estimated us | off by "
         "|\n|---|---|---|---|---|\n" +
         rows;
}

std::string calibrated(const std::vector<TimedKernel>& timed) {
  constexpr auto dispatch = static_cast<std::size_t>(gnomon::Term::dispatch);
  // Nothing that a vector of lanes does on a CPU takes longer: what few kernels have would be made
  // to explain what else they take.
  constexpr double most = 100;
  std::vector<TimedKernel> kernels;
  std::copy_if(timed.begin(), timed.end(), std::back_inserter(kernels),
               [](const TimedKernel& k) { return !k.executed.empty() && k.measured_us > 0; });
  if (kernels.empty()) return "no kernel has a time and an estimate\n";
  // Most kernels do next to nothing: what the shortest take is what a dispatch takes, and how much
  // others say of what is in them grows with what they take beyond that.
  std::vector<double> times;
  for (const TimedKernel& k : kernels) times.push_back(k.measured_us);
  std::sort(times.begin(), times.end());
  const double start = times[times.size() / 4];
  const auto error = [&](const gnomon::TermCounts& nanoseconds) {
    double sum = 0, weights = 0;
    for (const TimedKernel& k : kernels) {
      const double weight = std::max(0.0, std::log2(k.measured_us / start));
      sum += weight * std::abs(std::log(estimate(nanoseconds, k) / k.measured_us));
      weights += weight;
    }
    return sum / std::max(weights, 1e-9);
  };
  gnomon::TermCounts best;
  best.fill(1);
  best[dispatch] = 1e3 * start;
  double least = error(best);
  for (double step = 8; step > 1.005; step = std::sqrt(step))
    for (bool better = true; better;) {
      better = false;
      for (std::size_t t = 0; t < best.size(); ++t)
        for (const double factor : {step, 1 / step}) {
          if (t == dispatch) continue;
          gnomon::TermCounts other = best;
          other[t] = std::clamp(other[t] * factor, 1e-3, most);
          if (const double e = error(other); e < least * (1 - 1e-9)) {
            least = e;
            best = other;
            better = true;
          }
        }
    }
  std::vector<double> errors;
  for (const TimedKernel& k : kernels) errors.push_back(off(estimate(best, k), k.measured_us));
  std::string text = "nanoseconds = {";
  for (std::size_t t = 0; t < best.size(); ++t)
    text += (t == 0 ? "" : ", ") + number("%.3g", best[t]);
  return text + "}  // " + std::to_string(kernels.size()) + " kernels, off by " +
         number("%.0f", 100 * median(errors)) + " % in the median\n";
}

}  // namespace bench
