/* The page around the plots: theme, tabs, folding, contents. Without it the page is
   complete but for the plots. */
(function () {
  "use strict";
  var root = document.documentElement;

  function dark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }
  var themeButton = document.getElementById("theme");
  function label() {
    themeButton.textContent = dark() ? "Light" : "Dark";
  }
  themeButton.addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("nandscope-theme", root.dataset.theme); } catch (_) { /* denied for local files */ }
    label();
    nandscope.again();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { label(); nandscope.again(); });

  function select(tab, focus) {
    var list = tab.parentNode;
    list.querySelectorAll("[role=tab]").forEach(function (other) {
      var on = other === tab;
      other.setAttribute("aria-selected", on);
      other.tabIndex = on ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !on;
    });
    if (focus) tab.focus();
    nandscope.show();
    nandscope.fit();
  }
  function tabs() {
    document.querySelectorAll("[role=tablist]").forEach(function (list) {
      var all = Array.prototype.slice.call(list.querySelectorAll("[role=tab]"));
      all.forEach(function (tab, i) {
        tab.addEventListener("click", function () { select(tab); });
        tab.addEventListener("keydown", function (event) {
          var step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (step) { event.preventDefault(); select(all[(i + step + all.length) % all.length], true); }
        });
      });
      select(all[0]);
    });
  }

  var fold = document.getElementById("fold");
  if (fold) fold.addEventListener("click", function () {
    var open = fold.dataset.open !== "true";
    document.querySelectorAll("details.step, details.fold").forEach(function (d) { d.open = open; });
    fold.dataset.open = open;
    fold.textContent = open ? "Fold all" : "Unfold all";
  });
  document.querySelectorAll("details.step, details.fold").forEach(function (d) {
    d.addEventListener("toggle", function () { if (d.open) { nandscope.show(); nandscope.fit(); } });
  });

  /* A link into a folded step or a hidden tab opens it. */
  function reveal() {
    var id = decodeURIComponent(location.hash.slice(1));
    var target = id && document.getElementById(id);
    if (!target) return;
    for (var node = target; node && node !== document.body; node = node.parentNode) {
      if (node.tagName === "DETAILS") node.open = true;
      if (node.hidden && node.getAttribute("role") === "tabpanel") select(document.getElementById(node.getAttribute("aria-labelledby")));
    }
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);

  function contents() {
    var box = document.querySelector(".toc details");
    if (!box) return;
    var links = Array.prototype.slice.call(document.querySelectorAll(".toc a"));
    if (matchMedia("(max-width: 1000px)").matches) box.open = false;
    var sections = links.map(function (a) { return document.getElementById(a.hash.slice(1)); });
    function mark() {
      var current = 0;
      sections.forEach(function (s, i) { if (s && s.getBoundingClientRect().top < 140) current = i; });
      links.forEach(function (a, i) {
        if (i === current) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
      });
    }
    var waiting = false;
    addEventListener("scroll", function () {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(function () { waiting = false; mark(); });
    }, { passive: true });
    mark();
  }

  label();
  nandscope.start();
  nandscope.exports.offer(document);
  tabs();
  contents();
  reveal();
})();
