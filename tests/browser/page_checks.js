/* Run inside the page by check_report.py. Each function gives a list of faults in words. */
window.reportChecks = (function () {
  "use strict";
  function name(el) {
    var text = (el.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    var within = el.closest("[id]");
    return "<" + el.tagName.toLowerCase() + (el.className && el.className.baseVal === undefined ? "." + String(el.className).trim().replace(/\s+/g, ".") : "") + ">" +
      (text ? " “" + text + "”" : "") + (within ? " in #" + within.id : "");
  }
  function visible(el) {
    var r = el.getBoundingClientRect(), s = getComputedStyle(el);
    return r.width > 1 && r.height > 1 && el.checkVisibility() && s.visibility !== "hidden" && s.display !== "none" && !el.closest(".unseen") && s.clipPath === "none";
  }
  /* The boxes that an element's own text takes, line by line. */
  function textBoxes(el) {
    if (getComputedStyle(el).textOverflow === "ellipsis") return [el.getBoundingClientRect()];
    var range = document.createRange();
    range.selectNodeContents(el);
    return Array.prototype.filter.call(range.getClientRects(), function (r) { return r.width > 1 && r.height > 1; });
  }
  function cross(a, b) {
    var w = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    var h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return w > 1.5 && h > 3;
  }

  function sideways(width) {
    var faults = [];
    var wide = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
    if (wide > width) faults.push("the page is " + wide + " px wide on a screen of " + width + " px");
    document.querySelectorAll("main *, footer *, header *").forEach(function (el) {
      if (!visible(el) || el.closest(".scroll, .plot-area, svg, .skip")) return;
      var r = el.getBoundingClientRect();
      if (r.right > width + 1 || r.left < -1) faults.push(name(el) + " reaches to " + Math.round(r.right) + " px on a screen of " + width + " px");
    });
    return faults.slice(0, 10);
  }

  /* Containers whose children must not lie on each other. */
  var CONTAINERS = [".bar-in", ".tile", ".facts > div", ".chain ol", ".bars-bar", ".bars-row", ".bars figcaption", ".bars-ticks", ".bars-axis",
    ".bars-key", ".step > summary", ".tabs", ".toc ol", ".plot", ".plot-head", ".masthead", "thead tr", "tbody tr", ".u-legend tbody", "footer dl", ".tiles", ".charts"];
  function overlaps() {
    var faults = [];
    CONTAINERS.forEach(function (selector) {
      document.querySelectorAll(selector).forEach(function (box) {
        if (!visible(box)) return;
        var children = Array.prototype.filter.call(box.children, visible);
        for (var i = 0; i < children.length; i++) for (var j = i + 1; j < children.length; j++) {
          if (children[i].closest(".plot-area") && selector === ".plot") continue;
          var a = textBoxes(children[i]), b = textBoxes(children[j]);
          if (a.some(function (x) { return b.some(function (y) { return cross(x, y); }); }))
            faults.push("text of " + name(children[i]) + " lies on " + name(children[j]));
        }
      });
    });
    document.querySelectorAll(".bars-axis").forEach(function (axis) {
      var unit = axis.querySelector(".bars-axis-unit");
      if (!unit || !visible(unit)) return;
      axis.querySelectorAll(".bars-ticks span").forEach(function (tick) {
        if (visible(tick) && cross(tick.getBoundingClientRect(), unit.getBoundingClientRect())) faults.push("tick " + name(tick) + " lies on the unit of its axis");
      });
    });
    document.querySelectorAll(".tile span, .bars-value, .bars-mode, .step-brief, .tabs button").forEach(function (el) {
      if (visible(el) && el.scrollWidth > el.clientWidth + 1 && getComputedStyle(el).display !== "inline") faults.push(name(el) + " is cut off");
    });
    return faults.slice(0, 10);
  }

  /* Every line of text on the page: none smaller than 11 px, none on another, none clipped by its box. */
  function texts() {
    var faults = [], boxes = [];
    var walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), node;
    while ((node = walker.nextNode())) {
      var el = node.parentElement;
      if (!node.textContent.trim() || !visible(el) || hidden(el) || el.closest(".plot-area, script, style")) continue;
      var size = parseFloat(getComputedStyle(el).fontSize);
      var scale = el.ownerSVGElement ? el.getScreenCTM().a : 1;
      if (size * scale < 10.99) faults.push(name(el) + " is only " + (size * scale).toFixed(1) + " px high");
      var range = document.createRange();
      range.selectNodeContents(node);
      Array.prototype.forEach.call(range.getClientRects(), function (r) {
        if (r.width > 1 && r.height > 1) boxes.push({ el: el, left: r.left, right: r.right, top: r.top, bottom: r.bottom });
      });
      faults = faults.concat(clipped(el, range.getBoundingClientRect()), broken(node, el));
    }
    boxes.sort(function (a, b) { return a.top - b.top; });
    for (var i = 0; i < boxes.length; i++) {
      for (var j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom; j++) {
        if (boxes[i].el !== boxes[j].el && cross(boxes[i], boxes[j])) faults.push("text of " + name(boxes[i].el) + " lies on " + name(boxes[j].el));
      }
    }
    return faults.slice(0, 10);
  }
  /* A word of letters alone is on one line; longer ones and those of code may be broken. */
  function broken(node, el) {
    if (el.closest("code") || node.parentElement.getClientRects().length === 0) return [];
    var range = document.createRange(), word = /(?<![\p{L}\p{N}._/-])\p{L}{2,18}(?![\p{L}\p{N}._/-])/gu, found, faults = [];
    range.selectNodeContents(node);
    if (range.getClientRects().length < 2) return [];
    while ((found = word.exec(node.textContent))) {
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      var tops = Array.prototype.filter.call(range.getClientRects(), function (r) { return r.width > 1; }).map(function (r) { return r.top; });
      if (tops.length > 1 && Math.max.apply(null, tops) - Math.min.apply(null, tops) > 4) faults.push("“" + found[0] + "” in " + name(el) + " is broken");
    }
    return faults;
  }
  /* For screen readers only: clipped away on purpose. */
  function hidden(el) {
    for (var box = el; box; box = box.parentElement) if (getComputedStyle(box).clipPath !== "none") return true;
    return false;
  }
  /* Boxes that scroll show their text when they are scrolled. */
  function clipped(el, text) {
    for (var box = el; box && box.tagName !== "MAIN"; box = box.parentElement) {
      var style = getComputedStyle(box);
      if (/auto|scroll/.test(style.overflowX)) return [];
      if (style.overflowX === "visible" || style.textOverflow === "ellipsis") continue;
      var r = box.getBoundingClientRect();
      if (text.right > r.right + 1.5 || text.left < r.left - 1.5) return [name(el) + " is clipped by " + name(box)];
    }
    return [];
  }

  function areas() { return Array.prototype.filter.call(document.querySelectorAll(".plot-area"), nandscope.seen); }

  function plots() {
    var faults = nandscope.failures.slice();
    areas().forEach(function (area) {
      var u = area.uplot, id = area.parentNode.id;
      if (!u) { faults.push(id + " is not drawn"); return; }
      u.axes.forEach(function (axis, i) {
        var unitless = (axis.scale === "x" ? area.spec.xu : area.spec.yu) === "";
        if (unitless ? !axis.label : !/\S.*\(.+\)$/.test(axis.label || "")) faults.push(id + ": axis " + i + " has no label with a unit: " + axis.label);
      });
      [["x", area.spec.xa], ["y", area.spec.ya]].forEach(function (pair) {
        var scale = u.scales[pair[0]], given = pair[1];
        if (scale.min !== given.from || scale.max !== given.to) faults.push(id + ": axis " + pair[0] + " shows " + scale.min + " to " + scale.max + ", not " + given.from + " to " + given.to);
        if (u.data[0].some(function (x) { return x < area.spec.xa.from || x > area.spec.xa.to; })) faults.push(id + " has values out of view");
      });
      if (Math.abs(u.width - area.clientWidth) > 2) faults.push(id + " is " + u.width + " px wide in a box of " + area.clientWidth + " px");
      faults = faults.concat(blank(u, id, area.spec.kind === "points" ? 4 : 20), ticks(u, id));
    });
    return faults.slice(0, 10);
  }

  /* Text inside plots is drawn, not laid out: draws all once more, and looks where each text goes. */
  async function drawnTexts() {
    var faults = [], own = CanvasRenderingContext2D.prototype, fillText = own.fillText;
    own.fillText = function (text, x) {
      var at = this.getTransform(), size = this.measureText(text);
      var left = at.e + (x - size.actualBoundingBoxLeft) * at.a, right = at.e + (x + size.actualBoundingBoxRight) * at.a;
      if (at.b === 0 && String(text).trim() && (left < -1.5 || right > this.canvas.width + 1.5))
        faults.push("“" + text + "” is cut off in " + this.canvas.closest("figure").id);
      return fillText.apply(this, arguments);
    };
    nandscope.again();
    await new Promise(function (r) { setTimeout(r, 60); });
    own.fillText = fillText;
    return faults.slice(0, 10);
  }

  /* Counts coloured pixels inside the axes: grid and text are grey, lines are not. */
  function blank(u, id, fewest) {
    var box = u.bbox, data = u.ctx.getImageData(box.left, box.top, box.width, box.height).data, coloured = 0;
    for (var i = 0; i < data.length; i += 4) {
      var most = Math.max(data[i], data[i + 1], data[i + 2]), least = Math.min(data[i], data[i + 1], data[i + 2]);
      if (data[i + 3] > 60 && most - least > 40) coloured++;
    }
    return coloured < fewest ? [id + " shows no line (" + coloured + " coloured pixels)"] : [];
  }

  function ticks(u, id) {
    var faults = [], ratio = devicePixelRatio;
    u.ctx.save();
    u.axes.forEach(function (axis) {
      u.ctx.font = axis.labelFont[0];
      var room = (axis.scale === "x" ? u.bbox.width : u.bbox.height) + 60 * ratio;
      if (u.ctx.measureText(axis.label).width > room) faults.push(id + ": label " + axis.label + " is cut off");
      if (!axis._splits || !axis._values) { faults.push(id + ": ticks of " + axis.label + " cannot be read"); return; }
      u.ctx.font = axis.font[0];
      var shown = axis._splits.map(function (v, i) {
        return { at: u.valToPos(v, axis.scale), text: axis._values[i] === null ? "" : String(axis._values[i] || "") };
      }).filter(function (t) { return t.text !== ""; }).sort(function (a, b) { return a.at - b.at; });
      if (shown.length < 2) faults.push(id + ": axis " + axis.label + " has fewer than two ticks");
      for (var i = 1; i < shown.length; i++) {
        var room = shown[i].at - shown[i - 1].at;
        var need = axis.scale === "x" ? (u.ctx.measureText(shown[i].text).width + u.ctx.measureText(shown[i - 1].text).width) / 2 / ratio + 3 : 11;
        if (room < need) faults.push(id + ": ticks " + shown[i - 1].text + " and " + shown[i].text + " of " + axis.label + " lie on each other");
      }
      if (axis.scale !== "x") shown.forEach(function (t) {
        if (u.ctx.measureText(t.text).width / ratio > 58 - 8) faults.push(id + ": tick " + t.text + " of " + axis.label + " is cut off");
      });
    });
    u.ctx.restore();
    return faults;
  }

  /* Where the pointer must go to read a plot: the middle of its field, in the window. */
  function aim(i) {
    var area = areas()[i];
    area.scrollIntoView({ block: "center", behavior: "instant" });
    var r = area.uplot.over.getBoundingClientRect();
    return { x: r.left + r.width * 0.5, y: r.top + r.height * 0.5, left: r.left, width: r.width };
  }
  function read(i) {
    var area = areas()[i], u = area.uplot;
    var values = Array.prototype.map.call(area.querySelectorAll(".u-legend .u-series:not(:first-child) .u-value"), function (v) { return v.textContent; });
    var group = areas().filter(function (a) { return a.uplot && a.uplot.group === u.group; });
    return { id: area.parentNode.id, values: values, unit: area.spec.yu, min: u.scales.x.min, max: u.scales.x.max,
      together: group.every(function (a) { return a.uplot.cursor.idx !== null && a.uplot.cursor.idx !== undefined; }),
      zoomed: group.map(function (a) { return a.uplot.scales.x.max - a.uplot.scales.x.min; }) };
  }

  /* Text and ground of the elements that carry meaning, as contrast ratios (WCAG 2). */
  function contrast() {
    var canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.canvas.width = canvas.canvas.height = 1;
    function rgba(c) { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; }
    function light(c) {
      return [0.2126, 0.7152, 0.0722].reduce(function (sum, w, i) { var v = c[i] / 255; return sum + w * (v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)); }, 0);
    }
    var faults = [], seen = {};
    document.querySelectorAll("main p, main li, main td, main th, main dd, main dt, main span, main small, main a, figcaption, footer dd, .toc a, button, h1, h2, h4, h5").forEach(function (el) {
      if (!visible(el) || !textBoxes(el).length || el.closest(".plot-area, svg")) return;
      var ground = el;
      while (ground && rgba(getComputedStyle(ground).backgroundColor)[3] < 250) ground = ground.parentElement;
      var b = getComputedStyle(ground || document.body).backgroundColor, f = getComputedStyle(el).color;
      if (seen[f + b]) return;
      seen[f + b] = true;
      var one = light(rgba(f)), two = light(rgba(b)), ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
      if (ratio < 4.5) faults.push(name(el) + ": contrast " + ratio.toFixed(2) + " of " + f + " on " + b + " is below 4.5");
    });
    return faults.slice(0, 10);
  }

  function structure() {
    var faults = [], last = 0, ids = {};
    document.querySelectorAll("h1, h2, h3, h4, h5").forEach(function (h) {
      var level = +h.tagName[1];
      if (level > last + 1) faults.push("heading " + name(h) + " skips a level after h" + last);
      last = level;
    });
    if (document.querySelectorAll("h1").length !== 1) faults.push("there is not exactly one h1");
    document.querySelectorAll("[id]").forEach(function (el) { if (ids[el.id]) faults.push("id " + el.id + " is given twice"); ids[el.id] = true; });
    document.querySelectorAll("a[href^='#']").forEach(function (a) { if (!document.getElementById(decodeURIComponent(a.hash.slice(1)))) faults.push("link " + a.hash + " leads nowhere"); });
    return faults.slice(0, 10);
  }

  /* Which parts of the page are folded. */
  function folds() { return Array.prototype.map.call(document.querySelectorAll("details"), function (d) { return d.open; }).join(); }
  /* In the printed form: nothing is folded, and every plot that is not left out is drawn. */
  function printed() {
    var faults = [];
    document.querySelectorAll("main details:not([open]), main .part").forEach(function (e) {
      var shown = e.parentElement.checkVisibility() && getComputedStyle(e).display !== "none";
      if (e.tagName === "DETAILS" ? shown : !shown) faults.push(name(e) + " is folded");
    });
    document.querySelectorAll("main section").forEach(function (s) { if (s.getBoundingClientRect().height < 20) faults.push("section " + name(s) + " is not printed"); });
    document.querySelectorAll("figure.plot").forEach(function (f) {
      var svg = f.querySelector("svg.printed");
      if (f.checkVisibility() && !(svg && svg.querySelector("polyline, circle"))) faults.push(f.id + " is not printed");
    });
    return faults.slice(0, 10);
  }
  /* Lays the page out in columns of the size of a sheet, which break as sheets do: what has boxes in two columns is cut, and a
     heading is alone where what follows it begins in another. */
  function cut(width, height) {
    var gap = 60, faults = [], style = document.body.getAttribute("style");
    document.body.style.cssText = "width:" + width + "px;height:" + height + "px;columns:" + width + "px auto;column-gap:" + gap + "px;column-fill:auto";
    function boxes(e) { return Array.prototype.filter.call(e.getClientRects(), function (r) { return r.width > 1 && r.height > 1; }); }
    function sheet(r) { return Math.floor((r.left + scrollX) / (width + gap)); }
    document.querySelectorAll("main :is(h1, h2, h3, h4, h5, tr, li, p, .bars, .bars-row, .tile, .notice, .device, figure.plot, svg), footer").forEach(function (e) {
      var all = boxes(e);
      if (getComputedStyle(e).display === "inline" || hidden(e)) return;
      if (all.length && all.some(function (r) { return sheet(r) !== sheet(all[0]); })) faults.push(name(e) + " is cut by the end of a page");
      if (all.length && all[0].width > width + 2) faults.push(name(e) + " is wider than the paper");
    });
    document.querySelectorAll("main :is(h2, h3, h4, h5)").forEach(function (h) {
      if (!boxes(h).length || hidden(h)) return;
      var walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_ELEMENT), next;
      walk.currentNode = h;
      while ((next = walk.nextNode())) {
        if (h.contains(next) || next.closest("h2, h3, h4, h5, summary") || hidden(next) || !next.matches("p, li, td, dd, svg, .bars-track, .tile")) continue;
        if (boxes(next).length) break;
      }
      if (next && sheet(boxes(next)[0]) !== sheet(boxes(h)[0])) faults.push("heading " + name(h) + " is on another page than " + name(next));
    });
    if (style === null) document.body.removeAttribute("style"); else document.body.setAttribute("style", style);
    return faults.slice(0, 10);
  }

  /* Everything that can be saved as a picture, with the buttons that it has. */
  function drawings() { return Array.prototype.slice.call(document.querySelectorAll("figure.plot, figure.bars, figure.drawing")); }
  function figures() {
    return drawings().map(function (f, i) {
      var buttons = Array.prototype.map.call(f.querySelectorAll(".save button"), function (b) { return b.textContent; });
      return { index: i, name: f.id || name(f), kind: f.className.split(" ")[0], visible: visible(f), buttons: buttons };
    });
  }
  /* Where a button is in the window, and texts that the file must have. */
  function aimSave(i, form) {
    var figure = drawings()[i], area = figure.querySelector(".plot-area");
    var button = Array.prototype.find.call(figure.querySelectorAll(".save button"), function (b) { return b.textContent === form; });
    for (var fold = figure.closest("details:not([open])"); fold; fold = figure.closest("details:not([open])")) fold.open = true;
    if (area) nandscope.load(area);
    button.scrollIntoView({ block: "center", behavior: "instant" });
    var r = button.getBoundingClientRect(), texts;
    function own(selector) { return Array.prototype.filter.call(figure.querySelectorAll(selector), visible).map(function (e) { return e.textContent.trim().replace(/\s+/g, " "); }); }
    if (area) {
      var spec = area.spec, ticks = spec.xa.ticks.concat(spec.ya.ticks).map(function (t) { return t[1]; });
      texts = ticks.concat([spec.x, spec.y], spec.lines.filter(function (l) { return !l.edge; }).map(function (l) { return l.name; }));
    } else texts = own("svg text").concat(own(".bars-label, .shelf-label, .bars-ticks span"));
    return { x: r.left + r.width / 2, y: r.top + r.height / 2, texts: texts };
  }
  /* Size of a picture, the share of it that is not white, and how many colours it has. */
  async function picture(base64) {
    var image = new Image();
    image.src = "data:image/png;base64," + base64;
    await image.decode();
    var canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
    var context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    var data = context.getImageData(0, 0, canvas.width, canvas.height).data, ink = 0, colours = {};
    for (var i = 0; i < data.length; i += 4) {
      var colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      if (colour !== 0xffffff) { ink++; colours[colour] = true; }
    }
    return { width: canvas.width, height: canvas.height, ink: ink / (canvas.width * canvas.height), colours: Object.keys(colours).length };
  }

  return { folds: folds, printed: printed, cut: cut, figures: figures, aimSave: aimSave, picture: picture, sideways: sideways, overlaps: overlaps, texts: texts, plots: plots, drawnTexts: drawnTexts, aim: aim, read: read, count: function () { return areas().length; }, contrast: contrast, structure: structure };
})();
