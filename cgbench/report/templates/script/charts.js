// Charts as files: in the colours of paper, with their style in their attributes.
const STYLE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "opacity"];
function standalone(chart) {
  const root = document.documentElement, theme = root.dataset.theme;
  root.dataset.theme = "light";
  const copy = chart.cloneNode(true), copies = copy.querySelectorAll("*");
  chart.querySelectorAll("*").forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of STYLE) copies[index].setAttribute(name, style.getPropertyValue(name));
    copies[index].removeAttribute("class");
  });
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
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
