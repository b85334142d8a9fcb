#!/bin/bash
# Tests the command line: what it prints, what it refuses.
#
# Usage: MTF=path/to/mtf tests/shell/cli.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "cli.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

same() {                                # same NAME EXPECTED-FILE GOT-FILE
    if cmp -s "$2" "$3"; then pass; else lose "$1" "$(head -c 400 "$2")" "$(head -c 400 "$3")"; fi
}

file() { printf '%s\n' "${@:2}" >"$1"; }    # file NAME LINE...

have_python() { command -v python3 >/dev/null 2>&1; }
is_json() {                             # is_json NAME: after `run`
    if [ $status -ne 0 ]; then
        lose "$1" "exit status 0" "$status: $(head -c 400 err)"
    elif have_python; then
        if python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out 2>why; then pass
        else lose "$1" "JSON" "$(tail -n 1 why): $(head -c 400 out)"; fi
    elif head -n 1 out | grep -q '^[{[]' && tail -n 1 out | grep -q '[]}]$'; then pass
    else lose "$1" "JSON" "$(head -c 400 out)"; fi
}

# An .npy file of version 1.0: npy FILE DICTIONARY DATA, data as printf writes it.
npy() {
    { printf '\223NUMPY\001\000'
      printf "\\$(printf %o $((${#2} % 256)))\\$(printf %o $((${#2} / 256)))"
      printf '%s' "$2"
      printf "$3"; } >"$1"
}

# ---- help and version ----------------------------------------------------------------------------

prints  "help names the commands"        "print the manual of every operation" --help
prints  "help is an argument too"        "usage: mtf run FILE.mtf" help run
prints  "-h is help"                     "commands" -h
run;    check "no command at all" 2 err "usage: mtf COMMAND"
run --help
commands=$(awk '/^commands/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' out)
[ "$(wc -w <<<"$commands")" -ge 10 ] && pass || lose "help lists every command" "10 or more" "$commands"
for command in $commands; do
    run $command --help
    check "help of $command" 0 out "usage: mtf $command" "--help"
    if [ "$(awk 'length > 100' out | wc -l)" -eq 0 ]; then pass
    else lose "help of $command fits" "at most 100 columns" "$(awk 'length > 100' out | head -n 1)"; fi
done
for command in train eval plan layout show verify; do
    run $command mnist --help
    check "help of $command for a built-in model" 0 out "--batch N" "; default 100"
    if grep -qE -- '--(layers|nan-step|loss NAME|data NAME) ' out; then
        lose "help of $command mnist" "no options of other models" "$(grep -E -- '--(layers|nan-step|loss|data) ' out)"
    else pass; fi
    run $command --help mnist
    check "the model may follow --help" 0 out "; default 100"
    run $command --help
    check "help of $command lists the built-in models" 0 out "built-in models" "  mnist-conv"
done
run run --help
check "help of run lists its options" 0 out "--feed NAME=FILES" "--fetch NAME[=FILE.npy]" \
    "--steps N" "--seed N" "--threads N" "--device cpu|cuda|check" "--memory BYTES" "--json"
awk '/^  --/ { at = match($0, /  [a-z]/) ; if (match(substr($0, 3), /   *[a-z]/)) print RSTART + RLENGTH }' \
    out | sort -u >columns
if [ "$(wc -l <columns)" -eq 1 ]; then pass
else lose "help texts are aligned" "one column" "$(tr '\n' ' ' <columns)"; fi
run --version
check "version says what the build found" 0 out "mtf " "BLAS"
misused "unknown command"                'there is no command "rnu"; did you mean "run"?' rnu
misused "unknown command, nothing near"  'there is no command "frobnicate"' frobnicate
misused "unknown option of mtf"          'did you mean "--version"?' --verzion
misused "unknown option"                 'mtf run has no option --fed; did you mean "--feed"?' run x.mtf --fed x=x.npy
misused "unknown option with a value"    'no option --fecth; did you mean "--fetch"?' run x.mtf --fecth=y
misused "unknown short option"           'mtf show has no option -j' show x.mtf -j
misused "others' name of an option"      'mtf train has no option --lr; did you mean "--rate"?' train x.mtf --lr 0.1
misused "the same, of a built-in model"  'no option --batch_size; did you mean "--batch"?' train mnist --batch_size=3
misused "the same, of a configuration"   'no option --batch-size; did you mean "--batch"?' train --gin_file x.gin --batch-size 3
misused "a configuration as a word"      '"whale.gin" is a configuration: name it with --gin_file whale.gin' train whale.gin
misused "a prompt as a word"             'what to do with "Call me"; prompts come from standard input, or from --inputs FILE' decode whales "Call me"
misused "a text as a word"               'what to do with "Call me"; texts come from --targets FILE' score whales "Call me"
misused "a file of text as a word"       'what to do with "x.txt"; the text comes from --eval-text FILES' perplexity whales x.txt
misused "option without its value"       "--feed needs a value: --feed NAME=FILES[:...]" run x.mtf --feed
misused "option before another"          "--feed needs a value" run x.mtf --feed --json
misused "value for an option without"    "--json takes no value" run x.mtf --json=yes
misused "option given twice"             "--seed was given twice" run x.mtf --seed 1 --seed 2
misused "no file"                        "mtf run needs FILE.mtf" run
misused "two files"                      'does not know what to do with "b.mtf"' show a.mtf b.mtf
misused "bad number"                     '--steps takes a whole number, 1 or more' run x.mtf --steps three
misused "negative number"                '--seed takes a whole number, 0 or more' run x.mtf --seed=-1
misused "number out of range"            '--threads takes a whole number from 1 to 1024' run x.mtf --threads 0
misused "bad amount of memory"           '--memory takes a number of bytes' run x.mtf --memory 3Q
misused "memory overflows"               '--memory takes a number of bytes' run x.mtf --memory 99999999999999T
misused "unknown device"                 '--device takes cpu, cuda, check or check:cuda' run x.mtf --device gpu
misused "fetch without program"          "add --program" show x.mtf --fetch y
misused "markdown and json"              "exclude each other" ops --markdown --json

# ---- run: values in and out ----------------------------------------------------------------------

file scalar.mtf 'x: f32[] = constant(value=1.5)' 'y = x * 2.0 + 0.5'
run run scalar.mtf
printf 'y = 3.5\n' >want
same "a scalar is one line, the last tensor by default" want out

file matrix.mtf 'm: i32[rows=2, cols=3] = constant(data={1, -2, 3, 40, 5, 6})'
run run matrix.mtf --fetch m
printf 'm: i32[rows=2, cols=3]\n[[ 1, -2,  3],\n [40,  5,  6]]\n' >want
same "a small tensor prints in brackets" want out

file deep.mtf 'x: f32[a=2, b=2, c=2] = constant(data={1, 2, 3, 4, 5, 6, 7, 8.5})'
run run deep.mtf
printf 'x: f32[a=2, b=2, c=2]\n[[[  1,   2],\n  [  3,   4]],\n\n [[  5,   6],\n  [  7, 8.5]]]\n' >want
same "three dimensions" want out

file large.mtf 'x: f32[n=100, m=100] = constant(value=7)' 'r: i32[long=5000] = range'
run run large.mtf --fetch x
check "a large tensor is summarised" 0 out "x: f32[n=100, m=100]" "[[7, 7, 7, ..., 7, 7, 7]," "..."
if [ "$(wc -l <out)" -eq 8 ]; then pass; else lose "a large tensor is short" "8 lines" "$(wc -l <out)"; fi
prints "the ends of a long vector" "[   0,    1,    2, ..., 4997, 4998, 4999]" run large.mtf --fetch r
file row.mtf 'r: i32[n=300] = range'
run run row.mtf
if [ "$(awk 'length > 100' out | wc -l)" -eq 0 ] && grep -q 299 out; then pass
else lose "long rows are broken" "at most 100 columns" "$(head -c 300 out)"; fi

for type in f32 bf16 f16 f64 i32 i64 bool; do
    case $type in
        bool) data='0, 1, 1, 0, 1, 0' ;;
        i32) data='0, 1, -1, 2147483647, -2147483648, 7' ;;
        i64) data='0, 1, -1, 9223372036854775807, -9223372036854775807, 7' ;;
        *) data='0, 1, -2.5, inf, -inf, nan' ;;
    esac
    file make.mtf "x: $type[a=2, b=3] = constant(data={$data})"
    file pass.mtf "x: $type[a=2, b=3] = input" 'y = identity(x)'
    run run make.mtf --fetch x=x_$type.npy
    check "$type: written" 0 out
    run run pass.mtf --feed x=x_$type.npy --fetch y=y_$type.npy
    check "$type: fed and fetched" 0 err
    same "$type: round trip" x_$type.npy y_$type.npy
done
if have_python && python3 -c 'import numpy' 2>/dev/null; then
    if python3 -c '
import numpy
for name, code in dict(f32="<f4", f64="<f8", f16="<f2", i32="<i4", i64="<i8", bool="|b1").items():
    x = numpy.load(f"x_{name}.npy")
    assert x.dtype.str == code and x.shape == (2, 3), name' 2>why; then pass
    else lose "NumPy reads what was written" "equal types and shapes" "$(tail -n 1 why)"; fi
fi

file two.mtf 'a: f32[n=3] = input' 'b: f32[n=3] = input' 'sum = a + b' 'dot: [] = einsum(a, b)'
file ab.mtf 'a: f32[n=3] = constant(data={1, 2, 3})' 'b: f32[n=3] = constant(data={4, 5, 6})'
run run ab.mtf --fetch a=a.npy --fetch=b=b.npy
check "options with an equals sign" 0 out
run run two.mtf --feed a=a.npy --feed=b=b.npy --fetch sum --fetch dot --fetch sum=sum.npy
printf 'sum: f32[n=3]\n[5, 7, 9]\ndot = 32\n' >want
same "several feeds and fetches, in order" want out
run run two.mtf --feed a=sum.npy --feed b=b.npy --fetch dot
check "what was fetched can be fed" 0 out "dot = 109"

file grad.mtf 'w: f32[n=3] = input' 'loss = reduce_sum(w * w * w)' 'dw = gradients(loss; w)' \
    's = reduce_sum(dw)' 'ddw = gradients(s; w)'
run run grad.mtf --feed w=a.npy --fetch dw --fetch ddw
printf 'dw: f32[n=3]\n[ 3, 12, 27]\nddw: f32[n=3]\n[ 6, 12, 18]\n' >want
same "gradients, first and second" want out

file alias.mtf 'x: f32[] = constant(value=2)' 'y = x'
run run alias.mtf --fetch y --fetch x
printf 'y = 2\nx = 2\n' >want
same "two names of one tensor" want out

file count.mtf 'n: f32[] = variable(init="zeros")' 'new = assign(n, n + 1.0)'
run run count.mtf --steps 5 --fetch new
check "variables keep their values from step to step" 0 out "new = 5"
file draw.mtf 'x: f32[n=4] = random_uniform'
run run draw.mtf --seed 1; cp out one
run run draw.mtf --seed 1; same "the same seed gives the same numbers" one out
run run draw.mtf --seed 2
if cmp -s one out; then lose "another seed gives others" "a difference" "$(cat out)"; else pass; fi
file print.mtf 'x: f32[] = constant(value=42)' 'y = print(x, message="the answer")' 'z = y + 1.0'
run run print.mtf --threads 1
check "print speaks during the run" 0 err "the answer" "42"
"$MTF" run - <scalar.mtf >out 2>err; status=$?
check "standard input" 0 out "y = 3.5"
prints "an unused input needs no feed" "y = 2" run <(printf 'x: f32[n=3] = input\ny: f32[] = constant(value=2)\n') --fetch y
npy fortran.npy "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }" \
    '\0\0\200\77\0\0\100\100\0\0\0\100\0\0\200\100'
file square.mtf 'x: f32[rows=2, cols=2] = input' 'y = identity(x)'
prints "column-major files are turned" "[[1, 2]," run square.mtf --feed x=fortran.npy

# ---- run: what goes wrong ------------------------------------------------------------------------

refuses "no such file"        '"absent.mtf": No such file or directory' run absent.mtf
refuses "a folder"            'has no model.mtf, as mtf train FILE.mtf writes it' run "$work"
printf 'x: f32[] = input\0\n' >zero.mtf
refuses "a zero byte"         'is not a text: byte 16 is zero' run zero.mtf
file empty.mtf '# nothing'
refuses "nothing to compute"  '"empty.mtf" names no tensor to compute' run empty.mtf
run run two.mtf --feed a=a.npy --fetch sum
check "missing feed" 2 err 'input "b", f32[n=3], has no value' '--feed b=FILES'
refuses "misspelt feed"       'no tensor is called "aa"' run two.mtf --feed aa=a.npy
refuses "feed without a file" '--feed takes NAME=FILES, then any of' run two.mtf --feed a
refuses "feed of no input"    '"sum" is not an input but the result of add; the file'"'"'s inputs: "a", "b"' \
    run two.mtf --feed sum=a.npy
refuses "feed given twice"    '--feed a was given twice' run two.mtf --feed a=a.npy --feed a=b.npy
refuses "misspelt fetch"      'no tensor is called "smu"; did you mean "sum"?' run two.mtf --feed a=a.npy --feed b=b.npy --fetch smu
refuses "fetch from a block"  'is inside a block' run <(printf '%s\n' 's0: f32[] = constant(value=1)' \
    's = loop(s0, trips=3) {' '    body(p; i) {' '        t = tanh(p)' '        yield t' '    }' '}') --fetch t
run run two.mtf --feed a=a.npy --feed b=x_f32.npy --fetch sum
check "wrong feed shape" 1 err 'input "b" is f32[n=3], but "x_f32.npy" has f32 (2, 3)'
run run pass.mtf --feed x=x_f32.npy
check "wrong feed type" 1 err 'input "x" is bool[a=2, b=3], but "x_f32.npy" has f32 (2, 3)'
printf 'p,q\n1,2\n3,4\n5,6\n' >rows.csv
printf '7\n8\n9\n' >column.csv
prints "a column of a table"   "sum: f32[n=3]
[2, 6, 10]" run two.mtf --feed a=rows.csv:part=p --feed b=rows.csv:part=0 --fetch sum
prints "numbers scaled"        "4, 5.5,   7]" run two.mtf --feed a=rows.csv:part=p:scale=0.5 --feed b=column.csv:scale=1/2 --fetch sum
prints "a table beside an array" "sum: f32[n=3]" run two.mtf --feed a=a.npy --feed b=column.csv --fetch sum
refuses "too many columns"     'field "b" has 2 elements' run two.mtf --feed a=a.npy --feed b=rows.csv:header --fetch sum
printf '1\n2\n' >short.csv
refuses "too few rows"         'input "b" is f32[n=3], which takes 3 rows, but "short.csv" has 2' run two.mtf --feed a=a.npy --feed b=short.csv --fetch sum
refuses "a word that is none"  'there is no "prat="; did you mean "part="?' run two.mtf --feed a=rows.csv:prat=p --feed b=b.npy
refuses "feed that is absent" '"absent.npy": No such file' run two.mtf --feed a=absent.npy --feed b=b.npy
refuses "feed that is a folder" 'is a folder' run two.mtf --feed a="$work" --feed b=b.npy

for bytes in 0 5 9 40 127 130 139; do
    head -c $bytes a.npy >cut.npy
    refuses "npy cut at $bytes bytes" '"cut.npy"' run two.mtf --feed a=cut.npy --feed b=b.npy
done
cp a.npy long.npy; printf x >>long.npy
refuses "npy with a byte too many" 'longer than it should be' run two.mtf --feed a=long.npy --feed b=b.npy
hostile() {                             # hostile NAME DICTIONARY WORDS
    npy bad.npy "$2" '\0\0\0\0\0\0\0\0\0\0\0\0'
    refuses "npy: $1" "$3" run two.mtf --feed a=bad.npy --feed b=b.npy
}
hostile "big-endian"       "{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }" 'big-endian'
hostile "bytes"            "{'descr': '|u1', 'fortran_order': False, 'shape': (12,), }" 'only "<f4" (f32)'
hostile "a structure"      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }" 'structure'
hostile "a negative size"  "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }" 'negative'
hostile "a huge size"      "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,), }" 'cut short'
hostile "sizes overflow"   "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }" 'more elements'
hostile "a missing key"    "{'descr': '<f4', 'shape': (3,), }" 'lacks "fortran_order"'
hostile "an unknown key"   "{'descr': '<f4', 'evil': 1}" 'unknown key, "evil"'
hostile "a nested value"   "{'descr': {'descr': {}}}" 'element type in quotes'
hostile "no dictionary"    "import os" 'an opening brace'
printf '\223NUMPY\002\000\377\377\377\177{}' >bad.npy
refuses "npy: absurd header length" 'ends inside its header' run two.mtf --feed a=bad.npy --feed b=b.npy
printf '\223NUMPY\011\000\020\000\000\000{}' >bad.npy
refuses "npy: unknown version" 'version 9.0' run two.mtf --feed a=bad.npy --feed b=b.npy
printf 'PK\003\004 this is a zip file' >bad.npy
refuses "npy: another format" 'is not a .npy file' run two.mtf --feed a=bad.npy --feed b=b.npy

refuses "fetch into no folder" '"nowhere/y.npy" cannot be written: No such file' run scalar.mtf --steps 1000000000000 --fetch y=nowhere/y.npy
refuses "fetch onto a folder"  'Is a directory' run scalar.mtf --fetch y="$work"
mkdir locked; chmod a-w locked
if [ "$(id -u)" -ne 0 ]; then
    refuses "fetch into a read-only folder" 'Permission denied' run scalar.mtf --fetch y=locked/y.npy
fi
if [ -c /dev/full ]; then
    refuses "fetch onto a full disk" 'No space left' run scalar.mtf --fetch y=/dev/full
    "$MTF" run scalar.mtf >/dev/full 2>err; status=$?
    check "standard output on a full disk" 1 err "standard output: No space left"
fi
case $("$MTF" --version) in
*"(thread)"*) ;;                        # the thread sanitizer itself cannot live with the limit
*)
    (ulimit -f 1; run run large.mtf --fetch x=limit.npy; exit $status); status=$?
    check "fetch over the limit of file sizes" 1 err '"limit.npy" cannot be written: File too large'
    ;;
esac
if ls ./*.part >/dev/null 2>&1; then lose "no leftovers" "no .part files" "$(ls ./*.part)"; else pass; fi

# ---- errors in the text --------------------------------------------------------------------------

bad_text() {                            # bad_text NAME WORDS LINE...
    local name=$1 words=$2
    file bad.mtf "${@:3}"
    refuses "$name" "$words" run bad.mtf
    if grep -q '^mtf: [a-z]*: bad\.mtf:[0-9]*:[0-9]*: ' err; then pass
    else lose "$name: place" "bad.mtf:LINE:COLUMN" "$(cat err)"; fi
}
bad_text "syntax error"       'bad.mtf:2:5: ' 'x: f32[n=3] = input' 'y = = relu(x)'
bad_text "open bracket"       'the "(" of line 2, column 9' 'x: f32[n=3] = input' 'y = relu(x'
bad_text "column of an error" 'bad.mtf:1:10:' 'x: f32[n 3] = input'
bad_text "unknown op"         'no operation is called "rleu"; did you mean "relu"?' 'x: f32[n=3] = input' 'y = rleu(x)'
bad_text "unknown name"       '"xx"' 'x: f32[n=3] = input' 'y = relu(xx)'
bad_text "unknown dimension"  '"m"' 'x: f32[n=3] = input' 'y = reduce_sum(x, over=(m))'
bad_text "size disagreement"  '"n"' 'a: f32[n=3] = input' 'b: f32[n=4] = input' 'y = a + b'
bad_text "duplicate dimension" '"n"' 'x: f32[n=3, n=3] = input'
bad_text "type disagreement"  'cast' 'a: f32[n=3] = input' 'b: i32[n=3] = input' 'y = a + b'
bad_text "name given twice"   '"x"' 'x: f32[n=3] = input' 'x: f32[n=3] = input'
bad_text "bad attribute"      '"ovr"' 'x: f32[n=3] = input' 'y = reduce_sum(x, ovr=(n))'
bad_text "size of zero"       '1 or more' 'x: f32[n=0] = input'
head -c 3000 /dev/urandom | tr -d '\0' >noise.mtf
refuses "noise" 'noise.mtf' run noise.mtf

# ---- the check device, memory --------------------------------------------------------------------

file nan.mtf 'x: f32[n=3] = input' 'fine = x * 2.0' 'bad = log(fine - 100.0)' 'later = bad + 1.0'
prints  "NaN passes on the plain device" "nan" run nan.mtf --feed x=a.npy --fetch later
run run nan.mtf --feed x=a.npy --fetch later --device check
check "the check device names the first NaN" 1 err '"bad"' "NaN"
prints  "the check device runs sound programs" "dot = 32" \
    run two.mtf --feed a=a.npy --feed b=b.npy --fetch dot --device check

file huge.mtf 'x: f32[n=1000, m=1000] = random_uniform' 'y: [n] = reduce_sum(exp(x))'
run run huge.mtf --memory 1K
check "too little memory is refused before the run, with the amount" 1 err "memory: " "1024"
prints "enough memory" "y: f32[n=1000]" run huge.mtf --memory 100M

# ---- show ----------------------------------------------------------------------------------------

file train.mtf \
    'dim batch = 4' 'x: f32[batch, in=3] = input' 'labels: i32[batch] = input' \
    'w: f32[in=3, classes=5] = variable(init="normal(0, 0.05)")' \
    'logits: [batch, classes] = einsum(x, w)' \
    'loss = reduce_mean(0 - reduce_sum(log_softmax(logits, dim=classes) * one_hot(labels, dim=[classes=5]), over=(classes)))' \
    'dw = gradients(loss; w)' 'new_w = assign(w, w - 0.5 * dw)' \
    's0: f32[] = constant(value=1)' \
    's, total = loop(s0, trips=5) {' '    body(p; i) {' '        t = tanh(p)' '        yield t; t * t' '    }' '}' \
    'c: f32[n=2] = constant(data={nan, 0.1})' '"odd name" = c + 1.0'
for model in train two grad nan count; do
    run show $model.mtf; check "show $model" 0 err; cp out shown.mtf
    run show shown.mtf; same "show of show: $model" shown.mtf out
done
run show train.mtf
check "show gives types and shapes" 0 out "loss: f32[]" "dw: f32[in=3, classes=5]" '"odd name"' "loop("
run show train.mtf --program
check "the program and its cost" 0 out "instructions" "flops" "memory: " "contract"
file ways.mtf \
    'a: f64[b=64, m=8, k=16] = random_uniform' 'c: f64[b=64, k=16, n=8] = random_uniform' \
    'v: f64[k=16] = random_uniform' 'w: f64[m=100, k=16] = random_uniform' \
    'y1: [b, m, n] = einsum(a, c)' 'y2: [m] = einsum(w, v)' \
    'x: f64[q=90, k=16] = random_uniform' 'y4: [m, q] = einsum(w, x)' 'y5: [] = einsum(v, v)'
run show ways.mtf --program
check "the way that each product takes" 0 out "[64 8 8 16] batched" "16] gemv" "16] gemm" "16] plain"
run show two.mtf --program --fetch sum
if [ $status -eq 0 ] && ! grep -q contract out; then pass
else lose "fetch restricts the program" "no contract" "$(head -c 500 out err)"; fi
refuses "show: misspelt fetch" 'did you mean "dot"?' show two.mtf --program --fetch dto
refuses "show: no such file"   'No such file' show absent.mtf
file vast.mtf 'x: f32[n=1000000, m=1000000] = input' 'y = relu(x)'
run show vast.mtf --program
check "a program too large for this machine is shown all the same" 0 out "memory: "
refuses "and refused by run" "memory: " run vast.mtf --feed x=a.npy

# ---- ops -----------------------------------------------------------------------------------------

run ops
check "ops lists all" 0 out "einsum(xs..." "relu(x)" "= top_k(x" "lowest index"
run ops einsum
check "ops of one" 0 out "einsum(xs..."
if [ "$(grep -c '^[^ ]' out)" -eq 1 ]; then pass; else lose "ops of one is one" "1 entry" "$(cat out)"; fi
prints "a word of the language"  "dx, dw = gradients(loss; x, w)" ops gradients
prints "another"                 "h = history(s)" ops history
refuses "a word, misspelt"    'there is no operation "gradient"; did you mean "gradients"?' ops gradient
misused "a word as JSON"      '"yield" is a word of the text language and no operation' ops yield --json
refuses "a name of others"    'there is no operation "mm"; products of all kinds are einsum' ops mm
refuses "unknown operation"   'there is no operation "einsun"; did you mean "einsum"?' ops einsun
# An entry's first line stands in a file as it is, but for the words in capitals.
for entry in variable conv2d softmax max_pool random_normal; do
    { printf '%s\n' 'x: f32[n=2, h=4, w=4, c=3] = input' 'filter: f32[fh=3, fw=3, c=3, o=5] = input'
      "$MTF" ops $entry | sed -n '1 { s/TYPE\[SHAPE\]/f32[n=2]/; s/dim=WORD/dim=c/; s/, [a-z_]*=WORD//g; s/\[[a-z_]*\.*\], //
          s/, \[[a-z_]*\]//; s/(\[[a-z_.]*\]/(/; p; }'; } >entry.mtf
    run show entry.mtf
    check "the entry of $entry in a file" 0 out
done
run ops --markdown
check "ops as markdown" 0 out "# Operations" "## einsum"
same "docs/ops.md is not stale (mtf ops --markdown > docs/ops.md)" "$root/docs/ops.md" out

# ---- JSON ----------------------------------------------------------------------------------------

file special.mtf 'x: f32[n=5] = constant(data={0.1, nan, inf, -inf, 1e30})' 'i: i64[] = constant(data={9007199254740993})' \
    'b: bool[n=2] = constant(data={0, 1})' 'e: f32[] = constant(value=2)'
run run special.mtf --json --fetch x --fetch i --fetch b --fetch e
is_json "run --json"
check "values in JSON" 0 out '[0.1, "nan", "inf", "-inf", 1e+30]' '[9007199254740993]' '[false, true]' '[2]' \
    '"shape"' '"n":' '"cost"' '"peak_bytes"'
run run special.mtf --json --fetch e=e.npy
is_json "run --json with a file"
check "the file in JSON" 0 out '"file":' '"e.npy"'
run run special.mtf --json --fetch e --fetch e=e.npy --fetch e
if [ "$(grep -c '"e":' out)" -eq 1 ] && grep -q '"file"' out && grep -q '"data"' out; then pass
else lose "one object for each name" "e once, with data and file" "$(cat out)"; fi
run show train.mtf --json;                            is_json "show --json"
check "the graph in JSON" 0 out '"op":' '"einsum"' '"blocks"' '"init":' '{nan, 0.1}'
run show train.mtf --program --json;                  is_json "show --program --json"
check "the program in JSON" 0 out '"instructions":' '"flops"' '"variable_bytes"' '"peak_bytes"' 'contract'
run ops --json;                                       is_json "ops --json"
check "all operations in JSON" 0 out '"einsum"' '"top_k"' '"gradient"'
run ops relu --json;                                  is_json "ops NAME --json"

# ---- layout --------------------------------------------------------------------------------------

cat > dense.mtf <<END
x: f32[batch=64, in=8] = input
w: f32[in=8, out=8] = variable
y: [batch, out] = einsum(x, w)
END
slow="flops=1e6,memory=1e9,wire=1e9,latency=1e-9"
run layout dense.mtf --mesh a:4 --machine $slow
check "the best layout, and why others lose" 0 out "optimal: 4 legal layouts looked at, 4 priced as programs" \
    "batch:a" " more"
run layout dense.mtf --mesh auto:5 --machine $slow
check "the only mesh is told, too" 0 out "--mesh mesh_0:5 --layout batch:mesh_0"
run layout dense.mtf --mesh auto:6 --machine $slow --json; is_json "layout --json"
check "what ties is told so" 0 out "as good as --mesh mesh_0:3,mesh_1:2 --layout batch:mesh_0+mesh_1: the same time and memory"
check "a mesh is found" 0 out '"mesh":' '"mesh_0:6"' '"optimal":' 'true'
run plan dense.mtf --mesh a:4 --layout auto --machine $slow
check "plan --layout auto" 0 out "batch:a"
run plan dense.mtf --mesh a:4 --layout out:a,auto --machine $slow
check "rules that are given stand" 0 out "out:a"
misused "layout without a mesh"       "--mesh is missing" layout dense.mtf
misused "layout: no such objective"   "takes time or memory" layout dense.mtf --mesh a:2 --objective speed
refuses "nothing fits"                "bytes, and the smallest layout" layout dense.mtf --mesh a:2 --memory-limit 100
# What is too large without a batch is named first: variables, then working space, then the rest.
tight() { refuses "$1" "$2" layout mnist --hidden 64 --mesh x:2 --layout batch:x --memory-limit "${@:3}"; }
number() { grep -o "$1 [0-9]*" err | grep -o '[0-9]*$'; }   # number WORDS: what follows them in the message
tight "variables alone do not fit" "variables alone take " 1000
variables=$(number "variables alone take")
tight "one byte too few for variables" ": use --state-layout auto or more processors" $((variables - 1))
tight "working space does not fit" "variables take $variables of these, and the working space of kernels and collectives " "$variables"
space=$(number "kernels and collectives")
tight "one byte too few for working space" "which no smaller batch lessens" $((variables + space - 1))
tight "only a large batch does not fit" "make the batch smaller, or recompute" $((variables + space))
least=$(number "batch:x\", needs")
tight "one byte too few" "needs $least, which is 1 too many" $((least - 1))
run layout mnist --hidden 64 --mesh x:2 --layout batch:x --memory-limit "$least"
check "as much as the message says" 0 out "for a batch of 100"
cat >wide.mtf <<'END'
x: f32[batch=8, a=100000] = input
w: f32[a=100000] = variable
one: f32[one=1] = variable
loss = reduce_mean(square(tanh(x * w) * w)) + reduce_mean(one)
END
refuses "parts of a batch do not fit" "the batch comes in 8 parts already: recompute, or use more processors" \
    layout wide.mtf --optimizer sgd --mesh x:1 --layout one:x --memory-limit 2500000
refuses "no such machine"             "there is no file" layout dense.mtf --mesh a:2 --machine fast
refuses "calibrate: a mesh without axes" 'mesh "" cannot be calibrated' calibrate --mesh ""
refuses "calibrate: a mesh that is open" "such as x:4" calibrate --mesh auto:2
refuses "calibrate: no such folder, at once" '"none/here" cannot be written: No such file' calibrate --out none/here
if [ "$MTF_TEST" != fast ]; then        # a minute of a processor, each time
    run calibrate --mesh x:2,y:1 --anyway
    check "calibrate: a mesh of two axes" 0 out "axis x "
    run calibrate --mesh x:1 --out here.machine --anyway
    check "calibrate, trial by trial" 0 err "calibrating: trial 1 of 9" "calibrating: trial 9 of 9"
    run layout dense.mtf --mesh a:2 --machine here.machine
    check "what calibrate wrote can be read" 0 out "optimal"
fi

printf 'cli: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
