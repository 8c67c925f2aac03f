#!/bin/sh
# third_party/more_drivers.sh [DEST] -- further Vulkan drivers and a newer validation layer, from
# Debian packages unpacked (not installed) below DEST, by default build/drivers:
#
#   DEST/swiftshader.json    SwiftShader, out of the package chromium-common
#   DEST/lavapipe-new.json   lavapipe, out of mesa-vulkan-drivers of the backports suite
#   DEST/mock.json           a driver of the least limits that computes nothing, beside SwiftShader
#   DEST/layer               the Khronos validation layer as Chromium builds it, for VK_LAYER_PATH
#
# Select one with VK_DRIVER_FILES (older loaders: VK_ICD_FILENAMES), or make test
# DRIVER=swiftshader. What is there already is not fetched again. The system's package configuration
# is read, not changed.
set -eu

fail() {
  echo "gnomon: more_drivers: $*" >&2
  exit 1
}

dest=${1:-$(dirname "$0")/../build/drivers}
mkdir -p "$dest"
dest=$(cd "$dest" && pwd)
cd "$dest"

layer_manifest=layer/VkLayer_khronos_validation.json
[ -e swiftshader.json ] && [ -e lavapipe-new.json ] && [ -e mock.json ] && [ -e $layer_manifest ] &&
  exit 0

for tool in apt-get dpkg dpkg-query; do
  command -v $tool >/dev/null || fail "$tool is missing; this script unpacks Debian packages"
done
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$suite" ] || fail "/etc/os-release names no release"
arch=$(dpkg --print-architecture)

# apt works in a root of its own here: no privileges, and fresh lists even where the system has
# none. The backports join the system's sources once the archive to take them from is known.
mkdir -p apt/lists/partial apt/archives/partial
rm -f apt/sources.list
[ ! -e /etc/apt/sources.list ] || cat /etc/apt/sources.list >apt/sources.list
private_apt() {
  apt-get -q=2 -o Dir::State::lists="$dest/apt/lists" -o Dir::Cache="$dest/apt" \
    -o Dir::Cache::archives="$dest/apt/archives" -o Dir::Etc::sourcelist="$dest/apt/sources.list" \
    -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# Prints the repository that holds release $1, as far as the lists know.
repository_of() {
  private_apt indextargets --format '$(RELEASE)|$(REPO_URI)' "Created-By: Packages" |
    awk -F'|' -v release="$1" '$1 == release { print $2; exit }'
}

updated=
# Refreshes the lists once, with the backports of the archive that the release itself comes from.
update() {
  [ -z "$updated" ] || return 0
  private_apt update >apt/log 2>&1 ||
    fail "cannot refresh the package lists (offline?): $dest/apt/log"
  if [ -z "$(repository_of "$suite-backports")" ]; then
    archive=$(repository_of "$suite")
    [ -n "$archive" ] ||
      fail "apt found no list of $suite (offline, or not among its sources?): $dest/apt/log"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -e $keyring ] && signed=" signed-by=$keyring" || signed=
    echo "deb [arch=$arch$signed] $archive $suite-backports main" >>apt/sources.list
    private_apt update >apt/log 2>&1 ||
      fail "cannot refresh $suite-backports: $dest/apt/log"
  fi
  updated=yes
}

# Downloads package $1 (in apt's syntax) and unpacks it as the folder $2.
unpack() {
  update
  echo "gnomon: fetching $1"
  rm -rf "$2" apt/fetch apt/tree
  mkdir -p apt/fetch apt/tree
  (cd apt/fetch && private_apt download "$1" >../log 2>&1) ||
    fail "cannot download $1 (offline, or not in this distribution?): $dest/apt/log"
  dpkg -x apt/fetch/*.deb apt/tree
  mv apt/tree "$2"
  rm -rf apt/fetch
}

# Sets `path` to library $2 below the folder $1; packages move it between releases.
locate() {
  path=$(find "$dest/$1" -name "$2" -type f | head -n 1)
  [ -n "$path" ] || fail "$1 was unpacked but holds no $2"
  lacks=$(ldd "$path" | awk '/not found/ { printf " %s", $1 }')
  [ -z "$lacks" ] || fail "$path needs$lacks, which this machine lacks"
}

# Writes the driver manifest $1 for the library $2. The version is only the loader's lower bound:
# what a driver offers, it says itself.
manifest() {
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.1.0"}}\n' \
    "$2" >"$1"
}

if [ ! -e swiftshader.json ] || [ ! -e $layer_manifest ]; then
  unpack chromium-common chromium
  locate chromium libVkLayer_khronos_validation.so
  mkdir -p layer
  printf '{"file_format_version": "1.2.0", "layer": {"name": "VK_LAYER_KHRONOS_validation",
  "type": "GLOBAL", "library_path": "%s", "api_version": "1.4.0", "implementation_version": "1",
  "description": "Khronos validation, newer than the distribution",
  "instance_extensions": [
    {"name": "VK_EXT_debug_report", "spec_version": "9"},
    {"name": "VK_EXT_debug_utils", "spec_version": "1"},
    {"name": "VK_EXT_validation_features", "spec_version": "2"},
    {"name": "VK_EXT_layer_settings", "spec_version": "2"}]}}\n' \
    "$path" >$layer_manifest
  locate chromium libvk_swiftshader.so
  manifest swiftshader.json "$path"
fi

if [ ! -e mock.json ]; then
  locate chromium libVkICD_mock_icd.so
  manifest mock.json "$path"
fi

if [ ! -e lavapipe-new.json ]; then
  unpack "mesa-vulkan-drivers/$suite-backports" mesa
  locate mesa libvulkan_lvp.so
  manifest lavapipe-new.json "$path"
fi
rm -rf apt
