// samples/variable_length_scan/main.cpp -- sequences of different lengths through a recurrent
// network, every one as far as it goes, and what reverse mode of such loops keeps and computes
// again.
#include <gnomon/gnomon.h>
#include <gnomon/nn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace nn = gnomon::nn;
using gn::Array;
using gn::LoopKind;

constexpr gn::Dim inputs = 4;

struct Model {
  nn::GRUCell cell;
  Array out;  // f32[hidden]: of the last state, the answer
};
struct Sequences {
  Array xs, length, target;  // f32[count, most, inputs], i32[count], f32[count]
};
/// How a sequence is walked.
struct Walk {
  const char* name;
  LoopKind kind;
  bool masked = false;           // all steps, of which those behind the end change nothing
  bool step_checkpoint = false;  // of a step only what it begins with is kept
};

Array answer(const Model& m, const Sequences& s, const Walk& walk) {
  const auto cell = [&](const Array& h, const Array& x) { return m.cell(x, h); };
  const auto next = [&](const Array& h, const Array& x) {
    return walk.step_checkpoint ? gn::checkpoint(cell)(h, x) : cell(h, x);
  };
  const Array start = gn::zeros_like(m.out);
  if (walk.masked) {
    const auto step = [&](const Array& h, const std::pair<Array, Array>& x) {
      return std::pair{gn::where(x.second < s.length, next(h, x.first), h), gn::none};
    };
    const std::pair numbered{s.xs, gn::arange(s.xs.dim(0))};
    return gn::sum(m.out * gn::scan(step, start, numbered, {.kind = walk.kind}).first);
  }
  const auto step = [&](const Array& h, const Array& x) { return std::pair{next(h, x), gn::none}; };
  return gn::sum(m.out *
                 gn::scan(step, start, s.xs, {.length = s.length, .kind = walk.kind}).carry);
}

auto answers(const Walk& walk) {
  return [walk](const Model& m, const Sequences& all) {
    return gn::vmap([&](const Sequences& s) { return answer(m, s, walk); })(all);
  };
}
auto loss(const Walk& walk) {
  return [walk](const Model& m, const Sequences& all) {
    return gn::mean(gn::square(answers(walk)(m, all) - all.target));
  };
}

/// The same numbers on the host.
struct Host {
  std::vector<float> xs, target;
  std::vector<std::int32_t> length;
  /// Parameters in the order of the tree: weight_ih, weight_hh, bias, bias_n, out.
  std::vector<double> answers(const std::vector<std::vector<double>>& w) const {
    const std::size_t n = w[4].size(), in = inputs, most = xs.size() / length.size() / in;
    const auto squash = [](double x) { return 1 / (1 + std::exp(-x)); };
    std::vector<double> result;
    for (std::size_t s = 0; s < length.size(); ++s) {
      std::vector<double> h(n), i(3 * n), g(3 * n);
      for (std::size_t t = 0; t < std::size_t(length[s]); ++t) {
        for (std::size_t r = 0; r < 3 * n; ++r) {
          i[r] = w[2][r];
          g[r] = 0;
          for (std::size_t c = 0; c < in; ++c)
            i[r] += w[0][r * in + c] * double(xs[(s * most + t) * in + c]);
          for (std::size_t c = 0; c < n; ++c) g[r] += w[1][r * n + c] * h[c];
        }
        for (std::size_t r = 0; r < n; ++r) {
          const double reset = squash(i[r] + g[r]), update = squash(i[n + r] + g[n + r]);
          const double fresh = std::tanh(i[2 * n + r] + reset * (g[2 * n + r] + w[3][r]));
          h[r] = fresh + update * (h[r] - fresh);
        }
      }
      result.push_back(0);
      for (std::size_t r = 0; r < n; ++r) result.back() += w[4][r] * h[r];
    }
    return result;
  }
  double loss(const std::vector<std::vector<double>>& w) const {
    double sum = 0;
    const std::vector<double> a = answers(w);
    for (std::size_t s = 0; s < a.size(); ++s)
      sum += (a[s] - double(target[s])) * (a[s] - double(target[s]));
    return sum / double(a.size());
  }
};

/// Most sequences are short, and a few are long: as sentences are.
Host made(int count, gn::Dim most) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::exponential_distribution<float> waiting(6.0f);
  Host h;
  for (int s = 0; s < count; ++s) {
    const float part = s == 0 ? 1.0f : std::min(waiting(random), 1.0f);
    h.length.push_back(std::max(1, int(part * float(most))));
    h.target.push_back(normal(random));
    for (gn::Dim i = 0; i < most * inputs; ++i) h.xs.push_back(normal(random));
  }
  return h;
}

std::vector<std::vector<double>> on_host(const gn::Runtime& rt, const Model& m) {
  std::vector<std::vector<double>> result;
  for (const Array& a : gn::tree::leaves(m)) {
    const std::vector<float> values = rt.to_host<float>(a);
    result.emplace_back(values.begin(), values.end());
  }
  return result;
}

struct Cost {
  double ms = 0, kib = 0;
};
template <class F>
Cost cost_of(gn::Runtime& rt, const F& f, const Model& m, const Sequences& s) {
  double best = 1e30;
  for (int i = 0; i < 3; ++i)
    best = std::min(best, sample::milliseconds_of([&] {
                      const auto result = f(m, s);
                      rt.wait();
                    }));
  return {best, double(f.memory_report().arena) / 1024};
}

}  // namespace

int main(int argc, char** argv) {
  int count = 256;
  gn::Dim most = 128, hidden = 4;
  sample::Settings settings("Sequences of different lengths through a recurrent network.");
  settings.add("--sequences", count, "number of sequences", 2, 1 << 16);
  settings.add("--most", most, "steps of the longest one", 2, 1 << 14);
  settings.add("--hidden", hidden, "size of the state", 1, 256);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    const Host host = made(count, most);
    const Sequences all{rt.from_host(host.xs, {count, most, inputs}), rt.from_host(host.length),
                        rt.from_host(host.target)};
    const auto make = [&](gn::Key key) {
      auto [a, b] = gn::random::split<2>(std::move(key));
      return Model{nn::GRUCell::make(inputs, hidden, std::move(a)),
                   gn::random::normal(std::move(b), {hidden})};
    };
    const Model model = gn::jit(rt, make)(rt.key(3));
    double steps = 0;
    for (const std::int32_t n : host.length) steps += n;
    std::printf("%d sequences of 1 to %lld steps, %.0f on average\n", count,
                static_cast<long long>(most), steps / count);

    // Values, and the derivative in a direction, by the loop on the host.
    const auto w = on_host(rt, model);
    const std::vector<double> want = host.answers(w);
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    auto ahead = w, behind = w, direction = w;
    const double eps = 1e-5;
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::size_t j = 0; j < w[i].size(); ++j) {
        direction[i][j] = normal(random);
        ahead[i][j] += eps * direction[i][j];
        behind[i][j] -= eps * direction[i][j];
      }
    const double slope = (host.loss(ahead) - host.loss(behind)) / (2 * eps);

    const Walk walks[] = {
        {"values, own lengths", LoopKind::lax},
        {"values, masked", LoopKind::lax, true},
        {"gradient, stored, own lengths", LoopKind::stored},
        {"gradient, stored, masked", LoopKind::stored, true},
        {"the same, checkpoint of a step", LoopKind::stored, true, true},
        {"gradient, bounded, own lengths", LoopKind::bounded},
        {"gradient, bounded, masked", LoopKind::bounded, true},
        {"gradient, checkpointed, own lengths", LoopKind::checkpointed},
    };
    double worst = 0, worst_slope = 0, worst_grad = 0;
    std::vector<std::vector<double>> first;
    std::vector<sample::Column> table{{"ms", {}}, {"KiB", {}}};
    std::string labels;
    std::printf("%-38s %8s %8s\n", "", "ms", "KiB");
    for (const Walk& walk : walks) {
      sample::progress(walk.name);
      Cost cost;
      if (walk.kind == LoopKind::lax) {
        const auto f = gn::jit(rt, answers(walk), {.name = "answers", .max_traces = 1});
        const auto got = rt.to_host<float>(f(model, all));
        for (std::size_t i = 0; i < want.size(); ++i)
          worst = std::max(worst, std::abs(double(got[i]) - want[i]));
        cost = cost_of(rt, f, model, all);
      } else {
        const auto f = gn::jit(rt, gn::grad(loss(walk)), {.name = "gradient", .max_traces = 1});
        const auto g = on_host(rt, f(model, all));
        if (first.empty()) first = g;
        double along = 0, largest = 0, off = 0;
        for (std::size_t i = 0; i < g.size(); ++i)
          for (std::size_t j = 0; j < g[i].size(); ++j) {
            along += g[i][j] * direction[i][j];
            largest = std::max(largest, std::abs(first[i][j]));
            off = std::max(off, std::abs(g[i][j] - first[i][j]));
          }
        worst_slope = std::max(worst_slope, std::abs(along - slope) / std::abs(slope));
        worst_grad = std::max(worst_grad, off / largest);
        cost = cost_of(rt, f, model, all);
      }
      sample::progress("");
      std::printf("%-38s %8.2f %8.0f\n", walk.name, cost.ms, cost.kib);
      table[0].values.push_back(cost.ms);
      table[1].values.push_back(cost.kib);
      labels += "set label '" + std::string(walk.name) + "' at " + std::to_string(cost.kib) + "," +
                std::to_string(cost.ms) + " offset 1,0.5\n";
    }
    std::string refused;
    try {
      gn::jit(rt, gn::grad(loss({"", LoopKind::lax})))(model, all);
    } catch (const gn::UsageError& e) {
      refused = e.what();
    }
    std::printf("gradient of a lax loop: %s\n", refused.c_str());
    std::printf("off the host's loop by %.1e, its slope by %.1e; kinds off one another by %.1e\n",
                worst, worst_slope, worst_grad);
    sample::write_csv("variable_length_scan.csv", table);
    sample::draw("variable_length_scan.png",
                 labels +
                     "set title 'Loops over sequences: what they keep, and how long they take'\n"
                     "set xlabel 'memory of a call (KiB)'\nset ylabel 'ms'\nset logscale xy\n"
                     "set xrange [1:1e6]\nset grid\nplot 'variable_length_scan.csv' every ::1 "
                     "using 2:1 pt 7 ps 2 notitle");
    return sample::check(worst < 1e-4, "values are those of a loop on the host") &&
           sample::check(worst_slope < 1e-3 && worst_grad < 1e-4, "all kinds give its gradient") &&
           sample::check(!refused.empty(), "a loop that keeps nothing has no reverse mode");
  });
}
