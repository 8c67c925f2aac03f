// codegen/operations/custom_vmap.h -- parameters of custom_vmap: a body, and C++ code for vmap.
#pragma once
#include <memory>

#include "codegen/graph/primitive.h"
#include "gnomon/custom.h"

namespace gnomon {

/// C++ code does not come back from text: a graph that was parsed has no rule.
class BatchCodeRef {
 public:
  BatchCodeRef() = default;
  explicit BatchCodeRef(std::shared_ptr<const detail::BatchCode> code) : code_(std::move(code)) {}
  const detail::BatchCode* get() const { return code_.get(); }

  bool operator==(const BatchCodeRef& other) const;
  /// Not of the code: programs do not depend on it, and addresses differ from run to run.
  void hash(Hasher&) const {}
  void print(ParamPrinter& out) const { out.text(code_ ? "code" : "none"); }
  static BatchCodeRef parse(ParamParser&);

 private:
  std::shared_ptr<const detail::BatchCode> code_;
};

/// `body(inputs...) -> y...`; see gnomon/custom.h.
struct CustomVmapParams {
  GraphPtr body;
  BatchCodeRef rule;
};

extern const Primitive custom_vmap_p;

}  // namespace gnomon
