#!/bin/bash
# Checks the layers of the source: which folder includes which, no circles, who knows GPUs, one name for one thing.
#
# src/LAYERS lists the folders, lowest layer first; a folder of folders may have a layer for each, as
# cuda/write and cuda/driver have.  A file may include its own folder, lower layers, and the public
# headers; includes are written from src/, as in "space/shape.h".
# Usage: tools/layers.sh [root of the tree]
cd "${1:-$(dirname "$0")/..}" || exit 2
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

mapfile -t sources < <(find src -name '*.[ch]' -o -name '*.cu' | sort)

# An include goes down, or stays in its own folder.
awk '
    function room(path, from,    part) { # the folder of the list in which a path lies
        split(path, part, "/")
        return (part[from] "/" part[from + 1]) in layer ? part[from] "/" part[from + 1] : part[from]
    }
    FILENAME == "src/LAYERS" { for (i = 1; i <= NF; i++) layer[$i] = FNR; next }
    FNR == 1 { home = room(FILENAME, 2)
               if (!(home in layer)) print FILENAME ": folder " home " has no layer in src/LAYERS" }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, quoted, "\""); target = quoted[2]
        if (target ~ /^mtf(_nn|_data|_text|_train|_transformer|_bert|_config|_build)?\.h$/) next
        folder = room(target, 1)
        where = FILENAME ":" FNR ": "
        if (folder == target || target ~ /\.\./)
            print where "write \"" target "\" from src/, as in \"space/shape.h\""
        else if (!(folder in layer))
            print where "\"" target "\" is in no folder of src/LAYERS"
        else if (folder != home && layer[folder] >= layer[home])
            print where home " (layer " layer[home] ") includes " folder " (layer " layer[folder] ")"
    }' src/LAYERS "${sources[@]}" >>"$bad" || exit 2

# Files include each other in no circle, not even within a folder: x.c and x.h are one box.  Arrows from
# boxes that nothing includes, and to boxes that include nothing, are taken away until all that are left
# lie on circles or between two.
awk '
    function box(path) { sub(/\.[a-z]+$/, "", path); return path }
    function reaches(at, goal,    i) {
        if (at == goal) return 1
        seen[at]
        for (i = 1; i <= n; i++)
            if (left[i] && from[i] == at && !(to[i] in seen) && reaches(to[i], goal)) return 1
        return 0
    }
    FNR == 1 { home = FILENAME; sub(/^src\//, "", home); home = box(home); boxes[home] }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, quoted, "\""); target = box(quoted[2])
        if (target == home) next
        from[++n] = home; to[n] = target; place[n] = FILENAME ":" FNR ": "
    }
    END {
        for (i = 1; i <= n; i++) left[i] = to[i] in boxes
        do {
            taken = 0; split("", including); split("", included)
            for (i = 1; i <= n; i++) if (left[i]) { including[from[i]]; included[to[i]] }
            for (i = 1; i <= n; i++)
                if (left[i] && !(from[i] in included && to[i] in including)) { left[i] = 0; taken++ }
        } while (taken)
        for (i = 1; i <= n; i++) {
            split("", seen)
            if (left[i] && reaches(to[i], from[i]))
                print place[i] from[i] " and " to[i] " include each other in a circle"
        }
    }' "${sources[@]}" >>"$bad" || exit 2

# A stem belongs to one folder: x.c and x.h side by side are a pair, anything else is a clash.
printf '%s\n' "${sources[@]}" | awk '{
        stem = $0; sub(/.*\//, "", stem); sub(/\.[a-z]+$/, "", stem)
        folder = $0; sub(/\/[^\/]*$/, "", folder)
        if (stem in seen && seen[stem] != folder)
            print $0 ": " seen[stem] " has a " stem " already"
        seen[stem] = folder
    }' >>"$bad" || exit 2

# A function of another file is declared by that file's header, never by hand.
find src -name '*.c' -print0 | sort -z |
    xargs -0 grep -nHE 'extern [^;"]*\(|^[A-Za-z_][A-Za-z0-9_ ]*[ *]+[a-z_][A-Za-z0-9_]*\([^{}]*\);' |
    grep -vE '^[^:]*:[0-9]+:(static|typedef|return|else) ' |
    sed 's|^\([^:]*:[0-9]*\):.*|\1: a prototype written by hand: include the header|' >>"$bad"

# Who knows GPUs.  Names of NVIDIA's stand in few rooms; `price` also knows that GPUs are priced by other rates.
makers='src/cuda/|src/measure/'              # the device; what it is measured with
makers+='|src/price/(gpu_rates|machine_assets)' # machine files that describe GPUs
makers+='|src/run/(devices|version)\.c'       # the table of devices; what this program was built with
makers+='|src/cli/'                           # options and their help
grep -niE 'cuda|cudnn|cublas|nccl|nvidia|gpu' "${sources[@]}" | grep -vE "^($makers)" |
    awk -F: '$1 !~ /^src\/price\// || tolower($0) ~ /cuda|cudnn|cublas|nccl|nvidia/ {
        print $1 ":" $2 ": names GPUs: ask abilities (base/abilities.h), or say what holds of any device" }' >>"$bad"

cat "$bad"
[ ! -s "$bad" ]
