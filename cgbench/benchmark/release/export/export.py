"""Export a verified release for another tool, completely or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from cgbench.argument_types import AnyRelease, Folder, Options, Systems, as_path
from cgbench.benchmark.release.export.pairs import export_pairs
from cgbench.benchmark.release.export.target import (
    SHARED,
    ExportTarget,
    added_options,
    find_target,
    target_names,
)
from cgbench.benchmark.release.manifest import SPLIT
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.reserved import reserved_pairs
from cgbench.benchmark.release.shots.choose import ChosenShots, ShotChooser, choose_shots
from cgbench.benchmark.release.shots.request import ShotsOptions, ShotsRequest
from cgbench.benchmark.release.verify import check_verified
from cgbench.errors import InputError, argument, warn
from cgbench.files import read_json, write_json
from cgbench.locks import replacing
from cgbench.request import KW_ONLY, Request, accepts, fields_of, flat_values, given_values, option
from cgbench.request_fields import Field
from cgbench.text.inputs import as_column
from cgbench.text.joins import Examples
from cgbench.text.normalisation import TextAcceptance
from cgbench.text.output_checks import check_outputs

RECORD = "cgbench.json"  # in an export: its target and release


class ExportRequest(Request):
    """What :func:`export` writes."""

    open_field = "target_options"
    release: AnyRelease = option(
        help="Release to export",
    )
    to: str = option(
        "--to",
        help=f"Target: {', '.join(target_names())}, or one of another package",
        metavar="TARGET",
        group="Output",
    )
    out: Folder = option(
        "--out",
        help="Folder of the export; an earlier export to the same target is replaced",
        group="Output",
    )
    _: KW_ONLY
    hypotheses: Systems | None = option(
        "--hyp",
        default=None,
        help="Output of a system for human evaluation (pearmut), one line per pair; repeatable",
        metavar="SYSTEM=FILE",
        group="Human evaluation",
    )
    protocol: Literal["ESA", "cESA"] = option(
        "--protocol",
        default="ESA",
        help=(
            "Annotation protocol: ESA shows one system per page, contrastive ESA (cESA) all of them"
        ),
        group="Human evaluation",
    )
    users: int = option(
        "--users",
        default=1,
        help="Number of annotators",
        least=1,
        group="Human evaluation",
    )
    seed: int = option(
        "--set seed",
        default=0,
        help="Random seed for the order of systems on a page",
        least=0,
    )
    target_options: Options | None = option(
        default=None,
        help="Options that only the target has, which may also be given by name, such as lexicon",
    )

    choice: ShotsOptions = option(
        default=ShotsOptions(), help="How shots are chosen (ShotsOptions)"
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether doubtful pairs are read (TextAcceptance)"
    )

    @staticmethod
    def added_fields(packages: bool = False) -> dict[str, Field]:
        """The options that the targets of studies, and of other packages, add, by name."""
        return added_options(packages)


@accepts(ExportRequest)
def export(request: ExportRequest) -> list[str]:
    """Write the test set of a release in the format of another tool; returns the names of the
    files.

    Targets of other packages are entry points in the group ``cgbench.exports``.

    :raises InputError: an unknown target, a release without text or that fails its checks, or
        ``out`` is in use.
    """
    release = Release.of(request.release, check=False)  # check_verified checks it
    to, out = request.to, as_path(request.out)
    target = find_target(to)
    _check_effects(request, target)
    _check_out(out, to)
    release.check_finished()
    release.text_path("source")
    check_verified(release)
    check_licence(release.manifest)
    pairs = export_pairs(release)
    arguments = {name: getattr(request, name) for name in target.takes if name != "shots"}
    if target.options:
        arguments |= flat_values(target.options(**(request.target_options or {})))
    if request.hypotheses:
        texts = {"source": release.lines("source"), "reference": release.lines("target")}
        examples = Examples.of("the test set", texts, release.folder / SPLIT)
        outputs = read_hypotheses(request.hypotheses, len(pairs.rows), examples)
        of_systems = {name: [texts] for name, texts in outputs.items()}
        check_outputs(of_systems, release.lines("target"), are_references=True)
        arguments["hypotheses"] = outputs
    if "shots" in target.takes:
        arguments["shots"] = shots_for(request, release)
    with replacing(out) as making:
        _check_out(out, to)  # once more: another command may have written it
        target.write(pairs, making, **arguments)
        names = sorted(
            str(path.relative_to(making)) for path in making.rglob("*") if path.is_file()
        )
        record = {
            "target": to,
            "signature": release.signature,
            "licence": release.manifest.get("licence"),
        }
        write_json(
            making / RECORD, {**record, "version": release.manifest.get("version"), "files": names}
        )
    return names


def _check_effects(request: ExportRequest, target: ExportTarget) -> None:
    """Refuse options that the target does not take, and a target without what it needs."""
    of_shots = (*fields_of(ShotsOptions), *fields_of(TextAcceptance))
    shots = () if "shots" in target.takes else of_shots
    others = [name for name in (*SHARED, *shots) if name not in target.takes]
    useless = [name for name in others if name in given_values(request)]
    useless += [name for name in request.target_options or {} if name not in target.option_fields]
    if useless:
        raise InputError(
            f"{argument(useless[0])} has no effect on {argument('to', request.to)}; leave it out"
        )
    if "hypotheses" in target.takes and not request.hypotheses:
        raise InputError(
            f"{argument('to', request.to)} needs outputs of systems; give {argument('hypotheses')}"
        )


def shots_for(request: ExportRequest, release: Release) -> ShotChooser | None:
    """The function that chooses shots for sentences of a release; None if none are requested."""
    choice = request.choice
    if not choice.given:
        return None

    def choose(lines: Sequence[str]) -> list[ChosenShots]:
        return choose_shots(
            ShotsRequest(
                list(lines),
                choice=choice,
                exclude=reserved_pairs(release),
                acceptance=request.acceptance,
            )
        )

    return choose


def read_hypotheses(systems: Any, n: int, examples: Examples) -> dict[str, list[str]]:
    """The outputs of each system, in the order of the ``n`` examples.

    :raises InputError: a system has several files, or another number of lines than the test set has
        pairs.
    """
    outputs = {}
    for name, texts in (systems if isinstance(systems, Mapping) else {"system": systems}).items():
        source = (
            texts[0]
            if isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], Path)
            else texts
        )
        if isinstance(source, (list, tuple)) and any(not isinstance(text, str) for text in source):
            raise InputError(f"{argument('hypotheses', name)}: give one file per system")
        column = examples.join(
            as_column(source, f"hypotheses of {name}", "hypothesis", "prediction")
        )
        examples.check()
        if len(column) != n:
            raise InputError(
                f"{column.name} has {len(column):,} lines and the test set {n:,}: one is needed per"
                " pair"
            )
        outputs[str(name)] = column.values
    return outputs


def check_licence(manifest: Mapping[str, Any]) -> None:
    """Warn if no licence is stated."""
    if not manifest.get("licence"):
        message = (
            "no licence of the inputs is stated; find out what their owners allow, and build again"
            " with "
        )
        warn(f"{message}{argument('licence')}")


def _check_out(out: Path, to: str) -> None:
    if not out.name:
        raise InputError(f"{out}: give the folder of the export a name with {argument('out')}")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file, but the export needs a folder")
    if not out.is_dir() or not any(out.iterdir()):
        return
    record = read_json(out / RECORD) if (out / RECORD).is_file() else None
    if not isinstance(record, dict) or record.get("target") != to:
        raise InputError(
            f"{out}: the folder holds something else already; give a new one with {argument('out')}"
        )
    written = {RECORD, *map(str, record.get("files") or [])}
    files = [path for path in sorted(out.rglob("*")) if path.is_file()]
    if strangers := [path for path in files if str(path.relative_to(out)) not in written]:
        raise InputError(
            f"{strangers[0]}: does not belong to the export in {out}, which would be replaced; move"
            " it, or give another folder"
        )
