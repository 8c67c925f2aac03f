// codegen/emit/workshop.h -- where the drafts of kernels are made: builder, emitter and operands.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit/draft.h"

namespace gnomon {

inline std::uint32_t word(Dim d) { return static_cast<std::uint32_t>(d); }

/// The kernel, its emitter and the buffers that stand for values in memory, made when first asked
/// for.
class Workshop {
 public:
  explicit Workshop(const DraftRequest& r);

  std::uint32_t buffer(ValueId v, kernel::Access access);
  MemoryRef memory(ValueId v, kernel::Access access) {
    return {buffer(v, access), request.layouts[v]};
  }
  void note(std::uint32_t buffer, DraftOperand o) {
    if (operands.size() <= buffer) operands.resize(buffer + 1);
    operands[buffer] = o;
  }

  /// Binds what other kernels leave in memory.
  void bind_inputs(Frame& f);
  kernel::Value iteration(ValueId v, IterationSource from);

  /// The element of `v` that the lane computes: lanes walk it in the order it has in memory.
  Index position(ValueId v);

  /// Element `n` of the lane's row of `v`: leading axes number the lanes, the others the elements
  /// of a row.
  Index row_position(ValueId v, kernel::Value n);

  Draft finish(std::string mapping);

  const DraftRequest& request;
  kernel::Builder k;
  Emitter emitter;
  std::vector<DraftOperand> operands;

 private:
  std::vector<std::optional<std::uint32_t>> buffers_;
  std::map<ValueId, std::uint32_t> iteration_words_;
};

}  // namespace gnomon
