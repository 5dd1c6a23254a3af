"""What a translation is asked for."""

from __future__ import annotations

from typing import Any, Literal

from cgbench.models.search_options import SearchOptions
from cgbench.models.server_options import ServerOptions
from cgbench.requests import KW_ONLY, File, Files, Model, Text, option, request

NAMED = 5  # lines named in a warning


@request
class TranslateRequest(SearchOptions, ServerOptions):
    """What :func:`~cgbench.models.translation.translate` is asked for."""

    sources: Text = option(help="Sentences to translate", python_only=True)
    model: Files = option(
        default=(), help="Checkpoints or an ensemble folder; several models translate together",
        metavar="FOLDERS", group="Models",
    )  # fmt: skip
    _: KW_ONLY
    system: Model | None = option(
        default=None, help="Use an external model instead: hf:ID@REVISION, hf:FOLDER, openai:URL", group="Models"
    )
    output: File | None = option(default=None, help="Output file, written when it is complete", group="Output")
    format: Literal["text", "json"] = option(
        default="text", help="Print one translation per line, or one JSON object with its scores", group="Output"
    )
    length_penalty: float = option(
        default=1.0, help="Length penalty: a score is log-probability / tokens^penalty", group="Search"
    )
    nbest: int | None = option(
        default=None, help="Print the N best hypotheses (with --format json)", least=1, group="Output"
    )
    truncate: bool = option(default=False, help="Truncate long sentences instead of failing", group="Search")
    uncertainty: bool = option(
        default=False, help="Add the knowledge uncertainty (RMI) after a tab; with --format json, all measures",
        group="Output",
    )  # fmt: skip
    batch_tokens: int | None = option(
        default=None, help="Number of source tokens per batch [default: by device]", least=1, group="Execution"
    )

    @property
    def search(self) -> dict[str, Any]:
        """The arguments of a search."""
        return {"beam": self.beam, "length_penalty": self.length_penalty, **super().search}

    @property
    def is_server(self) -> bool:
        """Whether a server translates."""
        return str(self.system or "").startswith("openai:")

    @property
    def sends_nothing(self) -> bool:
        """Whether the requests to a server are only counted or written to a file."""
        return self.dry_run or self.batch_out is not None
