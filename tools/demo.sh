#!/bin/bash
# Trains a digit reader and a small language model on a mesh of four processors, and shows that the layout
# does not change the results.
#
# Begins with examples/03_mnist, which needs only the core of the library, and builds the command after it: so
# digits are read before all is built.
# Usage: tools/demo.sh [build folder]
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}
mtf=$build/mtf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n\n' "$*"; }
losses() { sed -n 's/.*"step":\([0-9]*\),"loss":\([^,}]*\).*/\1 \2/p'; }

say "Training on 60000 digits, on 2x2 processors: the batch is cut along x, the hidden units along y"
"$build/examples/03_mnist" --epochs 3 --hidden 256 --mesh x:2,y:2 --layout batch:x,hidden:y || exit 1

say "Building the rest of the library, and the command mtf"
cmake --build "$build" --target mtf || exit 1

say "The plan of such a step, from the command"
"$mtf" plan mnist --mesh x:2,y:2 --layout batch:x,hidden:y >"$work/plan" || exit 1
head -n 14 "$work/plan"

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

say "A small language model learns bytes from sixteen chapters of Moby Dick, on the same mesh, and writes a line"
"$mtf" train --gin_file lm_base --gin_file tiny --gin_param "run.sequence_length = {'targets': 64}" \
    --gin_param "run.batch_size = ('sequences_per_batch', 16)" --gin_param "dropout_rate = 0.0" \
    --gin_param "get_variable_dtype.activation_dtype = 'float32'" --text data/text/moby-dick.txt:documents=file:joined \
    --mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y --optimizer adam --rate "0.004 * linear_warmup(20)" \
    --steps 150 --checkpoint-dir "$work/lm" || exit 1
printf 'The whale ' | "$mtf" decode --checkpoint-dir "$work/lm" --max-tokens 60 --temperature 0.4 --seed 1 >"$work/line" || exit 1
printf '\nThe whale %s\n' "$(cat "$work/line")"
