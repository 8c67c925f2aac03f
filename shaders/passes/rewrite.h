// shaders/passes/rewrite.h -- rebuilds a kernel through a Builder, the common half of every pass.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// Gives `out` everything of `source` but its body and its number of lanes.
void copy_header(const Kernel& source, Builder& out);

/// What a pass makes of the kernel, lane for lane. `Pass` is a Rewriter, made of the kernel, the
/// builder and what else is given.
template <class Pass, class... More>
Kernel rewritten_by(const Kernel& source, const More&... more) {
  Builder out(source.name);
  copy_header(source, out);
  out.kernel().lanes = source.lanes;
  Pass(source, out, more...).copy(source.body);
  return out.take();
}

/// How often each value is an operand or yielded, by its number.
std::vector<std::uint32_t> use_counts(const Kernel&);

/// Emits a like instruction without regions on other operands, folding where the builder can; keeps
/// `exact` and the line. `width` is that of the operands and of the result, whatever they are in
/// `source`. Gives the result, if any.
Value emit_like(Builder& out, const Kernel& source, const Instruction&,
                std::span<const Value> operands, std::uint8_t width);

/// Copies regions into a builder, value for value; a pass overrides what it changes.
class Rewriter {
 public:
  Rewriter(const Kernel& source, Builder& out)
      : source_(source), out_(out), map_(source.types.size()) {}
  virtual ~Rewriter() = default;
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  void copy(const Region&);

 protected:
  /// Emits one instruction and maps its results.
  virtual void visit(const Instruction& i) { copy(i); }

  void copy(const Instruction&);
  Values mapped(std::span<const Value> values) const;
  Value mapped(Value v) const { return map_[v.index]; }
  void map(std::span<const Value> from, std::span<const Value> to);
  void map(Value from, Value to) { map_[from.index] = to; }

  const Kernel& source_;
  Builder& out_;

 private:
  std::vector<Value> map_;
};

}  // namespace gnomon::kernel
