# What can be built and run here: `make help` lists it.
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 300
SECONDS      ?= 600
SEED         ?= $(shell date +%s)
PRESET       := $(if $(ASAN),asan,$(if $(TSAN),tsan,release))

build = @{ [ -f $(2)/build.ninja ] || cmake --preset $(1); } && cmake --build $(2)

.PHONY: release setup demo test test-all test-presets mutants test-cuda sanitize-cuda test-page bench bench-cuda site dist deb test-deb install asan tsan fuzz fuzz-programs format tidy clean help

release:            ## build everything; the command is build/mtf
	$(call build,release,build)

setup:              ## name and install missing Debian packages (MTF_NO_INSTALL=1: only name them)
	@tools/setup.sh

demo: setup         ## train the README's network on a mesh, under two layouts
	$(call build,release,build) --target 03_mnist
	@tools/demo.sh build

test: setup         ## run the tests, in minutes (ASAN=1 or TSAN=1: under that sanitizer; ONLY="NAME...")
	@tools/test.sh $(PRESET) fast $(ONLY)

test-all: setup     ## run every test whole, which takes half an hour and more, and test-presets
	@tools/test.sh $(PRESET) all $(ONLY)
	@$(MAKE) --no-print-directory test-presets MATRIX="$(or $(MATRIX),most)"

test-presets: setup ## check every configuration of share/gin/models (MATRIX=most: the GPU for a few only)
	$(call build,release,build)
	@MTF=build/mtf MTF_MATRIX="$(or $(MATRIX),all)" OMP_WAIT_POLICY=passive MTF_NO_MEASURE=1 tests/shell/presets.sh

mutants:            ## put known faults into a copy, and see which test finds each (ONLY=PATTERN; MTF_MUTANTS=likeliest: as make test would)
	$(call build,release,build)
	@tools/mutants.sh $(ONLY)

test-cuda:          ## run every test of the device cuda on this machine's gpu
	@tools/test_cuda.sh

sanitize-cuda:      ## run kernels and short trainings on the GPU under compute-sanitizer
	@tools/sanitize_cuda.sh

test-page:          ## look at pages in a browser, headless; installs Chromium where it is missing
	@tools/setup.sh page
	@tools/setup.sh site
	$(call build,release,build) --target mtf
	@MTF=build/mtf MTF_BROWSER=needed tests/shell/page.sh
	@MTF_BROWSER=needed tests/shell/site.sh

bench:              ## measure ratios and print them beside their targets
	@tools/setup.sh bench
	$(call build,release,build)
	@build/bench/mtf_bench

bench-cuda:         ## measure training, decoding and kernels on this machine's gpu
	$(call build,release,build) --target mtf_bench
	@build/bench/mtf_bench --only cuda

site:               ## write the documentation as pages, with search, to build/site
	@tools/setup.sh site
	@tools/site/site.py build/site

dist:               ## write the source archive of this commit to build/dist
	@tools/dist.sh

deb:                ## build Debian packages of this commit in build/packages
	@tools/setup.sh deb
	@tools/deb.sh

test-deb: deb       ## install the Debian packages in a bare system, try them, and remove them
	@tools/setup.sh bare
	@MTF_PACKAGES=needed tests/shell/packages.sh

install: release    ## install under PREFIX, below DESTDIR where given
	DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)

asan tsan: setup    ## build with the address and undefined, or the thread sanitizer
	$(call build,$@,build-$@)

fuzz:               ## run each fuzz target for FUZZ_SECONDS, from tests/fuzz/seeds/NAME
	@tools/setup.sh full
	$(call build,fuzz,build-fuzz)
	@for f in $(basename $(notdir $(wildcard tests/fuzz/fuzz_*.c))); do \
	    mkdir -p build-fuzz/found/$$f tests/fuzz/seeds/$$f; echo "== $$f"; \
	    build-fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 \
	        -artifact_prefix=build-fuzz/ build-fuzz/found/$$f tests/fuzz/seeds/$$f || exit 1; done

fuzz-programs:      ## compare random programs with the oracle for SECONDS, from SEED on
	$(call build,release,build) --target test_random_programs
	@build/tests/test_random_programs --seconds $(SECONDS) $(SEED)

format:             ## format the sources as .clang-format says
	@tools/format.sh --write

tidy:               ## run clang-tidy over the sources (SINCE=COMMIT: over those that changed since)
	@tools/setup.sh full
	@[ -f build-clang/build.ninja ] || cmake --preset clang
	@tools/tidy.sh build-clang $(SINCE)

clean:              ## remove every build folder
	@rm -rf build build-*

help:               ## print this
	@sed -n 's/^\([a-z -]*\):[a-z ]* ## /\1\t/p' Makefile | expand -t 16
