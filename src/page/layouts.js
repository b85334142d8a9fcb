/* Layouts: time against memory, and their table. */

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

/* ---- labels ---- */

/* A label covers no dot, no other label and no leader line, and stays inside the plot.  The best and the front are
 * tried first; what finds no place has no label, and is told by pointing at its dot. */
var MOST_LABELS = 12;

/* The mesh is named where it is another one than the best's. */
function labelName(l) {
    return layoutName({mesh: "", layout: l.layout, state: l.state}) + (l.mesh === data.layouts[0].mesh ? "" : " on " + l.mesh);
}

function Labels(plot) {
    var box = plot.getBoundingClientRect();
    this.plot = plot;
    this.svg = one("svg", plot);
    this.width = box.width;
    this.height = box.height;
    all(".label, .leader", plot).forEach(function (e) { e.remove(); });
    function inside(e) {
        var b = e.getBoundingClientRect();
        return {left: b.left - box.left, top: b.top - box.top, right: b.right - box.left, bottom: b.bottom - box.top};
    }
    this.dots = all("circle", plot).map(function (c) {
        var b = inside(c);
        b.x = (b.left + b.right) / 2;
        b.y = (b.top + b.bottom) / 2;
        b.row = +c.dataset.row;
        b.front = c.classList.contains("front") || c.classList.contains("best");
        return b;
    });
    this.taken = this.dots.concat(all("span.limit", plot).map(inside));
    this.leaders = [];
    this.lines = all("line.front, line.limit", plot).map(inside);
}
function overlap(a, b, room) {
    return a.left < b.right + room && b.left < a.right + room && a.top < b.bottom + room && b.top < a.bottom + room;
}
/* Does the line from (x0, y0) to (x1, y1) pass through a box? */
function crosses(line, b) {
    var from = 0, to = 1, d = [line.x1 - line.x0, line.y1 - line.y0];
    [[-d[0], line.x0 - b.left], [d[0], b.right - line.x0], [-d[1], line.y0 - b.top], [d[1], b.bottom - line.y0]].forEach(function (p) {
        if (p[0] === 0) { if (p[1] < 0) to = -1; return; }
        if (p[0] < 0) from = Math.max(from, p[1] / p[0]); else to = Math.min(to, p[1] / p[0]);
    });
    return from <= to;
}
/* Equal prices lie on one another: one of them is labelled. */
function twins(a, b) { return Math.abs(a.x - b.x) < 4 && Math.abs(a.y - b.y) < 4; }
/* Is there room for a label at this place?  Strict: and does no line of the front pass behind it? */
Labels.prototype.free = function (b, dot, leader, strict) {
    if (b.left < 2 || b.top < 2 || b.right > this.width - 2 || b.bottom > this.height - 2) return false;
    return !this.taken.some(function (t) { return overlap(b, t, 2) || (leader && !twins(t, dot) && crosses(leader, t)); }) &&
        !this.leaders.some(function (l) { return crosses(l, b); }) &&
        !(strict && this.lines.some(function (l) { return overlap(b, l, 1); }));
};
/* Beside the dot, then around it at growing distances, where a line leads to it. */
Labels.prototype.places = function (dot, w, h) {
    var list = [], gap = 4;
    [[dot.right + gap, dot.y - h / 2], [dot.left - gap - w, dot.y - h / 2], [dot.right + 2, dot.top - h], [dot.left - w - 2, dot.top - h],
        [dot.right + 2, dot.bottom], [dot.left - w - 2, dot.bottom]].forEach(function (p) { list.push({left: p[0], top: p[1], leader: null}); });
    [20, 36, 56, 80].forEach(function (away) {
        for (var k = 0; k < 16; k++) {
            var x = Math.cos(Math.PI * k / 8), y = -Math.sin(Math.PI * k / 8), at = {x: dot.x + away * x, y: dot.y + away * y};
            list.push({left: at.x - w * (1 - x) / 2, top: at.y - h * (1 - y) / 2,
                leader: {x0: dot.x + 7 * x, y0: dot.y + 7 * y, x1: at.x, y1: at.y}});
        }
    });
    return list;
};
/* Those that `leads` may have a line to their dot, and where there is no other place lie over the front. */
Labels.prototype.put = function (dot, leads) {
    var label = make("span", {class: "label", "data-row": dot.row}, labelName(data.layouts[dot.row])), labels = this, found = null;
    this.plot.append(label);
    var size = label.getBoundingClientRect(), places = this.places(dot, size.width, size.height);
    [true, false].forEach(function (strict) {
        places.forEach(function (p) {
            var b = {left: p.left, top: p.top, right: p.left + size.width, bottom: p.top + size.height};
            if (!found && (leads || (strict && !p.leader)) && labels.free(b, dot, p.leader, strict)) found = {box: b, leader: p.leader};
        });
    });
    if (!found) return label.remove(), false;
    label.style.left = found.box.left + "px";
    label.style.top = found.box.top + "px";
    this.taken.push(found.box);
    if (found.leader) this.lead(found.leader);
    return true;
};
Labels.prototype.lead = function (l) {
    var line = doc.createElementNS("http://www.w3.org/2000/svg", "line");
    [["class", "leader"], ["x1", l.x0], ["y1", l.y0], ["x2", l.x1], ["y2", l.y1]].forEach(function (a) { line.setAttribute(a[0], a[1]); });
    this.svg.append(line);
    this.leaders.push(l);
};

all(".scatter .plot:not(.axis)").forEach(function (plot) {
    function draw() {
        var labels = new Labels(plot), done = [];
        labels.dots.sort(function (a, b) { return b.front - a.front || a.row - b.row; }).forEach(function (dot) {
            if (done.length >= MOST_LABELS || done.some(function (other) { return twins(other, dot); })) return;
            if (labels.put(dot, dot.front)) done.push(dot);
        });
    }
    draw();
    addEventListener("resize", draw);
});
