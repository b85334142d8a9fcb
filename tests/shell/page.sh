#!/bin/bash
# Tests pages: what is in the file, and, where there is a browser, what a reader sees and can do.
#
# Usage: MTF=path/to/mtf tests/shell/page.sh      default: build/mtf
#        MTF_BROWSER=needed                       without a browser it fails, instead of saying so
#        KEEP=folder                              the pages are left there
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "page.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"

. "$root/tests/shell/browser.bash"

file() { printf '%s\n' "${@:2}" >"$1"; }    # file NAME LINE...

# ---- looking at pages ----------------------------------------------------------------------------

# Starting the browser takes longer than what it does here: pages are kept as they are asked about, with a script that
# answers, and `look` opens them all at once, each in a frame.
asked=()                                # by number, from 1 on: the name

# looks NAME PAGE SELECTOR...: the page has these, does what it should, and complains of nothing.
looks() {
    local wanted
    if [ ! -s "$2" ]; then lose "$1" "a page" "none: $(head -c 400 err)"; return; fi
    wanted=$(printf '"%s",' "${@:3}")
    asked+=("$1")
    { head -n -2 "$2"; echo "<script>function answer(text) { parent.postMessage(\"PAGE ${#asked[@]} \" + text, \"*\"); }"
      echo "var WANTED = [${wanted%,}];"; cat "$root/tests/page/check.js"
      printf '</script>\n</body>\n</html>\n'; } >asked_${#asked[@]}.html
}

answered() {                            # answered NUMBER: what the page said, and the browser of it
    local name=${asked[$1 - 1]} line
    while read -r line; do
        case $line in
            "CHECK ok "*) pass ;;
            "CHECK FAILED "*) lose "$name: ${line#CHECK FAILED }" "it holds" "it does not" ;;
        esac
    done < <(sed -n "s/^PAGE $1 CHECK/CHECK/p" dom)
    grep -q "^PAGE $1 CHECK end" dom || lose "$name" "the checks run to their end" "$(tail -n 3 log | head -c 1500)"
    if grep "asked_$1.html" console >said; then lose "$name: the console" "no message" "$(head -c 600 said)"; else pass; fi
}

look() {
    local k
    [ -n "$browser" ] || return
    { echo '<!doctype html><body><script>onmessage = function (e) { document.body.append("\n" + e.data + "\n"); };</script>'
      for ((k = 1; k <= ${#asked[@]}; k++)); do
          echo "<iframe style='position:absolute;top:0;left:0;border:0;width:1366px;height:900px' src=asked_$k.html></iframe>"
      done; } >all.html
    browse 1366 all.html
    for ((k = 1; k <= ${#asked[@]}; k++)); do answered $k; done
}

# fits NAME PAGE: to be looked at on a phone, with all others at the end.
phones=()
fits() {
    [ -n "$browser" ] || return
    mkdir -p phones
    cp "$2" "phones/${#phones[@]}.html"
    phones+=("$1=phones/${#phones[@]}.html")
}

whole() {                               # whole NAME PAGE BYTES: one file, of at most so many bytes
    local bytes
    bytes=$(stat -c %s "$2" 2>/dev/null || echo 0)
    if [ "$bytes" -gt 1000 ] && [ "$bytes" -le "$3" ]; then pass
    else lose "$1: its size" "at most $3 bytes" "$bytes"; fi
    if grep -qiE '(src|href)=|(^|[^a-z])url\(|@import|https?://' <(sed 's#http://www.w3.org/2000/svg##' "$2"); then
        lose "$1: self-contained" "no address" "$(grep -oiE '.{30}((src|href)=|(^|[^a-z])url\(|@import|https?://).{30}' "$2" | head -n 1)"
    else pass; fi
    if [ "$(tail -n 1 "$2")" = "</html>" ]; then pass
    else lose "$1: its end" "</html>" "$(tail -c 100 "$2")"; fi
    [ -n "$KEEP" ] && cp "$2" "$KEEP/"
}

# ---- plans ---------------------------------------------------------------------------------------

step=(.plots .readout .peak '.plot.memory path.act' .instrs .wires .bars)

run plan mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --html mnist.html
check "a page instead of text" 0 mnist.html '<path class="par"' '<path class="fwd"' "mnist" "hidden:cols"
if [ -s out ]; then lose "nothing is printed" "nothing" "$(head -c 200 out)"; else pass; fi
whole "mnist" mnist.html 200000
looks "mnist" mnist.html "${step[@]}" .meshes svg.traffic svg.parts '.along' '.hint'
fits "mnist" mnist.html

# One tensor has one name: in the page, in the plan as text and as JSON, in mtf show.
at=(--mesh rows:2,cols:2 --layout batch:rows,hidden:cols)
page_names=$(awk 'match($0, /"tensors":\[(\["[^]]*\],?)*/) {
        n = split(substr($0, RSTART + 11, RLENGTH - 11), each, "],")
        for (k = 1; k <= n; k++) { split(each[k], part, "\""); name[k - 1] = part[2] }
        match($0, /"tensor":\[[0-9,-]*/)
        n = split(substr($0, RSTART + 10, RLENGTH - 10), each, ",")
        for (k = 1; k <= n; k++) printf "%s ", name[each[k]] }' mnist.html)
run plan mnist "${at[@]}" --json --all
json_names=$(sed -n '/"instructions"/,$s/^\t*"tensor":\t*"\(.*\)",\?$/\1/p' out | tr '\n' ' ')
[ -n "$page_names" ] && [ "$page_names" = "$json_names" ] && pass || lose "names of a page" "$json_names" "$page_names"
run plan mnist "${at[@]}" --all
text_names=$(awk '/^ +[0-9]+ / { for (k = 2; k <= NF; k++) if ($k ~ /^\[/) { printf "%s ", $(k - 1); break } }' out)
[ "$text_names" = "$json_names" ] && pass || lose "names of a text" "$json_names" "$text_names"
run show mnist --rate 0.1
for name in $json_names; do grep -q "^$name: " out || lose "names of mtf show" "$name" "$(head -c 300 out)"; done

# The figures are those of the plan as text and as JSON, and of the same step on one processor.
figure() { grep -oE "<dt>$1</dt><dd><b>[^<]*" "$2" | sed 's/.*<b>//'; }       # figure NAME PAGE
of_text() { awk -v row="$1" '$1 == row { print $2, $3; exit }' text | sed 's/ *$//'; }
of_json() { sed -n "s/^\t\"$1\":\t\([0-9.e+-]*\),*$/\1/p" "$2" | head -n 1; } # of the whole plan, not of its parts
same() { if [ -n "$2" ] && [ "$2" = "$3" ]; then pass; else lose "the figure: $1" "$2" "$3"; fi; }
near() {                                # near NAME EXPRESSION FIGURE: to three digits
    if awk -v got="$3" "BEGIN { n = split(got, part, \" \"); x = part[1] * (n < 2 ? 1 : part[2] == \"k\" ? 1e3 : 1e6)
                               exit !(got != \"\" && x > 0.994 * ($2) && x < 1.006 * ($2)) }"; then pass
    else lose "the figure: $1" "$2" "$3"; fi
}
run plan mnist "${at[@]}"
cp out text
same time "$(of_text time)" "$(figure "time of a step" mnist.html)"
same memory "$(of_text memory)" "$(figure "memory of a processor" mnist.html)"
same sent "$(of_text sent)" "$(figure "sent by a processor" mnist.html)"
same flops "$(of_text flops)" "$(figure "flops of a processor" mnist.html)"
same batch "$(awk '$1 == "batch" { print $2; exit }' text)" "$(figure batch mnist.html)"
run plan mnist "${at[@]}" --json
cp out here.json
run plan mnist --json
cp out alone.json
near "examples a second" "$(of_json batch here.json) / $(of_json seconds here.json)" "$(figure "examples a second" mnist.html)"
near speed-up "$(of_json seconds alone.json) / $(of_json seconds here.json)" "$(figure speed-up mnist.html)"
near parameters "28 * 28 * 1024 + 1024 * 10" "$(figure parameters mnist.html)"
near "share of the peak" "100 * $(of_json flops here.json) / $(of_json seconds here.json) / 30e9" \
    "$(grep -oE '[0-9.]+ % of the peak of 30 Gflop/s' mnist.html | sed 's/ .*//')"
check "its command and version" 0 mnist.html \
    "mtf plan mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --html mnist.html</code> <span>$("$MTF" --version | cut -d' ' -f1,2)<"

run plan --gin_file gpt2_124m.gin --machine h100-node --mesh batch:4,model:2 --layout batch:batch,heads:model,d_ff:model --html gpt.html
check "a language model" 0 gpt.html "examples of 1024 tokens" "<code>h100-node</code> <span>15.4 Tflop/s" "of the peak of 743 Tflop/s"
near "the published parameters" 124.4e6 "$(figure parameters gpt.html)"
run plan --gin_file gpt2_124m.gin --machine h100-node --mesh batch:4,model:2 --layout batch:batch,heads:model,d_ff:model --json
near "tokens a second" "1024 * $(of_json batch out) / $(of_json seconds out)" "$(figure "tokens a second" gpt.html)"
check "layers, equal ones together" 0 gpt.html '>12 x transformer/<wbr>block_000</th>' "<h3>By layer</h3>"
run plan --gin_file gpt2_124m.gin --machine h100-node --mesh batch:4,model:2 --layout batch:batch,heads:model,d_ff:model
near "a layer as in the text" "$(awk '$1 == "x" && $2 == 12 && /block_000/ { print $3 * ($4 == "ms" ? 1000 : 1) }' out)" \
    "$(grep -oE 'block_000</th>.*' gpt.html | grep -oE '<td>[0-9.]* [mu]s</td>' | sed -n '2s/<[^>]*>//gp' | awk '{ print $1 * ($2 == "ms" ? 1000 : 1) }')"
if grep -qE '>block_0?11</span>' gpt.html; then pass
else lose "lanes without their common prefix" "block_011" "$(grep -oE '>[a-z_/0-9]*block[^<]*</span>' gpt.html | head -n 1)"; fi
check "names break after slashes" 0 gpt.html 'transformer/<wbr>block_#/<wbr>'
check "memory that is far more" 0 gpt.html "the machine has 80 GB" "&#8593;"
looks "a language model" gpt.html "${step[@]}" '.peak' 'span.capacity:not(.over)' '.tensors wbr'
fits "a language model" gpt.html
run plan mnist "${at[@]}" --machine capacity=11.5e6 --html room.html
check "memory that is enough" 0 room.html 'path class="capacity"' 'class="capacity"' "the machine has 11.5 MB"
run plan mnist "${at[@]}" --machine capacity=10e6 --html tight.html
check "memory that is too little" 0 tight.html 'path class="capacity"' 'class="capacity over"' "the machine has 10 MB"
looks "memory that is enough" room.html 'path.capacity' 'span.capacity:not(.over)'
fits "memory that is enough" room.html
fits "memory that is too little" tight.html

file "it's one.mtf" 'x: f32[b=4] = input' 'w: f32[b=4] = variable' 'y = assign(w, x)'
run plan "it's one.mtf" --html quoted.html
check "a command that needs quotes" 0 quoted.html "mtf plan &#39;it&#39;\\&#39;&#39;s one.mtf&#39; --html quoted.html"
if grep -q "a second" quoted.html; then lose "no batch" "no speed" "$(grep -o '.\{60\}a second' quoted.html)"; else pass; fi

run plan mnist --html one.html
check "one processor" 0 one.html "There is one processor" "No collectives"
looks "one processor" one.html .plots .readout .instrs .empty
fits "one processor" one.html

# A stack of 48 layers with its training step; each layer is a scope.
layers() {
    local i x=x0 w=""
    echo 'tokens: f32[batch=64, model=512] = input'
    echo 'x0 = identity(tokens)'
    for ((i = 0; i < 48; i++)); do
        printf 'layer%d/in: f32[model=512, ff=2048] = variable\nlayer%d/out: f32[ff=2048, model=512] = variable\n' $i $i
        printf 'layer%d/h: [batch, ff] = einsum(%s, layer%d/in)\n' $i $x $i
        printf 'layer%d/y: [batch, model] = einsum(relu(layer%d/h), layer%d/out)\n' $i $i $i
        printf 'layer%d/x = %s + layer%d/y\n' $i $x $i
        x=layer$i/x w="$w, layer$i/in, layer$i/out"
    done
    echo "loss = reduce_mean($x * $x)"
    local names=${w#, } grads
    grads=$(sed 's/layer\([0-9]*\)\/\([a-z]*\)/g\2\1/g' <<<"$names")
    echo "$grads = gradients(loss; $names)"
    for ((i = 0; i < 48; i++)); do
        echo "n$i = assign(layer$i/in, layer$i/in - 0.1 * gin$i)"
        echo "m$i = assign(layer$i/out, layer$i/out - 0.1 * gout$i)"
    done
}
layers >deep.mtf
run plan deep.mtf --mesh rows:8,cols:8 --layout batch:rows,ff:cols --html deep.html
check "48 layers" 0 deep.html "layer47" "64 processors"
whole "48 layers" deep.html 2000000
looks "48 layers" deep.html "${step[@]}" .meshes
fits "48 layers" deep.html
if [ -n "$browser" ]; then              # forward goes down through the layers, backward up again
    grep -o '"layer":\[[^]]*\]' deep.html | tr -d '"a-z:[]' | tr ',' '\n' >lanes
    if [ "$(awk '$1 > most { most = $1 } END { print most }' lanes)" = 48 ]; then pass
    else lose "layers of instructions" "48 layers" "$(sort -n lanes | tail -n 1)"; fi
fi

# Names that would like to be code; bytes that are not text.
evil='</script><script>hacked=1</script><img src=x onerror=hacked=2>"&'
evil=${evil//\"/}
file evil.mtf \
    "\"$evil\": f32[\"<b>dim</b>\"=4, \"a&b\"=6] = variable" \
    "\"it's / \`quoted\` \${x}\" = exp(\"$evil\")" \
    "w = assign(\"$evil\", \"it's / \`quoted\` \${x}\")"
run plan evil.mtf --mesh x:2 --layout '<b>dim</b>:x' --html evil.html
check "hostile names" 0 evil.html "&lt;/script&gt;" "&lt;b&gt;dim&lt;/b&gt;"
if [ "$(grep -c '<script' evil.html)" -eq 2 ]; then pass
else lose "hostile names: scripts" "the page's two" "$(grep -c '<script' evil.html)"; fi
looks "hostile names" evil.html .plots .readout .instrs
fits "hostile names" evil.html

run plan mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --diff batch:rows+cols --html diff.html
check "two layouts" 0 diff.html "layout A" "layout B" "batch:rows+cols"
run plan mnist "${at[@]}" --diff batch:rows+cols
faster=$(awk '$1 == "time" { print $NF < 1 ? "B" : "A" }' out)
near "how much faster" "$(awk '$1 == "time" { x = $NF; if (x < 1) print 1 / x; else print x }' out)" \
    "$(grep -oE "class=\"hint verdict\">$faster is <b>[^<]*" diff.html | sed 's/.*<b>//')"
near "with what memory" "$(awk -v B="$faster" '$1 == "memory" { if (B == "B") print $NF; else print 1 / $NF }' out)" \
    "$(grep -oE "and needs <b>[^<]*" diff.html | sed 's/.*<b>//')"
check "why, and where" 0 diff.html "Most is gained in <code>" "<dt>machine</dt>" "<dt>command</dt>" "sides-key"
run plan mnist "${at[@]}" --diff batch:rows,hidden:cols --html same.html
check "two equal layouts" 0 same.html "B is as fast as A, and needs the same memory."
looks "two layouts" diff.html .pairs '.sides .plots' '.readout[data-plan=\"1\"]' '.instrs[data-plan=\"1\"]'
whole "two layouts" diff.html 300000
fits "two layouts" diff.html

# A rule for state that would raise the memory is declined, as in tests/shell/plan.sh: pages say so, and why.
file whole.mtf 'x: f32[batch=4, h=600] = constant(value=0.25)' 'w: f32[h=600, k=600] = variable' 'y = loop(x, trips=3) {' \
    '    body(s; i) {' '        t: [batch, k] = einsum(s, w)' '        yield tanh(rename_dimension(t, from=k, to=h))' '    }' '}' \
    'loss = reduce_mean(square(y))' 'nw = assign(w, 0.5 * w)'
settled=(whole.mtf --mesh x:2 --layout batch:x --state-layout h:x --fetch loss)
run plan "${settled[@]}"
sed -n 's/^ *\(state rule .*\)/\1/p' out | sed 's/"/\&quot;/g' >declined
[ -s declined ] && pass || lose "a rule is declined" "a sentence" "$(cat out err)"
run plan "${settled[@]}" --html declined.html
check "a declined rule" 0 declined.html "$(cat declined)"
looks "a declined rule" declined.html '.setting .declined' .plots
fits "a declined rule" declined.html
run plan "${settled[@]}" --diff k:x --html declined.html
check "of two layouts" 0 declined.html "$(cat declined)"
run layout "${settled[@]}" --html declined.html
check "in a search" 0 declined.html "$(cat declined)"

refuses "a page that cannot be written" "cannot be written" plan mnist --html no/such/folder/x.html
misused "a page and JSON" "leave --json" plan mnist --html x.html --json
misused "a page of layouts and JSON" "leave --json out" layout mnist --mesh x:2 --html x.html --json
run plan mnist --mesh big:4096 --layout batch:big --html big.html
check "a large mesh" 0 big.html "The first 256 of 4096 processors are drawn"
looks "a large mesh" big.html .meshes
fits "a large mesh" big.html

file nothing.mtf 'x: f32[a=3] = input'
run plan nothing.mtf --fetch x --html nothing.html
check "a program that computes nothing" 0 nothing.html "This program computes nothing"
looks "a program that computes nothing" nothing.html .figures .empty
fits "a program that computes nothing" nothing.html

# ---- layouts -------------------------------------------------------------------------------------

run layout mnist --mesh rows:2,cols:4 --html layout.html
check "layouts" 0 layout.html "Time against memory" "what it loses by" "optimal" \
    "<dt>objective</dt><dd>time</dd>" "mtf layout mnist --mesh rows:2,cols:4 --html layout.html"
whole "layouts" layout.html 300000
looks "layouts" layout.html .scatter .layouts .readout 'circle.front' 'line.front'
fits "layouts" layout.html
run layout mnist --mesh rows:2,cols:4 --json
best=$(sed -n 's/.*"layout":[^"]*"\([^"]*\)".*/\1/p' out | head -n 1)
if grep -A1 "<h3>The best" layout.html | grep -qF "<p><code>$best</code></p>"; then pass
else lose "the page's best is the command's" "$best" "$(grep -A1 "<h3>The best" layout.html)"; fi
check "the machine is told" 0 layout.html "<dt>machine</dt><dd><span>30 Gflop/s, memory 10 GB/s"
# Labels of few dots and of many, some of them on one another.
for how in "toy --mesh x:2,y:2" "mnist --mesh auto:8 --state-layout auto" \
    "toy --mesh x:4 --objective memory"; do
    run layout $how --html many.html
    check "layouts of $how" 0 many.html "<dt>objective</dt>"
    looks "layouts of $how" many.html .scatter .label
    fits "layouts of $how" many.html
done
run layout mnist --mesh auto:4 --memory-limit 18M --state-layout auto --html limit.html
check "a limit and meshes to be found" 0 limit.html "limit 18" "time, with at most 18.9 MB of memory"
looks "a limit and meshes to be found" limit.html .scatter 'line.limit'
fits "a limit and meshes to be found" limit.html

# ---- runs ----------------------------------------------------------------------------------------

run train toy --mesh all:2 --layout batch:all --steps 300 --quiet --checkpoint-dir run --save-every 100 --report run.html
check "a run" 0 run.html "finished, after step 300 of 300" "Where the time went" "learning rate" "steps a second"
whole "a run" run.html 300000
looks "a run" run.html .curve .profile
fits "a run" run.html
run train toy --steps 400 --quiet --checkpoint-dir run --resume --report run.html
check "a run that goes on" 0 run.html "after step 400 of 400; this run began after step 300"
looks "a run that goes on" run.html .curve

# Utilisation is what the plan counts, against the same peak: in each step, and in the mean of all.
run train toy --steps 40 --quiet --report use.html
run plan toy --json
python3 - "$(of_json flops out)" use.html >used <<'END'
import json, re, sys
page = open(sys.argv[2]).read()
run = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))["runs"][0]
times = [b - a for a, b in zip([0] + run["seconds"], run["seconds"])]
wrong = [k for k, t in enumerate(times) if abs(run["use"][k] - 100 * float(sys.argv[1]) / t / 30e9) > 0.01 * run["use"][k]]
mean = 100 * 40 * float(sys.argv[1]) / sum(times) / 30e9
shown = float(re.search(r"utilisation</dt><dd><b>([0-9.]+) %", page).group(1))
print("right" if len(times) == 40 and not wrong and abs(shown - mean) <= 0.051 else (wrong[:5], shown, mean))
END
check "utilisation" 0 used right
run train toy --steps 20 --quiet --machine h100-node --report use.html
check "the peak of a machine" 0 use.html "of the peak of 743 Tflop/s, h100-node"

# Runs beside each other: an optimizer against another one, by the pages that they wrote.
run train toy --optimizer adam --rate 0.01 --steps 200 --quiet --report adam.html
run train toy --mesh x:2 --layout batch:x --rate 0.05 --steps 150 --quiet --report sgd.html --report-beside adam.html \
    --report-beside "the first one=run.html"
check "runs in one picture" 0 sgd.html "<h2>The runs</h2>" '<span class="r1"><i></i>adam</span>' "the first one" \
    "<code>mtf train toy --mesh x:2 --layout batch:x --rate 0.05" "<code>mtf train toy --optimizer adam"
whole "runs in one picture" sgd.html 500000
looks "runs in one picture" sgd.html 'path.raw.r0' 'path.line.r1' 'path.line.r2' 'table.runs' '.curve .value.r2'
fits "runs in one picture" sgd.html
# What the other page says of its run is drawn, and nothing of the runs that were drawn beside it.
run train toy --steps 30 --quiet --report three.html --report-beside sgd.html
python3 - adam.html run.html sgd.html three.html >drawn <<'END'
import json, re, sys
adam, first, sgd, three = (json.loads(re.search(r'id="data">(.*?)</script>', open(f).read(), re.S).group(1))["runs"]
                           for f in sys.argv[1:])
same = lambda a, b: {k: v for k, v in a.items() if k != "name"} == {k: v for k, v in b.items() if k != "name"}
names = [r["name"] for r in sgd] + [r["name"] for r in three]
print("right" if same(adam[0], sgd[1]) and same(first[0], sgd[2]) and same(sgd[0], three[1]) and
      names == ["sgd", "adam", "the first one", "three", "sgd"] else names)
END
check "what is drawn" 0 drawn right
refuses "a plan beside a run" '"mnist.html" is not the page of a run' train toy --steps 2 --quiet --report x.html --report-beside mnist.html
refuses "no page beside a run" "No such file" train toy --steps 2 --quiet --report x.html --report-beside none.html
sed 's/"loss":\[[0-9.]*,/"loss":[/' adam.html >cut.html
refuses "a page that was changed" '"cut.html" is not the page of a run' train toy --steps 2 --quiet --report x.html --report-beside cut.html
misused "other runs without a page" "--report-beside adds a run to the page of --report" train toy --steps 2 --report-beside adam.html
misused "one name for two runs" 'two runs of the page are called "x"' train toy --steps 2 --report x.html --report-beside x=adam.html
misused "too many runs" "at most 7 other runs, and 8 are named" train toy --steps 2 --report x.html \
    $(for k in 1 2 3 4 5 6 7 8; do echo "--report-beside $k=adam.html"; done)
misused "the page itself beside a run" "a file of --report-beside" train toy --steps 2 --report adam.html --report-beside old=adam.html
[ -e x.html ] && lose "nothing is written after an error" "no page" "x.html" || pass
refuses "a report that cannot be written" "cannot be written" train toy --steps 2 --quiet --report no/such/folder/x.html

# The page is there from the first save on: a run that is killed later has left one.
"$MTF" train toy --steps 1000000 --quiet --checkpoint-dir killed --save-every 50 --report killed.html >out 2>err </dev/null &
pid=$!
for ((k = 0; k < 600; k++)); do [ -s killed.html ] && break; sleep 0.1; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
status=0
check "a run that was killed" 0 killed.html "running, after step" "</html>"

# Evaluations, from a file's model.
for ((k = 0; k < 40; k++)); do echo "$((k % 7)).5"; done >x.tsv
file line.mtf 'x: f32[batch=8] = input' 'w: f32[] = variable' 'loss = reduce_mean(square(x * w - 3))'
run train line.mtf --data x=x.tsv:part=0 --eval-data x=x.tsv:part=0 --loss loss --optimizer sgd --epochs 3 \
    --eval-every 1 --quiet --report eval.html
check "evaluations" 0 eval.html "test loss" "of the last evaluation"
looks "evaluations" eval.html '.curve circle'
fits "evaluations" eval.html

run train line.mtf --data x=x.tsv:part=0 --loss loss --optimizer sgd --rate 1e20 --steps 9 --quiet --report nan.html
check "a loss that is not a number" 1 nan.html "failed: " "steps"
looks "a loss that is not a number" nan.html .setting
fits "a loss that is not a number" nan.html

[ "$MTF_TEST" = fast ] && experts_steps=20 || experts_steps=70
cat >mixture.gin <<'END'
include 'lm_moe.gin'
num_layers = 1
d_model = 32
num_heads = 4
d_kv = 8
MoE1D.hidden_size = 16
max_length = 32
run.sequence_length = {'targets': 32}
run.batch_size = ('sequences_per_batch', 8)
END
run train --gin_file mixture.gin --text "$root/data/text/moby-dick.txt:documents=file:joined" --steps $experts_steps --quiet --report experts.html
check "experts" 0 experts.html "The load of experts" "32 experts" "<summary>The configuration" "<dt>command</dt>"
whole "experts" experts.html 300000
looks "experts" experts.html '.heat path'
fits "experts" experts.html

# Slices of volumes, beside what they are and what the model says.
file volumes.mtf 'v: f32[example=4, height=8, width=8, depth=4] = random_uniform(low=0, high=3, key=1)' \
    'l: i32[example=4, height=8, width=8, depth=4] = cast(v)'
for part in train test; do run run volumes.mtf --fetch v=$part-volumes.npy --fetch l=$part-labels.npy; done
run train unet --batch 4 --depth 4 --filters 3 --levels 2 --convs 1 --size 8 --data-dir . --steps 2 --quiet --report volumes.html
check "examples of volumes" 0 volumes.html "<h2>Examples" 'aria-label="prediction of example 4"'
looks "examples of volumes" volumes.html '.example svg path'
fits "examples of volumes" volumes.html

fits "the page of mtf serve" "$root/src/serve/serve_page.html"
look
[ -n "$browser" ] && on_phones "$root" "${phones[@]}"

echo "page.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
