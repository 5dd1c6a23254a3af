"""The price of a cut: which good pairs it drops, by their degree and by RMI; and what else a cut
could go by.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from tables import auc, dropped, mean_of, ranks, spread, table, thirds

from cgbench.benchmark.candidates.selection import given_degree, parts_of_candidates

Columns = Mapping[str, np.ndarray]
Sets = Sequence[tuple[Columns, np.ndarray]]
SHARES = (0.05, 0.10, 0.20)
GIVEN = ", given degree and length"
COVARIATES = ("degree", "source_length", "target_length", "source_rarest", "target_rarest")


def given(columns: Columns, values: np.ndarray) -> np.ndarray:
    """The measure that ``drop_by`` with ``_given_degree`` goes by."""
    numbered = {**columns, "content": np.arange(len(values))}
    return given_degree(values, parts_of_candidates(numbered, {"seed": 1, "degree_side": "target"}))


def prices(sets: Sets, measures: Mapping[str, str]) -> str:
    """Noise removed, and the good pairs of the lowest and of the highest third by degree and by RMI
    that go with it, %.

    :param measures: names to show, by column; each as it is and given degree and length.
    """
    rows = []
    for name, title in measures.items():
        for way, change in (("", _plain), (GIVEN, given)):
            found = []
            for columns, noise in sets:
                values = change(columns, columns[name])
                some = [noise]
                for key in ("degree", "rmi"):
                    part = thirds(columns[key], ~noise)
                    some += [part == 0, part == 2]
                gone = [dropped(values, share) for share in SHARES]
                found.append(
                    [auc(values, noise), *(100 * one[rows].mean() for one in gone for rows in some)]
                )
            area, *cells = mean_of(found)
            row = [title + way, f"{area:.3f}"]
            for place in range(0, len(cells), 5):
                removed, *good = cells[place : place + 5]
                row += [
                    f"{removed:.1f}",
                    "{:.1f} to {:.1f}".format(*good[:2]),
                    "{:.1f} to {:.1f}".format(*good[2:]),
                ]
            rows.append(row)
    head = ["measure", "AUC"]
    for share in SHARES:
        head += [f"drop {share:.0%}: noise", "good pairs, by degree", "by RMI"]
    return table(rows, head)


def differences(sets: Sets) -> str:
    """By how many points more of the highest third by degree is dropped than of the lowest, by
    reference likelihood.
    """
    rows = []
    for title, change in (("as it is", _plain), ("given degree and length", given)):
        found: list[list[float]] = [[] for _ in SHARES]
        for columns, noise in sets:
            values, part = (
                change(columns, columns["reference_pe_stu"]),
                thirds(columns["degree"], ~noise),
            )
            for share, some in zip(SHARES, found, strict=True):
                gone = dropped(values, share)
                some.append(100 * (gone[part == 2].mean() - gone[part == 0].mean()))
        rows.append([title, *(spread(some, ".1f") for some in found)])
    return table(
        rows, ["highest minus lowest third by degree", *(f"drop {share:.0%}" for share in SHARES)]
    )


def _plain(columns: Columns, values: np.ndarray) -> np.ndarray:
    return values


def ways(columns: Columns, values: np.ndarray) -> dict[str, np.ndarray]:
    """What a cut by ``values`` could go by, by name."""
    number = len(values)
    pools = [np.flatnonzero(columns["pool"] == corpus) for corpus in np.unique(columns["pool"])]
    placed, of_corpus, left, left_of_corpus = np.empty((4, number))
    for third in (0, 1, 2):
        for part in (0, 1, 2):
            rows = np.flatnonzero(thirds(columns["degree"], np.ones(number, bool)) == third)
            rows = rows[thirds(columns["target_length"][rows], np.ones(len(rows), bool)) == part]
            placed[rows] = ranks(values[rows])
    for rows in pools:
        of_corpus[rows] = given(
            {name: column[rows] for name, column in columns.items()}, values[rows]
        )
    for result, groups in ((left, [np.arange(number)]), (left_of_corpus, pools)):
        for rows in groups:
            ranked = [
                np.argsort(np.argsort(columns[name][rows], kind="stable")) / len(rows)
                for name in COVARIATES
            ]
            design = np.stack([np.ones(len(rows)), *ranked], 1)
            result[rows] = (
                values[rows] - design @ np.linalg.lstsq(design, values[rows], rcond=None)[0]
            )
    return {
        "as it is": values,
        "given degree and length": given(columns, values),
        "the same, for each corpus": of_corpus,
        "the rank among like degree and length": placed,
        "what a regression on degree, lengths and rarity leaves": left,
        "the same, for each corpus ": left_of_corpus,
    }


def alternatives(sets: Sets, name: str, cleaned: Mapping[str, Sequence[int]]) -> str:
    """Ways of a cut by one measure.

    :param cleaned: of each comparison its name, and the corpora that have no noise in it.
    """
    rows: dict[str, list[str]] = {}
    for clean in cleaned.values():
        found: dict[str, list[list[float]]] = {}
        for columns, noise in sets:
            kept = ~noise | ~np.isin(columns["pool"], clean)
            left, bad = {key: values[kept] for key, values in columns.items()}, noise[kept]
            part = thirds(left["degree"], ~bad)
            for way, values in ways(left, left[name]).items():
                gone = dropped(values, SHARES[0])
                row = [
                    auc(values, bad),
                    *(100 * gone[some].mean() for some in (bad, part == 0, part == 2)),
                ]
                found.setdefault(way, []).append(row)
        for way, lines in found.items():
            area, removed, low, high = mean_of(lines)
            rows.setdefault(way, [way]).extend(
                [f"{area:.3f}", f"{removed:.1f}", f"{low:.1f} to {high:.1f}"]
            )
    head = ["cut, drop 5%"]
    for where in cleaned:
        head += [f"{where}: AUC", "noise removed", "good pairs, by degree"]
    return table(list(rows.values()), head)
