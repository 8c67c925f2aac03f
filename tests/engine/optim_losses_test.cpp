// tests/engine/optim_losses_test.cpp -- loss functions and their gradients on the host reference,
// against formulas over numbers; CTC against the enumeration of all alignments.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gnomon/activations.h"
#include "gnomon/optim.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {
namespace {

using test::Numbers;
using ::testing::HasSubstr;

/// Relative to 1 or what is wanted: f32 and f64.
constexpr std::pair<DType, double> precisions[] = {{DType::f32, 1e-5}, {DType::f64, 1e-10}};

TEST(OptimLosses, AreTheirFormulas) {
  const Numbers x{-2, -0.5, 0.125, 0.25, 3}, y{1, -0.75, 0, 0.5, 0.5};
  struct Row {
    const char* name;
    Array (*loss)(const Array&, const Array&);
    double (*want)(double, double);
    double (*slope)(double, double);  // in the prediction
  };
  const std::vector<Row> rows{
      {"squared", [](const Array& a, const Array& b) { return optim::squared_error(a, b); },
       [](double a, double b) { return (a - b) * (a - b); },
       [](double a, double b) { return 2 * (a - b); }},
      {"l2", [](const Array& a, const Array& b) { return optim::l2_loss(a, b); },
       [](double a, double b) { return 0.5 * (a - b) * (a - b); },
       [](double a, double b) { return a - b; }},
      {"absolute", [](const Array& a, const Array& b) { return optim::absolute_error(a, b); },
       [](double a, double b) { return std::fabs(a - b); },
       [](double a, double b) { return a > b ? 1.0 : -1.0; }},
      {"Huber", [](const Array& a, const Array& b) { return optim::huber_loss(a, b, 0.4); },
       [](double a, double b) {
         const double d = std::fabs(a - b);
         return d <= 0.4 ? 0.5 * d * d : 0.4 * (d - 0.2);
       },
       [](double a, double b) { return std::min(std::max(a - b, -0.4), 0.4); }},
      {"log cosh", [](const Array& a, const Array& b) { return optim::log_cosh(a, b); },
       [](double a, double b) { return std::log(std::cosh(a - b)); },
       [](double a, double b) { return std::tanh(a - b); }},
      {"sigmoid cross entropy",
       [](const Array& a, const Array& b) { return optim::sigmoid_binary_cross_entropy(a, b); },
       [](double a, double b) {
         return b * std::log1p(std::exp(-a)) + (1 - b) * std::log1p(std::exp(a));
       },
       [](double a, double b) { return 1 / (1 + std::exp(-a)) - b; }},
  };
  for (const Row& r : rows)
    for (const auto& [dtype, tolerance] : precisions) {
      SCOPED_TRACE(r.name);
      Numbers want, slopes;
      for (std::size_t i = 0; i < x.size(); ++i) {
        want.push_back(r.want(x[i], y[i]));
        slopes.push_back(r.slope(x[i], y[i]));
      }
      const auto loss = r.loss;
      const auto slope = [&](const Array& a, const Array& b) {
        return grad([&](const Array& at) { return sum(loss(at, b)); })(a);
      };
      const HostArray hx = test::host(dtype, {5}, x), hy = test::host(dtype, {5}, y);
      test::expect_near(test::run(loss, hx, hy), want, tolerance);
      test::expect_near(test::run(slope, hx, hy), slopes, tolerance);
    }
  // Far away nothing overflows.
  test::expect_near(
      test::run([](const Array& a) { return optim::log_cosh(a); }, test::f32(Numbers{1000, -1000})),
      {1000 - std::numbers::ln2, 1000 - std::numbers::ln2}, 1e-6);
  test::expect_near(
      test::run([](const Array& a) { return optim::sigmoid_binary_cross_entropy(a, 0.5); },
                test::f32(Numbers{1000, -1000})),
      {500, 500}, 1e-6);
}

TEST(OptimLosses, OfClassesAreTheirFormulas) {
  const Numbers logits{1, -2, 0.5, 3, 100, -100}, labels{0.2, 0.3, 0.5, 0, 1, 0};
  const double index[] = {2, 1};
  Numbers cross, by_index, divergence, cross_slope, index_slope, divergence_slope;
  for (std::size_t r = 0; r < 2; ++r) {
    double most = -INFINITY, total = 0;
    for (std::size_t k = 0; k < 3; ++k) most = std::max(most, logits[3 * r + k]);
    for (std::size_t k = 0; k < 3; ++k) total += std::exp(logits[3 * r + k] - most);
    double c = 0, d = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double q = logits[3 * r + k] - most - std::log(total), y = labels[3 * r + k];
      c -= y * q;
      if (y > 0) d += y * (std::log(y) - q);
      if (double(k) == index[r]) by_index.push_back(-q);
      cross_slope.push_back(std::exp(q) - y);  // the labels of a row sum to 1
      index_slope.push_back(std::exp(q) - (double(k) == index[r]));
      divergence_slope.push_back(-y);
    }
    cross.push_back(c);
    divergence.push_back(d);
  }
  using Loss = Array (*)(const Array&, const Array&);
  const Loss by_labels = [](const Array& a, const Array& b) {
    return optim::softmax_cross_entropy(a, b);
  };
  const Loss by_number = [](const Array& a, const Array& b) {
    return optim::softmax_cross_entropy_with_integer_labels(a, b);
  };
  const Loss kl = [](const Array& a, const Array& b) { return optim::kl_divergence(a, b); };
  const auto check = [](Loss loss, const HostArray& a, const HostArray& b, const Numbers& want,
                        const Numbers& slopes, double tolerance) {
    const auto slope = [&](const Array& at, const Array& y) {
      return grad([&](const Array& v) { return sum(loss(v, y)); })(at);
    };
    test::expect_near(test::run(loss, a, b), want, tolerance);
    test::expect_near(test::run(slope, a, b), slopes, tolerance);
  };
  for (const auto& [dtype, tolerance] : precisions) {
    const HostArray l = test::host(dtype, {2, 3}, logits), p = test::host(dtype, {2, 3}, labels);
    check(by_labels, l, p, cross, cross_slope, tolerance);
    check(by_number, l, test::i32({2, 1}), by_index, index_slope, tolerance);
    const HostArray q =
        test::host(dtype, {2, 3}, test::run([](const Array& a) { return log_softmax(a); }, l));
    check(kl, q, p, divergence, divergence_slope, tolerance);
  }
}

TEST(OptimLosses, CtcIsTheSumOverAllAlignments) {
  // 5 frames of 3 classes: all 243 sequences of classes, of which those are alignments that give
  // the labels when repetitions are merged and blanks removed.
  constexpr int frames = 5, classes = 3;
  struct Text {
    std::vector<int> labels;
    int frames;
  };
  const std::vector<Text> texts{{{1, 2}, 5}, {{1, 1}, 5}, {{}, 5},
                                {{2}, 3},    {{2, 2}, 4}, {{1, 2}, 2}};
  Numbers logits, logit_paddings, labels, label_paddings, want, slopes;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    double p[frames][classes];
    for (int t = 0; t < frames; ++t) {
      double total = 0;
      for (int k = 0; k < classes; ++k) {
        logits.push_back(std::sin(3.0 * double(b) + 2 * t + 1.3 * k * k));
        total += p[t][k] = std::exp(logits.back());
      }
      for (double& x : p[t]) x /= total;
      logit_paddings.push_back(t >= texts[b].frames);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      labels.push_back(i < texts[b].labels.size() ? texts[b].labels[i] : 0);
      label_paddings.push_back(i >= texts[b].labels.size());
    }
    double sum = 0, with[frames][classes] = {};  // with: class k at frame t
    const int ways = int(std::pow(classes, texts[b].frames));
    for (int w = 0; w < ways; ++w) {
      double product = 1;
      std::vector<int> said, path;
      for (int t = 0, rest = w, last = 0; t < texts[b].frames; ++t, rest /= classes) {
        const int k = rest % classes;
        product *= p[t][k];
        path.push_back(k);
        if (k != 0 && k != last) said.push_back(k);
        last = k;
      }
      if (said != texts[b].labels) continue;
      sum += product;
      for (std::size_t t = 0; t < path.size(); ++t) with[t][path[t]] += product;
    }
    for (int t = 0; t < frames; ++t)
      for (int k = 0; k < classes; ++k)
        slopes.push_back(t < texts[b].frames ? p[t][k] - with[t][k] / sum : 0);
    want.push_back(-std::log(sum));
  }
  const Dim batch = Dim(texts.size());
  const auto loss = [](const Array& l, const Array& lp, const Array& y, const Array& yp) {
    return optim::ctc_loss(l, lp, y, yp);
  };
  const auto slope = [&](const Array& a, const Array& b, const Array& c, const Array& d) {
    return grad([&](const Array& at) { return sum(loss(at, b, c, d)); })(a);
  };
  const HostArray y = test::i32({batch, 2}, labels);
  for (const auto& [dtype, tolerance] : precisions) {
    const HostArray l = test::host(dtype, {batch, frames, classes}, logits),
                    lp = test::host(dtype, {batch, frames}, logit_paddings),
                    yp = test::host(dtype, {batch, 2}, label_paddings);
    test::expect_near(test::run(loss, l, lp, y, yp), want, tolerance);
    test::expect_near(test::run(slope, l, lp, y, yp), slopes, tolerance);
  }
  const auto h = [&](const Shape& s, const Numbers& v) { return test::host(DType::f64, s, v); };
  // Two equal labels need three frames.
  EXPECT_GT(test::run(loss, h({1, 2, 3}, Numbers(6, 0)), h({1, 2}, {0, 0}),
                      test::i32({1, 2}, {1, 1}), h({1, 2}, {0, 0}))[0],
            9e4);
  EXPECT_THAT(
      test::usage_error_of(loss, h({batch, frames, classes}, logits),
                           h({batch, frames}, logit_paddings), y, h({batch, 3}, Numbers(18, 0))),
      HasSubstr("paddings"));
}

}  // namespace
}  // namespace gnomon::testing
