// engine/vulkan/functions.cpp -- finding the loader.
#include "engine/vulkan/functions.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include "gnomon/error.h"

namespace gnomon::vulkan {

// Never unloaded: layers and drivers leave threads and handlers behind.
PFN_vkGetInstanceProcAddr find_loader() {
#ifdef _WIN32
  const HMODULE library = LoadLibraryA("vulkan-1.dll");
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      reinterpret_cast<void (*)()>(GetProcAddress(library, "vkGetInstanceProcAddr")));
#else
#ifdef __APPLE__
  const char* const names[] = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
  const char* const names[] = {"libvulkan.so.1", "libvulkan.so"};
#endif
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  }
  return nullptr;
#endif
}

LoaderTable load_loader(PFN_vkGetInstanceProcAddr get) {
  if (get == nullptr)
    throw DeviceError(
        "gnomon::Runtime: no usable GPU: the Vulkan loader is not installed; install libvulkan1 "
        "and a driver");
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(nullptr, name));
  };
  LoaderTable table;
  table.get_instance_proc_addr = get;
  load(table.create_instance, "vkCreateInstance");
  load(table.extensions, "vkEnumerateInstanceExtensionProperties");
  load(table.layers, "vkEnumerateInstanceLayerProperties");
  load(table.version, "vkEnumerateInstanceVersion");
  return table;
}

}  // namespace gnomon::vulkan
