# A browser without a window, for the tests of pages: sourced by the scripts beside it.
#
# Wants work, a folder of the test's own.  Leaves `browser` empty, and a note, where there is none; that is a failure where
# MTF_BROWSER=needed.  With MTF_TEST=fast pages are not looked at: that is most of the work.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ "$MTF_TEST" = fast ]; then
    browser=""
    echo "note: pages were not looked at in a browser, as make test-page does"
elif [ -z "$browser" ]; then
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

# on_phones ROOT NAME=PAGE...: looks at all these pages 375 pixels wide, light and dark, as tests/page/phone.js does.
# Leaves a line for each fault in `faults`, and passes or loses a case for each page.
on_phones() {
    local root=$1 mode entry name page copy
    shift
    for mode in light dark; do
        { echo '<!doctype html><body><script>onmessage = function (e) { document.body.append("\n" + e.data + "\n"); };</script>'
          for entry in "$@"; do
              name=${entry%%=*} page=${entry#*=} copy=${entry#*=}.phone.html
              { grep -v '^</body>\|^</html>' "$page"; echo "<script>var PAGE = \"$name\";"; cat "$root/tests/page/phone.js"
                printf '</script>\n</body>\n</html>\n'; } >"$copy"
              echo "<iframe style=\"width:375px;height:800px;border:0\" src=\"$copy\"></iframe>"
          done; } >phones.html
        if [ $mode = light ]; then browse 1000 phones.html; else browse 1000 phones.html --blink-settings=preferredColorScheme=0; fi
        grep '^FAULT ' dom | sed 's/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g' >faults
        for entry in "$@"; do
            name=${entry%%=*}
            if ! grep -qxF "SEEN $name" dom; then lose "$name on a phone, $mode" "it is seen" "$(tail -n 3 log | head -c 600)"
            elif grep -qF "FAULT $name: " faults; then lose "$name on a phone, $mode" "no fault" "$(grep -F "FAULT $name: " faults)"
            else pass; fi
        done
    done
}
