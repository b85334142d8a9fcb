#!/bin/bash
# Runs tests of kernels and short trainings on a GPU under compute-sanitizer.
#
# memcheck finds accesses outside of memory, racecheck unordered accesses to shared memory.  Any error fails.
# Calls of the driver may fail: kernels are looked for in several modules.  racecheck sees only kernels of our
# own: those of NVIDIA's products order their accesses in ways that it does not know.
# Usage: tools/sanitize_cuda.sh [preset]     default: release
#        MTF_TEST_JOBS=n                     at a time; default: half of the cores
#        MTF_TEST_TIMEOUT=seconds            for each; default 400
cd "$(dirname "$0")/.." || exit 2
preset=${1:-release}
case $preset in release) build=build ;; *) build=build-$preset ;; esac
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer
if ! command -v compute-sanitizer >/dev/null; then
    echo "left out: there is no compute-sanitizer here; it is part of the CUDA toolkit"
    exit 1
fi
[ -f "$build/build.ninja" ] || cmake --preset "$preset" >/dev/null || exit 1
# Some run on emulated GPUs only, or compile without running; the cases are below.
others='test_cuda_(layouts|host|compile|prelude|calibrate|announce|choice|layers|memory)'
mapfile -t kernels < <(grep '^test_cuda_' "$build/tests.txt" | grep -vxE "$others")
if [ ${#kernels[@]} -eq 0 ]; then
    echo "this build has no CUDA; configure it with -DMTF_CUDA=ON"
    exit 1
fi
cmake --build "$build" --target mtf test_cuda_layouts "${kernels[@]}" test_layers test_models || exit 1
jobs=${MTF_TEST_JOBS:-$((($(nproc) + 1) / 2))}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MTF_TEST_GPU=real MTF_CACHE_DIR=$work/cache OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive

# run NAME TOOL COMMAND...: passes where the program does and the tool has nothing to say
run() {
    local name=$1 tool=$2 log=$work/$1.log status said begin=$SECONDS how=()
    case $tool in
        memcheck) how=(--report-api-errors no) ;;
        racecheck) how=(--racecheck-report all) ;;
    esac
    timeout -k 5 "${MTF_TEST_TIMEOUT:-400}" compute-sanitizer --tool "$tool" "${how[@]}" --error-exitcode 99 \
        --print-limit 20 --target-processes all "${@:3}" >"$log" 2>&1 </dev/null
    status=$?
    said=$(sed -n 's/^========= \(ERROR SUMMARY.*\|RACECHECK SUMMARY.*\)/\1/p' "$log" | grep -v ' 0 errors\| 0 hazards' | head -n 1)
    [ -n "$said" ] && [ $status -eq 0 ] && status=99
    [ $status -eq 124 ] && said="ran out of time"
    echo $status >"$work/$name.result"
    printf '%-36s %-10s %6d s  %s\n' "$name" "$([ $status -eq 0 ] && echo clean || echo FAILED)" $((SECONDS - begin)) "$said"
}
names=()
start() {                               # start TOOL NAME COMMAND...
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    names+=("$1-$2")
    run "$1-$2" "$1" "${@:3}" &
}

SECONDS=0
text=(train --gin_file lm_base --gin_param 'num_layers = 1' --gin_param 'd_model = 64' --gin_param 'd_ff = 128'
    --gin_param 'num_heads = 2' --gin_param 'd_kv = 64' --gin_param 'max_length = 64'
    --gin_param "run.sequence_length = {'targets': 64}" --gin_param "run.batch_size = ('sequences_per_batch', 2)"
    --text data/text/moby-dick.txt:documents=file:joined --optimizer adam --rate 0.01 --steps 4 --quiet --device cuda)
two=(--mesh x:2 --layout batch:x)
start memcheck  training            "$build/mtf" "${text[@]}"
start memcheck  training-on-two     "$build/mtf" "${text[@]}" "${two[@]}"
start memcheck  digits              "$build/mtf" train mnist --steps 4 --quiet --device cuda
for name in "${kernels[@]}"; do start memcheck "$name" "$build/tests/$name"; done
for name in test_cuda_fold test_cuda_scan test_cuda_order test_cuda_attention test_cuda_move; do
    [ -x "$build/tests/$name" ] && start racecheck "$name" "$build/tests/$name"
done
start memcheck  cases               "$build/tests/test_cuda_layouts" 0/40
start memcheck  layers              env MTF_TEST_DEVICE=cuda "$build/tests/test_layers" 0/20
start memcheck  models              env MTF_TEST_DEVICE=cuda "$build/tests/test_models" 0/16
wait

failed=0
for name in "${names[@]}"; do
    [ "$(cat "$work/$name.result")" = 0 ] && continue
    failed=$((failed + 1))
    printf '\n---- %s failed (exit status %s)\n' "$name" "$(cat "$work/$name.result")"
    grep -v ': ok$\|^\[ *\(RUN\|OK\) *\]' "$work/$name.log" | tail -n 40
done
printf '\nsanitize_cuda: %d passed, %d failed, in %d s\n' $((${#names[@]} - failed)) $failed $SECONDS
[ $failed -eq 0 ]
