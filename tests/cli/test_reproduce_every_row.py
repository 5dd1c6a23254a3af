"""Every row that ``cgbench reproduce list`` shows is run once: data, training, decoding and score,
by the command line, on generated data in the published form.

Transformers have the layers and heads of the papers, and few units. Pre-trained models are random
and small, with as many layers as the presets need.
"""

import json
from types import SimpleNamespace

import pytest
import toy_cfq
import toy_smcalflow
from few import few
from generated_data import QUESTIONS, use_small_recipes, write_mirror

from cgbench.models.config.common import TransformerConfig
from cgbench.reproduction import plan
from cgbench.reproduction.tables import all_benchmarks, all_tables

UNITS = {"model.width": 64, "model.feedforward_width": 32}


def narrow_preset(system, paper_preset=plan.paper_preset):
    """A system's preset, with few units if it is a Transformer that is trained from nothing."""
    preset = paper_preset(system)
    is_narrow = isinstance(preset.model, TransformerConfig) and not system.init
    return preset.replace(UNITS) if is_narrow else preset


def all_rows():
    """The table, and the published metrics, of every system on every benchmark."""
    rows = {}
    for table in all_tables().values():
        for row in table.rows:
            for name in () if row.why else table.parts(row.benchmark, row.system):
                system = all_benchmarks()[row.benchmark].systems[name].name
                item = SimpleNamespace(
                    benchmark=row.benchmark, system=system, table=table.name, metrics=set()
                )
                item = rows.setdefault(f"{row.benchmark}: {system}", item)
                item.metrics.update(figure.metric for figure in row.figures)
    return rows


ROWS = all_rows()


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A folder for all runs, whose data are prepared once."""
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture(scope="module")
def mirror(out):
    write_mirror(out / "mirror", {benchmark.data for benchmark in all_benchmarks().values()})
    return out / "mirror"


@pytest.fixture(scope="module")
def start(out):
    """The address of a small model of the kind of a published one."""
    pairs = toy_cfq.pairs(QUESTIONS)
    questions = sorted({word for pair in pairs for text in pair for word in text.split()})
    requests = toy_smcalflow.WORDS
    deep = {"encoder_layers": 12, "decoder_layers": 12, "max_position_embeddings": 1026}
    layers_12 = {"num_hidden_layers": 12, "max_position_embeddings": 1026}
    layers_2 = {"num_hidden_layers": 2, "max_position_embeddings": 512}
    models = {
        "google-t5/t5-11b": ("write_model", {"kind": "t5", "words": questions}),
        "google-t5/t5-base": ("write_model", {"kind": "t5", "words": requests}),
        "FacebookAI/roberta-base": ("write_roberta", {"words": questions, **layers_12}),
        "google-bert/bert-base-uncased": ("write_bert", {"words": requests, **layers_2}),
        "facebook/bart-large": ("write_bart", {"words": requests, **deep}),
    }
    addresses = {}

    def address(name):
        if name not in addresses:
            write, options = models[name]
            make = getattr(pytest.importorskip("external_models"), write)
            addresses[name] = make(out / "models" / name.replace("/", "-"), **options)
        return addresses[name]

    return address


@pytest.mark.parametrize("name", few(ROWS, "Colors: SyntAtt", "SCAN jump: CGPS"))
def test_a_row_is_trained_decoded_and_scored(run, monkeypatch, out, mirror, start, name):
    use_small_recipes(monkeypatch)
    monkeypatch.setattr(plan, "paper_preset", narrow_preset)
    row = ROWS[name]
    benchmark, system = row.benchmark, row.system
    init = all_benchmarks()[benchmark].systems[system].init
    run(
        *("reproduce", "run", row.table, "--benchmarks", benchmark, "--systems", system),
        *("--scale", "smoke", "--seeds", "1", "--mirror", mirror, "--offline"),
        *("--jobs", "1", "--device", "cpu", "--out", out),
        *(("--init", start(init)) if init else ()),
    )
    results = [json.loads(path.read_text("utf-8")) for path in out.glob("runs/*/*/result.json")]
    (result,) = [
        result
        for result in results
        if (result["benchmark"], result["system"]) == (benchmark, system)
    ]
    # Every published score has a counterpart. Of groups of test rows, some may be left out.
    measured = {name.split(":")[0] for name in result["figures"]}
    published = {name.split(":")[0].removesuffix(" (median)") for name in row.metrics}
    assert published <= measured and all(value >= 0 for value in result["figures"].values())
    of_table = ("--table", row.table) if row.metrics else ()  # else it is in no table
    assert benchmark in run("reproduce", "show", out, "--scale", "smoke", *of_table).stdout
