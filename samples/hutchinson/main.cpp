// samples/hutchinson/main.cpp -- traces of matrices nobody forms, with error bars.
//
// A stored matrix, the Jacobian of a network and the Hessian of a loss, 400 x 400 each, are
// multiplied with 12 to 96 random probes. Their exact traces are known by formulas.
#include <gnomon/estimate.h>
#include <gnomon/gnomon.h>
#include <gnomon/operators.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace estimate = gn::estimate;
using gn::Array;
using gn::operators::Operator;

constexpr gn::Dim n = 400, hidden = 300, keys = 24;

/// x -> scale out tanh(in x): its trace is scale sum_j (1 - tanh_j^2) (in out)_jj.
struct Network {
  Array in, out, scale;
  Array operator()(const Array& x) const {
    return scale * gn::matmul(out, gn::tanh(gn::matmul(in, x)));
  }
};
struct Problem {
  Network network;
  Array points, x;  // [n, 1], [n]
};

/// Jacobians, Hessians: linear functions, never formed.
Operator jacobian(const Network& f, const Array& x) {
  return gn::operators::function([=](const Array& v) { return gn::jvp(f, x, v).second; }, x);
}
Array loss(const Network& f, const Array& w) {  // logistic, with a little of the square of w
  return gn::sum(gn::softplus(gn::matmul(f.in, w))) + 0.005f * gn::sum(w * w);
}
std::array<Operator, 3> operators_of(const Problem& p) {
  const Network f = p.network;
  const Array x = p.x, apart = p.points - gn::transpose(p.points);
  const auto hessian = [=](const Array& v) {
    return gn::hvp([&](const Array& w) { return loss(f, w); }, x, v);
  };
  return {gn::operators::Dense{gn::exp(-gn::abs(apart)), {.positive_semidefinite = true}},
          jacobian(f, x), gn::operators::function(hessian, x, {.positive_semidefinite = true})};
}
/// By the formulas.
Array exact(const Problem& p) {
  const Array t = gn::tanh(gn::matmul(p.network.in, p.x));
  const Array both = gn::sum(p.network.in * gn::transpose(p.network.out), {1});
  const Array q = gn::sigmoid(gn::matmul(p.network.in, p.x));
  const Array rows = gn::sum(gn::square(p.network.in), {1});
  return gn::stack({gn::full({}, float(n)), p.network.scale * gn::sum((1 - t * t) * both),
                    gn::sum(q * (1 - q) * rows) + 0.01f * float(n)});
}

/// The derivative of the trace of the Jacobian in `scale`, which is that trace: with the same
/// probes the estimate itself. What stays as it is is set apart, and is no part of the gradient.
std::pair<Array, Array> in_scale(gn::Key key, const Problem& p) {
  // The number of products is part of what is compiled, and may come from what is known then:
  // sizes, which eval_shape has without computing anything. As an array it does not compile:
  //   estimate::trace(key, a, gn::sum(p.x > 0))
  //   error: gnomon::estimate::trace: k is a C++ number, since the sizes of blocks are compiled in
  const gn::Dim size = gn::eval_shape(p.network, p.x).size(), k = std::min<gn::Dim>(size / 8, 64);
  const auto parts = gn::tree::separate(
      p.network, [](Network & m) -> auto& { return m.scale; });
  const Array at = gn::stop_gradient(p.x);
  const auto trace = [&](const Network& moving) {
    const Network f = gn::tree::combine(moving, parts.second);
    return estimate::trace(key.clone(), jacobian(f, at), k).value;
  };
  const auto both = gn::value_and_grad(trace)(parts.first);
  return {both.value, both.grad.scale};
}

struct Row {
  Array value, error, rms;  // of the first key; over all of them
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Traces by random probes: a matrix, a Jacobian, a Hessian.");
  return sample::run(app, argc, argv, [&](gn::Runtime& rt) {
    const auto make = gn::jit(rt, [](const Array& seed) {
      auto [a, b, c, d] = gn::random::split<4>(gn::random::key(seed));
      const auto draw = [](gn::Key key, const gn::Shape& s, double scale) {
        return gn::random::normal(std::move(key), s) * scale;
      };
      // Inputs that matter less and less: spectra that fall, as those of data do.
      const Array in = draw(std::move(a), {hidden, n}, 1) / (1.0f + gn::arange(float(n)));
      const Array out = 0.5f * gn::transpose(in) + draw(std::move(b), {n, hidden}, 0.02);
      return Problem{
          {in, out, gn::ones({})}, draw(std::move(c), {n, 1}, 2), draw(std::move(d), {n}, 1)};
    });
    const Problem p = make(rt.from_host(std::vector<std::int32_t>{1}, {}));
    const auto truth = rt.to_host<float>(gn::jit(rt, exact)(p));

    const std::array<const char*, 3> kinds{"matrix", "Jacobian", "Hessian"};
    const std::array<const char*, 4> names{"Hutchinson", "Hutch++", "XTrace", "XNysTrace"};
    const std::array<estimate::TraceMethod, 4> methods{estimate::Hutchinson{},
                                                       estimate::HutchPlusPlus{},
                                                       estimate::XTrace{}, estimate::XNysTrace{}};
    std::vector<sample::Column> table{{"k", {12, 24, 48, 96}}};
    bool right = true;
    for (std::size_t m = 0; m < 4; ++m) {
      std::array<std::array<std::vector<double>, 3>, 3> columns;  // kind; value, error, rms
      for (double k : table[0].values) {
        const auto run = [&](const Problem& at) {
          const auto all = operators_of(at);
          const Array want = exact(at);
          std::vector<Row> rows;
          for (std::size_t i = 0; i < 3; ++i) {
            if (m == 3 && !all[i].tags().positive_semidefinite) continue;
            const auto one = [&](gn::Key key) {
              const auto t = estimate::trace(std::move(key), all[i], gn::Dim(k), methods[m]);
              return std::pair{t.value, t.standard_error};
            };
            const auto [value, error] = gn::vmap(one)(gn::random::split(gn::random::key(7), keys));
            rows.push_back(
                {value[0], error[0], gn::sqrt(gn::mean(gn::square(value - want[int(i)])))});
          }
          return rows;
        };
        const auto rows = gn::jit(rt, run)(p);
        for (std::size_t i = 0, row = 0; i < 3; ++i) {
          if (m == 3 && i == 1) continue;
          const auto number = [&](const Array& a) { return double(rt.to_host<float>(a)[0]); };
          const double value = number(rows[row].value), error = number(rows[row].error);
          columns[i][0].push_back(value / truth[i]);
          columns[i][1].push_back(1.96 * error / std::abs(truth[i]));
          columns[i][2].push_back(number(rows[row++].rms) / std::abs(truth[i]));
          right = right && std::abs(value - truth[i]) < 6 * error + 1e-5 * std::abs(truth[i]);
        }
      }
      for (std::size_t i = 0; i < 3; ++i) {
        if (columns[i][0].empty()) continue;
        std::printf("%-10s %-9s relative error by 12 to 96 products:", names[m], kinds[i]);
        for (double e : columns[i][2]) std::printf(" %8.1e", e);
        std::printf("\n");
        right = right && columns[i][2].back() < 0.5 * columns[i][2].front();
        for (std::size_t c = 0; c < 3; ++c)
          table.push_back({names[m] + std::string(kinds[i]) + std::to_string(c), columns[i][c]});
      }
    }

    const auto [value, slope] =
        gn::jit(rt, [](const Problem& at) { return in_scale(gn::random::key(3), at); })(p);
    const float estimated = rt.to_host<float>(value)[0], moved = rt.to_host<float>(slope)[0];
    std::printf("d trace / d scale %.5f of a trace %.5f, exactly %.5f\n", double(moved),
                double(estimated), double(truth[1]));

    sample::write_csv("hutchinson.csv", table);
    std::string commands =
        "set multiplot layout 1,3\nset logscale x 2\nset xlabel 'products'\n"
        "set yrange [0.8:1.2]\nset xrange [10:120]\n";
    for (std::size_t i = 0; i < 3; ++i) {
      commands +=
          "set title '" + std::string(kinds[i]) + ": estimate / trace'\nplot 1 lc 'black' notitle";
      for (std::size_t m = 0; m < 4; ++m)
        for (std::size_t c = 1; c < table.size(); ++c)
          if (table[c].name == names[m] + std::string(kinds[i]) + "0")
            commands += ", 'hutchinson.csv' every ::1 using ($1*" +
                        std::to_string(1 + 0.08 * (double(m) - 1.5)) +
                        "):" + std::to_string(c + 1) + ":" + std::to_string(c + 2) +
                        " with yerrorbars pt 7 lw 2 title '" + names[m] + "'";
      commands += "\n";
    }
    sample::draw("hutchinson.png", commands, {1500, 500});
    right = sample::check(right, "traces are within their error bars, which shrink") && true;
    return sample::check(std::abs(moved - estimated) < 1e-4f * std::abs(estimated),
                         "the derivative in the scale is the trace by the same probes") &&
           right;
  });
}
