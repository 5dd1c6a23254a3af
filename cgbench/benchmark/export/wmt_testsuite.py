"""A test suite for WMT's sub-task: JSON lines of sources with a prompt each; what to score them by stays at home.

The fields are those that the collection of translations of 2026 reads: ``doc_id``, ``source_doc``, ``tgt_lang`` (as
``deu_Latn``) and ``instruction``; it returns the row with ``translation``.
"""

from __future__ import annotations

from pathlib import Path

from cgbench.benchmark.export.language_names import in_english, with_script
from cgbench.benchmark.export.pairs import Pairs, write_rows

SUITE, ANSWERS = "testsuite.jsonl", "references.jsonl"


def write_wmt_testsuite(pairs: Pairs, folder: Path) -> None:
    """Write the suite, and beside it the references with their figures."""
    source, target = pairs.languages
    instruction = (
        f"Translate the following text from {in_english(source)} into {in_english(target)}. Answer with the "
        "translation alone."
    )
    names = [f"cgbench-{source}-{target}-{row['doc']}" for row in pairs.rows]
    write_rows(
        folder / SUITE,
        (
            {
                "doc_id": name,
                "source_doc": row["source"],
                "src_lang": with_script(source),
                "tgt_lang": with_script(target),
                "instruction": instruction,
            }
            for name, row in zip(names, pairs.rows, strict=True)
        ),
    )
    write_rows(
        folder / ANSWERS,
        (
            {"doc_id": name, "reference": row["target"], **row["figures"]}
            for name, row in zip(names, pairs.rows, strict=True)
        ),
    )
