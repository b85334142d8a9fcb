#!/bin/bash
# Builds, runs every test of the device cuda on this machine's card, and sums up.
#
# Tests run side by side: most of their time is compiling kernels and opening the card.
# Usage: tools/test_cuda.sh [preset]     default: release
#        MTF_TEST_JOBS=n                 tests that run at a time; default: all cores
#        MTF_TEST_SHARES=n               processes that share the cases; default: 2 for each job
#        MTF_TEST_TAKEN=n                how many of these run; default: all; fewer take less time
#        MTF_TEST_TIMEOUT=seconds        for each test; default 600
cd "$(dirname "$0")/.." || exit 2
preset=${1:-release}
case $preset in release) build=build ;; *) build=build-$preset ;; esac
jobs=${MTF_TEST_JOBS:-$(nproc)}
shares=${MTF_TEST_SHARES:-$((2 * jobs))}
[ -f "$build/build.ninja" ] || cmake --preset "$preset" >/dev/null || exit 1
mapfile -t tests < <(grep '^test_cuda_' "$build/tests.txt" | grep -vx test_cuda_layouts)
if [ ${#tests[@]} -eq 0 ]; then
    echo "this build has no CUDA; configure it with -DMTF_CUDA=ON"
    exit 1
fi
cmake --build "$build" --target mtf test_cuda_layouts "${tests[@]}" || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MTF=$PWD/$build/mtf MTF_TEST_CARD=real MTF_CACHE_DIR=$work/cache
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive

run() {                                 # run NAME COMMAND...: leaves NAME.log and NAME.result
    local name=$1 log=$work/$1.log status begin counted
    begin=$(date +%s.%N)
    timeout -k 5 "${MTF_TEST_TIMEOUT:-600}" "${@:2}" >"$log" 2>&1 </dev/null
    status=$?
    counted=$(awk '/^[^ ]+: [0-9]+ passed, [0-9]+ failed$/ { said = $2 " " $4 }
                   /^\[  PASSED  \] [0-9]+ test\(s\)/      { passed += $4; cmocka = 1 }
                   /^\[  FAILED  \] [0-9]+ test\(s\)/      { failed += $4; cmocka = 1 }
                   END { if (said) print said; else if (cmocka) print passed + 0, failed + 0 }' "$log")
    [ -n "$counted" ] || counted="0 1"
    [ $status -ne 0 ] && [ "${counted#* }" = 0 ] && counted="${counted% *} 1"
    echo "$counted $status" >"$work/$name.result"
    printf '%-28s %7s %7s %8.1f s\n' "$name" ${counted} \
        "$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')"
}

names=()
start() {
    names+=("$1")
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run "$@" &
}

printf '%-28s %7s %7s\n' test passed failed
start cuda.sh tests/shell/cuda.sh
for ((k = 0; k < shares && k < ${MTF_TEST_TAKEN:-shares}; k++)); do
    start "layouts-$k" "$build/tests/test_cuda_layouts" "$k/$shares"
done
for name in "${tests[@]}"; do start "$name" "$build/tests/$name"; done
wait

all_passed=0 all_failed=0
for name in "${names[@]}"; do
    read -r passed failed status <"$work/$name.result"
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed))
    [ "$failed" -eq 0 ] && continue
    printf '\n---- %s failed (exit status %s)\n' "$name" "$status"
    grep -v ': ok$' "$work/$name.log" | tail -n 40
done
printf '\n%d passed, %d failed\n' $all_passed $all_failed
[ $all_failed -eq 0 ]
