#!/bin/bash
# Builds one preset, runs tests in it, and sums up.
#
# A test prints its result in a last line `NAME: N passed, N failed`, or in cmocka's format.
# One that crashes, runs out of time or prints no result counts as one failure.  A line `note: TEXT` says
# what could not be checked on this machine, and is printed.
# Usage: tools/test.sh [preset] [fast|all|rest] [NAME...]    default: release, fast, every test
#        fast: what tests/speeds does not leave out; all: everything; rest: what fast leaves out or takes a sample of
#        MTF_TEST_TIMEOUT=seconds     for each test; default 600, and 900 under a sanitizer
#        MTF_TEST_JOBS=n              tests that run at a time; default 3, for two processors: some wait half of the time
#        MTF_TEST_WITHOUT="NAME..."   tests that are left out
cd "$(dirname "$0")/.." || exit 2
preset=${1:-release} how=${2:-fast} only=" ${*:3} "
case $how in fast | all | rest) ;; *) echo "test.sh: \"$how\" must be fast, all or rest" >&2; exit 2 ;; esac
case $preset in release) build=build ;; *) build=build-$preset ;; esac
case $preset in asan | tsan) limit=${MTF_TEST_TIMEOUT:-900} ;; *) limit=${MTF_TEST_TIMEOUT:-600} ;; esac

# ---- what is run, and what must be built for it --------------------------------------------------

speed_of() { awk -v name="$1" '$1 == name { print $2 }' tests/speeds; }    # left, sample, or nothing
wanted() {                              # wanted NAME
    [ "$only" = "  " ] || [[ $only == *" $1 "* ]] || return 1
    [[ " $MTF_TEST_WITHOUT " != *" $1 "* ]] || return 1
    case $how,$(speed_of "$1") in fast,left | rest,) return 1 ;; esac
}
# A sample that is not listed would be whole nowhere.
for file in $(grep -lE 'asked_(much|takes)\(' tests/*/test_*.c) $(grep -lE '"\$MTF_TEST" !?= fast' tests/shell/*.sh); do
    name=${file##*/}
    [ -n "$(speed_of "${name%.c}")" ] || { echo "test.sh: $file takes a sample, but is not in tests/speeds" >&2; exit 2; }
done
targets=(all)
[ "$how" = fast ] && targets=(tests)                                       # without the programs of what is left
if [ "$only" != "  " ]; then
    scripts_need=${targets[0]} targets=()
    for name in $only; do case $name in test_*) targets+=("$name") ;; *.sh) targets+=("$scripts_need") ;; *) targets+=(mtf) ;; esac; done
fi

[ -f "$build/build.ninja" ] || cmake --preset "$preset" >/dev/null || exit 1
cmake --build "$build" --target "${targets[@]}" || exit 1
if [ "$how" = fast ]; then export MTF_TEST=fast; else export MTF_TEST=all; fi

# Files of tests, and of launchers of ranks, lie in memory where that has room: some disks take longer to remove them
# than a test may wait.
room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
[ -z "$TMPDIR" ] && [ -w /dev/shm ] && [ "${room:-0}" -gt $((6 << 20)) ] && export TMPDIR=/dev/shm

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MTF=$PWD/$build/mtf
export OMP_WAIT_POLICY=passive          # tests run side by side: waiting threads must not spin
export MTF_NO_MEASURE=1                 # an emulated GPU measures nothing worth the time; test_cuda_choice does
export LSAN_OPTIONS=suppressions=$PWD/tests/leaks.txt:print_suppressions=0

# On arm64 the leak check takes four seconds of every process: too much for scripts that start many.
few_leaks=()
[ "$(uname -m)" = aarch64 ] && few_leaks=(ASAN_OPTIONS=detect_leaks=0)

# ---- one test ------------------------------------------------------------------------------------

run() {                                 # run KIND NAME COMMAND...: leaves NAME.log and NAME.result
    local kind=$1 name=$2 log=$work/$2.log status passed="" failed="" note="" real user system
    local TIMEFORMAT='%R %U %S'
    { time timeout -k 5 "$limit" "${@:3}" >"$log" 2>&1 </dev/null; } 2>"$work/$name.time"
    status=$?
    read -r real user system < <(tail -n 1 "$work/$name.time")
    case $kind in
        check) passed=$((status == 0)) failed=$((status != 0)) ;;
        *) read -r passed failed < <(count "$log") ;;
    esac
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        note="ran out of time ($limit s)"
    elif [ $status -gt 128 ]; then
        note="died of SIG$(kill -l $status)"
    elif [ -z "$passed" ]; then
        note="printed no count (exit status $status)"
    elif [ $status -ne 0 ] && [ "$failed" -eq 0 ]; then
        note="exit status $status, though nothing failed by its own count"
    fi
    if [ -n "$note" ] && [ "${failed:-0}" -eq 0 ]; then failed=1; fi
    echo "${passed:-0} ${failed:-0} $note" >"$work/$name.result"
    [ -n "$note" ] || note=$(sed -n 's/^note: //p' "$log" | head -n 1)
    printf '%-32s %8d %8d %9.1f %9.1f  %s\n' "$name" "${passed:-0}" "${failed:-0}" "$real" \
        "$(awk -v u="$user" -v s="$system" 'BEGIN { print u + s }')" "$note"
}

count() {                               # count LOG: "passed failed", or nothing
    awk '/^[^ ]+: [0-9]+ passed, [0-9]+ failed$/ { said = $2 " " $4 }
         /^\[  PASSED  \] [0-9]+ test\(s\)/      { passed += $4; cmocka = 1 }
         /^\[  FAILED  \] [0-9]+ test\(s\)/      { failed += $4; cmocka = 1 }
         END { if (said) print said; else if (cmocka) print passed + 0, failed + 0 }' "$1"
}

same_output() {                         # same_output EXAMPLE: its output is its .expected file
    local arguments=()
    [ -f "examples/$1.args" ] && read -ra arguments <"examples/$1.args"
    "$build/examples/$1" "${arguments[@]}" | diff "examples/$1.expected" -
    return $((PIPESTATUS[0] | PIPESTATUS[1]))
}
export -f same_output
export build

# ---- all of them, a few at a time ------------------------------------------------------------------

names=() queue=()
declare -A command_of
printf '\n%-32s %8s %8s %9s %9s\n' test passed failed seconds 'of cpu'
add() { queue+=("$2") command_of[$2]=$(printf '%q ' "$@"); }    # add KIND NAME COMMAND...
start() {                               # start KIND NAME COMMAND...
    names+=("$2")
    while [ "$(jobs -rp | wc -l)" -ge "${MTF_TEST_JOBS:-3}" ]; do wait -n; done
    run "$@" 2>/dev/null &
}

# Some of them are several tests, so that they end in time and run side by side.
shares_of() { case $how,$1 in fast,*) echo 1 ;; *,test_layouts) echo 6 ;; *,test_models) echo 4 ;; *) echo 1 ;; esac; }
while read -r name; do
    wanted "$name" || continue
    shares=$(shares_of "$name")
    if [ "$shares" -eq 1 ]; then add test "$name" "$build/tests/$name"; continue; fi
    for ((k = 0; k < shares; k++)); do add test "$name-$k" "$build/tests/$name" $k/"$shares"; done
done <"$build/tests.txt"
for script in tests/shell/*.sh; do
    wanted "$(basename "$script")" && add test "$(basename "$script")" env "${few_leaks[@]}" "$script"
done
for expected in examples/*.expected; do
    name=$(basename "$expected" .expected)
    [ -f "$expected" ] && wanted examples && add check "$name" bash -c 'same_output "$1"' - "$name"
done
for check in layers sizes numbers globals statics install; do
    wanted $check || continue
    case $check,$preset in
        install,asan | install,tsan | statics,asan | statics,tsan) ;;
        install,*) add check install tools/install_test.sh "$build" ;;
        globals,* | statics,*) add check $check tools/$check.sh "$build" ;;
        *) add check $check tools/$check.sh ;;
    esac
done

# The longest ones are first, so that nothing waits for one at the end.  mpi.sh and train.sh wait for half of their time,
# and so have others beside them that do not.
longest="presets.sh cuda_tests.sh test_models mpi.sh test_cuda_attention test_cuda_decode test_cuda_memory test_cuda_products\
 test_cuda_calibrate test_cases layouts.sh docs.sh test_layouts train.sh page.sh test_kernels_heavy test_automatic\
 test_transformer serve.sh test_search test_cuda_fold checkpoint.sh test_layers test_state_rules site.sh unet.sh"
[ "$how" = fast ] || longest+=" plan.sh cli.sh"
begin() { eval "start ${command_of[$1]}"; unset "command_of[$1]"; }
for long in $longest; do
    for name in "${queue[@]}"; do [ "${name%-[0-9]}" != "$long" ] || begin "$name"; done
done
for name in "${queue[@]}"; do [ -z "${command_of[$name]}" ] || begin "$name"; done
wait

# ---- the sum -------------------------------------------------------------------------------------

all_passed=0 all_failed=0
for name in "${names[@]}"; do
    read -r passed failed note <"$work/$name.result"
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed))
    [ "$failed" -eq 0 ] && continue
    printf '\n---- %s failed%s\n' "$name" "${note:+: $note}"
    cat "$work/$name.log"
done
# A script that tests little says so in its first note.
left=$(for name in "${names[@]}"; do
    sed -n "s/^note: /$name: /p" "$work/$name.log" 2>/dev/null | head -n 1
done | paste -sd ';' | sed 's/;/; /g')
[ -n "$left" ] && printf '\nleft out here: %s\n' "$left"
printf '\n%d passed, %d failed\n' $all_passed $all_failed
[ $all_failed -eq 0 ]
