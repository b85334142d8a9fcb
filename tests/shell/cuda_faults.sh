#!/bin/bash
# Tests how runs on GPUs end after failures: of kernels, of memory, of ranks.
#
# Every failure ends the whole run within seconds, with one sentence that says where it was.  Calls fail on
# purpose (MTF_HOST_CUDA_FAIL, tests/host_cuda/README.md), so the GPU is always the emulated one.
# Usage: MTF=path/to/mtf MPIRUN=path/to/mpirun tests/shell/cuda_faults.sh      default: build/mtf, its mpirun
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "cuda_faults.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
MTF_TEST_GPU= . "$root/tests/shell/cuda.bash"
finish() { echo "cuda_faults.sh: $passed passed, $failed failed"; [ $failed -eq 0 ]; exit; }
if [ -n "$without_gpus" ]; then
    echo "note: $without_gpus; no failure of a GPU was tested"
    finish
fi
export MTF_CACHE_DIR=$work/cache

# ---- how a case is told --------------------------------------------------------------------------

# fails NAME FAULT PATTERN ARGUMENT...: the run ends in time, with status 1 and one sentence; MTF_HOST_CUDA_FAIL=FAULT
fails() {
    local name="$1 ($2)" fault=$2 pattern=$3
    shift 3
    MTF_HOST_CUDA_FAIL=$fault timeout -k 5 60 "$MTF" "$@" >out 2>err </dev/null
    status=$?
    ended "$name" "$pattern"
}
ended() {                               # ended NAME PATTERN
    if [ $status -ne 1 ]; then lose "$1" "exit status 1" "$status: $(head -c 600 err)"
    elif [ "$(grep -c '^mtf: ' err)" -ne 1 ]; then lose "$1" "one sentence" "$(head -c 900 err)"
    elif ! grep -qE -- "^mtf: $2" err; then lose "$1" "mtf: $2" "$(head -c 600 err)"
    else pass; fi
}

cat >net.mtf <<'END'
x: f32[batch=6, in=8] = input
w: f32[in=8, hidden=4] = variable(init="constant(0.25)")
h: [batch, hidden] = einsum(x, w)
y = tanh(h)
s: [hidden] = reduce_sum(y)
k = cumsum(s, dim=hidden)
dw = gradients(reduce_sum(k); w)
nw = assign(w, w - 0.01 * dw)
END
printf 'x: f32[batch=6, in=8] = random_uniform\n' >make.mtf
"$MTF" run make.mtf --fetch x=x.npy
net=(run net.mtf --feed x=x.npy --fetch k --fetch nw --device cuda)
train=(train toy --batch 8 --steps 20 --quiet --device cuda)
two=(--mesh x:2 --layout batch:x)
named='"[a-z0-9_/]+"'

# ---- kernels -------------------------------------------------------------------------------------

refused='too many resources requested for launch \(701\)'
wild='an illegal memory access was encountered \(700\)'
"$MTF" "${net[@]}" --steps 1 >out 2>err || lose "nothing fails" "exit status 0" "$(cat err)"
# The first step says which tensor a kernel was to compute, whether it does not start or fails while it runs.
for n in 2 3 4; do
    fails "a kernel that does not start" launch:$n "device: the GPU could not compute $named: $refused" "${net[@]}"
    fails "a kernel that fails" kernel:$n "device: the GPU could not compute $named: $wild" "${net[@]}"
done
for n in 4 6 9; do
    fails "on two processors" launch:$n "device: processor x=[01]: the GPU could not (compute|add up) $named: $refused" "${net[@]}" "${two[@]}"
    fails "on two processors" kernel:$n "device: processor x=[01]: the GPU could not (compute|add up) $named: $wild" "${net[@]}" "${two[@]}"
done
# So does the second one, which is captured, of a kernel that does not start.
for n in 10 12; do
    fails "a kernel that is not captured" launch:$n "device: the GPU could not compute $named: $refused" "${net[@]}" --steps 3
done
# Later ones are queued or captured: what failed is known, not which of them.
late="a kernel failed: $wild; --device check:cuda says which tensor it computes"
fails "a later step" kernel:40 "device: $late" "${net[@]}" --steps 20
fails "a later step of two processors" kernel:80 "device: processor x=[01]: $late" "${net[@]}" "${two[@]}" --steps 20
fails "a checked step" kernel:60 "device: the GPU could not compute $named: $wild" "${net[@]/cuda/check:cuda}" --steps 20
# Steps of a training are captured, too.
fails "a captured step" replay:1 "device: the GPU could not replay a step: $refused" "${train[@]}"
fails "a captured step of two processors" replay:3 "device: processor x=0: the GPU could not replay a step: $refused" "${train[@]}" "${two[@]}"

# ---- memory --------------------------------------------------------------------------------------

full='GPU 0 \(the host as a GPU\) has [0-9]+ MiB of memory left, and [0-9]+ MiB are needed'
fails "a variable that does not fit" memory:3 "memory: $full for the variable \"w\"" "${net[@]}"
for n in 1 2 4 6; do fails "the program's memory does not fit" memory:$n "memory: $full$" "${net[@]}"; done
fails "a variable that does not fit" memory:6 "memory: processor x=1: $full for the variable \"w\"" "${net[@]}" "${two[@]}"
for n in 3 4 7 9; do fails "memory of two processors" memory:$n "memory: processor x=[01]: $full" "${net[@]}" "${two[@]}"; done
fails "pinned memory" pinned:1 "memory: the GPU could not pin memory of the host: out of memory \(2\)" "${net[@]}"
fails "pinned memory" pinned:2 "memory: processor x=1: the GPU could not pin memory" "${net[@]}" "${two[@]}"
export MTF_HOST_CUDA_MEMORY=20000
fails "too large a program" none:1 'memory: the program needs [0-9.]+ [kMG]?B of memory on GPU 0 \(the host as a GPU\), .* left of' "${net[@]}"
unset MTF_HOST_CUDA_MEMORY

# ---- ranks ---------------------------------------------------------------------------------------

. "$root/tests/shell/ranks.bash"
"$MTF" --version | grep -q NCCL || without_ranks="this build has no NCCL"
if [ -n "$without_ranks" ]; then
    echo "note: failures of ranks on GPUs were left out: $without_ranks"
    finish
fi
export MTF_HOST_CUDA_GPUS=4
ranks() {                               # ranks FAULT COMMAND...: the fault is rank 1's; leaves out, err, status
    timeout -k 5 60 "${launcher[@]}" -n 2 bash -c '
        rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
        echo $$ >"pid.$rank"
        [ $rank = 1 ] && export MTF_HOST_CUDA_FAIL='"$1"'
        exec "$@"' - "${@:2}" >out 2>err </dev/null
    status=$?
}
rank_fails() {                          # rank_fails NAME FAULT PATTERN ARGUMENT...
    ranks "$2" "$MTF" "${@:4}"
    ended "$1 ($2)" "$3"
}
rank_fails "a rank's kernel that does not start" launch:3 "device: rank 1, processor x=1: the GPU could not compute $named: $refused" "${net[@]}" "${two[@]}"
rank_fails "a rank's kernel that fails" kernel:3 "device: rank 1, processor x=1: the GPU could not compute $named: $wild" "${net[@]}" "${two[@]}"
rank_fails "a rank's kernel that fails late" kernel:30 "device: rank 1, processor x=1: $late" "${net[@]}" "${two[@]}" --steps 20
rank_fails "a rank's captured step" replay:2 "device: rank 1, processor x=1: the GPU could not replay a step: $refused" "${train[@]}" "${two[@]}"
rank_fails "a rank's memory" memory:1 'memory: rank 1, processor x=1: GPU 1 ' "${net[@]}" "${two[@]}"
rank_fails "a rank's variable that does not fit" memory:3 'memory: rank 1, processor x=1: GPU 1 .* for the variable "w"' "${net[@]}" "${two[@]}"
printf 'x: f32[a=4, b=6] = constant(data={%s})\ny: [b=4, c=6] = reshape(x)\n' "$(seq -s, 24)" >swap.mtf
rank_fails "a rank's messages that do not begin" group:1 'device: rank 1, processor x=1: NCCL could not begin to exchange parts: ' run swap.mtf --fetch y --device cuda --mesh x:2 --layout b:x

# A rank that is killed while it trains.
rm -f pid.* out
ranks none:1 "$MTF" train toy --batch 8 --steps 1000000 --json --device cuda "${two[@]}" &
started=$!
for _ in $(seq 300); do grep -qs '"step":20,' out && break; sleep 0.1; done
kill -KILL "$(cat pid.1)"
for _ in $(seq 300); do lives $started || break; sleep 0.1; done
if lives $started; then lose "a rank that is killed" "an end within 30 s" "the others wait"; fi
for rank in 0 1; do kill -KILL "$(cat pid.$rank)" 2>/dev/null; done
wait $started
if [ -n "$hasty_words" ] && grep -qE "$hasty_words" err; then pass
elif [ "$(grep -c 'mtf: lost: rank 1, processor x=1: its process was killed or crashed' err)" -eq 1 ]; then pass
else lose "a rank that is killed" "one sentence" "$(head -c 600 err)"; fi
finish
