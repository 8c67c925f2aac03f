// tests/codegen/case_maker.h -- how the examples of one operation are written. For the files that
// hold them.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "codegen/trace/trace.h"
#include "tests/codegen/primitive_cases.h"

namespace gnomon::test {

using Cases = std::vector<Case>;
using Masks = std::vector<std::vector<bool>>;

constexpr DType f32 = DType::f32, f64 = DType::f64, i32 = DType::i32, u32 = DType::u32;

struct Maker {
  const Primitive& p;
  Cases cases = {};
  void add(Params params, std::vector<Aval> inputs, Masks linear = {},
           std::vector<Domain> domains = {}) {
    domains.resize(inputs.size());
    cases.push_back(
        {&p, std::move(params), std::move(inputs), std::move(domains), std::move(linear)});
  }
};

inline GraphPtr trace_graph(const std::vector<Aval>& avals,
                            const std::function<Arrays(const Arrays&)>& f) {
  Trace t;
  Arrays in;
  for (const Aval& a : avals) in.push_back(t.input(a));
  return std::make_shared<const Graph>(t.finish(f(in)));
}

// ---- call_cases.cpp
void custom_jvp_cases(Maker&);
void custom_vjp_cases(Maker&);
void checkpoint_cases(Maker&);
void marker_cases(Maker&);
void barrier_cases(Maker&);
void linear_solve_cases(Maker&);
void custom_vmap_cases(Maker&);
void psum_cases(Maker&);
void all_gather_cases(Maker&);
void axis_index_cases(Maker&);

// ---- control_cases.cpp
void while_cases(Maker&);
void scan_cases(Maker&);
void cond_cases(Maker&);
void print_cases(Maker&);
void error_if_cases(Maker&);

// ---- indexing_cases.cpp
void gather_cases(Maker&);
void scatter_cases(Maker&, const Masks& linear);
void scatter_mul_cases(Maker&);
void dynamic_slice_cases(Maker&);
void dynamic_update_slice_cases(Maker&);
void sort_cases(Maker&);
void rearrange_cases(Maker&);
void csr_rows_cases(Maker&);
void csr_dot_cases(Maker&);
void csr_sampled_cases(Maker&);

// ---- linalg_cases.cpp
void cholesky_cases(Maker&);
void triangular_solve_cases(Maker&);
void lu_cases(Maker&);
void solve_cases(Maker&);
void qr_cases(Maker&);
void eigh_cases(Maker&);
void svd_cases(Maker&);
void pinv_cases(Maker&);
void expm_cases(Maker&);
void expm_tangent_cases(Maker&);

}  // namespace gnomon::test
