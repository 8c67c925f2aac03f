// codegen/graph/primitive.h -- an operation is one table entry with every rule; a rule left out
// does not compile.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/graph/element.h"
#include "codegen/graph/graph.h"

namespace gnomon {

/// A rule is a plain function; there is no empty rule.
template <class Signature>
class Rule {
 public:
  Rule() = delete;
  constexpr Rule(Signature* f) : f_(f) {}  // NOLINT: implicit on purpose
  template <class F>
  requires std::convertible_to<F, Signature*>
  constexpr Rule(F f) : f_(f) {}  // NOLINT: captureless lambdas
  template <class... A>
  auto operator()(A&&... a) const {
    return f_(std::forward<A>(a)...);
  }

 private:
  Signature* f_;
};

struct Batched {
  Arrays values;
  BatchAxes axes;  // one per value
};

/// Inputs of a transpose rule: operands, which of them are linear (their Array is only a shape
/// then), and the cotangents of the outputs (nullopt: zero).
struct TransposeArgs {
  const Params& params;
  const Arrays& inputs;
  const std::vector<bool>& linear;
  const Tangents& cotangents;
};

/// What reverse mode knows of a value with respect to write-once buffers (gnomon/buffer.h).
enum class Buffered : std::uint8_t {
  no,       // has nothing to do with one
  read,     // follows from what a buffer holds
  whole,    // is one
  settled,  // is one that holds already what is going to be written into it: a step run again
};
using Buffers = std::vector<Buffered>;

/// Inputs of the backward pass of an operation that has one of its own.
struct ReverseArgs {
  const Params& params;
  const Arrays& inputs;
  const std::vector<bool>& active;  // inputs whose cotangents are wanted
  const Arrays& saved;              // by the forward pass
  const Tangents& cotangents;       // of the outputs (nullopt: zero); at least one is there
  const Buffers& buffers;           // per input
};

/// Reverse mode of an operation that holds graphs: the backward pass of a loop goes over the steps
/// that its forward pass took. Both emit operations into the current trace.
struct ReverseMode {
  /// The outputs, and behind them what the backward pass needs.
  Rule<Arrays(const Params&, const Arrays& inputs, const std::vector<bool>& active, const Buffers&,
              Loc)>
      forward;
  /// Cotangents of the active inputs (nullopt: zero, or not active).
  Rule<Tangents(const ReverseArgs&)> backward;
  /// Which outputs depend on the active inputs; nullptr: those that the jvp rule gives a tangent.
  std::vector<bool> (*moving)(const Params&, const std::vector<bool>& active) = nullptr;
};

struct Primitive {
  std::string_view name;
  /// Reads the parameters from text; `parse_params<T>` or `no_params`.
  Rule<Params(ParamParser&)> parse;
  /// Types of the outputs; throws UsageError through `usage_error(name, ...)` when the operands do
  /// not fit.
  Rule<std::vector<Aval>(const Params&, std::span<const Aval> inputs, Loc)> shape;
  /// Tangents of the outputs; at least one input tangent is present. Emits operations into the
  /// current trace.
  Rule<Tangents(const Params&, const Arrays& inputs, const Arrays& outputs, const Tangents&)> jvp;
  /// Cotangents of the linear inputs (nullopt: zero, or not linear).
  Rule<Tangents(const TransposeArgs&)> transpose;
  /// The operation over inputs of which some carry an extra axis of length `size`.
  Rule<Batched(const Params&, const Arrays& inputs, const BatchAxes&, Dim size)> batch;
  /// How kernels compute it: per element, or structured (loops, branches, scatters).
  Lowering lower;
  /// Literal evaluation on the host: the oracle. Slow and obvious.
  Rule<std::vector<HostArray>(const Params&, std::span<const Aval> outputs,
                              std::span<const HostArray> inputs)>
      reference;
  /// Of loops, branches and calls; others are pulled back by transposing their jvp.
  const ReverseMode* reverse = nullptr;
};

/// The whole table, in order of name; the graph parser's and the law tests' view.
std::span<const Primitive* const> primitives();
/// nullptr when there is no such operation.
const Primitive* find_primitive(std::string_view name);

/// Appends an equation to the active trace and returns its outputs. Concrete inputs are captured.
Arrays emit(const Primitive&, Params, const Arrays& inputs, Loc);
inline Array emit1(const Primitive& p, Params params, const Arrays& inputs, Loc loc) {
  return emit(p, std::move(params), inputs, loc)[0];
}

Params no_params(ParamParser&);

}  // namespace gnomon
