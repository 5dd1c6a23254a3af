"""What a translation is asked for."""

from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import File, Files, Kind, Model, Text, are_pairs
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.server_kinds import kind_of
from cgbench.models.server_options import ServerOptions
from cgbench.request import KW_ONLY, Request, option
from cgbench.steps import hash_value
from cgbench.text.normalisation import TextAcceptance


def _are_texts(value: Any) -> bool:
    return bool(value) and all(isinstance(text, str) and text for text in _listed(value))


def _listed(value: Any) -> Any:
    return (
        (value,)
        if isinstance(value, str)
        else tuple(value)
        if isinstance(value, (list, tuple))
        else (None,)
    )


Prompts: TypeAlias = Annotated[
    Any,
    Kind(
        "prompts",
        "a text, the name of a file with one, or a list of these",
        _are_texts,
        many=True,
        read=_listed,
    ),
]
"""Templates (:mod:`cgbench.models.servers.prompt_templates`)."""


Examples: TypeAlias = Annotated[
    Any,
    Kind(
        "examples",
        "a list with the pairs of each sentence",
        lambda value: isinstance(value, (list, tuple)) and all(map(are_pairs, value)),
    ),
]


class SearchOptions(Request):
    """How a model searches for translations."""

    _: KW_ONLY
    beam: int = option(
        "--beam",
        default=DEFAULT_SEARCH.beam,
        help="Beam size; 1: greedy",
        least=1,
        group="Search",
    )
    max_length_ratio: float = option(
        "--max-length-ratio",
        default=DEFAULT_SEARCH.max_length_ratio,
        help="Maximum length of a translation, in tokens per source token; 10 more are allowed",
        least=0,
        group="Advanced",
    )
    max_length_extra: int = option(
        default=DEFAULT_SEARCH.max_length_extra,
        help="Number of tokens allowed beyond max_length_ratio",
        least=0,
    )

    @property
    def search(self) -> SearchSettings:
        """The settings of the search."""
        return SearchSettings(
            beam=self.beam,
            max_length_ratio=self.max_length_ratio,
            max_length_extra=self.max_length_extra,
        )


class DecodingOptions(Request):
    """How models search for translations."""

    _: KW_ONLY
    search_options: SearchOptions = option(
        default=SearchOptions(), help="Search settings (SearchOptions)"
    )
    length_penalty: float = option(
        "--length-penalty",
        default=DEFAULT_SEARCH.length_penalty,
        help="Length penalty: a score is log-probability / tokens^penalty",
        group="Search",
    )
    truncate: bool = option(
        "--truncate",
        default=False,
        help="Truncate long sentences instead of failing",
        group="Search",
    )
    batch_tokens: int | None = option(
        default=None,
        help="Number of source tokens per batch [default: by device]",
        least=1,
    )

    @property
    def search(self) -> SearchSettings:
        """The settings of the search."""
        return replace(self.search_options.search, length_penalty=self.length_penalty)


class PromptingOptions(Request):
    """What an external model or a server is asked, and how its answer is read."""

    _: KW_ONLY
    prompt: Prompts = option(
        "--prompt",
        default=(),
        help=(
            "Prompt of an external model, with {source} for the sentence, or a file with one (also "
            "Jinja); repeatable, one output each"
        ),
        group="Models",
        metavar="TEXT|FILE",
    )
    system_message: str | None = option(
        "--system-message",
        default=None,
        help="System message of a chat with a server, or a file with one",
        group="Models",
        metavar="TEXT|FILE",
    )
    answer: str | None = option(
        "--answer",
        default=None,
        help=(
            "Regular expression that finds the hypothesis in a server's answer: its group, or the"
            " match"
        ),
        group="Models",
        metavar="REGEX",
    )
    examples: Examples | None = option(
        default=None,
        help=(
            "Few-shot examples of each sentence, pairs of source and target, for {shots} in the"
            " prompt"
        ),
    )

    @property
    def shots_identity(self) -> dict[str, str]:
        """What a translation depends on besides system and prompt: the examples of all sentences,
        as a hash.
        """
        if self.examples is None:
            return {}
        return {"shots": hash_value([list(map(list, pairs)) for pairs in self.examples])}


class TranslateRequest(Request):
    """What :func:`~cgbench.models.translation.translate` is asked for."""

    sources: Text = option(
        help="Sentences to translate",
    )
    model: Files = option(
        "--model",
        default=(),
        help="Checkpoints or an ensemble folder; several models translate together",
        metavar="FOLDERS",
        group="Models",
    )
    _: KW_ONLY
    system: Model | None = option(
        "--system",
        default=None,
        help=(
            "Use an external model instead: hf:ID@REVISION, hf:FOLDER, openai:URL; or a translation"
            " memory: memory:TABLE, memory:SOURCE,TARGET"
        ),
        group="Models",
    )
    output: File | None = option(
        "--output",
        short="-o",
        default=None,
        help="Output file, written when it is complete",
        group="Output",
    )
    format: Literal["text", "json"] = option(
        "--format",
        default="text",
        help="Print one translation per line, or one JSON object with its scores",
        group="Output",
    )
    nbest: int | None = option(
        "--nbest",
        default=None,
        help="Print the N best hypotheses (with --format json)",
        least=1,
        group="Output",
    )
    uncertainty: bool = option(
        "--uncertainty",
        default=False,
        help=(
            "Add the knowledge uncertainty (RMI) after a tab; with --format json, all measures; of"
            " a server, measures of its --nbest samples"
        ),
        group="Output",
    )
    device: Literal["auto", "cpu", "cuda"] = option(
        "--device",
        default="auto",
        help="Device that runs the models",
        group="Execution",
    )
    decoding: DecodingOptions = option(
        default=DecodingOptions(),
        help="Search settings",
    )
    prompting: PromptingOptions = option(
        default=PromptingOptions(),
        help="Prompts, and how answers are read",
    )
    server: ServerOptions = option(
        default=ServerOptions(),
        help="Cost, dry run and batch files of a server",
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(),
        help="Whether doubtful pairs, of a memory or for shots, are read (TextAcceptance)",
    )

    @property
    def is_server(self) -> bool:
        """Whether a server translates."""
        return kind_of(str(self.system or "")) is not None

    @property
    def is_memory(self) -> bool:
        """Whether a translation memory translates."""
        return str(self.system or "").startswith("memory:")
