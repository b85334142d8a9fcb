#!/bin/bash
# Runs the blocks of README.md and docs/, and compares what they print with what stands there.
#
# A fenced block whose lines begin with "$ " is a session: commands, each with what it prints (standard
# output; the command must succeed).  Any other block is what a comment in the line before it says:
#
#   <!-- file: NAME -->       the block is a file NAME for the commands after it
#   <!-- commands -->         every line is a command that must succeed; what it prints is not compared
#   <!-- c: DECLARATIONS -->  C statements: they compile in a function with these parameters
#   <!-- not run: WHY -->     an example that is not run
#   <!-- varies: WORDS -->    before a session: of lines that begin with one of these words, separated by
#                             commas, only that word is compared; the rest depends on the machine
#   <!-- numbers vary -->     before a session: numbers are measured, or depend on the machine; only the text
#                             around them is compared
#   <!-- fails: STATUS -->    before a session: the command fails so, and its messages are compared as well;
#                             one of the two before may follow, as in fails: 1, numbers vary
#
# A block that says none of these is text, unless it holds C or a line that begins with mtf: then it
# must say what it is.  The way of a product (tiled, blas, ...) depends on the chip and is not compared.
# All blocks of one document run in one folder, with links to the files of this tree and the command in PATH.
# Then: files that documents name are there, and documents name what lists of the source have.
# Usage: MTF=path/to/mtf tests/shell/docs.sh [DOCUMENT...]        default: build/mtf, all documents; with
#        MTF_TEST=fast the first five chapters of the tutorial, concepts, errors, and what all documents name
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "docs.sh: no command at $MTF"; exit 2; }
root=$PWD
[ $# -gt 0 ] && documents=("$@") || documents=(README.md docs/*.md docs/tutorial/*.md docs/internals/*.md)
if [ $# -eq 0 ] && [ "$MTF_TEST" = fast ]; then documents=(docs/tutorial/[1-5]-*.md docs/concepts.md docs/troubleshooting.md); fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/shell/cases.bash
. tests/shell/ranks.bash
[ "${MPIRUN##*/}" = mpirun ] || without_ranks=${without_ranks:-"the documents say mpirun, and this build needs $MPIRUN"}
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM     # the documents say what is needed
ways=$(sed -n 's/^ *WAY([A-Z_]*, *"\([a-z]*\)".*/\1/p' src/cpu/contract_way.h | paste -sd '|')

# ---- one block -----------------------------------------------------------------------------------

folder() {                              # folder NAME: an empty one with links to this tree
    mkdir -p "$work/$1" && cd "$work/$1" || exit 2
    local entry
    for entry in "$root"/*; do case $entry in */build*) ;; *) ln -s "$entry" . ;; esac; done
    ln -s "$(dirname "$MTF")" build
    : >"$work/exports"
}

command_runs() {                        # command_runs COMMAND: leaves out, err and status
    case $1 in
        export\ *) echo "$1" >>"$work/exports" ;;
        *mpirun*) if [ -n "$without_ranks" ]; then status=skip; return; fi ;;
    esac
    (. "$work/exports"; PATH=$(dirname "$MTF"):$PATH exec bash -o pipefail -c "$1") >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status -eq 141 ] && status=0     # the command before `head` was cut off
}

compared() {                            # compared MARK: standard input as it is compared
    local rule=""
    case $1 in
        varies:*) rule="s/^( *(${1#varies: }))\\b.*/\\1/"; rule=${rule//, /|} ;;
        "numbers vary") rule='s/-?[0-9][0-9.]*(e[-+]?[0-9]+)?/#/g; s/(#) ?(ns|us|ms|s|min|[kMG]?B|%)\b/\1/g; s/ +/ /g' ;;
    esac
    sed -E -e "s/(contract \\[[^]]*\\]) ($ways) /\\1 /; s/ +\$//" -e "$rule"
}

session() {                             # session PLACE MARK: the block is in the file block
    local line command="" want=0 mark=$2
    [[ $mark == fails:* ]] && want=${mark#fails: }
    [[ $want == *,* ]] && mark=${want#*, } want=${want%%,*}
    try() {
        [ -n "$command" ] || return
        command_runs "$command"
        [ $status = skip ] && return
        [ "$want" -ne 0 ] && cat "$work/err" >>"$work/out"
        if [ $status -ne "$want" ]; then
            lose "$1: $command" "exit status $want" "$status: $(head -c 600 "$work/err")"
        elif ! diff <(compared "$mark" <"$work/expected") <(compared "$mark" <"$work/out") >"$work/differences"; then
            lose "$1: $command" "what stands there" "these differences: $(head -c 2500 "$work/differences")"
        else
            pass
        fi
    }
    while IFS= read -r line; do
        if [[ $line == '$ '* ]]; then
            try "$1"
            command=${line:2}
            : >"$work/expected"
        else
            printf '%s\n' "$line" >>"$work/expected"
        fi
    done <"$work/block"
    try "$1"
}

every_line() {                          # every_line PLACE: each is a command
    local line
    while IFS= read -r line; do
        [ -n "$line" ] || continue
        command_runs "$line"
        if [ $status = skip ] || [ $status -eq 0 ]; then pass
        else lose "$1: $line" "exit status 0" "$status: $(head -c 600 "$work/err")"; fi
    done <"$work/block"
}

statements() {                          # statements PLACE PARAMETERS: they compile
    { printf '#include <%s.h>\n' mtf mtf_config mtf_data mtf_nn mtf_text mtf_train mtf_bert stdio
      printf 'void block(%s);\nvoid block(%s)\n{\n' "$2" "$2"; cat "$work/block"; echo '}'; } >"$work/block.c"
    if ${CC:-cc} -std=c11 -Wall -Wno-unused -Werror -fsyntax-only "-I$root/include" "$work/block.c" 2>"$work/err"; then pass
    else lose "$1" "C that compiles" "$(head -c 900 "$work/err")"; fi
}

block() {                               # block PLACE LANGUAGE MARK
    case $3 in
        file:*) cp "$work/block" "${3#file: }"; pass ;;
        commands) every_line "$1" ;;
        c:*) statements "$1" "${3#c: }" ;;
        not\ run:*) ;;
        *)
            if grep -q '^\$ ' "$work/block"; then session "$1" "$3"
            elif [ -n "$3" ]; then lose "$1" "a mark that docs.sh knows" "$3"
            elif [ "$2" = c ] || grep -qE '^(build/)?mtf ' "$work/block"; then
                lose "$1" "a comment that says what this block is; tests/shell/docs.sh lists them" none
            fi ;;
    esac
}

# ---- all of them ---------------------------------------------------------------------------------

for document in "${documents[@]}"; do
    [ -f "$root/$document" ] || continue
    folder "${document//\//_}"
    inside=no mark="" number=0
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        if [ $inside = yes ] && [[ $line =~ ^\ *'```'$ ]]; then
            block "$document:$place" "$language" "$mark" </dev/null
            inside=no mark=""
        elif [ $inside = yes ]; then
            printf '%s\n' "$line" >>"$work/block"
        elif [[ $line =~ ^\ *'```'(.*)$ ]]; then
            inside=yes language=${BASH_REMATCH[1]} place=$number
            : >"$work/block"
        elif [[ $line =~ ^'<!-- '(.*)' -->'$ ]]; then
            mark=${BASH_REMATCH[1]}
        else
            mark=""
        fi
    done <"$root/$document"
    if [ $inside = yes ]; then lose "$document:$place" "the end of the block" "the end of the file"; fi
    cd "$root" || exit 2
done

# ---- files that documents name are there -----------------------------------------------------------

exists() {                              # exists DOCUMENT PATH: from the root, from src/, or from where the document is
    local place here=. found
    [[ $1 != */* ]] || here=${1%/*}
    for place in . src src/machine include "$here"; do
        # shellcheck disable=SC2206  # it may be a pattern
        found=($place/$2)
        [ -e "${found[0]}" ] && return 0
    done
    return 1
}
names_files() {                         # names_files DOCUMENT: links, and words in backticks that look like a file
    local path
    while read -r path; do
        if exists "$1" "$path"; then pass; else lose "$1" "the file $path" "none"; fi
    done < <({ grep -oE '\]\([^)#:]+\)' "$1" | tr -d ']()'
               grep -oE '`(\.\./)*[a-z_]+(/[a-z_*]+)+\.(c|h|md|sh|py)`' "$1" | tr -d '`'; } | grep -v /centre | sort -u)  # that is CONTRIBUTING.md's example
}
[ $# -gt 0 ] || documents=(README.md docs/*.md docs/tutorial/*.md docs/internals/*.md)
for document in "${documents[@]}"; do [ -f "$document" ] && names_files "$document"; done
for picture in docs/pictures/*.svg; do
    if grep -q 'prefers-color-scheme: dark' "$picture" && grep -q '<title' "$picture" && grep -rqF "${picture##*/}" docs/*.md; then pass
    else lose "$picture" "light and dark colours, a title, and a page that shows it" "not all of them"; fi
done
# Pages for users do without the source: what they say is all that there is to know.
for document in docs/*.md docs/tutorial/*.md; do
    found=$(grep -nE '\]\((\.\./)*(docs/)?internals/|`(\.\./)*src/|`tests/[a-z_/]*\.(c|h|py|sh)`' "$document")
    if [ -z "$found" ]; then pass; else lose "$document" "no pointer to sources or to docs/internals" "$found"; fi
done
if [ $# -eq 0 ]; then names_files ARCHITECTURE.md; names_files CONTRIBUTING.md; fi

# ---- lists: what the source has, documents name ----------------------------------------------------

named() {                               # named DOCUMENT PATTERN NAME: it stands there
    if grep -q -- "$2" "$1"; then pass; else lose "$1" "a line for $3" "none"; fi
}
if [ $# -eq 0 ]; then
    for name in $(sed -n 's/^OPTIMIZER("\([a-z_]*\)",.*/\1/p' src/nn/optimizers.h); do
        named docs/optimizers.md "^| .$name. |" "the optimizer $name"
    done
    for name in share/gin/*.gin share/gin/*/*.gin; do
        [[ $name == *_common.gin ]] || named docs/configuration.md "\`$(basename "$name" .gin)\`" "the configuration $name"
    done
    for name in $(sed -n 's/^    {"\([a-z_]*\)", .*/\1/p' src/nn/schedule_text.c); do
        named docs/optimizers.md "^| .$name(" "the schedule $name"
    done
fi

# A word is explained in one place.
if [ $# -eq 0 ]; then
    explained() { sed -n '/^| word | where/,$d; s/^| \([^|]*\) |.*/\1/p' "$1" | tr -d '`' | sed 's/, /\n/g' | grep -vxE 'word|-+'; }
    twice=$({ explained docs/glossary.md; explained docs/internals/glossary.md; } | sort | uniq -d)
    if [ -z "$twice" ] && [ "$(explained docs/glossary.md | wc -l)" -gt 40 ]; then pass
    else lose "the glossaries" "each word in one place" "${twice:-too few words}"; fi
fi

[ -z "$without_ranks" ] || echo "skipped what needs ranks: $without_ranks"
printf 'docs: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
