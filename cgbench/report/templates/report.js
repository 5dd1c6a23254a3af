"use strict";
// The table of examples: search, filters, sorting, pages. All text is inserted as text, never as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const $ = (selector, within = document) => within.querySelector(selector);
  const make = (name, options = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (value === undefined || value === null) continue;
      if (key === "text") element.textContent = value; else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  const theme = $("#theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); });
  label();

  addEventListener("beforeprint", () => document.querySelectorAll("details:not(.plot)").forEach((one) => { one.open = true; }));

  document.querySelectorAll("[data-copy]").forEach((button) => {
    const name = button.textContent, text = button.dataset.copy;
    button.hidden = false;
    button.addEventListener("click", () => (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).then(
      () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = name; }, 1500); },
      () => button.replaceWith(make("pre", { text }))));
  });

  // ---- charts as files: in the colours of paper, with their style in their attributes
  const STYLE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "opacity"];
  function standalone(chart) {
    const root = document.documentElement, shown = root.dataset.theme;
    root.dataset.theme = "light";
    const copy = chart.cloneNode(true), parts = copy.querySelectorAll("*");
    chart.querySelectorAll("*").forEach((part, place) => {
      const style = getComputedStyle(part);
      for (const name of STYLE) parts[place].setAttribute(name, style.getPropertyValue(name));
      parts[place].removeAttribute("class");
    });
    if (shown) root.dataset.theme = shown; else delete root.dataset.theme;
    const title = document.createElementNS(SVG, "title");
    title.textContent = chart.getAttribute("aria-label");
    copy.prepend(title);
    copy.removeAttribute("class");
    return new XMLSerializer().serializeToString(copy);
  }
  document.querySelectorAll("svg.chart").forEach((chart) => {
    const figure = chart.closest("figure");
    if (!figure) return;
    const button = make("button", { type: "button", class: "copy", text: "Save SVG" });
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([standalone(chart)], { type: "image/svg+xml" }));
      const name = chart.getAttribute("aria-label").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
      make("a", { href: address, download: `${name}.svg` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    const caption = figure.querySelector("figcaption");
    if (caption) caption.append(" ", button); else figure.append(button);
  });

  // ---- tables that do not fit: less room between columns, then a row of the page, then rows as cards
  const fit = new ResizeObserver((changes) => changes.forEach(({ target }) => {
    const table = target.firstElementChild, place = target.parentElement;
    const overflows = () => target.scrollWidth > target.clientWidth + 1;
    table.classList.remove("tight", "as-cards", "narrow");
    place.classList.remove("full");
    if (overflows()) table.classList.add("tight");
    if (overflows()) place.classList.add("full");
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

  const data = JSON.parse($("#data").textContent);
  const section = $("#examples");
  if (!data.rows || !section) return;
  $(".browse", section).hidden = false;
  const count = new Intl.NumberFormat("en");

  // ---- words: what two texts have in common, in order
  const split = (text) => data.unspaced ? Array.from(text.replace(/\s+/g, "")) : text.split(/[ \t\n\r\f\v]+/).filter(Boolean);
  const blank = data.unspaced ? "" : " ";
  const MOST_CELLS = 1 << 22;
  function common(left, right) {
    const inLeft = new Uint8Array(left.length), inRight = new Uint8Array(right.length);
    let begin = 0, end = 0;
    while (begin < left.length && begin < right.length && left[begin] === right[begin]) { inLeft[begin] = inRight[begin] = 1; begin++; }
    while (end < left.length - begin && end < right.length - begin && left[left.length - 1 - end] === right[right.length - 1 - end]) {
      inLeft[left.length - 1 - end] = inRight[right.length - 1 - end] = 1; end++;
    }
    const n = left.length - begin - end, m = right.length - begin - end;
    if (n * m > MOST_CELLS) {  // too long to align: words of the other text, wherever they stand
      const ours = new Set(left), theirs = new Set(right);
      left.forEach((word, i) => { inLeft[i] = theirs.has(word) ? 1 : 0; });
      right.forEach((word, i) => { inRight[i] = ours.has(word) ? 1 : 0; });
      return [inLeft, inRight];
    }
    const best = new Uint16Array((n + 1) * (m + 1));
    for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) {
      best[i * (m + 1) + j] = left[begin + i] === right[begin + j]
        ? best[(i + 1) * (m + 1) + j + 1] + 1
        : Math.max(best[(i + 1) * (m + 1) + j], best[i * (m + 1) + j + 1]);
    }
    for (let i = 0, j = 0; i < n && j < m;) {
      if (left[begin + i] === right[begin + j]) { inLeft[begin + i++] = inRight[begin + j++] = 1; }
      else if (best[(i + 1) * (m + 1) + j] >= best[i * (m + 1) + j + 1]) i++; else j++;
    }
    return [inLeft, inRight];
  }

  // Words in runs that are marked alike: text as it is, <ins> and <del> for what only one text has.
  function marked(words, kept, tag) {
    const out = [];
    for (let i = 0; i < words.length;) {
      let j = i;
      while (j < words.length && kept[j] === kept[i]) j++;
      const text = words.slice(i, j).join(blank);
      if (out.length) out.push(blank);
      out.push(kept[i] ? text : make(tag, { text }));
      i = j;
    }
    return out;
  }
  function covered(words, sizes, kept, tag) {
    const out = [];
    let place = 0;
    sizes.forEach((size, number) => {
      const kind = size === 1 ? "piece one" : number % 2 ? "piece odd" : "piece";
      const title = size === 1 ? "a word on its own" : `a known n-gram of ${size} words`;
      out.push(make("span", { class: kind, title }, ...marked(words.slice(place, place + size), kept.slice(place, place + size), tag)), blank);
      place += size;
    });
    return out;
  }
  const LONG = 200;  // words
  function part(name, lang, nodes, words) {
    const body = make("div", { dir: "auto", lang });
    if (words <= LONG) body.append(...nodes());
    else {
      const all = nodes(), first = [];
      let seen = 0;
      for (const node of all) {
        const size = split(typeof node === "string" ? node : node.textContent).length;
        if (seen && seen + size > LONG) break;
        if (seen + size > LONG) first.push(split(typeof node === "string" ? node : node.textContent).slice(0, LONG).join(blank)); else first.push(node);
        seen += size;
      }
      const more = make("button", { type: "button", text: `… all ${count.format(words)} words` });
      more.addEventListener("click", () => body.replaceChildren(...nodes()));
      body.append(...first, " ", more);
    }
    return make("div", { class: "part" }, make("span", { text: name }), body);
  }

  // ---- what a row shows: of a release, and of scores
  const at = Object.fromEntries(data.fields.map((name, place) => [name, place]));
  const all = Uint8Array.from.bind(Uint8Array);
  const ones = (words) => all(words, () => 1);
  function ofRelease(row) {
    const [source, target] = [split(row[at.source]), split(row[at.target])];
    const hypothesis = at.hypothesis === undefined ? null : split(row[at.hypothesis]);
    const [said, wanted] = hypothesis ? common(hypothesis, target) : [null, ones(target)];
    const sizes = at.cover === undefined ? null : row[at.cover];
    const show = (words, kept, here) => () => here && sizes ? covered(words, sizes, kept, "del") : marked(words, kept, "del");
    const parts = [
      part(data.names[0], data.langs[0], show(source, ones(source), data.side === "source"), source.length),
      part(data.names[1], data.langs[1], show(target, wanted, data.side === "target"), target.length),
    ];
    if (hypothesis) parts.push(part("ensemble", data.langs[1], () => marked(hypothesis, said, "ins"), hypothesis.length));
    return parts;
  }
  let [first, second] = data.pair || [];
  function ofScores(row) {
    const parts = ["source", "compound"].filter((name) => at[name] !== undefined)
      .map((name) => part(name, undefined, () => [row[at[name]]], split(row[at[name]]).length));
    const reference = at.reference === undefined ? null : split(row[at.reference]);
    const pair = first === second ? [first] : [first, second];
    const outputs = pair.map((system) => row[at.outputs][system]);
    if (reference) {
      const kept = outputs.flat().map((one) => common(split(one[0]), reference)[1]);
      const all = ones(reference).map((_, place) => kept.every((one) => one[place]) ? 1 : 0);
      parts.push(part("reference", undefined, () => marked(reference, all, "del"), reference.length));
    }
    outputs.forEach((own, place) => own.forEach(([text, seeds, score, reason], number) => {
      const words = split(text);
      // against the reference; without one, against the other system
      const other = reference || (pair.length > 1 ? split(outputs[1 - place][0][0]) : words);
      const shown = part(number ? "" : data.systems[pair[place]], undefined, () => marked(words, common(words, other)[0], "ins"), words.length);
      const chips = own.length > 1 || seeds.length > 1 ? [`seed${seeds.length > 1 ? "s" : ""} ${seeds.join(", ")}: ${score.toFixed(1)}`] : [];
      for (const chip of chips.concat(reason || [])) shown.lastChild.append(" ", make("span", { class: "chip", dir: "ltr", text: chip }));
      parts.push(shown);
    }));
    return parts;
  }
  const text = data.kind === "release" ? ofRelease : ofScores;
  const value = (row, column) => {
    if (column.score === undefined) return row[at[column.name]];
    const scores = row[at.scores];
    return column.score === "a" ? scores[first] : column.score === "b" ? scores[second] : scores[first] - scores[second];
  };

  // ---- the state, and what follows from it
  const columns = data.columns;
  const state = { sort: data.sort[0], down: data.sort[1], page: 0, size: 25 };
  const form = $("form.filter", section), body = $("tbody", section), said = $(".said", section);
  const heads = Array.from(section.querySelectorAll("th[data-column]"));
  const searched = data.rows.map(() => null);
  const texts = (row, name) => name === "outputs" ? row[at.outputs].flat().map((one) => one[0]).join("\n") : row[at[name]];
  const haystack = (number) => searched[number] ??= data.searched.map((name) => texts(data.rows[number], name)).join("\n").toLowerCase();
  let found = [];

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
    found = [];
    data.rows.forEach((row, number) => {
      if (words && !haystack(number).includes(words)) return;
      if (tests.every((test) => test(row))) found.push(number);
    });
    sort();
  }
  function sort() {
    const column = columns[state.sort], sign = state.down ? -1 : 1;
    const key = (number) => value(data.rows[number], column);
    found.sort((a, b) => {
      const x = key(a), y = key(b);
      if (x === y) return a - b;
      if (x === null) return 1;
      if (y === null) return -1;
      return (x < y ? -1 : 1) * sign;
    });
    heads.forEach((head) => {
      const mine = +head.dataset.column === state.sort;
      if (mine) head.setAttribute("aria-sort", state.down ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
    });
    state.page = 0;
    show();
  }
  const shown = (column, row) => {
    const raw = value(row, column);
    return (column.score === "difference" && raw > 0 ? "+" : "") + (raw === null ? "–" : typeof raw === "number" ? raw.toFixed(column.digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "\u2212") : raw);
  };
  const cell = (column, row) => make("td", { "data-name": column.label, text: shown(column, row) });
  // Of many rows only those on screen are laid out, in columns as wide as those of the table before.
  const table = $("table.examples", section);
  function many(now) {
    if (now && !table.classList.contains("many")) {
      const widths = heads.map((head) => `${head.offsetWidth}px`);
      table.style.setProperty("--columns", `${widths.join(" ")} minmax(0, 1fr)`);
    }
    table.classList.toggle("many", now);
  }
  function show() {
    const size = state.size || Math.max(found.length, 1), pages = Math.max(1, Math.ceil(found.length / size));
    state.page = Math.min(state.page, pages - 1);
    const begin = state.page * size, rows = found.slice(begin, begin + size);
    many(rows.length > 100);
    body.replaceChildren(...rows.map((number) => {
      const row = data.rows[number];
      return make("tr", {}, ...columns.map((column) => cell(column, row)), make("td", { class: "text" }, ...text(row)));
    }));
    const part = data.rows.length === found.length ? "" : ` of ${count.format(data.rows.length)}`;
    said.textContent = found.length ? `${count.format(begin + 1)} to ${count.format(begin + rows.length)} of ${count.format(found.length)}${part ? " found" + part : ""}` : "nothing found";
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

  // ---- the brush: a rectangle in the scatter plot fills in the filter, and shows where the examples are
  if (data.brush) document.querySelectorAll("svg [data-x]").forEach((plot) => {
    const svg = plot.ownerSVGElement;
    const box = ["x", "y", "width", "height"].map((name) => +plot.getAttribute(name));
    const [xs, ys] = ["x", "y"].map((name) => plot.getAttribute(`data-${name}`).split(" ").map(Number));
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", "brush");
    let from = null;
    const LISTED = data.pair ? 3 : 6, brushed = $(".brushed", plot.closest(".charts")), hint = brushed.firstElementChild;
    brushed.hidden = false;
    const list = (axes) => brushed.replaceChildren(
      make("p", {}, `${count.format(found.length)} of ${count.format(data.rows.length)} examples. `, make("a", { href: "#examples-head", text: "All in the table" })),
      make("ol", {}, ...found.slice(0, LISTED).map((number) => {
        const row = data.rows[number];
        const figures = axes.map((column) => `${column.label} ${shown(column, row)}`);
        return make("li", {}, make("span", { class: "quiet", text: `no. ${row[at.number]}: ${figures.join(", ")}` }), ...text(row).slice(0, data.pair ? undefined : 2));
      })));
    const place = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [Math.min(Math.max(point.x, box[0]), box[0] + box[2]), Math.min(Math.max(point.y, box[1]), box[1] + box[3])];
    };
    const field = (column, test) => form.querySelector(`[data-column="${column}"][data-test="${test}"]`);
    const fill = (column, low, high, digits) => {
      field(column, "min").value = low === null ? "" : low.toFixed(digits);
      field(column, "max").value = high === null ? "" : high.toFixed(digits);
    };
    plot.addEventListener("pointerdown", (event) => { from = place(event); plot.setPointerCapture(event.pointerId); svg.append(rect); });
    plot.addEventListener("pointermove", (event) => {
      if (!from) return;
      const to = place(event);
      const values = { x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]), width: Math.abs(to[0] - from[0]), height: Math.abs(to[1] - from[1]) };
      for (const [name, number] of Object.entries(values)) rect.setAttribute(name, number);
    });
    const choose = (from, to) => {
      const [x, y] = data.brush;
      if (Math.abs(to[0] - from[0]) < 3 || Math.abs(to[1] - from[1]) < 3) {
        rect.remove();
        fill(x, null, null); fill(y, null, null);
        filter();
        brushed.replaceChildren(hint);
      } else {
        const across = (at) => xs[0] + (at - box[0]) / box[2] * (xs[1] - xs[0]);
        const up = (at) => ys[1] - (at - box[1]) / box[3] * (ys[1] - ys[0]);
        fill(x, across(Math.min(from[0], to[0])), across(Math.max(from[0], to[0])), 3);
        fill(y, up(Math.max(from[1], to[1])), up(Math.min(from[1], to[1])), 3);
        if (plot.dataset.pair) {
          const numbers = plot.dataset.pair.split(" ");
          form.querySelectorAll("[data-system]").forEach((select, place) => { select.value = numbers[place]; pick(select); });
        }
        filter();
        list(data.brush.map((column) => columns[column]));
      }
    };
    plot.addEventListener("pointerup", (event) => { choose(from, place(event)); from = null; });
    // By keyboard: arrows move the rectangle, with Shift they move its lower right corner.
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === "Escape") { choose([0, 0], [0, 0]); return; }
      if (!step) return;
      event.preventDefault();
      const size = [box[2] / 10, box[3] / 10];
      const corner = (name, fallback) => rect.parentNode ? +rect.getAttribute(name) : fallback;
      const begin = [corner("x", box[0] + box[2] / 2), corner("y", box[1] + box[3] / 2)];
      const wide = [corner("width", size[0]), corner("height", size[1])];
      step.forEach((way, axis) => {
        const change = way * size[axis];
        if (event.shiftKey) wide[axis] = Math.max(size[axis], Math.min(wide[axis] + change, box[axis] + box[axis + 2] - begin[axis]));
        else if (rect.parentNode) begin[axis] = Math.max(box[axis], Math.min(begin[axis] + change, box[axis] + box[axis + 2] - wide[axis]));
      });
      svg.append(rect);
      ["x", "y"].forEach((name, axis) => rect.setAttribute(name, begin[axis]));
      ["width", "height"].forEach((name, axis) => rect.setAttribute(name, wide[axis]));
      choose(begin, [begin[0] + wide[0], begin[1] + wide[1]]);
    });
    form.addEventListener("reset", () => { rect.remove(); brushed.replaceChildren(hint); });
  });

  filter();
})();
