#!/bin/bash
# Tests that tests of layers, optimizers, models and random programs run on GPUs.
#
# The programs are those of `make test`; MTF_TEST_DEVICE=cuda lets them open GPUs.  Here a sample of them runs
# on the emulated GPU; `make test-cuda` runs them all on a real one.
# Usage: MTF=path/to/mtf tests/shell/cuda_tests.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "cuda_tests.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/tests/shell/cases.bash"
MTF_TEST_GPU= . "$root/tests/shell/cuda.bash"
finish() { echo "cuda_tests.sh: $passed passed, $failed failed"; [ $failed -eq 0 ]; exit; }
if [ -n "$without_gpus" ]; then
    echo "note: $without_gpus; tests of layers, optimizers, models and random programs ran on the CPU only"
    finish
fi
echo "note: no GPU: tests of layers, optimizers, models and random programs ran in samples on an emulated one"
export MTF_TEST_DEVICE=cuda MTF_CACHE_DIR=$work/cache

sample() {                              # sample PROGRAM ARGUMENT...: it passes, and compares something
    local log=$work/log
    timeout -k 5 300 "$(dirname "$MTF")/tests/$1" "${@:2}" >"$log" 2>&1
    status=$?
    if [ $status -eq 0 ] && grep -qE ': [1-9][0-9]* passed, 0 failed$|\[  PASSED  \] [1-9]' "$log"; then pass
    else lose "$*" "all passed" "$status: $(tail -n 20 "$log")"; fi
}
sample test_layers 7/60
sample test_models 0/16
sample test_optimizers 5/120
sample test_random_programs 11 1
sample test_adam
# Without a GPU to be found they must fail: so they did not run on the CPU.
LD_LIBRARY_PATH='' MTF_TEST_DEVICE=cuda "$(dirname "$MTF")/tests/test_adam" >"$work/log" 2>&1
if [ $? -ne 0 ] || ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then pass
else lose "test_adam without a GPU" "a failure" "$(tail -n 3 "$work/log")"; fi
finish
