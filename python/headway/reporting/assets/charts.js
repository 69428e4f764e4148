// Reading values, zooming, hiding: what a panel on view answers to the pointer and to keys.
const tip = document.getElementById("tip");
const hidden = new Set();
const shown = new Map(); // picture on view -> { id, panel, frame }
const zooms = new Map(); // group of panels that zoom together -> [low, high]

/** Index of the last entry of an ascending list that is at most `value`, or -1. */
function below(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function nearest(list, value) {
  const i = below(list, value);
  if (i < 0) return 0;
  return i + 1 < list.length && list[i + 1] - value < value - list[i] ? i + 1 : i;
}

/** All x values of the visible lines of a panel that are on view, for snapping and for the arrow keys. */
function grid({ panel, frame }) {
  const used = new Set(panel.series.filter((s) => !hidden.has(s.key)).map((s) => s.x));
  const all = used.size === 1 ? panel.xs[[...used][0]]
    : [...new Set([...used].flatMap((i) => panel.xs[i]))].sort((a, b) => a - b);
  return frame.x === panel.x ? all : all.filter((x) => x >= frame.x.low && x <= frame.x.high);
}

/** The value of a line at x: for a distribution the step it stands on, otherwise the sample at or next to x. */
function valueAt(panel, line, x) {
  const xs = panel.xs[line.x];
  if (line.step) {
    const i = below(xs, x);
    return { x, y: i < 0 ? 0 : line.y[i] };
  }
  const i = nearest(xs, x);
  const spacing = xs.length > 1 ? Math.abs(xs[Math.min(i + 1, xs.length - 1)] - xs[Math.max(i - 1, 0)]) : Infinity;
  if (Math.abs(xs[i] - x) > spacing) return null;
  return { x: xs[i], y: line.y[i], lo: line.lo && line.lo[i], hi: line.hi && line.hi[i],
    bound: line.bounds && line.bounds[i] };
}

function add(parent, name, attributes) {
  const node = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return parent.appendChild(node);
}

const clear = (svg) => svg.querySelectorAll(".cursor").forEach((node) => node.remove());

function cross(svg, x) {
  clear(svg);
  const { panel, frame } = shown.get(svg);
  if (x < frame.x.low || x > frame.x.high) return;
  const group = add(svg, "g", { class: "cursor" });
  add(group, "line", { class: "cross", x1: frame.px(x), x2: frame.px(x), y1: frame.top, y2: frame.bottom });
  for (const line of panel.series) {
    const found = hidden.has(line.key) ? null : valueAt(panel, line, x);
    if (!found || found.y === null) continue;
    const cy = frame.py(found.y);
    add(group, "circle", { class: "at " + (slots.get(line.key) || ""), cx: frame.px(found.x), cy, r: 4 });
  }
}

function readout(panel, x) {
  const box = document.createElement("div");
  const head = box.appendChild(document.createElement("b"));
  head.textContent = panel.x.label + " " + format(panel.x.quantity, x);
  const table = box.appendChild(document.createElement("table"));
  for (const line of panel.series) {
    const found = hidden.has(line.key) ? null : valueAt(panel, line, x);
    if (!found || found.y === null) continue;
    const row = table.insertRow();
    row.insertCell().appendChild(document.createElement("i")).className = slots.get(line.key) || "";
    row.insertCell().textContent = line.name;
    const cell = row.insertCell();
    cell.className = "n";
    cell.textContent = (found.bound ? found.bound + " " : "") + format(panel.y.quantity, found.y);
    if (found.lo !== undefined && found.lo !== null) {
      row.insertCell().textContent = format(panel.y.quantity, found.lo) + " to " + format(panel.y.quantity, found.hi);
    }
  }
  return box;
}

function show(content, clientX, clientY) {
  tip.replaceChildren(content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = clientX + 16 + box.width > innerWidth - 8 ? clientX - 16 - box.width : clientX + 16;
  const y = Math.min(Math.max(8, clientY - box.height / 2), innerHeight - box.height - 8);
  tip.style.left = Math.max(8, x) + "px";
  tip.style.top = y + "px";
}

/** Panels that show the same x axis zoom together: all that are over time, and those of one figure. */
function groupOf(svg) {
  const { id, panel } = shown.get(svg);
  if (panel.x.label === "time" && panel.x.quantity === "time") return "time";
  return id.slice(0, id.lastIndexOf(".")) + " " + panel.x.label;
}

const together = (svg) => [...shown.keys()].filter((other) => other.isConnected && groupOf(other) === groupOf(svg));

/** The other panels of the figure that share the x axis follow the cursor. */
const siblings = (svg) => together(svg).filter((other) => other.parentElement === svg.parentElement);

const unitOf = (svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;

function point(svg, x, place) {
  const { panel, frame } = shown.get(svg);
  svg.dataset.at = x;
  siblings(svg).forEach((other) => cross(other, x));
  const box = svg.getBoundingClientRect();
  show(readout(panel, x), box.left + frame.px(x) * unitOf(svg), place === undefined ? box.top + box.height / 2 : place);
}

function leave(svg) {
  if (!shown.has(svg)) return;
  siblings(svg).forEach(clear);
  delete svg.dataset.at;
  tip.hidden = true;
}

/** Where on the x axis the pointer is, 0 to 1 inside the plot. */
function shareAt(svg, event) {
  const { frame } = shown.get(svg);
  return ((event.clientX - svg.getBoundingClientRect().left) / unitOf(svg) - frame.left) / frame.width;
}

const inside = (s) => Math.min(1, Math.max(0, s));

function move(svg, event) {
  const { panel, frame } = shown.get(svg);
  const xs = grid(shown.get(svg));
  const s = shareAt(svg, event);
  if (!xs.length || s < -0.03 || s > 1.03) return leave(svg);
  const x = unshare(frame.x, inside(s));
  point(svg, panel.series.every((line) => line.step) ? x : xs[nearest(xs, x)], event.clientY);
}

function zoomTo(svg, range) {
  const group = groupOf(svg);
  if (range) zooms.set(group, range); else zooms.delete(group);
  together(svg).forEach(redraw);
}

/** A part of the axis around the cursor, or around the middle: half as wide, or twice. */
function zoomBy(svg, factor) {
  const { panel, frame } = shown.get(svg);
  const centre = svg.dataset.at === undefined ? 0.5 : share(frame.x, Number(svg.dataset.at));
  let low = centre - centre * factor, high = centre + (1 - centre) * factor;
  const bounds = [unshare(frame.x, low), unshare(frame.x, high)].map((v) => Math.min(Math.max(v, panel.x.low), panel.x.high));
  zoomTo(svg, bounds[0] <= panel.x.low && bounds[1] >= panel.x.high ? null : bounds);
}

function pan(svg, shift) {
  const { panel, frame } = shown.get(svg);
  if (!zooms.has(groupOf(svg))) return;
  const ends = [share(panel.x, frame.x.low), share(panel.x, frame.x.high)];
  const by = Math.min(Math.max(shift * (ends[1] - ends[0]), -ends[0]), 1 - ends[1]);
  zoomTo(svg, ends.map((s) => unshare(panel.x, s + by)));
}

function key(svg, event) {
  const xs = grid(shown.get(svg));
  if (!xs.length || event.ctrlKey || event.metaKey || event.altKey) return;
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
  let i = svg.dataset.at === undefined ? -1 : nearest(xs, Number(svg.dataset.at));
  if (event.key === "+" || event.key === "=") zoomBy(svg, 0.5);
  else if (event.key === "-") zoomBy(svg, 2);
  else if (event.key === "0") zoomTo(svg, null);
  else if (event.shiftKey && event.key === "ArrowLeft") pan(svg, -0.25);
  else if (event.shiftKey && event.key === "ArrowRight") pan(svg, 0.25);
  else if (event.key === "Escape" && svg.dataset.at === undefined) zoomTo(svg, null);
  else if (event.key === "Escape") leave(svg);
  else if (event.key === "Enter" && i >= 0) followRuns(runsAt(svg, xs[i]));
  else {
    if (event.key in steps) i = Math.min(xs.length - 1, Math.max(0, i + steps[event.key]));
    else if (event.key === "Home") i = 0;
    else if (event.key === "End") i = xs.length - 1;
    else return;
    point(svg, xs[i]);
  }
  event.preventDefault();
}

/** Runs behind the points of the visible lines at x. */
function runsAt(svg, x) {
  const { panel } = shown.get(svg);
  return panel.series.filter((line) => line.runs && !hidden.has(line.key))
    .flatMap((line) => line.runs[panel.xs[line.x].indexOf(x)] || []);
}

/** Marks the rows of runs in their table, opens it, and goes to the first. */
function followRuns(numbers) {
  const rows = numbers.map((number) => document.getElementById("run-" + number)).filter(Boolean);
  document.querySelectorAll("tr.picked").forEach((row) => row.classList.remove("picked"));
  if (!rows.length) return;
  rows.forEach((row) => row.classList.add("picked"));
  const folded = rows[0].closest("details");
  if (folded) folded.open = true;
  tip.hidden = true;
  rows[0].scrollIntoView({ block: "center" });
  rows[0].focus({ preventScroll: true });
}

/** A drag over the plot chooses the part of the x axis that is then shown. */
function brush(svg) {
  let start = null;
  svg.addEventListener("pointerdown", (event) => {
    move(svg, event);
    const s = shareAt(svg, event);
    if (event.button === 0 && s >= -0.03 && s <= 1.03) start = { s: inside(s), x: event.clientX };
  });
  svg.addEventListener("pointermove", (event) => {
    if (start && Math.abs(event.clientX - start.x) > 6) {
      const { frame } = shown.get(svg);
      if (!svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
      leave(svg);
      start.dragged = true;
      const ends = [start.s, inside(shareAt(svg, event))].sort((a, b) => a - b);
      const group = add(svg, "g", { class: "cursor" });
      add(group, "rect", {
        class: "brush", x: frame.left + frame.width * ends[0], y: frame.top,
        width: frame.width * (ends[1] - ends[0]), height: frame.height,
      });
    } else move(svg, event);
  });
  const end = (event) => {
    const begun = start;
    start = null;
    if (!begun || !begun.dragged) return;
    clear(svg);
    const { frame } = shown.get(svg);
    const ends = [begun.s, inside(shareAt(svg, event))].sort((a, b) => a - b);
    if (event.type === "pointerup" && ends[1] - ends[0] > 0.01) zoomTo(svg, ends.map((s) => unshare(frame.x, s)));
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("dblclick", () => zoomTo(svg, null));
}

function listen(svg) {
  brush(svg);
  svg.addEventListener("pointerleave", () => leave(svg));
  svg.addEventListener("blur", () => leave(svg));
  svg.addEventListener("keydown", (event) => key(svg, event));
  svg.addEventListener("click", (event) => {
    const marker = event.target.closest("[data-runs]");
    if (!marker) return;
    event.preventDefault();
    followRuns(marker.dataset.runs.split(" "));
  });
}

/** What an element without axes has to say, on hover and on focus. */
function tell(node) {
  const text = () => {
    const box = document.createElement("div");
    const [head, ...rest] = node.getAttribute("aria-label").split("\n");
    box.appendChild(document.createElement("b")).textContent = head;
    box.append(rest.join("\n"));
    return box;
  };
  node.addEventListener("pointermove", (event) => show(text(), event.clientX, event.clientY));
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    show(text(), box.left + box.width / 2, box.top + box.height / 2);
  });
  node.addEventListener("blur", () => { tip.hidden = true; });
}

function applyHidden() {
  document.querySelectorAll("[data-key]").forEach((node) => node.classList.toggle("off", hidden.has(node.dataset.key)));
  document.querySelectorAll("[data-toggle]").forEach((button) =>
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.toggle))));
}

document.querySelectorAll("[data-toggle]").forEach((button) => {
  const name = button.dataset.toggle;
  const slot = [...button.classList].find((one) => /^k\d+$/.test(one));
  if (slot) slots.set(name, slot);
  button.addEventListener("click", () => {
    if (hidden.has(name)) hidden.delete(name); else hidden.add(name);
    applyHidden();
  });
  button.addEventListener("dblclick", () => {
    const group = [...button.parentElement.querySelectorAll("[data-toggle]")].map((b) => b.dataset.toggle);
    const alone = group.every((other) => other === name || hidden.has(other));
    group.forEach((other) => { if (alone || other === name) hidden.delete(other); else hidden.add(other); });
    applyHidden();
  });
});
