#!/bin/bash
# Tests mtf plan: figures computed by hand, refusals, planned against measured.
#
# Usage: MTF=path/to/mtf tests/shell/plan.sh      default: build/mtf
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "plan.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

file() { printf '%s\n' "${@:2}" >"$1"; }    # file NAME LINE...

# asks EXPRESSION: leaves in `answer` what this expression of Python makes of `p`, the JSON in `out`.  One Python answers
# them all: its start takes longer than a plan.
if command -v python3 >/dev/null; then
    coproc judge { exec python3 -c '
import json, sys
for line in sys.stdin:
    try: p = json.load(open("out")); answer = eval(line)
    except Exception as e: answer = repr(e)
    print(repr(answer).replace("\n", " "), flush=True)'; }
fi
asks() {
    printf '%s\n' "${1//$'\n'/ }" >&"${judge[1]}"
    IFS= read -r answer <&"${judge[0]}"
}

# Checks such an expression; passes where there is no Python.
holds() {                               # holds NAME EXPRESSION: after `run`
    if [ $status -ne 0 ]; then lose "$1" "exit status 0" "$status: $(head -c 400 err)"; return; fi
    if [ -z "${judge[1]}" ]; then pass; return; fi
    asks "$2"
    if [ "$answer" = True ]; then pass; else lose "$1" "$2" "$answer: $(head -c 1500 out)"; fi
}

# ---- a network of two layers, by hand ------------------------------------------------------------

file net.mtf \
    'x: f32[batch=12, d=20] = random_normal' \
    'w: f32[d=20, hidden=30] = variable' \
    'v: f32[hidden=30, out=4] = variable' \
    'h: [batch, hidden] = einsum(x, w)' \
    'z: [batch, out] = einsum(relu(h), v)' \
    'loss = reduce_sum(z * z)' \
    'dw, dv = gradients(loss; w, v)' \
    'nw = assign(w, w - dw)' \
    'nv = assign(v, v - dv)'
weights=$((4 * (20 * 30 + 30 * 4)))     # bytes of both

run plan net.mtf --mesh x:2 --layout batch:x --fetch loss
check "the header" 0 out "mesh             x:2; 2 processors" "layout           batch:x" \
    "machine          flops=3e+10,memory=1e+10,wire=5e+09,latency=1e-05" "memory " "  parameters" \
    "flops" "  duplicate" "sent" "time" "hint: "
check "the table names the rule" 0 out "rule, or done" "batch:x" "2 times along x" "all_reduce" \
    "[d=20, hidden=30]"
if [ "$(awk 'length > 110' out | wc -l)" -eq 0 ]; then pass
else lose "lines are short" "at most 110 columns" "$(awk 'length > 110' out | head -n 1)"; fi

run plan net.mtf --mesh x:2 --layout batch:x --fetch loss --json
# Between two each gradient is sent once, the loss by the one who has its only element.
holds "bytes of the gradients' all-reduce" "p['sent_bytes'] == $weights + 4"
holds "the fields" "all(k in p for k in ('processors', 'peak_bytes', 'flops', 'sent_bytes', 'seconds', 'memory', 'collectives'))"
holds "processors" "p['processors'] == 2 and p['total']['sent_bytes'] == 2 * ($weights + 4)"
holds "collectives add up" "sum(c['bytes'] for c in p['collectives']) == p['sent_bytes']"
# They and the loss are small: one message carries all three.
holds "a collective" "p['collectives'] == [dict(kind='all_reduce', axes=['x'], group=2, count=1, cause='batch:x', \
    elements=p['sent_bytes'] // 4, bytes=p['sent_bytes'], seconds=p['collectives'][0]['seconds'])]"
holds "parameters" "p['memory']['parameters'] == $weights"
holds "memory adds up" "p['peak_bytes'] == p['memory']['peak'] == sum(p['memory'][k] for k in \
    ('parameters', 'state', 'inputs', 'constants', 'activations', 'scratch', 'wire'))"
holds "the least memory" "$weights < p['memory']['bound'] <= p['memory']['peak']"

run plan net.mtf --mesh y:3 --layout hidden:y --fetch loss --json
# z is so small that each of three reads the 48 elements of both others; weights are a third.
holds "bytes of the activations' all-reduce" "p['sent_bytes'] == 4 * 2 * 48 * p['collectives'][0]['count']"
holds "the cause is the hidden layer" "[c['cause'] for c in p['collectives']] == ['hidden:y']"
holds "a third of the parameters" "p['memory']['parameters'] == $weights // 3"

run plan net.mtf --mesh x:2,y:3 --layout batch:x,hidden:y --json --all
holds "every instruction with --all" "sum(i['flops'] for i in p['instructions']) == p['flops']"
holds "duplicate work" "0 < p['duplicate']['along']['y'] < p['duplicate']['share'] < 1"

run plan net.mtf --mesh x:5 --json
holds "without a layout all is done by all" "abs(p['duplicate']['share'] - 0.8) < 1e-9 and p['sent_bytes'] == 0"
run plan net.mtf --json
holds "one processor" "p['processors'] == 1 and p['collectives'] == []"

prints "a hint"                          "hint: with " plan net.mtf --mesh x:2 --machine latency=0
file exp.mtf 'x: f32[a=64] = input' 'y = exp(x)'
prints "a layout that cannot be bettered" "none is predicted to be faster" plan exp.mtf --mesh x:2 --layout a:x
run plan net.mtf --mesh x:2 --layout auto --machine latency=0
check "a layout that was found" 0 out "layout" "time"
if ! grep -q "hint:" out; then pass; else lose "no hint for a layout that was found" "none" "$(grep hint: out)"; fi
run plan net.mtf --mesh x:2 --layout auto --json
holds "no hint in JSON either" "'hint' not in p"
prints "a rule that does harm"           "hint: without batch:x" \
    plan net.mtf --mesh x:2 --layout batch:x --machine latency=1
# A large model: by layers, equal ones once, the hint above; --all lists everything.
large=(plan --gin_file gpt2_124m --mesh x:4 --layout batch:x)
run "${large[@]}"
check "a large model, by layers" 0 out 'layer (figures of one)' 'transformer/block_000' '--all shows them'
grep -q '^x 12 .* transformer/block_000$' out && pass || lose "twelve equal layers" "x 12" "$(grep block_ out)"
run plan --gin_file gpt2_124m --mesh x:2 --layout batch:x --microbatches 2
timed='[0-9.]+ m?s'
grep -qE "^x 12 +$timed +$timed +$timed .* transformer/block_000\$" out && pass ||
    lose "twelve equal layers in micro-batches" "x 12, with times forward, backward and of updates" "$(grep block_ out)"
run "${large[@]}"
[ "$(wc -l <out)" -lt 60 ] && pass || lose "a plan that can be read" "fewer than 60 lines" "$(wc -l <out)"
awk '/^hint:/ { hint = NR } /^ +# / { table = NR } END { exit !(hint && hint < table) }' out && pass ||
    lose "the hint is on top" "above the tables" "$(grep -n '^hint:\|^ *# ' out)"
run "${large[@]}" --all
lines=$(grep -c '^ *[0-9]* .*\[' out)
[ "$lines" -gt 1500 ] && ! grep -q '# equal' out && pass || lose "all instructions" "one a line" "$lines"
grep -q 'transformer/block_\.\.' out && lose "names that were cut" "different ends" "$(grep -m 2 'block_\.\.' out)" || pass
prints "a processor by number"           "shown            processor 3 (x=1,y=0)" \
    plan net.mtf --mesh x:2,y:3 --layout batch:x,hidden:y --processor 3
"$MTF" plan - <net.mtf >out 2>err; status=$?
check "standard input" 0 out "1 processor"

# A file that mtf train would train is planned as it is, and says so; what trains, or is asked for, is not reminded.
grep -v '^dw\|^n[wv] ' net.mtf >untrained.mtf
says="a step           computes the results only; --optimizer adam plans a training step"
whole=(untrained.mtf --mesh x:2 --layout batch:x)
prints "a plan of the results only"    "$says" plan "${whole[@]}"
prints "two of the results only"       "$says" plan "${whole[@]}" --diff hidden:x
prints "layouts for the results only"  "$says" layout untrained.mtf --mesh x:2
for asked in "plan ${whole[*]} --optimizer adam" "plan ${whole[*]} --fetch loss" "plan net.mtf" "plan exp.mtf" \
    "layout untrained.mtf --mesh x:2 --rate 0.1"; do
    # shellcheck disable=SC2086
    run $asked
    [ $status -eq 0 ] && ! grep -q '^a step' out && pass || lose "no reminder: $asked" "no row \"a step\"" "$(grep '^a step' out err)"
done

run plan "${whole[@]}" --html results.html
grep -q "computes the results only; --optimizer adam" results.html && pass || lose "a page of the results only" "so" "$(head -c 300 results.html)"
run plan --gin_file lm_base --gin_file tiny --batch 1 --gin_param "run.sequence_length = {'targets': 8}"
check "a plan for a vocabulary that nobody has named" 0 err "mtf: note: no vocabulary is named: this is for bytes, 259 ids; --vocabulary names another"
run plan --gin_file lm_base --gin_file tiny --batch 1 --gin_param "run.sequence_length = {'targets': 8}" --vocabulary bytes
[ $status = 0 ] && ! grep -q vocabulary err && pass || lose "one that is named" "no note" "$(cat err)"

# What is cut to fit a line stands whole with --all.
long=a_name_that_is_much_longer_than_the_columns_of_a_table
file long.mtf "x: f32[a=6, ${long}_1=4, ${long}_2=5] = random_normal" "${long}_y = exp(x * x)"
run plan long.mtf --all
check "names and shapes are whole with --all" 0 out " ${long}_y " " [a=6, ${long}_1=4, ${long}_2=5]"
run plan long.mtf
grep -q "${long}_[y1]" out && lose "names and shapes are cut" "short ones" "$(grep "$long" out)" || pass

# Each of three processors sorts 3 of the 9 whole columns: it sends two thirds of its 18 numbers, and of 18 sorted ones.
file move.mtf 'x: f32[a=6, b=9] = random_normal' 'y, i = sort(x, dim=a)' 'z = cumsum(x, dim=b)'
run plan move.mtf --mesh x:3 --layout a:x --fetch y --json
holds "a sort turns the cut" "{c['kind']: (c['count'], c['bytes']) for c in p['collectives']} == {'all_to_all': (2, 4 * 2 * 12)}"
file row.mtf 'x: f32[a=6] = input' 'y, i = sort(x, dim=a)'
run plan row.mtf --mesh x:3 --layout a:x --fetch y --json
holds "a gathering" "{c['kind']: (c['count'], c['bytes']) for c in p['collectives']} == {'all_gather': (1, 4 * 2 * 2)}"
file loop.mtf 'x: f32[a=6] = random_normal' 'y = loop(x, trips=7) {' ' body(v) {' \
    '  yield v * reduce_sum(v)' ' }' '}'
run plan loop.mtf --mesh x:2 --layout a:x --json
holds "loops multiply" "p['collectives'][0]['count'] == 7"

# ---- what reshapes and margins move --------------------------------------------------------------

# Bytes that all processors send, by elements counted by hand, and the collectives.
moves() {                               # moves NAME MESH LAYOUT ELEMENTS KINDS LINE...
    file moves.mtf "${@:6}"
    run plan moves.mtf --mesh "$2" --layout "$3" --fetch y --json
    holds "$1" "p['total']['sent_bytes'] == 4 * ($4) and [c['kind'] for c in p['collectives']] == [$5]"
}
reshapes() {                            # reshapes NAME MESH LAYOUT ELEMENTS KINDS OLD NEW
    moves "$1" "$2" "$3" "$4" "$5" "x: f32[$6] = input" "y: [$7] = reshape(x)"
}
reshapes "a merge whose boundary stays"   x:2 a:x,n:x 0 "" a=8,b=3 n=24
reshapes "a merge with uneven parts"      x:2 a:x,n:x 3 "'exchange'" a=5,b=3 n=15      # row 2, to the first
reshapes "a division whose boundary stays" x:2,y:2 m:x,n:y,a:y 0 "" m=4,n=64 m=4,a=8,b=8
reshapes "a regrouping"                   x:2 a:x,p:x 4 "'exchange'" a=5,b=4 p=10,q=2  # half of row 2
reshapes "a merge of an inner cut"        x:2 b:x,n:x 2*12 "'all_to_all'" a=8,b=6 n=48
reshapes "a division into an inner cut"   x:2 n:x,b:x 2*12 "'all_to_all'" n=48 a=8,b=6
reshapes "both along two axes"            x:2,y:2 n:x+y,a:x,b:y 4*6 "'all_to_all'" n=48 a=8,b=6
reshapes "a merge of two axes that stay"  x:2,y:3 a:x,b:y,n:x+y 0 "" a=2,b=9 n=18
reshapes "a division of two that stay"    x:2,y:3 a:x,b:y,n:x+y 0 "" n=18 a=2,b=9
reshapes "two axes that change places"    x:2,y:2 a:y,b:x,n:x+y 2*3 "'all_to_all'" a=2,b=6 n=12
reshapes "what was whole is only cut"     x:2 b:x 0 "" n=48 a=8,b=6
reshapes "what must be whole is gathered" x:2 n:x 2*24 "'all_gather'" n=48 a=8,b=6
reshapes "dimensions of one element"      x:2 a:x,n:x 0 "" u=1,a=8,v=1,b=3 n=24,w=1
convolves() {                           # convolves NAME MESH LAYOUT ELEMENTS
    moves "$1" "$2" "$3" "$4" "'exchange'" 'x: f32[b=2, h=8, w=6, c=3] = input' \
        'f: f32[fh=3, fw=3, c=3, o=4] = input' 'y = conv2d(x, f)'
}
convolves "margins along one dimension" x:2     h:x     "2*3 * 2*6"
convolves "margins along two, corners"  x:2,y:2 h:x,w:y "2*3 * 4 * (4 + 3 + 1)"
convolves "margins of uneven parts"     x:3,y:2 h:x,w:y "2*3 * (4*6 + 2*8 + 8)"
moves "pooling along two dimensions" x:2,y:2 h:x,w:y "2*3 * 4 * (4 + 3)" "'exchange', 'exchange'" \
    'x: f32[b=2, h=8, w=6, c=3] = input' 'y = max_pool(x, window=(3, 3), stride=(1, 1), padding=same)'

# ---- counters ------------------------------------------------------------------------------------

run plan net.mtf --mesh x:2,y:2 --layout batch:x,hidden:y --fetch loss --counters
check "a tree of counters" 0 out "counters  " "all processors" "allreduce  " " allreduce/[x]  " \
    "  allreduce/[y]/einsum  " "einsum_unique  " " output_unique/relu  " " variables/trainable  " "hint: "
if [ "$(sed -n '/^counters/,/^$/p' out | awk '/B$/ { print length }' | sort -u | wc -l)" -eq 1 ]; then pass
else lose "columns of counters are aligned" "one length" "$(sed -n '/^counters/,/^$/p' out)"; fi
run plan net.mtf --mesh x:2,y:2 --layout batch:x,hidden:y --fetch loss --counters --json
# dw and dv over x, each in two copies, the loss in four, in one message; z over y, in two copies.
holds "counters of collectives" "[sum(v['elements'] for k, v in p['counters'].items() if k.startswith('allreduce/[%s]/' % a)) \
    for a in 'xy'] == [2 * (600 + 120) + 4, 2 * 48]"
holds "counters of work" "p['counters']['einsum'] == p['counters']['einsum_unique'] == \
    dict(elements=12 * 30 * (2 * 20 + 3 * 4), bytes=0)"
holds "counters of variables" "p['counters']['variables/trainable'] == dict(elements=720, bytes=$weights)"
run plan loop.mtf --mesh x:2 --layout a:x --counters --json
holds "counters count iterations" "p['counters']['allreduce/[x]/reduce_sum'] == dict(elements=7 * 2, bytes=7 * 8)"
run plan net.mtf --json
holds "no counters where none are wanted" "'counters' not in p"
misused "counters of two layouts" 'leave --diff out' plan net.mtf --diff a:b --counters

# ---- many processors -----------------------------------------------------------------------------

file big.mtf \
    'x: f32[batch=8192, d=1024] = input' \
    'w: f32[d=1024, hidden=4096] = variable' \
    'h: [batch, hidden] = einsum(x, w)' \
    'loss = reduce_sum(h * h)' \
    'dw = gradients(loss; w)'
run plan big.mtf --mesh rows:64,cols:64 --layout batch:rows,hidden:cols --fetch dw --json
holds "4096 processors" "p['processors'] == 4096 and p['memory']['parameters'] == 4 * 1024 * 64"
holds "all bytes of 4096" "p['total']['sent_bytes'] == 4 * 2 * 63 * 1024 * 4096"
run plan big.mtf --mesh all:1000000 --layout batch:all?,nothing:all? --json
holds "a million processors" "p['processors'] == 1000000"

# ---- two layouts ---------------------------------------------------------------------------------

run plan net.mtf --mesh x:3 --layout batch:x --diff hidden:x
check "two layouts side by side" 0 out "batch:x" "hidden:x" "ratio" "memory" "  parameters" "sent" "time"
if [ "$(awk 'NR > 3 { print length }' out | sort -u | wc -l)" -eq 1 ]; then pass
else lose "columns of two layouts are aligned" "one length" "$(cat out)"; fi
run plan net.mtf --mesh x:3 --layout batch:x --diff hidden:x --json
holds "two layouts as JSON" "[q['layout'] for q in p['plans']] == ['batch:x', 'hidden:x']"
refuses "a second layout that is illegal" '"batch:x" and "hidden:x"' \
    plan net.mtf --mesh x:3 --layout batch:x --diff batch:x,hidden:x

# ---- what is refused -----------------------------------------------------------------------------

refuses "two dimensions on one axis" \
    '"h" [batch=12, hidden=30] has two dimensions on axis "x", by the rules "batch:x" and "hidden:x"' \
    plan net.mtf --mesh x:2 --layout batch:x,hidden:x
misused "data for a plan"    'mtf plan has no option --data: it reads no data' plan net.mtf --data x=x.npy
misused "unknown axis"       'the mesh has no axis "rows"; its axes are: row; did you mean "row"?' \
    plan net.mtf --mesh row:2 --layout batch:rows
refuses "unknown dimension"  'the model has no dimension "hiden"' plan net.mtf --mesh x:2 --layout hiden:x
check   "unknown dimension, a hint" 2 err 'did you mean "hidden"?'
prints  "an optional rule"   "layout           batch:x" plan net.mtf --mesh x:2 --layout batch:x,experts:y?
refuses "no rule"            '"batch" is not a layout rule' plan net.mtf --mesh x:2 --layout batch
misused "half an axis"       '--mesh x:2.5: the size of axis "x" is "2.5"; write a whole number' plan net.mtf --mesh x:2.5
misused "no axis after a comma" '--mesh x:2,: an axis is missing' plan net.mtf --mesh x:2,
misused "an axis of size 0"  '--mesh x:0: the size of axis "x" is "0"' plan net.mtf --mesh x:0
misused "an axis twice"      '--mesh x:2,x:3: axis "x" is given twice' plan net.mtf --mesh x:2,x:3
misused "a mesh without sizes" '--mesh x: "x" is not an axis; write axis:size, as in rows:2,cols:4' plan net.mtf --mesh x
misused "auto among axes"    '--mesh auto:4,x:2: auto finds all axes and stands alone' plan net.mtf --mesh auto:4,x:2
misused "no second axis"     '--layout batch:x+: an axis is missing beside +' plan net.mtf --mesh x:2 --layout batch:x+
misused "two question marks" '--layout batch:x??: a rule ends in one ? at most' plan net.mtf --mesh x:2 --layout 'batch:x??'
misused "a question mark elsewhere" '--layout batch?:x: a rule has its ? at its end: batch:x?' plan net.mtf --mesh x:2 --layout 'batch?:x'
misused "another option's axis" '--diff batch:z: the mesh has no axis "z"' plan net.mtf --mesh x:2 --diff batch:z
misused "no rule after a comma" '--layout batch:x,: a rule is missing' plan net.mtf --mesh x:2 --layout batch:x,
misused "a rule for state that no variable has" '--state-layout batch:x: no variable has a dimension "batch"' \
    plan net.mtf --mesh x:2 --state-layout batch:x
prints  "a rule for state that need not be" "memory" plan net.mtf --mesh x:2 --state-layout 'batch:x?'
prints  "blanks and semicolons" "x:2,y:2; 4 processors" plan net.mtf --mesh ' x:2; y:2 ' --layout 'batch:x ; hidden:y'
misused "processors by the ten thousand" 'has 32000 processors for this process' run net.mtf --mesh x:32000 --layout batch:x
run run net.mtf --mesh x:32000 --layout batch:x
check "ranks are proposed, and how to go on" 2 err "start more ranks with mpirun -n N, or add --oversubscribe"
refuses "no such processor"  "--processor 6: the mesh has processors 0 to 5" \
    plan net.mtf --mesh x:2,y:3 --processor 6
refuses "unknown tensor"     'did you mean "loss"?' plan net.mtf --fetch los
refuses "bad machine"        '--machine takes flops, memory, wire' plan net.mtf --machine speed=3
refuses "bad number for it"  '--machine: flops takes a number from 1e-30 to 1e30, not "fast"' plan net.mtf --machine flops=fast
refuses "a folder"           '--machine: ".": Is a directory' plan net.mtf --machine .
head -c 70000 /dev/zero | tr '\0' '#' >long.machine
refuses "a long file"        '--machine: "./long.machine" is not a machine file, which is a text of less than 64 KiB' plan net.mtf --machine ./long.machine
refuses "no speed"           '--machine: wire takes a number from 1e-30 to 1e30, not "0"' plan net.mtf --machine flops=1e9,wire=0
misused "bad processor"      '--processor takes a whole number' plan net.mtf --processor two
misused "processor of two"   'leave --processor out' plan net.mtf --diff a:b --processor 1
misused "a mesh for a graph" '--mesh is about a program' show net.mtf --mesh x:2
misused "all without"        'add --analyze' run net.mtf --all
refuses "run refuses, too"   'two dimensions on axis "x"' run net.mtf --mesh x:2 --layout batch:x,hidden:x

# ---- processes and machines -----------------------------------------------------------------------

# Three swap what is small, and combine in shards what is not: 14000 elements and a shard more.
file two.mtf 'x: f32[n=3, a=14000] = input' 'y = reduce_sum(x, over=(n))' 'z = reduce_sum(y * y)'
run plan two.mtf --mesh x:3 --layout n:x --ranks 3 --hosts 3 --fetch y --json
holds "shards in messages" "p['total']['sent_bytes'] == 4 * 2 * 2 * 14000"
holds "all of it" "p['sent_messages'] == p['sent_bytes'] > 0 and p['received_messages'] == p['received_bytes']"
holds "room for two shards" "p['memory']['wire'] == 2 * (4 * 14000 // 3 // 64 + 1) * 64"
run plan two.mtf --mesh x:3 --layout n:x --ranks 3 --fetch y --json
holds "no messages on one machine" "p['memory']['wire'] == 0 and p['total']['sent_bytes'] == 4 * 2 * 2 * 14000"
run plan two.mtf --mesh x:3 --layout a:x --ranks 3 --hosts 3 --fetch z --json
holds "one element from each to each" "p['total']['sent_bytes'] == 4 * 3 * 2 and p['memory']['wire'] == 2 * 64"
run plan two.mtf --mesh x:3 --layout n:x --ranks 3 --hosts 3 --fetch y
check "the wire in the header" 0 out "3 processors in 3 ranks on 3 hosts" "; 100.0 % of it in messages" "  wire buffers"
# Two hosts of two: half of the operand is a rank's share, and half of that it sends, twice.
for where in '--ranks 4 --hosts 2' '--machine node=2'; do
    run plan two.mtf --mesh x:4 --layout n:x $where --fetch y --json
    holds "what leaves a host, $where" "p['sent_outside'] == p['sent_messages'] == p['received_outside'] == 4 * 7000"
    holds "as much in all, $where" "p['total']['sent_bytes'] == 4 * 2 * 3 * 14000"
done
run plan two.mtf --mesh x:4 --layout n:x --ranks 4 --hosts 2 --fetch y
check "what leaves a host, in the header" 0 out "; 33.3 % of it in messages, 33.3 % to other hosts"
run plan two.mtf --mesh x:4 --layout n:x --ranks 4 --hosts 3 --fetch y --json
holds "hosts with unequal numbers: one stage" "p['sent_messages'] == p['sent_bytes'] == 4 * 21000 and 0 < p['sent_outside']"
refuses "more ranks than processors" "a mesh of 3 processors has no use for 4 ranks" plan two.mtf --mesh x:3 --ranks 4
refuses "more hosts than processors" "a mesh of 3 processors has no use for 5 hosts" plan two.mtf --mesh x:3 --hosts 5
misused "ranks in words" "--ranks takes a whole number" plan two.mtf --mesh x:3 --ranks all

# ---- programs of one processor -------------------------------------------------------------------

run show net.mtf --program --mesh x:2,y:3 --layout batch:x,hidden:y
check "a program of a mesh" 0 out "all_reduce"
run show net.mtf --program --mesh x:5 --layout batch:x --fetch h --processor 0
first=$(grep -c 'contract \[30 2 20\]' out)
run show net.mtf --program --mesh x:5 --layout batch:x --fetch h --processor 4
last=$(grep -c 'contract \[30 3 20\]' out)
if [ "$first $last" = "1 1" ]; then pass; else lose "parts of 2 and 3" "1 1" "$first $last: $(cat out)"; fi

# ---- stored state cut further --------------------------------------------------------------------

# Each gradient is scattered as it is summed, and each weight gathered once: as many bytes as before.
run plan net.mtf --mesh x:2 --layout batch:x --state-layout hidden:x --fetch loss --json
holds "half of the weights on each" "p['memory']['parameters'] == $weights // 2"
holds "bytes as without" "p['sent_bytes'] == $weights + 4"
holds "what is sent" "sorted((c['kind'], c['count'], c['bytes'], c['cause']) for c in p['collectives']) == [ \
    ('all_gather', 2, $weights // 2, 'state hidden:x'), ('all_reduce', 1, 4, 'batch:x'), \
    ('reduce_scatter', 2, $weights // 2, 'batch:x')]"
run plan net.mtf --mesh x:2 --layout batch:x --state-layout hidden:x --fetch loss
check "named in the header" 0 out "layout           batch:x; state hidden:x" "  reduce_scatter"
if grep -q '2 times along x' out; then lose "no update is computed twice" "nothing" "$(cat out)"; else pass; fi
# A sum that is renamed into a dimension that is cut along the same axis is scattered, not summed whole.
file rename.mtf 'x: f32[b=4, k=6] = input' 'w: f32[k=6, h=10] = input' 'y: [b, h] = einsum(x, w)' \
    'z: [b=4, g=10] = reshape(y)'
run plan rename.mtf --mesh x:2 --layout k:x,g:x --fetch z --json
holds "a renamed sum is scattered" "[(c['kind'], c['bytes']) for c in p['collectives']] == [('reduce_scatter', 4 * 4 * 5)]"
# So are the largest and the smallest.
for fold in max min; do
    file rename.mtf 'x: f32[k=6, h=10] = input' "y: [h] = reduce_$fold(x)" 'z: [g=10] = reshape(y)'
    run plan rename.mtf --mesh x:2 --layout k:x,g:x --fetch z --json
    holds "a renamed $fold is scattered" "[(c['kind'], c['bytes']) for c in p['collectives']] == [('reduce_scatter', 4 * 5)]"
    file seen.mtf 'x: f32[k=6, h=10] = input' 'seen: f32[h=10] = variable' "y: [h] = reduce_$fold(x)" \
        "new = assign(seen, ${fold}imum(seen, y))"
    run plan seen.mtf --mesh x:2 --layout k:x --state-layout h:x --fetch y --json
    holds "a $fold on its way into cut state is scattered" \
        "('reduce_scatter', 4 * 5) in [(c['kind'], c['bytes']) for c in p['collectives']] and \
        all(c['kind'] != 'all_reduce' for c in p['collectives'])"
done
# A rule whose axis already cuts the variable is passed over: w is cut along d, v along hidden.
run plan net.mtf --mesh x:2 --state-layout d:x,hidden:x --fetch loss --json
holds "the first rule that is free" "p['memory']['parameters'] == $weights // 2"
run plan net.mtf --mesh x:2 --layout hidden:x --state-layout hidden:x,d:x --fetch loss --json
holds "rules on axes in use" "p['memory']['parameters'] == $weights // 2 and \
    all(c['kind'] != 'all_gather' for c in p['collectives'])"
# A rule that would raise the memory is declined, unless it is firm: the loop needs all of w at once.
file whole.mtf 'x: f32[batch=4, h=600] = constant(value=0.25)' 'w: f32[h=600, k=600] = variable' 'y = loop(x, trips=3) {' \
    '    body(s; i) {' '        t: [batch, k] = einsum(s, w)' '        yield tanh(rename_dimension(t, from=k, to=h))' '    }' '}' \
    'loss = reduce_mean(square(y))' 'nw = assign(w, 0.5 * w)'
run plan whole.mtf --mesh x:2 --layout batch:x --fetch loss --json
asks "p['memory']['peak']"
without=$answer
run plan whole.mtf --mesh x:2 --layout batch:x --state-layout h:x! --fetch loss --json
asks "p['memory']['peak']"
with=$answer
holds "a firm rule is kept" "p['memory']['peak'] > $without and p['declined'] == [] and p['layout'] == 'batch:x; state h:x!'"
run plan whole.mtf --mesh x:2 --layout batch:x --state-layout h:x --fetch loss --json
holds "a rule that raises the memory is declined" "p['memory']['peak'] == $without and p['layout'] == 'batch:x' and \
    p['declined'] == [{'rule': 'h:x', 'peak_without': $without, 'peak_with': $with}]"
said="state rule \"h:x\" is declined: it would raise the planned memory from $without to $with bytes; \"h:x!\" keeps it"
run plan whole.mtf --mesh x:2 --layout batch:x --state-layout h:x --fetch loss
check "declined in words" 0 out "layout           batch:x" "                 $said"
run plan whole.mtf --mesh x:2 --layout batch:x --diff k:x --state-layout h:x --fetch loss --json
holds "each of two layouts declines for itself" "[len(q['declined']) for q in p['plans']] == [1, 0]"
run layout whole.mtf --mesh x:2 --layout batch:x --state-layout h:x --fetch loss
check "declined in a search" 0 out "  batch:x" "$said"
run run whole.mtf --mesh x:2 --layout batch:x --state-layout h:x --fetch loss
check "declined in a run" 0 err "mtf: $said"
refuses "a firm rule that is none for state" '--layout batch:x!: only a rule of --state-layout can end in !' \
    plan net.mtf --mesh x:2 --layout batch:x!
refuses "a dimension for state that is not there" '--state-layout hiden:x: no variable has a dimension "hiden"; end the rule in ? if that is meant; did you mean "hidden"?' \
    plan net.mtf --mesh x:2 --state-layout hiden:x
refuses "an axis for state that is not there" 'the mesh has no axis "y"' plan net.mtf --mesh x:2 --state-layout hidden:y

# ---- planned and measured ------------------------------------------------------------------------

run run net.mtf --mesh x:2 --layout batch:x --analyze --fetch loss
check "a run analyzed" 0 out "loss = " "planned" "measured" "bytes sent" "equal" "time of a step"
if grep -q DIFFERENT out; then lose "planned equals measured" "equal" "$(cat out)"; else pass; fi
run run net.mtf --mesh x:2 --layout batch:x --analyze --fetch loss --steps 3 --json
holds "three steps" "p['analyze']['measured']['sent_bytes'] == 3 * 2 * ($weights + 4)"

file wide.mtf 'x: f32[a=7, b=5, c=4] = random_normal' 'y = shift(x, dim=a, offset=2)' \
    'z = softmax(x, dim=b)' 'r: [a=7, bc=20] = reshape(x)' 's, i = sort(x, dim=a)' \
    'k = cumsum(x, dim=a)' 'm = reduce_max(x, over=(a))' 'q = y * z + k + s'
file shapes.mtf 'x: f32[a=5, b=6] = random_normal' 'r: [n=30] = reshape(x)' \
    's: [p=3, q=10] = reshape(x)' 't: [a=5, b=6] = reshape(s * 2.0)'
file space.mtf 'x: f32[b=2, h=7, w=5, c=2] = random_normal' 'f: f32[fh=3, fw=2, c=2, o=3] = variable' \
    'y = max_pool(conv2d(x, f), window=(3, 2), stride=(1, 2), padding=same)' \
    'df = gradients(reduce_sum(y * y); f)'
file while.mtf 'x: f32[a=6] = constant(value=1)' 'y = while(x) {' ' cond(v) {' \
    '  yield less(reduce_sum(v), 100.0)' ' }' ' body(v) {' '  yield v * 2.0' ' }' '}'

agrees() {                              # agrees FILE MESH LAYOUT OPTION...
    run run "$1" --mesh "$2" --layout "$3" --analyze --json "${@:4}"
    holds "$1 on $2 as $3 $4" "p['analyze']['planned']['flops'] == p['analyze']['measured']['flops'] \
        and all(p['analyze']['planned'][k] == p['analyze']['measured'][k] for k in ('collectives', 'sent_bytes', 'peak_bytes'))"
}
for layout in batch:x hidden:x d:x out:x ''; do
    agrees net.mtf x:2 "$layout" --fetch loss
    agrees net.mtf x:3 "$layout" --fetch loss
done
for layout in batch:x,hidden:y batch:x+y d:x,out:y hidden:y+x batch:y; do
    agrees net.mtf x:2,y:2 "$layout" --fetch loss --steps 2
done
for layout in a:x b:x c:x a:x,b:y b:x,c:y a:x+y bc:y,a:x; do
    agrees wide.mtf x:2,y:2 "$layout" --fetch q --fetch r --fetch m --fetch i
    agrees wide.mtf x:3,y:1 "$layout" --fetch q --fetch r --fetch m --fetch i
done
for state in hidden:x d:y+x hidden:x,out:y out:x d:x; do
    agrees net.mtf x:2,y:2 batch:x --fetch loss --steps 2 --state-layout "$state"
    agrees net.mtf x:3,y:2 batch:x+y --fetch loss --steps 2 --state-layout "$state"
    agrees net.mtf x:2,y:3 hidden:x --fetch nw --fetch dv --state-layout "$state"
done
for layout in a:x,n:x b:x,n:y n:x+y,a:y p:x,q:y,b:y p:y,q:x,b:x,n:y+x; do
    agrees shapes.mtf x:2,y:2 "$layout" --fetch r --fetch s --fetch t
    agrees shapes.mtf x:3,y:2 "$layout" --fetch r --fetch s --fetch t
done
for layout in h:x,w:y h:x+y w:y,h:x,c:z; do agrees space.mtf x:2,y:3,z:2 "$layout" --fetch y --fetch df; done
agrees net.mtf x:3 batch:x --device check
agrees loop.mtf x:2 a:x --steps 2
agrees while.mtf x:3 a:x
agrees net.mtf x:1,y:1 batch:x

# ---- figures that no int64 holds -----------------------------------------------------------------

file huge.mtf 'a: f32[m=2097152, k=2097152] = input' 'b: f32[k=2097152, n=2097152] = input' \
    'c: [m, n] = einsum(a, b)'
run plan huge.mtf --json
holds "2^64 flops are more than can be counted" "p['flops'] == p['total']['flops'] == 2**63 - 1"
prints "and are said to be" ">9.22 E" plan huge.mtf
run plan huge.mtf --mesh x:1024 --layout m:x --json
holds "a part of them can be, all together cannot" \
    "p['flops'] == 2**54 and p['total']['flops'] == 2**63 - 1"

# Times are told all the same: on half of the processors twice as long.
seconds_on() { "$MTF" plan huge.mtf --mesh x:$1 --layout m:x --json | sed -n 's/.*"seconds":[^0-9]*\([^,]*\),.*/\1/p' | head -n 1; }
if awk -v a="$(seconds_on 1)" -v b="$(seconds_on 2)" 'BEGIN { exit !(a > 1.9 * b && a < 2.1 * b) }'; then pass
else lose "seconds of 2^64 flops" "twice those of 2^63" "$(seconds_on 1) $(seconds_on 2)"; fi

nested() {                              # nested DEPTH TRIPS: loops in loops
    local k
    echo 'x0: f32[a=3] = constant(value=1)'
    for ((k = 1; k <= $1; k++)); do
        printf 'y%d = loop(x%d, trips=%d) {\nbody(x%d) {\n' $k $((k - 1)) $2 $k
    done
    echo "yield x$1 * 0.5"
    for ((k = $1; k > 0; k--)); do
        printf '}\n}\n'
        [ $k -eq 1 ] || echo "yield y$k"
    done
}
for depth in 64 65; do nested $depth 1 >deep$depth.mtf; done
nested 4 1048576 >long.mtf
run plan deep64.mtf --json
holds "64 loops in one another, each of which counts its iterations" "p['flops'] == 3 + 64"
refuses "65 loops in one another" "loops are nested more than 64 deep" plan deep65.mtf
run plan long.mtf --json
holds "2^80 iterations" "p['flops'] == 2**63 - 1"
file vast.mtf 'x: f64[a=536870912, b=536870912] = input' 'y = cumsum(x, dim=a)' 'z = cumsum(y, dim=b)'
refuses "more bytes than can be counted" "have 2^62 bytes or more together on one processor" plan vast.mtf
run plan vast.mtf --mesh x:4 --layout b:x --fetch y --json
holds "a quarter of them can be" "p['memory']['inputs'] == 2**61 // 4"
file gaps.mtf 'x: f32[a=1099511627776] = input' 'y = pad(x, dim=a, between=1073741823)'
refuses "padding between many elements" "2^59 elements or more" plan gaps.mtf

# ---- data ----------------------------------------------------------------------------------------

mkdir digits
seq 300000 | gzip >digits/train-images-idx3-ubyte.gz
head -c 1000 /dev/zero >digits/train-labels-idx1-ubyte
run plan mnist --batch 50 --data-dir digits --json
holds "three batches" "p['data']['batches'] == 3 * 50 * 4 * (28 * 28 + 1)"
holds "an unpacked file and a small one" "p['data']['files'] == $(seq 300000 | wc -c) + 1000"
head -c 2000000 /dev/zero >digits/train-labels-idx1-ubyte
run plan mnist --batch 50 --data-dir digits --mesh x:2 --layout batch:x --json
holds "a large file is mapped" "p['data']['files'] == $(seq 300000 | wc -c)"
for length in 64 32768; do
    run plan --gin_file lm_base --gin_param "run.sequence_length = {'targets': $length}" --gin_param "run.batch_size = ('sequences_per_batch', 2)" \
        --gin_param "Unitransformer.input_vocab_size = 64" --gin_param "num_layers = 1" --json
    holds "sections of text, $length tokens a row" "p['data']['text'] == 34 * 5 * max(1 << 19, 64 * $length)"
done
run plan net.mtf --json
holds "no data" "'data' not in p"
prints "data in words" "of each process, at most" plan mnist --data-dir digits

# ---- micro-batches -------------------------------------------------------------------------------

# The largest weight's gradient is summed over both processors: nothing else may need more.
for type in f32 bf16; do
    for parts in 1 2 3 4 5; do
        run plan mnist --dtype $type --batch 64 --hidden 256 --mesh x:2 --layout batch:x --microbatches $parts --json
        [ $parts = 1 ] && one=$(sed -n 's/^\t*"peak_bytes":\t\([0-9]*\).*/\1/p' out | head -n 1)
        holds "mnist in $type, in $parts parts" "p['peak_bytes'] <= $one + 64"    # an alignment
    done
done

# Casts of weights that every part reads stay beside the sums of gradients: the plan says what that takes.
file two.mtf \
    'x: bf16[batch=32, a=110] = random_normal' \
    'w1: f32[a=110, b=110] = variable(init="normal(0, 0.1)")' \
    'w2: f32[b=110, a=110] = variable(init="normal(0, 0.1)")' \
    'v1 = cast(w1, type=bf16)' \
    'h1: [batch, b] = einsum(x, v1)' \
    'h2: [batch, a] = einsum(relu(h1), cast(w2, type=bf16))' \
    'h3: [batch, b] = einsum(h2, v1)' \
    'loss = reduce_mean(square(cast(h3, type=f32)))'
two=(plan two.mtf --loss loss --optimizer sgd --mesh x:2 --layout batch:x)
run "${two[@]}" --microbatches 1 --json
one=$(sed -n 's/^\t*"peak_bytes":\t\([0-9]*\).*/\1/p' out | head -n 1)
holds "one micro-batch needs no comparison" "'undivided_peak_bytes' not in p"
run "${two[@]}" --microbatches 4 --json
holds "what one micro-batch would take" "p['undivided_peak_bytes'] == $one and p['peak_bytes'] > $one"
prints "and why four take more" "as one micro-batch; more keep casts of weights beside the gradients' sums" "${two[@]}" --microbatches 4

file loop.mtf \
    'x: f32[batch=8, a=4] = random_normal' \
    'w: f32[a=4] = variable(init="normal(0, 0.1)")' \
    'h = loop(x, trips=3) { body(s; i) { yield tanh(s + x * w) } }' \
    'loss = reduce_mean(square(h))'
prints "a loop that holds the batch" 'but the loop that computes "h" takes all examples at once' \
    plan loop.mtf --loss loss --optimizer sgd --microbatches 4

printf '\nplan: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
