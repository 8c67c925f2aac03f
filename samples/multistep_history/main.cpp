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

constexpr int k = 3, neurons = 8, weights = k + neurons * (2 * k + 1) + 2 * neurons;
constexpr float adams_bashforth[] = {5 / 12.0f, -16 / 12.0f, 23 / 12.0f};

enum class Form { fori, scan, unrolled };

/// The next of states f32[k, 2], angles and speeds. p: weights of slopes, and of a network or not.
Array next(const Array& window, const Array& p, float h) {
  const auto column = [&](int i) { return gn::reshape(gn::slice_axis(window, 1, i, i + 1), {k}); };
  const Array slopes = gn::stack({column(1), -gn::sin(column(0))}, 1);
  Array slope = gn::sum(gn::reshape(gn::slice(p, {0}, {k}), {k, 1}) * slopes, {0});
  if (p.dim(0) > k) {
    const auto part = [&](int from, int rows, int columns) {
      return gn::reshape(gn::slice(p, {from}, {from + rows * columns}), {rows, columns});
    };
    const Array in = part(k, neurons, 2 * k), out = part(weights - 2 * neurons, 2, neurons);
    const Array bias = gn::slice(p, {k + neurons * 2 * k}, {k + neurons * (2 * k + 1)});
    const Array hidden = gn::tanh(gn::sum(in * gn::reshape(slopes, {1, 2 * k}), {1}) + bias);
    slope = slope + gn::sum(out * gn::reshape(hidden, {1, neurons}), {1});
  }
  return window[k - 1] + h * slope;
}

/// The first rows of `truth`, then `steps` steps; rows behind them are 0.
Array evolve(const Array& truth, const Array& steps, const Array& p, float h, Form form) {
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
Array residuals(const Array& truth, const Array& steps, const Array& p, float h) {
  const Array y = evolve(truth, steps, p, h, Form::fori);
  const Array taken = gn::iota(truth.shape(), 0) < steps + k;
  return gn::where(taken, y, 0.0f) - gn::where(taken, truth, 0.0f);
}

struct Runs {
  Array truth, steps;  // f32[runs, n + k, 2], i32[runs]
};

struct Loss {
  Array value, slope;
};
Loss loss(const Runs& runs, const Array& p, float h) {
  const auto one = [&](const Array& truth, const Array& steps) {
    const auto f = [&](const Array& q) {
      return gn::sum(gn::square(residuals(truth, steps, q, h))) / gn::cast(steps, gn::DType::f32);
    };
    const auto at = gn::value_and_grad(f)(p);
    return Loss{at.value, at.grad};
  };
  const Loss all = gn::vmap(one)(runs.truth, runs.steps);
  return {gn::mean(all.value), gn::mean(all.slope, {0})};
}

struct Training {
  Array p, mean, square, count, error;
};
/// Steps of Adam.
Training train(const Runs& runs, const Training& from, float h, int steps, int epochs) {
  const auto step = [&](const Array&, const Training& t) {
    const Loss at = loss(runs, t.p, h);
    const Array count = t.count + 1.0f, mean = 0.9f * t.mean + 0.1f * at.slope;
    const Array square = 0.99f * t.square + 0.01f * gn::square(at.slope);
    const Array rate = 3e-3f * gn::exp(-count / (0.25f * static_cast<float>(epochs))) /
                       (1.0f - gn::pow(0.9f, count));
    return Training{t.p - rate * mean / (gn::sqrt(square) + 1e-6f), mean, square, count, at.value};
  };
  return gn::fori_loop(0, steps, step, from, {.kind = gn::LoopKind::lax});
}

/// Gauss-Newton steps for weights of slopes alone.
Array fit(const Runs& runs, const Array& from, float h) {
  // By backward differences of slopes, which are not as alike as slopes are.
  const Array differences =
      gn::reshape(gn::array({0.f, 0.f, 1.f, 0.f, -1.f, 1.f, 1.f, -2.f, 1.f}), {k, k});
  const auto step = [&](const Array&, const Array& p) {
    const auto f = [&](const Array& q) {
      return gn::ravel(gn::vmap([&](const Array& truth, const Array& steps) {
        return residuals(truth, steps, gn::matmul(q, differences), h);
      })(runs.truth, runs.steps));
    };
    const auto along = [&](const Array& direction) { return gn::jvp(f, p, direction); };
    const auto [rows, j] = gn::vmap(along)(gn::eye(k));
    const Array matrix = gn::matmul(j, gn::transpose(j)), slope = gn::matmul(j, rows[0]);
    return p - gn::linalg::solve(matrix, slope);
  };
  return gn::matmul(gn::fori_loop(0, 6, step, from), differences);
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
  app.add_option("--runs", count, "pendulums to learn from")->check(CLI::Range(2, 1 << 16));
  app.add_option("--steps", n, "of the longest run")->check(CLI::Range(16, 1 << 12));
  app.add_option("--epochs", epochs, "steps of Adam")->check(CLI::Range(1, 1 << 20));
  return sample::run(app, argc, argv, [&](gn::Runtime& rt) {
    const float h = 0.3f;
    const Runs runs = pendulums(rt, count, n, h, 2.4, true, NAN);
    const Runs other = pendulums(rt, count, n, h, 2.4, true, 1e6f);
    const Runs held_out = pendulums(rt, 33, n, h, 2.35, false, 0);
    const Array ab = rt.from_host(std::vector<float>(adams_bashforth, adams_bashforth + k));
    const auto largest = [&](const Array& x) {
      double most = 0;
      for (float v : rt.to_host<float>(x))
        most = std::isfinite(v) ? std::max(most, std::fabs(static_cast<double>(v))) : INFINITY;
      return most;
    };

    const Array begin = rt.run([&] {
      const Array in = 0.5f * gn::random::normal(gn::random::key(3), {neurons * (2 * k + 1)});
      return gn::concatenate({ab, in, gn::zeros({2 * neurons})}, 0);
    });
    const auto forms = rt.run([&] {
      const auto of = [&](Form form) {
        const Array all = gn::full({}, 16, gn::DType::i32);
        return gn::vmap([&](const Array& y) {
          return evolve(gn::slice_axis(y, 0, 0, 16 + k), all, begin, h, form);
        })(runs.truth);
      };
      const Array fori = of(Form::fori);
      return gn::stack({of(Form::scan) - fori, of(Form::unrolled) - fori}, 0);
    });
    const double apart = largest(forms);
    std::printf("fori, scan and unrolled differ by %.1e\n", apart);
    bool right = sample::check(apart < 1e-5, "the three forms are one");

    auto look = gn::jit(rt, [&](const Runs& r, const Array& p) { return loss(r, p, h); });
    const Loss a = look(runs, begin), b = look(other, begin);
    const auto slope = rt.to_host<float>(a.slope);
    right &= sample::check(rt.to_host<float>(a.value) == rt.to_host<float>(b.value) &&
                               slope == rt.to_host<float>(b.slope),
                           "what is behind a run counts neither in the loss nor in its gradient");
    // Along the gradient, against central differences.
    auto along = gn::jit(rt, [&](const Runs& r, const Array& p, const Array& g) {
      const Array d = g / gn::sqrt(gn::sum(g * g)), e = gn::full({}, 5e-4f);
      const Array difference = loss(r, p + e * d, h).value - loss(r, p - e * d, h).value;
      return gn::abs(difference / (2.0f * e) / gn::sum(g * d) - 1.0f);
    });
    const double off = largest(along(runs, begin, a.slope));
    std::printf("gradient off central differences by %.1e of it\n", off);
    right &= sample::check(off < 1e-2, "the gradient is that of central differences");

    // Small steps and no network: the weights have a closed form.
    const float small = 0.05f;
    const Runs fine = pendulums(rt, 32, 96, small, 2.8, false, 0);
    auto fit_weights = gn::jit(rt, [&](const Runs& r) {
      return fit(r, gn::array({1.0f, 0.0f, 0.0f}), small);
    });
    const auto w = rt.to_host<float>(fit_weights(fine));
    double beside = 0;
    for (std::size_t i = 0; i < k; ++i)
      beside = std::max(beside, std::fabs(static_cast<double>(w[i] - adams_bashforth[i])));
    std::printf("weights %.4f %.4f %.4f: off Adams and Bashforth's by %.4f\n", w[0], w[1], w[2],
                beside);
    right &= sample::check(beside < 0.02, "trained weights are those of Adams and Bashforth");

    const int chunk = std::min(epochs, 100);
    auto train_more =
        gn::jit(rt, [&](const Runs& r, const Training& t) { return train(r, t, h, chunk, epochs); },
                {.name = "train", .max_traces = 1});
    Training t{begin, rt.from_host(std::vector<float>(weights)),
               rt.from_host(std::vector<float>(weights)), rt.from_host(0.0f), rt.from_host(0.0f)};
    const double ms = sample::milliseconds_of([&] {
      for (int done = 0; done < epochs; done += chunk) {
        t = train_more(runs, t);
        std::fprintf(stderr, "\r  %d of %d epochs, error %.2e", done + chunk, epochs,
                     largest(t.error));
      }
      std::fprintf(stderr, "\r%48s\r", "");
    });
    std::printf("%d epochs of %d runs: %.0f ms, %d kernels\n", epochs, count, ms,
                train_more.kernel_count());

    auto test = gn::jit(rt, [&](const Runs& r, const Array& p) {
      return std::pair{gn::sqrt(loss(r, p, h).value), gn::vmap([&](const Array& y, const Array& s) {
                         return evolve(y, s, p, h, Form::fori);
                       })(r.truth, r.steps)};
    });
    const auto [error, learned] = test(held_out, t.p);
    const auto [error_ab, by_ab] = test(held_out, ab);
    const double e = largest(error), e_ab = largest(error_ab);
    std::printf("held out: error %.5f, of Adams and Bashforth %.5f\n", e, e_ab);
    right &= sample::check(e < e_ab / 5, "the network is five times as close on other pendulums");

    double bytes[3];
    for (int i = 0; i < 3; ++i) {
      const Runs r = pendulums(rt, count, n << i, h, 2.4, true, NAN);
      (void)look(r, begin);
      bytes[i] = static_cast<double>(look.memory_report().peak());
      std::printf("memory of %d steps: %.0f KiB\n", n << i, bytes[i] / 1024);
    }
    const double growth = (bytes[2] - bytes[1]) / (bytes[1] - bytes[0]);
    right &= sample::check(std::fabs(growth - 2) < 0.1, "memory grows as the steps do");

    const std::size_t last = 32 * static_cast<std::size_t>(n + k) * 2;
    std::vector<sample::Column> table{{"time", {}}, {"true", {}}, {"learned", {}}, {"AB3", {}}};
    const Array* drawn[] = {&held_out.truth, &learned, &by_ab};
    for (std::size_t c = 0; c < 3; ++c) {
      const auto y = rt.to_host<float>(*drawn[c]);
      for (std::size_t i = 0; i < static_cast<std::size_t>(n + k); ++i) {
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
