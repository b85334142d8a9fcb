#!/bin/bash
# Puts known faults into a copy of the tree, one at a time, and says which test finds each.
#
# A fault is a file tests/mutants/NAME.patch: a sentence that says what is wrong, a line `Tests: NAME...` with the
# tests that are likeliest to find it, and the change.  Those tests run first; if none of them finds it, all
# others of `make test` follow until one does.  Tests must pass without the fault, or they say nothing about it.
# Usage: tools/mutants.sh [PATTERN]    only faults whose names match
#        MTF_MUTANTS=likeliest         run no other tests than those that a fault names
#        MTF_TEST_TIMEOUT=seconds      for each test; default 300
cd "$(dirname "$0")/.." || exit 2
root=$PWD copy=$PWD/build-mutants limit=${MTF_TEST_TIMEOUT:-300} pattern=${1:-.}
export OMP_WAIT_POLICY=passive MTF_NO_MEASURE=1 MTF=$copy/build/mtf

mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$copy" -xf - || exit 2
cd "$copy" || exit 2
[ -f build/build.ninja ] || cmake --preset release >/dev/null || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

command_of() {                          # command_of TEST: how it is run
    case $1 in *.sh) echo "tests/shell/$1" ;; *) echo "build/tests/$1" ;; esac
}
target_of() {                           # target_of TEST: what must be built for it
    case $1 in *.sh) echo mtf ;; *) echo "$1" ;; esac
}
builds() { ninja -C build "$(target_of "$1")" >"$log" 2>&1; }
passes() { timeout -k 5 "$limit" "$(command_of "$1")" >"$log" 2>&1 </dev/null; }

declare -A sound                        # by test: does it pass without any fault?
is_sound() {
    [ -n "${sound[$1]}" ] || { builds "$1" && passes "$1" && sound[$1]=yes || sound[$1]=no; }
    [ "${sound[$1]}" = yes ]
}

finder() {                              # finder TEST...: prints the first that finds the fault
    local test
    for test in "$@"; do
        builds "$test" || { echo "the compiler"; return; }
        passes "$test" || { echo "$test"; return; }
    done
}

others() {                              # others TEST...: the tests of `make test` that are not among these
    { cat build/tests.txt; (cd tests/shell && ls *.sh); } | grep -vxFf <(printf '%s\n' "$@")
}

found=0 survived=0
printf '%-28s %-28s %s\n' fault 'found by' seconds
for file in "$root"/tests/mutants/*.patch; do
    name=$(basename "$file" .patch)
    [[ $name =~ $pattern ]] || continue
    begin=$SECONDS who="" unsound=""
    read -ra likeliest < <(sed -n 's/^Tests: //p' "$file")
    for test in "${likeliest[@]}"; do is_sound "$test" || unsound+=" $test"; done
    if [ -n "$unsound" ]; then who="nobody:$unsound fails without it"
    elif ! patch -p1 -s -N --no-backup-if-mismatch <"$file" >"$log" 2>&1; then who="nobody: the change does not apply"
    else
        who=$(finder "${likeliest[@]}")
        if [ -z "$who" ] && [ "$MTF_MUTANTS" != likeliest ]; then
            mapfile -t rest < <(others "${likeliest[@]}")
            who=$(finder "${rest[@]}")
        fi
        patch -p1 -s -R --no-backup-if-mismatch <"$file" >"$log" 2>&1 || { cat "$log"; exit 2; }
    fi
    case $who in "" | nobody*) survived=$((survived + 1)) ;; *) found=$((found + 1)) ;; esac
    printf '%-28s %-28s %d\n' "$name" "${who:-nobody}" $((SECONDS - begin))
done
printf '\n%d found, %d survived\n' $found $survived
[ $survived -eq 0 ]
