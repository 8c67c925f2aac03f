// samples/multistep_history/main.cpp -- a network that steps pendulums by their last three states.
//
// A trajectory is allocated once; a step reads its last rows and writes the next one, so that
// memory grows as the trajectory does. Runs have different lengths, and the loss takes what they
// really took. Without the network three weights are left, and small steps must find those of Adams
// and Bashforth: 5/12, -16/12, 23/12.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <cmath>
#include <cstdio>

#include "samples/common/adam.h"
#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

constexpr gn::Dim k = 3, neurons = 8;
const std::vector<float> adams_bashforth{5 / 12.0f, -16 / 12.0f, 23 / 12.0f};

enum class Form { fori, scan, unrolled };

struct Network {
  Array weights;        // [k], of slopes
  Array in, bias, out;  // [neurons, 2 k], [neurons], [2, neurons]
};

/// Of states f32[k, 2], angles and speeds.
Array slopes(const Array& y) {
  return gn::concatenate({gn::slice_axis(y, 1, 1, 2), -gn::sin(gn::slice_axis(y, 1, 0, 1))}, 1);
}

/// The first rows of `truth`, then `steps` steps; rows behind them are 0.
Array evolve(const Array& truth, const Array& steps, const Network& p, float h, Form form) {
  const gn::Dim n = truth.dim(0) - k;
  const Array start =
      gn::dynamic_update_slice(gn::buffer(truth.shape()), gn::slice_axis(truth, 0, 0, k), {0, 0});
  const auto step = [&](const Array& i, const Array& y) {
    const Array window = gn::dynamic_slice(y, {i, 0}, {k, 2}), f = slopes(window);
    const Array hidden = gn::tanh(gn::matmul(p.in, gn::ravel(f)) + p.bias);
    const Array row = window[k - 1] + h * (gn::matmul(p.weights, f) + gn::matmul(p.out, hidden));
    return gn::dynamic_update_slice(y, gn::reshape(row, {1, 2}), {i + k, 0});
  };
  if (form == Form::fori)
    return gn::fori_loop(0, steps, step, start,
                         {.max_steps = n, .kind = gn::LoopKind::checkpointed});
  const auto scanned = [&](const Array& y, const Array& i) { return std::pair{step(i, y), 0.0f}; };
  if (form == Form::scan) return gn::scan(scanned, start, gn::arange(n, gn::DType::i32)).first;
  Array y = start;
  for (gn::Dim i = 0; i < n; ++i) y = step(gn::full({}, i, gn::DType::i32), y);
  return y;
}

struct Runs {
  Array truth, steps;  // f32[runs, n + k, 2], i32[runs]
};

/// Pendulums let go at angles from 0.3 to `widest`. Runs are of n / 4 to n steps, or all of n;
/// behind them there is NaN.
Runs pendulums(gn::Dim count, gn::Dim n, float h, float widest, bool ragged) {
  const auto swing = [](const Array&, const Array& y, gn::None) {
    return gn::stack({y[1], -gn::sin(y[0])});
  };
  const auto one = [&](const Array& angle, const Array& steps) {
    const double end = static_cast<double>(h) * static_cast<double>(n + k - 1);
    const auto sol =
        ode::diffeqsolve(ode::OdeTerm{swing}, ode::Vern7(), 0.0, end, static_cast<double>(h),
                         gn::stack({angle, 0.0f * angle}), gn::none,
                         {.saveat = {.t0 = true, .steps = 1}, .max_steps = n + k - 1});
    return gn::where(gn::iota(sol.ys.shape(), 0) < steps + k, sol.ys, NAN);
  };
  const Array i = gn::arange(count, gn::DType::i32);
  const Array steps = ragged ? n / 4 + (i * 7919) % (n - n / 4 + 1) : 0 * i + n;
  return {gn::vmap(one)(gn::linspace(0.3f, widest, count), steps), steps};
}

/// Of the steps that a run took the differences, 0 behind them.
Array residuals(const Array& truth, const Array& steps, const Network& p, float h) {
  const Array y = evolve(truth, steps, p, h, Form::fori);
  const Array taken = gn::iota(truth.shape(), 0) < steps + k;
  return gn::where(taken, y, 0.0f) - gn::where(taken, truth, 0.0f);
}

/// The mean error of a run's rows, and its slope: that of every run by itself, then of all.
std::pair<Array, Network> loss(const Runs& runs, const Network& n, float h) {
  const auto one = [&](const Array& truth, const Array& steps) {
    const auto f = [&](const Network& q) {
      return gn::sum(gn::square(residuals(truth, steps, q, h))) / gn::cast(steps, gn::DType::f32);
    };
    const auto at = gn::value_and_grad(f)(n);
    return std::pair{at.value, at.grad};
  };
  const auto [values, slope] = gn::vmap(one)(runs.truth, runs.steps);
  return {gn::mean(values), gn::tree::map([](const Array& g) { return gn::mean(g, {0}); }, slope)};
}

/// The weights alone, by backward differences of slopes, which are not as alike as slopes are.
Array fit(const Runs& runs, const Network& n, float h) {
  const Array differences =
      gn::reshape(gn::array({0.f, 0.f, 1.f, 0.f, -1.f, 1.f, 1.f, -2.f, 1.f}), {k, k});
  const auto misses = [&](const Array& q) {
    const Network by{gn::matmul(q, differences), n.in, n.bias, n.out};
    const auto one = [&](const Array& y, const Array& s) { return residuals(y, s, by, h); };
    return gn::vmap(one)(runs.truth, runs.steps);
  };
  // Steps of Gauss-Newton: all three derivatives go through a run side by side.
  const auto step = [&](const Array&, const Array& q) {
    const Array by_q = gn::reshape(gn::jacfwd(misses)(q), {-1, k}), to = gn::transpose(by_q);
    return q - gn::linalg::solve(gn::matmul(to, by_q), gn::matmul(to, gn::ravel(misses(q))));
  };
  return gn::matmul(gn::fori_loop(0, 6, step, gn::array({1.0f, 0.0f, 0.0f})), differences);
}

}  // namespace

int main(int argc, char** argv) {
  gn::Dim count = 64, n = 48;
  int epochs = 2000;
  sample::Settings settings("Trains a network that steps pendulums by their last three states.");
  settings.add("--runs", count, "pendulums to learn from", 16, 1 << 16);
  settings.add("--steps", n, "of the longest run", 16, 1 << 12);
  settings.add("--epochs", epochs, "steps of Adam", 1000, 1 << 20);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    const float h = 0.3f, small = 0.05f;
    const auto largest = [&](const Array& x) {
      return static_cast<double>(rt.to_host<float>(rt.run([&] { return gn::max(gn::abs(x)); }))[0]);
    };
    const auto make = [&](gn::Dim runs, gn::Dim steps, float by, float widest, bool ragged) {
      return rt.run([&] { return pendulums(runs, steps, by, widest, ragged); });
    };
    const Runs held_out = make(33, n, h, 2.35f, false);
    const Array known = rt.from_host(adams_bashforth);
    const Network begin = rt.run([&] {
      return Network{known + 0.0f, 0.5f * gn::random::normal(gn::random::key(3), {neurons, 2 * k}),
                     gn::zeros({neurons}), gn::zeros({2, neurons})};
    });
    const Array apart = rt.run([&] {
      const auto rows = [&](Form form) {
        return gn::vmap([&](const Array& y) {
          const Array few = gn::slice_axis(y, 0, 0, 8 + k);
          return evolve(few, gn::full({}, 8, gn::DType::i32), begin, h, form);
        })(held_out.truth);
      };
      const Array fori = rows(Form::fori);
      return gn::stack({rows(Form::scan) - fori, rows(Form::unrolled) - fori});
    });
    bool right = sample::check(largest(apart) < 1e-5, "fori, scan and unrolled form are one");

    auto fitted = gn::jit(rt, [&](const Runs& r, const Network& m) { return fit(r, m, small); });
    const Array w = fitted(make(32, 96, small, 2.8f, false), begin);
    const auto found = rt.to_host<float>(w);
    std::printf("weights %.4f %.4f %.4f\n", found[0], found[1], found[2]);
    right &= sample::check(largest(w - known) < 0.02, "weights are those of Adams and Bashforth");

    // A hundred epochs are one compiled unit.
    const int chunk = 100;
    auto train = gn::jit(rt, [&](const Runs& r, const sample::Adam<Network>& from) {
      const auto epoch = [&](const Array&, const sample::Adam<Network>& t) {
        const Array rate = 3e-3f * gn::exp(-t.count / (0.25f * static_cast<float>(epochs)));
        return sample::step(t, loss(r, t.params, h).second, rate);
      };
      return gn::fori_loop(0, chunk, epoch, from, {.kind = gn::LoopKind::lax});
    });
    const Runs runs = make(count, n, h, 2.4f, true);
    auto t = rt.run([&] { return sample::adam(begin); });
    const double ms = sample::milliseconds_of([&] {
      for (int done = 0; done < epochs; done += chunk) t = train(runs, t);
      rt.wait();
    });
    std::printf("%d epochs of %lld runs, what is behind their ends is NaN: %.0f ms, %d kernels\n",
                epochs, static_cast<long long>(count), ms, train.kernel_count());
    auto test = gn::jit(rt, [&](const Runs& r, const Network& m) {
      const auto all =
          gn::vmap([&](const Array& y, const Array& s) { return evolve(y, s, m, h, Form::fori); });
      return std::pair{gn::sqrt(loss(r, m, h).first), all(r.truth, r.steps)};
    });
    const auto [error, learned] = test(held_out, t.params);
    const auto [error_ab, by_ab] = test(held_out, begin);
    std::printf("held out: error %.5f, Adams and Bashforth's %.5f\n", largest(error),
                largest(error_ab));
    right &= sample::check(largest(error) < largest(error_ab) / 5,
                           "the network is five times as close on other pendulums");

    double bytes[3];  // known without a run, from types alone
    const auto slope = gn::jit(rt, [&](const Runs& r, const Network& m) { return loss(r, m, h); });
    for (int i = 0; i < 3; ++i) {
      const Runs types = gn::eval_shape([&] { return pendulums(count, n << i, h, 2.4f, true); });
      bytes[i] = static_cast<double>(slope.lower(types, begin).memory_report().peak());
      std::printf("memory of %lld steps: %.0f KiB\n", static_cast<long long>(n << i),
                  bytes[i] / 1024);
    }
    right &= sample::check(std::fabs((bytes[2] - bytes[1]) / (bytes[1] - bytes[0]) - 2) < 0.1,
                           "memory grows as the steps do");

    std::vector<sample::Column> table{{"time", {}}, {"true", {}}, {"learned", {}}, {"AB3", {}}};
    for (gn::Dim i = 0; i < n + k; ++i)
      table[0].values.push_back(static_cast<double>(h) * static_cast<double>(i));
    const Array* drawn[] = {&held_out.truth, &learned, &by_ab};
    for (std::size_t c = 0; c < 3; ++c) {
      const auto angles = rt.to_host<float>((*drawn[c])[32].at(gn::every, 0).get());
      table[c + 1].values.assign(angles.begin(), angles.end());
    }
    sample::write_csv("multistep_history.csv", table);
    sample::draw("multistep_history.png",
                 "set xlabel 'time'\nset ylabel 'angle'\nset key top right\n"
                 "plot 'multistep_history.csv' every ::1 using 1:2 with lines lw 2 title "
                 "'pendulum', '' every ::1 using 1:3 with points pt 7 title 'learned', "
                 "'' every ::1 using 1:4 with lines dt 2 title 'Adams-Bashforth, order 3'");
    return right;
  });
}
