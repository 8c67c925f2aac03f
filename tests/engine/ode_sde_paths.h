// tests/engine/ode_sde_paths.h -- Brownian paths drawn by the test on a grid, for solvers at coarse
// steps and for references at fine ones.
#pragma once
#include <cmath>
#include <random>

#include "gnomon/indexing.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {

/// What one path does in a step.
struct Move {
  double w = 0, h = 0;
};

/// Two moves of lengths a and b, one behind the other, by Chen's relation.
inline Move joined(const Move& x, double a, const Move& y, double b) {
  return {x.w + y.w, (a * x.h + b * y.h + 0.5 * (b * x.w - a * y.w)) / (a + b)};
}

/// `paths` paths over [0, 1] on a fine grid and, joined, on a coarse one.
struct Grid {
  Grid(int paths, int coarse_steps, int each, unsigned seed)
      : count(paths), coarse(coarse_steps), fine(each * coarse_steps) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    const double d = 1.0 / fine;
    for (int p = 0; p < paths; ++p) {
      w.push_back(0);
      integral.push_back(0);
      double now = 0, area = 0;
      for (int i = 0; i < fine; ++i) {
        const Move m{std::sqrt(d) * normal(engine), std::sqrt(d / 12) * normal(engine)};
        moves.push_back(m);
        area += d * (now + 0.5 * m.w + m.h);
        now += m.w;
        if ((i + 1) % each == 0) w.push_back(now), integral.push_back(area);
      }
    }
  }
  HostArray values() const { return test::host(DType::f64, {count, coarse + 1}, w); }
  HostArray integrals() const { return test::host(DType::f64, {count, coarse + 1}, integral); }

  int count, coarse, fine;
  std::vector<Move> moves;  // [path][fine]
  Numbers w, integral;      // [path][coarse + 1]
};

/// One path of it, or several along the last axis, as a solver takes it.
struct GridPath {
  Array w, integral;  // [coarse + 1, ..]
  ode::BrownianIncrement<Array> evaluate(const Array& t0, const Array& t1) const {
    const auto row = [&](const Array& t) {
      return cast(round(static_cast<double>(w.dim(0) - 1) * t), DType::i32);
    };
    const Array i = row(t0), k = row(t1);
    const Array from = w[i], to = w[k];
    return {to - from, (integral[k] - integral[i]) / (t1 - t0) - 0.5 * (from + to)};
  }
};

}  // namespace gnomon::testing
