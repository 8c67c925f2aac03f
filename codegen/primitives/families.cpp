// codegen/primitives/families.cpp -- the parts of the shared rules that do not depend on the
// operation.
#include "codegen/primitives/families.h"

#include "codegen/trace/trace.h"

namespace gnomon::rules {
std::string_view words(Accepts a) {
  switch (a) {
    case Accepts::any:
      return "any array";
    case Accepts::numbers:
      return "numbers, not bool";
    case Accepts::signed_numbers:
      return "signed integers and floats";
    case Accepts::floats:
      return "floats";
    case Accepts::integers:
      return "integers";
    case Accepts::bits:
      return "integers and bool";
    case Accepts::booleans:
      return "bool";
  }
  return "?";
}

void require_operands(std::string_view op, std::span<const Aval> inputs, std::size_t count,
                      Loc loc) {
  if (inputs.size() == count) return;
  usage_error(op,
              "takes " + std::to_string(count) + (count == 1 ? " operand" : " operands") +
                  ", got " + std::to_string(inputs.size()),
              loc);
}

void require_dtype(std::string_view op, const Aval& a, Accepts accepted, Loc loc) {
  if (accepts(accepted, a.dtype)) return;
  usage_error(op,
              "takes " + std::string(words(accepted)) + ", got " + to_string(a) + "; cast it first",
              loc);
}

void require_equal(std::string_view op, std::span<const Aval> inputs, Loc loc) {
  for (const Aval& a : inputs)
    if (a != inputs[0])
      usage_error(
          op, "operands must have one type, got " + to_string(inputs[0]) + " and " + to_string(a),
          loc);
}

Aval elementwise_aval(std::string_view op, std::span<const Aval> inputs, std::size_t count,
                      Accepts accepted, Loc loc) {
  require_operands(op, inputs, count, loc);
  require_equal(op, inputs, loc);
  require_dtype(op, inputs[0], accepted, loc);
  return inputs[0];
}

Tangents zero_tangents(const Params&, const Arrays&, const Arrays& outputs, const Tangents&) {
  return Tangents(outputs.size());
}

void throw_not_linear(std::string_view op) {
  const Trace* trace = Trace::current();
  usage_error("linear_transpose",
              "`" + std::string(op) +
                  "` is not linear in what depends on the argument; a function to transpose adds, "
                  "scales and moves, and so do the tangents of a rule of custom_jvp",
              trace ? trace->loc : Loc{});
}

Aligned align_batch(const Arrays& inputs, const BatchAxes& axes, Dim size) {
  std::optional<int> common;
  bool agree = true;
  for (const std::optional<int>& axis : axes) {
    if (!axis) continue;
    agree &= !common || *common == *axis;
    if (!common) common = axis;
  }
  Aligned r{{}, agree ? common.value_or(0) : 0};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    r.values.push_back(axes[i] ? lax::move_axis(inputs[i], *axes[i], r.axis)
                               : lax::insert_axis(inputs[i], r.axis, size));
  return r;
}

Array batch_front(const Array& x, std::optional<int> axis, Dim size) {
  return axis ? lax::move_axis(x, *axis, 0) : lax::insert_axis(x, 0, size);
}

std::vector<int> shift_axes(std::vector<int> axes, int batch_axis) {
  for (int& a : axes)
    if (a >= batch_axis) ++a;
  return axes;
}

}  // namespace gnomon::rules
