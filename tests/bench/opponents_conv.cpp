// tests/bench/opponents_conv.cpp -- what convolutions are measured by: oneDNN, where that is
// installed.
#include <memory>

#include "harness.h"
#include "problems_conv.h"
#ifdef BENCH_HAS_DNNL
#include "conv_dnnl.h"
#endif

namespace bench {

#ifdef BENCH_HAS_DNNL
namespace {

struct Memory {
  DnnlConv conv{{Conv2d::batch, Conv2d::in, Conv2d::out, Conv2d::side, Conv2d::window}};
  std::vector<float> images = conv2d_images(), kernel = conv2d_kernel(),
                     cotangent = conv2d_cotangent();
  std::vector<float> result, of_kernel;
};

Variant native(bool gradients) {
  auto m = std::make_shared<Memory>();
  m->result.resize(gradients ? Conv2d::images : Conv2d::result);
  if (gradients) m->of_kernel.resize(Conv2d::kernel);
  Variant v;
  v.name = "native";
  v.run = [=] {
    if (gradients) {
      m->conv.backward_images(m->cotangent.data(), m->kernel.data(), m->result.data());
      m->conv.backward_kernel(m->images.data(), m->cotangent.data(), m->of_kernel.data());
    } else {
      m->conv.forward(m->images.data(), m->kernel.data(), nullptr, m->result.data());
    }
  };
  v.after = let_dnnl_sleep;
  v.result = [=] {
    std::vector<float> all = m->result;
    all.insert(all.end(), m->of_kernel.begin(), m->of_kernel.end());
    return all;
  };
  return v;
}

}  // namespace

void add_conv_opponents(std::vector<Workload>& workloads) {
  for (const bool gradients : {false, true})
    find_workload(workloads, gradients ? "conv2d_grad" : "conv2d").makers.push_back([=] {
      return std::vector<Variant>{native(gradients)};
    });
}
#else
void add_conv_opponents(std::vector<Workload>&) {}
#endif

}  // namespace bench
