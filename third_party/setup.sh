#!/bin/sh
# third_party/setup.sh -- installs the Debian packages that are missing; silent when there are none.
#
# With the word `opponents` also what only tests and the benchmark need: libraries that they compare
# with, and what looks at the layout of sources; with `clang` the second compiler; with `windows` a compiler for Windows
# and what runs its programs here.
set -eu

packages="
  g++ cmake ninja-build pkg-config
  libvulkan-dev libvulkan-volk-dev vulkan-validationlayers mesa-vulkan-drivers
  spirv-headers spirv-tools glslang-tools
  libflatbuffers-dev flatbuffers-compiler libxxhash-dev
  libgtest-dev libgmock-dev libcli11-dev nlohmann-json3-dev libmpfr-dev zlib1g-dev
  liblapacke-dev libfftw3-dev
  gnuplot-nox
  dpkg-dev file
"
[ "${1:-}" != opponents ] || packages="$packages libboost-dev libsundials-dev
  libeigen3-dev libsuitesparse-dev libdnnl-dev clang-format-14"
[ "${1:-}" != clang ] || packages="$packages clang-14"
[ "${1:-}" != windows ] || packages="$packages g++-mingw-w64-x86-64-posix
  libz-mingw-w64-dev googletest wine64 xvfb xauth"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "gnomon: this is not a Debian system; install what these Debian packages hold, then call" \
    "cmake --preset release yourself:" $packages >&2
  exit 1
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null || true)
missing=
for package in $packages; do
  case "
$installed
" in
    *"
installed $package
"*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "gnomon: not root and no sudo here; install as root:$missing" >&2
    exit 1
  fi
  as_root=sudo
fi

echo "gnomon: installing$missing"
# A source that fails to refresh need not hold one of these packages; install decides.
$as_root apt-get -q update ||
  echo "gnomon: apt-get update reported errors; trying to install anyway" >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing
