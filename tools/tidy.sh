#!/bin/bash
# Runs clang-tidy over src/, as .clang-tidy says.
#
# Usage: tools/tidy.sh BUILD-FOLDER [COMMIT]    with a commit: only over what differs from it
cd "$(dirname "$0")/.." || exit 2
build=${1:?the folder of a build with clang} since=$2
if [ -n "$since" ]; then
    mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- 'src/*.c')
else
    mapfile -t files < <(find src -name '*.c' | sort)
fi
# What the library is made of besides is written by the build; files for other machines are not compiled here.
grep -oE '"file": "[^"]*"' "$build/compile_commands.json" | sed "s|.*\"$PWD/||; s|\"$||" | sort -u >"$build/compiled.txt"
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -xFf "$build/compiled.txt")
[ ${#files[@]} -gt 0 ] || { echo "no source of src/ differs from ${since:-nothing}"; exit 0; }
ninja -C "$build" -t targets all | sed -n 's/^\(generated\/[^:]*\): CUSTOM_COMMAND$/\1/p' | xargs -r ninja -C "$build" >/dev/null || exit 1
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 clang-tidy -p "$build" --quiet
