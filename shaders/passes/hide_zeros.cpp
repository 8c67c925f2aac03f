// shaders/passes/hide_zeros.cpp -- see hide_zeros.h.
#include "shaders/passes/hide_zeros.h"

#include <algorithm>

#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

bool takes_part(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::fma;
}

/// Which values are zeros, or have one among their components, and whether one of them is used.
class Zeros {
 public:
  explicit Zeros(const Kernel& k) : kernel_(k), zero_(k.types.size(), false) { walk(k.body); }

  bool operator[](Value v) const { return zero_[v.index]; }
  bool used() const { return used_; }

 private:
  void walk(const Region& r) {
    for (const Instruction& i : r.body) {
      const auto any = [&] {
        return std::any_of(i.operands.begin(), i.operands.end(),
                           [&](Value v) { return (*this)[v]; });
      };
      if (i.op == Op::constant)
        zero_[i.results[0].index] = is_float(kernel_.type(i.results[0]).scalar) && i.immediate == 0;
      if (i.op == Op::splat || i.op == Op::construct) zero_[i.results[0].index] = any();
      used_ = used_ || (takes_part(i.op) && any());
      for (const Region& inner : i.regions) walk(inner);
    }
  }

  const Kernel& kernel_;
  std::vector<bool> zero_;
  bool used_ = false;
};

class HideZeros : public Rewriter {
 public:
  using Rewriter::copy;
  HideZeros(const Kernel& source, Builder& out, const Zeros& zeros)
      : Rewriter(source, out), zeros_(zeros), hidden_(source.types.size()) {}

 protected:
  void visit(const Instruction& i) override {
    if (i.op == Op::constant && zeros_[i.results[0]]) {
      copy(i);
      const Type type = source_.type(i.results[0]);
      out_.at_depth(0, [&] {
        const Value never = out_.binary(Op::shr, out_.source(Op::invocation), out_.u32(31));
        const Value zero = out_.convert(never, type.scalar);
        hide(i.results[0], type.width == 1 ? zero : out_.splat(zero, type.width));
      });
      return;
    }
    if (!i.results.empty() && zeros_[i.results[0]]) {  // components
      copy(i);
      const std::uint8_t width = source_.type(i.results[0]).width;
      hide(i.results[0], emit_like(out_, source_, i, hidden(i.operands), width));
      return;
    }
    if (!takes_part(i.op) ||
        std::none_of(i.operands.begin(), i.operands.end(), [&](Value v) { return zeros_[v]; }))
      return copy(i);
    const std::uint8_t width = source_.type(i.results[0]).width;
    map(i.results[0], emit_like(out_, source_, i, hidden(i.operands), width));
  }

 private:
  void hide(Value v, Value by) { hidden_[v.index] = by; }
  Values hidden(std::span<const Value> values) const {
    Values r;
    for (Value v : values) r.push_back(zeros_[v] ? hidden_[v.index] : mapped(v));
    return r;
  }

  const Zeros& zeros_;
  std::vector<Value> hidden_;  // per zero of the source
};

}  // namespace

Kernel hide_zeros(Kernel source) {
  const Zeros zeros(source);
  if (!zeros.used()) return source;
  return rewritten_by<HideZeros>(source, zeros);
}

}  // namespace gnomon::kernel
