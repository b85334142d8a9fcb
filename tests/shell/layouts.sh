#!/bin/bash
# Tests layouts that searches find for the configurations that come with mtf.
#
# Usage: MTF=path/to/mtf tests/shell/layouts.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "layouts.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"

figure() { sed -n "s/^\t*\"$1\":\t\"*\([^\"]*[^\",]\).*/\1/p" "$2" | head -n 1; }
at_most() {                             # at_most NAME FIGURE FILE FILE: the first file's is no larger
    awk -v a="$(figure "$2" "$3")" -v b="$(figure "$2" "$4")" 'BEGIN { exit !(a > 0 && a <= b * (1 + 1e-9)) }' && pass ||
        lose "$1" "at most $(figure "$2" "$4")" "$(figure "$2" "$3") $(head -n 20 "$3") $(cat err)"
}
for_batch() { echo "run.batch_size = ('sequences_per_batch', $1)"; }

fast() { [ "$MTF_TEST" = fast ]; }      # a sample

# ---- very large meshes ---------------------------------------------------------------------------

# A length in 256 parts makes a kind of every position: some are priced, at the end of a search as in a plan, which
# takes seconds of a processor, not minutes.
very_large_meshes() {
    large=(--gin_file t5_small --gin_param "$(for_batch 4)" --json)
    (ulimit -t 60 && exec "$MTF" layout "${large[@]}" --mesh mesh_0:256,mesh_1:256 --seconds 2 --show 1) >found 2>err ||
        lose "65536 processors take seconds" "an answer within 60 seconds" "$(cat err)"
    run plan "${large[@]}" --mesh mesh_0:256,mesh_1:256 --layout d_ff:mesh_0,heads:mesh_0,length:mesh_1,memory_length:mesh_1,vocab:mesh_0
    cp out written
    check "sums over some of the kinds are called inexact" 0 out '"exact":	false'
    at_most "65536 processors, no slower than what people write" seconds found written
    [ "$(figure layout found)" != "d_ff:mesh_0,heads:mesh_0,length:mesh_1,memory_length:mesh_1,vocab:mesh_0" ] ||
        at_most "a plan has the price of mtf layout" seconds written found
}
fast || very_large_meshes

# ---- rules for state -----------------------------------------------------------------------------

# Of a model with many layers and a GPU's collectives beside its work, prices without the equal layers mislead.
rules_for_state() {
    deep=(--gin_file gpt2_1558m --gin_param "$(for_batch 16)" --gin_param num_layers=24 --optimizer adam --rate 0.001
        --machine h100-nodes --mesh x:4,y:2 --show 1 --json)
    run layout "${deep[@]}" --layout auto --state-layout auto && cp out found
    for rules in d_model:x+y d_ff:x+y,heads:x+y,vocab:x+y; do
        run layout "${deep[@]}" --layout batch:x+y --state-layout $rules && cp out written
        at_most "rules for state, no slower than $rules" seconds found written
    done
}
fast || rules_for_state

# ---- experts -------------------------------------------------------------------------------------

# The layout that is found is no slower than experts along the batch's axis, and is that one where slots have capacity.
# Rows without capacity need a sum before the activation if experts are cut, so other cuts are faster.
names="lm_moe switch_base bi_moe mixtral_small deepseek_small" meshes="x:8 x:4,y:2"
fast && names=lm_moe meshes=x:4,y:2
for name in $names; do
    for mesh in $meshes; do
        moe=(--gin_file $name --gin_param "$(for_batch 64)" --mesh $mesh --show 1 --json)
        rules=batch:x,experts:x
        [ $mesh = x:8 ] || rules=$rules,expert_hidden:y,d_ff:y?,heads:y,vocab:y
        run layout "${moe[@]}" --seconds 3 && cp out found
        run layout "${moe[@]}" --layout $rules && cp out written
        at_most "$name on $mesh, no slower than $rules" seconds found written
        [ $mesh != x:8 ] && [ $name != deepseek_small ] || awk -v gap="$(figure gap found)" 'BEGIN { exit !(gap != "" && gap < 0.01) }' && pass ||
            lose "$name on $mesh, nearly proved" "a gap below 1 %" "$(cat found err)"
        case $name in
            deepseek_small) grep -q "experts:" found && lose "$name on $mesh" "experts not cut" "$(cat found)" || pass ;;
            *) grep -q "batch:x[^\"]*,experts:x" found && pass || lose "$name on $mesh" "experts along the batch's axis" "$(cat found)" ;;
        esac
    done
done

# Rules for rows at experts are known.
run plan --gin_file deepseek_small --mesh x:2 --layout batch:x,batch_unsplit:x --json
grep -q warning err && lose "a layout of deepseek_small" "no warning" "$(cat err)" || pass

# A plan and its page name the all-to-all with its bytes: each of 4 processors has a quarter of 8 x 8 x 8 x 8 floats, of
# which three quarters go to others, there and back, in both passes.  As many are counted where they move.
sed 's/= input/= random_normal/; s/64/8/g; s/256/8/g; s/1024/24/g; s/=16/=8/g' "$root/tests/search/models/mixture_of_experts.mtf" >moe.mtf
parallel=(moe.mtf --mesh x:4 --layout "batch:x,experts:x" --fetch loss)
run plan "${parallel[@]}"
check "a plan names the all-to-all" 0 out "all_to_all       12.3 kB   along x, 4 times, 4 processors each" "3.07 kB  all_to_all"
run plan "${parallel[@]}" --html page
check "a page names the all-to-all" 0 page "all_to_all</th><td>x</td><td>4</td><td>2</td><td>3.07 kB</td><td>6.14 kB</td>" "<code>experts:x</code>"
run plan "${parallel[@]}" --json && cp out planned
sent=$(sed -n '/"total"/,/}/s/.*"sent_bytes":[^0-9]*\([0-9]*\).*/\1/p' planned)
counted() {                             # counted WHERE: after a run that is analyzed
    grep -q "^bytes sent  *$sent  *$sent  *equal$" out && ! grep -q DIFFERENT out && pass ||
        lose "bytes of an all-to-all, $1" "$sent, twice, and equal" "$status: $(tail -n 14 out; cat err)"
}
run run "${parallel[@]}" --analyze
counted "on threads"
if [ -n "$without_ranks" ]; then echo "layouts.sh: no ranks: $without_ranks"
else
    timeout 120 "${launcher[@]}" -n 4 "$MTF" run "${parallel[@]}" --analyze >out 2>err </dev/null; status=$?
    counted "on ranks"
fi

echo "layouts.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
