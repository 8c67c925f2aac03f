# Makefile -- the commands people use; CMakePresets.json holds what they configure.
#
#   make demo                    build and run the samples; pictures and tables land in build/demo
#   make test                    build everything and run the tests, those marked slow excepted
#   make bench ARGS="--quick"    build and run the benchmark; writes build/release/bench.json
#   make clang                   compile library and samples by clang 14 as well
#   make test-windows            build for Windows, run tests under Wine and compare samples with
#                                those that were built for this system
#
# DRIVER=lavapipe|lavapipe-new|swiftshader runs any of them on that driver (lavapipe is the
# system's own; the others are fetched); without it the environment and the Runtime choose.
# LABEL=unit|device|... restricts make test to the tests with that label.
# TARGET=minimum compiles for the least that Vulkan 1.1 guarantees, and hides what the device has
# beyond it (tests/least_device).

DRIVER ?=
LABEL ?=
TARGET ?=
ARGS ?=

build := build/release
build_targets = cmake --build $(build) --target

drivers := $(CURDIR)/build/drivers
# Looked up when used: setup may have just installed it.
manifest_lavapipe = $(firstword $(wildcard /usr/share/vulkan/icd.d/lvp_icd*.json))
manifest_lavapipe-new = $(drivers)/lavapipe-new.json
manifest_swiftshader = $(drivers)/swiftshader.json

on_driver =
ifneq ($(DRIVER),)
  ifeq ($(flavor manifest_$(DRIVER)),undefined)
    $(error DRIVER=$(DRIVER) is not known; use lavapipe, lavapipe-new or swiftshader)
  endif
  # The loader of Debian 12 knows only the first name; later ones prefer the second.
  on_driver += VK_ICD_FILENAMES=$(manifest_$(DRIVER)) VK_DRIVER_FILES=$(manifest_$(DRIVER))
endif
layers =
ifeq ($(DRIVER),lavapipe-new)
  # Its API is newer than the distribution's layer. The newer layer needs both variables: without
  # the second it does not look at shader accesses, and a clean run would mean nothing.
  layers := $(drivers)/layer
  on_driver += VK_LAYER_VALIDATE_SYNC=1 VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1
endif
ifneq ($(TARGET),)
  ifneq ($(TARGET),minimum)
    $(error TARGET=$(TARGET) is not known; use minimum)
  endif
  layers := $(if $(layers),$(layers):)$(CURDIR)/$(build)/tests/least_device:/usr/share/vulkan/explicit_layer.d
  on_driver += GNOMON_TARGET=minimum VK_INSTANCE_LAYERS=VK_LAYER_GNOMON_least_device
endif
ifneq ($(layers),)
  on_driver += VK_LAYER_PATH=$(layers)
endif

# Tests that skipped themselves in the last run of a build, each with its reason, and their number:
# said of a run that failed as well.
skips = awk '/: Skipped$$/ { getline why } /^\[  SKIPPED \] .* \(/ { n++; print "skipped: " $$4 ": " why } \
  END { print n + 0 " tests skipped themselves" }' $(1)/Testing/Temporary/LastTest.log

.PHONY: demo test clang test-windows bench setup opponents configure driver
.DEFAULT_GOAL := demo

demo: configure driver
	@$(on_driver) $(build_targets) demo

test: opponents configure driver
	@$(build_targets) all
	@$(on_driver) ctest --test-dir $(build) -j2 --output-on-failure --no-tests=error \
	  -LE slow $(if $(LABEL),-L '^$(LABEL)$$'); failed=$$?; $(call skips,$(build)); exit $$failed

# Unoptimised and in batches: whether it compiles is the question.
clang: setup
	@third_party/setup.sh clang
	@cmake --preset clang -B build/clang-library -D CMAKE_CXX_FLAGS_RELEASE=-DNDEBUG -D GNOMON_UNITY=ON \
	  -D GNOMON_BUILD_TESTS=OFF -D GNOMON_BUILD_BENCH=OFF > build/clang.log || { cat build/clang.log; false; }
	@cmake --build build/clang-library

test-windows: configure driver
	@third_party/setup.sh windows
	@cmake --preset windows > build/windows.log || { cat build/windows.log; false; }
	@cmake --build build/windows --target home cross
	@$(on_driver) xvfb-run -a ctest --test-dir build/windows --output-on-failure --no-tests=error; \
	  failed=$$?; $(call skips,build/windows); exit $$failed

bench: opponents configure driver
	@$(build_targets) gnomon_bench
	@$(on_driver) $(build)/tests/bench/gnomon_bench --json $(build)/bench.json $(ARGS)

setup:
	@third_party/setup.sh

# What is compared with; a tree that was configured without it is configured again.
opponents:
	@third_party/setup.sh opponents
	@! grep -qs 'GNOMON_\(CVODE\|EIGEN\|CHOLMOD\|DNNL\).*NOTFOUND' $(build)/CMakeCache.txt || cmake --preset release

configure: setup
	@[ -e $(build)/build.ninja ] || cmake --preset release

driver: setup
	@case "$(DRIVER)" in lavapipe-new|swiftshader) third_party/more_drivers.sh;; esac
