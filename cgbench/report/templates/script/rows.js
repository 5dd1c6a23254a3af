// What a row of examples shows: of a release, and of scores. All text is inserted as text, never as markup.
const at = Object.fromEntries(data.fields.map((name, index) => [name, index]));
const all = Uint8Array.from.bind(Uint8Array);
const ones = (words) => all(words, () => 1);
function ofRelease(row) {
  const [source, target] = [split(row[at.source]), split(row[at.target])];
  const hypothesis = at.hypothesis === undefined ? null : split(row[at.hypothesis]);
  const [inTarget, inHypothesis] = hypothesis ? common(hypothesis, target) : [null, ones(target)];
  const sizes = at.cover === undefined ? null : row[at.cover];
  const show = (words, inBoth, hasPieces) => () => hasPieces && sizes ? covered(words, sizes, inBoth, "del") : marked(words, inBoth, "del");
  const blocks = [
    block(data.names[0], data.langs[0], show(source, ones(source), data.side === "source"), source.length),
    block(data.names[1], data.langs[1], show(target, inHypothesis, data.side === "target"), target.length),
  ];
  if (hypothesis) blocks.push(block("ensemble", data.langs[1], () => marked(hypothesis, inTarget, "ins"), hypothesis.length));
  return blocks;
}
let [first, second] = data.pair || [];
function ofScores(row) {
  const blocks = ["source", "compound"].filter((name) => at[name] !== undefined)
    .map((name) => block(name, undefined, () => [row[at[name]]], split(row[at[name]]).length));
  const reference = at.reference === undefined ? null : split(row[at.reference]);
  const pair = first === second ? [first] : [first, second];
  const outputs = pair.map((system) => row[at.outputs][system]);
  if (reference) {
    const kept = outputs.flat().map(([output]) => common(split(output), reference)[1]);
    const inAll = ones(reference).map((_, word) => kept.every((marks) => marks[word]) ? 1 : 0);
    blocks.push(block("reference", undefined, () => marked(reference, inAll, "del"), reference.length));
  }
  outputs.forEach((versions, side) => versions.forEach(([text, seeds, score, reason], index) => {
    const words = split(text);
    // against the reference; without one, against the other system
    const other = reference || (pair.length > 1 ? split(outputs[1 - side][0][0]) : words);
    const output = block(index ? "" : data.systems[pair[side]], undefined, () => marked(words, common(words, other)[0], "ins"), words.length);
    const chips = versions.length > 1 || seeds.length > 1 ? [`seed${seeds.length > 1 ? "s" : ""} ${seeds.join(", ")}: ${score.toFixed(1)}`] : [];
    for (const chip of chips.concat(reason || [])) output.lastChild.append(" ", make("span", { class: "chip", dir: "ltr", text: chip }));
    blocks.push(output);
  }));
  return blocks;
}
const text = data.kind === "release" ? ofRelease : ofScores;
const value = (row, column) => {
  if (column.score === undefined) return row[at[column.name]];
  const scores = row[at.scores];
  return column.score === "a" ? scores[first] : column.score === "b" ? scores[second] : scores[first] - scores[second];
};
