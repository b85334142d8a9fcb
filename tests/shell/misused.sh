#!/bin/bash
# Tests what is said of faulty command lines and model files: what would be right.
#
# Usage: MTF=path/to/mtf tests/shell/misused.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "misused.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

cat >make.mtf <<'END'
x: f32[batch=64, a=5] = random_normal
w: f32[a=5] = range
y: [batch] = einsum(x, w)
END
"$MTF" run make.mtf --fetch x=x.npy --fetch y=y.npy || exit 2
cat >net.mtf <<'END'
x: f32[batch=16, a=5] = input
y: f32[batch=16] = input
unused: f32[batch=16] = input
w: f32[a=5] = variable
p: [batch] = einsum(x, w)
hit: f32[batch] = cast(less(abs(p - y), abs(unused)))
loss = reduce_mean((p - y) * (p - y))
END
train=(train net.mtf --data x=x.npy --data y=y.npy --steps 2)
failed_with() { local name=$1 text=$2; shift 2; run "$@"; check "$name" 1 err "$text" "mtf: "; }    # failed_with NAME TEXT WORD...

# ---- inputs without data -------------------------------------------------------------------------

misused "an input without data" 'input "y", f32[batch=16], has no data; name its files with --data y=FILES' \
    train net.mtf --data x=x.npy --steps 2
misused "no data at all" 'input "x", f32[batch=16, a=5], has no data; name its files with --data x=FILES' train net.mtf --steps 2
run "${train[@]}" --quiet --checkpoint-dir kept
check "an input that nothing needs" 0 err
misused "evaluated without data" 'input "y", f32[batch=16], has no data; name its files with --eval-data y=FILES' \
    eval net.mtf --checkpoint-dir kept --eval-data x=x.npy
misused "needed only for what is right" 'input "unused", f32[batch=16], has no data; name its files with --eval-data unused=FILES' \
    "${train[@]}" --right hit --eval-data x=x.npy --eval-data y=y.npy

# ---- small files ---------------------------------------------------------------------------------

printf 'a,b,a\n1,2,3\n' >twice.csv
printf 'a;b\n1;2\n' >semicolons.csv
printf '7\n0x10\n' >hex.csv
printf ' 7\t1\n8 \t2\n' >blanks.tsv
echo 'x: f32[batch=2] = input
w: f32[] = variable
loss = reduce_sum(x * w)' >sum.mtf
table() { local name=$1 text=$2; run train sum.mtf --steps 1 --quiet --data "x=$3"; check "$name" "${4:-2}" err "$text"; }
table "two columns of a name" 'names both column 0 and column 2, counted from 0, "a"; ask for columns by number' twice.csv:part=a:header
table "two columns of a name among all" '"twice.csv" names both column 0 and column 2, counted from 0, "a"' twice.csv:header
printf 'a,,"b ""c""", a,\n1,2,3,4,5\n' >spaced.csv
table "a name with spaces around it" 'names both column 0 and column 3, counted from 0, "a"' spaced.csv:header
printf 'a,,"b ""c""",c,\n1,2,3,4,5\n' >nameless.csv
table "columns without names" 'field "x" has 5 elements per example' nameless.csv:header 1
table "semicolons, by name" 'names no column "b"; it seems to be separated by semicolons, and csv by commas' semicolons.csv:part=b:header
table "semicolons, by number" 'has 1 column; it seems to be separated by semicolons' semicolons.csv:part=1
table "a hexadecimal number" '"hex.csv", line 2, column 0: "0x10" is not a number' hex.csv 1
printf '1,5;2,5\n3,5;4,5\n' >commas.csv
printf '1;2\n3;4\n' >semicolons.tsv
printf '"a;b",c\n"d;e",f\n' >quoted.csv
table "semicolons and decimal commas" '"commas.csv", line 1, column 1: "5;2" is not a number; it seems to be separated by semicolons, and csv by commas' commas.csv:part=1 1
table "semicolons in tsv" '"semicolons.tsv", line 1, column 0: "1;2" is not a number; it seems to be separated by semicolons, and tsv by tabs' semicolons.tsv:part=0 1
table "semicolons in quotes" '"quoted.csv", line 1, column 1: "c" is not a number; a length' quoted.csv:part=1 1
printf '0x10\n-0X1p3\n' >hex.tsv
table "a hexadecimal number of tsv" '"hex.tsv", line 1, column 0: "0x10" is not a number' hex.tsv:part=0 1
decimal() { misused "a hexadecimal $1" "$1 takes" "${train[@]}" "$1" "$2"; }     # decimal OPTION VALUE
misused "hexadecimal steps" "--steps takes a whole number" "${train[@]::6}" --steps 0x10
misused "a hexadecimal rate" '--rate: schedule "0x1p3": at "x1p3": expected' "${train[@]}" --rate 0x1p3
decimal --loss-scale 0x10
decimal --clip-norm 0x1
decimal --seed 0x1
misused "a hexadecimal scale" '0x10' train sum.mtf --steps 1 --data x=blanks.tsv:part=0:scale=0x10
echo 'w: f32[] = variable(init="normal(0, 0x1p-3)")' >init.mtf
refuses "a hexadecimal deviation" 'normal(0, 0x1p-3)' show init.mtf
run train sum.mtf --steps 1 --data x=blanks.tsv:part=0
check "spaces around numbers of tsv" 0 out "step 1 of 1"

# ---- messages that blame the right thing -----------------------------------------------------------

misused "an empty rate" '--rate takes a number or a schedule, not ""' "${train[@]}" --rate ""
misused "the second layout" '--diff zz:x: the model has no dimension "zz"' plan net.mtf --mesh x:2 --layout batch:x --diff zz:x
misused "a model that is not there" 'there is neither a folder of a run nor a configuration "nosuch"' decode nosuch
refuses "a negative number of steps" 'is -3' "${train[@]}" --rate 'linear_warmup(steps=-3)'
"$MTF" train toy --steps 7 --quiet --report seven.html >out 2>err
status=$?
check "the number of steps in a report" 0 seven.html '--steps 7<'
echo 'x: f32[a=1000000000000, b=100] = random_normal
y = reduce_sum(x * x)' >huge.mtf
refuses "a limit that nobody gave" "are allowed (this machine's memory; --memory says otherwise)" run huge.mtf
refuses "a limit that somebody gave" 'are allowed (--memory)' run huge.mtf --memory 1G

# ---- what is at fault: the command line or the model ---------------------------------------------

misused "nothing to watch" "no tensor's name matches \"zzz\"" "${train[@]}" --watch zzz
misused "a name misspelt" "no tensor's name matches \"lsos\", which is to be watched; did you mean \"loss\"?" "${train[@]}" --watch lsos
printf 'x: f32[batch=16, a=5] = input\nw: f32[a=5] = variable\nloss = reduce_mean(x)\n' >idle.mtf
failed_with "nothing to train" 'minimize: no trainable variable affects the loss' train idle.mtf --data x=x.npy --steps 1

# ---- misspelt words ------------------------------------------------------------------------------

text() { printf '%s\n' "${@:3}" >word.mtf; failed_with "$1" "$2" show word.mtf; }    # text NAME MESSAGE LINE...
text "a word before a name" 'word.mtf:1:1: a line begins with the name that it gives, as in "x = input"; did you mean "input" by "inptu"?' \
    'inptu x: f32[a=2]'
text "the word itself" 'word.mtf:1:1: a line begins with the name that it gives, as in "x = input"' 'input x: f32[a=2]'
text "a dimension" 'word.mtf:1:1: "dimm" begins no line; did you mean "dim"?' 'dimm a = 3'
text "another word" 'word.mtf:1:4: expected "=", found "b"' 'zq b: f32[a=2]'
text "an operation without operands" 'no line above gives the name "inptu"; did you mean "input"?' 'x: f32[a=2] = inptu'
text "the user's own names come first" 'no line above gives the name "inpt"; did you mean "inp"?' 'inp: f32[a=2] = input' 'y = inpt'
failed_with "a configuration" 'there is no file "lmbase", and none of that name came with mtf; did you mean "lm_base"?' \
    train --gin_file lmbase --text make.mtf --steps 1

# ---- "-" is not a file ------------------------------------------------------------------------------

for kind in "plan net.mtf --optimizer adam" "plan net.mtf --optimizer adam --mesh x:2 --layout batch:x --diff batch:x" \
    "layout net.mtf --optimizer adam --mesh x:2"; do
    run $kind --html -
    check "$kind on standard output" 0 out '<!doctype html>' '</html>'
done
"$MTF" plan - --optimizer adam --html - <net.mtf >out 2>err; status=$?
check "from standard input, too" 0 out '<!doctype html>' 'standard input'
for option in trace report; do
    misused "--$option -" "--$option -: standard output has the progress of the run; give the name of a file" "${train[@]}" --$option -
done
misused "--fetch NAME=-" '--fetch w=-: standard output has what is printed; give the name of a file' run make.mtf --fetch w=-
[ -e ./- ] && lose "no file is called -" "none" "$(ls -l ./-)" || pass

# ---- columns -------------------------------------------------------------------------------------

printf '1,2,3,4\n5,6,7,8\n' >table.csv
misused "columns that run backwards" 'field "x": the columns 3-0 run backwards: the first must not be after the last, as in 0-3' \
    train net.mtf --data x=table.csv:part=3-0 --data y=y.npy --steps 1
misused "among others" 'field "x": the columns 2-1 run backwards' train net.mtf --data x=table.csv:part=0,2-1 --data y=y.npy --steps 1
misused "a column that is not there" 'names no column "zz"' train net.mtf --data x=table.csv:part=zz --data y=y.npy --steps 1

printf 'misused: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
