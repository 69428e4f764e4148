// Draws a panel as `svg.py` does, at any width and for any part of the x axis.
const CHARACTER = 7, BOLD_CHARACTER = 8.4, LABEL_GAP = 14;
const WIDTHS = { 1: 1120, 2: 548, 3: 358 };
const HEIGHTS = { 1: 310, 2: 270, 3: 240 };
const NARROW = 480; // below this width lines are named by the legend alone

const slots = new Map(); // legend key -> class of its colour
const at = (v) => v.toFixed(1);
const textAt = (kind, x, y, content, anchor) =>
  `<text class="${kind}" x="${at(x)}" y="${at(y)}"${anchor ? ` text-anchor="${anchor}"` : ""}>${escaped(content)}</text>`;
const lineAt = (kind, x1, y1, x2, y2) =>
  `<line class="${kind}" x1="${at(x1)}" x2="${at(x2)}" y1="${at(y1)}" y2="${at(y2)}"/>`;
const grouped = (key, inner, more = "") =>
  `<g class="${slots.get(key) || ""}${more}" data-key="${escaped(key)}">${inner}</g>`;

/** The plot area: `px` and `py` map values into it. */
function frameOf(left, top, width, height, x, y) {
  return {
    left, top, width, height, x, y, right: left + width, bottom: top + height,
    px: (v) => left + width * share(x, v),
    py: (v) => top + height * (1 - share(y, v)),
  };
}

/** The inside of the picture of a panel, and its frame; `zoom` is a part of the x axis, `second` a panel to overlay. */
function drawPanel(id, panel, width, zoom, second) {
  const columns = panel.columns, height = HEIGHTS[columns];
  const x = zoom ? { ...panel.x, low: zoom[0], high: zoom[1], marks: undefined } : panel.x;
  const wide = columns < 3 && width >= NARROW && !second;
  const labels = panel.labels && wide ? panel.series.map((line) => line.name) : [];
  const longest = Math.max(0, ...labels.map((name) => name.length));
  const right = 18 + (labels.length ? Math.min(170, longest * CHARACTER + 6) : 0) + (second ? 52 : 0);
  const top = 46 + (panel.events.length ? 16 : 0);
  const tall = height - top - 42;
  const upright = ticks(panel.y, tall > 130 ? 6 : 4);
  const left = 12 + Math.max(...upright.map(([, text]) => text.length), upright.length ? 0 : 3) * CHARACTER;
  const frame = frameOf(left, top, width - left - right, tall, x, panel.y);
  let title = panel.title;
  if (title.length * BOLD_CHARACTER > width) title = title.split(" · ")[0];
  const [spans, words] = drawShades(panel.shades, frame);
  const parts = [textAt("title", panel.key ? 16 : 0, 14, title), ...spans, ...drawAxes(frame, upright)];
  if (panel.key) parts.push(`<rect class="${slots.get(panel.key)} fill" x="0" y="5" width="10" height="10" rx="2"/>`);
  for (const [y] of panel.refs) parts.push(lineAt("reference", frame.left, frame.py(y), frame.right, frame.py(y)));
  parts.push(...drawEvents(panel.events, frame));
  const lines = panel.series.map((line) => drawLine(panel, line, frame));
  if (second) lines.push(...drawSecond(second, frame, parts));
  parts.push(clipped(id, frame, lines.join("")));
  for (const reference of panel.refs) parts.push(drawNote(frame, ...reference));
  parts.push(...words);
  if (labels.length) parts.push(...directLabels(panel, labels, frame));
  return { inner: parts.join(""), frame, height };
}

function drawAxes(frame, upright) {
  const parts = [];
  for (const [value, text] of upright) {
    if (!text) continue;
    const y = frame.py(value);
    parts.push(lineAt("grid", frame.left, y, frame.right, y), textAt("tick", frame.left - 7, y + 4, text, "end"));
  }
  let last = -Infinity;
  for (const [value, text] of ticks(frame.x, Math.max(3, Math.floor(frame.width / 75)))) {
    const x = frame.px(value), half = text.length * CHARACTER / 2;
    parts.push(lineAt("axis", x, frame.bottom, x, frame.bottom + (text ? 5 : 3)));
    if (text && x - half > last) {
      parts.push(textAt("tick", x, frame.bottom + 18, text, "middle"));
      last = x + half + 6;
    }
  }
  parts.push(lineAt("axis", frame.left, frame.bottom, frame.right, frame.bottom));
  parts.push(textAt("unit", 0, 31, axisTitle(frame.y)));
  parts.push(textAt("unit", frame.right, frame.bottom + 36, axisTitle(frame.x), "end"));
  return parts;
}

function drawShades(shades, frame) {
  const spans = [], words = [], taken = [];
  for (const [start, end, text] of [...shades].sort((a, b) => a[0] - b[0])) {
    const from = Math.max(start, frame.x.low), to = Math.min(end, frame.x.high);
    if (to < from) continue;
    const left = frame.px(from), right = frame.px(to);
    spans.push(`<rect class="shade" x="${at(left)}" y="${at(frame.top)}" width="${at(Math.max(right - left, 1))}"` +
      ` height="${at(frame.height)}"/>`);
    const length = text.length * CHARACTER;
    const place = Math.max(frame.left, Math.min(left + 4, frame.right - length));
    const rows = new Set(taken.filter(([a, b]) => place < b && a < place + length).map(([, , row]) => row));
    let row = 0;
    while (rows.has(row)) row++;
    taken.push([place, place + length, row]);
    words.push(textAt("tick", place, frame.top + 26 + 14 * row, text));
  }
  return [spans, words];
}

function drawNote(frame, value, text, left, below) {
  const y = frame.py(value);
  return textAt("note", left ? frame.left + 4 : frame.right, below ? y + 14 : y - 5, text, left ? "" : "end");
}

function drawEvents(events, frame) {
  const parts = [], groups = [];
  let end = -Infinity;
  for (const [value, text, key] of [...events].sort((a, b) => a[0] - b[0])) {
    if (value < frame.x.low || value > frame.x.high) continue;
    const x = frame.px(value);
    if (value > frame.x.low) parts.push(lineAt("event", x, frame.top - 4, x, frame.bottom));
    if (x > end) {
      groups.push([x, []]);
      end = x;
    }
    groups[groups.length - 1][1].push([text, key]);
    end += (text.length + 1.5) * CHARACTER;
  }
  for (const [x, together] of groups) {
    const length = together.reduce((sum, [text]) => sum + text.length + 1, 0) * CHARACTER;
    const anchor = x + length > frame.right + 14 ? ' text-anchor="end"' : "";
    const spans = together.map(([text, key]) => `<tspan class="${slots.get(key) || ""} ink">${escaped(text)}</tspan>`);
    parts.push(`<text class="label" x="${at(x)}" y="${at(frame.top - 8)}"${anchor}>${spans.join(" ")}</text>`);
  }
  return parts;
}

function clipped(id, frame, inner) {
  return `<clipPath id="clip.${id}"><rect x="${at(frame.left - 4)}" y="${at(frame.top - 3)}"` +
    ` width="${at(frame.width + 8)}" height="${at(frame.height + 6)}"/></clipPath>` +
    `<g clip-path="url(#clip.${id})">${inner}</g>`;
}

function drawLine(panel, line, frame, more = "") {
  const xs = panel.xs[line.x];
  const points = xs.map((x, i) => (line.y[i] === null ? null : [frame.px(x), frame.py(line.y[i])]));
  const parts = [];
  if (line.lo) {
    const upper = xs.map((x, i) => at(frame.px(x)) + "," + at(frame.py(line.hi[i])));
    const lower = xs.map((x, i) => at(frame.px(x)) + "," + at(frame.py(line.lo[i])));
    parts.push(`<polygon class="band" points="${[...upper, ...lower.reverse()].join(" ")}"/>`);
  }
  if (line.dots) {
    for (const p of points) if (p) parts.push(`<circle class="sample" cx="${at(p[0])}" cy="${at(p[1])}" r="1.8"/>`);
    return grouped(line.key, parts.join(""), more);
  }
  parts.push(`<path class="line" d="${pathOf(points, line.step, frame)}"/>`);
  if (line.markers) {
    points.forEach((p, i) => {
      if (p) parts.push(markerAt(p, line.runs && line.runs[i], line.bounds && line.bounds[i]));
    });
  }
  return grouped(line.key, parts.join(""), more);
}

function markerAt([x, y], runs, bound) {
  const circle = `<circle class="marker${bound ? " bound" : ""}" cx="${at(x)}" cy="${at(y)}" r="3.2"/>`;
  if (!runs || !runs.length) return circle;
  return `<a href="#run-${runs[0]}" tabindex="-1" data-runs="${runs.join(" ")}">${circle}</a>`;
}

function pathOf(points, step, frame) {
  let pen = false;
  return points.map((point) => {
    if (!point) {
      pen = false;
      return "";
    }
    const [x, y] = point.map(at), begun = pen;
    pen = true;
    if (begun) return step ? `H${x}V${y}` : `L${x} ${y}`;
    return step ? `M${x} ${at(frame.bottom)}V${y}` : `M${x} ${y}`;
  }).join("");
}

/** Lines of another panel over the same x, with an axis at the right of their own. */
function drawSecond(second, frame, parts) {
  const right = frameOf(frame.left, frame.top, frame.width, frame.height, frame.x, second.y);
  for (const [value, text] of ticks(second.y, frame.height > 130 ? 6 : 4)) {
    if (text) parts.push(textAt("tick", frame.right + 7, right.py(value) + 4, text));
  }
  parts.push(lineAt("axis", frame.right, frame.top, frame.right, frame.bottom));
  parts.push(textAt("unit", frame.right + 52, 31, axisTitle(second.y) + ", dotted", "end"));
  return second.series.map((line) => drawLine(second, { ...line, lo: undefined }, right, " second"));
}

function directLabels(panel, labels, frame) {
  const ends = [];
  panel.series.forEach((line, index) => {
    const xs = panel.xs[line.x];
    let i = xs.length - 1;
    while (i >= 0 && (line.y[i] === null || xs[i] > frame.x.high)) i--;
    if (i >= 0 && xs[i] >= frame.x.low) ends.push([frame.px(xs[i]), frame.py(line.y[i]), line.key, labels[index]]);
  });
  const places = spread(ends.map((end) => end[1]), LABEL_GAP, frame.top, frame.bottom + 4);
  return ends.map(([x, y, key, name], i) => {
    const place = places[i];
    const needed = Math.abs(place - y) > 4 || frame.right - x > 12;
    const leader = `<path class="leader" d="M${at(x + 2)} ${at(y)}L${at(frame.right + 8)} ${at(place)}"/>`;
    return grouped(key, (needed ? leader : "") + textAt("label ink", frame.right + 10, place + 4, name));
  });
}

function spread(places, gap, low, high) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const moved = order.map((i) => places[i]);
  for (let i = 1; i < moved.length; i++) moved[i] = Math.max(moved[i], moved[i - 1] + gap);
  let ceiling = Math.max(high, low + gap * (moved.length - 1));
  for (let i = moved.length - 1; i >= 0; i--) {
    moved[i] = Math.min(moved[i], ceiling);
    ceiling = moved[i] - gap;
  }
  const result = [];
  order.forEach((index, position) => { result[index] = moved[position]; });
  return result;
}
