"""An EvalSet of mt-metrics-eval: the folder of one test set, as in "File organization and naming convention" there.

The domain can be any category: here it is the bin of the degree, so that every score is available by degree.
"""

from __future__ import annotations

import re
from pathlib import Path

from cgbench.benchmark.release.export.pairs import SYSTEM, Pairs, write_lines, write_rows

REFERENCE = "refA"


def language_pair(languages: tuple[str, str]) -> str:
    """``de-en``; dashes and dots in a code are replaced, because they separate codes there."""
    return "-".join(re.sub("[^A-Za-z0-9]", "_", language) for language in languages)


def write_mt_metrics_eval(pairs: Pairs, folder: Path) -> None:
    """Write the folder: sources, a reference, documents, the ensemble's translations if text was not normalised."""
    name = language_pair(pairs.languages)
    write_lines(folder / "sources" / f"{name}.txt", (row["source"] for row in pairs.rows))
    write_lines(folder / "references" / f"{name}.{REFERENCE}.txt", (row["target"] for row in pairs.rows))
    write_lines(folder / "documents" / f"{name}.docs", (f"{row['domain']}\t{row['doc']}" for row in pairs.rows))
    outputs = [row["figures"]["hypothesis"] for row in pairs.rows if "hypothesis" in row["figures"]]
    if outputs and not pairs.release.keeps_normalised:  # else they are normalised, unlike the references
        write_lines(folder / "system-outputs" / name / f"{SYSTEM}.txt", outputs)
        write_rows(folder / "metadata" / name / f"{SYSTEM}.jsonl", (row["figures"] for row in pairs.rows))
