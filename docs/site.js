// What the theme lacks for readers without a mouse: a name of the search, and a way to scroll wide tables.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
for (const table of document.querySelectorAll(".md-content table"))
  if (table.scrollWidth > table.closest(".md-content__inner").clientWidth) table.tabIndex = 0;
