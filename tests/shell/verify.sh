#!/bin/bash
# Tests mtf verify as its users meet it: answers, exit status, JSON, shrinking, refusals.
#
# Usage: MTF=path/to/mtf tests/shell/verify.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "verify.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

file() { printf '%s\n' "${@:2}" >"$1"; }    # file NAME LINE...

file net.mtf \
    'x: f32[batch=12, d=7] = input' \
    'w: bf16[d=7, hidden=10] = variable' \
    'v: f32[hidden=10, out=3] = variable' \
    'h: [batch, hidden] = einsum(x, cast(w, type=f32))' \
    'z: [batch, out] = einsum(relu(h), v)' \
    'loss = reduce_mean(square(softmax(z, dim=out)))' \
    'dw, dv = gradients(loss; w, v)' \
    'nw = assign(w, w - dw)' \
    'nv = assign(v, v - 0.1 * dv)'

# ---- answers -------------------------------------------------------------------------------------

prints "one processor" "equal on one processor, chance of error below 2^-60" verify net.mtf
prints "two axes" "equal on all 6 processors, chance of error below 2^-60" \
    verify net.mtf --mesh x:2,y:3 --layout batch:x,hidden:y
prints "rules for state" "equal on all 4 processors, chance of error below 2^-60" \
    verify net.mtf --mesh x:4 --layout batch:x --state-layout hidden:x --seed 17
prints "a layout that is found" "equal on all 2 processors" verify net.mtf --mesh x:2 --layout auto
prints "one result alone" "equal on all 3 processors" verify net.mtf --mesh x:3 --layout d:x --fetch z
prints "a built-in model" "equal on all 4 processors, chance of error below 2^-60" \
    verify mnist --mesh x:2,y:2 --layout batch:x,hidden:y --shrink

run verify net.mtf --mesh x:2 --layout batch:x --json
check "JSON" 0 out '"equal":	true' '"processors":	2' '"trials":	2' '"log2_chance":	-' '"degree":'

# Values that are made in one trial only, by the seed and nothing else.
run verify net.mtf --mesh x:2 --layout batch:x --json --seed 5; cp out first
run verify net.mtf --mesh x:2 --layout batch:x --json --seed 5
if cmp -s out first; then pass; else lose "the same twice" "$(cat first)" "$(cat out)"; fi

# ---- shrinking: many processors, sizes that are related -------------------------------------------

file large.mtf \
    'x: f32[batch=4096, length=1000, model=768] = input' \
    'wq: f32[model=768, inner=6144] = variable' \
    'wi: f32[model=768, ff=30001] = variable' \
    'wo: f32[ff=30001, model=768] = variable' \
    'q: [batch, length, inner] = einsum(x, wq)' \
    'h: [batch, length, heads=48, size=128] = reshape(q)' \
    'k = rename_dimension(h, from=length, to=memory)' \
    'a: [batch, heads, length, memory] = einsum(h, k)' \
    'p = softmax(a, dim=memory)' \
    'c: [batch, length, heads, size] = einsum(p, k)' \
    'f: [batch, length, ff] = einsum(x, wi)' \
    'y: [batch, length, model] = einsum(tanh(f), wo)' \
    'loss = reduce_mean(square(y)) + reduce_mean(square(c))' \
    'dq, di, do = gradients(loss; wq, wi, wo)' \
    'nq = assign(wq, wq - 0.1 * dq)' \
    'ni = assign(wi, wi - 0.1 * di)' \
    'no = assign(wo, wo - 0.1 * do)'
run verify large.mtf --mesh x:4,y:16 --layout batch:x,heads:y,ff:y --shrink
# 4096 and 48 are cut evenly, 30001 leaves 1 of 16 over; what a reshape splits is still its product.
check "many processors" 0 out "batch 4096 to 8" "length 1000 to 4" "memory 1000 to 4" "ff 30001 to 17" \
    "equal on all 64 processors, chance of error below 2^-60"

run verify large.mtf --mesh x:4,y:16 --layout batch:x,heads:y,ff:y --shrink --json
check "what shrank, as JSON" 0 out '"dim":	"ff"' '"from":	30001' '"to":	17'
refuses "more than there is memory for" "--shrink" verify large.mtf --mesh x:4 --layout batch:x

file small.mtf 'x: f32[a=2] = input' 'y = exp(x)'
prints "nothing to shrink" "shrunk: nothing could be" verify small.mtf --mesh x:2 --layout a:x --shrink

# Of a Transformer, lengths, heads and distances become small with the rest.
run verify --gin_file t5_small --mesh x:2,y:2 --layout batch:x,d_ff:y,heads:y,vocab:y --shrink
check "lengths and distances" 0 out "length 512 to 4" "d_kv 64 to 4" "relative_distance 1023 to 7" \
    "equal on all 4 processors, chance of error below 2^-60"

# A state rule keeps a dimension of all activations as long as its axis; its products are most of the work.
[ "$MTF_TEST" = fast ] && mesh=x:16,y:2 processors=32 || mesh=x:64,y:8 processors=512
prints "a dimension of all activations that variables are cut by" "equal on all $processors processors" \
    verify --gin_file t5_11b --mesh $mesh --layout batch:x,d_ff:y,heads:y,vocab:y --state-layout d_model:x --shrink

# ---- micro-batches -------------------------------------------------------------------------------

# A masked mean, a root of a mean, a norm over the batch and dropout, in even and uneven parts.
file parts.mtf 'x: f32[batch=12, d=6] = random_normal' 'k: f32[batch=12] = input' \
    'w: f32[d=6, h=5] = variable' 'v: f32[h=5] = variable' \
    'h0: [batch, h] = einsum(x, w)' 'h = dropout(h0 - reduce_mean(h0, over=(batch)), rate=0.3)' \
    'l: [batch] = square(einsum(h, v))' \
    'loss = reduce_sum(l * k) / reduce_sum(k) + sqrt(reduce_mean(l)) + 0.1 * reduce_sum(square(w))'
for n in 1 3 5; do
    prints "$n micro-batches" "equal on all 4 processors, chance of error below 2^-60" \
        verify parts.mtf --optimizer adam --microbatches $n --mesh x:2,y:2 --layout batch:x,h:y
done

# ---- refusals ------------------------------------------------------------------------------------

refuses "an unknown axis" 'no axis "z"' verify net.mtf --mesh x:2 --layout batch:z
refuses "two dimensions on one axis" "has two dimensions on axis" \
    verify net.mtf --mesh x:2 --layout batch:x,d:x
refuses "an unknown tensor" '"nothing"' verify net.mtf --fetch nothing
misused "no file" "mtf verify needs NAME|FILE.mtf" verify
misused "a seed that is none" "--seed takes a whole number" verify net.mtf --seed x
misused "a misspelt option" 'did you mean "--shrink"?' verify net.mtf --shirnk
prints "help" "--shrink" verify --help

echo "verify: $passed passed, $failed failed"
[ $failed -eq 0 ]
