#!/bin/bash
# Builds, runs every test of the device cuda on this machine's GPU, and sums up.
#
# Tests run side by side, as many as there are cores and as fit into the GPU's memory: most of their time
# is compiling kernels.  Those of cases, layers, optimizers, models and random programs are the programs of
# `make test`, on GPUs (MTF_TEST_DEVICE=cuda), and share their work among processes.
# Usage: tools/test_cuda.sh [preset]     default: release
#        MTF_TEST_ONLY=PATTERN           only tests whose names match, such as layers or 'cuda.*sh'
#        MTF_TEST_JOBS=n                 tests that run at a time; default: all cores
#        MTF_TEST_PROGRAMS=n             random programs; default 160
#        MTF_TEST_SEED=n                 the first of them; default 1
#        MTF_TEST_TIMEOUT=seconds        for each test; default 300
#        MTF_TEST_LIMIT=seconds          for all: what has not begun by then is left out; default 540
cd "$(dirname "$0")/.." || exit 2
preset=${1:-release}
case $preset in release) build=build ;; *) build=build-$preset ;; esac
[ -f "$build/build.ninja" ] || cmake --preset "$preset" >/dev/null || exit 1
mapfile -t kernels < <(grep '^test_cuda_' "$build/tests.txt" | grep -vx test_cuda_layouts)
if [ ${#kernels[@]} -eq 0 ]; then
    echo "this build has no CUDA; configure it with -DMTF_CUDA=ON"
    exit 1
fi
# Programs of `make test` whose sessions open the device that is asked for, the slowest first.
whole=(test_gradients test_gin_models test_sublayers test_schedule test_layer_rules test_minimize test_adam
    test_training test_initial test_serialize test_microbatch)
shared=(test_decode test_decode_rows test_transformer test_transformer_values test_published test_layers test_models
    test_optimizers test_random_programs)
cmake --build "$build" --target mtf test_cuda_layouts "${kernels[@]}" "${whole[@]}" "${shared[@]}" || exit 1

# ---- how many at a time --------------------------------------------------------------------------

jobs=${MTF_TEST_JOBS:-$(nproc)}
left=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits -i 0 2>/dev/null | head -n 1)
case $left in
    '' | *[!0-9]*) ;;
    *) most=$((left / 1536 + 1)) && [ $most -lt "$jobs" ] && jobs=$most ;; # MiB: a process with four processors
esac

# ---- one test ------------------------------------------------------------------------------------

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MTF=$PWD/$build/mtf MTF_TEST_GPU=real MTF_CACHE_DIR=$work/cache
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
limit=${MTF_TEST_LIMIT:-540}

run() {                                 # run NAME COMMAND...: leaves NAME.log and NAME.result
    local name=$1 log=$work/$1.log status begin=$SECONDS counted note="" room=${MTF_TEST_TIMEOUT:-300}
    timeout -k 5 "$room" "${@:2}" >"$log" 2>&1 </dev/null
    status=$?
    counted=$(awk '/^[^ ]+: [0-9]+ passed, [0-9]+ failed$/ { said = $2 " " $4 }
                   /^\[  PASSED  \] [0-9]+ test\(s\)/      { passed += $4; cmocka = 1 }
                   /^\[  FAILED  \] [0-9]+ test\(s\)/      { failed += $4; cmocka = 1 }
                   END { if (said) print said; else if (cmocka) print passed + 0, failed + 0 }' "$log")
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then note="ran out of time ($room s)"
    elif [ $status -gt 128 ]; then note="died of SIG$(kill -l $status)"
    elif [ -z "$counted" ]; then note="printed no count (exit status $status)"; fi
    [ -n "$counted" ] || counted="0 1"
    [ $status -ne 0 ] && [ "${counted#* }" = 0 ] && counted="${counted% *} 1"
    echo "$counted $note" >"$work/$name.result"
    [ -n "$note" ] || note=$(sed -n 's/^note: //p; s/^f32 within/f32 within/p' "$log" | head -n 1)
    # shellcheck disable=SC2086
    printf '%-28s %7d %7d %7d s  %s\n' "$name" $counted $((SECONDS - begin)) "$note"
}

names=() late=()
start() {                               # start NAME COMMAND...
    if [ -n "$MTF_TEST_ONLY" ] && ! [[ $1 =~ $MTF_TEST_ONLY ]]; then return; fi
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    if [ $SECONDS -ge "$limit" ]; then late+=("$1"); return; fi
    names+=("$1")
    run "$@" &
}
on_gpu() {                             # on_gpu NAME PROGRAM ARGUMENT...: a program of `make test`
    start "$1" env MTF_TEST_DEVICE=cuda "$build/tests/$2" "${@:3}"
}
in_shares() {                           # in_shares SHARES PROGRAM
    for ((k = 0; k < $1; k++)); do on_gpu "${2#test_}-$k" "$2" "$k/$1"; done
}

# ---- all of them, the longest first ----------------------------------------------------------------

SECONDS=0
printf '%-28s %7s %7s %9s   %d at a time\n' test passed failed seconds "$jobs"
for script in cuda_models cuda_ranks cuda; do start $script.sh tests/shell/$script.sh; done
start presets.sh env MTF_TEST_JOBS=$((jobs < 4 ? jobs : 4)) tests/shell/presets.sh
for name in "${kernels[@]}"; do start "$name" "$build/tests/$name"; done
for name in "${whole[@]}"; do on_gpu "$name-on-gpu" "$name"; done
in_shares $((3 * jobs)) test_cuda_layouts
in_shares $((2 * jobs)) test_layers
for name in test_decode test_decode_rows test_transformer test_transformer_values test_optimizers; do in_shares $jobs $name; done
in_shares 3 test_published
in_shares 16 test_models
programs=${MTF_TEST_PROGRAMS:-160} seed=${MTF_TEST_SEED:-1} each=5
for ((k = 0; k * each < programs; k++)); do
    on_gpu "random-$k" test_random_programs $((seed + k * each)) $each
done
wait

# ---- the sum -------------------------------------------------------------------------------------

all_passed=0 all_failed=0
for name in "${names[@]}"; do
    read -r passed failed note <"$work/$name.result"
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed))
    [ "$failed" -eq 0 ] && continue
    printf '\n---- %s failed%s\n' "$name" "${note:+: $note}"
    grep -v ': ok$\|^\[ *\(RUN\|OK\) *\]' "$work/$name.log" | tail -n 40
done
for what in f32 'f8 products'; do       # of all lines of harness_mesh.c the one with the farthest
    sed -n "s/^$what within \([0-9.e-]*\) of the largest element; \(.*\)/\1 \2/p" "$work"/*.log | sort -g | tail -n 1 |
        sed "s/^\([^ ]*\) /\n$what: within \1 of the largest element; /"
done
notes=$(sed -n 's/^note: //p' "$work"/*.log | sort -u)
[ -n "$notes" ] && printf '\nleft out:\n%s\n' "$notes"
[ ${#late[@]} -gt 0 ] && printf '\nleft out, because %d s were over: %s\n' "$limit" "${late[*]}"
command -v compute-sanitizer >/dev/null && echo "make sanitize-cuda runs some of it under compute-sanitizer"
printf '\n%d passed, %d failed, %d left out, in %d s\n' $all_passed $all_failed ${#late[@]} $SECONDS
[ $all_failed -eq 0 ] && [ ${#late[@]} -eq 0 ]
