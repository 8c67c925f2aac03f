// codegen/graph/element.h -- what a primitive tells the compiler: how one element of its output is
// computed.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "codegen/graph/params.h"
#include "gnomon/array.h"
#include "gnomon/error.h"
#include "shaders/kernel/builder.h"

namespace gnomon {

struct Target;
namespace kernel {
struct Team;
}

/// A position in an array while kernels are built: coordinates, a flat row-major index, or both;
/// each is derived from the other on demand, so that an elementwise chain over one shape never
/// divides.
class Index {
 public:
  Index() = default;
  static Index coordinates(const Shape& shape, kernel::Values coordinates);
  static Index flat(const Shape& shape, kernel::Value flat);
  /// u32 coordinate along `axis`.
  kernel::Value operator()(kernel::Builder&, int axis) const;
  kernel::Value flat(kernel::Builder&) const;
  /// The same flat position in an array of another shape of equal size.
  Index reshaped(kernel::Builder&, const Shape&) const;
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }

 private:
  Shape shape_;
  mutable kernel::Values coordinates_;  // empty until asked for (rank 0: always)
  mutable kernel::Value flat_;
  friend class Frame;
};

/// What an element rule works with.
class ElementContext {
 public:
  virtual ~ElementContext() = default;
  kernel::Builder& k;
  std::span<const Aval> inputs;
  std::span<const Aval> outputs;
  bool in_loop = false;   // this runs once a trip of a loop around it
  Dim unroll_limit = 0;   // ranges up to this length are written out instead of walked by a loop
  Dim product_limit = 0;  // as unroll_limit, of products with a vector that the lane holds
  const kernel::Team* team = nullptr;  // invocations that compute this element together
  bool built_ins = false;  // the driver's own exp, sin, ... will do (CompileOptions::fast_math)

  /// The element of input `i` at `index` (u32 coordinates within its shape; in bounds, always:
  /// clamp first). bool arrays give Op values of dtype boolean.
  virtual kernel::Value operand(std::size_t i, const Index& index) = 0;
  /// Whether the terms of this product are written out, given which of its two inputs are matrices
  /// that are read in runs: then the lane has the other one in an array of its own. An element of
  /// each was asked for.
  virtual bool writes_out(bool left_in_runs, bool right_in_runs, Dim terms) = 0;

 protected:
  explicit ElementContext(kernel::Builder& builder) : k(builder) {}
};

using ElementRule = kernel::Value(ElementContext&, const Params&, std::size_t output, const Index&);

/// How often an element of an operand is asked for when every output element is computed once.
enum class Reuse : std::uint8_t {
  once,  // at most once (elementwise, slices, reductions): producers fuse
  many,  // several times or unknown (broadcast, dot, gather): producers that cost something are
         // materialised first
};
/// What one output element costs apart from its operands.
enum class Cost : std::uint8_t {
  view,   // moves data only
  cheap,  // a few instructions
  heavy,  // a transcendental function, a loop
};

/// The outputs in terms of simpler operations, emitted into the active trace. May depend on the
/// device (how many parts, which algorithm); what it emits is expanded in turn.
using ExpandRule = std::vector<Array>(const Params&, const std::vector<Array>& inputs,
                                      const Target&, Loc);

/// An element rule, one of the structured kinds the compiler knows itself, or a rule that replaces
/// the operation by others before kernels are made (optimize/expand.h).
struct Lowering {
  enum class Kind : std::uint8_t { element, scatter, while_loop, scan, cond, expand };
  Kind kind = Kind::element;
  ElementRule* element = nullptr;
  Reuse reuse = Reuse::once;
  Cost cost = Cost::cheap;
  ExpandRule* expansion = nullptr;
  bool statement = false;  // there for its effect (graph/effects.h)

  static constexpr Lowering per_element(ElementRule* rule, Cost cost = Cost::cheap,
                                        Reuse reuse = Reuse::once) {
    return {Kind::element, rule, reuse, cost};
  }
  static constexpr Lowering structured(Kind kind) {
    return {kind, nullptr, Reuse::many, Cost::heavy};
  }
  static constexpr Lowering expanded(ExpandRule* rule) {
    return {Kind::expand, nullptr, Reuse::many, Cost::heavy, rule};
  }
  /// An operation without results, of which optimize/lower_effects makes data that the host reads.
  static constexpr Lowering recorded(ExpandRule* nothing) {
    return {Kind::expand, nullptr, Reuse::many, Cost::heavy, nothing, true};
  }
};

}  // namespace gnomon
