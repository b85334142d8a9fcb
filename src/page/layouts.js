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
