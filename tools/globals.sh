#!/bin/bash
# Fails on a writable global or static variable in any object of the library and the command.
#
# All state belongs to a session.  Constant tables that hold pointers live in .data.rel.ro and
# are fine; so are variables that the compiler adds for OpenMP and the sanitizers.
# Usage: tools/globals.sh [build folder]
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}

set -o pipefail

mapfile -t objects < <(find "$build"/CMakeFiles/*.dir/src -name '*.c.o' 2>/dev/null | sort)
sources=$(find src -name '*.c' | grep -vxF -f <(printf '%s\n' "${objects[@]}" | sed 's|.*\.dir/||; s|\.o$||'))
[ ${#objects[@]} -gt 0 ] || { echo "$build holds no objects of the library; build it first"; exit 1; }
echo "${#objects[@]} objects of $(find src -name '*.c' | wc -l) sources${sources:+; not built here: $(echo $sources)}" >&2

{
    objdump -t "${objects[@]}" | sed 's/ \.hidden / /' |
        awk '
            / file format / { source = $1; sub(/.*\.dir\//, "", source); sub(/\.o:$/, "", source); next }
            NF < 4 { next }
            { section = $(NF - 2); name = $NF }
            section !~ /^(\.data|\.bss|\.tdata|\.tbss|\.sdata|\.sbss|\*COM\*)/ { next }
            section ~ /^\.data\.rel\.ro/ || $(NF - 1) ~ /^0+$/ { next }
            name ~ /^(\.gomp_|__asan|__odr_asan|__ubsan|__tsan|__sancov|\.L)/ { next }
            { print source ": writable variable " name " in " section }' ||
        echo "some of the objects could not be read"
} | { ! grep .; }
