"""How the test set, the control set and the stratified sample are drawn: the settings."""

from typing import Literal

from cgbench.benchmark.candidates.amounts import PositiveAmount
from cgbench.benchmark.candidates.strata import Allocation
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, option


class DrawingOptions(Request):
    """How the test set, the control set and the stratified sample are drawn."""

    _: KW_ONLY
    window: PositiveAmount = option(
        "--set window",
        default=18_000,
        help=(
            "Number or share of the remaining most uncertain candidates to sample the test set from"
        ),
    )
    select: PositiveAmount = option(
        "--set select",
        default=3_000,
        help="Size of the test set: a number, or a share of the candidates",
    )
    draw_by: Literal["pair", "document"] = option(
        "--set draw_by",
        default="pair",
        help=(
            "What to draw from the window: single pairs, or whole documents until there are at"
            " least `select` pairs"
        ),
    )
    design: Literal["window", "stratified"] = option(
        "--design",
        default="window",
        help=(
            "What is drawn: the test set from the window (window), or also a stratified sample of"
            " all candidates, which `score --estimate candidates` needs (stratified)"
        ),
        group="Selection",
    )
    sample: PositiveAmount | None = option(
        "--set sample",
        default=None,
        help=(
            "Size of the stratified sample: a number, or a share of the candidates [default: as"
            " many as select]"
        ),
    )
    strata: int = option(
        "--set strata",
        default=10,
        help="Maximum number of strata by uncertainty",
        least=1,
    )
    allocation: Allocation = option(
        "--set allocation",
        default="neyman",
        help=(
            "Draws per stratum: equal, proportional to its size, or neyman (size times standard"
            " deviation of the ensemble's own sentence chrF)"
        ),
    )
    control: bool = option(
        "--control",
        default=False,
        help="Also sample a control set, matched in corpus, length and word frequency",
        group="Selection",
    )
    document: str | None = option(
        "--document",
        default=None,
        help=(
            "Column of the pool that names the document of each pair, or blank-lines: documents of"
            " plain text are separated by lines that are empty on both sides"
        ),
        metavar="COLUMN",
        group="Input",
    )

    def check(self) -> None:
        """Documents need a column."""
        if self.draw_by == "document" and self.document is None:
            raise InputError(
                f"draw_by=document: needs documents; name them with {argument('document')}"
            )
