// tests/engine/slow_linalg_test.cpp -- factorisations and transforms at the largest sizes that are
// promised: seconds to minutes each on a CPU. ctest runs them under the label `slow`.
#include <string>

#include "tests/engine/linalg_checks.h"

namespace gnomon::testing {
namespace {

struct Case {
  const char* name;
  void (LinalgDevice::*check)(Dim);
  Dim n;
};

/// Without validation, which would check every dispatch.
class SlowLinalg : public LinalgDevice, public ::testing::WithParamInterface<Case> {
 protected:
  SlowLinalg() : LinalgDevice(RuntimeOptions{}) {}
};

TEST_P(SlowLinalg, Residual) { (this->*GetParam().check)(GetParam().n); }

std::vector<Case> cases() {
  std::vector<Case> r;
  for (Dim n : {256, 777, 1024, 4096}) {
    r.push_back({"cholesky", &LinalgDevice::expect_cholesky, n});
    r.push_back({"lu", &LinalgDevice::expect_lu, n});
    r.push_back({"qr", &LinalgDevice::expect_square_qr, n});
    r.push_back({"solve", &LinalgDevice::expect_solve, n});
  }
  r.push_back({"tall_qr", &LinalgDevice::expect_tall_qr, 777});
  for (Dim n : {64, 256, 512, 1000, 1024}) {
    r.push_back({"eigh", &LinalgDevice::expect_eigh, n});
    r.push_back({"svd", &LinalgDevice::expect_square_svd, n});
  }
  for (Dim n : {1 << 16, 1 << 20, 1000003}) r.push_back({"fft", &LinalgDevice::expect_fft, n});
  return r;
}

INSTANTIATE_TEST_SUITE_P(, SlowLinalg, ::testing::ValuesIn(cases()), [](const auto& at) {
  return std::string(at.param.name) + "_" + std::to_string(at.param.n);
});

}  // namespace
}  // namespace gnomon::testing
