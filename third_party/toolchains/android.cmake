# third_party/toolchains/android.cmake -- the runtime for Android, by the NDK that ANDROID_NDK_HOME names.
#
# Never run yet. Headers of packages that are headers only are the host's, by links.
#   cmake -S . -B build/android -G Ninja -D GNOMON_RUNTIME_ONLY=ON -D GNOMON_BUILD_TESTS=OFF ...
#     --toolchain third_party/toolchains/android.cmake
set(ANDROID_ABI arm64-v8a CACHE STRING "Processor")
set(ANDROID_PLATFORM android-29 CACHE STRING "The first with Vulkan 1.1")
set(ANDROID_STL c++_static)
set(headers ${CMAKE_BINARY_DIR}/headers)
include(${CMAKE_CURRENT_LIST_DIR}/headers.cmake)
include($ENV{ANDROID_NDK_HOME}/build/cmake/android.toolchain.cmake)
list(APPEND CMAKE_FIND_ROOT_PATH ${headers})
string(APPEND CMAKE_C_FLAGS_INIT " -isystem ${headers}/include")
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${headers}/include")
