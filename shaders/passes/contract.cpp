// shaders/passes/contract.cpp -- see contract.h.
#include "shaders/passes/contract.h"

#include <vector>

#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

/// A sum or difference and which of its operands is the product.
struct Contraction {
  const Instruction* product = nullptr;
  std::size_t position = 0;
};

/// Which instructions become one.
class Contractions {
 public:
  explicit Contractions(const Kernel& k)
      : kernel_(k),
        uses_(use_counts(k)),
        here_(k.types.size(), nullptr),
        of_sum_(k.types.size()),
        gone_(k.types.size(), false) {
    find(k.body);
  }

  bool any() const { return any_; }
  /// Whether the product with this result is part of a sum.
  bool is_gone(Value product) const { return gone_[product.index]; }
  Contraction of(Value sum) const { return of_sum_[sum.index]; }

 private:
  void find(const Region& r) {
    Values products;
    for (const Instruction& i : r.body) {
      if (i.results.size() != 1 || i.exact || !is_float(kernel_.type(i.results[0]).scalar))
        continue;
      if (i.op == Op::mul) {
        here_[i.results[0].index] = &i;
        products.push_back(i.results[0]);
      }
      if (i.op == Op::add || i.op == Op::sub) take_product(i);
    }
    for (Value v : products) here_[v.index] = nullptr;
    for (const Instruction& i : r.body)
      for (const Region& inner : i.regions) find(inner);
  }

  void take_product(const Instruction& sum) {
    for (std::size_t position = 0; position < 2; ++position) {
      const Value v = sum.operands[position];
      if (here_[v.index] == nullptr || uses_[v.index] != 1) continue;
      of_sum_[sum.results[0].index] = {here_[v.index], position};
      gone_[v.index] = any_ = true;
      return;
    }
  }

  const Kernel& kernel_;
  std::vector<std::uint32_t> uses_;
  std::vector<const Instruction*> here_;  // products of the region at hand, by value
  std::vector<Contraction> of_sum_;       // by the value of the sum
  std::vector<bool> gone_;
  bool any_ = false;
};

class Contract : public Rewriter {
 public:
  using Rewriter::copy;
  Contract(const Kernel& source, Builder& out, const Contractions& found)
      : Rewriter(source, out), found_(found) {}

 protected:
  void visit(const Instruction& i) override {
    if (i.results.size() != 1) return copy(i);
    if (found_.is_gone(i.results[0])) return;
    const Contraction c = found_.of(i.results[0]);
    if (c.product == nullptr) return copy(i);
    if (i.line != 0) {
      const SourceLine& at = source_.lines[i.line - 1];
      out_.at_line(at.file.c_str(), at.line);
    }
    Value a = mapped(c.product->operands[0]);
    const Value b = mapped(c.product->operands[1]);
    Value rest = mapped(i.operands[1 - c.position]);
    if (i.op == Op::sub) {
      Value& less = c.position == 0 ? rest : a;
      less = out_.unary(Op::neg, less);
    }
    map(i.results[0], out_.fma(a, b, rest));
  }

 private:
  const Contractions& found_;
};

}  // namespace

Kernel contract(Kernel source) {
  const Contractions found(source);
  if (!found.any()) return source;
  return rewritten_by<Contract>(source, found);
}

}  // namespace gnomon::kernel
