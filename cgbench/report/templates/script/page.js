// What all pages share: elements, the theme, copies of tables.
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

addEventListener("beforeprint", () => document.querySelectorAll("details:not(.plot)").forEach((details) => { details.open = true; }));

document.querySelectorAll("[data-copy]").forEach((button) => {
  const name = button.textContent, text = button.dataset.copy;
  button.hidden = false;
  button.addEventListener("click", () => (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).then(
    () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = name; }, 1500); },
    () => button.replaceWith(make("pre", { text }))));
});
