#!/bin/bash
# Tests the model that labels volumes: the same losses wherever space is cut, less memory, what it tells and refuses.
#
# Usage: MTF=path/to/mtf tests/shell/unet.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

# Noise, and as labels three ranges of a smoother noise.
for part in train test; do
    cat >data.mtf <<END
volumes: f32[example=6, height=8, width=8, depth=4] = random_uniform(low=-1, high=1, key=${#part})
coarse: f32[example=6, height=8] = random_uniform(low=0, high=3, key=9)
wide: f32[example=6, height=8, width=8, depth=4] = broadcast(coarse)
labels: i32[example=6, height=8, width=8, depth=4] = cast(wide)
END
    run run data.mtf --fetch volumes=$part-volumes.npy --fetch labels=$part-labels.npy
    check "data" 0 out
done
shape=(--batch 6 --depth 4 --filters 3 --levels 3 --convs 1)
small=(unet "${shape[@]}" --size 8 --data-dir . --threads 1)

# Running means belong to the model: they are loaded with the weights.
run train "${small[@]}" --steps 2 --checkpoint-dir normed
run train "${small[@]}" --steps 0 --seed 5 --init-from normed --checkpoint-dir started
run ckpt diff normed started;       check "the optimizer starts anew" 1 out "global_step: 1 of 1 elements differ"
if grep -q 'bn_moving' out; then lose "running means are loaded" "no difference" "$(cat out)"; else pass; fi

mkdir empty && cp ./*.npy empty && : >empty/train-labels.npy
run train "${small[@]/#./empty}" --steps 1; check "an empty file" 1 err 'train-labels.npy" is not a .npy file'

# ---- layouts -------------------------------------------------------------------------------------

losses() {                              # losses ARGUMENT...: those of three steps, to nine digits
    run train "${small[@]}" --steps 3 --no-shuffle --json "$@"
    [ $status -eq 0 ] || { echo "exit status $status: $(head -c 300 err)"; return; }
    sed -n 's/.*"loss":\([-0-9.e]*\).*/\1/p' out
}
near() {                                # near NAME EXPECTED GOT: the same numbers, but for rounding
    if paste <(echo "$2") <(echo "$3") | awk '
            NF != 2 || ($1 - $2) ^ 2 > (2e-4 * $1) ^ 2 { bad = 1 } END { exit bad || NR < 3 }'; then pass
    else lose "$1" "$2" "$3"; fi
}
whole=$(losses)
near "it trains" "$whole" "$whole"
for layout in height:x width:x depth:x batch:x filters:x classes:x; do
    near "$layout of 2" "$whole" "$(losses --mesh x:2 --layout $layout)"
    near "$layout of 3" "$whole" "$(losses --mesh x:3 --layout $layout)"
done
near "height and width" "$whole" "$(losses --mesh x:2,y:2 --layout height:x,width:y)"
near "batch and height, state" "$whole" \
    "$(losses --mesh x:3,y:2 --layout batch:x,height:y --state-layout filters:x)"
noisy=$(losses --dropout 0.25)
near "dropout" "$noisy" "$(losses --dropout 0.25 --mesh x:2,y:2 --layout height:x,width:y)"
[ "$noisy" != "$whole" ] && pass || lose "dropout does something" "other losses" "$noisy"

# ---- memory --------------------------------------------------------------------------------------

peak() { run plan unet "${shape[@]}" --size 32 --json "$@"; sed -n 's/.*"peak_bytes":[^0-9]*\([0-9]*\).*/\1/p' out | head -n 1; }
one=$(peak) four=$(peak --mesh x:2,y:2 --layout height:x,width:y)
if [ -n "$one" ] && [ -n "$four" ] && [ "$four" -gt 0 ] && [ $((four * 5)) -lt $((one * 2)) ]; then pass
else lose "a quarter of the space" "less than 0.4 of $one bytes" "$four"; fi

# ---- what it tells -------------------------------------------------------------------------------

run train "${small[@]}" --steps 2 --report run.html --checkpoint-dir saved --mesh x:2 --layout width:x
check "evaluation" 0 out "test accuracy" "dice_1 0." "dice_2 0."
if [ "$(grep -o 'class="example"' run.html | wc -l)" = 4 ] && grep -q 'aria-label="prediction of example 4"' run.html &&
    grep -q '<path class="c2" d="M' run.html; then pass
else lose "examples in the report" "4 of 3 pictures" "$(grep -c figure run.html)"; fi
run eval "${small[@]}" --checkpoint-dir saved --json
check "eval" 0 out '"dice_2":'
# A class without weight is never predicted: nothing of it is found, but of the other class.
run train "${small[@]}" --class-weights 1,4,0 --dice 0 --rate 0.05 --steps 60 --json
check "one class is found" 0 out '"dice_1":'
if sed -n 's/.*"dice_1":\([0-9.e-]*\),"dice_2":\([0-9.e-]*\).*/\1 \2/p' out | awk '{ good = $1 > 0.3 && $2 < 0.1 } END { exit !good }'; then pass
else lose "overlap by class" "more than 0.3 of class 1, less than 0.1 of class 2" "$(tail -n 1 out)"; fi

# Nobody asked for parts of the batch: its batch norm needs all of it.
starved() { run train unet --batch 6 --depth 4 --filters 3 --convs 1 --size 8 --data-dir . --steps 1 --memory 100K "$@"; check "too little memory $*" 1 err "mtf: memory: " "102400"
            if grep -q "micro-batches" err; then lose "too little memory $*" "nothing of parts" "$(head -c 300 err)"; else pass; fi; }
starved --levels 2
starved --levels 2 --layout auto
starved --levels 1

# ---- what it refuses -----------------------------------------------------------------------------

refuses "a size that cannot be halved" 'unet: 3 levels halve "height", 10 elements, 2 times; its size must be a multiple of 4' \
    plan unet "${shape[@]}" --size 10
misused "weights" '--class-weights takes a number from 0 on for each class, 2 to 8 of them, separated by commas, not "1"' \
    plan unet --class-weights 1
misused "another type" '--dtype: unet assigns to variables itself; use --activation-type bf16' train "${small[@]}" --dtype bf16
misused "a share" '--dice takes a share from 0 to 1, not 2' plan unet --dice 2
refuses "dropout" 'unet: dropout takes a share from 0 to below 1, not 1' train "${small[@]}" --dropout 1 --steps 1
refuses "files that are not there" 'no file matches "nowhere/train-volumes*"' train unet --data-dir nowhere --steps 1
volumes() {                             # volumes FOLDER DIMENSIONS: a folder of such volumes
    echo "volumes: f32[example=6, $2] = random_uniform(low=-1, high=1)" >data.mtf
    mkdir $1 && cp train-labels.npy test-labels.npy $1
    for part in train test; do run run data.mtf --fetch volumes=$1/$part-volumes.npy; done
}
with() { run train unet "${shape[@]}" --size 8 --threads 1 --steps 1 --data-dir "$@"; }
volumes turned 'depth=4, height=8, width=8'
with turned
check "volumes of another order" 1 err '"turned/train-volumes.npy" has examples of [4, 8, 8], but the input "volumes" takes [height=8, width=8, depth=4, channels=1]; save'
volumes flat 'all=256'
volumes nested 'one=1, height=8, width=8, depth=4'
for folder in flat nested; do
    with $folder
    check "volumes: $folder" 0 out "test accuracy"
done
volumes small 'height=8, width=4, depth=4'
with small
check "volumes of another size" 1 err '"small/train-volumes.npy": field "volumes" has 128 elements per example, but the input of that name takes 256'
refuses "labels of other classes" '-labels.npy", example 0: 2 is outside of 0 to 1, the range of "labels"' train "${small[@]}" --class-weights 1,2 --steps 1

printf 'unet: %d passed, %d failed\n' $passed $failed
exit $((failed > 0))
