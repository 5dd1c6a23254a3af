"""What an installation without extras promises (README.md): ``make wheel``, which ``make test`` calls.

Takes the folder that ``python -m build`` filled. The wheel must hold every file of the package; it is installed into a
fresh environment with what it depends on and nothing else, and there each command does its work, or says in one line
which packages it is without. Needs the package index that pip is set to, so it is no test of pytest.
"""

import ast
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODELS = "torch, safetensors, tokenizers are not installed; run: pip install torch safetensors tokenizers"
CORPUS = "from cgbench.data_recipes.demo.corpus import write_demo; from pathlib import Path; " \
    "write_demo(Path('.'), train_pairs=1500, pool_pairs=2500, valid_pairs=50, seed=3)"  # fmt: skip
BUILD = "build-react --train train.de train.en --pool pool.de pool.en --preset demo"
SCRIPT = ROOT / "examples" / "base-installation.sh"
WORKS = (  # what the commands of the script print, in their order
    "version",
    "pieces\tlength\tdegree\tcover",
    "degree of the candidates",
    "manifest.json",
    "written to",
    "degree",
    "= 100.0 (2,500 of 2,500)",
    "instance 50.0 aggregate 100.0",
    "n-grams",
    "new pairs",
    "cognition",
    "licence",
    "dangle",
    "model.width",
    "lexicon-3",
)
LACKS = {  # command: what it says instead
    "demo --out demo": MODELS,
    f"{BUILD} --out whole": MODELS,
    "train --train train.de train.en --model small --out model": MODELS,
    "train-ensemble --train train.de train.en --out ensemble": MODELS,
    "translate --model model valid.de": MODELS,
    "uncertainty valid.de --member hf:. --output u.jsonl": MODELS,
    "translate valid.de --system hf:. --output t.en": MODELS,
    "average one two --out mean": MODELS,
    "reproduce run lexicon-3 --out tables": MODELS,
    "score bleu --ref pool.en --hyp mine=pool.en": "sacrebleu is not installed; run: pip install sacrebleu",
    "lm score --lm out/lm.arpa pool.en": "kenlm is not installed; run: pip install kenlm",
    "degree --train raw.en --tokenize moses raw.en": "sacremoses is not installed; run: pip install sacremoses",
    "degree --train train.zst pool.en": "zstandard is not installed; run: pip install zstandard",
    "lexicon learn train.de train.en --out other.tsv --show lexicon.png": "pip install matplotlib",
}
FILES = {
    "train.zst": "",
    "raw.en": "A dog ran.\nThe dog, too.\n",
    "bank.conllu": "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tship\tship\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
}


def check_wheel(wheel: Path) -> None:
    """Every file of the package is in the wheel."""
    files = subprocess.run(["git", "ls-files", "cgbench"], cwd=ROOT, check=True, capture_output=True, text=True)
    missing = set(files.stdout.split()) - set(zipfile.ZipFile(wheel).namelist())
    assert not missing, f"not in {wheel.name}: {', '.join(sorted(missing))}"


def extras() -> set[str]:
    """The packages that the extras bring."""
    text = (ROOT / "cgbench" / "errors.py").read_text(encoding="utf-8")
    table = next(node.value for node in ast.parse(text).body if isinstance(node, ast.Assign)
                 and getattr(node.targets[0], "id", "") == "EXTRAS")  # fmt: skip
    return {package for packages in ast.literal_eval(table).values() for package in packages}


def main() -> None:
    """Check the only wheel in the folder."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    check_wheel(wheel)
    with tempfile.TemporaryDirectory() as folder:
        work, environment = Path(folder) / "work", Path(folder) / "environment"
        work.mkdir()
        venv.create(environment, with_pip=True)
        clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        python = environment / "bin" / "python"

        def call(*words: object, status: int = 0) -> tuple[str, str]:
            done = subprocess.run([*map(str, words)], cwd=work, env=clean, capture_output=True, text=True)
            shown = " ".join(map(str, words))
            assert done.returncode == status, f"{shown}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
            return done.stdout, done.stderr

        call(python, "-m", "pip", "install", "--disable-pip-version-check", "-c", ROOT / "constraints.txt", wheel)
        listed = call(python, "-m", "pip", "list", "--format", "freeze")[0]
        found = extras() & {line.partition("==")[0].lower() for line in listed.splitlines()}
        assert not found, f"the base installation brings {', '.join(sorted(found))}"
        call(python, "-c", CORPUS)
        for name, text in FILES.items():
            (work / name).write_text(text, encoding="utf-8")
        command = environment / "bin" / "cgbench"
        clean["PATH"] = f"{environment / 'bin'}:{clean['PATH']}"
        printed, _ = call("bash", SCRIPT, ".", "out")
        place = 0
        for expected in WORKS:
            assert expected in printed[place:], f"{SCRIPT.name}: {expected!r} is not in\n{printed[place:]}"
            place = printed.index(expected, place) + len(expected)
        for line, expected in LACKS.items():
            before = sorted(work.iterdir())
            _, said = call(command, *line.split(), status=2)
            assert said.startswith("error: ") and said.count("\n") == 1 and expected in said, f"cgbench {line}\n{said}"
            assert sorted(work.iterdir()) == before, f"cgbench {line} leaves something behind"
    print(f"{wheel.name}: {SCRIPT.name} runs without extras, {len(LACKS)} commands say what they need")


if __name__ == "__main__":
    main()
