// tests/bench/opponents_sparse.cpp -- what a sparse product is measured by: a bare gather, and
// Eigen.
#include <cstring>
#include <memory>

#include "hand.h"
#include "harness.h"
#include "native.h"
#include "shaders.h"
#include "sparse_eigen.h"
#include "vk.h"

namespace bench {
namespace {

using P = TraceSparse;
using vk::Access;
using vk::Device;
using namespace hand;

std::vector<float> as_floats(const std::vector<int32_t>& numbers, size_t count) {
  std::vector<float> same(count);
  std::memcpy(same.data(), numbers.data(), count * sizeof(float));
  return same;
}

/// By texels where the device's buffers of them are long enough: half the time on CPU drivers.
Variant gather(const Device& device) {
  const SparseMatrix& a = trace_sparse_matrix();
  const auto x = filled(device, trace_sparse_probes());
  const auto columns = filled(device, as_floats(a.columns, size_t{P::rows} * P::per_row));
  const auto y = poisoned(device, size_t{P::rows} * P::probes);
  const bool texels = x->texels();
  const uint32_t each = texels ? 4 : 1, across = P::probes / each;
  const Step gathered =
      step(texels ? std::span<const uint32_t>(shaders::sparse_gather)
                  : std::span<const uint32_t>(shaders::sparse_gather_storage),
           {texels ? Access::Texels : Access::Storage, Access::Storage, Access::Storage}, {0, 1, 2},
           {P::rows, across, P::per_row}, vk::fold_groups(device, P::rows * across, 64));
  Variant v = by_hand(device, "gather", {x, columns, y}, {gathered});
  v.check = trace_sparse_gather_check();
  return v;
}

#ifdef BENCH_HAS_EIGEN
Variant eigen() {
  struct Memory {
    const SparseMatrix& a = trace_sparse_matrix();
    std::vector<float> x = trace_sparse_probes(), y = std::vector<float>(x.size());
  };
  auto memory = std::make_shared<Memory>();
  Variant v;
  v.name = "eigen";
  v.run = [=] {
    eigen_product(memory->a.offsets.data(), memory->a.columns.data(), memory->a.values.data(),
                  memory->x.data(), memory->y.data(), P::rows, P::probes);
  };
  v.result = [=] { return memory->y; };
  return v;
}
#endif

}  // namespace

void add_sparse_opponents(std::vector<Workload>& workloads, const Device& device) {
  auto& makers = find_workload(workloads, "trace_sparse").makers;
  makers.push_back([&device] { return std::vector<Variant>{gather(device)}; });
#ifdef BENCH_HAS_EIGEN
  makers.push_back([] { return std::vector<Variant>{eigen()}; });
#endif
}

}  // namespace bench
