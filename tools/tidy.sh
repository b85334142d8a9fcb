#!/bin/bash
# Runs clang-tidy over src/, as .clang-tidy says.
#
# Usage: tools/tidy.sh BUILD-FOLDER [COMMIT | newest N]    with a commit: only over what differs from it;
#                                                          newest: over the N files that were changed last
cd "$(dirname "$0")/.." || exit 2
build=${1:?the folder of a build with clang} since=$2 most=${3:-30}
if [ "$since" = newest ]; then
    # In a shallow clone all files are those of its first commit.
    [ "$(git rev-parse --is-shallow-repository)" = false ] || { echo "this clone has no history that says what changed"; exit 0; }
    mapfile -t files < <(git log --format= --name-only --diff-filter=d -- 'src/*.c' | awk '!seen[$0]++')
elif [ -n "$since" ]; then
    mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- 'src/*.c')
else
    mapfile -t files < <(find src -name '*.c' | sort)
fi
# What the library is made of besides is written by the build; files for other machines are not compiled here.
grep -oE '"file": "[^"]*"' "$build/compile_commands.json" | sed "s|.*\"$PWD/||; s|\"$||" | sort -u >"$build/compiled.txt"
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -xFf "$build/compiled.txt")
[ "$since" != newest ] || files=("${files[@]:0:most}")
[ ${#files[@]} -gt 0 ] || { echo "no source of src/ differs from ${since:-nothing}"; exit 0; }
ninja -C "$build" -t targets all | sed -n 's/^\(generated\/[^:]*\): CUSTOM_COMMAND$/\1/p' | xargs -r ninja -C "$build" >/dev/null || exit 1
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 clang-tidy -p "$build" --quiet
