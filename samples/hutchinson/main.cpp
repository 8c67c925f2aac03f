// samples/hutchinson/main.cpp -- traces of matrices nobody forms, with error bars.
//
// A stored matrix, a sparse one, the Jacobian of a network and the Hessian of a loss, 400 x 400
// each, are multiplied with 8 to 64 random probes. Their exact traces are known by formulas.
#include <gnomon/estimate.h>
#include <gnomon/gnomon.h>
#include <gnomon/operators.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace estimate = gn::estimate;
namespace operators = gn::operators;
using gn::Array;

constexpr gn::Dim n = 400, hidden = 300, keys = 16;
constexpr const char* kinds[] = {"dense", "sparse", "Hessian", "Jacobian"};  // this one indefinite
constexpr const char* names[] = {"Hutchinson", "Hutch++", "XTrace", "XNysTrace"};

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

std::array<operators::Operator, 4> operators_of(const Problem& p, const operators::Csr& grid) {
  const Array apart = p.points - gn::transpose(p.points);
  const auto loss = [&](const Array& w) {  // logistic, with a little of the square of w
    return gn::sum(gn::softplus(gn::matmul(p.network.in, w))) + 0.005f * gn::sum(w * w);
  };
  return {operators::Dense{gn::exp(-gn::abs(apart)), {.positive_semidefinite = true}}, grid,
          operators::hessian(loss, p.x, {.positive_semidefinite = true}),
          operators::jacobian(p.network, p.x)};
}
/// Their sum by weights. These are data: an estimator is compiled once, and 1, 0, 0, 0 is the
/// first.
operators::Operator weighted(const std::array<operators::Operator, 4>& all, const Array& weights,
                             bool definite) {
  operators::Operator sum = weights[0] * all[0] + weights[1] * all[1] + weights[2] * all[2];
  if (!definite) sum = sum + weights[3] * all[3];
  return sum.tagged({.positive_semidefinite = definite});
}
/// By the formulas.
Array exact(const Problem& p) {
  const Array at = gn::matmul(p.network.in, p.x), t = gn::tanh(at), q = gn::sigmoid(at);
  const Array both = gn::sum(p.network.in * gn::transpose(p.network.out), {1});
  const Array rows = gn::sum(gn::square(p.network.in), {1});
  return gn::stack({gn::full({}, float(n)), gn::full({}, 4 * float(n)),
                    gn::sum(q * (1 - q) * rows) + 0.01f * float(n),
                    p.network.scale * gn::sum((1 - t * t) * both)});
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
    return estimate::trace(key.clone(), operators::jacobian(f, at), k, estimate::Hutchinson{})
        .value;
  };
  const auto both = gn::value_and_grad(trace)(parts.first);
  return {both.value, both.grad.scale};
}

/// By `k` products: the estimate of the first of many keys, its standard error, and the mean error
/// of all, f32[3].
Array estimates(const operators::Operator& a, const Array& want,
                const estimate::TraceMethod& method, gn::Dim k) {
  const auto one = [&](gn::Key key) {
    const auto t = estimate::trace(std::move(key), a, k, method);
    return std::pair{t.value, t.standard_error};
  };
  const auto [value, error] = gn::vmap(one)(gn::random::split(gn::random::key(7), keys));
  return gn::stack({value[0], error[0], gn::sqrt(gn::mean(gn::square(value - want)))});
}

Problem made(const Array& seed) {
  auto [a, b, c, d] = gn::random::split<4>(gn::random::key(seed));
  const auto draw = [](gn::Key key, const gn::Shape& s, double scale) {
    return gn::random::normal(std::move(key), s) * scale;
  };
  // Inputs that matter less and less: spectra that fall, as those of data do.
  const Array in = draw(std::move(a), {hidden, n}, 1) / (1.0f + gn::arange(float(n)));
  const Array out = 0.5f * gn::transpose(in) + draw(std::move(b), {n, hidden}, 0.02);
  return {{in, out, gn::ones({})}, draw(std::move(c), {n, 1}, 2), draw(std::move(d), {n}, 1)};
}

}  // namespace

int main(int argc, char** argv) {
  sample::Settings settings(
      "Traces by random probes: a dense and a sparse matrix, a Jacobian, a Hessian.");
  gn::Dim sizes = 2;  // each is another program to compile
  settings.add("--sizes", sizes, "numbers of products to try, from 8 to 64", 2, 4);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    const Problem p = gn::jit(rt, made)(rt.from_host(std::vector<std::int32_t>{1}, {}));
    const auto grid = operators::to_csr(rt, operators::poisson({20, 20}),
                                        {.tags = {.positive_semidefinite = true}});
    const auto truth = rt.to_host<float>(gn::jit(rt, exact)(p));

    const estimate::TraceMethod methods[] = {estimate::Hutchinson{}, estimate::HutchPlusPlus{},
                                             estimate::XTrace{}, estimate::XNysTrace{}};
    std::vector<sample::Column> table{{"k", {}}};
    for (gn::Dim i = 0; i < sizes; ++i)  // in multiples of 8
      table[0].values.push_back(8 * std::round(std::exp2(3.0 * double(i) / double(sizes - 1))));
    bool right = true;
    std::string plots[4];
    for (std::size_t m = 0; m < 4; ++m) {
      const bool definite = m == 3;              // what the method needs
      std::vector<std::vector<float>> found[4];  // of each operator by k
      for (double k : table[0].values) {
        const auto run = [&](const Problem& at, const operators::Csr& a, const Array& weights) {
          return estimates(weighted(operators_of(at, a), weights, definite),
                           gn::sum(weights * exact(at)), methods[m], gn::Dim(k));
        };
        const auto compiled = gn::jit(rt, run);
        for (std::size_t i = 0; i < (definite ? 3 : 4); ++i) {
          std::vector<float> weights(4, 0.0f);
          weights[i] = 1;
          found[i].push_back(rt.to_host<float>(compiled(p, grid, rt.from_host(weights))));
        }
      }
      for (std::size_t i = 0; i < 4; ++i) {
        if (found[i].empty()) continue;
        sample::Column value{names[m] + std::string(kinds[i]), {}}, error{"error", {}};
        std::printf("%-10s %-8s relative error by 8 to 64 products:", names[m], kinds[i]);
        for (const auto& f : found[i]) {
          const double estimated = double(f[0]), bar = double(f[1]);
          value.values.push_back(estimated / double(truth[i]));
          error.values.push_back(1.96 * bar / double(truth[i]));
          std::printf(" %8.1e", double(f[2] / truth[i]));
          right =
              right && std::abs(estimated - double(truth[i])) < 6 * bar + 1e-5 * double(truth[i]);
        }
        std::printf("\n");
        right = right && found[i].back()[2] < 0.6f * found[i][0][2];
        plots[i] +=
            ", 'hutchinson.csv' every ::1 using ($1*" + std::to_string(0.88 + 0.08 * double(m)) +
            "):" + std::to_string(table.size() + 1) + ":" + std::to_string(table.size() + 2) +
            " with yerrorbars pt 7 lw 2 lc " + std::to_string(m + 1) + " title '" + names[m] + "'";
        table.push_back(value);
        table.push_back(error);
      }
    }
    const auto [value, slope] =
        gn::jit(rt, [](const Problem& at) { return in_scale(gn::random::key(3), at); })(p);
    const float estimated = rt.to_host<float>(value)[0], moved = rt.to_host<float>(slope)[0];
    std::printf("d trace / d scale %.5f of a trace %.5f, exactly %.5f\n", double(moved),
                double(estimated), double(truth[3]));

    sample::write_csv("hutchinson.csv", table);
    std::string commands =
        "set multiplot layout 2,2\nset logscale x 2\nset xlabel 'products'\n"
        "set yrange [0.8:1.2]\nset xrange [6.5:80]\n";
    for (std::size_t i = 0; i < 4; ++i)
      commands += "set title '" + std::string(kinds[i]) +
                  ": estimate / trace'\nplot 1 lc 'black' notitle" + plots[i] + "\n";
    sample::draw("hutchinson.png", commands, {1300, 900});
    right = sample::check(right, "traces are within their error bars, which shrink");
    return sample::check(std::abs(moved - estimated) < 1e-4f * std::abs(estimated),
                         "the derivative in the scale is the trace by the same probes") &&
           right;
  });
}
