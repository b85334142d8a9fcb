#!/bin/bash
# Tests training on disks that are full, read-only or another user's, in mounts of its own.
#
# Usage: MTF=path/to/mtf tests/shell/disks.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "disks.sh: no command at $MTF"; exit 2; }
export MTF
if [ -z "$OWN_MOUNTS" ]; then           # -r: where only its own root may mount
    for whose in -m -rm; do
        unshare $whose true 2>/dev/null && OWN_MOUNTS=yes exec unshare $whose tests/shell/disks.sh
    done
    echo "disks are not tested with mounts: this system gives no mounts of its own"
fi
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
toy=(train toy --hidden 4000 --threads 1 --rate 1e-5)

whole() {                               # whole NAME FOLDER STEP: its newest checkpoint, which is sound
    local newest
    newest=$(find "$2" -maxdepth 1 -name 'step_*' | sort | tail -n 1)
    if [ "${newest##*/}" != "step_$3" ]; then lose "$1" "step_$3" "${newest:-none}"; return; fi
    run ckpt verify "$2"
    check "$1" 0 out "$newest: sound"
}

# ---- full ----------------------------------------------------------------------------------------

# A disk that has room for two checkpoints and a half.
run "${toy[@]}" --steps 1 --checkpoint-dir size
bytes=$(cat size/step_00000001/* | wc -c)
mkdir tiny
if [ -n "$OWN_MOUNTS" ] && mount -t tmpfs -o size=$((bytes * 5 / 2)) none tiny; then
    run "${toy[@]}" --steps 60 --checkpoint-dir tiny/run --save-every 10
    check "a full disk" 1 err "mtf: file: " '"tiny/run/.writing_step_00000030/' "No space left on device"
    whole "what was saved before" tiny/run 00000020
    [ "$(ls -A tiny/run | xargs)" = "step_00000010 step_00000020" ] && pass || lose "nothing else is left" "two checkpoints" "$(ls -A tiny/run)"
    for words in tiny/copy tiny/copy.safetensors 'tiny/w.npy --only ^layer_1$ --type all=f64'; do
        run ckpt convert tiny/run $words
        check "a conversion to $words" 1 err "No space left on device"
        [ "$(ls -A tiny)" = run ] && pass || lose "nothing of $words is left" run "$(ls -A tiny)"
    done
    run "${toy[@]}" --steps 40 --checkpoint-dir tiny/run --resume --keep 1
    check "it is still full" 1 err "No space left on device"
    rm -rf tiny/run/step_00000010
    run "${toy[@]}" --steps 40 --checkpoint-dir tiny/run --resume
    check "when there is room again" 0 out "resuming after step 20" "step 40 of 40"
    whole "then it is saved" tiny/run 00000040
    if [ -z "$without_ranks" ]; then
        TMPDIR=$work "${launcher[@]}" -n 2 "$MTF" "${toy[@]}" --steps 60 --save-every 10 --checkpoint-dir tiny/run --resume --mesh x:2 --layout batch:x >out 2>err </dev/null
        [ "$(grep -c 'No space left on device' err),$(ls -A tiny/run | xargs)" = "1,step_00000020 step_00000040" ] && pass ||
            lose "a full disk, on ranks" "one sentence, and nothing is left" "$(head -c 600 err) $(ls -A tiny/run)"
    fi
    umount tiny
fi

# ---- read-only -----------------------------------------------------------------------------------

untouched() {                           # untouched NAME WHY COMMAND...: refused before the first step
    "${@:3}" >out 2>err </dev/null
    status=$?
    check "$1" 1 err "mtf: file: \"run\" cannot be written to: $2"
    if grep -q '^step' out || [ "$(grep -c . err)" -ne 1 ]; then lose "$1, in a word" "one sentence" "$(cat out err)"; fi
    whole "$1: what was saved before" run 00000005
}

run "${toy[@]}" --steps 5 --checkpoint-dir run
if [ -n "$OWN_MOUNTS" ] && mount --bind run run && mount -o remount,ro,bind run; then
    untouched "a read-only disk" "Read-only file system" "$MTF" "${toy[@]}" --steps 20 --checkpoint-dir run --resume
    run "${toy[@]}" --steps 5 --checkpoint-dir run --resume
    check "nothing is to be written" 0 out "resuming after step 5"
    if [ -z "$without_ranks" ]; then
        TMPDIR=$work "${launcher[@]}" -n 2 "$MTF" "${toy[@]}" --steps 20 --checkpoint-dir run --resume --mesh x:2 --layout batch:x >out 2>err </dev/null
        [ "$(grep -c 'cannot be written to: Read-only file system' err)" = 1 ] && pass ||
            lose "a read-only disk, on ranks" "one sentence" "$(head -c 600 err)"
    fi
    umount run
fi

# ---- another user's ------------------------------------------------------------------------------

other=()                                # root is refused nothing, so somebody else asks
[ "$(id -u)" = 0 ] && other=(setpriv --reuid=65534 --clear-groups)
chmod 755 .
chmod 555 run
if "${other[@]}" test -x "$MTF" 2>/dev/null; then
    untouched "a folder without permission" "Permission denied" "${other[@]}" "$MTF" "${toy[@]}" --steps 20 --checkpoint-dir run --resume
else
    echo "permissions are not tested: nobody else can start $MTF"
fi
chmod 755 run

# ---- no folder at all ----------------------------------------------------------------------------

refuses "a folder that cannot be made" '"/proc/run" cannot be made' "${toy[@]}" --steps 1 --checkpoint-dir /proc/run
: >plain
refuses "a file in place of a folder" 'file: "plain' "${toy[@]}" --steps 1 --checkpoint-dir plain/run

printf 'disks: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
