"use strict";

// Tables are sorted by their headings: numbers as numbers, what has none at the end either way.

// A cell's number stands at its beginning; a note's marker or a unit may follow.
const NUMBER = /^<?([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?=$|[ (])/;

// Numbers below 0 have a minus sign, not a hyphen.
function plain(text) {
  return text.trim().replaceAll("\u2212", "-");
}

function keyOf(row, column, numeric) {
  const text = plain(row.cells[column].textContent);
  const number = numeric ? text.match(NUMBER) : null;
  if (!number) return text;
  // What is less than a number stands just before it.
  return number[0].startsWith("<") ? Number(number[1]) * (1 - Number.EPSILON) : Number(number[1]);
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
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, column, numeric), row]);
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

// Rows of the grid, and the sections of their tables, are shown by program and governor.
const rows = [...document.querySelectorAll("tr[data-program]")];

function choices(name) {
  return [...new Set(rows.map((row) => row.dataset[name]))];
}

function select(name, filters) {
  const label = document.createElement("label");
  const list = document.createElement("select");
  list.append(new Option("all", ""), ...choices(name).map((text) => new Option(text, text)));
  list.dataset.name = name;
  label.append(`${name}: `, list);
  filters.append(label);
  return list;
}

// A row does not repeat what the row above says, which may be hidden.
function nameAgain(body) {
  let above = [];
  [...body.rows].filter((row) => !row.hidden).forEach((row) => {
    const names = [...row.querySelectorAll("th")];
    let same = true;
    names.forEach((name, at) => {
      same = same && !name.querySelector("a") && above[at] === name.textContent;
      name.classList.toggle("same", same);
    });
    row.classList.toggle("first", !names[0].classList.contains("same"));
    above = names.map((name) => name.textContent);
  });
}

function applyFilters(lists) {
  const shown = new Set();
  rows.forEach((row) => {
    row.hidden = lists.some((list) => list.value && list.value !== row.dataset[list.dataset.name]);
    if (!row.hidden) shown.add(row.querySelector("a").hash);
  });
  document.querySelectorAll("table.grid tbody").forEach(nameAgain);
  rows.forEach((row) => {
    const section = document.querySelector(row.querySelector("a").hash);
    section.hidden = !shown.has(`#${section.id}`);
  });
}

const filters = document.querySelector(".filters");
if (filters) {
  const lists = ["program", "governor"].filter((name) => choices(name).length > 1);
  const made = lists.map((name) => select(name, filters));
  made.forEach((list) => list.addEventListener("change", () => applyFilters(made)));
  filters.hidden = made.length === 0;
}

// A link into a folded section opens it; paper has no folds.
function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
  if (target) target.scrollIntoView();
}

addEventListener("hashchange", openTarget);
openTarget();
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((details) => { details.open = true; });
});
addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));

document.querySelectorAll("code.command").forEach((command) => {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.addEventListener("click", () => navigator.clipboard.writeText(command.textContent));
  command.after(" ", button);
});
