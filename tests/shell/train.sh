#!/bin/bash
# Tests training from the command line: curves on every layout, resuming, kills, words.
#
# Usage: tests/shell/train.sh      MTF, MPIRUN: as in mpi.sh
#        KILLS=100: how often a run is killed before it may end; default 10
#        TRAIN_SEED=1: of the moments at which that happens
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "train.sh: no command at $MTF"; exit 2; }
root=$PWD digits=$PWD/data/mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
end_at_once
[ -n "$without_ranks" ] && echo "only threads: $without_ranks"
fast() { [ "$MTF_TEST" = fast ]; }      # a sample
fast && curve_steps=40 kills=${KILLS:-3} || curve_steps=200 kills=${KILLS:-10}
RANDOM=${TRAIN_SEED:-1}

says() { if grep -qF -- "$3" "$2"; then pass; else lose "$1" "$3" "$(head -c 800 "$2")"; fi; } # NAME FILE TEXT
same() {                                # same NAME FOLDER FOLDER: their newest checkpoints are equal
    if "$MTF" ckpt diff "$2" "$3" >out 2>err; then pass; else lose "$1" "equal checkpoints" "$(head -c 800 out err)"; fi
}
nap() { sleep "0.$(printf %03d $((RANDOM % $1)))"; }    # nap MOST: some milliseconds

# A network in a file, small enough to be trained often: with dropout, and examples that are shuffled.
cat >net.mtf <<'END'
images: f32[batch=50, rows=28, cols=28] = input
labels: i32[batch=50] = input
w1: f32[rows=28, cols=28, hidden=24] = variable
w2: f32[hidden=24, classes=10] = variable
h: [batch, hidden] = einsum(images, w1)
logits: [batch, classes] = einsum(dropout(relu(h), rate=0.2), w2)
loss = reduce_mean(0.0 - reduce_sum(log_softmax(logits, dim=classes) * one_hot(labels, dim=[classes=10]), over=(classes)))
END
net=(train net.mtf --data "images=$digits/t10k-images*:scale=0.0039" --data "labels=$digits/t10k-labels*"
    --optimizer adam --rate 0.001 --threads 1)
small=(train mnist --data-dir "$digits" --hidden 60 --threads 1)

# ---- the same curve on every layout --------------------------------------------------------------

losses() { sed -n 's/.*"step":\([0-9]*\),"loss":\([^,}]*\).*/\1 \2/p' "$1"; }
apart() {                               # apart FILE FILE: the largest relative difference of two curves
    join --nocheck-order <(losses "$1") <(losses "$2") |
        awk '{ gap = ($2 - $3) / $2; if (gap < 0) gap = -gap } gap > most { most = gap } END { printf "%d %.2e", NR, most }'
}
curve() {                               # curve NAME COMMAND...: like that without a mesh
    local name=$1 got
    "${@:2}" >curve 2>err </dev/null || { lose "$name" "exit status 0" "$(head -c 600 err)"; return; }
    got=$(apart alone curve)
    if awk -v got="$got" -v steps=$curve_steps 'BEGIN { split(got, g); exit !(g[1] == steps && g[2] < 1e-4) }'; then pass
    else lose "$name" "$curve_steps steps, at most 1e-4 apart" "$got"; fi
}
# Ranks add in the order of threads, so that their curve is the same to the last digit.
alike() {                               # alike NAME: after the curves of threads and of ranks
    if cmp -s <(losses threads_curve) <(losses curve); then pass; else lose "$1" "the losses of threads" "$(apart threads_curve curve)"; fi
}
layouts=(                               # mesh, layout, numbers of ranks
    'x:2      batch:x           2'
    'x:2      hidden:x          2'
    'x:2,y:2  batch:x,hidden:y  2 4'
    'x:3      batch:x           3'
)
fast && layouts=('x:2,y:2  batch:x,hidden:y  2' 'x:3      batch:x           3')
curves=("$MTF" "${small[@]}" --steps $curve_steps --json)
"${curves[@]}" >alone 2>err || lose "curve without a mesh" "exit status 0" "$(head -c 600 err)"
for row in "${layouts[@]}"; do
    read -r mesh layout counts <<<"$row"
    where=(--mesh "$mesh" --layout "$layout")
    curve "threads, mesh $mesh, layout $layout" "${curves[@]}" "${where[@]}"
    [ -n "$without_ranks" ] && continue
    cp curve threads_curve
    for ranks in $counts; do
        curve "$ranks ranks, mesh $mesh, layout $layout" "${launcher[@]}" -n "$ranks" "${curves[@]}" "${where[@]}"
        alike "$ranks ranks and threads, mesh $mesh, layout $layout"
    done
done
says "accuracy comes last" alone '"accuracy":0.'
[ "$(losses alone | wc -l)" = $curve_steps ] && pass || lose "a line for each step" $curve_steps "$(wc -l <alone)"

# ---- resuming ------------------------------------------------------------------------------------

run "${net[@]}" --steps 60 --checkpoint-dir straight
check "a straight run" 0 out "step 60 of 60"
run "${net[@]}" --steps 25 --checkpoint-dir halves --save-every 10 --keep 2
check "a first part" 0 out "step 25 of 25"
run "${net[@]}" --steps 60 --checkpoint-dir halves --resume
check "the rest" 0 out "resuming after step 25"
same "a resumed run is the straight one" straight halves
[ "$(echo halves/step_*)" = "halves/step_00000020 halves/step_00000025 halves/step_00000060" ] && pass ||
    lose "--keep 2" "the steps 20, 25 and 60" "$(echo halves/step_*)"
run "${net[@]}" --steps 25 --checkpoint-dir mesh --mesh x:2 --layout batch:x
run "${net[@]}" --steps 60 --checkpoint-dir mesh --mesh x:3 --layout hidden:x --resume
check "resuming on another mesh" 0 out "resuming after step 25" "step 60 of 60"
run "${net[@]}" --steps 60 --checkpoint-dir mesh --resume
check "nothing is left to do" 0 out "resuming after step 60: nothing is left to do up to step 60"
refuses "a folder with checkpoints" 'has a checkpoint of step 60 already: resume from it (--resume), or name another' \
    "${net[@]}" --steps 60 --checkpoint-dir straight
refuses "another seed" 'was made with another seed; resume with --seed 0' \
    "${net[@]}" --steps 70 --checkpoint-dir straight --resume --seed 7
run "${net[@]}" --steps 1 --init-from straight --init-only '^w' --json
from_zero=$("$MTF" "${net[@]}" --steps 1 --json)
if [ $status = 0 ] && [ "$(cat out)" != "$from_zero" ]; then pass; else lose "--init-from" "another first loss" "$(cat out err)"; fi
run "${net[@]}" --steps 1 --init-from straight --init-only '^w1$' --init-rename '^w1$=w2' --json
check "--init-rename to another shape" 1 err '"w2"'

# One byte, or the last one missing, in either file: nobody goes on from it.
damaged() {                             # damaged FILE PLACE: -1 is the end
    rm -rf damaged && cp -r straight damaged
    local file=damaged/step_00000060/$1 what="$1, byte $2" byte=x
    if [ "$2" = -1 ]; then truncate -s -1 "$file"
    else
        [ "$(dd if="$file" bs=1 skip="$2" count=1 2>/dev/null | tr -d '\0')" = x ] && byte=y
        printf $byte | dd of="$file" bs=1 seek="$2" conv=notrunc 2>/dev/null
    fi
    refuses "$what: verify" "$1\"" ckpt verify damaged
    refuses "$what: resume" "$1\"" "${net[@]}" --steps 70 --checkpoint-dir damaged --resume
    refuses "$what: eval" "$1\"" eval net.mtf --eval-data "images=$digits/t10k-images*:scale=0.0039" --eval-data "labels=$digits/t10k-labels*" --checkpoint-dir damaged
}
for place in 0 5 100 -1; do damaged manifest.json $place; done
for place in 0 20 5000 -1; do damaged weights-00001-of-00001.safetensors $place; done

# ---- kills ---------------------------------------------------------------------------------------

# A run that saves often, and is killed at any moment: of its start, a step, a save, a deletion.
begin() { "$MTF" "${net[@]}" --steps 300 --checkpoint-dir "$1" --save-every 3 --keep 2 --resume >out 2>err </dev/null & job=$!; }
run "${net[@]}" --steps 300 --checkpoint-dir undisturbed
check "an undisturbed run" 0 out "step 300 of 300"
done_kills=0
while [ $done_kills -lt "$kills" ]; do
    begin killed
    nap 600
    kill -KILL $job 2>/dev/null && done_kills=$((done_kills + 1))
    wait $job 2>/dev/null
    [ -d killed/step_00000300 ] || continue
    same "after $done_kills kills" undisturbed killed   # it had come to its end: once more from the beginning
    rm -rf killed
done 2>/dev/null
begin killed
if wait $job; then same "after $kills kills" undisturbed killed; else lose "after $kills kills" "exit status 0" "$(head -c 600 err)"; fi

if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" "${net[@]}" --steps 300 --checkpoint-dir ranks --mesh x:2 --layout batch:x >out 2>err </dev/null
    for ((k = 0; k < (kills + 4) / 5; k++)); do
        rm -f pid.*
        "${launcher[@]}" -n 2 bash -c 'echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"; exec "$@"' - \
            "$MTF" "${net[@]}" --steps 300 --checkpoint-dir lost --save-every 3 --keep 2 --resume --mesh x:2 --layout batch:x \
            >out 2>err </dev/null &
        job=$!
        sleep 0.5
        nap 600
        kill -KILL "$(cat pid.$((RANDOM % 2)))" 2>/dev/null
        wait $job && rm -rf lost
    done 2>/dev/null
    "${launcher[@]}" -n 2 "$MTF" "${net[@]}" --steps 300 --checkpoint-dir lost --resume --mesh x:2 --layout batch:x >out 2>err </dev/null
    same "a rank is killed, and the run resumed" ranks lost
fi

# ---- stopping ------------------------------------------------------------------------------------

interrupted() {                         # interrupted NAME SIGNAL TARGET: the status is that of the signal
    for _ in $(seq 100); do grep -q '"step":' out && break; sleep 0.05; done
    kill "-$2" "$3"
    wait $job
    status=$?
    check "$1" $((128 + $(kill -l "$2"))) err "stopped after step"
}
endless=(env --default-signal=INT,HUP "$MTF" "${net[@]}" --steps 200000 --json)
# `out` is emptied first: with the steps of the run before in it, the signal may come before the command has begun,
# and end a copy of this shell, whose last act is to remove the folder.
for signal in INT TERM HUP USR1; do
    : >out
    "${endless[@]}" --checkpoint-dir stopped$signal >out 2>err </dev/null &
    job=$!
    interrupted "SIG$signal saves and ends" $signal $job
    says "what was saved" err "and saved; --resume continues"
    step=$(sed -n 's/.*after step \([0-9]*\).*/\1/p' err)
    [ -d "stopped$signal/step_$(printf %08d "$step")" ] && pass || lose "its checkpoint" "stopped/step_$step" "$(ls stopped$signal)"
    [ "$(losses out | tail -n 1 | cut -d ' ' -f 1)" = "$step" ] && pass || lose "the last line" "$step" "$(tail -n 1 out)"
done
: >out
"${endless[@]}" >out 2>err </dev/null &
job=$!
interrupted "without a folder" TERM $job
says "nothing was kept" err "nothing was kept, as there is no --checkpoint-dir"
: >out
env --ignore-signal=HUP "$MTF" "${net[@]}" --steps 300 --json >out 2>err </dev/null &
job=$!
for _ in $(seq 100); do grep -q '"step":' out && break; sleep 0.05; done
kill -HUP $job
wait $job && [ "$(losses out | wc -l)" = 300 ] && pass || lose "nohup" "300 steps" "$(tail -n 1 out err)"
if [ -z "$without_ranks" ]; then
    for signal in INT USR1; do
        rm -f pid.*
        : >out
        "${launcher[@]}" -n 2 bash -c 'echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"; exec "$@"' - \
            "${endless[@]}" --checkpoint-dir ranks$signal --mesh x:2 --layout batch:x >out 2>err </dev/null &
        job=$!
        for _ in $(seq 100); do [ -s pid.1 ] && grep -q '"step":' out && break; sleep 0.05; done
        interrupted "one rank's SIG$signal stops all" $signal "$(cat pid.1)"
        [ "$(grep -c 'stopped after' err)" = 1 ] && pass || lose "one rank says so" 1 "$(cat err)"
    done
fi

# ---- numbers that are none -----------------------------------------------------------------------

toy=(train toy --threads 1)
refuses "NaN on one processor" 'made the first NaN, in "trouble"' "${toy[@]}" --steps 30 --nan-step 17
says "which step" out "the loss is nan in step 18: replaying from step 0"
refuses "NaN after a checkpoint, on a mesh" 'made the first NaN, in "trouble"' \
    "${toy[@]}" --steps 30 --nan-step 17 --mesh x:2 --layout batch:x --checkpoint-dir nan --save-every 5
says "from where" out "replaying from step 15"
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" "${toy[@]}" --steps 30 --nan-step 17 --mesh x:2 --layout batch:x >out 2>err </dev/null
    says "NaN on ranks" err 'made the first NaN, in "trouble"'
fi
run "${toy[@]}" --steps 1 --rate "cosine(0.1) * linear_warmup(5)"
check "a rate without a number" 0 err 'mtf: warning: the rate "cosine(0.1) * linear_warmup(5)" has no number among its factors, so it goes up to 1; ' \
    '"0.001 * cosine(0.1) * linear_warmup(5)" goes up to 0.001'
for rate in 0.01 "0.1 * cosine" "linear_decay * 0.1" truncated_rsqrt noam "constant(0.1)"; do
    run "${toy[@]}" --steps 1 --rate "$rate"
    [ $status = 0 ] && ! grep -q warning err && pass || lose "a rate that says how high it goes: $rate" "no warning" "$(cat err)"
done
refuses "a loss that grows beyond bounds" 'had become infinite before' "${toy[@]}" --steps 2000 --rate 1e4 --layers 2

# The error names the file's line, the step, and what was wrong with an input.
printf '%s\n' 'x: f32[batch=4] = input' 'w: f32[] = variable(init="ones")' '' 'y = log(x * w)' \
    'loss = reduce_mean(y * y)' >log.mtf
log=(train log.mtf --optimizer sgd --rate 0.0001 --threads 1 --steps 9)
not_finite() {                          # not_finite NAME TEXT VALUE: among eight examples, all in two steps
    { seq 7; echo "$3"; } >column.tsv
    refuses "$1" "$2" "${log[@]}" --data x=column.tsv:part=0
    [ -n "$without_ranks" ] || { fast && [ "$3" != -1 ]; } && return
    "${launcher[@]}" -n 2 "$MTF" "${log[@]}" --data x=column.tsv:part=0 --mesh x:2 --layout batch:x >out 2>err </dev/null
    [ "$(grep -cF -- "${2##*step}" err)" = 1 ] && pass || lose "$1, on ranks" "once: ${2##*step}" "$(cat err)"
}
not_finite "a negative example" 'made the first NaN, in "y" (log.mtf:4), in step' -1
not_finite "an infinite example" 'the input "x" (log.mtf:1) holds an infinity' inf
not_finite "an example that is a NaN" 'the input "x" (log.mtf:1) holds a NaN' nan

# Whoever lets the mesh be found and gives no rules gets rules, too.
run "${net[@]}" --steps 2 --mesh auto:2
check "a mesh that is found comes with a layout" 0 out "found: --mesh mesh_0:2 --layout " ":mesh_0"

# ---- threads -------------------------------------------------------------------------------------

# The command starts itself again with a short wait of threads, unless the user has chosen one.
env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME "$MTF" "${net[@]}" --steps 100000000 --quiet 2>err >out &
for _ in {1..100}; do
    waits=$(tr '\0' '\n' 2>/dev/null <"/proc/$!/environ" | grep -c '^GOMP_SPINCOUNT=2000$')
    [ "$waits" = 1 ] && break
    sleep 0.1
done
kill $!
wait $! 2>/dev/null
[ "$waits" = 1 ] && pass || lose "threads wait for a short time" "GOMP_SPINCOUNT=2000" "$(head -c 300 err)"

# ---- what is shown -------------------------------------------------------------------------------

run "${toy[@]}" --steps 40 --mesh x:2 --layout batch:x --profile --trace trace.json --watch '^layer_1$' --watch-every 20 --events-dir events
check "all that can be shown" 0 out "step 40 of 40" "steps/s" "wire" "instruction" "slowest : fastest" "layer_1: mean" "nonfinite 0"
cat >deep.mtf <<'END'
images: f32[batch=50, rows=28, cols=28] = input
in/w: f32[rows=28, cols=28, hidden=24] = variable
stack/layer_1/w: f32[hidden=24, inner=32] = variable
stack/layer_2/w: f32[hidden=24, inner=32] = variable
in/h: [batch, hidden] = einsum(images, in/w)
stack/layer_1/i: [batch, inner] = einsum(in/h, stack/layer_1/w)
stack/layer_1/h: [batch, hidden] = einsum(tanh(stack/layer_1/i), stack/layer_1/w)
stack/layer_2/i: [batch, inner] = einsum(stack/layer_1/h, stack/layer_2/w)
stack/layer_2/h: [batch, hidden] = einsum(tanh(stack/layer_2/i), stack/layer_2/w)
loss = reduce_mean(square(stack/layer_2/h))
END
for parts in 1 5; do
    run train deep.mtf --loss loss --data "images=$digits/t10k-images*:scale=0.0039" --optimizer adam --steps 4 --profile --microbatches $parts
    check "gradients and updates in the scope of their layers, $parts parts" 0 out "stack/layer_1 x 2" "in  "
    awk '/^stack/ { stack = $4 } /^in / { begin = $2 } /^outside/ { other = $4 } END { exit !(stack > begin && stack > other) }' out &&
        pass || lose "most calls are of layers, $parts parts" "stack > in, outside" "$(sed -n '/^scope/,$p' out)"
done
if command -v python3 >/dev/null; then
    python3 - <<'END' && pass || lose "a timeline" "two processors" "$(head -c 300 trace.json)"
import json
events = json.load(open("trace.json"))
executions = [e for e in events if e["ph"] == "X"]
assert {e["tid"] for e in executions} == {0, 1}
assert all(e["dur"] >= 0 for e in executions) and any(e["cat"] == "wire" for e in executions)
END
fi
# From 0 on, in thousandths of a microsecond, each event of a processor after the end of the one before.
spans() {                               # spans FILE: processor, begin, end
    sed -n 's/.*"tid":\([0-9]*\),"ts":\([0-9]*\)\.\([0-9]*\),"dur":\([0-9]*\)\.\([0-9]*\)}.*/\1 \2\3 \4\5/p' "$1" |
        awk '{ printf "%d %d %d\n", $1, $2, $2 + $3 }' | sort -n -k1,1 -k2,2
}
orderly() {                             # orderly NAME FILE PROCESSORS
    spans "$2" | awk -v want="$3" '
        { if (NR == 1 || $2 < least) least = $2; if ($1 == who && $2 < end) bad = 1; if ($1 != who) n++; who = $1; end = $3 }
        BEGIN { who = -1 } END { exit !(n == want && least == 0 && !bad) }' &&
        pass || lose "$1" "$3 processors from 0 on, without overlaps" "$(spans "$2" | head -n 20)"
}
orderly "times of a timeline" trace.json 2
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 3 "$MTF" "${toy[@]}" --steps 9 --mesh x:3,y:2 --layout batch:x --trace ranks.json >out 2>err </dev/null
    [ "$(grep -c thread_name ranks.json),$(tail -n 1 ranks.json)" = "6,]" ] && pass || lose "a timeline of ranks" "six processors" "$(head -c 600 err ranks.json)"
    orderly "times of a timeline of ranks" ranks.json 6
fi
for tag in loss learning_rate gradient_norm steps_per_second layer_1/mean; do
    grep -qa "$tag" events/events.out.tfevents.* && pass || lose "an event file" "$tag" "$(ls events)"
done

# On a terminal the line fits its width and overwrites itself, unless the terminal is dumb.
if [ -n "$without_terminal" ]; then
    echo "nothing on a terminal: $without_terminal"
else
    on_terminal() {                     # on_terminal COLUMNS TERM: leaves raw, and lines as they were written
        script -qec "stty cols $1; TERM=$2 $MTF ${small[*]} --steps 150" /dev/null </dev/null >raw
        tr '\r' '\n' <raw | grep '^step' | grep -v '   test ' >lines
    }
    widest() { awk '{ sub(/ *$/, "") } length > most { most = length } END { print most + 0 }' lines; }
    for columns in 20 40 60 200; do
        on_terminal $columns xterm
        [ "$(widest)" -lt $columns ] && pass || lose "a line of $columns columns" "fewer" "$(head -n 5 lines)"
        says "the last line" lines "step 150 of 150"
    done
    grep -q $'\rstep' raw && pass || lose "a line that overwrites itself" "a carriage return" "$(head -c 300 raw)"
    says "a smoothed loss" lines "(smoothed "
    says "a recent speed" lines " examples/s"
    on_terminal 40 dumb
    grep -q $'\rstep' raw && lose "a dumb terminal" "no carriage return" "$(head -c 300 raw)" || pass
    [ "$(widest)" -gt 40 ] && pass || lose "a dumb terminal" "a whole line" "$(cat lines)"
fi
run "${toy[@]}" --steps 3
grep -qE '   in [0-9.]+ s$' out && pass || lose "how long it took" "in ... s" "$(cat out)"
run "${toy[@]}" --steps 3 --mesh x:2 --layout auto
check "a layout that is found" 0 out "found: --mesh x:2"
[ "$(grep -c "found: " out)" = 1 ] && pass || lose "it is said once" 1 "$(cat out)"
run "${toy[@]}" --steps 3 --mesh x:2 --layout batch:x
grep -q "found: " out && lose "a layout that was given" "nothing" "$(cat out)" || pass
"$MTF" "${toy[@]}" --steps 40 --json >plain_run
"$MTF" "${toy[@]}" --steps 40 --json --watch . --watch-every 7 >watched_run 2>/dev/null
"$MTF" "${toy[@]}" --steps 40 --json --events-dir other_events >event_run 2>/dev/null
cmp -s plain_run event_run && pass || lose "event files change nothing" "$(tail -n 1 plain_run)" "$(tail -n 1 event_run)"
cmp -s plain_run watched_run && pass || lose "watching changes nothing" "$(tail -n 1 plain_run)" "$(tail -n 1 watched_run)"
run "${toy[@]}" --steps 20 --master-type bf16 --activation-type bf16 --layers 3 --optimizer adafactor --rate 0.01 --mesh x:2 --layout hidden_odd:x
check "other types, another optimizer" 0 out "step 20 of 20"
run "${toy[@]}" --steps 3 --quiet
quiet=$(cat out)
run "${toy[@]}" --steps 3 --json
said=$(sed -n '$s/.*"loss":\([^,}]*\).*/\1/p' out)
[ "$quiet" = "step 3 of 3   loss $(printf %.6g "$said")" ] && pass || lose "--quiet" "the last loss, $said" "$quiet"
prints "--quiet, as JSON" "{\"step\":3,\"loss\":$said}" "${toy[@]}" --steps 3 --json --quiet
[ "$(wc -l <out)" = 1 ] && pass || lose "nothing else" "a line" "$(cat out)"
run "${toy[@]}" --steps 3 --quiet --profile
check "--quiet, and a profile that is asked for" 0 out "slowest : fastest" "$quiet"
grep -q examples/s out && lose "no progress" "none" "$(cat out)" || pass
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" "${toy[@]}" --steps 3 --quiet --profile --mesh x:2 --layout batch:x >out 2>err </dev/null
    [ "$(grep -c "^step 3 of 3   loss" out)" = 1 ] && [ "$(grep -c "^instruction" out)" = 1 ] && pass ||
        lose "--quiet on ranks" "once" "$(cat out err)"
fi
prints "plan of a built-in model" "hidden" plan mnist --mesh x:2 --layout hidden:x
prints "show of a built-in model" "w1: f32[rows=28, cols=28, hidden=1024] = variable" show mnist

# ---- evaluation ----------------------------------------------------------------------------------

run "${small[@]}" --steps 100 --checkpoint-dir seen
said=$(tail -n 1 out)
case $said in
"step 100 of 100   epoch 0."*"   test accuracy "*) pass ;;
*) lose "step and epoch of an evaluation" "step 100 of 100   epoch 0...   test accuracy" "$said" ;;
esac
prints "what was learned is kept" "step 100${said#step 100 of 100}" eval mnist --data-dir "$digits" --hidden 60 --checkpoint-dir seen
prints "on a mesh, as JSON" '{"step":100,"epoch":0.' eval mnist --data-dir "$digits" --hidden 60 --checkpoint-dir seen \
    --mesh x:3 --layout batch:x --json
refuses "another network"    '"w1"'                        eval mnist --data-dir "$digits" --hidden 61 --checkpoint-dir seen
refuses "no checkpoints"     '"nowhere"'                   eval mnist --data-dir "$digits" --checkpoint-dir nowhere
misused "eval without a folder" 'needs --checkpoint-dir'   eval mnist
refuses "nothing to evaluate on" 'toy has no data'         eval toy --checkpoint-dir nan

# Every example counts once, those that do not fill a batch as well: the mean of the squares of 1 to 55.
printf '%s\n' 'x: f32[batch=50] = input' 'w: f32[] = variable(init="zeros")' 'd = x - w' 'loss = reduce_mean(d * d)' \
    'hit: f32[batch] = cast(less(d, 12.0))' 'copies: f32[batch, tokens=3] = broadcast(hit)' \
    'turned: f32[tokens=3, batch] = transpose(copies)' 'none = 0.0 * loss' >mean.mtf
seq 55 >55.tsv
seq 100 >100.tsv
mean=(train mean.mtf --data x=100.tsv:part=0 --threads 1)
initial=(--steps 0 --eval-data x=55.tsv:part=0)
prints "55 examples in batches of 50" "test loss 1036" "${mean[@]}" "${initial[@]}" --checkpoint-dir initial
[ -d initial/step_00000000 ] && pass || lose "--steps 0" "initial/step_00000000" "$(ls initial)"
run "${mean[@]}" --steps 3 --checkpoint-dir initial --resume
check "going on from the initial weights" 0 out "resuming after step 0" "step 3 of 3"
prints "accuracy of 55 examples" "test accuracy 20.00 %   loss 1036" "${mean[@]}" "${initial[@]}" --checkpoint-dir hit --right hit
prints "accuracy of tokens" "test accuracy 20.00 %   loss 1036" "${mean[@]}" "${initial[@]}" --checkpoint-dir tokens --right copies
prints "on a mesh" "test accuracy 20.00 %   loss 1036" "${mean[@]}" "${initial[@]}" --checkpoint-dir mean_mesh --right copies --mesh x:3 --layout batch:x
prints "perplexity" "test loss 0   perplexity 1" "${mean[@]}" "${initial[@]}" --checkpoint-dir perplexity --loss none --perplexity
prints "perplexity as JSON, which has no infinity" '{"step":0,"epoch":0,"eval_loss":1036,"perplexity":"inf"}' \
    "${mean[@]}" "${initial[@]}" --checkpoint-dir json --perplexity --json
outside='has values outside 0 to 1, whose mean is no accuracy: it must be 1 where an example is right, and 0 where it is wrong'
refuses "a mean that is no accuracy" "--right d $outside" eval mean.mtf --checkpoint-dir hit --right d --eval-data x=55.tsv:part=0
seq 0 0.01 0.99 >shares.tsv
prints "shares of 1" "test accuracy 49.50 %" eval mean.mtf --checkpoint-dir hit --right d --eval-data x=shares.tsv:part=0
for type in bool i32; do
    sed "s/^hit: .*/hit: $type[batch] = cast(less(d, 12.0))/; s/^copies: f32/copies: $type/; s/^turned: f32/turned: $type/" mean.mtf >other.mtf
    prints "right as $type" "test accuracy 20.00 %" eval other.mtf --checkpoint-dir hit --right hit --eval-data x=55.tsv:part=0
done
{ seq 54; echo nan; } >nan.tsv
refuses "a share that is none" "--right d $outside" eval mean.mtf --checkpoint-dir hit --right d --eval-data x=nan.tsv:part=0
prints "a loss that is none, as JSON" '{"step":0,"epoch":0,"accuracy":0.2,"eval_loss":"nan"}' \
    eval mean.mtf --checkpoint-dir hit --right hit --json --eval-data x=nan.tsv:part=0
"$MTF" train - "${mean[@]:2}" --steps 2 --eval-data x=55.tsv:part=0 <mean.mtf >out 2>err
status=$?
check "a model from standard input" 0 out "step 2 of 2" "test loss"
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" "${mean[@]}" "${initial[@]}" --checkpoint-dir mean_ranks --right copies --mesh x:2 --layout batch:x >out 2>err </dev/null
    [ "$(grep -c "test accuracy 20.00 %   loss 1036" out)" = 1 ] && pass || lose "on ranks" "test accuracy 20.00 %   loss 1036, once" "$(cat out err)"
fi
if [ -z "$without_ranks" ]; then        # standard input is the first rank's alone
    "${launcher[@]}" -n 2 "$MTF" train - "${mean[@]:2}" --steps 2 --mesh x:2 --layout batch:x <mean.mtf >out 2>err
    status=$?
    check "a model from standard input, on ranks" 0 out "step 2 of 2"
fi
run "${mean[@]}" --epochs 6 --eval-every 2 --eval-data x=55.tsv:part=0 --right hit --events-dir mean_events --checkpoint-dir epochs
for at in ' 4 of 12   epoch 2' ' 8 of 12   epoch 4' '12 of 12   epoch 6'; do
    check "--eval-every" 0 out "step $at   test accuracy"
done
run "${mean[@]}" --epochs 6 --eval-steps 3 --eval-data x=55.tsv:part=0 --json
for at in '"step":3,"epoch":1.5' '"step":12,"epoch":6'; do check "--eval-steps as JSON" 0 out "{$at,\"eval_loss\":"; done
prints "the epoch of a checkpoint" "step 12   epoch 6   test loss" eval mean.mtf --checkpoint-dir epochs --eval-data x=55.tsv:part=0
sed 's/batch=50/batch=25/' mean.mtf >finer.mtf     # the epochs so far are those of batches of 50
run train finer.mtf --data x=100.tsv:part=0 --threads 1 --steps 14 --eval-data x=55.tsv:part=0 --checkpoint-dir epochs --resume-anyway
check "epochs with another batch size" 0 out "step 14 of 14   epoch 6.5   test loss"
for tag in accuracy loss; do
    grep -qa $tag mean_events/eval/events.out.tfevents.* && pass || lose "events of evaluation" $tag "$(ls mean_events/eval)"
done

# What the end of a run needs is looked at before its first step: else these would never end.
endless=("${mean[@]}" --steps 1000000000)
hopeless() {                            # hopeless NAME TEXT OPTION...: also on ranks, where it is said once
    refuses "$1" "$2" "${endless[@]}" "${@:3}"
    [ -n "$without_ranks" ] || { fast && [ $((hopeless++ % 4)) != 0 ]; } && return
    "${launcher[@]}" -n 2 "$MTF" "${endless[@]}" "${@:3}" --mesh x:2 --layout batch:x >out 2>err </dev/null
    [ "$(grep -cF -- "$2" err)" = 1 ] && pass || lose "$1, on ranks" "once: $2" "$(cat err)"
}
hopeless "no file to evaluate on"     '"absent.tsv"'                                    --eval-data x=absent.tsv:part=0
hopeless "no such input to evaluate"  'the model has no input "y"'                      --eval-data y=55.tsv:part=0
hopeless "examples of another shape"  '"55.tsv"'                                        --eval-data x=55.tsv:part=7
hopeless "no shape to be averaged"    '[batch] or [batch, ...]; "turned" is f32[tokens=3, batch=50]' --eval-data x=55.tsv:part=0 --right turned
hopeless "right of no example"        '--right loss takes a tensor that says of each example whether it is right' --eval-data x=55.tsv:part=0 --right loss
hopeless "no such tensor"             '"hot"'                                           --eval-data x=55.tsv:part=0 --right hot
hopeless "a trace nowhere"            '"nowhere/t.json" cannot be written'              --trace nowhere/t.json
hopeless "events nowhere"             '"/proc/events" cannot be made'                   --events-dir /proc/events
hopeless "checkpoints nowhere"        '"/proc/run" cannot be made'                      --checkpoint-dir /proc/run
refuses "evaluating without data"     '--eval-every needs data to evaluate on: name it with --eval-data' "${endless[@]}" --eval-every 1
refuses "right without data"          '--right needs data to evaluate on: name it with --eval-data' "${endless[@]}" --right hit
refuses "no steps, and no folder"     '--steps 0 saves the initial weights: say where, with --checkpoint-dir' "${mean[@]}" --steps 0

# ---- files that assign to variables --------------------------------------------------------------

seq 16 >ones.tsv
cat >running.mtf <<'END'
x: f32[batch=8] = input
w: f32[] = variable(init="zeros")
mean: f32[] = variable(init="zeros", trainable=false)
now = reduce_mean(x)
next = assign(mean, 0.5 * mean + 0.5 * now)
centre = where(training, now, mean)
loss = reduce_mean(square(x - centre - w - 1.0))
END
column=(--data x=ones.tsv:part=0) judged=(--eval-data x=ones.tsv:part=0)
run train running.mtf "${column[@]}" "${judged[@]}" --steps 30 --no-shuffle --optimizer sgd --rate 0.25 --checkpoint-dir running
check "a running mean does not keep the optimizer away" 0 out "step 30 of 30" "rate 0.25" "test loss"
[ ! -s err ] && pass || lose "nothing is to be said of it" "nothing" "$(cat err)"
# Batches have the means 4.5 and 12.5, so the running one ends at (4.5 + 2 * 12.5) / 3, and w at -1.
"$MTF" ckpt show running/step_00000030 mean >out 2>err
says "its last value" out "9.83333"
# Of 1 to 16 less that mean: a variance of 21.25 and the square of 8.5 - 9.8333.
prints "evaluation takes the running mean, and keeps it" "test loss 23.0278" eval running.mtf "${judged[@]}" --checkpoint-dir running
for value in next 'read(mean)'; do
    sed "s/^centre = .*/centre = $value/" running.mtf >taken.mtf
    run eval taken.mtf "${judged[@]}" --checkpoint-dir running
    check "a loss of the new value" 0 out "test loss 23.0278"
    says "which evaluation has not" err 'mtf: note: evaluation takes "mean" as it is, not the new value of taken.mtf:5'
done

awk '/^<!-- file: digits.mtf -->/ { on = 1; next } on && /^```/ { if (begun++) exit; next } on' "$root/docs/text.md" >own.mtf
own=(train own.mtf --data "images=$digits/t10k-images*:scale=0.0039" --data "labels=$digits/t10k-labels*" --threads 1)
unseen=(--eval-data "images=$digits/t10k-images*:scale=0.0039" --eval-data "labels=$digits/t10k-labels*")
line=$(grep -n '^new_w1 = ' own.mtf | cut -d : -f 1)
run "${own[@]}" "${unseen[@]}" --steps 100 --checkpoint-dir own
check "a file that trains itself is evaluated" 0 out "test loss"
says "it gets no optimizer" err "mtf: note: no optimizer added: own.mtf:$line assigns \"w1\" itself"
[ "$(wc -l <err)" = 1 ] && pass || lose "which is said once" "a line" "$(cat err)"
said=$(sed -n 's/.*   test //p' out)
awk -v loss="${said#loss }" 'BEGIN { exit !(loss > 0 && loss < 0.8) }' && pass || lose "it has learned" "less than 0.8" "$said"
prints "and again" "test $said" eval own.mtf "${unseen[@]}" --checkpoint-dir own --threads 1
run "${own[@]}" --steps 1 --quiet
[ $status = 0 ] && [ ! -s err ] && pass || lose "no note with --quiet" "nothing" "$(cat err)"
run "${own[@]}" --steps 2 --microbatches 2
check "its batch may come in parts" 0 out "step 2 of 2"
for option in '--optimizer adam' '--rate 0.1' '--clip-norm 1' '--average 0.9'; do
    misused "$option for a file that trains itself" \
        "${option% *} is for the optimizer that mtf adds, but own.mtf:$line assigns \"w1\" itself: leave out one of them" \
        "${own[@]}" --steps 1 $option
done
misused "a plan of such a step" '--rate is for the optimizer that mtf adds, but own.mtf' plan own.mtf --rate 0.1
sed 's/normal(0, 0.05)"/&, trainable=false/; s/"zeros"/&, trainable=false/' own.mtf >untrainable.mtf
run train untrainable.mtf "${own[@]:2}" --steps 2
check "no variable is trainable, but all are assigned" 0 err "no optimizer added: untrainable.mtf:$line assigns"

# ---- a trained file is run -----------------------------------------------------------------------

cat >plane.mtf <<'END'
x: f32[batch=4, in=2] = input
y: f32[batch=4] = input
w: f32[in=2] = variable(init="zeros")
c: f32[] = variable(init="zeros")
z: [batch] = einsum(x, w)
p = z + c
loss = reduce_mean(square(p - y))
END
printf '%s\n' 'x: f32[batch=4, in=2] = constant(data={3, 0, 0, 3, 3, 3, -1, 1})' >points.mtf
printf '%s\t%s\t%s\n' 0 0 1 1 0 3 0 1 2 1 1 4 >plane.tsv
"$MTF" run points.mtf --fetch x=points.npy
plane=(run plane.mtf --feed x=points.npy --fetch p)
run train plane.mtf --data x=plane.tsv:part=0,1 --data y=plane.tsv:part=2 --optimizer sgd --rate 0.3 --steps 400 --save-every 200 --checkpoint-dir plane
check "y = 2 a + b + 1" 0 out "step 400 of 400"
value() { tail -n 1 out | tr -d '[],'; }
near() {                                # near NAME NUMBER...: after a run that printed them
    if [ $status = 0 ] && awk -v want="${*:2}" -v got="$(value)" 'BEGIN { n = split(want, w, " "); m = split(got, g, " ")
        for (k = 1; k <= n; k++) if ((w[k] - g[k]) ^ 2 > 1e-6) exit 1; exit n != m }'; then pass
    else lose "$1" "${*:2}" "$(cat out err)"; fi
}
run "${plane[@]}"
near "initial weights" 0 0 0 0
run "${plane[@]}" --checkpoint-dir plane
near "trained weights" 7 4 10 0
run "${plane[@]}" --checkpoint-dir plane --step 200 --mesh x:3 --layout batch:x
near "those of a step, on a mesh" 7 4 10 0
run train plane.mtf --data x=plane.tsv:part=0,1 --data y=plane.tsv:part=2 --steps 0 --checkpoint-dir beginning
run "${plane[@]}" --checkpoint-dir beginning --step 0
near "those of step 0" 0 0 0 0
refuses "no checkpoint of the step" '"plane" has no checkpoint of step 300' "${plane[@]}" --checkpoint-dir plane --step 300
refuses "a checkpoint of another model" 'lacks variable "w"' "${plane[@]}" --checkpoint-dir own
refuses "nothing to load" '--checkpoint-dir: nothing that is fetched depends on a variable' run points.mtf --checkpoint-dir plane
misused "a step of no checkpoint" '--step names a checkpoint: add --checkpoint-dir DIR' "${plane[@]}" --step 200

# ---- words for mistakes --------------------------------------------------------------------------

misused "no model"           'mtf train needs NAME|FILE.mtf'    train
misused "unknown model"      'built-in models are mnist, mnist-conv, toy, unet' train mnits
for other in "text x.tsv" "eval-text x.tsv" "vocabulary bytes" "gin_skip_unknown"; do
    misused "${other% *} of no configuration" "--${other% *} is for a configuration, which --gin_file names; there is none" \
        train toy --steps 1 --${other}
done
run train toy --steps 1 --mesh data:2,model:2 --layout batch:data
check "an axis that no rule uses" 0 err 'mtf: note: no rule of the layout uses the axis "model": its 2 processors do the same work'
[ "$(grep -c note: err)" = 1 ] && pass || lose "a note for that axis alone, once" "1 line" "$(cat err)"
run train toy --steps 1 --mesh data:2,model:2 --layout batch:data --state-layout hidden_odd:model
[ $status -eq 0 ] && ! grep -q note: err && pass || lose "a rule for state uses it" "no note" "$(cat err)"
refuses "no data"            'absent/train-images-idx3-ubyte*"; --data-dir DIR names a folder with MNIST'            train mnist --data-dir absent
refuses "not its option"     'toy has no option --dropout'      train toy --dropout 0.1
# Numbers of micro-batches that would divide it are not all tried.
run train mnist --data-dir "$digits" --batch 99999999999 --steps 1
check "a batch beyond any memory" 1 err "mtf: memory: the program needs "
refuses "no number"          '--hidden takes a whole number, 1 or more, not "many"' train toy --hidden many
refuses "no type"            '--slice-type takes f32, bf16'      train toy --slice-type i32
refuses "no optimizer"       'not "adan"; did you mean "adam"?' train toy --optimizer adan
refuses "no schedule"        'fast'                             train toy --rate fast
misused "steps"              '--steps takes a whole number'     train toy --steps many
misused "unknown option"     'did you mean "--steps"'           train toy --stesp 3
refuses "epochs without data" '--epochs needs data'             train toy --epochs 2
refuses "no length"          'say how long to train, with --steps N' train net.mtf
refuses "keep without a folder" 'need --checkpoint-dir'         "${toy[@]}" --steps 1 --keep 2
refuses "init-only alone"    'are about --init-from'            "${toy[@]}" --steps 1 --init-only w
refuses "a bad field"        '--data takes NAME=FILES'          train net.mtf --data images --steps 1
refuses "a bad part of a field" 'there is no "colour="'          train net.mtf --data images=x:colour=red --steps 1
refuses "data for a built-in model" '--data is for model files'    train toy --data x=y --steps 1
refuses "an input without data" '"images"'                      train net.mtf --steps 1
refuses "a watch that sees nothing" 'no tensor'"'"'s name matches "zebra"' "${toy[@]}" --steps 1 --watch zebra
refuses "a watch that is not a pattern" 'pattern "("'              "${toy[@]}" --steps 1 --watch '('
refuses "a loss that is not there" '"los"'                      "${net[@]}" --steps 1 --loss los
refuses "a loss that is not a scalar" 'is not a scalar'            "${net[@]}" --steps 1 --loss logits

printf 'train: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
