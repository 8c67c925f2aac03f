// tests/bench/gnomon_training.cpp -- train_mlp, attention and gru_scan as a user of the library
// writes them.
#include "gnomon/nn.h"
#include "gnomon/optim.h"
#include "gnomon_jitted.h"
#include "problems_training.h"

namespace bench {
namespace {

namespace nn = gn::nn;
namespace optim = gn::optim;

/// Arrays on the device, one part of the input after the other.
class Parts {
 public:
  Parts(gn::Runtime& rt, std::vector<float> data) : rt_(rt), data_(std::move(data)) {}
  Array next(const gn::Shape& shape) {
    const auto begin = data_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += shape.size();
    return rt_.from_host(std::vector<float>(begin, begin + shape.size()), shape);
  }

 private:
  gn::Runtime& rt_;
  std::vector<float> data_;
  std::size_t at_ = 0;
};

// ---- train_mlp

struct Labelled {
  Array samples, labels;
};
struct Trained {
  Array loss;
  nn::Mlp model;
  optim::State<nn::Mlp> state;
};

Array loss(const nn::Mlp& model, const Labelled& batch) {
  const Array logits = gn::vmap(model)(batch.samples);
  return gn::mean(optim::softmax_cross_entropy_with_integer_labels(logits, batch.labels));
}

optim::Optimiser optimiser() { return optim::adam(static_cast<double>(TrainMlp::rate)); }

Trained train(const nn::Mlp& model, const optim::State<nn::Mlp>& state, const Labelled& batch) {
  const auto [value, grads] = gn::value_and_grad(loss)(model, batch);
  auto [updates, next] = optimiser().update(grads, state, model);
  return {value, optim::apply_updates(model, updates), next};
}

std::vector<float> host(gn::Runtime& rt, const Trained& t) {
  std::vector<float> r = flat(rt, {t.loss});
  for (const nn::Mlp* net : {&t.model, &t.state.trees[0], &t.state.trees[1]})
    for (const nn::Linear& layer : net->layers) {
      const auto more = flat(rt, {layer.weight, *layer.bias});
      r.insert(r.end(), more.begin(), more.end());
    }
  return r;
}

std::vector<Variant> train_mlp(const std::shared_ptr<gn::Runtime>& rt) {
  using P = TrainMlp;
  Parts parts(*rt, train_mlp_input());
  const auto layer = [&](gn::Dim in, gn::Dim out) {
    const Array weight = parts.next({out, in});
    return nn::Linear{weight, parts.next({out})};
  };
  nn::Mlp model;
  model.layers.push_back(layer(P::inputs, P::hidden));
  model.layers.push_back(layer(P::hidden, P::hidden));
  model.layers.push_back(layer(P::hidden, P::classes));
  const Array samples = parts.next({P::batch, P::inputs});
  const std::vector<float> labels = rt->to_host<float>(parts.next({P::batch}));
  const Labelled batch{samples,
                       rt->from_host(std::vector<std::int32_t>(labels.begin(), labels.end()))};
  return {jitted(rt, "gnomon", train, model, optimiser().init(model), batch)};
}

// ---- attention

struct Heads {
  Array q, k, v;
};
struct Attended {
  Array out;
  Heads of;
};

std::vector<float> host(gn::Runtime& rt, const Attended& a) {
  return flat(rt, {a.out, a.of.q, a.of.k, a.of.v});
}

Array attend(const Heads& all) {
  return gn::vmap([](const Heads& h) { return nn::dot_product_attention(h.q, h.k, h.v); })(all);
}

Attended attention_and_gradient(const Heads& h, const Array& weights) {
  const auto pullback = gn::vjp(attend, h);
  return {pullback.value, pullback(weights)};
}

std::vector<Variant> attention(const std::shared_ptr<gn::Runtime>& rt) {
  Parts parts(*rt, attention_input());
  using P = Attention;
  const gn::Shape shape{P::batch, P::length, P::heads, P::size};
  const Array q = parts.next(shape), k = parts.next(shape), v = parts.next(shape);
  return {jitted(rt, "gnomon", attention_and_gradient, Heads{q, k, v}, parts.next(shape))};
}

// ---- gru_scan

struct Series {
  Array samples, targets;
};
struct Learned {
  Array loss;
  nn::GRUCell of;
};

std::vector<float> host(gn::Runtime& rt, const Learned& l) {
  return flat(rt, {l.loss, l.of.weight_ih, l.of.weight_hh, *l.of.bias, *l.of.bias_n});
}

Array series_loss(const nn::GRUCell& cell, const Series& series) {
  const auto last = [&](const Array& xs) {
    const auto step = [&](const Array& h, const Array& x) {
      return std::pair{cell(x, h), gn::none};
    };
    return gn::scan(step, gn::zeros({GruScan::hidden}), xs).first;
  };
  return gn::mean(gn::square(gn::vmap(last)(series.samples) - series.targets));
}

Learned learn(const nn::GRUCell& cell, const Series& series) {
  const auto [value, g] = gn::value_and_grad(series_loss)(cell, series);
  return {value, g};
}

std::vector<Variant> gru_scan(const std::shared_ptr<gn::Runtime>& rt) {
  using P = GruScan;
  Parts parts(*rt, gru_scan_input());
  const Array wi = parts.next({P::gates, P::inputs}), wh = parts.next({P::gates, P::hidden});
  const Array b = parts.next({P::gates});
  const nn::GRUCell cell{wi, wh, b, parts.next({P::hidden})};
  const Array samples = parts.next({P::batch, P::steps, P::inputs});
  const Series series{samples, parts.next({P::batch, P::hidden})};
  return {jitted(rt, "gnomon", learn, cell, series)};
}

}  // namespace

void add_gnomon_training(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  find_workload(workloads, "train_mlp").makers.push_back([=] { return train_mlp(rt); });
  find_workload(workloads, "attention").makers.push_back([=] { return attention(rt); });
  find_workload(workloads, "gru_scan").makers.push_back([=] { return gru_scan(rt); });
}

}  // namespace bench
