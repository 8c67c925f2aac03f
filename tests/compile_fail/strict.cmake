# tests/compile_fail/strict.cmake -- that public headers, and what applications instantiate of them,
# give no warning, whatever warnings an application makes errors of.
#
# cmake -D COMPILER= -D ROOT= -D INTO= -P strict.cmake; INTO is a folder of this compiler's own.
include(${CMAKE_CURRENT_LIST_DIR}/flags.cmake)
set(warnings -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-align
  -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wunused -Wextra-semi
  -Wredundant-decls)
if(NOT COMPILER MATCHES "clang")
  list(APPEND warnings -Wuseless-cast -Wduplicated-cond -Wduplicated-branches -Wlogical-op
    -Wsuggest-override)
endif()
# Nothing that counts as a system's header: in those compilers keep warnings to themselves.
set(includes "")
foreach(folder IN ITEMS codegen/include engine/include)
  file(GLOB_RECURSE headers RELATIVE ${ROOT}/${folder} ${ROOT}/${folder}/gnomon/*.h)
  foreach(header IN LISTS headers)
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
endforeach()
file(READ ${CMAKE_CURRENT_LIST_DIR}/strict/uses.cpp uses)
file(WRITE ${INTO}/strict.cpp "${includes}\n#line 1 \"strict/uses.cpp\"\n${uses}")
execute_process(COMMAND ${COMPILER} ${flags} ${warnings} -Werror -fsyntax-only ${INTO}/strict.cpp
  COMMAND_ERROR_IS_FATAL ANY)
