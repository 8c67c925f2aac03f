// tests/bench/gnomon_neural.cpp -- neural_ode_step as a user of the library writes it.
#include "gnomon/ode.h"
#include "gnomon_jitted.h"
#include "problems.h"

namespace bench {
namespace {

using P = NeuralOde;

struct Network {
  Array w1, b1, w2, b2, w3, b3;
};

/// A method's stages, as many times as there are steps: how far ahead the field is taken along the
/// slope before, what share its slope has in the step, and whether it ends one (1 or 0). [stages]
struct Stages {
  Array ahead, share, last;
};

struct Batch {
  Array start, targets;
  Stages stages;
};

struct Carried {
  Array y, slope, sum;
};

/// Parameters and their moments.
struct Trained {
  Array loss;
  Network network, first, second;
};

Array field(const Network& n, const Array& y) {
  const Array first = gn::tanh(gn::matmul(y, n.w1) + n.b1);
  const Array second = gn::tanh(gn::matmul(first, n.w2) + n.b2);
  return gn::matmul(second, n.w3) + n.b3;
}

/// Mean square over all steps. The stages of a step are steps of one loop, as in a library of
/// solvers: the field is compiled once.
Array loss(const Network& n, const Batch& batch) {
  const auto stage = [&](const Carried& c, const Stages& s) {
    const Array slope = field(n, c.y + s.ahead * c.slope);
    const Array sum = c.sum + s.share * slope, goes_on = 1 - s.last;
    const Array y = c.y + s.last * sum;
    return std::pair{Carried{y, goes_on * slope, goes_on * sum}, y};
  };
  const Array none = gn::zeros_like(batch.start);
  const Array states = gn::scan(stage, Carried{batch.start, none, none}, batch.stages,
                                gn::ScanOptions{.kind = gn::LoopKind::stored})
                           .second;
  const Array by_step = gn::reshape(states, {P::steps, 4, P::batch, 2});
  const Array ends = gn::slice(by_step, {0, 3, 0, 0}, {P::steps, 4, P::batch, 2});
  return gn::mean(gn::square(gn::squeeze(ends, {1}) - batch.targets));
}

/// The same with the stages of a step one after another in the text, which compiles four fields.
Array loss_of_steps(const Network& n, const Batch& batch) {
  constexpr float h = P::step;
  const auto step = [&](const Array& y, gn::None) {
    const Array k1 = field(n, y), k2 = field(n, y + h / 2 * k1), k3 = field(n, y + h / 2 * k2),
                k4 = field(n, y + h * k3);
    const Array next = y + h / 6 * (k1 + 2.0f * (k2 + k3) + k4);
    return std::pair{next, next};
  };
  const auto states = gn::scan(step, batch.start, gn::none, {.length = P::steps});
  return gn::mean(gn::square(states.second - batch.targets));
}

/// The same by the library of solvers.
Array loss_of_library(const Network& n, const Batch& batch) {
  const gn::ode::OdeTerm term{
      [](const Array&, const Array& y, const Network& net) { return field(net, y); }};
  const auto solution = gn::ode::diffeqsolve(
      term, gn::ode::RK4(), 0.0, P::steps * static_cast<double>(P::step),
      static_cast<double>(P::step), batch.start, n,
      {.saveat = {.steps = 1}, .adjoint = gn::ode::StoredAdjoint{}, .max_steps = P::steps});
  return gn::mean(gn::square(solution.ys - batch.targets));
}

template <class Loss>
Trained trained(const Loss& of, const Network& n, const Batch& batch) {
  const auto [value, g] = gn::value_and_grad(of)(n, batch);
  const auto moments = [](const Array& d) {
    return std::pair{(1 - P::beta1) * d, (1 - P::beta2) * gn::square(d)};
  };
  const auto each = [&](const Array& p, const Array& d) {
    const auto [m, v] = moments(d);
    return p - P::rate * (m / (1 - P::beta1)) / (gn::sqrt(v / (1 - P::beta2)) + P::epsilon);
  };
  const auto all = [](const Network& a, const auto& f) {
    return Network{f(a.w1), f(a.b1), f(a.w2), f(a.b2), f(a.w3), f(a.b3)};
  };
  return {value,
          {each(n.w1, g.w1), each(n.b1, g.b1), each(n.w2, g.w2), each(n.b2, g.b2), each(n.w3, g.w3),
           each(n.b3, g.b3)},
          all(g, [&](const Array& d) { return moments(d).first; }),
          all(g, [&](const Array& d) { return moments(d).second; })};
}

Trained train(const Network& n, const Batch& batch) { return trained(loss, n, batch); }
Trained train_by_steps(const Network& n, const Batch& batch) {
  return trained(loss_of_steps, n, batch);
}

Trained train_by_library(const Network& n, const Batch& batch) {
  return trained(loss_of_library, n, batch);
}

/// RK4's stages, for all steps.
Stages stages(gn::Runtime& rt) {
  constexpr float h = P::step;
  constexpr float ahead[] = {0, h / 2, h / 2, h}, share[] = {h / 6, h / 3, h / 3, h / 6};
  std::vector<float> a, s, last;
  for (std::uint32_t i = 0; i < P::steps; ++i)
    for (int stage = 0; stage < 4; ++stage) {
      a.push_back(ahead[stage]);
      s.push_back(share[stage]);
      last.push_back(stage == 3 ? 1.0f : 0.0f);
    }
  const gn::Shape shape{4 * P::steps};
  return {rt.from_host(a, shape), rt.from_host(s, shape), rt.from_host(last, shape)};
}

std::vector<float> host(gn::Runtime& rt, const Trained& t) {
  std::vector<float> r = flat(rt, {t.loss});
  for (const Network* n : {&t.network, &t.first, &t.second}) {
    const auto more = flat(rt, {n->w1, n->b1, n->w2, n->b2, n->w3, n->b3});
    r.insert(r.end(), more.begin(), more.end());
  }
  return r;
}

Verdict is_finite(std::span<const float> result) {
  return {result.size() == 1 && result[0] > 0.0f, "the loss alone"};
}

}  // namespace

void add_gnomon_neural(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  find_workload(workloads, "neural_ode_step").makers.push_back([=] {
    const std::vector<float> data = neural_ode_input();
    const auto part = [&](std::size_t first, const gn::Shape& shape) {
      const auto begin = data.begin() + static_cast<std::ptrdiff_t>(first);
      return rt->from_host(std::vector<float>(begin, begin + shape.size()), shape);
    };
    constexpr gn::Dim h = P::hidden;
    const Network network{part(P::w1, {2, h}), part(P::b1, {h}),    part(P::w2, {h, h}),
                          part(P::b2, {h}),    part(P::w3, {h, 2}), part(P::b3, {2})};
    const Batch batch{part(P::parameters, {P::batch, 2}),
                      part(P::parameters + 2 * P::batch, {P::steps, P::batch, 2}), stages(*rt)};
    Variant forward = jitted(rt, "forward", loss, network, batch);
    forward.check = is_finite;
    return std::vector<Variant>{jitted(rt, "gnomon", train, network, batch), forward,
                                jitted(rt, "by_steps", train_by_steps, network, batch),
                                jitted(rt, "library", train_by_library, network, batch)};
  });
}

}  // namespace bench
