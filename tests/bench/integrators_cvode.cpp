// tests/bench/integrators_cvode.cpp -- ensembles as a user of SUNDIALS' CVODE writes them.
#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>

#include "integrators.h"
#include "integrators_threads.h"
#include "problems_ode.h"
#include "tests/support/detest.h"

namespace bench::integrators {
namespace {

namespace detest = gnomon::testing::detest;

void require(int flag, const char* what) {
  if (flag < 0) throw std::runtime_error(std::string("cvode: ") + what);
}

/// An integrator of systems of N equations, used for one after another.
template <size_t N>
class Cvode {
 public:
  Cvode(int method, CVRhsFn field, double relative, double absolute) {
    SUNContext_Create(nullptr, &context_);
    y_ = N_VNew_Serial(N, context_);
    memory_ = CVodeCreate(method, context_);
    require(CVodeInit(memory_, field, 0, y_), "CVodeInit");
    require(CVodeSStolerances(memory_, relative, absolute), "CVodeSStolerances");
    CVodeSetMaxNumSteps(memory_, 1000000);
  }
  Cvode(const Cvode&) = delete;
  Cvode& operator=(const Cvode&) = delete;
  ~Cvode() {
    CVodeFree(&memory_);
    if (fixed_point_) SUNNonlinSolFree(fixed_point_);
    if (linear_) SUNLinSolFree(linear_);
    if (matrix_) SUNMatDestroy(matrix_);
    N_VDestroy(y_);
    SUNContext_Free(&context_);
  }

  void use_fixed_point() {
    fixed_point_ = SUNNonlinSol_FixedPoint(y_, 0, context_);
    require(CVodeSetNonlinearSolver(memory_, fixed_point_), "CVodeSetNonlinearSolver");
  }
  /// Without a `jacobian` its columns are differences.
  void use_newton(CVLsJacFn jacobian) {
    matrix_ = SUNDenseMatrix(N, N, context_);
    linear_ = SUNLinSol_Dense(y_, matrix_, context_);
    require(CVodeSetLinearSolver(memory_, linear_, matrix_), "CVodeSetLinearSolver");
    require(CVodeSetJacFn(memory_, jacobian), "CVodeSetJacFn");
  }

  void* memory() { return memory_; }
  double* y() { return N_VGetArrayPointer(y_); }
  void begin(double t, void* data) {
    CVodeSetUserData(memory_, data);
    require(CVodeReInit(memory_, t, y_), "CVodeReInit");
  }
  int solve_to(double end, double& t) {
    const int flag = CVode(memory_, end, y_, &t, CV_NORMAL);
    require(flag, "CVode");
    return flag;
  }

 private:
  SUNContext context_ = nullptr;
  N_Vector y_ = nullptr;
  void* memory_ = nullptr;
  SUNNonlinearSolver fixed_point_ = nullptr;
  SUNLinearSolver linear_ = nullptr;
  SUNMatrix matrix_ = nullptr;
};

template <class P>
int field_of(double t, N_Vector y, N_Vector d, void*) {
  std::span<double> out(N_VGetArrayPointer(d), P::start.size());
  P{}(t, std::span<const double>(N_VGetArrayPointer(y), P::start.size()), out);
  return 0;
}

}  // namespace

void cvode_detest(const double* scale, float* ends, size_t n) {
  Detest::for_each([&](const auto& field) {
    using P = std::remove_cvref_t<decltype(field)>;
    constexpr size_t size = P::start.size();
    in_halves(n, [&](size_t from, size_t to) {
      // A fifth of what the others get: at the same one its error at the end of an orbit is above
      // what is allowed.
      constexpr double tolerance = 0.2 * Detest::tolerance;
      Cvode<size> cvode(CV_ADAMS, field_of<P>, tolerance, tolerance);
      cvode.use_fixed_point();
      for (size_t i = from; i < to; i++) {
        for (size_t c = 0; c < size; c++) cvode.y()[c] = P::start[c] * scale[i];
        cvode.begin(0, nullptr);
        CVodeSetStopTime(cvode.memory(), detest::end);
        double t;
        cvode.solve_to(detest::end, t);
        for (size_t c = 0; c < size; c++) ends[c * n + i] = static_cast<float>(cvode.y()[c]);
      }
    });
    ends += size * n;
  });
}

void cvode_events(const float* restitution, float* time, size_t n) {
  using P = Bouncing;
  const auto field = [](double, N_Vector y, N_Vector d, void*) {
    NV_Ith_S(d, 0) = NV_Ith_S(y, 1);
    NV_Ith_S(d, 1) = -double{P::gravity};
    return 0;
  };
  const auto height = [](double, N_Vector y, double* g, void*) {
    g[0] = NV_Ith_S(y, 0);
    return 0;
  };
  in_halves(n, [&](size_t from, size_t to) {
    Cvode<2> cvode(CV_ADAMS, field, double{P::tolerance}, double{P::tolerance});
    cvode.use_fixed_point();
    CVodeRootInit(cvode.memory(), 1, height);
    int down = -1;
    CVodeSetRootDirection(cvode.memory(), &down);
    for (size_t i = from; i < to; i++) {
      double t = 0;
      cvode.y()[0] = 1, cvode.y()[1] = 0;
      for (int bounces = 0; bounces < P::bounces; bounces++) {
        cvode.begin(t, nullptr);
        if (cvode.solve_to(t + 10, t) != CV_ROOT_RETURN)
          throw std::runtime_error("cvode: a ball did not come down");
        cvode.y()[0] = 0;
        cvode.y()[1] *= -double{restitution[i]};
      }
      time[i] = static_cast<float>(t);
    }
  });
}

void cvode_robertson(const double* rate, float* ends, size_t n) {
  using P = Robertson;
  const auto field = [](double, N_Vector y, N_Vector d, void* k1) {
    const double *s = N_VGetArrayPointer(y), k = *static_cast<const double*>(k1);
    double* out = N_VGetArrayPointer(d);
    out[0] = -k * s[0] + P::k3 * s[1] * s[2];
    out[2] = P::k2 * s[1] * s[1];
    out[1] = -out[0] - out[2];
    return 0;
  };
  const auto jacobian = [](double, N_Vector y, N_Vector, SUNMatrix j, void* k1, N_Vector, N_Vector,
                           N_Vector) {
    const double *s = N_VGetArrayPointer(y), k = *static_cast<const double*>(k1);
    const double row0[] = {-k, P::k3 * s[2], P::k3 * s[1]}, row2[] = {0, 2 * P::k2 * s[1], 0};
    for (int c = 0; c < 3; c++) {
      SM_ELEMENT_D(j, 0, c) = row0[c];
      SM_ELEMENT_D(j, 2, c) = row2[c];
      SM_ELEMENT_D(j, 1, c) = -row0[c] - row2[c];
    }
    return 0;
  };
  in_halves(n, [&](size_t from, size_t to) {
    Cvode<3> cvode(CV_BDF, field, P::relative, P::absolute);
    cvode.use_newton(jacobian);
    for (size_t i = from; i < to; i++) {
      cvode.y()[0] = 1, cvode.y()[1] = 0, cvode.y()[2] = 0;
      double k1 = rate[i], t;
      cvode.begin(0, &k1);
      CVodeSetStopTime(cvode.memory(), P::end);
      cvode.solve_to(P::end, t);
      for (size_t c = 0; c < 3; c++) ends[c * n + i] = static_cast<float>(cvode.y()[c]);
    }
  });
}

void cvode_stiff(float* ends, float* counts) {
  Stiff::for_each([&](const auto& problem) {
    using P = std::remove_cvref_t<decltype(problem)>;
    Cvode<P::start.size()> cvode(CV_BDF, field_of<P>, Stiff::tolerance,
                                 Stiff::tolerance * P::scale);
    cvode.use_newton(nullptr);
    std::copy(P::start.begin(), P::start.end(), cvode.y());
    cvode.begin(0, nullptr);
    CVodeSetStopTime(cvode.memory(), P::end);
    double t;
    cvode.solve_to(P::end, t);
    for (size_t c = 0; c < P::start.size(); c++) *ends++ = static_cast<float>(cvode.y()[c]);
    long steps = 0, failed = 0, unsolved = 0, evaluations = 0, for_jacobians = 0;
    CVodeGetNumSteps(cvode.memory(), &steps);
    CVodeGetNumErrTestFails(cvode.memory(), &failed);
    CVodeGetNumStepSolveFails(cvode.memory(), &unsolved);
    CVodeGetNumRhsEvals(cvode.memory(), &evaluations);
    CVodeGetNumLinRhsEvals(cvode.memory(), &for_jacobians);
    *counts++ = static_cast<float>(steps + failed + unsolved);
    *counts++ = static_cast<float>(evaluations + for_jacobians);
  });
}

}  // namespace bench::integrators
