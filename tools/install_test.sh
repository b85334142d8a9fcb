#!/bin/bash
# Installs into a temporary folder and builds small outside programs against it.
#
# Four ways: pkg-config and find_package(mtf), each with the shared library and the archive.  Then all
# headers in C++, with each compiler that is there, and the examples of docs/embedding.md and of the README, as they
# stand, the latter on two ranks as well.
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
test -f "$tree/share/man/man1/mtf-train.1"
doc=$tree/share/doc/mtf
test -f "$doc/docs/tutorial/1-dimensions.md"
test -f "$doc/LICENSE"
! test -e "$doc/docs/internals"
step="following the links of the documents that are installed"
for document in "$doc"/docs/*.md "$doc"/docs/tutorial/*.md; do
    grep -oE '\]\([^)#:]+[)#]' "$document" | tr -d ']()#' | sort -u >"$work/links" || true
    while read -r link; do test -e "$(dirname "$document")/$link" || { echo "$document: no file $link"; false; }; done <"$work/links"
done
step="looking for what should be installed"
test -f "$tree/share/mtf/gin/models/bi_base.gin"
test -f "$tree/share/mtf/data/text/moby-dick.txt"
"$tree/bin/mtf" --version >/dev/null
grep -q 'complete -F _mtf mtf' "$tree/share/bash-completion/completions/mtf"
grep -q '#compdef mtf' "$tree/share/zsh/site-functions/_mtf"

step="looking for internal names in the libraries"
names() { nm -g --defined-only "$@" | awk 'NF == 3 && $3 !~ /^(mtf_|\.gomp_|DW\.ref\.)/ { print $3; bad = 1 } END { exit bad }'; }
names -D "$lib/libmtf.so"
names "$lib/libmtf.a"

step="comparing what the library exports with packaging/symbols"
nm -D --defined-only "$lib/libmtf.so" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort >"$work/exported"
LC_ALL=C comm -23 packaging/symbols "$work/exported" >"$work/gone"
LC_ALL=C comm -13 packaging/symbols "$work/exported" >"$work/new"
if [ -s "$work/gone" ]; then echo "programs that use these no longer link:" $(cat "$work/gone"); false; fi
if [ -s "$work/new" ]; then echo "packaging/symbols lacks (add them, sorted):" $(cat "$work/new"); false; fi

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
find_package(mtf 0.2 REQUIRED)
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

# Every macro of the headers, with lists that are empty, of one, of several, and in braces.
cat >"$work/outside.cpp" <<'END'
#include <mtf.h>
#include <mtf_bert.h>
#include <mtf_config.h>
#include <mtf_data.h>
#include <mtf_nn.h>
#include <mtf_text.h>
#include <mtf_train.h>
#include <cstdio>

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      rows = {"rows", 2}, inner = {"inner", 3};
    mtf_shape    none = mtf_shape(), one = mtf_shape(rows), both = mtf_shape(rows, {"cols", 5});
    mtf_tensor  *a = mtf_ones(g, MTF_F32, mtf_shape(rows, inner));
    mtf_tensor  *b = mtf_ones(g, MTF_F32, mtf_shape(inner, {"cols", 5}));
    mtf_tensor  *c = mtf_einsum(both, a, b), *d = mtf_einsum(one, c);
    mtf_tensor  *sum = mtf_reduce_sum(d, MTF_ALL);
    mtf_program *p = mtf_compile(g, sum, c), *q = mtf_compile(g, d);
    double       total = mtf_step(p) && mtf_step(q) ? mtf_fetch_scalar(p, sum) : 0;
    std::printf("%d %d %d %g\n", none.ndims, one.ndims, both.ndims, total);
    return mtf_close(s);
}
END
# The commands of docs/embedding.md, as they stand there.
documented() { sed -n "s/^cc program.c/${CC:-cc} program.c/; /program.c.*$1/p" "$doc/docs/embedding.md"; }
mkdir "$work/example"
for example in "$doc"/examples/*.c; do
    step="compiling ${example##*/} as docs/embedding.md says"
    cp "$example" "$work/example/program.c"
    (cd "$work/example" && eval "$(documented rpath)")
    case $example in */02_*) "$work/example/program" | cmp - "${example%.c}.expected" ;; esac
done
step="using the archive as docs/embedding.md says"
(cd "$work/example" && cp "$doc/examples/02_gradients.c" program.c && eval "$(documented variable=archive)")
if nm -D --undefined-only "$work/example/program" | grep ' mtf_'; then false; fi
"$work/example/program" | cmp - "$doc/examples/02_gradients.expected"
step="training on the digits that are installed"
(cd "$work/example" && "$tree/bin/mtf" train mnist --hidden 8 --steps 2 --quiet >/dev/null)

compilers=0
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    compilers=$((compilers + 1))
    for standard in c++11 c++17 c++20; do
        step="compiling the headers with $compiler -std=$standard"
        # shellcheck disable=SC2046
        $compiler -std=$standard -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "$work/outside.cpp" \
            -o "$work/plus" $(pkg-config --cflags --libs mtf)
        step="running what $compiler -std=$standard made"
        [ "$(LD_LIBRARY_PATH="$lib" "$work/plus")" = "0 1 2 30" ]
    done
done
if command -v g++ >/dev/null; then
    step="using the program of docs/embedding.md"
    sed -n '/^```cpp$/,/^```$/p' docs/embedding.md | sed '1d; $d' >"$work/fit.cpp"
    # shellcheck disable=SC2046
    g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror "$work/fit.cpp" -o "$work/fit" -pthread $(pkg-config --cflags --libs mtf)
    [ "$(LD_LIBRARY_PATH="$lib" "$work/fit")" = "2.00 1.00, 1.00 3.00" ]
fi
[ $compilers -gt 0 ] || echo "install: skipped the headers in C++: there is neither g++ nor clang++"

step="using the README's example"
sed -n '/^## In C$/,/^```$/p' README.md | sed '1,/^```c$/d; /^```$/,$d; s/"hidden", 1024/"hidden", 16/' >"$work/digits.c"
# shellcheck disable=SC2046
${CC:-cc} -Wall -Werror "$work/digits.c" -o "$work/digits" $(pkg-config --cflags --libs mtf) "-Wl,-rpath,$lib"
prints_once() { [ "$("$@" | grep -c '^loss ')" = 6 ]; }
prints_once "$work/digits"
MTF=$tree/bin/mtf
. tests/shell/ranks.bash
step="using the README's example on two ranks"
if [ -n "$without_ranks" ]; then echo "install: skipped the README's example on two ranks: $without_ranks"
else prints_once "${launcher[@]}" -n 2 "$work/digits" --mesh x:2 --layout batch:x; fi
