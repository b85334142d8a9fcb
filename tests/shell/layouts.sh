#!/bin/bash
# Tests layouts that searches find for the configurations that come with mtf.
#
# Usage: MTF=path/to/mtf tests/shell/layouts.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "layouts.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

figure() { sed -n "s/^\t*\"$1\":\t\"*\([^\"]*[^\",]\).*/\1/p" "$2" | head -n 1; }
at_most() {                             # at_most NAME FIGURE FILE FILE: the first file's is no larger
    awk -v a="$(figure "$2" "$3")" -v b="$(figure "$2" "$4")" 'BEGIN { exit !(a > 0 && a <= b * (1 + 1e-9)) }' && pass ||
        lose "$1" "at most $(figure "$2" "$4")" "$(figure "$2" "$3") $(head -n 20 "$3") $(cat err)"
}
for_batch() { echo "run.batch_size = ('sequences_per_batch', $1)"; }

# ---- very large meshes ---------------------------------------------------------------------------

# A length in 256 parts makes a kind of every position: some are priced, at the end of a search as in a plan, which
# takes seconds of a processor, not minutes.
large=(--gin_file t5_small --gin_param "$(for_batch 4)" --json)
(ulimit -t 60 && exec "$MTF" layout "${large[@]}" --mesh mesh_0:256,mesh_1:256 --seconds 2 --show 1) >found 2>err ||
    lose "65536 processors take seconds" "an answer within 60 seconds" "$(cat err)"
run plan "${large[@]}" --mesh mesh_0:256,mesh_1:256 --layout d_ff:mesh_0,heads:mesh_0,length:mesh_1,memory_length:mesh_1,vocab:mesh_0
cp out written
check "sums over some of the kinds are called inexact" 0 out '"exact":	false'
at_most "65536 processors, no slower than what people write" seconds found written
[ "$(figure layout found)" != "d_ff:mesh_0,heads:mesh_0,length:mesh_1,memory_length:mesh_1,vocab:mesh_0" ] ||
    at_most "a plan has the price of mtf layout" seconds written found

# ---- rules for state -----------------------------------------------------------------------------

# Of a model with many layers and a GPU's collectives beside its work, prices without the equal layers mislead.
deep=(--gin_file gpt2_1558m --gin_param "$(for_batch 16)" --gin_param num_layers=24 --optimizer adam --rate 0.001
    --machine h100-nodes --mesh x:4,y:2 --show 1 --json)
run layout "${deep[@]}" --layout auto --state-layout auto && cp out found
for rules in d_model:x+y d_ff:x+y,heads:x+y,vocab:x+y; do
    run layout "${deep[@]}" --layout batch:x+y --state-layout $rules && cp out written
    at_most "rules for state, no slower than $rules" seconds found written
done

echo "layouts.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
