// tests/bench/integrators_rosenbrock.cpp -- stiff systems as a user of Boost.odeint writes them, in
// C++17: its vectors ask allocators for what C++20 took from them.
#include <boost/numeric/odeint.hpp>
#include <boost/numeric/ublas/matrix.hpp>
#include <boost/numeric/ublas/vector.hpp>

#include "integrators.h"
#include "integrators_threads.h"
#include "robertson.h"

namespace bench::integrators {

namespace odeint = boost::numeric::odeint;

void odeint_robertson(const double* rate, float* ends, size_t n) {
  namespace ublas = boost::numeric::ublas;
  using P = Robertson;
  using State = ublas::vector<double>;
  in_halves(n, [&](size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
      const double k1 = rate[i];
      const auto field = [=](const State& y, State& d, double) {
        d(0) = -k1 * y(0) + P::k3 * y(1) * y(2);
        d(2) = P::k2 * y(1) * y(1);
        d(1) = -d(0) - d(2);
      };
      const auto jacobian = [=](const State& y, ublas::matrix<double>& j, double, State& dt) {
        j(0, 0) = -k1, j(0, 1) = P::k3 * y(2), j(0, 2) = P::k3 * y(1);
        j(2, 0) = 0, j(2, 1) = 2 * P::k2 * y(1), j(2, 2) = 0;
        for (size_t c = 0; c < 3; c++) j(1, c) = -j(0, c) - j(2, c), dt(c) = 0;
      };
      State y(3, 0.0);
      y(0) = 1;
      auto stepper =
          odeint::make_controlled(P::absolute, P::relative, odeint::rosenbrock4<double>());
      odeint::integrate_adaptive(stepper, std::make_pair(field, jacobian), y, 0.0, P::end,
                                 P::first_step);
      for (size_t c = 0; c < 3; c++) ends[c * n + i] = static_cast<float>(y(c));
    }
  });
}

}  // namespace bench::integrators
