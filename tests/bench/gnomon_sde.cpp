// tests/bench/gnomon_sde.cpp -- an ensemble of stochastic equations as a user of the library writes
// it.
#include "gnomon_jitted.h"
#include "problems.h"

#include "gnomon/ode.h"

namespace bench {
namespace {

Array ends(const Array& starts) {
  const gn::ode::OdeTerm drift{
      [](const Array&, const Array& y, const auto&) { return OdeSde::mu * y; }};
  const auto diffusion = [](const Array&, const Array& y, const auto&) {
    return OdeSde::sigma * y;
  };
  const auto one = [&](const gn::Key& key, const Array& start) {
    const gn::ode::IndexedBrownianPath path(gn::zeros({}), key.clone());
    return gn::ode::diffeqsolve(
               gn::ode::MultiTerm(drift, gn::ode::ControlTerm(diffusion, path, gn::ode::Ito{})),
               gn::ode::EulerMaruyama(), 0.0, 1.0, OdeSde::step, start)
        .y1;
  };
  return gn::vmap(one)(gn::random::split(gn::random::key(OdeSde::seed), OdeSde::paths), starts);
}

}  // namespace

void add_gnomon_sde(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  find_workload(workloads, "ode_sde").makers.push_back([=] {
    return std::vector<Variant>{jitted(rt, "gnomon", ends, rt->from_host(sde_starts()))};
  });
}

}  // namespace bench
