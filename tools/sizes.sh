#!/bin/bash
# Fails on a file over 800 lines or a function over 120 lines under src/.
#
# A function begins at a brace in column 0 and ends at the next closing one.
# Usage: tools/sizes.sh [root of the tree]
cd "${1:-$(dirname "$0")/..}" || exit 2
set -o pipefail

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
    END { close_file() }' | { ! grep .; }
