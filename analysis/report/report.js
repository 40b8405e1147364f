// Tables are sorted by their headings: numbers as numbers, what has none at the end either way.
"use strict";

function keyOf(row, column) {
  const cell = row.cells[column];
  return "number" in cell.dataset ? Number(cell.dataset.number) : cell.textContent.trim();
}

function compare(a, b, numeric) {
  if (!numeric) return a.localeCompare(b, "en", { numeric: true });
  return a - b;
}

function sortBy(table, column) {
  const headings = [...table.tHead.rows[0].cells];
  const heading = headings[column];
  const down = heading.getAttribute("aria-sort") === "ascending";
  const numeric = heading.classList.contains("number");
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, column), row]);
  const known = numeric ? rows.filter(([key]) => typeof key === "number") : rows;
  const unknown = numeric ? rows.filter(([key]) => typeof key !== "number") : [];
  known.sort(([a], [b]) => (down ? -1 : 1) * compare(a, b, numeric));
  table.tBodies[0].append(...known.concat(unknown).map(([, row]) => row));
  headings.forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
}

document.querySelectorAll("table.sortable").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => sortBy(table, column));
  });
});
