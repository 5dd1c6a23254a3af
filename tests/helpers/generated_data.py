"""Small, generated sources of every data set that ``reproduce`` trains on, in the published form.

:data:`WRITERS` has a function for each recipe, which writes a folder of a mirror. Recipes that
generate their data are not in it, unless they have extra files.
"""

import json
import random

import toy_cfq
import toy_smcalflow
from small_recipes import lenient

from cgbench.data_recipes import cfq, cognition, colors, mathematics, registry, smcalflow
from cgbench.data_recipes.pcfg import TESTS, UNARY, meaning_of
from cgbench.data_recipes.translation import BPE, REACT_ROWS

TRAIN, TEST = 40, 20  # rows; TEST is as many as a smoke test translates
QUESTIONS = 120  # of CFQ
VERBS = {"walk": "I_WALK", "look": "I_LOOK", "run": "I_RUN", "jump": "I_JUMP"}
NOUNS = (
    *("cat", "dog", "cake", "girl", "boy", "rose"),
    *("hat", "cup", "bee", "king", "box", "toy"),
)


def write_mirror(folder, names):
    """A mirror with the sources of these recipes."""
    for name in names:
        if write := WRITERS.get(name):
            recipe = registry.find_recipe(name)
            write(folder / (recipe.folder or recipe.name))


def use_small_recipes(monkeypatch):
    """Recipes accept the generated sources, whatever the counts and hashes of the published ones;
    generated questions are few.
    """
    monkeypatch.setattr(registry, "find_recipe", lenient)
    monkeypatch.setattr(cfq, "PAIRS", QUESTIONS)
    monkeypatch.setattr(mathematics, "LEVEL_ROWS", dict.fromkeys(mathematics.LEVELS, TRAIN))
    monkeypatch.setattr(mathematics, "HELD_OUT", TEST // 2)


def write_cfq(folder):
    toy_cfq.write_archive(folder, toy_cfq.pairs(QUESTIONS))


def write_smcalflow(folder):
    toy_smcalflow.write_requests(folder, smcalflow.SHOTS)


def write_scan(folder):
    write_lexicons(folder, "scan", VERBS)


def write_colors(folder):
    write_lexicons(folder, "colors", colors.COLOURS)


def write_cogs(folder):
    """Sentences with and without an object."""
    draw = random.Random(0)
    for name, count in {"train": TRAIN, "dev": TEST, "test": TEST, "gen": TEST}.items():
        rows = []
        for _ in range(count // 2):
            subject, thing = draw.sample(NOUNS, 2)
            verb = draw.choice(("sleep", "laugh", "smile", "dance"))
            agent = f"{subject} ( x _ 1 ) AND {{}} . agent ( x _ 2 , x _ 1 )"
            theme = f"* {thing} ( x _ 4 ) ; {agent.format('eat')} AND eat . theme ( x _ 2 , x _ 4 )"
            rows.append((f"A {subject} ate the {thing} .", theme, "obj_pp_to_subj_pp"))
            rows.append((f"A {subject} {verb}ed .", agent.format(verb), "active_to_passive"))
        write_rows(folder / f"{name}.tsv", rows)
    write_lexicons(folder, "cogs", {noun: noun for noun in NOUNS})


def write_pcfg(folder):
    draw = random.Random(0)
    for test, subsets in TESTS.items():
        for subset in subsets:
            sources = [
                f"append {draw.choice([*UNARY])} A{draw.randrange(5)} B{draw.randrange(5)} , C1 D2"
                for _ in range(TRAIN if subset == "train" else TEST)
            ]
            stem = f"{test}.{subset}".replace("/", ".")
            write_pairs(
                folder, stem, ("src", "tgt"), [(line, meaning_of(line)) for line in sources]
            )


def write_cognition(folder):
    """Stories; and phrases of every type in contexts of five, with the lexicon of their words."""
    draw = random.Random(0)
    words = {"the": "/", "small": "小", "dog": "狗", "girl": "女孩", "saw": "看到", "near": "附近"}
    for name, count in {"train": TRAIN, "valid": TEST, "test": TEST}.items():
        nouns = [draw.choice(("dog", "girl")) for _ in range(count)]
        pairs = [(f"the {noun} ran near the dog .", f"{words[noun]} 跑@@ 了 。") for noun in nouns]
        write_pairs(folder, name, cognition.LANGUAGES, pairs)
    phrases = ("the small dog", "saw the small girl", "near the dog")  # NP, VP, PP
    rows = [
        (f"he {verb} {phrase} .", f"他{verb}狗。", phrase)
        for phrase in phrases
        for verb in ("found", "took", "lost", "heard", "liked")
    ]
    write_pairs(folder, "cg-test", (*cognition.LANGUAGES, "compound"), rows)
    write_rows(folder / "lexicon", words.items())


def write_react(folder):
    draw = random.Random(0)
    for prefix in ("", BPE):
        for name in REACT_ROWS:
            nouns = [draw.choice(NOUNS) for _ in range(TRAIN if name == "train" else TEST)]
            pairs = [(f"der {noun} lief .", f"the {noun} ran .") for noun in nouns]
            write_pairs(folder, f"{prefix}{name}", ("de", "en"), pairs)


def write_tatoeba(folder):
    """Pairs with two successive blanks; the word "once" is in one training pair."""
    draw = random.Random(0)
    for name, count in {"train": TRAIN, "dev": TEST, "test": TEST}.items():
        nouns = [draw.choice(NOUNS) for _ in range(count - 1)]
        rows = [(f"the {noun} ran away today", f"{noun} 。  跑 了 。") for noun in nouns]
        rows.append(("the cat ran once today", "cat 跑 了 一 次 。"))
        write_rows(folder / f"cmn_{name}_tokenized.tsv", rows)


def write_lexicons(folder, recipe, translations):
    """The lexicons of the authors' aligners: one translation per word."""
    text = json.dumps({word: {translation: 2} for word, translation in translations.items()})
    for source in registry.find_recipe(recipe).sources:
        if source.extra:
            path = folder / source.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def write_pairs(folder, stem, sides, rows):
    """Rows as aligned files, one per side."""
    for side, column in zip(sides, zip(*rows, strict=True), strict=True):
        write_rows(folder / f"{stem}.{side}", [(line,) for line in column])


WRITERS = {
    "cfq": write_cfq,
    "cognition": write_cognition,
    "cogs": write_cogs,
    "colors": write_colors,
    "pcfg-set": write_pcfg,
    "react": write_react,
    "scan": write_scan,
    "smcalflow-cs": write_smcalflow,
    "tatoeba-en-zh": write_tatoeba,
}
