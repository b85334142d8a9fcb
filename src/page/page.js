/* Makes the pictures of a page interactive; they are drawn without it. */
(function () {
"use strict";
var doc = document, data = JSON.parse(doc.getElementById("data").textContent) || {};
doc.documentElement.classList.add("js");

/* ---- helpers ---- */

function all(selector, from) { return Array.prototype.slice.call((from || doc).querySelectorAll(selector)); }
function one(selector, from) { return (from || doc).querySelector(selector); }

/* make("td", {class: "x"}, "text", child, ...) */
function make(name, attributes) {
    var e = doc.createElement(name), i;
    for (var key in attributes) e.setAttribute(key, attributes[key]);
    for (i = 2; i < arguments.length; i++) if (arguments[i] !== null) e.append(arguments[i]);
    return e;
}

/* A name may break after its slashes. */
function named(name, text) {
    var e = make(name, {});
    text.split("/").forEach(function (piece, k) { e.append(k ? "/" : "", k ? make("wbr", {}) : "", piece); });
    return e;
}

function digits(v) {
    var text = v.toPrecision(3);
    if (text.indexOf("e") >= 0) return String(Math.round(v));
    return text.indexOf(".") >= 0 ? text.replace(/\.?0+$/, "") : text;
}
function scaled(n, unit) {
    var steps = ["", "k", "M", "G", "T", "P", "E", "Z"], u = 0;
    while (n >= 999.5 && u < 7) { n /= 1000; u++; }
    return (digits(n) + " " + steps[u] + unit).trim();
}
function bytes(n) { return scaled(n, "B"); }
function count(n) { return scaled(n, ""); }
function seconds(s) {
    var steps = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]], u = 0;
    if (s < 1e-12) return "0 s";
    while (u < 3 && s < 0.9995 * steps[u][0]) u++;
    return digits(s / steps[u][0]) + " " + steps[u][1];
}
function roundUp(x) {
    var power = Math.pow(10, Math.floor(Math.log10(x))), steps = [1, 2, 2.5, 5, 10], k;
    for (k = 0; k < steps.length; k++) if (x <= steps[k] * power * (1 + 1e-9)) return steps[k] * power;
    return 10 * power;
}
function clamp(x, low, high) { return Math.max(low, Math.min(high, x)); }

/* ---- plans ---- */

var memoryNames = ["parameters", "optimizer state", "buffers", "activations", "gradients"];
var memoryClasses = ["par", "sta", "buf", "act", "gra"];
var phaseNames = ["forward", "backward", "update"];

function Plan(d) {
    var plan = this, at = 0;
    this.d = d;
    this.n = d.kind.length;
    this.begin = d.seconds.map(function (s) { var from = at; at += s; return from; });
    this.begin.push(at);
    this.place = function (p) {
        var point = [], a;
        for (a = d.sizes.length - 1; a >= 0; a--) { point[a] = p % d.sizes[a]; p = Math.floor(p / d.sizes[a]); }
        return point;
    };
    this.here = this.place(d.processor);
    this.byName = {};
    d.tensors.forEach(function (x, i) { plan.byName[x[0]] = i; });
}
Plan.prototype.kind = function (k) { var w = this.d.wires[k]; return w ? w[0] : this.d.kinds[this.d.kind[k]]; };
Plan.prototype.name = function (t) { return typeof t === "string" ? t : t < 0 ? "" : this.d.tensors[t][0]; };
Plan.prototype.axes = function (bits) {
    return this.d.axes.filter(function (name, a) { return bits >> a & 1; }).join("+");
};
Plan.prototype.group = function (bits) {
    return this.d.sizes.reduce(function (n, size, a) { return bits >> a & 1 ? n * size : n; }, 1);
};
/* [first, end) of a dimension that these axes cut, on the processor at `point`. */
Plan.prototype.range = function (size, axes, point) {
    var d = this.d, parts = 1, part = 0;
    axes.forEach(function (a) { parts *= d.sizes[a]; part = part * d.sizes[a] + point[a]; });
    return [Math.floor(part * size / parts), Math.floor((part + 1) * size / parts)];
};
Plan.prototype.shape = function (t) {
    var plan = this;
    if (typeof t === "string" || t < 0) return "";
    return "[" + this.d.forms[this.d.tensors[t][1]].map(function (dim) {
        var r = plan.range(dim[1], dim[2], plan.here);
        return dim[0] + "=" + (r[1] - r[0]);
    }).join(", ") + "]";
};
Plan.prototype.reason = function (k) {
    var w = this.d.wires[k], bits = this.d.duplicate[k];
    if (w) return w[5];
    return bits && this.d.flops[k] ? this.group(bits) + " times along " + this.axes(bits) : "";
};
/* The instruction that runs at a time. */
Plan.prototype.at = function (time) {
    var low = 0, high = this.n - 1;
    while (low < high) {
        var middle = (low + high + 1) >> 1;
        if (this.begin[middle] <= time) low = middle; else high = middle - 1;
    }
    while (low > 0 && this.d.seconds[low] === 0 && this.begin[low] > time) low--;
    return low;
};
Plan.prototype.alive = function (k) {
    return this.d.memory.filter(function (m) { return m[3] <= k && k <= m[4]; })
        .sort(function (a, b) { return b[2] - a[2]; });
};

var plans = (data.plans || []).map(function (d) { return new Plan(d); });

/* ---- details of an instruction ---- */

/* Tensors of the same kind and size whose names differ only in the numbers of scopes share a line. */
function families(plan, alive) {
    var known = {}, list = [];
    alive.forEach(function (m) {
        var name = plan.name(m[0]), slash = name.lastIndexOf("/");
        var pattern = name.slice(0, slash + 1).replace(/[0-9]+/g, "#") + name.slice(slash + 1);
        var key = [m[1], m[2], pattern].join(" "), f = known[key];
        if (!f) list.push(f = known[key] = {tensor: m[0], pattern: pattern, kind: m[1], members: 0, bytes: 0});
        f.members++;
        f.bytes += m[2];
    });
    return list.sort(function (a, b) { return b.bytes - a.bytes; });
}

function memoryTables(plan, k, into) {
    var alive = plan.alive(k), sums = [0, 0, 0, 0, 0], kinds = make("table", {class: "kinds"}), j;
    alive.forEach(function (m) { sums[m[1]] += m[2]; });
    for (j = 4; j >= 0; j--)
        kinds.append(make("tr", {class: memoryClasses[j]},
            make("td", {}, make("i", {}), memoryNames[j]), make("td", {}, bytes(sums[j]))));
    var largest = make("table", {class: "tensors"},
        make("caption", {}, alive.length + " tensors alive; most bytes in"));
    families(plan, alive).slice(0, 8).forEach(function (f) {
        largest.append(make("tr", {class: memoryClasses[f.kind]},
            make("td", {}, make("i", {}), named("span", f.members > 1 ? f.pattern : plan.name(f.tensor)), " ",
                make("small", {}, (f.members > 1 ? "\u00d7\u202f" + f.members + " " : "") + plan.shape(f.tensor))),
            make("td", {}, bytes(f.bytes))));
    });
    into.append(kinds, largest);
    return sums.reduce(function (a, b) { return a + b; });
}

function describe(plan, k, readout) {
    var d = plan.d, w = d.wires[k], line = make("p", {}), layer = d.layers[d.layer[k]];
    readout.textContent = "";
    line.append(phaseNames[d.phase[k]] + (layer ? ", " + layer : "") + ": " + plan.kind(k) + " ",
        named("b", plan.name(d.tensor[k])), " " + plan.shape(d.tensor[k]) + ", " + seconds(d.seconds[k]));
    if (d.executions[k] !== 1) line.append(" in " + count(d.executions[k]) + " executions");
    if (d.flops[k]) line.append(", " + count(d.flops[k]) + " flops");
    if (w) line.append(make("br", {}), "sends " + bytes(w[3]) + " along " + plan.axes(w[1]) + " in groups of " + w[2] +
        (w[5] ? ", because of " + w[5] : ""));
    var head = make("h3", {}, k === d.peak ? "At the peak " : "After " + seconds(plan.begin[k]) + " ");
    readout.append(head, line);
    head.append(make("b", {}, bytes(memoryTables(plan, k, readout))));
}

/* ---- the step ---- */

function Step(plots) {
    var step = this;
    this.plots = plots;
    this.plan = plans[+plots.dataset.plan];
    this.width = +plots.dataset.seconds;
    this.from = 0;
    this.to = this.width;
    this.svgs = all(".plot svg", plots);
    this.area = one(".plot.memory", plots);
    this.readout = one('.readout[data-plan="' + plots.dataset.plan + '"]');
    this.cursor = make("div", {class: "cursor"});
    this.cursor.hidden = true;
    this.k = this.plan.d.peak;
    this.pinned = this.k;
    plots.append(this.cursor);
    plots.setAttribute("aria-label", "The step over time. Arrow keys go from instruction to instruction, " +
        "P to the peak, plus and minus zoom.");
    plots.setAttribute("role", "group");
    this.tools();
    plots.addEventListener("pointermove", function (e) {
        if (step.drag) step.pan(e); else step.show(step.instr(e));
    });
    plots.addEventListener("pointerleave", function () { if (!step.drag) step.rest(); });
    plots.addEventListener("pointerdown", function (e) {
        step.drag = {x: e.clientX, from: step.from, moved: false};
        step.show(step.instr(e));
        step.pinned = step.k;
    });
    addEventListener("pointerup", function () { step.drag = null; });
    plots.addEventListener("wheel", function (e) {
        if (!e.ctrlKey && !e.metaKey) return;
        e.preventDefault();
        step.zoom(Math.pow(1.0015, e.deltaY), step.time(e));
    }, {passive: false});
    plots.addEventListener("dblclick", function (e) { step.zoom(0.25, step.time(e)); });
    plots.addEventListener("keydown", function (e) { if (step.key(e.key)) e.preventDefault(); });
}
Step.prototype.time = function (e) {
    var box = this.area.getBoundingClientRect();
    return this.from + clamp((e.clientX - box.left) / box.width, 0, 1) * (this.to - this.from);
};
Step.prototype.instr = function (e) { return this.plan.at(this.time(e)); };
Step.prototype.pan = function (e) {
    var box = this.area.getBoundingClientRect(), by = (this.drag.x - e.clientX) / box.width * (this.to - this.from);
    if (this.to - this.from >= this.width) { this.show(this.instr(e)); this.pinned = this.k; return; }
    this.window(this.drag.from + by, this.drag.from + by + this.to - this.from);
};
Step.prototype.show = function (k) {
    var span = this.to - this.from, plan = this.plan, left = this.area.offsetLeft, wide = this.area.offsetWidth;
    var x0 = (plan.begin[k] - this.from) / span * wide, x1 = (plan.begin[k + 1] - this.from) / span * wide;
    this.k = k;
    this.cursor.hidden = x1 < 0 || x0 > wide;
    this.cursor.classList.toggle("block", x1 - x0 > 4);
    this.cursor.style.left = left + Math.max(x0, 0) + "px";
    this.cursor.style.width = Math.max(1, Math.min(x1, wide) - Math.max(x0, 0)) + "px";
    if (this.readout) describe(plan, k, this.readout);
};
Step.prototype.rest = function () {
    this.show(this.pinned);
    this.cursor.hidden = this.cursor.hidden || this.pinned === this.plan.d.peak;
};
Step.prototype.zoom = function (by, around) {
    var span = clamp((this.to - this.from) * by, this.width / 2000, this.width);
    var share = (around - this.from) / (this.to - this.from);
    this.window(around - share * span, around + (1 - share) * span);
};
Step.prototype.window = function (from, to) {
    var span = Math.min(to - from, this.width), w = this.width, step = this, peak = one(".peak", this.plots);
    this.from = clamp(from, 0, w - span);
    this.to = this.from + span;
    this.svgs.forEach(function (svg) {
        var box = svg.viewBox.baseVal;
        svg.setAttribute("viewBox", [1000 * step.from / w, 0, 1000 * span / w, box.height].join(" "));
    });
    var x = (peak.dataset.x * w - this.from) / span;
    peak.hidden = x < 0 || x > 1;
    peak.style.left = x < 0.5 ? 100 * x + "%" : "auto";
    peak.style.right = x < 0.5 ? "auto" : 100 - 100 * x + "%";
    this.plots.classList.toggle("zoomed", span < w * 0.999);
    this.plots.classList.toggle("close", this.area.offsetWidth / (this.plan.n * span / w) > 6);
    this.ticks();
    this.rest();
};
Step.prototype.ticks = function () {
    var axis = one(".plot.axis", this.plots), span = this.to - this.from, by = roundUp(span / 5), t;
    axis.textContent = "";
    for (t = Math.ceil(this.from / by - 1e-9) * by; t <= this.to * 1.000001; t += by) {
        var x = (t - this.from) / span, mark = make("span", {style: "left:" + 100 * x + "%"}, t > by / 2 ? seconds(t) : "0");
        if (x < 0.02) mark.className = "first";
        if (x > 0.97) mark.className = "last";
        axis.append(mark);
    }
};
Step.prototype.key = function (key) {
    var plan = this.plan, middle = (this.from + this.to) / 2;
    if (key === "ArrowRight" || key === "ArrowLeft") {
        this.pinned = clamp(this.k + (key === "ArrowRight" ? 1 : -1), 0, plan.n - 1);
        var t = plan.begin[this.pinned], span = this.to - this.from;
        if (t < this.from || t > this.to) this.window(t - span / 2, t + span / 2);
    } else if (key === "Home") this.pinned = 0;
    else if (key === "End") this.pinned = plan.n - 1;
    else if (key === "p" || key === "P") this.pinned = plan.d.peak;
    else if (key === "+" || key === "=") return this.zoom(0.5, plan.begin[this.k]), true;
    else if (key === "-") return this.zoom(2, middle), true;
    else if (key === "0" || key === "Escape") return this.window(0, this.width), true;
    else return false;
    this.show(this.pinned);
    return true;
};
/* Buttons: the whole step, each phase, closer, wider. */
Step.prototype.tools = function () {
    var step = this, plan = this.plan, box = make("div", {class: "zoom"}, "show ");
    function button(text, act) {
        var b = make("button", {type: "button"}, text);
        b.addEventListener("click", act);
        box.append(b);
    }
    button("whole step", function () { step.window(0, step.width); });
    phaseNames.forEach(function (name, phase) {
        var first = plan.d.phase.indexOf(phase), last = plan.d.phase.lastIndexOf(phase);
        if (first < 0) return;
        button(name, function () { step.window(plan.begin[first], Math.max(plan.begin[last + 1], plan.begin[first] + step.width / 2000)); });
    });
    function middle() { return step.cursor.hidden ? (step.from + step.to) / 2 : step.plan.begin[step.k]; }
    button("closer", function () { step.zoom(0.4, middle()); });
    button("wider", function () { step.zoom(2.5, middle()); });
    this.plots.after(box);
};

var steps = all(".plots[data-plan]").map(function (plots) { return new Step(plots); });

/* ---- sortable tables ---- */

/* columns: [{text, value}] by row; rows are numbers. */
function Table(box, columns, rows, cells, choose) {
    var table = this, head = one("thead tr", box);
    this.box = box;
    this.columns = columns;
    this.rows = rows;
    this.cells = cells;
    this.choose = choose;
    this.found = rows;
    this.shown = 100;
    this.body = one("tbody", box);
    this.output = one("output", box);
    this.more = make("button", {type: "button", class: "more"});
    one(".scroll", box).after(this.more);
    this.more.addEventListener("click", function () { table.shown += 1000; table.draw(); });
    all("th", head).forEach(function (th, c) {
        var b = make("button", {type: "button"}, th.textContent);
        th.textContent = "";
        th.append(b);
        b.addEventListener("click", function () { table.sort(c); });
    });
    this.heads = all("th", head);
    var search = one("input[type=search]", box), csv = make("button", {type: "button", class: "csv"}, "download as CSV");
    if (search) search.addEventListener("input", function () { table.search(search.value); });
    csv.addEventListener("click", function () {
        var link = make("a", {download: "plan.csv"});
        link.setAttribute("href", URL.createObjectURL(new Blob([table.csv()], {type: "text/csv"})));
        link.click();
        setTimeout(function () { URL.revokeObjectURL(link.getAttribute("href")); }, 1000);
    });
    this.more.after(csv);
}
/* The rows found, in their order, as in the table but with plain numbers (seconds, bytes). */
Table.prototype.csv = function () {
    var table = this;
    function line(values) {
        return values.map(function (v) { return typeof v === "number" ? v : '"' + String(v).replace(/"/g, '""') + '"'; }).join(",") + "\n";
    }
    return line(this.heads.map(function (h) { return h.textContent; })) + this.found.map(function (r) {
        return line(table.columns.map(function (value) { return value(r); }));
    }).join("");
};
Table.prototype.sort = function (c, down) {
    var th = this.heads[c], value = this.columns[c];
    var number = typeof value(this.rows[0]) === "number";
    if (down === undefined)
        down = th.hasAttribute("aria-sort") ? th.getAttribute("aria-sort") === "ascending" : number && this.largestFirst && c > 0;
    this.heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    this.rows = this.rows.slice().sort(function (a, b) {
        var x = value(a), y = value(b), order = number ? x - y : x < y ? -1 : x > y ? 1 : 0;
        return (down ? -order : order) || a - b;
    });
    this.search(this.words || "");
};
Table.prototype.search = function (words) {
    var table = this, list = words.toLowerCase().split(/\s+/).filter(Boolean);
    this.words = words;
    this.found = this.rows.filter(function (r) {
        var text = table.text(r);
        return list.every(function (word) { return text.indexOf(word) >= 0; });
    });
    this.shown = 100;
    this.draw();
};
Table.prototype.text = function (r) {
    return this.columns.map(function (value) { return value(r); }).join(" ").toLowerCase();
};
Table.prototype.draw = function () {
    var table = this, left = this.found.length - this.shown;
    this.body.textContent = "";
    this.found.slice(0, this.shown).forEach(function (r) {
        var tr = table.cells(r);
        tr.dataset.row = r;
        if (table.choose) tr.addEventListener("click", function () { table.choose(r, tr); });
        table.body.append(tr);
    });
    if (!this.found.length) {
        this.body.append(make("tr", {}, make("td", {colspan: this.heads.length}, "no row contains these words")));
    }
    if (this.output) this.output.textContent = this.found.length + " of " + this.rows.length;
    this.more.hidden = left <= 0;
    this.more.textContent = "show " + Math.min(left, 1000) + " more";
};

/* ---- instructions ---- */

all(".instrs").forEach(function (box) {
    var plan = plans[+box.dataset.plan], d = plan.d, rows = d.kind.map(function (kind, k) { return k; });
    if (!rows.length) return;
    function sent(k) { return d.wires[k] ? d.wires[k][3] : 0; }
    function row(k) {
        return make("tr", d.wires[k] ? {class: "wire"} : {}, make("td", {}, String(k)), make("td", {}, plan.kind(k)),
            make("td", {}, seconds(d.seconds[k])), make("td", {}, d.flops[k] ? count(d.flops[k]) : ""),
            make("td", {}, d.wires[k] ? bytes(sent(k)) : ""), make("td", {}, plan.name(d.tensor[k])),
            make("td", {}, plan.shape(d.tensor[k])), make("td", {}, plan.reason(k)));
    }
    var table = new Table(box, [
        function (k) { return k; }, function (k) { return plan.kind(k); }, function (k) { return d.seconds[k]; },
        function (k) { return d.flops[k]; }, sent, function (k) { return plan.name(d.tensor[k]); },
        function (k) { return plan.shape(d.tensor[k]); }, function (k) { return plan.reason(k); }], rows, row,
        function (k) {
            var step = steps.filter(function (s) { return s.plan === plan; })[0];
            if (!step) return;
            step.pinned = k;
            step.window(step.from, step.to);
            step.show(k);
            step.plots.scrollIntoView({block: "center"});
        });
    table.text = function (k) {
        return [k, plan.kind(k), plan.name(d.tensor[k]), plan.reason(k), d.layers[d.layer[k]], phaseNames[d.phase[k]]]
            .join(" ").toLowerCase();
    };
    table.largestFirst = true;
    table.sort(2, true);
});

/* ---- layouts ---- */

function layoutName(l) {
    return (l.mesh ? l.mesh + " " : "") + (l.layout || "nothing is cut") + (l.state ? " state " + l.state : "");
}

function chooseLayout(i) {
    var l = data.layouts[i], readout = one(".readout"), table = make("table", {class: "kinds"});
    [["time", seconds(l.seconds)], ["in collectives", seconds(l.wire)], ["memory", bytes(l.bytes)], ["sent", bytes(l.sent)]]
        .forEach(function (pair) { table.append(make("tr", {}, make("td", {}, pair[0]), make("td", {}, pair[1]))); });
    readout.textContent = "";
    readout.append(make("h3", {}, i ? "Number " + (i + 1) + " of " + data.layouts.length : "The best"),
        make("p", {}, make("code", {}, layoutName(l))), table, make("p", {}, i ? "loses by: " + l.reason : ""));
    all(".scatter circle").forEach(function (c) { c.classList.toggle("chosen", +c.dataset.row === i); });
    all(".layouts tbody tr").forEach(function (tr) { tr.classList.toggle("chosen", +tr.dataset.row === i); });
}

all(".layouts").forEach(function (box) {
    var list = data.layouts, rows = list.map(function (l, i) { return i; }), plot = one(".scatter .plot");
    var table = new Table(box, [
        function (i) { return list[i].seconds; }, function (i) { return list[i].wire; }, function (i) { return list[i].bytes; },
        function (i) { return list[i].sent; }, function (i) { return layoutName(list[i]); }, function (i) { return list[i].reason; }],
        rows, function (i) {
            var l = list[i];
            return make("tr", i ? {} : {class: "best"}, make("td", {}, seconds(l.seconds)), make("td", {}, seconds(l.wire)),
                make("td", {}, bytes(l.bytes)), make("td", {}, bytes(l.sent)), make("td", {}, make("code", {}, layoutName(l))),
                make("td", {}, l.reason));
        }, chooseLayout);
    table.draw();
    all(".scatter circle").forEach(function (c) {
        c.addEventListener("pointerenter", function () { chooseLayout(+c.dataset.row); });
    });
    /* The nearest dot is selected, not only one under the pointer. */
    plot.addEventListener("pointerdown", function (e) {
        var near = null, least = 30;
        all("circle", plot).forEach(function (c) {
            var b = c.getBoundingClientRect(), d = Math.hypot(e.clientX - b.left - b.width / 2, e.clientY - b.top - b.height / 2);
            if (d < least) { least = d; near = c; }
        });
        if (near) chooseLayout(+near.dataset.row);
    });
});

/* ---- runs ---- */

/* A line's points, in steps and in seconds; `mean` is what is drawn. */
function Line(l, times) {
    var run = data.runs[l.run], of = l.figure < 0 ? run : run.figures[l.figure];
    this.raw = of[l.column].map(function (v) { return v === null ? null : v * times; });
    this.mean = l.mean || this.raw;
    this.smooth = !!l.mean;
    this.x = [of.step, of.seconds];
}
/* The nearest point; -1 where the line has none. */
Line.prototype.near = function (way, at) {
    var x = this.x[way], low = 0, high = x.length - 1;
    while (high - low > 1) {
        var middle = (low + high) >> 1;
        if (x[middle] <= at) low = middle; else high = middle;
    }
    return x.length && Math.abs(x[high] - at) < Math.abs(x[low] - at) ? high : x.length ? low : -1;
};

function Curve(figure) {
    var curve = this, c = data.curves[+figure.dataset.curve];
    this.unit = c.unit;
    this.digits = c.digits;
    this.lines = c.lines.map(function (l) { return new Line(l, c.times); });
    this.plot = one(".plot", figure);
    this.plots = one(".plots", figure);
    this.axes = all(".plot.axis", figure);
    this.told = one(".told", figure);
    this.values = all(".value b", figure);
    this.last = [this.told].concat(this.values).map(function (e) { return e.textContent; });
    this.at = Infinity;
    this.cursor = make("div", {class: "cursor"});
    this.cursor.hidden = true;
    this.plots.append(this.cursor);
    this.plots.addEventListener("pointermove", function (e) {
        var box = curve.plot.getBoundingClientRect(), axis = curve.axis(), share = clamp((e.clientX - box.left) / box.width, 0, 1);
        curve.show(+axis.dataset.from + share * (axis.dataset.to - axis.dataset.from));
    });
    this.plots.addEventListener("pointerleave", function () { curve.rest(); });
    this.plots.addEventListener("keydown", function (e) {
        if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
        e.preventDefault();
        curve.go(e.key === "ArrowRight" ? 1 : -1);
    });
}
Curve.prototype.way = function () { return one("#by-time").checked ? 1 : 0; };
Curve.prototype.axis = function () { return this.axes[this.way()]; };
Curve.prototype.value = function (v) { return v === null ? "not a number" : (this.digits === 3 && v >= 999.5 ? count(v) : Number(v.toPrecision(this.digits))) + this.unit; };
/* Tells of the points nearest to a place; a line that has ended there is silent. */
Curve.prototype.show = function (at) {
    var curve = this, way = this.way(), axis = this.axis(), from = +axis.dataset.from, to = +axis.dataset.to, best = null;
    this.lines.forEach(function (line) {
        var k = line.near(way, at), x = line.x[way][k];
        if (k >= 0 && (best === null || Math.abs(x - at) < Math.abs(best.x - at))) best = {x: x, k: k, line: line};
    });
    if (!best) return;
    this.at = at = best.x;
    this.lines.forEach(function (line, i) {
        var k = line.near(way, at), x = line.x[way], inside = k >= 0 && (line === best.line || (at >= x[0] && at <= x[x.length - 1]));
        curve.values[i].textContent = inside ? curve.value(line.mean[k]) : "\u2013";
    });
    var raw = best.line.smooth && this.lines.length === 1 ? ", " + this.value(best.line.raw[best.k]) : best.line.smooth ? "," : "";
    this.told.textContent = (raw ? "smoothed" + raw + " " : "") + (way ? "after " + seconds(at) : (raw ? "in step " : "step ") + at);
    this.cursor.hidden = false;
    this.cursor.style.left = this.plot.offsetLeft + (to > from ? (at - from) / (to - from) : 0.5) * this.plot.offsetWidth + "px";
};
/* To the next point of the first line. */
Curve.prototype.go = function (by) {
    var x = this.lines[0].x[this.way()];
    if (x.length) this.show(x[clamp(this.lines[0].near(this.way(), Math.min(this.at, x[x.length - 1])) + by, 0, x.length - 1)]);
};
Curve.prototype.rest = function () {
    var last = this.last;
    this.cursor.hidden = true;
    [this.told].concat(this.values).forEach(function (e, i) { e.textContent = last[i]; });
};

var curves = all(".curve:not(.single)").map(function (figure) { return new Curve(figure); });
all("input.by").forEach(function (input) {
    input.addEventListener("change", function () { curves.forEach(function (c) { c.rest(); }); });
});

/* ---- the mesh ---- */

function Mesh(box) {
    var mesh = this;
    this.plan = plans[+box.dataset.plan];
    this.traffic = one("svg.traffic", box);
    this.parts = one("svg.parts", box);
    this.number = one("figcaption output", box);
    this.input = one("figcaption input", box);
    this.share = one(".share", box);
    this.sums = {};
    for (var k in this.plan.d.wires) {
        var w = this.plan.d.wires[k];
        if (w[2] > 1) this.sums[w[1]] = (this.sums[w[1]] || 0) + w[3] / (w[2] - 1);
    }
    var list = make("datalist", {id: this.input.getAttribute("list")});
    this.plan.d.tensors.forEach(function (t) { list.append(make("option", {value: t[0]})); });
    this.input.after(list);
    this.input.addEventListener("input", function () { mesh.hold(mesh.input.value); });
    all("g[data-p]", this.traffic).forEach(function (g) {
        g.addEventListener("click", function () { mesh.talk(+g.dataset.p); });
    });
    this.traffic.setAttribute("tabindex", "0");
    this.traffic.addEventListener("keydown", function (e) { if (mesh.key(e.key)) e.preventDefault(); });
    this.talk(this.plan.d.processor);
    this.hold(this.input.value);
}
/* Arrow keys select neighbours in the picture. */
Mesh.prototype.key = function (key) {
    var cells = all("g[data-p]", this.traffic), top = cells[0].getBoundingClientRect().top;
    var columns = cells.filter(function (g) { return Math.abs(g.getBoundingClientRect().top - top) < 1; }).length;
    var by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[key];
    if (!by) return false;
    this.talk(clamp(+this.number.textContent + by, 0, cells.length - 1));
    return true;
};
Mesh.prototype.between = function (p, q) {
    var a = this.plan.place(p), b = this.plan.place(q), bits = 0, sum = 0, k;
    a.forEach(function (at, i) { if (at !== b[i]) bits |= 1 << i; });
    for (k in this.sums) if (bits && !(bits & ~k)) sum += this.sums[k];
    return sum;
};
Mesh.prototype.where = function (p) {
    var names = this.plan.d.axes;
    return "processor " + p + " (" + this.plan.place(p).map(function (at, a) { return names[a] + "=" + at; }).join(", ") + ")";
};
function title(g, text) {
    var t = one("title", g) || g.insertBefore(doc.createElementNS("http://www.w3.org/2000/svg", "title"), g.firstChild);
    t.textContent = text;
}
Mesh.prototype.talk = function (p) {
    var mesh = this, cells = all("g[data-p]", this.traffic), most = 0;
    var sums = cells.map(function (g) { var b = mesh.between(p, +g.dataset.p); most = Math.max(most, b); return b; });
    this.number.textContent = p;
    cells.forEach(function (g, i) {
        var here = +g.dataset.p === p;
        g.classList.toggle("here", here);
        one(".tint", g).setAttribute("fill-opacity", most ? 0.75 * sums[i] / most : 0);
        one(".bytes", g).textContent = here ? "shown" : sums[i] > most / 1000 ? bytes(sums[i]) : "";
        title(g, mesh.where(+g.dataset.p) + (here ? "" : sums[i] ? ": " + bytes(sums[i]) + " from processor " + p
            : ": nothing from processor " + p));
    });
};
Mesh.prototype.hold = function (name) {
    var mesh = this, plan = this.plan, t = plan.byName[name], side = 28, parts = 1;
    if (t === undefined) { this.share.textContent = "no tensor of this program has that name"; return; }
    var form = plan.d.forms[plan.d.tensors[t][1]], cut = form.filter(function (dim) { return dim[2].length; });
    all("g[data-p]", this.parts).forEach(function (g) {
        var point = plan.place(+g.dataset.p), box = one(".part", g), from = [0, 0], size = [1, 1];
        cut.slice(0, 2).forEach(function (dim, i) {
            var r = plan.range(dim[1], dim[2], point);
            if (cut.length === 1 && form.length > 1 && dim === form[form.length - 1]) i = 1;
            from[i] = r[0] / dim[1];
            size[i] = (r[1] - r[0]) / dim[1];
        });
        box.setAttribute("x", 12 + side * from[1]);
        box.setAttribute("y", 17 + side * from[0]);
        box.setAttribute("width", side * size[1]);
        box.setAttribute("height", side * size[0]);
        title(g, mesh.where(+g.dataset.p) + ": " + name + "[" + form.map(function (dim) {
            var r = plan.range(dim[1], dim[2], point);
            return dim[0] + " " + (r[1] > r[0] ? r[0] + ".." + (r[1] - 1) : "none");
        }).join(", ") + "]");
    });
    this.share.textContent = "";
    form.forEach(function (dim, i) {
        var n = plan.group(dim[2].reduce(function (bits, a) { return bits | 1 << a; }, 0));
        parts *= n;
        mesh.share.append(i ? ", " : "", make("code", {}, dim[0] + "=" + dim[1]), n > 1 ? " in " + n : "");
    });
    var copies = plan.d.processors / parts;
    this.share.append((form.length ? ": " : "") + parts + (parts === 1 ? " part" : " parts") + ", each on " + copies +
        (copies === 1 ? " processor" : " processors"));
};

all(".meshes").forEach(function (box) { new Mesh(box); });
})();
