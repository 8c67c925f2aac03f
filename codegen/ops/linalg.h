// codegen/ops/linalg.h -- what the public functions of linear algebra share.
#pragma once
#include "codegen/lax/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon::linalg {

/// Equations emitted while it lives carry the line of the call.
class At {
 public:
  explicit At(Loc loc) : trace_(Trace::current()), before_(Trace::where()) {
    if (trace_) trace_->loc = loc;
  }
  ~At() {
    if (trace_) trace_->loc = before_;
  }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  Trace* trace_;
  Loc before_;
};

/// The operand as (square) matrices of floats; throws UsageError when it is none.
Array matrix_operand(std::string_view op, const Operand&);
Array square_operand(std::string_view op, const Operand&);

}  // namespace gnomon::linalg
