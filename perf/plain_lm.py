"""Modified Kneser-Ney in plain Python: what anybody would write first. A measure of
``perf/language_model.py``.

    python plain_lm.py TEXT ORDER OUT

Counts n-grams in dictionaries, takes discounts from the counts of counts, interpolates order by
order and writes an ARPA file. Prints the words and the n-grams of each order as JSON.
"""

import json
import sys
from collections import Counter, defaultdict
from math import log10
from pathlib import Path

Ngram = tuple[str, ...]


def count(path: str, order: int) -> tuple[int, dict[Ngram, int]]:
    """The words, and the adjusted counts of all n-grams."""
    raw: Counter[Ngram] = Counter()
    words = 0
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        for line in file:
            sentence = ["<s>", *line.split(), "</s>"]
            words += len(sentence) - 2
            for end in range(1, len(sentence)):
                for begin in range(max(0, end - order + 1), end + 1):
                    raw[tuple(sentence[begin : end + 1])] += 1
    left: Counter[Ngram] = Counter(ngram[1:] for ngram in raw)
    return words, {n: c if len(n) == order or n[0] == "<s>" else left[n] for n, c in raw.items()}


def main(text: str, order_text: str, out: str) -> None:
    order = int(order_text)
    words, counts = count(text, order)
    levels: list[dict[Ngram, int]] = [{} for _ in range(order)]
    for ngram, number in counts.items():
        levels[len(ngram) - 1][ngram] = number
    probabilities: dict[Ngram, float] = {(): 1 / (len(levels[0]) + 1)}
    weights: dict[Ngram, float] = {}
    for level in levels:
        tally = Counter(level.values())
        y = tally[1] / (tally[1] + 2 * tally[2])
        discounts = [0.0] + [k - (k + 1) * y * tally[k + 1] / tally[k] for k in (1, 2, 3)]
        totals: defaultdict[Ngram, int] = defaultdict(int)
        taken: defaultdict[Ngram, float] = defaultdict(float)
        for ngram, number in level.items():
            totals[ngram[:-1]] += number
            taken[ngram[:-1]] += discounts[min(number, 3)]
        for context, total in totals.items():
            weights[context] = taken[context] / total
        for ngram, number in level.items():
            context = ngram[:-1]
            share = (number - discounts[min(number, 3)]) / totals[context]
            probabilities[ngram] = share + weights[context] * probabilities[ngram[1:]]
    with Path(out).open("w", encoding="utf-8") as file:
        file.write(
            "\\data\\\n" + "".join(f"ngram {n}={len(level)}\n" for n, level in enumerate(levels, 1))
        )
        for n, level in enumerate(levels, 1):
            file.write(f"\n\\{n}-grams:\n")
            for ngram in level:
                probability, weight = log10(probabilities[ngram]), log10(weights.get(ngram, 1))
                file.write(f"{probability:.6f}\t{' '.join(ngram)}\t{weight:.6f}\n")
        file.write("\n\\end\\\n")
    print(json.dumps({"words": words, "ngrams": [len(level) for level in levels]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
