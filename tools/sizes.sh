#!/bin/bash
# Fails on files over 800 lines, functions over 120 lines, documents over 120 columns.
#
# Under src/ a function begins at a brace in column 0 and ends at the next closing one.  Of documents, the
# rows of tables and lines of blocks may be longer; docs/ops.md is not checked.
# Usage: tools/sizes.sh [root of the tree]
cd "${1:-$(dirname "$0")/..}" || exit 2
set -o pipefail

bad=0
find src \( -name '*.[ch]' -o -name '*.cu' \) -print0 | sort -z | xargs -0 -r awk '
    function close_file() {
        if (lines > 800) print file ": " lines " lines, over 800"
    }
    FNR == 1 { close_file(); file = FILENAME; begun = 0; head = "" }
    { lines = FNR }
    /^[A-Za-z_].*\)[ \t]*\{[ \t]*$/ { begun = FNR; head = $0 }
    /^\{/ { begun = FNR }
    /^[A-Za-z_].*\(/ { head = $0 }
    /^}/ {
        length_now = begun ? FNR - begun + 1 : 0
        if (length_now > 120)
            print file ":" begun ": " length_now " lines, over 120: " head
        begun = 0
    }
    END { close_file() }' | { ! grep .; } || bad=1

find . -name '*.md' -not -path './build*' -not -path './.git/*' -not -name ops.md -print0 |
    sort -z | LC_ALL=C xargs -0 -r awk '
    FNR == 1 { block = 0 }
    /^ *```/ { block = !block; next }
    { gsub(/[\200-\277]/, "") } # of a UTF-8 character its first byte counts
    !block && !/^ *\|/ && !/^<!--/ && length($0) > 120 { print FILENAME ":" FNR ": " length($0) " columns, over 120" }
    ' | { ! grep .; } || bad=1
exit $bad
