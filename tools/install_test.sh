#!/bin/bash
# Installs into a temporary folder and builds a small outside program against it.
#
# Four ways: pkg-config and find_package(mtf), each with the shared library and the archive.
# Usage: tools/install_test.sh [build folder]
cd "$(dirname "$0")/.." || exit 2
set -eu
build=$(realpath "${1:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step=installing
trap 'echo "install: failed while $step"' ERR
set -E

cmake --install "$build" --prefix "$work/tree" >"$work/log" 2>&1 || { cat "$work/log"; false; }
tree=$work/tree
lib=$(dirname "$(find "$tree" -name libmtf.so)")
step="looking for what should be installed"
test -f "$tree/include/mtf.h"
test -f "$tree/share/man/man1/mtf.1"
"$tree/bin/mtf" --version >/dev/null

step="looking for internal names in the libraries"
names() { nm -g --defined-only "$@" | awk 'NF == 3 && $3 !~ /^(mtf_|\.gomp_)/ { print $3; bad = 1 } END { exit bad }'; }
names -D "$lib/libmtf.so"
names "$lib/libmtf.a"

cat >"$work/outside.c" <<'END'
#include <mtf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_shape shape = mtf_shape_parse(s, "batch:2,hidden:3");
    printf("%d\n", (int)mtf_shape_size(shape));
    return mtf_close(s);
}
END
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(outside C)
find_package(mtf 0.1 REQUIRED)
add_executable(shared outside.c)
target_link_libraries(shared PRIVATE mtf::mtf)
add_executable(static outside.c)
target_link_libraries(static PRIVATE mtf::mtf_static)
END
says_six() { [ "$("$@")" = 6 ]; }

step="using the shared library through pkg-config"
export PKG_CONFIG_PATH=$lib/pkgconfig
# shellcheck disable=SC2046  # flags are words
${CC:-cc} "$work/outside.c" -o "$work/shared" $(pkg-config --cflags --libs mtf)
says_six env LD_LIBRARY_PATH="$lib" "$work/shared"

step="using the archive through pkg-config"
mkdir "$work/hidden" && mv "$lib"/libmtf.so* "$work/hidden"
# shellcheck disable=SC2046
${CC:-cc} "$work/outside.c" -o "$work/static" $(pkg-config --cflags --static --libs mtf)
says_six "$work/static"
mv "$work"/hidden/* "$lib"

step="using find_package(mtf)"
{ cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$tree" &&
  cmake --build "$work/build"; } >"$work/log" 2>&1 || { cat "$work/log"; false; }
says_six "$work/build/shared"
says_six "$work/build/static"
