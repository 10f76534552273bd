/* Draws the plots of the page from the JSON beside each with uPlot: axes, ticks and names of marks are those of the
   JSON until a reader zooms. It knows nothing of the report's chapters; the page tells it when something becomes
   visible. */
var nandscope = (function () {
  "use strict";
  var FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
  var HEIGHT = 264;
  var EAGER = 6;
  var drawn = [];
  var failures = [];

  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  /* Three to four significant digits, as in the rest of the report. */
  function short(v) {
    if (v === null || v === undefined || !isFinite(v)) return "–";
    var a = Math.abs(v);
    if (a === 0) return "0";
    if (a >= 1e15 || a < 0.00095) return v.toExponential(2);
    var text = v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.0995 ? 2 : 4);
    var parts = text.split(".");
    if (parts[0].replace("-", "").length > 4) parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return parts.join(".");
  }
  function withUnit(v, unit) { return unit === "×" ? short(v) + "×" : short(v) + "\u202f" + unit; }
  /* The numbers of a zoomed axis, all in the same unit: long ones would not fit beside it. */
  function ticksOf(list) {
    var most = list.reduce(function (m, v) { return v === null ? m : Math.max(m, Math.abs(v)); }, 0);
    var scale = most >= 1e6 ? 1e6 : most >= 1e5 ? 1e3 : 1, suffix = scale === 1e6 ? " M" : scale === 1e3 ? " k" : "";
    return list.map(function (v) {
      if (v === null || v === undefined) return "";
      return +(v / scale).toPrecision(6) + (v === 0 ? "" : suffix);
    });
  }

  function seen(area) { return area.clientWidth > 0 && (!area.checkVisibility || area.checkVisibility()); }

  function places(xs) {
    if (Array.isArray(xs)) return xs;
    var out = new Array(xs.n);
    for (var i = 0; i < xs.n; i++) out[i] = xs.from + xs.step * i;
    return out;
  }

  /* In the data, null breaks a line; a text is the number of places where only other lines have a sample. */
  function column(v) {
    var out = [];
    v.forEach(function (x) {
      if (typeof x !== "string") out.push(x);
      else for (var n = +x; n > 0; n--) out.push(undefined);
    });
    return out;
  }

  function nearest(u, s, i) {
    var data = u.data[s];
    if (s === 0 || data[i] !== undefined) return i;
    for (var d = 1; d < 400; d++) {
      if (data[i - d] !== undefined && data[i - d] !== null) return i - d;
      if (data[i + d] !== undefined && data[i + d] !== null) return i + d;
    }
    return i;
  }

  /* Whether all of a plot is in view; a zoomed one has ranges and ticks of its own. */
  function whole(u) {
    var shown = u.series[0].idxs, xs = u.data[0];
    /* Several dots may have the first or the last place. */
    return !shown || (xs[shown[0]] === xs[0] && xs[shown[1]] === xs[xs.length - 1]);
  }
  function scaleX(given) {
    return function (u, min, max) {
      var xs = u.data[0];
      return min === xs[0] && max === xs[xs.length - 1] ? [given.from, given.to] : [min, max];
    };
  }
  var ROOM = { pad: 0.08, soft: 0, mode: 2 };
  function scaleY(given) {
    return function (u, min, max) {
      if (whole(u) || min === null || max === null) return [given.from, given.to];
      return given.log ? uPlot.rangeLog(min, max, 10, true) : uPlot.rangeNum(min, max, { min: ROOM, max: ROOM });
    };
  }
  function splits(given) {
    return function (u, i, min, max, step) {
      var all = given.ticks.map(function (t) { return t[0]; });
      if (min === given.from && max === given.to) return all;
      /* All decades have a tick, and percentiles are no multiples of anything. */
      if (given.log || given.fixed) return all.filter(function (v) { return v >= min && v <= max; });
      var out = [];
      for (var k = Math.ceil(min / step - 1e-9); k * step <= max + 1e-9 * step; k++) out.push(+(k * step).toPrecision(12));
      return out;
    };
  }
  function texts(given, key, narrow) {
    return function (u, ticks) {
      var own = ticks.map(function (v) { return given.ticks.find(function (t) { return t[0] === v; }); }), scale = u.scales[key];
      if (!given.log && !given.fixed && (scale.min !== given.from || scale.max !== given.to)) return ticksOf(ticks);
      return own.map(function (t) { return !t || (narrow && !t[2]) ? "" : t[1]; });
    };
  }

  function axis(label, extra) {
    var base = {
      label: label, labelFont: "600 " + FONT, font: FONT, labelGap: 0,
      stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--line"), width: 1, size: 5 }
    };
    for (var k in extra) base[k] = extra[k];
    return base;
  }

  function options(spec, data, width, height, where) {
    var log = spec.kind === "percentile", curve = spec.kind === "curve", dots = spec.kind === "points", narrow = width < 480;
    spec.xa.fixed = !!spec.xt;
    function at(u, v) { return spec.xt ? spec.xt[u.data[0].indexOf(v)] : withUnit(v, spec.xu); }
    var series = [{
      label: log ? "Percentile" : spec.x.split(" ")[0],
      value: function (u, v) { return v === null || v === undefined ? "–" : at(u, v); }
    }];
    spec.lines.forEach(function (line) {
      if (line.edge) { series.push({ label: line.name, class: "edge", stroke: "transparent", width: 0, points: { show: false } }); return; }
      series.push({
        label: line.name, stroke: css("--c" + line.c), width: 1.6, dash: line.dash ? [7, 4] : undefined,
        paths: dots ? function () { return null; } : undefined,
        points: dots ? { show: true, size: 3 } : log || curve ? { show: true, size: 6 } : { show: data[0].length < 24, size: 6 },
        value: function (u, v) { return v === null || v === undefined ? "–" : withUnit(v, spec.yu); }
      });
    });
    var y = { size: 58, labelSize: 20, splits: splits(spec.ya), values: texts(spec.ya, "y", false), filter: function (u, ticks) { return ticks; } };
    var x = { size: 34, labelSize: 20, splits: splits(spec.xa), values: texts(spec.xa, "x", narrow) };
    return {
      width: width, height: height, series: series,
      bands: spec.bands.map(function (b) { return { series: [b[0] + 1, b[1] + 1], fill: css("--c" + spec.lines[b[0]].c) + "38" }; }),
      axes: [axis(spec.x, x), axis(spec.y, y)],
      scales: {
        x: { time: false, range: scaleX(spec.xa) },
        y: { distr: spec.ya.log ? 3 : 1, log: 10, range: scaleY(spec.ya) }
      },
      padding: [curve && spec.marks.length ? 26 : 10, log ? 24 : 16, 0, 0],
      cursor: {
        sync: { key: spec.sync, setSeries: false, scales: ["x", null] },
        drag: { x: true, y: false, setScale: true }, focus: { prox: -1 },
        dataIdx: nearest, points: { size: 7 }
      },
      legend: { live: true, markers: { dash: function (u, i) { return u.series[i].dash ? "dashed" : "solid"; } } },
      hooks: {
        draw: [function (u) { limits(u, spec.limits); marks(u, spec.marks, curve ? (narrow ? "narrow" : "wide") : null); }],
        setScale: [function (u, key) { if (key === "x") follow(u); }],
        setCursor: [function (u) { if (!curve) place(u, spec.marks, where); }]
      }
    };
  }

  /* Horizontal lines, each with its name above one end. */
  function limits(u, list) {
    var ctx = u.ctx, box = u.bbox, gap = 4 * devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--ink");
    ctx.lineWidth = devicePixelRatio;
    ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
    ctx.textBaseline = "bottom";
    list.forEach(function (l) {
      var y = Math.round(u.valToPos(l.y, "y", true));
      if (y < box.top || y > box.top + box.height) return;
      ctx.setLineDash([8 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.beginPath(); ctx.moveTo(box.left, y); ctx.lineTo(box.left + box.width, y); ctx.stroke();
      ctx.setLineDash([]);
      halo(ctx, l.name, l.left ? box.left + gap : box.left + box.width - gap, y - 2 * devicePixelRatio, l.left ? "left" : "right");
    });
    ctx.restore();
  }
  /* A text that can be read on lines. */
  function halo(ctx, text, x, y, align) {
    ctx.save();
    ctx.textAlign = align;
    ctx.strokeStyle = css("--bg");
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.strokeText(text, x, y);
    ctx.restore();
    ctx.textAlign = align;
    ctx.fillText(text, x, y);
  }

  /* `named`: which of its names is above each mark; its whole name is below the plot. */
  function marks(u, list, named) {
    if (!list.length) return;
    var ctx = u.ctx, box = u.bbox;
    ctx.save();
    ctx.strokeStyle = css("--soft");
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    list.forEach(function (m) {
      var x = Math.round(u.valToPos(m.x, "x", true));
      if (x < box.left || x > box.left + box.width) return;
      ctx.beginPath(); ctx.moveTo(x, box.top); ctx.lineTo(x, box.top + box.height); ctx.stroke();
    });
    ctx.restore();
    if (named) markNames(u, list, named);
  }

  function markNames(u, list, named) {
    var ctx = u.ctx, box = u.bbox;
    ctx.save();
    ctx.fillStyle = css("--soft");
    ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
    ctx.textBaseline = "bottom";
    list.forEach(function (m) {
      var x = u.valToPos(m.x, "x", true);
      if (x < box.left || x > box.left + box.width) return;
      ctx.textAlign = m.before ? "right" : "left";
      ctx.fillText(m[named], x, box.top - 4 * devicePixelRatio);
    });
    ctx.restore();
  }

  /* Names the step at the cursor. */
  function place(u, list, where) {
    if (!list.length) return;
    var i = u.cursor.idx, name = "";
    if (i !== null && i !== undefined) {
      var x = u.data[0][i];
      list.forEach(function (m) { if (m.x <= x) name = m.name; });
    }
    where.textContent = name;
  }

  /* Plots of one step zoom together; where one shows all of itself, so do the others, whose time may be another. Equal scales
     are left alone, which ends the echo. */
  function follow(u) {
    var min = u.scales.x.min, max = u.scales.x.max;
    if (!u.ready || min === null || max === null) return;
    var all = min === u.given.from && max === u.given.to;
    drawn.forEach(function (area) {
      var other = area.uplot;
      if (!other || other === u || other.group !== u.group) return;
      var xs = other.data[0], from = all ? other.given.from : min, to = all ? other.given.to : max;
      if (other.scales.x.min === from && other.scales.x.max === to) return;
      other.setScale("x", all ? { min: xs[0], max: xs[xs.length - 1] } : { min: min, max: max });
    });
  }

  /* Reads the description of a plot, once. */
  function load(area) {
    if (!area.spec) {
      area.spec = JSON.parse(area.parentNode.querySelector("script").textContent);
      area.points = [places(area.spec.xs)].concat(area.spec.lines.map(function (l) { return column(l.v); }));
    }
    return area;
  }

  function draw(area) {
    var figure = area.parentNode;
    try {
      load(area);
      if (area.uplot) area.uplot.destroy();
      var wide = area.clientWidth;
      area.uplot = new uPlot(options(area.spec, area.points, wide, HEIGHT, figure.querySelector(".plot-where")), area.points, area);
      area.uplot.group = area.spec.sync;
      area.uplot.given = area.spec.xa;
      area.uplot.ready = true;
      area.wide = wide;
      area.theme = css("--bg");
      if (drawn.indexOf(area) < 0) { drawn.push(area); area.addEventListener("keydown", key); }
    } catch (error) {
      failures.push(figure.id + ": " + error);
      area.textContent = "This plot could not be drawn: " + error;
    }
  }

  function pending() {
    return Array.prototype.filter.call(document.querySelectorAll(".plot-area"), function (a) { return !a.uplot && seen(a); });
  }

  /* A few milliseconds at a time, so that the page stays alive while many plots are drawn. */
  function slices(list) {
    var from = performance.now();
    while (list.length && performance.now() - from < 14) { var a = list.shift(); if (!a.uplot && seen(a)) draw(a); }
    if (list.length) setTimeout(function () { slices(list); }, 0);
  }

  var onSight = "IntersectionObserver" in window ? new IntersectionObserver(function (entries) {
    entries.forEach(function (e) {
      if (e.isIntersecting && !e.target.uplot) { onSight.unobserve(e.target); draw(e.target); }
    });
  }, { rootMargin: "1200px" }) : null;

  function show() {
    var list = pending();
    if (onSight && list.length > EAGER) list.splice(EAGER).forEach(function (a) { onSight.observe(a); });
    slices(list);
  }

  function again() { drawn.slice().forEach(function (a) { if (seen(a)) draw(a); }); }

  function fit() {
    drawn.forEach(function (a) {
      var w = a.clientWidth;
      if (seen(a) && (Math.abs(w - a.wide) > 1 || a.theme !== css("--bg"))) draw(a);
    });
  }

  function key(event) {
    var area = event.currentTarget, u = area.uplot;
    if (!u) return;
    var xs = u.data[0], min = u.scales.x.min, max = u.scales.x.max;
    var i = u.cursor.idx === null || u.cursor.idx === undefined ? u.valToIdx(min) : u.cursor.idx;
    var leap = event.shiftKey ? Math.max(10, Math.round(xs.length / 20)) : 1;
    var middle = xs[i] >= min && xs[i] <= max ? xs[i] : (min + max) / 2;
    var zoom = function (f) { u.setScale("x", { min: middle - (middle - min) * f, max: middle + (max - middle) * f }); };
    if (event.key === "ArrowRight") i = Math.min(xs.length - 1, i + leap);
    else if (event.key === "ArrowLeft") i = Math.max(0, i - leap);
    else if (event.key === "+" || event.key === "=") { zoom(0.5); event.preventDefault(); return; }
    else if (event.key === "-") { u.setScale("x", { min: Math.max(xs[0], middle - (middle - min) * 2), max: Math.min(xs[xs.length - 1], middle + (max - middle) * 2) }); event.preventDefault(); return; }
    else if (event.key === "Escape") { u.setScale("x", { min: xs[0], max: xs[xs.length - 1] }); return; }
    else return;
    event.preventDefault();
    u.setCursor({ left: u.valToPos(xs[i], "x"), top: u.over.clientHeight / 2 }, true, true);
    say(area, i);
  }

  /* Reads the values at the cursor to those who do not see it. */
  function say(area, i) {
    var live = document.getElementById("live"), u = area.uplot, spec = area.spec;
    var words = [spec.xt ? spec.xt[i] : withUnit(u.data[0][i], spec.xu)];
    spec.lines.forEach(function (line, s) { words.push(line.name + " " + withUnit(u.data[s + 1][nearest(u, s + 1, i)], spec.yu)); });
    live.textContent = words.join(", ");
  }

  function start() {
    var live = document.createElement("div");
    live.id = "live"; live.className = "unseen"; live.setAttribute("aria-live", "polite");
    document.body.appendChild(live);
    var timer = 0;
    addEventListener("resize", function () { clearTimeout(timer); timer = setTimeout(fit, 80); });
    show();
  }

  return {
    start: start, load: load, show: show, again: again, fit: fit,
    failures: failures, seen: seen, short: short, withUnit: withUnit, places: places,
    idle: function () { return pending().length === 0; }
  };
})();
