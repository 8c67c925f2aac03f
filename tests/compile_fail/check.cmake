# tests/compile_fail/check.cmake -- compiles one case of a file and compares what the compiler says.
#
# cmake -D COMPILER= -D FILE= -D CASE= -D ROOT= -D INTO= -P check.cmake; case 0 is the file without
# a case, INTO the folder of what prepare.cmake made.
include(${CMAKE_CURRENT_LIST_DIR}/flags.cmake)
if(COMPILER MATCHES "clang")
  set(precompiled -include-pch ${INTO}/headers.pch)
else()
  set(precompiled -include ${INTO}/headers.h)
endif()
execute_process(
  COMMAND ${COMPILER} ${flags} -fsyntax-only ${precompiled} -D CASE_${CASE} ${FILE}
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
