// tests/bench/gnomon_variants.cpp -- the workloads as a user of the library writes them.
#include <gnomon/gnomon.h>

#include <algorithm>
#include <memory>

#include "gnomon_compiled.h"
#include "gnomon_jitted.h"
#include "gnomon_lorenz.h"
#include "harness.h"
#include "problems.h"

namespace bench {

namespace {

using namespace lorenz;

struct Solved {
  State state;
  Array tried;
};

State rk4_ensemble(const Array& rho) {
  return gn::vmap(
      [](const Array& r) { return rk4(start(), r, LorenzRk4::steps, LorenzRk4::step); })(rho);
}

/// The same from a start that is data: no compiler knows what the first trip of the loop computes.
State rk4_loaded(const State& from, const Array& rho) {
  return gn::vmap([](const State& s, const Array& r) {
    return rk4(s, r, LorenzRk4::steps, LorenzRk4::step);
  })(from, rho);
}

// The parts of `mixed`, each a function of its own so that they can run alone.
State mixed_first(const Array& rho) {
  return gn::vmap([](const Array& r) { return rk4(start(), r, Mixed::steps, Mixed::step); })(rho);
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

/// The sum of two arrays outside a trace.
Variant eager_add(std::shared_ptr<gn::Runtime> rt, const Array& x, const Array& y) {
  auto last = std::make_shared<Array>();
  Variant v;
  v.name = "gnomon";
  v.run = [=] {
    *last = Array();
    *last = x + y;
    rt->wait();
  };
  v.prepare = v.run;
  v.result = [=] { return flat(*rt, {*last}); };
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
    const auto all = [&](float x) {
      return rt->from_host(std::vector<float>(LorenzRk4::systems, x));
    };
    return std::vector<Variant>{
        jitted(rt, "gnomon", rk4_ensemble, rho),
        jitted(rt, "loaded", rk4_loaded, State{all(1.0f), all(0.0f), all(0.0f)}, rho),
        coarsened(rt, 1, rho), coarsened(rt, 4, rho)};
  });
  add("lorenz_adaptive", [=] {
    const auto solve = [](const Array& rho) {
      const Solve solved = gn::vmap([](const Array& r) { return dopri5(start(), r); })(rho);
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
  add_gnomon_conv(workloads, rt);
  add_gnomon_sparse(workloads, rt);
  add_gnomon_loops(workloads, rt);
  add_gnomon_ode(workloads, rt);
  add_gnomon_gradients(workloads, rt);
  add_gnomon_checkpoints(workloads, rt);
  add_gnomon_sde(workloads, rt);
  add_gnomon_neural(workloads, rt);
  add_gnomon_training(workloads, rt);
  add_gnomon_cnn(workloads, rt);
  add_gnomon_leaves(workloads, rt);
  add_gnomon_linalg(workloads, rt);
  add("call", [=] {
    std::vector<float> x(Call::elements);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    return std::vector<Variant>{call(rt, rt->from_host(x))};
  });
  add("eager_add", [=] {
    std::vector<float> x(Call::elements);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const Array a = rt->from_host(x), one = rt->from_host(std::vector<float>(x.size(), 1.0f));
    return std::vector<Variant>{eager_add(rt, a, one),
                                jitted(
                                    rt, "floor", [](const Array& v) { return v + 1.0f; }, a)};
  });
  add("cold", [] { return std::vector<Variant>{cold(lorenz_rho(LorenzRk4::systems))}; });
}

}  // namespace bench
