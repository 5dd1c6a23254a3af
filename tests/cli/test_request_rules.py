"""What a command refuses, Python refuses, with the same words but for the option's name.

All commands and their options are found, not listed. Each command is called with wrong values of
each of its options, and with pairs of options that may not fit together; the request and the public
function of it are then called with the values that the command had read.
"""

import ast
import importlib
import pkgutil
import random
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import cgbench
from cgbench.cli import main
from cgbench.commands import options
from cgbench.commands.click_types import FilesType
from cgbench.commands.lines import as_options
from cgbench.errors import InputError, printable
from cgbench.request import Request, leaves_of
from cgbench.text.remote import as_given

PAIRS = 12  # pairs of options per command, drawn with a fixed seed
WRONG = "no such value"
SHOWN = 500  # characters of an error; the command line shortens long lists
ROOT = Path(cgbench.__file__).parent
OTHER_COMMAND = re.compile(r"cgbench [a-z]+ |inspect log ")
"""A message may say which other command to write, with its options."""
OTHER_REQUESTS = {
    "data get": "the recipe is an argument of its own",
    "demo": "it runs as it is",
    "power": "the pilot is another request",
    "race": "its test set is read by the class Race",
    "translate": "few-shot examples are another request",
}
"""Commands whose errors also come from something that their request does not hold."""


def _commands(command=main, path=()):
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name="cgbench")
    for name in command.list_commands(context):
        yield from _commands(command.get_command(context, name), (*path, name))


def _functions():
    """The public function of each request class."""
    functions = {}
    for module in pkgutil.walk_packages(cgbench.__path__, "cgbench."):
        path = Path(module.module_finder.find_spec(module.name).origin)
        if "@accepts(" not in path.read_text(encoding="utf-8"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            function = getattr(value, "__wrapped__", None)
            kind = getattr(function, "__annotations__", {}).get("request")
            if isinstance(kind, str):
                kind = vars(importlib.import_module(function.__module__))[kind]
            if kind:
                functions[kind] = value
    return functions


FUNCTIONS = _functions()
COMMANDS = {" ".join(path): command for path, command in _commands()}
OF_REQUESTS = {
    name: command for name, command in COMMANDS.items() if hasattr(command.callback, "kinds")
}


def _words(param):
    """An option with a value that can be read, most of which name a file that does not exist."""
    if param.is_flag:
        return [param.opts[0]]
    choices = re.fullmatch(r"\[(.*)\]", param.metavar or "")
    if choices and "=" not in choices[1]:
        return [param.opts[0], choices[1].split("|")[-1]]
    if re.fullmatch(r"N|[A-Z]+S|N,N.*", param.metavar or "") and not isinstance(
        param.type, FilesType
    ):
        return [param.opts[0], "7"]
    return [param.opts[0], "absent.txt"]


def _calls(command):
    """The words of calls that may be refused."""
    arguments = ["absent.txt" for param in command.params if isinstance(param, click.Argument)]
    visible = [
        param
        for param in command.params
        if isinstance(param, click.Option) and param.expose_value and param.name != "assignments"
    ]
    required = [param for param in visible if "[required]" in (param.help or "")]
    base = [*arguments, *(word for param in required for word in _words(param))]
    optional = [param for param in visible if param not in required and param.opts[0] != "--config"]
    yield base
    for param in optional:
        yield [*base, *_words(param)]
        if not param.is_flag:
            yield [*base, param.opts[0], WRONG]
    pairs = [
        (first, second) for first in optional for second in optional if first.name < second.name
    ]
    for first, second in random.Random(1).sample(pairs, min(PAIRS, len(pairs))):
        yield [*base, *_words(first), *_words(second)]


def _run(words, monkeypatch):
    """The error of a call, and the values and the context of its requests; None for each that there
    is not.
    """
    read = []
    make = options._requests

    def record(kinds, values):
        read.append((dict(values), click.get_current_context()))
        return make(kinds, values)

    with monkeypatch.context() as patch:
        patch.setattr(options, "_requests", record)
        result = CliRunner().invoke(main, words)
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    return errors[-1] if result.exit_code == 2 and errors else None, read[-1] if read else None


def _refusal(command, values, context):
    """The error of the requests and the public function of a command, as the command shows it."""
    kinds = command.callback.kinds
    try:
        requests = options._requests(kinds, values)
        if function := FUNCTIONS.get(kinds[0]):
            function(requests[0])
    except InputError as error:
        return "error: " + printable(as_given(as_options(error.message, context)))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(OF_REQUESTS.keys() - OTHER_REQUESTS.keys()))
def test_python_refuses_what_the_command_refuses(name, monkeypatch, tmp_path):
    monkeypatch.setenv("CGBENCH_OFFLINE", "1")
    command, compared = OF_REQUESTS[name], 0
    for number, words in enumerate(_calls(command)):
        # Both sides of a comparison begin with an empty folder.
        errors = []
        for side in ("command", "python"):
            folder = tmp_path / f"{number}-{side}"
            folder.mkdir()
            monkeypatch.chdir(folder)
            if side == "command":
                error, read = _run([*name.split(), *words], monkeypatch)
                errors.append(error)
            elif error and read:  # else the words themselves are refused
                errors.append(_refusal(command, *read))
        if len(errors) == 2:
            command_error, python_error = (error[:SHOWN] for error in errors)
            assert command_error == python_error, words
            compared += 1
    assert compared


@pytest.mark.parametrize("name", sorted(OF_REQUESTS))
def test_an_option_belongs_to_one_request(name):
    """Else only one of them would receive its value."""
    names = [field for kind in OF_REQUESTS[name].callback.kinds for field in leaves_of(kind)]
    assert len(set(names)) == len(names)


def test_no_command_checks_a_request():
    """No function that gets a request raises an error about an argument of it."""
    for path in [*ROOT.glob("commands/*.py"), *ROOT.glob("studies/*/*command.py")]:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            annotations = [
                ast.unparse(argument.annotation)
                for argument in function.args.args
                if argument.annotation
            ]
            if any(annotation.endswith("Request") for annotation in annotations):
                raised = [
                    ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Raise)
                ]
                assert not any("argument(" in text for text in raised), raised


def test_library_messages_name_arguments():
    """``--name`` in a message would tell users of Python to write an option."""
    spellings = {
        spelling
        for command in COMMANDS.values()
        for param in command.params
        if isinstance(param, click.Option)
        for spelling in param.opts
    }
    for path in ROOT.rglob("*.py"):
        if "commands" in path.parts or path.name in ("cli.py", "command.py", "power_command.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_error = isinstance(node, ast.Call) and re.search(
                r"(Error|Warning|warn|argument|Failure)$", ast.unparse(node.func)
            )
            for text in ast.walk(node) if is_error else ():
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    named = set(re.findall(r"(?<![\w-])--[a-z-]+", text.value)) & spellings
                    assert not named or OTHER_COMMAND.search(text.value), f"{path}: {text.value}"


def test_every_request_is_found():
    assert len(OF_REQUESTS) > 25 and Request not in FUNCTIONS and len(FUNCTIONS) > 20


def test_an_option_with_one_value_is_given_once():
    for name, command in COMMANDS.items():
        singles = (
            param
            for param in command.params
            if isinstance(param, click.Option) and not (param.multiple or param.is_flag)
        )
        if option := next(singles, None):
            words = [*name.split(), option.opts[0], "1", f"{option.opts[-1]}=2"]
            result = CliRunner().invoke(main, words)
            assert result.exit_code == 2
            assert f"{option.opts[0]} is given 2 times; it takes one value" in result.output
