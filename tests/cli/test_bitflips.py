"""A sample of lab/reliability_bitflips.py: one flipped bit per file of a finished workspace and its
release, and what is printed.
"""

import importlib.util
import random
from pathlib import Path

import pytest
from small_build import CANDIDATES

from cgbench.models.checkpoints import STATE

pytestmark = (
    pytest.mark.slow
)  # tests/unit/test_steps.py and tests/cli/test_verify.py damage files of each kind
SCRIPT = Path(__file__).parents[2] / "lab" / "reliability_bitflips.py"


@pytest.fixture(scope="module")
def flips(tmp_path_factory):
    """The harness, and the folder of its undisturbed build."""
    spec = importlib.util.spec_from_file_location("bitflips", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("flips") / "work"
    module.make(folder)
    return module, folder


def test_every_flipped_bit_is_named_or_refused(flips, tmp_path):
    module, folder = flips
    build = folder / module.BUILD
    chance = random.Random(5)
    outcomes = {}
    for path in module.files_of(build):
        if path.name == STATE:
            continue  # tests/cli/test_longer_training.py has it
        bit = chance.randrange(8 * (build / path).stat().st_size)
        if (
            path.name == "step.json"
        ):  # not in its seconds, which are another's every time and no part of the result
            bit = 8 * (build / path).read_bytes().index(b'"outputs"') + chance.randrange(8 * 9)
        outcome, said = module.judge(folder, path, bit, tmp_path, rebuild=False)
        if path.parts[:2] == (module.WORK, ".cgbench") and len(path.parts) > 3:
            assert (outcome, said) == ("named", str(path))
        outcomes[str(path)] = outcome
    release = ("README.md", CANDIDATES, "manifest.json", "split.jsonl", "test.de", "test.en")
    ensemble = ("ensemble.json", "member-1/config.json", "member-1/model.safetensors")
    names = [f"release/{name}" for name in release] + [
        f"release.work/ensemble/{name}" for name in ensemble
    ]
    assert {outcomes[name] for name in names} == {"refused"}
    assert outcomes["release.work/.cgbench/release.json"] == "made again"
    assert set(outcomes.values()) <= set(module.HARMLESS), outcomes
    assert len(outcomes) > 30


@pytest.mark.parametrize("name", ["ngrams/trie.slots.npy", "candidates.source", "part-00000.jsonl"])
def test_a_damaged_step_is_named_once_and_made_again_to_the_same_bytes(flips, tmp_path, name):
    module, folder = flips
    build = folder / module.BUILD
    path = next(path for path in module.files_of(build) if str(path).endswith(name))
    outcome, said = module.judge(folder, path, 4099, tmp_path, rebuild=True)
    step = path.parts[2]
    assert outcome == "made again"
    lines = [line for line in said.splitlines() if line.endswith("runs again")]
    assert lines == [f"warning: {tmp_path / 'build' / path} is damaged; {step} runs again"]
    assert not list(tmp_path.glob("build/release.work/.cgbench/*/*.partial"))
