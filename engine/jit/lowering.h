// engine/jit/lowering.h -- a traced function apart from its calls: what `Jitted::lower` keeps.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/graph.h"
#include "engine/runtime/state.h"
#include "gnomon/lowered.h"

namespace gnomon::detail {

struct LoweredFunction {
  std::shared_ptr<RuntimeState> state;
  std::string name;
  CompileOptions options;
  Graph graph;
  Arrays captures;
  std::vector<aot::Leaf> arguments, results;
  std::vector<std::string> statics;
};

/// Whether it has f64 values, which Vulkan 1.1 does not promise.
bool uses_doubles(const LoweredFunction&);

}  // namespace gnomon::detail
