// engine/jit/jit.cpp -- the cache of one jitted function, and the way from a trace to an
// executable.
#include "gnomon/jit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "codegen/checks/check_buffers.h"
#include "codegen/compile/pipeline.h"
#include "codegen/graph/effects.h"
#include "codegen/optimize/lower_effects.h"
#include "engine/jit/compiling.h"
#include "engine/jit/dump.h"
#include "engine/jit/estimates.h"
#include "engine/jit/make_executable.h"
#include "engine/jit/reference.h"
#include "engine/runtime/arguments.h"
#include "engine/runtime/memory_report.h"
#include "engine/runtime/state.h"
#include "engine/runtime/statements.h"
#include "gnomon/debug.h"

namespace gnomon::detail {
namespace {

std::string ordinal(std::uint64_t n) {
  const bool teen = n % 100 >= 11 && n % 100 <= 13;
  const char* suffix = teen          ? "th"
                       : n % 10 == 1 ? "st"
                       : n % 10 == 2 ? "nd"
                       : n % 10 == 3 ? "rd"
                                     : "th";
  return std::to_string(n) + suffix;
}

// With the line of the call where it is known.
[[noreturn]] void refuse(const std::string& what, Loc loc) {
  if (loc.line > 0) usage_error("jit", what, loc);
  throw UsageError("gnomon::jit: " + what);
}

std::string milliseconds_text(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", ms);
  return text;
}

// Who gets the lines that a call prints.
PrintHandler printer(const RuntimeState& state, const CallOptions* call) {
  return call && call->on_print ? call->on_print : state.sink();
}

// Collects what compile() reports about one trace.
struct Dump {
  const Environment* environment = nullptr;  // null: keep instead of writing
  std::string name;
  std::uint64_t number = 0;
  std::string wanted, kept;

  static void stage(void* user, const std::string& stage, const std::string& text) {
    auto& self = *static_cast<Dump*>(user);
    if (self.environment == nullptr) {
      if (stage == self.wanted) self.kept += text;
    } else if (dumps(*self.environment, stage)) {
      dump_stage(*self.environment, self.name, self.number, stage, "", text);
    }
  }
};

}  // namespace

double milliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct JitCore::Entry {
  std::vector<Aval> avals;
  std::string statics;
  SignatureText signature;
  Graph graph;
  Arrays captures;
  EffectTable effects;
  std::vector<Aval> records;  // its arrays
  std::shared_ptr<const void> result;
  std::uint64_t number = 0;  // among the Runtime's graphs, from 1
  /// What the memory limit has refused.
  struct Refused {
    MemoryReport report;
    int kernels = 0;
    std::uint64_t arena_bytes = 0;
  };
  mutable std::optional<Refused> refused;
  // Behind the lock.
  mutable std::shared_ptr<Executable> executable;
  mutable Refill refill = Refill::automatic;  // automatic: not decided yet
  mutable bool called = false;                // what lanes wait for is this function's own affair
};

JitCore::JitCore(const std::shared_ptr<RuntimeState>& state, JitOptions options)
    : state_(state), options_(std::move(options)) {}
JitCore::~JitCore() = default;

const JitCore::Entry* JitCore::find(std::span<const LeafRef> leaves,
                                    const std::string& statics) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->avals.size() != leaves.size() || entry->statics != statics) continue;
    const bool same = std::equal(
        leaves.begin(), leaves.end(), entry->avals.begin(),
        [](const LeafRef& leaf, const Aval& aval) { return leaf.array->aval() == aval; });
    if (same) return entry.get();
  }
  return nullptr;
}

void JitCore::before_trace(const SignatureText& signature, Loc loc) const {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return;
  const std::uint64_t count = entries_.size() + 1;
  const std::string difference = explain(entries_.back()->signature, signature);
  if (options_.max_traces > 0 && count > static_cast<std::uint64_t>(options_.max_traces)) {
    refuse("`" + options_.name + "` traced a " + ordinal(count) + " time (limit " +
               std::to_string(options_.max_traces) + "): " + difference,
           loc);
  }
  log_line(state_->environment, Topic::retrace,
           "`" + options_.name + "` traced a " + ordinal(count) + " time: " + difference);
}

CompileOptions JitCore::compile_options(Refill refill) const {
  CompileOptions options;
  options.name = options_.name;
  options.fast_math = options_.fast_math;
  options.refill = refill;
  options.print_bytes = options_.print_bytes;
  return options;
}

std::shared_ptr<Executable> JitCore::make(const Entry& entry, Refill refill, bool& made) const {
  const Environment& environment = state_->environment;
  Dump dump{&environment, options_.name, entry.number, {}, {}};
  MakeOptions options;
  options.compile = compile_options(refill);
  if (environment.dump != 0) {
    options.compile.dump = Dump::stage;
    options.compile.dump_user = &dump;
    options.compile.passes.record = environment.dumps(Stage::passes);
    options.compile.candidates = environment.dumps(Stage::fusion);
  }
  options.executable.validate_modules = state_->validate;
  options.executable.debug_info = state_->validate || environment.dumps(Stage::spirv);
  options.memory_limit = options_.memory_limit;
  options.check = [&](const Program& program) { require_within_limit(entry, program); };
  std::string kind = options_.fast_math ? "fast_math" : "";
  if (entry.effects.arrays > 0) kind += " print " + std::to_string(options_.print_bytes);
  if (options_.memory_limit > 0) kind += " within " + std::to_string(options_.memory_limit);
  if (refill != Refill::automatic) kind += refill == Refill::on ? " in turns" : " waiting";
  options.identity = kind + (options.executable.debug_info ? " with lines" : "");
  const auto executable =
      programs_of(*state_, "jit")
          .programs.find_or_make(
              entry.graph, kind, [&] { return make_executable(*state_, entry.graph, options); },
              made);
  if (!made) require_within_limit(entry, executable->program());
  return executable;
}

bool JitCore::beyond_limit(const Program& program) const {
  return options_.memory_limit > 0 && gnomon::memory_report(program).peak() > options_.memory_limit;
}

void JitCore::require_within_limit(const Entry& entry, const Program& program) const {
  if (!beyond_limit(program)) return;
  const MemoryReport report = gnomon::memory_report(program);
  entry.refused = {report, static_cast<int>(program.steps.size()), program.arena_bytes};
  std::string largest;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, report.values.size()); ++i)
    largest += (i == 0 ? "; its largest intermediates: " : ", ") + line(report.values[i]);
  throw UsageError("gnomon::jit: a call of `" + options_.name + "` needs " + sums(report) +
                   ", more than its memory_limit of " + vulkan::byte_text(options_.memory_limit) +
                   largest + "; compute in smaller parts, donate inputs, or raise the limit");
}

std::shared_ptr<Executable> JitCore::settled(const Entry& entry) {
  // Taking turns costs up to 1.4 times the time of lanes that never wait (measured on lavapipe).
  constexpr double worth_it = 1.6;
  const std::lock_guard lock(mutex_);
  if (entry.refill != Refill::automatic) return entry.executable;
  if (!std::exchange(entry.called, true)) return entry.executable;
  const std::optional<double> waiting = entry.executable->waiting();
  if (!waiting) return entry.executable;
  entry.refill = *waiting > worth_it ? Refill::on : Refill::off;
  if (entry.refill == Refill::on) {
    bool made = false;
    try {
      entry.executable = make(entry, Refill::on, made);
    } catch (const Error& error) {
      log_line(state_->environment, Topic::cache,
               "`" + options_.name + "` stays as it is: " + error.what());
    }
  }
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.2f", *waiting);
  log_line(state_->environment, Topic::cache,
           "`" + options_.name + "`: lanes took " + ratio +
               " times the trips they made, waiting included; they " +
               (entry.refill == Refill::on ? "take turns from now on" : "go on as they are"));
  return entry.executable;
}

void JitCore::prepare(Entry& entry) const {
  if (state_->environment.check_buffers) entry.graph = check_buffers(entry.graph);
  if (!has_effects(entry.graph)) return;
  LoweredEffects lowered = lower_effects(entry.graph, {options_.print_bytes});
  entry.effects = std::move(lowered.effects);
  entry.records = lowered.graph.output_avals();
  entry.records.erase(entry.records.begin(),
                      entry.records.end() - static_cast<std::ptrdiff_t>(entry.effects.arrays));
}

bool JitCore::compile_entry(Entry& entry) const {
  bool made = false;
  entry.refill = options_.refill;
  entry.executable = make(entry, entry.refill, made);
  if (entry.executable->program().trips.empty() && entry.refill == Refill::automatic)
    entry.refill = Refill::off;
  return made;
}

std::vector<Array> JitCore::run_once(const Graph& graph, Arrays inputs) {
  Entry entry;
  entry.graph = graph;
  entry.captures = std::move(inputs);
  entry.number = ++state_->graphs;
  prepare(entry);
  const bool known = state_->environment.jit_off || !compile_entry(entry);
  return run(entry, {}, nullptr, known);
}

const JitCore::Entry* JitCore::add(std::span<const LeafRef> leaves, std::string statics,
                                   SignatureText signature, TracedGraph graph, Arrays captures,
                                   std::shared_ptr<const void> result, double trace_ms, Loc loc) {
  const Environment& environment = state_->environment;
  auto entry = std::make_shared<Entry>();
  for (const LeafRef& leaf : leaves) entry->avals.push_back(leaf.array->aval());
  entry->statics = std::move(statics);
  entry->signature = std::move(signature);
  entry->graph = *graph;
  entry->captures = std::move(captures);
  entry->result = std::move(result);
  entry->number = ++state_->graphs;
  prepare(*entry);
  ++state_->traces;
  for (const Array& capture : entry->captures) {
    if (belongs_to_another(capture, *state_->context))
      refuse(another_text("an array that `" + options_.name + "` captures", capture), loc);
    storage_of(capture, *state_->context, "jit", loc);
    log_line(environment, Topic::capture,
             "`" + options_.name + "` captured " + to_string(capture.dtype(), capture.shape()) +
                 "; it stays as it is now");
  }

  if (environment.jit_off) {
    const std::lock_guard lock(mutex_);
    ++info_.traces;
    times_ = {trace_ms, 0, 0};
    entries_.push_back(std::move(entry));
    return entries_.back().get();
  }
  const double start = milliseconds();
  bool made = false;
  try {
    made = compile_entry(*entry);
  } catch (...) {
    if (!entry->refused) throw;
    entry->captures.clear();  // which nobody is going to need
    const std::lock_guard lock(mutex_);
    refused_ = std::move(entry);
    throw;
  }
  const double compile_ms = milliseconds() - start;
  if (!made) ++state_->programs_shared;
  log_line(environment, Topic::cache,
           "`" + options_.name + "` " +
               (!made                            ? "found its graph compiled"
                : entry->executable->from_disk() ? "was compiled by an earlier process"
                                                 : "compiled"));

  const std::lock_guard lock(mutex_);
  ++info_.traces;
  if (!made) ++info_.shared;
  times_ = {trace_ms, compile_ms, 0};
  refused_.reset();
  entries_.push_back(std::move(entry));
  return entries_.back().get();
}

std::vector<Array> JitCore::run_on_host(const Entry& entry, std::span<const LeafRef> leaves,
                                        const CallOptions* call, bool hit) {
  Arrays inputs;
  for (const LeafRef& leaf : leaves) inputs.push_back(state_->placed(*leaf.array));
  inputs.insert(inputs.end(), entry.captures.begin(), entry.captures.end());
  const Arrays outputs =
      run_by_reference(*state_, entry.graph, inputs, options_.print_bytes, printer(*state_, call));
  for (const LeafRef& leaf : leaves)
    if (leaf.donate) *leaf.array = {};
  if (state_->environment.check_nan)
    require_finite(*state_, options_.name, entry.graph, inputs, outputs);
  const std::lock_guard lock(mutex_);
  ++(hit ? info_.hits : info_.misses);
  return outputs;
}

std::vector<Array> JitCore::run(const Entry& entry, std::span<const LeafRef> leaves,
                                const CallOptions* call, bool hit) {
  const Environment& environment = state_->environment;
  if (environment.jit_off) return run_on_host(entry, leaves, call, hit);
  const std::shared_ptr<Executable> executable = settled(entry);
  std::vector<Array> inputs, outputs;
  inputs.reserve(leaves.size() + entry.captures.size());
  const Executable::Times before = hit ? Executable::Times{} : executable->times();
  for (const LeafRef& leaf : leaves)
    inputs.push_back(leaf.array->storage()->unplaced() ? state_->placed(*leaf.array) : *leaf.array);
  std::vector<std::uint8_t> donated = take_donated(leaves);
  // What is checked may have to be computed again.
  if (environment.check_nan) donated.clear();
  inputs.insert(inputs.end(), entry.captures.begin(), entry.captures.end());
  Watch watch = state_->watch();
  if (call) {
    watch.call_token = call->cancel_with;
    if (call->on_step) watch.on_step = call->on_step;
  }
  try {
    try {
      executable->run(inputs, outputs, donated, watch);
    } catch (const DeviceLost&) {
      throw;  // programs come back with the device
    } catch (const DeviceError&) {
      // Arenas of programs that nothing calls any more may stand in the way.
      if (state_->compiling->clear() == 0) throw;
      executable->run(inputs, outputs, donated, watch);
    }
  } catch (...) {
    put_back(leaves, inputs);
    // A loop that was ended has said something already.
    if (!outputs.empty() && entry.effects.arrays > 0) speak(entry, outputs, call);
    throw;
  }
  if (entry.effects.arrays > 0) speak(entry, outputs, call);
  if (environment.check_nan) require_finite(*state_, options_.name, entry.graph, inputs, outputs);
  const std::lock_guard lock(mutex_);
  ++(hit ? info_.hits : info_.misses);
  if (!hit) {
    const Executable::Times now = executable->times();
    times_.compile_ms += now.emit_ms - before.emit_ms;
    times_.pipeline_ms = now.pipeline_ms - before.pipeline_ms;
    log_line(state_->environment, Topic::timing,
             "`" + options_.name + "` trace " + milliseconds_text(times_.trace_ms) + ", compile " +
                 milliseconds_text(times_.compile_ms) + ", pipelines " +
                 milliseconds_text(times_.pipeline_ms));
    const auto& context = *state_->context;
    log_line(state_->environment, Topic::cache,
             "so far " + std::to_string(context.counters.modules_emitted) +
                 " modules emitted, and of " + std::to_string(context.device.counters().pipelines) +
                 " pipelines " + std::to_string(context.device.counters().new_pipelines) +
                 " new to the driver");
    if (state_->environment.dumps(Stage::spirv)) {
      dump_stage(state_->environment, options_.name, entry.number, "spirv", "",
                 executable->spirv_text());
    }
  }
  return outputs;
}

std::shared_ptr<Executable> JitCore::executable(const Entry& entry, std::span<const LeafRef> leaves,
                                                std::vector<Array>& inputs, Loc loc) const {
  if (entry.executable == nullptr)
    refuse("`" + options_.name + "` runs on the host and cannot be recorded; unset GNOMON_JIT",
           loc);
  if (entry.effects.arrays > 0)
    refuse("`" + options_.name +
               "` prints or checks, which needs the host after every call; record a function "
               "without debug::print and error_if",
           loc);
  for (const LeafRef& leaf : leaves) inputs.push_back(state_->placed(*leaf.array));
  inputs.insert(inputs.end(), entry.captures.begin(), entry.captures.end());
  const std::lock_guard lock(mutex_);
  return entry.executable;
}

Profile JitCore::profile(const Entry& entry, std::span<const LeafRef> leaves) {
  if (state_->environment.jit_off)
    refuse("`" + options_.name + "` runs on the host and has no kernels; unset GNOMON_JIT", Loc{});
  std::vector<Array> inputs;
  for (const LeafRef& leaf : leaves) inputs.push_back(state_->placed(*leaf.array));
  inputs.insert(inputs.end(), entry.captures.begin(), entry.captures.end());
  const std::shared_ptr<Executable> executable = settled(entry);
  Profile profile = detail::profile(*executable, std::move(inputs));
  add_estimates(profile, executable->program(), executable->target());
  return profile;
}

void JitCore::speak(const Entry& entry, std::vector<Array>& outputs,
                    const CallOptions* call) const {
  gnomon::speak(*state_->context, entry.effects, entry.records, outputs, printer(*state_, call));
}

const void* JitCore::result(const Entry& entry) { return entry.result.get(); }

bool JitCore::usable(std::span<const LeafRef> leaves) const {
  return std::ranges::all_of(leaves, [&](const LeafRef& leaf) {
    return leaf.array->concrete() && !belongs_to_another(*leaf.array, *state_->context);
  });
}

void JitCore::check_leaves(tree::detail::AnyTree argument, std::size_t index, Loc loc) const {
  const auto check = [&](const Array& a, const std::string& path) {
    const std::string where = "argument " + std::to_string(index) +
                              (path.empty() ? "" : " `" + path + "`") + " of `" + options_.name +
                              "`";
    if (a.empty())
      refuse(
          where + " is an empty Array (moved from, or never assigned); assign it before the call",
          loc);
    if (!a.concrete())
      refuse(
          where + " belongs to a trace that has ended; return it from the traced function instead",
          loc);
    if (belongs_to_another(a, *state_->context)) refuse(another_text(where, a), loc);
  };
  tree::detail::visit_arrays(argument, false, "", check);
}

CacheInfo JitCore::cache_info() const {
  const std::lock_guard lock(mutex_);
  return info_;
}

CompileTimes JitCore::last_times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::shared_ptr<const JitCore::Entry> JitCore::newest(const char* op) const {
  const std::lock_guard lock(mutex_);
  if (refused_) return refused_;
  if (entries_.empty()) {
    throw UsageError("gnomon::jit: `" + options_.name + "` was not called yet and has no " + op +
                     "; call it first");
  }
  return entries_.back();
}

namespace {

const Executable& compiled(const std::shared_ptr<Executable>& executable, const std::string& name,
                           const char* op) {
  if (executable == nullptr)
    throw UsageError("gnomon::jit: `" + name + "` runs on the host and has no " + op +
                     "; unset GNOMON_JIT");
  return *executable;
}

}  // namespace

std::string JitCore::text(std::string_view stage) const {
  const std::shared_ptr<const Entry> newest_entry = newest("text");
  const Entry& entry = *newest_entry;
  if (stage == "spirv" && entry.refused && !entry.executable)
    throw UsageError("gnomon::jit: the newest call of `" + options_.name +
                     "` was refused by its memory_limit and has no SPIR-V; look at its "
                     "memory_report, and compute in smaller parts or raise the limit");
  if (stage == "spirv") return compiled(entry.executable, options_.name, "SPIR-V").spirv_text();
  Dump dump;
  dump.wanted = stage;
  const std::string_view stages[] = {"passes", "graph", "fusion", "kernel", "memory", "plan"};
  if (std::find(std::begin(stages), std::end(stages), stage) == std::end(stages)) {
    throw UsageError("gnomon::jit: there is no stage `" + std::string(stage) +
                     "`; use passes, graph, fusion, kernel, spirv, memory or plan");
  }
  CompileOptions options = compile_options(entry.refill);
  options.dump = Dump::stage;
  options.dump_user = &dump;
  options.passes.record = stage == "passes";
  options.candidates = stage == "fusion";
  compile(entry.graph, state_->context->device.target(), options);
  return dump.kept;
}

int JitCore::kernel_count() const {
  const std::shared_ptr<const Entry> entry = newest("kernels");
  if (entry->refused && !entry->executable) return entry->refused->kernels;
  return static_cast<int>(
      compiled(entry->executable, options_.name, "kernels").program().steps.size());
}

MemoryReport JitCore::memory_report() const {
  const std::shared_ptr<const Entry> entry = newest("memory report");
  if (entry->refused && !entry->executable) return entry->refused->report;
  return gnomon::memory_report(
      compiled(entry->executable, options_.name, "memory report").program());
}

std::uint64_t JitCore::arena_bytes() const {
  const std::shared_ptr<const Entry> entry = newest("arena");
  if (entry->refused && !entry->executable) return entry->refused->arena_bytes;
  return compiled(entry->executable, options_.name, "arena").program().arena_bytes;
}

}  // namespace gnomon::detail
