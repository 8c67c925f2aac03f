# third_party/toolchains/headers.cmake -- packages that are headers only, of the host, in a folder
# without its other headers: `headers` says where.
if(NOT EXISTS ${headers}/include/xxhash.h)
  file(MAKE_DIRECTORY ${headers}/include)
  foreach(header IN ITEMS flatbuffers vk_video vulkan xxhash.h)
    file(CREATE_LINK /usr/include/${header} ${headers}/include/${header} SYMBOLIC)
  endforeach()
endif()
