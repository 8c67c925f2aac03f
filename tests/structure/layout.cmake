# tests/structure/layout.cmake -- every source is laid out as .clang-format says. Where that makes
# a table harder to read, a source turns it off.
cmake_minimum_required(VERSION 3.22)
foreach(room codegen engine samples shaders tests)
  file(GLOB_RECURSE found ${ROOT}/${room}/*.cpp ${ROOT}/${room}/*.h)
  list(APPEND sources ${found})
endforeach()
list(LENGTH sources count)
if(count LESS 1000)
  message(FATAL_ERROR "${count} sources were found in ${ROOT}; there are more")
endif()
execute_process(COMMAND ${CLANG_FORMAT} --style=file --dry-run --Werror --ferror-limit=3 ${sources}
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${text}\nSources are laid out otherwise; call "
    "clang-format-14 -i for them")
endif()
message(STATUS "${count} sources")
