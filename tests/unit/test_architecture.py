"""The arrows of docs/architecture.md: who may import whom, read off the imports themselves, those in functions too.

And one spelling of the prose.
"""

import ast
import io
import re
import tokenize
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import cgbench

PACKAGE = Path(cgbench.__file__).parent
# From the top; those of one floor know nothing of each other.
FLOORS = (
    {"__main__"},
    {"cli"},
    {"commands"},
    {"reproduction", "report"},
    {"benchmark"},
    {"models", "lm", "data_recipes"},
    {"text"},
)
GROUND = {"engines"}  # a room beside the files of the ground floor


def imports(package):
    """module -> (what it imports, what of that for its types alone), of every module of ``package``."""
    files = {}
    for path in package.rglob("*.py"):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: read(name, path, files) for name, path in files.items()}


def read(name, path, files):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typing.update(id(inner) for statement in node.body for inner in ast.walk(statement))
    found, running = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: a relative import, which this test does not read"
            # A name of a package is a module of it or something that the package itself defines.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [full if full in files else node.module for full in names]
        else:
            continue
        held = {full for full in names if full in files and full != name}
        found |= held
        if id(node) not in typing:
            running |= held
    return found, running


def floor_of(module):
    """The number of a module's floor, from the top, and the name of its room there."""
    top = module.split(".")[1] if "." in module else ""
    for number, rooms in enumerate(FLOORS):
        if top in rooms:
            return number, top
    return len(FLOORS), "ground floor"


def upward(package):
    """Imports that go up, or to another room of the same floor."""
    wrong = []
    for module, (found, _) in sorted(imports(package).items()):
        if module == package.name:
            continue  # the names at the top, for their types alone: they are above every floor
        floor, room = floor_of(module)
        for other in sorted(found - {package.name}):
            below, there = floor_of(other)
            if below < floor or (below == floor and there != room):
                wrong.append(f"{module} imports {other}")
    return wrong


def circle(graph):
    """A circle of a graph (node -> what it points to), or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def folder_of(module):
    """The folder of a module two or more levels down; the module itself else."""
    parts = module.split(".")
    return ".".join(parts[:3])


def test_every_room_has_a_floor():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms == set().union(*FLOORS, GROUND) - {"cli", "__main__"}


def test_arrows_point_down():
    assert upward(PACKAGE) == []


def test_nothing_imports_in_a_circle():
    assert circle({module: running for module, (_, running) in imports(PACKAGE).items()}) is None


def test_folders_do_not_import_each_other_in_a_circle():
    graph = {}
    for module, (_, running) in imports(PACKAGE).items():
        # A folder's __init__.py says what is in it and imports nothing.
        mine = graph.setdefault(folder_of(module), set())
        mine |= {folder_of(other) for other in running} - {folder_of(module)}
    assert circle(graph) is None


def test_opening_an_ensemble_needs_no_trainer():
    graph = {module: running for module, (_, running) in imports(PACKAGE).items()}
    reached, waiting = set(), ["cgbench.models.ensemble"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    assert "cgbench.models.checkpoints" in reached
    assert not [module for module in reached if module.startswith("cgbench.models.training")]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("text/corpus.py", "from cgbench.models.ensemble import Ensemble"),
        ("models/ensemble.py", "    import cgbench.benchmark.scan"),
        ("models/ensemble.py", "    from cgbench.benchmark import scan"),
        ("lm/counts.py", "from cgbench.data_recipes import recipe"),
        ("errors.py", "from cgbench.text.corpus import Corpus"),
    ],
)
def test_an_upward_import_is_seen(tmp_path, file, line):
    package = tmp_path / "cgbench"
    for name in ("", "text", "models", "lm", "data_recipes", "benchmark"):
        (package / name).mkdir()
        (package / name / "__init__.py").write_text("")
    for name in ("text/corpus", "models/ensemble", "lm/counts", "data_recipes/recipe", "benchmark/scan", "errors"):
        (package / f"{name}.py").write_text("from cgbench import __version__\n")
    assert upward(package) == []
    (package / file).write_text("def work():\n" + line if line.startswith(" ") else line)
    (found,) = upward(package)
    assert found.startswith(f"cgbench.{file[:-3].replace('/', '.')} imports cgbench.")


def test_a_circle_is_seen():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


# One spelling: British, but learned; docstrings say :returns:. Code keeps the names that users and libraries know.
MISSPELT = re.compile(
    r"\blearnt\b|:return:|\b(token|normal|initial|general|optim|summar|minim|maxim|recogn|memor|serial)i(z\w+)",
    re.IGNORECASE,
)


def misspelt(source):
    """What is not spelt so in comments and docstrings; code, `quoted` and "quoted" words and *titles* are left out."""
    prose = [
        word.string for word in tokenize.generate_tokens(io.StringIO(source).readline) if word.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            prose.append(ast.get_docstring(node) or "")
    text = re.sub(r'`+[^`]*`+|"[^"]*"|\*[^*]*\*|:param [^:]*:|--[\w-]+|\w+_\w+', "", "\n".join(prose))
    return [found[0] for found in MISSPELT.finditer(text)]


def test_prose_is_spelt_one_way():
    wrong = {str(path): misspelt(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {path: words for path, words in wrong.items() if words} == {}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("# what was learnt\n", ["learnt"]),
        ('def run():\n    """Normalize.\n\n    :return: nothing\n    """\n', ["Normalize", ":return:"]),
        ('"""Lines as `--tokenize` and "normalized" say."""\nlearnt = tokenizer = 1\n', []),
    ],
)
def test_another_spelling_is_seen(source, words):
    assert misspelt(source) == words
