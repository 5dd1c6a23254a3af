// What two texts have in common, in order.
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
    const wordsOfLeft = new Set(left), wordsOfRight = new Set(right);
    left.forEach((word, i) => { inLeft[i] = wordsOfRight.has(word) ? 1 : 0; });
    right.forEach((word, i) => { inRight[i] = wordsOfLeft.has(word) ? 1 : 0; });
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
function marked(words, isCommon, tag) {
  const out = [];
  for (let i = 0; i < words.length;) {
    let j = i;
    while (j < words.length && isCommon[j] === isCommon[i]) j++;
    const text = words.slice(i, j).join(blank);
    if (out.length) out.push(blank);
    out.push(isCommon[i] ? text : make(tag, { text }));
    i = j;
  }
  return out;
}
function covered(words, sizes, isCommon, tag) {
  const out = [];
  let begin = 0;
  sizes.forEach((size, index) => {
    const kind = size === 1 ? "piece one" : index % 2 ? "piece odd" : "piece";
    const title = size === 1 ? "a word on its own" : `a known n-gram of ${size} words`;
    out.push(make("span", { class: kind, title }, ...marked(words.slice(begin, begin + size), isCommon.slice(begin, begin + size), tag)), blank);
    begin += size;
  });
  return out;
}
const LONG = 200;  // words
// A text with its name; a long one is cut, with a button that shows all of it.
function block(name, lang, nodes, words) {
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
