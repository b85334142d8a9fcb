#!/bin/bash
# Fails on a global function or table that only the file which defines it uses: it should be static.
#
# Public functions stay, and so do those that a test or a benchmark uses.
# Usage: tools/statics.sh [build folder]
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}

mapfile -t objects < <(find "$build" -name '*.c.o' -o -name '*.cpp.o' | sort)
[ ${#objects[@]} -gt 0 ] || { echo "$build holds no objects; build it first"; exit 1; }

# Of each name: the source that defines it, and whether another one asks for it.  A file of inner loops is
# compiled for several levels, and is one source.
nm -A --format=posix "${objects[@]}" 2>/dev/null | awk '
    {
        object = $1; sub(/:$/, "", object)
        source = object; sub(/^.*\.dir\//, "", source); sub(/\.o$/, "", source)
        name = $2; kind = $3
    }
    kind ~ /^[TDRB]$/ && source ~ /^src\// { defines[name] = source }
    kind == "U" { asks[name] = 1 }
    END {
        for (name in defines)
            if (!(name in asks) && name !~ /^(mtf_|main$|_)/) print defines[name], name
    }' | sort | while read -r source name; do
    # Another architecture, or a test that is not built, may ask for it.
    grep -rlwF --include='*.c' --include='gpu_*.h' --include='host_*.h' -- "$name" src tests bench | grep -qvxF "$source" ||
        echo "$source: only this file uses $name: it should be static"
done | { ! grep .; }
