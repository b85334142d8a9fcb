/* Searches the sections of all pages (sections.js) while one types. */
(function () {
"use strict";
var input = document.getElementById("search"), found = document.getElementById("found");
var up = document.body.dataset.up, MOST = 12, AROUND = 60;

/* On a wide window the menu is always there. */
var menu = document.getElementById("menu"), wide = matchMedia("(min-width: 821px)");
function fit() { menu.open = wide.matches; }
wide.addEventListener("change", fit);
fit();

/* How well a section matches: all words must occur, headings and titles count most. */
function score(section, words) {
    var title = section[1].toLowerCase(), heading = section[3].toLowerCase(), text = section[4].toLowerCase(), sum = 0;
    for (var k = 0; k < words.length; k++) {
        var word = words[k], points = 0;
        if (heading === word) points += 40;
        if (heading.indexOf(word) >= 0) points += 20;
        if (title.indexOf(word) >= 0) points += 10;
        if (text.indexOf(word) >= 0) points += 3;
        if (!points) return 0;
        sum += points;
    }
    return sum;
}

/* The text around the first word, with that word marked. */
function excerpt(text, words) {
    var at = -1, word = "", line = document.createElement("small");
    for (var k = 0; k < words.length && at < 0; k++) { word = words[k]; at = text.toLowerCase().indexOf(word); }
    if (at < 0) { line.textContent = text.slice(0, 2 * AROUND); return line; }
    var begin = Math.max(0, at - AROUND), mark = document.createElement("b");
    mark.textContent = text.slice(at, at + word.length);
    line.append((begin ? "..." : "") + text.slice(begin, at), mark, text.slice(at + word.length, at + word.length + AROUND));
    return line;
}

function show() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.textContent = "";
    found.hidden = !words.length;
    if (!words.length) return;
    var hits = SECTIONS.map(function (s, k) { return {section: s, place: k, score: score(s, words)}; })
        .filter(function (h) { return h.score; })
        .sort(function (a, b) { return b.score - a.score || a.place - b.place; }).slice(0, MOST);
    hits.forEach(function (hit) {
        var s = hit.section, row = document.createElement("li"), link = document.createElement("a");
        link.href = up + "/" + s[0] + "#" + s[2];
        link.append(s[1] === s[3] ? s[1] : s[1] + ": " + s[3], excerpt(s[4], words));
        row.append(link);
        found.append(row);
    });
    if (!hits.length) {
        var none = document.createElement("li");
        none.className = "none";
        none.textContent = "Nothing has all of these words.";
        found.append(none);
    }
}

input.addEventListener("input", show);
input.addEventListener("keydown", function (e) {
    var first = found.querySelector("a");
    if (e.key === "Enter" && first) { e.preventDefault(); first.click(); }
    if (e.key === "ArrowDown" && first) { e.preventDefault(); first.focus(); }
});
found.addEventListener("keydown", function (e) {
    var row = document.activeElement.parentNode, next = null;
    if (e.key === "ArrowDown") next = row.nextElementSibling;
    if (e.key === "ArrowUp") next = row.previousElementSibling;
    if (next) { e.preventDefault(); next.firstElementChild.focus(); }
});
document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== input) { e.preventDefault(); input.focus(); }
    if (e.key === "Escape") { input.value = ""; show(); }
});
document.addEventListener("click", function (e) { if (!e.target.closest("header")) found.hidden = true; });
})();
