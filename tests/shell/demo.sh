#!/bin/bash
# Tests what `make demo` builds and in which order: digits are read before the rest is built.
#
# Usage: MTF=path/to/mtf tests/shell/demo.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
root=$PWD build=$(dirname "$MTF")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

# ---- what is built first -------------------------------------------------------------------------

target=$(sed -n '/^demo:/,/^$/s/.*--target //p' "$root/Makefile")
ninja -C "$build" -t inputs "$target" >inputs 2>err
status=$?
check "make demo builds a target, $target" 0 inputs src/cpu/ src/ops/
others=$(grep -oE 'src/(cli|serve|page|verify|checkpoint|model|data/text)/[^ ]*\.c(pp)?$' inputs | head -n 3)
if [ $status = 0 ] && [ -z "$others" ]; then pass
else lose "digits need neither models nor commands" "nothing of upper folders" "$others $(cat err)"; fi

# ---- the order -----------------------------------------------------------------------------------

mkdir -p bin made/examples
note() { printf '#!/bin/bash\necho "%s $*" >>%s\n' "$1" "$work/calls" >"$2"; chmod +x "$2"; }    # note NAME FILE
note digits made/examples/03_mnist
note cmake bin/cmake
note mtf made/mtf
PATH=$work/bin:$PATH "$root/tools/demo.sh" "$work/made" >out 2>err
order=$(head -n 3 calls | cut -d ' ' -f 1 | tr '\n' ' ')
if [ "$order" = "digits cmake mtf " ]; then pass; else lose "the order" "digits cmake mtf" "$order: $(cat calls err)"; fi
status=0 check "the rest is the command" 0 calls "cmake --build $work/made --target mtf"

printf 'demo: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
