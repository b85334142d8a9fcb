#!/bin/bash
# A dense language model and mixtures of experts with the same active work on the same text: bits per byte after as
# many steps, and after as many seconds.
#
#     examples/recipes/experts.sh FOLDER [OPTION...]
#
# FOLDER has train.txt and dev.txt; logs and models go there.  Options, such as --device cuda, go to every training.
# STEPS is the number of steps of the dense model (default: that of the configuration), SEEDS the seeds (default: 1 2).
set -e -o pipefail
here=$(dirname "$(realpath "$0")")
mtf=$(command -v mtf || echo "$here/../../build/mtf")
folder=${1:?which folder has train.txt and dev.txt}
shift
cd "$folder"
seeds=${SEEDS:-1 2}
steps=${STEPS:-$(sed -n 's/^run.train_steps = //p' "$here/../../share/gin/recipes/bytes_common.gin")}

stamped() { while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done; }

# train NAME STEPS SEED OPTION...: a model, its seconds from the first step to the last, its bits per byte
train() {
    local name=$1 n=$2 seed=$3 model=$1.$3
    "$mtf" train --text train.txt:joined --seed $seed --json --checkpoint-dir $model --gin_param "run.train_steps = $n" \
        "${@:4}" 2>$model.err | stamped >$model.log || { tail -n 3 $model.err >&2; return 1; }
    awk -v n=$n '/"step"/ {if (!a) a = $1; b = $1} END {print (b - a) * n / (n - 1)}' $model.log >$model.seconds
    "$mtf" perplexity $model --eval-text dev.txt:joined --json "${anywhere[@]}" 2>>$model.err |
        sed -n 's/.*"bits_per_byte": *\([0-9.]*\).*/\1/p' >$model.bits
    printf '| %s | %d | %d | %.1f s | %.4f |\n' "$name" $seed $n $(cat $model.seconds $model.bits)
}

# steps_within A B: how many steps B takes in the seconds of A's
steps_within() { awk -v n=$steps '{s[NR] = $1} END {printf "%d", n * s[1] / s[2]}' $1.$seed.seconds $2.$seed.seconds; }

anywhere=("$@")
experts=(--gin_file experts "$@")
printf '| model | seed | steps | training | bits per byte of dev |\n|---|---|---|---|---|\n'
for seed in $seeds; do
    train dense $steps $seed --gin_file dense "$@"
    train experts $steps $seed "${experts[@]}"
    train experts-without-z-loss $steps $seed "${experts[@]}" --gin_param "MoE1D.z_loss = 0.0"
    train experts-dropless $steps $seed "${experts[@]}" --gin_param "MoE1D.dispatch = 'dropless'"
    train experts-in-dense-seconds $(steps_within dense experts) $seed "${experts[@]}"
    train dense-in-dropless-seconds $(steps_within experts-dropless dense) $seed --gin_file dense "$@"
done
