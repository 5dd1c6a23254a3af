// Tables: those that do not fit, and long ones.
// ---- tables that do not fit: less room between columns, then a row of the page, then rows as cards
const fit = new ResizeObserver((changes) => changes.forEach(({ target }) => {
  const table = target.firstElementChild, parent = target.parentElement;
  const overflows = () => target.scrollWidth > target.clientWidth + 1;
  table.classList.remove("tight", "as-cards", "narrow");
  parent.classList.remove("full");
  if (overflows()) table.classList.add("tight");
  if (overflows()) parent.classList.add("full");
  if (overflows()) table.classList.add("as-cards");
  if (overflows()) table.classList.add("narrow");
}));
document.querySelectorAll(".scroll:has(> table.cards)").forEach((region) => fit.observe(region));

// ---- long tables: rows with a text, and sorting by a column
document.querySelectorAll(".tall > table").forEach((table) => {
  const rows = Array.from(table.tBodies[0].rows), heads = Array.from(table.tHead.rows[0].cells);
  if (table.querySelector("th a")) return;  // the first row counts the examples of a bin
  const name = table.parentNode.getAttribute("aria-label");
  const field = make("input", { type: "search", class: "rows", placeholder: "find rows", "aria-label": `Find rows: ${name}` });
  table.parentNode.before(field);
  field.addEventListener("input", () => rows.forEach((row) => {
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(field.value.trim().toLowerCase());
  }));
  if (table.classList.contains("ordered")) return;
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    const key = (row) => row.cells[column].textContent;
    const number = (row) => Number.parseFloat(key(row).replace(/[,<\s]/g, "").replace("\u2212", "-"));
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending", sign = down ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort((a, b) => sign * (number(a) - number(b) || key(a).localeCompare(key(b))));
      table.tBodies[0].append(...rows);
    });
  });
});
