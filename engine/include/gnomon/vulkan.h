// engine/include/gnomon/vulkan.h -- inside an application that uses Vulkan itself: a Runtime on its
// device, its buffers as arrays, its command buffers and its semaphores.
//
// Needs the headers of Vulkan, none of its functions: those come from the entry point that the
// application hands over.
#pragma once
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gnomon/detail/frames.h"
#include "gnomon/runtime.h"
#include "gnomon/tree.h"
#include "gnomon/vulkan_device.h"

#pragma GCC visibility push(default)
namespace gnomon {

class Executable;
class RecordedCall;

/// Bytes of a buffer.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0, bytes = 0;
};

/// A buffer of the application's, for `array_in`.
struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  /// Of the whole buffer, a multiple of 16.
  std::uint64_t bytes = 0;
  /// As it was created: all of `buffer_usage` but perhaps SHADER_DEVICE_ADDRESS.
  VkBufferUsageFlags usage = 0;
  /// Where the host sees its first byte, if the memory is mapped and coherent; reading and writing
  /// go there then. Null: through staging memory.
  void* mapped = nullptr;
};

/// What a buffer has to be created for so that its memory can be an array: with what the
/// application needs itself, VkBufferCreateInfo::usage. Where it holds SHADER_DEVICE_ADDRESS the
/// memory is allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, or the bit left out.
VkBufferUsageFlags buffer_usage(const Runtime&);

/// An array whose elements are what a buffer holds from `offset` on, row by row, without a copy.
/// The buffer stays the application's: it is destroyed when the array and what was made to refer to
/// it are gone and the device is done. Keep the array: kernels are recorded for the buffers that
/// they have met, and one whose arrays are all gone is a new one next time. A kernel sees four
/// buffers at most, Gnomon's own memory among them; inputs beyond are copied.
///
/// `offset` is a multiple of 256, and the buffer reaches on to the next multiple of 256 behind the
/// elements: kernels may write up to there. Unchecked: what the application does with the bytes
/// while calls use them.
/// Throws UsageError when the range does not fit or a usage is missing.
Array array_in(Runtime&, const VulkanBuffer&, std::uint64_t offset, const Aval&,
               Loc loc = Loc::here());

/// Where the elements of an array lie, row by row. Valid while a handle to the array is kept; until
/// the call that computes it has finished, see `signal` and Runtime::wait.
/// Throws UsageError for an empty or traced array, and one of another Runtime.
BufferRange buffer_of(const Runtime&, const Array&);

/// A semaphore, and for one with a timeline the value, which is not 0.
struct Semaphore {
  VkSemaphore handle = VK_NULL_HANDLE;
  std::uint64_t value = 0;
};
/// Everything that the Runtime submits from now on waits for the semaphore, on the device.
/// Throws DeviceError when the device fails.
void wait_for(Runtime&, const Semaphore&);
/// Signals the semaphore when everything has finished that was submitted so far. What was written
/// is visible to whoever waits for it.
/// Throws DeviceError when the device fails.
void signal(Runtime&, const Semaphore&);

namespace detail {
/// Lets go of a call; `known` says whether it is known when the device is done with it.
struct GiveBack {
  void operator()(RecordedCall*) const;
  bool known = false;
};
}  // namespace detail

/// A call that `record` has written into a command buffer. Holds its arrays, intermediates and
/// parameters: keep it as long as the command buffer will be submitted again. Movable; used by one
/// thread at a time.
///
/// Destroying it while the device is at work is safe. What it held is then used again, and its
/// results are known to be ready, behind whatever the Runtime submits next; where it submits
/// nothing, `record` submits a fence after every 16 such. `finished` saves that.
class Recording {
 public:
  Recording() = default;
  explicit Recording(RecordedCall* call) : call_(call) {}

  /// Says that the command buffer is on the adopted queue: from now on the results know when they
  /// are ready (`to_host`, Runtime::wait). Costs a submission of a fence.
  ///
  /// Throws DeviceError when the device fails.
  void submitted();
  /// Says that the device is done with the command buffer for the last time, since a fence of the
  /// application's has passed: lets go of what this holds, and results can be read. Unchecked.
  void finished();

  explicit operator bool() const { return call_ != nullptr; }

 private:
  std::unique_ptr<RecordedCall, detail::GiveBack> call_;
};

/// A command buffer that is being recorded, outside of a render pass.
struct Commands {
  Commands(VkCommandBuffer commands, Loc at = Loc::here()) : handle(commands), loc(at) {}
  VkCommandBuffer handle;
  Loc loc;
};

namespace detail {
/// A tree, and what tells its type from others.
struct TypedTree {
  template <class T>
  static TypedTree of(const T& tree) {
    return {tree::detail::AnyTree::of(tree), &tree::detail::type_identity<T>};
  }
  tree::detail::AnyTree tree;
  const void* type;
};

/// Nothing when no such call is known. Of `trees` the first one is the results.
Recording replay(Frames&, VkCommandBuffer, std::span<const TypedTree> trees);
Recording record(Frames&, VkCommandBuffer, const std::shared_ptr<Executable>&,
                 std::span<const Array> inputs, std::vector<Array>& outputs,
                 std::span<const TypedTree> trees);
}  // namespace detail

/// Writes a call of `f`, which is jitted (gnomon/jit.h) or was loaded (gnomon/aot.h), into a
/// command buffer of the application's, which is to be submitted to the adopted queue. `results` is
/// a tree of what `f` returns: arrays in it that are empty get memory, others are written to, among
/// them those of `array_in`. Where `f` meets new types it is compiled first.
///
/// What is read must have been made visible to COMPUTE_SHADER / SHADER_READ by the application, but
/// for what computes or copies in the same queue, which the recorded commands begin by waiting for;
/// what is written must no longer be in use by other stages. Behind them results are
/// COMPUTE_SHADER / SHADER_WRITE: a barrier of the application's makes them visible to whatever
/// comes next, VERTEX_INPUT / VERTEX_ATTRIBUTE_READ for instance. Buffers have no layout and stay
/// with the queue's family. Afterwards the pipeline and set 0 of the compute bind point are others;
/// nothing else of the command buffer's state is touched.
///
/// A call with the arrays of one of the last 32 of `f` with other arrays costs little more than the
/// commands that it consists of, and allocates nothing: make the arrays of a frame once. `prepare`
/// saves the rest.
///
/// Loops of a known number of steps are written out; others run as often as they may at most, of
/// which what is not needed costs a fraction of a microsecond. A command buffer may be submitted
/// again, not twice at the same time, and one function's recordings and calls share intermediates:
/// they are in order on one queue.
/// Throws UsageError for a function that prints or checks, for a loop without a bound or of more
/// than 65,536 dispatches, for results that do not fit or would overwrite what is read, and where
/// calling would.
template <class R, class F, class... A>
requires(requires(const F& f) { f.frames(); }) Recording
    record(const Commands& commands, R& results, const F& f, const A&... args) {
  const detail::TypedTree trees[] = {detail::TypedTree::of(results),
                                     detail::TypedTree::of(args)...};
  detail::Frames& frames = *f.frames();
  if (Recording again = detail::replay(frames, commands.handle, trees)) return again;
  std::vector<Array> inputs, outputs = tree::leaves(results);
  const auto executable = f.executable(commands.loc, inputs, args...);
  Recording call = detail::record(frames, commands.handle, executable, inputs, outputs, trees);
  results = tree::with_leaves(results, outputs);
  return call;
}

/// A call with its arrays and parameters, which are held: for frames that repeat it. Copies share.
class Prepared {
 public:
  explicit Prepared(RecordedCall* call) : call_(call, detail::GiveBack{.known = true}) {}
  /// Writes the call into a command buffer, as gnomon::record does. Looks nothing up, allocates
  /// nothing, and takes no lock where there are no loops. Any thread.
  ///
  /// Throws UsageError for loops as gnomon::record does.
  Recording record(VkCommandBuffer) const;

 private:
  std::shared_ptr<RecordedCall> call_;
};

namespace detail {
Prepared prepare(Executable&, std::span<const Array> inputs, std::vector<Array>& outputs);
}  // namespace detail

/// The call of `f` that `record` would write, with results in `results`; arrays in that which are
/// empty get memory. Takes what `record` takes and throws what it throws.
template <class R, class F, class... A>
requires(requires(const F& f) { f.frames(); }) Prepared
    prepare(R& results, const F& f, const A&... args) {
  std::vector<Array> inputs, outputs = tree::leaves(results);
  const auto executable = f.executable(Loc{}, inputs, args...);
  Prepared call = detail::prepare(*executable, inputs, outputs);
  results = tree::with_leaves(results, outputs);
  return call;
}

}  // namespace gnomon
#pragma GCC visibility pop
