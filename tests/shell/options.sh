#!/bin/bash
# Tests options of training: what they change, that plans have them too, how shells complete them.
#
# Usage: MTF=path/to/mtf tests/shell/options.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "options.sh: no command at $MTF"; exit 2; }
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
w: f32[a=5, h=8] = variable
v: f32[h=8] = variable
h: [batch, h] = einsum(x, w)
p: [batch] = einsum(h, v)
loss = reduce_mean((p - y) * (p - y))
END
data=(--data x=x.npy --data y=y.npy)
train() { run train net.mtf "${data[@]}" --steps 6 --rate 0.01 --threads 1 --json "$@"; }    # train OPTION...
losses() { sed -n 's/.*"loss":\([^,}]*\).*/\1/p' out; }

# ---- each option changes the curve ---------------------------------------------------------------

train
check "a plain run" 0 err
losses >plain
for options in '--clip-norm 0.1' '--clip-value 0.01' '--optimizer sgd' '--optimizer adamw --weight-decay 0.9' \
    '--beta1 0.5' '--beta2 0.9' '--epsilon 0.1' '--optimizer momentum --momentum 0.5' '--no-shuffle' '--dtype bf16'; do
    train $options
    if [ $status = 0 ] && [ "$(losses | wc -l)" = 6 ] && ! cmp -s <(losses) plain; then pass
    else lose "train $options" "another curve" "$status: $(cat err) $(losses | tr '\n' ' ')"; fi
done
# More threads than cores only wait for each other, as processors of a mesh do.
many=$((8 * $(nproc) + 1))
if [ $many -gt 1024 ]; then echo "no number of threads is too many for $(nproc) cores"
else
    misused "far more threads than cores" "--threads $many are too many for " train net.mtf "${data[@]}" --steps 6 --threads $many
    misused "far more threads than cores to calibrate" "--threads $many are too many for " calibrate --threads $many
    train --oversubscribe
    check "few threads, oversubscribed" 0 err
    run train net.mtf "${data[@]}" --steps 1 --threads $many --oversubscribe --quiet
    check "far more threads than cores, as told" 0 err
fi
# Numbers that only f32 has, such as those that softmax cuts infinities to, become the largest of f16.
cat >softmax.mtf <<'END'
x: f32[batch=16, a=5] = input
w: f32[a=5, c=3] = variable
p: [batch, c] = einsum(x, w)
far: f32[] = constant(value=-1e9)
cut = reduce_mean(minimum(far, p))
loss = reduce_mean(0 - reduce_max(log_softmax(p, dim=c), over=(c)))
END
run train softmax.mtf --data x=x.npy --steps 3 --dtype f16 --loss-scale dynamic --quiet
check "softmax in f16" 0 err
run show softmax.mtf --dtype f16
check "the largest of f16" 0 out 'f16[] = constant(value=-65504)'
# Losses of a network in a short type are those in f32 of its logits.  Logits in eighths have 8 bits, as bf16 has;
# targets in tenths have more.
awk 'BEGIN { for (k = 0; k < 12; k++) { for (c = 0; c < 300; c++) printf "%s,", (k * 37 + c * 11) % 151 / 8
    print k * 23 % 300 "," k / 10 - 0.3 } }' >logits.csv
cat >short.mtf <<'END'
x: f32[batch=12, classes=300] = input
labels: i32[batch=12] = input
y: f32[batch=12] = input
weights: f32[batch=12] = input
w: f32[classes=300] = variable(init="ones")
logits: [batch, classes] = einsum(x, w)
cross = reduce_mean(softmax_cross_entropy(logits, labels, dim=classes))
weighted: f32[] = einsum(softmax_cross_entropy(logits, labels, dim=classes), weights)
square = reduce_mean(square(logits - y))
END
columns=(--data x=logits.csv:part=0-299 --data labels=logits.csv:part=300 --data y=logits.csv:part=301
    --data weights=logits.csv:part=301)
awk -F, -v OFMT=%.9g '{ sum = 0; for (c = 1; c <= 300; c++) { sum += exp($c); square += ($c - $302) ^ 2 / 3600 }
        each = log(sum) - $($301 + 1); cross += each / 12; weighted += each * $302 }
    END { print "cross", cross; print "weighted", weighted; print "square", square }' logits.csv >plain_losses
while read -r loss value; do
    for how in "bf16" "f16" "bf16 --mesh x:2,y:3 --layout batch:x,classes:y" "bf16 --microbatches 4"; do
        run train short.mtf --loss $loss "${columns[@]}" --steps 1 --threads 1 --json --dtype $how
        losses | awk -v v=$value '{ gap = ($1 - v) / v; exit gap > 1e-5 || gap < -1e-5 } END { if (!NR) exit 1 }' && pass ||
            lose "the loss $loss in $how" $value "$(losses; cat err)"
    done
done <plain_losses
run show short.mtf --loss cross --dtype bf16
check "logits in bf16, losses in f32" 0 out "logits: bf16[batch=12, classes=300]" "cross: f32[]"
# A part of a batch draws the numbers that the whole batch has there.
cat >noise.mtf <<'END'
x: f32[batch=16, a=5] = input
n: f32[batch=16] = random_uniform
w: f32[a=5] = variable(init="zeros")
loss = reduce_mean(n) + reduce_mean(einsum(x, w))
END
run show noise.mtf --microbatches 4 --optimizer sgd --program
check "parts of a batch" 0 out 'loop 4 iterations' 'draw [4]'
# What leaves it as it is, up to rounding.
for options in '--microbatches 4' '--loss-scale 128' '--loss-scale dynamic' '--average 0.9' '--dtype f32' '--dtype f64' \
    '--optimizer adamw --weight-decay 0' '--optimizer adamw --weight-decay 0.9 --no-decay .'; do
    train $options
    if [ $status = 0 ] && paste plain <(losses) |
        awk '{ gap = ($1 - $2) / $1; if (gap < 0) gap = -gap } gap > 1e-4 { bad = 1 } END { exit bad || NR != 6 }'; then pass
    else lose "train $options" "the plain curve" "$status: $(cat err) $(paste plain <(losses) | tr '\n' ' ')"; fi
done
run train net.mtf "${data[@]}" --eval-data x=x.npy --eval-data y=y.npy --steps 6 --average 0.9 --quiet --checkpoint-dir kept
sed 's/.*   test/test/' out >averaged
run eval net.mtf --eval-data x=x.npy --eval-data y=y.npy --checkpoint-dir kept --averages
if [ $status = 0 ] && [ -s averaged ] && grep -qF -- "$(cat averaged)" out; then pass
else lose "averages are evaluated, by train and by eval" "$(cat averaged)" "$(cat out err)"; fi
run eval net.mtf --eval-data x=x.npy --eval-data y=y.npy --checkpoint-dir kept
if [ $status = 0 ] && ! grep -qF -- "$(cat averaged)" out; then pass
else lose "and not where nobody asks" "another loss than $(cat averaged)" "$(cat out err)"; fi

# ---- what is refused -----------------------------------------------------------------------------

wrong() { misused "train $2" "$1" train net.mtf "${data[@]}" --steps 2 "${@:2}"; }      # wrong TEXT OPTION...
wrong '--microbatches takes a whole number, 1 or more, or auto, not "0"' --microbatches 0
wrong '--microbatches takes a whole number, 1 or more, or auto, not "some"' --microbatches some
wrong '--momentum is an option of the optimizers momentum, nesterov; this one is adam' --momentum 0.5
wrong '--beta1 takes a number above 0 and below 1, not "1"' --beta1 1
wrong '--clip-norm takes a number above 0, not "-1"' --clip-norm=-1
wrong '--loss-scale takes a number above 0 or dynamic, not "big"' --loss-scale big
wrong '--rate: schedule "cosin": there is no schedule "cosin"' --rate cosin
wrong '--rate: schedule "2 *": at "": expected a number or the name of a schedule' --rate '2 *'
wrong 'not "adm"; did you mean "adam"?' --optimizer adm
wrong '--loss: no tensor is called "los"; did you mean "loss"?' --loss los
wrong '--no-decay: pattern "("' --no-decay '('
wrong '--dtype takes f32, bf16, f16 or f64, not "i32"' --dtype i32
wrong 'a model file has no option --layers; change the file' --layers 3
for command in plan layout 'show --program'; do
    misused "$command of a file with a size" 'a model file has no option --batch; change the file' $command net.mtf --batch 64 --mesh x:2
done
wrong '--rate takes a number of 0 or more or a schedule, not "-1"' --rate=-1
wrong '--steps and --epochs both say how long to train: leave one out' --epochs 2
wrong '--data z=x.npy: the model has no input "z"' --data z=x.npy
wrong '--eval-data X=x.npy: the model has no input "X"; did you mean "x"?' --eval-data X=x.npy
wrong '--data loss=x.npy: the model has no input "loss"' --data loss=x.npy
wrong '--no-decay nothing: no trainable variable has a name that it matches' --weight-decay 0.1 --no-decay nothing
wrong '--watch: pattern "("' --watch '('
wrong '--init-only: pattern "("' --init-from kept --init-only '('
wrong '--init-rename: pattern "("' --init-from kept --init-rename '(=b'
for option in only type rename; do
    misused "a faulty pattern of --$option" "--$option: pattern \"(" ckpt convert kept other --$option '(=bf16'
done

refuses "a machine that is not there" '--machine: there is no file "nope"' train net.mtf "${data[@]}" --steps 2 --machine nope

# What a command reads is not what it writes.
cp net.mtf before.mtf
for option in trace report; do
    wrong "--$option net.mtf would replace \"net.mtf\", which is read" --$option net.mtf
    wrong "--$option ./net.mtf would replace \"net.mtf\", which is read" --$option ./net.mtf
    wrong "--$option x.npy would replace a file of --data" --$option x.npy
done
wrong '--report same would replace what --trace same writes' --trace same --report same
misused "a page in place of the model" '--html net.mtf would replace "net.mtf", which is read' plan net.mtf --html net.mtf
misused "a page in place of the model" '--html net.mtf would replace "net.mtf", which is read' layout net.mtf --mesh x:2 --html net.mtf
cmp -s net.mtf before.mtf && pass || lose "the model file" "as it was" "$(head -c 100 net.mtf)"
misused "an option of another model" 'mnist has no option --layers; it has --batch, --hidden' train mnist --layers 3
misused "a piece of an option" 'mtf eval has no option --data; did you mean "--eval-data"?' eval net.mtf --data x
misused "a beginning of an option" 'did you mean "--momentum"?' train toy --moment 0.5
misused "a misspelt model" 'did you mean "mnist"?' train mnsit

# ---- plans are of the step that mtf train runs ---------------------------------------------------

# What a run would need is said where it may not have it.
needs() { run train net.mtf "${data[@]}" --steps 1000 --memory 1 "$@"
          sed -n 's/.*the program needs \([0-9]*\) bytes.*/\1/p' err; }
planned() { run plan net.mtf --loss loss --steps 1000 --json "$@"; sed -n 's/^\t*"peak_bytes":[ \t]*\([0-9]*\),*/\1/p' out | head -n 1; }
for options in '' '--optimizer sgd' '--optimizer momentum' '--optimizer adafactor' '--rate cosine' '--average 0.99' \
    '--clip-norm 1' '--microbatches 4' '--dtype bf16' '--loss-scale dynamic'; do
    case $options in *microbatches*) ;; *) options="$options --microbatches 1" ;; esac
    want=$(needs $options) got=$(planned $options)
    if [ -n "$want" ] && [ "$want" = "$got" ]; then pass
    else lose "plan and train $options" "$want bytes" "$got: $(head -c 300 err)"; fi
done
[ "$(planned --optimizer sgd)" -lt "$(planned --optimizer adam)" ] && pass || lose "adam keeps more than sgd" more "$(planned)"
run show net.mtf
if [ $status = 0 ] && ! grep -q assign out; then pass; else lose "without options a file is as it is" "no optimizer" "$(cat out)"; fi
run show net.mtf --optimizer adam
check "show has the optimizer" 0 out "w/adam_m: f32[a=5, h=8]" "learning_rate" "assign"
run show toy --batch 6 --io 3
check "show takes the sizes of a built-in model" 0 out "x: f32[batch=6, io=3]"
run layout net.mtf --optimizer adam --mesh x:2 --json
check "layout searches the step" 0 out '"layouts"'
run verify net.mtf --optimizer adam --clip-norm 1 --microbatches 2 --mesh x:2 --layout batch:x
check "verify proves the step" 0 out "equal on all 2 processors"
run plan toy --hidden 32 --layers 2 --mesh x:2 --layout hidden_odd:x
check "plan takes the sizes of a built-in model" 0 out "mesh             x:2; 2 processors"
run show net.mtf --microbatches 2 --dtype bf16 --program
check "parts of a batch, in another type" 0 out "loop 2 iterations"
run train net.mtf "${data[@]}" --steps 2 --memory "$(planned --microbatches 16)"
check "as few parts as fit" 0 err "the batch of 16 comes in" "micro-batches, the fewest that fit"

run train net.mtf "${data[@]}" --steps 2 --mesh auto:2 --layout auto
check "train says what auto stood for" 0 out "found: --mesh mesh_0:2"

# ---- the optimizers are the same everywhere ------------------------------------------------------

run train --help
optimizers=$(sed -n 's/^  --optimizer NAME *//p' out | tr -d ,)
[ "$(wc -w <<<"$optimizers")" -ge 6 ] && pass || lose "help lists optimizers" "6 or more" "$optimizers"
for optimizer in $optimizers; do
    train --optimizer $optimizer
    check "optimizer $optimizer trains" 0 out '"step":6'
    for page in docs/optimizers.md include/mtf_nn.h; do
        if grep -qw -- $optimizer "$root/$page"; then pass; else lose "$page" "$optimizer" "nothing of it"; fi
    done
done

# ---- the manual pages have every option ----------------------------------------------------------

"$root/tools/manual.sh" "$MTF" man || exit 2
while read -r command option; do
    if grep -qE "^\.B ${option//-/\\\\-}( |$)" "man/mtf-$command.1"; then pass
    else lose "the manual page of $command" "$option" "nothing of it"; fi
done < <("$MTF" completion bash | sed -n "s/^    \([a-z]*\):options) words='\(.*\)' ;;/\1 \2/p" | grep -v '^mtf ' |
         awk '{ for (k = 2; k <= NF; k++) print $1, $k }')
for text in '^\.SH COMMANDS' '^train ' '^\.SH EXIT STATUS' '^\\fBMTF_CACHE_DIR' '^\.BR mtf-serve (1)'; do
    if grep -q -- "$text" man/mtf.1; then pass; else lose "the manual page of mtf" "$text" "nothing of it"; fi
done
if command -v man >/dev/null; then
    why=$(for page in man/*.1; do MANROFFOPT=-ww man --warnings -l "$page" 2>&1 >/dev/null; done)
    if [ -z "$why" ]; then pass; else lose "man reads the pages" "no warning" "$(head -c 500 <<<"$why")"; fi
fi

# ---- completion and colours ----------------------------------------------------------------------

"$MTF" completion bash >bash_completion
. ./bash_completion
completes() {                           # completes EXPECTED WORD...
    local want=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _mtf
    if [ "${COMPREPLY[*]}" = "$want" ]; then pass; else lose "completion of $*" "$want" "${COMPREPLY[*]}"; fi
}
mkdir folder
completes "train" mtf tr
completes "plan" mtf help pl
completes "mnist mnist-conv" mtf train mn
completes "--optimizer" mtf train toy --opt
completes "adam adamw adafactor" mtf train toy --optimizer ad
completes "cpu cuda check check:cuda" mtf run net.mtf --device ""
completes "folder" mtf train toy --checkpoint-dir f
completes "ls verify show diff convert import export" mtf ckpt ""
completes "--keep --keep-every" mtf train toy --resume --ke
completes "net.mtf" mtf plan net
misused "no such shell" 'takes bash or zsh, not "fish"' completion fish
run completion zsh
check "completion for zsh" 0 out "#compdef mtf" "'--optimizer=[sgd, momentum" ":(sgd momentum"
if command -v zsh >/dev/null; then
    if zsh -n out 2>why; then pass; else lose "zsh reads it" "no error" "$(cat why)"; fi
fi

colours() { TERM=${1:-xterm} script -qec "$MTF ${2:---help}" /dev/null </dev/null | grep -c $'\033\[1'; }   # colours [TERM [WORDS]]
if [ -n "$without_terminal" ]; then
    echo "no colours on a terminal: $without_terminal"
else
    [ "$(unset NO_COLOR; colours)" -gt 0 ] && pass || lose "headings on a terminal" "bold" "plain"
    [ "$(unset NO_COLOR; colours xterm frobnicate)" -gt 0 ] && pass || lose "errors on a terminal" "bold" "plain"
    [ "$(unset NO_COLOR; colours dumb)" -eq 0 ] && pass || lose "a dumb terminal" "plain" "bold"
    [ "$(export NO_COLOR=1; colours)" -eq 0 ] && pass || lose "NO_COLOR" "plain" "bold"
fi
run --help
if grep -q $'\033' out; then lose "a pipe" "plain" "$(head -c 200 out)"; else pass; fi

printf 'options: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
