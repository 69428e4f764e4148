// Saves a figure as it is on view: its values as CSV, its pictures as SVG with real text or as PNG.
const PICTURE_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-size", "font-family", "font-weight", "paint-order", "text-anchor", "display"];
const PNG_SCALE = 2;

function csv(figure) {
  const rows = [["panel", "series", "x", "y", "low", "high", "x_quantity", "y_quantity"]];
  for (const svg of figure.querySelectorAll("svg[data-panel]")) {
    const { panel } = shown.get(svg);
    for (const line of panel.series) {
      panel.xs[line.x].forEach((x, i) => rows.push([panel.title, line.name, x, line.y[i],
        line.lo ? line.lo[i] : "", line.hi ? line.hi[i] : "", panel.x.quantity, panel.y.quantity]));
    }
  }
  return rows.map((row) => row.map((cell) => {
    // A spreadsheet takes a text that begins with one of these signs for a formula, but for the apostrophe.
    const formula = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? "'" : "";
    const text = cell === null ? "" : formula + cell;
    return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }).join(",")).join("\n") + "\n";
}

/** A copy of a picture that carries its styles with it. */
function styled(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    to[i].setAttribute("style", PICTURE_STYLES.map((name) => name + ":" + style.getPropertyValue(name)).join(";"));
    for (const name of ["class", "data-key", "data-tip", "tabindex", "href"]) to[i].removeAttribute(name);
  });
  copy.querySelectorAll(".cursor").forEach((node) => node.remove());
  return copy;
}

/** All panels of a figure in one picture, with its title and its legend. */
function picture(figure) {
  const all = [...figure.querySelectorAll(".panels svg")].filter((svg) => svg.getBoundingClientRect().width);
  const area = figure.querySelector(".panels").getBoundingClientRect();
  const root = document.createElementNS(all[0].namespaceURI, "svg");
  const page = getComputedStyle(document.body), ink = page.color;
  const text = (x, y, content, size, weight, fill) => {
    const node = add(root, "text", { x, y, fill, "font-size": size, "font-weight": weight, "font-family": page.fontFamily });
    node.textContent = content;
    return node;
  };
  const back = add(root, "rect", { width: "100%", height: "100%", fill: page.backgroundColor });
  text(12, 26, figure.querySelector("h2").textContent, 16, 640, ink);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "13px " + page.fontFamily;
  let x = 12, y = 48;
  for (const button of figure.querySelectorAll(".legend button[aria-pressed=true]")) {
    const line = button.querySelector("line"), style = getComputedStyle(line);
    const width = 46 + pen.measureText(button.textContent.trim()).width;
    if (x + width > area.width && x > 12) {
      x = 12;
      y += 20;
    }
    add(root, "line", { x1: x, x2: x + 24, y1: y - 4, y2: y - 4, stroke: style.stroke, "stroke-width": 3,
      "stroke-dasharray": line.getAttribute("stroke-dasharray") || "" });
    text(x + 30, y, button.textContent.trim(), 13, 400, ink);
    x += width;
  }
  const top = figure.querySelector(".legend") ? y + 14 : 38;
  let height = 0;
  for (const svg of all) {
    const box = svg.getBoundingClientRect(), copy = styled(svg);
    const place = { x: box.left - area.left + 12, y: box.top - area.top + top, width: box.width, height: box.height };
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
    root.appendChild(copy);
    height = Math.max(height, place.y + place.height);
  }
  const size = [Math.ceil(area.width + 24), Math.ceil(height + 12)];
  root.setAttribute("width", size[0]);
  root.setAttribute("height", size[1]);
  root.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  back.setAttribute("width", size[0]);
  back.setAttribute("height", size[1]);
  return { text: new XMLSerializer().serializeToString(root), size };
}

function png({ text, size }) {
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = size.map((v) => v * PNG_SCALE);
      const context = canvas.getContext("2d");
      context.scale(PNG_SCALE, PNG_SCALE);
      context.drawImage(image, 0, 0);
      canvas.toBlob(done, "image/png");
    };
    image.onerror = failed;
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  });
}

function saveAs(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

document.querySelectorAll("[data-save]").forEach((button) => {
  button.addEventListener("click", async () => {
    const figure = button.closest("figure"), kind = button.dataset.save, name = figure.id + "." + kind;
    if (kind === "csv") saveAs(name, new Blob([csv(figure)], { type: "text/csv" }));
    else if (kind === "svg") saveAs(name, new Blob([picture(figure).text], { type: "image/svg+xml" }));
    else saveAs(name, await png(picture(figure)));
  });
});
