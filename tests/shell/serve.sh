#!/bin/bash
# Tests mtf serve with curl and a Python client, and mtf decode and mtf score.
#
# Usage: MTF=path/to/mtf tests/shell/serve.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "serve.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
server=""
trap '[ -n "$server" ] && kill -9 "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
by=()
cat >small.gin <<'END'
include 'lm_base.gin'
num_layers = 1
d_model = 16
d_ff = 32
num_heads = 2
d_kv = 8
max_length = 256
run.sequence_length = {'targets': 256}
get_variable_dtype.activation_dtype = 'float32'
END
small=(--gin_file small.gin --threads 1)

# ---- mtf decode ----------------------------------------------------------------------------------

decode() { "$MTF" decode "${small[@]}" "$@" >out 2>err; status=$?; }

printf 'once\nupon a\n\n  xyz\t\nlast' >prompts
decode --max-tokens 9 --temperature 1 <prompts
check "a line for each line" 0 err "the weights are random"
cp out all
[ "$(wc -l <out)" = 5 ] && pass || lose "a line for each line" 5 "$(cat out)"
for line in 1 2 3 4 5; do
    decode --max-tokens 9 --temperature 1 --batch 3 < <(sed "${line}!s/.*/other/" prompts)
    cmp -s <(sed -n ${line}p out) <(sed -n ${line}p all) && pass || lose "line $line among others" "$(sed -n ${line}p all)" "$(cat out err)"
done
decode --max-tokens 9 --temperature 1 < <(printf 'once\nonce\n')
[ "$(sort -u out | wc -l)" = 2 ] && pass || lose "equal lines" "two texts" "$(cat out err)"
decode --max-tokens 9 --temperature 1 --batch 2 --mesh a:2 --layout heads:a,vocab:a <prompts
cmp -s out all && pass || lose "the same text on a mesh" "$(cat all)" "$(cat out err)"
decode --max-tokens 9 --temperature 1 --inputs prompts --output answers
cmp -s answers-0 all && pass || lose "from a file to a file" "$(cat all)" "$(cat out err answers-0)"
decode --max-tokens 9 --results 2 --beams 3 <prompts
[ "$(wc -l <out)" = 10 ] && pass || lose "two results a line" 10 "$(cat out err)"
printf 'red\ngreen\nblue\n' >colours     # so few words that the end is among the best first tokens
decode --vocabulary words:colours --max-tokens 1 --results 4 --beams 4 < <(echo red)
[ "$(wc -l <out)" = 4 ] && grep -qE 'red|green|blue' out && pass || lose "unfinished results after those that ended" "words" "$(cat out err)"
decode --vocabulary words:colours --max-tokens 1 --results 8 --beams 8 < <(printf 'red\nblue\n')
[ "$(wc -l <out)" = 12 ] && pass || lose "results that exist" "6 of each, as there are so many ids" "$(cat out err)"
decode --max-tokens 9 --temperature 1 --seed 1 <prompts
if [ $status = 0 ] && ! cmp -s out all; then pass; else lose "another seed" "another text" "$(cat out err)"; fi
decode </dev/null
[ $status = 0 ] && [ ! -s out ] && pass || lose "no prompts" "no answers" "$(cat out err)"

# Weights of a model in bf16 are rounded when they are loaded, whatever the checkpoint has.
sed 's/float32/bfloat16/' small.gin >short.gin
head -c 3000 "$root/data/text/moby-dick.txt" >book.txt
"$MTF" train --gin_file short.gin --text book.txt:documents=file:joined --batch 1 --steps 2 --threads 1 \
    --checkpoint-dir wide >out 2>err &&
    "$MTF" ckpt convert wide narrow/step_00000002 --type all=bf16 >>out 2>>err || lose "a checkpoint in bf16" "" "$(cat out err)"
for folder in wide narrow; do
    "$MTF" score --gin_file short.gin --threads 1 --checkpoint-dir $folder --targets prompts --tokens >$folder.scores 2>err ||
        lose "weights of $folder" "scores" "$(cat err)"
done
if [ -s wide.scores ] && cmp -s wide.scores narrow.scores; then pass
else lose "rounded weights" "$(cat wide.scores)" "$(cat narrow.scores err)"; fi

# An answer comes before the next prompt is there.
coproc talk { "$MTF" decode "${small[@]}" --max-tokens 9 --temperature 1 2>/dev/null; }
talk_pid=$!
for line in 1 2; do
    sed -n ${line}p prompts >&"${talk[1]}"
    IFS= read -r -t 60 -u "${talk[0]}" answer
    [ "$answer" = "$(sed -n ${line}p all)" ] && pass || lose "line $line, answered at once" "$(sed -n ${line}p all)" "$answer"
done
eval "exec ${talk[1]}>&-"
wait $talk_pid

# At a terminal it asks, says the answer as it comes, and goes on after a prompt that it cannot take.
if ! python3 -c 'import os, pty; os.close(pty.openpty()[0])' 2>/dev/null; then
    echo "no dialogue: python3 gives no pseudo-terminal"
else
cat >terminal.py <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text, asked, deadline = b"", 0, time.monotonic() + 60
prompts = [b"once\n", b"0" * 300 + b"\n", b"xyz\n", b"\x04"]
while time.monotonic() < deadline:
    if not select.select([fd], [], [], 1)[0]: continue
    try: got = os.read(fd, 10000)
    except OSError: break
    if not got: break
    text += got
    if asked < len(prompts) and text.endswith(b"> "):
        os.write(fd, prompts[asked])
        asked += 1
        text += b"|"
sys.stdout.buffer.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
timeout 90 python3 terminal.py "$MTF" decode "${small[@]}" --max-tokens 60 --temperature 1 >out 2>err
status=$?
check "a dialogue" 0 out "the prompt has 300 tokens; this model takes 255"
[ "$(tr -d '\r\n\t -~\200-\377' <out | wc -c)" = 0 ] && pass || lose "no control characters" none "$(cat -v out)"
[ "$(grep -c '^> |' out)" = 4 ] && pass || lose "four prompts" 4 "$(cat -v out)"
fi

{ echo ok; printf '%0300d\n' 0; echo more; } >long
decode --max-tokens 3 <long
check "a prompt that is too long" 1 err "standard input: line 2: the prompt has 300 tokens; this model takes 255"
[ "$(wc -l <out)" = 1 ] && pass || lose "what precedes it is answered" "one line" "$(cat out)"
printf 'a\0b\n' >zero
decode <zero
check "a zero byte" 1 err "standard input: line 1 has a zero byte; this is not text"
refuses "no such file" '"nowhere": No such file or directory' decode "${small[@]}" --inputs nowhere
refuses "an output that cannot be written" 'no/answers-0' decode "${small[@]}" --inputs prompts --output no/answers
decode --max-tokens 12 <prompts
cp out greedy
decode --max-tokens 12 --temperature 1 --top-p 0 <prompts
cmp -s out greedy && pass || lose "no probability leaves the most probable token" "$(cat greedy)" "$(cat out err)"
misused "an empty text to stop at" "--stop takes a text that is not empty" decode --stop ''
misused "beams and temperature" "--beams finds the most probable answers" decode --beams 2 --temperature 1
misused "more results than beams" "--results 3: 2 beams find that many at most" decode --beams 2 --results 3
misused "a wrong temperature" '--temperature takes a number from 0 to' decode --temperature=-1
misused "a wrong probability" '--top-p takes a number from 0 to 1, not "2"' decode --top-p 2

# ---- mtf score -----------------------------------------------------------------------------------

score() { "$MTF" score "${small[@]}" "$@" >out 2>err; status=$?; }
printf 'one\ntwo words\n\nthree\n' >targets
printf 'a\nb\nc\n\n' >inputs
score --targets targets --tokens
if [ $status = 0 ] && [ "$(wc -l <out)" = 4 ] &&
    awk '{ sum = 0; for (i = 2; i <= NF; i++) sum += $i; if (sum - $1 > 0.01 || $1 - sum > 0.01 || $1 >= 0) exit 1 }' out &&
    [ "$(awk '{ printf "%d ", NF - 1 }' out)" = "4 10 1 6 " ]; then pass
else lose "scores are sums over tokens and the end" "4 lines" "$(cat out err)"; fi
cut -d' ' -f1 out >plain
score --targets - <targets
cmp -s out plain && pass || lose "from standard input" "$(cat plain)" "$(cat out err)"
score --targets targets --mesh a:2 --layout batch:a
paste plain out | awk '{ d = $1 - $2; if (d > 0.01 || d < -0.01) exit 1 } END { exit NR != 4 }' && pass ||
    lose "on a mesh" "$(cat plain)" "$(cat out err)"
score --targets targets --inputs inputs --output scored
if [ $status = 0 ] && [ ! -s out ] && cmp -s scored-0.targets targets && cmp -s scored-0.inputs inputs &&
    [ "$(tr '\n' ' ' <scored-0.lengths)" = "4 10 1 6 " ] && [ "$(wc -l <scored-0.scores)" = 4 ] &&
    ! cmp -s scored-0.scores plain; then pass
else lose "files of scores" "four files" "$(ls; cat err scored*)"; fi
refuses "files of different lengths" '"prompts" has 5 lines and "targets" has 4; each target needs its input' \
    score "${small[@]}" --targets targets --inputs prompts
misused "no targets" "mtf score needs --targets FILE" score
printf 'a\n%0300d\n' 0 >long
score --targets long
check "a text that is too long" 1 err "line 2: the text to score has 301 tokens, its prompt included; this model takes 256"

# ---- ranks ---------------------------------------------------------------------------------------

if [ -z "$without_ranks" ]; then
    "${launcher[@]}" -n 2 "$MTF" decode "${small[@]}" --max-tokens 9 --temperature 1 --mesh a:2 --layout heads:a <prompts >out 2>err
    cmp -s out all && pass || lose "decoding on two ranks" "$(cat all)" "$(cat out err)"
    "${launcher[@]}" -n 2 "$MTF" decode "${small[@]}" --max-tokens 3 --mesh a:2 --layout heads:a <long >out 2>err
    status=$?
    check "an error of a line on two ranks" 1 err "line 2: the prompt has 300 tokens; this model takes 255"
    [ "$(wc -l <out)" = 1 ] && pass || lose "what precedes it is answered" "one line" "$(cat out)"
    cut -d' ' -f1 plain >want
    "${launcher[@]}" -n 2 "$MTF" score "${small[@]}" --targets - --mesh a:2 --layout heads:a <targets >out 2>err
    paste want out | awk '{ d = $1 - $2; if (d > 0.01 || d < -0.01) exit 1 } END { exit NR != 4 }' && pass ||
        lose "scoring on two ranks" "$(cat want)" "$(cat out err)"
else
    echo "note: $without_ranks"
fi

# ---- mtf serve -----------------------------------------------------------------------------------

finish() { echo "serve: $passed passed, $failed failed"; [ $failed -eq 0 ]; exit; }
if "$MTF" --version | grep -q 'microhttpd: none'; then
    refuses "a build without HTTP" "this build of mtf has no HTTP: install libmicrohttpd-dev" serve "${small[@]}" --port 0
    echo "note: this build has no libmicrohttpd"
    finish
fi

for tool in curl python3; do
    command -v $tool >/dev/null || { echo "note: there is no $tool to test mtf serve with"; finish; }
done

start() {                               # start OPTION...: sets server, url, port; by="mpirun ..."
    : >log
    env --default-signal=INT "${by[@]}" "$MTF" serve "${small[@]}" --port 0 "$@" >log 2>errors &
    server=$!
    for _ in $(seq 600); do
        grep -q ' answers at ' log && break
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    url=$(sed -n 's/.* answers at //p' log)
    port=${url##*:}
    by=()
    [ -n "$port" ] || { lose "the server starts" "an address" "$(cat log errors)"; finish; }
}
stop() {                                # stop SIGNAL: sets status
    kill -"$1" $server
    for _ in $(seq 300); do lives $server || break; sleep 0.1; done
    kill -9 $server 2>/dev/null
    wait $server 2>/dev/null
    status=$?
    server=""
}
children() { awk -v parent="$1" '$4 == parent { print $1 }' /proc/[0-9]*/stat 2>/dev/null; }
# asks NAME STATUS TEXT CURL-OPTION... PATH
asks() {
    local name=$1 want=$2 text=$3 got
    shift 3
    got=$(curl -s -m 60 -o body -w '%{http_code}' "${@:1:$#-1}" "$url${*: -1}")
    if [ "$got" = "$want" ] && grep -qF -- "$text" body; then pass
    else lose "$name" "$want: $text" "$got: $(head -c 600 body)"; fi
}
client() { timeout 120 python3 "$root/tests/shell/serve_client.py" "$port" "$1" >said 2>&1 && pass || lose "client: $1" "no complaint" "$(tail -n 5 said)"; }

start --max-waiting 40 --batch 4
asks "health" 200 '{"status":"ok"}' /health
asks "models" 200 '"object":"model"' /v1/models
name=$(sed 's/.*"id":"\([^"]*\)".*/\1/' body)
asks "the model by its name" 200 "\"id\":\"$name\"" "/v1/models/$name"
asks "another model" 404 'there is no model \"gpt-9\"' /v1/models/gpt-9
asks "the page" 200 '<textarea' /
asks "only the head of it" 200 '' -I /
asks "a completion" 200 '"object":"text_completion"' -d '{"prompt": "once", "max_tokens": 4}' /v1/completions
asks "usage" 200 '"usage":{"prompt_tokens":4,"completion_tokens":4,"total_tokens":8}' -d '{"prompt": "once", "max_tokens": 4, "seed": 1, "temperature": 0}' /v1/completions
asks "a score" 200 '"log_probability":-' -d '{"prompt": "once", "continuation": " upon"}' /v1/score
asks "events" 200 'data: [DONE]' -N -d '{"prompt": "once", "stream": true}' /v1/completions

asks "an unknown path" 404 'there is no /v2 here' /v2
asks "an unknown model" 404 'there is no model \"gpt\"' -d '{"prompt": "a", "model": "gpt"}' /v1/completions
asks "the wrong method" 405 '/v1/completions takes POST, not GET' /v1/completions
asks "the wrong method of another" 405 '/health takes GET, HEAD, not DELETE' -X DELETE /health
asks "no JSON" 400 'the body is not JSON' -d '{"prompt": "a"' /v1/completions
asks "no body" 400 'it is empty' -X POST /v1/completions
asks "a misspelt parameter" 400 'did you mean \"prompt\"?' -d '{"promt": "a"}' /v1/completions
asks "too many tokens" 400 '257 new tokens are wanted; there can be 256' -d '{"prompt": "a", "max_tokens": 257}' /v1/completions
asks "too many results" 400 '\"n\" is 17; there can be 16' -d '{"prompt": "a", "n": 17}' /v1/completions
asks "too many prompts" 400 'in one request; there can be 40' -d "{\"continuation\": [$(printf '"a",%.0s' {1..40})\"a\"]}" /v1/score
asks "a prompt that is too long" 400 'the prompt has 300 tokens; this model takes 255' -d "{\"prompt\": \"$(printf '%0300d' 0)\"}" /v1/completions
asks "a token that is none" 400 "token 1 of the prompt is 999; the model's vocabulary has 259" -d '{"prompt": [5, 999]}' /v1/completions
asks "a text to score that is too long" 400 'the text to score has 300 tokens' -d "{\"continuation\": \"$(printf '%0300d' 0)\"}" /v1/score
asks "a token to score that is none" 400 'token 0 is 259' -d '{"continuation": [259]}' /v1/score
head -c 2000000 /dev/zero >zeros
asks "a body that is too large" 413 'the body is larger than 1048576 bytes' --data-binary @zeros /v1/completions
asks "and one of unknown length" 413 'the body is larger than 1048576 bytes' -H 'Transfer-Encoding: chunked' --data-binary @zeros /v1/completions
head -c 200000 /dev/zero | tr '\0' 'h' >header
printf 'GET /health HTTP/1.1\r\nX: %s\r\n\r\n' "$(cat header)" >request
timeout 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat request >&3 2>/dev/null; head -c 100 <&3" >reply 2>/dev/null
grep -q '^HTTP/1.1 4' reply && pass || { [ -s reply ] && lose "an endless header" "a refusal" "$(cat reply)" || pass; }

# What is not HTTP, or not the HTTP that it says: refused or hung up on, and nobody else is harmed.
for request in 'NONSENSE\r\n\r\n' 'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{}' \
    'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n{}' \
    'POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n' 'GET /health HTTP/9.9\r\n\r\n' \
    'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n\377\376\000\001'; do
    printf "$request" >request
    timeout 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat request >&3 2>/dev/null; timeout 5 head -c 100 <&3" >reply 2>/dev/null
    if [ ! -s reply ] || grep -q '^HTTP/1.[01] [45]' reply; then pass; else lose "$request" "a refusal" "$(cat reply)"; fi
done
asks "bytes that are not text" 400 'error' --data-binary $'{"prompt": "\xff\xfe"}' /v1/completions
asks "brackets without an end" 400 'error' -d "$(printf '[%.0s' {1..5000})" /v1/completions
asks "a number in place of an object" 400 'error' -d '17' /v1/completions
asks "after that" 200 '{"status":"ok"}' /health
for case in together least_probability stream score hang_up busy; do client $case; done
asks "after all that" 200 '{"status":"ok"}' /health

# ---- its end -------------------------------------------------------------------------------------

kill -0 $server 2>/dev/null && pass || lose "it is still there" "a server" "$(cat errors)"
stop TERM
[ $status = 143 ] && pass || lose "SIGTERM" 143 "$status: $(cat errors)"
curl -s -m 5 "$url/health" >/dev/null && lose "nobody listens any more" "no connection" "one" || pass
grep -v 'the weights are random' errors >more && lose "nothing to complain of" "" "$(cat more)" || pass

start
mkfifo going
timeout 120 python3 "$root/tests/shell/serve_client.py" "$port" last_words >going 2>complaint &
client_pid=$!
read -r -t 60 said <going
stop INT
wait $client_pid && pass || lose "what is being answered ends" "the last event" "$(tail -n 3 complaint)"
[ $status = 130 ] && pass || lose "SIGINT" 130 "$status: $(cat errors)"

start --max-waiting 4 --batch 2
five='["a", "b", "c", "d", "e"]'
for _ in 1 2 3; do
    asks "more prompts than there can be" 400 '5 sequences in one request; there can be 4' -d "{\"prompt\": $five, \"max_tokens\": 30}" /v1/completions
    asks "as many as there can be" 200 '"index":3' -d '{"prompt": ["a", "b", "c", "d"], "max_tokens": 3}' /v1/completions
done
asks "echoes of as many" 200 '"index":3' -d '{"prompt": ["a", "b"], "n": 2, "echo": true, "logprobs": 1, "max_tokens": 3}' /v1/completions
stop TERM

start --max-clients 4
client crowd
asks "after the crowd" 200 '{"status":"ok"}' /health
stop TERM

start --host localhost
for address in $(getent ahosts localhost | awk '{ print $1 }' | sort -u); do
    case $address in *:*) address="[$address]" ;; esac
    got=$(curl -s -m 60 "http://$address:$port/health")
    [ "$got" = '{"status":"ok"}' ] && pass || lose "every address of a name: $address" '{"status":"ok"}' "$got"
done
stop TERM

start --max-seconds 0.001
client timeout
refuses "a port that is taken" "cannot listen on 127.0.0.1, port $port: Address already in use" serve "${small[@]}" --port "$port"
stop TERM
start --beams 3
asks "beams" 200 '"index":1' -d '{"prompt": "a", "n": 2, "temperature": 0, "max_tokens": 6}' /v1/completions
asks "beams have no alternatives" 400 'beam search has no alternatives' -d '{"prompt": "a", "temperature": 0, "logprobs": 2}' /v1/completions
asks "beams do not draw" 400 'temperature must be 0' -d '{"prompt": "a"}' /v1/completions
stop TERM
if [ -z "$without_ranks" ]; then
    by=("${launcher[@]}" -n 2)
    start --mesh a:2 --layout heads:a --batch 4 --max-waiting 40 --patience 30
    for case in together stream score hang_up; do client $case; done
    kill -TERM $(children $server)      # the ranks; the launcher itself would leave them no time
    for _ in $(seq 200); do lives $server || break; sleep 0.1; done
    lives $server && lose "the end on two ranks" "an end" "none: $(cat errors)" || pass
    kill -9 $server 2>/dev/null
    wait $server 2>/dev/null
    server=""
fi
refuses "a host that is none" '--host no.such.host.invalid: ' serve "${small[@]}" --host no.such.host.invalid
misused "a port that is none" '--port takes a whole number from 0 to 65535, not "65536"' serve --port 65536
finish
