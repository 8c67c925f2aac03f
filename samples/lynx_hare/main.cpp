// samples/lynx_hare/main.cpp -- which rates of prey and predators fit the Hudson's Bay Company's
// pelts of 1900 to 1920?
//
// Least squares of the logarithms of both populations, those of 1900 free as well, by
// Levenberg-Marquardt steps: each of a thousand starts solves its own equations with all their
// derivatives, again and again, inside one compiled program. Then networks take the place of the
// Lotka-Volterra equations, trained by gradients that go back through the solver.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>
#include <gnomon/roots.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "samples/common/adam.h"
#include "samples/common/sample.h"
#include "samples/lynx_hare/pelts.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

struct Populations {
  Array hare, lynx;  // logarithms of thousands
};

/// p: logarithms of the four rates, and the populations at first.
Populations lotka_volterra(const Array&, const Populations& y, const Array& p) {
  const Array rate = gn::exp(p);
  return {rate[0] - rate[1] * gn::exp(y.lynx), rate[3] * gn::exp(y.hare) - rate[2]};
}

constexpr gn::Dim neurons = 6, weights = 5 * neurons + 2;
/// p: weights of a layer of neurons and of one of two, and the populations at first.
Populations network(const Array&, const Populations& y, const Array& p) {
  const auto part = [&](gn::Dim i) { return gn::slice(p, {i * neurons}, {(i + 1) * neurons}); };
  const Array h = gn::tanh(part(0) * (y.hare - 3.0f) + part(1) * (y.lynx - 2.5f) + part(2));
  return {gn::sum(part(3) * h), gn::sum(part(4) * h)};
}

using Field = Populations (*)(const Array& t, const Populations&, const Array& p);

/// Both populations, f32[2, 81]: a column for every quarter of a year.
Array solution(Field field, const Array& p) {
  const gn::Dim n = p.dim(0);
  const auto sol = ode::diffeqsolve(ode::OdeTerm{field}, ode::Tsit5(), 0.0, 20.0, 0.25,
                                    Populations{p[n - 2], p[n - 1]}, p,
                                    {.saveat = {.t0 = true, .steps = 1}, .max_steps = 80});
  return gn::stack({sol.ys.hare, sol.ys.lynx});
}
/// What is counted of it less what was counted, f32[2, 21].
Array residuals(Field field, const Array& p, const Array& pelts) {
  return gn::slice_axis(solution(field, p), 1, 0, 81, 4) - pelts;
}

struct Fit {
  Array p, error;  // error: mean square of the residuals
};

Fit fit_rates(const Array& from, const Array& pelts) {
  const auto f = [&](const Array& p) { return residuals(lotka_volterra, p, pelts); };
  const auto found = gn::roots::levenberg_marquardt(
      f, from, {.rtol = 1e-5, .max_steps = 30, .differentiable = false});
  return {found.x, found.value / 21.0f};
}

/// The spread of logarithms of parameters, from the curvature where they fit.
Array spread_of(const Fit& best, const Array& pelts) {
  const auto f = [&](const Array& p) { return gn::ravel(residuals(lotka_volterra, p, pelts)); };
  const Array j = gn::jacfwd(f)(best.p);
  return gn::sqrt(gn::diagonal(gn::linalg::inv(gn::matmul(gn::transpose(j), j))) *
                  (best.error * (42.0f / 36.0f)));
}

/// Adam's steps; the years that count grow from the first four to all of them.
Fit fit_network(const Array& from, const Array& pelts, int steps) {
  using Training = std::pair<sample::Adam<Array>, Array>;
  const auto step = [&](const Array& i, const Training& t) {
    const Array done = gn::cast(i + 1, gn::DType::f32) / static_cast<float>(steps);
    const Array counts = gn::clip(4.0f + 34.0f * done - gn::arange(21.0f), 0.0f, 1.0f);
    const auto loss = [&](const Array& p) {
      return gn::sum(counts * gn::square(residuals(network, p, pelts))) / (2.0f * gn::sum(counts));
    };
    const auto at = gn::value_and_grad(loss)(t.first.params);
    const Array rate = 0.05f * gn::minimum(1.0f, 4.0f * (1.0f - done));
    return Training{sample::step(t.first, at.grad, rate, 0.999f), at.value};
  };
  const Training end = gn::fori_loop(0, steps, step, Training{sample::adam(from), gn::zeros({})});
  return {end.first.params, end.second};
}

Array smallest(const Array& error) {
  return gn::argmin(gn::where(gn::isnan(error), INFINITY, error));
}

}  // namespace

int main(int argc, char** argv) {
  int starts = 1000, networks = 64, epochs = 1000;
  sample::Settings settings(
      "Fits Lotka-Volterra equations and networks to the pelts of lynx and hare.");
  settings.add("--starts", starts, "first guesses of the rates", 1, 1 << 20);
  settings.add("--networks", networks, "how many are trained", 1, 1 << 16);
  settings.add("--epochs", epochs, "steps of each of them", 1, 100000);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    std::vector<float> logs;
    for (const auto* counted : {&hares, &lynxes})
      for (float x : *counted) logs.push_back(std::log(x));
    const Array pelts = rt.from_host(logs, {2, 21});

    auto fit_all = gn::jit(rt, [&](const Array& data) {
      const Array guess = gn::log(gn::array({0.5f, 0.025f, 0.8f, 0.025f, 30.0f, 4.0f}));
      const Array from = guess + 0.4f * gn::random::normal(gn::random::key(1), {starts, 6});
      const Fit all = gn::vmap([&](const Array& p) { return fit_rates(p, data); })(from);
      const Array i = smallest(all.error);
      const Fit best{all.p[i], all.error[i]};
      return std::tuple{all.error, gn::exp(all.p), gn::exp(best.p), spread_of(best, data),
                        solution(lotka_volterra, best.p)};
    });
    auto train_all = gn::jit(rt, [&](const Array& data) {
      const Array first = gn::broadcast_to(gn::log(gn::array({30.0f, 4.0f})), {networks, 2});
      const Array layers = gn::random::normal(gn::random::key(2), {networks, weights - 2});
      const Array from = gn::concatenate({0.5f * layers, first}, 1);
      const Fit all = gn::vmap([&](const Array& p) { return fit_network(p, data, epochs); })(from);
      const Array best = smallest(all.error);
      return std::pair{gn::sqrt(all.error[best]), solution(network, all.p[best])};
    });
    const auto [errors, ends, best, spread, fitted] = fit_all(pelts);
    const auto e = rt.to_host<float>(errors), p = rt.to_host<float>(ends),
               rate = rt.to_host<float>(best), sigma = rt.to_host<float>(spread);
    const double rms = std::sqrt(*std::min_element(
        e.begin(), e.end(), [](float a, float b) { return a < b || std::isnan(b); }));
    bool right = std::fabs(rms - 0.2192) < 0.001;
    std::printf("Lotka-Volterra: error %.4f\n", rms);
    const double known[] = {0.5402, 0.02717, 0.7964, 0.02369};
    const char* names[] = {"hares born", "hares eaten", "lynxes dying", "lynxes born"};
    for (std::size_t k = 0; k < 4; ++k) {
      std::printf("  %-12s %.5f +- %.5f a year\n", names[k], rate[k], rate[k] * sigma[k]);
      right = right && std::fabs(rate[k] / known[k] - 1) < 0.01;
    }
    int there = 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
      bool near = true;
      for (std::size_t k = 0; k < 4; ++k)
        near = near && std::fabs(p[6 * i + k] / known[k] - 1) < 0.01;
      there += near;
    }
    std::printf("  %d of %d starts end within 1 %% of the rates\n", there, starts);
    const auto [net_error, net_solution] = train_all(pelts);
    const double net = rt.to_host<float>(net_error)[0];
    std::printf("networks: the best of %d has error %.4f\n", networks, net);

    std::vector<sample::Column> table{{"year", {}}};
    for (int i = 0; i < 81; ++i) table[0].values.push_back(1900 + i / 4.0);
    for (const Array* a : {&fitted, &net_solution}) {
      const auto y = rt.to_host<float>(*a);
      table.push_back({"hares", {y.begin(), y.begin() + 81}});
      table.push_back({"lynxes", {y.begin() + 81, y.end()}});
    }
    for (const auto* counted : {&hares, &lynxes})
      table.push_back({"counted", {counted->begin(), counted->end()}});
    sample::write_csv("lynx_hare.csv", table);
    sample::draw("lynx_hare.png",
                 "set xlabel 'year'\nset ylabel 'thousands of pelts'\nset key top right\n"
                 "set multiplot layout 2,1\n"
                 "do for [a=0:1] { plot 'lynx_hare.csv' every ::1 using (1900+$0):6+a with points "
                 "pt 7 title word('hares lynxes', a+1), '' every ::1 using 1:(exp(column(2+a))) "
                 "with lines lw 2 title 'Lotka-Volterra', '' every ::1 using 1:(exp(column(4+a))) "
                 "with lines lw 2 title 'network' }");
    return sample::check(right && there > starts / 2 && net < rms,
                         "rates are those of least squares, and a network is closer");
  });
}
