#!/bin/bash
# Tests the mesh over MPI: the same bits as on threads, and what is refused; faults.sh has the rest.
#
# Usage: MTF=path/to/mtf MPIRUN=path/to/mpirun tests/shell/mpi.sh      default: build/mtf, its mpirun
cd "$(dirname "$0")/../.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
[ -x "$MTF" ] || { echo "mpi.sh: no command at $MTF"; exit 2; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
. "$root/tests/shell/ranks.bash"
end_at_once

# ---- how a case is told --------------------------------------------------------------------------

file() { printf '%s\n' "${@:2}" >"$1"; }    # file NAME LINE...

if [ -n "$without_ranks" ]; then
    echo "note: $without_ranks"
    file one.mtf 'x: f32[n=3] = range' 's = reduce_sum(x)'
    case $("$MTF" --version) in
        *"MPI: none"*)
            OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 run run one.mtf --mesh x:2
            check "ranks without MPI" 1 err '2 processes were started for one mesh, but this build of mtf has no MPI'
            ;;
        *) pass ;;
    esac
    printf 'mpi: %d passed, %d failed\n' $passed $failed
    exit $((failed > 0))
fi

ranks() {                               # ranks N COMMAND...: leaves out, err, status, took
    local begin
    begin=$(date +%s)
    timeout -k 5 200 "${launcher[@]}" -n "$@" >out 2>err </dev/null
    status=$?
    took=$(($(date +%s) - begin))
}

fails() {                               # fails NAME TEXT: after `ranks`; the text comes once
    if [ $status -eq 0 ] || [ $took -gt 10 ]; then
        lose "$1" "not 0, within 10 s" "$status after $took s: $(head -c 600 err)"
    elif [ "$(grep -cF -- "$2" err)" -ne 1 ]; then
        lose "$1" "once: $2" "$(head -c 900 err)"
    else
        pass
    fi
}

# ---- every case, on threads and on ranks ---------------------------------------------------------

cases() {                               # cases RANKS PART-OF-PATHS
    ranks "$1" "$(dirname "$MTF")/tests/test_ranks" "$2" 1
    read -r good bad < <(awk '/^test_ranks: / { print $2, $4 }' out)
    passed=$((passed + ${good:-0})) failed=$((failed + ${bad:-1}))
    if [ $status -ne 0 ]; then lose "cases $2 on $1 ranks" "exit status 0" "$status: $(tail -n 20 out err)"; fi
}
meshes="2 3 4 6" sent_parts="einsum reduce shape state"
fast() { [ "$MTF_TEST" = fast ]; }      # a sample: starting ranks takes half a second
fast && meshes=3 sent_parts=state
for n in $meshes; do cases "$n" ""; done
export MTF_SHARE=no                     # as between machines: messages only
for part in $sent_parts; do cases 4 $part/; done
unset MTF_SHARE

# As on several hosts: in two stages, where hosts and axes match.
on_hosts() {                            # on_hosts RANKS LAYOUTS: of each mesh, type and size, on two hosts and more
    ranks "$1" "$(dirname "$MTF")/tests/test_hosts" "$2"
    read -r good bad < <(awk '/^test_hosts: / { print $2, $4 }' out)
    passed=$((passed + ${good:-0})) failed=$((failed + ${bad:-1}))
    if [ $status -ne 0 ]; then lose "collectives of $1 ranks on hosts" "exit status 0" "$status: $(tail -n 20 out err)"; fi
}
if fast; then
    on_hosts 4 1
else
    on_hosts 2 8
    on_hosts 4 8
    on_hosts 6 6
fi

# ---- the command: files and text from the first rank alone ---------------------------------------

# The case with its inputs written into it: "#< x = 1 2 3" is its comment for the harness.
with_values() {
    awk '/^#< / { name = $2; $1 = $2 = $3 = ""; sub(/^ +/, ""); gsub(/ +/, ", "); value[name] = $0; next }
         { line[++n] = $0 }
         END { for (i = 1; i <= n; i++) {
                   if (match(line[i], /^[^ :]+: .* = input$/)) {
                       name = line[i]; sub(/:.*/, "", name)
                       sub(/= input$/, "= constant(data={" value[name] "})", line[i])
                   }
                   print line[i] } }' "$1"
}

same() {                                # same CASE FETCH RANKS MESH LAYOUT
    with_values "$root/tests/cases/$1.mtf" >case.mtf
    same_file "$@"
}

same_file() {                           # the same of case.mtf
    local name="$1 on $3 ranks, --mesh $4 --layout $5"
    fast && [ $((compared++ % 4)) -ne 0 ] && return
    rm -f threads.npy ranks.npy
    "$MTF" run case.mtf --fetch "$2=threads.npy" --threads 1 --mesh "$4" --layout "$5" >out 2>err </dev/null ||
        { lose "$name" "a run on threads" "$(head -c 600 err)"; return; }
    ranks "$3" "$MTF" run case.mtf --fetch "$2=ranks.npy" --threads 1 --mesh "$4" --layout "$5"
    if [ $status -ne 0 ]; then lose "$name" "exit status 0" "$status: $(head -c 600 err)"
    elif cmp -s threads.npy ranks.npy; then pass
    else lose "$name" "the bytes of the threads" "others"; fi
}

same einsum/attention    y   2 x:2         k:x
same einsum/three        y   3 x:3         b:x,d:x
same reduce/reduce_sum   y4  2 x:2,y:3     b:x+y
same reduce/cumsum       y2  3 x:3         b:x
same shape/reshape       y5  4 x:2,y:2     a:x,b:y
same shape/shift         y4  6 x:2,y:3     b:y,a:x
same softmax/softmax     y2  2 x:3         b:x
same conv/conv2d         y   3 x:2,y:3     h:y,w:x
same indices/gather      y7  4 x:4         v:x
same indices/sort        y2  2 x:2,y:2     b:y+x
same random/normal_f32   y2  3 x:3         a:x
same control/loop        dw  2 x:2         b:x
same state/descent       new_w1 4 x:2,y:2  batch:x,hidden:y
same large/product_f32   z   2 x:2,y:3     a:x,b:y
same state/descent       new_w1 2 x:2      auto
same einsum/three        y   3 auto:6      auto

# More than ranks show each other at once: summed, scattered, the largest scattered, gathered.
file case.mtf 'x: f32[a=7, n=150001] = random_normal' 's: [n] = reduce_sum(x)' 'd: [n] = reduce_sum(x * 0.3)' \
    't: [m=150001] = reshape(d)' 'e: [n] = reduce_max(x)' 'u: [m=150001] = reshape(e)' \
    'z: f32[b=6, k=150001] = random_normal' 'w: [q=900006] = reshape(z)' 'v = shift(w, offset=1, dim=q)'
for fetch in s t u v; do same_file long $fetch 3 x:3 a:x,m:x,b:x; done
same_file long t 4 x:2,y:2 a:y+x,m:x+y

# The same of whole numbers, whose sums are the same in any order, on two hosts.
file case.mtf 'r: f32[a=7, n=150001] = random_uniform' 'x = floor(r * 50.0)' 's: [n] = reduce_sum(x)' \
    'd: [n] = reduce_sum(x * 3.0)' 't: [m=150001] = reshape(d)' 'v = rename_dimension(x, from=a, to=b)' \
    'w = rename_dimension(x, from=n, to=m)'
export MTF_HOSTS=2
for fetch in s t v; do same_file "long, on hosts" $fetch 4 x:4 a:x,m:x; done
same_file "long, on hosts" t 4 x:2,y:2 a:x+y,m:y+x
same_file "long, on hosts" w 4 x:4 n:x
unset MTF_HOSTS

file make.mtf 'x: f32[batch=7, in=5] = random_uniform'
file model.mtf 'x: f32[batch=7, in=5] = input' 'w: f32[in=5, out=6] = variable(init="normal(0, 1)")' \
    'y: [batch, out] = einsum(x, w)' 'z = reduce_sum(y)' 'told = print(z, message="the sum")' 'twice = told * 2.0'
"$MTF" run make.mtf --fetch x=x.npy
model=("$MTF" run model.mtf --feed x=x.npy --fetch y --fetch twice --mesh rows:2,cols:2 --layout batch:rows,in:cols)
"${model[@]}" >want 2>want_err </dev/null
ranks 2 "${model[@]}"
if cmp -s want out && cmp -s want_err err; then pass
else lose "fed, printed and shown once" "$(cat want want_err)" "$(cat out err)"; fi
ranks 4 "${model[@]}" --json
if [ "$(grep -c '^{' out)" -eq 1 ]; then pass; else lose "JSON once" "one object" "$(cat out err)"; fi

example=05_threads_and_mpi
for n in 2 4; do
    fast && [ ! -x "$(dirname "$MTF")/examples/$example" ] && continue   # it builds no examples
    ranks $n "$(dirname "$MTF")/examples/$example"
    if [ $status -eq 0 ] && cmp -s "$root/examples/$example.expected" out; then pass
    else lose "$example on $n ranks" "$(cat "$root/examples/$example.expected")" "$status: $(cat out err)"; fi
done

# ---- batches: each rank reads its own examples ---------------------------------------------------

batches() {                             # batches RANKS PARTS MESH
    ranks "$1" "$(dirname "$MTF")/tests/test_batch_ranks" "$2" "$3"
    if [ $status -eq 0 ] && grep -q ': 14 passed, 0 failed$' out; then pass
    else lose "batches on $1 ranks, mesh $3" "14 right" "$status: $(head -c 600 out err)"; fi
}
fast || batches 2 2 x:2
fast || batches 4 4 x:4
batches 3 3 x:3
fast || batches 4 2 x:2,y:2
ranks 2 "$(dirname "$MTF")/tests/test_batch_ranks" 3 x:2    # files cut otherwise than the mesh
fails "an example of another rank" "nobody's"

text() {                                # text RANKS MESH LAYOUT
    ranks "$1" "$(dirname "$MTF")/tests/test_text_ranks" "$2" "$3"
    if [ $status -eq 0 ] && grep -q '[1-9][0-9]* passed, 0 failed$' out; then pass
    else lose "batches of text on $1 ranks, mesh $2, layout $3" "all right" "$status: $(head -c 600 out err)"; fi
}
fast || text 2 x:2 batch:x
fast || text 3 x:3 length:x
text 4 x:2,y:2 batch:x,length:y

# ---- calibrating: what all ranks measure together ------------------------------------------------

measures() {                            # measures RANKS MESH
    ranks "$1" "$(dirname "$MTF")/tests/test_trial_ranks" "$2"
    if [ $status -eq 0 ] && grep -q ': 3 passed, 0 failed$' out; then pass
    else lose "a machine measured by $1 ranks, mesh $2" "3 right" "$status: $(head -c 600 out err)"; fi
}
fast || measures 2 x:2                  # minutes of a processor
fast || measures 2 x:2,y:2
ranks 2 "$MTF" calibrate --out none/here
fails "calibrate: no such folder, at once" '"none/here" cannot be written: No such file'

# ---- what is refused, once -----------------------------------------------------------------------

ranks 3 "$MTF" run make.mtf --mesh x:2 --layout batch:x
fails "more ranks than processors" "3 ranks were started for a mesh of 2 processors"
ranks 2 "$MTF" run make.mtf --mesh x:2 --layout bach:x
fails "a layout that does not fit" 'the model has no dimension "bach"'
ranks 2 "$MTF" run absent.mtf --mesh x:2
fails "a file that is absent" '"absent.mtf": No such file'
ranks 2 "$MTF" run make.mtf --mush x:2
fails "a misspelt option" 'mtf run has no option --mush'
MTF_SHARE=yes ranks 2 "$MTF" run make.mtf --mesh x:2 --layout batch:x
fails "MTF_SHARE=yes" 'MTF_SHARE is "yes"; it must be no ('
for hosts in 3 0 two; do
    fast && [ $hosts != two ] && continue
    MTF_HOSTS=$hosts ranks 2 "$MTF" run make.mtf --mesh x:2 --layout batch:x
    fails "MTF_HOSTS=$hosts" "MTF_HOSTS is \"$hosts\"; it must be a number of hosts from 1 to 2"
done
two() {                                 # two WORDS... : WORDS...: the first and the second rank
    local all=("$MTF" run)
    for word in "$@"; do
        if [ "$word" = : ]; then all+=(: -n 1 "$MTF" run); else all+=("$word"); fi
    done
    ranks 1 "${all[@]}"
}
two model.mtf --feed x=x.npy --mesh x:2 : model.mtf --feed x=y.npy --mesh x:2
fails "one rank lacks a file" 'file: rank 1, processor x=1: "y.npy": No such file'
file other.mtf 'x: f32[batch=7, in=5] = input' 'z = reduce_max(x)' 'twice = z * 2.0'
two model.mtf --feed x=x.npy --mesh x:2 --layout in:x : other.mtf --feed x=x.npy --mesh x:2 --layout in:x
fails "different programs" 'ranks 0 and 1 run different programs: collective 0 is all_reduce of'
two model.mtf --feed x=x.npy --mesh x:2 --layout in:x : model.mtf --feed x=x.npy --mesh x:2 --layout batch:x
fails "different layouts" 'were started with different meshes or layouts'
two model.mtf --feed x=x.npy --mesh x:2 --layout auto : model.mtf --feed x=x.npy --mesh x:2 --layout batch:x
fails "a layout that one rank leaves open" 'were started with different meshes or layouts'
ranks 2 "$MTF" run model.mtf --feed x=x.npy --mesh x:2 --layout auto --memory 100
fails "no layout that fits" 'memory: no layout on mesh x:2 fits'

# The other library's starter: every process would be alone, and do the whole job.
file one.mtf 'x: f32[n=4] = range' 's = reduce_sum(x)'
case $("$MTF" --version) in
    *"MPI: MPICH"* | *"MPI: mpich"*) other="OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE" by="Open MPI's mpirun" ;;
    *) other="PMI_RANK PMI_SIZE" by="MPICH's mpirun or another that speaks PMI" ;;
esac
read -r rank size <<<"$other"
export $rank=0 $size=2
refuses "started by another MPI" "2 processes were started together, by $by, but to this build's MPI, $("$MTF" --version |
    sed 's/.*MPI: \([^;]*\);.*/\1/'), each of them is alone" run one.mtf --fetch s --mesh x:2 --layout n:x
export $rank=1
run run one.mtf --fetch s --mesh x:2 --layout n:x
if [ $status -eq 1 ] && [ ! -s out ] && [ ! -s err ]; then pass
else lose "started by another MPI, the second process" "status 1, no word" "$status: $(cat out err)"; fi
unset $rank $size

# The first rank's search holds for all, also where another's would end otherwise.
far=flops=1e9,memory=1e9,wire=1e3,latency=1 near=flops=1,memory=1e9,wire=1e12,latency=1e-9
best() { "$MTF" layout model.mtf --mesh x:2 --machine "$1" --show 1 | awk 'END { print $NF }'; }
[ "$(best $far)" != "$(best $near)" ] || lose "machines whose best layouts differ" "two layouts" "$(best $far)"
auto=(model.mtf --feed x=x.npy --fetch y --mesh x:2 --layout auto --machine)
"$MTF" run "${auto[@]}" $far >want 2>err </dev/null
two "${auto[@]}" $far : "${auto[@]}" $near
if [ $status -eq 0 ] && cmp -s want out; then pass
else lose "one rank's layout for all" "$(cat want)" "$status: $(cat out err)"; fi

# So does what it says of rules for state, once: a loop needs all of w at once.
file loop.mtf 'x: f32[batch=4, h=60] = constant(value=0.25)' 'w: f32[h=60, k=60] = variable' 'y = loop(x, trips=3) {' \
    '    body(s; i) {' '        t: [batch, k] = einsum(s, w)' '        yield tanh(rename_dimension(t, from=k, to=h))' '    }' '}' \
    'loss = reduce_mean(square(y))' 'nw = assign(w, 0.5 * w)'
"$MTF" run loop.mtf --fetch loss --mesh x:2 --layout batch:x --steps 3 >want 2>err </dev/null
ranks 2 "$MTF" run loop.mtf --fetch loss --mesh x:2 --layout batch:x --state-layout h:x --steps 3
if [ $status -eq 0 ] && cmp -s want out && [ "$(grep -c 'state rule "h:x" is declined' err)" -eq 1 ]; then pass
else lose "a rule for state is declined once for all ranks" "$(cat want)" "$status: $(cat out err)"; fi

# ---- planned and measured, over all ranks --------------------------------------------------------

file net.mtf 'x: f32[batch=12, d=40] = random_normal' 'w: f32[d=40, hidden=130] = variable' \
    'h: [batch, hidden] = einsum(x, w)' 'm = reduce_max(h, over=(batch))' \
    'dw = gradients(reduce_sum(h * h); w)' 'nw = assign(w, w - dw)'
audited() {                             # audited RANKS HOSTS MESH LAYOUT STATE
    "$MTF" plan net.mtf --fetch nw --fetch m --ranks $1 --hosts $2 --mesh $3 --layout $4 --state-layout "$5" --json >plan.json
    ranks $1 "$MTF" run net.mtf --fetch nw=nw.npy --fetch m=m.npy --mesh $3 --layout $4 --state-layout "$5" --threads 5 --analyze
    if [ $status -ne 0 ] || [ "$(grep -c ' equal$' out)" -ne 12 ] || grep -q DIFFERENT out; then
        lose "the plan of $1 ranks on $2 hosts, $3 as $4 $5" "twelve times equal" "$status: $(tail -n 12 out; cat err)"
    else pass; fi
    local sent
    sent=$(awk '/^bytes sent  / { print $4 }' out)
    if [ "$(sed -n '/"total"/,/}/s/.*"sent_bytes":[^0-9]*\([0-9]*\).*/\1/p' plan.json)" = "$sent" ]; then pass
    else lose "bytes of mtf plan for $1 ranks on $2 hosts" "$sent" "$(cat plan.json)"; fi
}
for share in yes no; do
    [ $share = yes ] || export MTF_SHARE=no
    for n in 2 3 4; do
        fast && [ $share$n != yes3 ] && [ $share$n != no4 ] && continue
        hosts=1
        [ $share = yes ] || hosts=$n
        fast || audited $n $hosts x:$n batch:x ""
        audited $n $hosts x:$n batch:x hidden:x
        fast || audited $n $hosts x:12 batch:x d:x
        audited $n $hosts x:2,y:2 batch:x,hidden:y ""
    done
done
unset MTF_SHARE

# On hosts: what leaves them is what a machine file with as many processors in a node plans.
planned_outside() {                     # planned_outside RANKS NODE MESH LAYOUT STATE: bytes of all processors
    local k sum=0 each
    for ((k = 0; k < $1; k++)); do
        each=$("$MTF" plan net.mtf --fetch nw --fetch m --machine node=$2 --mesh $3 --layout $4 --state-layout "$5" --processor $k --json |
            sed -n 's/.*"sent_outside":[^0-9]*\([0-9]*\).*/\1/p')
        sum=$((sum + each))
    done
    echo $sum
}
leaves() {                              # leaves RANKS HOSTS MESH LAYOUT STATE
    audited "$@"
    local sent planned
    sent=$(awk '/^bytes to other hosts/ { print $6 }' out) planned=$(planned_outside $1 $(($1 / $2)) $3 $4 "$5")
    if [ "$sent" = "$planned" ] && [ "$sent" -gt 0 ]; then pass
    else lose "bytes between $2 hosts of $1 ranks, $3 as $4 $5" "$planned, and more than 0" "$sent"; fi
}
for hosts in 2 3; do
    export MTF_HOSTS=$hosts
    if fast; then
        [ $hosts = 3 ] || leaves 4 2 x:2,y:2 batch:x+y d:y
        continue
    fi
    [ $hosts = 3 ] || leaves 4 2 x:4 batch:x ""
    [ $hosts = 3 ] || leaves 4 2 x:4 batch:x hidden:x
    [ $hosts = 3 ] || leaves 4 2 x:2,y:2 batch:x+y d:y
    leaves 6 $hosts x:6 batch:x ""
    leaves 6 $hosts x:6 batch:x d:x
    leaves 6 $hosts x:$hosts,y:$((6 / hosts)) batch:x+y hidden:y+x
    leaves 6 $hosts x:$hosts,y:$((6 / hosts)) batch:x,hidden:y ""
done
unset MTF_HOSTS

# And as the system counts it, in a network of its own where everything but shared memory passes one interface.
file sum.mtf 'x: f32[a=4, n=262144] = random_normal' 'v: f32[n=262144] = variable(init="zeros")' 's: [n] = reduce_sum(x)' \
    'nv = assign(v, v + s)'
passes() {                              # passes STEPS: the bytes that they sent on the interface
    local before
    before=$(awk '$1 == "lo:" { print $10 }' /proc/net/dev)
    timeout 60 "${launcher[@]}" --mca btl tcp,self --mca btl_tcp_if_include lo -n 4 "$MTF" run sum.mtf --fetch nv=nv.npy \
        --mesh x:4 --layout a:x --threads 1 --steps "$1" >out 2>err </dev/null || return 1
    echo $(($(awk '$1 == "lo:" { print $10 }' /proc/net/dev) - before))
}
count_alone() { ip link set lo up && one=$(passes 1) && more=$(passes 11) && echo $(((more - one) / 10)); }
export -f passes count_alone
if ! unshare -n ip link set lo up 2>/dev/null || [[ ${launcher[*]} != *--oversubscribe* ]]; then
    echo "not counted on an interface: that needs unshare -n, ip and Open MPI"
else
    step=$(MTF_HOSTS=2 MTF=$MTF unshare -n bash -c "launcher=(${launcher[*]}); count_alone")
    if [ "${step:-0}" -ge $((2 * 4 * 262144)) ] && [ "$step" -lt $((22 * 4 * 262144 / 10)) ]; then pass
    else lose "bytes of a sum on the interface" "twice the operand, and headers" "$step: $(head -c 600 err)"; fi
fi

# ---- what MPI is given: as planned, however many micro-batches -----------------------------------

network=(mnist --hidden 256 --batch 64 --mesh x:2 --layout batch:x)
total() { sed -n '/"total"/,/}/s/.*"sent_bytes":[^0-9]*\([0-9]*\).*/\1/p'; }
given() {                               # given STEPS OPTION...: prints the bytes that both ranks send
    ranks 2 "$(dirname "$MTF")/tests/mtf_counting" train "${network[@]}" --data-dir "$root/data/mnist" --steps "$@"
    awk '/^rank [01] sent [0-9]+ bytes$/ { n++; all += $4 } END { print n == 2 ? all : "nothing" }' err
}
export MTF_SHARE=no
for type in f32 bf16; do
    fast && [ $type = bf16 ] && continue
    whole=$("$MTF" plan "${network[@]}" --dtype $type --microbatches 1 --ranks 2 --hosts 2 --json | total)
    for parts in 1 2 4; do
        fast && [ $parts != 2 ] && continue
        how=(--dtype $type --microbatches $parts)
        planned=$("$MTF" plan "${network[@]}" "${how[@]}" --ranks 2 --hosts 2 --json | total)
        one=$(given 1 "${how[@]}") three=$(given 3 "${how[@]}")
        got="planned $planned, $one bytes in 1 step, $three in 3: $(head -c 300 err)"
        if [ "$planned" -gt 0 ] && [ "$planned" = "$whole" ] && [ $((three - one)) -eq $((2 * planned)) ]; then pass
        else lose "bytes of $parts micro-batches in $type" "$whole a step" "$got"; fi
    done
done
unset MTF_SHARE

# ---- failing while it runs -----------------------------------------------------------------------

file nan.mtf 'x: f32[n=6] = constant(data={1, 2, 3, -1, 5, 6})' 'l = log(x)' 's = reduce_sum(l)'
for n in 2 3; do
    fast && [ $n = 3 ] && continue
    ranks $n "$MTF" run nan.mtf --mesh x:3 --layout n:x --device check
    fails "a NaN on $n ranks" 'value: processor x=1: instruction 0 (map) made the first NaN, in "l"'
done

printf 'mpi: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
