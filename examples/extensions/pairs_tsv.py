"""An export target: ``cgbench export RELEASE --to pairs-tsv --header``."""

from cgbench.benchmark.release.export.target import ExportTarget
from cgbench.request import Request, option


class PairsOptions(Request):
    """Options of the target."""

    header: bool = option(
        "--header",
        default=False,
        help="Begin with the names of the columns",
    )


def write_pairs(pairs, folder, *, header):
    """One row per pair: source, target."""
    lines = ["source\ttarget"] if header else []
    lines += [f"{row['source']}\t{row['target']}" for row in pairs.rows]
    (folder / "pairs.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


PAIRS_TSV = ExportTarget(write_pairs, options=PairsOptions)
