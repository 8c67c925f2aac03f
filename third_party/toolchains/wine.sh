#!/bin/sh
# third_party/toolchains/wine.sh PROGRAM... -- runs a Windows program on this system's Vulkan drivers.
#
# Debian keeps the loader of programs apart from the path; Vulkan in Wine asks for a display.
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
export WINEDEBUG="${WINEDEBUG:--all}"
if [ -z "${DISPLAY:-}" ]; then
  exec xvfb-run -a "$wine" "$@"
fi
exec "$wine" "$@"
