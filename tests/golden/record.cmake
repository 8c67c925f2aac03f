# tests/golden/record.cmake -- writes tests/golden/**/*.graph: what the library is timed with in the
# bench, and what the samples jit. Made anew where a workload, a sample or a front end changes; what
# is traced depends on no device, but something has to run it.
#
# cmake -D BENCH= -D SAMPLES= -D SCRATCH= -P record.cmake (the target record_graphs); SAMPLES are
# programs.
cmake_minimum_required(VERSION 3.22)
get_filename_component(golden ${CMAKE_CURRENT_LIST_FILE} DIRECTORY)

# Larger ones take a compiler seconds, and samples' are what the bench has as well.
set(most_bench 240000)
set(most_samples 160000)
set(hashes)

# Runs it, then moves what it traced to <kind>/<program>.<function>.graph. Functions of one name are
# numbered. Of samples' functions that are like others but for numbers, none comes along, nor what
# operations outside of traces make of themselves.
function(record kind program)
  set(dump ${SCRATCH}/${kind}/${program})
  file(REMOVE_RECURSE ${dump})
  file(MAKE_DIRECTORY ${dump}/work)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env GNOMON_DUMP=traced GNOMON_DUMP_DIR=${dump} GNOMON_CACHE=off
      ${ARGN}
    WORKING_DIRECTORY ${dump}/work RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE complaint)
  if(failed)
    message(WARNING "${program} returned ${failed}\n${complaint}")
  endif()
  file(GLOB files RELATIVE ${dump} ${dump}/*.traced)
  list(SORT files COMPARE NATURAL)
  foreach(file IN LISTS files)
    file(READ ${dump}/${file} text)
    string(REGEX REPLACE "[.][0-9]+[.]traced$" "" name ${file})
    string(REPLACE "_" "." operation ${name})
    string(REGEX REPLACE "[0-9]+(e-)?" "" shape "${text}")
    # Half of a nested graph is margins.
    string(REGEX REPLACE "\n +" "\n" text "${text}")
    string(LENGTH "${text}" bytes)
    string(SHA256 same "${text}")
    string(SHA256 alike "${shape}")
    if(bytes GREATER most_${kind} OR same IN_LIST hashes
        OR (kind STREQUAL samples AND alike IN_LIST hashes)
        OR name MATCHES "^(constant|copy|.*__.*)$"
        OR text MATCHES " = ${operation}[[ \n][^\n]*\nreturn")
      continue()
    endif()
    list(APPEND hashes ${same} ${alike})
    set(hashes ${hashes} PARENT_SCOPE)
    if(DEFINED count_${name})
      math(EXPR count_${name} "${count_${name}} + 1")
      string(APPEND name ".${count_${name}}")
    else()
      set(count_${name} 1)
    endif()
    file(WRITE ${golden}/${kind}/${program}.${name}.graph "${text}")
  endforeach()
endfunction()

file(GLOB_RECURSE old ${golden}/*.graph)
if(old)
  file(REMOVE ${old})
endif()
execute_process(COMMAND ${BENCH} --list OUTPUT_VARIABLE workloads)
string(REGEX MATCHALL "[^\n]+" workloads "${workloads}")
foreach(workload IN LISTS workloads)
  record(bench ${workload} ${BENCH} --prepare --filter ${workload})
endforeach()
foreach(sample IN LISTS SAMPLES)
  get_filename_component(name ${sample} NAME_WE)
  # It is about when something is traced, not about what.
  if(name STREQUAL recompilation)
    continue()
  endif()
  record(samples ${name} ${sample})
endforeach()
