# third_party/toolchains/headers.cmake -- packages that are headers only, of the host, in a folder
# without its other headers: `headers` says where.
file(MAKE_DIRECTORY ${headers}/include)
foreach(header IN ITEMS CLI flatbuffers nlohmann spirv vk_video vulkan xxhash.h)
  if(NOT EXISTS ${headers}/include/${header})
    file(CREATE_LINK /usr/include/${header} ${headers}/include/${header} SYMBOLIC)
  endif()
endforeach()
