"""CTER in plain Python by its definition, with regular expressions: the twin that perf/score.py
measures against.
"""

import re
import sys
from pathlib import Path

folder = Path(sys.argv[1])
read = lambda name: (folder / name).read_text().splitlines()  # noqa: E731
kinds = {row.split("\t")[1]: row.split("\t")[0] for row in read("atoms")}
lexicon = dict(row.split("\t") for row in read("lexicon"))
wrong = []
for compound, hypothesis in zip(read("compounds"), read("hypotheses"), strict=True):
    text = hypothesis.replace("@@ ", "").replace(" ", "")
    atoms = {kinds[word]: word for word in compound.replace("he liked", "mod0").split()}
    places = {}
    missing = False
    for kind, atom in atoms.items():
        if lexicon[atom] == "/":
            continue
        found = [
            match.start() for part in lexicon[atom].split("/") for match in re.finditer(part, text)
        ]
        missing |= not found
        places[kind] = found
    before = ("DET", "ADJ") if places.get("V") else ("DET", "ADJ", "MOD")
    ordered = missing or all(
        not (kind in places and "N" in places) or min(places[kind]) < max(places["N"])
        for kind in before
    )
    wrong.append(missing or not ordered)
groups = [any(wrong[begin : begin + 5]) for begin in range(0, len(wrong), 5)]
print(f"{sum(wrong):,} of {len(wrong):,} rows, {sum(groups):,} of {len(groups):,} groups")
