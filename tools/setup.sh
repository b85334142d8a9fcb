#!/bin/bash
# Installs what the build needs and this machine lacks; silent when nothing is missing.
#
# Usage: tools/setup.sh [bench|page|site|deb|bare|full]  bench: also what `make bench` measures against;
#                                   page: also a browser, for `make test-page`;
#                                   site: also a converter of Markdown, for `make site`;
#                                   deb: also what makes Debian packages, for `make deb`;
#                                   bare: also what makes a bare system, for `make test-deb`;
#                                   full: also clang, its OpenMP and its sanitizers, for
#                                   `make fuzz`, `make tidy`, `make format` and the clang preset
#        MTF_NO_INSTALL=1 tools/setup.sh  only says what is missing, and fails if anything is
has_tool()    { command -v "$1" >/dev/null 2>&1; }
has_library() { has_tool pkg-config && pkg-config --exists "$1"; }
has_package() { [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

debian=no
has_tool apt-get && has_tool dpkg-query && debian=yes

missing=()          # Debian packages
lacks=()            # the same as roles, for other systems
need() {            # need "role" "packages", after the test that failed
    lacks+=("$1")
    read -ra packages <<<"$2"
    missing+=("${packages[@]}")
}

has_tool make                      || need "make" "make"
has_tool gcc || has_tool clang     || need "a C11 compiler: gcc or clang" "gcc libc6-dev"
has_tool g++ || has_tool clang++   || need "a C++ compiler, for SentencePiece and a test of the headers: g++ or clang++" "g++"
has_tool objcopy                   || need "binutils: ld, objcopy, objdump" "binutils"
has_tool cmake                     || need "cmake, 3.21 or later" "cmake"
has_tool ninja                     || need "ninja" "ninja-build"
has_tool pkg-config                || need "pkg-config" "pkg-config"
has_library openblas               || need "OpenBLAS, with headers" "libopenblas-dev"
has_library zlib                   || need "zlib, with headers" "zlib1g-dev"
has_library libcjson               || need "cJSON, with headers" "libcjson-dev"
has_library libpcre2-8             || need "PCRE2, with headers" "libpcre2-dev"
has_library sentencepiece          || need "SentencePiece, with headers" "libsentencepiece-dev"
has_library libmicrohttpd          || need "libmicrohttpd, with headers" "libmicrohttpd-dev"
has_library cmocka                 || need "cmocka, with headers" "libcmocka-dev"
has_tool mpicc                     || need "MPI, with headers" "libopenmpi-dev"
has_tool mpirun                    || need "mpirun" "openmpi-bin"
has_tool curl                      || need "curl, for tests of mtf serve" "curl"
has_tool python3                   || need "Python 3, for tests of mtf serve" "python3"
has_tool localedef                 || need "localedef" "libc-bin"
if [ $debian = yes ]; then
    has_package libc6-dev          || need "the C library's headers" "libc6-dev"
fi
if [ "$1" = bench ]; then
    has_library sleef              || need "SLEEF, with headers" "libsleef-dev"
fi
if [ "$1" = page ]; then
    has_tool chromium              || need "Chromium" "chromium"
fi
if [ "$1" = site ]; then
    has_tool cmark-gfm             || need "cmark-gfm" "cmark-gfm"
fi
if [ "$1" = deb ]; then
    has_tool dh                    || need "debhelper" "debhelper"
    has_tool dpkg-buildpackage     || need "dpkg-buildpackage" "dpkg-dev"
    has_tool lintian               || need "lintian" "lintian"
fi
if [ "$1" = bare ]; then
    has_tool debootstrap           || need "debootstrap" "debootstrap"
fi
if [ "$1" = full ]; then
    has_tool clang                 || need "clang" "clang"
    has_tool clang-format          || need "clang-format" "clang-format"
    has_tool clang-tidy            || need "clang-tidy" "clang-tidy"
    if [ $debian = yes ]; then
        has_package libomp-dev     || need "OpenMP for clang" "libomp-dev"
        ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-* >/dev/null 2>&1 ||
                                      need "libFuzzer and the sanitizers for clang" "libclang-rt-14-dev"
    fi
fi

[ ${#missing[@]} -eq 0 ] && exit 0

if [ $debian = no ]; then
    echo "mtf needs these, and this system lacks them:"
    printf '  %s\n' "${lacks[@]}"
    echo "setup: install them with your system's package manager, then run this again" >&2
    exit 1
fi

needed="this machine lacks these Debian packages: ${missing[*]}"
if [ -n "$MTF_NO_INSTALL" ]; then
    echo "setup: $needed; MTF_NO_INSTALL is set, so nothing was installed:" \
         "install them with apt-get install ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    has_tool sudo || { echo "setup: $needed; run this as root, or install sudo, to add them" >&2; exit 1; }
    as_root=(sudo)
fi
echo "setup: $needed"
echo "setup: installing them with ${as_root[*]} apt-get now (MTF_NO_INSTALL=1 prevents this)" | tr -s ' '
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -q &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
           apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log"
    echo "setup: apt-get could not install ${missing[*]}; its messages are above" >&2
    exit 1
fi
