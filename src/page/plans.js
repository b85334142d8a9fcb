/* Plans: the step over time, its instructions, the mesh. */

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
        if (x > 0.95) mark.className = "last";
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
    this.letters();
    addEventListener("resize", function () { mesh.letters(); });
}
/* Pictures shrink with the window, their letters do not: where cells have no room for them they are left out, and pointing
 * tells the same. */
Mesh.prototype.letters = function () {
    [this.traffic, this.parts].forEach(function (svg) {
        var scale = svg && svg.getScreenCTM().a, size = Math.max(11 / scale, Math.min(11, 13 / scale)), side = svg && all(".axis", svg)[1];
        if (!scale) return;
        svg.style.setProperty("--letters", size + "px");
        svg.classList.toggle("narrow", scale < 0.85);
        svg.classList.toggle("tiny", scale < 0.6);
        if (side) side.setAttribute("transform", side.getAttribute("transform").replace(/[-.0-9]+/, 22 - 0.75 * size));
    });
};
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
