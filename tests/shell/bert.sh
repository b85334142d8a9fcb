#!/bin/bash
# Tests the built-in models of BERT: pre-training, fine-tuning from it and from published weights, evaluation.
#
# Usage: MTF=path/to/mtf tests/shell/bert.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "bert.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

# ---- texts ---------------------------------------------------------------------------------------

words=(the red blue green big small dog cat bird fish runs sleeps eats here there now)
{ printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n'; printf '%s\n' "${words[@]}" . ; } >vocab.txt
for ((i = 0; i < 60; i++)); do
    echo "the ${words[1 + i % 3]} ${words[6 + i % 4]} ${words[10 + i * 7 % 3]} ${words[13 + i % 3]} ."
    [ $((i % 6)) -ne 5 ] || echo
done >text
for ((i = 0; i < 48; i++)); do
    printf 'the %s dog %s\t%s\n' "${words[4 + i % 2]}" "${words[10 + i % 3]}" $((i % 2))
done >classes.tsv
for ((i = 0; i < 24; i++)); do
    printf 'the dog ?\tthe cat sleeps . the dog %s .\t%s\t25\n' "${words[10 + i % 3]}" "${words[10 + i % 3]}"
done >questions.tsv
cat >tiny.json <<'END'
{"vocab_size": 22, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 10,
 "max_position_embeddings": 20, "type_vocab_size": 2, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
END
cat >new.json <<'END'
{"vocab_size": 22, "d_model": 12, "num_blocks": 2, "attention_num_heads": 3, "feedforward_intermediate_size": 10,
 "position_signal": "relative_attention_bias", "residual_structure": "direct", "use_bias": false,
 "block_layers": "attention,feedforward,attention,moe", "moe_num_experts": 4, "moe_intermediate_size": 6}
END
common=(--vocab vocab.txt --length 20 --batch 6 --threads 1)
pretrain=(train bert-pretrain "${common[@]}" --train-files text --predictions 3)
losses() { grep -o '"loss":[^,]*' "$1" | cut -d: -f2; }
near() {                                # near NAME A B: losses of two runs agree
    paste <(losses "$2") <(losses "$3") | awk -v e=1e-4 '{ d = $1 - $2; if (d > e || d < -e) bad = 1 } END { exit bad || !NR }' &&
        pass || lose "$1" "$(losses "$2" | paste -sd ' ')" "$(losses "$3" | paste -sd ' ')"
}

run "${pretrain[@]}" --bert-config tiny.json --steps 1
check "a single step at rate 0" 0 err 'mtf: note: the rate was 0 in every step, so nothing was trained' '--rate 0.0001'
run "${pretrain[@]}" --bert-config tiny.json --steps 2
if grep -q 'rate was 0' err; then lose "two steps" "no note" "$(cat err)"; else pass; fi
run train bert-classify "${common[@]}" --train-files classes.tsv --bert-config tiny.json --columns 1,1 --steps 1
check "the class is the text" 2 err 'the columns "1,1" have "1" twice'

# ---- pre-training --------------------------------------------------------------------------------

run "${pretrain[@]}" --bert-config tiny.json --eval-files text --steps 12 --rate 0.01 --json --checkpoint-dir pre
check "pre-training" 0 out '"step":12' '"accuracy":' '"tokens":' '"next_sentence":'
cp out one
for place in "x:2 batch:x" "x:2,y:3 batch:x,num_heads:y,vocab:y,intermediate:y" "x:2 seq:x"; do
    run "${pretrain[@]}" --bert-config tiny.json --steps 12 --rate 0.01 --json --mesh ${place% *} --layout ${place#* }
    near "pre-training on $place" one out
done
for place in "x:1 " "x:2,y:2 batch:x,vocab:y"; do
    run "${pretrain[@]}" --bert-config tiny.json --steps 12 --rate 0.01 --json --dtype bf16 --mesh ${place% *} --layout "${place#* }"
    paste <(losses out) <(losses one) | awk '
        { d = $1 - $2; if (d > 0.1 || d < -0.1) far = 1 }
        { for (m = $1; m < 128; m *= 2); for (; m >= 256; m /= 2); if (m != int(m)) precise = 1 }
        END { exit far || !precise }' && pass || lose "losses in f32 of a network in bf16 on $place" "$(losses one | paste -sd ' ')" "$(cat err; losses out | paste -sd ' ')"
done
run eval bert-pretrain "${common[@]}" --predictions 3 --bert-config tiny.json --eval-files text --checkpoint-dir pre
check "its masked words" 0 out "accuracy" "perplexity"
told=$(grep -o 'next_sentence [0-9.]*' out)
run eval bert-pretrain "${common[@]}" --predictions 3 --bert-config tiny.json --eval-files text --checkpoint-dir pre --mesh x:3 --layout batch:x
check "its next sentences on a mesh" 0 out "${told:-nothing was told}"
read -r -a documented < <(grep '^--mesh .*--layout' "$root/docs/bert.md")
for config in tiny tiny.json new.json; do
    run "${pretrain[@]}" --bert-config $config --steps 1 "${documented[@]}" --oversubscribe
    check "the documented layout for $config" 0 out "step 1 of 1"
done
run "${pretrain[@]}" --bert-config new.json --steps 2 --json --mesh x:2 --layout batch:x,experts:x
check "relative positions, no biases, experts" 0 out '"step":2'
run train bert-pretrain --train-files "$root/tests/text/bert.tfrecord" --length 8 --predictions 3 --batch 3 --steps 2 --threads 1
check "pre-training on records" 0 out "step 2 of 2"
run train bert-pretrain --vocab vocab.txt --length 9 --batch 6 --threads 1 --train-files text --steps 1
check "as many masked words as a short row takes" 0 out "step 1 of 1"
run "${pretrain[@]}" --steps 1;         check "a small model without a configuration" 0 out "step 1 of 1"

# ---- fine-tuning ---------------------------------------------------------------------------------

tune=(--bert-config tiny.json --init-from pre --rate 0.01 --json)
run train bert-classify "${common[@]}" "${tune[@]}" --train-files classes.tsv --eval-files classes.tsv --epochs 6 --checkpoint-dir classes
check "classes are learnt" 0 out '"accuracy":1,'
run eval bert-classify "${common[@]}" --bert-config tiny.json --eval-files classes.tsv --checkpoint-dir classes --mesh x:2 --layout batch:x
check "and evaluated" 0 out "accuracy 100.00 %"
run train bert-span "${common[@]}" "${tune[@]}" --query-length 5 --train-files questions.tsv --eval-files questions.tsv --epochs 12
check "answers are learnt" 0 out '"accuracy":1,' '"exact_match":1,' '"f1":1'

# Answers as text: the best, no answer beyond a threshold, windows of a text that is too long for a row.
printf 'the dog ?\tThe Bird eats, the big cat runs here; now the small fish sleeps there. The Dog runs now .\truns\t79\n' >long.tsv
sed 's/The dog/the DOG/' questions.tsv >>long.tsv
asked=(eval bert-span "${common[@]}" --bert-config tiny.json --checkpoint-dir spans --query-length 5)
run train bert-span "${common[@]}" "${tune[@]}" --query-length 5 --train-files questions.tsv --epochs 12 --checkpoint-dir spans
run "${asked[@]}" --stride 4 --eval-files long.tsv --output one --answers 3
check "answers as text" 0 out "exact match " "F1 "
[ "$(wc -l <one_48_predictions)" = 25 ] && [ "$(sed 1d one_48_predictions | cut -d, -f1 | sort | uniq -c | paste -sd' ')" = \
    '      8 {"answer":"eats"       8 {"answer":"runs"       8 {"answer":"sleeps"' ] && pass ||
    lose "an answer a line" "8 of each" "$(cut -d, -f1 one_48_predictions)"
[ "$(head -n 1 one_48_predictions | grep -o '"text":' | wc -l)" = 3 ] && pass || lose "three answers" 3 "$(head -n 1 one_48_predictions)"
cut -f1,2 long.tsv >texts.tsv
for place in "x:2,y:3 batch:x,num_heads:y" "x:2 seq:x"; do
    run "${asked[@]}" --stride 4 --eval-files texts.tsv --columns 0,1 --output two --answers 3 --json --mesh ${place% *} --layout ${place#* }
    check "questions alone on $place" 0 out '"questions":25}'
    [ "$(sed 's/[0-9.e-]*//g' two_48_predictions)" = "$(sed 's/[0-9.e-]*//g' one_48_predictions)" ] && pass ||
        lose "the same answers on $place" "$(cat one_48_predictions)" "$(cat two_48_predictions)"
done
run "${asked[@]}" --eval-files questions.tsv --null-threshold -100 --output none
check "no answer beyond a threshold" 0 out "exact match 0.00 %   F1 0.00 %"
[ "$(grep -c '^{"answer":""' none_48_predictions)" = 24 ] && pass || lose "no answers" 24 "$(cat none_48_predictions)"
refuses "too many answers" "--answers is 101; it can be 1 to 100" "${asked[@]}" --eval-files long.tsv --answers 101
refuses "a threshold that is no number" "null-threshold" "${asked[@]}" --eval-files long.tsv --null-threshold much
refuses "answers over the questions" "one_48_predictions" "${asked[@]}" --eval-files one_48_predictions --output one
refuses "an answer without its place" "should be question and text, or also answer and place" \
    "${asked[@]}" --eval-files long.tsv --columns 0,1,2
refuses "questions alone to train on" "should be four: question, text, answer, place" \
    train bert-span "${common[@]}" --bert-config tiny.json --query-length 5 --train-files texts.tsv --columns 0,1
published=$root/tests/reference/published/bert
run ckpt import "$published" imported;  check "published weights" 0 out "imported: 46 tensors"
run train bert-classify --bert-config "$published/config.json" --vocab vocab.txt --length 17 --batch 6 --threads 1 \
    --init-from imported --train-files classes.tsv --steps 2
check "fine-tuning of them" 0 out "step 2 of 2"
for head in classify span; do
    file=questions.tsv name=span count=37           # answers have no use for the pooler
    [ $head = span ] || file=classes.tsv name=classifier count=39
    run train bert-$head --bert-config "$published/config.json" --vocab vocab.txt --length 17 --batch 6 --threads 1 \
        $([ $head = span ] && echo --query-length 5) --init-from imported --train-files $file --steps 1 --checkpoint-dir with-$head
    run ckpt export with-$head out-$head --config "$published/config.json"
    check "what export leaves out of bert-$head" 0 err "mtf: note: left out: $name/bias, $name/kernel, and " " tensors of training"
    check "the rest of bert-$head" 0 out "out-$head: $count tensors"
done
run ckpt export imported out-all;       check "export of all" 0 out "out-all: 46 tensors"
[ -s err ] && lose "export of all leaves nothing out" "" "$(cat err)" || pass

# ---- what is refused -----------------------------------------------------------------------------

refuses "no examples" "bert-pretrain needs examples: name their files with --train-files" train bert-pretrain --steps 1
refuses "no vocabulary" 'need a vocabulary' train bert-classify --train-files classes.tsv
echo '{"vocab_size": 9}' >small.json
echo '{"vocab_size": 22, "hidden_size": 8, "vocab_size": 22}' >twice.json
refuses "a member given twice" '"twice.json": "vocab_size" is given twice' \
    train bert-classify --train-files classes.tsv --vocab vocab.txt --bert-config twice.json
refuses "too many words" "--vocab has 22 words, and the model of --bert-config small.json only 9" \
    train bert-classify --train-files classes.tsv --vocab vocab.txt --bert-config small.json
refuses "too long rows" "the model learns 20 (max_positions)" train bert-pretrain --vocab vocab.txt \
    --train-files text --predictions 3 --bert-config tiny.json --length 24 --steps 1
refuses "more masked words than a row has" "--predictions is 21; of rows of 20 words it can be 1 to 20" \
    train bert-pretrain "${common[@]}" --train-files text --predictions 21 --steps 1
refuses "records of another length" "have 8 numbers in \"input_ids\": --length must be 8" \
    train bert-pretrain --train-files "$root/tests/text/bert.tfrecord" --length 16 --steps 1
sed 's/"type_vocab_size": 2/"type_vocab_size": 1/' tiny.json >alone.json
for model in bert-pretrain bert-span; do
    refuses "one kind of segments, $model" "rows of two texts need 2 kinds of segments or more, but the model has 1" \
        train $model "${common[@]}" --bert-config alone.json --train-files text --steps 1
done
run train bert-classify "${common[@]}" --bert-config alone.json --train-files classes.tsv --steps 1
check "one kind of segments, single texts" 0 out "step 1 of 1"
refuses "no data to evaluate" "name it with --eval-files FILES" eval bert-classify "${common[@]}" --bert-config tiny.json --checkpoint-dir classes

echo "bert.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
