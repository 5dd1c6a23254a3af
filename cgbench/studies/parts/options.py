"""The options of the analysis of known parts, which every start of ``cgbench score`` reads."""

from cgbench.argument_types import Folder, Systems
from cgbench.request import KW_ONLY, Request, option


class PartsOptions(Request):
    """Options of the analysis of known parts."""

    _: KW_ONLY
    parts: Folder | None = option(
        "--parts",
        default=None,
        help=(
            "Folder of `cgbench parts` for this test set: report which test pairs have known parts"
        ),
        group="Parts",
    )
    probe_systems: Systems | None = option(
        "--probe-hyp",
        default=None,
        help=(
            "Translations of the probes (FOLDER/probes.source) by the same systems, runs in the"
            " same order"
        ),
        group="Parts",
    )
    known: int = option(
        "--set known",
        default=4,
        help=(
            "Minimum number of probes whose output contains the piece, for it to be known (or all"
            " of fewer probes)"
        ),
        least=1,
    )
