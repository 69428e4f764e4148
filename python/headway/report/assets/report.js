"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const hidden = new Set();
  const LADDERS = {
    time: [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
    bytes: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"]],
    rate: [[1, "b/s"], [1e3, "kb/s"], [1e6, "Mb/s"], [1e9, "Gb/s"], [1e12, "Tb/s"]],
    percent: [[0.01, "%"]],
  };

  function format(quantity, value) {
    if (value === null || value === undefined) return "–";
    let [scale, suffix] = [1, ""];
    for (const rung of LADDERS[quantity] || []) {
      if (rung === LADDERS[quantity][0] || Math.abs(value) >= rung[0] * 0.9995) [scale, suffix] = rung;
    }
    const scaled = value / scale;
    const text = quantity === "percent" ? scaled.toFixed(1)
      : Number.isInteger(scaled) ? String(scaled) : String(Number(scaled.toPrecision(4)));
    return suffix ? text + "\u202f" + suffix : text;
  }

  const share = (axis, v) => axis.log
    ? Math.log(Math.max(v, axis.low) / axis.low) / Math.log(axis.high / axis.low)
    : (v - axis.low) / (axis.high - axis.low);
  const unshare = (axis, s) => axis.log
    ? axis.low * Math.pow(axis.high / axis.low, s) : axis.low + s * (axis.high - axis.low);

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

  /** All x values of the visible lines of a panel, for snapping and for the arrow keys. */
  function grid(panel) {
    const used = new Set(panel.series.filter((s) => !hidden.has(s.key)).map((s) => s.x));
    if (used.size === 1) return panel.xs[[...used][0]];
    return [...new Set([...used].flatMap((i) => panel.xs[i]))].sort((a, b) => a - b);
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
    return { x: xs[i], y: line.y[i], lo: line.lo && line.lo[i], hi: line.hi && line.hi[i] };
  }

  function clear(svg) {
    svg.querySelectorAll(".cursor").forEach((node) => node.remove());
  }

  function add(parent, name, attributes) {
    const node = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return parent.appendChild(node);
  }

  function slotOf(key) {
    const known = document.querySelector('[data-toggle="' + CSS.escape(key) + '"]');
    return known ? [...known.classList].find((name) => /^k\d+$/.test(name)) : "";
  }

  function cross(svg, panel, x) {
    clear(svg);
    const [left, top, width, height] = panel.plot;
    const px = left + width * share(panel.x, x);
    const group = add(svg, "g", { class: "cursor" });
    add(group, "line", { class: "cross", x1: px, x2: px, y1: top, y2: top + height });
    for (const line of panel.series) {
      const at = hidden.has(line.key) ? null : valueAt(panel, line, x);
      if (!at || at.y === null) continue;
      const cx = left + width * share(panel.x, at.x);
      const cy = top + height * (1 - share(panel.y, at.y));
      add(group, "circle", { class: "at " + slotOf(line.key), cx, cy, r: 4 });
    }
    return px;
  }

  function readout(panel, x) {
    const box = document.createElement("div");
    const head = box.appendChild(document.createElement("b"));
    head.textContent = panel.x.label + " " + format(panel.x.quantity, x);
    const table = box.appendChild(document.createElement("table"));
    for (const line of panel.series) {
      const at = hidden.has(line.key) ? null : valueAt(panel, line, x);
      if (!at || at.y === null) continue;
      const row = table.insertRow();
      row.insertCell().innerHTML = '<i class="' + slotOf(line.key) + '"></i>';
      row.insertCell().textContent = line.name;
      const cell = row.insertCell();
      cell.className = "n";
      cell.textContent = format(panel.y.quantity, at.y);
      if (at.lo !== undefined && at.lo !== null) {
        row.insertCell().textContent = format(panel.y.quantity, at.lo) + " to " + format(panel.y.quantity, at.hi);
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

  /** The other panels of the figure that share the x axis follow the cursor. */
  function siblings(svg, panel) {
    return [...svg.closest(".panels").querySelectorAll("svg[data-panel]")]
      .map((other) => [other, data[other.dataset.panel]])
      .filter(([, p]) => p.x.low === panel.x.low && p.x.high === panel.x.high && p.x.log === panel.x.log);
  }

  function point(svg, x, place) {
    const panel = data[svg.dataset.panel];
    svg.dataset.at = x;
    siblings(svg, panel).forEach(([other, p]) => cross(other, p, x));
    const box = svg.getBoundingClientRect();
    const unit = box.width / svg.viewBox.baseVal.width;
    const px = panel.plot[0] + panel.plot[2] * share(panel.x, x);
    show(readout(panel, x), box.left + px * unit, place === undefined ? box.top + box.height / 2 : place);
  }

  function leave(svg) {
    siblings(svg, data[svg.dataset.panel]).forEach(([other]) => clear(other));
    tip.hidden = true;
  }

  function move(svg, event) {
    const panel = data[svg.dataset.panel];
    const xs = grid(panel);
    if (!xs.length) return;
    const box = svg.getBoundingClientRect();
    const unit = box.width / svg.viewBox.baseVal.width;
    const s = ((event.clientX - box.left) / unit - panel.plot[0]) / panel.plot[2];
    if (s < -0.03 || s > 1.03) return leave(svg);
    const x = unshare(panel.x, Math.min(1, Math.max(0, s)));
    point(svg, panel.series.every((line) => line.step) ? x : xs[nearest(xs, x)], event.clientY);
  }

  function key(svg, event) {
    const panel = data[svg.dataset.panel];
    const xs = grid(panel);
    if (!xs.length) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    let i = svg.dataset.at === undefined ? -1 : nearest(xs, Number(svg.dataset.at));
    if (event.key in steps) i = Math.min(xs.length - 1, Math.max(0, i + steps[event.key]));
    else if (event.key === "Home") i = 0;
    else if (event.key === "End") i = xs.length - 1;
    else if (event.key === "Escape") return leave(svg);
    else return;
    event.preventDefault();
    point(svg, xs[i]);
  }

  document.querySelectorAll("svg[data-panel]").forEach((svg) => {
    svg.addEventListener("pointermove", (event) => move(svg, event));
    svg.addEventListener("pointerdown", (event) => move(svg, event));
    svg.addEventListener("pointerleave", () => leave(svg));
    svg.addEventListener("blur", () => leave(svg));
    svg.addEventListener("keydown", (event) => key(svg, event));
  });

  document.querySelectorAll("[data-tip]").forEach((node) => {
    const text = () => {
      const box = document.createElement("div");
      const [head, ...rest] = node.dataset.tip.split("\n");
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
  });

  function applyHidden() {
    document.querySelectorAll("[data-key]").forEach((node) => node.classList.toggle("off", hidden.has(node.dataset.key)));
    document.querySelectorAll("[data-toggle]").forEach((button) =>
      button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.toggle))));
  }

  document.querySelectorAll("[data-toggle]").forEach((button) => {
    const name = button.dataset.toggle;
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

  function cellValue(row, column) {
    const cell = row.cells[column];
    const raw = cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
    if (raw === "inf") return Infinity;
    if (raw === "-inf") return -Infinity;
    return raw !== "" && !Number.isNaN(Number(raw)) ? Number(raw) : raw;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  }

  document.querySelectorAll("table[data-sortable]").forEach((table) => {
    table.querySelectorAll("th button").forEach((button, column) => {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const units = table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies[0].rows];
        const row = (unit) => (unit.rows ? unit.rows[0] : unit);
        units.sort((a, b) => (down ? -1 : 1) * compare(cellValue(row(a), column), cellValue(row(b), column)));
        const parent = units.length && units[0].rows ? table : table.tBodies[0];
        units.forEach((unit) => parent.appendChild(unit));
      });
    });
  });

  function csv(id) {
    const rows = [["panel", "series", "x", "y", "low", "high", "x_quantity", "y_quantity"]];
    for (const [name, panel] of Object.entries(data)) {
      if (name.slice(0, name.lastIndexOf(".")) !== id) continue;
      for (const line of panel.series) {
        panel.xs[line.x].forEach((x, i) => rows.push([panel.title, line.name, x, line.y[i],
          line.lo ? line.lo[i] : "", line.hi ? line.hi[i] : "", panel.x.quantity, panel.y.quantity]));
      }
    }
    return rows.map((row) => row.map((cell) => {
      const text = cell === null ? "" : String(cell);
      return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    }).join(",")).join("\n") + "\n";
  }

  document.querySelectorAll("[data-save]").forEach((button) => {
    button.title = "Save the values of this figure: seconds, bytes, bits per second, fractions";
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(button.dataset.save)], { type: "text/csv" }));
      link.download = button.dataset.save + ".csv";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  });

  document.getElementById("mode").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.mode ? root.dataset.mode === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.mode = dark ? "light" : "dark";
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
