# third_party/dependencies.cmake -- how each dependency is found; setup.sh installs what is missing.
find_package(Threads REQUIRED)
if(NOT GNOMON_RUNTIME_ONLY)
  find_package(SPIRV-Headers REQUIRED)
  find_package(SPIRV-Tools REQUIRED)
  find_package(SPIRV-Tools-opt REQUIRED)
  # Files of gnomon/io.h.
  find_package(ZLIB REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()

# The form of programs in files; the generated header is made when codegen is built.
find_path(GNOMON_FLATBUFFERS_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(GNOMON_FLATC flatc REQUIRED)
find_path(GNOMON_XXHASH_DIR xxhash.h REQUIRED)

if(GNOMON_BUILD_TESTS)
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
  find_package(CLI11 REQUIRED)
endif()
if(GNOMON_BUILD_BENCH)
  find_program(GNOMON_GLSLANG glslangValidator REQUIRED)
endif()
