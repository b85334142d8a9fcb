#!/bin/bash
# Tests that the network of the README learns: one short epoch must reach 90 %.
#
# Usage: MTF=path/to/mtf tests/shell/mnist.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
example=$(dirname "${MTF:-build/mtf}")/examples/03_mnist
out=$("$example" --epochs 1 --hidden 64 2>&1)
status=$?

accuracy=$(awk '/^test accuracy [0-9.]+ %$/ { print $3 }' <<<"$out")
if [ $status -eq 0 ] && awk -v a="${accuracy:-0}" 'BEGIN { exit !(a > 90) }'; then
    echo "mnist: 1 passed, 0 failed"
else
    printf 'exit status %s, accuracy "%s":\n%s\n' $status "$accuracy" "$out"
    echo "mnist: 0 passed, 1 failed"
    exit 1
fi
