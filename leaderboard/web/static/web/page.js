// Two comforts, neither needed: a remembered choice of light or dark, and times in the reader's own zone.
(function () {
  "use strict";
  var root = document.documentElement;
  var choices = ["system", "light", "dark"];

  function remembered() {
    try { return localStorage.getItem("theme") || "system"; } catch (refused) { return "system"; }
  }

  function wear(theme) {
    if (theme === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme);
  }

  wear(remembered()); // this file is loaded before the page is drawn, so that nothing flashes

  function showLocalTimes(part) {
    part.querySelectorAll("time[datetime]").forEach(function (time) {
      if (time.title) return;
      var at = new Date(time.dateTime);
      if (isNaN(at)) return;
      var clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
      time.title = at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
      if (time.dataset.show === "clock") time.textContent = at.toLocaleTimeString("en-GB", clock);
      else time.textContent = at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
    });
  }

  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    var theme = remembered();
    function label() { button.textContent = "Theme: " + theme; }
    label();
    button.hidden = false;
    button.addEventListener("click", function () {
      theme = choices[(choices.indexOf(theme) + 1) % choices.length];
      try { localStorage.setItem("theme", theme); } catch (refused) { /* then it holds for this page only */ }
      wear(theme);
      label();
    });
    showLocalTimes(document);
    document.body.addEventListener("htmx:afterSettle", function () { showLocalTimes(document); });
  });
})();
