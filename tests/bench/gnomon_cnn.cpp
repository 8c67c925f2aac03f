// tests/bench/gnomon_cnn.cpp -- train_cnn as a user of the library writes it.
#include "gnomon/nn.h"
#include "gnomon/optim.h"
#include "gnomon/state.h"
#include "gnomon_jitted.h"
#include "problems_cnn.h"

namespace bench {
namespace {

namespace nn = gn::nn;
namespace optim = gn::optim;
using P = TrainCnn;

struct Net {
  nn::Conv2d first;
  nn::BatchNorm first_norm;
  nn::Conv2d second;
  nn::BatchNorm second_norm;
  nn::Linear out;

  std::pair<Array, gn::State> operator()(const Array& image, gn::State state, gn::Key key) const {
    auto [y, middle] = first_norm(first(image), std::move(state));
    auto [z, last] =
        second_norm(second(nn::MaxPool2d::make(2, {.stride = 2})(gn::relu(y))), std::move(middle));
    const Array x = nn::Dropout{.p = 1 - double{P::kept}}(gn::ravel(gn::relu(z)), std::move(key));
    return {out(x), std::move(last)};
  }
};

struct Labelled {
  Array images, labels;
};
struct Trained {
  Array loss;
  Net net;
  optim::State<Net> moments;
  nn::BatchNorm::Averages first, second;
};

std::pair<Array, gn::State> loss(const Net& net, gn::State state, const Labelled& batch,
                                 gn::Key key) {
  const auto each = [&](const Array& image, gn::State s, gn::Key k) {
    return net(image, std::move(s), std::move(k));
  };
  auto [logits, next] = gn::vmap(
      each, {.in_axes = {0, gn::unmapped, 0}, .out_axes = {0, gn::unmapped}, .axis_name = "batch"})(
      batch.images, std::move(state), gn::random::split(std::move(key), P::batch));
  return {gn::mean(optim::softmax_cross_entropy_with_integer_labels(logits, batch.labels)),
          std::move(next)};
}

/// The network has the averages to begin with in it: a State cannot be an argument twice.
Trained train(const Net& initial, const optim::State<Net>& moments, const Labelled& batch,
              const Array& seed) {
  auto [net, state] = gn::make_with_state(initial);
  auto [value, slope] =
      gn::value_and_grad(loss, gn::has_aux)(net, std::move(state), batch, gn::random::key(seed));
  auto [updates, next] = optim::adam(static_cast<double>(P::rate)).update(slope, moments, net);
  return {value.first, optim::apply_updates(net, updates), std::move(next),
          value.second.get(net.first_norm.averages), value.second.get(net.second_norm.averages)};
}

std::vector<float> host(gn::Runtime& rt, const Trained& t) {
  std::vector<Array> arrays{t.loss};
  for (const Net* net : {&t.net, &t.moments.trees[0], &t.moments.trees[1]})
    for (const Array& a :
         {net->first.weight, *net->first_norm.weight, *net->first_norm.bias, net->second.weight,
          *net->second_norm.weight, *net->second_norm.bias, net->out.weight, *net->out.bias})
      arrays.push_back(a);
  for (const Array& a : {t.first.mean, t.first.variance, t.second.mean, t.second.variance})
    arrays.push_back(a);
  std::vector<float> all;
  for (const Array& a : arrays) {
    const auto values = rt.to_host<float>(a);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

void add_gnomon_cnn(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  find_workload(workloads, "train_cnn").makers.push_back([=] {
    const std::vector<float> data = train_cnn_input();
    const auto array = [&](std::size_t begin, const gn::Shape& shape) {
      const auto from = data.begin() + static_cast<std::ptrdiff_t>(begin);
      return rt->from_host(std::vector<float>(from, from + shape.size()), shape);
    };
    const auto norm = [&](gn::Dim channels, std::size_t scale, std::size_t bias) {
      auto layer =
          nn::BatchNorm::make(channels, "batch", {.momentum = static_cast<double>(P::momentum)});
      layer.weight = array(scale, {channels});
      layer.bias = array(bias, {channels});
      return layer;
    };
    const auto conv = [&](gn::Dim in, gn::Dim out, std::size_t weight) {
      auto layer = nn::Conv2d::make(in, out, 3, rt->key(0), {.padding = "SAME", .use_bias = false});
      layer.weight = array(weight, {out, in, 3, 3});
      return layer;
    };
    const Net net{conv(1, P::c1, P::w1), norm(P::c1, P::s1, P::b1), conv(P::c1, P::c2, P::w2),
                  norm(P::c2, P::s2, P::b2),
                  nn::Linear{array(P::w3, {P::classes, P::features}), array(P::b3, {P::classes})}};
    std::vector<std::int32_t> labels;
    for (std::size_t i = P::labels; i < data.size(); ++i)
      labels.push_back(static_cast<std::int32_t>(data[i]));
    const auto moments =
        optim::adam(static_cast<double>(P::rate)).init(gn::make_with_state(net).model);
    return std::vector<Variant>{
        jitted(rt, "gnomon", train, net, moments,
               Labelled{array(P::images, {P::batch, 1, P::side, P::side}), rt->from_host(labels)},
               rt->from_host(std::int32_t{P::seed}))};
  });
}

}  // namespace bench
