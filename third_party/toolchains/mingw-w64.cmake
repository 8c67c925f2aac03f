# third_party/toolchains/mingw-w64.cmake -- Windows programs made on Debian: g++-mingw-w64-x86-64-posix.
#
# Headers of packages that are headers only are the host's, by links: its other headers are not for
# Windows. Everything is linked statically; programs need vulkan-1.dll and nothing else.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)
set(ZLIB_USE_STATIC_LIBS ON)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/wine.sh)

set(headers ${CMAKE_BINARY_DIR}/headers)
include(${CMAKE_CURRENT_LIST_DIR}/headers.cmake)
set(CMAKE_FIND_ROOT_PATH ${headers} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_C_FLAGS_INIT "-isystem ${headers}/include")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${headers}/include")
