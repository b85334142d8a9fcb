# How a shell test runs the command on GPUs: sourced by the scripts beside it.
#
# Wants MTF, the command, and cases.bash.  Sets `real`: 1 with MTF_TEST_GPU=real, which takes the machine's
# own GPU; otherwise the emulated one of the build is put in the loader's path.  Sets `without_gpus`,
# the reason, where neither is possible.
real=0 without_gpus=""
case ${MTF_TEST_GPU:-} in
    '') ;;
    real) real=1 ;;
    *) echo "MTF_TEST_GPU is \"$MTF_TEST_GPU\"; it must be real, or not set"; exit 2 ;;
esac
emulated=$(dirname "$MTF")/tests/host_cuda
if ! "$MTF" --version | grep -q 'CUDA:' || "$MTF" --version | grep -q 'CUDA: none'; then
    without_gpus="this build has no CUDA"
elif [ $real -eq 0 ] && [ ! -e "$emulated/libcuda.so.1" ]; then
    without_gpus="no GPU, and no emulated one at $emulated"
elif [ $real -eq 0 ]; then
    export LD_LIBRARY_PATH=$emulated
fi

losses() { sed -n 's/.*"loss":\([^,}]*\).*/\1/p' out; }
# Losses agree within 1e-3 of their size, or within WITHIN; both files have so many.
near() {                                # near NAME FILE FILE COUNT [WITHIN]
    if [ "$4" -gt 0 ] && [ "$(wc -l <"$2")" -eq "$4" ] && paste "$2" "$3" |
        awk -v within="${5:-1e-3}" '{ gap = ($1 - $2) / $1; if (gap < 0) gap = -gap }
            !(gap <= within) || NF != 2 { bad = 1 } END { exit bad }'; then pass
    else lose "$1" "$4 losses: $(tr '\n' ' ' <"$2")" "$(tr '\n' ' ' <"$3") $(head -c 600 err)"; fi
}
# The same training on both devices has the same losses.
both() {                                # both NAME STEPS ARGUMENT...: leaves on_cpu, on_gpu
    local name=$1 steps=$2
    shift 2
    run train "$@" --steps "$steps" --json --threads 1
    losses >on_cpu
    run train "$@" --steps "$steps" --json --device cuda
    losses >on_gpu
    near "$name: losses of $steps steps" on_cpu on_gpu "$(wc -l <on_cpu)"
}
