#!/bin/bash
# Trains the recipes with mtf and in PyTorch, two seeds each, and compares them.
#
#     run.sh [speeches|catalogues|all] [SECONDS]
#
# On a GPU one recipe follows the other, each with all its steps.  On processors all runs go on side by side: a first,
# short round measures how long a step takes; the second has as many steps as fit into SECONDS (default 240), at
# most those of the recipe, the same for mtf and PyTorch.  With less than 120 seconds it only shows that everything
# runs: dev is a small part then.
#
#     MTF_RECIPE_DATA   folder with text/sotu.{train,dev}.txt.gz and translate/en-de.{train,dev}.tsv.gz,
#                       or with these files directly (default: data)
#     MTF, PYTHON       the programs (default: build/mtf, python3; PyTorch and NumPy must be there)
#     DEVICE            cpu or cuda, for both (default: cuda if nvidia-smi finds a GPU); products of cuda in TF32
#     THREADS           of each run (default: the cores divided by the runs)
#     STEPS             this number of steps, or "all", without the first round (default on a GPU: all)
#     SEEDS             of the runs (default: 1 2)
#     BATCH             rows of a step (default: 32, as in the recipes)
#     OUT               folder for logs, checkpoints and the table (default: a new one in /tmp)
set -u
what=${1:-all} seconds=${2:-240}
case $what in
    speeches | catalogues) recipes=$what ;;
    all) recipes="speeches catalogues" ;;
    *) sed -n '4s/^# *//p' "$0" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
mtf=${MTF:-$here/../../build/mtf} python=${PYTHON:-python3} data=${MTF_RECIPE_DATA:-data}
out=${OUT:-$(mktemp -d /tmp/mtf_recipes_XXXXXX)}
device=${DEVICE:-$(nvidia-smi -L 2>/dev/null | grep -q GPU && echo cuda || echo cpu)}
seeds=${SEEDS:-1 2} programs="mtf torch" batch=${BATCH:-32}
runs=$(($(wc -w <<<"$recipes $recipes") * $(wc -w <<<"$seeds")))
threads=${THREADS:-$(($(nproc) / runs > 0 ? $(nproc) / runs : 1))}
eval_threads=$(($(nproc) * 2 / runs > threads ? $(nproc) * 2 / runs : threads)) # PyTorch has ended by then
begin=$SECONDS steps_given=${STEPS:-$([ $device = cuda ] && echo all)}
mkdir -p "$out"

fail() { echo "run.sh: $*" >&2; exit 1; }

# ---- data ----

# unpack NAME TO: one of the files above, as it is or compressed
unpack()
{
    local file
    for file in "$data"/{text,translate,.}/"$1"{.gz,}; do
        [ -f "$file" ] || continue
        case $file in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac >"$out/$2" && return
    done
    fail "$data has no $1.gz: MTF_RECIPE_DATA names the folder with the data"
}

# Bytes after xz -9e: of dev, and of dev where train is known.
pack_with_xz()
{
    local dev train both
    dev=$(xz -9e -c "$out/dev.txt" | wc -c)
    train=$(xz -9e -c "$out/train.txt" | wc -c)
    both=$(cat "$out/train.txt" "$out/dev.txt" | xz -9e -c | wc -c)
    echo "$dev $((both - train)) $(wc -c <"$out/dev.txt")" >"$out/xz"
}

for recipe in $recipes; do
    if [ $recipe = speeches ]; then
        unpack sotu.train.txt train.txt && unpack sotu.dev.txt dev.txt
        [ "$seconds" -ge 120 ] || { head -c 8000 "$out/dev.txt" >"$out/few" && mv "$out/few" "$out/dev.txt"; }
        pack_with_xz &
    else
        unpack en-de.train.tsv train.tsv && unpack en-de.dev.tsv unsorted.tsv
        # By length, so that texts that are decoded together end together.
        LC_ALL=C awk -F '\t' '{print length($1) "\t" $0}' "$out/unsorted.tsv" |
            sort -s -n -k 1,1 | cut -f 2- >"$out/dev.tsv"
        [ "$seconds" -ge 120 ] || { awk 'NR % 500 == 100' "$out/dev.tsv" >"$out/few" && mv "$out/few" "$out/dev.tsv"; }
        cut -f 2 "$out/dev.tsv" >"$out/wanted.txt"
        cut -f 1 "$out/dev.tsv" >"$out/unchanged.txt"
    fi
done

# ---- runs ----

text_of() { [ $1 = speeches ] && echo "$out/$2.txt:joined" || echo "$out/$2.tsv:objective=pairs${3:-}"; }
suffix_of() { [ $1 = speeches ] && echo txt || echo tsv; }
recipe_steps() { sed -n 's/^run.train_steps = //p' "$here/../../share/gin/recipes/$1.gin"; }
recipe_warm_up() { sed -n 's/^linear_warmup.steps_or_fraction = //p' "$here/../../share/gin/recipes/$1.gin"; }

# A run with fewer steps than the recipe has a shorter warm-up.
warm_up()
{
    local w=$(($(recipe_warm_up $1) * $2 / $(recipe_steps $1)))
    echo $((w > 0 ? w : 1))
}

stamped() { while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done; }

# train RECIPE PROGRAM SEED STEPS NAME: NAME.log has the time and the loss of steps
train()
{
    local recipe=$1 seed=$3 steps=$4 name=$5 gin="$here/../../share/gin/recipes/$1.gin" limit=""
    # A run that takes too long is ended, and the others are printed; but not where the seconds are too few for any.
    [ "$seconds" -lt 120 ] || [ "$steps_given" ] || limit="timeout --foreground $((seconds - (SECONDS - begin) + 20))"
    if [ $2 = mtf ]; then
        $limit "$mtf" train --gin_file "$gin" --text "$(text_of $recipe train :pack)" --seed $seed --threads $threads \
            --gin_param "run.train_steps = $steps" \
            --gin_param "run.batch_size = ('sequences_per_batch', $batch)" --json --checkpoint-dir "$name.model" \
            --device $device $([ $device = cuda ] && echo --tf32) \
            --gin_param "linear_warmup.steps_or_fraction = $(warm_up $recipe $steps)" 2>"$name.err"
    else
        local dev=$out/dev.$(suffix_of $recipe)
        $limit "$python" -B "$here/torch_$recipe.py" "$out/train.$(suffix_of $recipe)" "$dev" --seed $seed \
            --steps $steps --warm-up $(warm_up $recipe $steps) --threads $threads --device $device --batch $batch \
            $([ "${6:-}" ] && echo "--log-every 1" || echo "--answers $name.answers") 2>"$name.err"
    fi | stamped >"$name.log"
    return ${PIPESTATUS[0]}
}

# evaluate_on DEVICE RECIPE NAME: answers and losses of a model that mtf trained
evaluate_on()
{
    local name=$3 what=perplexity more="" begin=$EPOCHREALTIME
    [ $2 = speeches ] || { what=eval; more="--batch 50 --bleu --output $name.dev"; }
    "$mtf" $what "$name.model" --eval-text "$(text_of $2 dev)" --threads $eval_threads --json --device $1 $more \
        >"$name.eval" 2>>"$name.err" || return
    [ $2 = speeches ] || cp "$name.dev"_*_predictions "$name.answers"
    echo "$EPOCHREALTIME $begin" | awk -v on=$1 '{printf "%.0f s on %s\n", $1 - $2, on}' >"$name.evaluated"
}

# By the processors where the GPU cannot.
evaluate() { evaluate_on $device "$@" || { [ $device != cpu ] && evaluate_on cpu "$@"; }; }

result_of()
{
    local name=$out/$1.$2.$3 got=""
    if [ $1 = speeches ]; then
        got=$(cat "$name.log" "$name.eval" 2>/dev/null | sed -n 's/.*"bits_per_byte": *\([0-9.]*\).*/\1/p' | tail -n 1)
        [ -z "$got" ] || printf '%.3f' $got
    elif [ -s "$name.answers" ]; then
        "$python" -B "$here/bleu.py" "$out/wanted.txt" "$name.answers" | sed 's/ .*//'
    fi
}

one_run()
{
    local name=$out/$1.$2.$3
    if train $1 $2 $3 $4 "$name" && { [ $2 = torch ] || evaluate $1 "$name"; }; then
        echo "$1, $2, seed $3: $(result_of $1 $2 $3) after $((SECONDS - begin)) s" >&2
    else
        { echo "$1, $2, seed $3:"; tail -n 3 "$name.err"; } >&2
    fi
}

each_run() { for recipe in $recipes; do for program in $programs; do for seed in $seeds; do "$@"; done; done; done; }

# ---- how many steps ----

try_out()
{
    train $recipe $program $seed $(recipe_steps $recipe) "$out/first.$recipe.$program.$seed" first &
    tried+=($!)
}

# Until every run has taken some steps, then some seconds more, in which all of them run.
watch_first_steps()
{
    local log waiting=1 k
    for ((k = 0; waiting && k < 2 * most_waiting; k++)); do
        sleep 0.5
        waiting=""
        for log in "$out"/first.*.log; do [ $(wc -l <"$log") -ge 3 ] || waiting=1; done
    done
    sleep ${FIRST_SECONDS:-8}
}

# Seconds of a step in the last seconds of each run; of the slowest of the recipe's runs.
step_time()
{
    local log
    for log in "$out"/first.$1.*.log; do
        sed -n 's/^\([0-9.]*\) .*"step": *\([0-9]*\).*/\1 \2/p' "$log" | awk -v seconds=${FIRST_SECONDS:-8} '
            {time[NR] = $1; step[NR] = $2}
            END {
                for (k = NR - 1; k > 1 && time[k] > time[NR] - seconds;) k--
                if (k > 0) printf "%.6f\n", (time[NR] - time[k]) / (step[NR] - step[k])
            }'
    done | sort -g | tail -n 1
}

if [ -z "$steps_given" ]; then
    most_waiting=$((seconds / 4 > 60 ? seconds / 4 : 60)) tried=()
    trap 'for group in "${tried[@]}"; do kill -- -$group 2>/dev/null; done; exit 1' INT TERM
    set -m # each run is a group of processes, which ends together
    each_run try_out
    watch_first_steps
    for recipe in $recipes; do step_time $recipe >"$out/$recipe.time"; done
    for group in "${tried[@]}"; do kill -- -$group 2>/dev/null; done
    wait "${tried[@]}" 2>/dev/null
    set +m
    trap - INT TERM
    left=$((seconds - (SECONDS - begin)))
    for recipe in $recipes; do
        time=$(cat "$out/$recipe.time")
        [ "$time" ] || fail "a run of $recipe has not taken steps: $(tail -qn 2 "$out"/first.$recipe.*.err)"
        # A third of what is left is for starting and for evaluating.
        awk -v t=$time -v left=$left -v most=$(recipe_steps $recipe) 'BEGIN {
            n = int(left * 0.66 / t); if (n > 100) n -= n % 100
            if (n < 4) n = 4
            if (n > most) n = most
            print n}' >"$out/$recipe.steps"
        echo "$recipe: $time s a step, $(cat "$out/$recipe.steps") steps" >&2
    done
else
    for recipe in $recipes; do
        [ "$steps_given" = all ] && recipe_steps $recipe || echo $steps_given
    done | { for recipe in $recipes; do read -r n && echo $n >"$out/$recipe.steps"; done; }
fi

start_run() { one_run $recipe $program $seed $(cat "$out/$recipe.steps") & }
if [ $device = cpu ]; then
    each_run start_run
    wait
else
    all=$recipes
    for recipes in $all; do each_run start_run; wait; done
    recipes=$all
fi

# ---- the table ----

row() { printf '| %s | %s |\n' "$1" "${2:-failed: $3}"; }

# table RECIPE UNIT
table()
{
    local steps time
    steps=$(cat "$out/$1.steps")
    printf '\n| %s, %s steps on %s | %s |\n|---|---|\n' $1 $steps $device "$2"
    for program in $programs; do
        for seed in $seeds; do
            time=$(sed -n 's/^\([0-9.]*\) .*"step": *\([0-9]*\).*/\1 \2/p' "$out/$1.$program.$seed.log" |
                awk '{if (!n++) {a = $1; k = $2}; b = $1; m = $2}
                     END {if (n > 1) printf ", %.1f ms a step", 1000 * (b - a) / (m - k)}')
            row "$program, seed $seed$time" "$(result_of $1 $program $seed)" "$out/$1.$program.$seed.err"
        done
    done
}

{
    for recipe in $recipes; do
        if [ $recipe = speeches ]; then
            table speeches "bits per byte"
            read -r alone known bytes <"$out/xz"
            row "xz -9e of dev alone, $alone bytes" $(awk "BEGIN {printf \"%.3f\", 8 * $alone / $bytes}")
            row "xz -9e of train and dev, less train, $known bytes" \
                $(awk "BEGIN {printf \"%.3f\", 8 * $known / $bytes}")
        else
            table catalogues "BLEU, $("$python" -B "$here/bleu.py" "$out/wanted.txt" "$out/wanted.txt" | sed 's/.* //')"
            for seed in $seeds; do
                row "mtf, seed $seed, as mtf eval prints it" \
                    "$(sed -n 's/.*"bleu": *\([0-9.]*\).*/\1/p' "$out/catalogues.mtf.$seed.eval" | tail -n 1)" \
                    "$out/catalogues.mtf.$seed.err"
            done
            row "English unchanged" \
                "$("$python" -B "$here/bleu.py" "$out/wanted.txt" "$out/unchanged.txt" | sed 's/ .*//')"
        fi
    done
    echo
    for name in "$out"/*.evaluated; do
        [ -f "$name" ] && echo "evaluation of $(basename "$name" .evaluated): $(cat "$name")"
    done
    echo "$((SECONDS - begin)) s in all, $threads threads a run; logs and models in $out"
} | tee "$out/table.md"
