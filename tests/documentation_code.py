"""Write the Python of README.md and docs as modules into a folder, where ``make lint`` runs mypy.

The ``python`` blocks of a page are one module, in their order; a block that begins with
``# NAME.py`` is a module of its own. A fragment may use names that its page gives in words.
"""

import doctest
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w/]+)\.py\n")


def modules(page: Path) -> dict[str, str]:
    """The code of the modules that are in a page, by name."""
    title = re.sub(r"\W+", "_", str(page.relative_to(ROOT)).removesuffix(".md"))
    code: dict[str, str] = {}
    for index, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
        file = FILE.match(block)
        name = f"{title}_{index}" if file else title
        source = doctest.script_from_examples(block) if ">>>" in block else block
        code[name] = code.get(name, "") + source
    return code


def main(folder: Path) -> None:
    """Write the modules of all pages into an empty package."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for name, code in modules(page).items():
            (folder / f"{name}.py").write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
