#!/bin/bash
# Tests checkpoints of Mesh TensorFlow: import, export, and what is damaged.
#
# Usage: MTF=path/to/mtf tests/shell/bundles.sh       default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "bundles.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
theirs=$root/tests/reference/bundles
published=$root/tests/reference/published/t5

same() { cmp -s "$2" "$3" && pass || lose "$1" "$(head -c 300 "$2")" "$(head -c 300 "$3")"; }

# ---- import --------------------------------------------------------------------------------------

run ckpt import "$theirs/t5" model;     check "import of a folder" 0 out 'model: 128 tensors'
same "its configuration" "$theirs/t5/operative_config.gin" model/operative_config.gin
run ckpt verify model;                  check "what was imported" 0 out 'model: sound: 128 tensors'
run ckpt ls model --json;               check "sizes as they were" 0 out '"name":	"decoder/block_000/layer_000/SelfAttention/q_slot_vr"'
grep -q '"step": 7,' model/manifest.json && pass || lose "the step" 7 "$(head -c 200 model/manifest.json)"
for name in model.ckpt-7 model.ckpt-7.index; do
    run ckpt import "$theirs/t5/$name" by-name --gin copy.gin --force; check "import of $name" 0 out 'by-name: 128 tensors'
    run ckpt diff by-name model;        check "$name is the same" 0 out '0 of 128 tensors differ'
    same "--gin with $name" copy.gin model/operative_config.gin
done
run ckpt import "$theirs/t5" model;     check "import onto something" 1 err '"model" already exists; give a new name, or --force'
cat >own.gin <<'END'
d_model = 12
END
run ckpt import "$theirs/t5" other --config own.gin; check "import with another configuration" 0 out 'other: 128 tensors'
same "the other configuration" own.gin other/operative_config.gin
echo 'some notes of mine' >notes
run ckpt import "$theirs/t5" noted --config notes; check "import with a text that is none" 1 err 'notes:1:'
[ ! -e noted ] && pass || lose "nothing is made of it" nothing "$(ls noted)"
run ckpt import "$theirs/t5/model.ckpt-8" nothing; check "import of a prefix that is not there" 1 err \
    "there is no \"$theirs/t5/model.ckpt-8\", and no \"$theirs/t5/model.ckpt-8.index\" of a TensorFlow checkpoint either"
run ckpt import "$theirs/types/all" types; check "import without a configuration" 0 out 'types: 11 tensors'
check "tensors that mtf cannot hold" 0 err 'mtf: note: not needed: bytes (uint8), text (string)'
[ ! -e types/operative_config.gin ] && pass || lose "no configuration" none "$(ls types)"
run ckpt import "$theirs/snappy/all" snappy; check "a compressed index" 0 out 'snappy: 11 tensors'
run ckpt diff snappy types;             check "the same elements" 0 out '0 of 11 tensors differ'

# The same weights, as the transformers library has them: other names, other orientation, no optimizer's state.
run ckpt import "$published" transformers; check "the same model of transformers" 0 out 'transformers: 47 tensors'
run ckpt convert model weights --only '(/(q|k|v|o|kernel|scale|embedding|relative_attention_bias))$'
check "weights without the optimizer's state" 0 out 'weights: 47 tensors'
run ckpt diff weights transformers;     check "the same weights" 0 out '0 of 47 tensors differ'
seq 57 >words
for name in model transformers; do
    run score $name --vocabulary words:words --targets words --inputs words --threads 1
    check "score with $name" 0 out '-'
    cp out scores-$name
done
same "the same scores" scores-transformers scores-model
run decode model --vocabulary words:words --inputs words --max-tokens 2 --threads 1; check "decode" 0 out ' '
cp out answers
run decode "$theirs/t5" --vocabulary words:words --inputs words --max-tokens 2 --threads 1; check "decode without an import" 0 out ' '
same "the same answers" answers out

# ---- as any checkpoint ---------------------------------------------------------------------------

run ckpt ls "$theirs/t5";               check "ls" 0 out 'global_step ' '128 tensors, 38.2 kB, in 2 files'
run ckpt verify "$theirs/t5";           check "verify" 0 out 'sound: 128 tensors'
run ckpt show "$theirs/types/all" half; check "show" 0 out '5 elements: min -2, max 2, mean 0, norm '
run ckpt show "$theirs/types/all" text; check "show what mtf cannot hold" 1 err 'tensor "text" has elements of type string, which mtf lacks'
paste words words >pairs.tsv
train=(train --gin_file model/operative_config.gin --vocabulary words:words --text pairs.tsv --threads 1)
run "${train[@]}" --init-from "$theirs/t5/model.ckpt-7" --init-all --steps 8 --checkpoint-dir run
check "training goes on" 0 out 'loaded 128 of 128 variables from '
run ckpt show run global_step;          check "the step counts on" 0 out 'min 15, '
refuses "import as another step" '"resumed/step_00000008" would have the checkpoint of step 7: its name should be step_00000007' \
    ckpt import "$theirs/t5" resumed/step_00000008
run ckpt convert "$theirs/t5" short --type all=bf16; check "convert" 0 out 'short: 128 tensors'
grep -q '"step": 7,' short/manifest.json && pass || lose "the step in a name" 7 "$(head -c 200 short/manifest.json)"
losses() { run "${train[@]}" --gin_param "run.init_checkpoint = '$theirs/t5/model.ckpt-7'" --init-all --steps 2 --json "$@" && grep -o '"loss":[0-9.]\{5\}' out; }
losses >whole
losses --mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y >parts
grep -q loss whole && same "parts of its tensors" whole parts
run ckpt import "$theirs/t5" resumed/step_00000007; check "import as a checkpoint of a run" 0 out 'tensors'
run "${train[@]}" --checkpoint-dir resumed --resume --steps 8; check "resuming" 0 out 'resuming after step 7'
run ckpt show resumed global_step;      check "one step later" 0 out 'min 8, '

# ---- export --------------------------------------------------------------------------------------

run ckpt export model back --tensorflow; check "export" 0 out 'back: 128 tensors'
[ "$(ls back | tr '\n' ' ')" = 'checkpoint model.ckpt-7.data-00000-of-00001 model.ckpt-7.index operative_config.gin ' ] && pass ||
    lose "files of an export" "four" "$(ls back)"
printf 'model_checkpoint_path: "model.ckpt-7"\nall_model_checkpoint_paths: "model.ckpt-7"\n' >named
same "which is the newest" named back/checkpoint
run ckpt diff back "$theirs/t5";        check "there and back" 0 out '0 of 128 tensors differ'
run ckpt verify back;                   check "its sums" 0 out 'sound: 128 tensors'
run ckpt export transformers bare --tensorflow; check "export without a step" 0 out 'bare: 48 tensors'
run ckpt show bare global_step;         check "the original asks for one" 0 out 'min 0, max 0'
run ckpt export run trained --tensorflow; check "export of a training" 0 out 'trained: 128 tensors'
[ -f trained/model.ckpt-15.index ] && [ -f trained/operative_config.gin ] && pass || lose "its step" model.ckpt-15 "$(ls trained)"
run ckpt import trained again && run ckpt diff again run; check "a training there and back" 0 out '0 of 128 tensors differ'
run ckpt export types all-types --tensorflow && run ckpt diff all-types types; check "every type" 1 out '1 of 12 tensors differ'
run ckpt export model back --tensorflow; check "export onto something" 1 err '"back" already exists; give a new name, or --force'
run ckpt export model back --tensorflow --force; check "export --force" 0 out 'back: 128 tensors'
run ckpt export model run --tensorflow --force; check "export onto something else" 1 err '"run" already exists and is not a checkpoint'
run ckpt export model model --tensorflow --force; check "export onto itself" 2 err '"model" would replace "model", which is read'
run ckpt verify model;                  check "it is still there" 0 out 'sound'

# ---- what is wrong -------------------------------------------------------------------------------

damage() { rm -rf bad && cp -r "$theirs/$1" bad; }      # damage NAME: a copy to be damaged
broken() {                                              # broken NAME MESSAGE: neither import nor anything else takes it
    for words in "import bad made" "verify bad/$file"; do
        run ckpt $words; check "$1: ${words%% *}" 1 err "$2"
        [ ! -e made ] && pass || lose "$1: nothing is written" "no folder" "$(ls made)"
    done
}
file=model.ckpt-7
damage t5 && printf '\377' | dd of=bad/$file.data-00001-of-00002 bs=1 seek=5000 conv=notrunc status=none
broken "an element" 'is damaged: the sum over its elements is'
damage t5 && truncate -s -1 bad/$file.data-00001-of-00002
broken "a file cut short" 'data-00001-of-00002" is cut short: tensor "'
damage t5 && rm bad/$file.data-00000-of-00002
broken "a file that is not there" 'model.ckpt-7.data-00000-of-00002" cannot be opened: No such file'
damage t5 && printf '\377' | dd of=bad/$file.index bs=1 seek=100 conv=notrunc status=none
broken "the index" 'model.ckpt-7.index" is damaged: a block has another checksum'
damage t5 && truncate -s 1000 bad/$file.index
broken "half an index" 'is not the index of a checkpoint of TensorFlow: it lacks the mark at its end'
damage t5 && echo 'model_checkpoint_path: "model.ckpt-9"' >bad/checkpoint
run ckpt import bad made;                check "the newest is not there" 1 err 'bad/model.ckpt-9.index" cannot be opened'
damage t5 && echo 'model_checkpoint_path: "../../t5/model.ckpt-7"' >bad/checkpoint
run ckpt ls bad;                        check "only in its own folder" 0 out 'bad/model.ckpt-7.index'
damage t5 && rm bad/checkpoint
for step in 10 9; do for end in index data-00000-of-00002 data-00001-of-00002; do cp bad/$file.$end bad/model.ckpt-$step.$end; done; done
run ckpt ls bad;                        check "a folder that does not name the newest" 0 out 'bad/model.ckpt-10.index'
rm bad/*.index
run ckpt import bad made;                check "a folder without a checkpoint" 1 err 'bad/config.json" cannot be opened'
run ckpt import "$theirs/partitioned/both" made; check "a partitioned variable" 1 err 'variable "w" is partitioned, and kept as slices; save it whole'

printf 'bundles: %d passed, %d failed\n' $passed $failed
exit $((failed > 0))
