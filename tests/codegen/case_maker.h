// tests/codegen/case_maker.h -- how the examples of one operation are written. For the files that
// hold them.
#pragma once
#include <utility>
#include <vector>

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
