"""The inputs of a build: read from the files or lists of sentences in a request."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.candidates.division import Division, divide
from cgbench.checksums import known_digest
from cgbench.errors import InputError, argument
from cgbench.models.external.opening import Planned, check_together, plan_members
from cgbench.text.formats import CorpusSpec
from cgbench.text.inputs import as_corpus, corpora_of
from cgbench.text.normalisation import SIDES

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class Inputs:
    """The inputs of a build. ``known`` has results of ``cgbench overlap`` by side, which replace
    that side of the training text. ``ensemble`` is a folder of trained members, ``members`` are
    external models; without either, members are trained. ``reverse`` is a reverse-direction
    ensemble, ``lm`` a language model that scores the candidates, ``difficulty`` one file of values
    per corpus of the pool. ``division`` is that of one corpus into ``train`` and the pool.
    Languages are parts of file names."""

    train: CorpusSpec
    pools: tuple[CorpusSpec, ...]
    exclude: tuple[CorpusSpec, ...] = ()
    known: Mapping[str, Path] = field(default_factory=dict)
    ensemble: Path | None = None
    reverse: Path | None = None
    lm: Path | None = None
    difficulty: tuple[Path, ...] = ()
    division: Division | None = None
    members: tuple[Planned, ...] = ()
    languages: tuple[str, str] = ("source", "target")

    @property
    def reads_originals(self) -> bool:
        """Whether the members read the original text: external models do, those of cgbench the
        normalised form.
        """
        return any(member.identity["kind"] != "cgbench" for member in self.members)


def read_inputs(request: BuildRequest, texts: Path) -> Inputs:
    """The inputs that a request names; a single corpus is divided.

    :param texts: the folder where lists of sentences, and the sides of a divided corpus, are
        written.
    :raises InputError: an input is invalid, or two of them do not fit together.
    """
    columns = request.text_options.columns
    if request.corpus is not None:
        corpus = as_corpus(request.corpus, columns, "corpus", texts)
        languages = request.text_options.languages_of(corpus)
        division = divide(
            corpus,
            languages,
            texts,
            share=request.pool_share,
            document=request.drawing.document,
        )
        train = division.train
        pools: tuple[CorpusSpec, ...] = (division.pool,)
    else:
        division = None
        train = as_corpus(request.train, columns, "train", texts)
        languages = request.text_options.languages_of(train)
        pools = corpora_of(request.pools, "pool", columns=columns, texts=texts)
    options, ranking = request.ensemble_options, request.ranking
    ensemble, reverse, lm = (
        None if path is None else Path(path)
        for path in (options.ensemble, options.reverse_ensemble, ranking.lm)
    )
    return Inputs(
        train=train,
        pools=pools,
        exclude=tuple(
            sorted(
                corpora_of(request.exclude, "exclude", columns=columns, texts=texts), key=_by_bytes
            )
        ),
        known=known_from_of(request.filters.known_from, request.filters.degree_side),
        ensemble=ensemble,
        reverse=reverse,
        lm=lm,
        difficulty=tuple(map(Path, _listed(ranking.difficulty))),
        division=division,
        members=_external_members(request),
        languages=languages,
    )


def _by_bytes(spec: CorpusSpec) -> tuple[list[str], str]:
    """The sort key of corpora to exclude, so that their order does not matter."""
    return [known_digest(path) if path.is_file() else "" for path in spec.files], str(spec)


def _listed(value: Any) -> Sequence[Any]:
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)


def _external_members(request: BuildRequest) -> tuple[Planned, ...]:
    """The external models that replace the members, checked to form an ensemble."""
    names = _listed(request.ensemble_options.member)
    if not names:
        if request.ensemble_options.prompt is not None:
            raise InputError(f"{argument('prompt')} needs {argument('member')}")
        return ()
    if request.ensemble_options.ensemble is not None:
        raise InputError(
            f"{argument('member')} and {argument('ensemble')}: give one; a member may be a"
            " checkpoint"
        )
    if request.execution.until == "candidates":
        return ()
    members = tuple(plan_members(map(str, names), request.ensemble_options.prompt))
    check_together(members)
    return members


def known_from_of(value: Any, degree_side: str) -> dict[str, Path]:
    """The results of ``cgbench overlap`` by side, from ``{"source": FOLDER}`` or ``source=FOLDER``.
    A folder without a side belongs to the side of the degree."""
    if isinstance(value, Mapping):
        pairs = [(str(side), str(folder)) for side, folder in value.items()]
    else:
        words = [(word, *word.partition("=")) for word in map(os.fspath, _listed(value))]
        pairs = [
            (side, folder) if sign and side in SIDES else (degree_side, word)
            for word, side, sign, folder in words
        ]
    for side, folder in pairs:
        if side not in SIDES or not folder:
            raise InputError(
                f"{argument('known_from', f'{side}={folder}')}: give a side and a folder:"
                " source=FOLDER"
            )
    folders = {side: Path(folder) for side, folder in pairs}
    if len(folders) < len(pairs):
        raise InputError(
            f"{argument('known_from')}: give one folder per side: source=FOLDER and target=FOLDER"
        )
    return dict(sorted(folders.items()))
