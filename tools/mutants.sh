#!/bin/bash
# Puts known faults into a copy of the tree, one at a time, and says which test finds each.
#
# A fault is a file tests/mutants/NAME.patch: a sentence that says what is wrong, a line `Tests: NAME...` with the
# tests that are likeliest to find it, the fastest first, and the change.  NAME:ARGUMENT stands for a test with an
# argument, such as test_layouts:0/6, and NAME@4 for a test on four ranks.  Those tests run first; if none of them
# finds the fault, all others of `make test` follow until one does.  Tests must pass without the fault, or they say
# nothing about it.
# A fault that does not apply or does not compile is none: it counts as one that survives.
# Usage: tools/mutants.sh [PATTERN]    only faults whose names match
#        MTF_MUTANTS=likeliest         run no other tests than those that a fault names, as `make test` runs them:
#                                      in samples, and none that tests/speeds leaves to `make test-all`; it must find
#                                      nine faults of ten
#        MTF_TEST_TIMEOUT=seconds      for each test; default 300
# Compilers are started through ccache where CMAKE_C_COMPILER_LAUNCHER asks for it.
cd "$(dirname "$0")/.." || exit 2
root=$PWD copy=$PWD/build-mutants limit=${MTF_TEST_TIMEOUT:-300} pattern=${1:-.}
export OMP_WAIT_POLICY=passive MTF_NO_MEASURE=1
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1       # what the root compiled serves the copy, too

[ "$MTF_MUTANTS" = likeliest ] && export MTF_TEST=fast

log=$(mktemp) list=$(mktemp)
trap 'put_back; rm -f "$log" "$list"' EXIT
trap 'exit 130' INT TERM

# ---- the copy ------------------------------------------------------------------------------------

# The patch that is in the copy is kept beside it: whoever is interrupted, or killed, leaves it to the next.
put_back() {
    [ -s "$copy/fault.patch" ] || return 0
    patch -d "$copy" -p1 -s -R --no-backup-if-mismatch <"$copy/fault.patch" >"$log" 2>&1
    local status=$?
    sed -n 's|^+++ b/||p' "$copy/fault.patch" | (cd "$copy" && xargs -r touch)      # what was built of it is old
    rm -f "$copy/fault.patch"
    return $status
}

copy_tree() {                           # files that the tree no longer has go, too
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [ -e "$file" ] && printf '%s\0' "$file"
    done >"$list"
    tar --null -T "$list" -cf - | tar -C "$copy" -xf - || return 1
    (cd "$copy" && find . -path ./build -prune -o -type f -print0) | sed -z 's|^\./||' |
        sort -z | comm -z -13 <(sort -z "$list") - | (cd "$copy" && xargs -0 -r rm -f)
}

mkdir -p "$copy"
put_back
copy_tree || exit 2
for tree in "$root" "$copy"; do
    [ -f "$tree/build/build.ninja" ] || (cd "$tree" && cmake --preset release >/dev/null) || exit 1
done

# ---- tests ---------------------------------------------------------------------------------------

build() {                               # build TREE TEST[@RANKS][:ARGUMENT...]
    local test=${2%%[@:]*} targets
    case $test in
        mpi.sh) targets="mtf mtf_counting" ;;
        locale.sh) targets="mtf mtf_in_locale" ;;
        *.sh) targets=mtf ;;
        *) targets=$test ;;
    esac
    ninja -C "$1/build" $targets >"$log" 2>&1
}

run() {                                 # run TREE NAME[@RANKS] ARGUMENT...
    local command=build/tests/${2%@*} launcher=()
    case $2 in *.sh) command=tests/shell/$2 ;; esac
    cd "$1" || return 2
    export MTF=$1/build/mtf
    if [[ $2 == *@* ]]; then
        . tests/shell/ranks.bash
        [ -z "$without_ranks" ] || return 2
        launcher+=(-n "${2#*@}")
    fi
    timeout -k 5 "$most" "${launcher[@]}" "$command" "${@:3}"
}

passes() {                              # passes TREE TEST[@RANKS][:ARGUMENT...] [MOST]: leaves its seconds in `took`
    local words begin status
    local most=${3:-$limit}
    IFS=: read -ra words <<<"$2"
    begin=$(date +%s%N)
    (run "$1" "${words[@]}") >"$log" 2>&1 </dev/null
    status=$?
    took=$((($(date +%s%N) - begin) / 100000000))
    took=$((took / 10)).$((took % 10))
    return $status
}

# Without any fault a test must pass, and it should not take ten times as long with one.
declare -A sound                        # by test: seconds that are enough, or 0
is_sound() {
    if [ -z "${sound[$1]}" ]; then
        sound[$1]=0
        build "$root" "$1" && passes "$root" "$1" && sound[$1]=$((${took%.*} * 10 + 30))
    fi
    [ "${sound[$1]}" -gt 0 ]
}

# find_it TEST...: sets `who` to the first that finds the fault, and `took` to its seconds; or says in `why` what is wrong.
find_it() {
    local test
    for test in "$@"; do
        is_sound "$test" || { why+=" $test fails without it;"; continue; }
        build "$copy" "$test" || { why=" it does not compile"; return 1; }
        passes "$copy" "$test" "${sound[$test]}" || { who=$test; return 0; }
    done
}

is_left() { [ "$MTF_TEST" = fast ] && awk -v name="${1%%[@:]*}" '$1 == name && $2 == "left" { found = 1 } END { exit !found }' tests/speeds; }

others() {                              # others TEST...: the tests of `make test` that are not among these
    { cat "$copy/build/tests.txt"; (cd "$copy/tests/shell" && ls *.sh); } | grep -vxFf <(printf '%s\n' "$@")
}

# ---- faults --------------------------------------------------------------------------------------

try_fault() {                           # try_fault FILE: sets `who` and `took`, or `why`
    local rest named test likeliest=()
    who="" why="" took=0.0
    read -ra named < <(sed -n 's/^Tests: //p' "$1")
    for test in "${named[@]}"; do
        if is_left "$test"; then why+=" $test is left to make test-all;"; else likeliest+=("$test"); fi
    done
    patch -d "$copy" -p1 -s -N --dry-run <"$1" >"$log" 2>&1 || { why=" it does not apply"; return; }
    cp "$1" "$copy/fault.patch"
    patch -d "$copy" -p1 -s --no-backup-if-mismatch <"$1" >"$log" 2>&1 || exit 2
    if find_it "${likeliest[@]}" && [ -z "$who" ] && [ "$MTF_MUTANTS" != likeliest ]; then
        mapfile -t rest < <(others "${likeliest[@]}")
        find_it "${rest[@]}"
    fi
    [[ $why == *compile* ]] && grep -m 3 error "$log"
    put_back || { cat "$log"; exit 2; }
}

found=0 survived="" begin=$SECONDS
declare -A finds seconds                # by test
printf '%-28s %-36s %8s %8s\n' fault 'found by' seconds 'in all'
for file in "$root"/tests/mutants/*.patch; do
    name=$(basename "$file" .patch)
    [[ $name =~ $pattern ]] || continue
    start=$SECONDS
    try_fault "$file"
    if [ -n "$who" ]; then
        found=$((found + 1)) finds[$who]=$((${finds[$who]:-0} + 1)) seconds[$who]=$took
    else
        survived+=" $name"
    fi
    printf '%-28s %-36s %8s %8d\n' "$name" "${who:-nobody${why:+:$why}}" "$took" $((SECONDS - start))
done

printf '\n%-36s %8s %8s\n' test faults seconds
for test in "${!finds[@]}"; do printf '%-36s %8d %8s\n' "$test" "${finds[$test]}" "${seconds[$test]}"; done | sort
set -- $survived
[ $# -gt 0 ] && printf '\nnobody finds:%s\n' "$survived"
printf '\n%d found, %d survived, in %d s\n' $found $# $((SECONDS - begin))
if [ "$MTF_MUTANTS" = likeliest ]; then [ $found -ge $((9 * $#)) ] && [ $found -gt 0 ]; else [ $# -eq 0 ] && [ $found -gt 0 ]; fi
