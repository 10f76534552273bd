/* Saves the plots and charts of the page as SVG and PNG files in the style of the files that the command line writes:
   light, 960 wide, axes with units, a legend. It reads what the page shows and changes nothing in it. */
nandscope.exports = (function () {
  "use strict";
  var root = document.documentElement;
  var WIDTH = 960;
  /* Size of a saved plot, its margins, and how much room a mark's name has. */
  var SAVED = { width: WIDTH, height: 420, left: 86, right: 24, above: 44, below: 62, label: 20, small: 12, row: 20, legend: 78, marks: "wide" };
  var FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
  /* The namespace of SVG, as the browser knows it. */
  var NS = (function () { var d = document.createElement("div"); d.innerHTML = "<svg></svg>"; return d.firstChild.namespaceURI; })();

  function el(parent, name, attributes, text) {
    var e = document.createElementNS(NS, name);
    for (var k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }
  function words(e) { return e ? e.textContent.trim().replace(/\s+/g, " ") : ""; }
  /* Carries out a function while the page has its light colours. */
  function light(action) {
    var before = root.dataset.print;
    root.dataset.print = "yes";
    try { return action(); } finally { if (before === undefined) delete root.dataset.print; else root.dataset.print = before; }
  }
  function css(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

  function canvas(height, title) {
    var svg = el(null, "svg", { width: WIDTH, height: height, viewBox: "0 0 " + WIDTH + " " + height, "font-family": FONT, "font-size": 12, fill: css("--ink") });
    el(svg, "rect", { width: WIDTH, height: height, fill: "#ffffff" });
    el(svg, "text", { x: 16, y: 24, "font-size": 15, "font-weight": 600 }, title);
    return svg;
  }
  function line(svg, x1, y1, x2, y2, stroke, more) {
    var given = { x1: x1, y1: y1, x2: x2, y2: y2, stroke: stroke };
    for (var k in more) given[k] = more[k];
    return el(svg, "line", given);
  }

  /* Names of the lines beneath a plot, as many beside each other as the longest leaves room for. */
  function legend(svg, lines, top, columns, frame) {
    lines.forEach(function (l, i) {
      var x = frame.legend + (i % columns) * ((frame.width - frame.legend - 12) / columns), y = top + Math.floor(i / columns) * frame.row;
      line(svg, x, y, x + 24, y, css("--c" + l.c), { "stroke-width": 3, "stroke-dasharray": l.dash ? "9 6" : "none" });
      el(svg, "text", { x: x + 32, y: y + 4 }, l.name);
    });
  }
  function columnsOf(lines, frame) {
    var longest = Math.max.apply(null, lines.map(function (l) { return l.name.length; }).concat(0));
    return Math.max(1, Math.min(3, Math.floor((frame.width - frame.legend - 12) / (longest * 6.6 + 50))));
  }

  /* Pieces of a line without a gap: null breaks it, undefined is another line's place. */
  function runs(xs, values, x, y, log) {
    var all = [[]];
    values.forEach(function (v, i) {
      if (v === null) all.push([]);
      else if (v !== undefined && isFinite(v) && !(log && v <= 0)) all[all.length - 1].push([x(xs[i]).toFixed(2), y(v).toFixed(2)]);
    });
    return all.filter(function (run) { return run.length; });
  }
  function path(points) { return points.map(function (p) { return p.join(","); }).join(" "); }

  /* Draws a plot into an SVG that already has its ground and its title. */
  function plot(figure, frame, svg) {
    var loaded = nandscope.load(figure.querySelector(".plot-area")), spec = loaded.spec, data = loaded.points;
    var named = spec.lines.filter(function (l) { return !l.edge; }), columns = columnsOf(named, frame), rows = Math.ceil(named.length / columns);
    var left = frame.left, end = frame.width - frame.right, height = +svg.getAttribute("height");
    var top = frame.above + (spec.marks.length ? 14 : 0), bottom = height - frame.below - rows * frame.row, narrow = frame.marks === "narrow";
    function scale(a, from, to) {
      var f = a.log ? Math.log10 : function (v) { return v; };
      var low = f(a.from), span = f(a.to) - low || 1;
      return function (v) { return from + (f(v) - low) / span * (to - from); };
    }
    var x = scale(spec.xa, left, end), y = scale(spec.ya, bottom, top);
    spec.ya.ticks.forEach(function (t) {
      line(svg, left, y(t[0]), end, y(t[0]), css("--grid"));
      el(svg, "text", { x: left - 8, y: y(t[0]) + 4, "text-anchor": "end" }, t[1]);
    });
    spec.xa.ticks.forEach(function (t) {
      line(svg, x(t[0]), top, x(t[0]), bottom, css("--grid"));
      if (!narrow || t[2]) el(svg, "text", { x: x(t[0]), y: bottom + 18, "text-anchor": "middle" }, t[1]);
    });
    line(svg, left, top, left, bottom, css("--ink"));
    line(svg, left, bottom, end, bottom, css("--ink"));
    el(svg, "text", { x: (left + end) / 2, y: bottom + 26 + frame.small, "font-size": frame.small, "text-anchor": "middle", "font-weight": 600 }, spec.x);
    el(svg, "text", { transform: "translate(" + frame.label + " " + (top + bottom) / 2 + ") rotate(-90)", "font-size": frame.small, "text-anchor": "middle", "font-weight": 600 }, spec.y);
    spec.bands.forEach(function (b) {
      var low = [].concat.apply([], runs(data[0], data[b[0] + 1], x, y, spec.ya.log)), high = [].concat.apply([], runs(data[0], data[b[1] + 1], x, y, spec.ya.log));
      el(svg, "polygon", { points: path(low.concat(high.reverse())), fill: css("--c" + spec.lines[b[0]].c), "fill-opacity": 0.22 });
    });
    spec.lines.forEach(function (l, i) {
      if (l.edge) return;
      var stroke = css("--c" + l.c);
      runs(data[0], data[i + 1], x, y, spec.ya.log).forEach(function (run) {
        if (spec.kind === "points" || run.length === 1) run.forEach(function (p) { el(svg, "circle", { cx: p[0], cy: p[1], r: 2, fill: stroke }); });
        else el(svg, "polyline", { points: path(run), fill: "none", stroke: stroke, "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": l.dash ? "7 4" : "none" });
      });
    });
    spec.limits.forEach(function (l) {
      line(svg, left, y(l.y), end, y(l.y), css("--ink"), { "stroke-dasharray": "8 4" });
      el(svg, "text", { x: l.left ? left + 4 : end - 4, y: y(l.y) - 4, "font-size": 12, "text-anchor": l.left ? "start" : "end", "paint-order": "stroke", stroke: "#ffffff", "stroke-width": 3 }, l.name);
    });
    spec.marks.forEach(function (m) {
      line(svg, x(m.x), top, x(m.x), bottom, css("--ink"), { "stroke-dasharray": "2 4" });
      if (m[frame.marks]) el(svg, "text", { x: x(m.x), y: top - 5, "font-size": 11, "text-anchor": m.before ? "end" : "start" }, m[frame.marks]);
    });
    legend(svg, named, height - rows * frame.row, columns, frame);
    return svg;
  }
  /* A plot as it is saved: it grows with its legend. */
  function saved(figure, title) {
    var named = nandscope.load(figure.querySelector(".plot-area")).spec.lines.filter(function (l) { return !l.edge; });
    var rows = Math.ceil(named.length / columnsOf(named, SAVED));
    return plot(figure, SAVED, canvas(SAVED.height + Math.max(0, rows - 3) * 20, title));
  }
  /* A plot for paper, without a title and as wide as its place, which scales it. */
  function small(figure, frame) {
    var named = nandscope.load(figure.querySelector(".plot-area")).spec.lines.filter(function (l) { return !l.edge; });
    var height = frame.height + frame.row * Math.ceil(named.length / columnsOf(named, frame));
    var svg = el(null, "svg", { "class": "printed", width: frame.width, height: height, viewBox: "0 0 " + frame.width + " " + height, "font-family": FONT, "font-size": 12, fill: css("--ink") });
    return plot(figure, frame, svg);
  }

  var FILLS = ["--c0", "--c1", "--c2", "--c4", "--c7"];
  function colourOf(fill) {
    var picked = fill.closest(".picked, .second");
    var number = FILLS.findIndex(function (_, i) { return fill.classList.contains("m" + i); });
    return css(picked ? "--c1" : FILLS[Math.max(0, number)]);
  }
  /* A chart of bars: each label above its bars, the value behind each bar with what is said of it. */
  function bars(figure, title) {
    var length = 560, x = 30;
    var rows = Array.prototype.filter.call(figure.querySelectorAll(".bars-row, .shelf-row"), nandscope.seen);
    var height = 52 + 56;
    rows.forEach(function (row) { height += 24 + 24 * Math.max(1, row.querySelectorAll(".bars-bar").length); });
    var svg = canvas(height, title), y = 52, bottom = height - 56;
    figure.querySelectorAll(".bars-ticks span").forEach(function (tick) {
      var at = x + parseFloat(tick.style.left) / 100 * length;
      line(svg, at, y, at, bottom, css("--grid"));
      el(svg, "text", { x: at, y: bottom + 18, "text-anchor": "middle" }, words(tick));
    });
    el(svg, "text", { x: x + length / 2, y: bottom + 40, "text-anchor": "middle", "font-weight": 600 }, words(figure.querySelector(".bars-axis-unit")));
    rows.forEach(function (row) {
      var inside = row.querySelectorAll(".bars-bar");
      el(svg, "text", { x: x, y: y + 18 }, words(row.querySelector(".bars-label, .shelf-label")));
      y += 24;
      (inside.length ? Array.prototype.slice.call(inside) : [row]).forEach(function (bar) {
        var fill = bar.querySelector(".bars-fill"), end = parseFloat(fill.style.width) / 100 * length;
        el(svg, "rect", { x: x, y: y + 4, width: Math.max(1, end), height: 14, fill: colourOf(fill) });
        var whisker = bar.querySelector(".bars-whisker"), published = bar.querySelector(".bars-published, .bars-limit"), right = end;
        if (whisker) {
          var from = parseFloat(whisker.style.left) / 100 * length, to = from + parseFloat(whisker.style.width) / 100 * length;
          line(svg, x + from, y + 11, x + to, y + 11, css("--ink"), { "stroke-width": 2 });
          right = Math.max(right, to);
        }
        if (published) {
          var at = parseFloat(published.style.left) / 100 * length;
          line(svg, x + at, y + 1, x + at, y + 21, css("--ink"), { "stroke-width": 3 });
          right = Math.max(right, at);
        }
        var value = bar.querySelector(".bars-value"), small = value.querySelector("small");
        var plain = value.firstChild && value.firstChild.nodeType === 3 ? value.firstChild.textContent.trim() : words(value);
        var parts = [plain, words(bar.querySelector(".bars-mode")), words(small)];
        el(svg, "text", { x: x + right + 8, y: y + 16 }, parts.filter(Boolean).join(", "));
        y += 24;
      });
    });
    return svg;
  }

  /* The address range of a verification: a field after the other, the real end, the key below. */
  var STATES = { genuine: "--good", aliased: "--c1", lost: "--bad", unreadable: "--c4", "not-tested": "--track" };
  function state(svg, name, x, y, width, height) {
    el(svg, "rect", { x: x, y: y, width: width, height: height, fill: css(STATES[name]) });
    var at, upper, lower;
    if (name === "aliased") for (at = 4; at < width + height; at += 7) {
      upper = Math.min(at, width);
      lower = Math.max(0, at - height);
      line(svg, x + upper, y + at - upper, x + lower, y + at - lower, "#ffffff", { "stroke-width": 2, "stroke-opacity": 0.45 });
    }
    if (name === "unreadable") for (at = 3; at < width; at += 5) el(svg, "rect", { x: x + at, y: y, width: Math.min(2, width - at), height: height, fill: css("--ink") });
  }
  function strip(figure, title) {
    var left = 48, length = 864, y = 58, height = 48, svg = canvas(214, title), fields = figure.querySelectorAll(".strip-range i"), x = left;
    function end(at, top, bottom) { el(svg, "rect", { x: at - 1.5, y: top, width: 3, height: bottom - top, fill: css("--ink"), stroke: "#ffffff", "stroke-width": 1.5 }); }
    fields.forEach(function (field, i) { state(svg, field.className, left + i * length / fields.length, y, length / fields.length, height); });
    el(svg, "rect", { x: left, y: y, width: length, height: height, fill: "none", stroke: css("--ink") });
    figure.querySelectorAll(".strip-range b").forEach(function (b) { end(left + parseFloat(b.style.left) / 100 * length, y - 8, y + height + 8); });
    figure.querySelectorAll(".bars-ticks span").forEach(function (tick) {
      el(svg, "text", { x: left + parseFloat(tick.style.left) / 100 * length, y: 130, "text-anchor": "middle" }, words(tick));
    });
    figure.querySelectorAll(".strip-key li").forEach(function (key) {
      var sample = key.querySelector("i"), text = words(key), width = sample ? 22 : 4;
      if (sample) state(svg, sample.className, x, 150, width, 12); else end(x + 2, 149, 163);
      el(svg, "text", { x: x + width + 6, y: 160 }, text);
      x += width + 22 + text.length * 7;
    });
    el(svg, "text", { x: left, y: 194 }, words(figure.querySelector("p")));
    return svg;
  }

  /* A drawing of the page's own, with the styles of the page put into it. */
  var STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "paint-order"];
  function inline(drawing, title) {
    var box = drawing.viewBox.baseVal, copy = drawing.cloneNode(true), own = drawing.querySelectorAll("*");
    copy.querySelectorAll("*").forEach(function (e, i) {
      var style = getComputedStyle(own[i]);
      STYLES.forEach(function (name) { e.setAttribute(name, style.getPropertyValue(name)); });
    });
    copy.removeAttribute("class");
    copy.removeAttribute("style");
    var room = Math.max(box.width, title.length * 8 + 32);
    var svg = el(null, "svg", { width: room, height: box.height + 44, viewBox: "0 0 " + room + " " + (box.height + 44), "font-family": FONT, fill: css("--ink") });
    el(svg, "rect", { width: room, height: box.height + 44, fill: "#ffffff" });
    el(svg, "text", { x: 16, y: 24, "font-size": 15, "font-weight": 600 }, title);
    copy.setAttribute("y", 40);
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    svg.appendChild(copy);
    return svg;
  }

  function titleOf(figure) {
    var own = words(figure.querySelector("h5, .plot-head h3, .bars-title, :scope > figcaption > .save-title")) || words((figure.closest("section") || document.body).querySelector("h2, h1"));
    var part = figure.closest(".glance, details.step") || figure.closest("details.fold, section");
    var above = words(part && part.querySelector(part.tagName === "DIV" ? "h3" : part.matches(".step") ? "h4" : "h2"));
    return above && above !== own && own.indexOf(above) < 0 ? above + ": " + own : own;
  }
  function nameOf(figure, title) {
    var id = figure.id.replace(/^plot-/, ""), text = /\D/.test(id) && !figure.matches(".shelf-chart") ? id : title;
    return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 72) || "plot";
  }
  function draw(figure) {
    var title = titleOf(figure);
    return light(function () {
      var drawing = figure.querySelector("svg.sweep-plot");
      if (figure.querySelector(".plot-area")) return saved(figure, title);
      if (figure.matches(".strip")) return strip(figure, title);
      return drawing ? inline(drawing, title) : bars(figure, title);
    });
  }

  function save(blob, name) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 60000);
  }
  function run(figure, kind) {
    var svg = draw(figure), name = nameOf(figure, titleOf(figure));
    var text = new XMLSerializer().serializeToString(svg);
    if (kind === "SVG") { save(new Blob([text], { type: "image/svg+xml" }), name + ".svg"); return; }
    var image = new Image();
    image.onload = function () {
      var area = document.createElement("canvas");
      area.width = 2 * svg.getAttribute("width");
      area.height = 2 * svg.getAttribute("height");
      area.getContext("2d").drawImage(image, 0, 0, area.width, area.height);
      area.toBlob(function (blob) { save(blob, name + ".png"); }, "image/png");
    };
    image.onerror = function () { nandscope.failures.push(name + ": the browser cannot draw its SVG"); };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }

  /* Puts the buttons beside the title of every plot and chart of a part of the page. */
  function offer(part) {
    part.querySelectorAll("figure.plot, figure.bars, figure.drawing, figure.strip").forEach(function (figure) {
      if (figure.querySelector(".save")) return;
      var head = figure.querySelector(".plot-head") || figure.querySelector(":scope > figcaption");
      if (!head) figure.insertBefore(head = document.createElement("figcaption"), figure.firstChild);
      var box = document.createElement("span");
      box.className = "save";
      ["SVG", "PNG"].forEach(function (kind) {
        var button = document.createElement("button");
        button.type = "button";
        button.textContent = kind;
        button.setAttribute("aria-label", "Save as " + kind + ": " + titleOf(figure));
        button.addEventListener("click", function () { run(figure, kind); });
        box.appendChild(button);
      });
      head.appendChild(box);
    });
  }

  return { offer: offer, small: small };
})();
