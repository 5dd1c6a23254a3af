"""Every help: its options under headings, whole summaries, and an example that the command
takes.
"""

import re
import shlex
from pathlib import Path

import click
import pytest

from cgbench.cli import main, summaries
from cgbench.commands.gone import GONE, GONE_EVERYWHERE


def _commands(command=main, path=()):
    """Every command and group, with the words that lead to it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name="cgbench")
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), (*path, name))


EVERY = dict(_commands())


def _help(run, path, columns=80):
    return run(*path, "--help", env={"COLUMNS": str(columns)}).stdout


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_the_example_of_every_help_is_a_command_line(path):
    example = EVERY[path].example
    words = shlex.split(example)
    assert tuple(words[: len(path) + 1]) == ("cgbench", *path)
    command, context = main, click.Context(main, info_name="cgbench")
    rest = words[1:]
    while isinstance(command, click.Group):
        command = command.get_command(context, rest.pop(0))
    made = command.make_context(command.name, rest, parent=context)
    required = [
        param.opts[0]
        for param in command.params
        if "[required]" in (getattr(param, "help", "") or "")
    ]
    assert all(option in words for option in required)
    assert made is not None


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_fits_the_terminal_and_ends_with_the_example(run, path):
    page = _help(run, path)
    assert max(map(len, page.splitlines())) <= 80
    example = page.partition("Example:\n")[2]
    assert shlex.split(example.replace("\\\n", "")) == shlex.split(EVERY[path].example)
    wide = _help(run, path, 120)
    assert len(wide.splitlines()) <= len(page.splitlines())


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_options_have_a_text_without_a_full_stop(path):
    for param in EVERY[path].params:
        if isinstance(param, click.Option) and param.name != "version":
            assert param.help and not param.help.endswith("."), param.name
            assert param.help[0].isupper() or param.help.startswith("`"), param.help


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_shows_few_options_and_help_all_every_one(run, path):
    page = _help(run, path)
    options = re.compile(r"^  (?:-\w, )?(--[\w-]+)", re.MULTILINE)
    assert len(options.findall(page)) <= (25 if path[:1] == ("score",) else 33)
    command = EVERY[path]
    assert ("--help-all" in page) == bool(command.rare or command.settings)
    every = run(*path, "--help-all", env={"COLUMNS": "80"}).stdout if "--help-all" in page else page
    names = {param.opts[0] for param in command.params if isinstance(param, click.Option)}
    assert names <= {*options.findall(every), "-o"}
    for name, _ in command.settings:
        assert f"\n  {name} " in every or f"\n  {name}\n" in every


def test_few_things_to_choose_from():
    """At most 600 places where an option is declared, and 150 flags: a new option takes the place
    of a rare one, which becomes a setting.
    """
    leaves = [command for command in EVERY.values() if not isinstance(command, click.Group)]
    options = [
        param for command in leaves for param in command.params if isinstance(param, click.Option)
    ]
    assert len(options) <= 600
    assert len({param.opts[0] for param in options}) <= 150


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("score bleu --width 2", "--width: this is a setting now; write --set width=VALUE"),
        ("score cter --keep-blanks", "--set keep_blanks=VALUE"),
        ("split --train-size 0.5", "--set train_size=VALUE"),
        ("train --help-settings", "use --help-all, which lists the settings"),
        ("models tiny --source-size 9", "describe_model"),
        (
            "score bleu chrf --report x.html",
            "score bleu chrf no longer has this option; use --output",
        ),
        ("race --level 0.01", "the argument of the Python function with this name"),
        ("clean --help-all", "use --help, which lists every option"),
    ],
)
def test_an_option_of_an_earlier_version_names_the_new_way(run, words, way):
    assert way in run(*words.split(), status=2).stderr


def test_every_option_that_is_gone_is_in_the_upgrade_table():
    table = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    for name, options in {**GONE, "": GONE_EVERYWHERE}.items():
        assert all(f"{option}`" in table for option in options)
        for path, command in EVERY.items():
            if path[-1:] == (name,):
                assert not {option for param in command.params for option in param.opts} & {
                    *options
                }


def test_all_commands_are_in_groups_and_summaries_are_whole(run):
    page = _help(run, ())
    assert list(summaries()) == ["Build", "Score", "Models", "Data", "Maintain"]
    for group, commands in summaries().items():
        assert f"\n{group}:\n" in page
        for name, summary in commands.items():
            assert re.search(rf"^  {name} +{re.escape(summary)}$", page, re.MULTILINE), name


@pytest.mark.parametrize(
    "group", [path for path, one in EVERY.items() if isinstance(one, click.Group) and path]
)
def test_summaries_inside_a_group_are_whole(run, group):
    page = " ".join(_help(run, group).split())
    for path, command in EVERY.items():
        if path[:-1] == group:
            first = " ".join(command.help.partition("\n\n")[0].split())
            assert first.partition(". ")[0].rstrip(".") in page


def test_build_react_has_its_headings_in_order(run):
    page = run("build-react", "--help-all").stdout
    headings = [
        "Input",
        "Text",
        "Selection",
        "Ensemble",
        "Output",
        "Execution",
        "Advanced",
        "Example",
    ]
    assert re.findall(r"^(\w+):$", page, re.MULTILINE) == headings


def test_the_most_important_option_comes_first(run):
    page = _help(run, ("score", "bleu"))
    assert (
        0
        < page.index("  --ref FILE")
        < page.index("  --hyp SYSTEM")
        < page.index("  --source FILE")
    )


def test_a_short_help_needs_no_headings(run):
    assert re.findall(r"^(\w+):$", _help(run, ["clean"]), re.MULTILINE) == ["Options", "Example"]


@pytest.mark.parametrize("words", ["models", "data list", "data describe scan", "reproduce list"])
def test_lists_fit_a_terminal_of_80_columns(run, words):
    lines = run(*words.split()).stdout.splitlines()
    assert max(len(line) for line in lines if "http" not in line and "SHA" not in line) <= 80


@pytest.mark.parametrize("path", [("train",), ("train-ensemble",), ("build-react",)], ids=" ".join)
def test_a_method_is_a_name(run, path):
    assert "  --method NAME " in _help(run, path)


def test_help_all_has_a_table_of_the_request(run):
    from cgbench.benchmark.build.react.request import BuildRequest
    from cgbench.request import leaves_of

    page = run("build-react", "--help-all").stdout.partition("Settings, for")[2]
    page = page.partition("\nExample:")[0]
    assert max(map(len, page.splitlines())) <= 80
    settings = [field for field in leaves_of(BuildRequest).values() if field.is_setting]
    assert re.findall(r"^  (\w+)", page, re.MULTILINE) == [field.name for field in settings]
    text = " ".join(page.split())
    assert len(settings) > 20 and all(" ".join(field.help.split()) in text for field in settings)
    assert "Maximum number of strata by uncertainty [default: 10]" in text
