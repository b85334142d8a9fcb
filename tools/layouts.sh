#!/bin/bash
# Searches layouts for every configuration of share/gin/models, and writes tables of them into the documents.
#
# On meshes of 2 x 2, 4 x 4, 16 x 8 and 64 x 8 processors, for batches of 256 sequences and as configured, on the
# default machine and on h100-nodes, each search with 2 s of processor time: 16 searches for a configuration, which
# take some minutes.  A row that a search makes is kept in a file, and not made again while that is there.  Each row
# is checked: what was found takes no more time for an example than the configuration's own rules, and mtf plan has
# the same price for it.  Then the lines between <!-- layouts --> and <!-- end of layouts --> in docs/layout.md and
# README.md are replaced.
# Usage: MTF=path/to/mtf tools/layouts.sh [NAME...]      rows of these configurations; default: build/mtf, every one,
#                                                        and the tables
#        tools/layouts.sh --tables      only the tables, without columns that lack a row
#        MTF_LAYOUT_ROWS=DIR            where the rows are kept; default: build/layouts
#        MTF_LAYOUT_JOBS=N              searches at a time; default 1
cd "$(dirname "$0")/.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "layouts.sh: no command at $MTF"; exit 2; }
rows=${MTF_LAYOUT_ROWS:-build/layouts}
mkdir -p "$rows" || exit 2
export LC_ALL=C

# A file that others include is a part of them.
every=$(cd share/gin/models && for file in *.gin; do grep -qF "'$file'" -- *.gin || basename "$file" .gin; done)
meshes="2x2 4x4 16x8 64x8" batches="256 own" machines="default h100-nodes"
[ $# -gt 0 ] && [ "$1" != --tables ] && names=$* || names=$every

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
    [ -e "$row" ] || [ "$1" = --tables ] || start attempt "$name" "$mesh" "$batch" "$machine" "$row"
done; done; done; done
wait
failed=0 made=()
for row in "${wanted[@]}"; do
    if [ -e "$row" ]; then made+=("$row"); continue; fi
    failed=$((failed + 1))
    [ "$1" = --tables ] || echo "FAILED ${row##*/}: $(cat "$row.words")"
done
echo "layouts.sh: ${#made[@]} rows of ${#wanted[@]}"
[ "$1" = --tables ] || [ $failed -eq 0 ] || exit 1
[ "$1" = --tables ] || [ $# -eq 0 ] || exit 0

# ---- the documents -------------------------------------------------------------------------------

# Of each column: its mesh and batch, where every configuration has a row.
columns() {                             # columns MACHINE
    for mesh in $meshes; do for batch in $batches; do
        for name in $every; do [ -e "$rows/$name.$mesh.$batch.$1" ] || continue 2; done
        echo "$mesh.$batch"
    done; done
}
# Cells: the time of an example with what was found, by that with the own rules; "fits" where these do not.
table() {                               # table MACHINE
    for column in $(columns "$1"); do for name in $every; do cat "$rows/$name.$column.$1"; done; done |
    awk -F '\t' '
        function cell(r) {
            if (r[8] == "-") return "nothing fits"
            gap = r[9] > 0.01 ? sprintf(" (%.0f %%)", 100 * r[9]) : ""
            return (r[6] == "-" ? "fits" : sprintf("%.2f", r[8] / r[7] / (r[6] / r[5]))) gap (r[10] > 80e9 ? " \\*" : "")
        }
        {
            column = $2 ($3 == "own" ? ", as configured" : "")
            if (!(column in known)) title[++columns] = column
            if (!($1 in seen)) name[++names] = $1
            seen[$1] = known[column] = 1
            split($0, r, "\t"); of[$1, column] = cell(r)
        }
        END {
            head = "| configuration |"; line = "|---|"
            for (k = 1; k <= columns; k++) { head = head " " title[k] " |"; line = line "---|" }
            print head "\n" line
            for (i = 1; i <= names; i++) {
                row = "| `" name[i] "` |"
                for (k = 1; k <= columns; k++) row = row " " of[name[i], title[k]] " |"
                print row
            }
        }'
}
tally() {                               # tally MACHINE: how many rows reach what
    for column in $(columns "$1"); do for name in $every; do cat "$rows/$name.$column.$1"; done; done |
    awk -F '\t' -v machine="$1" '
        $4 == machine && $8 != "-" { n++; one += $9 <= 0.01; five += $9 <= 0.05; used[n] = $11 + 0; quick += $11 <= 2 }
        $4 == machine && $8 == "-" { none++ }
        END {
            for (i = 2; i <= n; i++) for (k = i; k > 1 && used[k] < used[k - 1]; k--) { t = used[k]; used[k] = used[k - 1]; used[k - 1] = t }
            printf "%d searches%s: %d have a proved gap of at most 1 %%, %d of at most 5 %%; %d took\n", n,
                none ? ", and " none " where nothing fits" : "", one, five, quick
            printf "at most 2 s of processor time with all that is around the search, half of them %.1f s or less, nine of\n",
                used[int((n + 1) / 2)]
            printf "ten %.1f s, all %.0f s.\n", used[int(n * 9 / 10)], used[n]
        }'
}
page() {
    echo "On the default machine (30 Gflop/s, 10 GB/s of memory, a wire of 5 GB/s), whose memory has no limit:"
    tally default
    echo && table default && echo
    echo "On \`h100-nodes\`, within the 80 GB of a GPU, in as many micro-batches as that takes:"
    tally h100-nodes
    echo && table h100-nodes
}

unit() { awk -v x="$1" 'BEGIN { if (x < 1) printf "%.3g ms", 1000 * x; else printf "%.0f s", x }'; }
proof() { awk -v g="$1" 'BEGIN { if (g == 0) print "optimal"; else if (g < 1e-4) print "below 0.01 %"; else printf "%.2g %%", 100 * g }'; }
sample() {                              # sample: rows for README, of the last mesh
    local name mesh=${meshes##* } machine row r
    echo "| configuration, batch | machine | layout found on $mesh | proved gap | memory | a step | with its own rules |"
    echo "|---|---|---|---|---|---|---|"
    for name in gpt2_1558m t5_1_1_xxl model_5b t5_11b; do for machine in $machines; do
        IFS=$'\t' read -r -a r <"$rows/$name.$mesh.256.$machine"
        [ "${r[7]}" = - ] && continue
        row="| \`$name\`, ${r[6]} | $machine | \`${r[11]}\` | $(proof "${r[8]}")"
        row+=" | $(awk -v b="${r[9]}" 'BEGIN { printf "%.3g GB", b / 1e9 }') | $(unit "${r[7]}")"
        [ "${r[5]}" = - ] && echo "$row | do not fit |" || echo "$row | $(unit "${r[5]}") |"
    done; done
}
replace() {                             # replace DOCUMENT: the lines between its marks, with standard input
    awk -v with="$(cat)" '
        /^<!-- end of layouts -->$/ { inside = 0 }
        !inside
        /^<!-- layouts -->$/ { print "\n" with "\n"; inside = 1 }' "$1" >"$rows/document" && cp "$rows/document" "$1"
}
page | replace docs/layout.md
sample | replace README.md
