# tests/compile_fail/prepare.cmake -- precompiles headers.hpp for one compiler.
#
# cmake -D COMPILER= -D ROOT= -D INTO= -P prepare.cmake; INTO is a folder of this compiler's own.
include(${CMAKE_CURRENT_LIST_DIR}/flags.cmake)
file(MAKE_DIRECTORY ${INTO})
if(COMPILER MATCHES "clang")
  set(output ${INTO}/headers.pch)
else()
  set(output ${INTO}/headers.h.gch)
endif()
execute_process(
  COMMAND ${COMPILER} ${flags} -x c++-header ${ROOT}/tests/compile_fail/headers.hpp -o ${output}
  COMMAND_ERROR_IS_FATAL ANY)
