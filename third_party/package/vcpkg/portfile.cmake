# third_party/package/vcpkg/portfile.cmake -- a port for `vcpkg install --overlay-ports=third_party/package`.
#
# Never run yet. The source is the tree that this file lies in.
vcpkg_cmake_configure(
  SOURCE_PATH ${CURRENT_PORT_DIR}/../../..
  OPTIONS
    -DGNOMON_BUILD_TESTS=OFF
    -DGNOMON_BUILD_SAMPLES=OFF
    -DGNOMON_BUILD_BENCH=OFF
    -DGNOMON_BUILD_COMMAND=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME gnomon CONFIG_PATH lib/cmake/gnomon)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${CURRENT_PORT_DIR}/../../../LICENSE)
