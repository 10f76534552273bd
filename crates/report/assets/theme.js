(function () {
  try {
    var theme = localStorage.getItem("nandscope-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch (_) { /* storage may be denied for local files */ }
})();
