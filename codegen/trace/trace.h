// codegen/trace/trace.h -- the one tracer: records equations while a C++ function runs.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/graph/graph.h"

namespace gnomon {

namespace control {
class Pullbacks;
}  // namespace control

/// An axis that vmap gave a name, for collectives (gnomon/axes.h).
struct NamedAxis {
  std::string name;
  Dim size = 0;
};

/// Arrays of C++ numbers alone, which are on no device, in a trace that ends where it began: the
/// graph of an operation that runs at once, to be found again for other numbers.
enum class Numbers : std::uint8_t {
  constants,  // part of the graph
  inputs,     // captures as well, but for small whole numbers
};

/// RAII: the newest Trace of this thread records. Identified by a serial number (stack addresses
/// repeat).
class Trace {
 public:
  explicit Trace(Numbers = Numbers::constants);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// A fresh graph input as an Array.
  Array input(const Aval&);
  /// `a` as a value of this trace: itself, or the input that stands for a captured array of an
  /// enclosing trace or a concrete array. Throws UsageError for an empty handle and for a value of
  /// a trace that has ended.
  Array own(const Array& a, Loc loc = {});
  Array record(ValueId v) { return Array(serial_, v, graph.avals[v]); }
  std::uint64_t serial() const { return serial_; }
  Trace* parent() const { return parent_; }

  /// The innermost trace; throws UsageError with the remedy (`rt.run`) when there is none. `op`
  /// names the operation.
  static Trace& active(std::string_view op = "", Loc loc = {});
  static Trace* current();
  /// The one that all others of this thread are in.
  static Trace* outermost();
  /// The line that what is traced now comes from; none outside a trace.
  static Loc where();
  /// Whether one of the arrays on no device that were used here was made so by the user, and is no
  /// part of an operation.
  bool used_made_array() const { return used_made_array_; }

  /// Ends recording: canonical graph with `outputs`. Captures that no output needs are dropped,
  /// with their inputs.
  Graph finish(const Arrays& outputs);

  /// The axis of that name among those of the vmaps around what is traced here; throws UsageError
  /// naming those there are.
  const NamedAxis& axis(std::string_view op, const std::string& name, Loc loc) const;

  Graph graph;
  std::optional<NamedAxis> own_axis;  // of the vmap whose function is traced here
  std::string mapped_axis;  // of the vmap that replays a graph here, batch rules included; or empty
  Arrays captures;  // arrays outside this trace (in terms of the parent, or concrete); each is a
                    // trailing graph input
  Loc loc;          // where equations emitted by rules say they come from
  /// Those of steps of loops that were made while it is the outermost one.
  std::shared_ptr<control::Pullbacks> pullbacks;

 private:
  struct Captured;  // which input stands for which captured array
  Array replayed(const Unplaced&);
  Trace* parent_;
  Numbers numbers_;
  bool used_made_array_ = false;
  std::uint64_t serial_;
  std::unique_ptr<Captured> captured_;
};

/// An array without elements that stands for any array of its type: an argument to trace with.
/// Using it in an operation throws.
Array placeholder(const Aval&);

/// Replays `graph` on `inputs` in the active trace; without one it runs at once.
Arrays inline_graph(const Graph&, const Arrays& inputs);

/// What stands for the outputs of an equation, given what stands for its inputs.
using EquationRule = std::function<Arrays(const Equation&, const Arrays& inputs)>;
/// `graph` recorded anew, each equation by `rule`; what that emits comes from the equation's line.
Graph replay(const Graph&, const EquationRule& rule);

}  // namespace gnomon
