/* The printed edition of a page: everything folded is opened, and plots are drawn as vectors. A page of many plots is printed in
   brief: one plot of each step, without the step's tables. Afterwards the page is as it was. */
(function () {
  "use strict";
  var root = document.documentElement;
  /* Plots that fit on a few sheets; a page with more is printed in brief. */
  var MOST_PLOTS = 24;
  var FRAME = { width: 440, height: 176, left: 62, right: 14, above: 10, below: 62, label: 12, small: 12, row: 20, legend: 50, marks: "narrow" };
  var SMALL = { width: 264, height: 138, left: 52, right: 12, above: 8, below: 46, label: 10, small: 10, row: 16, legend: 14, marks: "narrow" };
  /* What a step is measured for comes before the state of the device. */
  var FIRST = [/bandwidth|rate|speed/i, /iops/i, /latency/i, /./];
  var opened = [];

  function open(fold) { fold.open = true; opened.push(fold); }
  function inStep(figure) { return figure.closest(".step"); }
  function draw(figure) {
    var frame = root.dataset.print === "brief" && inStep(figure) ? SMALL : FRAME;
    figure.querySelector(".plot-area").after(nandscope.exports.small(figure, frame));
  }
  function title(figure) { return figure.querySelector("h5").textContent; }
  /* Leaves out all plots of a step but one. */
  function choose(step) {
    var all = Array.prototype.slice.call(step.querySelectorAll("figure.plot")), chosen;
    FIRST.some(function (pattern) { return (chosen = all.find(function (f) { return pattern.test(title(f)); })); });
    all.forEach(function (f) { if (f !== chosen) f.dataset.unprinted = "yes"; });
  }

  addEventListener("beforeprint", function () {
    root.dataset.print = document.querySelectorAll("figure.plot").length > MOST_PLOTS ? "brief" : "whole";
    document.querySelectorAll("main details:not([open])").forEach(open);
    if (root.dataset.print === "brief") document.querySelectorAll(".step").forEach(choose);
    document.querySelectorAll("figure.plot").forEach(function (figure) {
      if (getComputedStyle(figure).display !== "none" && !figure.querySelector("svg.printed")) draw(figure);
    });
  });
  addEventListener("afterprint", function () {
    document.querySelectorAll("svg.printed").forEach(function (svg) { svg.remove(); });
    document.querySelectorAll("[data-unprinted]").forEach(function (figure) { delete figure.dataset.unprinted; });
    opened.splice(0).forEach(function (fold) { fold.open = false; });
    delete root.dataset.print;
    nandscope.again();
  });
})();
