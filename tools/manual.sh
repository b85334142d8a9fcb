#!/bin/bash
# Writes the manual pages: of each command from its --help, of mtf itself from mtf --help and docs/command.md.
#
# Usage: tools/manual.sh COMMAND FOLDER       as in tools/manual.sh build/mtf build/man
set -eu
mtf=$(realpath "$1") folder=$2
document=$(dirname "$(realpath "$0")")/../docs/command.md
mkdir -p "$folder"
rm -f "$folder"/mtf*.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$("$mtf" --version | sed 's/ (.*//')

# Text as troff takes it: backslashes, hyphens that are typed, and a dot or quote that begins a line.
escape='function escaped(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); if (s ~ /^[.'"'"']/) s = "\\&" s; return s }'

# The help of a command.  A heading is a line that is not indented, before one that is.
from_help() {                           # from_help NAME: standard input
    awk -v name="$1" -v version="$version" "$escape"'
        { line[NR] = $0 }
        function row(s,   left, at) {                       # "  --name VALUE   what it does"
            left = substr(s, 3); at = match(left, /  +/)
            if (at) { print ".TP\n.B " escaped(substr(left, 1, at - 1)); print escaped(substr(left, at + RLENGTH)) }
            else print ".TP\n.B " escaped(left)
        }
        END {
            says = line[1]; sub(/^[^:]*: /, "", says)
            printf ".TH %s 1 \"\" \"%s\" \"User Commands\"\n.SH NAME\n%s \\- %s\n", toupper(name), version, name, escaped(says)
            part = "text"
            for (i = 2; i <= NR; i++) {
                s = line[i]; after = line[i + 1]
                if (s ~ /^usage: /) { print ".SH SYNOPSIS\n.nf"; part = "usage"; sub(/^usage: /, "", s) }
                if (part == "usage") {
                    if (s == "") { print ".fi\n.SH DESCRIPTION"; part = "text" }
                    else { sub(/^ +/, "    ", s); print escaped(s) }
                } else if (s == "") {
                    if (part == "text" && after ~ /^[^ ]/ && line[i + 2] !~ /^  /) print ".PP"
                } else if (s !~ /^ / && after ~ /^  / && line[i - 1] == "") {
                    if (part == "lines") print ".fi"
                    print ".SH " toupper(escaped(s))
                    if (after ~ /^  --/) part = "options"; else { part = "lines"; print ".nf" }
                } else if (part == "lines") { sub(/^  /, "", s); print escaped(s) }
                else if (s ~ /^  --/) { row(s); part = "options" }
                else if (part == "options" && s ~ /^        /) { sub(/^ +/, "", s); print escaped(s) }
                else print escaped(s)
            }
            if (part == "lines") print ".fi"
        }'
}

# The help of a command, with the options of each built-in model, which it has only for that model.
with_models() {                         # with_models COMMAND
    local model
    "$mtf" "$1" --help >"$work/help"
    for model in $(awk '/^built-in models$/ { on = 1; next } /^$/ { on = 0 } on && $1 != "mtf" { print $1 }' "$work/help"); do
        echo "the model $model"
        "$mtf" "$1" "$model" --help | awk '/^the model$/ { on = 1; next } /^$/ { on = 0 } on'
        echo
    done >"$work/models"
    awk -v models="$work/models" '/^built-in models$/ { while ((getline row <models) > 0) print row } { print }' "$work/help"
}

# docs/command.md: headings, paragraphs, and tables of two columns.
from_document() {
    awk "$escape"'
        function words(s,   out, n, part, k) {              # `code` is bold; links are their text
            while (match(s, /\[[^]]*\]\([^)]*\)/)) {
                part = substr(s, RSTART + 1, RLENGTH - 1); sub(/\].*/, "", part)
                s = substr(s, 1, RSTART - 1) part substr(s, RSTART + RLENGTH)
            }
            n = split(s, piece, "`"); out = ""
            for (k = 1; k <= n; k++) out = out (k % 2 ? escaped(piece[k]) : "\\fB" escaped(piece[k]) "\\fR")
            return out
        }
        /^# / { skipping = 1; next }                        # the title and what stands below it are for the page
        /^## / { skipping = 0; print ".SH " toupper(escaped(substr($0, 4))); fresh = 1; next }
        skipping || /^\|---/ { next }
        /^\| (status|variable) / { next }
        /^\|/ { split($0, cell, / *\| */); print ".TP\n" words(cell[2]); print words(cell[3]); blank = fresh = 0; next }
        /^$/ { blank = 1; next }
        { if (blank && !fresh) print ".PP"; blank = fresh = 0; print words($0) }' "$document"
}

"$mtf" --help | from_help mtf >"$folder/mtf.1"
from_document >>"$folder/mtf.1"
related=""
for command in $("$mtf" --help | awk '/^commands/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
    with_models "$command" | from_help "mtf-$command" >"$folder/mtf-$command.1"
    printf '.SH SEE ALSO\n.BR mtf (1)\n' >>"$folder/mtf-$command.1"
    related+=".BR mtf-$command (1)"$'\n'
done
printf '.SH SEE ALSO\n%s' "$related" >>"$folder/mtf.1"
