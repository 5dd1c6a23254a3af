// The table of examples: its state, and what follows from it.
const columns = data.columns;
const state = { sort: data.sort[0], down: data.sort[1], page: 0, size: 25 };
const form = $("form.filter", section), body = $("tbody", section), status = $(".said", section);
const heads = Array.from(section.querySelectorAll("th[data-column]"));
const searched = data.rows.map(() => null);
const texts = (row, name) => name === "outputs" ? row[at.outputs].flat().map((output) => output[0]).join("\n") : row[at[name]];
const haystack = (index) => searched[index] ??= data.searched.map((name) => texts(data.rows[index], name)).join("\n").toLowerCase();
let matching = [];  // indices of rows

function filter() {
  const words = form.elements.search.value.trim().toLowerCase();
  const tests = [];
  for (const input of form.querySelectorAll("[data-column]")) {
    if (input.value === "") continue;
    const column = columns[+input.dataset.column], limit = +input.value;
    if (input.dataset.test === "min") tests.push((row) => value(row, column) >= limit);
    if (input.dataset.test === "max") tests.push((row) => value(row, column) <= limit);
    if (input.dataset.test === "is") tests.push((row) => String(value(row, column)) === input.value);
  }
  const bin = form.elements.bin && form.elements.bin.value;
  if (bin) tests.push((row) => row[at.bins].includes(bin));
  matching = [];
  data.rows.forEach((row, index) => {
    if (words && !haystack(index).includes(words)) return;
    if (tests.every((test) => test(row))) matching.push(index);
  });
  sort();
}
function sort() {
  const column = columns[state.sort], sign = state.down ? -1 : 1;
  const key = (index) => value(data.rows[index], column);
  matching.sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === y) return a - b;
    if (x === null) return 1;
    if (y === null) return -1;
    return (x < y ? -1 : 1) * sign;
  });
  heads.forEach((head) => {
    const isSorted = +head.dataset.column === state.sort;
    if (isSorted) head.setAttribute("aria-sort", state.down ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
  });
  state.page = 0;
  show();
}
const cellText = (column, row) => {
  const raw = value(row, column);
  return (column.score === "difference" && raw > 0 ? "+" : "") + (raw === null ? "–" : typeof raw === "number" ? raw.toFixed(column.digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "\u2212") : raw);
};
const cell = (column, row) => make("td", { "data-name": column.label, text: cellText(column, row) });
// Of many rows only those on screen are laid out, in columns as wide as those of the table before.
const table = $("table.examples", section);
function many(isLong) {
  if (isLong && !table.classList.contains("many")) {
    const widths = heads.map((head) => `${head.offsetWidth}px`);
    table.style.setProperty("--columns", `${widths.join(" ")} minmax(0, 1fr)`);
  }
  table.classList.toggle("many", isLong);
}
function show() {
  const size = state.size || Math.max(matching.length, 1), pages = Math.max(1, Math.ceil(matching.length / size));
  state.page = Math.min(state.page, pages - 1);
  const begin = state.page * size, rows = matching.slice(begin, begin + size);
  many(rows.length > 100);
  body.replaceChildren(...rows.map((index) => {
    const row = data.rows[index];
    return make("tr", {}, ...columns.map((column) => cell(column, row)), make("td", { class: "text" }, ...text(row)));
  }));
  const ofAll = data.rows.length === matching.length ? "" : ` found of ${count.format(data.rows.length)}`;
  status.textContent = matching.length ? `${count.format(begin + 1)} to ${count.format(begin + rows.length)} of ${count.format(matching.length)}${ofAll}` : "nothing found";
  $("[data-go='-1']", section).disabled = state.page === 0;
  $("[data-go='1']", section).disabled = state.page >= pages - 1;
}

let waiting = 0;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => { form.querySelectorAll("[data-system]").forEach(pick); filter(); }));
form.addEventListener("input", (event) => {
  if (event.target.dataset.system) { pick(event.target); return; }
  clearTimeout(waiting);
  waiting = setTimeout(filter, 60);
});
heads.forEach((head) => $("button", head).addEventListener("click", () => {
  const column = +head.dataset.column;
  if (state.sort === column) state.down = !state.down; else { state.sort = column; state.down = columns[column].down === true; }
  sort();
}));
document.querySelectorAll("[data-bin]").forEach((link) => link.addEventListener("click", () => {
  form.querySelectorAll("input").forEach((input) => { input.value = ""; });
  form.elements.bin.value = link.dataset.bin;
  filter();
}));
section.querySelectorAll("[data-go]").forEach((button) => button.addEventListener("click", () => { state.page += +button.dataset.go; show(); }));
$("[name='size']", section).addEventListener("change", (event) => { state.size = +event.target.value; state.page = 0; show(); });

// ---- which two systems
function pick(select) {
  if (select.dataset.system === "a") first = +select.value; else second = +select.value;
  heads.forEach((head) => {
    const which = columns[+head.dataset.column].score;
    if (which === "a" || which === "b") {
      const name = data.systems[which === "a" ? first : second];
      columns[+head.dataset.column].label = name;
      $("button", head).textContent = name;
    }
  });
  filter();
}
