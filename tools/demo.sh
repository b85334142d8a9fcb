#!/bin/bash
# Trains the README's network on a mesh of four processors, and shows that the layout changes nothing.
#
# Usage: tools/demo.sh [build folder]
cd "$(dirname "$0")/.." || exit 2
mtf=${1:-build}/mtf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n\n' "$*"; }
losses() { sed -n 's/.*"step":\([0-9]*\),"loss":\([^,}]*\).*/\1 \2/p'; }

say "The plan of a step on 2x2 processors: the batch is cut along x, the hidden units along y"
"$mtf" plan mnist --mesh x:2,y:2 --layout batch:x,hidden:y >"$work/plan" || exit 1
head -n 14 "$work/plan"

say "Training on 60000 digits"
"$mtf" train mnist --mesh x:2,y:2 --layout batch:x,hidden:y --epochs 3 || exit 1

say "The losses of 200 steps, and under another layout: the images' rows are cut along x, the batch along y"
for layout in batch:x,hidden:y rows:x,batch:y; do
    "$mtf" train mnist --mesh x:2,y:2 --layout $layout --steps 200 --json >"$work/out" || exit 1
    losses <"$work/out" >"$work/$layout"
done
join "$work/batch:x,hidden:y" "$work/rows:x,batch:y" --nocheck-order | awk '
    { gap = ($2 > $3 ? $2 - $3 : $3 - $2) / $2 }
    gap > most { most = gap }
    $1 % 50 == 0 { printf "step %3d   %.6f   %.6f\n", $1, $2, $3 }
    END { printf "largest relative difference of %d: %.1e\n", NR, most }'
