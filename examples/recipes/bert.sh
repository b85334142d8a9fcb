#!/bin/bash
# Pre-trains a small BERT on texts that bert_text.py writes, and fine-tunes it on classes and on answers.
#
#     examples/recipes/bert.sh FOLDER [OPTION...]
#
# Texts and checkpoints go into the folder; options, such as --mesh and --layout, go to every command.
# STEPS is the number of steps of pre-training (default: 1200), DOCUMENTS that of documents (default: 2000).
set -e -o pipefail
here=$(dirname "$(realpath "$0")")
mtf=$(command -v mtf || echo "$here/../../build/mtf")
folder=${1:?which folder shall have texts and checkpoints}
shift
python3 "$here/bert_text.py" "$folder" "${DOCUMENTS:-2000}"
cd "$folder"

slowing() { echo "$1 * linear_warmup(0.1) * linear_decay(1.0)"; }
words=(--vocab vocab.txt --threads 1)
classes=(--length 16 --eval-files praise-dev.tsv)
answers=(--length 96 --eval-files questions-dev.tsv)

$mtf train bert-pretrain "${words[@]}" --length 64 --predictions 10 --train-files train.txt --eval-files dev.txt \
    --steps "${STEPS:-1200}" --rate "$(slowing 0.001)" --checkpoint-dir pretrained --quiet "$@"
$mtf train bert-classify "${words[@]}" "${classes[@]}" --train-files praise-train.tsv --init-from pretrained \
    --epochs 3 --rate "$(slowing 0.0005)" --checkpoint-dir praise --quiet "$@"
$mtf train bert-span "${words[@]}" "${answers[@]}" --train-files questions-train.tsv --init-from pretrained \
    --epochs 3 --rate "$(slowing 0.0005)" --checkpoint-dir questions --quiet "$@"
$mtf eval bert-classify "${words[@]}" "${classes[@]}" --checkpoint-dir praise "$@"
$mtf eval bert-span "${words[@]}" "${answers[@]}" --checkpoint-dir questions --output answers "$@"
