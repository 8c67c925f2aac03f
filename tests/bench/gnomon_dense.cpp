// tests/bench/gnomon_dense.cpp -- sums, rows and products as a user of the library writes them.
#include "gnomon_jitted.h"
#include "problems.h"

namespace bench {

void add_gnomon_dense(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back([make] { return std::vector<Variant>{make()}; });
  };
  add("triad", [=] {
    return jitted(
        rt, "gnomon", [](const Array& x, const Array& y) { return x + 0.5f * y; },
        rt->from_host(stream_input()), rt->from_host(stream_backwards()));
  });
  add("sum", [=] {
    return jitted(
        rt, "gnomon", [](const Array& x) { return gn::sum(x); }, rt->from_host(sum_input()));
  });
  add("softmax", [=] {
    return jitted(
        rt, "gnomon", [](const Array& x) { return gn::softmax(x); },
        rt->from_host(softmax_input(), {Softmax::rows, Softmax::columns}));
  });
  for (const auto& [id, m] :
       {std::pair{"matmul_1024", matmul_1024}, std::pair{"matmul_64x256", matmul_64x256},
        std::pair{"matmul_tall", matmul_tall}}) {
    const Matmul p = m;
    add(id, [rt, p] {
      const gn::Shape left{p.batch, p.rows, p.depth}, right{p.batch, p.depth, p.columns};
      return jitted(
          rt, "gnomon", [](const Array& a, const Array& b) { return gn::matmul(a, b); },
          rt->from_host(matmul_left(p), left), rt->from_host(matmul_right(p), right));
    });
  }
  // Twice the bytes, and half as many elements in a register of the CPU's.
  add("matmul_1024", [=] {
    const Matmul p = matmul_1024;
    const auto wide = [](const std::vector<float>& v) {
      return std::vector<double>(v.begin(), v.end());
    };
    const gn::Shape left{p.batch, p.rows, p.depth}, right{p.batch, p.depth, p.columns};
    return jitted(
        rt, "f64",
        [](const Array& a, const Array& b) { return gn::cast(gn::matmul(a, b), gn::DType::f32); },
        rt->from_host(wide(matmul_left(p)), left), rt->from_host(wide(matmul_right(p)), right));
  });
  add("hutchinson", [=] {
    return jitted(
        rt, "gnomon",
        [](const Array& a) {
          const auto form = [&](gn::Key key) {
            const Array z = gn::random::rademacher(std::move(key), {Hutchinson::n});
            return gn::sum(z * gn::matmul(a, z));
          };
          return gn::vmap(form)(gn::random::split(gn::random::key(1), Hutchinson::probes));
        },
        rt->from_host(hutchinson_matrix(), {Hutchinson::n, Hutchinson::n}));
  });
}

}  // namespace bench
