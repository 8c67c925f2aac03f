// samples/multistep_history/main.cpp -- a network that steps pendulums by their last three states.
//
// A trajectory is allocated once; a step reads its last rows and writes the next one, so that
// memory grows as the trajectory does. Runs have different lengths, and the loss takes what they
// really took. Without the network three weights are left, and small steps must find those of Adams
// and Bashforth: 5/12, -16/12, 23/12.
#include <gnomon/gnomon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
using gn::Array;

constexpr gn::Dim k = 3, neurons = 8;
constexpr float adams_bashforth[] = {5 / 12.0f, -16 / 12.0f, 23 / 12.0f};

enum class Form { fori, scan, unrolled };

struct Network {
  Array weights;        // [k], of slopes
  Array in, bias, out;  // [neurons, 2 k], [neurons], [2, neurons]
};

/// The next of states f32[k, 2], angles and speeds.
Array next(const Array& window, const Network& n, float h) {
  const Array angles = gn::slice_axis(window, 1, 0, 1), speeds = gn::slice_axis(window, 1, 1, 2);
  const Array slopes = gn::concatenate({speeds, -gn::sin(angles)}, 1);
  const Array hidden = gn::tanh(gn::matmul(n.in, gn::ravel(slopes)) + n.bias);
  return window[k - 1] + h * (gn::matmul(n.weights, slopes) + gn::matmul(n.out, hidden));
}

/// The first rows of `truth`, then `steps` steps; rows behind them are 0.
Array evolve(const Array& truth, const Array& steps, const Network& p, float h, Form form) {
  const gn::Dim n = truth.dim(0) - k;
  const Array start =
      gn::dynamic_update_slice(gn::buffer(truth.shape()), gn::slice_axis(truth, 0, 0, k), {0, 0});
  const auto step = [&](const Array& i, const Array& y) {
    const Array row = next(gn::dynamic_slice(y, {i, 0}, {k, 2}), p, h);
    return gn::dynamic_update_slice(y, gn::reshape(row, {1, 2}), {i + k, 0});
  };
  if (form == Form::fori)
    return gn::fori_loop(0, steps, step, start,
                         {.max_steps = n, .kind = gn::LoopKind::checkpointed});
  if (form == Form::scan)
    return gn::scan(
               [&](const Array& y, const Array& i) {
                 return std::pair{step(i, y), 0.0f};
               },
               start, gn::arange(n, gn::DType::i32))
        .first;
  Array y = start;
  for (gn::Dim i = 0; i < n; ++i) y = step(gn::full({}, i, gn::DType::i32), y);
  return y;
}

/// Differences, 0 behind the steps taken, whatever `truth` has there.
Array residuals(const Array& truth, const Array& steps, const Network& p, float h) {
  const Array y = evolve(truth, steps, p, h, Form::fori);
  const Array taken = gn::iota(truth.shape(), 0) < steps + k;
  return gn::where(taken, y, 0.0f) - gn::where(taken, truth, 0.0f);
}

struct Runs {
  Array truth, steps;  // f32[runs, n + k, 2], i32[runs]
};

struct Training {
  Network network, mean, square;
  Array count, error;
};

/// The mean error of a run's rows, and its slope: that of every run by itself, then of all.
std::pair<Array, Network> loss(const Runs& runs, const Network& n, float h) {
  const auto one = [&](const Array& truth, const Array& steps) {
    const auto f = [&](const Network& q) {
      return gn::sum(gn::square(residuals(truth, steps, q, h))) / gn::cast(steps, gn::DType::f32);
    };
    const auto at = gn::value_and_grad(f)(n);
    return std::pair{at.value, at.grad};
  };
  const auto [values, slopes] = gn::vmap(one)(runs.truth, runs.steps);
  return {gn::mean(values), gn::tree::map([](const Array& g) { return gn::mean(g, {0}); }, slopes)};
}

/// Steps of Adam.
Training train(const Runs& runs, const Training& from, float h, int steps, int epochs) {
  const auto step = [&](const Array&, const Training& t) {
    const auto [error, slope] = loss(runs, t.network, h);
    const Array count = t.count + 1.0f;
    const Array rate = 3e-3f * gn::exp(-count / (0.25f * static_cast<float>(epochs))) /
                       (1.0f - gn::pow(0.9f, count));
    const auto mean = [](const Array& m, const Array& g) { return 0.9f * m + 0.1f * g; };
    const auto square = [](const Array& s, const Array& g) { return 0.99f * s + 0.01f * g * g; };
    const auto move = [&](const Array& p, const Array& m, const Array& s) {
      return p - rate * m / (gn::sqrt(s) + 1e-6f);
    };
    Training next{t.network, gn::tree::map(mean, t.mean, slope),
                  gn::tree::map(square, t.square, slope), count, error};
    next.network = gn::tree::map(move, t.network, next.mean, next.square);
    return next;
  };
  return gn::fori_loop(0, steps, step, from, {.kind = gn::LoopKind::lax});
}

/// Gauss-Newton steps for the weights of slopes alone.
Array fit(const Runs& runs, const Network& n, float h) {
  // By backward differences of slopes, which are not as alike as slopes are.
  const Array differences =
      gn::reshape(gn::array({0.f, 0.f, 1.f, 0.f, -1.f, 1.f, 1.f, -2.f, 1.f}), {k, k});
  const auto step = [&](const Array&, const Array& p) {
    const auto f = [&](const Array& q) {
      const Network by{gn::matmul(q, differences), n.in, n.bias, n.out};
      return gn::ravel(gn::vmap([&](const Array& truth, const Array& steps) {
        return residuals(truth, steps, by, h);
      })(runs.truth, runs.steps));
    };
    const auto along = [&](const Array& direction) { return gn::jvp(f, p, direction); };
    const auto [rows, j] = gn::vmap(along)(gn::eye(k));
    return p - gn::linalg::solve(gn::matmul(j, gn::transpose(j)), gn::matmul(j, rows[0]));
  };
  return gn::matmul(gn::fori_loop(0, 6, step, gn::array({1.0f, 0.0f, 0.0f})), differences);
}

/// Pendulums let go at angles from 0.3 to `widest`, by Runge and Kutta's steps of h / 20. Runs are
/// of n / 4 to n steps, or all of n; behind them there is `rest`.
Runs pendulums(gn::Runtime& rt, int count, int n, float h, double widest, bool ragged, float rest) {
  std::vector<float> rows;
  std::vector<std::int32_t> steps;
  for (int run = 0; run < count; ++run) {
    double x = 0.3 + (widest - 0.3) * run / (count - 1), v = 0;
    steps.push_back(ragged ? n / 4 + (run * 7919) % (n - n / 4 + 1) : n);
    for (int i = 0; i < n + k; ++i) {
      const bool known = i < steps.back() + k;
      rows.push_back(known ? static_cast<float>(x) : rest);
      rows.push_back(known ? static_cast<float>(v) : rest);
      for (int s = 0; s < 20; ++s) {
        const double d = h / 20.0, a1 = -std::sin(x), v2 = v + d / 2 * a1;
        const double a2 = -std::sin(x + d / 2 * v), v3 = v + d / 2 * a2;
        const double a3 = -std::sin(x + d / 2 * v2), v4 = v + d * a3, a4 = -std::sin(x + d * v3);
        x += d / 6 * (v + 2 * v2 + 2 * v3 + v4);
        v += d / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
      }
    }
  }
  return {rt.from_host(rows, {count, n + k, 2}), rt.from_host(steps)};
}

}  // namespace

int main(int argc, char** argv) {
  int count = 64, n = 48, epochs = 2000;
  CLI::App app("Trains a network that steps pendulums by their last three states.");
  app.add_option("--runs", count, "pendulums to learn from")->check(CLI::Range(16, 1 << 16));
  app.add_option("--steps", n, "of the longest run")->check(CLI::Range(16, 1 << 12));
  app.add_option("--epochs", epochs, "steps of Adam")->check(CLI::Range(1000, 1 << 20));
  return sample::run(app, argc, argv, [&](gn::Runtime& rt) {
    const float h = 0.3f;
    const Runs runs = pendulums(rt, count, n, h, 2.4, true, NAN);
    const Runs held_out = pendulums(rt, 33, n, h, 2.35, false, 0);
    const auto largest = [&](const Array& x) {
      double most = 0;
      for (float v : rt.to_host<float>(x)) most = std::max(most, std::fabs(static_cast<double>(v)));
      return most;
    };
    const Array known = rt.from_host(std::vector<float>(adams_bashforth, adams_bashforth + k));
    const Network begin = rt.run([&] {
      return Network{known + 0.0f, 0.5f * gn::random::normal(gn::random::key(3), {neurons, 2 * k}),
                     gn::zeros({neurons}), gn::zeros({2, neurons})};
    });
    const auto apart = rt.run([&] {
      const auto rows = [&](Form form) {
        return gn::vmap([&](const Array& y) {
          const Array few = gn::slice_axis(y, 0, 0, 16 + k);
          return evolve(few, gn::full({}, 16, gn::DType::i32), begin, h, form);
        })(held_out.truth);
      };
      const Array fori = rows(Form::fori);
      return gn::stack({rows(Form::scan) - fori, rows(Form::unrolled) - fori}, 0);
    });
    std::printf("fori, scan and unrolled differ by %.1e\n", largest(apart));
    bool right = sample::check(largest(apart) < 1e-5, "the three forms are one");

    // Small steps and no network: the weights have a closed form.
    const float small = 0.05f;
    auto fit_weights =
        gn::jit(rt, [&](const Runs& r, const Network& m) { return fit(r, m, small); });
    const auto w = fit_weights(pendulums(rt, 32, 96, small, 2.8, false, 0), begin);
    const double beside = largest(w - known);
    const auto found = rt.to_host<float>(w);
    std::printf("weights %.4f %.4f %.4f: off Adams and Bashforth's by %.4f\n", found[0], found[1],
                found[2], beside);
    right &= sample::check(beside < 0.02, "trained weights are those of Adams and Bashforth");

    const int chunk = 100;
    auto train_more =
        gn::jit(rt, [&](const Runs& r, const Training& t) { return train(r, t, h, chunk, epochs); },
                {.name = "train", .max_traces = 1});
    Training t = rt.run([&] {
      const auto zeros = [&] {
        return gn::tree::map([](const Array& a) { return 0.0f * a; }, begin);
      };
      return Training{begin, zeros(), zeros(), gn::zeros({}), gn::zeros({})};
    });
    const double ms = sample::milliseconds_of([&] {
      for (int done = 0; done < epochs; done += chunk) {
        t = train_more(runs, t);
        std::fprintf(stderr, "\r  %d of %d epochs, error %.2e", done + chunk, epochs,
                     largest(t.error));
      }
      std::fprintf(stderr, "\r%48s\r", "");
    });
    std::printf("%d epochs of %d runs, what is behind their ends is NaN: %.0f ms, %d kernels\n",
                epochs, count, ms, train_more.kernel_count());

    auto test = gn::jit(rt, [&](const Runs& r, const Network& m) {
      return std::pair{gn::sqrt(loss(r, m, h).first), gn::vmap([&](const Array& y, const Array& s) {
                         return evolve(y, s, m, h, Form::fori);
                       })(r.truth, r.steps)};
    });
    const auto [error, learned] = test(held_out, t.network);
    const auto [error_ab, by_ab] = test(held_out, begin);
    std::printf("held out: error %.5f, of Adams and Bashforth %.5f\n", largest(error),
                largest(error_ab));
    right &= sample::check(largest(error) < largest(error_ab) / 5,
                           "the network is five times as close on other pendulums");

    // By increments: constants do not grow.
    double bytes[3];
    for (int i = 0; i < 3; ++i) {
      const Runs longer = pendulums(rt, count, n << i, h, 2.4, true, NAN);
      auto f = gn::jit(rt, [&](const Runs& r, const Network& m) { return loss(r, m, h); });
      (void)f(longer, begin);
      bytes[i] = static_cast<double>(f.memory_report().peak());
      std::printf("memory of %d steps: %.0f KiB\n", n << i, bytes[i] / 1024);
    }
    right &= sample::check(std::fabs((bytes[2] - bytes[1]) / (bytes[1] - bytes[0]) - 2) < 0.1,
                           "memory grows as the steps do");

    const std::size_t rows = static_cast<std::size_t>(n + k), last = 32 * rows * 2;
    std::vector<sample::Column> table{{"time", {}}, {"true", {}}, {"learned", {}}, {"AB3", {}}};
    const Array* drawn[] = {&held_out.truth, &learned, &by_ab};
    for (std::size_t c = 0; c < 3; ++c) {
      const auto y = rt.to_host<float>(*drawn[c]);
      for (std::size_t i = 0; i < rows; ++i) {
        if (c == 0) table[0].values.push_back(static_cast<double>(h) * static_cast<double>(i));
        table[c + 1].values.push_back(y[last + 2 * i]);
      }
    }
    sample::write_csv("multistep_history.csv", table);
    sample::draw(
        "multistep_history.png",
        "set xlabel 'time'\nset ylabel 'angle'\nset key top right\n"
        "plot 'multistep_history.csv' every ::1 using 1:2 with lines lw 2 title 'pendulum', "
        "'' every ::1 using 1:3 with points pt 7 title 'learned', "
        "'' every ::1 using 1:4 with lines dt 2 title 'Adams-Bashforth, order 3'");
    return right;
  });
}
