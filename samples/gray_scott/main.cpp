// samples/gray_scott/main.cpp -- reaction and diffusion on 512 x 512 points: from a grain of noise
// to stripes.
//
// u' = Du lap u - u v^2 + F (1 - u), v' = Dv lap v + u v^2 - (F + k) v on a torus. Where both are
// the same everywhere and at rest, waves of some lengths grow, each at the rate that a matrix of
// 2 x 2 says: A. M. Turing, The chemical basis of morphogenesis, Phil. Trans. R. Soc. B 237 (1952).
// Source of the equations: J. E. Pearson, Complex patterns in a simple system, Science 261 (1993).
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>
#include <vector>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

constexpr double du = 0.2, dv = 0.08, feed = 0.067, kill = 0.0624;

struct State {
  Array u, v;
};

Array laplacian(const Array& x) {
  return gn::roll(x, 1, 0) + gn::roll(x, -1, 0) + gn::roll(x, 1, 1) + gn::roll(x, -1, 1) - 4.0f * x;
}
State change(const Array&, const State& s, gn::None) {
  const Array made = s.u * s.v * s.v;
  return {du * laplacian(s.u) - made + feed * (1.0f - s.u),
          dv * laplacian(s.v) + made - (feed + kill) * s.v};
}

/// The state and the steps it took; steps as long as errors allow, or of length 1.
std::pair<State, Array> solve(const State& s, const Array& end, float tolerance) {
  ode::SolveOptions options{.max_steps = gn::unbounded};
  if (tolerance > 0) options.controller = ode::PidController{.rtol = tolerance, .atol = tolerance};
  const auto method = tolerance > 0 ? ode::Solver(ode::Bosh3()) : ode::Solver(ode::Midpoint());
  const auto sol =
      ode::diffeqsolve(ode::OdeTerm{change}, method, 0.0f, end, 1.0f, s, gn::none, options);
  return {sol.y1, sol.stats.steps};
}

/// At rest; of two such states the one with more v.
const double rest_u = (1 - std::sqrt(1 - 4 * (feed + kill) * (feed + kill) / feed)) / 2;
const double rest_v = (1 - rest_u) * feed / (feed + kill);

/// How small waves exp(i k x) around it grow, where lap exp(i k x) = -q exp(i k x): the larger
/// eigenvalue of the linear equations, NaN if complex, and its left eigenvector (left, 1).
struct Mode {
  explicit Mode(double q) {
    const double a = -rest_v * rest_v - feed - du * q, b = -2 * rest_u * rest_v,
                 c = rest_v * rest_v, d = 2 * rest_u * rest_v - (feed + kill) - dv * q;
    rate = (a + d) / 2 + std::sqrt((a - d) * (a - d) / 4 + b * c);
    left = c / (rate - a);
  }
  double rate, left;
};

/// Waves of about the same length.
struct Band {
  double waves = 0, k = 0, rate = 0, expected = 0, found = 0;
};

}  // namespace

int main(int argc, char** argv) {
  gn::Dim n = 512;
  float end = 600, tolerance = 0;
  sample::Settings settings("Gray and Scott's reaction and diffusion on a square grid.");
  settings.add("--points", n, "along an edge", 128, 8192);
  settings.add("--end", end, "when the picture is taken", 100, 1000000);
  settings.add("--adaptive", tolerance, "steps by this tolerance, not of length 1", 1e-6, 1e-4);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    auto run = gn::jit(rt, [&](const State& s, const Array& t) { return solve(s, t, tolerance); },
                       {.name = "gray_scott", .max_traces = 1});
    const State start = rt.run([&] {
      const Array noise = 2e-4f * gn::random::normal(gn::random::key(1), {2, n, n});
      return State{rest_u + noise[0], rest_v + noise[1]};
    });
    const float early = 100;  // waves do not know of one another yet
    const State grown = run(start, rt.from_host(early)).first;

    const gn::Dim half = n / 2 + 1;
    std::vector<double> wavenumbers, rates;
    std::vector<float> left;
    for (gn::Dim i = 0; i < n * half; ++i) {
      const double turn = std::numbers::pi / static_cast<double>(n);
      const double k = 2 * std::hypot(std::sin(turn * static_cast<double>(i / half)),
                                      std::sin(turn * static_cast<double>(i % half)));
      const Mode mode(k * k);
      wavenumbers.push_back(k), rates.push_back(mode.rate);
      left.push_back(static_cast<float>(mode.left));
    }
    const Array lefts = rt.from_host(left, {n, half});
    const auto power = [&](const State& s) {
      return rt.to_host<float>(rt.run([&] {
        const auto u = gn::fft::rfft2(s.u - rest_u), v = gn::fft::rfft2(s.v - rest_v);
        return gn::square(lefts * u.re + v.re) + gn::square(lefts * u.im + v.im);
      }));
    };
    const auto before = power(start), after = power(grown);
    std::vector<Band> bands(150);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (!(rates[i] > 0)) continue;
      Band& b = bands[static_cast<std::size_t>(50 * wavenumbers[i])];
      b.waves += 1, b.k += wavenumbers[i], b.rate += rates[i];
      b.expected += before[i] * std::exp(2.0 * early * rates[i]), b.found += after[i];
    }
    std::vector<sample::Column> table{{"wavenumber", {}}, {"known", {}}, {"measured", {}}};
    double waves = 0, fastest = 0, worst = 0;
    for (const Band& b : bands) {
      if (b.waves == 0) continue;
      const double known = b.rate / b.waves, off = std::log(b.found / b.expected) / (2 * early);
      table[0].values.push_back(b.k / b.waves), table[1].values.push_back(known);
      table[2].values.push_back(known + off);
      waves += b.waves, fastest = std::max(fastest, known), worst = std::max(worst, std::fabs(off));
    }
    std::printf("%.0f waves grow, by %.4f at most; rates are off by %.2f %% of that\n", waves,
                fastest, 100 * worst / fastest);

    // What starts somewhere else ends somewhere else, to the last bit: there is no edge. (But
    // norms, from which steps of other lengths follow, are sums in another order.)
    const auto moved = [&](const State& s) {
      const auto move = [](const Array& x) { return gn::roll(x, {101, -37}, {0, 1}); };
      return rt.run([&] { return State{move(s.u), move(s.v)}; });
    };
    const bool same = rt.to_host<float>(run(moved(start), rt.from_host(early)).first.v) ==
                      rt.to_host<float>(moved(grown).v);

    const Array until = rt.from_host(end);
    std::pair<State, Array> last;
    const double ms = sample::milliseconds_of([&] {
      last = run(start, until);
      rt.wait();
    });
    const auto steps = rt.to_host<std::int32_t>(last.second)[0];
    const auto v = rt.to_host<float>(last.first.v);
    const auto [low, high] = std::minmax_element(v.begin(), v.end());
    std::printf("%lld x %lld points to t = %.0f: %d steps, %.2f ms each; %d kernels\n",
                static_cast<long long>(n), static_cast<long long>(n), end, steps, ms / steps,
                run.kernel_count());
    std::printf("v from %.3f to %.3f\n", *low, *high);
    sample::write_csv("gray_scott.csv", table);
    sample::write_floats("gray_scott.bin", v);
    sample::draw("gray_scott.png",
                 "set multiplot layout 1,2\nset title 'v at the end'\nunset tics\nunset key\n"
                 "set size ratio 1\nset palette rgbformulae 33,13,10\nset autoscale fix\n"
                 "plot 'gray_scott.bin' binary array=(" +
                     std::to_string(n) + "," + std::to_string(n) +
                     ") format='%float' with image\n"
                     "set title 'how small waves grow'\nset tics\nset key\n"
                     "set xlabel 'wavenumber'\nset ylabel 'rate'\n"
                     "plot 'gray_scott.csv' every ::1 using 1:2 with lines lw 2 title 'theory', "
                     "'' every ::1 using 1:3 with points pt 7 title 'measured'\n"
                     "unset multiplot",
                 {1200, 600});
    return sample::check((same || tolerance > 0) && worst < 0.01 * fastest,
                         "waves grow as theory says, anywhere");
  });
}
