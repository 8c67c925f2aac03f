// tests/bench/gnomon_jitted.h -- a jitted function as a variant.
#pragma once
#include <gnomon/gnomon.h>

#include <chrono>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"

namespace bench {

namespace gn = gnomon;
using gn::Array;

inline std::vector<float> flat(gn::Runtime& rt, std::initializer_list<Array> arrays) {
  std::vector<float> all;
  for (const Array& a : arrays) {
    const auto values = rt.to_host<float>(a);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

inline std::vector<float> host(gn::Runtime& rt, const Array& a) { return flat(rt, {a}); }
using Extras = std::map<std::string, double>;

/// A jitted function of arguments that are on the device already.
template <class F, class... A>
Variant jitted(std::shared_ptr<gn::Runtime> rt, std::string name, F f, A... arguments) {
  auto function = gn::jit(*rt, f, {.name = name, .max_traces = 1});
  using R = decltype(function(arguments...));
  auto last = std::make_shared<R>();
  auto first_ms = std::make_shared<double>();
  Variant v;
  v.name = std::move(name);
  v.prepare = [=] {
    const auto start = std::chrono::steady_clock::now();
    *last = function(arguments...);
    rt->wait();
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    if (*first_ms == 0) *first_ms = spent.count();
  };
  // Opponents write to one buffer over and over; dropping the last result lets the pool do the
  // same.
  v.run = [=] {
    *last = R{};
    *last = function(arguments...);
    rt->wait();
  };
  v.result = [=] { return host(*rt, *last); };
  v.profile = [=] { return function.profile(arguments...); };
  v.compile = [=] { function.lower(arguments...).kernel_count(); };
  v.extras = [=] {
    const gn::CompileTimes t = function.last_times();
    return Extras{{"kernels", function.kernel_count()},
                  {"first_ms", *first_ms},
                  {"trace_ms", t.trace_ms},
                  {"compile_ms", t.compile_ms},
                  {"pipeline_ms", t.pipeline_ms}};
  };
  return v;
}

/// Adds the variants of streams of two operands, sums, rows and products.
void add_gnomon_dense(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of trace_sparse, and that of hutchinson by the library.
void add_gnomon_sparse(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of the workloads that are loops.
void add_gnomon_loops(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of convolutions.
void add_gnomon_conv(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of the factorisations.
void add_gnomon_linalg(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of neural_ode_step.
void add_gnomon_neural(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of dense training, attention and recurrent networks.
void add_gnomon_training(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds that of train_cnn.
void add_gnomon_cnn(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds those of adam_update and call_100.
void add_gnomon_leaves(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of ensembles of differential equations.
void add_gnomon_ode(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Adds the variants of the workloads that are gradients.
void add_gnomon_gradients(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Ensembles of differential equations; in gnomon_sde.cpp.
void add_gnomon_sde(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt);
/// Gradients of checkpointed loops; in gnomon_checkpoints.cpp.
void add_gnomon_checkpoints(std::vector<Workload>& workloads,
                            const std::shared_ptr<gn::Runtime>& rt);

}  // namespace bench
