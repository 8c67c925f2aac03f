// codegen/trace/trace.h -- the one tracer: records equations while a C++ function runs.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/graph/primitive.h"

namespace gnomon {

/// RAII: the newest Trace of this thread records. Identified by a serial number (stack addresses repeat).
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// A fresh graph input as an Array.
  Array input(const Aval&);
  /// `a` as a value of this trace: itself, or the input that stands for a captured array of an enclosing trace or a
  /// concrete array. Throws UsageError for an empty handle and for a value of a trace that has ended.
  Array own(const Array& a, Loc loc = {});
  Array record(ValueId v) { return Array(serial_, v, graph.avals[v]); }
  std::uint64_t serial() const { return serial_; }
  Trace* parent() const { return parent_; }

  /// The innermost trace; throws UsageError with the remedy (`rt.run`) when there is none. `op` names the operation.
  static Trace& active(std::string_view op = "", Loc loc = {});
  static Trace* current();

  /// Ends recording: canonical graph with `outputs`.
  Graph finish(const Arrays& outputs);

  Graph graph;
  Arrays captures;  // arrays outside this trace (in terms of the parent, or concrete); each is a trailing graph input
  Loc loc;          // where equations emitted by rules say they come from

 private:
  Trace* parent_;
  std::uint64_t serial_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, ValueId> captured_;
  std::map<const Storage*, ValueId> captured_storage_;
};

/// Replays `graph` on `inputs` in the active trace.
Arrays inline_graph(const Graph&, const Arrays& inputs);

}  // namespace gnomon
