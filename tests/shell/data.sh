#!/bin/bash
# Tests data on the command line: tables, tokens, names with colons, numbers out of range.
#
# Usage: tests/shell/data.sh       MTF: the command
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "data.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

# ---- a table: y = 2 a - b, with a text beside it --------------------------------------------------

{
    echo 'name,a,b,y,class'
    for i in $(seq 0 39); do
        a=$((i % 8)) b=$((i * 3 % 5))
        echo "\"row \"\"$i\"\", $a\",$a,$b,$((2 * a - b)),$((i % 3))"
    done
} >table.csv
cat >line.mtf <<'END'
x: f32[batch=8, in=2] = input
y: f32[batch=8] = input
w: f32[in=2] = variable
p: [batch] = einsum(x, w)
loss = reduce_mean(square(p - y))
END
line=(train line.mtf --loss loss --optimizer sgd --rate 0.02 --threads 1)
xy=(--data x=table.csv:part=1-2 --data y=table.csv:part=y)
learns() {                              # learns NAME ARGUMENTS...: the loss over the table is next to nothing
    local name=$1
    shift
    run "${line[@]}" --steps 150 --quiet "$@"
    if [ $status -eq 0 ] && awk '{ for (k = 2; k < NF; k++) if ($(k - 1) == "test" && $k == "loss") seen = $(k + 1) } END { exit !(seen != "" && seen < 1e-4) }' out; then pass
    else lose "$name" "test loss below 1e-4" "$status: $(cat out err)"; fi
}
learns "columns by number and by name" "${xy[@]}" "${xy[@]/#--data/--eval-data}"
cp table.csv 'ta:ble.csv'
learns "a colon in a name" --data x=ta:ble.csv:part=a,b --data y=table.csv:part=y \
    --eval-data 'x=ta\:ble.csv:part=1-2:header' --eval-data y=table.csv:part=y
learns "quotients as scale" --data x=table.csv:part=a,b:scale=3/2 --data y=table.csv:part=y:scale=3/2 \
    "${xy[@]/#--data/--eval-data}"
gzip -k table.csv
learns "packed" --data x=table.csv.gz:part=1-2:header --data y=table.csv.gz:part=3:header "${xy[@]/#--data/--eval-data}"

# Shuffled batches of a cut table, stopped and resumed, end with the same bits.
run "${line[@]}" "${xy[@]}" --checkpoint-dir whole --steps 150
run "${line[@]}" "${xy[@]}" --checkpoint-dir halves --steps 73
run "${line[@]}" "${xy[@]}" --checkpoint-dir halves --steps 150 --resume
if "$MTF" ckpt diff whole halves >out 2>err; then pass; else lose "a table resumed" "equal checkpoints" "$(cat out err)"; fi
run "${line[@]}" "${xy[@]}" --steps 150 --json --mesh x:2 --layout batch:x
check "a table cut by two" 0 out '"step":150,"loss":'

refuses "a column that is not there" 'names no column "naem"; did you mean "name"?' "${line[@]}" --steps 1 --data x=table.csv:part=naem
refuses "a text for a number"        ', column 0: "row "' \
    "${line[@]}" --steps 40 --data x=table.csv:part=name,a --data y=table.csv:part=y

# ---- tokens: the next one is known -----------------------------------------------------------------

for i in $(seq 0 320); do printf "\\x$(printf %02x $((i * 3 % 7)))\\0"; done >train.bin
cat >tokens.mtf <<'END'
tokens: i32[batch=4, length=8] = input
targets: i32[batch=4, length=8] = input
w: f32[now=7, next=7] = variable(init="zeros")
logits = gather(w, tokens, dim=now)
loss = reduce_mean(0.0 - reduce_sum(log_softmax(logits, dim=next) * one_hot(targets, dim=[next=7]), over=(next)))
hit = reduce_mean(cast(equal(argmax(logits, dim=next), targets), type=f32), over=(length))
END
bin=train.bin:format=u16:length=8
run train tokens.mtf --data "tokens=$bin" --data "targets=$bin:shift=1" --eval-data "tokens=$bin" \
    --eval-data "targets=$bin:shift=1" --right hit --optimizer adam --rate 0.1 --epochs 20 --quiet --threads 1
check "tokens and those that follow" 0 out "test accuracy 100.00 %"
refuses "tokens out of range" 'train.bin", element' train tokens.mtf --data "tokens=$bin:range=0-5" \
    --data "targets=$bin:shift=1" --optimizer sgd --steps 10
refuses "half a token" 'is cut short, or no file of u32' train tokens.mtf --data "tokens=${bin/u16/u32}" --steps 1

# ---- labels that are not classes --------------------------------------------------------------------

cat >classes.mtf <<'END'
x: f32[batch=8, in=2] = input
labels: i32[batch=8] = input
w: f32[in=2, classes=2] = variable
logits: [batch, classes] = einsum(x, w)
loss = reduce_mean(0.0 - reduce_sum(log_softmax(logits, dim=classes) * one_hot(labels, dim=[classes=2]), over=(classes)))
END
classes=(train classes.mtf --data x=table.csv:part=a,b --optimizer sgd --steps 5 --quiet)
refuses "a label out of the range" 'is outside of 0 to 1, the range of "labels"' "${classes[@]}" \
    --data labels=table.csv:part=class:range=0-1

run "${classes[@]}" --data labels=table.csv:part=class
check "unnoticed without either" 0 err
refuses "the same by the check device" 'but counts along "classes", whose positions are 0 to 1' "${classes[@]}" \
    --data labels=table.csv:part=class --device check
refuses "and on a mesh" ' of its part, but counts along "classes"' "${classes[@]}" \
    --data labels=table.csv:part=class --device check --mesh x:2 --layout batch:x
refuses "tokens that are not rows of a table" 'but counts along "now", whose positions are 0 to 6' train tokens.mtf \
    --data "tokens=$bin:scale=2" --data "targets=$bin" --optimizer sgd --steps 10 --device check

printf 'data: %d passed, %d failed\n' $passed $failed
[ "$failed" -eq 0 ]
