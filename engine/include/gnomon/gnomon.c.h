// engine/include/gnomon/gnomon.c.h -- the C interface: programs that were saved, run from any
// language.
//
// Everything is a handle that is destroyed by its own function, in any order. Functions return a
// status; what went wrong is `gnomon_last_error` of the same thread. No exception and no signal
// crosses this line, and failures to get memory are a status like any other. Structs begin with
// their size, so that later versions can add fields behind those there are: set it by the INIT
// macro. All functions may be called from any thread; one handle may be used by several at once,
// except while it is destroyed.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(GNOMON_BUILD_C)
#define GNOMON_C_API __declspec(dllexport)
#else
#define GNOMON_C_API __declspec(dllimport)
#endif
#else
#define GNOMON_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this header; what the library was built with is gnomon_version().
#define GNOMON_C_VERSION 3

typedef struct gnomon_runtime gnomon_runtime;
typedef struct gnomon_program gnomon_program;
typedef struct gnomon_array gnomon_array;
typedef struct gnomon_memory gnomon_memory;

typedef enum gnomon_status {
  GNOMON_OK = 0,
  GNOMON_USAGE = 1,          // the call is wrong: types, names, null pointers
  GNOMON_DEVICE = 2,         // there is no device, it failed, or has no memory left
  GNOMON_FILE = 3,           // the file cannot be read or is damaged, or fits no device here
  GNOMON_CHECK_FAILED = 4,   // a check of the program itself (error_if)
  GNOMON_CANCELLED = 5,      // a callback asked for it
  GNOMON_OUT_OF_MEMORY = 6,  // of the host
  GNOMON_INTERNAL = 7,       // a bug in Gnomon
  GNOMON_DEVICE_LOST = 8     // the driver has given up the device: see gnomon_runtime_recover
} gnomon_status;

typedef enum gnomon_dtype {
  GNOMON_BOOL = 0,
  GNOMON_I8,
  GNOMON_U8,
  GNOMON_I16,
  GNOMON_U16,
  GNOMON_I32,
  GNOMON_U32,
  GNOMON_I64,
  GNOMON_U64,
  GNOMON_F16,
  GNOMON_BF16,
  GNOMON_F32,
  GNOMON_F64
} gnomon_dtype;

#define GNOMON_MAX_RANK 8

/// Called with a line of text, without its end. `user` is what was passed beside the function.
typedef void (*gnomon_text_callback)(void* user, const char* line);

/// Called between the parts of a loop that the device runs in parts, in the thread of the call:
/// `steps` are taken for certain, `bound` is the most there may be, 0 where there is no bound. Not
/// 0 ends the call with GNOMON_CANCELLED. `function` is valid during the call only. It may call
/// Gnomon, the same function included.
typedef int (*gnomon_step_callback)(void* user, const char* function, uint64_t steps,
                                    uint64_t bound);
/// Asked before a call begins and between the parts of its loops: not 0 ends it with
/// GNOMON_CANCELLED. It must not call Gnomon.
typedef int (*gnomon_cancel_callback)(void* user);
/// Must not call Gnomon.
typedef void (*gnomon_lock_callback)(void* user);

/// A Vulkan device of the application. Its handles are Vulkan's, which are pointers all; this
/// header needs none of Vulkan's. All of it stays the application's, and lives until the Runtime
/// and what was made by it are destroyed. Nothing is used that is not named here as enabled.
typedef struct gnomon_adopted_device {
  size_t size;                           // of this struct
  void (*get_instance_proc_addr)(void);  // PFN_vkGetInstanceProcAddr, cast
  void* instance;                        // VkInstance
  void* physical_device;                 // VkPhysicalDevice
  void* device;                          // VkDevice
  void* queue;                           // VkQueue of a family that computes
  uint32_t queue_family;
  uint32_t api_version;           // VkApplicationInfo::apiVersion, at least 1.1
  const char* const* extensions;  // device extensions that were enabled
  uint32_t extension_count;
  const void* features;             // VkDeviceCreateInfo::pNext; read by _create only
  gnomon_lock_callback lock_queue;  // around every use of the queue; both or neither
  gnomon_lock_callback unlock_queue;
  void* queue_user;  // for both
} gnomon_adopted_device;
#define GNOMON_ADOPTED_DEVICE_INIT \
  { sizeof(gnomon_adopted_device), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct gnomon_runtime_options {
  size_t size;                           // of this struct
  const char* device;                    // index or part of a name; null: the best there is
  int validate;                          // not 0: Vulkan validation
  uint64_t memory_limit;                 // bytes to take from the device at most; 0: any
  gnomon_text_callback on_log;           // null: stderr. It must not call Gnomon.
  void* log_user;                        // for on_log
  gnomon_text_callback on_print;         // what programs print; null: stdout
  void* print_user;                      // for on_print
  const gnomon_adopted_device* adopted;  // null: the library makes its own device
  // From version 2 on.
  gnomon_step_callback on_step;   // null: nobody, and calls do not wait for their loops
  void* step_user;                // for on_step
  gnomon_cancel_callback cancel;  // null: nobody
  void* cancel_user;              // for cancel
  /// Bytes of the host's memory for copies of arrays, which gnomon_runtime_recover brings back; 0:
  /// 64 MiB, GNOMON_NO_HOST_COPIES: none.
  uint64_t host_copies;
  /// Not 0: calls with long loops keep checkpoints on the host, from which the same call goes on
  /// behind gnomon_runtime_recover. Costs a copy of what a call computes with, the time to make it,
  /// and that calls with such loops return when they have finished.
  int resumable;
  double checkpoint_ms;         // from one to the next, at least; 0: 1000
  void (*vulkan_loader)(void);  // vkGetInstanceProcAddr, cast; null: that of the platform's loader
} gnomon_runtime_options;
#define GNOMON_NO_HOST_COPIES UINT64_MAX
#define GNOMON_RUNTIME_OPTIONS_INIT \
  { sizeof(gnomon_runtime_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/// An argument or a result of a program.
typedef struct gnomon_argument {
  size_t size;       // of this struct
  const char* path;  // "argument 0 `.weight`"; as long as the program is there
  gnomon_dtype dtype;
  uint32_t rank;
  int64_t shape[GNOMON_MAX_RANK];
  uint64_t bytes;  // of all elements
} gnomon_argument;
#define GNOMON_ARGUMENT_INIT \
  { sizeof(gnomon_argument), 0, GNOMON_F32, 0, {0}, 0 }

typedef enum gnomon_handle_kind { GNOMON_OPAQUE_FD = 0, GNOMON_OPAQUE_WIN32 } gnomon_handle_kind;

/// Memory as other APIs and processes know it. Since version 3.
typedef struct gnomon_memory_handle {
  size_t size;  // of this struct
  gnomon_handle_kind kind;
  int fd;                // of GNOMON_OPAQUE_FD
  void* win32;           // HANDLE, of GNOMON_OPAQUE_WIN32
  uint64_t bytes;        // VkMemoryAllocateInfo::allocationSize of who has allocated it
  uint32_t memory_type;  // likewise its memoryTypeIndex; GNOMON_ANY_MEMORY_TYPE: what suits
  int dedicated;         // not 0: allocated for one buffer alone
  uint8_t device[32];    // deviceUUID and driverUUID of whom it comes from; zeros: unchecked
} gnomon_memory_handle;
#define GNOMON_ANY_MEMORY_TYPE UINT32_MAX
#define GNOMON_MEMORY_HANDLE_INIT                                                              \
  {                                                                                            \
    sizeof(gnomon_memory_handle), GNOMON_OPAQUE_FD, -1, 0, 0, GNOMON_ANY_MEMORY_TYPE, 0, { 0 } \
  }

/// The version of the library: GNOMON_C_VERSION when it was built.
GNOMON_C_API uint32_t gnomon_version(void);
/// What the last call of this thread that failed has to say; "" before any. Valid until the next
/// one fails.
GNOMON_C_API const char* gnomon_last_error(void);

/// Makes a Runtime without a compiler, on a device of its own or on that of `adopted`. `options`
/// may be null.
GNOMON_C_API gnomon_status gnomon_runtime_create(const gnomon_runtime_options* options,
                                                 gnomon_runtime** out);
GNOMON_C_API void gnomon_runtime_destroy(gnomon_runtime* runtime);
/// Makes a device again that was lost (GNOMON_DEVICE_LOST); does nothing where it is not. Programs
/// and arrays that gnomon_array_create has made come back, the latter as far as there were copies
/// (host_copies); results of calls are lost, and their use says so by GNOMON_DEVICE_LOST.
/// GNOMON_USAGE for an adopted device, which is the application's to make again: destroy the
/// Runtime then, and create one on the new device. Where the device cannot be made it stays lost.
GNOMON_C_API gnomon_status gnomon_runtime_recover(gnomon_runtime* runtime);
/// The name of its device, as long as the Runtime is there; null for null.
GNOMON_C_API const char* gnomon_runtime_device(const gnomon_runtime* runtime);
/// Modules of SPIR-V that it has written itself: none, as every program brings its own.
GNOMON_C_API uint64_t gnomon_runtime_modules_emitted(const gnomon_runtime* runtime);

/// Loads a file of saved functions. `digest` is 64 hexadecimal digits that the file has to have, or
/// null; anything else is GNOMON_USAGE. GNOMON_FILE where the device runs none of them; where it
/// runs some, calls of the others say why it does not run those.
GNOMON_C_API gnomon_status gnomon_program_load(gnomon_runtime* runtime, const char* path,
                                               const char* digest, gnomon_program** out);
/// The same from memory, which is copied.
GNOMON_C_API gnomon_status gnomon_program_load_memory(gnomon_runtime* runtime, const void* bytes,
                                                      size_t size, const char* digest,
                                                      gnomon_program** out);
GNOMON_C_API void gnomon_program_destroy(gnomon_program* program);

/// How many functions there are, their names, and what they take and give.
GNOMON_C_API uint32_t gnomon_program_entries(const gnomon_program* program);
GNOMON_C_API gnomon_status gnomon_program_entry(const gnomon_program* program, uint32_t index,
                                                const char** name, uint32_t* arguments,
                                                uint32_t* results);
GNOMON_C_API gnomon_status gnomon_program_argument(const gnomon_program* program, uint32_t entry,
                                                   uint32_t index, gnomon_argument* out);
GNOMON_C_API gnomon_status gnomon_program_result(const gnomon_program* program, uint32_t entry,
                                                 uint32_t index, gnomon_argument* out);

/// An array of `bytes` bytes on the device: elements row by row, bool as bytes 0 and 1.
GNOMON_C_API gnomon_status gnomon_array_create(gnomon_runtime* runtime, gnomon_dtype dtype,
                                               uint32_t rank, const int64_t* shape,
                                               const void* elements, size_t bytes,
                                               gnomon_array** out);
GNOMON_C_API void gnomon_array_destroy(gnomon_array* array);
/// `out->path` is "".
GNOMON_C_API gnomon_status gnomon_array_describe(const gnomon_array* array, gnomon_argument* out);
/// Waits for the array and copies its elements to memory of `bytes` bytes, which has to be their
/// size.
GNOMON_C_API gnomon_status gnomon_array_read(gnomon_runtime* runtime, const gnomon_array* array,
                                             void* elements, size_t bytes);

/// Since version 3. Memory of at least `bytes` bytes that other APIs and processes get by
/// gnomon_memory_export. It belongs to one side at a time: to this one first, until
/// gnomon_memory_release and again after gnomon_memory_acquire. Goes when it and its arrays are
/// destroyed. GNOMON_USAGE where the device exports no such handles.
GNOMON_C_API gnomon_status gnomon_memory_create(gnomon_runtime* runtime, uint64_t bytes,
                                                gnomon_handle_kind kind, gnomon_memory** out);
/// Memory of somebody else's, which is theirs until gnomon_memory_acquire. A file descriptor is
/// taken by a call that succeeds, and must not be closed then; by one that fails it is not. A
/// handle of Windows stays the caller's. GNOMON_USAGE for what the device does not import.
GNOMON_C_API gnomon_status gnomon_memory_import(gnomon_runtime* runtime,
                                                const gnomon_memory_handle* handle,
                                                gnomon_memory** out);
GNOMON_C_API void gnomon_memory_destroy(gnomon_memory* memory);
/// A new handle to memory that gnomon_memory_create has made, which is the caller's to close or to
/// hand over.
GNOMON_C_API gnomon_status gnomon_memory_export(const gnomon_memory* memory,
                                                gnomon_memory_handle* out);
/// An array in the memory, without a copy: its elements are what lies from byte `offset` on, a
/// multiple of 256, up to which its bytes are rounded.
GNOMON_C_API gnomon_status gnomon_memory_array(const gnomon_memory* memory, uint64_t offset,
                                               gnomon_dtype dtype, uint32_t rank,
                                               const int64_t* shape, gnomon_array** out);
/// Copies the elements of `array` to byte `offset`, and waits for that. `out`, which may be null,
/// is the array there.
GNOMON_C_API gnomon_status gnomon_memory_put(const gnomon_memory* memory, uint64_t offset,
                                             const gnomon_array* array, gnomon_array** out);
/// Hands the memory over to the others behind everything that was started, and takes it back. Waits
/// for nothing: gnomon_wait behind it does.
GNOMON_C_API gnomon_status gnomon_memory_release(const gnomon_memory* memory);
GNOMON_C_API gnomon_status gnomon_memory_acquire(const gnomon_memory* memory);

/// Starts the function `entry` (null where there is only one). `results` is filled with as many
/// handles as the function gives, to be destroyed; with none when the call fails. Waits for nothing
/// but loops whose length the device finds out.
GNOMON_C_API gnomon_status gnomon_call(gnomon_program* program, const char* entry,
                                       gnomon_array* const* arguments, uint32_t count,
                                       gnomon_array** results, uint32_t results_count);
/// Returns when everything that was started has finished.
GNOMON_C_API gnomon_status gnomon_wait(gnomon_runtime* runtime);

#ifdef __cplusplus
}
#endif
