#!/bin/bash
# Tests meshes over GPUs: ranks that NCCL connects, and several GPUs in one process.
#
# On an emulated GPU (tests/host_cuda), against one processor of the CPU.  With MTF_TEST_GPU=real on this
# machine's own GPUs, where ranks that share one get an NCCL_HOSTID each.
# Usage: MTF=path/to/mtf MPIRUN=path/to/mpirun tests/shell/cuda_ranks.sh      default: build/mtf, its mpirun
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "cuda_ranks.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
emulated=$(dirname "$MTF")/tests/host_cuda

case $("$MTF" --version) in
    *address* | *thread\)* | *undefined*) without_ranks="sanitizers do not follow the emulated GPU" ;;
    *NCCL*) ;;
    *) without_ranks="this build has no NCCL" ;;
esac
if [ -n "$without_ranks" ]; then
    echo "note: $without_ranks"
    printf 'cuda_ranks: 0 passed, 0 failed\n'
    exit 0
fi
if [ "$MTF_TEST_GPU" != real ]; then
    [ -e "$emulated/libnccl.so.2" ] || { echo "cuda_ranks.sh: no emulated GPU at $emulated"; exit 2; }
    export LD_LIBRARY_PATH=$emulated MTF_HOST_CUDA_GPUS=4
fi

# ---- how a case is told --------------------------------------------------------------------------

file() { printf '%s\n' "${@:2}" >"$1"; }    # file NAME LINE...

# On one real GPU every rank pretends to be a machine of its own.
as_rank='[ "$MTF_TEST_GPU" = real ] && export NCCL_SOCKET_IFNAME=lo NCCL_HOSTID=host$rank'
for_rank_1=                             # a setting of the second rank alone
ranks() {                               # ranks N COMMAND...: leaves out, err, status, took
    local begin n=$1
    begin=$(date +%s)
    timeout -k 5 200 "${launcher[@]}" -n "$n" bash -c '
        rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
        echo $$ >"pid.$rank"; '"$as_rank"'
        [ $rank = 1 ] && export '"$for_rank_1"'
        exec "$@"' - "${@:2}" >out 2>err </dev/null
    status=$?
    took=$(($(date +%s) - begin))
}

fails() {                               # fails NAME TEXT: after `ranks`; the text comes once
    if [ $status -eq 0 ] || [ $took -gt 20 ]; then
        lose "$1" "not 0, within 20 s" "$status after $took s: $(head -c 600 err)"
    elif [ "$(grep -cF -- "$2" err)" -ne 1 ]; then
        lose "$1" "once: $2" "$(head -c 900 err)"
    else
        pass
    fi
}

# close A B: two files of floats, to five digits of the largest.
close() {
    od -A n -v -t f4 -w4 -j 128 "$1" >a.txt && od -A n -v -t f4 -w4 -j 128 "$2" >b.txt &&
        paste a.txt b.txt | awk 'function abs(x) { return x < 0 ? -x : x }
            NF != 2 { wrong = 1 }
            { d = abs($1 - $2); if (d > far) far = d; if (abs($1) > most) most = abs($1); if ($1 ~ /nan/ && $2 !~ /nan/) wrong = 1 }
            END { exit wrong || NR == 0 || far > 1e-5 * (most > 0 ? most : 1) }'
}

# agrees RANKS MESH LAYOUT STATE: model.mtf with its fetches; RANKS 0: one process.
agrees() {
    local name="${fetches[*]} on $1 ranks, --mesh $2 --layout $3 --state-layout $4" f got=() want=()
    for f in "${fetches[@]}"; do got+=(--fetch "$f=$f.got.npy") want+=(--fetch "$f=$f.want.npy"); done
    rm -f ./*.got.npy ./*.want.npy
    "$MTF" run model.mtf --feed x=x.npy "${want[@]}" --steps 4 >out 2>err </dev/null ||
        { lose "$name" "a run on the CPU" "$(head -c 600 err)"; return; }
    set -- "$1" "$MTF" run model.mtf --feed x=x.npy "${got[@]}" --steps 4 --device cuda --mesh "$2" --layout "$3" --state-layout "$4"
    if [ "$1" = 0 ]; then "${@:2}" >out 2>err </dev/null; status=$?; else ranks "$@"; fi
    if [ $status -ne 0 ]; then lose "$name" "exit status 0" "$status: $(head -c 600 err)"; return; fi
    for f in "${fetches[@]}"; do
        if close "$f.want.npy" "$f.got.npy"; then pass
        else lose "$name" "$f as on the CPU: $(tr -d '\n' <a.txt | head -c 300)" "$(tr -d '\n' <b.txt | head -c 300)"; fi
    done
}

# ---- the same numbers as on one processor of the CPU ---------------------------------------------

file make.mtf 'x: f32[batch=7, in=6] = random_uniform'
"$MTF" run make.mtf --fetch x=x.npy

# All-reduces, reduce-scatters, gathers; steps that are captured and replayed.
file model.mtf 'x: f32[batch=7, in=6] = input' 'w: f32[in=6, hidden=9] = variable(init="constant(0.25)")' \
    'v: f32[hidden=9, out=5] = variable(init="constant(-0.5)")' 'h: [batch, hidden] = tanh(einsum(x, w))' \
    'y: [batch, out] = einsum(h, v)' 'dw, dv = gradients(reduce_sum(square(y)); w, v)' \
    'nw = assign(w, w - 0.01 * dw)' 'nv = assign(v, v - 0.01 * dv)'
fetches=(y nw nv)
agrees 2 x:2     hidden:x          ""
agrees 3 x:3     batch:x           hidden:x
agrees 4 x:2,y:2 batch:x,hidden:y  ""
agrees 4 x:2,y:2 batch:y+x         hidden:x+y
agrees 4 x:4     batch:x           in:x
agrees 0 x:2,y:2 batch:x,hidden:y  ""

# Sums of gradients run beside other work, as late or as early as streams may be.
file model.mtf 'x: f32[batch=7, in=6] = input' 'w: f32[in=6, hidden=700] = variable(init="uniform(-0.3, 0.3)")' \
    'v: f32[hidden=700, out=6] = variable(init="uniform(-0.3, 0.3)")' 'h: [batch, hidden] = tanh(einsum(x, w))' \
    'y: [batch, out] = tanh(einsum(h, v))' 'dw, dv = gradients(reduce_sum(square(y)); w, v)' \
    'nw = assign(w, w - 0.001 * dw)' 'nv = assign(v, v - 0.001 * dv)'
fetches=(y nw nv)
MTF_HOST_CUDA_LATE=all   agrees 3 x:3     batch:x          ""
MTF_HOST_CUDA_LATE=first agrees 2 x:2     batch:x          hidden:x

# Messages between pairs; maxima, of which a NaN is the largest; parts that lie scattered in memory.
file model.mtf 'x: f32[batch=7, in=6] = input' 'l = log(x - 0.2)' 'm: [in] = reduce_max(l)' 'k: [in] = reduce_min(x)' \
    's = shift(x, offset=2, dim=batch)' 't: f32[n=42] = reshape(x)' 'u = shift(t, offset=-1, dim=n)' \
    'c = cumsum(x, dim=batch)' 'z: [in] = reduce_sum(s * c)'
fetches=(m k s u z)
agrees 2 x:2     batch:x           ""
agrees 3 x:3     batch:x,n:x       ""
agrees 4 x:2,y:2 batch:y,in:x      ""
agrees 4 x:4     in:x,n:x          ""
agrees 0 x:3     batch:x,n:x       ""

# ---- planned and measured ------------------------------------------------------------------------

file net.mtf 'x: f32[batch=12, d=40] = random_normal' 'w: f32[d=40, hidden=130] = variable' \
    'h: [batch, hidden] = einsum(x, w)' 'm = reduce_max(h, over=(batch))' \
    'dw = gradients(reduce_sum(h * h); w)' 'nw = assign(w, w - dw)'
audited() {                             # audited RANKS MESH LAYOUT STATE
    ranks $1 "$MTF" run net.mtf --fetch nw=nw.npy --fetch m=m.npy --mesh $2 --layout $3 --state-layout "$4" --device cuda --analyze
    if [ $status -ne 0 ] || [ "$(grep -c ' equal$' out)" -ne 12 ] || grep -q DIFFERENT out; then
        lose "the plan of $1 ranks on GPUs, $2 as $3 $4" "twelve times equal" "$status: $(tail -n 12 out; cat err)"
    else pass; fi
}
audited 3 x:3     batch:x          d:x
audited 4 x:2,y:2 batch:x,hidden:y ""
audited 4 x:4     batch:x          d:x

# ---- what is refused, and how a run ends ---------------------------------------------------------

ranks 2 "$MTF" run make.mtf --mesh x:4 --layout batch:x --device cuda
fails "more processors than ranks" 'ranks on GPUs have one processor each, and 2 ranks were started for a mesh of 4 processors; start 4'

file long.mtf 'x: f32[n=12, k=10] = constant(value=0.5)' 'zero: f32[] = constant(value=0)' \
    'begun = print(zero, message="begun")' 'turned = loop(begun, trips=1000000000) {' '    body(p; i) {' \
    '        y = x + p * 0.0' '        rows: [n] = reduce_sum(y)' '        moved = shift(y, offset=2, dim=n)' \
    '        all = reduce_sum(rows) + reduce_sum(moved)' '        yield all * 0.0' '    }' '}'
long=("$MTF" run long.mtf --fetch turned --mesh x:3 --layout n:x --device cuda)
# A process whose GPU is busy may take a while to be gone after its launcher.
outlives() { for _ in $(seq 300); do lives "$1" || return 1; sleep 0.1; done; }
await_begin() { for _ in $(seq 600); do grep -qs begun err && return; sleep 0.1; done; }

rm -f pid.* out err
ranks 3 "${long[@]}" &
await_begin
kill -KILL "$(cat pid.1)"
begin=$(date +%s)
wait
took=$(($(date +%s) - begin)) status=1
if [ -n "$hasty_words" ] && grep -qE "$hasty_words" err; then pass
else fails "a killed rank" 'lost: rank 1, processor x=1: its process was killed or crashed; it exited without a message during a step on GPUs'; fi
for rank in 0 2; do outlives "$(cat pid.$rank)" && lose "a killed rank" "the end of rank $rank" "it lives"; done

file trained.mtf 'x: f32[batch=6, in=9] = random_uniform' 'w: f32[in=9, hidden=700] = variable(init="constant(0.01)")' \
    'v: f32[hidden=700, out=7] = variable(init="constant(-0.01)")' 'h: [batch, hidden] = tanh(einsum(x, w))' \
    'y: [batch, out] = einsum(h, v)' 'loss = reduce_mean(square(y - 1.0))'
rm -f pid.* out err                         # steps are captured by then, and sums run beside other work
ranks 3 "$MTF" train trained.mtf --steps 100000000 --json --mesh x:3 --layout batch:x --device cuda &
for _ in $(seq 600); do grep -qs '"step":9,' out && break; sleep 0.1; done
kill -KILL "$(cat pid.1)"
begin=$(date +%s)
wait
took=$(($(date +%s) - begin)) status=1
if [ -n "$hasty_words" ] && grep -qE "$hasty_words" err; then pass
else fails "a rank that is killed while steps are replayed" 'lost: rank 1, processor x=1: its process was killed or crashed'; fi
for rank in 0 2; do outlives "$(cat pid.$rank)" && lose "a killed rank of replayed steps" "the end of rank $rank" "it lives"; done

rm -f pid.* out err                         # it neither computes nor answers
ranks 3 "${long[@]}" --patience 2 &
await_begin
kill -STOP "$(cat pid.2)"
sleep 8
kill -KILL "$(cat pid.2)" 2>/dev/null
wait
took=0 status=1
fails "a rank that stands still" ': a step on GPUs waited 2 seconds for x=2 (--patience)'

if [ "$MTF_TEST_GPU" != real ]; then
    MTF_HOST_CUDA_GPUS=1 ranks 2 "$MTF" run net.mtf --fetch m --mesh x:2 --layout batch:x --device cuda
    fails "fewer GPUs than ranks" 'ranks 0 and 1 would share a GPU, and NCCL needs one for each rank'
    for_rank_1=MTF_HOST_CUDA_MEMORY=30000
    ranks 3 "$MTF" run net.mtf --fetch nw --mesh x:3 --layout batch:x --device cuda
    fails "a rank whose GPU is full" 'memory: rank 1, processor x=1: the program needs '
    for_rank_1=MTF_HOST_CUDA_GPUS=0
    ranks 3 "$MTF" run net.mtf --fetch nw --mesh x:3 --layout batch:x --device cuda
    fails "a rank without a GPU" 'usage: rank 1: the device cuda needs a GPU, and none is here'
    for_rank_1=
    MTF_HOST_CUDA_APART=1 run run net.mtf --fetch m --mesh x:2 --layout batch:x --device cuda
    check "GPUs that do not reach each other" 2 err 'GPU 1 (the host as a GPU) cannot reach the memory of GPU 0 (the host as a GPU)'
fi

printf 'cuda_ranks: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
