"use strict";
(() => {
  document.getElementById("mode").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.mode ? root.dataset.mode === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.mode = dark ? "light" : "dark";
  });

  /** A claim that a link names stands in a list that may be closed. */
  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const list = target && target.closest("details");
    if (list && !list.open) {
      list.open = true;
      target.scrollIntoView();
    }
  }
  addEventListener("hashchange", open);
  open();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
