// codegen/simplify/signs.cpp -- signs follow from operands, a few equations up.
#include "codegen/simplify/signs.h"

#include <algorithm>

#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {
namespace {

enum class Sign { unknown, never_positive, never_negative };

/// Equations that one question looks at, at most, from the value up.
constexpr int farthest = 8;

Sign flipped(Sign s) {
  if (s == Sign::unknown) return s;
  return s == Sign::never_positive ? Sign::never_negative : Sign::never_positive;
}

bool negates(const Rewriter& r, ValueId v, ValueId x) {
  const Equation* e = r.maker(v, neg_p);
  return e != nullptr && e->inputs[0] == x;
}

/// Whether `top`, which has the shape of `x`, is the maximum of x over some axes, repeated along
/// them.
bool is_maximum(const Rewriter& r, ValueId top, ValueId x) {
  const Shape& shape = r.aval(x).shape;
  if (r.aval(top).shape != shape) return false;
  // axis[i]: the axis of x that axis i of what makes `top` runs along. Axes of one element run
  // along none.
  std::vector<int> axis;
  for (int a = 0; a < shape.rank(); ++a) axis.push_back(a);
  for (int steps = 0; steps < farthest; ++steps) {
    const Equation* e = r.maker(top);
    if (e == nullptr || e->inputs.size() != 1) return false;
    const ValueId from = e->inputs[0];
    const Shape &inner = r.aval(from).shape, &outer = r.aval(top).shape;
    std::vector<int> source;
    if (e->primitive == &stop_gradient_p) {
      source = axis;
    } else if (e->primitive == &broadcast_p) {
      for (int a : e->params.as<BroadcastParams>().axes)
        source.push_back(axis[static_cast<std::size_t>(a)]);
    } else if (e->primitive == &reshape_p) {
      // Only axes of one element may come or go.
      int a = 0;
      const auto skip = [&] {
        while (a < outer.rank() && outer[a] == 1) ++a;
      };
      for (int i = 0; i < inner.rank(); ++i) {
        if (inner[i] == 1) {
          source.push_back(-1);
          continue;
        }
        skip();
        if (a == outer.rank() || outer[a] != inner[i]) return false;
        source.push_back(axis[static_cast<std::size_t>(a++)]);
      }
      skip();
      if (a != outer.rank()) return false;
    } else if (e->primitive == &reduce_max_p) {
      if (from != x) return false;
      const auto& gone = e->params.as<AxesParams>().axes;
      std::size_t i = 0;
      for (int a = 0; a < shape.rank(); ++a) {
        if (std::find(gone.begin(), gone.end(), a) != gone.end()) continue;
        if (shape[a] != 1 && axis[i] != a) return false;
        ++i;
      }
      return true;
    } else {
      return false;
    }
    axis = std::move(source);
    top = from;
  }
  return false;
}

Sign sign_of(const Rewriter& r, ValueId v, int depth) {
  if (const HostArray* x = r.uniform(v); x != nullptr && is_float(x->aval.dtype))
    return x->number(0) <= 0 ? Sign::never_positive : Sign::never_negative;
  const Equation* e = r.maker(v);
  if (e == nullptr || depth == 0) return Sign::unknown;
  const Primitive& p = *e->primitive;
  const auto operand = [&](std::size_t i) { return sign_of(r, e->inputs[i], depth - 1); };
  if (&p == &abs_p || &p == &exp_p || &p == &exp_nonpositive_p) return Sign::never_negative;
  if (&p == &integer_pow_p && e->params.as<IntegerPowParams>().exponent % 2 == 0)
    return Sign::never_negative;
  if (&p == &neg_p) return flipped(operand(0));
  if (&p == &broadcast_p || &p == &reshape_p || &p == &permute_p || &p == &slice_p ||
      &p == &reverse_p || &p == &stop_gradient_p)
    return operand(0);
  if (&p == &mul_p) {
    const ValueId a = e->inputs[0], b = e->inputs[1];
    if (a == b) return Sign::never_negative;
    if (negates(r, a, b) || negates(r, b, a)) return Sign::never_positive;
  }
  // Zero as a divisor may have either sign.
  const bool divides = &p == &div_p && r.uniform(e->inputs[1]) && !r.is_uniform(e->inputs[1], 0) &&
                       !r.is_uniform(e->inputs[1], -0.0);
  if (&p == &mul_p || divides) {
    const Sign a = operand(0), b = a == Sign::unknown ? a : operand(1);
    return b == Sign::unknown ? b : a == b ? Sign::never_negative : Sign::never_positive;
  }
  if (&p == &add_p) {
    const Sign a = operand(0);
    return a != Sign::unknown && a == operand(1) ? a : Sign::unknown;
  }
  if (&p == &sub_p) {
    if (is_maximum(r, e->inputs[1], e->inputs[0])) return Sign::never_positive;
    const Sign a = operand(0);
    return a != Sign::unknown && a == flipped(operand(1)) ? a : Sign::unknown;
  }
  return Sign::unknown;
}

}  // namespace

bool never_positive(const Rewriter& r, ValueId v) {
  return sign_of(r, v, farthest) == Sign::never_positive;
}

}  // namespace gnomon
