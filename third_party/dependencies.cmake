# third_party/dependencies.cmake -- how each dependency is found; setup.sh installs what is missing.
find_package(Threads REQUIRED)

# Finds a package that is headers only. For another system by a header: the package's own files name
# the folder of all headers of this one.
function(gnomon_find_headers package target header)
  if(CMAKE_CROSSCOMPILING)
    find_path(GNOMON_${package}_DIR ${header} REQUIRED)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE ${GNOMON_${package}_DIR})
  else()
    find_package(${package} REQUIRED)
    set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endfunction()

if(NOT GNOMON_RUNTIME_ONLY)
  gnomon_find_headers(SPIRV-Headers SPIRV-Headers::SPIRV-Headers spirv/unified1/spirv.hpp11)
  if(GNOMON_SPIRV_TOOLS)
    find_package(SPIRV-Tools REQUIRED)
    find_package(SPIRV-Tools-opt REQUIRED)
  endif()
  # Files of gnomon/io.h.
  find_package(ZLIB REQUIRED)
  gnomon_find_headers(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
endif()

# The form of programs in files; the generated header is made when codegen is built.
find_path(GNOMON_FLATBUFFERS_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(GNOMON_FLATC flatc REQUIRED)
find_path(GNOMON_XXHASH_DIR xxhash.h REQUIRED)
# What the runtime knows of SPIR-V: its numbers, for the examination of modules.
find_path(GNOMON_SPIRV_DIR spirv/unified1/spirv.hpp11 REQUIRED)

# Tests for another system are those of tests/cross, which builds GoogleTest itself.
if(GNOMON_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
  # References of more digits than any result has.
  find_library(GNOMON_MPFR mpfr REQUIRED)
  find_library(GNOMON_GMP gmp REQUIRED)
  add_library(gnomon_mpfr INTERFACE)
  target_link_libraries(gnomon_mpfr INTERFACE ${GNOMON_MPFR} ${GNOMON_GMP})
  # Oracles for linear algebra and Fourier transforms, the latter in long double.
  find_library(GNOMON_LAPACKE lapacke REQUIRED)
  find_library(GNOMON_FFTW fftw3l REQUIRED)
endif()
if(GNOMON_BUILD_SAMPLES OR GNOMON_BUILD_COMMAND OR GNOMON_BUILD_TESTS OR GNOMON_BUILD_BENCH)
  gnomon_find_headers(CLI11 CLI11::CLI11 CLI/CLI.hpp)
endif()
if(GNOMON_BUILD_BENCH)
  find_program(GNOMON_GLSLANG glslangValidator REQUIRED)
endif()
