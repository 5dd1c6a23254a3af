"""The request of the demo."""

from collections.abc import Mapping
from typing import Any

from cgbench.argument_types import Folder
from cgbench.request import KW_ONLY, Request, option
from cgbench.steps import TaskOptions


class DemoRequest(Request):
    """What :func:`~cgbench.benchmark.build.react.demo.run_demo` is asked for."""

    open_field = "settings"
    settings_group = "Selection"
    out: Folder = option(
        "--out",
        default="demo",
        help="Folder for the corpus and the release",
        group="Output",
    )
    _: KW_ONLY
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed of the corpus and the build",
        least=0,
        group="Selection",
    )
    settings: Mapping[str, Any] | None = option(
        default=None, help="Settings of the build that differ from the preset `demo`"
    )
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")
