#!/bin/bash
# Tests that control characters in names reach no terminal: messages and tables show them as \x1b.
#
# Usage: tests/shell/hostile.sh    MTF as in cli.sh
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "hostile.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

name=$'\033[31mred' dim=$'\033red'
# tame NAME TEXT WORD...: says the text, and no control character
tame() {
    local name=$1 text=$2
    shift 2
    run "$@"
    cat out err >both
    if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' both; then lose "$name" "no control character" "$(cat -v both | head -c 600)"
    elif ! grep -qF -- "$text" both; then lose "$name" "$text" "$(head -c 600 both)"
    else pass; fi
}
shown='\x1b[31mred'

# ---- tensors and dimensions ----------------------------------------------------------------------

printf '%s\n' "\"$name\": f32[\"d$dim\"=4, b=2] = variable(init=\"ones\")" \
    "loss = reduce_mean(\"$name\" * \"$name\")" "printed = print(loss, message=\"$name\")" >net.mtf
tame "the graph" "\"$shown\": f32[\"d\x1bred\"=4, b=2]" show net.mtf
"$MTF" show net.mtf >again.mtf
cmp -s <("$MTF" show again.mtf) again.mtf && pass || lose "the graph, read back" "$(cat again.mtf)" "$("$MTF" show again.mtf 2>&1)"
tame "the program" "$shown" show net.mtf --program
tame "the plan" "layout           d\x1bred:x" plan net.mtf --mesh x:2 --layout "d$dim:x"
tame "a search" "d\x1bred:x" layout net.mtf --mesh x:2
tame "a run" "$shown" run net.mtf --fetch printed
tame "a fetch" "$shown" run net.mtf --fetch "$name"
tame "no such tensor" "\"$shown" run net.mtf --fetch "$name?"
tame "no such dimension" "\x1bred" plan net.mtf --mesh x:2 --layout "$dim:x"
tame "an axis" "\x1bred:2" verify net.mtf --mesh "$dim:2" --layout auto
tame "training" "$shown" train net.mtf --loss loss --optimizer sgd --steps 2 --watch . --watch-every 1 --profile --checkpoint-dir "kept$name"
tame "checkpoints" "kept$shown" ckpt ls "kept$name"
tame "a checkpoint" "$shown" ckpt ls "kept$name/step_00000002"
tame "a sound one" "kept$shown/step_00000002: sound" ckpt verify "kept$name"
tame "values" "$shown" ckpt show "kept$name" "$name"
"$MTF" train net.mtf --loss loss --optimizer sgd --steps 1 --quiet --checkpoint-dir other 2>err
tame "differences" "$shown" ckpt diff "kept$name" other

# ---- files, options, columns, parameters ---------------------------------------------------------

tame "no such file" "\"$shown.mtf\"" show "$name.mtf"
tame "no such command" "$shown" "$name"
tame "no such option" "$shown" show net.mtf "--$name"
tame "no number" "$shown" train net.mtf --steps "$name"
printf "a,$name\n1,2\n" >table.csv
printf 'x: f32[batch=1] = input\nw: f32[] = variable\nloss = reduce_sum(x * w)\n' >sum.mtf
tame "no such column" "$shown" train sum.mtf --steps 1 --data "x=table.csv:part=b$name:header"
printf "$name\n$name\n" >cells.csv
tame "a cell that is not a number" "[31mred\" is not a number" train sum.mtf --steps 1 --data x=cells.csv
printf "run.train_steps = 1\n$name = 3\n" >named.gin
printf "run.no_such = '$name'\n" >valued.gin
tame "a value of a gin file" "mtf: " train --gin_file valued.gin --text table.csv
tame "a gin file" "the byte 27" train --gin_file named.gin --text table.csv
tame "a gin parameter" "$shown" train --gin_param "x.$name = 3" --text table.csv
echo a >"text$name"
tame "a text" "tokens$shown.u16" tokenize "text$name" --vocabulary bytes --output "tokens$name.u16"

printf 'hostile: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
