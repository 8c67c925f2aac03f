# tests/cross/compare.cmake -- a program built for this system and for another one: whether both
# print and write the same, and are the same kernels to the compiler.
#
# cmake -D HOME= -D AWAY= -D RUNNER= -D ARGUMENTS= -D INTO= -P compare.cmake; INTO is emptied first.
# A sample that says its answer is wrong, as with less work than it asks for, must say so on both.
# Of what is printed times are left out, and where pictures are.
cmake_minimum_required(VERSION 3.22)

# Runs it in INTO/<where>, with what the compiler made in INTO/<where>/dump; its lines go to <where>.
function(run where)
  file(REMOVE_RECURSE ${INTO}/${where})
  file(MAKE_DIRECTORY ${INTO}/${where})
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GNOMON_DUMP=graph,fusion,kernel,plan
      GNOMON_DUMP_DIR=dump ${ARGN} ${ARGUMENTS}
    WORKING_DIRECTORY ${INTO}/${where} RESULT_VARIABLE failed OUTPUT_VARIABLE said
    ERROR_VARIABLE complaint)
  if(NOT failed MATCHES "^[01]$")
    message(FATAL_ERROR "${ARGN} returned ${failed}\n${said}${complaint}")
  endif()
  string(REPLACE "\r" "" said "${said}")
  string(REGEX REPLACE " *[0-9.]+ (ms|s|million systems per second)([^a-z])" " - \\1\\2" said "${said}")
  string(REGEX REPLACE "(no )?picture[^\n]*\n" "" said "${said}")
  file(WRITE ${INTO}/${where}/printed.txt "${said}returned ${failed}\n")
endfunction()

run(home ${HOME})
run(away ${RUNNER} ${AWAY})
file(GLOB_RECURSE home RELATIVE ${INTO}/home ${INTO}/home/*)
file(GLOB_RECURSE away RELATIVE ${INTO}/away ${INTO}/away/*)
# Pictures are drawn where gnuplot is.
list(FILTER home EXCLUDE REGEX "[.]png$")
if(NOT home STREQUAL away)
  message(FATAL_ERROR "here are\n${home}\nand there\n${away}")
endif()
set(differ)
foreach(file IN LISTS home)
  file(SHA256 ${INTO}/home/${file} here)
  file(SHA256 ${INTO}/away/${file} there)
  if(NOT here STREQUAL there)
    list(APPEND differ ${file})
  endif()
endforeach()
list(LENGTH home count)
file(READ ${INTO}/away/printed.txt printed)
if(differ)
  file(READ ${INTO}/home/printed.txt printed_here)
  message(FATAL_ERROR
    "of ${count} files these differ in ${INTO}/home and ${INTO}/away: ${differ}\n${printed_here}----\n${printed}")
endif()
message("${count} files are the same; printed\n${printed}")
