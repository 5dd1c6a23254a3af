"""Architectures from a user's own package, by an entry point."""

import importlib.metadata
import re
import shlex
import sys
from pathlib import Path

import pytest
import torch
from architecture_table import pack, pairs
from click.testing import CliRunner

from cgbench.cli import main
from cgbench.errors import InputError
from cgbench.models.catalogue import catalogue, describe_model
from cgbench.models.config.architectures import build_model
from cgbench.models.config.presets import load_preset, section_config

EXAMPLE = Path(__file__).parents[3] / "examples" / "architecture"


@pytest.fixture
def add(monkeypatch):
    """Add an entry point to those of installed packages."""
    monkeypatch.syspath_prepend(EXAMPLE)

    def add(name, value):
        point = importlib.metadata.EntryPoint(name, value, "cgbench.architectures")
        points = importlib.metadata.EntryPoints([point])
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda **filters: points.select(**filters)
        )

    add("mean_of_layers", "mean_of_layers:ARCHITECTURE")
    yield add
    sys.modules.pop("mean_of_layers", None)


def test_the_example_is_configured_built_and_listed(add):
    changes = {
        "model.architecture": "mean_of_layers",
        "model.encoder_layers": 3,
        "model.top_layers": "2",
    }
    config = load_preset("tiny").replace(changes).model
    torch.manual_seed(0)
    model = build_model(config, 17, 15).eval()
    source, target = pack(pairs([(5, 3), (2, 6)]))
    logits = model(source, target)
    assert logits.shape == (9, 15)
    state = model.start(model.encode(source))
    firsts = torch.tensor([0, 3])
    assert torch.allclose(model.step(target.ids[firsts], state), logits[firsts], atol=1e-5)
    assert (
        section_config("model", {"architecture": "mean_of_layers", "top_layers": 1}).top_layers == 1
    )
    with pytest.raises(
        InputError, match=r"model\.top_layers=7: must be from 1 to model\.encoder_layers \(3\)"
    ):
        load_preset("tiny").replace({**changes, "model.top_layers": 7})
    assert "mean_of_layers" in [row["name"] for row in catalogue()["architectures"]]
    assert "model.top_layers" in [
        row["name"] for row in describe_model("mean_of_layers", count=False)["settings"]
    ]


def test_the_commands_of_the_page_run(add, tmp_path, monkeypatch):
    page = EXAMPLE.parents[1] / "docs" / "how-to" / "add-an-architecture.md"
    block = re.search(r"```\npip install .*\n((?s:.*?))```", page.read_text(encoding="utf-8"))[1]
    monkeypatch.chdir(tmp_path)
    for name, line in (("s", "a b c d"), ("t", "e f g h"), ("source", "a b c d")):
        Path(name).write_text(f"{line}\n" * 20)
    for command in block.replace("\\\n", "").splitlines():
        words = shlex.split(command)[1:]
        if words[0] == "train":
            words += ["--set", "training.max_updates=2", "--set", "text.merges=5"]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"{command}\n{result.output}"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nowhere:ARCHITECTURE", r".*nowhere:ARCHITECTURE cannot be loaded: .*nowhere"),
        ("json:loads", ".*json:loads is not an Architecture"),
    ],
)
def test_an_entry_point_that_does_not_load_is_named(add, value, said):
    add("mean_of_layers", value)
    with pytest.raises(InputError, match=rf"model\.architecture=mean_of_layers: {said}"):
        section_config("model", {"architecture": "mean_of_layers"})


def test_a_name_that_no_package_has_is_unknown():
    with pytest.raises(
        InputError, match=r"model\.architecture=mean_of_layers: unknown architecture"
    ):
        section_config("model", {"architecture": "mean_of_layers"})
