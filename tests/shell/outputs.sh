#!/bin/bash
# Tests that no command replaces a file that it reads.
#
# Usage: MTF=path/to/mtf tests/shell/outputs.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "outputs.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

printf 'a few words\n' >text
printf 'x: f32[a=2] = input\ny = x * 2\n' >sum.mtf
printf 'x: f32[a=2] = constant(value=3)\n' >three.mtf
"$MTF" run three.mtf --fetch x=x.npy >out 2>err || lose "a file of two numbers" "x.npy" "$(cat err)"
ln -s text link
ln text hard
mkdir folder && cp text folder/config.json
touch sums
echo 'run.train_steps = 3' >small.gin

# keeps NAME FILE TEXT COMMAND...: the command refuses, and the file is as it was.
keeps() {
    local name=$1 file=$2
    cp "$file" was
    misused "$name" "$3" "${@:4}"
    cmp -s "$file" was && pass || lose "$name" "$file as it was" "$(head -c 100 "$file")"
}

# ---- tokens --------------------------------------------------------------------------------------

keeps "tokens in place of the text" text '--output text would replace "text", which is read' tokenize text --output text
keeps "tokens through a link" text '--output link would replace' tokenize text --output link
keeps "tokens through a second name" text '--output hard would replace' tokenize text --output hard
keeps "tokens in place of one of many" text '--output text would replace' tokenize 't*t' --output text
keeps "text in place of the tokens" text '--output ./text would replace' tokenize text --decode --output ./text
keeps "tokens in place of the vocabulary" text 'would replace a file of --vocabulary' \
    tokenize sum.mtf --vocabulary words:text --output text
keeps "a file of a vocabulary's folder" folder/config.json 'would replace a file of --vocabulary' \
    tokenize text --vocabulary gpt2:folder --output folder/config.json
"$MTF" tokenize --output text <text >out 2>err
status=$?
check "tokens in place of standard input" 2 err '--output text would replace standard input'
[ "$(cat text)" = 'a few words' ] && pass || lose "standard input" "as it was" "$(head -c 100 text)"
prints "other names are taken" 'tokens: 12 tokens' tokenize text --output tokens

# ---- arrays --------------------------------------------------------------------------------------

keeps "a result in place of an input" x.npy '--fetch x.npy would replace a file of --feed' \
    run sum.mtf --feed x=x.npy --fetch y=x.npy
keeps "a result in place of the model" sum.mtf '--fetch sum.mtf would replace "sum.mtf", which is read' \
    run sum.mtf --feed x=x.npy --fetch y=sum.mtf
keeps "a result in place of the machine" sums '--fetch sums would replace a file of --machine' \
    run sum.mtf --feed x=x.npy --fetch y=sums --machine sums
misused "two results in one file" '--fetch x=y.npy would replace what --fetch y=y.npy writes' \
    run sum.mtf --feed x=x.npy --fetch y=y.npy --fetch x=y.npy
for time in once again; do
    run run sum.mtf --feed x=x.npy --fetch y=y.npy
    check "a result, $time" 0 err
done

# ---- pages ---------------------------------------------------------------------------------------

for command in plan 'layout --mesh x:2'; do
    keeps "$command: a page in place of the machine" sums 'would replace a file of --machine' \
        $command mnist --machine sums --html sums
    keeps "$command: a page in place of the configuration" small.gin 'would replace ' \
        $command --gin_file lm_base --gin_file small.gin --html small.gin
done
touch mnist
run plan mnist --html mnist
check "a built-in model of the page's name" 0 err
rm mnist

# ---- training, prompts and scores ----------------------------------------------------------------

small=(--gin_file lm_base --gin_file tiny --gin_param "run.sequence_length = {'targets': 16}" --batch 1)
for option in report trace; do
    keeps "train: --$option in place of the text" text "would replace a file of --text" \
        train "${small[@]}" --text text:joined --steps 1 --$option text
done
run train "${small[@]}" --text text:joined --steps 1 --quiet --checkpoint-dir folder/run
check "a model" 0 err
for file in answers-1 answers-1.targets; do cp text $file; done
keeps "answers in place of the prompts" answers-1 '--output: "answers-1" would replace a file of --inputs' \
    decode folder/run --inputs answers-1 --output answers --max-tokens 2
keeps "scores in place of the texts" answers-1.targets '--output: "answers-1.targets" would replace a file of --targets' \
    score folder/run --targets answers-1.targets --output answers
run decode folder/run --inputs text --output answers --max-tokens 2
check "answers in place of older ones" 0 err

# ---- checkpoints ---------------------------------------------------------------------------------

keeps "a configuration in place of what is imported" folder/config.json 'would replace a file of "folder", which is read' \
    ckpt import folder new --gin folder/config.json

"$MTF" ckpt convert folder/run one.safetensors >out 2>err || lose "a file of weights" "one.safetensors" "$(cat err)"
ln -s one.safetensors other.safetensors
for file in one other; do
    keeps "a conversion in place" one.safetensors 'would replace "one.safetensors", which is read' \
        ckpt convert one.safetensors $file.safetensors --type all=bf16 --force
done
keeps "a conversion of a folder's newest" folder/run/step_00000001/manifest.json 'which is read; give another name' \
    ckpt convert folder/run folder/run/step_00000001 --type all=bf16 --force
keeps "weights in place of those that are imported" folder/config.json '"./folder" would replace "folder", which is read' \
    ckpt import folder ./folder --force
keeps "weights in place of those that are exported" folder/run/step_00000001/manifest.json 'which is read; give another name' \
    ckpt export folder/run/step_00000001 folder/run/step_00000001 --force

printf '%s: %d passed, %d failed\n' outputs.sh $passed $failed
[ $failed -eq 0 ]
