#!/bin/bash
# Tests models that configuration files describe: training, evaluating, planning, decoding, on meshes.
#
# Usage: MTF=path/to/mtf tests/shell/configured.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "configured.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"

cat >small.gin <<'END'
include 'lm_base.gin'
num_layers = 2
d_model = 32
d_ff = 64
num_heads = 4
d_kv = 8
max_length = 32
dropout_rate = 0.0
run.sequence_length = {'targets': 32}
run.batch_size = ('sequences_per_batch', 8)
get_variable_dtype.activation_dtype = 'float32'
END
head -c 20000 "$root/data/text/moby-dick.txt" >book.txt
printf 'a b\tA B\nc d\tC D\ne f\tE F\ng h\tG H\ni j\tI J\nk l\tK L\nm n\tM N\no p\tO P\n' >pairs.tsv
book=book.txt:documents=file:joined
train() { run train --gin_file small.gin --text $book --optimizer adam --rate 0.01 --threads 1 --json "$@"; }
losses() { sed -n 's/.*"loss":\([^,}]*\).*/\1/p' out; }
evals() { sed -n 's/.*"eval_loss":\([^,}]*\).*/\1/p' out; }
near() {                                # near NAME FILE FILE: losses agree, up to rounding
    if [ "$(wc -l <"$2")" -gt 0 ] && paste "$2" "$3" |
        awk '{ gap = ($1 - $2) / $1; if (gap < 0) gap = -gap } gap > 1e-4 || NF != 2 { bad = 1 } END { exit bad }'; then pass
    else lose "$1" "$(tr '\n' ' ' <"$2")" "$(tr '\n' ' ' <"$3") $(cat err)"; fi
}

# ---- training ------------------------------------------------------------------------------------

train --steps 12 --checkpoint-dir whole
check "a training" 0 out '"step":12'
losses >one
train --steps 12 --mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y
check "on a mesh" 0 out '"step":12'
losses >four
near "a mesh changes nothing" one four
train --steps 12 --gin_param "run.mesh_shape = 'a:2'" --gin_param "run.layout_rules = 'batch:a,length:a'" --layout batch:a
losses >two
near "the files' mesh" one two
train --steps 12 --microbatches 2
losses >parts
near "microbatches change nothing" one parts
outer="tpu_estimator_model_fn.outer_batch_size = 2"
train --steps 12 --gin_param "$outer" --mesh x:2,y:2 --layout outer_batch:x,batch:y --microbatches 2 \
    --eval-text $book --eval-every 12
losses >outer
near "an outer batch" one outer
evals >outer_eval
cat >nest.gin <<'END'
include 'small.gin'
make_layer_stack.layers = [@SelfAttention, @MoE2D, @DenseReluDense]
MoE2D.expert_x = 2
MoE2D.expert_y = 3
MoE2D.hidden_size = 16
END
nest() { run train --gin_file nest.gin --text $book --optimizer adam --rate 0.01 --threads 1 --steps 6 --json "$@"; }
nest && losses >nested && nest --mesh x:2,y:2 --layout batch:x,expert_x:x,expert_y:y
losses >two
near "two levels of experts" nested two
nest --events-dir nested_events --report nested.html
check "a report of experts" 0 nested.html "The load of experts" "block_001/layer_001/MoE2D <small>6 experts" 'class="heat"'
if grep -aq 'experts/transformer/block_001/layer_001/MoE2D/load_largest' nested_events/events* &&
    grep -aq 'experts/transformer/block_000/layer_001/MoE2D/dropped' nested_events/events*; then pass
else lose "events of experts" "experts/..." "$(ls nested_events; cat err)"; fi
nest --gin_param "$outer" --mesh x:2,y:2 --layout outer_batch:y,batch:x,expert_x:x,expert_y:y --microbatches 2
losses >two
near "with an outer batch, in parts" nested two
prints "their plan" "expert_x:x" plan --gin_file nest.gin --gin_param "$outer" --mesh x:2,y:2 \
    --layout outer_batch:y,batch:x,expert_x:x,expert_y:y
attends() { run train --gin_file attends.gin --text pairs.tsv --optimizer adam --rate 0.01 --threads 1 --steps 6 --json "$@"; }
cat >attends.gin <<'END'
include 'bi_base.gin'
include 'small.gin'
run.model_type = 'bitransformer'
run.sequence_length = {'inputs': 16, 'targets': 16}
encoder/make_layer_stack.layers = [@ExpertsSelfAttention, @DenseReluDense]
decoder/make_layer_stack.layers = [@ExpertsSelfAttention, @ExpertsEncDecAttention, @DenseReluDense]
ExpertsSelfAttention.shared_kv = True
ExpertsSelfAttention.num_heads = 4
ExpertsSelfAttention.key_value_size = 8
ExpertsSelfAttention.num_experts = 3
ExpertsSelfAttention.hidden_size = 16
ExpertsEncDecAttention.shared_kv = True
ExpertsEncDecAttention.num_heads = 4
ExpertsEncDecAttention.key_value_size = 8
ExpertsEncDecAttention.num_experts = 2
ExpertsEncDecAttention.hidden_size = 16
END
attends --checkpoint-dir attended && losses >one_by_experts && attends --mesh x:2,y:2 --layout batch:x,experts:x+y,vocab:y
losses >two
near "attention by experts" one_by_experts two
prints "answers of attention by experts" "" decode attended --inputs pairs.tsv --max-tokens 4
refuses "keys unlike values" "ExpertsSelfAttention: its queries and keys come from mixtures of experts, which need shared_kv" \
    train --gin_file attends.gin --gin_param "ExpertsSelfAttention.shared_kv = False" --text pairs.tsv --steps 1
train --steps 12 --eval-text $book --eval-every 12
evals >plain_eval
near "an evaluation with an outer batch" plain_eval outer_eval
train --steps 1 --gin_param "tpu_estimator_model_fn.outer_batch_size = 3"
check "an outer batch that divides nothing" 1 err 'outer_batch_size: 3 does not divide the batch of 8'

# ---- a student and a teacher

sed 's/lm_base/bi_base/; s/32}/8, "inputs": 8}/' small.gin >pair.gin
pair() { run train --gin_file pair.gin --text pairs.tsv --optimizer adam --rate 0.01 --threads 1 --json "$@"; }
learn() {
    pair --gin_param "run.model_type = 'bi_student_teacher'" --gin_param "StudentTeacher.temperature = 2.0" \
        --gin_param "StudentTeacher.teacher_checkpoint = 'teacher'" "$@"
}
pair --steps 5 --checkpoint-dir teacher
check "a teacher" 0 out '"step":5'
learn --steps 5 --gin_param "StudentTeacher.fraction_soft = 0"
losses >hard
learn --steps 5 --gin_param "StudentTeacher.fraction_soft = 0.5" --gin_param "StudentTeacher.distill_start_step = 3"
losses >late_soft
head -n 3 hard >before; head -n 3 late_soft >before_soft
near "a student before the teacher's first step" before before_soft
tail -n 2 hard >after; tail -n 2 late_soft >after_soft
if cmp -s after after_soft; then lose "a student from that step on" "other losses" "$(cat after_soft)"; else pass; fi
printf 'a b\nc d\n' >asked
learn --steps 0 --gin_param "StudentTeacher.fraction_soft = 1.0" --gin_param "StudentTeacher.initialize_student_weights = True" --checkpoint-dir pupil
run decode --checkpoint-dir pupil --inputs asked --max-tokens 6
mv out pupil_says
run decode --checkpoint-dir teacher --inputs asked --max-tokens 6
if [ -s out ] && cmp -s out pupil_says; then pass
else lose "a student that starts as its teacher says the same" "$(cat out err)" "$(cat pupil_says)"; fi
learn --steps 1 --gin_param "StudentTeacher.fraction_soft = 1.0" --gin_param "StudentTeacher.initialize_student_weights = True"
losses >as_teacher
learn --steps 1 --gin_param "StudentTeacher.fraction_soft = 1.0"
losses >as_new
if paste as_teacher as_new | awk 'NF == 2 && $1 < $2 { ok = 1 } END { exit !ok }'; then pass
else lose "a student that starts as its teacher" "a smaller loss" "$(paste as_teacher as_new) $(cat err)"; fi
learn --steps 1 --gin_param "StudentTeacher.fraction_soft = 0.5" --gin_param "teacher/Unitransformer.d_model = 16"
check "another teacher's weights" 1 err 'teacher/shared/embedding" is f32'
learn --steps 1 --gin_param "StudentTeacher.fraction_soft = 0.5" --gin_param "StudentTeacher.teacher_checkpoint = None"
check "no teacher's weights" 1 err 'bind StudentTeacher.teacher_checkpoint'

# ---- checkpoints

train --steps 6 --checkpoint-dir half
train --steps 12 --checkpoint-dir half --resume
losses >rest
tail -n 6 one >late
near "resuming goes on" late rest
if grep -q "^d_model\|Unitransformer.d_model = 32" whole/operative_config.gin; then pass
else lose "the configuration is kept" "d_model 32" "$(head -n 20 whole/operative_config.gin 2>&1)"; fi

# ---- evaluating, answering -----------------------------------------------------------------------

run eval --gin_file small.gin --eval-text $book --checkpoint-dir whole
check "an evaluation" 0 out "step 12" "test accuracy" "perplexity"
cp out figures
run eval --gin_file small.gin --eval-text $book --checkpoint-dir whole --mesh x:3 --layout batch:x
if cmp -s out figures; then pass; else lose "the same on a mesh" "$(cat figures)" "$(cat out err)"; fi
echo "Call me" >prompts
run decode --checkpoint-dir whole --inputs prompts --max-tokens 12
check "an answer" 0 err
cp out answer
run decode --checkpoint-dir whole --inputs prompts --max-tokens 12 --mesh x:2,y:2 --layout heads:x,vocab:y
if [ -s answer ] && cmp -s out answer; then pass
else lose "the same answer on a mesh" "$(cat answer)" "$(cat out err)"; fi
[ ! -s err ] && pass || lose "nothing to warn of" "" "$(cat err)"

# ---- a folder is enough --------------------------------------------------------------------------

run decode whole --inputs prompts --max-tokens 12
if [ $status = 0 ] && cmp -s out answer; then pass; else lose "a folder alone" "$(cat answer)" "$(cat out err)"; fi
run decode whole/step_00000012 --inputs prompts --max-tokens 12
if [ $status = 0 ] && cmp -s out answer; then pass; else lose "one checkpoint of it" "$(cat answer)" "$(cat out err)"; fi
run eval whole --eval-text $book
if [ $status = 0 ] && cmp -s out figures; then pass; else lose "its evaluation" "$(cat figures)" "$(cat out err)"; fi
run eval --checkpoint-dir whole --eval-text $book
if [ $status = 0 ] && cmp -s out figures; then pass; else lose "its evaluation by the option" "$(cat figures)" "$(cat out err)"; fi
run score whole --targets prompts
check "its scores" 0 out "-"
run decode whole --inputs prompts --max-tokens 12 --gin_param "Unitransformer.sample_autoregressive.temperature = 1.0"
if [ $status = 0 ] && ! cmp -s out answer; then pass; else lose "sampling as configured" "another answer" "$(cat out err)"; fi
run decode whole --inputs prompts --max-tokens 12 --beams 3
cp out beams
run decode whole --inputs prompts --max-tokens 12 --gin_param "Unitransformer.sample_autoregressive.beam_size = 3"
if [ $status = 0 ] && cmp -s out beams; then pass; else lose "beams as configured" "$(cat beams)" "$(cat out err)"; fi
run decode whole --inputs prompts --max-tokens 12 --temperature 0 --gin_param "Unitransformer.sample_autoregressive.beam_size = 3"
if [ $status = 0 ] && cmp -s out answer; then pass; else lose "options come first" "$(cat answer)" "$(cat out err)"; fi
misused "two folders" "leave one out" decode whole --checkpoint-dir half --inputs prompts
misused "no model" "mtf decode needs a model" decode --inputs prompts
mkdir bare
misused "a folder without a configuration" '"bare" has no operative_config.gin' decode bare --inputs prompts
misused "the same of an evaluation" '"bare" has no operative_config.gin' eval --checkpoint-dir bare --eval-text $book
refuses "a folder that is not there" 'nowhere' decode nowhere --gin_file small.gin --inputs prompts
misused "a size is not an option" "has no option --d-model" decode --d-model 8

# ---- the vocabulary is kept as well --------------------------------------------------------------

seq 100 | sed 's/^/w/' >words
seq 100 | sed 's/^/w/' | paste -sd' ' >counting
for kept in words:words words:words:extra=10 bytes:extra=5; do
    rm -rf named
    run train --gin_file small.gin --text counting:joined --gin_param "run.sequence_length = {'targets': 8}" --steps 2 \
        --checkpoint-dir named --quiet --vocabulary $kept
    echo "w1 w2" >prompts.words
    run decode named --inputs prompts.words --max-tokens 3 --vocabulary $kept
    cp out told
    mkdir -p elsewhere
    (cd elsewhere && "$MTF" decode ../named --inputs ../prompts.words --max-tokens 3 >../out 2>../err)
    if [ -s told ] && cmp -s out told; then pass; else lose "$kept, from another folder" "$(cat told)" "$(cat out err)"; fi
done
refuses "a vocabulary larger than the model's" "the vocabulary has 259 ids, and the model 100, as the files bind input_vocab_size" \
    train --gin_file small.gin --gin_param "Unitransformer.input_vocab_size = 100" --text $book --steps 1
# A table may be larger than the vocabulary: T5's has 32128 tokens for 32100 ids.
run train --gin_file small.gin --gin_param "Unitransformer.input_vocab_size = 300" --gin_param "Unitransformer.vocab_divisor = 1" \
    --text $book --steps 1 --quiet --checkpoint-dir wide
run ckpt ls wide/step_00000001
check "a table that is larger" 0 out "vocab=300"

# ---- averages, evaluated -------------------------------------------------------------------------

run train --gin_file small.gin --text $book --eval-text $book --optimizer adam --rate 0.01 --steps 6 --average 0.9 --quiet --checkpoint-dir mean
cp out averaged
run eval --gin_file small.gin --eval-text $book --checkpoint-dir mean --averages
check "averages of a model of text" 0 out "perplexity" "$(sed 's/.*   test //' averaged)"
if awk '{ for (i = 1; i < NF; i++) if ($i == "accuracy") found = $(i + 1) >= 0 && $(i + 1) <= 100 } END { exit !found }' out; then pass
else lose "a share of tokens is right" "0 to 100 %" "$(cat out)"; fi

# ---- encoder and decoder, on pairs ---------------------------------------------------------------

run train --gin_file small.gin --gin_param "run.model_type = 'bitransformer'" \
    --gin_param "run.sequence_length = {'inputs': 8, 'targets': 8}" --text pairs.tsv --optimizer adam --rate 0.01 \
    --steps 60 --checkpoint-dir pairs --quiet --eval-text pairs.tsv
check "a model of pairs" 0 out "test accuracy"
printf 'a b\n' >prompts
run decode --checkpoint-dir pairs --inputs prompts --max-tokens 8
check "translates" 0 out "A B"
cut -f1 pairs.tsv >sources
for alpha in 0 1e-9 0.6; do
    run decode pairs --inputs sources --beams 4 --results 4 --alpha $alpha
    cp out answers_$alpha
done
if cmp -s answers_0 answers_1e-9 && ! cmp -s answers_0 answers_0.6; then pass
else lose "no length penalty" "$(cat answers_1e-9)" "$(cat answers_0 err)"; fi

# ---- figures of text, against scores -------------------------------------------------------------

# Each line is a text with its end: the loss is the mean of what mtf score adds up.  Tokens that only fill
# the table up have a share of the probability in training, but not in scores: there are none here.
train --steps 2 --gin_param "Unitransformer.vocab_divisor = 1" --checkpoint-dir exact
printf 'Call me Ishmael.\nSome years ago\nnever mind how long\n' >lines
run score exact --targets lines
awk '{ sum -= $1 } END { print sum }' out >nats
bytes=$(tr -d '\n' <lines | wc -c)
run perplexity exact --eval-text lines:documents=line --json
if [ $status = 0 ] && awk -v bytes=$bytes 'function near(a, b) { return a - b < 1e-3 * b && b - a < 1e-3 * b }
    function value(name) { match($0, "\"" name "\":[^,}]*"); return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) }
    NR == FNR { nats = $1; next }
    { exit !(value("tokens") == bytes + 3 && near(value("eval_loss"), nats / (bytes + 3)) &&
             near(value("perplexity"), exp(nats / (bytes + 3))) && near(value("bits_per_byte"), nats / log(2) / bytes)) }' nats out; then pass
else lose "figures of text" "$(cat nats) nats of $bytes bytes and 3 ends" "$(cat out err)"; fi
run perplexity --gin_file small.gin --checkpoint-dir whole --eval-text $book
if [ $status = 0 ] && cmp -s out figures; then pass; else lose "mtf perplexity" "$(cat figures)" "$(cat out err)"; fi
run score exact --eval-text lines:documents=line
awk '{ sum -= $1 } END { print sum }' out >again
if [ $status = 0 ] && cmp -s nats again; then pass; else lose "scores of a dataset" "$(cat nats)" "$(cat again err)"; fi
# Files beside a folder that is the model change some of its configuration.
echo "run.batch_size = ('sequences_per_batch', 2)" >two.gin
run perplexity whole --gin_file two.gin --eval-text $book
if [ $status = 0 ] && cmp -s out figures; then pass; else lose "a file beside the folder" "$(cat figures)" "$(cat out err)"; fi
misused "no text to evaluate on" "name it with --eval-text" perplexity whole
misused "no folder" "mtf perplexity needs the folder" perplexity --gin_file small.gin --eval-text $book

# ---- data that the files name --------------------------------------------------------------------

of_text() { run train --gin_file small.gin --gin_param "run.model_type = 'bitransformer'" --gin_param "run.sequence_length = {'inputs': 32, 'targets': 32}" \
    --vocabulary bytes:extra=20 --steps 3 --json "$@"; losses >"$as"; }
as=by_option of_text --text "book.txt:objective=spans:noise=0.4:span=2:seed=7" --no-shuffle
as=by_files of_text --gin_param "run.train_dataset_fn = @text_dataset" --gin_param "text_dataset.files = 'book.txt'" \
    --gin_param "text_dataset.objective = 'spans'" --gin_param "text_dataset.noise_density = 0.4" --gin_param "text_dataset.pack = False" \
    --gin_param "text_dataset.mean_noise_span_length = 2.0" --gin_param "text_dataset.seed = 7" --gin_param "text_dataset.shuffle = False"
if [ -s by_files ] && cmp -s by_option by_files; then pass; else lose "spans as the files say" "$(cat by_option)" "$(cat by_files err)"; fi

for text in "$book" "book.txt:objective=lm:documents=line:pack:ends" "book.txt:split:seed=3"; do
    rm -rf first
    run train --gin_file small.gin --text "$text" --eval-text book.txt:documents=line --steps 3 --json --checkpoint-dir first
    cp out wanted
    (cd / && "$MTF" train --gin_file "$work/first/operative_config.gin" --json >"$work/out" 2>"$work/err")
    if grep -q eval_loss wanted && cmp -s out wanted; then pass; else lose "a run again from its configuration, of $text" "$(cat wanted)" "$(cat out err)"; fi
done
prints "the data of the training's evaluation" "perplexity" perplexity first

# ---- what the files say about saving -------------------------------------------------------------

run train --gin_file small.gin --text $book --steps 6 --quiet --eval-text $book --eval-steps 2 --gin_param "run.model_dir = 'of_files'" \
    --gin_param "run.save_checkpoints_steps = 2" --gin_param "run.keep_checkpoint_max = 2"
if [ "$(grep -c '^step .*   test ' out)" = 3 ]; then pass; else lose "evaluations every two steps" 3 "$(cat out err)"; fi
if [ "$(cd of_files && echo step_*)" = "step_00000004 step_00000006" ]; then pass
else lose "saving as the files say" "steps 4 and 6" "$(ls of_files) $(cat err)"; fi
run decode --gin_file of_files/operative_config.gin --inputs prompts --max-tokens 3
if [ $status = 0 ] && ! grep -q random err; then pass; else lose "the folder that the files name" "its weights" "$(cat err)"; fi
run train --gin_file small.gin --text $book --steps 0 --checkpoint-dir begun --gin_param "run.init_checkpoint = 'of_files'"
check "a start from another checkpoint" 0 out 'loaded 19 of 19 variables of the model from "of_files/step_00000006"'
misused "evaluations twice" "leave one out" train --gin_file small.gin --text $book --eval-text $book --steps 1 --eval-every 1 --eval-steps 1
misused "evaluations of nothing" "--eval-steps needs data to evaluate on: name it with --eval-text" train --gin_file small.gin --text $book --steps 1 --eval-steps 1

# Ways to cut the batch are tried before the run, each with the files: their notes are said once.
run train --gin_file small.gin --text $book --steps 1 --mesh x:2,y:2 --layout auto --gin_param "utils.run.tpu_job_name = 'none'" \
    --gin_param "run.batch_size = ('sequences_per_replica', 1)"
if [ $status = 0 ] && [ "$(grep -c 'tpu_job_name has no effect' err)" = 1 ]; then pass; else lose "a note once" "one note" "$(cat err)"; fi

# ---- checkpoints, one and all --------------------------------------------------------------------

train --steps 6 --save-every 2 --checkpoint-dir several
run eval several --eval-text $book --eval-checkpoints all
if [ "$(cut -d' ' -f1,2 out | tr '\n' ' ')" = "step 2 step 4 step 6 " ]; then pass; else lose "all checkpoints" "steps 2, 4, 6" "$(cat out err)"; fi
cp out all
run eval several --eval-text $book --eval-checkpoints 4,2
if cmp -s out <(sed -n '2p;1p' all | sort -r); then pass; else lose "two of them" "$(cat all)" "$(cat out err)"; fi
run eval several --eval-text $book --eval-checkpoints last
if cmp -s out <(sed -n 3p all); then pass; else lose "the last one" "$(tail -n 1 all)" "$(cat out err)"; fi
run eval several --eval-text $book --gin_param "run.eval_checkpoint_step = 'all'"
if cmp -s out all; then pass; else lose "all, as configured" "$(cat all)" "$(cat out err)"; fi
run eval several --eval-text $book --step 4
if cmp -s out <(sed -n 2p all); then pass; else lose "the checkpoint of a step" "$(sed -n 2p all)" "$(cat out err)"; fi
prints "perplexity of a step" "step 2 " perplexity several --eval-text $book --step 2
refuses "a step that was not saved" "several" eval several --eval-text $book --step 3
misused "a step that is not a number" "--step takes a whole number" eval several --eval-text $book --step newest
misused "steps said twice" "--step and --eval-checkpoints both say which checkpoints: leave one out" \
    eval several --eval-text $book --step 4 --eval-checkpoints all
refuses "a step that is not there" "several" eval several --eval-text $book --eval-checkpoints 3
refuses "no initial weights" "several/step_00000000" eval several --eval-text $book --eval-checkpoints 0
train --steps 0 --checkpoint-dir zero
cp -r several/step_*6 zero
run eval zero --eval-text $book --eval-checkpoints all
if [ "$(cut -d' ' -f1,2 out | tr '\n' ' ')" = "step 0 step 6 " ]; then pass; else lose "all, with the initial weights" "steps 0 and 6" "$(cat out err)"; fi
head -n 1 out >of_zero
for which in "--eval-checkpoints 0" "--step 0"; do
    run eval zero --eval-text $book $which
    if cmp -s out of_zero; then pass; else lose "the initial weights: $which" "$(cat of_zero)" "$(cat out err)"; fi
done
misused "no step" "takes all, last, or steps" eval several --eval-text $book --eval-checkpoints newest

# ---- answers to a dataset, evaluated -------------------------------------------------------------

cut -f1 pairs.tsv >sources
cut -f2 pairs.tsv >wanted
run decode pairs --inputs sources --max-tokens 8
cp out answers
run eval pairs --eval-text pairs.tsv --bleu --output dev
check "answers, evaluated" 0 out "sequence accuracy" "BLEU" "exact"
if cmp -s dev_inputs sources && cmp -s dev_targets wanted && cmp -s dev_60_predictions answers; then pass
else lose "files of answers" "$(cat answers)" "$(ls; cat dev_60_predictions)"; fi
want=$(paste answers wanted | awk -F'\t' '$1 == $2 { same++ } END { printf "exact %.2f %%", 100 * same / NR }')
check "the share of exact answers" 0 out "$want"
# What is bound without a scope, while the folder's configuration binds it with one, changes nothing.
run eval pairs --eval-text pairs.tsv --gin_param "DenseReluDense.activation = 'gelu'"
check "a parameter that scoped ones hide" 0 err "DenseReluDense.activation is not used: nothing in this run reads it; \
the run reads encoder/DenseReluDense.activation, decoder/DenseReluDense.activation"
# What is not trained belongs to the model as well: biases that balance experts.
run train --gin_file pairs/operative_config.gin --gin_param "decoder/make_layer_stack.layers = [@SelfAttention, @EncDecAttention, @MoE1D]" \
    --gin_param "MoE1D.num_experts = 5" --gin_param "MoE1D.hidden_size = 12" --gin_param "MoE1D.moe_gating = 'top_k'" \
    --gin_param "MoE1D.balance_rate = 0.05" --text pairs.tsv --steps 20 --save-every 10 --checkpoint-dir balanced --threads 1
check "experts balanced by biases" 0 out "step 20"
run eval balanced --eval-text pairs.tsv --eval-checkpoints all && cp out plain
again=(train --gin_file balanced/operative_config.gin --text pairs.tsv --steps 0 --seed 7 --threads 1)
run ckpt convert balanced biases.safetensors --only gating/bias
run "${again[@]}" --init-from balanced --checkpoint-dir anew
check "a start with balanced experts" 0 out 'variables of the model from "balanced/step_00000020"'
run ckpt convert anew anew.safetensors --only gating/bias && run ckpt diff biases.safetensors anew.safetensors
check "it has their biases" 0 out "0 of "
run "${again[@]}" --gin_param "run.init_checkpoint = 'balanced'" --checkpoint-dir by_name
run ckpt convert by_name by_name.safetensors --only gating/bias && run ckpt diff biases.safetensors by_name.safetensors
check "the same where the configuration names it" 0 out "0 of "
printf 'a\n' >few_lines
run decode balanced --inputs few_lines --max-tokens 2 --mesh x:2 --layout batch:x,batch_unsplit:x --threads 1
check "answers by a layout of the training" 0 out ""
run eval balanced --eval-text pairs.tsv --eval-checkpoints all --bleu
if [ -s plain ] && cmp -s plain <(sed 's/   BLEU.*//' out); then pass
else lose "the same loss beside decoded answers" "$(cat plain)" "$(cat out err)"; fi
run eval pairs --eval-text pairs.tsv --bleu --mesh x:2 --layout heads:x,vocab:x
check "the same on a mesh" 0 out "$want"
if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" eval pairs --eval-text pairs.tsv --bleu --output ranks --mesh x:2 --layout heads:x >out 2>err </dev/null
    status=$?
    check "the same on two ranks" 0 out "$want"
    if [ "$(wc -l <out)" = 1 ] && cmp -s ranks_60_predictions answers; then pass
    else lose "said and written once" "$(cat answers)" "$(cat out err ranks_60_predictions)"; fi
    "${launcher[@]}" -n 2 "$MTF" score pairs --eval-text pairs.tsv --mesh x:2 --layout heads:x >out 2>err </dev/null
    if [ "$(wc -l <out)" = 8 ]; then pass; else lose "scores of a dataset on two ranks" "8 lines" "$(cat out err)"; fi
else
    echo "note: $without_ranks"
fi
run decode pairs --eval-text pairs.tsv --max-tokens 8 --output data
if cmp -s data-60 answers && cmp -s data-60.inputs sources && cmp -s data-60.targets wanted; then pass
else lose "answers to a dataset" "$(cat answers)" "$(cat err data-60*)"; fi
# Of an objective that makes examples of texts, both sides are what training would read.
printf 'abcdefg\n\nhijklmn\n' >short.txt
run decode pairs --eval-text short.txt:objective=prefix:seed=3 --max-tokens 8 --output parts
paste -d '' parts-60.inputs parts-60.targets >whole_again
if [ "$(wc -l <parts-60)" = 2 ] && cmp -s whole_again <(printf 'abcdefg\nhijklmn\n') && grep -q . parts-60.inputs; then pass
else lose "answers to prefixes" "abcdefg, hijklmn" "$(cat err whole_again)"; fi
run decode pairs --inputs parts-60.inputs --max-tokens 8
cmp -s out parts-60 && pass || lose "the prefixes as prompts" "$(cat parts-60)" "$(cat out err)"
run score pairs --eval-text short.txt:objective=prefix:seed=3 && cp out scores
run score pairs --inputs parts-60.inputs --targets parts-60.targets
[ -s scores ] && cmp -s out scores && pass || lose "scores of what follows prefixes" "$(cat scores)" "$(cat out err)"
refuses "a checkpoint with one table of positions" 'lacks variable "encoder/positional_embedding"; did you mean "shared/positional_embedding"?' \
    decode pairs --inputs sources --gin_param "Bitransformer.shared_positional_embedding = False"
misused "prompts from two places" "leave one out" decode pairs --eval-text pairs.tsv --inputs sources
misused "BLEU of text without inputs" "--bleu needs text with inputs and targets" eval whole --eval-text $book --bleu
misused "files of answers that nobody decodes" "add --bleu" eval pairs --eval-text pairs.tsv --output dev

# ---- plans ---------------------------------------------------------------------------------------

prints "a plan of a published shape" "512 processors" plan --gin_file t5_11b --mesh batch:64,model:8 \
    --layout batch:batch,d_ff:model,heads:model,vocab:model

own=(--gin_param "run.layout_rules = 'batch:rows,d_ff:cols,experts:rows'")
prints "a plan on a mesh has the files' own rules" "layout           batch:rows?,d_ff:cols?,experts:rows?   of the configuration" \
    plan --gin_file small.gin "${own[@]}" --mesh rows:2,cols:2
prints "but those for axes that it lacks" "layout           batch:rows?,experts:rows?   of the configuration" \
    plan --gin_file small.gin "${own[@]}" --mesh rows:2,model:2
run plan --gin_file small.gin "${own[@]}" --mesh rows:2,cols:2 --layout heads:cols
grep -qx "layout           heads:cols" out && pass || lose "rules that are given replace all of them" "heads:cols" "$(cat out err)"
prints "a layout that is found" "   found by a search" plan --gin_file small.gin "${own[@]}" --mesh rows:2,cols:2 --layout auto
train --steps 12 "${own[@]}" --mesh rows:2,cols:2
losses >own && near "training has the same" one own
each=(--gin_file small.gin --gin_param "run.batch_size = ('sequences_per_replica', 2)")
figure() { sed -n "s/^\t*\"$1\":\t\"*\([^\"]*[^\",]\).*/\1/p" "$2" | head -n 1; }
for rules in length:a+b batch:a,heads:b,d_ff:b; do # more kinds of processors than a search prices
    uneven=(--gin_file small.gin --mesh a:5,b:7 --layout $rules --json)
    run layout "${uneven[@]}" && cp out found && run plan "${uneven[@]}"
    [ "$(figure seconds out)" = "$(figure seconds found)" ] && [ "$(figure peak_bytes out)" = "$(figure peak_bytes found)" ] && pass ||
        lose "a plan has the price of mtf layout for $rules" "$(figure seconds found)" "$(figure seconds out) $(cat err)"
done
for processors in 4 6; do
    run layout "${each[@]}" --mesh auto:$processors --json && cp out found
    run plan "${each[@]}" --mesh "$(figure mesh found)" --layout "$(figure layout found)" --json
    [ "$(figure seconds out)" = "$(figure seconds found)" ] && [ "$(figure batch out)" = "$(figure batch found)" ] && pass ||
        lose "a mesh is found with its replicas" "$(cat found)" "$(head -n 20 out) $(cat err)"
    run plan "${each[@]}" --mesh "all:$processors" --layout batch:all --json
    awk -v s="$(figure seconds found)" -v n="$(figure batch found)" -v t="$(figure seconds out)" -v m="$(figure batch out)" \
        'BEGIN { exit !(n == m && s <= t || n != m && s / n <= t / m * (1 + 1e-9)) }' && pass ||
        lose "by time for an example" "at most that of batch:all" "$(cat found) $(cat err)"
done
# Whatever layout mtf layout lists, also where the best one does not cut the batch: mtf plan has the same batch for it.
for sizes in "--gin_file t5_small --gin_file tiny --gin_param num_layers=1" "--gin_file lm_base --gin_file tiny"; do
    run layout $sizes --mesh x:2,y:2 --show 4 --json && cp out found
    while read -r rules; do
        run plan $sizes --mesh x:2,y:2 --layout "$rules" --json
        [ "$(figure batch out)" = "$(figure batch found)" ] && pass ||
            lose "the batch of $rules" "$(figure batch found)" "$(figure batch out) $(cat err)"
    done < <(sed -n 's/^\t*"layout":\t"\([^"]*\)".*/\1/p' found)
done
run plan --gin_file t5_small --gin_file tiny --mesh batch:2,model:2
check "replicas" 0 out "batch            8 examples, 4 for each of 2 replicas"
run plan --gin_file t5_small --gin_file tiny --mesh batch:2,model:2 --batch 12
check "a batch that is given has none" 0 out "batch            12 examples
"
run layout "${each[@]}" --gin_param "run.vocabulary = @Gpt2Vocabulary()" --gin_param "Unitransformer.input_vocab_size = 256" --mesh auto:4
check "it says on which mesh" 0 out "--mesh mesh_0:" "for a batch of 8"
[ "$(grep -c "Gpt2Vocabulary.directory" err)" = 1 ] && pass || lose "a note is said once" "1 line" "$(cat err)"
wide=(--gin_file gpt2_1558m --gin_param num_layers=6 --optimizer adam --rate 0.001 --mesh x:8 --layout batch:x --machine h100-nodes)
run layout "${wide[@]}" --state-layout auto --show 1 --json && cp out found
for rules in d_model:x d_ff:x,heads:x,vocab:x; do
    run layout "${wide[@]}" --state-layout $rules --json
    awk -v s="$(figure seconds found)" -v t="$(figure seconds out)" 'BEGIN { exit !(s > 0 && s <= t * (1 + 1e-9)) }' && pass ||
        lose "rules for the state of Adam, no slower than $rules" "at most $(figure seconds out)" "$(cat found err)"
done
# On the default machine, whose time is arithmetic, rules for the state of Adam cost no memory either.
half=(--gin_file gpt2_1558m --gin_param num_layers=6 --gin_param "run.batch_size = ('sequences_per_replica', 8)" --optimizer adam
    --dtype bf16 --mesh x:8 --layout batch:x --show 1 --json)
run layout "${half[@]}" --state-layout auto && cp out found
run layout "${half[@]}" --state-layout d_model:x
for figure in seconds peak_bytes; do
    awk -v f="$(figure $figure found)" -v m="$(figure $figure out)" 'BEGIN { exit !(f > 0 && f <= m * (1 + 1e-9)) }' && pass ||
        lose "rules for state, no more $figure than with d_model:x" "at most $(figure $figure out)" "$(cat found err)"
done
odd=(--gin_param "run.layout_rules = 'd_kv:rows,d_model:cols'")
for how in "layout --html page" "layout --state-layout auto --html page"; do
    run ${how} --gin_file small.gin "${odd[@]}" --mesh rows:2,cols:3
    grep -q "d_kv:rows,d_model:cols" page && pass || lose "$how prices the files' own rules" "d_kv:rows,d_model:cols" "$(cat err)"
done

# ---- refusals ------------------------------------------------------------------------------------

prints "equal layers with dropout are left out of a search" "5 of the equal layers were left out" layout --gin_file small.gin \
    --gin_param num_layers=8 --gin_param dropout_rate=0.1 --mesh x:2
run layout --gin_file lm_base --gin_file tiny --gin_param "run.batch_size = ('sequences_per_batch', 16)" --mesh auto:2
if grep -q "batch:mesh_0" out && ! grep -q _iterations out; then pass
else lose "a batch is in one piece while its mesh is sought" "no _iterations" "$(cat out err)"; fi
wrong() {                               # wrong NAME TEXT LINE...: a file of these lines, after small.gin
    { echo "include 'small.gin'"; printf '%s\n' "${@:3}"; } >wrong.gin
    refuses "$1" "wrong.gin:$2" train --gin_file wrong.gin --text $book --steps 1
}
wrong "a list without an end" '4:1: "," or "]" was expected, not the end' '' 'd_model = [1, 2'
wrong "an unknown parameter" '3:1: Unitransformer has no parameter "d_modle"; did you mean "d_model"?' '' 'Unitransformer.d_modle = 3'
wrong "an unknown layer" '2:44: there is no configurable "NoSuchLayer"' 'make_layer_stack.layers = [@SelfAttention, @NoSuchLayer]'
wrong "a size that is none" "2:11: Unitransformer.d_model takes a whole number, not 'wide'" "d_model = 'wide'"
wrong "no size" '2:11: Unitransformer.d_model takes a whole number from 1 on, not 0' 'd_model = 0'
wrong "a batch of parts of sequences" '2:18: run.batch_size: 33 tokens are not a whole number of sequences of 32' "run.batch_size = ('tokens_per_batch', 33)"
refuses "sizes that do not fit each other" "3 memory heads do not divide 4 heads" train --gin_file small.gin \
    --gin_param "SelfAttention.num_memory_heads = 3" --text $book --steps 1
wrong "a learning rate that is none" "2:30: a learning rate is a number, a schedule such as @linear_warmup, or a list of both, not 'fast'" \
    "run.learning_rate_schedule = 'fast'"
# Files that are not beside the one that includes them, and names that nobody knows.
mkdir -p there/models && printf "include 'models/inner.gin'\n" >there/models/outer.gin && printf "include 'small.gin'\nmy_task.size = 3\n" >there/models/inner.gin
refuses "an include elsewhere" 'there is no file "models/inner.gin"' train --gin_file there/models/outer.gin --text $book --steps 1
refuses "an unknown name" 'there is no configurable "my_task"' train --gin_file models/outer --gin_location_prefix none --gin_location_prefix there \
    --text $book --steps 1
run train --gin_file models/outer --gin_location_prefix none --gin_location_prefix there --gin_skip_unknown --text $book --steps 1
check "an unknown name is left out" 0 err 'inner.gin:2:1: there is no configurable "my_task" with a "size": it is left out'
prints "a graph of files that name a mesh" "loss" show --gin_file small.gin --gin_file 2x2_dp_mp
misused "a mesh for a graph" "--mesh is about a program: add --program" show --gin_file small.gin --mesh batch:2
printf "import a.b\nfrom a import b\nrun.tpu_job_name = 'x'\nrun.iterations_per_loop = 5\nimport c\n" >tpu.gin
run train --gin_file small.gin --gin_file tpu.gin --text $book --steps 1
check "lines that have no effect" 0 err 'mtf: note: tpu.gin:1:1: "import a.b" has no effect' "mtf: note: 2 more lines have no effect in mtf: run.iterations_per_loop, run.tpu_job_name"
refuses "a text that is too short" "1 example does not fill a batch of 8; a smaller batch or more examples are needed" \
    train --gin_file small.gin --text pairs.tsv:joined --steps 1
refuses "sequences longer than the learned positions" \
    'run.sequence_length has 32 targets, but the model learns 16 positions; bind Unitransformer.max_length to 32 or more' \
    train --gin_file small.gin --gin_param "max_length = 16" --text $book --steps 1
refuses "inputs longer than the learned positions" 'run.sequence_length has 32 inputs, but the model learns 16 positions' \
    train --gin_file small.gin --gin_param "run.model_type = 'bitransformer'" --gin_param "max_length = 16" \
    --gin_param "run.sequence_length = {'inputs': 32, 'targets': 16}" --text pairs.tsv --steps 1
run train --gin_file small.gin --gin_param "max_length = 16" --text book.txt:pack --steps 1
check "packed texts may be shorter than their rows" 0 err 'run.sequence_length has 32 targets, but the model learns 16 positions'
prints "positions that are not learned" '"step":1' train --gin_file small.gin --gin_param "max_length = 16" \
    --gin_param "Unitransformer.positional_embedding = False" --text $book --steps 1 --json
printf '\177ELF\000\001' >binary.gin
refuses "a binary configuration" '"binary.gin" is not a text: it has a zero byte' train --gin_file binary.gin --text $book --steps 1
: >empty.txt
refuses "empty text" '"empty.txt" has no text' train --gin_file small.gin --text empty.txt --steps 1
refuses "empty text to evaluate on" '"empty.txt" has no text' perplexity whole --eval-text empty.txt
printf 'a\000b' >binary.txt
refuses "binary text" '"binary.txt" is not text: its byte 1 is zero' train --gin_file small.gin --text binary.txt --steps 1
refuses "binary text to score" "line 1 has a zero byte; this is not text" score whole --targets binary.txt
{ printf 'd\000%.0s' {1..999}; printf '\347\003'; } >far.u16
refuses "an id out of the vocabulary" '"far.u16", element 999: 999 is not an id of the vocabulary "bytes", which has 259' \
    perplexity whole --eval-text far.u16:joined
printf 'one column\n' >one.tsv
refuses "no targets" '"one.tsv", line 1 has no column 1; tabs separate columns' eval pairs --eval-text one.tsv
printf '%040d\n' 0 >long
refuses "a prompt longer than the model takes" "line 1: the prompt has 40 tokens; this model takes 31" decode whole --inputs long
refuses "a text longer than the model takes" "line 1: the text to score has 41 tokens, its prompt included; this model takes 32" \
    score whole --targets long
refuses "another model's checkpoint, with all that does not fit" \
    'tensor "transformer/embedding" is f32[vocab=384, d_model=32], but the variable "transformer/embedding" is f32[vocab=384, d_model=16]; 18 others do not fit: "transformer/positional_embedding" is [max_length=32, d_model=32] there and [max_length=32, d_model=16] here' \
    decode whole --gin_param "d_model = 16" --gin_param "Unitransformer.d_model = 16" --inputs prompts
refuses "a checkpoint with fewer layers" '7 others do not fit: "transformer/block_002/layer_000/SelfAttention/q" f32[d_model=32, heads=32] is missing' \
    decode whole --gin_param "make_layer_stack.num_layers = 3" --inputs prompts
cp -r whole cut
truncate -s 500 cut/step_00000012/*.safetensors
refuses "a checkpoint that is cut short" "has 500 bytes and should have" decode cut --inputs prompts
refuses "an unknown name" "d_modle" plan --gin_file small.gin --gin_param "Unitransformer.d_modle = 8"
refuses "no such file" "nothing.gin" plan --gin_file nothing.gin
misused "a word and files" "leave one out" plan mnist --gin_file small.gin
misused "lengths in two places" "run.sequence_length" train --gin_file small.gin --text book.txt:length=8 --steps 1
misused "no text" "name it with --text" train --gin_file small.gin --steps 1
refuses "text that is not there" "nowhere.txt" train --gin_file small.gin --text nowhere.txt --steps 1
refuses "a vocabulary that is not there" "nowhere.model" train --gin_file small.gin --text $book --steps 1 \
    --vocabulary sentencepiece:nowhere.model
refuses "another model's checkpoint" "d_model" eval --gin_file small.gin --gin_param "d_model = 16" --eval-text $book --checkpoint-dir whole

echo "configured.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
