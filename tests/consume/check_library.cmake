# tests/consume/check_library.cmake -- what the library without a compiler shows, needs and weighs.
#
#   cmake -DLIBRARY=... -DNM=... -DSTRIP=... -DASIDE=... -P check_library.cmake
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")
set(shown 0)
foreach(line IN LISTS symbols)
  if(NOT line MATCHES " T gnomon_[a-z_]+$")
    message(SEND_ERROR "shows what is no function of the C interface: ${line}")
  endif()
  math(EXPR shown "${shown} + 1")
endforeach()
if(shown LESS 28)
  message(SEND_ERROR "shows ${shown} functions only")
endif()

execute_process(COMMAND ldd ${LIBRARY} OUTPUT_VARIABLE needs COMMAND_ERROR_IS_FATAL ANY)
if(needs MATCHES "SPIRV|glslang|libvulkan")
  message(SEND_ERROR "needs what it should not: ${needs}")
endif()
# Nor in the library itself.
execute_process(COMMAND ${NM} -C ${LIBRARY} OUTPUT_VARIABLE all)
if(all MATCHES "spvtools|spvValidate|glslang|gnomon::compile\\(|gnomon::Trace::")
  message(SEND_ERROR "holds parts of a compiler: ${CMAKE_MATCH_0}")
endif()

execute_process(COMMAND ${STRIP} -o ${ASIDE} ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${ASIDE} bytes)
message("${shown} functions, ${bytes} bytes stripped")
if(bytes GREATER 1048576)
  message(SEND_ERROR "has ${bytes} bytes stripped, more than 1 MB")
endif()
