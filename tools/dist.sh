#!/bin/bash
# Writes the source archive of the commit that is checked out: FOLDER/mtf-VERSION.tar.gz.
#
# The same commit gives the same bytes.  The version is that of CMakeLists.txt, the only place where it stands.
# Usage: tools/dist.sh [FOLDER]       default: build/dist
cd "$(dirname "$0")/.." || exit 2
folder=${1:-build/dist}
version=$(sed -n 's/^project(mtf VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || { echo "dist.sh: CMakeLists.txt names no version"; exit 1; }
git rev-parse --verify -q HEAD >/dev/null || { echo "dist.sh: this is not a clone: there is no commit to archive"; exit 1; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "dist.sh: note: changes that are not committed are left out" >&2
mkdir -p "$folder" || exit 1
set -o pipefail
git archive --format=tar --prefix="mtf-$version/" HEAD | gzip -n9 >"$folder/mtf-$version.tar.gz" || exit 1
echo "$folder/mtf-$version.tar.gz"
