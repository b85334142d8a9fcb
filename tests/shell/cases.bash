# How a shell test of the command tells a case: sourced by the scripts beside it.
#
# Wants MTF, the command; counts in passed and failed; leaves out, err and status of the last run.
passed=0 failed=0

pass() { passed=$((passed + 1)); }
lose() {                                # lose NAME EXPECTED GOT
    failed=$((failed + 1))
    printf 'FAILED %s\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3"
}

run() { "$MTF" "$@" >out 2>err </dev/null; status=$?; }

check() {                               # check NAME STATUS STREAM TEXT...: after `run`
    local name=$1 want=$2 stream=$3 text
    shift 3
    if [ $status -ne "$want" ]; then
        lose "$name" "exit status $want" "$status: $(head -c 600 err)"
        return
    fi
    for text in "$@"; do
        if ! grep -qF -- "$text" "$stream"; then
            lose "$name" "$text" "$(head -c 2000 "$stream")"
            return
        fi
    done
    pass
}

# Why there is no pseudo-terminal, "" where there is one: containers may lack /dev/ptmx.
terminal_lacks() {
    if ! command -v script >/dev/null; then echo "no command script"
    elif [ "$(script -qec 'test -t 1 && echo one' /dev/null </dev/null 2>/dev/null | tr -d '\r\n')" != one ]; then
        echo "script gives no pseudo-terminal"
    fi
}
without_terminal=$(terminal_lacks)

prints()  { local name=$1 text=$2; shift 2; run "$@"; check "$name" 0 out "$text"; }
# Status 2 where the message says that the command line is at fault, else 1.
refuses() {
    local name=$1 text=$2 want=1
    shift 2
    run "$@"
    grep -q '^mtf: usage: ' err && want=2
    check "$name" $want err "$text" "mtf: "
}
misused() { local name=$1 text=$2; shift 2; run "$@"; check "$name" 2 err "$text" "mtf: usage: "; }
