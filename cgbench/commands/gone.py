"""Options that earlier versions had: what to write instead (the upgrade table of CHANGELOG.md)."""

from collections.abc import Collection, Sequence

_IN_PYTHON = "the argument of the Python function with this name"
_PILOT = "it with score or score import, whose --per-example table is a pilot for --scores"
_SIZES = "cgbench.models.catalogue.describe_model(NAME, (SOURCE_SIZE, TARGET_SIZE))"
GONE = {
    "models": {"--source-size": _SIZES, "--target-size": _SIZES},
    "power": {
        **dict.fromkeys(("--level", "--power", "--samples"), _IN_PYTHON),
        **dict.fromkeys(("--drop-missing", "--preset", "--scale", "--statistic"), _PILOT),
    },
    "race": {"--level": _IN_PYTHON, "--seed": _IN_PYTHON},
    "score": {"--report": "--output FILE.html", "--plot": "--output FILE.svg (.png, .pdf)"},
    "validate": {"--seed": _IN_PYTHON},
}
"""By command: what replaces an option that it, or a command in it, no longer has, if it is not a
setting.
"""
GONE_EVERYWHERE = {
    "--help-all": "--help, which lists every option",
    "--help-settings": "--help-all, which lists the settings",
}
"""The same for options of every command."""


def new_way(option: str, commands: Sequence[str], settings: Collection[str]) -> str:
    """The error for an option that is gone from a command: what to write instead; empty if it never
    was one.

    :param commands: the words of the command, such as ``score bleu``.
    :param settings: the settings of the command, whose names options of earlier versions had.
    """
    name = option.removeprefix("--").replace("-", "_")
    if name in settings:
        return f"{option}: this is a setting now; write --set {name}=VALUE"
    ways = [GONE[name].get(option) for name in commands if name in GONE]
    way = next(filter(None, ways), None) or GONE_EVERYWHERE.get(option)
    return f"{option}: {' '.join(commands)} no longer has this option; use {way}" if way else ""
