// tests/bench/gnomon_conv.cpp -- convolutions as a user of the library writes them.
#include "gnomon_jitted.h"
#include "problems_conv.h"

namespace bench {
namespace {

using P = Conv2d;

struct Operands {
  Array images, kernel;
};

Array conv2d(const Operands& o) {
  return gn::conv(o.images, o.kernel, {.padding = gn::Padding::same});
}

std::vector<float> host(gn::Runtime& rt, const Operands& o) {
  return flat(rt, {o.images, o.kernel});
}

}  // namespace

void add_gnomon_conv(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  const auto operands = [=] {
    return Operands{rt->from_host(conv2d_images(), {P::batch, P::in, P::side, P::side}),
                    rt->from_host(conv2d_kernel(), {P::out, P::in, P::window, P::window})};
  };
  find_workload(workloads, "conv2d").makers.push_back([=] {
    return std::vector<Variant>{jitted(rt, "gnomon", conv2d, operands())};
  });
  find_workload(workloads, "conv2d_grad").makers.push_back([=] {
    const auto gradient = [](const Operands& o, const Array& cotangent) {
      return gn::grad([&](const Operands& at) { return gn::sum(cotangent * conv2d(at)); })(o);
    };
    return std::vector<Variant>{
        jitted(rt, "gnomon", gradient, operands(),
               rt->from_host(conv2d_cotangent(), {P::batch, P::out, P::side, P::side}))};
  });
}

}  // namespace bench
