// codegen/trace/executor.h -- what runs a graph on the device that its inputs lie on.
#pragma once
#include <string_view>

#include "gnomon/array.h"

namespace gnomon {

struct Graph;

/// Implemented by the engine and found through the arrays (Storage::executor). May be called from
/// any thread.
class Executor {
 public:
  virtual ~Executor() = default;
  /// The outputs of `graph`, started but not waited for. `inputs` are concrete: of this executor,
  /// or on no device, which are brought to it. `op` is what messages and dumps call the graph.
  virtual Arrays execute(std::string_view op, const Graph& graph, const Arrays& inputs) = 0;
};

}  // namespace gnomon
