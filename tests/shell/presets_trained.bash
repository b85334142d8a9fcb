# How presets.sh shrinks a configuration, trains the copy, and lets it answer: sourced by it.

# ---- the shrunk copy -----------------------------------------------------------------------------

# 125 words, with padding, end and unknown 128 tokens; lines of eight words, a tab, and the eight that follow, in the
# order of the first twenty words again and again: soon learned, so that answers are words.
prepare_text() {
    tr -cs 'A-Za-z' '\n' <"$root/data/text/moby-dick.txt" | tr A-Z a-z |
        awk 'length($0) > 2 && !seen[$0]++' | head -n 125 >words
    awk 'NR <= 20 { word[NR - 1] = $0 }
        END { for (line = 0; line < 100; line++)
                  for (k = 0; k < 16; k++)
                      printf "%s%s", word[(7 * line + k) % 20], k == 7 ? "\t" : k == 15 ? "\n" : " " }' words >pairs.tsv
    cut -f1 pairs.tsv | cut -d' ' -f1-3 | head -n 2 >prompts
}

bindings() {                            # bindings FILE: its lines, with those of the files that it includes
    local line inner
    while IFS= read -r line; do
        inner=$(sed -n "s/^include '\(.*\)'.*/\1/p" <<<"$line")
        if [ -n "$inner" ]; then bindings "$(dirname "$1")/$inner"; else echo "$line"; fi
    done <"$1"
}
setting() {                             # setting NAME FILE: the last binding of a macro
    { cat "$root/share/gin/defaults.gin"; bindings "$2"; } | sed -n "s/^$1 = //p" | tail -n 1
}

# Two layers, and sizes that keep what sizes decide: an odd number of heads stays odd, and all heads together stay as
# wide as the model, or wider, or narrower.  Experts have room for all tokens in evaluation, so that decoding is the whole
# model.  f32, so that layouts differ by little.  Leaves shrunk.gin; shrunk.key, the
# same for equal copies; whole and three, a training on one processor and its losses.
shrink() {                              # shrink NAME
    local file=$root/share/gin/models/$1.gin heads width all
    heads=$(setting num_heads "$file") width=$(setting d_model "$file")
    all=$((heads * $(setting d_kv "$file"))) heads=$((heads % 2 ? 3 : 4))
    width=$((heads * (all > width ? 2 : all < width ? 8 : 4)))
    cat >shrunk.gin <<EOF
include 'models/$1.gin'
num_layers = 2
num_heads = $heads
d_kv = 4
d_model = $width
d_ff = 32
MoE1D.hidden_size = 8
MoE1D.num_experts = 9
MoE1D.capacity_factor_eval = 9.0
MoE2D.hidden_size = 8
MoE2D.expert_x = 3
MoE2D.expert_y = 3
MoE2D.capacity_factor_eval = 9.0
MoE2D.capacity_factor_second_level = 9.0
max_length = 16
run.sequence_length = {'inputs': 16, 'targets': 16}
run.batch_size = ('sequences_per_batch', 7)
Unitransformer.input_vocab_size = 128
Unitransformer.output_vocab_size = 128
make_bitransformer.input_vocab_size = 128
make_bitransformer.output_vocab_size = 128
get_variable_dtype.activation_dtype = 'float32'
EOF
    step --steps 3 --checkpoint-dir whole && mv now three
    md5sum <whole/operative_config.gin >shrunk.key
}
shrunk=(--gin_file shrunk.gin --vocabulary words:../words --text ../pairs.tsv --threads 1)
step() { tried train "${shrunk[@]}" --json "$@" && losses >now; }      # step OPTION...: a training; its losses

# ---- training ------------------------------------------------------------------------------------

meshes=("--mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y --state-layout d_model:x!"
    "--mesh x:3 --layout heads:x,d_ff:x,vocab:x --state-layout d_model:x!"
    "--mesh x:2,y:2 --layout length:x,d_model:y --state-layout d_ff:x!,heads:x!,vocab:x!")

alike() {                               # alike WHAT FILE [WITHIN]: the losses of the last training are those of FILE
    [ -s "$2" ] && [ "$(wc -l <"$2")" = "$(wc -l <now)" ] && paste "$2" now |
        awk -v within="${3:-1e-4}" '{ gap = ($1 - $2) / $1; if (gap < 0) gap = -gap }
            !(gap <= within) { bad = 1 } END { exit bad }' ||
        lost "$1: losses $(paste -sd' ' now), on one processor $(paste -sd' ' "$2")"
}

# An emulated GPU is slow: each layout has either one part or three there, and all compute in f32.
check_train() {                         # check_train NAME DEVICE
    local mesh parts k=0 counts="1 3" emulated=false
    [ "$2" = cuda ] && [ $real -eq 0 ] && emulated=true
    head -n 2 three >two
    step --steps 3 --device "$2" && alike "one processor" three
    for mesh in "${meshes[@]}"; do
        $emulated && counts=$((k++ % 2 ? 1 : 3))
        for parts in $counts; do
            # shellcheck disable=SC2086
            step --steps 2 --device "$2" $mesh --microbatches $parts && alike "$mesh --microbatches $parts" two
        done
    done
    $emulated || check_short "$2"
}

# In the type in which configurations compute as shipped.
check_short() {                         # check_short DEVICE
    local short=(--gin_param "get_variable_dtype.activation_dtype = 'bfloat16'")
    step --steps 2 "${short[@]}" && mv now two_short
    # shellcheck disable=SC2086
    step --steps 2 "${short[@]}" --device "$1" ${meshes[0]} --microbatches 3
    alike "in bf16, ${meshes[0]} --microbatches 3" two_short 5e-3
}

# ---- checkpoints ---------------------------------------------------------------------------------

# Saved by four processors, read by three, which go on as one processor did.
check_ckpt() {                          # check_ckpt NAME DEVICE
    local mesh
    rm -rf parts
    # shellcheck disable=SC2086
    step --steps 2 --device "$2" ${meshes[0]} --checkpoint-dir parts
    tried ckpt verify parts
    # shellcheck disable=SC2086
    step --steps 3 --device "$2" ${meshes[1]} --checkpoint-dir parts --resume
    tail -n 1 three >third
    alike "four processors' checkpoint on three" third
    check_published "$1" "$2"
}

# What was exported and is imported again is the same model, and the same files when it is exported again.
check_published() {                     # check_published NAME DEVICE: prints that it was exported
    describe "$1" >config.json || return 0
    rm -rf out_there back there_again
    tried ckpt export parts out_there --config config.json
    tried ckpt import out_there back
    tried ckpt export back there_again
    cmp out_there/model.safetensors there_again/model.safetensors || lost "exported twice, the files differ"
    cut -f2 ../pairs.tsv | head -n 2 >targets
    tried score parts --inputs ../prompts --targets targets --device "$2" && mv out now
    tried score back --inputs ../prompts --targets targets --device "$2" --vocabulary words:../words && mv out scores
    alike "scores of the exported model" scores
    echo exported
}

shrunk_to() { sed -n "s/^$1 = //p" shrunk.gin; }    # shrunk_to MACRO
describe() {                            # describe NAME: config.json of its published form, where it has one
    local family gated=true
    family=$(sed -n "s/^include '\(.*\)_common.gin'/\1/p" "$root/share/gin/models/$1.gin")
    [ "$family" = t5_1_0 ] && gated=false
    case $family in
        gpt2) cat <<EOF ;;
{"model_type": "gpt2", "vocab_size": 128, "n_positions": 16, "n_layer": 2, "n_head": $(shrunk_to num_heads),
 "n_embd": $(shrunk_to d_model), "n_inner": $(shrunk_to d_ff)}
EOF
        t5_1_*) cat <<EOF ;;
{"model_type": "t5", "vocab_size": 128, "num_layers": 2, "num_heads": $(shrunk_to num_heads),
 "d_kv": $(shrunk_to d_kv), "d_model": $(shrunk_to d_model), "d_ff": $(shrunk_to d_ff),
 $($gated && echo '"tie_word_embeddings": false, "feed_forward_proj": "gated-gelu"' ||
        echo '"tie_word_embeddings": true, "feed_forward_proj": "relu"')}
EOF
        *) return 1 ;;
    esac
}

# ---- answers -------------------------------------------------------------------------------------

answers=5
ways=("--temperature 0" "--temperature 1 --seed 3" "--beams 3 --results 2 --alpha 0")

# The same answers on one processor of the CPU and on a mesh of the device.
check_decode() {                        # check_decode NAME DEVICE
    local way k=0 mesh=(--mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y)
    [ -d taught ] || step --steps 100 --optimizer adam --rate 0.01 --checkpoint-dir taught
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086
        tried decode taught --inputs ../prompts --max-tokens $answers $way --threads 1 && mv out said.$k
        # shellcheck disable=SC2086
        tried decode taught --inputs ../prompts --max-tokens $answers $way --device "$2" "${mesh[@]}"
        [ -s said.$k ] && cmp -s out said.$k ||
            lost "$way: on a mesh $(paste -sd/ out), on one processor $(paste -sd/ said.$k)"
        k=$((k + 1))
    done
    check_greedy "$2"
    check_beams "$2"
}

# After each beginning of a greedy answer no other of the twenty words is more probable, by a pass over the whole text.
check_greedy() {                        # check_greedy DEVICE
    paste -d'\t' ../prompts said.0 | awk -F'\t' 'NR == FNR { word[++words] = $0; next }
        { n = split($2, of, " "); begin = ""
          for (i = 1; i <= n; begin = begin of[i++] " ")
              for (w = 0; w <= words; w++) {
                  v = w ? word[w] : "<unk>"
                  if (w > 20 && v != of[i]) continue
                  print $1 >"inputs"; print begin v >"targets"; print FNR, i, v == of[i] >"meant" } }' ../words -
    [ -s targets ] || without "its answers are empty"
    tried score taught --inputs inputs --targets targets --tokens --batch 32 --device "$1"
    paste -d' ' meant out | awk '{ at = $1 " " $2; p = $(4 + $2) }
        !(at in best) || p > best[at] { best[at] = p }
        $3 { chosen[at] = p }
        END { for (at in best) if (!(chosen[at] >= best[at] - 1e-4)) { print "answer and token " at; bad = 1 }
              exit bad }' >wrong ||
        lost "greedy answers are not the most probable for a pass over the whole text: $(paste -sd, wrong)"
}

# Answers by beams are in the order of their probabilities, by a pass over the whole text: those that have ended, then
# those that have not, which are as long as is allowed.
check_beams() {                         # check_beams DEVICE
    awk '{ print; print }' ../prompts >inputs
    tried score taught --inputs inputs --targets said.2 --tokens --device "$1"
    paste -d'\t' said.2 out | awk -F'\t' -v most=$answers '
        { n = split($1, word, " "); split($2, p, " "); sum = 0
          for (i = 1; i <= n + (n < most); i++) sum += p[i + 1] }
        NR % 2 { first = sum; ended = n < most; next }
        n && ended == (n < most) && !(first >= sum - 1e-4) { bad = 1 }
        n && n < most && !ended { bad = 1 }
        END { exit bad || NR != 4 }' ||
        lost "answers by beams: $(paste -sd/ said.2), with scores $(paste -sd/ out)"
}
