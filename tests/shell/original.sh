#!/bin/bash
# Tests what docs/from-mesh-tensorflow.md promises: its commands run, and every counterpart exists.
#
# Usage: MTF=path/to/mtf tests/shell/original.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "original.sh: no command at $MTF"; exit 2; }
root=$PWD page=$PWD/docs/from-mesh-tensorflow.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/shell/cases.bash

section() { sed -n "/^## $1\$/,/^## /p" "$page"; }
words() {                               # words TEXT: fills found with what stands in backticks
    local i pieces
    IFS='`' read -ra pieces <<<"$1"
    found=()
    for ((i = 1; i < ${#pieces[@]}; i += 2)); do found+=("${pieces[i]}"); done
}

# ---- every name ----------------------------------------------------------------------------------

declare -A c gin help
while read -r word; do c[$word]=1; done < <(grep -ohE '\bmtf_\w+' include/*.h | sort -u)
while read -r word; do gin[$word]=1; done < <(
    find src/model/config -name '*.c' ! -name known_others.c -exec grep -ohE '"\w+"' {} + | tr -d '"' | sort -u)
in_help() {                             # in_help COMMAND [WORD]: an option, or the first word after the command
    # shellcheck disable=SC2086  # it may have a model's name
    [ -n "${help[$1]}" ] || help[$1]=$("$MTF" $1 --help 2>&1) || return 1
    [ -z "$2" ] || [[ ${help[$1]} =~ (^|[^a-z-])"$2"([^a-z-]|$) ]]
}
is_there() {                            # is_there NAME COUNTERPART
    local parts
    case $2 in
        'mtf_*') [ -n "${c[mtf_$1]}" ] ;;
        '@*')    [ -n "${gin[$1]}" ] ;;
        @*.*)    parts=${2#@} && [ -n "${gin[${parts%%.*}]}" ] && [ -n "${gin[${parts#*.}]}" ] ;;
        @*)      [ -n "${gin[${2#@}]}" ] ;;
        mtf_*)   [ -n "${c[$2]}" ] ;;
        mtf\ *)  read -ra parts <<<"$2" && in_help "${parts[1]}" "${parts[2]}" ;;
        *)       false ;;
    esac
}
has_counterparts() {                    # has_counterparts NAME CELL
    local counterpart found
    words "$2"
    [ ${#found[@]} -gt 0 ] || lose "$1" "a counterpart" "$2"
    for counterpart in "${found[@]}"; do
        if is_there "$1" "$counterpart"; then pass; else lose "$1" "$counterpart" "it does not exist"; fi
    done
}
names=0
while IFS='|' read -r _ theirs ours why _; do
    words "$theirs"
    for name in "${found[@]}"; do
        names=$((names + 1)) reason=($why)
        if [[ $ours == *"not yet"* ]]; then
            if [ -n "${gin[$name]}${c[mtf_${name,,}]}" ]; then lose "$name" "its counterpart, which is there" "not yet"; else pass; fi
        elif [[ $ours == *—* ]]; then
            if [ ${#reason[@]} -ge 3 ]; then pass; else lose "$name" "why it has no counterpart" "$why"; fi
        else
            has_counterparts "$name" "$ours"
        fi
    done
done < <(section "Every name" | grep '^| `')
if [ $names -gt 500 ]; then pass; else lose "the table" "more than 500 names" $names; fi

# ---- the commands --------------------------------------------------------------------------------

cd "$work" || exit 2
block() {                               # block MARK: all blocks with it
    awk -v mark="<!-- $1 -->" '$0 == mark { on = 1; next } /^```/ { if (on && !begun) begun = 1; else on = begun = 0; next } on && begun' "$page"
}
for file in toy.mtf digits.mtf layers.gin small.gin; do block "file: $file" >$file; done
mkdir -p data/mnist                     # a step's worth of images
bytes() { printf '%b' "$1" && head -c "$2" /dev/zero; }
for part in train t10k; do
    bytes '\0\0\x8\x3\0\0\0\x14\0\0\0\x1c\0\0\0\x1c' $((20 * 28 * 28)) | gzip >data/mnist/$part-images-idx3-ubyte.gz
    bytes '\0\0\x8\x1\0\0\0\x14' 20 | gzip >data/mnist/$part-labels-idx1-ubyte.gz
done
mkdir volumes
cat >volumes.mtf <<'END'
volumes: f32[example=2, height=8, width=8, depth=4] = random_uniform
labels: i32[example=2, height=8, width=8, depth=4] = constant(value=1)
END
for part in train test; do
    run run volumes.mtf --fetch volumes=volumes/$part-volumes.npy --fetch labels=volumes/$part-labels.npy
    check "volumes" 0 out
done
printf 'a b\tA B\nc d\tC D\ne f\tE F\ng h\tG H\n' >pairs.tsv
printf 'a b\nc d\n' >prompts
types() {                               # types COMMAND
    OMP_NUM_THREADS=1 timeout 100 bash -c "${1/#mtf/\"$MTF\"}" >out 2>err </dev/null
    status=$?
    if [[ $1 == *--nan-step* ]]; then check "$1" 1 err 'made the first NaN'
    elif [ $status -eq 0 ]; then pass
    else lose "$1" "status 0" "$status: $(head -c 600 err)"; fi
}
while IFS= read -r line; do types "$line"; done < <(block commands)
lines=0
while IFS='|' read -r _ theirs ours _; do
    words "$ours"
    if [[ ${found[0]} == mtf\ * ]]; then
        lines=$((lines + 1))
        types "${found[0]}"
    else
        for option in "${found[@]}"; do
            if in_help 'train toy' "$option" || in_help 'train mnist-conv' "$option"; then pass; else lose "$theirs" "$option" "no such option"; fi
        done
    fi
done < <(section Commands | grep '^| [^-]')
if [ $lines -ge 18 ]; then pass; else lose "the commands" "18 and more" $lines; fi
for file in digits/step_00000001 toy/step_00000010 dev_6_predictions answers-6 scores-6.scores exported/model.ckpt-6.index; do
    if [ -e $file ]; then pass; else lose "what the commands write" $file "$(ls)"; fi
done
run plan --gin_file layers.gin --vocabulary bytes --mesh batch:1; check "the layers' configuration" 0 out flops

# ---- the programs in C ---------------------------------------------------------------------------

program() {                             # the three of them, called one after the other
    printf '#include <%s.h>\n' mtf mtf_data mtf_nn mtf_train mtf_transformer
    printf 'static void toy(mtf_session *s)\n{\n%s\n}\n' "$(block 'c: mtf_session *s')"
    printf 'static void digits(mtf_tensor *images, mtf_tensor *labels)\n{\n%s\n(void)loss;\n}\n' \
        "$(block 'c: mtf_tensor *images, mtf_tensor *labels')"
    printf 'static void layers(mtf_session *s, mtf_tensor *targets)\n{\n%s\n(void)r;\n}\n' \
        "$(block 'c: mtf_session *s, mtf_tensor *targets')"
    cat <<'END'
int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", 20}, rows = {"rows", 28}, cols = {"cols", 28}, one = {"one", 1};
    toy(s);
    digits(mtf_input(g, "images", MTF_F32, mtf_shape(batch, rows, cols, one)),
           mtf_input(g, "labels", MTF_I32, mtf_shape(batch)));
    layers(s, mtf_input(g, "targets", MTF_I32, mtf_shape(batch, (mtf_dim){"length", 128})));
    return mtf_close(s);
}
END
}
archive=$(dirname "$MTF")/libmtf.a
if [ -f "$archive" ]; then              # make test builds none; make test-all does
    program >program.c
    libraries=$(sed -n 's/^Libs.private: //p' "${archive%/*}/mtf.pc")
    # shellcheck disable=SC2086  # several words
    if ${CC:-cc} -std=c11 -O1 "-I$root/include" program.c "$archive" $libraries -ldl -o program 2>err &&
        ./program --mesh all:2 --layout "hidden_odd:all?,rows:all?,heads:all?" >out 2>err </dev/null; then pass
    else lose "the programs in C" "status 0" "$(head -c 900 err)"; fi
fi

printf 'original: %d passed, %d failed\n' $passed $failed
exit $((failed > 0))
