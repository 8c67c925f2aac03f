// tests/codegen/ranks_test.cpp -- operations that take arrays apart and put them together again do
// so with arrays of eight axes as well: what they use inside may not need a ninth.
#include "codegen/optimize/expand.h"
#include "codegen/program/target.h"
#include "gnomon/arrange.h"
#include "gnomon/cumulative.h"
#include "gnomon/fft.h"
#include "gnomon/linalg.h"
#include "gnomon/sorting.h"
#include "gnomon/statistics.h"
#include "tests/codegen/graph_host.h"
#include "tests/codegen/matrices.h"

namespace gnomon::test {
namespace {

struct NamedOperation {
  std::string name;
  Arrays (*run)(const Array&);
};

/// Of stacks of square matrices.
std::vector<NamedOperation> operations_on_stacks() {
  return {
      {"cholesky", [](const Array& x) { return Arrays{linalg::cholesky(x)}; }},
      {"triangular_solve", [](const Array& x) { return Arrays{linalg::triangular_solve(x, x)}; }},
      {"lu", [](const Array& x) { return Arrays{linalg::lu(x).lu}; }},
      {"qr",
       [](const Array& x) {
         const linalg::Qr f = linalg::qr(x);
         return Arrays{f.q, f.r};
       }},
      {"eigh", [](const Array& x) { return Arrays{linalg::eigh(x).eigenvalues}; }},
      {"svd", [](const Array& x) { return Arrays{linalg::svd(x).s}; }},
      {"solve", [](const Array& x) { return Arrays{linalg::solve(x, x)}; }},
      {"inv", [](const Array& x) { return Arrays{linalg::inv(x)}; }},
      {"det", [](const Array& x) { return Arrays{linalg::slogdet(x).logabs}; }},
      {"pinv", [](const Array& x) { return Arrays{linalg::pinv(x)}; }},
      {"expm", [](const Array& x) { return Arrays{linalg::expm(x * 0.01)}; }},
      {"matrix_power", [](const Array& x) { return Arrays{linalg::matrix_power(x, 3)}; }},
      {"matmul", [](const Array& x) { return Arrays{matmul(x, x)}; }},
      {"sort", [](const Array& x) { return Arrays{sort(x)}; }},
      {"argsort", [](const Array& x) { return Arrays{argsort(x)}; }},
      {"top_k", [](const Array& x) { return tree::leaves(top_k(x, 2)); }},
      {"median", [](const Array& x) { return Arrays{median(x, -1)}; }},
      {"cumsum", [](const Array& x) { return Arrays{cumsum(x, -1)}; }},
      {"cumlogsumexp", [](const Array& x) { return Arrays{cumlogsumexp(x, -1)}; }},
      {"rfft", [](const Array& x) { return tree::leaves(fft::rfft(x)); }},
      {"softmax", [](const Array& x) { return Arrays{softmax(x, -1)}; }},
      {"roll", [](const Array& x) { return Arrays{roll(x, 1, -1)}; }},
      {"flip", [](const Array& x) { return Arrays{flip(x, -1)}; }},
      {"tril", [](const Array& x) { return Arrays{tril(x)}; }},
  };
}

/// The expansions for a device, until nothing is left to expand.
std::vector<HostArray> expanded(const NamedOperation& op, const HostArray& x, const Target& target,
                                bool run) {
  const Graph g = expand(graph_of(op.run, x), target);
  return run ? evaluate(g, {x}) : std::vector<HostArray>{};
}

TEST(Ranks, StacksOfMatricesHaveSixAxes) {
  for (const NamedOperation& op : operations_on_stacks())
    for (const Target& target : {Target::lavapipe(), Target::gpu()})
      for (Dim n : {3, 8, 70, 130}) {
        HostArray flat(Aval{DType::f64, {2, n, n}});
        const HostArray a = positive(n, 3), b = positive(n, 4);
        for (Dim i = 0; i < n * n; ++i) {
          flat.set_number(i, a.number(i));
          flat.set_number(n * n + i, b.number(i));
        }
        HostArray deep(Aval{DType::f64, {1, 2, 1, 1, 1, 1, n, n}});
        for (Dim i = 0; i < flat.size(); ++i) deep.set_number(i, flat.number(i));
        try {
          const bool run = n < 10;
          const auto want = expanded(op, flat, target, run), got = expanded(op, deep, target, run);
          ASSERT_EQ(got.size(), want.size());
          for (std::size_t i = 0; i < want.size(); ++i)
            EXPECT_EQ(numbers(got[i]), numbers(want[i])) << op.name << " " << n;
        } catch (const std::exception& e) {
          ADD_FAILURE() << op.name << " " << n << ": " << e.what();
        }
      }
}

}  // namespace
}  // namespace gnomon::test
