// codegen/ops/debug.cpp -- what gnomon/debug.h leaves untyped.
#include "gnomon/debug.h"
#include "codegen/lax/align.h"
#include "codegen/operations/effects.h"
#include "codegen/transforms/control_trace.h"

namespace gnomon {
namespace {

Array array_of(const Operand& x) {
  if (x.is_array()) return x.array();
  DType t = align::default_dtype(x.scalar().kind);
  for (const DType wider : {DType::i64, DType::u64})
    if (!align::holds(t, x.scalar())) t = wider;
  return align::in_dtype("debug::print", x, t);
}

}  // namespace

void debug::print_values(const Format& format, const std::vector<Operand>& values) {
  Arrays arrays;
  for (const Operand& x : values) arrays.push_back(array_of(x));
  emit(print_p, StatementParams{format.text, {}, {}}, arrays, format.loc);
}

void check_false(const Operand& predicate, std::string_view message) {
  const Scalar& known = predicate.scalar();
  if (!predicate.is_array() && known.kind == Scalar::Kind::boolean && known.integer == 0) return;
  emit(error_if_p, StatementParams{std::string(message), {}, {}}, {array_of(predicate)},
       predicate.loc());
}

}  // namespace gnomon
