#!/bin/bash
# Tests tools/setup.sh on a machine made of stubs: what it says, and when it installs.
#
# A folder of stubs stands in for the machine: apt-get and sudo only note their arguments, id says who runs.
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

stub() { printf '#!/bin/bash\n%s\n' "${@:2}" >"bin/$1"; chmod +x "bin/$1"; }    # stub NAME LINE...

machine() {                             # machine USER [sudo]: a fresh Debian machine that lacks only cmake
    rm -rf bin calls && mkdir bin && : >calls
    local tool
    for tool in bash cat env mktemp rm tr; do ln -s "$(command -v $tool)" "bin/$tool"; done
    for tool in make gcc g++ objcopy ninja pkg-config mpicc mpirun localedef curl python3; do stub $tool 'exit 0'; done
    stub id "echo $1"
    stub dpkg-query 'echo -n "install ok installed"'
    stub apt-get "echo \"apt-get \$*\" >>$work/calls" "cat $work/out >$work/said"
    [ "$2" = sudo ] && stub sudo "echo sudo >>$work/calls" '"$@"'
}
setup() { PATH=$work/bin "$work/bin/bash" "$root/tools/setup.sh" >out 2>err; status=$?; }
installs() {                            # installs NAME: the packages were named before apt-get was called
    check "$1" 0 out 'lacks these Debian packages: cmake' 'MTF_NO_INSTALL=1 prevents this'
    status=0 check "$1: apt-get is called" 0 calls 'apt-get install -q -y --no-install-recommends cmake'
    status=0 check "$1: after the packages were named" 0 said 'lacks these Debian packages: cmake'
}
leaves() {                              # leaves NAME TEXT: nothing was called, and this was said
    check "$1" 1 err "$2"
    if [ -s calls ]; then lose "$1: nothing is called" "no calls" "$(cat calls)"; else pass; fi
}
unset MTF_NO_INSTALL

machine 0; setup
installs "as root"
machine 1000 sudo; setup
installs "with sudo"
status=0 check "sudo is called" 0 calls sudo
machine 1000; setup
leaves "without sudo" 'lacks these Debian packages: cmake; run this as root, or install sudo'
for user in 0 1000; do
    machine $user sudo
    MTF_NO_INSTALL=1 setup
    leaves "MTF_NO_INSTALL as user $user" 'MTF_NO_INSTALL is set, so nothing was installed: install them with apt-get install cmake'
done
machine 0; stub cmake 'exit 0'; setup
check "a machine that lacks nothing" 0 out
if [ -s out ] || [ -s calls ]; then lose "nothing is said or called" "" "$(cat out calls)"; else pass; fi

printf 'setup: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
