// A rectangle in a scatter plot fills in the filter, and shows where the examples are.
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
    make("p", {}, `${count.format(matching.length)} of ${count.format(data.rows.length)} examples. `, make("a", { href: "#examples-head", text: "All in the table" })),
    make("ol", {}, ...matching.slice(0, LISTED).map((index) => {
      const row = data.rows[index];
      const values = axes.map((column) => `${column.label} ${cellText(column, row)}`);
      return make("li", {}, make("span", { class: "quiet", text: `no. ${row[at.number]}: ${values.join(", ")}` }), ...text(row).slice(0, data.pair ? undefined : 2));
    })));
  const pointOf = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [Math.min(Math.max(point.x, box[0]), box[0] + box[2]), Math.min(Math.max(point.y, box[1]), box[1] + box[3])];
  };
  const field = (column, test) => form.querySelector(`[data-column="${column}"][data-test="${test}"]`);
  const fill = (column, low, high, digits) => {
    field(column, "min").value = low === null ? "" : low.toFixed(digits);
    field(column, "max").value = high === null ? "" : high.toFixed(digits);
  };
  plot.addEventListener("pointerdown", (event) => { from = pointOf(event); plot.setPointerCapture(event.pointerId); svg.append(rect); });
  plot.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = pointOf(event);
    const sides = { x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]), width: Math.abs(to[0] - from[0]), height: Math.abs(to[1] - from[1]) };
    for (const [name, length] of Object.entries(sides)) rect.setAttribute(name, length);
  });
  const choose = (from, to) => {
    const [x, y] = data.brush;
    if (Math.abs(to[0] - from[0]) < 3 || Math.abs(to[1] - from[1]) < 3) {
      rect.remove();
      fill(x, null, null); fill(y, null, null);
      filter();
      brushed.replaceChildren(hint);
    } else {
      const across = (x) => xs[0] + (x - box[0]) / box[2] * (xs[1] - xs[0]);
      const up = (y) => ys[1] - (y - box[1]) / box[3] * (ys[1] - ys[0]);
      fill(x, across(Math.min(from[0], to[0])), across(Math.max(from[0], to[0])), 3);
      fill(y, up(Math.max(from[1], to[1])), up(Math.min(from[1], to[1])), 3);
      if (plot.dataset.pair) {
        const pair = plot.dataset.pair.split(" ");
        form.querySelectorAll("[data-system]").forEach((select, index) => { select.value = pair[index]; pick(select); });
      }
      filter();
      list(data.brush.map((column) => columns[column]));
    }
  };
  plot.addEventListener("pointerup", (event) => { choose(from, pointOf(event)); from = null; });
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
    step.forEach((direction, axis) => {
      const change = direction * size[axis];
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

filter();  // the first rows
