"""Whatever a system wrote goes through one check, whichever command or function receives it.

The tables name an invocation for every option and every parameter that takes outputs; both sets are
derived from the commands and the package, so a new command is missing here until it stops.
"""

import inspect
import json

import click
import pytest
from click.testing import CliRunner
from fake_openai import Fake, serving
from parts_manifest import MANIFEST

import cgbench
from cgbench.cli import main
from cgbench.errors import InputError
from cgbench.request import leaves_of
from cgbench.studies.parts.folder import Piece, Place, write_parts

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

NAMES = ("Anna", "Tom", "Eva", "Max", "Kim", "Lee", "Ida", "Jon", "Zoe", "Ben", "Mia", "Leo")
VERBS = ("sees", "likes", "finds", "calls", "helps", "meets")
TEXTS = [
    f"{name} {VERBS[row % 6]} the {NAMES[-row]} of house {row * 7 % 100} twice."
    for row, name in enumerate(NAMES)
]
SOURCES = [f"quelle {row * 5 % 12} {text[::-1]}" for row, text in enumerate(TEXTS)]
STOPS = "'PRED 0: ' before the text of "
NO_OUTPUTS = {
    "score import --scores": "numbers",
    "score import --people": "numbers",
    "score import --control-scores": "numbers",
    "score agreement --scores": "numbers",
    "uncertainty --hypotheses": "texts for a model to score, in the form that it reads",
}


def damaged(lines):
    return [f"PRED {row}: {line}" for row, line in enumerate(lines)]


def commands(command=main, words=()):
    """All commands with their words."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name))
    else:
        yield " ".join(words), command


def options_with_outputs():
    """Every option that takes outputs of systems, or a server that writes them."""
    for words, command in commands():
        function, kinds = command.callback, ()
        while function and not kinds:
            kinds, function = getattr(function, "kinds", ()), getattr(function, "__wrapped__", None)
        fields = [field for kind in kinds for field in leaves_of(kind).values()]
        typed = {field.option for field in fields if field.kind and field.kind.name == "systems"}
        options = {name for parameter in command.params for name in parameter.opts}
        for option in options:
            if option in typed or "hyp" in option or option == "--system":
                yield f"{words} {option}"


class Files:
    """Files of a test, with the texts of all examples; those of ``bad`` are damaged."""

    def __init__(self, folder, release, url, is_damaged):
        self.folder, self.release, self.url = folder, release, url
        self.change = damaged if is_damaged else list

    def file(self, name, lines):
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(self.folder / name)

    @property
    def bad(self):
        return self.file("bad", self.change(TEXTS))

    @property
    def good(self):
        return self.file("good", TEXTS)

    @property
    def ref(self):
        return ("--ref", self.file("ref", TEXTS))


def by_metric(files, *words):
    return (*files.ref, *words)


def probes(files, metric):
    """A folder of parts whose probes are the test pairs."""
    pieces = [Piece(name, 9, probes=(row,)) for row, name in enumerate(NAMES)]
    places = [[Place(row, 0, 1)] for row in range(len(NAMES))]
    pairs = list(zip(SOURCES, TEXTS, strict=True))
    match = {"exact": "exact"}.get(metric, "words")
    write_parts(files.folder / "parts", pieces, pairs, places, {**MANIFEST, "match": match})
    words = ("--source", files.file("sources", SOURCES), "--parts", str(files.folder / "parts"))
    return (*files.ref, *words, "--hyp", f"a={files.good}", "--probe-hyp", f"a={files.bad}")


def cter(files, *words):
    compounds = ["the dog", "the man"] * 6
    sources = [f"see {compound}" for compound in compounds]
    files.file("lexicon", ["dog\tD/H", "man\tM", "the\t/"])
    files.file("atoms", ["DET\tthe\tthe", "N\tdog\tdog", "N\tman\tman"])
    settings = ("--lexicon", str(files.folder / "lexicon"), "--set", "group_size=1")
    texts = ("--source", files.file("sources", sources))
    texts += ("--compounds", files.file("compounds", compounds))
    return (*settings, "--set", f"atoms={files.folder / 'atoms'}", *texts, *words)


def control_of_cter(files):
    words = cter(files, "--hyp", f"a={files.good}", "--control-hyp", f"a={files.bad}")
    texts = {"source": words[words.index("--source") + 1]}
    texts["compounds"] = words[words.index("--compounds") + 1]
    control = ("--set", f"control_compounds={texts['compounds']}")
    return (*words, "--control-source", texts["source"], *control)


def probes_of_cter(files):
    words = cter(files)
    compounds = (files.folder / "compounds").read_text().splitlines()
    sources = (files.folder / "sources").read_text().splitlines()
    pieces = [Piece(text, 9, probes=(row,)) for row, text in enumerate(compounds)]
    places = [[Place(row, 0, 1)] for row in range(len(compounds))]
    pairs = list(zip(sources, compounds, strict=True))
    manifest = {**MANIFEST, "match": "compound", "pieces": "compounds", "side": "source"}
    write_parts(files.folder / "parts", pieces, pairs, places, manifest)
    words += ("--parts", str(files.folder / "parts"))
    return (*words, "--hyp", f"a={files.good}", "--probe-hyp", f"a={files.bad}")


def with_scores(files):
    scores = files.file("scores", range(len(TEXTS)))
    return (*files.ref, "--scores", f"a={scores}", "--hyp", f"a={files.bad}")


def ruled(files):
    rules = [
        json.dumps({"id": str(row), "rules": [{"type": "contains", "any": [name]}]})
        for row, name in enumerate(NAMES)
    ]
    return ("--rules", files.file("rules.jsonl", rules), "--hyp", f"a={files.bad}")


def validated(files, option):
    """Systems for the test set and the control set."""
    lines = {
        "--hyp": files.release.lines("target"),
        "--control-hyp": files.release.set_lines("control", "target"),
    }
    words = [str(files.release.folder)]
    for name, texts in lines.items():
        right = files.file(f"good{name}", texts)
        of_first = files.file(f"bad{name}", files.change(texts)) if name == option else right
        for system, file in (("a", of_first), ("b", right), ("c", right)):
            words += [name, f"{system}={file}"]
    return (*words, "--metric", "chrf", "--set", "preset=sacrebleu")


def exported(files):
    lines = files.change(files.release.lines("target"))
    words = (str(files.release.folder), "--to", "pearmut", "--out", str(files.folder / "out"))
    return (*words, "--hyp", f"a={files.file('bad', lines)}")


def of_items(files):
    rows = [f"{('house', 'twice')[row % 2]}\t{text}" for row, text in enumerate(TEXTS)]
    items = files.file("items.tsv", ["piece\tsource", *rows])
    return (items, "--hyp", f"a={files.bad}")


def of_probes(files):
    pieces = [Piece(name, 9, probes=(row, (row + 1) % 12)) for row, name in enumerate(NAMES)]
    places = [[Place(row, 0, 1)] for row in range(len(NAMES))]
    pairs = list(zip(SOURCES, TEXTS, strict=True))
    manifest = {**MANIFEST, "match": "outputs", "side": "source"}
    write_parts(files.folder / "parts", pieces, pairs, places, manifest)
    return (
        str(files.folder / "parts"),
        "--hyp",
        f"a={files.good}",
        "--probe-hyp",
        f"a={files.bad}",
    )


def asked(files, option):
    sources = files.file("sources", SOURCES)
    wrong, right = (f"{files.url}?model={name}" for name in ("wrong", "right"))
    words = ("--system", wrong, "--prompt", "Say: {source}", "--output", str(files.folder / "out"))
    if option == "translate":
        return (sources, *words)
    return ("--source", sources, *files.ref, "--system", right, *words)


REFERENCED = ("bleu", "chrf", "ter", "exact")
DOORS = {
    **{
        f"score {metric} --hyp": lambda files: by_metric(files, "--hyp", f"a={files.bad}")
        for metric in REFERENCED
    },
    **{
        f"score {metric} --control-hyp": lambda files: by_metric(
            files, "--hyp", f"a={files.good}", "--control-ref", files.good,
            "--control-hyp", f"a={files.bad}",
        )
        for metric in REFERENCED
    },
    **{
        f"score {metric} --probe-hyp": lambda files, metric=metric: probes(files, metric)
        for metric in REFERENCED
    },
    "score cter --hyp": lambda files: cter(files, "--hyp", f"a={files.bad}"),
    "score cter --control-hyp": control_of_cter,
    "score cter --probe-hyp": probes_of_cter,
    "score import --hyp": with_scores,
    "score rules --hyp": ruled,
    "consistency score --hyp": of_items,
    "consistency score --probe-hyp": of_probes,
    "validate --hyp": lambda files: validated(files, "--hyp"),
    "validate --control-hyp": lambda files: validated(files, "--control-hyp"),
    "export --hyp": exported,
    "power --hyp": lambda files: by_metric(
        files, "--hyp", f"a={files.bad}", "--hyp", f"b={files.good}"
    ),
    "race --system": lambda files: asked(files, "race"),
    "translate --system": lambda files: asked(files, "translate"),
}  # fmt: skip
WARNED = {"score import --hyp", "translate --system"}
"""These score no text, so they only warn."""


class Speaker(Fake):
    """Translates the sources of this test; ``wrong`` writes before its answers."""

    is_damaged = True

    def reply(self, body, wrong):
        reply = super().reply(body, wrong)
        row = SOURCES.index(body["messages"][-1]["content"].removeprefix("Say: "))
        before = f"PRED {row}: " if self.is_damaged and body["model"] == "wrong" else ""
        reply["model"] = body["model"]
        reply["choices"][0]["message"]["content"] = before + TEXTS[row]
        return reply


def test_every_option_with_outputs_is_in_the_table():
    assert {*options_with_outputs()} == {*DOORS, *NO_OUTPUTS}


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize("door", DOORS)
def test_damaged_outputs_stop_and_right_ones_do_not(small_release, tmp_path, door, is_damaged):
    words, _, _ = door.rpartition(" ")
    fake = Speaker()
    fake.is_damaged = is_damaged
    with serving(fake) as url:
        arguments = DOORS[door](Files(tmp_path, small_release, url, is_damaged))
        result = CliRunner().invoke(main, [*words.split(), *arguments])
    text = result.stdout + result.stderr
    is_told = "PRED " in text and "before the text of" in text and "Remedy: " in text
    assert is_told is is_damaged, text
    if is_damaged and door not in WARNED:
        assert result.exit_code == 2, text


def parameters_with_outputs():
    """Every parameter of a public function that takes outputs, or a server that writes them."""
    names = ("systems", "system", "hypotheses", "control_systems", "probe_systems")
    for function in cgbench.__all__:
        value = getattr(cgbench, function)
        is_class = inspect.isclass(value)
        parameters = {} if is_class else inspect.signature(value).parameters
        yield from (f"{function} {name}" for name in parameters if name in names)


def with_rules(outputs):
    return cgbench.rules(outputs, rules="rules.jsonl")


IN_MEMORY = {
    **{
        f"{name} systems": lambda outputs, name=name: getattr(cgbench, name)(outputs, TEXTS)
        for name in ("bleu", "chrf", "ter", "exact_match")
    },
    "evaluate systems": lambda outputs: cgbench.evaluate("bleu", {"a": outputs}, TEXTS),
    "rules systems": with_rules,
    "consistency systems": lambda outputs: cgbench.consistency("items.tsv", outputs),
    "cter systems": lambda outputs: cgbench.cter(
        outputs,
        ["see the dog", "see the man"] * 6,
        ["the dog", "the man"] * 6,
        **{"lexicon": "lexicon", "atoms": "atoms", "group_size": 1},
    ),
}
BY_COMMAND = {
    "consistency probe_systems": "consistency score --probe-hyp",
    "export hypotheses": "export --hyp",
    "import_scores systems": "score import --scores",
    "import_scores control_systems": "score import --control-scores",
    "translate system": "translate --system",
    "uncertainty hypotheses": "uncertainty --hypotheses",
    "validate systems": "validate --hyp",
    "validate control_systems": "validate --control-hyp",
}
"""Functions that their command only calls and prints."""


def test_every_public_function_with_outputs_is_in_a_table():
    assert {*parameters_with_outputs()} == {*IN_MEMORY, *BY_COMMAND}
    assert {*BY_COMMAND.values()} <= {*DOORS, *NO_OUTPUTS}


@pytest.mark.parametrize("function", IN_MEMORY)
def test_damaged_outputs_stop_in_python(tmp_path, monkeypatch, function):
    monkeypatch.chdir(tmp_path)
    files = Files(tmp_path, None, "", is_damaged=False)
    for write in (cter, ruled, of_items):
        write(files)
    IN_MEMORY[function](TEXTS)
    with pytest.raises(InputError, match=f"{STOPS}12 of 12 hypotheses.*Remedy: "):
        IN_MEMORY[function](damaged(TEXTS))
