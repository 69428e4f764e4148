// Tables that sort by a column.
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
  table.querySelectorAll("th button").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const units = table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies[0].rows];
      const row = (unit) => (unit.rows ? unit.rows[0] : unit);
      const column = head.cellIndex;
      units.sort((a, b) => (down ? -1 : 1) * compare(cellValue(row(a), column), cellValue(row(b), column)));
      const parent = units.length && units[0].rows ? table : table.tBodies[0];
      units.forEach((unit) => parent.appendChild(unit));
    });
  });
});
