# How presets.sh plans a configuration, finds its layouts and verifies it: sourced by it.
as_shipped=() larger=(--gin_param "run.batch_size = ('sequences_per_batch', 256)")

figure() { sed -n "s/^\t*\"$1\":\t\"*\([^\",]*\).*/\1/p" "${2:-out}" | head -n 1; }    # figure NAME [FILE]: of JSON

# The configuration's own rules name the axes batch and model; plans stay for the next column.
check_plan() {                          # check_plan NAME
    local batch mesh on
    for batch in as_shipped larger; do
        local -n options=$batch
        for mesh in 1x1 2x2 16x8; do
            on=()
            [ $mesh = 1x1 ] || on=(--gin_param "run.mesh_shape = 'batch:${mesh%x*},model:${mesh#*x}'")
            tried plan --gin_file "$1" "${options[@]}" "${on[@]}" --json
            [ "$(figure processors)" = $((${mesh/x/*})) ] || lost "$batch on $mesh: $(figure processors) processors"
            [ $batch = as_shipped ] || [ "$(figure batch)" = 256 ] || lost "$mesh: a batch of $(figure batch), not 256"
            awk -v s="$(figure seconds)" -v b="$(figure peak_bytes)" 'BEGIN { exit !(s > 0 && b > 0) }' ||
                lost "$batch on $mesh: $(figure seconds) seconds, $(figure peak_bytes) bytes"
            mv out "plan.$batch.$mesh"
        done
    done
}

# As shipped, the batch is given for a replica, so that a layout decides how large it is: seconds are those of an
# example.
check_layout() {                        # check_layout NAME: prints the largest gap
    local batch mesh on rules price worst=0
    for batch in as_shipped larger; do
        local -n options=$batch
        for mesh in 2x2 16x8; do
            on=(--gin_file "$1" "${options[@]}" --mesh "batch:${mesh%x*},model:${mesh#*x}")
            tried layout "${on[@]}" --json
            rules=$(sed -n 's/^\t*"layout":\t"\(.*\)",$/\1/p' out | head -n 1) price=$(figure seconds)
            worst=$(awk -v a="$worst" -v b="$(figure gap)" 'BEGIN { print (a > b ? a : b) }')
            tried plan "${on[@]}" --layout "$rules" --json
            [ "$(figure seconds)" = "$price" ] ||
                lost "$batch on $mesh: mtf layout says $price s for $rules, mtf plan $(figure seconds) s"
            [ $batch.$mesh = larger.16x8 ] && check_auto "$price" "${on[@]}"
            awk -v found="$price" -v of="$(figure batch)" -v own="$(figure seconds "plan.$batch.$mesh")" \
                -v own_of="$(figure batch "plan.$batch.$mesh")" \
                'BEGIN { exit !(own > 0 && found / of <= own / own_of * (1 + 1e-9)) }' ||
                lost "$batch on $mesh: $rules takes $price s for $(figure batch) examples, the configuration's own" \
                    "rules $(figure seconds "plan.$batch.$mesh") s for $(figure batch "plan.$batch.$mesh")"
        done
    done
    awk -v gap="$worst" 'BEGIN { printf "%.2g %%", 100 * gap }'
}

check_auto() {                          # check_auto PRICE OPTION...: --layout auto is what mtf layout finds
    tried plan "${@:2}" --layout auto --json
    [ "$(figure seconds)" = "$1" ] || lost "--layout auto takes $(figure seconds) s, the best of mtf layout $1 s"
}

# Heads and hidden units in parts that are uneven; then many processors.
check_verify() {                        # check_verify NAME
    local rules=(--layout batch:x,d_ff:y,heads:y,vocab:y --shrink)
    tried verify --gin_file "$1" "${rules[@]}" --mesh x:2,y:3 --microbatches 3 --state-layout d_model:x
    grep -q "equal on all 6 processors, chance of error below 2^-60" out || lost "on 2 x 3: $(cat out)"
    tried verify --gin_file "$1" "${rules[@]}" --mesh x:16,y:8
    grep -q "equal on all 128 processors, chance of error below 2^-60" out || lost "on 16 x 8: $(cat out)"
}
