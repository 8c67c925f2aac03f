// tests/bench/gnomon_variants.cpp -- the workloads as a user of the library writes them.
#include <gnomon/gnomon.h>

#include <algorithm>
#include <memory>

#include "gnomon_compiled.h"
#include "gnomon_jitted.h"
#include "harness.h"
#include "problems.h"

namespace bench {

namespace {

namespace gn = gnomon;
using gn::Array;

struct State {
  Array x, y, z;
};

State operator+(const State& a, const State& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
State operator*(gn::Operand c, const State& s) { return {c * s.x, c * s.y, c * s.z}; }

State field(const State& s, const Array& rho) {
  return {lorenz_sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - lorenz_beta * s.z};
}

State start() { return {gn::ones({}), gn::zeros({}), gn::zeros({})}; }

/// One classical Runge-Kutta step.
State rk4_step(const State& s, const Array& rho, float h) {
  const State k1 = field(s, rho);
  const State k2 = field(s + h / 2 * k1, rho);
  const State k3 = field(s + h / 2 * k2, rho);
  const State k4 = field(s + h * k3, rho);
  return s + h / 6 * (k1 + 2.0f * (k2 + k3) + k4);
}

State rk4(const Array& rho, std::uint32_t steps, float h) {
  return gn::fori_loop(
      0, steps, [&](const Array&, State s) { return rk4_step(s, rho, h); }, start());
}

struct Solve {
  State state, slope;
  Array t, h, tried;
};

/// v^-0.1 for positive normal v, as the expert computes it: a guess from the bits, then Newton.
Array root(const Array& v) {
  const Array bits = gn::cast(gn::bitcast(v, gn::DType::i32), gn::DType::f32);
  Array y = gn::bitcast(gn::cast(1171450000.0f - 0.1f * bits, gn::DType::i32), gn::DType::f32);
  const Array tenth = 0.1f * v;
  for (int step = 0; step < 3; ++step) {
    const Array y2 = y * y, y4 = y2 * y2;
    y = y * (1.1f - tenth * (y4 * y4 * y2));
  }
  return y;
}

struct Solved {
  State state;
  Array tried;
};

/// Dormand-Prince 5(4) as problems.h states it.
Solve dopri5(const Array& rho) {
  using P = LorenzAdaptive;
  const Solve init{start(), field(start(), rho), gn::zeros({}), gn::full({}, P::first_step),
                   gn::zeros({})};
  return gn::while_loop(
      [](const Solve& a) { return a.t < P::end; },
      [&](Solve a) {
        const Array h = gn::minimum(a.h, P::end - a.t);
        const State &s = a.state, &k1 = a.slope;
        const State k2 = field(s + h * (1.f / 5 * k1), rho);
        const State k3 = field(s + h * (3.f / 40 * k1 + 9.f / 40 * k2), rho);
        const State k4 = field(s + h * (44.f / 45 * k1 + -56.f / 15 * k2 + 32.f / 9 * k3), rho);
        const State k5 = field(s + h * (19372.f / 6561 * k1 + -25360.f / 2187 * k2 +
                                        64448.f / 6561 * k3 + -212.f / 729 * k4),
                               rho);
        const State k6 =
            field(s + h * (9017.f / 3168 * k1 + -355.f / 33 * k2 + 46732.f / 5247 * k3 +
                           49.f / 176 * k4 + -5103.f / 18656 * k5),
                  rho);
        const State next = s + h * (35.f / 384 * k1 + 500.f / 1113 * k3 + 125.f / 192 * k4 +
                                    -2187.f / 6784 * k5 + 11.f / 84 * k6);
        const State k7 = field(next, rho);
        const State e = 71.f / 57600 * k1 + -71.f / 16695 * k3 + 71.f / 1920 * k4 +
                        -17253.f / 339200 * k5 + 22.f / 525 * k6 + -1.f / 40 * k7;
        const auto scaled = [](const Array& error, const Array& y0, const Array& y1) {
          return error / (P::tolerance + P::tolerance * gn::maximum(gn::abs(y0), gn::abs(y1)));
        };
        const Array ex = scaled(e.x, s.x, next.x), ey = scaled(e.y, s.y, next.y),
                    ez = scaled(e.z, s.z, next.z);
        // The square of the error: its root is not needed, only its -0.1st power.
        const Array err2 = h * h * (ex * ex + ey * ey + ez * ez) * (1.0f / 3.0f);
        const Array accept = err2 <= 1.0f;
        const Array factor =
            gn::clip(P::safety * root(gn::maximum(err2, 1e-16f)), P::shrink, P::grow);
        const auto keep = [&](const State& yes, const State& no) {
          return State{gn::where(accept, yes.x, no.x), gn::where(accept, yes.y, no.y),
                       gn::where(accept, yes.z, no.z)};
        };
        return Solve{keep(next, s), keep(k7, k1), gn::where(accept, a.t + h, a.t), h * factor,
                     a.tried + 1.0f};
      },
      init, {.max_steps = P::max_steps});
}

State rk4_ensemble(const Array& rho) {
  return gn::vmap([](const Array& r) { return rk4(r, LorenzRk4::steps, LorenzRk4::step); })(rho);
}

// The parts of `mixed`, each a function of its own so that they can run alone.
State mixed_first(const Array& rho) {
  return gn::vmap([](const Array& r) { return rk4(r, Mixed::steps, Mixed::step); })(rho);
}
State mixed_mean(const State& s) { return {gn::mean(s.x), gn::mean(s.y), gn::mean(s.z)}; }
State mixed_second(const State& s, const State& mean, const Array& rho) {
  const auto pulled = [&](const State& one, const Array& r) {
    return gn::fori_loop(
        0, Mixed::pulled_steps,
        [&](const Array&, State u) {
          return u + Mixed::pulled_step * (field(u, r) + mean + -1.0f * u);
        },
        State(one));
  };
  return gn::vmap(pulled)(s, rho);
}
Array mixed_product(const State& s) {
  const Array features =
      gn::cast(gn::arange(Mixed::features), gn::DType::f32) / static_cast<float>(Mixed::features);
  const Array a = gn::reshape(gn::expand_dims(s.x, 1) + gn::expand_dims(s.y, 1) * features,
                              {Mixed::side, Mixed::side});
  return gn::matmul(a, a);
}
Array mixed(const Array& rho) {
  const State first = mixed_first(rho);
  return mixed_product(mixed_second(first, mixed_mean(first), rho));
}

std::vector<float> host(gn::Runtime& rt, const State& s) { return flat(rt, {s.x, s.y, s.z}); }
std::vector<float> host(gn::Runtime& rt, const Solved& s) {
  return flat(rt, {s.state.x, s.state.y, s.state.z, s.tried});
}

/// lorenz_rk4 with a forced number of systems per invocation.
Variant coarsened(std::shared_ptr<gn::Runtime> rt, std::uint32_t width, const Array& rho) {
  gn::Target target = rt->target();
  target.loop_coarsening = width;
  Variant v = compiled(rt, "coarsen" + std::to_string(width), target, {.name = "coarsened"},
                       rk4_ensemble, rho);
  v.extras = [=] { return Extras{{"chosen", rt->target().loop_coarsening}}; };
  return v;
}

/// A fresh Runtime each time, so that nothing is cached: trace, compile and the driver's part, each
/// apart.
Variant cold(const std::vector<float>& rho) {
  struct Made {
    std::unique_ptr<gn::Runtime> rt;
    Array rho;
    State last;
    gn::CompileTimes times;
  };
  auto made = std::make_shared<Made>();
  Variant v;
  v.name = "gnomon";
  v.before = [=] {
    made->last = {};
    made->rho = {};
    made->rt = std::make_unique<gn::Runtime>();
    made->rho = made->rt->from_host(rho);
  };
  v.run = [=] {
    auto function = gn::jit(*made->rt, rk4_ensemble, {.name = "cold"});
    made->last = function(made->rho);
    made->rt->wait();
    made->times = function.last_times();
  };
  v.result = [=] { return host(*made->rt, made->last); };
  v.extras = [=] {
    return Extras{{"trace_ms", made->times.trace_ms},
                  {"compile_ms", made->times.compile_ms},
                  {"pipeline_ms", made->times.pipeline_ms}};
  };
  return v;
}

/// Counters of the timed calls: a cache hit makes no Vulkan object, allocates no device memory and
/// traces nothing.
Variant call(std::shared_ptr<gn::Runtime> rt, const Array& x) {
  Variant v = jitted(
      rt, "gnomon", [](const Array& a) { return a + 1.0f; }, x);
  auto before = std::make_shared<gn::Counters>();
  const auto prepare = v.prepare;
  v.prepare = [=] {
    for (int i = 0; i < 10; ++i) prepare();
    *before = rt->counters();
  };
  v.extras = [=] {
    const gn::Counters now = rt->counters();
    return Extras{
        {"vulkan_objects", static_cast<double>(now.vulkan_objects - before->vulkan_objects)},
        {"device_allocations",
         static_cast<double>(now.device_allocations - before->device_allocations)},
        {"traces", static_cast<double>(now.traces - before->traces)}};
  };
  return v;
}

/// A part of a workload has no reference of its own: the whole is checked, the part must repeat its
/// first result.
void repeats_itself(Variant& v) {
  auto first = std::make_shared<std::vector<float>>();
  v.prepare = [first, prepare = v.prepare, result = v.result] {
    prepare();
    *first = result();
  };
  v.check = [first](std::span<const float> values) {
    const bool same =
        !values.empty() && std::equal(values.begin(), values.end(), first->begin(), first->end());
    return Verdict{same, same ? "as the first time" : "differs from its first result"};
  };
}

}  // namespace

void add_gnomon_variants(std::vector<Workload>& workloads) {
  const auto rt = std::make_shared<gn::Runtime>();
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back(make);
  };
  add("lorenz_rk4", [=] {
    const Array rho = rt->from_host(lorenz_rho(LorenzRk4::systems));
    return std::vector<Variant>{jitted(rt, "gnomon", rk4_ensemble, rho), coarsened(rt, 1, rho),
                                coarsened(rt, 4, rho)};
  });
  add("lorenz_adaptive", [=] {
    const auto solve = [](const Array& rho) {
      const Solve solved = gn::vmap(dopri5)(rho);
      return Solved{solved.state, solved.tried};
    };
    return std::vector<Variant>{
        jitted(rt, "gnomon", solve, rt->from_host(lorenz_rho(LorenzAdaptive::systems)))};
  });
  add("mixed", [=] {
    const Array rho = rt->from_host(lorenz_rho(Mixed::lanes));
    const State first = gn::jit(*rt, mixed_first)(rho);
    const State mean = gn::jit(*rt, mixed_mean)(first);
    const State second = gn::jit(*rt, mixed_second)(first, mean, rho);
    std::vector<Variant> variants{jitted(rt, "gnomon", mixed, rho),
                                  jitted(rt, "part_first", mixed_first, rho),
                                  jitted(rt, "part_mean", mixed_mean, first),
                                  jitted(rt, "part_second", mixed_second, first, mean, rho),
                                  jitted(rt, "part_product", mixed_product, second)};
    for (std::size_t i = 1; i < variants.size(); ++i) repeats_itself(variants[i]);
    return variants;
  });
  add("chain", [=] {
    return std::vector<Variant>{jitted(
        rt, "gnomon",
        [](const Array& x) { return gn::sin(x) * gn::exp(-gn::square(x)) + 0.5f * x; },
        rt->from_host(stream_input()))};
  });
  add("copy", [=] {
    return std::vector<Variant>{jitted(
        rt, "gnomon", [](const Array& x) { return 2.0f * x; }, rt->from_host(stream_input()))};
  });
  add_gnomon_dense(workloads, rt);
  add_gnomon_loops(workloads, rt);
  add("call", [=] {
    std::vector<float> x(Call::elements);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    return std::vector<Variant>{call(rt, rt->from_host(x))};
  });
  add("cold", [] { return std::vector<Variant>{cold(lorenz_rho(LorenzRk4::systems))}; });
}

}  // namespace bench
