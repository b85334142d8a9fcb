#!/bin/bash
# Builds the Debian packages mtf, libmtf0 and libmtf-dev of the commit that is checked out.
#
# They are built in a folder of their own from the source archive and packaging/debian, and checked by lintian,
# whose errors and warnings are failures.  Where the build finds the CUDA toolkit, they support GPUs.
# Usage: tools/deb.sh [FOLDER]        default: build/packages
cd "$(dirname "$0")/.." || exit 2
folder=$(mkdir -p "${1:-build/packages}" && cd "${1:-build/packages}" && pwd) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$(tools/dist.sh "$work") || exit 1
tar -xzf "$archive" -C "$work" || exit 1
source=${archive%.tar.gz} version=${archive##*-} version=${version%.tar.gz}
cp -r packaging/debian "$source/debian"
cat >"$source/debian/changelog" <<END
mtf ($version-1) unstable; urgency=medium

  * CHANGELOG.md says what is new.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(git log -1 --format=%cD)
END
# What the library exports, as Debian keeps it.
{ echo "libmtf.so.0 libmtf0 #MINVER#"; sed 's/.*/ &@Base 0.2.0/' packaging/symbols; } >"$source/debian/libmtf0.symbols"
(cd "$source" && DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -us -uc -b) >"$work/log" 2>&1 ||
    { tail -n 40 "$work/log"; echo "deb.sh: the packages could not be built"; exit 1; }
rm -f "$folder"/*.deb
mv "$work"/*.deb "$folder" || exit 1
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$folder"/*.deb || exit 1
ls "$folder"/*.deb
