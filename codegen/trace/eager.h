// codegen/trace/eager.h -- operations outside a trace: recorded one by one and run at once.
//
// What an operation is made of is traced as everywhere; the arrays it was given are captures of
// that trace, and one of them knows where to run it. Programs are found by graph, so an operation
// on known types is compiled once.
#pragma once
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "codegen/base/host_array.h"
#include "codegen/trace/trace.h"

namespace gnomon {

/// What an array on no device is made of.
class Unplaced final : public Storage {
 public:
  enum class Origin : std::uint8_t {
    user,      // a function that makes arrays: what is computed from such alone is refused
    operation  // a C++ number in an operation, and what was made of such on the way
  };
  /// `graph` has no inputs and one output.
  Unplaced(std::shared_ptr<const Graph> graph, Origin origin)
      : graph_(std::move(graph)), origin_(origin) {}
  const Unplaced* unplaced() const override { return this; }
  const Graph& graph() const { return *graph_; }
  /// Of what is one constant; else null.
  const HostArray* elements() const;
  /// `a`, which is concrete, as an array that the user made.
  static Array made_by_user(const Array& a);
  Origin origin() const { return origin_; }

 private:
  std::shared_ptr<const Graph> graph_;
  Origin origin_;
};

/// Whether a constant takes few enough values to be part of a graph that runs at once: each other
/// value is another program.
bool few_of_its_kind(const Equation& constant);
/// The constant as an array on no device.
Array unplaced_constant(const Equation&);

/// What a trace recorded, after its end.
struct Recording {
  Recording(Trace& trace, const Arrays& outputs)
      : graph(trace.finish(outputs)),
        captures(std::move(trace.captures)),
        used_made_array(trace.used_made_array()) {}
  Graph graph;
  Arrays captures;  // concrete
  bool used_made_array;
};

/// What becomes of arrays that the user made of numbers where no other says where to run.
enum class Alone : std::uint8_t {
  refused,
  stays,  // an array that the user made: of what brings operands to one type and shape
};

/// Without any array on a device the results are on none. Throws UsageError, in the name of `op`,
/// when those that were used are refused or what was recorded has effects, and for arrays of
/// different Runtimes.
Arrays run_at_once(std::string_view op, const Recording&, Loc, Alone = Alone::refused);

/// `f()`, an array or a list of them, in the trace that records; without one as a program of its
/// own.
template <class F>
auto at_once(std::string_view op, Loc loc, F&& f, Alone alone = Alone::refused) {
  if (Trace::current() != nullptr) return f();
  constexpr bool one = std::is_same_v<std::invoke_result_t<F&>, Array>;
  // What runs it, and may call back, does so after the trace.
  const auto record = [&] {
    Trace trace(Numbers::inputs);
    trace.loc = loc;
    if constexpr (one)
      return Recording(trace, {f()});
    else
      return Recording(trace, f());
  };
  Arrays results = run_at_once(op, record(), loc, alone);
  if constexpr (one)
    return std::move(results[0]);
  else
    return results;
}

/// `f()`, an array that a function makes for its caller out of numbers.
template <class F>
Array made(std::string_view op, Loc loc, F&& f) {
  if (Trace::current() != nullptr) return f();
  return Unplaced::made_by_user(at_once(op, loc, std::forward<F>(f)));
}

/// `made`, on the device of `like` when that is on one.
Array beside(const Array& like, const Array& made);

}  // namespace gnomon
