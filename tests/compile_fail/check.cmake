# tests/compile_fail/check.cmake -- compiles one case of a file and compares what the compiler says.
#
# cmake -D COMPILER= -D FILE= -D CASE= -D ROOT= -P check.cmake; case 0 is the file without a case.
execute_process(
  COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -fno-diagnostics-color
    -I ${ROOT} -I ${ROOT}/codegen/include -I ${ROOT}/engine/include -D CASE_${CASE} ${FILE}
  RESULT_VARIABLE failed
  OUTPUT_VARIABLE said
  ERROR_VARIABLE said)

if(CASE EQUAL 0)
  if(failed)
    message(FATAL_ERROR "${FILE} does not compile without a case:\n${said}")
  endif()
  return()
endif()

file(READ ${FILE} text)
if(NOT text MATCHES "// CASE ${CASE}: expect \"([^\n]*)\"\n")
  message(FATAL_ERROR "${FILE}: write `// CASE ${CASE}: expect \"text\"` on one line")
endif()
set(expected "${CMAKE_MATCH_1}")
if(NOT text MATCHES "CASE_${CASE}[^0-9]")
  message(FATAL_ERROR "${FILE}: nothing depends on CASE_${CASE}")
endif()
if(NOT failed)
  message(FATAL_ERROR "${FILE}: case ${CASE} compiles, though it must not")
endif()
string(FIND "${said}" "${expected}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${FILE}: case ${CASE} does not say `${expected}`, but:\n${said}")
endif()
