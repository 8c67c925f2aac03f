// engine/runtime/runtime.cpp -- the public face of a context.
#include "gnomon/runtime.h"
#include "gnomon/paths.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "codegen/base/array_text.h"
#include "codegen/trace/executor.h"
#include "engine/runtime/state.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

vulkan::DeviceOptions device_options(const RuntimeOptions& options,
                                     const Environment& environment) {
  vulkan::DeviceOptions result;
  result.wanted = options.device.empty() ? environment.device : options.device;
  result.validate = options.validate || environment.validate;
  if (options.print_messages) result.log = environment.messages;
  result.minimum_target = options.minimum_target || environment.minimum;
  result.force_staging = options.force_staging;
  result.memory_limit = options.memory_limit;
  result.block_bytes = options.block_bytes;
  result.window_bytes = options.window_bytes;
  result.fixed_blocks = options.fixed_blocks;
  result.notices = environment.messages;
  result.get_instance_proc_addr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(options.vulkan_loader);
  result.labels = options.labels;
  return result;
}

// Nothing when there is none.
std::shared_ptr<DiskCache> disk_cache(const RuntimeOptions& options,
                                      const Environment& environment) {
  std::string folder = options.cache;
  if (folder.empty()) folder = environment.cache;
  if (folder.empty() && !environment.user_cache.empty())
    folder = environment.user_cache + "/gnomon";
  if (folder.empty() || folder == "off" || options.cache_bytes == 0) return nullptr;
  return std::make_shared<DiskCache>(path_of(folder), options.cache_bytes);
}

Environment with_log(Environment environment, const LogHandler& log) {
  environment.messages = std::make_shared<const vulkan::Log>(log);
  return environment;
}

void to_stdout(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

/// Where there is none: says so of operations at once.
class NoCompiler final : public Executor {
 public:
  Arrays execute(std::string_view op, const Graph&, const Arrays&) override { no_compiler(op); }
};

}  // namespace

void no_compiler(std::string_view op) {
  throw UsageError("gnomon::" + std::string(op) +
                   ": this Runtime was made without a compiler and can only run programs that were "
                   "saved (gnomon/aot.h); make it by its constructor to compile");
}

RuntimeState::RuntimeState(const RuntimeOptions& options, std::shared_ptr<const Compiler> compiler,
                           std::shared_ptr<const vulkan::AdoptedDevice> adopted)
    : environment(with_log(Environment::read(), options.on_log)),
      validate(options.validate || environment.validate),
      print_(&to_stdout) {
  if (environment.help) environment.messages->write(help_text());
  if (!(options.time_slice_ms > 0))
    throw UsageError("gnomon::Runtime: a time slice of " + std::to_string(options.time_slice_ms) +
                     " ms; give it some time, 50 ms for instance");
  if (!(options.checkpoint_ms >= 0))
    throw UsageError("gnomon::Runtime: a checkpoint every " +
                     std::to_string(options.checkpoint_ms) +
                     " ms; give it some time, 1000 ms for instance, or 0");
  ContextOptions own;
  own.time_slice_ms = options.time_slice_ms;
  own.compile_threads = options.compile_threads;
  own.resumable = options.resumable;
  own.checkpoint_ms = options.checkpoint_ms;
  own.host_copies = options.host_copies;
  own.disk = disk_cache(options, environment);
  own.compiler = std::move(compiler);
  vulkan::DeviceOptions device = device_options(options, environment);
  device.adopted = std::move(adopted);
  context = std::make_shared<Context>(device, own);
  if (!own.compiler) {
    refusing = std::make_shared<NoCompiler>();
    context->executor = refusing;
  }
}

Array RuntimeState::placed(const Array& a) const {
  const bool made_of_numbers = a.concrete() && a.storage()->unplaced() != nullptr;
  if (!made_of_numbers) return a;
  if (!compiling)
    throw UsageError(
        "gnomon::Runtime: an array made of numbers alone cannot be computed without a compiler; "
        "bring its elements by from_host");
  return compiling->placed(a);
}

Runtime::Runtime(std::shared_ptr<RuntimeState> state) : state_(std::move(state)) {}

Runtime Runtime::without_compiler(const RuntimeOptions& options) {
  return Runtime(std::make_shared<RuntimeState>(options, nullptr));
}

Runtime::~Runtime() = default;
// The constructor with a compiler is in engine/jit/eager.cpp: it knows how operations run at once.
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

const std::shared_ptr<RuntimeState>& Runtime::state() const {
  if (state_) return state_;
  throw UsageError(
      "gnomon::Runtime: this Runtime was moved from and has no device; use the one that it was "
      "moved to, or assign another");
}

Array Runtime::from_bytes(const Aval& aval, std::span<const std::byte> bytes) {
  if (bytes.size() != bytes_of(aval)) {
    throw UsageError("gnomon::from_host: " + std::to_string(bytes.size() / size_of(aval.dtype)) +
                     " elements were given for " + to_string(aval.dtype, aval.shape) +
                     ", which has " + std::to_string(aval.shape.size()) + "; make the two agree");
  }
  return on_device(state()->context, aval, bytes);
}

void Runtime::to_bytes(const Array& array, std::span<std::byte> bytes, Loc loc) const {
  const Array here = state()->placed(array);
  storage_of(here, *state()->context, "to_host", loc);
  if (bytes.size() != bytes_of(array.aval()))
    usage_error("to_host",
                to_string(array.aval()) + " has " + std::to_string(bytes_of(array.aval())) +
                    " bytes and there is room for " + std::to_string(bytes.size()) +
                    "; make the two agree",
                loc);
  download(*state()->context, here, "to_host", bytes);
}

void Runtime::check_type(const Array& array, DType wanted, Loc loc) const {
  storage_of(state()->placed(array), *state()->context, "to_host", loc);
  if (array.dtype() == wanted) return;
  usage_error("to_host",
              "the array is " + to_string(array.aval()) + " and " + std::string(name(wanted)) +
                  " elements were asked for; ask for the array's own type or cast it",
              loc);
}

void Runtime::check_single(const Array& array, Loc loc) const {
  storage_of(state()->placed(array), *state()->context, "item", loc);
  if (array.size() == 1) return;
  usage_error("item",
              to_string(array.aval()) + " has " + std::to_string(array.size()) +
                  " elements and one is needed; use to_host",
              loc);
}

void Runtime::wait() const {
  const Gate::Use use(state()->context->gate);
  state()->context->device.require();
  state()->context->queue.wait_idle();
}

void Runtime::recover() { state()->context->recover(); }

void Runtime::wait(const Array& array, Loc loc) const {
  const Array here = state()->placed(array);
  const Gate::Use use(state()->context->gate);
  state()->context->queue.wait(storage_of(here, *state()->context, "wait", loc).ready());
}

void detail::check_row(std::size_t size, std::size_t first, Loc loc) {
  if (size == first) return;
  usage_error("from_host",
              "a row has " + std::to_string(size) + " elements and the first one has " +
                  std::to_string(first) + "; rows of a matrix are of one length",
              loc);
}

const std::string& Runtime::device_name() const {
  return state()->context->device.description().name;
}

std::string Runtime::driver() const {
  const auto& device = state()->context->device.description();
  return device.driver + (device.driver_info.empty() ? "" : " " + device.driver_info);
}

std::string Runtime::api() const { return state()->context->device.description().api(); }

const Target& Runtime::target() const { return state()->context->device.target(); }

MemoryStats Runtime::memory() const {
  const auto stats = state()->context->arrays.stats();
  return {stats.live_bytes, stats.peak_bytes, stats.reserved_bytes, stats.live_ranges};
}

Counters Runtime::counters() const {
  const auto& device = state()->context->device.counters();
  const auto& context = state()->context->counters;
  Counters c;
  c.vulkan_objects = device.objects;
  c.device_allocations = device.allocations;
  c.modules_emitted = context.modules_emitted;
  c.pipelines = device.pipelines;
  c.new_pipelines = device.new_pipelines;
  c.found_pipelines = device.found_pipelines;
  c.recordings = context.recordings;
  c.submissions = device.submissions;
  c.dispatches = context.dispatches;
  c.window_copies = context.window_copies;
  c.donated = context.donated;
  c.shared_donations = context.shared_donations;
  c.staged_bytes = context.staged_bytes;
  c.traces = state()->traces;
  c.programs_compiled = state()->programs_compiled;
  c.programs_shared = state()->programs_shared;
  c.programs_loaded = state()->programs_loaded;
  if (state()->compiling) c.programs_dropped = state()->compiling->dropped();
  if (const auto& disk = state()->context->disk) {
    c.files_damaged = disk->damaged();
    c.files_dropped = disk->dropped();
  }
  return c;
}

void Runtime::on_print(PrintHandler handler) {
  state()->set_sink(handler ? std::move(handler) : PrintHandler(&to_stdout));
}

void Runtime::on_step(StepHandler handler) { state()->watch_with(std::move(handler)); }

void Runtime::cancel_with(std::optional<CancelToken> token) {
  state()->watch_with(std::move(token));
}

void Runtime::clear_programs() {
  if (state()->compiling) state()->compiling->clear();
}

std::vector<std::string> Runtime::validation_messages() const {
  return state()->context->device.instance().messages().all();
}

std::string to_string(const Runtime& rt, const Array& array) {
  HostArray host(array.aval());
  rt.to_bytes(array, host.bytes);
  return to_string(host);
}

}  // namespace gnomon
