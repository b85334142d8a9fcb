/* Runs: their curves, by step and by time. */

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
