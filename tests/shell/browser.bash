# A browser without a window, for the tests of pages: sourced by the scripts beside it.
#
# Wants work, a folder of the test's own.  Leaves `browser` empty, and a note, where there is none; that is a failure where
# MTF_BROWSER=needed.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    echo "note: no chromium: pages were not looked at in a browser (make test-page installs it)"
    [ "$MTF_BROWSER" = needed ] && { echo "$(basename "$0"): 0 passed, 1 failed"; exit 1; }
fi

# browse WIDTH PAGE [OPTION...]: its document after all scripts have run, in `dom`; console messages in `console`.
browse() {
    local flags=(--headless --disable-gpu --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$work/profile" --no-first-run
                 --enable-logging=stderr --virtual-time-budget=5000 --window-size="$1,900" "${@:3}")
    [ "$(id -u)" -eq 0 ] && flags+=(--no-sandbox)
    timeout 100 "$browser" "${flags[@]}" --dump-dom "file://$work/$2" 2>log >dom </dev/null
    grep 'CONSOLE' log >console
}
