// tests/engine/ode_reversible_device_test.cpp -- gradients by undone steps on the device: their
// memory, and ensembles in which every lane goes back its own steps.
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

class OdeReversibleDevice : public DeviceTest {};

/// y' = sin(w y), element by element.
const ode::OdeTerm wave{[](const Array&, const Array& y, const Array& w) { return sin(w * y); }};
constexpr Dim width = 4096;

struct Moving {
  Array y0, w;
};

TEST_F(OdeReversibleDevice, MemoryDoesNotGrowWithTheSteps) {
  const auto peak = [&](const ode::Adjoint& adjoint, const ode::Controller& controller, int steps) {
    auto f = jit(rt, [&](const Array& y0, const Array& w) {
      return grad([&](const Moving& m) {
        const auto sol =
            diffeqsolve(wave, ode::ReversibleHeun(), 0.0f, 1.0f, 1.0f / static_cast<float>(steps),
                        m.y0, m.w, {.controller = controller, .adjoint = adjoint});
        return sum(sol.y1 * sol.y1);
      })(Moving{y0, w});
    });
    std::vector<float> start, rates;
    for (int i = 0; i < width; ++i) {
      start.push_back(0.1f + 1e-4f * static_cast<float>(i));
      rates.push_back(1 - 1e-4f * static_cast<float>(i));
    }
    const Moving got = f(rt.from_host(start), rt.from_host(rates));
    // printf("%s\n", to_string(f.memory_report()).c_str());
    (void)got;
    return f.memory_report().peak();
  };
  const ode::PidController pid{.rtol = 1e-3f, .atol = 1e-3f};
  for (int n : {64, 4096}) {
    printf("reversible %d %ld\n", n,
           (long)peak(ode::ReversibleAdjoint{}, ode::ConstantStepSize{}, n));
    printf("reversible pid %d %ld\n", n, (long)peak(ode::ReversibleAdjoint{}, pid, n));
    printf("recursive %d %ld\n", n,
           (long)peak(ode::RecursiveCheckpointAdjoint{}, ode::ConstantStepSize{}, n));
  }
}

}  // namespace
}  // namespace gnomon::testing
