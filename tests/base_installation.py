"""What an installation without extras, and one that builds, promise (README.md): ``make wheel``.

Takes the folder that ``python -m build`` filled. The wheel must hold every file of the package; it
is installed into a new environment with its dependencies and nothing else, then with the extra
``build``. There each command does its work, or says in one line which packages it is without. It
needs pip's package index, so it is not a test of pytest.
"""

import ast
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 200  # MB without extras, bytecode left out
BUILD = 'numba, pyarrow are not installed; run: pip install "cgbench[build]"'
MODELS = (
    "torch, safetensors, tokenizers, numba, pyarrow are not installed; run: pip install"
    ' "cgbench[models]"'
)
CORPUS = (
    "from cgbench.data_recipes.demo.corpus import write_demo; from pathlib import Path; "
    "write_demo(Path('.'), train_pairs=1500, pool_pairs=2500, valid_pairs=50, seed=3)"
)
REACT = "build-react --train train.de train.en --pool pool.de pool.en --preset demo"
SCRIPT = ROOT / "examples" / "base-installation.sh"
WORKS = (  # what the commands of the script print, in their order
    *("version", "BLEU|", "chrF2|", "TER|", "exact|", "instance 50.0 aggregate 100.0", "scores|"),
    *("examples for 80% power", "cognition", "licence", "dangle", "model.width", "lexicon-3"),
)
LACKS = {  # command: what it says instead
    "degree --train train.en pool.en": BUILD,
    "stats --train train.en --test pool.en": BUILD,
    f"{REACT} --until candidates --out whole": BUILD,
    "score exact --ref pool.en --hyp mine=pool.en --by degree --train train.en": BUILD,
    "lm train train.en --out other.arpa": BUILD,
    "lexicon learn train.de train.en --out other.json": BUILD,
    "report release --out release.html": BUILD,
    "demo --out demo": MODELS,
    "train --train train.de train.en --model small --out model": MODELS,
    "train-ensemble --train train.de train.en --out ensemble": MODELS,
    "translate --model model valid.de": MODELS,
    "uncertainty valid.de --member hf:. --output u.jsonl": MODELS,
    "translate valid.de --system hf:. --output t.en": MODELS,
    "average one two --out mean": MODELS,
    "reproduce run lexicon-3 --out tables": MODELS,
    "score exact --ref pool.en --hyp mine=pool.en --by length --output scores.png": (
        'pip install "cgbench[plots]"'
    ),
}
LACKS_IN_PYTHON = {  # code: the error's last line
    "cgbench.KnownNgrams.learn(['a b'] * 3)": BUILD,
    "cgbench.degree(['a b'], ['a b'] * 3)": BUILD,
    "cgbench.stats(['a b'] * 3, {'test': ['a b']})": BUILD,
    "cgbench.split((['a', 'b'], ['c', 'd']), 'split')": BUILD,
    "cgbench.exact_match(['a'], ['a']).to_pandas()": 'pip install "cgbench[pandas]"',
    "cgbench.Ensemble.open('ensemble')": MODELS,
}
PROJECT = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "constraints.txt")
BUILDS = ROOT / "examples" / "build-installation.sh"
BUILT = (
    *(
        "pieces\tlength\tdegree\tcover",
        "degree of the candidates",
        "manifest.json",
        "written to",
        "degree",
    ),
    *("n-grams", "new pairs"),
)
STILL_LACKS = {
    f"{REACT} --out whole": "torch, safetensors, tokenizers are not installed",
    "lm score --lm built/lm.arpa pool.en": (
        'kenlm is not installed; run: pip install "cgbench[kenlm]"'
    ),
    "degree --train raw.en --tokenize moses raw.en": (
        'sacremoses is not installed; run: pip install "cgbench[text]"'
    ),
    "degree --train train.zst pool.en": (
        'zstandard is not installed; run: pip install "cgbench[text]"'
    ),
}
FILES = {
    "train.zst": "",
    "raw.en": "A dog ran.\nThe dog, too.\n",
    "bank.conllu": (
        "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tship\tship\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    ),
}


def check_wheel(wheel: Path) -> None:
    """Every file of the package is in the wheel."""
    files = subprocess.run(
        ["git", "ls-files", "cgbench"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    missing = set(files.stdout.split()) - set(zipfile.ZipFile(wheel).namelist())
    assert not missing, f"not in {wheel.name}: {', '.join(sorted(missing))}"


def check_archive(archive: Path) -> None:
    """The files of the project that a reader of the source archive looks for are in it."""
    with tarfile.open(archive) as tar:
        files = {Path(name).name for name in tar.getnames()}
    missing = set(PROJECT) - files
    assert not missing, f"not in {archive.name}: {', '.join(sorted(missing))}"


def extras() -> set[str]:
    """The packages that the extras bring."""
    text = (ROOT / "cgbench" / "errors.py").read_text(encoding="utf-8")
    table = next(
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXTRAS"
    )
    packages = {package for packages in ast.literal_eval(table).values() for package in packages}
    return packages - {"sacrebleu"}  # cjk adds its Japanese tokeniser to the base


def first_example() -> tuple[str, str]:
    """The commands of README.md's first example, and what it says that they print."""
    text = (
        (ROOT / "README.md")
        .read_text(encoding="utf-8")
        .partition("```console\n")[2]
        .partition("```")[0]
    )
    lines = text.splitlines(keepends=True)
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "".join(commands), "".join(line for line in lines if not line.startswith("$ "))


class Installation:
    """A new environment and a folder to work in, where nothing of this environment is seen."""

    def __init__(self, folder: Path) -> None:
        self.work, self.bin = folder / "work", folder / "environment" / "bin"
        self.work.mkdir()
        venv.create(self.bin.parent, with_pip=True)
        self.variables = {
            key: value
            for key, value in os.environ.items()
            if key not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        self.variables["COLUMNS"] = "80"
        self.variables["PATH"] = f"{self.bin}:{self.variables['PATH']}"

    def call(self, *words: object, status: int = 0) -> tuple[str, str]:
        """What a command prints on both streams, if it ends with that status."""
        command = [*map(str, words)]
        done = subprocess.run(
            command, cwd=self.work, env=self.variables, capture_output=True, text=True
        )
        report = f"{' '.join(command)}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == status, report
        return done.stdout, done.stderr

    def install(self, what: object) -> None:
        """Install with the tested versions."""
        command = [self.bin / "python", "-m", "pip", "install", "--disable-pip-version-check"]
        self.call(*command, "-c", ROOT / "constraints.txt", what)

    def check_prints(self, script: Path, words: Sequence[str], expected: Sequence[str]) -> None:
        """A script prints these texts in this order."""
        printed, _ = self.call("bash", script, *words)
        start = 0
        for text in expected:
            assert text in printed[start:], f"{script.name}: {text!r} is not in\n{printed[start:]}"
            start = printed.index(text, start) + len(text)

    def check_lacks(self, commands: Mapping[str, str]) -> None:
        """Each command says in one line what it is without, and leaves nothing behind."""
        for line, expected in commands.items():
            before = sorted(self.work.iterdir())
            _, error = self.call(self.bin / "cgbench", *line.split(), status=2)
            one_line = error.startswith("error: ") and error.count("\n") == 1
            assert one_line and expected in error, f"cgbench {line}\n{error}"
            assert sorted(self.work.iterdir()) == before, f"cgbench {line} leaves something behind"

    def check_lacks_in_python(self, lines: Mapping[str, str]) -> None:
        """Each call ends in an error that names what to install."""
        for line, expected in lines.items():
            _, error = self.call(self.bin / "python", "-c", f"import cgbench; {line}", status=1)
            assert expected in error.splitlines()[-1], f"{line}\n{error}"

    def megabytes(self) -> tuple[float, float]:
        """The size of the packages without pip and setuptools, and the part of it that is compiled
        bytecode.
        """
        packages = next(self.bin.parent.glob("lib/python*/site-packages"))
        tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
        files = [file for file in packages.rglob("*") if file.is_file()]
        sizes = {
            file: file.stat().st_size / 1e6
            for file in files
            if not file.relative_to(packages).parts[0].startswith(tools)
        }
        return sum(sizes.values()), sum(
            size for file, size in sizes.items() if file.suffix == ".pyc"
        )


def main() -> None:
    """Check the only wheel in the folder."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    check_wheel(wheel)
    (archive,) = Path(sys.argv[1]).resolve().glob("*.tar.gz")
    check_archive(archive)
    with tempfile.TemporaryDirectory() as folder:
        new = Installation(Path(folder))
        for name, text in FILES.items():
            (new.work / name).write_text(text, encoding="utf-8")
        # A corpus and a release by this environment, which has every extra.
        subprocess.run([sys.executable, "-c", CORPUS], cwd=new.work, check=True)
        build = [
            sys.executable,
            "-m",
            "cgbench",
            *REACT.split(),
            "--until",
            "candidates",
            "--out",
            "release",
        ]
        subprocess.run(build, cwd=new.work, check=True, capture_output=True)

        # Without extras: scores.
        new.install(wheel)
        listed, _ = new.call(new.bin / "python", "-m", "pip", "list", "--format", "freeze")
        extra = extras() & {line.partition("==")[0].lower() for line in listed.splitlines()}
        assert not extra, f"the base installation brings {', '.join(sorted(extra))}"
        size, bytecode = new.megabytes()
        assert size - bytecode < MOST, (
            f"the base installation has {size - bytecode:.0f} MB, more than {MOST}"
        )
        commands, expected = first_example()
        printed, _ = new.call("bash", "-c", commands)
        assert printed.strip() == expected.strip(), f"README.md's first example prints\n{printed}"
        new.check_prints(SCRIPT, ["scored"], WORKS)
        verified, _ = new.call(new.bin / "cgbench", "verify", "release")
        assert "DIFFERS" not in verified and f"skipped tables: {BUILD}" in verified, verified
        new.check_lacks(LACKS)
        new.check_lacks_in_python(LACKS_IN_PYTHON)

        # With the extra that builds.
        new.install(f"{wheel}[build]")
        new.check_prints(BUILDS, [".", "built"], BUILT)
        new.check_lacks(STILL_LACKS)
    print(
        f"{wheel.name}: {size:.0f} MB without extras, of which {bytecode:.0f} MB are bytecode that"
        " pip compiles;"
    )
    print(
        f"{SCRIPT.name} and {BUILDS.name} run, {len(LACKS | STILL_LACKS)} commands say what they"
        " need"
    )


if __name__ == "__main__":
    main()
