/* Makes the pictures of a page interactive; they are drawn without it.
 *
 * page.c puts it and the scripts of plans, layouts and runs into one function, in this order.
 */
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
