#!/bin/bash
# Tests whole models with --device cuda: digits, Transformers, text, requests.
#
# On an emulated GPU models are tiny and take a few steps; with MTF_TEST_GPU=real the machine's own GPU
# takes 100 steps of larger ones.
# Usage: MTF=path/to/mtf tests/shell/cuda_models.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "cuda_models.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
server=""
trap '[ -n "$server" ] && kill -9 "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/cuda.bash"
finish() { echo "cuda_models.sh: $passed passed, $failed failed"; [ $failed -eq 0 ]; exit; }
if [ -n "$without_gpus" ]; then
    echo "note: $without_gpus; no model ran with --device cuda"
    finish
fi
export MTF_CACHE_DIR=${MTF_CACHE_DIR:-$work/cache}
if [ $real -eq 1 ]; then
    steps=100 layers=2 width=64 length=32 batch=8 digits=()
else
    echo "note: no GPU: models on GPUs were tiny, and took 8 steps instead of 100"
    steps=8 layers=1 width=16 length=16 batch=2 digits=(--hidden 16 --batch 8)
fi
half=$((steps / 2))

# ---- digits --------------------------------------------------------------------------------------

digits+=(--data-dir "$root/data/mnist")
both "digits" $steps mnist "${digits[@]}"
[ $real -eq 1 ] && both "digits by convolutions" 20 mnist-conv "${digits[@]}"

# ---- a Transformer: training, meshes, checkpoints ------------------------------------------------

cat >small.gin <<END
include 'lm_base.gin'
num_layers = $layers
d_model = $width
d_ff = $((2 * width))
num_heads = 2
d_kv = $((width / 2))
max_length = $length
dropout_rate = 0.0
run.sequence_length = {'targets': $length}
run.batch_size = ('sequences_per_batch', $batch)
get_variable_dtype.activation_dtype = 'float32'
END
head -c $((length * 600)) "$root/data/text/moby-dick.txt" >book.txt
# At ten times this rate a difference in the last digit grows to percents in 100 steps.
text=(--gin_file small.gin --text book.txt:documents=file:joined --optimizer adam --rate 0.001)
train() { run train "${text[@]}" --json "$@"; losses >now; }

both "a Transformer" $steps "${text[@]}"
mv on_cpu all
tail -n $half all >late
train --steps $steps --device cuda --mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y
near "a Transformer on four processors" all now $steps

train --steps $half --checkpoint-dir from_cpu
train --steps $steps --checkpoint-dir from_cpu --resume --device cuda
near "the CPU's checkpoint continues on a GPU" late now $half
train --steps $half --checkpoint-dir from_gpu --device cuda
cp -r from_gpu again
train --steps $steps --checkpoint-dir from_gpu --resume
near "a GPU's checkpoint continues on the CPU" late now $half
train --steps $steps --checkpoint-dir whole --device cuda
train --steps $steps --checkpoint-dir again --resume --device cuda
run ckpt diff whole again
check "a Transformer that was resumed is the same, bit for bit" 0 out
mesh=(--device cuda --mesh x:2 --layout heads:x,d_ff:x,vocab:x)
train --steps $half --checkpoint-dir parts "${mesh[@]}"
cp -r parts joined
train --steps $steps --checkpoint-dir parts --resume "${mesh[@]}"
train --steps $steps --checkpoint-dir twice "${mesh[@]}"
run ckpt diff parts twice
check "the same on two processors" 0 out
train --steps $steps --checkpoint-dir joined --resume --device cuda --mesh y:3 --layout heads:y,d_ff:y
near "two processors' checkpoint continues on three" late now $half

# ---- other types ---------------------------------------------------------------------------------

train --steps $steps --device cuda --tf32
near "a Transformer with --tf32" all now $steps 0.05
sed -i 's/float32/bfloat16/' small.gin
train --steps $steps --device cuda
near "a Transformer in bf16" all now $steps 0.1
sed -i 's/bfloat16/float16/' small.gin
train --steps $steps --device cuda --loss-scale dynamic
near "a Transformer in f16 with a dynamic loss scale" all now $steps 0.1
sed -i 's/float16/float32/' small.gin

# ---- text ----------------------------------------------------------------------------------------

printf 'Call me\nThe whale\n' >prompts
same_text() {                           # same_text NAME OPTION...
    local name=$1
    shift
    run decode whole --inputs prompts --max-tokens 6 "$@" --threads 1
    mv out said
    run decode whole --inputs prompts --max-tokens 6 "$@" --device cuda
    if [ $status -eq 0 ] && [ "$(wc -l <said)" -ge 2 ] && cmp -s out said; then pass
    else lose "$name: the same text" "$(cat said)" "$status: $(cat out err)"; fi
}
same_text "greedy decoding"
same_text "sampling" --temperature 1 --seed 3
same_text "beam search" --beams 3 --results 2
printf 'Call me\nSome\n' >targets
run score whole --targets targets --threads 1
mv out said
run score whole --targets targets --device cuda
near "scores" said out 2

# ---- a request -----------------------------------------------------------------------------------

if "$MTF" --version | grep -q 'microhttpd: none' || ! command -v curl >/dev/null || ! command -v python3 >/dev/null; then
    echo "note: mtf serve --device cuda was left out: it needs libmicrohttpd, curl and python3"
    finish
fi
"$MTF" serve whole --port 0 --device cuda >log 2>errors &
server=$!
for _ in $(seq 600); do
    if grep -q ' answers at ' log || ! kill -0 $server 2>/dev/null; then break; fi
    sleep 0.1
done
url=$(sed -n 's/.* answers at //p' log)
curl -s -m 60 -d '{"prompt": "Call me", "max_tokens": 6, "temperature": 0}' "$url/v1/completions" >body
run decode whole --inputs prompts --max-tokens 6 --threads 1
if python3 -c '
import json
answer = json.load(open("body"))["choices"][0]["text"]
wanted = open("out").readline().rstrip("\n")
assert answer.replace("\n", " ") == wanted, (answer, wanted)' 2>why; then pass
else lose "a request to mtf serve --device cuda" "the CPU's text" "$(tail -n 1 why; cat log errors)"; fi
kill -TERM $server
wait $server 2>/dev/null
server=""
finish
