/* Looks at a page as wide as a phone: what is wider, too small, too faint, or covers something.
 *
 * tests/shell/browser.bash appends it to copies of pages, shows these in frames, and reads what they report: a line
 * for each fault, then one that the page was seen.
 */
addEventListener("load", function () { setTimeout(function () {     /* what a page asks for has come, or failed */
"use strict";
var faults = [];
function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
function words(e) { return e.tagName.toLowerCase() + " \"" + e.textContent.replace(/\s+/g, " ").trim().slice(0, 40) + "\""; }

/* ---- width ---- */

function scrolls(e) {
    for (; e && e !== document.body; e = e.parentElement)
        if (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)) return true;
    return false;
}
if (document.documentElement.scrollWidth > innerWidth) {
    faults.push("is " + document.documentElement.scrollWidth + " wide, not " + innerWidth);
    all("body *").forEach(function (e) {
        if (e.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(e)) faults.push(words(e) + " leaves the screen");
    });
}
all(".scroll, .wide, pre").forEach(function (e) {
    if (e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX !== "auto") faults.push(words(e) + " cannot be scrolled");
});

/* ---- text ---- */

function colour(text) {
    var n = text.match(/[\d.]+/g).map(Number), unit = /^color\(/.test(text) ? 255 : 1;
    return {rgb: n.slice(0, 3).map(function (v) { return v * unit; }), alpha: n.length > 3 ? n[3] : 1};
}
function over(top, alpha, below) { return top.map(function (v, i) { return v * alpha + below[i] * (1 - alpha); }); }
var probe = document.createElement("div");
probe.style.background = "Canvas";
document.body.append(probe);
var canvas = colour(getComputedStyle(probe).backgroundColor).rgb;
probe.remove();
function ground(e) {
    if (!e) return canvas;
    var c = colour(getComputedStyle(e).backgroundColor);
    return c.alpha === 1 ? c.rgb : over(c.rgb, c.alpha, ground(e.parentElement));
}
function opacity(e) { return e ? +getComputedStyle(e).opacity * opacity(e.parentElement) : 1; }
function light(rgb) {
    var v = rgb.map(function (x) { x /= 255; return x <= 0.04045 ? x / 12.92 : Math.pow((x + 0.055) / 1.055, 2.4); });
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
}
function contrast(a, b) {
    var x = light(a), y = light(b);
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
/* Pixels of a letter: drawings are scaled. */
function size(e) {
    var svg = e.closest("svg"), m = svg && e.getScreenCTM ? e.getScreenCTM() : {a: 1, b: 0};
    return Math.hypot(m.a, m.b) * parseFloat(getComputedStyle(e).fontSize);
}
var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), node, seen = new Set();
while ((node = walker.nextNode())) {
    var e = node.parentElement, style = getComputedStyle(e);
    if (!node.textContent.trim() || seen.has(e) || /^(script|style|title|option)$/i.test(e.tagName)) continue;
    seen.add(e);
    var range = document.createRange();
    range.selectNodeContents(node);
    if (!range.getClientRects().length || style.visibility === "hidden") continue;
    if (size(e) < 10.99) faults.push(words(e) + " has letters of " + size(e).toFixed(1) + " px");
    if (e.closest("svg, .plot, :disabled")) continue;      /* its ground is a picture; it is faint on purpose */
    var below = ground(e), text = over(colour(style.color).rgb, colour(style.color).alpha * opacity(e), below);
    if (contrast(text, below) < 4.5) faults.push(words(e) + " is faint: " + contrast(text, below).toFixed(1));
}

/* ---- labels ---- */

function covers(a, b) { return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; }
var labels = all(".scatter .label"), dots = all(".scatter circle");
labels.forEach(function (label, i) {
    dots.concat(labels.slice(0, i)).forEach(function (other) {
        if (covers(label.getBoundingClientRect(), other.getBoundingClientRect())) faults.push(words(label) + " covers " + words(other));
    });
});

faults.slice(0, 8).forEach(function (f) { parent.postMessage("FAULT " + PAGE + ": " + f, "*"); });
parent.postMessage("SEEN " + PAGE, "*");
}, 500); });
