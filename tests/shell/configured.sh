#!/bin/bash
# Tests models that configuration files describe: trained, evaluated, planned, asked, on meshes.
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

# ---- averages, evaluated -------------------------------------------------------------------------

run train --gin_file small.gin --text $book --eval-text $book --optimizer adam --rate 0.01 --steps 6 --average 0.9 --quiet --checkpoint-dir mean
cp out averaged
run eval --gin_file small.gin --eval-text $book --checkpoint-dir mean --averages
check "averages of a model of text" 0 out "perplexity" "$(sed 's/^test //' averaged)"
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

# ---- plans ---------------------------------------------------------------------------------------

prints "a plan of a published shape" "512 processors" plan --gin_file t5_11b --mesh batch:64,model:8 \
    --layout batch:batch,d_ff:model,heads:model,vocab:model

# ---- refusals ------------------------------------------------------------------------------------

prints "equal layers with dropout are left out of a search" "5 of the equal layers were left out" layout --gin_file small.gin \
    --gin_param num_layers=8 --gin_param dropout_rate=0.1 --mesh x:2
run layout --gin_file lm_base --gin_file tiny --gin_param "run.batch_size = ('sequences_per_batch', 16)" --mesh auto:2
if grep -q "batch:mesh_0" out && ! grep -q _turns out; then pass
else lose "a batch is in one piece while its mesh is sought" "no _turns" "$(cat out err)"; fi
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
