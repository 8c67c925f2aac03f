// codegen/optimize/kernel_passes.cpp -- passes over kernels, in order.
#include "codegen/optimize/kernel_passes.h"

#include "codegen/cost/device_model.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/contract.h"
#include "shaders/passes/hide_trips.h"
#include "shaders/passes/hide_zeros.h"
#include "shaders/passes/legalize.h"
#include "shaders/passes/read_words.h"
#include "shaders/passes/refine.h"
#include "shaders/passes/schedule.h"
#include "shaders/passes/simplify.h"
#include "shaders/passes/vectorize.h"

namespace gnomon {
namespace {

using kernel::Kernel;

Kernel legalized(Kernel k, const KernelContext& c) {
  return kernel::legalize(std::move(k), {.int64 = c.target.features.int64, .alone = c.alone});
}

Kernel refined(Kernel k, const KernelContext& c) {
  return kernel::refine(std::move(k), c.target.refine);
}

Kernel with_words_read(Kernel k, const KernelContext& c) {
  return c.target.texel_reads ? kernel::read_words(std::move(k)) : std::move(k);
}

Kernel vectorized(Kernel k, const KernelContext& c) {
  // A gate reads memory as it was written, never as texels: a part may read what another one wrote.
  return kernel::vectorize(std::move(k),
                           {.texel_reads = c.target.texel_reads && !c.gate, .wide_access = true});
}

Kernel simplified(Kernel k, const KernelContext&) { return kernel::simplify(k); }

Kernel contracted(Kernel k, const KernelContext& c) {
  const bool loose = c.target.contracts && c.target.built_in_functions;
  return loose ? kernel::contract(std::move(k)) : std::move(k);
}

Kernel with_hidden_zeros(Kernel k, const KernelContext& c) {
  return c.target.folds_zeros ? kernel::hide_zeros(std::move(k)) : std::move(k);
}

Kernel with_hidden_trips(Kernel k, const KernelContext& c) {
  const std::uint64_t unrolled = device_model(c.target).unrolled_by_driver;
  return unrolled > 0 && !c.team ? kernel::hide_trips(std::move(k), {unrolled}) : std::move(k);
}

Kernel scheduled(Kernel k, const KernelContext&) { return kernel::schedule(std::move(k)); }

constexpr KernelPass table[] = {
    {"legalize", legalized, 0, legal},
    {"refine", refined, legal, rounded},
    {"read_words", with_words_read, legal, 0, false},
    {"vectorize", vectorized, legal, reached},
    {"simplify_kernel", simplified, legal},
    {"contract", contracted, rounded},
    // What simplify folds is gone by now.
    {"hide_zeros", with_hidden_zeros, legal},
    {"hide_trips", with_hidden_trips, legal, 0, false},
    {"schedule", scheduled, legal, 0, false},
};
static_assert(finds_what_it_needs(table, 0));

std::size_t instructions_of(const kernel::Region& r) {
  std::size_t n = r.body.size();
  for (const kernel::Instruction& i : r.body)
    for (const kernel::Region& inner : i.regions) n += instructions_of(inner);
  return n;
}

}  // namespace

std::span<const KernelPass> kernel_passes() { return table; }

Kernel run_kernel_passes(Kernel k, const KernelContext& c, PassLog& log) {
  for (const KernelPass& p : table) {
    if ((c.gate && !p.gates) || !log.runs(p.name)) continue;
    const std::string before = log.records() ? kernel::print(k) : "";
    const std::size_t size = log.records() ? instructions_of(k.body) : 0;
    const PassClock clock(log);
    k = p.run(std::move(k), c);
    if (log.records()) {
      const double microseconds = clock.microseconds();
      const std::string after = kernel::print(k);
      log.add(p.name, k.name, size, instructions_of(k.body), microseconds,
              after == before ? "" : after);
    }
    if (log.verifies()) kernel::verify(k);
  }
  kernel::verify(k);
  return k;
}

}  // namespace gnomon
