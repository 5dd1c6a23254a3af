"""The options of the analysis of known parts, which every start of ``cgbench score`` reads."""

from cgbench.argument_types import Folder, Systems
from cgbench.requests import KW_ONLY, option, request


@request
class PartsOptions:
    """Options of the analysis of known parts."""

    _: KW_ONLY
    parts: Folder | None = option(
        default=None,
        help=(
            "Folder of `cgbench parts` for this test set: report which test pairs have known parts"
        ),
        group="Parts",
    )
    probe_systems: Systems | None = option(
        default=None,
        help=(
            "Translations of the probes (FOLDER/probes.source) by the same systems, runs in the"
            " same order"
        ),
        group="Parts",
        flag="probe-hyp",
    )
    known: int = option(
        default=4,
        help=(
            "Minimum number of probes whose output contains the piece, for it to be known (or all"
            " of fewer probes)"
        ),
        least=1,
        is_setting=True,
    )
