// tests/bench/gnomon_gradients.cpp -- what gradients cost: each workload's loss alone (forward) and
// with its gradient.
#include <gnomon/ode.h>

#include <utility>

#include "gnomon_jitted.h"
#include "gnomon_lorenz.h"
#include "problems.h"

namespace bench {
namespace {

using namespace lorenz;

/// What the gradients of an ensemble are taken in: where systems start, and rho.
struct Ensemble {
  State start;
  Array rho;
};

Array half_square(const State& s) { return 0.5f * (s.x * s.x + s.y * s.y + s.z * s.z); }

Array rk4_loss(const Ensemble& e) {
  return gn::sum(gn::vmap([](const State& s, const Array& rho) {
    return half_square(rk4(s, rho, LorenzRk4::steps, LorenzRk4::step));
  })(e.start, e.rho));
}

Array adaptive_loss(const Ensemble& e) {
  return gn::sum(gn::vmap([](const State& s, const Array& rho) {
    return half_square(dopri5(s, rho).state);
  })(e.start, e.rho));
}

Array solve_loss(const Ensemble& e) {
  namespace ode = gnomon::ode;
  return gn::sum(gn::vmap([](const State& s, const Array& rho) {
    using P = LorenzAdaptive;
    const ode::OdeTerm lorenz{
        [](const Array&, const State& at, const Array& r) { return field(at, r); }};
    return half_square(ode::diffeqsolve(lorenz, ode::Dopri5(), 0.0f, P::end, P::first_step, s, rho,
                                        {.controller = ode::PidController{.rtol = P::tolerance,
                                                                          .atol = P::tolerance},
                                         .max_steps = P::max_steps})
                           .y1);
  })(e.start, e.rho));
}

Array chain_loss(const Array& x) {
  return gn::sum(gn::sin(x) * gn::exp(-gn::square(x)) + 0.5f * x);
}

Array hutchinson_loss(const Array& a) {
  const auto form = [&](gn::Key key) {
    const Array z = gn::random::rademacher(std::move(key), {Hutchinson::n});
    return gn::sum(z * gn::matmul(a, z));
  };
  return gn::sum(gn::vmap(form)(gn::random::split(gn::random::key(1), Hutchinson::probes)));
}

struct Factors {
  Array a, b;
};

Array matmul_loss(const Factors& f) { return 0.5f * gn::sum(gn::square(gn::matmul(f.a, f.b))); }

std::vector<float> host(gn::Runtime& rt, const Ensemble& e) {
  return flat(rt, {e.start.x, e.start.y, e.start.z, e.rho});
}
std::vector<float> host(gn::Runtime& rt, const Factors& f) { return flat(rt, {f.a, f.b}); }

template <class G>
struct Graded {
  Array loss;
  G gradient;
};

template <class G>
std::vector<float> host(gn::Runtime& rt, const Graded<G>& r) {
  using bench::host;
  std::vector<float> all = host(rt, r.loss);
  const std::vector<float> gradient = host(rt, r.gradient);
  all.insert(all.end(), gradient.begin(), gradient.end());
  return all;
}

/// The loss alone, and with its gradient behind it.
template <class X>
std::vector<Variant> both(const std::shared_ptr<gn::Runtime>& rt, Array (*loss)(const X&), X x) {
  const auto graded = [loss](const X& at) {
    const auto r = gn::value_and_grad(loss)(at);
    return Graded<X>{r.value, r.grad};
  };
  return {jitted(rt, "forward", loss, x), jitted(rt, "gradient", graded, x)};
}

/// All systems from (1, 0, 0).
Ensemble ensemble(gn::Runtime& rt, std::uint32_t systems) {
  const Array zero = rt.from_host(std::vector<float>(systems, 0.0f));
  return {{rt.from_host(std::vector<float>(systems, 1.0f)), zero, zero},
          rt.from_host(lorenz_rho(systems))};
}

}  // namespace

void add_gnomon_gradients(std::vector<Workload>& workloads,
                          const std::shared_ptr<gn::Runtime>& rt) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back(make);
  };
  add("lorenz_rk4_grad", [=] { return both(rt, rk4_loss, ensemble(*rt, LorenzRk4::systems)); });
  add("lorenz_adaptive_grad",
      [=] { return both(rt, adaptive_loss, ensemble(*rt, LorenzAdaptive::systems)); });
  add("lorenz_adaptive_grad", [=] {
    std::vector<Variant> solves = both(rt, solve_loss, ensemble(*rt, LorenzAdaptive::systems));
    solves[0].name = "solve_forward";
    solves[1].name = "solve_gradient";
    return solves;
  });
  add("chain_grad", [=] { return both(rt, chain_loss, rt->from_host(stream_input())); });
  add("hutchinson_grad", [=] {
    return both(rt, hutchinson_loss,
                rt->from_host(hutchinson_matrix(), {Hutchinson::n, Hutchinson::n}));
  });
  add("matmul_1024_grad", [=] {
    const Matmul& m = matmul_1024;
    return both(rt, matmul_loss,
                Factors{rt->from_host(matmul_left(m), {m.rows, m.depth}),
                        rt->from_host(matmul_right(m), {m.depth, m.columns})});
  });
}

}  // namespace bench
