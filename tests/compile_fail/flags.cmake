# tests/compile_fail/flags.cmake -- how headers.hpp and the cases are compiled: in the same way, and
# from public headers alone.
set(flags -std=c++20 -Wall -Wextra -fno-diagnostics-color
  -I ${ROOT}/shaders/include -I ${ROOT}/codegen/include -I ${ROOT}/engine/include)
