// codegen/cost/trip.cpp -- the dependences of a straight piece of a kernel.
#include "codegen/cost/trip.h"

#include <algorithm>
#include <vector>

namespace gnomon {
namespace {

using kernel::Instruction;
using kernel::Op;
using kernel::Region;
using kernel::Value;

/// The loop's condition or body inside of `r` that has the most instructions; null without loops.
const Region* longest_inside(const Region& r) {
  const Region* longest = nullptr;
  const auto consider = [&](const Region* other) {
    if (other && (!longest || other->body.size() > longest->body.size())) longest = other;
  };
  for (const Instruction& i : r.body)
    for (const Region& inner : i.regions) {
      if (i.op == Op::loop) consider(&inner);
      consider(longest_inside(inner));
    }
  return longest;
}

std::size_t memory_accesses(const Region& r) {
  std::size_t n = 0;
  for (const Instruction& i : r.body) {
    n += kernel::space(i.op) != kernel::Space::none;
    for (const Region& inner : i.regions) n += memory_accesses(inner);
  }
  return n;
}

/// What a region makes itself, constants apart, which wait for nothing and in no register.
class Dependences {
 public:
  Dependences(const kernel::Kernel& k, const Region& r) : k_(k), region_(r), own_(k.types.size()) {
    for (const Value v : r.arguments) own_[v.index] = true;
    for (const Instruction& i : r.body)
      for (const Value v : i.results) own_[v.index] = i.op != Op::constant;
  }

  std::size_t operations() const {
    return static_cast<std::size_t>(
        std::count_if(region_.body.begin(), region_.body.end(),
                      [](const Instruction& i) { return i.op != Op::constant; }));
  }

  /// Operations of the longest chain.
  std::size_t span() const {
    std::size_t longest = 0;
    std::vector<std::size_t> depth(own_.size());  // of the chain that a value ends
    for (const Instruction& i : region_.body) {
      if (i.op == Op::constant) continue;
      std::size_t before = 0;
      for (const Value v : i.operands)
        if (own_[v.index]) before = std::max(before, depth[v.index]);
      for (const Value v : i.results) depth[v.index] = before + 1;
      longest = std::max(longest, before + 1);
    }
    return longest;
  }

  /// Words that are live at once, at most: from where they are made to where they are needed last.
  std::size_t live() const {
    std::size_t now = 0, most = 0;
    std::vector<bool> waits(own_.size());
    const auto need = [&](Value v) {
      if (own_[v.index] && !waits[v.index]) now += words(v);
      if (own_[v.index]) waits[v.index] = true;
    };
    for (const Value v : region_.yields) need(v);
    for (auto i = region_.body.rbegin(); i != region_.body.rend(); ++i) {
      for (const Value v : i->results) {
        if (waits[v.index]) now -= words(v);
        waits[v.index] = false;
      }
      for (const Value v : i->operands) need(v);
      most = std::max(most, now);
    }
    return most;
  }

 private:
  std::size_t words(Value v) const { return bits_of(k_.type(v).scalar) > 32 ? 2 : 1; }

  const kernel::Kernel& k_;
  const Region& region_;
  std::vector<bool> own_;
};

}  // namespace

double Trip::parallelism() const {
  return static_cast<double>(operations) / static_cast<double>(std::max<std::size_t>(span, 1));
}

Trip longest_trip(const kernel::Kernel& k) {
  const Region* r = longest_inside(k.body);
  if (r == nullptr) return {};
  const Dependences d(k, *r);
  return {r->body.size(), d.operations(), memory_accesses(*r), d.span(), d.live()};
}

}  // namespace gnomon
