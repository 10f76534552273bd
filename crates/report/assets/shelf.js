/* The pages of a shelf: search, filters, order and choice of the index; the comparison of two drives. Everything is in
   the page; nothing is fetched. Texts are set as text, never as markup. */
(function () {
  "use strict";
  function id(name) { return document.getElementById(name); }
  function all(selector, within) { return Array.prototype.slice.call((within || document).querySelectorAll(selector)); }
  function on(name, event, action) { id(name).addEventListener(event, action); }

  all(".needs-script").forEach(function (el) { el.hidden = false; });
  all("form").forEach(function (form) { form.addEventListener("submit", function (e) { e.preventDefault(); }); });

  /* The index. */
  function index() {
    var body = id("drives").tBodies[0], rows = all("tr", body), picked = [];
    var charts = all(".shelf-chart");

    function matches(row) {
      var words = id("search").value.toLowerCase().split(/\s+/), text = (row.dataset.name + " " + row.textContent).toLowerCase();
      var kind = id("kind").value, capacity = id("capacity").value;
      return words.every(function (word) { return text.indexOf(word) >= 0; }) &&
        (!kind || row.dataset.kind === kind) && (!capacity || row.dataset.bucket === capacity);
    }
    /* Shows the bars of the drives that are kept; the longest fills the track when others are left out. */
    function fit(figure, kept) {
      var bars = all(".shelf-row", figure), most = 0, whole = 0;
      function length(row) {
        var fill = row.querySelector(".bars-fill");
        if (!fill.dataset.length) fill.dataset.length = parseFloat(fill.style.width) || 0;
        return +fill.dataset.length;
      }
      bars.forEach(function (row) {
        row.hidden = !kept[row.dataset.drive];
        whole = Math.max(whole, length(row));
        if (!row.hidden) most = Math.max(most, length(row));
      });
      bars.forEach(function (row) { row.querySelector(".bars-fill").style.width = (most > 0 ? length(row) * whole / most : 0) + "%"; });
    }
    function filter() {
      var kept = {}, count = 0;
      rows.forEach(function (row) {
        var keep = matches(row);
        row.hidden = !keep;
        kept[row.dataset.drive] = keep;
        if (keep) count++;
      });
      charts.forEach(function (figure) { fit(figure, kept); });
      id("shown").textContent = count + " of " + rows.length + " shown";
      id("none").hidden = count > 0 || rows.length === 0;
    }
    /* Names and prices ascend; of all else the greatest comes first. Drives without a value come last. */
    function order() {
      var key = id("sort").value, ascends = key === "title" || key === "price";
      rows.sort(function (a, b) {
        var x = a.dataset[key], y = b.dataset[key];
        if (x === "" || y === "") return (x === "") - (y === "");
        if (key === "title") return x.localeCompare(y);
        return ascends ? x - y : y - x;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    }
    function title(drive) { return rows.filter(function (r) { return r.dataset.drive === drive; })[0].dataset; }
    function pick(row, ticked) {
      picked = picked.filter(function (d) { return d !== row.dataset.drive; });
      if (ticked) picked.push(row.dataset.drive);
      if (picked.length > 2) picked.shift();
      rows.forEach(function (r) {
        var chosen = picked.indexOf(r.dataset.drive) >= 0;
        r.classList.toggle("picked", chosen);
        r.querySelector("input").checked = chosen;
      });
      all(".shelf-row").forEach(function (r) { r.classList.toggle("picked", picked.indexOf(r.dataset.drive) >= 0); });
      var names = picked.map(title);
      id("picked").textContent = names.length === 0 ? "Tick two drives to compare them." :
        names.length === 1 ? names[0].title + ": tick another drive to compare." : names[0].title + " and " + names[1].title;
      id("compare").hidden = names.length !== 2;
      if (names.length === 2) id("compare").href = "compare.html#" + names[0].name + "," + names[1].name;
    }
    function chart(name) {
      charts.forEach(function (figure) { figure.hidden = figure.id !== name; });
    }
    function move(by) {
      var select = id("test"), count = select.options.length;
      select.selectedIndex = (select.selectedIndex + by + count) % count;
      chart(select.value);
    }

    ["search", "kind", "capacity"].forEach(function (name) { on(name, "input", filter); });
    on("sort", "input", order);
    rows.forEach(function (row) {
      row.querySelector("input").checked = false;
      row.querySelector("input").addEventListener("change", function (e) { pick(row, e.target.checked); });
    });
    if (charts.length) {
      on("test", "input", function () { chart(id("test").value); });
      on("earlier", "click", function () { move(-1); });
      on("later", "click", function () { move(1); });
      var linked = id(location.hash.slice(1));
      if (linked && linked.classList.contains("shelf-chart")) id("test").value = linked.id;
      chart(id("test").value);
    }
    order();
    filter();
  }

  /* The comparison of two. */
  function element(tag, className, text) {
    var el = document.createElement(tag);
    if (className) el.className = className;
    if (text !== undefined) el.textContent = text;
    return el;
  }
  function add(parent, children) { children.forEach(function (c) { if (c) parent.appendChild(c); }); return parent; }

  /* Ratio or difference of the second to the first, as `nandscope compare` has it. */
  function change(row, first, second) {
    if (row.answer) return "";
    if (row.unit === "%" || row.unit === "°C") {
      var sign = second < first ? "−" : second > first ? "+" : "±";
      return sign + nandscope.short(Math.abs(second - first)) + (row.unit === "%" ? " points" : "\u202f°C");
    }
    if (!(first > 0 && second >= 0)) return "";
    var ratio = second / first;
    return ratio > 0 && ratio < 0.01 ? "1/" + nandscope.short(1 / ratio) : nandscope.short(ratio) + "×";
  }
  function value(row, v) { return row.answer ? (v > 0 ? "yes" : "no") : nandscope.withUnit(v, row.unit).trim(); }
  /* 0 where the first is better, 1 where the second is, -1 where neither. */
  function better(row, pair) {
    if (!row.better || pair[0] === pair[1]) return -1;
    return (pair[0] > pair[1]) === (row.better > 0) ? 0 : 1;
  }

  function bars(row, pair) {
    var most = Math.max(pair[0], pair[1], 0) || 1, order = better(row, pair) === 1 ? [1, 0] : [0, 1];
    return add(element("div", "pair-row bars-row"), [element("div", "bars-label", row.title)].concat(order.map(function (i) {
      var fill = element("span", "bars-fill m0");
      fill.style.width = Math.max(0, pair[i]) / most * 100 + "%";
      var text = element("span", "bars-value", value(row, pair[i]));
      add(text, [element("small", "", i === 0 ? "baseline" : change(row, pair[0], pair[1]))]);
      return add(element("div", "bars-bar" + (i ? " second" : "")), [add(element("span", "bars-track"), [fill]), text]);
    })));
  }

  function table(rows, names) {
    var head = add(element("tr"), ["Figure"].concat(names, ["Change"]).map(function (text, i) {
      var th = element("th", i ? "n wrap" : "", text);
      th.scope = "col";
      return th;
    }));
    var body = element("tbody");
    rows.forEach(function (r) {
      var best = better(r.row, r.pair), th = element("th", "", r.row.title);
      th.scope = "row";
      add(body, [add(element("tr"), [th].concat(r.pair.map(function (v, i) {
        var td = element("td", "n" + (best === i ? " better" : ""), value(r.row, v));
        td.dataset.label = names[i];
        return td;
      }), [element("td", "n", change(r.row, r.pair[0], r.pair[1]))]))]);
    });
    var fold = element("details", "fold"), summary = element("summary");
    add(summary, [element("h2", "", "All figures"), element("span", "fold-brief", rows.length + " figures both drives have")]);
    return add(fold, [summary, add(element("table", "stack"), [add(element("thead"), [head]), body])]);
  }

  /* The axis on which two plots can be seen: from the lesser start to the greater end, with the ticks of the longer one;
     of decades, those of both. */
  function wider(a, b) {
    var long = a.to - a.from >= b.to - b.from ? a : b, other = long === a ? b : a;
    var more = a.log ? other.ticks.filter(function (t) { return t[0] < long.from || t[0] > long.to; }) : [];
    var ticks = long.ticks.concat(more).sort(function (s, t) { return s[0] - t[0]; });
    return { log: a.log, from: Math.min(a.from, b.from), to: Math.max(a.to, b.to), ticks: ticks };
  }
  /* Two plots of one line each as one plot of two lines, over the places of both. */
  function overlay(specs, names) {
    var xs = specs.map(function (s) { return nandscope.places(s.xs); });
    var union = xs[0].concat(xs[1]).sort(function (a, b) { return a - b; });
    union = union.filter(function (x, i) { return i === 0 || x !== union[i - 1]; });
    var spec = JSON.parse(JSON.stringify(specs[0]));
    spec.xs = union;
    ["xa", "ya"].forEach(function (name) { spec[name] = wider(specs[0][name], specs[1][name]); });
    if (spec.xt) spec.xt = union.map(function (x) {
      return specs.map(function (s, i) { return s.xt[xs[i].indexOf(x)]; }).find(Boolean);
    });
    spec.lines = specs.map(function (s, i) {
      var at = new Map();
      xs[i].forEach(function (x, k) { at.set(x, s.lines[0].v[k]); });
      return { name: names[i], c: i, dash: i === 1, edge: false, v: union.map(function (x) { return at.has(x) ? at.get(x) : false; }) };
    });
    return spec;
  }
  var plotted = 0;
  function plot(title, spec) {
    var figure = element("figure", "plot " + spec.kind), area = element("div", "plot-area"), data = element("script");
    figure.id = "plot-" + (++plotted);
    data.type = "application/json";
    spec.sync = figure.id;
    data.textContent = JSON.stringify(spec);
    area.tabIndex = 0;
    area.setAttribute("role", "group");
    area.setAttribute("aria-label", title + ". " + spec.y + " over " + spec.x);
    var head = add(element("div", "plot-head"), [element("h3", "", title), element("span", "plot-where")]);
    return add(figure, [head, area, data]);
  }

  function compare(data) {
    var first = id("first"), second = id("second");
    data.drives.forEach(function (drive, i) {
      [first, second].forEach(function (select) {
        var option = element("option", "", drive.title + (drive.simulated ? " (simulated)" : ""));
        option.value = i;
        select.appendChild(option);
      });
    });
    function of(set, pair) { return pair.map(function (d) { return set.drives.indexOf(d); }); }
    function note(set, i) { return [set.modes[i], set.quick[i] ? "quick run" : ""].filter(Boolean).join(", "); }

    function section(set, at, names) {
      var rows = set.rows.map(function (row) { return { row: row, pair: at.map(function (i) { return row.values[i]; }) }; })
        .filter(function (r) { return r.pair.every(function (v) { return v !== null; }); });
      if (!rows.length) return null;
      var box = element("section", "pair"), legend = element("p", "pair-names");
      at.forEach(function (i, k) {
        add(legend, [add(element("span"), [element("i"), document.createTextNode(names[k] + (note(set, i) ? ", " + note(set, i) : ""))])]);
      });
      var chart = element("figure", "bars");
      var charted = rows.filter(function (r) { return r.row.charted; });
      charted.forEach(function (r) { add(chart, [bars(r.row, r.pair)]); });
      var plots = element("div", "plots");
      var fills = at.map(function (i) { return set.fills[i]; });
      if (fills[0] && fills[1]) add(plots, [plot("Long sequential writes", overlay(fills, names))]);
      set.latencies.forEach(function (test) {
        var lines = at.map(function (i) { return test.lines[i]; });
        if (lines[0] && lines[1]) add(plots, [plot("Latency: " + test.test, overlay(lines, names))]);
      });
      var won = [0, 1].map(function (k) { return charted.filter(function (r) { return better(r.row, r.pair) === k; }).length; });
      var heading = element("h2", "", set.procedure.charAt(0).toUpperCase() + set.procedure.slice(1));
      return { won: won, count: charted.length, box: add(box, [heading, legend, charted.length ? chart : null, plots, table(rows, names)]) };
    }

    function prices(pair) {
      var drives = pair.map(function (d) { return data.drives[d]; });
      if (drives.some(function (d) { return d.perGb === null || d.currency !== drives[0].currency; })) return null;
      var row = { title: "Price per GB", unit: drives[0].currency + "/GB", better: -1 };
      return add(element("figure", "bars"), [bars(row, drives.map(function (d) { return d.perGb; }))]);
    }

    function show() {
      var pair = [+first.value, +second.value], names = pair.map(function (d) { return data.drives[d].title; });
      var box = id("pair"), verdict = id("verdict");
      box.textContent = "";
      history.replaceState(null, "", "#" + pair.map(function (d) { return data.drives[d].name; }).join(","));
      if (pair[0] === pair[1]) { verdict.textContent = "Choose two different drives."; return; }
      var found = data.sets.map(function (set) {
        var at = of(set, pair);
        return at[0] < 0 || at[1] < 0 ? null : section(set, at, names);
      }).filter(Boolean);
      var count = found.reduce(function (n, f) { return n + f.count; }, 0);
      verdict.textContent = found.length ? "Of " + count + " charted figures, " + names[0] + " is better in " + sum(found, 0) + ", " + names[1] + " in " + sum(found, 1) + "." :
        "The two drives have no test in common.";
      add(box, [prices(pair)].concat(found.map(function (f) { return f.box; })));
      all("details", box).forEach(function (d) { d.addEventListener("toggle", nandscope.show); });
      nandscope.exports.offer(box);
      nandscope.show();
    }
    function sum(found, k) { return found.reduce(function (n, f) { return n + f.won[k]; }, 0); }

    function linked() {
      var names = decodeURIComponent(location.hash.slice(1)).split(",");
      var at = names.map(function (name) { return data.drives.findIndex(function (d) { return d.name === name; }); });
      first.value = at[0] >= 0 ? at[0] : 0;
      second.value = at[1] >= 0 ? at[1] : Math.min(1, data.drives.length - 1);
    }
    first.addEventListener("input", show);
    second.addEventListener("input", show);
    on("swap", "click", function () { var v = first.value; first.value = second.value; second.value = v; show(); });
    addEventListener("hashchange", function () { linked(); show(); });
    if (!data.drives.length) { id("verdict").textContent = "The shelf is empty."; return; }
    linked();
    show();
  }

  if (id("drives")) index();
  if (id("pair-data")) compare(JSON.parse(id("pair-data").textContent));
})();
