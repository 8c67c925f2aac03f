// tests/fuzz/device_check.h -- one random program on a device, against the reference.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/executable.h"
#include "engine/runtime/state.h"
#include "gnomon/runtime.h"
#include "tests/support/lowering.h"
#include "tests/support/random_graph.h"
#include "tests/support/rounding.h"

namespace gnomon::testing {

/// What a driver gets to compile.
inline std::size_t instructions(const Program& p) {
  std::size_t n = 0;
  for (const kernel::Kernel& k : p.kernels) n += k.types.size();
  return n;
}

/// What differs or what validation says, "" for nothing, none for a program that the device cannot
/// run (f64 where it has none) or whose kernels have more than `most` instructions in all. Loops
/// run as the cost model says and, where there is such a form, apart. Throws UsageError for a
/// program that takes too many loop trips for the driver.
inline std::optional<std::string> mismatch_on_device(Runtime& rt, const RandomGraph& r,
                                                     std::size_t most = ~std::size_t{0}) {
  if (holds(r, DType::f64) && !rt.target().features.float64) return std::nullopt;
  const auto want = evaluate(r.graph, r.inputs);
  for (const LoopMapping loops :
       {LoopMapping::automatic, LoopMapping::workgroup, LoopMapping::device}) {
    const std::size_t messages = rt.validation_messages().size();
    const Program p = compile(r.graph, rt.target(), {.loops = loops, .keep_text = true});
    if (instructions(p) > most) {
      if (loops == LoopMapping::automatic) return std::nullopt;
      continue;
    }
    // Most programs have no loop that comes apart.
    if (loops == LoopMapping::workgroup && p.fusion_text.find("one workgroup") == std::string::npos)
      continue;
    if (loops == LoopMapping::device && p.loops.empty()) continue;
    Executable executable(rt.state()->context, p, {.validate_modules = rt.state()->validate});
    std::vector<Array> in, out;
    for (const HostArray& a : r.inputs) in.push_back(rt.from_bytes(a.aval, a.bytes));
    executable.run(in, out);
    for (std::size_t i = 0; i < want.size(); ++i) {
      HostArray got(out[i].aval());
      rt.to_bytes(out[i], got.bytes);
      if (const std::string d = mismatch(r, i, got, want); !d.empty())
        return "output " + std::to_string(i) + ": " + d + "\n" + p.fusion_text + print(p);
    }
    if (const auto said = rt.validation_messages(); said.size() > messages) return said.back();
  }
  return "";
}

}  // namespace gnomon::testing
