# How a shell test starts ranks: sourced by the scripts beside it.
#
# Wants MTF, the command, and MPIRUN, the launcher (default: mpirun, or mpirun.mpich for a build with
# MPICH where there is one); sets `launcher`, an array to which -n N COMMAND... is added, or, where
# ranks cannot be tested, `without_ranks`, the reason.
#
# hasty_words: what the launcher says of a rank that was killed where it ends the others in the same
# moment, too soon for a word of theirs.
launcher=() without_ranks="" hasty_words=""

find_launcher() {
    local library words
    library=$("$MTF" --version | sed 's/.*MPI: \([^;]*\);.*/\1/')
    case $library in
        MPICH*) [ -n "$MPIRUN" ] || MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra) ;;
    esac
    MPIRUN=${MPIRUN:-mpirun}
    if [ "$library" = none ]; then without_ranks="this build has no MPI"; return; fi
    command -v "$MPIRUN" >/dev/null || { without_ranks="there is no $MPIRUN"; return; }
    "$MTF" --version | grep -q '(thread)' && without_ranks="the thread sanitizer cannot see into MPI"
    words=$("$MPIRUN" --version 2>&1)
    case $library,$words in
        Open*,*Open\ MPI* | ompi*,*Open\ MPI*) launcher=("$MPIRUN" --oversubscribe --quiet) ;;
        MPICH*,*HYDRA* | mpich*,*HYDRA*)
            launcher=("$MPIRUN")
            hasty_words='TERMINATED WITH THE EXIT STRING: .* \(signal [0-9]+\)'
            ;;
        *,*Open\ MPI* | *,*HYDRA*) without_ranks="$MPIRUN is not the launcher of $library" ;;
        *) launcher=("$MPIRUN") ;;
    esac
}
find_launcher

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none    # containers forbid it, and Open MPI says so
export OMP_WAIT_POLICY=passive HWLOC_HIDE_ERRORS=2        # a bare container has no /sys to look at
export ASAN_OPTIONS=detect_leaks=0                      # MPI leaves some behind

# A job that has failed ends at once: the launcher waits a second for its ranks to follow a signal, twice.  For tests
# that ask what the failing rank itself says.
end_at_once() { export OMPI_MCA_odls_base_sigkill_timeout=0; }

lives() { [ -r "/proc/$1/stat" ] && [ "$(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null)" != Z ]; }
