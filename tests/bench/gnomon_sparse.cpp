// tests/bench/gnomon_sparse.cpp -- sparse products and traces as a user of the library writes them.
#include <gnomon/estimate.h>
#include <gnomon/operators.h>

#include "gnomon_jitted.h"
#include "problems.h"

namespace bench {
namespace {

namespace estimate = gn::estimate;
namespace operators = gn::operators;

operators::Csr on_device(gn::Runtime& rt) {
  const SparseMatrix& a = trace_sparse_matrix();
  return {{rt.from_host(a.offsets), rt.from_host(a.columns), TraceSparse::rows, a.longest, true},
          rt.from_host(a.values),
          {.symmetric = true}};
}

/// A whole estimate: its value and standard error.
template <class F>
Variant estimated(const std::shared_ptr<gn::Runtime>& rt, std::string name, bool squared,
                  const F& estimate) {
  const auto both = [estimate](const operators::Csr& a, const Array& seed) {
    const estimate::Trace t = estimate(gn::random::key(seed), operators::Operator(a));
    return gn::stack({t.value, t.standard_error});
  };
  Variant v = jitted(rt, std::move(name), both, on_device(*rt),
                     rt->from_host(std::vector<std::int32_t>{3}, {}));
  v.check = trace_sparse_estimate_check(squared);
  return v;
}

}  // namespace

void add_gnomon_sparse(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([make] { return std::vector<Variant>{make()}; });
  };
  using P = TraceSparse;
  add("trace_sparse", [=] {
    return jitted(
        rt, "gnomon",
        [](const operators::Csr& a, const Array& x) { return operators::Operator(a).mm(x); },
        on_device(*rt), rt->from_host(trace_sparse_probes(), {P::rows, P::probes}));
  });
  const auto hutchinson = [](gn::Key key, const operators::Operator& a) {
    return estimate::trace(std::move(key), a, P::probes, estimate::Hutchinson{});
  };
  const auto lanczos = [](gn::Key key, const operators::Operator& a) {
    return estimate::trace_of([](const Array& x) { return x * x; }, std::move(key), a, P::probes,
                              P::steps, {.reorthogonalise = false});
  };
  add("trace_sparse", [=] { return estimated(rt, "hutchinson", false, hutchinson); });
  add("trace_sparse", [=] { return estimated(rt, "lanczos", true, lanczos); });

  add("hutchinson", [=] {
    Variant v = jitted(
        rt, "library",
        [](const Array& a) {
          const estimate::Trace t =
              estimate::trace(gn::random::key(1), operators::Operator(operators::Dense{a}),
                              Hutchinson::probes, estimate::Hutchinson{}, {.batch = 64});
          return gn::stack({t.value, t.standard_error});
        },
        rt->from_host(hutchinson_matrix(), {Hutchinson::n, Hutchinson::n}));
    v.check = hutchinson_estimate_check();
    return v;
  });
}

}  // namespace bench
