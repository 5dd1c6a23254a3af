"""Texts of the demo corpus in which it is known why a test pair is hard: do known parts tell it?

    python lab/parts_demo.py FOLDER --pairs 800 --seed 1

writes ``train``, ``valid``, ``test``, ``held-out`` and ``combinations`` (``.de``, ``.en``), and
``test.kinds``. See docs/lab/parts.md.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cgbench.data_recipes.demo.corpus import DemoCorpus, until
from cgbench.data_recipes.demo.grammar import Pair, RandomDraw, Word

PARTS_KINDS = ("few-contexts", "new-combination")
FEW_COPIES, PROBES_OF_FEW = 3, 12


def parts_texts(corpus: DemoCorpus, count: int) -> tuple[dict[str, list[Pair]], list[str]]:
    """Texts in which it is known why a test pair is hard, by name, and the kinds of the test pairs.

    ``train``: ordinary training text, and rare words in one of its sentences, three times: known
    n-grams, but too few contexts. ``test``: as many pairs with such a word in ordinary combinations
    (``few-contexts``) as pairs of known words in held-out combinations (``new-combination``).
    ``held-out``: ordinary pairs for probes, also of every rare word. ``combinations``: held-out
    combinations, for a model to which those of the test set are not new.
    """
    # one sentence for every third rare word
    train, seen, planted = corpus.train, set(corpus.seen), dict[Word, Pair]()
    trained = [set(" ".join(side).split(" ")) for side in zip(*train, strict=True)]
    for word in corpus.rare_words[
        ::3
    ]:  # ordinary training text has none of them, on one side at least
        pair = corpus.rare([word])
        if not any(
            known.issuperset(side.split(" ")) for known, side in zip(trained, pair, strict=True)
        ):
            planted[word] = pair
    seen |= {side for pair in planted.values() for side in pair}
    forms = {word for _, target in planted.values() for word in target.split(" ")}

    def few(words: Sequence[Word]) -> Pair:
        """Draw a pair with one of ``words``, in the form that occurs in training."""
        while True:
            pair = until(seen.isdisjoint, lambda: corpus.rare(words))
            new = set(pair[1].split(" ")) - trained[1]
            if new and forms.issuperset(new):
                return pair

    # draw each text without sentences of the ones before
    kinds = [PARTS_KINDS[index % 2] for index in range(count)]
    test: list[Pair] = []
    for kind in kinds:
        test.append(
            few(list(planted))
            if kind == "few-contexts"
            else until(seen.isdisjoint, corpus.new_combination)
        )
        seen.update(test[-1])
    held_out = [until(seen.isdisjoint, corpus.ordinary) for _ in train]
    held_out += [few([word]) for word in planted for _ in range(PROBES_OF_FEW)]
    combined = [until(seen.isdisjoint, corpus.new_combination) for _ in train]
    training = train + [pair for pair in planted.values() for _ in range(FEW_COPIES)]
    corpus.draw.shuffle(training)
    return {"train": training, "test": test, "held-out": held_out, "combinations": combined}, kinds


def main() -> None:
    """Write the texts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=800)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    corpus = DemoCorpus(RandomDraw(options.seed), 20_000)
    valid = [corpus.fresh(corpus.ordinary) for _ in range(500)]
    texts, kinds = parts_texts(corpus, options.pairs)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in {"valid": valid, **texts}.items():
        for side, language in enumerate(("de", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (options.folder / f"{name}.{language}").write_text(
                lines, encoding="utf-8", newline="\n"
            )
    (options.folder / "test.kinds").write_text("".join(f"{kind}\n" for kind in kinds))


if __name__ == "__main__":
    main()
