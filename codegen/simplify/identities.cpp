// codegen/simplify/identities.cpp -- operations that are no work: neutral operands, views of views,
// casts of casts.
#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/special.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/rewriter.h"
#include "codegen/simplify/signs.h"

namespace gnomon {
namespace {

/// Whether every value of `from` survives in `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::boolean) return true;
  if (to == DType::boolean) return false;
  const int from_bits = static_cast<int>(bits_of(from)), to_bits = static_cast<int>(bits_of(to));
  if (is_float(from)) {
    if (!is_float(to)) return false;
    return to == DType::f64 || (to == DType::f32 && from_bits == 16);
  }
  if (is_float(to)) {
    const int exact = to == DType::f64 ? 53 : to == DType::f32 ? 24 : to == DType::f16 ? 11 : 8;
    return from_bits - (is_signed(from) ? 1 : 0) <= exact;
  }
  if (is_signed(from)) return is_signed(to) && to_bits >= from_bits;
  return to_bits > from_bits || (to_bits == from_bits && is_unsigned(to));
}

/// x -> middle -> to equals x -> to.
bool skips_middle(DType from, DType middle, DType to) {
  if (!is_lossless(from, middle)) return false;
  // A float out of an integer's range has no specified conversion, an integer wraps.
  if (is_float(middle) && !is_float(from) && !is_float(to)) return is_lossless(from, to);
  return true;
}

class Identities {
 public:
  Identities(Rewriter& r, const Primitive& p, const Params& params,
             const std::vector<ValueId>& inputs, const Aval& out, Loc loc)
      : r_(r), p_(p), params_(params), in_(inputs), out_(out), loc_(loc) {}

  std::optional<ValueId> find() {
    if (auto v = neutral_operand()) return v;
    if (auto v = equal_operands()) return v;
    if (auto v = inverse()) return v;
    if (auto v = zero_again()) return v;
    if (is(add_p))
      if (auto v = joined_sum(r_, in_[0], in_[1], loc_)) return v;
    if (auto v = negation()) return v;
    if (auto v = choice()) return v;
    if (auto v = cast()) return v;
    if (auto v = extreme()) return v;
    // An exponential that cannot overflow is cheaper.
    if (is(exp_p) && never_positive(r_, in_[0]))
      return r_.emit1(exp_nonpositive_p, {}, {in_[0]}, loc_);
    return view();
  }

 private:
  bool is(const Primitive& p) const { return &p_ == &p; }

  /// The operand that is left when the other one is neutral.
  std::optional<ValueId> neutral_operand() {
    if (in_.size() != 2) return std::nullopt;
    const bool floats = is_float(out_.dtype);
    auto other = [&](double x) -> std::optional<ValueId> {
      if (r_.is_uniform(in_[1], x)) return in_[0];
      if (r_.is_uniform(in_[0], x)) return in_[1];
      return std::nullopt;
    };
    auto right = [&](double x) -> std::optional<ValueId> {
      return r_.is_uniform(in_[1], x) ? std::optional(in_[0]) : std::nullopt;
    };
    // -0 + 0 is 0: only -0 is neutral in a sum of floats, and only 0 in a difference.
    if (is(add_p)) return other(floats ? -0.0 : 0.0);
    if (is(sub_p)) return right(0.0);
    if (is(mul_p)) {
      if (!floats) {
        for (ValueId v : in_) {
          if (r_.is_uniform(v, 0)) return v;
        }
      }
      return other(1);
    }
    if (is(div_p)) return right(1);
    if (is(or_p) || is(xor_p)) return other(0);
    if (is(shl_p) || is(shr_p)) return right(0);
    if (is(and_p) && out_.dtype == DType::boolean) {
      for (ValueId v : in_) {
        if (r_.is_uniform(v, 0)) return v;
      }
      return other(1);
    }
    return std::nullopt;
  }

  std::optional<ValueId> equal_operands() {
    if (in_.size() != 2 || in_[0] != in_[1]) return std::nullopt;
    if (is(and_p) || is(or_p) || is(max_p) || is(min_p)) return in_[0];
    return std::nullopt;
  }

  std::optional<ValueId> inverse() {
    for (const Primitive* p : {&neg_p, &not_p}) {
      if (!is(*p)) continue;
      if (const Equation* e = r_.maker(in_[0], *p)) return e->inputs[0];
    }
    if (is(integer_pow_p) && params_.as<IntegerPowParams>().exponent == 1) return in_[0];
    return std::nullopt;
  }

  /// What 0 was added to is not -0 any more.
  std::optional<ValueId> zero_again() {
    if (!is(add_p) || !is_float(out_.dtype)) return std::nullopt;
    const auto zero = [&](ValueId v) { return r_.is_uniform(v, 0.0); };
    for (const auto& [sum, other] : {std::pair(in_[0], in_[1]), std::pair(in_[1], in_[0])}) {
      const Equation* inner = zero(other) ? r_.maker(sum, add_p) : nullptr;
      if (inner && std::any_of(inner->inputs.begin(), inner->inputs.end(), zero)) return sum;
    }
    return std::nullopt;
  }

  /// Sums take in the signs of their terms, products pass on those of their factors; both are
  /// exact.
  std::optional<ValueId> negation() {
    if (in_.size() != 2) return std::nullopt;
    const Equation *left = r_.maker(in_[0], neg_p), *right = r_.maker(in_[1], neg_p);
    if (!left && !right) return std::nullopt;
    if (is(add_p))
      return right ? r_.emit1(sub_p, {}, {in_[0], right->inputs[0]}, loc_)
                   : r_.emit1(sub_p, {}, {in_[1], left->inputs[0]}, loc_);
    if (is(sub_p) && right) return r_.emit1(add_p, {}, {in_[0], right->inputs[0]}, loc_);
    if (!is(mul_p) && !(is(div_p) && is_float(out_.dtype))) return std::nullopt;
    const ValueId a = left ? left->inputs[0] : in_[0], b = right ? right->inputs[0] : in_[1];
    const ValueId magnitude = r_.emit1(p_, {}, {a, b}, loc_);
    return left && right ? magnitude : r_.emit1(neg_p, {}, {magnitude}, loc_);
  }

  std::optional<ValueId> choice() {
    if (!is(select_p)) return std::nullopt;
    if (in_[1] == in_[2]) return in_[1];
    if (const HostArray* p = r_.uniform(in_[0])) return p->integer(0) ? in_[1] : in_[2];
    if (const Equation* e = r_.maker(in_[0], not_p)) {
      return r_.emit1(select_p, {}, {e->inputs[0], in_[2], in_[1]}, loc_);
    }
    return std::nullopt;
  }

  std::optional<ValueId> cast() {
    if (!is(convert_p) && !is(bitcast_p)) return std::nullopt;
    if (r_.aval(in_[0]) == out_) return in_[0];
    const Equation* inner = r_.maker(in_[0], p_);
    if (!inner) return std::nullopt;
    const ValueId x = inner->inputs[0];
    const Aval& from = r_.aval(x);
    const DType middle = r_.aval(in_[0]).dtype;
    if (is(convert_p) && !skips_middle(from.dtype, middle, out_.dtype)) return std::nullopt;
    if (is(bitcast_p) && size_of(from.dtype) != size_of(out_.dtype)) return std::nullopt;
    return r_.emit1(p_, DTypeParams{out_.dtype}, {x}, loc_);
  }

  std::optional<ValueId> view() {
    // A view of nothing is nothing.
    if ((is(reshape_p) || is(broadcast_p)) && r_.maker(in_[0], unwritten_p))
      return r_.emit1(unwritten_p, BufferParams{out_.dtype, out_.shape}, {}, loc_);
    if (is(reshape_p)) return reshape();
    if (is(permute_p)) return permute();
    if (is(broadcast_p)) return broadcast();
    if (is(slice_p)) return slice();
    if (is(reverse_p)) return reverse();
    if (is(concatenate_p) && in_.size() == 1) return in_[0];
    if (is(pad_p)) return pad();
    if ((is(sum_p) || is(prod_p) || is(reduce_max_p) || is(reduce_min_p)) &&
        params_.as<AxesParams>().axes.empty()) {
      return in_[0];
    }
    // Starts are clamped so that the slice fits: a whole one starts at 0.
    if (is(dynamic_slice_p) && r_.aval(in_[0]) == out_) return in_[0];
    if (is(dynamic_update_slice_p) && r_.aval(in_[1]) == out_) return in_[1];
    return std::nullopt;
  }

  std::optional<ValueId> reshape() {
    if (r_.aval(in_[0]) == out_) return in_[0];
    if (const Equation* inner = r_.maker(in_[0], reshape_p)) {
      return r_.emit1(reshape_p, ReshapeParams{out_.shape}, {inner->inputs[0]}, loc_);
    }
    return repeated();
  }

  /// A view of a constant that is the same everywhere is that constant again.
  std::optional<ValueId> repeated() {
    if (const HostArray* scalar = r_.uniform(in_[0])) return r_.full(*scalar, out_.shape, loc_);
    return std::nullopt;
  }

  std::optional<ValueId> permute() {
    const std::vector<int>& axes = params_.as<AxesParams>().axes;
    if (std::is_sorted(axes.begin(), axes.end())) return in_[0];
    if (const Equation* inner = r_.maker(in_[0], permute_p)) {
      const std::vector<int>& first = inner->params.as<AxesParams>().axes;
      std::vector<int> both;
      for (int a : axes) both.push_back(first[at(a)]);
      return r_.emit1(permute_p, AxesParams{both}, {inner->inputs[0]}, loc_);
    }
    return repeated();
  }

  std::optional<ValueId> broadcast() {
    if (r_.aval(in_[0]) == out_) return in_[0];
    const Equation* inner = r_.maker(in_[0], broadcast_p);
    if (!inner) return std::nullopt;
    std::vector<int> axes = inner->params.as<BroadcastParams>().axes;
    for (int& a : axes) a = params_.as<BroadcastParams>().axes[at(a)];
    return r_.emit1(broadcast_p, BroadcastParams{out_.shape, axes}, {inner->inputs[0]}, loc_);
  }

  /// The largest (smallest) of copies of one element is that element.
  std::optional<ValueId> extreme() {
    if (!is(reduce_max_p) && !is(reduce_min_p)) return std::nullopt;
    const Equation* inner = r_.maker(in_[0], broadcast_p);
    if (!inner || r_.aval(in_[0]).shape.size() == 0) return std::nullopt;
    const std::vector<int>& gone = params_.as<AxesParams>().axes;
    std::vector<int> axes = inner->params.as<BroadcastParams>().axes;
    for (int& a : axes) {
      if (std::find(gone.begin(), gone.end(), a) != gone.end()) return std::nullopt;
      a -= static_cast<int>(std::count_if(gone.begin(), gone.end(), [&](int g) { return g < a; }));
    }
    return r_.emit1(broadcast_p, BroadcastParams{out_.shape, axes}, {inner->inputs[0]}, loc_);
  }

  std::optional<ValueId> slice() {
    if (r_.aval(in_[0]) == out_) return in_[0];
    if (auto v = repeated()) return v;
    const Equation* inner = r_.maker(in_[0], slice_p);
    if (!inner || out_.shape.size() == 0) return std::nullopt;
    SliceParams both = inner->params.as<SliceParams>();
    const auto& outer = params_.as<SliceParams>();
    for (std::size_t i = 0; i < both.starts.size(); ++i) {
      both.starts[i] += outer.starts[i] * both.strides[i];
      both.strides[i] *= outer.strides[i];
      both.limits[i] = both.starts[i] + (out_.shape[static_cast<int>(i)] - 1) * both.strides[i] + 1;
    }
    return r_.emit1(slice_p, both, {inner->inputs[0]}, loc_);
  }

  std::optional<ValueId> reverse() {
    const std::vector<int>& axes = params_.as<AxesParams>().axes;
    bool nothing = true;
    for (int a : axes) nothing &= out_.shape[a] <= 1;
    if (nothing) return in_[0];
    if (const Equation* inner = r_.maker(in_[0], reverse_p); inner && inner->params == params_) {
      return inner->inputs[0];
    }
    return repeated();
  }

  std::optional<ValueId> pad() {
    const auto& p = params_.as<PadParams>();
    for (std::size_t i = 0; i < p.lo.size(); ++i) {
      if (p.lo[i] != 0 || p.hi[i] != 0 || p.interior[i] != 0) return std::nullopt;
    }
    return in_[0];
  }

  Rewriter& r_;
  const Primitive& p_;
  const Params& params_;
  const std::vector<ValueId>& in_;
  const Aval& out_;
  Loc loc_;
};

}  // namespace

std::optional<ValueId> apply_identities(Rewriter& r, const Primitive& p, const Params& params,
                                        const std::vector<ValueId>& inputs, const Aval& out,
                                        Loc loc) {
  return Identities(r, p, params, inputs, out, loc).find();
}

}  // namespace gnomon
