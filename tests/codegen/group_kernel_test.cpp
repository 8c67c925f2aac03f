// tests/codegen/group_kernel_test.cpp -- loops that one workgroup plays: what it does itself, and
// how it reads what it updates.
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

template <class F, class... A>
Program played(F f, const A&... inputs) {
  const Graph g = [&] {
    Trace outer;
    return make_graph(f, outer.input(inputs)...).graph;
  }();
  return compile(g, Target::lavapipe(),
                 {.name = "test", .loops = LoopMapping::workgroup, .keep_text = true});
}

struct Search {
  Array x, r;
};

/// More steps than a driver allows in one dispatch, of which few are taken.
template <class Step>
auto search(Step step) {
  return [step](const Array& a, const Array& b) {
    return while_loop([](const Search& s) { return sum(s.r * s.r) > 1e-3f; },
                      [&](const Search& s) { return step(a, s); }, Search{zeros_like(b), b},
                      {.max_steps = 60'000})
        .x;
  };
}
const auto with_one_product = search([](const Array& a, const Search& s) {
  return Search{s.x + s.r, 0.25f * s.r + 0.001f * matmul(a, s.r)};
});
const auto with_two_products = search([](const Array& a, const Search& s) {
  return Search{s.x + s.r, 0.25f * s.r + 0.001f * matmul(a, cos(0.001f * matmul(a, s.r)) - 1.0f)};
});

TEST(GroupKernel, CopiesWhatALoopBeginsWithInItsFirstSlice) {
  expect_function_lowers(with_one_product, f32({64, 64}), f32({64}));
  const Program p = played(with_one_product, f32({64, 64}), f32({64}));
  ASSERT_EQ(p.gated.size(), 1u) << p.fusion_text << print(p);
  for (const Step& s : p.steps) {
    EXPECT_NE(s.kind, Step::Kind::copy) << print(p);
    EXPECT_NE(s.label, "count") << print(p);
  }
}

TEST(GroupKernel, LeavesLargeCopiesToADispatch) {
  const auto both = [](const Array& x) {
    return while_loop([](const Array& v) { return sum(v * v) > 1e-3f; },
                      [](const Array& v) { return 0.25f * v + 0.125f * flip(v); }, x,
                      {.max_steps = 60'000});
  };
  const auto copies = [](const Program& p) {
    return std::count_if(p.steps.begin(), p.steps.end(),
                         [](const Step& s) { return s.kind == Step::Kind::copy; });
  };
  expect_function_lowers(both, f32({4096}));
  EXPECT_EQ(copies(played(both, f32({512}))), 0);
  EXPECT_EQ(copies(played(both, f32({4096}))), 1);
}

TEST(GroupKernel, EightInvocationsTakeAllResultsOfAMatrixAndAVector) {
  const auto tiles = [](const auto& f, Dim n) {
    return played(f, f32({n, n}), f32({n})).fusion_text;
  };
  expect_function_lowers(with_one_product, f32({512, 512}), f32({512}));
  EXPECT_NE(tiles(with_one_product, 512).find("tiles of 64 by 1"), std::string::npos);
  expect_function_lowers(with_one_product, f32({200, 200}), f32({200}));
  EXPECT_NE(tiles(with_one_product, 200).find("tiles of 28 by 1"), std::string::npos);
  // Two are too much to compile, and a double's reads are no texels: tiles are those of any kernel.
  const std::string two = tiles(with_two_products, 512);
  EXPECT_NE(two.find("tiles of 8 by 1 elements of [512]"), std::string::npos) << two;
  EXPECT_EQ(two.find("tiles of 64 by 1"), std::string::npos) << two;
  const Aval matrix{DType::f64, {512, 512}}, vector{DType::f64, {512}};
  const std::string doubles = played(with_one_product, matrix, vector).fusion_text;
  EXPECT_NE(doubles.find("tiles of 8 by 1 elements of [512]"), std::string::npos) << doubles;
}

/// How many loads of four or more a kernel has from buffers that it also writes through.
std::size_t wide_loads_where_written(const kernel::Kernel& k, const kernel::Region& r) {
  std::size_t n = 0;
  for (const kernel::Instruction& i : r.body) {
    if (i.op == kernel::Op::load && k.type(i.results[0]).width >= 4 &&
        k.buffers[i.immediate].access != kernel::Access::read)
      ++n;
    for (const kernel::Region& inner : i.regions) n += wide_loads_where_written(k, inner);
  }
  return n;
}

TEST(GroupKernel, ReadsAsTexelsWhatItUpdatesInPlace) {
  const auto updates = [](Dim n) {
    const Program p = played(with_one_product, f32({n, n}), f32({n}));
    std::size_t loads = 0;
    for (const kernel::Kernel& k : p.kernels)
      if (k.name.find("group") != std::string::npos) loads += wide_loads_where_written(k, k.body);
    return loads;
  };
  EXPECT_EQ(updates(512), 0u);
  EXPECT_GT(updates(64), 0u);  // a barrier more is not worth it
}

}  // namespace
}  // namespace gnomon::testing
