/* Looks at a page from inside, as a reader with mouse and keyboard would.
 *
 * tests/shell/page.sh appends it to a copy of a page and reads what it answers: a line for each check.
 * What a page has is checked; the script says which parts it must have (WANTED).
 */
(function () {
"use strict";
var lines = [];
function check(name, right, got) { lines.push(right ? "CHECK ok " + name : "CHECK FAILED " + name + ": got " + got); }
function attempt(name, test) { try { test(); } catch (e) { lines.push("CHECK FAILED " + name + ": " + e); } }
function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }
function one(selector, from) { return (from || document).querySelector(selector); }
function text(e) { return e ? e.textContent.replace(/\s+/g, " ").trim() : "nothing"; }
function point(e, kind, share) {
    var box = e.getBoundingClientRect();
    e.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 5}));
}
function press(e, key) { e.dispatchEvent(new KeyboardEvent("keydown", {key: key, bubbles: true})); }
function type(input, words) { input.value = words; input.dispatchEvent(new Event("input", {bubbles: true})); }

var data = JSON.parse(one("#data").textContent);

/* ---- every page ---- */

attempt("every page", function () {
    check("nothing is wider than the page", document.documentElement.scrollWidth <= innerWidth + 1,
        document.documentElement.scrollWidth + " of " + innerWidth);
    check("nothing came from elsewhere", !all("[src], link, iframe, object, img").length,
        all("[src], link, iframe, object, img").length);
    check("no name became code", window.hacked === undefined, window.hacked);
    var empty = all("svg path").filter(function (p) { return p.getAttribute("d").indexOf("NaN") >= 0; });
    check("paths are made of numbers", !empty.length, empty.length);
    var ids = all("[id]").map(function (e) { return e.id; });
    check("each id is there once", new Set(ids).size === ids.length, ids.join(" "));
});
WANTED.forEach(function (selector) { check("has " + selector, one(selector), "none"); });

/* ---- the step ---- */

all(".plots[data-plan]").forEach(function (plots) {
    var plan = data.plans[+plots.dataset.plan], memory = one(".plot.memory", plots);
    var readout = one('.readout[data-plan="' + plots.dataset.plan + '"]');
    attempt("the pictures", function () {
        var area = one("svg path.par", memory).getBoundingClientRect();
        check("the memory of parameters is drawn", area.width > 100 && area.height > 0, area.width + " x " + area.height);
        var bars = all(".plot.lanes svg path", plots).filter(function (p) { return p.getBoundingClientRect().width > 0; });
        check("work is drawn", bars.length > 0, bars.length);
        check("the peak is marked", /^peak .*B$/.test(text(one(".peak", plots))), text(one(".peak", plots)));
        check("time has an axis", all(".plot.axis span", plots).length >= 3, all(".plot.axis span", plots).length);
        check("the largest tensors are named", all(".tensors tr", readout).length > 0, text(readout));
    });
    attempt("hovering", function () {
        var before = text(one(".kinds", readout)).replace(/ /g, "");
        point(memory, "pointermove", 0.02);
        var early = text(readout);
        check("hovering tells of an instruction", /^(After|At the peak) /.test(early), early);
        check("and names its tensor", plan.tensors.some(function (t) { return early.indexOf(t[0]) >= 0; }), early);
        point(memory, "pointermove", 0.7);
        check("another place is another instruction", text(readout) !== early, early);
        check("a line marks the place", !one(".cursor", plots).hidden, "none");
        plots.dispatchEvent(new PointerEvent("pointerleave", {bubbles: true}));
        check("leaving tells of the peak again", /^At the peak/.test(text(readout)), text(readout));
        var after = text(one(".kinds", readout)).replace(/ /g, "");
        check("and of the same bytes", after === before, after + " instead of " + before);
    });
    attempt("keys", function () {
        press(plots, "Home");
        check("Home is the first instruction", /^(After 0 s|At the peak)/.test(text(readout)), text(readout));
        press(plots, "ArrowRight");
        check("an arrow goes on", !/^After 0 s/.test(text(readout)), text(readout));
        press(plots, "p");
        check("p is the peak", /^At the peak/.test(text(readout)), text(readout));
    });
    attempt("zooming", function () {
        var svg = one("svg", memory), buttons = all(".zoom button", plots.parentNode), whole = svg.getAttribute("viewBox");
        buttons.filter(function (b) { return text(b) === "closer"; })[0].click();
        check("closer shows less", svg.viewBox.baseVal.width < 999, svg.getAttribute("viewBox"));
        check("both pictures move", one(".plot.lanes svg", plots).viewBox.baseVal.width === svg.viewBox.baseVal.width,
            one(".plot.lanes svg", plots).getAttribute("viewBox"));
        buttons[0].click();
        check("the whole step is back", svg.viewBox.baseVal.width === 1000, whole);
    });
});

/* ---- instructions ---- */

function column(box, c) { return all("tbody tr", box).map(function (tr) { return text(tr.cells[c]); }); }

all(".instrs").forEach(function (box) {
    var heads = all("thead th button", box), search = one("input", box), plan = data.plans[+box.dataset.plan];
    attempt("sorting", function () {
        var slowest = column(box, 0)[0], most = Math.max.apply(null, plan.seconds);
        check("the slowest comes first", plan.seconds[+slowest] === most, slowest);
        heads[0].click();
        var order = column(box, 0).map(Number);
        check("by number", order.every(function (n, i) { return n === i; }), order.slice(0, 5));
        heads[0].click();
        check("and backwards", +column(box, 0)[0] === plan.seconds.length - 1, column(box, 0)[0]);
        check("the order is told", one("th[aria-sort=descending]", box) === heads[0].parentNode, "another");
        heads[1].click();
        var names = column(box, 1);
        check("by name", names.join() === names.slice().sort().join(), names.slice(0, 5));
    });
    attempt("searching", function () {
        var kind = column(box, 1)[0];
        type(search, kind + " zzz");
        check("nothing is found where nothing is", text(one("tbody", box)) === "no row contains these words", text(one("tbody", box)));
        type(search, kind);
        check("words are found", column(box, 1).length > 0 && text(one("output", box)).indexOf(" of " + plan.seconds.length) > 0,
            text(one("output", box)));
        type(search, "");
        check("no words find all", text(one("output", box)) === plan.seconds.length + " of " + plan.seconds.length,
            text(one("output", box)));
    });
    attempt("the file for spreadsheets", function () {
        var make = window.Blob, saved = "";
        window.Blob = function (parts) { saved = parts.join(""); return new make(parts); };
        one("button.csv", box).click();
        window.Blob = make;
        var lines = saved.trim().split("\n");
        check("a line for each instruction", lines.length === plan.seconds.length + 1, lines.length);
        check("with plain numbers", lines[1].split(",")[2] === String(plan.seconds[+lines[1].split(",")[0]]), lines[1]);
        check("under their names", lines[0].indexOf('"#","operation","time","flops","sent"') === 0, lines[0]);
    });
});

/* ---- the mesh ---- */

all(".meshes").forEach(function (box) {
    var plan = data.plans[+box.dataset.plan], cells = all("svg.traffic g[data-p]", box), parts = all("svg.parts g[data-p]", box);
    attempt("the mesh", function () {
        check("each processor has a cell", cells.length === Math.min(plan.processors, 256) && parts.length === cells.length,
            cells.length);
        check("one of them is shown", all("g.here", box).length === (plan.processor < cells.length ? 1 : 0), all("g.here", box).length);
        cells[cells.length - 1].dispatchEvent(new MouseEvent("click", {bubbles: true}));
        check("a click shows another", one("g.here", box) === cells[cells.length - 1], text(one("g.here", box)));
        press(one("svg.traffic", box), "ArrowLeft");
        check("an arrow shows its neighbour", one("g.here", box) === cells[cells.length - 2], text(one("g.here", box)));
        var whole = 0;
        parts.forEach(function (g) {
            var p = one(".part", g), w = one(".whole", g);
            whole += p.getAttribute("width") * p.getAttribute("height") / (w.getAttribute("width") * w.getAttribute("height"));
        });
        check("parts add up to wholes", Math.abs(whole - Math.round(whole)) < 1e-3 && whole > 0.99, whole);
        type(one("figcaption input", box), "no such tensor");
        check("a name that is none is told", /^no tensor/.test(text(one(".share", box))), text(one(".share", box)));
        type(one("figcaption input", box), plan.tensors[0][0]);
        check("another tensor is shown", /part/.test(text(one(".share", box))), text(one(".share", box)));
    });
});

/* ---- layouts and runs ---- */

attempt("labels", function () {
    if (!one(".scatter")) return;
    var plot = one(".scatter .plot").getBoundingClientRect(), labels = all(".scatter .label"), wrong = [];
    function covers(a, b) { return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; }
    labels.forEach(function (label, i) {
        var b = label.getBoundingClientRect();
        if (b.left < plot.left || b.right > plot.right || b.top < plot.top || b.bottom > plot.bottom) wrong.push(text(label) + " leaves the plot");
        all(".scatter circle").forEach(function (c) {
            if (covers(b, c.getBoundingClientRect())) wrong.push(text(label) + " covers dot " + c.dataset.row);
        });
        labels.slice(0, i).concat(all(".scatter span.limit")).forEach(function (other) {
            if (covers(b, other.getBoundingClientRect())) wrong.push(text(label) + " covers " + text(other));
        });
    });
    check("labels cover nothing", !wrong.length, wrong.join("; "));
    check("the best is labelled", one('.scatter .label[data-row="0"]'), labels.map(text).join("; "));
    var most = Math.min(data.layouts.length, 4);
    check("and others", labels.length >= Math.min(most, innerWidth > 600 ? 4 : 1), labels.length + " of " + data.layouts.length);
});

all(".layouts").forEach(function (box) {
    attempt("layouts", function () {
        var rows = all("tbody tr", box), dots = all(".scatter circle");
        check("each layout has a dot", dots.length === data.layouts.length, dots.length);
        check("one is the best", all(".scatter circle.best").length === 1, all(".scatter circle.best").length);
        check("the table has them", rows.length === Math.min(100, data.layouts.length), rows.length);
        var heads = all("thead th button", box);
        heads[2].click();
        heads[2].click();
        var first = +all("tbody tr", box)[0].dataset.row, most = Math.max.apply(null, data.layouts.map(function (l) { return l.bytes; }));
        check("sorted by memory", data.layouts[first].bytes === most, data.layouts[first].bytes);
        dots[0].dispatchEvent(new PointerEvent("pointerenter", {bubbles: true}));
        check("a dot tells its layout", text(one(".readout")).indexOf(data.layouts[+dots[0].dataset.row].reason) >= 0,
            text(one(".readout")));
    });
});

all(".curve:not(.single)").forEach(function (curve) {
    var told = one(".told", curve), c = data.curves[+curve.dataset.curve], shown = all(".value b", curve);
    function lines(width) {
        return all("path.line", curve).filter(function (p) { return p.getBoundingClientRect().width > width; }).length;
    }
    attempt("curves", function () {
        check("each run has its line in " + c.name, lines(50) === c.lines.length && shown.length === c.lines.length, lines(50));
        var still = curve.textContent;
        point(one(".plot", curve), "pointermove", 0.5);
        check("hovering tells a step", /step \d/.test(text(told)), text(told));
        var middle = told.textContent;
        press(one(".plots", curve), "ArrowRight");
        check("an arrow goes on", told.textContent !== middle && !one(".cursor", curve).hidden, text(told));
        one(".plots", curve).dispatchEvent(new PointerEvent("pointerleave", {bubbles: true}));
        check("leaving tells of the end again", curve.textContent === still, curve.textContent);
    });
    attempt("curves by time", function () {
        var before = one("path.line", curve).getBoundingClientRect();
        one("#by-time").click();
        check("the same lines over time", lines(0) === c.lines.length, lines(0));
        check("in place of those over steps", one("path.line", curve).getBoundingClientRect().width === 0, before.width);
        point(one(".plot", curve), "pointermove", 0.5);
        check("hovering tells a time", /after \d.* [num]?s$/.test(text(told)), text(told));
        one("#by-step").click();
        check("and back again", one("path.line", curve).getBoundingClientRect().width === before.width, "another width");
    });
});

attempt("runs", function () {
    if (!data || !data.runs || data.runs.length < 2) return;
    var names = all(".key.runs span").map(text);
    check("the legend names each run", names.join() === data.runs.map(function (r) { return r.name; }).join(), names);
    var colours = all(".key.runs i").map(function (i) { return getComputedStyle(i).backgroundColor; });
    check("in colours of their own", new Set(colours).size === Math.min(4, colours.length), colours);
    all(".key.runs i").forEach(function (i, run) {
        var line = one(".curve path.line.r" + run);
        check("a run's line has its colour", getComputedStyle(line).stroke === colours[run], getComputedStyle(line).stroke);
    });
    check("the table has them", all("table.runs tbody tr").length === names.length, all("table.runs tbody tr").length);
});

lines.concat("CHECK end").forEach(answer);
})();
