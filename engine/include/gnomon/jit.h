// engine/include/gnomon/jit.h -- jit: a C++ function, compiled once for every combination of
// argument types.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/detail/frames.h"
#include "gnomon/detail/function.h"
#include "gnomon/detail/leaf_ref.h"
#include "gnomon/detail/signature.h"
#include "gnomon/lowered.h"
#include "gnomon/memory_report.h"
#include "gnomon/profile.h"
#include "gnomon/refill.h"
#include "gnomon/runtime.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct CompileOptions;
struct Program;
class Executable;

struct JitOptions {
  std::string name = "function";  // in messages, dumps and timings
  int max_traces = 0;  // tracing more often is a UsageError that says what changed; 0: any number
  /// Functions of f32 that the device has itself (exp, exp2, log, log2, rsqrt, pow and the circular
  /// and hyperbolic ones with their inverses) by its own instructions. Gives up what the others
  /// promise: Vulkan lets sin and cos be off by 2^-11 and only in [-pi, pi], log near 1 and tanh
  /// near 0 lose most of their digits, pow of a negative base is NaN, infinities and NaN may be
  /// lost, and drivers disagree. On GPUs a product and the sum that it is part of are one
  /// instruction then, rounded once, as nvcc has it by default; without, only within products of
  /// matrices and convolutions, unless the driver does so by itself (NVIDIA's does not).
  bool fast_math = false;
  /// How lanes of vmapped loops whose steps differ share their time (gnomon/refill.h).
  Refill refill = Refill::automatic;
  /// Bytes that a call may need, inputs and outputs included (MemoryReport::peak); 0: any number. A
  /// call that needs more is a UsageError that names the largest values, before anything is taken
  /// from the device; Jitted::memory_report tells all of it.
  std::uint64_t memory_limit = 0;
  /// Device memory for what one debug::print inside loops says in a call.
  std::uint64_t print_bytes = std::uint64_t{1} << 20;
};

/// How often a jitted function met types it knew.
struct CacheInfo {
  std::uint64_t hits = 0;    // calls of a known signature
  std::uint64_t misses = 0;  // calls of a new one
  std::uint64_t traces = 0;  // what tracing them gave
  std::uint64_t shared =
      0;  // traces whose graph was compiled already, for this function or another
};

/// What the newest trace cost, in milliseconds.
struct CompileTimes {
  double trace_ms = 0;     // running the C++ function on traced arrays
  double compile_ms = 0;   // from the graph to SPIR-V
  double pipeline_ms = 0;  // in the driver's compiler, as far as it works before the first run
};

namespace detail {

/// The part of a jitted function that does not depend on its type.
class JitCore {
 public:
  struct Entry;

  JitCore(const std::shared_ptr<RuntimeState>&, JitOptions);
  ~JitCore();
  JitCore(const JitCore&) = delete;
  JitCore& operator=(const JitCore&) = delete;

  /// The entry of a signature, or null. Counts neither hit nor miss.
  const Entry* find(std::span<const LeafRef>, const std::string& statics) const;
  /// Throws UsageError when one more trace is not allowed. `before_trace` and `add` need
  /// `tracing()` locked.
  void before_trace(const SignatureText&, Loc) const;
  const Entry* add(std::span<const LeafRef>, std::string statics, SignatureText, TracedGraph,
                   Arrays captures, std::shared_ptr<const void> result, double trace_ms, Loc);
  std::mutex& tracing() { return tracing_; }

  /// The result tree's arrays. Donated arrays are empty afterwards; all are as before when it
  /// throws.
  /// Prints what the function's statements said, and throws CheckFailed.
  std::vector<Array> run(const Entry&, std::span<const LeafRef>, const CallOptions*, bool hit);
  /// The outputs of a graph that is not kept here: what the Runtime has compiled is found again.
  std::vector<Array> run_once(const Graph&, Arrays inputs);
  static const void* result(const Entry&);
  /// What a call would run, and with which arrays, for who runs it elsewhere. Throws UsageError
  /// when the function says something.
  std::shared_ptr<Executable> executable(const Entry&, std::span<const LeafRef>,
                                         std::vector<Array>& inputs, Loc) const;
  /// See Jitted::profile.
  Profile profile(const Entry&, std::span<const LeafRef>);
  /// See Jitted::lower.
  Lowered lower(const aot::detail::Described& arguments, const aot::detail::Described& results,
                const Graph&, Arrays captures) const;
  /// Whether all of them have elements here.
  bool usable(std::span<const LeafRef>) const;
  /// Throws UsageError when an array of argument `index` is empty or belongs to a trace or to
  /// another Runtime.
  void check_leaves(tree::detail::AnyTree argument, std::size_t index, Loc) const;

  CacheInfo cache_info() const;
  CompileTimes last_times() const;
  std::string text(std::string_view stage) const;
  int kernel_count() const;
  std::uint64_t arena_bytes() const;
  MemoryReport memory_report() const;

 private:
  std::shared_ptr<const Entry> newest(const char* op) const;
  CompileOptions compile_options(Refill) const;
  std::shared_ptr<Executable> make(const Entry&, Refill, bool& made) const;
  bool beyond_limit(const Program&) const;
  /// Throws UsageError, and remembers what the entry would have needed.
  void require_within_limit(const Entry&, const Program&) const;
  /// By the reference, where nothing is compiled.
  std::vector<Array> run_on_host(const Entry&, std::span<const LeafRef>, const CallOptions*,
                                 bool hit);
  /// What to run: decides how lanes share their time as soon as that was measured.
  std::shared_ptr<Executable> settled(const Entry&);
  /// Takes what statements recorded from behind the outputs, and does as they say.
  void speak(const Entry&, std::vector<Array>& outputs, const CallOptions*) const;
  /// What the graph of an entry says, and how it is run.
  void prepare(Entry&) const;
  /// Whether it had to be compiled.
  bool compile_entry(Entry&) const;

  std::shared_ptr<RuntimeState> state_;
  JitOptions options_;
  std::mutex tracing_;  // one thread traces at a time
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::shared_ptr<const Entry> refused_;  // the newest trace, where it is beyond the memory limit
  CacheInfo info_;
  CompileTimes times_;
};

double milliseconds();

template <class F, class... A>
using CallResult = ResultOf<F, std::remove_cvref_t<A>...>;

}  // namespace detail

/// A function compiled by `jit`. Copies share the compiled code.
///
/// May be called from several threads at once, also with the same arrays (but those that are moved
/// in): while one traces, others that need a trace of it wait. The C++ function itself is called by
/// one thread at a time.
template <class F>
class Jitted {
 public:
  Jitted(Runtime& rt, F f, JitOptions options)
      : shared_(std::make_shared<Shared>(rt.state(), std::move(f), options)) {}

  /// The same function, whose calls are heard of by others than the Runtime names:
  ///   f.with({.on_step = show, .cancel_with = token})(x)
  /// A call that becomes part of a trace is no call of its own.
  Jitted with(CallOptions options) const {
    Jitted same = *this;
    same.options_ = std::make_shared<const CallOptions>(std::move(options));
    return same;
  }

  /// Calls the function: traces and compiles it when types, shapes or static values are new, and
  /// starts it on the device. Returns without waiting. The arrays of an argument that is moved in
  /// are donated: their memory may be reused, and they are empty afterwards. Inside another traced
  /// function the call becomes part of that trace.
  ///
  /// Throws UsageError for empty arrays and those of another Runtime, captured ones among them, for
  /// too many traces, and whatever the function itself
  /// throws while it is traced; DeviceError when the device fails. Arguments are as before then.
  /// A function that prints or checks (gnomon/debug.h) waits for the device, and may throw
  /// CheckFailed.
  template <class G = F>
  auto operator()(Loc loc = Loc::here()) const -> detail::CallResult<G> {
    return call(loc);
  }
  template <class A0>
  auto operator()(A0&& a0, Loc loc = Loc::here()) const -> detail::CallResult<F, A0> {
    return call(loc, std::forward<A0>(a0));
  }
  template <class A0, class A1>
  auto operator()(A0&& a0, A1&& a1, Loc loc = Loc::here()) const -> detail::CallResult<F, A0, A1> {
    return call(loc, std::forward<A0>(a0), std::forward<A1>(a1));
  }
  template <class A0, class A1, class A2>
  auto operator()(A0&& a0, A1&& a1, A2&& a2, Loc loc = Loc::here()) const
      -> detail::CallResult<F, A0, A1, A2> {
    return call(loc, std::forward<A0>(a0), std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <class A0, class A1, class A2, class A3>
  auto operator()(A0&& a0, A1&& a1, A2&& a2, A3&& a3, Loc loc = Loc::here()) const
      -> detail::CallResult<F, A0, A1, A2, A3> {
    return call(loc, std::forward<A0>(a0), std::forward<A1>(a1), std::forward<A2>(a2),
                std::forward<A3>(a3));
  }
  template <class A0, class A1, class A2, class A3, class A4>
  auto operator()(A0&& a0, A1&& a1, A2&& a2, A3&& a3, A4&& a4, Loc loc = Loc::here()) const
      -> detail::CallResult<F, A0, A1, A2, A3, A4> {
    return call(loc, std::forward<A0>(a0), std::forward<A1>(a1), std::forward<A2>(a2),
                std::forward<A3>(a3), std::forward<A4>(a4));
  }
  template <class A0, class A1, class A2, class A3, class A4, class A5>
  auto operator()(A0&& a0, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, Loc loc = Loc::here()) const
      -> detail::CallResult<F, A0, A1, A2, A3, A4, A5> {
    return call(loc, std::forward<A0>(a0), std::forward<A1>(a1), std::forward<A2>(a2),
                std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <class... A>
  requires(sizeof...(A) > 6) auto operator()(A&&... args) const -> detail::CallResult<F, A...> {
    return call(Loc{}, std::forward<A>(args)...);
  }

  /// A function that takes Array& does not compile.
  template <class... A>
  requires detail::wants_references<F, std::remove_cvref_t<A>...>
  void operator()(A&&...) const { detail::check_takes_values<F, std::remove_cvref_t<A>...>(); }

  /// The same with the line to name in messages. (The forms above are one for each number of
  /// arguments, since a default argument cannot stand behind a pack.)
  template <class... A>
  auto call(Loc loc, A&&... args) const -> detail::CallResult<F, A...> {
    using R = detail::CallResult<F, A...>;
    Shared& s = *shared_;
    (detail::require_usable(args, loc), ...);
    if (detail::is_tracing()) {
      R result = s.f(std::remove_cvref_t<A>(tree::clone(args))...);
      (detail::tell_given_away(std::forward<A>(args), loc), ...);
      return result;
    }

    std::vector<detail::LeafRef> leaves;
    (detail::append_leaves(std::forward<A>(args), leaves), ...);
    bool hit = false;
    const detail::JitCore::Entry* entry = entry_of(loc, leaves, hit, args...);
    const std::vector<Array> outputs = s.core.run(*entry, leaves, options_.get(), hit);
    (detail::tell_given_away(std::forward<A>(args), loc), ...);
    return tree::with_leaves(*static_cast<const R*>(detail::JitCore::result(*entry)), outputs);
  }

  /// What a call would run, and with which arrays: for who runs it elsewhere (gnomon/vulkan.h).
  template <class... A>
  std::shared_ptr<Executable> executable(Loc loc, std::vector<Array>& inputs,
                                         const A&... args) const {
    std::vector<detail::LeafRef> leaves;
    (detail::append_leaves(tree::detail::AnyTree::of(args), false, leaves), ...);
    bool hit = false;
    const detail::JitCore::Entry* entry = entry_of(loc, leaves, hit, args...);
    return shared_->core.executable(*entry, leaves, inputs, loc);
  }
  /// What gnomon/vulkan.h remembers of recorded calls.
  const std::shared_ptr<detail::Frames>& frames() const { return shared_->frames; }

  /// The function for arguments of these types, traced and not run: to look at what becomes of it,
  /// or to save it (gnomon/aot.h). The elements of the arrays do not matter; arrays that it
  /// captures do. Remembers nothing: a call traces as ever.
  ///
  /// Throws UsageError for empty arrays, and whatever the function throws while it is traced.
  template <class... A>
  Lowered lower(const A&... args) const {
    Shared& s = *shared_;
    aot::detail::Described arguments, results;
    [[maybe_unused]] std::size_t index = 0;  // of no arguments
    (aot::detail::describe(tree::detail::AnyTree::of(args), "argument " + std::to_string(index++),
                           arguments),
     ...);
    const std::lock_guard lock(s.core.tracing());
    auto traced = trace_at(Loc{}, s.f, args...);
    aot::detail::describe(tree::detail::AnyTree::of(traced.result), "result", results);
    return s.core.lower(arguments, results, traced.graph, std::move(traced.captures));
  }

  /// Where the time of a call goes: runs it twice and looks at every kernel of the second time.
  /// What it computes, prints and checks is dropped. Traces and compiles as a call does.
  ///
  /// Throws what a call throws, and UsageError where functions run on the host (GNOMON_JIT=off).
  template <class... A>
  Profile profile(const A&... args) const {
    std::vector<detail::LeafRef> leaves;
    (detail::append_leaves(tree::detail::AnyTree::of(args), false, leaves), ...);
    bool hit = false;
    const detail::JitCore::Entry* entry = entry_of(Loc{}, leaves, hit, args...);
    return shared_->core.profile(*entry, leaves);
  }

  CacheInfo cache_info() const { return shared_->core.cache_info(); }
  /// What the newest trace cost.
  CompileTimes last_times() const { return shared_->core.last_times(); }
  /// A stage of the newest trace as text: passes, graph, fusion, kernel, spirv, memory or plan.
  /// Compiles once more for it; for fusion many times, since that says what else kernels could be.
  ///
  /// Throws UsageError before the first call and for another stage.
  std::string text(std::string_view stage) const { return shared_->core.text(stage); }
  /// Dispatches in one call of the newest trace.
  int kernel_count() const { return shared_->core.kernel_count(); }
  /// Device memory that the newest trace's intermediates take.
  std::uint64_t arena_bytes() const { return shared_->core.arena_bytes(); }
  /// Device memory that a call of the newest trace needs, and for what: also of one that
  /// JitOptions::memory_limit has refused.
  ///
  /// Throws UsageError before the first call.
  MemoryReport memory_report() const { return shared_->core.memory_report(); }

 private:
  struct Shared {
    Shared(const std::shared_ptr<RuntimeState>& state, F function, JitOptions options)
        : f(std::move(function)), core(state, std::move(options)) {}
    F f;
    detail::JitCore core;
    std::shared_ptr<detail::Frames> frames = detail::make_frames();
  };

  // The entry of the arguments' signature, traced and compiled when it is new.
  template <class... A>
  const detail::JitCore::Entry* entry_of(Loc loc, const std::vector<detail::LeafRef>& leaves,
                                         bool& hit, const A&... args) const {
    Shared& s = *shared_;
    if (!s.core.usable(leaves)) report_bad_leaf(loc, args...);
    std::string statics;
    (tree::append_static_key(args, statics), ...);

    const detail::JitCore::Entry* entry = s.core.find(leaves, statics);
    hit = entry != nullptr;
    if (hit) return entry;
    const std::lock_guard lock(s.core.tracing());
    entry = s.core.find(leaves, statics);  // another thread may have been here
    if (entry != nullptr) return entry;
    SignatureText text = describe_signature(args...);
    s.core.before_trace(text, loc);
    const double start = detail::milliseconds();
    auto traced = trace_at(loc, s.f, args...);
    const double spent = detail::milliseconds() - start;
    using R = detail::CallResult<F, A...>;
    return s.core.add(leaves, std::move(statics), std::move(text), std::move(traced.graph),
                      std::move(traced.captures),
                      std::make_shared<const R>(std::move(traced.result)), spent, loc);
  }

  template <class... A>
  void report_bad_leaf([[maybe_unused]] Loc loc, const A&... args) const {
    [[maybe_unused]] std::size_t index = 0;  // both of no use without arguments
    (shared_->core.check_leaves(tree::detail::AnyTree::of(args), index++, loc), ...);
  }

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<const CallOptions> options_;  // null: as the Runtime has it
};

/// The fast way to run a function: outside of one every operation is a program of its own, and what
/// it gives an array in memory; inside, operations share kernels and what they compute for one
/// another never gets there.
///
/// Compiles `f` when it is called: once for every combination of array types and shapes and of
/// static values among its arguments. `f` takes and returns trees (see gnomon/tree.h); concrete
/// arrays that it captures are bound when it is traced.
template <class F>
Jitted<std::decay_t<F>> jit(Runtime& rt, F&& f, JitOptions options = {}) {
  return Jitted<std::decay_t<F>>(rt, std::forward<F>(f), std::move(options));
}

/// Returns when all arrays of a tree are computed.
template <class T>
const T& block_until_ready(const T& tree, Loc loc = Loc::here()) {
  for (const Array& a : tree::leaves(tree)) a.block_until_ready(loc);
  return tree;
}

template <class F>
auto Runtime::run(F&& f, Loc loc) {
  return jit(*this, std::forward<F>(f), {.name = "run"}).call(loc);
}

}  // namespace gnomon
#pragma GCC visibility pop
