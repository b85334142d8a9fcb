#!/bin/bash
# Tests what is said of wrong values: in configuration files, with file and line, and in options.
#
# Usage: MTF=path/to/mtf tests/shell/wrong_values.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "wrong_values.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

cat >small.gin <<'END'
include 'lm_base.gin'
num_layers = 2
d_model = 32
d_ff = 64
num_heads = 4
d_kv = 8
max_length = 32
run.sequence_length = {'targets': 32}
run.batch_size = ('sequences_per_batch', 8)
run.learning_rate_schedule = 0.01
END
sed 's/lm_base/bi_base/; s/32}/8, "inputs": 8}/' small.gin >pair.gin
head -c 20000 "$root/data/text/moby-dick.txt" >book.txt
printf 'a b\tA B\nc d\tC D\ne f\tE F\ng h\tG H\ni j\tI J\nk l\tK L\nm n\tM N\no p\tO P\n' >pairs.tsv
book=book.txt:documents=file:joined

# ---- attributes of operations ----------------------------------------------------------------------

zero() {                                # zero TEXT EXPRESSION: of images x and a filter f
    printf 'x: f32[n=2, h=8, w=8, c=4] = random_normal\nf: f32[fh=3, fw=3, c=4, o=4] = random_normal\ny = %s\n' "$2" >zero.mtf
    refuses "$2" "$1" run zero.mtf --fetch y
}
for op in conv2d conv2d_transpose; do
    zero "$op: stride has a 0; its numbers are 1 or more" "$op(x, f, stride=(0, 1))"
    zero "$op: dilation has a 0; its numbers are 1 or more" "$op(x, f, dilation=(1, 0))"
    zero "$op: groups is 0; it must be 1 or more" "$op(x, f, groups=0)"
done
zero "max_pool: stride has a 0; its numbers are 1 or more" 'max_pool(x, window=(2, 2), stride=(2, 0))'

# ---- numbers of a configuration --------------------------------------------------------------------

wrong() {                               # wrong TEXT LINE...: a file of these lines, after small.gin
    { echo "include 'small.gin'"; printf '%s\n' "${@:2}"; } >wrong.gin
    refuses "$2" "wrong.gin:$1" train --gin_file wrong.gin --text $book --steps 1
}
share="takes a number from 0 to below 1, not"
wrong "2:16: sublayer_dropout.dropout_rate $share 1.5" 'dropout_rate = 1.5'
wrong "2:30: SelfAttention.dropout_rate $share -0.1" 'SelfAttention.dropout_rate = -0.1'
wrong "2:33: sublayer_dropout.dropout_rate $share 1" 'sublayer_dropout.dropout_rate = 1'
wrong "3:27: LayerStack.dropout_rate $share 1.0" 'LayerStack.norm_epsilon = 1e-6' 'LayerStack.dropout_rate = 1.0'
wrong "2:34: Unitransformer.label_smoothing $share 1.0" 'Unitransformer.label_smoothing = 1.0'
wrong "2:37: Unitransformer.token_dropout_rate $share 1.0" 'Unitransformer.token_dropout_rate = 1.0'
least="takes a number of 0 or more, not"
wrong "2:25: Unitransformer.z_loss $least -1" 'Unitransformer.z_loss = -1'
wrong "2:35: Unitransformer.loss_denominator takes a number above 0, not -3" 'Unitransformer.loss_denominator = -3'
wrong "2:29: Unitransformer.loss_block takes a whole number from 1 on, not 0" 'Unitransformer.loss_block = 0'
wrong "2:34: SelfAttention.num_memory_heads: 3 memory heads do not divide 4 heads" 'SelfAttention.num_memory_heads = 3'
wrong '2:29: DenseReluDense.activation: there is no "reluu"; did you mean "relu"?' "DenseReluDense.activation = 'reluu'"
wrong '2:38: DenseReluDense.activation: there is no "lnear"; did you mean "linear"?' "DenseReluDense.activation = ['gelu', 'lnear']"
wrong "2:30: a factor of a learning rate must not be negative, as -0.1 is" 'run.learning_rate_schedule = -0.1'
wrong "2:34: a factor of a learning rate must not be negative, as -2 is" 'run.learning_rate_schedule = [1, -2]'
wrong "3:18: constant.value $least -0.1" 'run.learning_rate_schedule = [1, @constant]' 'constant.value = -0.1'
wrong "3:40: constant_learning_rate.learning_rate $least -1" 'run.learning_rate_schedule = @constant_learning_rate' \
    'constant_learning_rate.learning_rate = -1'

# ---- sizes beyond any use --------------------------------------------------------------------------

# Each is told before the work begins, which would take hours and all memory.
beyond() {                              # beyond NAME TEXT PARAMETER...
    local name=$1 text=$2 parameters=()
    shift 2
    for parameter; do parameters+=(--gin_param "$parameter"); done
    refuses "$name" "$text" plan --gin_file small.gin "${parameters[@]}"
}
times="takes a whole number from 1 to 999, not"
beyond "a billion blocks" "make_layer_stack.num_layers $times 1000000000" num_layers=1000000000
for parameter in num_rec_steps num_inrecurrence_layers num_vanilla_transformer_layers act_max_steps; do
    beyond $parameter "UTLayerStack.$parameter $times 1000000000" make_layer_stack.layer_stack_cls=@UTLayerStack \
        UTLayerStack.$parameter=1000000000
done
beyond "iterations of iterations" "transformer: 1996002 blocks, each pass counted, are more than 9999" \
    make_layer_stack.layer_stack_cls=@UTLayerStack UTLayerStack.num_rec_steps=999 UTLayerStack.num_inrecurrence_layers=999
beyond "a long filter" "Conv1DLayer.filter_size is 10000000; it may be 4096 at most" \
    'make_layer_stack.layers=[@Conv1DLayer]' Conv1DLayer.filter_size=10000000
for class in SeparableConv1DLayer DynamicConv1DLocalAttn; do
    beyond "far positions of $class" "$class.min_relative_pos takes a whole number from -4096 to 4096, or None" \
        "make_layer_stack.layers=[@$class]" $class.min_relative_pos=-1000000000
done
misused "a billion layers of toy" "--layers 1000000000 is more than 9999" plan toy --layers 1000000000
shared=(plan --gin_file small.gin --gin_param "SelfAttention.relative_attention_type='bias_shared'")
run "${shared[@]}" --gin_param SelfAttention.relative_attention_max_distance=1000
cp out near_plan
run "${shared[@]}" --gin_param SelfAttention.relative_attention_max_distance=1000000
if [ $status = 0 ] && [ -s near_plan ] && cmp -s near_plan out; then pass
else lose "distances that do not occur cost nothing" "the same plan" "$(diff near_plan out) $(cat err)"; fi

# ---- sampling --------------------------------------------------------------------------------------

train() { run train --text $book --json --threads 1 "$@"; }
train --gin_file small.gin --steps 1 --checkpoint-dir model
check "a model" 0 out '"step":1'
printf 'Call me\nSome years\n' >prompts
sample() { run decode model --inputs prompts --max-tokens 20 --gin_param "sample_autoregressive.temperature = 1.0" "$@"; }
run decode model --inputs prompts --max-tokens 20
cp out greedy
sample
cp out sampled
sample --gin_param "sample_autoregressive.sampling_keep_top_p = 0.0"
if [ $status = 0 ] && cmp -s out greedy && ! cmp -s greedy sampled; then pass
else lose "a total probability of 0 keeps the likeliest token" "$(cat greedy)" "$(cat out err)"; fi
for value in None 1.0; do
    sample --gin_param "sample_autoregressive.sampling_keep_top_p = $value"
    if [ $status = 0 ] && cmp -s out sampled; then pass; else lose "top_p $value" "$(cat sampled)" "$(cat out err)"; fi
done
refuses "too large a total probability" \
    '--gin_param "sample_autoregressive.sampling_keep_top_p = 1.5": sampling_keep_top_p takes None or a number from 0 to 1, not 1.5' \
    decode model --inputs prompts --gin_param "sample_autoregressive.sampling_keep_top_p = 1.5"
refuses "a negative temperature" \
    '--gin_param "sample_autoregressive.temperature = -1": sample_autoregressive.temperature takes a number of 0 or more, not -1' \
    decode model --inputs prompts --gin_param "sample_autoregressive.temperature = -1"

# ---- another optimizer -----------------------------------------------------------------------------

again=(train --gin_file small.gin --text $book --threads 1)
refuses "than the configuration's" 'was made with the optimizer adafactor, and this run has adam; resume with the same' \
    "${again[@]}" --steps 2 --checkpoint-dir model --resume --optimizer adam
run "${again[@]}" --steps 1 --checkpoint-dir adam --optimizer adam --rate 0.001
refuses "the configuration's" 'was made with the optimizer adam, and this run has adafactor; resume with the same' \
    "${again[@]}" --steps 2 --checkpoint-dir adam --resume
run "${again[@]}" --steps 2 --checkpoint-dir model --resume
check "the same" 0 out "resuming after step 1"

# ---- parameters of the command line ----------------------------------------------------------------

train --gin_file small.gin --steps 1 --mesh x:2 --layout batch:x --gin_param 'run.tpu = 1' --gin_param 'foo = 3'
check "lines of the command line" 0 err 'mtf: note: --gin_param "run.tpu = 1": run.tpu has no effect in mtf' \
    'mtf: warning: --gin_param "foo = 3": the macro "foo" is not used'
[ "$(grep -c 'did you mean' err)" = 0 ] && pass || lose "no macro is near" "no suggestion" "$(cat err)"
train --gin_file small.gin --steps 1 --gin_param 'd_modle = 16' --gin_param 'num_headz = 2'
check "macros that are misspelt" 0 err \
    'mtf: warning: --gin_param "d_modle = 16": the macro "d_modle" is not used; did you mean "d_model"?' \
    'mtf: warning: --gin_param "num_headz = 2": the macro "num_headz" is not used; did you mean "num_heads"?'
run plan --gin_file pair.gin --gin_param 'encodr/SelfAttention.num_heads = 8' --gin_param 'trian/utils.run.train_steps = 9' \
    --gin_param 'encoder/DenseReluDense.f9 = 1' --gin_skip_unknown
check "scopes that are misspelt" 0 err \
    'encodr/SelfAttention.num_heads is not used: nothing in this run reads it; it has no scope "encodr"; did you mean "encoder"?' \
    'trian/run.train_steps is not used: nothing in this run reads it; it has no scope "trian": leave that out'
run train --gin_file small.gin --text $book --steps 1 --gin_param "run.learning_rate_schedule = [@linear_warmup, @linear_decay]"
check "a configuration's rate without a number" 0 err \
    "mtf: warning: run.learning_rate_schedule, linear_warmup(steps=10000.0) * linear_decay(steps=0.1), has no number among its factors"
run plan --gin_file t5_1_1_small --gin_param "run.learning_rate_schedule = 0.01"
[ $status = 0 ] && ! grep -q "not used" err && pass || lose "what a file of mtf's own binds for nothing" "no warning" "$(cat err)"
run train --gin_file small.gin --text $book --steps 1 --gin_param "run.learning_rate_schedule = [0.5, @linear_warmup]"
! grep -q "no number" err && pass || lose "one with a number" "no warning" "$(cat err)"
refuses "a wrong line of the command line" 'mtf: value: --gin_param "d_model = 0": Unitransformer.d_model takes a whole number' \
    train --gin_file small.gin --text $book --steps 1 --gin_param 'd_ff = 8' --gin_param 'd_model = 0'
misused "a GPU that is called otherwise" 'not "gpu"; did you mean "cuda"?' train --gin_file small.gin --text $book --steps 1 --device gpu

# ---- text ------------------------------------------------------------------------------------------

refuses "a word that is none" 'there is no "joind"; did you mean "joined"?' train --gin_file small.gin --text book.txt:joind --steps 1
refuses "no word at all" '--text book.txt:foo: after the files may stand' train --gin_file small.gin --text book.txt:foo --steps 1
refuses "a word after others" 'there is no "pakc"; did you mean "pack"?' train --gin_file small.gin --text book.txt:documents=line:pakc --steps 1
refuses "a file that is not there" '"nowhere.txt:foo"' train --gin_file small.gin --text nowhere.txt:foo --steps 1
printf 'x: f32[batch=2] = input\nw: f32[] = variable\nloss = reduce_mean(square(x - w))\n' >toy.mtf
refuses "a field's word that is none" 'there is no "heade"; did you mean "header"?' train toy.mtf --data x=pairs.tsv:heade --steps 1
for objective in lm delimited prefix_delimited; do
    misused "an encoder-decoder of one sequence: $objective" \
        "--text: objective=$objective gives one sequence, but an encoder-decoder takes inputs and targets: objective=pairs, spans or prefix" \
        train --gin_file pair.gin --text pairs.tsv:objective=$objective --steps 1
done
misused "the configuration's objective" "text_dataset.objective: objective=delimited gives one sequence" \
    train --gin_file pair.gin --steps 1 --gin_param "run.train_dataset_fn = @text_dataset" \
    --gin_param "text_dataset.files = 'pairs.tsv'" --gin_param "text_dataset.objective = 'delimited'"
run train --gin_file small.gin --text pairs.tsv --batch 2 --steps 1
check "a column alone of pairs" 0 err '"pairs.tsv" has several columns, but the objective takes single texts: column 0 is read alone; ' \
    'objective=delimited takes inputs and targets'
for one in pairs.tsv:targets=1 one.tsv; do
    printf 'a b\nc d\ne f\n' >one.tsv
    run train --gin_file small.gin --text $one --batch 2 --steps 1
    [ $status = 0 ] && ! grep -q columns err && pass || lose "a column that is meant: $one" "no note" "$(cat err)"
done
misused "text for pairs" '"book.txt" is plain text, but the objective needs inputs and targets; a file of the format tsv or tfrecord has both, and objective=spans' \
    train --gin_file pair.gin --text book.txt --steps 1
refuses "too little text" "8 examples do not fill a batch of 80; a smaller batch or more examples are needed" \
    train --gin_file pair.gin --text pairs.tsv --batch 80 --steps 1
if ! grep -q MTF_ err; then pass; else lose "names of C" "none" "$(cat err)"; fi

# A colon of a file's name: as it is, escaped, and again from the configuration that was saved.
cp book.txt a:b.txt
cp book.txt a:pack
losses() { sed -n 's/.*"loss":\([^,}]*\).*/\1/p' out; }
train --gin_file small.gin --steps 2
losses >wanted
for name in 'a:b.txt' 'a\:b.txt' 'a\:pack'; do
    rm -rf colon
    run train --gin_file small.gin --text "$name:documents=file:joined" --steps 2 --json --threads 1 --checkpoint-dir colon
    losses >got
    if [ -s got ] && cmp -s wanted got; then pass; else lose "the file $name" "$(cat wanted)" "$(cat got err)"; fi
    run train --gin_file colon/operative_config.gin --json --threads 1
    losses >got
    if [ -s got ] && cmp -s wanted got; then pass; else lose "the file $name, saved" "$(cat wanted)" "$(cat got err)"; fi
done

echo "wrong_values.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
