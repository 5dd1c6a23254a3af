"""A task of lm-evaluation-harness: a YAML file, the pairs as Parquet, and the function that finds
them.

``lm_eval --include_path FOLDER --tasks NAME`` runs it from anywhere. The format is that of the
harness's ``docs/task_guide.md`` (0.4.13).

Without a split for few-shot examples the harness draws them from the test documents. Ours are
candidates that were not selected. If a release has none, a run with few-shot examples ends with the
harness's own error. With ``shots``, each test document has its own examples in the column
``shots``. The harness tells a sampler the document only if examples come from the test split, so
that split is named, and the sampler returns the document's own.

An answer ends where the next source would begin, and its first line after any reasoning that is not
empty counts: a stop at a line break would cut the answer of a chat model that begins with one.
Reasoning that does not end leaves nothing, as in ``cgbench translate``.
"""

import re
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.data_tables import sides_of, write_table
from cgbench.benchmark.release.export.pairs import Pairs, write_lines
from cgbench.benchmark.release.release import SIDES
from cgbench.benchmark.release.shots.choose import ShotChooser
from cgbench.errors import warn
from cgbench.models.servers.answers import END, START
from cgbench.text.languages import known, name_of

TEST, SHOTS = "test", "fewshot"
MOST_SHOTS = 500
LOADER = '''"""Finds the pairs next to this file, from any working directory."""

from pathlib import Path


def load(**_):
    import datasets

    # Their columns differ, so one call per file.
    return {
        path.stem: datasets.load_dataset("parquet", data_files=str(path), split="train")
        for path in sorted(Path(__file__).parent.glob("*.parquet"))
    }
'''
ANSWER = rf"\A(?s:.*{END})?(?!(?s:.*(?:{START}|{END})))\s*(\S.*)"
"""Of an answer, the first line that is not empty after the last end of reasoning, if no reasoning
follows.
"""
AGGREGATION = "!function pairs.bleu"
SCORER = '''

def bleu(items):
    """BLEU with the tokeniser of the target's language; the harness's own splits only at blanks."""
    import sacrebleu

    references, answers = zip(*items)
    answers = [answer if isinstance(answer, str) else answer[0] for answer in answers]
    return sacrebleu.corpus_bleu(answers, [list(references)], tokenize="{tokenize}").score
'''
SAMPLER = "!function pairs.OwnShots"
OWN_SHOTS = '''

from lm_eval.api.samplers import ContextSampler


class OwnShots(ContextSampler):
    """The examples in the column "shots" of each test document, chosen from training pairs."""

    def sample(self, n, eval_doc=None, df=None, **_):
        assert eval_doc is not None and n in (0, len(eval_doc["shots"])), (
            "this task was exported with {size} few-shot examples per sentence: run it with"
            " --num_fewshot {size}"
        )
        return eval_doc["shots"][:n]
'''
TOKENIZE = {"zh": "zh", "ja": "ja-mecab", **dict.fromkeys(("th", "lo", "km", "my"), "char")}
"""sacrebleu's tokeniser for languages without blanks between words."""


def task_name(languages: tuple[str, str]) -> str:
    """The name of the task."""
    return "_".join(["cgbench", *(re.sub("[^A-Za-z0-9]", "-", language) for language in languages)])


def write_lm_eval(pairs: Pairs, folder: Path, *, shots: ShotChooser | None = None) -> None:
    """Write the task."""
    import pyarrow
    import yaml

    name = task_name(pairs.languages)
    # The table of the test set, with its figures and shots.
    examples = shots_of(pairs) if shots is None else {"source": [], "target": []}
    columns: dict[str, list[Any]] = {side: [row[side] for row in pairs.rows] for side in SIDES}
    figures = [row["figures"] for row in pairs.rows]
    columns |= {
        key: [row[key] for row in figures]
        for key in (figures[0] if figures else ())
        if key not in columns
    }
    choices = [] if shots is None else shots(columns["source"])
    if choices:
        columns["shots"] = [
            [dict(zip(SIDES, pair, strict=True)) for pair in choice.pairs] for choice in choices
        ]
        columns["prompt_degree"] = [choice.prompt_degree for choice in choices]
    write_table(pyarrow.table(columns), folder / f"{TEST}.parquet")
    # Where the harness finds few-shot examples.
    few_shot: dict[str, Any] = {"fewshot_split": SHOTS}
    shot_count = len(choices[0].pairs) if choices else 0
    if choices:
        few_shot = {
            "fewshot_split": TEST,
            "fewshot_config": {"sampler": SAMPLER},
            "num_fewshot": shot_count,
        }
    elif examples["source"]:
        write_table(pyarrow.table(examples), folder / f"{SHOTS}.parquet")
    else:
        few_shot = {"fewshot_config": {"samples": []}}
        warn(
            "the release has no pairs outside its test set for few-shot examples; the task runs"
            " without them, and fails if --num_fewshot is above 0"
        )
    # The code of the task: loader, scorer, sampler.
    tokenize = TOKENIZE.get(known(pairs.languages[1]) or "")
    scorer = SCORER.format(tokenize=tokenize) if tokenize else ""
    scorer += OWN_SHOTS.replace("{size}", str(shot_count)) if choices else ""
    write_lines(folder / "pairs.py", (LOADER + scorer).splitlines())
    metrics: list[dict[str, Any]] = [{"metric": metric} for metric in ("bleu", "chrf", "ter")]
    if tokenize:  # TER counts words, and the harness's BLEU has no tokeniser setting
        metrics = [
            {"metric": "bleu", "aggregation": AGGREGATION, "higher_is_better": True},
            {"metric": "chrf"},
        ]
    # The task itself.
    # names without characters that Jinja interprets
    source, target = (re.sub("[{}%#]", "", name_of(language)) for language in pairs.languages)
    task = {
        "task": name,
        "output_type": "generate_until",
        "test_split": TEST,
        **few_shot,
        "doc_to_text": f"{source}: {{{{source}}}}\n{target}:",
        "doc_to_target": " {{target}}",
        "target_delimiter": "",  # the harness's own is another blank
        "generation_kwargs": {"until": [f"\n{source}:"], "do_sample": False},
        "filter_list": [
            {
                "name": "first-line",
                "filter": [
                    {
                        "function": "regex",
                        "regex_pattern": ANSWER,
                        "group_select": 0,
                        "fallback": "",
                    },
                    {"function": "take_first"},
                ],
            }
        ],
        "metric_list": metrics,
        "should_decontaminate": True,
        "doc_to_decontamination_query": "{{target}}",
        "metadata": {"version": 3.0, "cgbench": pairs.release.signature},
    }
    text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=1_000)
    for function in (AGGREGATION, SAMPLER):
        text = text.replace(f"'{function}'", function)
    write_lines(
        folder / f"{name}.yaml", [*text.splitlines(), "custom_dataset: !function pairs.load"]
    )


def shots_of(pairs: Pairs) -> dict[str, list[str]]:
    """Few-shot examples by side, at most :data:`MOST_SHOTS`, evenly spaced: candidates that were
    neither selected nor dropped (of a split: training pairs) and share no sentence with the test
    set."""
    table = pairs.release.table("train" if pairs.release.is_split else "candidates", text=True)
    texts = sides_of(table, pairs.languages)
    if not texts:
        return {"source": [], "target": []}
    tests = [{row[side] for row in pairs.rows} for side in SIDES]
    split = pairs.release.is_split  # all its training pairs are free
    stages = ["rest"] * table.num_rows if split else table["stage"].to_pylist()
    free = [
        (source, target)
        for stage, source, target in zip(stages, *texts, strict=True)
        if stage in ("rest", "window") and source not in tests[0] and target not in tests[1]
    ]
    chosen = free[:: max(1, -(-len(free) // MOST_SHOTS))]
    return {"source": [source for source, _ in chosen], "target": [target for _, target in chosen]}
