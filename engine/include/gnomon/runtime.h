// engine/include/gnomon/runtime.h -- Runtime: one device, its memory, and the way of arrays to it
// and back.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/device_lost.h"
#include "gnomon/half.h"
#include "gnomon/handler.h"
#include "gnomon/progress.h"
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct Target;
struct RuntimeState;
struct VulkanDevice;  // gnomon/vulkan_device.h

/// Gets what the Runtime says about itself, line by line or text by text, without the end of the
/// last line.
using LogHandler = Handler<void(std::string_view)>;

/// How a Runtime is made. What is left at its default follows the environment (GNOMON_HELP=1 lists
/// the variables).
struct RuntimeOptions {
  std::string device;  // index or part of a name
  bool validate =
      false;  // Vulkan validation with synchronization checks, every module through spirv-val
  bool print_messages = true;   // what validation says, to on_log
  bool minimum_target = false;  // compile for the least that Vulkan 1.1 guarantees
  bool force_staging =
      false;  // copy through staging memory even where the host could map the device's
  std::uint64_t memory_limit = 0;  // bytes to take from the device at most; 0: what it gives
  std::uint64_t block_bytes = std::uint64_t{128} << 20;  // what is taken at once
  std::uint64_t window_bytes = 0;  // what a kernel binds at once at most; 0: what the device allows
  bool fixed_blocks = false;  // never take more at once than `block_bytes` or a single array needs
  /// Milliseconds that a long loop inside a kernel may keep the device for itself: then it goes on
  /// in another dispatch, so that it can be watched and cancelled, and drivers that reset a device
  /// after a second or two are content. Slices begin shorter and grow into it as they are measured;
  /// no result depends on it. Throws UsageError unless positive.
  double time_slice_ms = 50;
  /// Bytes of the host's memory for copies of arrays that came from it (from_host, from_bytes, key,
  /// files): Runtime::recover brings back those whose copy is there, as long as they have the
  /// elements they came with. Arrays that no longer fit have none; a copy goes with its array. 0:
  /// no copies. An adopted device, which nobody makes again, has none either.
  std::uint64_t host_copies = std::uint64_t{64} << 20;
  /// Calls with loops that the device runs in parts keep checkpoints on the host, so that the same
  /// call goes on from the last one where the device was lost and made again. What that costs:
  /// - one copy on the host of what the call computes with (intermediates, results, and arguments
  ///   that host_copies holds no copy of), two while a checkpoint is made;
  /// - the time to read that from the device, with the device at rest: a tenth of the call's at
  ///   most, unless checkpoint_ms is 0;
  /// - a call that has kept one returns when it has finished, and its loops are waited for part by
  ///   part;
  /// - moved arguments are freed behind such calls, but their memory is not used for results.
  bool resumable = false;
  /// Milliseconds from one checkpoint to the next, at least; 0: behind every part of a loop. Throws
  /// UsageError when negative.
  double checkpoint_ms = 1000;
  /// vkGetInstanceProcAddr, cast, of the Vulkan loader to use; null: the platform's own.
  void (*vulkan_loader)() = nullptr;
  /// Threads that write down and compile the kernels of a program, side by side; 0: one for each of
  /// the host's cores.
  std::size_t compile_threads = 0;
  /// Compiled programs that no jitted function holds are kept for whoever traces the same graph
  /// again, so many at most and with so many bytes of device memory and SPIR-V; the least recently
  /// used go first.
  std::size_t max_programs = 512;
  std::uint64_t program_bytes = std::uint64_t{256} << 20;
  /// Folder of the cache on disk, where processes find what earlier ones have compiled for the same
  /// device and driver; "off": none. Left empty, GNOMON_CACHE decides, else it is `gnomon` in the
  /// platform's folder for such things: $XDG_CACHE_HOME or ~/.cache, ~/Library/Caches,
  /// %LOCALAPPDATA%. Any number of processes may share it, it may be emptied at any time, and one
  /// that cannot be written to costs nothing but time.
  std::string cache;
  /// What the files there may take; the least recently used go first. 0: no cache.
  std::uint64_t cache_bytes = std::uint64_t{512} << 20;
  /// Names for tools that look at command buffers (RenderDoc, Nsight): every dispatch has the label
  /// that dumps and profiles know it by, and pipelines and buffers have names, where there is
  /// VK_EXT_debug_utils. On an adopted device it has to be enabled. Validation has them as well.
  bool labels = false;
  /// Gets what goes to stderr otherwise: lines of GNOMON_LOG and of validation, dumps that have no
  /// folder, the text of GNOMON_HELP. Called from the thread that causes it, drivers' threads among
  /// them, one call at a time; it must not call the Runtime.
  LogHandler on_log = {};
};

/// Device memory, in bytes.
struct MemoryStats {
  std::uint64_t live_bytes = 0;      // arrays, arenas and constants in use
  std::uint64_t peak_bytes = 0;      // the most that ever was
  std::uint64_t reserved_bytes = 0;  // taken from the device
  std::uint64_t live_ranges = 0;     // arrays, arenas and constants, counted
};

/// What has happened since the Runtime was made; nothing here ever goes down.
struct Counters {
  std::uint64_t vulkan_objects =
      0;  // buffers, pipelines, descriptor sets, command buffers, fences, ...
  std::uint64_t device_allocations = 0;  // memory taken from the device
  std::uint64_t modules_emitted = 0;     // kernels written down as SPIR-V
  std::uint64_t pipelines = 0;           // modules handed to the driver
  /// Of them, modules that no earlier process has left on disk, and those of which the driver says
  /// that it did not find them in its own data there. A driver that keeps no data (lavapipe 22.3,
  /// SwiftShader) cannot say.
  std::uint64_t new_pipelines = 0;
  std::uint64_t found_pipelines = 0;  // of them, what the driver says it found there
  std::uint64_t recordings = 0;       // command lists recorded
  std::uint64_t submissions = 0;
  std::uint64_t dispatches = 0;  // kernels sent to the device, each time they run
  std::uint64_t window_copies =
      0;                      // inputs copied because a kernel met more than four memory blocks
  std::uint64_t donated = 0;  // inputs whose memory became an output's
  std::uint64_t shared_donations = 0;  // moved inputs that somebody else still held
  std::uint64_t staged_bytes = 0;      // copied through staging memory
  std::uint64_t traces = 0;            // functions traced by jit
  std::uint64_t programs_compiled = 0;
  std::uint64_t programs_shared = 0;   // traces that found their graph compiled already
  std::uint64_t programs_loaded = 0;   // found on disk instead of compiled
  std::uint64_t programs_dropped = 0;  // compiled programs that went because there were too many
  std::uint64_t files_damaged = 0;     // of the cache on disk, dropped and made again
  std::uint64_t files_dropped = 0;     // because it had grown too large
};

namespace detail {
template <class T>
consteval DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, float16>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return DType::bf16;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1   ? DType::i8
           : sizeof(T) == 2 ? DType::i16
           : sizeof(T) == 4 ? DType::i32
                            : DType::i64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1   ? DType::u8
           : sizeof(T) == 2 ? DType::u16
           : sizeof(T) == 4 ? DType::u32
                            : DType::u64;
  else
    static_assert(always_false<T>,
                  "gnomon: arrays hold bool, integers, float16, bfloat16, float or double");
}

/// Throws UsageError when a row of `size` elements is not as long as the first one.
void check_row(std::size_t size, std::size_t first, Loc);

template <class T>
concept Number = std::is_arithmetic_v<T> || std::same_as<T, float16> || std::same_as<T, bfloat16>;
template <class R>
concept NumberRange = std::ranges::input_range<R> && std::ranges::sized_range<R> &&
    Number<std::ranges::range_value_t<R>>;
}  // namespace detail

/// A device and everything made on it. Movable; arrays and compiled functions stay valid when it is
/// gone, but no operation runs on such arrays outside a jitted function.
///
/// What was moved from can be destroyed and assigned to; all else that is asked of it throws
/// UsageError.
///
/// All members may be called from any thread, several at once, but those that assign to the Runtime
/// or move from it. Work is done in the order in which calls were made, whoever made them; handlers
/// are called in the thread whose call they are about.
class Runtime {
 public:
  /// Throws DeviceError when no device fits, with the reason for each, or when it refuses.
  explicit Runtime(const RuntimeOptions& = {});
  /// One that has no compiler and runs what was compiled before (gnomon/aot.h), which is all that
  /// the library `gnomon_runtime` offers by itself: whatever traces or computes with its arrays
  /// outside of such programs throws UsageError. Throws as the constructor does.
  static Runtime without_compiler(const RuntimeOptions& = {});
  /// One on a device that the application has made, described as gnomon/vulkan.h says. No instance,
  /// device or queue is made, and nothing used that was not enabled; what the device could do
  /// without it is compiled for the features that were. `device` and `memory_limit` aside, options
  /// mean what they always do; with `validate` command lists are what the application's own
  /// validation layer understands, whose messages go where the application sends them.
  ///
  /// Throws UsageError when something is missing from the description, DeviceError when the device
  /// cannot do what Vulkan 1.1 asks of all.
  static Runtime adopt(const VulkanDevice&, const RuntimeOptions& = {});
  /// Both: on the application's device, to run what was compiled before.
  static Runtime adopt_without_compiler(const VulkanDevice&, const RuntimeOptions& = {});
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  /// An array with the elements of `values`, row by row. The dtype follows the element type: bool,
  /// the integers of 8 to 64 bits, gnomon::float16 and bfloat16, float, double.
  ///
  /// Throws UsageError when there are more or fewer elements than `shape` has.
  template <detail::NumberRange R>
  Array from_host(const R& values, const Shape& shape) {
    using T = std::ranges::range_value_t<R>;
    const Aval aval{detail::dtype_of<T>(), shape};
    if constexpr (std::is_same_v<T, bool>) {
      // std::vector<bool> has no bytes; an array of bool has one per element.
      const std::vector<std::uint8_t> bytes(std::ranges::begin(values), std::ranges::end(values));
      return from_bytes(aval, std::as_bytes(std::span(bytes)));
    } else if constexpr (std::ranges::contiguous_range<R>) {
      return from_bytes(
          aval, std::as_bytes(std::span(std::ranges::data(values), std::ranges::size(values))));
    } else {
      const std::vector<T> copy(std::ranges::begin(values), std::ranges::end(values));
      return from_bytes(aval, std::as_bytes(std::span(copy)));
    }
  }
  /// A vector.
  template <detail::NumberRange R>
  Array from_host(const R& values) {
    return from_host(values, Shape(static_cast<Dim>(std::ranges::size(values))));
  }
  template <class T>
  requires detail::Number<T> Array from_host(std::initializer_list<T> values, const Shape& shape) {
    return from_host(std::vector<T>(values), shape);
  }
  /// A vector: rt.from_host({1, 2, 3}).
  template <class T>
  requires detail::Number<T> Array from_host(std::initializer_list<T> values) {
    return from_host(std::vector<T>(values));
  }
  /// A matrix, row by row. Throws UsageError when the rows differ in length.
  template <class T>
  requires detail::Number<T> Array from_host(std::initializer_list<std::initializer_list<T>> rows,
                                             Loc loc = Loc::here()) {
    std::vector<T> values;
    for (const std::initializer_list<T>& row : rows) {
      detail::check_row(row.size(), rows.begin()->size(), loc);
      values.insert(values.end(), row.begin(), row.end());
    }
    const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
    return from_host(values, Shape(static_cast<Dim>(rows.size()), static_cast<Dim>(columns)));
  }
  /// An array of rank 0.
  template <class T>
  requires detail::Number<T> Array from_host(T value) {
    return from_host(std::vector<T>{value}, Shape{});
  }
  /// From elements as device memory has them: bool as bytes 0 and 1, 16-bit floats as their bits.
  Array from_bytes(const Aval&, std::span<const std::byte>);

  /// The elements of `array`, row by row. Waits for the calls that compute it.
  ///
  /// Throws UsageError when T is not the array's element type or the array is traced, empty or of
  /// another Runtime.
  template <class T>
  std::vector<T> to_host(const Array& array, Loc loc = Loc::here()) const {
    check_type(array, detail::dtype_of<T>(), loc);
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(array.size()));
      to_bytes(array, std::as_writable_bytes(std::span(bytes)), loc);
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      std::vector<T> values(static_cast<std::size_t>(array.size()));
      to_bytes(array, std::as_writable_bytes(std::span(values)), loc);
      return values;
    }
  }
  /// The same into memory that is there: a span, a vector, an array. Throws UsageError as well when
  /// `out` has another number of elements.
  template <std::ranges::contiguous_range R>
  requires detail::NumberRange<R>
  void to_host(const Array& array, R&& out, Loc loc = Loc::here()) const {
    using T = std::ranges::range_value_t<R>;
    check_type(array, detail::dtype_of<T>(), loc);
    to_bytes(array,
             std::as_writable_bytes(std::span(std::ranges::data(out), std::ranges::size(out))),
             loc);
  }
  /// The element of an array of one element.
  template <class T>
  T item(const Array& array, Loc loc = Loc::here()) const {
    check_single(array, loc);
    return to_host<T>(array, loc)[0];
  }
  void to_bytes(const Array&, std::span<std::byte>, Loc = {}) const;

  /// The key of random::key(seed), on the device: the seed is data, so functions that are called
  /// with it are compiled once for all seeds.
  Key key(std::int64_t seed, random::Mode mode = random::Mode::partitionable);

  /// Compiles and runs `f`, which takes nothing and computes with arrays it captures: for a
  /// one-off. Defined in gnomon/jit.h.
  template <class F>
  auto run(F&& f, Loc loc = Loc::here());

  /// Makes a device again that was lost (see DeviceLost), on the same physical device, from any
  /// thread; does nothing where it is not lost. Calls that are under way in other threads end with
  /// DeviceLost first.
  ///
  /// What comes back: compiled and loaded programs with their constants, whose pipelines are made
  /// again by the next call from the SPIR-V there is; arrays that came from the host, see
  /// RuntimeOptions::host_copies; arguments of calls that go on, see RuntimeOptions::resumable:
  /// such a call is made again with the same arrays. All other arrays, those that were computed,
  /// are lost: their use throws DeviceLost, and their memory is taken until they are destroyed.
  ///
  /// Throws UsageError for an adopted device: it is the application's to make it again, and to
  /// adopt it in another Runtime. Throws DeviceError when the driver does not make the device; it
  /// stays lost then, and this may be tried again.
  void recover();

  /// Returns when everything that was started has finished.
  void wait() const;
  /// Returns when `array` is computed.
  void wait(const Array& array, Loc loc = Loc::here()) const;

  /// Where lines of debug::print go from now on; to stdout at first, and again with an empty
  /// handler. It is called in the thread that called the function, before that returns.
  void on_print(PrintHandler);

  /// Called from now on by calls with loops that the device runs in parts, each time the device has
  /// finished a part, in the thread that made the call; an empty handler ends that. Calls wait for
  /// such loops then. What runs in one dispatch has no parts, whatever it takes.
  void on_step(StepHandler);
  /// Calls end with Cancelled from now on when the token is cancelled: before they begin, and where
  /// on_step is called; nothing ends that. Then the device has finished what was under way.
  void cancel_with(std::optional<CancelToken>);

  const std::string& device_name() const;
  /// "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"; empty when the device cannot say.
  std::string driver() const;
  /// "1.3".
  std::string api() const;
  const Target& target() const;
  MemoryStats memory() const;
  Counters counters() const;
  /// Forgets compiled programs that no jitted function holds, and frees their memory.
  void clear_programs();
  /// What validation has said so far; empty without it.
  std::vector<std::string> validation_messages() const;

  /// What every member goes by. Throws UsageError when the Runtime was moved from.
  const std::shared_ptr<RuntimeState>& state() const;

 private:
  explicit Runtime(std::shared_ptr<RuntimeState>);
  void check_type(const Array&, DType, Loc) const;
  void check_single(const Array&, Loc) const;
  std::shared_ptr<RuntimeState> state_;
};

/// The array as NumPy prints it: aligned columns, the fewest digits that tell the elements apart (8
/// at most after the point), the middle of arrays with more than 1,000 elements left out.
std::string to_string(const Runtime&, const Array&);

}  // namespace gnomon
#pragma GCC visibility pop
