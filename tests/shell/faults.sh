#!/bin/bash
# Tests how a run ends when a processor fails: killed, with an error of its own, or stalled.
#
# Each time everything must stop within ten seconds, with an exit status that is not 0, one sentence
# that names the processor and the reason, and no process left over.  Meshes, victims and moments are
# drawn from a seed, which is printed.
# Usage: FAULT_REPEATS=50 FAULT_SEED=1 tests/shell/faults.sh      default: 50 of each kind, a new seed
#        FAULT_JOBS: how many at a time, default 4: most of them only wait
#        MTF, MPIRUN: as in mpi.sh
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "faults.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'for p in $(marked "[0-9]+-$$"); do kill -KILL "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
[ -n "$without_ranks" ] && echo "only threads: $without_ranks"
apart=yes                               # can ranks have host names of their own?
unshare --uts hostname one-of-several 2>/dev/null || { apart=""; echo "all on one host: no unshare --uts here"; }
repeats=${FAULT_REPEATS:-50} seed=${FAULT_SEED:-$(($(date +%s) % 100000))} jobs=${FAULT_JOBS:-4}
echo "seed $seed, $repeats of each kind"

# ---- the stage -----------------------------------------------------------------------------------

# Ranks and mesh; what the processors are called, those of one rank joined by a bar.
stages=(
    '2 x:2      x=0 x=1'
    '3 x:3      x=0 x=1 x=2'
    '2 x:2,y:2  x=0,y=0|x=0,y=1 x=1,y=0|x=1,y=1'
    '3 x:3,y:2  x=0,y=0|x=0,y=1 x=1,y=0|x=1,y=1 x=2,y=0|x=2,y=1'
    '4 x:2,y:2  x=0,y=0 x=0,y=1 x=1,y=0 x=1,y=1'
)

# Collectives of both kinds along both axes, without end, and a word when it has begun.
cat >long.mtf <<'END'
x: f32[n=12, k=10] = random_uniform
zero: f32[] = constant(value=0)
begun = print(zero, message="begun")
turned = loop(begun, trips=1000000000) {
    body(p; i) {
        y = x + p * 0.0
        rows: [n] = reduce_sum(y)
        cols: [k] = reduce_sum(y)
        moved = shift(y, offset=2, dim=n)
        all = reduce_sum(rows) + reduce_sum(cols) + reduce_sum(moved)
        yield all * 0.0
    }
}
END

# is_over MARK: has everything ended that was started with this mark in its environment?
marked() { grep -lazE "^FAULT_MARK=$1\$" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3; }
is_over() {
    local process
    for process in $(marked "$1"); do lives "$process" && return 1; done
    return 0
}

# begin COMMAND...: as $ranks ranks, or as threads where that is 0; each rank notes its process.  In a
# session of its own: a launcher ends the group of processes that a rank is in, and a rank that has
# just begun is still in the launcher's.  $hosts: on so many machines, as far as host names tell.
begin() {
    local start=() mark
    mark=$(basename "$PWD")-$$
    [ "$ranks" -gt 0 ] && start=("${launcher[@]}" -n "$ranks")
    FAULT_MARK=$mark FAULT_HOSTS=${hosts:-0} setsid "${start[@]}" bash -c '
        rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
        echo $$ >"pid.$rank"
        [ "$FAULT_HOSTS" = 0 ] && exec "$@"
        exec unshare --uts sh -c "hostname host$((rank % FAULT_HOSTS)) && exec \"\$@\"" - "$@"' - \
        "$@" >out 2>err </dev/null &
    job=$!
}

# finish: leaves status, took (in tenths of a second) and left, who outlived the job by a second
finish() {
    local begun mark process
    mark=$(basename "$PWD")-$$
    begun=$(date +%s%N)
    while lives $job && [ $((($(date +%s%N) - begun) / 1000000)) -lt 10000 ]; do sleep 0.05; done
    took=$((($(date +%s%N) - begun) / 100000000))
    lives $job && kill -KILL $job
    wait $job
    status=$?
    for _ in 1 2 3 4 5 6 7 8 9 10; do is_over "$mark" && break; sleep 0.1; done
    left=$(marked "$mark" | tr '\n' ' ')
    for process in $left; do kill -KILL "$process" 2>/dev/null; done
}

# says_once PATTERN: not only where a line begins, for a launcher may put it behind a part of a stack trace.
says_once() { [ "$(grep -c 'mtf: ' err)" -eq 1 ] && grep -qE "mtf: $1" err; }
launcher_says() { [ -n "$1" ] && ! grep -q '^mtf: ' err && grep -qE "$1" out err; } # launcher_says PATTERN

# verdict NAME PATTERN [LAUNCHER-PATTERN]: after finish
verdict() {
    local problem=""
    if [ $status -eq 0 ]; then problem="exit status 0"
    elif [ $took -ge 100 ]; then problem="not over after 10 s"
    elif [ -n "$left" ]; then problem="left over: $left"
    elif ! says_once "$2" && ! launcher_says "$3"; then problem="other words"
    fi
    if [ -z "$problem" ]; then echo pass >verdict
    else printf '%s\n%s\n%s\n' "$1" "status not 0, 10 s at most, none left, once: mtf: $2" \
        "$problem; status $status after $took tenths: $(grep '^mtf: ' err | head -n 3; head -c 900 err)" >verdict; fi
}

# ---- the three kinds -----------------------------------------------------------------------------

draw_stage() {                          # leaves ranks, mesh, names (by rank), victim, its (a pattern)
    read -r ranks mesh names <<<"${stages[RANDOM % ${#stages[@]}]}"
    read -ra names <<<"$names"
    victim=$((RANDOM % ranks))
    its=${names[victim]}
}

begin_long() {                          # begin_long OPTION...: and waits for a moment that is drawn
    begin "$MTF" run long.mtf --mesh "$mesh" --layout 'n:x,k:y?' --threads 1 "$@"
    for _ in $(seq 400); do grep -q begun err && break; sleep 0.05; done
    sleep 0.$(printf %03d $((RANDOM % 300)))
}

a_kill() {
    local signal=KILL where=""
    draw_stage
    [ -n "$hosts" ] && where=", $hosts hosts"
    [ $((RANDOM % 2)) = 0 ] && signal=SEGV
    cp ../long.mtf .
    begin_long
    kill -$signal "$(cat "pid.$victim")"
    finish
    verdict "rank $victim of $ranks, mesh $mesh$where: SIG$signal" \
        "lost: rank $victim, processors? ($its)( and ($its))*: its process was killed or crashed; it exited without a message during [a-z_]+ of \"" \
        "$hasty_words"
}

# Each rank alone on its machine, or nearly: nobody there sees it end.
a_lone_kill() {
    local hosts=$((2 + RANDOM % 3))
    a_kill
}

a_stall() {
    draw_stage
    cp ../long.mtf .
    begin_long --patience 1
    kill -STOP "$(cat "pid.$victim")"
    finish
    verdict "rank $victim of $ranks, mesh $mesh: SIGSTOP" \
        "late: processor [^:]*: [a-z_]+ of \"[^\"]*\" waited 1 seconds for ($its)( and ($its))* \\(--patience\\)\$"
}

# In training a rank lives on for a moment when the launcher wakes and ends it: it must not speak of the rank
# that has spoken of it.  On one host or several.
a_stalled_training() {
    ranks=$((2 + RANDOM % 3))
    victim=$((RANDOM % ranks))
    export MTF_HOSTS=$((1 + RANDOM % ranks))
    begin "$MTF" train toy --mesh x:$ranks --layout batch:x --threads 1 --steps 1000000000 --patience 1
    for _ in $(seq 400); do grep -q '^step' out && break; sleep 0.05; done
    sleep 0.$(printf %03d $((RANDOM % 300)))
    kill -STOP "$(cat "pid.$victim")"
    finish
    verdict "training, rank $victim of $ranks on $MTF_HOSTS hosts: SIGSTOP" \
        "late: .* waited 1 seconds for (x=$victim|rank $victim) \\(--patience\\)\$"
}

# The check device meets a NaN in one processor's part, or in two, after a number of steps.
an_error() {
    local elements=12 processors all first second step data=() k
    draw_stage
    if [ -n "$without_ranks" ] || [ $((RANDOM % 3)) = 0 ]; then ranks=0; fi
    IFS='| ' read -ra all <<<"${names[*]}"
    processors=${#all[@]}
    first=$((RANDOM % elements)) second=$first step=$((RANDOM % 200 + 2))
    [ $((RANDOM % 3)) = 0 ] && second=$((RANDOM % elements))
    for ((k = 0; k < elements; k++)); do
        if [ $k = $first ] || [ $k = $second ]; then data+=("$step,"); else data+=(1e6,); fi
    done
    printf '%s\n' "x: f32[n=$elements] = constant(data={${data[*]%,}})" \
        'runs: f32[] = variable(init="zeros")' 'now = assign(runs, runs + 1.0)' 'l = log(x - now)' \
        's = reduce_sum(l)' | sed 's/\([0-9]\) /\1, /g' >nan.mtf
    its="${all[(first + 1) * processors / elements - ((first + 1) * processors % elements == 0)]}"
    its="$its|${all[(second + 1) * processors / elements - ((second + 1) * processors % elements == 0)]}"
    begin "$MTF" run nan.mtf --mesh "$mesh" --layout "n:$(sed 's/:[0-9]*//g; s/,/+/' <<<"$mesh")" --threads 1 \
        --device check --steps 1000000
    finish
    verdict "NaN in element $first and $second at step $step, $ranks ranks, mesh $mesh" \
        "value: processor ($its): instruction [0-9]+ \\(map\\) made the first NaN, in \"l\""
}

# One rank may not take the memory that its part needs.
a_refusal() {
    draw_stage
    cp ../long.mtf .
    begin bash -c 'if [ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = '$victim' ]; then set -- "$@" --memory 100; fi; exec "$@"' - \
        "$MTF" run long.mtf --mesh "$mesh" --layout 'n:x,k:y?' --threads 1
    finish
    verdict "memory refused to rank $victim of $ranks, mesh $mesh" "memory: .*the program needs [0-9]+ bytes"
}

# ---- all of them ---------------------------------------------------------------------------------

count=0
one() {                                 # one KIND: in a folder and a shell of its own
    count=$((count + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    mkdir "$count"
    (cd "$count" && RANDOM=$((seed + 7919 * count)) && "$1") 2>/dev/null &
}

for ((i = 0; i < repeats; i++)); do
    if [ -n "$without_ranks" ]; then one an_error; continue; fi
    one a_kill
    [ -n "$apart" ] && one a_lone_kill
    one a_stall
    one a_stalled_training
    if [ $((i % 5)) = 4 ]; then one a_refusal; else one an_error; fi
done
wait

for ((i = 1; i <= count; i++)); do
    if [ "$(cat $i/verdict 2>/dev/null)" = pass ]; then pass; continue; fi
    { read -r name; read -r expected; got=$(cat); } < <(cat $i/verdict 2>/dev/null || echo "run $i gave no verdict")
    lose "$name" "$expected" "$got"
done
printf 'faults: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
