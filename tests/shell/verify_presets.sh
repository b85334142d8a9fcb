#!/bin/bash
# Tests mtf verify on the configurations of share/gin/models, on meshes of many processors.
#
# A few of them; MTF_TEST_PRESETS=all takes every one, on both meshes, which takes many minutes.
# Usage: MTF=path/to/mtf tests/shell/verify_presets.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "verify_presets.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

rules=(--layout batch:x,d_ff:y,heads:y,vocab:y --shrink)
preset() {                              # preset NAME MESH PROCESSORS OPTION...
    run verify --gin_file "$1" --mesh "$2" "${rules[@]}" "${@:4}"
    check "$1 on $2 ${*:4}" 0 out "equal on all $3 processors, chance of error below 2^-60"
}

# Lengths, heads and distances have become small with the rest.
preset t5_small x:2,y:2 4
check "lengths shrink" 0 out "length 512 to 4" "d_kv 64 to 4" "relative_distance 1023 to 7"
preset tiny x:2,y:4 8 --microbatches 4
preset lm_base x:4,y:2 8 --state-layout d_model:x
preset model_5b x:2,y:3 6               # heads and d_ff in uneven parts

if [ "$MTF_TEST_PRESETS" = all ]; then
    for file in "$root"/share/gin/models/*.gin; do
        name=$(basename "$file" .gin)
        case $name in *_common) continue ;; esac
        preset "$name" x:16,y:8 128
        preset "$name" x:64,y:8 512
        preset "$name" x:16,y:8 128 --microbatches 2
        preset "$name" x:16,y:8 128 --state-layout d_model:x
    done
fi

echo "verify_presets: $passed passed, $failed failed"
[ $failed -eq 0 ]
