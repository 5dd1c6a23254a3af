"""Every option that takes rows of the same examples joins them by the one function for it."""

import contextlib
import dataclasses
import json
import random
from pathlib import Path

import pandas
import pytest
from parts_manifest import MANIFEST

import cgbench
from cgbench.benchmark.release.export.export import ExportRequest
from cgbench.benchmark.score.evaluation import request
from cgbench.benchmark.score.imported import import_scores
from cgbench.errors import InputError
from cgbench.request import Request, fields_of
from cgbench.studies.consistency.request import ConsistencyRequest, ItemsRequest
from cgbench.studies.parts.folder import Piece, Place, write_parts
from cgbench.studies.parts.options import PartsOptions
from cgbench.studies.parts.request import PartsRequest
from cgbench.studies.rules import rule_scores
from cgbench.studies.rules.export_rules import RulesOptions
from cgbench.studies.validity.request import ValidateRequest
from cgbench.text.joins import Examples

REQUESTS = [
    ValidateRequest,
    ExportRequest,
    PartsRequest,
    PartsOptions,
    RulesOptions,
    ConsistencyRequest,
    ItemsRequest,
    *(
        kind
        for module in (request, import_scores, rule_scores)
        for kind in vars(module).values()
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
    ),
]
NO_ROWS = {"train", "lm", "items", "text", "out", "lexicon", "rules", "verdicts"}
"""Files that do not have a row for each example of the set that is scored."""
N = 12
TEXTS = [f"a {row} b" for row in range(N)]
ORDER = random.Random(1).sample(range(N), N)


def table(column, texts=TEXTS, order=ORDER):
    """A table with one column and ids, in another order."""
    rows = [json.dumps({"id": f"s{row}", column: texts[row % len(texts)]}) + "\n" for row in order]
    Path(f"{column}.jsonl").write_text("".join(rows))
    return f"{column}.jsonl:{column}"


def tables(*columns, texts=TEXTS):
    return {
        column: table(column, texts, ORDER[number % 2 * 3 :] + ORDER[: number % 2 * 3])
        for number, column in enumerate(columns)
    }


def score(release):
    names = (
        "references",
        "systems",
        "sources",
        "control_references",
        "control_systems",
        "control_sources",
    )
    texts, labels = tables(*names), table("table", ["k1", "k2"], range(N))
    options = {"table": "table.jsonl", "by": "column:table", "cluster": ("table",)}
    assert (
        cgbench.exact_match(**{name: texts[name] for name in names[:3]}, **options).score == 100.0
    )
    assert (
        cgbench.exact_match(**{name: texts[name] for name in names if name != "sources"}).score
        == 100.0
    )
    by = pandas.Series(range(N), index=[f"s{row}" for row in range(N)])
    assert cgbench.exact_match(texts["systems"], texts["references"], by=by).results[0].bins
    assert labels


def cter(release):
    Path("lexicon").write_text("dog\tD/H\nthe\t/\n")
    Path("atoms").write_text("DET\tthe\tthe\nN\tdog\tdog\n")
    compounds = ["the dog", "dog"] * (N // 2)
    texts = {
        "systems": ["D"] * N,
        "sources": [f"see {compound}" for compound in compounds],
        "compounds": compounds,
        "human": ["1"] * N,
    }
    given = {name: table(name, rows) for name, rows in texts.items()}
    given |= {
        f"control_{name}": table(f"control_{name}", texts[name])
        for name in ("systems", "sources", "compounds")
    }
    assert cgbench.cter(**given, lexicon="lexicon", atoms="atoms", group_size=1).score is not None


def parts(release):
    write_parts(
        Path("parts"), [Piece("a", 9, probes=(0,))], [("q", "a")], [[Place(0, 0, 1)]] * N, MANIFEST
    )
    probes = table("probe_systems", ["a"], [0])
    with contextlib.suppress(InputError):  # the manifest names no texts
        cgbench.chrf(TEXTS, TEXTS, parts="parts", probe_systems=probes, accept_text=True)


def imported(release):
    scores = {"texts": [float(row) for row in range(N)]}
    names = ("systems", "control_systems", "people")
    given = {name: {"a": text} for name, text in tables(*names, **scores).items()}
    texts = tables("hypotheses", "references", "sources")
    labels = table("table", ["k1", "k2"], range(N))
    options = {"table": "table.jsonl", "by": "column:table"}
    assert labels and cgbench.import_scores(
        **given, **texts | {"hypotheses": {"a": texts["hypotheses"]}}, **options
    )


def ruled(release):
    rules = [{"type": "contains", "any": ["a"]}]
    rows = [json.dumps({"id": f"s{row}", "rules": rules}) + "\n" for row in range(N)]
    Path("rules.jsonl").write_text("".join(rows))
    texts = tables("systems", "sources")
    assert cgbench.rules(**texts, rules="rules.jsonl").score == 100.0


def validated(release):
    test, control = release.lines("target"), release.set_lines("control", "target")
    for count, texts in enumerate((test, control)):
        column = ("systems", "control_systems")[count]
        rows = [json.dumps({"reference": text, column: text}) + "\n" for text in texts]
        Path(f"{column}.jsonl").write_text("".join(rows))
    runs, of_control = (
        dict.fromkeys("abc", f"{column}.jsonl:{column}")
        for column in ("systems", "control_systems")
    )
    cgbench.validate(release, runs, control_systems=of_control, samples=20)


def exported(release):
    with contextlib.suppress(InputError):
        cgbench.export(release, "pearmut", "out", hypotheses={"a": table("hypotheses")})


def made_parts(release):
    with contextlib.suppress(InputError):
        cgbench.parts(release, out="parts", compounds=table("compounds"))


def consistency(release):
    rows = [f"the dog\tI saw the dog {row}\n" for row in range(N)]
    Path("items.tsv").write_text("piece\tsource\n" + "".join(rows))
    with contextlib.suppress(InputError):
        cgbench.consistency("items.tsv", table("systems"))


def items(release):
    with contextlib.suppress(InputError):
        cgbench.make_items(TEXTS, table("pieces"), out="items.tsv", synonyms=table("synonyms"))


CALLS = {
    score: "references systems sources control_references control_systems control_sources table by",
    cter: "systems sources compounds control_systems control_sources control_compounds human",
    parts: "probe_systems",
    imported: "systems control_systems people hypotheses references sources table",
    ruled: "systems sources",
    validated: "systems control_systems",
    exported: "hypotheses",
    made_parts: "compounds",
    consistency: "systems",
    items: "pieces synonyms",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_rows_are_joined(call, small_release, monkeypatch, tmp_path):
    names, rows_of = set(), Examples.rows_of

    def record(self, column, *values, **options):
        names.add(column.name.rpartition(":")[2].strip("\1\3"))
        return rows_of(self, column, *values, **options)

    monkeypatch.setattr(Examples, "rows_of", record)
    monkeypatch.chdir(tmp_path)
    call(small_release)
    assert names >= set(CALLS[call].split())


def test_all_options_with_rows_are_tested():
    kinds = {"systems", "text", "references", "file", "by"}
    fields = [
        field
        for kind in REQUESTS
        if issubclass(kind, Request)
        for field in fields_of(kind).values()
    ]
    options = {field.name for field in fields if field.kind and field.kind.name in kinds}
    assert options >= NO_ROWS
    options |= {"compounds", "human"}  # of the metric CTER
    assert options - NO_ROWS == {name for names in CALLS.values() for name in names.split()}
