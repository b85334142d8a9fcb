#!/bin/bash
# Tests the Debian packages in a bare system: installing, running, compiling against the library, removing.
#
# debootstrap makes the system, with the sources of packages that this machine has: that takes minutes, a network, and
# root.  What is missing is said, and the rest left out.
# Usage: tests/shell/packages.sh [FOLDER]     the packages; default: build/packages, where make deb leaves them
#        MTF_PACKAGES=needed                  fails where it cannot be tested, instead of saying so
#        MTF_BARE=FOLDER                      a system that debootstrap has made before: it is copied
cd "$(dirname "$0")/../.." || exit 2
packages=$(realpath -m "${1:-build/packages}")
source=$PWD
. tests/shell/cases.bash

left_out() {                            # left_out WHY
    echo "note: packages were not installed in a bare system: $1"
    [ "$MTF_PACKAGES" = needed ] && { echo "packages.sh: 0 passed, 1 failed"; exit 1; }
    echo "packages.sh: 0 passed, 0 failed"
    exit 0
}
ls "$packages"/mtf_*.deb >/dev/null 2>&1 || left_out "there are none in $packages (make deb builds them)"
[ "$(id -u)" -eq 0 ] || left_out "that needs root"
command -v debootstrap >/dev/null || left_out "there is no debootstrap"
unshare --mount --pid --fork true 2>/dev/null || left_out "this machine forbids namespaces"

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf --one-file-system "$work"' EXIT
bare=$work/bare

# ---- a bare system -------------------------------------------------------------------------------

if [ -n "$MTF_BARE" ]; then
    cp -a "$MTF_BARE" "$bare" || exit 2
else
    . /etc/os-release
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' | awk -v r="$VERSION_CODENAME" '$1 == r { print $2; exit }')
    [ -n "$mirror" ] || left_out "apt-get names no source of packages for $VERSION_CODENAME"
    debootstrap --variant=minbase "$VERSION_CODENAME" "$bare" "$mirror" >"$work/log" 2>&1 ||
        left_out "debootstrap: $(tail -n 1 "$work/log")"
fi
cp /etc/resolv.conf "$bare/etc/" 2>/dev/null
rm -rf "$bare"/etc/apt/sources.list*
for part in sources.list sources.list.d apt.conf.d trusted.gpg.d; do
    [ -e "/etc/apt/$part" ] && cp -r "/etc/apt/$part" "$bare/etc/apt/"
done
mkdir "$bare/packages" "$bare/try"
cp "$packages"/*.deb "$bare/packages"
cp examples/04_layout.c examples/04_layout.expected "$bare/try"

# inside COMMAND: runs there, with the output in out and err.
cd "$work" || exit 2
inside() {
    unshare --mount --pid --fork --mount-proc="$bare/proc" chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        DEBIAN_FRONTEND=noninteractive bash -c "cd /try && $1" >out 2>err </dev/null
    status=$?
}
# Everything that is there, but what apt-get and dpkg keep for themselves.
files() { (cd "$bare" && find . -xdev \( -path ./proc -o -path ./packages -o -path ./try -o -path ./var/cache -o -path ./var/lib/apt \
    -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./tmp -o -path ./dev \) -prune -o -print) | sort; }

# ---- installing ----------------------------------------------------------------------------------

get="apt-get -q -y --no-install-recommends"
inside "apt-get -q update" || true
[ $status -eq 0 ] || left_out "apt-get update: $(tail -n 1 err)"
# What the packages depend on comes first, so that removing them can be seen to leave nothing behind.
inside "$get install gcc libc6-dev pkg-config \$(for f in /packages/*.deb; do dpkg-deb -f \$f Depends; done |
    tr ',' '\n' | sed 's/(.*//; s/|.*//; s/ //g' | grep -v '^mtf\|^libmtf' | sort -u)"
check "what they depend on" 0 out
files >before
inside "$get install /packages/*.deb"
check "they are installed" 0 out "Setting up mtf" "Setting up libmtf0" "Setting up libmtf-dev"
files >installed
inside "dpkg --verify mtf libmtf0 libmtf-dev && dpkg --audit && apt-get check"
check "they are whole" 0 out
if [ "$(comm -13 before installed | grep -c .)" -gt 50 ]; then pass
else lose "they have files" "more than 50" "$(comm -13 before installed)"; fi

# ---- using them ----------------------------------------------------------------------------------

version=$(basename "$packages"/mtf_*.deb)
version=${version#mtf_} version=${version%%-*}
inside "mtf --version"
check "the command runs" 0 out "mtf $version"
inside "mtf train toy --steps 3 --mesh x:2 --layout batch:x --report run.html && grep -c '<svg' run.html"
check "it trains" 0 out "step 3 of 3"
inside "mtf plan --gin_file tiny --mesh x:2 --layout batch:x"
check "it finds its configurations" 0 out "x:2; 2 processors" "batch:x"
inside "ldd \$(command -v mtf) /usr/lib/*/libmtf.so.0"
check "every library is there" 0 out "libc.so.6"
if grep -q "not found" out; then lose "every library is there" "all found" "$(grep "not found" out)"; else pass; fi
for how in "" "--static"; do
    inside "gcc -o layout 04_layout.c \$(pkg-config --cflags --libs $how mtf) -lm && ./layout >printed && cmp printed 04_layout.expected"
    check "a program of the library, by pkg-config $how" 0 out
done

# ---- removing ------------------------------------------------------------------------------------

inside "$get purge mtf libmtf0 libmtf-dev"
check "they are removed" 0 out "Removing mtf" "Removing libmtf0"
files >after
left=$(comm -13 before after)
if [ -z "$left" ]; then pass; else lose "nothing is left behind" "nothing" "$left"; fi
lost=$(comm -23 before after)
if [ -z "$lost" ]; then pass; else lose "nothing else is gone" "nothing" "$lost"; fi
inside "command -v mtf"
check "the command is gone" 1 out

echo "packages.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
