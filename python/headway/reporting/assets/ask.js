// Selectors: which panels of a figure are on view, and with what on a second axis.
const chosen = {}; // name -> value; a name that is not there is as drawn at first
const links = new Map(); // figure id -> set of links, where somebody chose some
const second = new Map(); // figure id -> id of the figure whose lines are drawn over its own
const pictures = new Map(); // panel id -> its element
let data = { panels: {}, figures: {}, asks: [], runs: [] };

const panelsOf = (figure) => data.figures[figure].map((id) => [id, data.panels[id]]);

/** The panels of a figure that are wanted, and the names of what it has no panel for. */
function wanted(figure) {
  let found = panelsOf(figure);
  const missed = [];
  const first = found.filter(([, panel]) => panel.first);
  for (const name of [...new Set(found.flatMap(([, panel]) => Object.keys(panel.about)))]) {
    const picked = name === "link" ? links.get(figure) : chosen[name] && new Set([chosen[name]]);
    const those = picked && found.filter(([, panel]) => !(name in panel.about) || picked.has(panel.about[name]));
    if (those && those.some(([, panel]) => name in panel.about)) {
      found = those;
      continue;
    }
    if (picked && picked.size) missed.push(name);
    const usual = new Set(first.map(([, panel]) => panel.about[name]));
    found = found.filter(([, panel]) => !(name in panel.about) || usual.has(panel.about[name]));
  }
  return [found, missed];
}

/** Redraws a picture for its width, the part of the axis that is on view, and the second axis. */
function redraw(svg) {
  const { id, panel } = shown.get(svg);
  const place = svg.parentElement.clientWidth;
  const columns = getComputedStyle(svg.parentElement).gridTemplateColumns.split(" ").length;
  const room = (place - 28 * (columns - 1)) / columns;
  const width = room < 0.85 * WIDTHS[panel.columns] ? Math.max(300, Math.round(room)) : WIDTHS[panel.columns];
  const drawn = drawPanel(id, panel, width, zooms.get(groupOf(svg)), overlay(id, panel));
  shown.set(svg, { id, panel, frame: drawn.frame });
  svg.setAttribute("viewBox", `0 0 ${width} ${drawn.height}`);
  svg.innerHTML = drawn.inner;
  for (const node of svg.querySelectorAll("[data-key]")) node.classList.toggle("off", hidden.has(node.dataset.key));
  const whole = svg.closest("figure") && svg.closest("figure").querySelector(".whole");
  if (whole) whole.hidden = !zooms.has(groupOf(svg));
}

function overlay(id, panel) {
  const other = second.get(id.slice(0, id.lastIndexOf(".")));
  if (!other) return null;
  const same = (a, b) => Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
  const found = panelsOf(other).find(([, one]) => same(one.about, panel.about));
  return found ? found[1] : null;
}

/** The frame of a picture as the page brought it. */
function framed(panel) {
  const [left, top, width, height] = panel.plot;
  return frameOf(left, top, width, height, panel.x, panel.y);
}

function elementOf(id, panel) {
  if (pictures.has(id)) return pictures.get(id);
  const holder = document.createElement("template");
  if (panel.svg) holder.innerHTML = panel.svg;
  else {
    const label = `${panel.title}: ${axisTitle(panel.y)} over ${axisTitle(panel.x)}. Arrow keys read values.`;
    const key = panel.key ? ` data-key="${escaped(panel.key)}"` : "";
    holder.innerHTML = `<svg class="chart" viewBox="0 0 1 1" role="img" tabindex="0" aria-label="${escaped(label)}"` +
      ` data-panel="${escaped(id)}"${key}></svg>`;
  }
  const svg = holder.content.firstElementChild;
  if (panel.svg) svg.querySelectorAll("[data-tip]").forEach(tell);
  else adopt(svg, id, panel);
  pictures.set(id, svg);
  return svg;
}

function adopt(svg, id, panel) {
  shown.set(svg, { id, panel, frame: panel.plot ? framed(panel) : null });
  listen(svg);
}

function apply() {
  for (const figure of Object.keys(data.figures)) arrange(figure);
  applyHidden();
  const changed = Object.keys(chosen).length > 0;
  document.querySelectorAll("#ask .whole").forEach((button) => { button.hidden = !changed; });
}

function arrange(figure) {
  const node = document.getElementById(figure), box = node.querySelector(".panels");
  const [found, missed] = wanted(figure);
  box.replaceChildren(...found.map(([id, panel]) => elementOf(id, panel)));
  for (const svg of box.children) if (shown.has(svg)) redraw(svg);
  let note = node.querySelector(".asked");
  if (!note) {
    note = document.createElement("p");
    note.className = "asked caption";
    note.setAttribute("aria-live", "polite");
    node.insertBefore(note, box);
  }
  const names = new Set(found.flatMap(([, panel]) => Object.keys(panel.about)));
  const told = Object.entries(chosen).filter(([name]) => names.has(name) && !missed.includes(name));
  const parts = told.map(([name, value]) => `${name} ${value}`);
  const without = missed.filter((name) => name !== "link").map((name) => `${name} ${chosen[name]}`);
  note.textContent = (parts.length ? `Shown: ${parts.join(", ")}.` : "") +
    (without.length ? ` There is no panel for ${without.join(", ")}; shown as at first.` : "");
  note.hidden = !note.textContent;
}

function selector(label, options, change) {
  const outer = document.createElement("label");
  outer.append(label + " ");
  const select = outer.appendChild(document.createElement("select"));
  select.setAttribute("aria-label", label);
  for (const [value, text] of options) select.add(new Option(text, value));
  select.addEventListener("change", () => change(select.value));
  return [outer, select];
}

const selectors = new Map(); // name -> its select

function choose(name, value) {
  if (value) chosen[name] = value; else delete chosen[name];
  if (selectors.has(name)) selectors.get(name).value = value || "";
}

/** The bar of selectors above the figures. */
function bar() {
  const box = document.getElementById("ask");
  if (!box) return;
  const place = box.querySelector(".choices");
  for (const ask of data.asks) {
    const options = [["", ask.first], ...ask.values.map((value) => [value, value])];
    const [label, select] = selector(ask.name, options, (value) => {
      choose(ask.name, value);
      apply();
    });
    selectors.set(ask.name, select);
    place.appendChild(label);
  }
  box.querySelector(".whole").addEventListener("click", () => {
    Object.keys(chosen).forEach((name) => choose(name, ""));
    apply();
  });
  box.hidden = !data.asks.length && !box.querySelector(".legend");
}

/** Of figures about links: which of them, and what is drawn over them on an axis at the right. */
function linkTools() {
  const about = (figure) => new Set(panelsOf(figure).map(([, panel]) => panel.about.link).filter(Boolean));
  const those = Object.keys(data.figures).filter((figure) => about(figure).size);
  for (const figure of those) {
    const tools = document.getElementById(figure).querySelector(".tools .ways");
    const all = [...about(figure)];
    const first = new Set(panelsOf(figure).filter(([, panel]) => panel.first).map(([, panel]) => panel.about.link));
    if (all.length > first.size) tools.prepend(picker(figure, all, first));
    const others = those.filter((other) => other !== figure);
    if (!others.length) continue;
    const title = (other) => document.querySelector(`#${CSS.escape(other)} h2`).textContent;
    const options = [["", "none"], ...others.map((other) => [other, title(other).replace(" over time", "")])];
    const [label] = selector("right axis", options, (value) => {
      if (value) second.set(figure, value); else second.delete(figure);
      document.getElementById(figure).querySelectorAll("svg[data-panel]").forEach(redraw);
    });
    tools.prepend(label);
  }
}

function picker(figure, all, first) {
  const box = document.createElement("details");
  box.className = "picker";
  const summary = box.appendChild(document.createElement("summary"));
  const list = box.appendChild(document.createElement("div"));
  const now = new Set(first);
  const say = () => { summary.textContent = `links: ${now.size} of ${all.length}`; };
  for (const link of all) {
    const label = list.appendChild(document.createElement("label"));
    const check = label.appendChild(document.createElement("input"));
    check.type = "checkbox";
    check.checked = now.has(link);
    label.append(" " + link.replace("->", " → "));
    check.addEventListener("change", () => {
      if (check.checked) now.add(link); else now.delete(link);
      links.set(figure, new Set(now));
      say();
      arrange(figure);
      applyHidden();
    });
  }
  say();
  return box;
}

/** Buttons of the table of runs: the figures then show that run. */
function runButtons() {
  document.querySelectorAll("[data-run]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const run = data.runs[Number(button.dataset.run)];
      for (const ask of data.asks) if (ask.name in run.about) choose(ask.name, valueFor(ask, run.about[ask.name]));
      const all = [...document.querySelectorAll("#ask [data-toggle]")].map((one) => one.dataset.toggle);
      all.forEach((name) => { if (name === run.key) hidden.delete(name); else hidden.add(name); });
      apply();
      document.querySelector("figure").scrollIntoView();
    });
  });
}

const valueFor = (ask, value) => (ask.values.includes(value) ? value : "");
