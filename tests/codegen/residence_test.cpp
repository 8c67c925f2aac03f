// tests/codegen/residence_test.cpp -- what lies in memory, in which order: the number of kernels
// and of copies between them.
#include <gtest/gtest.h>

#include "gnomon/ops.h"
#include "shaders/kernel/kernel.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using namespace testing;

template <class F, class... A>
Program on_cpu(F f, const A&... inputs) {
  Trace outer;
  return compile(make_graph(f, outer.input(inputs)...).graph, Target::cpu_like(),
                 {.keep_text = true});
}

// Rows of both operands are summed: the product wants one of them turned around. An input is
// copied, what a kernel writes anyway is written that way at once, although somebody reads it the
// other way.
TEST(Residence, WhatAProductWantsTurnedIsWrittenTurned) {
  const auto forms = [](const Array& a, const Array& x) {
    const Array z = exp(x);
    return z * einsum("ij,pj->pi", a, z);
  };
  const auto forms_of_input = [](const Array& a, const Array& x) {
    return x * einsum("ij,pj->pi", a, x);
  };
  const Aval a = f32({96, 96}), x = f32({64, 96});
  const Program computed = on_cpu(forms, a, x), given = on_cpu(forms_of_input, a, x);
  EXPECT_EQ(computed.kernels.size(), 2u) << computed.fusion_text;
  EXPECT_EQ(given.kernels.size(), 2u) << given.fusion_text;
  expect_function_lowers(forms, a, x);
  expect_function_lowers(forms_of_input, a, x);
}

TEST(Residence, AResultKeepsItsOrder) {
  const auto with_draws = [](const Array& a, const Array& x) {
    const Array z = exp(x);
    return std::pair{z, einsum("ij,pj->pi", a, z)};
  };
  EXPECT_EQ(on_cpu(with_draws, f32({96, 96}), f32({64, 96})).kernels.size(), 3u);
  expect_function_lowers(with_draws, f32({96, 96}), f32({64, 96}));
}

}  // namespace
}  // namespace gnomon
