#!/bin/bash
# Tests the text language through the commands: training and evaluation, rename.
#
# Usage: tests/shell/text.sh       MTF: the command
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "text.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

# ---- training: 5 in a step of training, 2 in evaluation --------------------------------------------

cat >net.mtf <<'END'
x: f32[batch=4] = input
w: f32[] = variable(init="zeros")
h = where(training, dropout(x, rate=0.5), x)
loss = reduce_mean(h) * w * 0.0 + where(training, 5, 2)
END
seq 1 8 >x.csv
echo 'x: f32[batch=4] = constant(data={1, 2, 3, 4})' >x.mtf
run run x.mtf --fetch x=x.npy
data=(--data x=x.csv:format=csv --eval-data x=x.csv:format=csv)
run train net.mtf "${data[@]}" --optimizer sgd --steps 3 --json --checkpoint-dir run --threads 1
check "5 in training" 0 out '"step":3,"loss":5,' '"step":3,"epoch":1.5,"eval_loss":2}'
prints "2 in evaluation" '"eval_loss":2}' eval net.mtf --checkpoint-dir run --eval-data x=x.csv:format=csv --json
prints "2 where nothing is assigned" 'loss = 2' run net.mtf --fetch loss --feed x=x.npy
prints "no noise where nothing is assigned" '# loss' show net.mtf --program
if grep -q draw out; then lose "no noise where nothing is assigned" "no draw" "$(cat out)"; else pass; fi
{ cat net.mtf; echo 'new = assign(w, w + 1.0)'; } >assigns.mtf
prints "5 where a file assigns" 'loss = 5' run assigns.mtf --fetch loss --feed x=x.npy
prints "noise where a file assigns" 'draw' show assigns.mtf --program
prints "noise in the step that an optimizer makes" 'draw' show net.mtf --program --optimizer sgd

# ---- rename ----------------------------------------------------------------------------------------

cat >rename.mtf <<'END'
x: f32[rows=2, cols=3] = constant(data={1, 2, 3, 4, 5, 6})
t = rename(x, from=(rows, cols), to=(cols, rows))
y: [rows=2, all=2] = einsum(x, rename(x, from=rows, to=all))
END
prints "names exchanged" 't: f32[cols=2, rows=3]' run rename.mtf --fetch t
prints "a product with itself" '[14, 32]' run rename.mtf --fetch y
prints "shown by its name" 't: f32[cols=2, rows=3] = rename(x, from=(rows, cols), to=(cols, rows))' show rename.mtf
cp out again.mtf
prints "what is shown reads back" "$(cat again.mtf)" show again.mtf
prints "the manual has it" 'y = rename(x, from=(NAMES), to=(NAMES))' ops rename

printf 'text: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
