// engine/jit/reference.h -- jitted functions on the host: GNOMON_JIT=off and GNOMON_CHECK=nan.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codegen/graph/graph.h"
#include "engine/runtime/state.h"

namespace gnomon::detail {

/// What the host reference makes of these arrays, back on the device. Says and throws what the
/// graph's statements do, to that handler.
std::vector<Array> run_by_reference(const RuntimeState&, const Graph&, const Arrays& inputs,
                                    std::uint64_t print_bytes, const PrintHandler&);

/// Throws CheckFailed where a result of the function `name` is not finite. Names the operation that
/// the host reference finds to be the first that makes such a number; that runs only then.
void require_finite(const RuntimeState&, const std::string& name, const Graph&,
                    const Arrays& inputs, const Arrays& outputs);

}  // namespace gnomon::detail
