#!/bin/bash
# Tests training on text that is read in sections: the same losses resumed, and on any number of processes.
#
# Usage: MTF=path/to/mtf tests/shell/large_text.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "large_text.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"

cat >small.gin <<'END'
include 'lm_base.gin'
num_layers = 1
d_model = 16
d_ff = 16
num_heads = 2
d_kv = 8
dropout_rate = 0.0
run.sequence_length = {'targets': 512}
run.batch_size = ('sequences_per_batch', 60)
get_variable_dtype.activation_dtype = 'float32'
END
for i in $(seq 30); do sed "s/whale/whale $i/" "$root/data/text/moby-dick.txt"; done >book.txt
head -c 100000 book.txt >start.txt

options=(--gin_file small.gin --optimizer adam --rate 0.01 --threads 1 --json)
losses() { sed -n 's/.*"loss":\([^,}]*\).*/\1/p' out; }
same() {                                # same NAME FILE FILE
    if [ -s "$2" ] && cmp -s "$2" "$3"; then pass; else lose "$1" "$(tr '\n' ' ' <"$2")" "$(tr '\n' ' ' <"$3") $(cat err)"; fi
}

# A section has some 1024 rows, and batches 60: the 20th step is in the second window.
run train "${options[@]}" --text book.txt:joined --steps 24 --checkpoint-dir whole --save-every 20
check "in sections" 0 out '"step":24'
losses >whole.losses
run ckpt whole --json
grep -q '"text bytes"' whole/step_*20/manifest.json && grep -q '"place": *"0\.1\.' whole/step_*20/manifest.json && pass ||
    lose "a checkpoint has the place" '"place": "0.1...."' "$(grep -A9 facts whole/step_*20/manifest.json)"
rm -r whole/step_*24
run train "${options[@]}" --text book.txt:joined --steps 24 --checkpoint-dir whole --resume
losses >rest.losses
tail -4 whole.losses >last.losses
same "resumed" last.losses rest.losses
run train "${options[@]}" --text book.txt:joined --steps 3 --checkpoint-dir other --seed 3
losses >other.losses
cmp -s <(head -3 whole.losses) other.losses && lose "another seed" "other losses" "$(cat other.losses)" || pass

# ---- pairs -----------------------------------------------------------------------------------------

awk 'NF' book.txt | cut -c 1-60 | paste -d '\t' - - >pairs.tsv
head -c 6000000 pairs.tsv | sed '$d' >few.tsv
for how in delimited delimited:pack; do
    run train "${options[@]}" --text pairs.tsv:objective=$how --steps 24 --checkpoint-dir $how --save-every 20
    losses >whole.losses
    rm -r $how/step_*24
    run train "${options[@]}" --text pairs.tsv:objective=$how --steps 24 --checkpoint-dir $how --resume
    losses >rest.losses
    tail -4 whole.losses >last.losses
    same "$how, resumed" last.losses rest.losses
done

# What a process takes does not depend on the file: the peak of a large one is at most 8 MB above that of a small one.
peak() {                                # peak COMMAND ...: prints kB; standard output goes to out, errors to err
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
flat() {                                # flat NAME PATTERN SMALL LARGE COMMAND ...: FILE in the command is one of the two
    local name=$1 said=$2 small=$3 large=$4 a b
    shift 4
    if ! command -v python3 >/dev/null 2>&1; then pass; return; fi
    a=$(peak "$MTF" "${@//FILE/$small}")
    b=$(peak "$MTF" "${@//FILE/$large}")
    if grep -q -- "$said" out err && [ "$b" -lt $((a + 8192)) ]; then pass; else lose "$name" "$said, no more than $a kB" "$b kB: $(cat err)"; fi
}
for i in 1 2 3; do cat pairs.tsv; done >more.tsv
flat "training on pairs" '"step":1' few.tsv more.tsv train "${options[@]}" --text FILE:objective=delimited --steps 1
# A line that is too long ends both soon.
{ head -n 3 pairs.tsv; printf '%0600d\tx\n' 0; cat few.tsv; } >few_long.tsv
{ head -n 3 pairs.tsv; printf '%0600d\tx\n' 0; cat more.tsv; } >more_long.tsv
flat "decoding the inputs of pairs" "line 4: the prompt has 60" few_long.tsv more_long.tsv \
    decode delimited --eval-text FILE:objective=delimited --max-tokens 1 --threads 1
run decode delimited --eval-text few_long.tsv:objective=delimited --max-tokens 1 --threads 1
[ "$(wc -l <out)" = 3 ] && pass || lose "answers before a line that is too long" 3 "$(cat out)"
flat "scoring pairs" "line 4: the text to score has 60" few_long.tsv more_long.tsv \
    score delimited --eval-text FILE:objective=delimited --threads 1
rm more.tsv more_long.tsv
printf '%s\n' 'dim batch = 4' 'x: f32[batch, in=2] = input' 'w: f32[in=2] = variable' 'p: [batch] = einsum(x, w)' 'loss = reduce_mean(square(p))' >plane.mtf
yes "$(seq 100 | sed 's/.*/&	&/')" | head -n 3000000 >many.tsv
head -n 1000 many.tsv >thousand.tsv
for as in tsv csv; do
    tr '\t' "$([ $as = csv ] && echo , || echo '\t')" <many.tsv >many.$as.txt
    head -n 1000 many.$as.txt >thousand.$as.txt
    flat "a table, $as" '"step":1' thousand.$as.txt many.$as.txt train plane.mtf --data x=FILE:format=$as --steps 1 --json --threads 1
done
rm many.*

# ---- processes -------------------------------------------------------------------------------------

first() { sed -n '1s/.*"loss":\([0-9.]*\).*/\1/p' out; }
run train "${options[@]}" --text book.txt:joined --steps 2
first >one.first
for n in 2 3; do
    [ -n "$without_ranks" ] && { echo "large_text.sh: no ranks: $without_ranks"; break; }
    "${launcher[@]}" -n $n "$MTF" train "${options[@]}" --text book.txt:joined --steps 2 --mesh "x:$n" --layout batch:x >out 2>err
    first >"ranks$n.first"
    awk -v a="$(cat one.first)" -v b="$(cat "ranks$n.first")" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-4 && d > -1e-4) }' && pass ||
        lose "$n processes" "$(cat one.first)" "$(cat "ranks$n.first" err)"
done

run train "${options[@]}" --text start.txt:joined --steps 2 --checkpoint-dir small
refuses "a checkpoint of text in memory" 'it is now read in sections, in another order' \
    train "${options[@]}" --text book.txt:joined --steps 4 --checkpoint-dir small --resume
cp book.txt longer.txt
echo "The end." >>longer.txt
refuses "a checkpoint of shorter text" 'was made with other text, of' \
    train "${options[@]}" --text longer.txt:joined --steps 50 --checkpoint-dir whole --resume
{ cat book.txt; printf 'a\0b\n'; } >binary.txt
run train "${options[@]}" --text binary.txt:joined:documents=line --steps 1 --no-shuffle
check "a step without reading all" 0 out '"step":1'
run train "${options[@]}" --text binary.txt:documents=line --epochs 1
check "a zero byte at the end" 1 err "is not text: its byte $(($(stat -c %s book.txt) + 1)) is zero"

echo "large_text.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
