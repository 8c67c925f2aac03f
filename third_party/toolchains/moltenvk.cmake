# third_party/toolchains/moltenvk.cmake -- macOS, where MoltenVK implements Vulkan on Metal.
#
# Never run yet. Vulkan's loader is found at run time (VULKAN_SDK or Homebrew's vulkan-loader);
# MoltenVK has neither f64 nor all of Vulkan's minimum.
set(CMAKE_OSX_DEPLOYMENT_TARGET 13.3 CACHE STRING "The first whose C++ library has what is used")
set(CMAKE_OSX_ARCHITECTURES arm64 CACHE STRING "Processor")
list(APPEND CMAKE_PREFIX_PATH /opt/homebrew $ENV{VULKAN_SDK})
