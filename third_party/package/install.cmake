# third_party/package/install.cmake -- what is installed, and how others find it.
#
# Components: `runtime` runs programs, `full` compiles them as well, `c` is the runtime for C and what
# calls C, `command` is the command line. The first two bring all public headers. Floors are static
# libraries; GNOMON_SHARED makes of those of a component one shared library, of which nothing is seen
# but what public headers declare. A program links one of the two: `full` holds the runtime.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(runtime_floors gnomon_runtime gnomon_program gnomon_support)
set(full_floors gnomon gnomon_codegen gnomon_shaders)
set(full_libraries ZLIB::ZLIB)
set(full_packages ZLIB)
if(GNOMON_SPIRV_TOOLS)
  list(PREPEND full_libraries SPIRV-Tools-opt SPIRV-Tools-static)
  list(PREPEND full_packages SPIRV-Tools SPIRV-Tools-opt)
endif()
if(GNOMON_RUNTIME_ONLY)
  set(full_floors)
endif()

# Adds a shared library of the objects of some floors.
function(gnomon_add_shared name output)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FLOORS;LIBRARIES")
  list(TRANSFORM arg_FLOORS REPLACE ".+" "$<TARGET_OBJECTS:\\0>" OUTPUT_VARIABLE objects)
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${name} INTERFACE cxx_std_20)
  foreach(floor IN ITEMS shaders codegen engine)
    target_include_directories(${name} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${floor}/include>)
  endforeach()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} PUBLIC Threads::Threads)
  if(NOT APPLE AND NOT WIN32)
    # Nothing of the libraries inside of it is for others to see, and nothing may be missing.
    target_link_options(${name} PRIVATE LINKER:--no-undefined
      LINKER:--exclude-libs,libSPIRV-Tools.a:libSPIRV-Tools-opt.a)
  endif()
endfunction()

if(GNOMON_SHARED AND full_floors)
  gnomon_add_shared(gnomon_shared gnomon FLOORS ${runtime_floors} ${full_floors}
    LIBRARIES ${full_libraries} ${CMAKE_DL_LIBS})
  set_target_properties(gnomon_shared PROPERTIES EXPORT_NAME gnomon)
  add_library(gnomon::gnomon ALIAS gnomon_shared)
else()
  if(full_floors)
    add_library(gnomon::gnomon ALIAS gnomon)
  endif()
  set_target_properties(gnomon_runtime PROPERTIES EXPORT_NAME runtime)
  add_library(gnomon::runtime ALIAS gnomon_runtime)
endif()

if(NOT GNOMON_INSTALL)
  return()
endif()

set(folder_of_config ${CMAKE_INSTALL_LIBDIR}/cmake/gnomon)
set(runtime_installed ${runtime_floors})
set(full_installed ${full_floors})
if(GNOMON_SHARED AND full_floors)
  set(runtime_installed)
  set(full_installed gnomon_shared)
endif()
set(components)
foreach(component IN ITEMS runtime full)
  if(NOT ${component}_installed)
    continue()
  endif()
  list(APPEND components ${component})
  install(TARGETS ${${component}_installed} EXPORT gnomon-${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
      NAMELINK_COMPONENT ${component}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT gnomon-${component} NAMESPACE gnomon::
    DESTINATION ${folder_of_config} COMPONENT ${component})
  install(
    DIRECTORY shaders/include/gnomon codegen/include/gnomon engine/include/gnomon
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${component} FILES_MATCHING PATTERN *.h)
endforeach()

# Needs none of the others.
add_library(gnomon::c ALIAS gnomon_c)
install(TARGETS gnomon_c EXPORT gnomon-c
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c NAMELINK_COMPONENT c
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT c
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT gnomon-c NAMESPACE gnomon:: DESTINATION ${folder_of_config} COMPONENT c)
install(FILES engine/include/gnomon/gnomon.c.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gnomon COMPONENT c)

if(GNOMON_SHARED)
  set(full_packages)
endif()
configure_package_config_file(third_party/package/gnomon-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/gnomon-config.cmake INSTALL_DESTINATION ${folder_of_config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/gnomon-config-version.cmake
  COMPATIBILITY SameMinorVersion)

# Others than CMake: cc main.c $(pkg-config --cflags --libs gnomon-c), c++ -std=c++20 main.cpp $(pkg-config --cflags --libs gnomon)
file(RELATIVE_PATH from_pc_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" from_pc_to_prefix "${from_pc_to_prefix}")
# A linker passes once over static libraries: who needs something stands before who has it.
set(runtime_flags gnomon_runtime gnomon_program gnomon_support)
set(full_flags gnomon gnomon_codegen gnomon_shaders ${runtime_flags})
if(GNOMON_SPIRV_TOOLS)
  list(APPEND full_flags SPIRV-Tools-opt SPIRV-Tools)
endif()
list(APPEND full_flags z)
if(GNOMON_SHARED)
  set(full_flags gnomon)
endif()
set(runtime_pc gnomon-runtime)
set(full_pc gnomon)
set(c_flags gnomon_c)
set(c_pc gnomon-c)
foreach(component IN LISTS components ITEMS c)
  set(pc_name ${${component}_pc})
  list(TRANSFORM ${component}_flags PREPEND -l OUTPUT_VARIABLE pc_libraries)
  list(JOIN pc_libraries " " pc_libraries)
  configure_file(third_party/package/gnomon.pc.in ${PROJECT_BINARY_DIR}/package/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${pc_name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
  install(
    FILES ${PROJECT_BINARY_DIR}/package/gnomon-config.cmake
      ${PROJECT_BINARY_DIR}/package/gnomon-config-version.cmake
    DESTINATION ${folder_of_config} COMPONENT ${component})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()

if(TARGET gnomon_cli)
  install(TARGETS gnomon_cli
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()

# One package of all of it: cpack -G DEB --config build/release/CPackConfig.cmake
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_PACKAGE_NAME libgnomon-dev)
  set(CPACK_PACKAGE_VENDOR Gnomon)
  set(CPACK_PACKAGE_CONTACT "The authors of Gnomon")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Vulkan compute engine for C++20: trace, transform, fuse, run")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libvulkan1, spirv-tools, zlib1g-dev")
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  include(CPack)
endif()
