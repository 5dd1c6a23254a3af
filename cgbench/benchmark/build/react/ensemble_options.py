"""The ensemble of a build, trained or given, and its search: the settings."""

from cgbench.argument_types import Folder, Models, Name
from cgbench.benchmark.candidates.amounts import Amount, parse_amount
from cgbench.errors import InputError, argument
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.request import KW_ONLY, Request, option


class EnsembleOptions(Request):
    """The ensemble that translates the candidates: how it is trained, or which trained one; its
    search.
    """

    _: KW_ONLY
    arch: str | None = option(
        "--arch",
        metavar="NAME",
        default=None,
        help="Override the preset's architecture",
        group="Advanced",
    )
    method: Name | None = option(
        "--method",
        metavar="NAME",
        default=None,
        help="Training method: none, seqmix, creg or bow",
        group="Ensemble",
    )
    valid: Amount = option(
        "--set valid",
        default="1/100",
        help=(
            "Number or share of the training pairs held out to validate the members, chosen by a"
            " hash of the source; 0: none, and the last update is kept"
        ),
    )
    gpus_per_member: int = option(
        "--set gpus_per_member",
        default=1,
        help="Number of GPUs that train one member together; processes with --device cpu",
        least=1,
    )
    ensemble: Folder | None = option(
        "--ensemble",
        default=None,
        help="Use the trained members in this folder",
        group="Ensemble",
    )
    member: Models = option(
        "--member",
        default=(),
        help=(
            "Use an external model: hf:ID@REVISION, hf:FOLDER, mc:...?seed=N, or a checkpoint;"
            " repeatable, the first one translates"
        ),
        group="Ensemble",
    )
    prompt: str | None = option(
        "--prompt",
        default=None,
        help="Prompt of an external model, with {source} for the sentence",
        group="Advanced",
    )
    reverse_ensemble: Folder | None = option(
        "--set reverse_ensemble",
        default=None,
        help="Folder of a reverse-direction ensemble, for dual conditional cross-entropy",
    )
    epochs: float | None = option(
        "--set epochs",
        default=None,
        help=(
            "Train each member for this number of passes over the training corpus, within"
            " training.max_updates; none: training.max_updates"
        ),
        above=0,
    )
    accept_ensemble: bool = option(
        "--set accept_ensemble",
        default=False,
        help="Select even if the ensemble is no better than copying the source or a constant",
    )
    beam: int = option(
        "--set beam",
        default=DEFAULT_SEARCH.beam,
        help="Beam size for translating the candidates; 1: greedy",
        least=1,
    )
    max_length_ratio: float = option(
        "--set max_length_ratio",
        default=DEFAULT_SEARCH.max_length_ratio,
        help="Maximum length of a translation, in subwords per source subword",
        least=0,
    )
    max_length_extra: int = option(
        "--set max_length_extra",
        default=DEFAULT_SEARCH.max_length_extra,
        help="Number of subwords allowed beyond max_length_ratio",
        least=0,
    )

    def check(self) -> None:
        """A translation may have a word."""
        if not self.max_length_ratio + self.max_length_extra:
            raise InputError(
                f"{argument('max_length_ratio')}, {argument('max_length_extra')}: one must be"
                " above 0"
            )

    @property
    def search(self) -> SearchSettings:
        """The settings of the search."""
        return SearchSettings(
            beam=self.beam,
            max_length_ratio=self.max_length_ratio,
            max_length_extra=self.max_length_extra,
        )

    @property
    def held_out(self) -> str | None:
        """``valid`` in a form that is the same for equal amounts; None for none."""
        amount = parse_amount("valid", self.valid)
        return str(amount) if amount else None
