"""Parse model addresses: ``hf:ID@REVISION``, ``hf:FOLDER``, either after ``mc:``, or the folder of
a checkpoint.

Options follow a ``?``: ``hf:ID@REVISION?source=deu_Latn&target=eng_Latn``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cgbench.errors import InputError, argument
from cgbench.models.server_kinds import kind_of
from cgbench.models.servers.address import read_options
from cgbench.models.servers.prompt_templates import SLOTS, SOURCE, template_in
from cgbench.settings import did_you_mean

FORM = "hf:ID@REVISION, hf:FOLDER, or the folder of a cgbench checkpoint"
DTYPES = ("float32", "bfloat16", "float16")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")
_OPTIONS = {
    "hf": ("adapter", "chat", "device_map", "dtype", "prompt", "source", "target"),
    "own": (),
}
_SEED = "seed"


@dataclass(frozen=True)
class Address:
    """A parsed model address.

    :param text: the whole address; ``kind``: ``hf``, or ``own`` for a cgbench checkpoint.
    :param name: an ID on the hub, or a folder; ``revision``: of an ID, else empty.
    :param seed: of the masks of Monte-Carlo dropout; None: no dropout.
    """

    text: str
    kind: str
    name: str
    revision: str = ""
    seed: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def parse_address(text: str) -> Address:
    """Parse a model address. The only look-up is whether a folder of that name exists."""
    # The kind of the model, its name and its options.
    name_and_options, seed = text, None
    if sampled := name_and_options.startswith("mc:"):
        name_and_options = name_and_options.removeprefix("mc:")
    if kind_of(name_and_options) is not None:
        raise InputError(
            f"{text}: a server returns no distributions, so it can only translate (cgbench"
            f" translate {argument('system')}); write {FORM}"
        )
    kind = "hf" if name_and_options.startswith("hf:") else "own"
    name_and_options = name_and_options.removeprefix("hf:")
    name, sign, query = name_and_options.partition("?")
    options = read_options(text, query) if sign else {}
    if sampled:
        seed = _seed(text, options.pop(_SEED, None))
    # Check the options.
    known = _OPTIONS[kind]
    for option in options:
        if option not in known:
            hint = (
                "; seed needs mc:"
                if option == _SEED
                else did_you_mean(option, known)
                if known
                else ""
            )
            raise InputError(f"{text}: unknown option {option!r}{hint}")
    if options.get("dtype", DTYPES[0]) not in DTYPES:
        raise InputError(f"{text}: dtype must be one of {', '.join(DTYPES)}")
    if options.get("chat", "yes") != "yes":
        raise InputError(f"{text}: chat must be yes or left out")
    # A folder, or an ID on the hub with a revision.
    if not name:
        raise InputError(f"{text}: names no model; write {FORM}")
    if kind == "own" or Path(name).is_dir():
        return Address(text, kind, name, seed=seed, options=options)
    identifier, at, revision = name.partition("@")
    if not _ID.fullmatch(identifier) or ".." in identifier:
        raise InputError(
            f"{text}: there is no folder {name}, and it is not a valid name of a model on the hub;"
            f" write {FORM}"
        )
    if not revision:
        raise InputError(
            f"{text}: there is no folder {name}; for a model on the hub, which may change, add a"
            f" revision: hf:{identifier}@{'REVISION' if at else 'main'} (its commit is recorded)"
        )
    return Address(text, kind, identifier, revision, seed, options)


def read_template(template: str, where: str) -> str:
    """Check a prompt template, which is always plain: other braces than ``{source}`` and
    ``{shots}`` have no meaning.

    :param where: prefix of the error message.
    """
    if SOURCE not in SLOTS.findall(template):
        beginning = template if len(template) <= 60 else template[:57] + "..."
        raise InputError(f"{where}: the template {beginning!r} has no {{source}} for the sentence")
    return template


def template_of(address: Address, prompt: str | None) -> str | None:
    """The template of a member: from its own ``prompt=FILE``, else ``prompt``, else None."""
    if (file := address.options.get("prompt")) is None:
        return None if prompt is None else read_template(prompt, f"{argument('prompt')}")
    return read_template(template_in(Path(file)), file)


def shown_name(address: Address) -> str:
    """The name of a model for a release; absolute folders are reduced to their last part."""

    def shorten(name: str) -> str:
        return Path(name).name if Path(name).is_absolute() else str(Path(name))

    name = f"{address.name}@{address.revision}" if address.revision else shorten(address.name)
    options = {
        key: shorten(value) if key in ("adapter", "prompt") else value
        for key, value in address.options.items()
    }
    if address.seed is not None:
        options["seed"] = str(address.seed)
    kind = "hf:" if address.kind == "hf" else ""
    query = "&".join(f"{key}={value}" for key, value in options.items())
    return f"{'mc:' if address.seed is not None else ''}{kind}{name}{'?' if query else ''}{query}"


def _seed(text: str, value: str | None) -> int:
    if value is None or not re.fullmatch(r"[0-9]{1,9}", value):
        raise InputError(f"{text}: Monte-Carlo dropout needs the seed of its masks: mc:...?seed=1")
    return int(value)
