#!/bin/bash
# Fails where a floating number is read or written past base/numbers.h.
#
# The C library's own functions follow the locale of the program that embeds the library, and print
# a sign before what is not a number.
# Usage: tools/numbers.sh [root of the tree]
cd "${1:-$(dirname "$0")/..}" || exit 2

# Reading, and formats that come from elsewhere, at once; formats that are written out, to the end
# of their statement.
find src -name '*.[ch]' ! -path src/base/numbers.c | sort | xargs awk '
    function look() {
        gsub(/%%/, "", statement)
        if (statement ~ /%[-+ #0]*[0-9*]*(\.[0-9*]*)?L?[aefgAEFG]/)
            print place ": a floating number goes through number_read, number_format or number_print"
        statement = ""
    }
    FNR == 1 { statement = "" }
    { code = $0; sub(/\/\*.*/, "", code) }
    code ~ /(^|[^A-Za-z0-9_])(strto(d|f|ld)|atof)[ ]*\(/ {
        print FILENAME ":" FNR ": a number is read with number_read"
    }
    code ~ /(^|[^A-Za-z0-9_])v(f|d|s|sn|as)?printf[ ]*\(/ {
        print FILENAME ":" FNR ": a format is followed with number_vformat"
    }
    code ~ /(^|[^A-Za-z0-9_])((f|d|s|sn|as)?printf|v?f?s?scanf)[ ]*\(/ && statement == "" {
        place = FILENAME ":" FNR
        statement = " "
    }
    statement != "" { statement = statement code "\n" }
    statement != "" && code ~ /;[ \t]*$/ { look() }' | { ! grep .; }
