// shaders/passes/hide_trips.cpp -- see hide_trips.h.
#include "shaders/passes/hide_trips.h"

#include <algorithm>
#include <map>

#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

class HideTrips : public Rewriter {
 public:
  using Rewriter::copy;
  HideTrips(const Kernel& source, Builder& out, HideTripsOptions options)
      : Rewriter(source, out), options_(options) {}

 protected:
  void visit(const Instruction& i) override {
    if (const auto bound = bounds_.find(&i); bound != bounds_.end()) {
      map(i.results[0], out_.compare(Op::lt, mapped(i.operands[0]), bound->second));
      return;
    }
    if (i.op == Op::loop && to_hide(i)) {
      const Instruction& test = i.regions[0].body[0];
      const Value never = out_.binary(Op::shr, out_.source(Op::invocation), out_.u32(31));
      bounds_[&test] = out_.add(mapped(test.operands[1]), never);
    }
    copy(i);
  }

 private:
  /// Counts up to a constant, and reads or fills an array on the way.
  bool to_hide(const Instruction& i) const {
    const Region &test = i.regions[0], &body = i.regions[1];
    if (i.immediate == 0 || i.immediate > options_.most_trips || test.body.size() != 1 ||
        test.body[0].op != Op::lt || !out_.is_constant(mapped(test.body[0].operands[1])))
      return false;
    return source_.type(test.body[0].operands[1]).scalar == DType::u32 &&
           std::any_of(body.body.begin(), body.body.end(), [](const Instruction& x) {
             return x.op == Op::private_store || x.op == Op::private_load;
           });
  }

  HideTripsOptions options_;
  std::map<const Instruction*, Value> bounds_;  // of the comparisons that end hidden loops
};

}  // namespace

Kernel hide_trips(Kernel source, HideTripsOptions options) {
  if (options.most_trips == 0 || source.privates.empty()) return source;
  return rewritten_by<HideTrips>(source, options);
}

}  // namespace gnomon::kernel
