# tests/consume/steps.cmake -- one way of using Gnomon, from nothing to a program that ran.
#
# cmake -D STEP= -D ROOT= -D BUILD= -D PREFIX= -D INTO= ... -P steps.cmake; INTO is emptied first.
cmake_minimum_required(VERSION 3.22)
set(here ${CMAKE_CURRENT_LIST_DIR})
file(REMOVE_RECURSE ${INTO})
file(MAKE_DIRECTORY ${INTO})

# Runs a command; its output goes to `said`.
function(run)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(said "${output}" PARENT_SCOPE)
endfunction()

function(expect what)
  string(FIND "${said}" "${what}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "does not say `${what}` but\n${said}")
  endif()
endfunction()

# Configures, builds and runs the project in `source`.
macro(build_and_run source program)
  set(compiler)
  if(COMPILER)
    set(compiler -D CMAKE_CXX_COMPILER=${COMPILER})
  endif()
  run(${CMAKE_COMMAND} -S ${source} -B ${INTO}/build -G ${GENERATOR} ${compiler} ${ARGN})
  run(${CMAKE_COMMAND} --build ${INTO}/build)
  run(${RUNNER} ${INTO}/build/${program})
endmacro()

# The program and the project that the README shows, to the letter.
function(extract_readme folder)
  file(READ ${ROOT}/README.md readme)
  foreach(block IN ITEMS cpp:main.cpp cmake:CMakeLists.txt)
    string(REPLACE ":" ";" block ${block})
    list(GET block 0 language)
    list(GET block 1 file)
    string(FIND "${readme}" "```${language}\n" begin)
    if(begin EQUAL -1)
      message(FATAL_ERROR "README.md has no block of ${language}")
    endif()
    string(SUBSTRING "${readme}" ${begin} -1 text)
    string(REGEX REPLACE "^```[a-z]+\n" "" text "${text}")
    string(FIND "${text}" "```" end)
    string(SUBSTRING "${text}" 0 ${end} text)
    file(WRITE ${folder}/${file} "${text}")
  endforeach()
endfunction()

if(STEP STREQUAL install)
  # Moved after it was installed: nothing in it may know where it was.
  file(REMOVE_RECURSE ${PREFIX})
  foreach(component IN ITEMS runtime full)
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${INTO}/first --component ${component})
  endforeach()
  file(RENAME ${INTO}/first ${PREFIX})
elseif(STEP STREQUAL package)
  extract_readme(${INTO}/source)
  build_and_run(${INTO}/source pendulums -D CMAKE_PREFIX_PATH=${PREFIX})
  expect("speed at the bottom: ")
elseif(STEP STREQUAL runtime)
  file(REMOVE_RECURSE ${INTO}/prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${INTO}/prefix --component runtime)
  build_and_run(${here}/runtime there_and_back -D CMAKE_PREFIX_PATH=${INTO}/prefix
    -D HEADER=${HEADER})
  expect("1 2 3")
  run(${INTO}/build/typed ${SAVED} ${NUMBERS})
  expect("as saved")
elseif(STEP STREQUAL c)
  # Of what is installed for C alone, on a saved program: by CMake, by pkg-config, by Python.
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${INTO}/prefix --component c)
  run(${CMAKE_COMMAND} -S ${here}/c_program -B ${INTO}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${INTO}/prefix)
  run(${CMAKE_COMMAND} --build ${INTO}/build)
  run(${INTO}/build/c_program ${SAVED} ${NUMBERS})
  set(installed ${INTO}/prefix/${LIBDIR})
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${installed}/pkgconfig
    sh -c "${C_COMPILER} -std=c11 ${here}/c_program/main.c $(pkg-config --cflags --libs gnomon-c) -lm -o ${INTO}/program")
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${installed} ${INTO}/program ${SAVED} ${NUMBERS})
  if(PYTHON)
    run(${PYTHON} ${here}/python_script/run.py ${installed}/libgnomon_c.so ${SAVED} ${NUMBERS})
  endif()
elseif(STEP STREQUAL cross)
  # For another system: BUILD was made with TOOLCHAIN, and RUNNER runs its programs here.
  foreach(component IN ITEMS runtime full)
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${INTO}/prefix --component ${component})
  endforeach()
  extract_readme(${INTO}/source)
  build_and_run(${INTO}/source pendulums.exe -D CMAKE_PREFIX_PATH=${INTO}/prefix
    --toolchain ${TOOLCHAIN})
  expect("speed at the bottom: ")
  file(REMOVE_RECURSE ${INTO}/build)
  build_and_run(${here}/runtime there_and_back.exe -D CMAKE_PREFIX_PATH=${INTO}/prefix
    --toolchain ${TOOLCHAIN})
  expect("1 2 3")
elseif(STEP STREQUAL pkg_config)
  extract_readme(${INTO})
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${PREFIX}/${LIBDIR}/pkgconfig
    sh -c "${COMPILER} -std=c++20 ${INTO}/main.cpp $(pkg-config --cflags --libs gnomon) -o ${INTO}/program")
  run(${INTO}/program)
  expect("speed at the bottom: ")
elseif(STEP STREQUAL state)
  # Variables that live as long as the process. What is constant lies elsewhere, unless it is made
  # at run time.
  set(constants "gnomon::ode::(tableaus|detail::tables)::[a-z0-9_]+\\(\\)::t$|::none$"
    "gnomon::primitives\\(\\)::table$|::no_checksum$|gnomon::Padding::[a-z]+$|^flatbuffers::data<")
  # Which trace records in this thread, and the line it is at; serial numbers of traces; what a file
  # that is read in this thread may cost; how many handlers of calls this thread is inside of.
  set(known "::newest$|::traced_line\\(\\)::line$|::last_serial$|Budget::current\\(\\)::reading$"
    "::handlers_of_thread\\(\\)::count$")
  list(JOIN known "|" known)
  list(JOIN constants "|" constants)
  file(GLOB libraries ${PREFIX}/${LIBDIR}/libgnomon*.a)
  list(JOIN libraries " " libraries)
  run(sh -c "${NM} -C --format=sysv --defined-only ${libraries} | grep -E '[|] *[.]t?(bss|data)' | grep -v -e '[|] *[.]data[.]rel[.]ro' -e '^guard variable' -e '^DW[.]ref' | sed 's/ *[|].*//'")
  string(REPLACE ";" "," said "${said}")
  string(REGEX REPLACE "\n+" ";" names "${said}")
  set(found 0)
  foreach(name IN LISTS names)
    if(name MATCHES "${known}")
      math(EXPR found "${found} + 1")
    elseif(name AND NOT name MATCHES "${constants}")
      message(FATAL_ERROR "a global variable: ${name}")
    endif()
  endforeach()
  if(NOT found EQUAL 5)
    message(FATAL_ERROR "${found} of the 5 variables that are known were found in\n${said}")
  endif()
elseif(STEP STREQUAL embedded)
  if(WHOLE)
    build_and_run(${here}/embedded program -D ROOT=${ROOT} -D WAY=${WAY} -D GNOMON_UNITY=ON)
    expect("0 1 4")
  else()
    run(${CMAKE_COMMAND} -S ${here}/embedded -B ${INTO}/build -G ${GENERATOR}
      -D CMAKE_CXX_COMPILER=${COMPILER} -D ROOT=${ROOT} -D WAY=${WAY})
    expect("gnomon is part of it")
  endif()
elseif(STEP STREQUAL shared)
  run(${CMAKE_COMMAND} -S ${ROOT} -B ${INTO}/gnomon -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS_RELEASE=-O1 -D GNOMON_SHARED=ON
    -D GNOMON_UNITY=ON -D GNOMON_BUILD_TESTS=OFF -D GNOMON_BUILD_SAMPLES=OFF -D GNOMON_BUILD_BENCH=OFF
    -D GNOMON_BUILD_COMMAND=OFF)
  run(${CMAKE_COMMAND} --build ${INTO}/gnomon)
  run(${CMAKE_COMMAND} --install ${INTO}/gnomon --prefix ${INTO}/prefix)
  if(NM)
    # What is no template of a header's: of the public namespace, and of nothing inside of it.
    run(sh -c "${NM} -DC --defined-only ${INTO}/prefix/${LIBDIR}/libgnomon.so | grep ' [TDBR] '")
    string(REGEX REPLACE ";" "," said "${said}")
    string(REGEX REPLACE "\n+" ";" names "${said}")
    foreach(name IN LISTS names)
      if(name AND (NOT name MATCHES " [TDBR] gnomon::" OR
          name MATCHES " [TDBR] gnomon::(kernel|passes|rules|spirv|vulkan)::"))
        message(SEND_ERROR "the library shows what no public header declares: ${name}")
      endif()
    endforeach()
  endif()
  extract_readme(${INTO}/source)
  build_and_run(${INTO}/source pendulums -D CMAKE_PREFIX_PATH=${INTO}/prefix)
  expect("speed at the bottom: ")
endif()
