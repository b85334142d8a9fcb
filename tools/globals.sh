#!/bin/bash
# Fails on a writable global or static variable in the library's objects.
#
# Everything hangs on a session.  Constant tables that hold pointers live in .data.rel.ro and
# are fine; so is what the compiler adds for OpenMP and the sanitizers.
# Usage: tools/globals.sh [build folder]
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}
objects=$build/CMakeFiles/mtf_objects.dir

set -o pipefail

find src -name '*.c' -not -path 'src/cli/*' | sort | while read -r source; do
    objdump -t "$objects/$source.o" | sed 's/ \.hidden / /' |
        awk -v source="$source" '
            NF < 4 { next }
            { section = $(NF - 2); name = $NF }
            section !~ /^(\.data|\.bss|\.tdata|\.tbss|\.sdata|\.sbss|\*COM\*)/ { next }
            section ~ /^\.data\.rel\.ro/ || $(NF - 1) ~ /^0+$/ { next }
            name ~ /^(\.gomp_|__asan|__odr_asan|__ubsan|__tsan|__sancov|\.L)/ { next }
            { print source ": writable variable " name " in " section }' ||
        echo "$source: its object could not be read"
done | { ! grep .; }
