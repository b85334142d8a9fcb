#!/bin/bash
# Tests the command with --device cuda: training, checkpoints, plans, refusals.
#
# On machines without a GPU an emulated one, which is part of the build, runs a small part of it;
# with MTF_TEST_GPU=real the machine's own GPU runs everything.
# Usage: MTF=path/to/mtf tests/shell/cuda.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "cuda.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
finish() { echo "cuda.sh: $passed passed, $failed failed"; [ $failed -eq 0 ]; exit; }

. "$root/tests/shell/cuda.bash"
if [ "$without_gpus" = "this build has no CUDA" ]; then
    refuses "a build without CUDA" "was built without CUDA" train toy --steps 1 --device cuda
fi
if [ -n "$without_gpus" ]; then
    echo "note: $without_gpus; nothing ran with --device cuda"
    finish
fi
[ $real -eq 0 ] && echo "note: no GPU: runs took 10 steps instead of 100"
export MTF_CACHE_DIR=$work/cache
steps=10
[ $real -eq 1 ] && steps=100

# ---- training ------------------------------------------------------------------------------------

toy=(toy --batch 8)
both "linear layers" $steps "${toy[@]}"
cp on_cpu toy_losses
run train "${toy[@]}" --steps $steps --json --device cuda --mesh x:2 --layout batch:x
losses >on_mesh
near "linear layers on two processors" toy_losses on_mesh "$(wc -l <toy_losses)"

MTF_CACHE_DIR=$work/fresh run train "${toy[@]}" --steps 1 --device cuda
compiled=$(find fresh/kernels -type f | wc -l)
if [ "$compiled" -eq 2 ]; then pass
else lose "first values of all variables are compiled together" "2 files: these, and the step" "$compiled"; fi

# ---- convolutions by cuDNN -------------------------------------------------------------------------

# With what else changes a step: short types, scaled losses, parts of a batch, recomputed regions, meshes.
printf 'x: f32[n=32, h=12, w=12, c=8] = random_normal\n' >images.mtf
run run images.mtf --fetch x=images.npy
cat >convolutions.mtf <<'END'
x: f32[batch=8, h=12, w=12, c=8] = input
w1: f32[fh=3, fw=3, c=8, o=16] = variable(init="normal(0, 0.1)")
w2: f32[fh=3, fw=3, o=16, p=16] = variable(init="normal(0, 0.1)")
y = recompute(x) {
    body(q) {
        yield conv2d(relu(conv2d(q, w1)), w2)
    }
}
loss = reduce_mean(square(y - 1.0))
END
images=(convolutions.mtf --data x=images.npy --optimizer adam --rate 0.01)
export MTF_CUDNN=all
run show convolutions.mtf --optimizer adam --program --device cuda --dtype bf16
check "convolutions of small images by cuDNN" 0 out "cudnn forward" "cudnn input" "cudnn filter"
run show convolutions.mtf --optimizer adam --program --device cuda --tf32
check "convolutions of f32 with tf32 by cuDNN" 0 out "cudnn forward" "cudnn input" "cudnn filter"
both "convolutions in bf16" 6 "${images[@]}" --dtype bf16
both "convolutions in f16, in parts" 6 "${images[@]}" --dtype f16 --loss-scale dynamic --microbatches 2
run train "${images[@]}" --dtype f16 --loss-scale dynamic --microbatches 2 --steps 6 --json --device cuda \
    --mesh x:3 --layout o:x
losses >on_mesh
near "convolutions in f16, channels cut unevenly" on_cpu on_mesh 6
run train "${images[@]}" --steps 6 --json --threads 1
losses >on_cpu
run train "${images[@]}" --steps 6 --json --device cuda --tf32
losses >on_gpu
near "convolutions with tf32" on_cpu on_gpu 6 1e-2
unset MTF_CUDNN

# ---- checkpoints ---------------------------------------------------------------------------------

train() { run train "${toy[@]}" --json "$@"; }
half=$((steps / 2))
train --steps $half --checkpoint-dir from_cpu
train --steps $steps --checkpoint-dir from_cpu --resume --device cuda
losses >rest
tail -n "$(wc -l <rest)" toy_losses >late
near "a checkpoint of the CPU continues on a GPU" late rest "$(wc -l <rest)"
train --steps $half --checkpoint-dir from_gpu --device cuda
cp -r from_gpu again
train --steps $steps --checkpoint-dir from_gpu --resume
losses >rest
near "a checkpoint of a GPU continues on the CPU" late rest "$(wc -l <late)"
train --steps $steps --checkpoint-dir whole --device cuda
train --steps $steps --checkpoint-dir again --resume --device cuda
run ckpt diff whole again
check "a run that was resumed is the same, bit for bit" 0 out

# ---- the device check, plans -----------------------------------------------------------------------

train --steps 3 --device check:cuda
check "a checked training" 0 out '"step":3'
printf 'x: f32[a=4, b=6] = random_normal\ny = log(x - 100.0)\nz = reduce_sum(y)\n' >nan.mtf
refuses "the first NaN has a name" '"y"' run nan.mtf --fetch z --device check:cuda
printf '%s\n' 'x: f32[batch=12, d=20] = random_normal' 'w: f32[d=20, hidden=30] = variable' \
    'h: [batch, hidden] = einsum(x, w)' 'loss = reduce_sum(h * h)' 'dw = gradients(loss; w)' >net.mtf
audited() {                             # audited MESH LAYOUT
    run run net.mtf --fetch loss --fetch dw --analyze --json --device cuda --mesh "$1" --layout "$2" --steps 2
    if [ $status -eq 0 ] && python3 -c '
import json
a = json.load(open("out"))["analyze"]
keys = ("flops", "collectives", "sent_bytes", "peak_bytes", "scratch_bytes", "wire_bytes")
assert all(a["planned"].get(k) == a["measured"].get(k) for k in keys)' 2>why; then pass
    else lose "planned is measured on $1 as $2" "equal figures" "$(tail -n 1 why) $(head -c 1200 out err)"; fi
}
if command -v python3 >/dev/null 2>&1; then
    audited x:1 ''
    audited x:2 batch:x
    [ $real -eq 1 ] && audited x:2,y:2 batch:x,hidden:y
fi
LD_LIBRARY_PATH='' run plan net.mtf --device cuda --mesh x:2 --layout batch:x
check "a plan for a GPU needs none" 0 out "scratch"

# ---- refusals ------------------------------------------------------------------------------------

printf 'x: f32[a=100000, b=1000000] = random_normal\ny = reduce_sum(exp(x) * x)\n' >large.mtf
run run large.mtf --fetch y --device cuda --memory 1000G
check "more than the GPU has" 1 err "the program needs 400 GB of memory on GPU 0" "left of"
run run net.mtf --fetch loss --device cuda --memory 10K
check "more than is allowed" 1 err "but only 10240 are allowed (--memory)"
for value in yes NO none; do
    MTF_CUDNN=$value misused "MTF_CUDNN=$value" "MTF_CUDNN is \"$value\"; it must be no (" train toy --steps 1 --device cuda
    MTF_CUDNN=$value misused "MTF_CUDNN=$value, checked" "MTF_CUDNN is \"$value\"; it must be no (" train toy --steps 1 --device check:cuda
    MTF_CUDNN=$value misused "a plan with MTF_CUDNN=$value" "MTF_CUDNN is \"$value\"; it must be no (" plan net.mtf --device cuda
    MTF_CUDNN=$value misused "a GPU's plan with MTF_CUDNN=$value" "MTF_CUDNN is \"$value\"; it must be no (" plan net.mtf --machine h200
    MTF_CUDNN=$value misused "a program with MTF_CUDNN=$value" "MTF_CUDNN is \"$value\"; it must be no (" show net.mtf --program --device cuda
done
for value in '' no all; do
    MTF_CUDNN=$value run train toy --steps 1 --device cuda
    check "MTF_CUDNN=$value" 0 err
done
for value in net.mtf net.mtf/cache; do
    MTF_CACHE_DIR=$value misused "MTF_CACHE_DIR=$value" "MTF_CACHE_DIR is \"$value\", which is not a folder" train toy --steps 1 --device cuda
done
MTF_CACHE_DIR=$(printf '%2000s' | tr ' ' x) misused "a long MTF_CACHE_DIR" "MTF_CACHE_DIR has 2000 characters; it may have at most 960" \
    train toy --steps 1 --device cuda
MTF_CACHE_DIR=/proc/nowhere run train toy --steps 1 --device cuda
check "a cache that cannot be written" 0 err
if [ $real -eq 0 ]; then
    if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
        echo "note: this machine has a driver; what happens without one was left out"
    else
        LD_LIBRARY_PATH='' refuses "a machine without a driver" \
            "the device cuda needs NVIDIA's driver (libcuda.so.1)" train toy --steps 1 --device cuda
    fi
fi

finish
