#!/bin/bash
# Tests folders of checkpoints as models: what mtf train keeps there describes the model to every command.
#
# Usage: MTF=path/to/mtf tests/shell/folders.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "folders.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
same() { if cmp -s "$2" "$3"; then pass; else lose "$1" "$(head -c 400 "$2")" "$(head -c 400 "$3")"; fi; }    # same NAME FILE FILE

# ---- the model of a file -------------------------------------------------------------------------

cat >plane.mtf <<'END'
x: f32[batch=4, in=2] = input
y: f32[batch=4]       = input
w: f32[in=2]          = variable(init="zeros")
c: f32[]              = variable(init="zeros")
p: [batch]            = einsum(x, w) + c
right = less(abs(p - y), 0.5)
loss  = reduce_mean(square(p - y))
END
printf 'a,b,y\n0,0,1\n1,0,3\n0,1,2\n1,1,4\n2,1,6\n1,2,5\n2,2,7\n0,2,3\n' >points.csv
printf 'a,b,y\n3,0,7\n0,3,4\n3,3,10\n-1,1,9\n' >new.csv
of() { echo "--$1 x=$2:part=a,b --$1 y=$2:part=y"; }
# shellcheck disable=SC2046
run train plane.mtf $(of data points.csv) --rate 0.1 --steps 300 --save-every 150 --checkpoint-dir plane --quiet
same "the file is kept" plane.mtf plane/model.mtf
mv plane.mtf away.mtf
run run plane --feed x=new.csv:part=a,b
check "a folder is run" 2 err 'input "y", f32[batch=4], has no value'
run run plane --feed x=new.csv:part=a,b --fetch p
cp out from_folder
run run away.mtf --checkpoint-dir plane --feed x=new.csv:part=a,b --fetch p
same "with its weights" out from_folder
run run --checkpoint-dir plane --feed x=new.csv:part=a,b --fetch p
same "by its option" out from_folder
run run plane --step 150 --feed x=new.csv:part=a,b --fetch p
[ $status = 0 ] && ! cmp -s out from_folder && pass || lose "an earlier step" "others" "$(cat out err)"
run run plane/step_00000300 --feed x=new.csv:part=a,b --fetch p
same "one checkpoint" out from_folder
for options in "" "--right right"; do
    # shellcheck disable=SC2046,SC2086
    run eval plane $(of eval-data new.csv) $options --mesh a:2 --layout batch:a
    check "evaluated, and what is right is found ($options)" 0 out "step 300" "test accuracy 75.00 %   loss"
done
sed 's/^right = /hit = /' away.mtf >hit.mtf
# shellcheck disable=SC2046
run eval hit.mtf --checkpoint-dir plane $(of eval-data new.csv)
check "what may be right is mentioned" 0 err "mtf: note: --right hit tells the accuracy as well"
# shellcheck disable=SC2046
misused "what is right, unknown" '--right: no tensor is called "good"; of each example hit is true or false' \
    eval hit.mtf --checkpoint-dir plane $(of eval-data new.csv) --right good
# shellcheck disable=SC2046
misused "what is right, misspelt" '--right: no tensor is called "hot"; did you mean "hit"?' \
    eval hit.mtf --checkpoint-dir plane $(of eval-data new.csv) --right hot
printf 'z: f32[batch=4] = input\nright = less(abs(p - z), 0.5)\n' | cat <(grep -v "^right" away.mtf) - >other.mtf
# shellcheck disable=SC2046
run eval other.mtf --checkpoint-dir plane $(of eval-data new.csv)
[ $status = 0 ] && ! grep -q accuracy out && pass || lose "a verdict whose data are not given" "the loss alone" "$(cat out err)"
for command in "plan" "plan --optimizer adam --mesh a:2 --layout batch:a" "layout --mesh a:2" "show" "verify --mesh a:2 --layout batch:a"; do
    # shellcheck disable=SC2086
    run ${command%% *} away.mtf ${command#"${command%% *}"}
    cp out wanted
    # shellcheck disable=SC2086
    run ${command%% *} plane ${command#"${command%% *}"}
    [ $status = 0 ] && pass || lose "a folder: $command" "exit status 0" "$status $(cat err)"
    same "as its file: $command" wanted out
done
misused "an answer by a file" '"plane" has model.mtf, not operative_config.gin: mtf decode wants a Transformer' decode plane
misused "two folders" "leave one out" run plane --checkpoint-dir other
misused "a file and a configuration" "name two models" plan plane --gin_file lm_base
grep -v "^right" away.mtf | sed 's/^w:/n: f32[] = variable(trainable=false)\nn2 = assign(n, n + 1)\nw:/' >counts.mtf
run run counts.mtf --feed x=new.csv:part=a,b --fetch p
[ $status = 0 ] && ! [ -s err ] && pass || lose "an assignment without a checkpoint" "no note" "$(cat err)"
run train counts.mtf --data x=points.csv:part=a,b --data y=points.csv:part=y --steps 2 --quiet --checkpoint-dir counts
run run counts --feed x=new.csv:part=a,b --fetch p
check "an assignment that the checkpoint does not get" 0 err 'counts/model.mtf:4 assigns "n" in every step, and the checkpoint keeps the value'

# ---- the model of a configuration ----------------------------------------------------------------

cat >small.gin <<'END'
include 'lm_base.gin'
include 'tiny.gin'
run.sequence_length = {'targets': 16}
run.batch_size = ('sequences_per_batch', 4)
END
head -c 8000 "$root/data/text/moby-dick.txt" >book.txt
run train --gin_file small.gin --text book.txt:joined --steps 4 --save-every 2 --checkpoint-dir lm --quiet --threads 1
for command in "plan --mesh a:2 --layout batch:a" "plan --gin_param DenseReluDense.hidden_size=64" "show" "verify --mesh a:2 --layout heads:a --shrink"; do
    # shellcheck disable=SC2086
    run ${command%% *} --gin_file lm/operative_config.gin ${command#"${command%% *}"}
    cp out wanted
    # shellcheck disable=SC2086
    run ${command%% *} lm ${command#"${command%% *}"}
    [ $status = 0 ] && pass || lose "a folder: $command" "exit status 0" "$status $(cat err)"
    same "as its configuration: $command" wanted out
done
run plan lm
cp out wanted
run plan lm --gin_param "DenseReluDense.hidden_size = 64"
[ $status = 0 ] && ! cmp -s out wanted && pass || lose "a line beside the folder's" "another plan" "$(cat out err)"
run layout lm --mesh a:2 --seconds 1 --show 1
check "a layout for a folder" 0 out "for a batch of 4"
misused "a configuration is not run" '"lm" has operative_config.gin, not model.mtf: mtf run takes model files' run lm
decode() { run decode lm --temperature 0 --max-tokens 6 --threads 1 --inputs prompts --output answers "$@"; }
echo "Call me" >prompts
rm -f answers-*; decode
[ -f answers-4 ] && pass || lose "the newest" answers-4 "$(ls) $(cat err)"
rm -f answers-*; decode --gin_param "run.eval_checkpoint_step = 2"
[ -f answers-2 ] && pass || lose "the configuration's step" answers-2 "$(ls) $(cat err)"
rm -f answers-*; decode --gin_param "run.eval_checkpoint_step = 2" --step 4
[ -f answers-4 ] && pass || lose "the option's step" answers-4 "$(ls) $(cat err)"
rm -f answers-*; decode --gin_param "run.eval_checkpoint_step = 'all'"
check "all steps" 0 err "mtf: note: run.eval_checkpoint_step names several checkpoints, all: mtf decode takes the newest; --step N names another"

# ---- folders that keep nothing -------------------------------------------------------------------

mkdir bare
for command in plan layout show verify; do
    misused "mtf $command of a bare folder" '"bare" has no operative_config.gin and no model.mtf' $command bare --mesh a:2
done
misused "an evaluation" '"bare" has no operative_config.gin and no model.mtf' eval --checkpoint-dir bare
misused "a run" '"bare" has no model.mtf, as mtf train FILE.mtf writes it' run bare
misused "an answer" '"bare" has no operative_config.gin, as mtf train --gin_file writes it' decode bare
run train mnist --steps 1 --batch 10 --hidden 8 --data-dir "$root/data/mnist" --quiet --checkpoint-dir digits
misused "training goes on by the model's name: a file" \
    '"plane" is a folder of checkpoints: go on with mtf train plane/model.mtf --checkpoint-dir plane --resume' train plane --steps 400
misused "a configuration" '"lm" is a folder of checkpoints: go on with mtf train --gin_file lm/operative_config.gin --checkpoint-dir lm --resume' \
    train lm --steps 5
run train --gin_file lm/operative_config.gin --checkpoint-dir lm --resume --steps 5 --quiet --threads 1
check "so it goes on" 0 out "step 5 of 5"
misused "an evaluation of nothing" 'there is neither a folder of a run nor a model "absent"' eval absent
misused "parameters of nothing" '"absent" is no folder with a configuration, which --gin_param would change' plan absent --gin_param "d_ff = 8"
run plan lm
[ $status = 0 ] && ! grep -q vocabulary err && pass || lose "the vocabulary of a model that was trained" "no note" "$(cat err)"
data=(--data-dir "$root/data/mnist")
run eval mnist --batch 10 --hidden 8 "${data[@]}" --checkpoint-dir digits
cp out wanted
run eval digits
same "a built-in model, with the options of its training" wanted out
run plan mnist --batch 10 --hidden 8 "${data[@]}" --steps 1
cp out wanted
run plan digits
same "and its plan" wanted out
run plan digits --hidden 16
[ $status = 0 ] && ! cmp -s out wanted && pass || lose "an option in place of its own" "another plan" "$(cat out err)"
misused "training goes on: a built-in model" '"digits" is a folder of checkpoints: go on with mtf train mnist --checkpoint-dir digits --resume' train digits
misused "a built-in model is not run" '"digits" has no model.mtf' run digits
mkdir mnist
run plan mnist --mesh a:2
check "a built-in model before a folder of its name" 0 out "batch            100 examples"

echo "folders.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
