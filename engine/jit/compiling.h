// engine/jit/compiling.h -- what a Runtime with a compiler has besides its device: compiled
// programs and the way of operations outside traces.
#pragma once
#include <memory>

#include "codegen/trace/executor.h"
#include "engine/jit/program_cache.h"
#include "engine/jit/program_store.h"
#include "engine/runtime/state.h"

namespace gnomon {

class ProgramsOfRuntime final : public Compiling {
 public:
  ProgramsOfRuntime(const std::shared_ptr<RuntimeState>&, const RuntimeOptions&);

  Array placed(const Array&) override;
  std::size_t clear() override { return programs.clear(); }
  std::uint64_t dropped() const override { return programs.dropped(); }

  ProgramCache programs;
  std::shared_ptr<ProgramStore> store;  // none: no cache on disk
  std::shared_ptr<Executor> executor;   // of operations outside traces

 private:
  std::weak_ptr<RuntimeState> state_;  // which owns this
};

/// Throws UsageError, in the name of `op`, for a Runtime that has no compiler.
ProgramsOfRuntime& programs_of(const RuntimeState&, const char* op);

/// Kernels to SPIR-V by codegen.
std::shared_ptr<const Compiler> make_compiler();

}  // namespace gnomon
