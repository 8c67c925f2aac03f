// tests/bench/gnomon_training.cpp -- train_mlp, attention and gru_scan as a user of the library
// writes them.
#include "gnomon/optim.h"
#include "gnomon_jitted.h"
#include "problems_training.h"

namespace bench {
namespace {

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

struct Layer {
  Array weight, bias;
  Array operator()(const Array& x) const { return gn::matmul(weight, x) + bias; }
};
struct Classifier {
  Layer first, second, third;
  Array operator()(const Array& x) const { return third(gn::relu(second(gn::relu(first(x))))); }
};
struct Labelled {
  Array samples, labels;
};
struct Trained {
  Array loss;
  Classifier model;
  optim::State<Classifier> state;
};

Array loss(const Classifier& model, const Labelled& batch) {
  const Array logits = gn::vmap([&](const Array& x) { return model(x); })(batch.samples);
  return gn::mean(optim::softmax_cross_entropy_with_integer_labels(logits, batch.labels));
}

optim::Optimiser optimiser() { return optim::adam(static_cast<double>(TrainMlp::rate)); }

Trained train(const Classifier& model, const optim::State<Classifier>& state,
              const Labelled& batch) {
  const auto [value, grads] = gn::value_and_grad(loss)(model, batch);
  auto [updates, next] = optimiser().update(grads, state, model);
  return {value, optim::apply_updates(model, updates), next};
}

std::vector<float> host(gn::Runtime& rt, const Trained& t) {
  std::vector<float> r = flat(rt, {t.loss});
  for (const Classifier* c : {&t.model, &t.state.trees[0], &t.state.trees[1]}) {
    const auto more = flat(rt, {c->first.weight, c->first.bias, c->second.weight, c->second.bias,
                                c->third.weight, c->third.bias});
    r.insert(r.end(), more.begin(), more.end());
  }
  return r;
}

std::vector<Variant> train_mlp(const std::shared_ptr<gn::Runtime>& rt) {
  using P = TrainMlp;
  Parts parts(*rt, train_mlp_input());
  const auto layer = [&](gn::Dim in, gn::Dim out) {
    const Array weight = parts.next({out, in});
    return Layer{weight, parts.next({out})};
  };
  const Layer first = layer(P::inputs, P::hidden), second = layer(P::hidden, P::hidden);
  const Classifier model{first, second, layer(P::hidden, P::classes)};
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

/// q, k, v [..., length, size].
Array attend(const Heads& h) {
  const Array scores = gn::einsum("...sd,...td->...st", h.q, h.k) * Attention::scale;
  return gn::matmul(gn::softmax(scores), h.v);
}

Attended attention_and_gradient(const Heads& h, const Array& weights) {
  const auto pullback = gn::vjp(attend, h);
  return {pullback.value, pullback(weights)};
}

std::vector<Variant> attention(const std::shared_ptr<gn::Runtime>& rt) {
  Parts parts(*rt, attention_input());
  const gn::Shape shape{8, 8, Attention::length, Attention::size};
  const Array q = parts.next(shape), k = parts.next(shape), v = parts.next(shape);
  return {jitted(rt, "gnomon", attention_and_gradient, Heads{q, k, v}, parts.next(shape))};
}

// ---- gru_scan

struct Gru {
  Array weight_ih, weight_hh, bias, bias_n;
  Array operator()(const Array& x, const Array& h) const {
    const gn::Dim n = GruScan::hidden;
    const auto part = [&](const Array& a, gn::Dim i) {
      return gn::slice(a, {i * n}, {(i + 1) * n});
    };
    const Array l = gn::matmul(weight_ih, x) + bias, m = gn::matmul(weight_hh, h);
    const Array r = gn::sigmoid(part(l, 0) + part(m, 0)), z = gn::sigmoid(part(l, 1) + part(m, 1));
    const Array next = gn::tanh(part(l, 2) + r * (part(m, 2) + bias_n));
    return next + z * (h - next);
  }
};
struct Series {
  Array samples, targets;
};
struct Learned {
  Array loss;
  Gru of;
};

std::vector<float> host(gn::Runtime& rt, const Learned& l) {
  return flat(rt, {l.loss, l.of.weight_ih, l.of.weight_hh, l.of.bias, l.of.bias_n});
}

Array series_loss(const Gru& cell, const Series& series) {
  const auto last = [&](const Array& xs) {
    const auto step = [&](const Array& h, const Array& x) {
      return std::pair{cell(x, h), gn::none};
    };
    return gn::scan(step, gn::zeros({GruScan::hidden}), xs).first;
  };
  return gn::mean(gn::square(gn::vmap(last)(series.samples) - series.targets));
}

Learned learn(const Gru& cell, const Series& series) {
  const auto [value, g] = gn::value_and_grad(series_loss)(cell, series);
  return {value, g};
}

std::vector<Variant> gru_scan(const std::shared_ptr<gn::Runtime>& rt) {
  using P = GruScan;
  Parts parts(*rt, gru_scan_input());
  const Array wi = parts.next({P::gates, P::inputs}), wh = parts.next({P::gates, P::hidden});
  const Array b = parts.next({P::gates});
  const Gru cell{wi, wh, b, parts.next({P::hidden})};
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
