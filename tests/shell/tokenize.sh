#!/bin/bash
# Tests mtf tokenize: text to tokens and back, what is counted, what is refused.
#
# Usage: MTF=path/to/mtf tests/shell/tokenize.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "tokenize.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

numbers() { od -An -v -t"u$1" "$2" | tr -s ' \n' ' '; }      # numbers SIZE FILE
has() { [ "$(numbers "$2" "$3")" = " $4 " ] && pass || lose "$1" "$4" "$(numbers "$2" "$3") $(cat err)"; }

# ---- bytes ---------------------------------------------------------------------------------------

printf 'ab\nc\n\n\nd\n' >text
run tokenize text --output text.u16
check "text with blank lines" 0 out "text.u16: 7 tokens in 2 texts, 5 bytes of text, 0.7143 bytes per token"
has "a byte is its number and 3, and each text has its end" 2 text.u16 "100 101 13 102 1 103 1"
run tokenize text
check "only counted" 0 out "7 tokens in 2 texts, 5 bytes of text, 0.7143 bytes per token"
run tokenize text --documents line --output lines.u16
has "each line a text" 2 lines.u16 "100 101 1 102 1 103 1"
run tokenize text --documents file --output file.u16
has "the file a text" 2 file.u16 "100 101 13 102 13 13 13 103 13 1"
"$MTF" tokenize <text --output - >out 2>err
cmp -s out text.u16 && pass || lose "a redirection, to standard output" "$(numbers 2 text.u16)" "$(numbers 2 out) $(cat err)"
status=0 check "figures go elsewhere then" 0 err "7 tokens"
cat text | "$MTF" tokenize - --output pipe.u16 >out 2>err
cmp -s pipe.u16 text.u16 && pass || lose "a pipe" "$(numbers 2 text.u16)" "$(cat err)"
gzip -k text
run tokenize text.gz --output packed.u16
cmp -s packed.u16 text.u16 && pass || lose "a gzip file" "$(numbers 2 text.u16)" "$(cat err)"
printf 'one\tzwei\nthree\tvier\n' >pairs.tsv
run tokenize pairs.tsv --column 1 --output second.u16
run tokenize second.u16 --decode --documents line
[ "$(cat out)" = "$(printf 'zwei\nvier')" ] && pass || lose "a column" "zwei, vier" "$(cat out err)"

# ---- and back ------------------------------------------------------------------------------------

run tokenize text.u16 --decode
printf 'ab\nc\n\nd\n' >blank
cmp -s out blank && pass || lose "back, a blank line between texts" "$(cat blank)" "$(cat out err)"
status=0 check "what was read" 0 err "7 tokens in 2 texts, 5 bytes of text"
run tokenize lines.u16 --decode --documents line --output again
cmp -s again <(grep . text) && pass || lose "back, line by line, to a file" "$(grep . text)" "$(cat again err)"
run tokenize file.u16 --decode --documents file
cmp -s out text && pass || lose "back, as the file was" "$(cat text)" "$(cat out err)"
cp "$root/data/text/moby-dick.txt" book
run tokenize book --documents file --output book.u16
run tokenize book.u16 --decode --documents file
cmp -s out book && pass || lose "a book, there and back" "the book" "$(cmp out book) $(cat err)"

# ---- other vocabularies --------------------------------------------------------------------------

seq 70000 | sed 's/^/w/' >words
echo 'w1 w69998 w3' >numbered
run tokenize numbered --vocabulary words:words --output words.u32
has "four bytes where the vocabulary is large" 4 words.u32 "3 70000 5 1"
run tokenize words.u32 --vocabulary words:words --decode
[ "$(cat out)" = "w1 w69998 w3" ] && pass || lose "words and back" "w1 w69998 w3" "$(cat out err)"
cp words.u32 plain
run tokenize plain --vocabulary words:words --decode
[ "$(cat out)" = "w1 w69998 w3" ] && pass || lose "as large as the vocabulary wants it" "w1 w69998 w3" "$(cat out err)"
run tokenize numbered --vocabulary words:words --output words.tokens
run tokenize words.tokens --vocabulary words:words --decode
[ "$(cat out)" = "w1 w69998 w3" ] && pass || lose "a name that tells nothing" "w1 w69998 w3" "$(cat out err)"
[ "$(head -c 15 words.tokens)" = "mtf tokens u32" ] && pass || lose "its head" "mtf tokens u32" "$(head -c 15 words.tokens)"
cmp -s <(tail -c +17 words.tokens) words.u32 && pass || lose "after the head" "the same tokens" "$(numbers 4 words.tokens)"
run tokenize text --vocabulary bytes:extra=100 --output extra.u16
cmp -s extra.u16 text.u16 && pass || lose "ids that nothing has" "$(numbers 2 text.u16)" "$(cat err)"

# ---- what training does with it ------------------------------------------------------------------

cat >small.gin <<'END'
include 'lm_base.gin'
num_layers = 1
d_model = 16
d_ff = 16
num_heads = 2
d_kv = 8
run.sequence_length = {'targets': 16}
run.batch_size = ('sequences_per_batch', 4)
END
head -c 3000 book >start
run tokenize start --documents file --output start.u16
train() { run train --gin_file small.gin --text "$1" --steps 3 --json --threads 1 --no-shuffle; sed 's/"seconds":[^,}]*//; s/"examples_per_second":[^,}]*//' out >"$2"; }
train start:documents=file:joined from_text
run tokenize start --documents file --output start.bin
losses() { sed -n 's/.*"loss":\([^,}]*\).*/\1/p' "$1"; }
for name in start.u16 start.bin; do
    train $name:joined from_tokens
    if [ -s from_text ] && cmp -s <(losses from_text) <(losses from_tokens); then pass
    else lose "the same training from $name" "$(cat from_text)" "$(cat from_tokens err)"; fi
done
cp start.u16 nameless
refuses "tokens without a name or a head" ':format=u16' train --gin_file small.gin --text nameless:joined --steps 1
cat >mean.mtf <<'END'
dim batch = 2
tokens: i32[batch, length=8] = input
w: f32[] = variable(init="ones")
loss = reduce_mean(w * cast(tokens, type=f32))
END
prints "tokens as windows" '"step":1' train mean.mtf --data tokens=start.bin:format=u16:length=8 --steps 1 --json
refuses "windows of another type" '"start.bin" has tokens of the format u16, not u32' \
    train mean.mtf --data tokens=start.bin:format=u32:length=8 --steps 1

# ---- refusals ------------------------------------------------------------------------------------

refuses "no such file" 'nowhere' tokenize nowhere
: >empty
refuses "an empty file" '"empty" has no text' tokenize empty
refuses "an empty file, to be written" 'there is no text to write to "empty.u16"' tokenize empty --output empty.u16
printf 'a\0b' >binary
refuses "a binary file" '"binary" is not text: its byte 1 is zero' tokenize binary
refuses "tokens already" '"text.u16" has tokens already; --decode converts them to text' tokenize text.u16
printf 'abc' >odd.u16
refuses "half a token" 'are not a multiple of 2' tokenize odd.u16 --decode
printf '\377\377' >far.u16
refuses "an id out of the vocabulary" '"far.u16": token 0 is 65535; the vocabulary has ids from 0 to 258' tokenize far.u16 --decode
refuses "an output that cannot be written" 'no/where' tokenize text --output no/where
refuses "the same of text" 'no/where' tokenize text.u16 --decode --output no/where
refuses "no vocabulary" 'nothing.model' tokenize text --vocabulary words:nothing.model
misused "no such format" '--format takes' tokenize text --format zip

echo "tokenize.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
