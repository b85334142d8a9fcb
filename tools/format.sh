#!/bin/bash
# Fails for sources that clang-format would change; with --write it changes them.
#
# A table that is aligned by hand stands between `clang-format off` and `clang-format on`.
# Usage: tools/format.sh [--write] [FILE...]    default: every source in C
cd "$(dirname "$0")/.." || exit 2
how=(--dry-run --Werror)
[ "$1" = --write ] && how=(-i) && shift
files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(find src include tests examples bench -name '*.[ch]' | sort)
command -v clang-format >/dev/null || { echo "format.sh: no clang-format; tools/setup.sh full installs it" >&2; exit 2; }
printf '%s\0' "${files[@]}" | xargs -0 -n 50 -P 2 clang-format "${how[@]}" 2>&1 | sed -n 's/^\([^: ]*\):.*clang-format-violations.*/\1/p' | sort -u >&2
status=${PIPESTATUS[1]}
[ "$status" -eq 0 ] || echo "these files are not formatted; make format does it" >&2
exit "$status"
