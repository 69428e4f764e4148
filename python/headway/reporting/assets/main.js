async function read() {
  const node = document.getElementById("data");
  if (!node) return;
  const packed = Uint8Array.from(atob(node.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  data = JSON.parse(await new Response(stream).text());
}

function begin() {
  document.querySelectorAll("[data-tip]").forEach(tell);
  document.querySelectorAll("svg[data-panel]").forEach((svg) => {
    pictures.set(svg.dataset.panel, svg);
    adopt(svg, svg.dataset.panel, data.panels[svg.dataset.panel]);
  });
  // Panels without axes of their own have no number: they are the first ones of their figure, in order.
  for (const [figure, ids] of Object.entries(data.figures)) {
    const drawn = [...document.querySelectorAll(`#${CSS.escape(figure)} .panels > *`)];
    ids.filter((id) => data.panels[id].first).forEach((id, i) => { if (!pictures.has(id)) pictures.set(id, drawn[i]); });
  }
  bar();
  linkTools();
  runButtons();
  document.querySelectorAll("figure .whole").forEach((button) => button.addEventListener("click", () => {
    const svg = button.closest("figure").querySelector("svg[data-panel]");
    if (svg) zoomTo(svg, null);
  }));
  const fit = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      for (const svg of target.children) {
        if (!shown.has(svg)) continue;
        const now = svg.viewBox.baseVal.width, room = svg.getBoundingClientRect().width;
        if (room && (room < 0.85 * now || now < 0.85 * WIDTHS[shown.get(svg).panel.columns])) redraw(svg);
      }
    }
  });
  document.querySelectorAll(".panels").forEach((box) => fit.observe(box));
  beginReplay();
  document.documentElement.dataset.ready = "";
}

// A table that is wider than the page says so: a thin bar at its foot is easily missed.
function sayWide() {
  document.querySelectorAll(".scroll").forEach((box) => {
    const wide = box.scrollWidth > box.clientWidth + 4 && box.clientWidth > 0, before = box.previousElementSibling;
    const told = before && before.classList.contains("sideways") ? before : null;
    if (told) told.hidden = !wide;
    else if (wide) {
      const line = document.createElement("p");
      line.className = "scrolls sideways";
      line.textContent = "more columns to the right: scroll the table sideways →";
      box.before(line);
    }
  });
}
addEventListener("resize", sayWide);
document.addEventListener("toggle", sayWide, true);
sayWide();

const mode = document.getElementById("mode");
if (mode) {
  mode.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.mode ? root.dataset.mode === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.mode = dark ? "light" : "dark";
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.picker)").forEach((d) => { d.open = true; }));
read().then(begin);
