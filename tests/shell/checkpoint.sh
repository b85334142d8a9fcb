#!/bin/bash
# Tests `mtf ckpt`, files of other writers, and checkpoints that ranks write and read.
#
# Usage: MTF=path/to/mtf MPIRUN=path/to/mpirun tests/shell/checkpoint.sh    default: build/mtf, its mpirun
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "checkpoint.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
exchange=$(dirname "$MTF")/tests/test_exchange
theirs=$root/tests/reference/safetensors_theirs.safetensors

# ---- the command ---------------------------------------------------------------------------------

"$exchange" save one 1 x:2,y:2 a:x,b:y >/dev/null && "$exchange" save one 20 '' '' >/dev/null
run ckpt ls one;                  check "ls of a folder" 0 out 'one/step_00000020'
run ckpt ls one --json;           check "ls as JSON" 0 out '"step":	20'
run ckpt ls one/step_00000001;    check "ls of a checkpoint" 0 out 'layer/cube  f32   [a=7, b=5, c=3]     420 B'
run ckpt verify one;              check "verify all" 0 out 'one/step_00000020: sound: 8 tensors'
run ckpt show one layer/w;        check "show" 0 out '35 elements: min '
run ckpt show one layer/x;        check "show what is not there" 1 err 'has no tensor "layer/x"; did you mean "layer/w"?'
run ckpt diff one one;            check "diff of equals" 0 out '0 of 8 tensors differ'
run ckpt diff one/step_00000001 one/step_00000020; check "diff" 0 out 'layer/w: 35 of 35 elements differ'
run ckpt convert one two --type all=bf16 --rename '^layer/(.*)=body/\1'
check "convert" 0 out 'two: 8 tensors'
run ckpt ls two;                  check "converted" 0 out 'body/w     bf16  [a=7, b=5]'
run ckpt convert two back.safetensors --type all=f32 --rename 'body=layer' --only 'body'
check "convert to a file" 0 out 'back.safetensors: 2 tensors'
run ckpt diff back.safetensors one; check "small whole numbers survive bf16" 0 out '6 of 8 tensors differ'
run ckpt convert one w.npy --only '^layer/w$'; check "convert to .npy" 0 out 'w.npy: 1 tensor'
run ckpt convert w.npy w.safetensors --rename '^w$=layer/w'; check "convert from .npy" 0 out 'w.safetensors: 1 tensor'
run ckpt diff w.safetensors one;  check "the array is the tensor" 0 out '7 of 8 tensors differ'
run ckpt convert one w.npy;       check "a .npy file of several" 1 err 'holds one tensor, and 8 were chosen'
run ckpt convert one one;         check "convert onto itself" 1 err 'is there already'
run ckpt lst one;                 check "a misspelt word" 2 err 'mtf ckpt has no "lst"; did you mean "ls"?'
run ckpt diff one;                check "a word too few" 2 err 'write mtf ckpt diff A B'
run ckpt ls nowhere;              check "no such path" 1 err '"nowhere" cannot be opened: No such file or directory'
printf 'x' | dd of=one/step_00000020/weights-00001-of-00001.safetensors bs=1 seek=1500 conv=notrunc 2>/dev/null
run ckpt verify one;              check "verify finds damage" 1 err 'is damaged: the sum over its elements is'

# ---- files of the reference writer ---------------------------------------------------------------

run ckpt ls "$theirs";            check "theirs: ls" 0 out 'model.weight  f32   [d0=2, d1=3]'
run ckpt show "$theirs" model.weight; check "theirs: show" 0 out '6 elements: min -2.5, max 2.5, mean 0, norm '
run ckpt verify "$theirs";        check "theirs: verify" 0 out 'it has no sums to compare with'

# ---- ranks ---------------------------------------------------------------------------------------

if [ -n "$without_ranks" ]; then
    echo "$without_ranks"
    printf 'checkpoint: %d passed, %d failed\n' $passed $failed
    exit $((failed > 0))
fi

ranks() {                               # ranks N COMMAND...: leaves out, err, status
    timeout -k 5 100 "${launcher[@]}" -n "$@" >out 2>err </dev/null
    status=$?
}
well() {                                # well NAME
    if [ $status -eq 0 ] && grep -q ': 0 wrong$' out; then pass; else lose "$1" "0 wrong" "$status: $(head -c 600 out err)"; fi
}

"$exchange" save threads 3 x:2,y:2 b:x,c:y >/dev/null
for n in 2 3 4; do
    ranks $n "$exchange" load threads 3 "x:$n" a:x;      well "threads to $n ranks"
    ranks $n "$exchange" save ranks$n 5 "x:$n" b:x;      well "$n ranks save columns"
    ranks $n "$exchange" background ranks$n 6 "x:$n,y:2" a:x,b:y; well "$n ranks save in the background"
    "$exchange" load ranks$n 5 x:3 c:x >out 2>err; status=$?; well "$n ranks to threads"
    "$exchange" load ranks$n 6 '' '' >out 2>err; status=$?; well "$n ranks in the background to one"
    run ckpt verify ranks$n;          check "what $n ranks wrote is sound" 0 out 'ranks'$n'/step_00000006: sound: 8 tensors'
done
ranks 3 "$exchange" load ranks2 6 x:3 b:x;               well "2 ranks to 3"
ranks 2 "$exchange" load one 20 x:2 a:x
if [ $status -ne 0 ] && [ "$(grep -c 'is damaged: the sum over' err)" -eq 1 ]; then pass; else lose "damage on ranks" "said once" "$status: $(head -c 900 err)"; fi
ranks 2 "$exchange" save /proc/nowhere 1 x:2 a:x
if [ $status -ne 0 ] && [ "$(grep -c '/proc/nowhere" cannot be made' err)" -eq 1 ]; then pass; else lose "no folder on ranks" "said once" "$status: $(head -c 900 err)"; fi

printf 'checkpoint: %d passed, %d failed\n' $passed $failed
exit $((failed > 0))
