// What a row of examples shows: of a release, and of scores. All text is inserted as text, never as markup.
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
