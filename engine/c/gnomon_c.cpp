// engine/c/gnomon_c.cpp -- the C interface over the C++ one: handles, statuses, and nothing thrown.
#include "gnomon/gnomon.c.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/runtime/state.h"
#include "gnomon/aot.h"
#include "gnomon/debug.h"
#include "gnomon/error.h"
#include "gnomon/external_memory.h"
#include "gnomon/progress.h"
#include "gnomon/runtime.h"
#include "gnomon/vulkan_device.h"

struct gnomon_runtime {
  gnomon::Runtime rt;
};
struct gnomon_program {
  gnomon::aot::Programs programs;
};
struct gnomon_array {
  gnomon::Array array;
};
struct gnomon_memory {
  gnomon::SharedMemory memory;
};

namespace {

using gnomon::DType;
using gnomon::UsageError;

static_assert(static_cast<int>(DType::boolean) == GNOMON_BOOL &&
              static_cast<int>(DType::i32) == GNOMON_I32 &&
              static_cast<int>(DType::f16) == GNOMON_F16 &&
              static_cast<int>(DType::f64) == GNOMON_F64);
static_assert(gnomon::Shape::max_rank == GNOMON_MAX_RANK);

// Room that is there beforehand: a message has to be told where no memory is left, too.
constexpr std::size_t most_text = 4096;
char* last_error() {
  thread_local char text[most_text] = "";
  return text;
}

gnomon_status failed(gnomon_status status, const char* text) noexcept {
  std::snprintf(last_error(), most_text, "%s", text);
  return status;
}

/// `f()` with what it throws as a status.
template <class F>
gnomon_status guarded(F&& f) noexcept {
  try {
    f();
    return GNOMON_OK;
  } catch (const gnomon::UsageError& e) {
    return failed(GNOMON_USAGE, e.what());
  } catch (const gnomon::DeviceLost& e) {
    return failed(GNOMON_DEVICE_LOST, e.what());
  } catch (const gnomon::DeviceError& e) {
    return failed(GNOMON_DEVICE, e.what());
  } catch (const gnomon::FileError& e) {
    return failed(GNOMON_FILE, e.what());
  } catch (const gnomon::CheckFailed& e) {
    return failed(GNOMON_CHECK_FAILED, e.what());
  } catch (const gnomon::Cancelled& e) {
    return failed(GNOMON_CANCELLED, e.what());
  } catch (const std::bad_alloc&) {
    return failed(GNOMON_OUT_OF_MEMORY,
                  "gnomon: the host has no memory left; free some and try again");
  } catch (const std::exception& e) {
    return failed(GNOMON_INTERNAL, e.what());
  } catch (...) {
    return failed(GNOMON_INTERNAL, "gnomon: something was thrown that is no error");
  }
}

void require(const void* pointer, const char* function, const char* what) {
  if (pointer == nullptr)
    throw UsageError("gnomon::" + std::string(function) + ": " + what +
                     " is null; pass what it points to");
}

/// Fields that the caller's version of a struct has: the rest is as it is by default.
template <class T>
T known(const T* given, const char* function) {
  T result{};
  if (given == nullptr) return result;
  std::size_t size = 0;  // of a struct that may be shorter than T
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof(std::size_t) || size > (std::size_t{1} << 16))
    throw UsageError("gnomon::" + std::string(function) + ": the struct says it has " +
                     std::to_string(size) + " bytes; begin with its INIT macro");
  std::memcpy(&result, given, std::min(size, sizeof(T)));
  return result;
}

gnomon::Handler<void(std::string_view)> handler(gnomon_text_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user](std::string_view line) { callback(user, std::string(line).c_str()); };
}

gnomon::StepHandler handler(gnomon_step_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user](const gnomon::Progress& p) {
    const std::string function(p.function);
    if (callback(user, function.c_str(), p.steps, p.bound) != 0)
      throw gnomon::Cancelled("gnomon::call: on_step has ended `" + function + "` after " +
                              std::to_string(p.steps) + " steps");
  };
}

gnomon::Handler<void()> handler(gnomon_lock_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user] { callback(user); };
}

gnomon::VulkanDevice vulkan_device(const gnomon_adopted_device* given) {
  const gnomon_adopted_device a = known(given, "runtime_create");
  gnomon::VulkanDevice d;
  d.get_instance_proc_addr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(a.get_instance_proc_addr);
  d.instance = static_cast<VkInstance>(a.instance);
  d.physical_device = static_cast<VkPhysicalDevice>(a.physical_device);
  d.device = static_cast<VkDevice>(a.device);
  d.queue = static_cast<VkQueue>(a.queue);
  d.queue_family = a.queue_family;
  d.api_version = a.api_version;
  if (a.extension_count > 0) require(a.extensions, "runtime_create", "`extensions`");
  d.extensions = {a.extensions, a.extension_count};
  d.features = a.features;
  d.lock_queue = handler(a.lock_queue, a.queue_user);
  d.unlock_queue = handler(a.unlock_queue, a.queue_user);
  return d;
}

gnomon::RuntimeOptions runtime_options(const gnomon_runtime_options& o) {
  gnomon::RuntimeOptions options;
  if (o.device != nullptr) options.device = o.device;
  options.validate = o.validate != 0;
  options.memory_limit = o.memory_limit;
  options.on_log = handler(o.on_log, o.log_user);
  if (o.host_copies != 0)
    options.host_copies = o.host_copies == GNOMON_NO_HOST_COPIES ? 0 : o.host_copies;
  options.resumable = o.resumable != 0;
  if (o.checkpoint_ms != 0) options.checkpoint_ms = o.checkpoint_ms;
  options.vulkan_loader = o.vulkan_loader;
  return options;
}

gnomon::HandleKind kind_of(gnomon_handle_kind kind) {
  if (kind != GNOMON_OPAQUE_FD && kind != GNOMON_OPAQUE_WIN32)
    throw UsageError("gnomon::memory: there is no kind of handle " +
                     std::to_string(static_cast<unsigned>(kind)) +
                     "; use those of gnomon_handle_kind");
  return static_cast<gnomon::HandleKind>(kind);
}

/// The type of an array, whose bytes can be counted.
gnomon::Aval aval_of(gnomon_dtype dtype, std::uint32_t rank, const std::int64_t* shape,
                     const std::string& function) {
  if (rank > 0) require(shape, function.c_str(), "`shape`");
  if (static_cast<unsigned>(dtype) > GNOMON_F64)
    throw UsageError("gnomon::" + function + ": there is no dtype " +
                     std::to_string(static_cast<unsigned>(dtype)) + "; use those of gnomon_dtype");
  if (rank > GNOMON_MAX_RANK)
    throw UsageError("gnomon::" + function + ": an array has " + std::to_string(rank) +
                     " axes and at most " + std::to_string(GNOMON_MAX_RANK) + " are possible");
  gnomon::Aval aval;
  aval.dtype = static_cast<DType>(dtype);
  std::uint64_t wanted = size_of(aval.dtype);
  for (std::uint32_t i = 0; i < rank; ++i) {
    const bool fits = shape[i] >= 0 &&
                      (shape[i] == 0 ||
                       wanted <= (std::uint64_t{1} << 62) / static_cast<std::uint64_t>(shape[i]));
    if (!fits)
      throw UsageError("gnomon::" + function + ": axis " + std::to_string(i) + " has " +
                       std::to_string(shape[i]) + " elements, which no array has");
    wanted *= static_cast<std::uint64_t>(shape[i]);
    aval.shape.append(shape[i]);
  }
  return aval;
}

void fill(gnomon_argument* out, const char* path, const gnomon::Aval& aval, const char* function) {
  require(out, function, "`out`");
  gnomon_argument a{};
  a.size = known(out, function).size;
  a.path = path;
  a.dtype = static_cast<gnomon_dtype>(aval.dtype);
  a.rank = static_cast<std::uint32_t>(aval.shape.rank());
  for (int i = 0; i < aval.shape.rank(); ++i) a.shape[i] = aval.shape[i];
  a.bytes = gnomon::bytes_of(aval);
  std::memcpy(out, &a, std::min(a.size, sizeof a));
}

const gnomon::aot::EntryInfo& info_of(const gnomon_program* program, std::uint32_t entry,
                                      const char* function) {
  require(program, function, "`program`");
  const auto& all = program->programs.entries();
  if (entry >= all.size())
    throw UsageError("gnomon::" + std::string(function) + ": there is no entry " +
                     std::to_string(entry) + "; the program has " + std::to_string(all.size()));
  return all[entry];
}

gnomon_status describe(const gnomon_program* program, std::uint32_t entry, std::uint32_t index,
                       bool result, gnomon_argument* out, const char* function) noexcept {
  return guarded([&] {
    const gnomon::aot::EntryInfo& info = info_of(program, entry, function);
    const auto& leaves = result ? info.results : info.arguments;
    if (index >= leaves.size())
      throw UsageError("gnomon::" + std::string(function) + ": there is no array " +
                       std::to_string(index) + " of `" + info.name + "`; it has " +
                       std::to_string(leaves.size()));
    fill(out, leaves[index].path.c_str(), leaves[index].aval, function);
  });
}

/// None for null alone: an empty text, as of a variable that is not set, must not turn the check
/// off.
gnomon::aot::LoadOptions load_options(const char* digest, const char* function) {
  gnomon::aot::LoadOptions options;
  if (digest == nullptr) return options;
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : std::string_view(digest))
    options.digest += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  if (options.digest.size() != 64 || options.digest.find_first_not_of(digits) != std::string::npos)
    throw UsageError("gnomon::" + std::string(function) + ": the digest \"" + digest +
                     "\" is not 64 hexadecimal digits; pass what was given when the file was "
                     "saved, or null to load any file");
  return options;
}

}  // namespace

extern "C" {

uint32_t gnomon_version(void) { return GNOMON_C_VERSION; }

const char* gnomon_last_error(void) { return last_error(); }

gnomon_status gnomon_runtime_create(const gnomon_runtime_options* given, gnomon_runtime** out) {
  return guarded([&] {
    require(out, "runtime_create", "`out`");
    *out = nullptr;
    const gnomon_runtime_options o = known(given, "runtime_create");
    const gnomon::RuntimeOptions options = runtime_options(o);
    auto made = std::make_unique<gnomon_runtime>(gnomon_runtime{
        o.adopted == nullptr
            ? gnomon::Runtime::without_compiler(options)
            : gnomon::Runtime::adopt_without_compiler(vulkan_device(o.adopted), options)});
    if (o.on_print != nullptr) made->rt.on_print(handler(o.on_print, o.print_user));
    made->rt.on_step(handler(o.on_step, o.step_user));
    if (o.cancel != nullptr)
      made->rt.state()->watch_with(gnomon::Handler<bool()>(
          [cancel = o.cancel, user = o.cancel_user] { return cancel(user) != 0; }));
    *out = made.release();
  });
}

void gnomon_runtime_destroy(gnomon_runtime* runtime) { delete runtime; }

gnomon_status gnomon_runtime_recover(gnomon_runtime* runtime) {
  return guarded([&] {
    require(runtime, "runtime_recover", "`runtime`");
    runtime->rt.recover();
  });
}

const char* gnomon_runtime_device(const gnomon_runtime* runtime) {
  return runtime == nullptr ? nullptr : runtime->rt.device_name().c_str();
}

uint64_t gnomon_runtime_modules_emitted(const gnomon_runtime* runtime) {
  return runtime == nullptr ? 0 : runtime->rt.counters().modules_emitted;
}

gnomon_status gnomon_program_load(gnomon_runtime* runtime, const char* path, const char* digest,
                                  gnomon_program** out) {
  return guarded([&] {
    require(out, "program_load", "`out`");
    *out = nullptr;
    require(runtime, "program_load", "`runtime`");
    require(path, "program_load", "`path`");
    *out = new gnomon_program{
        gnomon::aot::load(runtime->rt, path, load_options(digest, "program_load"))};
  });
}

gnomon_status gnomon_program_load_memory(gnomon_runtime* runtime, const void* bytes, size_t size,
                                         const char* digest, gnomon_program** out) {
  return guarded([&] {
    require(out, "program_load_memory", "`out`");
    *out = nullptr;
    require(runtime, "program_load_memory", "`runtime`");
    require(bytes, "program_load_memory", "`bytes`");
    const std::span<const std::byte> file(static_cast<const std::byte*>(bytes), size);
    *out = new gnomon_program{
        gnomon::aot::load(runtime->rt, file, load_options(digest, "program_load_memory"))};
  });
}

void gnomon_program_destroy(gnomon_program* program) { delete program; }

uint32_t gnomon_program_entries(const gnomon_program* program) {
  return program == nullptr ? 0 : static_cast<std::uint32_t>(program->programs.entries().size());
}

gnomon_status gnomon_program_entry(const gnomon_program* program, uint32_t index, const char** name,
                                   uint32_t* arguments, uint32_t* results) {
  return guarded([&] {
    const gnomon::aot::EntryInfo& info = info_of(program, index, "program_entry");
    if (name != nullptr) *name = info.name.c_str();
    if (arguments != nullptr) *arguments = static_cast<std::uint32_t>(info.arguments.size());
    if (results != nullptr) *results = static_cast<std::uint32_t>(info.results.size());
  });
}

gnomon_status gnomon_program_argument(const gnomon_program* program, uint32_t entry, uint32_t index,
                                      gnomon_argument* out) {
  return describe(program, entry, index, false, out, "program_argument");
}

gnomon_status gnomon_program_result(const gnomon_program* program, uint32_t entry, uint32_t index,
                                    gnomon_argument* out) {
  return describe(program, entry, index, true, out, "program_result");
}

gnomon_status gnomon_array_create(gnomon_runtime* runtime, gnomon_dtype dtype, uint32_t rank,
                                  const int64_t* shape, const void* elements, size_t bytes,
                                  gnomon_array** out) {
  return guarded([&] {
    require(out, "array_create", "`out`");
    *out = nullptr;
    require(runtime, "array_create", "`runtime`");
    if (bytes > 0) require(elements, "array_create", "`elements`");
    const gnomon::Aval aval = aval_of(dtype, rank, shape, "array_create");
    const std::uint64_t wanted = gnomon::bytes_of(aval);
    if (wanted != bytes)
      throw UsageError("gnomon::array_create: " + to_string(aval) + " has " +
                       std::to_string(wanted) + " bytes and " + std::to_string(bytes) +
                       " are given; make the two agree");
    const std::span<const std::byte> data(static_cast<const std::byte*>(elements), bytes);
    *out = new gnomon_array{runtime->rt.from_bytes(aval, data)};
  });
}

void gnomon_array_destroy(gnomon_array* array) { delete array; }

gnomon_status gnomon_array_describe(const gnomon_array* array, gnomon_argument* out) {
  return guarded([&] {
    require(array, "array_describe", "`array`");
    fill(out, "", array->array.aval(), "array_describe");
  });
}

gnomon_status gnomon_array_read(gnomon_runtime* runtime, const gnomon_array* array, void* elements,
                                size_t bytes) {
  return guarded([&] {
    require(runtime, "array_read", "`runtime`");
    require(array, "array_read", "`array`");
    if (bytes > 0) require(elements, "array_read", "`elements`");
    runtime->rt.to_bytes(array->array, {static_cast<std::byte*>(elements), bytes});
  });
}

gnomon_status gnomon_memory_create(gnomon_runtime* runtime, uint64_t bytes, gnomon_handle_kind kind,
                                   gnomon_memory** out) {
  return guarded([&] {
    require(out, "memory_create", "`out`");
    *out = nullptr;
    require(runtime, "memory_create", "`runtime`");
    *out = new gnomon_memory{gnomon::SharedMemory(runtime->rt, bytes, kind_of(kind), {})};
  });
}

gnomon_status gnomon_memory_import(gnomon_runtime* runtime, const gnomon_memory_handle* handle,
                                   gnomon_memory** out) {
  return guarded([&] {
    require(out, "memory_import", "`out`");
    *out = nullptr;
    require(runtime, "memory_import", "`runtime`");
    require(handle, "memory_import", "`handle`");
    const gnomon_memory_handle h = known(handle, "memory_import");
    gnomon::MemoryHandle from;
    from.kind = kind_of(h.kind);
    from.fd = h.fd;
    from.win32 = h.win32;
    from.bytes = h.bytes;
    from.memory_type = h.memory_type;
    from.dedicated = h.dedicated != 0;
    std::copy(std::begin(h.device), std::end(h.device), from.device.begin());
    // Room first: what is imported has taken the descriptor.
    auto made = std::make_unique<gnomon_memory>();
    made->memory = gnomon::SharedMemory(runtime->rt, from, {});
    *out = made.release();
  });
}

void gnomon_memory_destroy(gnomon_memory* memory) { delete memory; }

gnomon_status gnomon_memory_export(const gnomon_memory* memory, gnomon_memory_handle* out) {
  return guarded([&] {
    require(memory, "memory_export", "`memory`");
    require(out, "memory_export", "`out`");
    const std::size_t size = known(out, "memory_export").size;
    const gnomon::MemoryHandle from = memory->memory.handle({});
    gnomon_memory_handle h = GNOMON_MEMORY_HANDLE_INIT;
    h.size = size;
    h.kind = static_cast<gnomon_handle_kind>(from.kind);
    h.fd = from.fd;
    h.win32 = from.win32;
    h.bytes = from.bytes;
    h.memory_type = from.memory_type;
    h.dedicated = from.dedicated;
    std::copy(from.device.begin(), from.device.end(), std::begin(h.device));
    std::memcpy(out, &h, std::min(size, sizeof h));
  });
}

gnomon_status gnomon_memory_array(const gnomon_memory* memory, uint64_t offset, gnomon_dtype dtype,
                                  uint32_t rank, const int64_t* shape, gnomon_array** out) {
  return guarded([&] {
    require(out, "memory_array", "`out`");
    *out = nullptr;
    require(memory, "memory_array", "`memory`");
    const gnomon::Aval aval = aval_of(dtype, rank, shape, "memory_array");
    *out = new gnomon_array{memory->memory.array(offset, aval, {})};
  });
}

gnomon_status gnomon_memory_put(const gnomon_memory* memory, uint64_t offset,
                                const gnomon_array* array, gnomon_array** out) {
  return guarded([&] {
    if (out != nullptr) *out = nullptr;
    require(memory, "memory_put", "`memory`");
    require(array, "memory_put", "`array`");
    gnomon::Array there = memory->memory.put(offset, array->array, {});
    if (out != nullptr) *out = new gnomon_array{std::move(there)};
  });
}

gnomon_status gnomon_memory_release(const gnomon_memory* memory) {
  return guarded([&] {
    require(memory, "memory_release", "`memory`");
    memory->memory.release();
  });
}

gnomon_status gnomon_memory_acquire(const gnomon_memory* memory) {
  return guarded([&] {
    require(memory, "memory_acquire", "`memory`");
    memory->memory.acquire();
  });
}

gnomon_status gnomon_call(gnomon_program* program, const char* entry,
                          gnomon_array* const* arguments, uint32_t count, gnomon_array** results,
                          uint32_t results_count) {
  return guarded([&] {
    if (results != nullptr) std::fill_n(results, results_count, nullptr);
    require(program, "call", "`program`");
    if (count > 0) require(arguments, "call", "`arguments`");
    const char* const name = entry == nullptr ? "" : entry;
    const gnomon::aot::EntryInfo& info = program->programs.entries()[program->programs.find(name)];
    if (results_count != info.results.size() || (results_count > 0 && results == nullptr))
      throw UsageError("gnomon::call: `" + info.name + "` gives " +
                       std::to_string(info.results.size()) + " arrays and there is room for " +
                       std::to_string(results == nullptr ? 0 : results_count) +
                       "; pass as many places");
    std::vector<gnomon::Array> inputs;
    for (std::uint32_t i = 0; i < count; ++i) {
      require(arguments[i], "call", ("argument " + std::to_string(i)).c_str());
      inputs.push_back(arguments[i]->array);
    }
    std::vector<std::unique_ptr<gnomon_array>> made;
    for (gnomon::Array& a : program->programs.call(name, std::move(inputs)))
      made.push_back(std::make_unique<gnomon_array>(gnomon_array{std::move(a)}));
    for (std::size_t i = 0; i < made.size(); ++i) results[i] = made[i].release();
  });
}

gnomon_status gnomon_wait(gnomon_runtime* runtime) {
  return guarded([&] {
    require(runtime, "wait", "`runtime`");
    runtime->rt.wait();
  });
}

}  // extern "C"
