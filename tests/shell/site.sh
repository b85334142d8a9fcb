#!/bin/bash
# Tests the documentation as a folder of pages: links, search, light and dark, on a phone.
#
# Usage: tests/shell/site.sh
#        MTF_BROWSER=needed        without a browser it fails, instead of saying so
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
. "$root/tests/shell/cases.bash"
if ! command -v cmark-gfm >/dev/null || ! command -v python3 >/dev/null; then
    echo "note: the documentation was not written as pages, which needs cmark-gfm (make site installs it) and Python 3"
    echo "site.sh: 0 passed, 0 failed"
    exit 0
fi
. "$root/tests/shell/browser.bash"

"$root/tools/site/site.py" site >out 2>err
status=$?
check "the pages are written" 0 out "site/index.html: "

# ---- links ---------------------------------------------------------------------------------------

python3 "$root/tests/page/check_links.py" site >links
if [ "$(wc -l <links)" -eq 1 ] && [ "$(grep -oE '^[0-9]+' links)" -gt 500 ]; then pass
else lose "every link leads somewhere" "one line, with more than 500 links" "$(head -c 1500 links)"; fi
outside=$(grep -rohE '(src=|<link[^>]* href=)"(https?:)?//[^"]*' site --include=*.html)
if [ -z "$outside" ]; then pass; else lose "nothing is loaded from elsewhere" "no address" "$outside"; fi
# What the tests of the documents read is not for readers.
if grep -rlE 'numbers vary|not run:|raw HTML' site --include=*.html >out; then lose "marks for the tests" "none" "$(cat out)"; else pass; fi

# A page that no table names, and a link to nowhere, are found.
cp -r "$root/docs" "$root/tools" "$root/bench" . 2>/dev/null
echo '# Lost' >docs/lost.md
tools/site/site.py lost >out 2>err
status=$?
check "a page that no table names" 1 err "docs/README.md names no page docs/lost.md"
rm docs/lost.md
echo '[a](glossary.md#nothing) [b](nothing.md)' >>docs/plan.md
tools/site/site.py broken >out 2>err && python3 "$root/tests/page/check_links.py" broken >out
status=$?
check "links to nowhere" 0 out "plan.html: no place for glossary.html#nothing" "plan.html: no file for nothing.html"

# ---- in a browser --------------------------------------------------------------------------------

if [ -n "$browser" ]; then
    pages=()
    while read -r page; do pages+=("$page=$page"); done < <(find site -name '*.html' | sort)
    on_phones "$root" "${pages[@]}"

    # What is typed is found, and nothing is complained of.
    { grep -v '</body>\|</html>' site/index.html
      cat <<'END'
<script>
var input = document.getElementById("search"), found = document.getElementById("found");
function type(words) { input.value = words; input.dispatchEvent(new Event("input")); }
function tell(name, text) { document.body.append("TELL " + name + " " + text + "\n"); }
type("owed sums"); tell("hit", found.querySelector("a").getAttribute("href"));
type("WARMUP cosine"); tell("hits", found.querySelectorAll("a").length);
type("zzxy"); tell("none", found.textContent);
type(""); tell("hidden", found.hidden);
tell("ground", getComputedStyle(document.documentElement).backgroundColor);
tell("menu", document.getElementById("menu").open);
</script></body></html>
END
    } >site/typed.html
    browse 1300 site/typed.html
    status=0
    check "search" 0 dom "TELL hit ./concepts.html#owed-sums" "TELL none Nothing has all" "TELL hidden true" "TELL menu true"
    check "light" 0 dom "TELL ground rgb(252, 252, 250)"
    if grep -qE 'TELL hits ([2-9]|1[0-9])$' dom; then pass; else lose "search for two words" "several hits" "$(grep hits dom)"; fi
    if [ -s console ]; then lose "the console" "no message" "$(head -c 600 console)"; else pass; fi
    browse 1300 site/typed.html --blink-settings=preferredColorScheme=0
    check "dark" 0 dom "TELL ground rgb(20, 23, 27)"
fi

echo "site.sh: $passed passed, $failed failed"
[ $failed -eq 0 ]
