"""A task of lm-evaluation-harness: a YAML file, the pairs as Parquet, and the function that finds them beside it.

``lm_eval --include_path FOLDER --tasks NAME`` runs it from anywhere. The format is that of the harness's
``docs/task_guide.md`` (0.4.13).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cgbench.benchmark.data_tables import write_table
from cgbench.benchmark.export.language_names import in_english
from cgbench.benchmark.export.pairs import Pairs, write_lines

DATA = "test.parquet"
LOADER = f'''"""Finds the pairs beside this file, wherever the harness was started."""

from pathlib import Path


def load(**_):
    import datasets

    path = Path(__file__).with_name("{DATA}")
    return datasets.load_dataset("parquet", data_files={{"test": str(path)}})
'''


def task_name(languages: tuple[str, str]) -> str:
    """What the task is called."""
    return "_".join(["cgbench", *(re.sub("[^A-Za-z0-9]", "-", language) for language in languages)])


def write_lm_eval(pairs: Pairs, folder: Path) -> None:
    """Write the task."""
    import pyarrow
    import yaml

    name = task_name(pairs.languages)
    columns: dict[str, list[Any]] = {side: [row[side] for row in pairs.rows] for side in ("source", "target")}
    figures = [row["figures"] for row in pairs.rows]
    columns |= {key: [row[key] for row in figures] for key in (figures[0] if figures else ()) if key not in columns}
    write_table(pyarrow.table(columns), folder / DATA)
    write_lines(folder / "pairs.py", LOADER.splitlines())
    source, target = map(in_english, pairs.languages)
    task = {
        "task": name,
        "output_type": "generate_until",
        "test_split": "test",
        "doc_to_text": f"{_literal(source)}: {{{{source}}}}\n{_literal(target)}:",
        "doc_to_target": " {{target}}",
        "generation_kwargs": {"until": ["\n"], "do_sample": False},
        "metric_list": [{"metric": metric} for metric in ("bleu", "chrf", "ter")],
        "should_decontaminate": True,
        "doc_to_decontamination_query": "{{target}}",
        "metadata": {"version": 1.0, "cgbench": pairs.release.signature},
    }
    text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=1_000)
    write_lines(folder / f"{name}.yaml", [*text.splitlines(), "custom_dataset: !function pairs.load"])


def _literal(name: str) -> str:
    """A name in a Jinja template, where it stands for itself."""
    return re.sub("[{}%#]", "", name)
