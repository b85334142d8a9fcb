#!/bin/bash
# Tests that what mtf promises holds for every configuration of share/gin/models: a table, a row for each.
#
# A configuration joins by being in the folder.  Columns:
#   plan     mtf plan on one processor, on 2 x 2 and on 16 x 8, as shipped and with a batch of 256
#   layout   mtf layout finds nothing worse than the configuration's own rules; mtf plan has the same price for it
#   verify   mtf verify finds programs equal, with parts that are uneven, micro-batches and state rules, too
#   train    a shrunk copy has the same losses on every layout, in one part or in three, with state rules
#   ckpt     its checkpoint is read on another mesh, and published and read again where it has a published form
#   decode   it answers the same on a mesh, greedily, by samples, by beams; and each answer is the whole model's
#   gpu ...  the last three on a GPU, emulated where MTF_TEST_GPU does not say real
# The checks are in presets_planned.bash and presets_trained.bash.
# Usage: MTF=path/to/mtf tests/shell/presets.sh      default: build/mtf
#        MTF_MATRIX=all         every configuration; or the names of some; default: a sample, without GPU
#        MTF_MATRIX=most        the same, with an emulated GPU, which is slow, for the sample's configurations only
#        MTF_TEST_JOBS=n        rows that are worked on at a time, where it is more than a sample; default: all cores
#        MTF_TEST_GPU=real     only the columns of the GPU, on this machine's own, for every configuration
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "presets.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/cuda.bash"
. "$root/tests/shell/presets_planned.bash"
. "$root/tests/shell/presets_trained.bash"
export MTF_CACHE_DIR=${MTF_CACHE_DIR:-$work/cache}

# ---- which rows, which columns -------------------------------------------------------------------

# A file that others include is a part of them.
every=$(cd "$root/share/gin/models" && for file in *.gin; do grep -qF "'$file'" -- *.gin || basename "$file" .gin; done)
[ $real -eq 1 ] && : "${MTF_MATRIX:=all}"
sample="lm_base gpt2_124m t5_1_1_small"
case ${MTF_MATRIX:=sample} in
    all | most) names=$every ;;
    sample) names=$sample ;;
    *) names=$MTF_MATRIX ;;
esac
for name in $names; do
    [[ $'\n'$every$'\n' == *$'\n'$name$'\n'* ]] || { echo "presets.sh: share/gin/models has no $name.gin"; exit 2; }
done
jobs=${MTF_TEST_JOBS:-$(nproc)}
[ "$MTF_MATRIX" = sample ] && jobs=1

planned="plan layout verify" trained="train ckpt decode" on_gpu="gpu_train gpu_ckpt gpu_decode"
wanted() {                              # wanted ROW COLUMN
    case $MTF_MATRIX,$1,$2 in
        sample,*,gpu_*) false ;;
        sample,lm_base,* | sample,t5_1_1_small,verify) ;;
        sample,*) [[ " $trained " == *" $2 "* ]] ;;
        most,*,gpu_*) [ -z "$without_gpus" ] && [[ " $sample " == *" $1 "* ]] ;;
        *,gpu_*) [ -z "$without_gpus" ] ;;
        *) [ $real -eq 0 ] ;;
    esac
}
if [ "$MTF_MATRIX" = sample ]; then echo "note: a sample, without GPU; make test-presets takes every configuration"
elif [ -n "$without_gpus" ]; then echo "note: $without_gpus; no configuration was tried with --device cuda"; fi

# ---- cells ---------------------------------------------------------------------------------------

lost() { echo "$*"; exit 1; }           # lost WHY...: the cell has failed
without() { echo "$*"; exit 3; }        # without WHY...: it says nothing about this configuration
tried() { run "$@"; [ $status -eq 0 ] || lost "mtf $*: status $status: $(head -c 600 err)"; }

cell() {                                # cell ROW COLUMN FOLDER COMMAND...: leaves ROW.COLUMN.{status,words}
    local at=$work/$1.$2
    mkdir -p "$3" && (cd "$3" && "${@:4}") >"$at.words" 2>&1
    echo $? >"$at.status"
}
row_planned() {                         # row_planned NAME
    for column in $planned; do wanted "$1" "$column" && cell "$1" "$column" "$1.plans" "check_$column" "$1"; done
}
row_trained() {                         # row_trained NAME
    for column in $trained; do wanted "$1" "$column" && cell "$1" "$column" "$1" of_copy "check_$column" "$1" cpu; done
    for column in $on_gpu; do
        wanted "$1" "$column" && cell "$1" "$column" "$1" of_copy "check_${column#gpu_}" "$1" cuda
    done
}
of_copy() {                             # of_copy CHECK NAME DEVICE
    [ "$(cat "$work/$2.shrunk.status")" = 0 ] || lost "its shrunk copy: $(cat "$work/$2.shrunk.words")"
    "$@"
}
start() { while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done; "$@" & }

# Configurations that differ in their sizes only have the same shrunk copy, which is trained once, in the row of
# the first of them.
declare -A first same
prepare_text
for name in $names; do
    cell "$name" shrunk "$name" shrink "$name"
    copy=$(cat "$name/shrunk.key" 2>/dev/null || echo "$name")
    : "${first[$copy]:=$name}"
    same[$name]=${first[$copy]}
done
for name in $names; do
    [ "${same[$name]}" = "$name" ] && start row_trained "$name"
    start row_planned "$name"
done
wait

# ---- the table -----------------------------------------------------------------------------------

columns="$planned $trained $on_gpu"
said=""
show() {                                # show NAME COLUMN: prints the cell, and counts it
    local at=$work/$1.$2 word=failed
    [ -e "$at.status" ] || at=$work/${same[$1]}.$2
    if [ ! -e "$at.status" ] && ! wanted "$1" "$2"; then put "$2" .; return; fi
    case $(cat "$at.status") in
        0) pass && word="ok $(cat "$at.words")" ;;
        3) word="--" said+="$1, ${2/_/ }: -- $(cat "$at.words")"$'\n' ;;
        *) failed=$((failed + 1)) said+="$1, ${2/_/ }: $(cat "$at.words")"$'\n' ;;
    esac
    put "$2" "$word"
}
put() {                                 # put COLUMN WORD
    case $1 in layout | *ckpt) printf ' %-13s' "$2" ;; *) printf ' %-10s' "$2" ;; esac
}
{
    printf '%-14s' configuration
    for column in $columns; do put "$column" "${column/_/ }"; done
    for name in $names; do
        printf '\n%-14s' "$name"
        for column in $columns; do show "$name" "$column"; done
    done
    printf '\n\n%s' "$said"
} >table
sed 's/ *$//' table
for name in $names; do
    [ "${same[$name]}" = "$name" ] || echo "$name has the shrunk copy of ${same[$name]}"
done
echo "presets.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
