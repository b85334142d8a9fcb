#!/bin/bash
# Tests that a locale with a decimal comma changes nothing that is read or written.
#
# The command never sets a locale, but programs that embed the library do.  So this runs the
# same command linked to set its user's locale, and compares it with the plain one byte by byte.
# Usage: MTF=path/to/mtf tests/shell/locale.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
abroad=$(dirname "$MTF")/tests/mtf_in_locale
[ -x "$MTF" ] || { echo "locale.sh: no command at $MTF"; exit 2; }
[ -x "$abroad" ] || { echo "locale.sh: no command at $abroad"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

# Two locales: a comma, as in de_DE, and a sign of two bytes, as in fa_IR.  The package that has
# these two is not needed for numbers.
{ printf '%s\n' '<code_set_name> UTF-8' '<mb_cur_min> 1' '<mb_cur_max> 2' '<comment_char> %' \
      '<escape_char> /' 'CHARMAP'
  for i in {0..127}; do printf '<U%04X> /x%02x a\n' "$i" "$i"; done
  printf '%s\n' '<U066B> /xd9/xab a' 'END CHARMAP'; } >charmap
mkdir locales
make_locale() {                         # make_locale NAME SIGN
    printf '%s\n' 'comment_char %' 'escape_char /' 'LC_NUMERIC' "decimal_point \"$2\"" \
        'thousands_sep "<U002E>"' 'grouping 3;3' 'END LC_NUMERIC' >source
    localedef -c -f ./charmap -i ./source "$work/locales/$1" >why 2>&1
}
in_locale() { LANG=C LC_ALL= LC_NUMERIC=$locale LOCPATH=$work/locales "$@"; }

# ---- the locales are there, and the functions that read and write ignore them --------------------

for sign in comma=, momayyez=$'\xd9'; do
    locale=${sign%=*}
    case $locale in comma) make_locale comma '<U002C>' ;; *) make_locale momayyez '<U066B>' ;; esac
    in_locale env MTF_DECIMAL_SIGN="${sign#*=}" "$(dirname "$MTF")/tests/test_numbers" >out 2>&1
    status=$?
    check "numbers in the locale $locale" 0 out "PASSED"
    [ $status -eq 0 ] || cat why
done

# A locale in which the byte 0xe9 is a letter, as in fr_FR.iso88591.
{ printf '%s\n' '<code_set_name> ISO-8859-1' '<mb_cur_min> 1' '<mb_cur_max> 1' '<comment_char> %' \
      '<escape_char> /' 'CHARMAP'
  for i in {0..127} 233; do printf '<U%04X> /x%02x a\n' "$i" "$i"; done
  printf '%s\n' 'END CHARMAP'; } >letters
printf '%s\n' 'comment_char %' 'escape_char /' 'LC_CTYPE' 'upper <U0041>..<U005A>' \
    'lower <U0061>..<U007A>;<U00E9>' 'alpha <U0041>..<U005A>;<U0061>..<U007A>;<U00E9>' \
    'digit <U0030>..<U0039>' 'END LC_CTYPE' >source
localedef -c -f ./letters -i ./source "$work/locales/latin" >why 2>&1
for line in $'caf\xe9 = 3' $'run.train_steps = 5\xe9' $'run.train_steps = None\xe9'; do
    run plan --gin_file lm_base --gin_param "$line"
    check "a letter of another alphabet" 1 err 'the byte 233'
    mv err err_here
    LANG=C LC_ALL= LC_CTYPE=latin LOCPATH=$work/locales "$abroad" plan --gin_file lm_base --gin_param "$line" >out 2>err </dev/null
    diff -a err_here err >difference && pass || lose "a letter of another alphabet, where it is one" "the same" "$(head -c 1000 difference)"
done

# ---- the same bytes ------------------------------------------------------------------------------

# same NAME TEXT COMMAND...: all print the same, and TEXT is in it.
same() {
    local name=$1 text=$2 number
    shift 2
    run "$@"
    check "$name" "$wanted" "$stream" "$text"
    mv out out_here; mv err err_here
    for locale in comma momayyez; do
        in_locale "$abroad" "$@" >out 2>err </dev/null
        number=$?
        if [ $number -ne $status ]; then
            lose "$name, with $locale" "exit status $status" "$number: $(head -c 600 err)"
        elif ! diff -a out_here out >difference || ! diff -a err_here err >difference; then
            lose "$name, with $locale" "the same" "$(head -c 1000 difference)"
        else pass; fi
    done
}
same_output() { wanted=0 stream=out; same "$@"; }
same_error()  { wanted=1 stream=err; same "$@"; }
same_misuse() { wanted=2 stream=err; same "$@"; }

cat >net.mtf <<'TEXT'
x: f32[batch=4] = input
labels: f32[batch=4] = input
w: f32[batch=4] = variable(init="normal(0.5, 0.25)")
b: f32[] = variable(init="constant(0.125)")
c: f32[batch=4] = constant(data={0.5, 1.5, -2.25, 1e-3})
y = w * x + b * c + 0.75
loss = reduce_mean(square(y - labels))
TEXT
cat >values.mtf <<'TEXT'
c: f32[a=5] = constant(data={0.5, -0.1, nan, inf, -inf})
shown = print(c * 0.25, message="quarter")
zero: f32[] = constant(value=0)
none = zero / zero
opposite = negative(none)                   # one of them has a sign, which depends on the processor
shown_none = print(none, message="none")
shown_opposite = print(opposite, message="opposite")
u: f32[a=5] = random_uniform(low=0.25, high=0.75)
y = shown + u
TEXT
cat >bad.mtf <<'TEXT'
y: f32[a=2] = random_uniform(low=0.5, high=0.25)
TEXT
printf '0.5\t1.25\n1.5\t2.5\n-0.25\t0.125\n3\t1e-1\n0.75\t0.5\n1\t2\n2.5\t-1.5\n4.25\t8\n' >data.tsv
tr . , <data.tsv >comma.tsv
cat >here.machine <<'TEXT'
flops 2.5e10
memory 1.25e10
wire 0.5e10
latency 1.5e-6
start 2.5e-7
TEXT
train=(train net.mtf --data x=data.tsv:part=0:scale=0.5 --data labels=data.tsv:part=1
       --optimizer adam --steps 6 --rate "0.5 * linear_warmup(2.5)")

same_output "show"             "init=\"normal(0.5, 0.25)\"" show net.mtf
same_output "show a program"   "flops"          show --program net.mtf
same_output "run"              "0.5745232"        run values.mtf
same_output "what is not a number" "none = nan"    run values.mtf --fetch none
check       "its opposite"     0 err "none: nan" "opposite: nan"
same_output "run as JSON"      '"nan"'          run values.mtf --json --fetch c --fetch y
same_output "plan"             "memory=1.25e+10" plan net.mtf --mesh x:2 --layout batch:x --machine here.machine
same_output "plan as JSON"     '"latency":	1.5e-06' plan net.mtf --mesh x:2 --machine here.machine --json
same_output "plan, told rates" "flops=1.5e+09"  plan net.mtf --machine flops=1.5e9,wire=2.5e9
same_output "layout"           "optimal"        layout net.mtf --mesh x:2 --machine here.machine
same_output "layout as JSON"   '"gap":'         layout net.mtf --mesh x:2 --machine here.machine --json
same_output "train"            '"rate":0.2'     "${train[@]}" --json
same_output "a schedule"       '"rate":0.25'    "${train[@]:0:${#train[@]}-2}" --json --rate 0.25
same_error  "a message"        "low is 0.5 and high 0.25" run bad.mtf
same_misuse "no such rate"     "0,5"            "${train[@]:0:${#train[@]}-2}" --rate 0,5
same_error  "a column"         '" is not a number' train net.mtf --data x=comma.tsv:part=0 --data labels=data.tsv:part=1 --steps 1
same_error  "what is not a loss"  'made the first NaN' train toy --steps 3 --nan-step 1 --threads 1

# ---- what the one writes, the other reads --------------------------------------------------------

locale=comma
run "${train[@]}" --checkpoint-dir here --json
check "a checkpoint" 0 out '"step":6'
in_locale "$abroad" "${train[@]}" --checkpoint-dir there --json >/dev/null 2>err </dev/null
status=$?
check "a checkpoint in the locale" 0 err
same_output "a checkpoint of here"  "68 B"   ckpt ls here
same_output "its values"            "mean 1.1" ckpt show here w
same_output "its values as JSON"    '"norm":' ckpt show there w --json
same_output "both are equal"        "0 of 7 tensors differ"  ckpt diff here there

# ---- what holds times, and differs from run to run -----------------------------------------------

locale=comma
no_comma() {                            # no_comma NAME FILE: no number with a comma
    if ! [ -s "$2" ]; then lose "$1" "something in $2" "nothing"
    elif grep -nE '[0-9],[0-9]' "$2" >found; then lose "$1" "points" "$(head -n 3 found)"
    else pass; fi
}
in_locale "$abroad" "${train[@]}" --trace trace.json --profile >out 2>err </dev/null
status=$?
check "a trace" 0 out "loss "
no_comma "progress and profile" out
no_comma "the trace's times" trace.json
check "the trace has times" 0 trace.json '"dur":'

printf '\nlocale: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
