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
[ -n "$without_ranks" ] && echo "only threads: $without_ranks"
kills=${KILLS:-10}
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
    if awk -v got="$got" 'BEGIN { split(got, g); exit !(g[1] == 200 && g[2] < 1e-4) }'; then pass
    else lose "$name" "200 steps, at most 1e-4 apart" "$got"; fi
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
curves=("$MTF" "${small[@]}" --steps 200 --json)
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
[ "$(losses alone | wc -l)" = 200 ] && pass || lose "a line for each step" 200 "$(wc -l <alone)"

# ---- resuming ------------------------------------------------------------------------------------

run "${net[@]}" --steps 60 --checkpoint-dir straight
check "a straight run" 0 out "step 60 of 60"
run "${net[@]}" --steps 25 --checkpoint-dir halves --save-every 10 --keep 2
check "a first part" 0 out "step 25 of 25"
run "${net[@]}" --steps 60 --checkpoint-dir halves --resume
check "the rest" 0 out "resuming behind step 25"
same "a resumed run is the straight one" straight halves
[ "$(echo halves/step_*)" = "halves/step_00000020 halves/step_00000025 halves/step_00000060" ] && pass ||
    lose "--keep 2" "the steps 20, 25 and 60" "$(echo halves/step_*)"
run "${net[@]}" --steps 25 --checkpoint-dir mesh --mesh x:2 --layout batch:x
run "${net[@]}" --steps 60 --checkpoint-dir mesh --mesh x:3 --layout hidden:x --resume
check "resuming on another mesh" 0 out "resuming behind step 25" "step 60 of 60"
run "${net[@]}" --steps 60 --checkpoint-dir mesh --resume
check "nothing is left to do" 0 out "resuming behind step 60"
refuses "a folder with checkpoints" 'has a checkpoint of step 60 already: resume from it, or name another' \
    "${net[@]}" --steps 60 --checkpoint-dir straight
refuses "another seed" 'was made with seed 0, so a run with seed 7 cannot go on from it' \
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

interrupted() {                         # interrupted NAME SIGNAL TARGET
    for _ in $(seq 100); do grep -q '"step":' out && break; sleep 0.05; done
    kill "-$2" "$3"
    wait $job
    status=$?
    check "$1" 0 err "stopped behind step"
}
env --default-signal=INT "$MTF" "${net[@]}" --steps 20000 --checkpoint-dir stopped --json >out 2>err </dev/null &
job=$!
interrupted "SIGINT saves and ends" INT $job
says "what was saved" err ", which was saved"
step=$(sed -n 's/.*behind step \([0-9]*\).*/\1/p' err)
[ -d "stopped/step_$(printf %08d "$step")" ] && pass || lose "its checkpoint" "stopped/step_$step" "$(ls stopped)"
[ "$(losses out | tail -n 1 | cut -d ' ' -f 1)" = "$step" ] && pass || lose "the last line" "$step" "$(tail -n 1 out)"
env --default-signal=INT "$MTF" "${net[@]}" --steps 20000 --json >out 2>err </dev/null &
job=$!
interrupted "SIGTERM ends as well" TERM $job
if [ -z "$without_ranks" ]; then
    rm -f pid.*
    "${launcher[@]}" -n 2 bash -c 'echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"; exec "$@"' - \
        env --default-signal=INT "$MTF" "${net[@]}" --steps 20000 --checkpoint-dir stopped2 --mesh x:2 --layout batch:x --json >out 2>err </dev/null &
    job=$!
    for _ in $(seq 100); do [ -s pid.1 ] && grep -q '"step":' out && break; sleep 0.05; done
    interrupted "one rank's signal stops all" INT "$(cat pid.1)"
fi

# ---- numbers that are none -----------------------------------------------------------------------

toy=(train toy --threads 1)
refuses "NaN on one processor" 'made the first NaN, in "trouble"' "${toy[@]}" --steps 30 --nan-step 17
says "which step" out "the loss is nan in step 18: replaying from step 0"
refuses "NaN behind a checkpoint, on a mesh" 'made the first NaN, in "trouble"' \
    "${toy[@]}" --steps 30 --nan-step 17 --mesh x:2 --layout batch:x --checkpoint-dir nan --save-every 5
says "from where" out "replaying from step 15"
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" "${toy[@]}" --steps 30 --nan-step 17 --mesh x:2 --layout batch:x >out 2>err </dev/null
    says "NaN on ranks" err 'made the first NaN, in "trouble"'
fi
refuses "a loss that grows beyond bounds" 'had become infinite before' "${toy[@]}" --steps 2000 --rate 1e4 --layers 2

# ---- what is shown -------------------------------------------------------------------------------

run "${toy[@]}" --steps 40 --mesh x:2 --layout batch:x --profile --trace trace.json --watch '^layer_1$' --watch-every 20 --events-dir events
check "all that can be shown" 0 out "step 40 of 40" "steps/s" "wire" "instruction" "slowest : fastest" "layer_1: mean" "nonfinite 0"
if command -v python3 >/dev/null; then
    python3 - <<'END' && pass || lose "a timeline" "two processors" "$(head -c 300 trace.json)"
import json
events = json.load(open("trace.json"))
turns = [e for e in events if e["ph"] == "X"]
assert {e["tid"] for e in turns} == {0, 1}
assert all(e["dur"] >= 0 for e in turns) and any(e["cat"] == "wire" for e in turns)
END
fi
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 3 "$MTF" "${toy[@]}" --steps 9 --mesh x:3,y:2 --layout batch:x --trace ranks.json >out 2>err </dev/null
    [ "$(grep -c thread_name ranks.json),$(tail -n 1 ranks.json)" = "6,]" ] && pass || lose "a timeline of ranks" "six processors" "$(head -c 600 err ranks.json)"
fi
ls events/events.out.tfevents.* >/dev/null 2>&1 && pass || lose "an event file" "events.out.tfevents.*" "$(ls events)"
"$MTF" "${toy[@]}" --steps 40 --json >plain_run
"$MTF" "${toy[@]}" --steps 40 --json --watch . --watch-every 7 >watched_run 2>/dev/null
cmp -s plain_run watched_run && pass || lose "watching changes nothing" "$(tail -n 1 plain_run)" "$(tail -n 1 watched_run)"
run "${toy[@]}" --steps 20 --master-type bf16 --activation-type bf16 --layers 3 --optimizer adafactor --rate '' --mesh x:2 --layout hidden_odd:x
check "other types, another optimizer" 0 out "step 20 of 20"
run "${toy[@]}" --steps 3 --quiet
[ $status = 0 ] && [ ! -s out ] && pass || lose "--quiet" "nothing" "$(cat out)"
prints "plan of a ready model" "hidden" plan mnist --mesh x:2 --layout hidden:x
prints "show of a ready model" "w1: f32[rows=28, cols=28, hidden=1024] = variable" show mnist

# ---- evaluation ----------------------------------------------------------------------------------

run "${small[@]}" --steps 100 --checkpoint-dir seen
said=$(tail -n 1 out)
prints "what was learned is kept" "step 100   $said" eval mnist --data-dir "$digits" --hidden 60 --checkpoint-dir seen
prints "on a mesh, as JSON" '{"step":100,"accuracy":0.' eval mnist --data-dir "$digits" --hidden 60 --checkpoint-dir seen \
    --mesh x:3 --layout batch:x --json
refuses "another network"    '"w1"'                        eval mnist --data-dir "$digits" --hidden 61 --checkpoint-dir seen
refuses "no checkpoints"     '"nowhere"'                   eval mnist --data-dir "$digits" --checkpoint-dir nowhere
misused "eval without a folder" 'needs --checkpoint-dir'   eval mnist
refuses "nothing to evaluate on" 'toy has no data'         eval toy --checkpoint-dir nan

# ---- words for mistakes --------------------------------------------------------------------------

misused "no model"           'mtf train needs NAME|FILE.mtf'    train
refuses "unknown model"      'ready models are mnist, mnist-conv, toy' train mnits
refuses "no data"            'absent/train-images'              train mnist --data-dir absent
refuses "not its option"     'toy has no option --dropout'      train toy --dropout 0.1
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
refuses "a bad part of a field" '--data takes NAME=FILES'       train net.mtf --data images=x:colour=red --steps 1
refuses "data for a ready model" '--data is for model files'    train toy --data x=y --steps 1
refuses "an input without data" '"images"'                      train net.mtf --steps 1
refuses "a watch that sees nothing" 'no tensor'"'"'s name matches "zebra"' "${toy[@]}" --steps 1 --watch zebra
refuses "a watch that is no pattern" 'pattern "("'              "${toy[@]}" --steps 1 --watch '('
refuses "a loss that is not there" '"los"'                      "${net[@]}" --steps 1 --loss los
refuses "a loss that is no scalar" 'is no scalar'               "${net[@]}" --steps 1 --loss logits
refuses "a trace that cannot be written" '"nowhere/t.json" cannot be written: No such file' "${toy[@]}" --steps 1000000000 --trace nowhere/t.json
refuses "events that cannot be written" 'cannot be made'        "${toy[@]}" --steps 1 --events-dir /proc/events

printf 'train: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
