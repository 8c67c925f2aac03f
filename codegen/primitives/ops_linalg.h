// codegen/primitives/ops_linalg.h -- what the public functions of linear algebra share.
#pragma once
#include "codegen/primitives/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon::linalg {

/// Equations emitted while it lives carry the line of the call. Throws UsageError outside a trace.
class At {
 public:
  At(std::string_view op, Loc loc) : trace_(Trace::active(op, loc)), before_(trace_.loc) {
    trace_.loc = loc;
  }
  ~At() { trace_.loc = before_; }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  Trace& trace_;
  Loc before_;
};

/// The operand as (square) matrices of floats; throws UsageError when it is none.
Array matrix_operand(std::string_view op, const Operand&);
Array square_operand(std::string_view op, const Operand&);

}  // namespace gnomon::linalg
