// tests/bench/gnomon_ode.cpp -- ensembles of differential equations by the library's solvers.
#include <gnomon/ode.h>

#include <array>

#include "gnomon_jitted.h"
#include "gnomon_lorenz.h"
#include "problems_ode.h"

namespace bench {
namespace {

namespace ode = gnomon::ode;
using lorenz::State;

const ode::OdeTerm lorenz_term{
    [](const Array&, const State& s, const Array& rho) { return lorenz::field(s, rho); }};

struct Solved {
  State state;
  Array tried;
};
std::vector<float> host(gn::Runtime& rt, const Solved& s) {
  std::vector<float> all = flat(rt, {s.state.x, s.state.y, s.state.z});
  for (std::int32_t n : rt.to_host<std::int32_t>(s.tried)) all.push_back(static_cast<float>(n));
  return all;
}

State lorenz_fixed(const Array& rho) {
  return gn::vmap([](const Array& r) {
    using P = LorenzRk4;
    return ode::diffeqsolve(lorenz_term, ode::RK4(), 0.0f, P::steps * P::step, P::step,
                            lorenz::start(), r)
        .y1;
  })(rho);
}

Solved lorenz_adaptive(const Array& rho) {
  return gn::vmap([](const Array& r) {
    using P = LorenzAdaptive;
    const auto sol = ode::diffeqsolve(
        lorenz_term, ode::Dopri5(), 0.0f, P::end, P::first_step, lorenz::start(), r,
        {.controller = ode::PidController{.rtol = P::tolerance, .atol = P::tolerance},
         .max_steps = P::max_steps});
    return Solved{sol.y1, sol.stats.steps};
  })(rho);
}

// ---- DETEST

/// Where the copies of one problem end, f32[components, n].
template <class P>
Array detest_ends(const P& field, const Array& scale) {
  using Y = std::array<Array, P::start.size()>;
  const auto slope = [&](const Array& t, const Y& y, const gn::None&) {
    Y d = y;
    field(t, y, d);
    return d;
  };
  const auto one = [&](const Array& s) {
    Y y0;
    for (std::size_t i = 0; i < y0.size(); ++i) y0[i] = P::start[i] * s;
    const auto sol = ode::diffeqsolve(
        ode::OdeTerm{slope}, ode::Dopri5(), 0.0, gnomon::testing::detest::end, Detest::first_step,
        y0, gn::none,
        {.controller = ode::PidController{.rtol = Detest::tolerance, .atol = Detest::tolerance}});
    return std::vector<Array>(sol.y1.begin(), sol.y1.end());
  };
  std::vector<Array> rows;
  for (const Array& a : gn::vmap(one)(scale)) rows.push_back(gn::cast(a, gn::DType::f32));
  return gn::stack(rows);
}

struct Ends {
  std::vector<Array> problems;
};

Ends detest(const Array& scale) {
  Ends ends;
  Detest::for_each([&](const auto& field) { ends.problems.push_back(detest_ends(field, scale)); });
  return ends;
}
std::vector<float> host(gn::Runtime& rt, const Ends& ends) {
  std::vector<float> all;
  for (const Array& a : ends.problems) {
    const auto values = rt.to_host<float>(a);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// ---- Robertson

/// Where systems of these rates end, f32[3, n].
Array robertson_ends(const ode::Solver& solver, const Array& rates) {
  using R = Robertson;
  struct Y {
    Array a, b, c;
  };
  const auto kinetics = [](const Array&, const Y& y, const Array& rate) {
    const Array first = -rate * y.a + R::k3 * (y.b * y.c), third = R::k2 * (y.b * y.b);
    return Y{first, -first - third, third};
  };
  const auto one = [&](const Array& rate) {
    const Array none = gn::zeros_like(rate);
    const Y end = ode::diffeqsolve(
                      ode::OdeTerm{kinetics}, solver, 0.0, R::end, R::first_step,
                      Y{gn::ones_like(rate), none, none}, rate,
                      {.controller = ode::PidController{.rtol = R::relative, .atol = R::absolute}})
                      .y1;
    return std::vector<Array>{end.a, end.b, end.c};
  };
  std::vector<Array> rows;
  for (const Array& a : gn::vmap(one)(rates)) rows.push_back(gn::cast(a, gn::DType::f32));
  return gn::stack(rows);
}
Array robertson_kvaerno(const Array& rates) { return robertson_ends(ode::Kvaerno5(), rates); }
Array robertson_rodas(const Array& rates) { return robertson_ends(ode::Rodas5P(), rates); }

// ---- the stiff problems

struct StiffStarts {
  std::vector<Array> problems;  // f64[components] each
};
struct StiffResults {
  std::vector<Array> ends, steps, evaluations;
};

StiffStarts stiff_starts(gn::Runtime& rt) {
  StiffStarts starts;
  Stiff::for_each([&](const auto& problem) {
    starts.problems.push_back(
        rt.from_host(std::vector<double>(problem.start.begin(), problem.start.end())));
  });
  return starts;
}

/// The six by one solver.
Variant stiff(const std::shared_ptr<gn::Runtime>& rt, const char* name, ode::Solver solver) {
  const auto solve = [=](const StiffStarts& starts) {
    StiffResults results;
    std::size_t i = 0;
    Stiff::for_each([&](const auto& problem) {
      const ode::OdeTerm term{[&](const Array& t, const Array& y, const gn::None&) {
        std::vector<Array> d(problem.start.size());
        problem(t, y, d);
        return gn::stack(d);
      }};
      const auto sol = ode::diffeqsolve(
          term, solver, 0.0, problem.end, gn::none, starts.problems[i++], gn::none,
          {.controller = ode::PidController{.rtol = Stiff::tolerance,
                                            .atol = Stiff::tolerance * problem.scale}});
      results.ends.push_back(gn::cast(sol.y1, gn::DType::f32));
      results.steps.push_back(sol.stats.steps);
      results.evaluations.push_back(sol.stats.evaluations);
    });
    return results;
  };
  Variant v = jitted(rt, name, solve, stiff_starts(*rt));
  v.extras = [=, result = v.result, of_the_call = v.extras] {
    Extras all = of_the_call();
    all.merge(stiff_counts(result()));
    return all;
  };
  return v;
}
std::vector<float> host(gn::Runtime& rt, const StiffResults& results) {
  std::vector<float> all;
  for (const Array& end : results.ends) {
    const auto values = rt.to_host<float>(end);
    all.insert(all.end(), values.begin(), values.end());
  }
  for (std::size_t i = 0; i < results.steps.size(); ++i)
    for (const Array& count : {results.steps[i], results.evaluations[i]})
      all.push_back(static_cast<float>(rt.to_host<std::int32_t>(count).front()));
  return all;
}

// ---- events

struct Ball {
  Array height, speed, bounces, at;
};

Array last_bounce(const Array& restitution) {
  using P = Bouncing;
  const auto fall = [](const Array&, const Ball& b, const Array&) {
    return Ball{b.speed, gn::full_like(b.speed, -P::gravity), gn::zeros({}), gn::zeros({})};
  };
  const auto height = [](const Array&, const Ball& b, const Array&) { return b.height; };
  const auto bounce = [](const Array& t, const Ball& b, const Array& left) {
    return Ball{gn::zeros({}), -left * b.speed, b.bounces + 1.0f, t};
  };
  const auto done = [](const Array&, const Ball& b, const Array&) {
    return b.bounces >= P::bounces;
  };
  const auto one = [&](const Array& left) {
    return ode::diffeqsolve(
               ode::OdeTerm{fall}, ode::Dopri5(), 0.0f, 100.0f, P::first_step,
               Ball{gn::ones({}), gn::zeros({}), gn::zeros({}), gn::zeros({})}, left,
               {.controller = ode::PidController{.rtol = P::tolerance, .atol = P::tolerance}},
               ode::event(height, bounce, {.direction = ode::Direction::down}), ode::event(done))
        .y1.at;
  };
  return gn::vmap(one)(restitution);
}

}  // namespace

void add_gnomon_ode(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([=] { return std::vector<Variant>{make()}; });
  };
  add("lorenz_rk4", [=] {
    return jitted(rt, "library", lorenz_fixed, rt->from_host(lorenz_rho(LorenzRk4::systems)));
  });
  add("lorenz_adaptive", [=] {
    return jitted(rt, "library", lorenz_adaptive,
                  rt->from_host(lorenz_rho(LorenzAdaptive::systems)));
  });
  add("ode_detest", [=] { return jitted(rt, "gnomon", detest, rt->from_host(detest_scale())); });
  add("ode_robertson",
      [=] { return jitted(rt, "gnomon", robertson_kvaerno, rt->from_host(robertson_rate())); });
  add("ode_robertson",
      [=] { return jitted(rt, "rodas5p", robertson_rodas, rt->from_host(robertson_rate())); });
  add("ode_stiff", [=] { return stiff(rt, "kvaerno5", ode::Kvaerno5()); });
  add("ode_stiff", [=] { return stiff(rt, "rodas5p", ode::Rodas5P()); });
  add("ode_stiff", [=] { return stiff(rt, "kencarp5", ode::KenCarp5()); });
  add("ode_stiff", [=] { return stiff(rt, "bdf", ode::BDF()); });
  add("ode_events",
      [=] { return jitted(rt, "gnomon", last_bounce, rt->from_host(bouncing_restitution())); });
}

}  // namespace bench
