"""The folder of a test set for mt-metrics-eval."""

import re
from pathlib import Path

from cgbench.benchmark.release.export.pairs import SYSTEM, Pairs, write_lines, write_rows


def write_mt_metrics_eval(pairs: Pairs, folder: Path) -> None:
    """Write the folder of a test set for mt-metrics-eval (the section on file names in its README):
    sources, a reference, documents, and the ensemble's translations if text was not normalised. The
    domain, which can be any category there, is the bin of the degree."""
    # dashes and dots separate codes there
    name = "-".join(re.sub("[^A-Za-z0-9]", "_", language) for language in pairs.languages)
    write_lines(folder / "sources" / f"{name}.txt", (row["source"] for row in pairs.rows))
    write_lines(folder / "references" / f"{name}.refA.txt", (row["target"] for row in pairs.rows))
    write_lines(
        folder / "documents" / f"{name}.docs",
        (f"{row['domain']}\t{row['doc']}" for row in pairs.rows),
    )
    outputs = [row["figures"]["hypothesis"] for row in pairs.rows if "hypothesis" in row["figures"]]
    if (
        outputs and not pairs.release.keeps_normalised
    ):  # else they are normalised, unlike the references
        write_lines(folder / "system-outputs" / name / f"{SYSTEM}.txt", outputs)
        write_rows(
            folder / "metadata" / name / f"{SYSTEM}.jsonl", (row["figures"] for row in pairs.rows)
        )
