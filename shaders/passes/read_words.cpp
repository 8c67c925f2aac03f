// shaders/passes/read_words.cpp -- from loads of 64-bit elements to loads of words.
#include "shaders/passes/read_words.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "shaders/passes/affine.h"
#include "shaders/passes/pair_memory.h"
#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

/// Whether the words of a buffer can be read as texels.
bool in_texels(const Buffer& b) {
  return b.access == Access::read && !b.coherent && size_of(b.dtype) == 8;
}

class WordReader : public Rewriter {
 public:
  WordReader(const Kernel& source, Builder& out)
      : Rewriter(source, out),
        facts_(analyse(source, {Op::invocation, 1})),
        definitions_(definitions(source)) {
    for (Buffer& b : out.kernel().buffers)
      if (in_texels(b)) b.dtype = DType::u32;
  }

 protected:
  void visit(const Instruction& i) override {
    if (i.op != Op::load || !in_texels(source_.buffers[i.immediate])) return copy(i);
    if (i.line != 0) {
      const SourceLine& line = source_.lines[i.line - 1];
      out_.at_line(line.file, line.line);
    }
    const Value index = i.operands[0];
    const Type t = source_.type(i.results[0]);
    const Value mask = i.operands.size() > 1 ? mapped(i.operands[1]) : Value{};
    const auto buffer = static_cast<std::uint32_t>(i.immediate);
    const bool scalar = source_.type(index).width == 1;
    if (scalar && t.width > 1 && half_of({index, 0}) == 0u)
      return map(i.results[0], run(load_pairs(out_, buffer, mapped(index), t.width, mask), t));
    const std::vector<Offset> places =
        scalar ? std::vector<Offset>{} : split_components(source_, definitions_, index);
    Values elements;
    for (std::uint32_t k = 0; k < t.width; ++k) {
      const Value own = component_of(mask, k);
      if (!scalar && places.empty()) {
        elements.push_back(element(buffer, out_.extract(mapped(index), k), {}, own, t.scalar));
        continue;
      }
      const Offset at = scalar ? Offset{index, k} : places[k];
      const Value offset = out_.u32(at.offset);
      const Value place = at.root.valid() ? out_.add(mapped(at.root), offset) : offset;
      elements.push_back(element(buffer, place, half_of(at), own, t.scalar));
    }
    map(i.results[0], t.width == 1 ? elements[0] : out_.construct(elements));
  }

 private:
  /// Which half of its texel an element is, if that is known.
  std::optional<std::uint32_t> half_of(const Offset& index) const {
    if (!index.root.valid()) return index.offset % 2;
    const Linear at = linear(definitions_, index.root);
    for (const auto& [term, times] : at.terms)
      if (facts_[term].alignment_everywhere() + std::countr_zero(times) < 1) return std::nullopt;
    return (at.offset + index.offset) % 2;
  }

  Value component_of(Value mask, std::uint32_t k) {
    return mask.valid() && out_.type(mask).width > 1 ? out_.extract(mask, k) : mask;
  }

  /// The element at `index`, which is a scalar. What is known to lie in one texel with others,
  /// `vectorize` joins.
  Value element(std::uint32_t buffer, Value index, std::optional<std::uint32_t> half, Value mask,
                DType t) {
    const Value low = out_.mul(index, out_.u32(2));
    if (half && !mask.valid())
      return out_.from_words(out_.load(buffer, low), out_.load(buffer, out_.add(low, out_.u32(1))),
                             t);
    const Value both = out_.load(buffer, low, 2, mask);
    return out_.from_words(out_.extract(both, 0), out_.extract(both, 1), t);
  }

  Value run(Pair p, Type t) {
    Values elements;
    for (std::uint32_t k = 0; k < t.width; ++k)
      elements.push_back(
          out_.from_words(out_.extract(p.low, k), out_.extract(p.high, k), t.scalar));
    return out_.construct(elements);
  }

  AffineFacts facts_;
  std::vector<const Instruction*> definitions_;
};

}  // namespace

Kernel read_words(Kernel kernel) {
  if (std::none_of(kernel.buffers.begin(), kernel.buffers.end(), in_texels)) return kernel;
  return rewritten_by<WordReader>(kernel);
}

}  // namespace gnomon::kernel
