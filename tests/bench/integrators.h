// tests/bench/integrators.h -- the opponents of the solvers: Boost.odeint and SUNDIALS' CVODE on
// two threads.
//
// integrators_*.cpp are compiled with -O3 -march=native, where the packages are installed.
#pragma once
#include <cstddef>

namespace bench::integrators {

/// Inputs and results as stated in problems.h; f32.
void odeint_lorenz_adaptive(const float* rho, float* state, size_t n);
void odeint_events(const float* restitution, float* time, size_t n);
void cvode_events(const float* restitution, float* time, size_t n);
/// The whole of ode_detest; `scale` f64[n].
void odeint_detest(const double* scale, float* ends, size_t n);
void cvode_detest(const double* scale, float* ends, size_t n);
/// `rate` f64[n].
void odeint_robertson(const double* rate, float* ends, size_t n);
void cvode_robertson(const double* rate, float* ends, size_t n);
/// The whole of ode_stiff on one thread, Jacobians by differences.
void cvode_stiff(float* ends, float* counts);

}  // namespace bench::integrators
