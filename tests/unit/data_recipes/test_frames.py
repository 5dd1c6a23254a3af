"""Data sets as DataFrames."""

import pytest

from cgbench.data_recipes.frames import load_data
from cgbench.data_recipes.recipe import Recipe, Split
from cgbench.errors import InputError


def prepare(sources, out):
    out.split("train", [("walk", "I_WALK"), ("jump \u2028 NA", "nan")], origin="generated")
    if not sources.offline:
        out.split("length/test", [("run", "I_RUN")], origin="generated")


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    splits = (Split("train", 2), Split("length/test", 1))
    recipe = Recipe(
        "toy", "a set", "none", "nobody", "nowhere", ("in", "out"), "3", splits, (), prepare
    )
    monkeypatch.setattr("cgbench.data_recipes.registry.built_in", lambda: {"toy": recipe})
    pytest.importorskip("pandas")


def test_splits_are_frames(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = load_data("toy")
    assert list(frames) == ["train", "length/test"]
    assert list(frames["train"].columns) == ["in", "out"]
    assert list(frames["train"]["in"]) == ["walk", "jump \u2028 NA"]
    assert list(frames["train"]["out"]) == ["I_WALK", "nan"]  # text, not a missing number
    assert (tmp_path / "data" / "toy" / "recipe.json").is_file()
    one = load_data("toy", split="length/test", out=str(tmp_path / "elsewhere"))
    assert one.to_dict("records") == [{"in": "run", "out": "I_RUN"}]


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="no recipe is called toi; did you mean toy"):
        load_data("toi", out=tmp_path / "a")
    with pytest.raises(InputError, match="toy: split='trian'; did you mean train"):
        load_data("toy", split="trian", out=tmp_path / "a")
    with pytest.raises(InputError, match="toy: length/test could not be prepared"):
        load_data("toy", split="length/test", out=tmp_path / "a", offline=True)
