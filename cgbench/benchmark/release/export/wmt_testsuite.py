"""A test suite for WMT's sub-task: JSON lines of sources with a prompt each; references in a separate file.

WMT's programs of 2026 have two names for the same fields, and a row of the suite has both. The blind set and the
collection of translations (wmt-collect-translations, ``mtoc``) have ``source_doc`` and ``instruction``; the published
data (wmt26-general-mt) ``src_text``, ``prompt_instruction`` and ``refs``. ``doc_id``, ``domain``, ``src_lang`` and
``tgt_lang`` (``deu_Latn``) are common to both. The suite has no references (``refs`` is ``{}``); the rows of the other
file have them, and the measures of the pair.
"""

from __future__ import annotations

from pathlib import Path

from cgbench.benchmark.release.export.pairs import Pairs, as_written, write_rows
from cgbench.text.languages import name_of, with_script

SUITE, ANSWERS = "testsuite.jsonl", "references.jsonl"
SET = "cgbench"


def write_wmt_testsuite(pairs: Pairs, folder: Path) -> None:
    """Write the suite, and the references with their measures."""
    source, target = map(with_script, pairs.languages)
    names = [name_of(language) for language in pairs.languages]
    instruction = f"Translate the following text from {names[0]} into {names[1]}. Answer with the translation alone."
    suite, answers = [], []
    for row in as_written(pairs).rows:
        common = {
            "doc_id": "_###_".join([SET, row["domain"], source, target, row["doc"]]),
            "domain": row["domain"],
            "src_lang": source,
            "tgt_lang": target,
            "src_text": row["source"],
            "prompt_instruction": instruction,
        }
        suite.append({**common, "refs": {}, "source_doc": row["source"], "instruction": instruction})
        answers.append({**common, "refs": {"refA": {"ref": row["target"]}}, "figures": row["figures"]})
    write_rows(folder / SUITE, suite)
    write_rows(folder / ANSWERS, answers)
