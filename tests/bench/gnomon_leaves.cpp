// tests/bench/gnomon_leaves.cpp -- updates of many arrays, and calls with them.
#include <array>

#include "gnomon/nn.h"
#include "gnomon/optim.h"
#include "gnomon_jitted.h"
#include "problems_leaves.h"

namespace bench {
namespace {

namespace nn = gn::nn;
namespace optim = gn::optim;

using Layers = std::vector<nn::Linear>;
struct Updated {
  Layers layers;
  optim::State<Layers> moments;
};

optim::Optimiser optimiser() { return optim::adam(static_cast<double>(AdamUpdate::rate)); }

Updated update(const Layers& layers, const optim::State<Layers>& moments, const Layers& slopes) {
  auto [updates, next] = optimiser().update(slopes, moments, layers);
  return {optim::apply_updates(layers, updates), std::move(next)};
}

std::vector<float> host(gn::Runtime& rt, const Updated& u) {
  std::vector<float> all;
  for (const Layers* layers : {&u.layers, &u.moments.trees[0], &u.moments.trees[1]})
    for (const Array& a : gn::tree::leaves(*layers)) {
      const auto values = rt.to_host<float>(a);
      all.insert(all.end(), values.begin(), values.end());
    }
  return all;
}

struct Flat {
  Array parameters, first, second;
};
Flat copied(const Flat& f, const Array& slopes) {
  return {f.parameters + slopes, f.first + slopes, f.second + slopes};
}
std::vector<float> host(gn::Runtime& rt, const Flat& f) {
  return flat(rt, {f.parameters, f.first, f.second});
}

std::vector<Variant> adam_update(const std::shared_ptr<gn::Runtime>& rt) {
  using P = AdamUpdate;
  const auto layers = [&](float (*value)(std::size_t)) {
    Layers all;
    std::size_t i = 0;
    const auto next = [&](const gn::Shape& shape) {
      std::vector<float> values(static_cast<std::size_t>(shape.size()));
      for (float& v : values) v = value(i++);
      return rt->from_host(values, shape);
    };
    for (std::uint32_t l = 0; l < P::layers; ++l) {
      const Array weight = next({P::rows, P::columns});
      all.push_back({weight, next({P::rows})});
    }
    return all;
  };
  const auto array = [&](auto value) {
    std::vector<float> values(P::n);
    for (std::size_t i = 0; i < P::n; ++i) values[i] = value(i);
    return rt->from_host(values);
  };
  const Layers parameters = layers(P::parameter), slopes = layers(P::gradient);
  const auto first = gn::jit(*rt, [](const Layers& p, const Layers& g) {
    return optimiser().update(g, optimiser().init(p), p).second;
  })(parameters, slopes);
  const auto g = P::gradient;
  const Flat all{array(P::parameter), array([=](std::size_t i) { return (1 - P::beta1) * g(i); }),
                 array([=](std::size_t i) { return (1 - P::beta2) * g(i) * g(i); })};
  std::vector<Variant> variants{jitted(rt, "gnomon", update, parameters, first, slopes),
                                jitted(rt, "copy", copied, all, array(g))};
  variants[1].check = adam_copy_check();
  return variants;
}

struct Hundred {
  std::array<Array, Call100::arrays> arrays;
};
Array add_up(const Hundred& h) {
  Array s = h.arrays[0];
  for (std::size_t i = 1; i < h.arrays.size(); ++i) s = s + h.arrays[i];
  return s;
}

std::vector<Variant> call_100(const std::shared_ptr<gn::Runtime>& rt) {
  Hundred h;
  std::vector<float> x(Call::elements);
  for (std::size_t k = 0; k < h.arrays.size(); ++k) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + k);
    h.arrays[k] = rt->from_host(x);
  }
  std::vector<Variant> variants{
      jitted(rt, "gnomon", add_up, h),
      jitted(
          rt, "one", [](const Array& a) { return a + 1.0f; }, h.arrays[0])};
  variants[1].check = call_check();
  return variants;
}

}  // namespace

void add_gnomon_leaves(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  find_workload(workloads, "adam_update").makers.push_back([=] { return adam_update(rt); });
  find_workload(workloads, "call_100").makers.push_back([=] { return call_100(rt); });
}

}  // namespace bench
