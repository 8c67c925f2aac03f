// tests/bench/opponents_ode.cpp -- the variants of the ensembles of differential equations that do
// not use the library.
#include <algorithm>
#include <memory>

#include "harness.h"
#include "integrators.h"
#include "problems_ode.h"

namespace bench {
namespace {

/// work(input, output, n) on the host.
template <class T>
[[maybe_unused]] Variant integrator(const char* name, std::vector<T> input, size_t outputs,
                                    void (*work)(const T*, float*, size_t)) {
  struct Memory {
    std::vector<T> in;
    std::vector<float> out;
  };
  auto memory = std::make_shared<Memory>(Memory{std::move(input), std::vector<float>(outputs)});
  Variant v;
  v.name = name;
  v.run = [=] { work(memory->in.data(), memory->out.data(), memory->in.size()); };
  v.result = [=] { return memory->out; };
  return v;
}

[[maybe_unused]] size_t detest_outputs() {
  size_t components = 0;
  Detest::for_each(
      [&](const auto& p) { components += std::remove_cvref_t<decltype(p)>::start.size(); });
  return components * Detest::systems;
}

}  // namespace

void add_ode_opponents(std::vector<Workload>& workloads) {
  [[maybe_unused]] const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([=] { return std::vector<Variant>{make()}; });
  };
#ifdef BENCH_HAS_ODEINT
  add("lorenz_adaptive", [] {
    return integrator("odeint", lorenz_rho(LorenzAdaptive::systems), 3 * LorenzAdaptive::systems,
                      integrators::odeint_lorenz_adaptive);
  });
  add("ode_detest", [] {
    return integrator("odeint", detest_scale(), detest_outputs(), integrators::odeint_detest);
  });
  add("ode_events", [] {
    return integrator("odeint", bouncing_restitution(), Bouncing::balls,
                      integrators::odeint_events);
  });
  add("ode_robertson", [] {
    return integrator("odeint", robertson_rate(), 3 * Robertson::systems,
                      integrators::odeint_robertson);
  });
#endif
#ifdef BENCH_HAS_CVODE
  add("ode_detest", [] {
    return integrator("cvode", detest_scale(), detest_outputs(), integrators::cvode_detest);
  });
  add("ode_events", [] {
    return integrator("cvode", bouncing_restitution(), Bouncing::balls, integrators::cvode_events);
  });
  add("ode_robertson", [] {
    return integrator("cvode", robertson_rate(), 3 * Robertson::systems,
                      integrators::cvode_robertson);
  });
  add("ode_stiff", [] {
    size_t components = 0, problems = 0;
    Stiff::for_each([&](const auto& p) { components += p.start.size(), problems++; });
    auto out = std::make_shared<std::vector<float>>(components + 2 * problems);
    Variant v;
    v.name = "cvode";
    v.run = [=] { integrators::cvode_stiff(out->data(), out->data() + components); };
    v.result = [=] { return *out; };
    v.extras = [=] { return stiff_counts(*out); };
    return v;
  });
#endif
}

}  // namespace bench
