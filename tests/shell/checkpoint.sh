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
run ckpt diff one/step_00000001 one/step_00000020; check "diff" 1 out 'layer/w: 35 of 35 elements differ'
run ckpt convert one two --type all=bf16 --rename '^layer/(.*)=body/\1'
check "convert" 0 out 'two: 8 tensors'
run ckpt ls two;                  check "converted" 0 out 'body/w     bf16  [a=7, b=5]'
run ckpt convert two back.safetensors --type all=f32 --rename 'body=layer' --only 'body'
check "convert to a file" 0 out 'back.safetensors: 2 tensors'
run ckpt diff back.safetensors one; check "small whole numbers survive bf16" 1 out '6 of 8 tensors differ'
run ckpt convert one w.npy --only '^layer/w$'; check "convert to .npy" 0 out 'w.npy: 1 tensor'
run ckpt convert w.npy w.safetensors --rename '^w$=layer/w'; check "convert from .npy" 0 out 'w.safetensors: 1 tensor'
run ckpt diff w.safetensors one;  check "the array is the tensor" 1 out '7 of 8 tensors differ'
refuses "a .npy file of several" 'holds one tensor, and 8 were chosen' ckpt convert one all.npy
run ckpt convert one one;         check "convert onto itself" 1 err 'already exists'
refuses "convert to another step" '"moved/step_00000007" would have the checkpoint of step 20: its name should be step_00000020' \
    ckpt convert one moved/step_00000007
[ ! -e moved ] && pass || lose "nothing is written" "no folder" "$(ls moved)"
run ckpt convert one moved/step_00000020; check "convert to its own step" 0 out 'moved/step_00000020: 8 tensors'
run ckpt ls moved;                check "what was converted can be opened" 0 out 'moved/step_00000020'
run ckpt lst one;                 check "a misspelt word" 2 err 'mtf ckpt has no "lst"; did you mean "ls"?'
run ckpt diff one;                check "a word too few" 2 err 'write mtf ckpt diff A B'
run ckpt ls nowhere;              check "no such path" 1 err '"nowhere" cannot be opened: No such file or directory'

# ---- values of other types, names that were not meant for terminals --------------------------------

run ckpt convert one short.safetensors --type all=bf16 --only '^layer/w$'
run ckpt diff short.safetensors w.safetensors; check "diff of types, equal values" 1 out 'layer/w: bf16 against f32, with equal values'
run ckpt diff short.safetensors one/step_00000001; check "diff of types, other values" 1 out 'layer/w: bf16 against f32, 35 of 35 elements differ, by '
run ckpt diff short.safetensors short.safetensors --json; check "equal files as JSON" 0 out '"tensors":	[]'

file_of() {                             # file_of FILE HEADER BYTES: a safetensors file with so many zero bytes
    printf "\\x$(printf %02x ${#2})\\0\\0\\0\\0\\0\\0\\0%s" "$2" >"$1"
    head -c "$3" /dev/zero >>"$1"
}
file_of hostile.safetensors '{"a\u001b[31mred":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"dims:a\u001b[31mred":"d\u001b[0m"}}' 4
for words in "ls hostile.safetensors" "show hostile.safetensors a$(printf '\033')[31mred" "diff hostile.safetensors w.safetensors" "convert hostile.safetensors x.safetensors --type red=i32"; do
    run ckpt $words
    if grep -q "$(printf '\033')" out err || ! grep -qF 'x1b[31mred' out err; then lose "a name with an escape: $words" 'a\x1b[31mred' "$(cat -v out err)"; else pass; fi
done

# ---- published weights -----------------------------------------------------------------------------

published=$root/tests/reference/published
for model in t5 t5_1_1 mt5 gpt2 mixtral bert; do
    gin=(--gin $model.gin)
    [ $model = bert ] && gin=()
    run ckpt import "$published/$model" in-$model "${gin[@]}"; check "import $model" 0 out "in-$model: "
    run ckpt verify in-$model;          check "import $model: the checkpoint" 0 out 'sound'
    run ckpt export in-$model out-$model; check "export $model" 0 out "out-$model: "
    run ckpt diff out-$model/model.safetensors "$published/$model/model.safetensors"; check "$model there and back" 0 out '0 of '
    cmp -s out-$model/config.json "$published/$model/config.json" && pass || lose "export $model: config.json" "a copy" "$(ls out-$model)"
done
run ckpt ls in-mixtral;                 check "experts are one variable" 0 out 'transformer/block_001/layer_001/MoE1D/wi_0/kernel  ' '[experts=5, d_model=12, expert_hidden=20]'
run ckpt ls in-gpt2;                    check "variables have their names" 0 out 'transformer/block_001/layer_000/SelfAttention/q  '
cmp -s gpt2.gin in-gpt2/operative_config.gin && pass || lose "a configuration in the checkpoint" "$(cat gpt2.gin)" "$(ls in-gpt2)"
grep -qxF 'd_ff = 48' gpt2.gin && pass || lose "--gin" 'd_ff = 48' "$(cat gpt2.gin)"
# A config.json that describes another model with weights of the same shapes is refused; what only training knows is not.
contradicts() {                         # contradicts MODEL EDIT MESSAGE: sed's EDIT makes another config.json
    sed "$2" "$published/$1/config.json" >other.json
    run ckpt export in-$1 out-other --force --config other.json; check "export $1 with $2" 1 err "\"other.json\": $3 \"in-$1/operative_config.gin\""
}
contradicts mixtral 's/experts_per_tok": 2/experts_per_tok": 1/' '"num_experts_per_tok" is 1, but 2 in'
contradicts mixtral 's/experts_per_tok": 2/experts_per_tok": 3/' '"num_experts_per_tok" is 3, but 2 in'
contradicts mixtral 's/attention_heads": 6/attention_heads": 12/; s/head_dim": 4/head_dim": 2/; s/value_heads": 3/value_heads": 6/' '"num_attention_heads" is 12, but 6 in'
contradicts mixtral 's/rope_theta": 100.0/rope_theta": 10000.0/' '"rope_theta" is 10000, but 100 in'
contradicts mixtral '/rms_norm_eps/d; s/hidden_act": "silu"/hidden_act": "gelu"/' '"hidden_act" is "gelu", but "silu" in'
contradicts mixtral 's/rms_norm_eps": 1e-05/rms_norm_eps": 1e-06/' '"rms_norm_eps" is 1e-06, but 1e-05 in'
contradicts t5_1_1 's/gated-gelu/gated-silu/' '"feed_forward_proj" is "gated-silu", but "gated-gelu" in'
contradicts mt5 's/max_distance": 128/max_distance": 64/' '"relative_attention_max_distance" is 64, but 128 in'
contradicts gpt2 's/n_head": 3/n_head": 2/' '"n_head" is 2, but 3 in'
contradicts gpt2 's/layer_norm_epsilon": 1e-05/layer_norm_epsilon": 1e-06/' '"layer_norm_epsilon" is 1e-06, but 1e-05 in'
contradicts gpt2 '/activation_function/d; s/"scale_attn_weights": true/"scale_attn_weights": false/' '"scale_attn_weights" is false, but true in'
sed 's/pdrop": 0.0/pdrop": 0.1/; /activation_function/d' "$published/gpt2/config.json" >other.json
run ckpt export in-gpt2 out-other --config other.json; check "export with another dropout" 0 out 'out-other: '
sed 's/router_aux_loss_coef": 0.001/router_aux_loss_coef": 0.1/; s/output_router_logits": false/output_router_logits": true/' "$published/mixtral/config.json" >other.json
run ckpt export in-mixtral out-other --force --config other.json; check "export with another loss of experts" 0 out 'out-other: '

run ckpt import "$published/gpt2" in-gpt2; check "import onto something" 1 err '"in-gpt2" already exists; give a new name, or --force'
run ckpt import "$published/t5" in-gpt2 --force; check "import --force" 0 out 'in-gpt2: 47 tensors'
run ckpt export one out-one;            check "export without a configuration" 1 err 'give its config.json with --config'
run ckpt export one out-one --config "$published/t5/config.json"; check "export of another model" 1 err '47 missing: shared/embedding [60,12], '
run ckpt import "$published" in-none;   check "import without a configuration" 1 err 'published/config.json" cannot be opened'
run ckpt import w.npy in-none;          check "import of an array" 1 err 'w.npy/config.json" cannot be opened'

# Norms of T5 1.0 have the original's first names, as its configurations want it; export finds the others, too.
run ckpt convert in-t5 later-t5 --rename '(layer_00[0-9])/layer_norm=\1/rms_norm' --rename 'coder/final_layer_norm=coder/rms_norm'
run ckpt export later-t5 out-later;     check "export of the original's later names" 0 out 'out-later: 47 tensors'
run ckpt diff out-later/model.safetensors out-t5/model.safetensors; check "the same weights" 0 out '0 of 47'
# The vocabulary beside the weights is taken as well; a model's table may be larger.
cp -r "$published/gpt2" with-words && cp "$root"/tests/text/pairs/{vocab.json,merges.txt} with-words
run ckpt import with-words in-words --gin words.gin
grep -qxF "Gpt2Vocabulary.directory = '$(realpath with-words)'" words.gin && pass ||
    lose "the vocabulary of a folder" "Gpt2Vocabulary.directory" "$(cat words.gin out err)"
seq 40 >few
run score in-t5 --vocabulary words:few --targets few --inputs few --threads 1
check "a vocabulary smaller than the table" 0 out "-"
cat >sizes.gin <<'END'
num_layers = 2
d_model = 12
d_ff = 20
d_kv = 6
num_heads = 3
get_variable_dtype.activation_dtype = 'float32'
make_bitransformer.input_vocab_size = 60
make_bitransformer.output_vocab_size = 60
Unitransformer.vocab_divisor = 1
END
seq 57 >words
for model in t5:t5_small:32 t5_1_1:t5_1_1_small:8; do
    IFS=: read -r name preset buckets <<<"$model"
    for how in "" "--gin_file $preset --gin_file sizes.gin --gin_param SelfAttention.relative_attention_num_buckets=$buckets"; do
        run score in-$name $how --vocabulary words:words --targets words --inputs words --threads 1
        check "score with $name, configured by ${how:-its folder}" 0 out "-"
        cp out scores-${how:+preset}
    done
    cmp -s scores- scores-preset && pass || lose "$name: a preset and its own configuration" "$(head -3 scores-)" "$(head -3 scores-preset)"
done

# A head of its own that is a copy of the embedding is none; one that differs is used, whatever config.json says.
ours=$published/t5/model.safetensors
mkdir copies && cp "$published/t5/config.json" copies/ && cp "$ours" copies/model-00001-of-00002.safetensors
for name in lm_head encoder.embed_tokens; do
    run ckpt convert "$ours" copies/more.safetensors --force --only '^shared' --rename "shared=$name"
    run ckpt import copies in-copies --force; check "a copy: $name" 0 err "mtf: note: not needed: $name.weight (a copy of shared.weight)"
done
run ckpt convert "$published/t5_1_1/model.safetensors" copies/more.safetensors --force --only '^shared' --rename 'shared=decoder.embed_tokens'
run ckpt import copies in-copies --force; check "two embeddings" 1 err '"decoder.embed_tokens.weight" differs from "shared.weight"; mtf has one table for both'
run ckpt convert "$published/t5_1_1/model.safetensors" copies/more.safetensors --force --only '^lm_head'
run ckpt import copies in-copies --force; check "a scaled head" 1 err 'has a "lm_head.weight" of its own, but config.json asks for logits divided by sqrt(d_model)'
cp "$published/gpt2/config.json" copies && rm copies/*.safetensors && cp "$published/gpt2/model.safetensors" copies/model-00001-of-00002.safetensors
run ckpt convert "$published/t5_1_1/model.safetensors" copies/more.safetensors --force --only '^lm_head'
run ckpt import copies in-copies --force; check "a head of GPT-2" 0 out 'in-copies: 37 tensors'
run ckpt export in-copies out-copies;    check "a head of GPT-2 goes back" 0 out 'out-copies: 29 tensors'

# As the first files of GPT-2 have it: no word before the names, masks among the weights, half the width.
mkdir old && cp "$published/gpt2/config.json" old
run ckpt convert "$published/gpt2/model.safetensors" old/model.safetensors --rename '^transformer\.=' --type all=bf16
run ckpt import old in-old;             check "import of an older file" 0 out 'in-old: 36 tensors'
run ckpt ls in-old;                     check "elements keep their type" 0 out 'transformer/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_scale                      bf16'
# As the first files of BERT have it, and as models without heads: norms with gamma and beta, no word before names.
mkdir first
run ckpt convert "$published/bert/model.safetensors" first/bert.safetensors --rename 'LayerNorm\.weight=LayerNorm.gamma' \
    --rename 'LayerNorm\.bias=LayerNorm.beta'
run ckpt import first/bert.safetensors in-first --config "$published/bert/config.json"; check "the first BERT's names" 0 out 'in-first: 46 tensors'
run ckpt diff in-first in-bert;         check "the same BERT" 0 out '0 of 46'
run ckpt convert "$published/bert/model.safetensors" first/encoder.safetensors --only '^bert\.(emb|enc)' --rename '^bert\.='
run ckpt import first/encoder.safetensors in-encoder --config "$published/bert/config.json"; check "an encoder alone" 0 out 'in-encoder: 37 tensors'
run ckpt export in-encoder out-encoder; check "an encoder goes back" 0 out 'out-encoder: 37 tensors'
run ckpt import "$published/bert" in-gin --gin none.gin; check "a gin file of a BERT" 2 err 'described by its config.json, not by a gin file'
# Half the width: weights are widened when they are loaded; what is converted still has its configuration.
run score in-old --vocabulary words:words --targets words --threads 1; check "score with bf16 weights" 0 out "-"
run decode in-old --vocabulary words:words --inputs words --max-tokens 2 --threads 1; check "decode with bf16 weights" 0 out " "
cp out answers
run eval in-old --vocabulary words:words --eval-text words --threads 1; check "eval with bf16 weights" 0 out "perplexity"
run ckpt convert in-old in-wide --type all=f32; check "convert an imported model" 0 out "in-wide: 36"
run decode in-wide --vocabulary words:words --inputs words --max-tokens 2 --threads 1; check "decode what was converted" 0 out " "
cmp -s out answers && pass || lose "the same answers" "$(head -3 answers)" "$(head -3 out)"
mkdir trained && cp in-old/operative_config.gin trained && cp -r in-old trained/step_00000000 && rm trained/step_00000000/operative_config.gin
run ckpt convert trained in-again --type all=f32; check "convert a checkpoint of several" 0 out "in-again: 36"
cmp -s in-again/operative_config.gin gpt2.gin && pass || lose "its configuration" "a copy" "$(ls in-again)"
file_of old/extra.safetensors '{"h.0.attn.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' 4
run ckpt import old in-old --force;     check "other files beside the usual one" 0 out 'in-old: 36 tensors'
mv old/model.safetensors old/model-00001-of-00002.safetensors
run ckpt import old in-old --force;     check "several files, and a mask" 0 out 'in-old: 36 tensors'
check "a mask is named" 0 err 'mtf: note: not needed: h.0.attn.bias (a mask)'
file_of old/more.safetensors '{"h.0.attn.rotary":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' 4
run ckpt import old in-old --force;     check "a weight that the model lacks" 1 err '1 unknown: h.0.attn.rotary [1]'

# ---- what convert does not do --------------------------------------------------------------------

untouched() {                           # untouched NAME FILE TEXT WORDS...: refused, and the folder is as it was
    local before sum
    before=$(find . -not -name out -not -name err | sort | cksum) sum=$(cksum <"$2")
    refuses "$1" "$3" ckpt "${@:4}"
    [ "$before $sum" = "$(find . -not -name out -not -name err | sort | cksum) $(cksum <"$2")" ] && pass || lose "$1: nothing is left" "as before" "$(ls -A)"
}
untouched "floats to integers"   w.npy '--type all=i32: tensor "turned" is f64 and cannot become i32'     convert one ints --type all=i32
untouched "integers to floats"   w.npy '--type ^count$=f32: tensor "count" is i64 and cannot become f32' convert one ints --type '^count$=f32'
untouched "no such type"         w.npy 'there is no element type "f33"'                    convert one ints --type all=f33
untouched "a type for nobody"    w.npy '--type zebra=f32: the pattern matches no name'     convert one ints --type zebra=f32
untouched "a new name for nobody" w.npy '--rename zebra=x: the pattern matches no name'    convert one ints --rename zebra=x
untouched "one name for two"     w.npy 'two tensors would have the name "same"'               convert one ints --rename '.*=same'
untouched "another's format"     w.npy 'but no .npz files'                                 convert one w.npz
untouched "a .npy file is there" w.npy '"w.npy" already exists; give a new name, or --force' convert one w.npy --only '^half$'
untouched "a file is there"      w.safetensors '"w.safetensors" already exists; give a new name, or --force' convert one w.safetensors
untouched "a checkpoint is there" two/manifest.json '"two" already exists; give a new name, or --force' convert one two
untouched "a folder that is not a checkpoint" one/step_00000001/manifest.json '"one" already exists and is not a checkpoint' convert two one --force
run ckpt convert one two --force;  check "a checkpoint is replaced" 0 out 'two: 8 tensors'
run ckpt diff one two;             check "by the new one" 0 out '0 of 8 tensors differ'
run ckpt convert one w.npy --only '^half$' --force; check "a file is replaced" 0 out 'w.npy: 1 tensor'
if [ -z "$(find . -name '*.part')" ]; then pass; else lose "convert leaves nothing" "no .part" "$(find . -name '*.part')"; fi
file_of large.safetensors '{"x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}' 7
printf '\001' >>large.safetensors        # 2^56
untouched "an integer out of range" w.npy 'tensor "x" has the element 7.20575940379279e+16, which is out of the range of i32' convert large.safetensors small.safetensors --type x=i32
untouched "the same in a checkpoint" w.npy 'out of the range of i32'                       convert large.safetensors small --type x=i32

# ---- damage --------------------------------------------------------------------------------------

"$exchange" save many 1 '' '' >/dev/null && "$exchange" save many 2 '' '' >/dev/null && "$exchange" save many 3 '' '' >/dev/null
rm many/step_00000001/manifest.json
truncate -s -1 many/step_00000002/weights-00001-of-00001.safetensors
run ckpt verify many
check "verify looks at all: the third" 1 out 'many/step_00000003: sound' 'many/step_00000001: damaged: "many/step_00000001/manifest.json" cannot be opened'
check "verify counts" 1 err '2 of the 3 checkpoints in "many" are damaged; in the newest "many/step_00000002/weights-00001-of-00001.safetensors" has'
run ckpt verify many --json;      check "verify as JSON" 1 out '"sound":	true' '"error":	"\"many/step_00000001/manifest.json\" cannot be opened'
run ckpt ls many;                 check "ls looks at all" 0 out '-  many/step_00000002: damaged: ' 'B  many/step_00000003' '-  many/step_00000001: damaged: '
run ckpt verify many/step_00000001; check "no manifest" 1 err '"many/step_00000001/manifest.json" cannot be opened: No such file or directory'
mv many/step_00000001 renamed
run ckpt verify renamed;          check "no manifest under another name" 1 err '"renamed/manifest.json" is missing'
run ckpt diff renamed/weights-00001-of-00001.safetensors many/step_00000003 --json; check "its file can be read by itself" 1 out '"tensors"'
run ckpt show w.safetensors x;    check "the file, not its folder" 1 err '"w.safetensors" has no tensor "x"'
printf 'x' | dd of=one/step_00000020/weights-00001-of-00001.safetensors bs=1 seek=1500 conv=notrunc 2>/dev/null
run ckpt verify one;              check "verify finds damage" 1 err 'is damaged: the sum over its elements is'

# ---- resuming ------------------------------------------------------------------------------------

net() {                                 # net FILE BATCH DIMS: a model of two variables
    cat >"$1" <<END
x: f32[batch=$2] = input
w: f32[$3] = variable
v: f32[b=3] = variable
y: [batch, a, b] = einsum(x, w, v)
loss = reduce_mean(square(y - x))
END
}
net net.mtf 4 'a=2, b=3'
net wide.mtf 5 'a=2, b=3'
net turned.mtf 4 'b=3, a=2'
seq 1 20 >x.tsv
seq 2 21 >y.tsv
seq 1 22 >z.tsv
data=(--data x=x.tsv:part=0 --threads 1)
resumed=(train net.mtf "${data[@]}" --checkpoint-dir run --resume --optimizer adam)

run train net.mtf "${data[@]}" --steps 6 --checkpoint-dir run --save-every 2 --optimizer adam
check "a training" 0 out "step 6 of 6"
[ -z "$(find run -name '.*')" ] && pass || lose "nothing hidden is left" "" "$(find run -name '.*')"
cp -r run whole
misused "variables that are not there" 'variables of this model and its optimizer, such as "' \
    "${resumed[@]}" --average 0.9 --steps 8
refuses "a step that is not there" '"run" has no checkpoint of step 5; the first is of step 2, the last of step 6' \
    eval net.mtf --checkpoint-dir run --eval-checkpoints 5 --eval-data x=x.tsv:part=0
refuses "another optimizer"  'was made with the optimizer adam, and this run has sgd; resume with the same, or say --resume-anyway' \
    train net.mtf "${data[@]}" --checkpoint-dir run --resume --optimizer sgd --steps 8
refuses "another batch size" '"run/step_00000006" was made with batches of 4 examples, and this run has batches of 5' \
    train wide.mtf "${data[@]}" --checkpoint-dir run --resume --optimizer adam --steps 8
refuses "more examples"      'was made with other data, of 20 examples, and this run has 22' \
    train net.mtf --data x=z.tsv:part=0 --checkpoint-dir run --resume --optimizer adam --steps 8
refuses "other examples"     '"run/step_00000006" was made with other data; ' \
    train net.mtf --data x=y.tsv:part=0 --checkpoint-dir run --resume --optimizer adam --steps 8
refuses "another seed"       'was made with another seed; resume with --seed 0 (this run has seed 7)' "${resumed[@]}" --steps 8 --seed 7
sed '/^v: /d; s/, v)/)/' net.mtf >less.mtf
refuses "another model"      '"run/step_00000006" has 3 variables that this model and its optimizer lack, such as "v"' \
    train less.mtf "${data[@]}" --checkpoint-dir run --resume --optimizer adam --steps 8
sed 's/square(/relu(/' net.mtf >other.mtf
refuses "another model of the same shapes" \
    '"run/step_00000006" was made with another model: 1 square there, none here; no relu there, 1 here; resume with the same, or say --resume-anyway' \
    train other.mtf "${data[@]}" --checkpoint-dir run --resume --optimizer adam --steps 8
sed 's/square(y - x)/square(x - y)/' net.mtf >other.mtf
refuses "the same operations otherwise" 'was made with another model: the same operations, connected otherwise' \
    train other.mtf "${data[@]}" --checkpoint-dir run --resume --optimizer adam --steps 8
refuses "another order" 'was made with examples shuffled, and this run has them in the order of the files; resume with the same' \
    "${resumed[@]}" --steps 8 --no-shuffle
while read -r option text; do
    refuses "another --$option" "was made with $text; resume with the same, or say --resume-anyway" "${resumed[@]}" --steps 8 --${option/ /=}
done <<'LIST'
beta1=0.8 --beta1 0.9, and this run has 0.8
epsilon=1e-6 --epsilon 1e-08, and this run has 1e-06
weight-decay=0.5 --weight-decay none, and this run has 0.5
no-decay=w --no-decay none, and this run has w
clip-norm=2 --clip-norm none, and this run has 2
rate=0.5 --rate the optimizer's own, and this run has 0.5
dtype=f64 --dtype f32, and this run has f64
LIST
sed 's/^y: /z: /; s/(y - x)/(z - x)/' net.mtf >other.mtf     # names of tensors are no part of a model
for same in "net.mtf --beta1 0.9" "net.mtf --mesh x:2 --layout batch:x" "net.mtf --microbatches 2" "other.mtf --profile" "net.mtf --device check"; do
    rm -rf same && cp -r run same
    run train $same "${data[@]}" --checkpoint-dir same --resume --optimizer adam --steps 8
    check "what may differ: $same" 0 out "resuming after step 6"
done
run train toy --hidden 8 --batch 6 --threads 1 --steps 2 --checkpoint-dir toys
refuses "another batch of examples that the model makes" '"toys/step_00000002" was made with batches of 6 examples, and this run has batches of 8' \
    train toy --hidden 8 --batch 8 --threads 1 --steps 4 --checkpoint-dir toys --resume
if diff -r run whole >out; then pass; else lose "what is refused changes nothing" "" "$(cat out)"; fi

cp -r whole anyway
run train wide.mtf "${data[@]}" --checkpoint-dir anyway --resume-anyway --optimizer momentum --steps 8
check "with a word" 0 out 'loaded 3 of 5 variables from "anyway/step_00000006"; not found: "w_momentum_v", "v_momentum_v"' "resuming after step 6" "step 8 of 8"
run ckpt ls anyway --json
check "the same examples are other batches" 0 out '"position":	6'    # 6 batches of 4 are 4 of 5, and two more

# ---- renamed checkpoints -------------------------------------------------------------------------

run train net.mtf "${data[@]}" --steps 6 --checkpoint-dir renamed --save-every 2 --optimizer adam
mv renamed/step_00000006 renamed/step_00000020
wrong='"renamed/step_00000020" has the checkpoint of step 6, as its manifest.json says: its name should be step_00000006'
run ckpt ls renamed;                         check "ls of a renamed one" 0 out "-  renamed/step_00000020: damaged: $wrong" "B  renamed/step_00000004"
run ckpt verify renamed;                     check "verify of a renamed one" 1 err "1 of the 3 checkpoints in \"renamed\" is damaged; in the newest $wrong"
refuses "the renamed one alone" "$wrong" ckpt verify renamed/step_00000020
refuses "what it has" "$wrong" ckpt ls renamed/step_00000020
refuses "resuming from a renamed one" "$wrong" "${resumed[@]/run/renamed}" --steps 8
mv renamed/step_00000020 renamed/best        # a name that says no step
run ckpt verify renamed/best;                check "another name" 0 out "renamed/best: sound"
run ckpt ls renamed/best;                    check "what that has" 0 out "in 1 file: renamed/best"
run ckpt ls renamed
if grep -q best out; then lose "another name is not a step" "steps 2 and 4" "$(cat out)"; else pass; fi
run "${resumed[@]/run/renamed}" --steps 8;   check "nor is it for a training" 0 out "resuming after step 4"

# ---- damaged checkpoints are skipped ---------------------------------------------------------------

printf x | dd of=run/step_00000006/weights-00001-of-00001.safetensors bs=1 seek=700 conv=notrunc 2>/dev/null
rm run/step_00000004/manifest.json
run "${resumed[@]}" --steps 8
check "the newest undamaged one" 0 out 'skipping step 6, which is damaged: "run/step_00000006/weights-00001-of-00001.safetensors": tensor "' \
    'skipping step 4, which is damaged: "run/step_00000004/manifest.json" cannot be opened: No such file or directory' \
    "resuming after step 2" "step 8 of 8"
rm -rf quiet && cp -r whole quiet && truncate -s -1 quiet/step_00000006/manifest.json
run "${resumed[@]/run/quiet}" --steps 8 --quiet
check "also where nothing is shown" 0 err 'skipping step 6, which is damaged: "quiet/step_00000006/manifest.json"'
run "${resumed[@]/run/whole}" --steps 8
run ckpt diff run whole;           check "it comes to the same end" 0 out '0 of 7 tensors differ'
rm -r run && cp -r whole run
for step in 2 4 6 8; do truncate -s -1 run/step_0000000$step/manifest.json; done
refuses "all are damaged" '"run" has no undamaged checkpoint to resume from; in the newest "run/step_00000008/manifest.json" is cut short' "${resumed[@]}" --steps 9
chmod 0 whole/step_00000008/manifest.json
if [ "$(id -u)" != 0 ]; then refuses "one that may not be read is not damaged" 'Permission denied' "${resumed[@]/run/whole}" --steps 9; fi
chmod 644 whole/step_00000008/manifest.json

# ---- variables of another model ------------------------------------------------------------------

from=(train net.mtf "${data[@]}" --steps 1 --optimizer adam --init-from)
run "${from[@]}" whole;            check "trainable variables" 0 out 'loaded 2 of 2 variables of the model from "whole/step_00000008"'
run "${from[@]}" whole --init-all; check "all variables" 0 out 'loaded 7 of 7 variables from "whole/step_00000008"'
cat >fixed.mtf <<'END'
x: f32[batch=2, a=3] = input
w: f32[a=3] = variable()
table: f32[a=3] = variable(init="normal(0, 1)", trainable=false)
n: f32[] = variable(init="zeros", trainable=false)
n2 = assign(n, n + 1)
y = x * w
z = y * table
loss = reduce_mean(z * z)
END
echo 'x: f32[example=4, a=3] = random_uniform(low=-1, high=1, key=9)' >fixed_data.mtf
run run fixed_data.mtf --fetch x=fixed.npy && run train fixed.mtf --data x=fixed.npy --steps 3 --checkpoint-dir fixed
run train fixed.mtf --data x=fixed.npy --steps 0 --seed 5 --init-from fixed --checkpoint-dir refixed
check "what the loss of a file reads, not its counter" 0 out 'loaded 2 of 2 variables of the model from "fixed/step_00000003"'
run ckpt diff fixed refixed;       check "the fixed table is loaded, the counter is not" 1 out 'n: 1 of 1 elements differ'
if grep -q '^table' out; then lose "the fixed table is loaded" "no difference" "$(cat out)"; else pass; fi
run "${from[@]}" whole --init-only v; check "some" 0 out 'loaded 1 of 1 variable of the model from'
run ckpt convert whole other.safetensors --only '^[wv]$' --rename '^w$=layer/w'
run "${from[@]}" other.safetensors; check "one is not found" 0 out 'loaded 1 of 2 variables of the model from "other.safetensors"; not found: "w"'
run "${from[@]}" other.safetensors --init-rename '^w$=layer/w'; check "renamed" 0 out 'loaded 2 of 2 variables of the model'
refuses "a rename of nothing" 'nothing is renamed by "^u$=w": the pattern matches the name of none of the 2 variables' "${from[@]}" whole --init-rename '^u$=w'
refuses "nothing of that name" 'no variable of the model has a name that "global" matches' "${from[@]}" whole --init-only global
refuses "the file has none"   '"w.npy" is not a safetensors file'       "${from[@]}" w.npy
refuses "none of them"        '"hostile.safetensors" has none of the 2 variables' "${from[@]}" hostile.safetensors
run ckpt convert whole short --type all=bf16
refuses "another type"        '"short/weights-00001-of-00001.safetensors": tensor "w" is bf16, but the variable "w" is kept as f32; ask for a conversion (--init-convert)' \
    "${from[@]}" short
run "${from[@]}" short --init-convert; check "converted" 0 out 'loaded 2 of 2 variables of the model'
refuses "about --init-from"   'are about --init-from: add it' train net.mtf "${data[@]}" --steps 1 --init-convert

# The same named dimensions in another order: the loss of the first step tells whether all came to its place.
first() { "$MTF" train "$1" "${data[@]}" --steps 1 --optimizer adam --init-from whole --json "${@:2}" 2>err | head -n 1; }
for where in "" "--mesh x:2 --layout a:x" "--mesh x:2,y:3 --layout a:x,b:y"; do
    straight=$(first net.mtf $where) got=$(first turned.mtf $where)
    if [ "${got#*loss\":}" = "${straight#*loss\":}" ] && [ -n "$got" ]; then pass; else lose "transposed, $where" "$straight" "$got $(cat err)"; fi
done

# ---- locks ---------------------------------------------------------------------------------------

long=(train net.mtf "${data[@]}" --steps 1000000000 --optimizer adam --checkpoint-dir locked --quiet)
"$MTF" "${long[@]}" >first.out 2>first.err </dev/null &
job=$!
for _ in $(seq 100); do [ -s locked/.lock ] && break; sleep 0.05; done
refuses "a second training" "\"locked\" is in use by another training, process $job on host $(hostname)" "${long[@]}"
refuses "which would resume" "process $job on host" "${long[@]}" --resume
on_ranks=(timeout -k 5 200 "${launcher[@]}" -n 2 "$MTF" train net.mtf "${data[@]}" --steps 1000000000 --optimizer adam --quiet
    --mesh x:2 --layout batch:x --checkpoint-dir)
second_on_ranks() {                     # second_on_ranks NAME FOLDER: it ends, says so once, and so do all its ranks
    "${on_ranks[@]}" "$2" >out 2>err </dev/null
    status=$?
    check "$1" 1 err "\"$2\" is in use by another training, process"
    if [ "$(grep -c "process $(sed -n 's/^process //p' "$2/.lock") on host" err)" = 1 ]; then pass
    else lose "$1" "said once" "$(head -c 900 err)"; fi
}
[ -n "$without_ranks" ] || second_on_ranks "a second one on ranks" locked
{ kill -KILL $job; wait $job; } 2>/dev/null
[ -s locked/.lock ] && pass || lose "a killed run leaves its lock" locked/.lock "$(ls -A locked)"
run train net.mtf "${data[@]}" --steps 3 --optimizer adam --checkpoint-dir locked
check "a stale lock is taken over" 0 out "took over \"locked\" from process $job on host $(hostname), which has ended" "step 3 of 3"
[ -e locked/.lock ] && lose "a lock that has ended" "no .lock" "$(ls -A locked)" || pass
if [ -z "$without_ranks" ]; then
    "${on_ranks[@]}" ranked >first.out 2>first.err </dev/null &
    job=$!
    for _ in $(seq 100); do [ -s ranked/.lock ] && break; sleep 0.05; done
    second_on_ranks "both on ranks" ranked
    lives $job && pass || lose "the first one goes on" "a process" "$(cat first.err)"
    { kill $job; wait $job; } 2>/dev/null
fi
if unshare --uts hostname elsewhere 2>/dev/null; then
    unshare --uts bash -c 'hostname elsewhere; exec "$@"' - "$MTF" "${long[@]}" --resume >first.out 2>first.err </dev/null &
    job=$!
    for _ in $(seq 100); do grep -q elsewhere locked/.lock 2>/dev/null && break; sleep 0.05; done
    refuses "a training of another host" "process $job on host elsewhere" "${long[@]}" --resume
    { kill -KILL $job; wait $job; } 2>/dev/null
    rm -f locked/.lock
fi
printf 'process 1\nhost elsewhere\nbegan 5\n' >locked/.lock
run train net.mtf "${data[@]}" --steps 4 --optimizer adam --checkpoint-dir locked --resume
check "another host's, whose process has let go" 0 out "took over \"locked\" from process 1 on host elsewhere"
printf 'process \033[31m\n' >locked/.lock
run train net.mtf "${data[@]}" --steps 5 --optimizer adam --checkpoint-dir locked --resume
check "a lock that says nothing" 0 out "step 5 of 5"
"$MTF" "${resumed[@]/run/whole}" --steps 9 >/dev/null 2>&1
if [ -z "$without_ranks" ]; then
    ranks=("${launcher[@]}" -n 2 "$MTF" "${resumed[@]/run/whole}" --mesh x:2 --layout batch:x)
    "${ranks[@]}" --steps 12 >out 2>err </dev/null
    [ "$(grep -c 'resuming after step 9' out)" = 1 ] && pass || lose "ranks resume" "said once" "$(cat out err)"
    truncate -s -1 whole/step_00000012/manifest.json
    "${ranks[@]}" --steps 13 >out 2>err </dev/null
    [ "$(grep -c 'skipping step 12' out),$(grep -c 'resuming after step 9' out)" = 1,1 ] && pass || lose "ranks pass over" "said once" "$(cat out err)"
    "${ranks[@]}" --steps 14 --seed 3 >out 2>err </dev/null
    [ "$(grep -c 'resume with --seed 0' err)" = 1 ] && pass || lose "another seed on ranks" "said once" "$(cat out err)"
    [ -z "$(find whole -name '.*')" ] && pass || lose "ranks leave no lock" "" "$(find whole -name '.*')"
fi

# ---- files of the reference writer ---------------------------------------------------------------

run ckpt ls "$theirs";            check "theirs: ls" 0 out 'model.weight  f32   [d0=2, d1=3]'
run ckpt show "$theirs" model.weight; check "theirs: show" 0 out '6 elements: min -2.5, max 2.5, mean 0, norm '
run ckpt verify "$theirs";        check "theirs: verify" 0 out 'it has no sums to compare with'

# ---- ranks ---------------------------------------------------------------------------------------

if [ -n "$without_ranks" ]; then
    echo "note: $without_ranks"
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
