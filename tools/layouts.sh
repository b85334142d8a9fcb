#!/bin/bash
# Searches layouts for every configuration of share/gin/models, and writes tables of them into the documents.
#
# On meshes of 2 x 2, 4 x 4, 16 x 8 and 64 x 8 processors, for batches as configured and of 256 sequences, on the
# default machine and on h100-nodes, each search with 2 s of processor time: 416 of them, which take about an hour.
# A row that a search makes is kept in a file, and not made again while that is there.  Each row is checked: what
# was found takes no more time for an example than the configuration's own rules, and mtf plan has the same price
# for it.  Then the lines between <!-- layouts: --> and <!-- end of layouts --> in docs/layout.md and README.md are
# replaced, unless rows are missing.
# Usage: MTF=path/to/mtf tools/layouts.sh [NAME...]      default: build/mtf, every configuration
#        MTF_LAYOUT_ROWS=DIR   where the rows are kept; default: build/layouts
#        MTF_LAYOUT_JOBS=N     searches at a time; default 1
cd "$(dirname "$0")/.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "layouts.sh: no command at $MTF"; exit 2; }
rows=${MTF_LAYOUT_ROWS:-build/layouts}
mkdir -p "$rows" || exit 2
export LC_ALL=C

# A file that others include is a part of them.
every=$(cd share/gin/models && for file in *.gin; do grep -qF "'$file'" -- *.gin || basename "$file" .gin; done)
meshes="2x2 4x4 16x8 64x8" batches="256 own" machines="default h100-nodes"
[ $# -gt 0 ] && names=$* || names=$every

figure() { sed -n "s/^\t*\"$1\":\t\"*\([^\",]*\).*/\1/p" "$2" | head -n 1; }           # figure NAME FILE: of JSON
text() { sed -n "s/^\t*\"$1\":\t\"\(.*\)\",*$/\1/p" "$2" | head -n 1; }

# ---- a row ---------------------------------------------------------------------------------------

# A small copy of the model has the same rules, and is planned at once.
own_rules() { "$MTF" plan --gin_file "$1" --gin_file tiny --mesh "$2" 2>/dev/null | sed -n 's/^layout *\([^ ]*\).*/\1/p'; }

# Columns: name, mesh, batch, machine; examples and seconds with the own rules, with those found; gap; bytes; processor
# seconds; layout.  "-": nothing fits the machine's memory.
make_row() {                            # make_row NAME MESH BATCH MACHINE FILE
    local mesh=batch:${2%x*},model:${2#*x} at=$5.tmp used rules found TIMEFORMAT=%U
    local on=(--gin_file "$1" --mesh "$mesh")
    [ "$3" = own ] || on+=(--gin_param "run.batch_size = ('sequences_per_batch', $3)")
    [ "$4" = default ] || on+=(--machine "$4")
    rules=$(own_rules "$1" "$mesh")
    used=$({ time "$MTF" layout "${on[@]}" --seconds 2 --show 1 --json >"$at" 2>"$at.err"; } 2>&1)
    found=$(text layout "$at")
    if [ -s "$at" ]; then
        "$MTF" plan "${on[@]}" --layout "$found" --diff "$found" --json >"$at.plan" 2>>"$at.err" # no hint: quicker
        same "$at" "$at.plan" || return 1
    fi
    "$MTF" layout "${on[@]}" --layout "$rules" --show 1 --json >"$at.own" 2>>"$at.err"
    { [ -s "$at" ] && [ -s "$at.own" ]; } || grep -q "no layout on mesh" "$at.err" || { cat "$at.err"; return 1; }
    no_slower "$at" "$at.own" || return 1
    printf '%s\t' "$1" "$2" "$3" "$4" "$(known batch "$at.own")" "$(known seconds "$at.own")" "$(known batch "$at")" \
        "$(known seconds "$at")" "$(known gap "$at")" "$(known peak_bytes "$at")" "$used" >"$at.row"
    echo "${found:--}" >>"$at.row"
    mv "$at.row" "$5" && rm -f "$at"*
}
known() { local x; x=$(figure "$1" "$2"); echo "${x:--}"; }
same() {                                # same FOUND PLANNED
    [ "$(figure seconds "$1")" = "$(figure seconds "$2")" ] && return
    echo "$(text layout "$1"): mtf layout says $(figure seconds "$1") s, mtf plan $(figure seconds "$2") s"
    return 1
}
no_slower() {                           # no_slower FOUND OWN: for an example
    [ -s "$2" ] || return 0
    awk -v found="$(figure seconds "$1")" -v of="$(figure batch "$1")" -v own="$(figure seconds "$2")" \
        -v own_of="$(figure batch "$2")" 'BEGIN { exit !(of && found / of <= own / own_of * (1 + 1e-9)) }' && return
    echo "the own rules take $(figure seconds "$2") s for $(figure batch "$2") examples," \
        "$(text layout "$1") takes $(figure seconds "$1") s for $(figure batch "$1")"
    return 1
}

# ---- all rows ------------------------------------------------------------------------------------

start() { while [ "$(jobs -rp | wc -l)" -ge "${MTF_LAYOUT_JOBS:-1}" ]; do wait -n; done; "$@" & }
attempt() { make_row "$@" >"$5.words" 2>&1 && rm -f "$5.words"; }
wanted=()
for mesh in $meshes; do for batch in $batches; do for machine in $machines; do for name in $names; do
    row=$rows/$name.$mesh.$batch.$machine
    wanted+=("$row")
    [ -e "$row" ] || start attempt "$name" "$mesh" "$batch" "$machine" "$row"
done; done; done; done
wait
failed=0
for row in "${wanted[@]}"; do
    [ -e "$row" ] && continue
    failed=$((failed + 1))
    echo "FAILED ${row##*/}: $(cat "$row.words")"
done
echo "layouts.sh: $((${#wanted[@]} - failed)) rows, $failed failed"
[ $failed -eq 0 ] || exit 1
