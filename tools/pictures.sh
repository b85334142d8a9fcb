#!/bin/bash
# Makes the pictures of pages in docs/ anew: docs/plan*.png.  It takes some minutes and needs Chromium.
#
# Usage: MTF=path/to/mtf tools/pictures.sh        default: build/mtf
cd "$(dirname "$0")/.." || exit 2
MTF=$(realpath "${MTF:-build/mtf}")
root=$PWD
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "pictures.sh: no Chromium (tools/setup.sh page installs it)"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
ln -s "$root/data" data

# picture NAME WIDTH HEIGHT PAGE [OPTION...]: of the window, three quarters of its size.
picture() {
    local flags=(--headless --disable-gpu --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$work/profile"
                 --no-first-run --virtual-time-budget=5000 --force-device-scale-factor=0.75 --window-size="$2,$3" "${@:5}")
    [ "$(id -u)" -eq 0 ] && flags+=(--no-sandbox)
    timeout 100 "$browser" "${flags[@]}" --screenshot="$root/docs/$1" "file://$work/$4" >/dev/null 2>&1 ||
        { echo "pictures.sh: no picture of $4"; exit 1; }
    echo "docs/$1"
}

# A language model of 48 layers.
gpt=(--gin_file gpt2_1558m.gin --gin_param 'run.batch_size = ("sequences_per_batch", 64)'
     --machine h100-node --mesh data:8,model:8)
"$MTF" plan "${gpt[@]}" --layout batch:data,heads:model,d_ff:model,vocab:model --html plan.html || exit 1
picture plan.png 1366 1440 plan.html
"$MTF" layout "${gpt[@]}" --html layouts.html || exit 1
picture plan-layouts.png 1366 1180 layouts.html

# Three optimizers.
run() { "$MTF" train toy --layers 4 --steps 600 --quiet "$@" || exit 1; }
run --rate 0.05 --report sgd.html
run --optimizer momentum --rate 0.02 --report momentum.html
run --optimizer adam --rate 0.003 --report adam.html --report-beside SGD=sgd.html --report-beside momentum.html
picture plan-runs.png 1366 1120 adam.html

# Two pages on phones, dark.
"$MTF" plan mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --html small.html || exit 1
{ echo '<!doctype html><meta name="color-scheme" content="dark"><body style="margin:0;display:flex;gap:20px;background:#2a2e35">'
  for page in small adam; do echo "<iframe style='width:375px;height:1200px;border:0' src='$page.html'></iframe>"; done; } >phones.html
picture plan-phone.png 770 1200 phones.html --blink-settings=preferredColorScheme=0
