// Keys for the organizers' pages, a comfort beside links and buttons: j k move, a accept, r reason, d changes, ? keys.
(function () {
  "use strict";

  function follow(relation) {
    var link = document.querySelector('a[rel="' + relation + '"]');
    if (link) link.click();
    return Boolean(link);
  }

  function move(step) {
    var rows = Array.from(document.querySelectorAll("a[data-row]"));
    if (!rows.length) return follow(step > 0 ? "next" : "prev");
    var at = rows.indexOf(document.activeElement);
    rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)].focus();
    return true;
  }

  function focus(selector) {
    var part = document.querySelector(selector);
    if (part) part.focus();
    return Boolean(part);
  }

  var keys = {
    j: function () { return move(1); },
    k: function () { return move(-1); },
    a: function () {
      var button = document.querySelector('[data-key="a"]');
      if (button) button.click();
      return Boolean(button);
    },
    r: function () { return focus('[data-key-focus="r"]'); },
    d: function () { return focus("#changes"); },
    "?": function () {
      var list = document.getElementById("keys");
      if (list) list.open = !list.open;
      return Boolean(list);
    }
  };

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest && event.target.closest("input, textarea, select, [contenteditable]")) return;
    var does = keys[event.key];
    if (does && does()) event.preventDefault();
  });
})();
