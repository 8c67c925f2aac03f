// tests/bench/gnomon_linalg.cpp -- factorisations of one matrix: the first call of a process, whose
// kernels no cache holds, and later ones.
#include <cstdint>

#include "cold_process.h"
#include "gnomon_jitted.h"
#include "problems.h"

namespace bench {
namespace {

/// Jits the factorisation `name` and hands the function, its arguments and what makes one list of
/// its result to `use`.
template <class Use>
auto with_factorisation(gn::Runtime& rt, const std::string& name, const Use& use) {
  using namespace gn;
  constexpr auto n = static_cast<Dim>(Linalg::n);
  const Array a = rt.from_host(linalg_matrix(name), {n, n});
  const auto list = [&rt](std::initializer_list<Array> arrays) { return flat(rt, arrays); };
  if (name == "cholesky")
    return use([](const Array& x) { return linalg::cholesky(x); },
               [=](const Array& l) { return list({l}); }, a);
  if (name == "lu")
    return use([](const Array& x) { return linalg::lu(x); },
               [&rt](const linalg::Lu& f) {
                 std::vector<float> r = flat(rt, {f.lu});
                 for (const auto row : rt.to_host<std::int32_t>(f.permutation))
                   r.push_back(static_cast<float>(row));
                 return r;
               },
               a);
  if (name == "qr")
    return use([](const Array& x) { return linalg::qr(x); },
               [=](const auto& f) {
                 return list({f.q, f.r});
               },
               a);
  if (name == "solve")
    return use([](const Array& x, const Array& b) { return linalg::solve(x, b); },
               [=](const Array& x) { return list({x}); }, a,
               rt.from_host(std::vector<float>(Linalg::n, 1.0f)));
  if (name == "slogdet")
    return use([](const Array& x) { return linalg::slogdet(x); },
               [=](const auto& d) {
                 return list({d.sign, d.logabs});
               },
               a);
  if (name == "eigh")
    return use([](const Array& x) { return linalg::eigh(x); },
               [=](const auto& f) {
                 return list({f.eigenvalues, f.eigenvectors});
               },
               a);
  return use([](const Array& x) { return linalg::svd(x); },
             [=](const auto& f) {
               return list({f.u, f.s, f.vt});
             },
             a);
}

/// A process of its own for every run, which measures its first call itself.
Variant cold(const std::string& name) {
  auto last = std::make_shared<FirstCall>();
  Variant v;
  v.name = name;
  v.run = [=] { *last = first_call_elsewhere(name); };
  v.took = [=] { return last->milliseconds; };
  v.result = [=] { return last->result; };
  v.check = linalg_check(name);
  v.extras = [=] { return Extras{{"pipelines", last->pipelines}}; };
  return v;
}

Variant warm(const std::shared_ptr<gn::Runtime>& rt, const std::string& name) {
  return with_factorisation(*rt, name, [&](auto f, auto list, auto... arguments) {
    auto function = gn::jit(*rt, f, {.name = name, .max_traces = 1});
    using R = decltype(function(arguments...));
    auto last = std::make_shared<R>();
    Variant v;
    v.name = name;
    v.run = [=] {
      *last = R{};
      *last = function(arguments...);
      rt->wait();
    };
    v.result = [=] { return list(*last); };
    v.check = linalg_check(name);
    v.extras = [=] { return Extras{{"kernels", function.kernel_count()}}; };
    return v;
  });
}

}  // namespace

FirstCall first_call(const std::string& name) {
  gn::Runtime rt;
  return with_factorisation(rt, name, [&](auto f, auto list, auto... arguments) {
    FirstCall r;
    rt.wait();
    const std::uint64_t before = rt.counters().pipelines;
    const auto start = std::chrono::steady_clock::now();
    auto function = gn::jit(rt, f, {.name = name});
    const auto made = function(arguments...);
    rt.wait();
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    r.milliseconds = spent.count();
    r.pipelines = static_cast<double>(rt.counters().pipelines - before);
    r.result = list(made);
    return r;
  });
}

void add_gnomon_linalg(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([make] {
      std::vector<Variant> variants;
      for (const std::string& name : linalg_names()) variants.push_back(make(name));
      return variants;
    });
  };
  add("cold_linalg", [](const std::string& name) { return cold(name); });
  add("warm_linalg", [rt](const std::string& name) { return warm(rt, name); });
}

}  // namespace bench
